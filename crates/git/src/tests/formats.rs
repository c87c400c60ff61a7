//! Every format and location of an index, written by `orch` or by git.

use super::{Repo, change, path, store_at};
use crate::entries::IndexFile;
use crate::index::IndexUpdate;
use crate::next_index::NextIndex;
use crate::side_work::SideWork;
use crate::splice::splice;
use orch_base::ObjectFormat;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A repository with a commit, whose index is up to date.
fn moved() -> Repo {
    moved_in(ObjectFormat::Sha1)
}

fn moved_in(format: ObjectFormat) -> Repo {
    let repo = Repo::of(format);
    for name in ["a", "d/b", "d/e/c", "z"] {
        repo.write(name, "1\n");
    }
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "Begin"]);
    repo
}

/// Whether `orch` holds the lock for an update, and not git.
fn is_ours(repo: &Repo) -> bool {
    matches!(
        repo.store().index().begin_index_update().expect("locked"),
        IndexUpdate::Ours(_)
    )
}

#[test]
fn whoever_writes_it_the_index_is_right() {
    type Setup = fn(&Repo);
    let setups: [(&str, bool, Setup); 14] = [
        ("plain", true, |_| {}),
        ("a cache tree", true, |repo| drop(repo.git(&["write-tree"]))),
        ("intended to be added", true, |repo| {
            repo.write("later", "later\n");
            repo.git(&["add", "-N", "later"]);
        }),
        ("skipped", true, |repo| {
            drop(repo.git(&["update-index", "--skip-worktree", "a"]))
        }),
        ("assumed unchanged", true, |repo| {
            drop(repo.git(&["update-index", "--assume-unchanged", "a"]))
        }),
        ("without a checksum", true, |repo| {
            repo.git(&["config", "index.skipHash", "true"]);
            repo.git(&["update-index", "--force-write-index"]);
        }),
        ("sparse checkout", true, |repo| {
            drop(repo.git(&["sparse-checkout", "set", "--no-cone", "/a"]))
        }),
        ("compressed paths", true, |repo| {
            drop(repo.git(&["update-index", "--index-version", "4"]))
        }),
        ("split", false, |repo| {
            drop(repo.git(&["update-index", "--split-index"]))
        }),
        ("untracked files known", true, |repo| {
            drop(repo.git(&["update-index", "--force-untracked-cache"]))
        }),
        ("sparse", false, |repo| {
            drop(repo.git(&["sparse-checkout", "set", "--sparse-index", "x"]))
        }),
        ("synced", false, |repo| {
            drop(repo.git(&["config", "core.fsync", "all"]))
        }),
        ("a link", false, |repo| {
            fs::rename(repo.path(".git/index"), repo.path(".git/elsewhere")).expect("renamed");
            std::os::unix::fs::symlink("elsewhere", repo.path(".git/index")).expect("a link");
        }),
        ("a hook", false, |repo| {
            repo.git(&["config", "core.hooksPath", "hooks"]);
            repo.write("hooks/post-index-change", "#!/bin/sh\n");
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(repo.path("hooks/post-index-change"), executable)
                .expect("executable");
            repo.write(".git/info/exclude", "hooks\n");
        }),
    ];
    let sha1 = setups.iter().map(|setup| (ObjectFormat::Sha1, setup));
    // One that `orch` writes, and one that git writes.
    let others = setups
        .iter()
        .filter(|(what, ..)| ["a cache tree", "compressed paths", "split"].contains(what));
    for (format, &(what, ours, setup)) in
        sha1.chain(others.map(|setup| (ObjectFormat::Sha256, setup)))
    {
        let repo = moved_in(format);
        setup(&repo);
        let before = repo.git(&["ls-files", "-t", "-s"]);
        assert_eq!(is_ours(&repo), ours, "{what}");
        assert!(
            !repo.path(".git/index.lock").exists(),
            "{what}: the lock is released"
        );
        let [one, two] = ["1\n", "2\n"].map(|text| repo.blob(text));
        let changes = [
            change("d/e/c", Some(one), Some(two)),
            change("z", Some(one), None),
            change("d/new", None, Some(one)),
        ];
        assert_eq!(
            repo.store()
                .index()
                .sync_index(&changes, false)
                .expect("written"),
            [],
            "{what}"
        );
        let expected: String = before
            .lines()
            .filter(|line| !line.ends_with("\tz"))
            .flat_map(|line| match line.split_once('\t').expect("a line").1 {
                "d/e/c" => vec![
                    format!("H 100644 {two} 0\td/e/c\n"),
                    format!("H 100644 {one} 0\td/new\n"),
                ],
                _ => vec![format!("{line}\n")],
            })
            .collect();
        assert_eq!(repo.git(&["ls-files", "-t", "-s"]), expected, "{what}");
        assert!(!repo.path(".git/index.lock").exists(), "{what}");
        let fsck = repo.output("index", &["fsck", "--no-dangling"], &[]);
        let said = String::from_utf8_lossy(&fsck.stderr);
        assert!(
            said.lines().all(|line| line.starts_with("hint:")),
            "{what}: {said}"
        );
        if ours {
            // By it, git finds that an index that it has read was replaced, also where it writes none.
            let index = fs::read(repo.path(".git/index")).expect("an index");
            assert_ne!(
                index[index.len() - format.length()..],
                *format.null().as_bytes(),
                "{what}"
            );
        }
        let tree = repo.git(&["write-tree"]);
        assert_eq!(
            repo.git(&["diff", "--cached", "--name-status", tree.trim()]),
            "",
            "{what}"
        );
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_left_to_git() {
    let repo = moved();
    let one = repo.blob("1\n");
    repo.store()
        .index()
        .sync_index(&[change("d", None, Some(one))], false)
        .expect("written");
    assert_eq!(repo.git(&["ls-files"]), "a\nd\nz\n");
    repo.store()
        .index()
        .sync_index(&[change("a/below", None, Some(one))], false)
        .expect("written");
    assert_eq!(repo.git(&["ls-files"]), "a/below\nd\nz\n");
    assert_eq!(repo.git(&["write-tree"]), repo.tree_anew("index"));
}

#[test]
fn a_resolved_merge_stays_known() {
    let repo = moved();
    repo.git(&["switch", "-qc", "side"]);
    repo.write("a", "side\n");
    repo.git(&["commit", "-qam", "Side"]);
    repo.git(&["switch", "-q", "main"]);
    repo.write("a", "main\n");
    repo.git(&["commit", "-qam", "Main"]);
    assert!(
        !repo
            .output("index", &["merge", "-q", "side"], &[])
            .status
            .success()
    );
    let one = repo.blob("1\n");
    let unmerged = repo.git(&["ls-files", "-s", "-u"]);
    repo.store()
        .index()
        .sync_index(&[change("d/new", None, Some(one))], false)
        .expect("written");
    assert_eq!(repo.git(&["ls-files", "-s", "-u"]), unmerged);
    repo.write("a", "both\n");
    repo.git(&["add", "a"]);
    let resolved = repo.git(&["ls-files", "--resolve-undo"]);
    assert_eq!(resolved.lines().count(), 3);
    assert!(is_ours(&repo));
    repo.store()
        .index()
        .sync_index(&[change("d/newer", None, Some(one))], false)
        .expect("written");
    assert_eq!(repo.git(&["ls-files", "--resolve-undo"]), resolved);
}

#[test]
fn what_is_staged_otherwise_is_left() {
    let repo = moved();
    repo.write("a", "staged\n");
    repo.git(&["add", "a"]);
    let before = fs::read(repo.path(".git/index")).expect("an index");
    let [one, two] = ["1\n", "2\n"].map(|text| repo.blob(text));
    assert_eq!(
        repo.store()
            .index()
            .sync_index(&[change("a", Some(one), Some(two))], false)
            .expect("read"),
        [path("a")]
    );
    assert_eq!(fs::read(repo.path(".git/index")).expect("an index"), before);
}

#[test]
fn the_first_index_of_a_repository() {
    let repo = Repo::new();
    let one = repo.blob("1\n");
    assert!(is_ours(&repo));
    assert!(!repo.path(".git/index").exists());
    repo.store()
        .index()
        .sync_index(&[change("d/new", None, Some(one))], false)
        .expect("written");
    assert_eq!(
        repo.git(&["ls-files", "-s"]),
        format!("100644 {one} 0\td/new\n")
    );
    assert_eq!(
        repo.output("index", &["fsck", "--no-dangling"], &[])
            .status
            .code(),
        Some(0)
    );
    let shared = Repo::new();
    shared.git(&["config", "core.sharedRepository", "group"]);
    assert!(!is_ours(&shared), "only git knows the permissions");
}

#[test]
fn its_permissions_stay() {
    let repo = moved();
    let one = repo.blob("1\n");
    for mode in [0o660, 0o600, 0o644] {
        fs::set_permissions(repo.path(".git/index"), fs::Permissions::from_mode(mode))
            .expect("set");
        assert!(is_ours(&repo));
        repo.store()
            .index()
            .sync_index(&[change(&format!("n{mode}"), None, Some(one))], false)
            .expect("written");
        let now = fs::metadata(repo.path(".git/index"))
            .expect("an index")
            .mode();
        assert_eq!(now & 0o777, mode);
    }
}

#[test]
fn a_linked_work_tree_has_its_own() {
    let repo = moved();
    let side = tempfile::tempdir().expect("a directory");
    let place = side.path().join("side");
    repo.git(&["worktree", "add", "-q", place.to_str().expect("text")]);
    let before = fs::read(repo.path(".git/index")).expect("an index");
    let store = store_at(&place);
    assert!(matches!(
        store.index().begin_index_update().expect("locked"),
        IndexUpdate::Ours(_)
    ));
    let one = repo.blob("1\n");
    store
        .index()
        .sync_index(&[change("new", None, Some(one))], false)
        .expect("written");
    assert_eq!(fs::read(repo.path(".git/index")).expect("an index"), before);
    let listed = repo.git(&["-C", place.to_str().expect("text"), "ls-files", "new"]);
    assert_eq!(listed, "new\n");
}

/// Sets the modification time of a file to that of the index, as if git had read it at the same moment.
fn at_once(repo: &Repo, name: &str, moment: SystemTime) {
    let times = FileTimes::new().set_modified(moment);
    let file = File::options()
        .write(true)
        .open(repo.path(name))
        .expect("a file");
    file.set_times(times).expect("a time");
}

#[test]
fn what_changed_in_the_moment_git_looked_is_still_seen() {
    let repo = moved();
    let one = repo.blob("1\n");
    let moment = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    at_once(&repo, "a", moment);
    repo.git(&["update-index", "--refresh"]);
    at_once(&repo, ".git/index", moment);
    // Same size, same time.
    repo.write("a", "2\n");
    at_once(&repo, "a", moment);
    assert_eq!(
        repo.git(&["diff-files", "--name-only"]),
        "a\n",
        "git compares the bytes"
    );
    assert!(is_ours(&repo));
    repo.store()
        .index()
        .sync_index(&[change("new", None, Some(one))], false)
        .expect("written");
    assert_eq!(repo.git(&["diff-files", "--name-only", "a"]), "a\n");
    // An index without racy entries gets the current time.
    repo.git(&["add", "a"]);
    repo.store()
        .index()
        .sync_index(&[change("newer", None, Some(one))], false)
        .expect("written");
    let written = fs::metadata(repo.path(".git/index"))
        .and_then(|index| index.modified())
        .expect("a time");
    assert!(written > moment);
}

#[test]
fn a_lock_of_somebody_else_is_respected() {
    let repo = moved();
    let store = repo.store();
    repo.write(".git/index.lock", "theirs");
    let refused = store
        .index()
        .begin_index_update()
        .err()
        .expect("it is held");
    assert!(refused.to_string().contains("index.lock"), "{refused}");
    store
        .layout()
        .locks()
        .clear_index_lock()
        .expect("looked at");
    assert_eq!(
        fs::read_to_string(repo.path(".git/index.lock")).expect("a lock"),
        "theirs"
    );
}

#[test]
fn a_lock_of_ours_keeps_git_out_and_is_told_from_others() {
    let repo = moved();
    let store = repo.store();
    let held = store.layout().locks().lock_index().expect("locked");
    repo.write("new", "new\n");
    let refused = repo.output("index", &["add", "new"], &[]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("index.lock': File exists"));
    assert!(store.layout().locks().has_our_index_lock());
    drop(held);
    assert!(!store.layout().locks().has_our_index_lock());
    repo.git(&["add", "new"]);
    // As if killed: only the next command removes the lock.
    fs::hard_link(
        repo.path(".git/orch/index.lock"),
        repo.path(".git/index.lock"),
    )
    .expect("linked");
    assert!(store.layout().locks().has_our_index_lock());
    store.layout().locks().clear_index_lock().expect("cleared");
    repo.git(&["add", "a"]);
    // The lock of a running orch is left alone.
    let at_work = store
        .transactions()
        .try_lock()
        .expect("looked at")
        .expect("free");
    fs::hard_link(
        repo.path(".git/orch/index.lock"),
        repo.path(".git/index.lock"),
    )
    .expect("linked");
    repo.store()
        .transactions()
        .recover_leftovers()
        .expect("left alone");
    assert!(store.layout().locks().has_our_index_lock());
    drop(at_work);
    // A process that another test is just starting may hold the kernel lock for a moment.
    for _ in 0..10_000 {
        repo.store()
            .transactions()
            .recover_leftovers()
            .expect("cleared");
        if !store.layout().locks().has_our_index_lock() {
            return;
        }
        sleep(Duration::from_millis(1));
    }
    panic!("it was never cleared");
}

#[test]
fn a_lock_that_was_taken_away_stops_the_writing() {
    let repo = moved();
    let store = repo.store();
    let before = fs::read(repo.path(".git/index")).expect("an index");
    let held = store.layout().locks().lock_index().expect("locked");
    repo.write(".git/theirs", "theirs");
    fs::rename(repo.path(".git/theirs"), repo.path(".git/index.lock")).expect("taken away");
    let empty = IndexFile::empty(repo.format);
    let content = splice(&empty, &[]).expect("spliced");
    let own = Arc::clone(&held.own);
    let next = NextIndex::write(own, &content, None, None, &SideWork::default()).expect("written");
    held.put(next).expect_err("the lock was replaced");
    drop(held);
    assert_eq!(fs::read(repo.path(".git/index")).expect("an index"), before);
    assert_eq!(
        fs::read_to_string(repo.path(".git/index.lock")).expect("a lock"),
        "theirs"
    );
    assert!(!repo.path(".git/orch/index.next").exists());
}
