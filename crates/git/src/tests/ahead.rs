//! A large index, which is read and written in another thread while the commits are built.

use super::{FORMATS, Repo, path};
use crate::base::{Class, Code, ObjectFormat};
use crate::read_index::IndexChange;
use crate::{PlannedCommit, Write};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

/// The number of files in the index.
const FILES: usize = 20_000;

/// A repository with a large index.
fn large(format: ObjectFormat) -> Repo {
    let repo = Repo::of(format);
    repo.git(&["config", "user.name", "Ann"]);
    repo.git(&["config", "user.email", "ann@example.com"]);
    let blob = repo.blob("x\n");
    let lines: String = (0..FILES)
        .map(|number| format!("100644 {blob}\tsrc/{number:05}\n"))
        .collect();
    repo.git_on("index", &["update-index", "--index-info"], lines.as_bytes());
    repo.git(&["commit", "-q", "-m", "begin"]);
    assert!(repo.path(".git/index").metadata().expect("an index").len() > 1 << 20);
    repo
}

fn writes(at: &str, text: &str) -> PlannedCommit {
    let writes = vec![Write::evidence(path(at), text.as_bytes().to_vec(), false)];
    PlannedCommit {
        message: "step".to_owned(),
        writes,
        removes: Vec::new(),
        moves: Vec::new(),
    }
}

/// The paths of which the index differs from HEAD.
fn staged(repo: &Repo) -> String {
    assert!(
        !repo.path(".git/orch/index.next").exists(),
        "nothing is left"
    );
    assert!(!repo.path(".git/index.lock").exists(), "nothing is locked");
    repo.git(&["fsck", "--strict"]);
    repo.git(&["diff", "--cached", "--name-only"])
}

#[test]
fn it_is_written_like_a_small_one() {
    for format in FORMATS {
        let repo = large(format);
        let store = repo.store();
        for (number, at) in ["a", "src/10000", "z/z"].into_iter().enumerate() {
            let planned = [
                writes(at, &format!("{number}\n")),
                writes(at, &format!("{number} again\n")),
            ];
            store
                .begin()
                .and_then(|mut begun| begun.commit(&planned))
                .expect("committed");
            assert_eq!(staged(&repo), "", "the index is that of HEAD");
        }
        assert_eq!(store.counted().indexes_ahead, 3);
        let removes = vec![path("src/00007"), path("z/z")];
        let planned = PlannedCommit {
            removes,
            writes: Vec::new(),
            ..writes("a", "")
        };
        store
            .begin()
            .and_then(|mut begun| begun.commit(&[planned]))
            .expect("committed");
        assert_eq!(staged(&repo), "");
        assert_eq!(repo.git(&["ls-files"]).lines().count(), FILES);
    }
}

/// The first commit is built by then, and the index is being written with both.
#[test]
fn what_changes_while_it_is_written_is_not_lost() {
    let repo = large(ObjectFormat::Sha1);
    let store = repo.store();
    let meanwhile = |_: usize| {
        repo.write("theirs", "theirs\n");
        repo.git(&["add", "theirs"]);
        false
    };
    let planned = [writes("t/a", "1\n"), writes("t/b", "2\n")];
    store
        .begin()
        .and_then(|mut begun| begun.commit_until(&planned, &meanwhile))
        .expect("committed");
    assert_eq!(staged(&repo), "theirs\n");
    assert_eq!(store.counted().indexes_ahead, 0);
    // The same path as a later commit.
    let meanwhile = |_: usize| {
        repo.write("t/b", "theirs\n");
        repo.git(&["add", "t/b"]);
        false
    };
    let planned = [writes("t/a", "3\n"), writes("t/b", "4\n")];
    let done = store
        .begin()
        .and_then(|mut begun| begun.commit_until(&planned, &meanwhile));
    assert_eq!(done.expect("committed").left_staged, [path("t/b")]);
    assert_eq!(staged(&repo), "t/b\ntheirs\n");
}

#[test]
fn a_batch_that_ends_early_stages_no_more_than_it_commits() {
    let repo = large(ObjectFormat::Sha1);
    let store = repo.store();
    let planned = [
        writes("t/a", "1\n"),
        writes("t/b", "2\n"),
        writes("t/c", "3\n"),
    ];
    let done = store
        .begin()
        .and_then(|mut begun| begun.commit_until(&planned, &|built| built == 2));
    assert_eq!(done.expect("committed").commits.len(), 2);
    assert_eq!(staged(&repo), "");
    assert_eq!(repo.git(&["ls-files", "t"]), "t/a\nt/b\n");
}

#[test]
fn what_a_person_has_staged_stays() {
    let repo = large(ObjectFormat::Sha1);
    repo.write("src/00001", "theirs\n");
    repo.git(&["add", "src/00001"]);
    let planned = [writes("src/00001", "ours\n"), writes("t/a", "1\n")];
    let done = repo
        .store()
        .begin()
        .and_then(|mut begun| begun.commit(&planned))
        .expect("committed");
    assert_eq!(done.left_staged, [path("src/00001")]);
    assert_eq!(staged(&repo), "src/00001\n");
    assert_eq!(repo.git(&["show", ":src/00001"]), "theirs\n");
}

#[test]
fn nothing_of_it_stays_if_the_commits_cannot_be_built() {
    let repo = large(ObjectFormat::Sha1);
    let before = fs::read(repo.path(".git/index")).expect("an index");
    let store = repo.store();
    let mut begun = store.begin().expect("begun");
    let refused = begun
        .commit(&[writes("t/a", "1\n"), writes("src", "a file\n")])
        .expect_err("refused");
    assert_eq!(refused.code(), Code::DirectoryTaken);
    assert_eq!(staged(&repo), "");
    assert!(fs::read(repo.path(".git/index")).expect("an index") == before);
    // The same transaction can commit something else.
    begun.commit(&[writes("t/a", "1\n")]).expect("committed");
    drop(begun);
    assert_eq!(staged(&repo), "");
    assert_eq!(store.counted().indexes_ahead, 0);
}

#[test]
fn an_index_that_changed_before_the_lock_is_read_again() {
    let repo = large(ObjectFormat::Sha1);
    let store = repo.store();
    store.read_index_ahead();
    repo.write("theirs", "theirs\n");
    repo.git(&["add", "theirs"]);
    store
        .begin()
        .and_then(|mut begun| begun.commit(&[writes("t/a", "1\n")]))
        .expect("committed");
    assert_eq!(staged(&repo), "theirs\n");
    assert_eq!(
        store.counted().indexes_ahead,
        1,
        "it was read again in time"
    );
}

#[test]
fn an_index_that_is_changed_without_its_lock_is_not_replaced() {
    let repo = large(ObjectFormat::Sha1);
    let store = repo.store();
    let blob = repo.blob("new\n");
    let due = [IndexChange {
        path: path("t/a"),
        before: None,
        after: Some((blob, 0o100_644)),
    }];
    let mut update = store.begin_index_update().expect("locked");
    update.begin(&due).expect("written");
    update.wait(&due).expect("synced");
    let file = repo.path(".git/index");
    let mut changed = fs::read(&file).expect("an index");
    changed.push(0);
    fs::write(&file, &changed).expect("written");
    let error = store
        .finish_index_update(update, &due)
        .err()
        .expect("refused");
    assert_eq!(error.class(), Class::Busy);
    assert!(fs::read(&file).expect("an index") == changed);
    assert!(!repo.path(".git/orch/index.next").exists());
    assert!(!repo.path(".git/index.lock").exists());
}

/// Whatever comes of it, it ends with an answer.
#[test]
fn no_change_in_place_makes_it_panic() {
    let repo = large(ObjectFormat::Sha1);
    let file = repo.path(".git/index");
    let good = fs::read(&file).expect("an index");
    let end = u64::try_from(good.len()).expect("small");
    for round in 0..12_u64 {
        fs::write(&file, &good).expect("written");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let open = File::options().write(true).open(&file).expect("opened");
                let mut at = round;
                while !is_over.load(Relaxed) {
                    at = at
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    // The end has the trees.
                    let place = if at & 1 == 0 {
                        at >> 20
                    } else {
                        end - 1 - (at >> 20) % 400
                    } % end;
                    open.write_all_at(&[(at >> 56).to_le_bytes()[0]], place)
                        .expect("written");
                }
            });
            let store = repo.store();
            let planned = [
                writes("a", &format!("{round}\n")),
                writes("src/09999", &format!("{round}\n")),
            ];
            let _ = store.begin().and_then(|mut begun| begun.commit(&planned));
            is_over.store(true, Relaxed);
        });
        let _ = fs::remove_file(repo.path(".git/index.lock"));
    }
    fs::write(&file, &good).expect("written");
    repo.git(&["reset", "-q"]);
    repo.git(&["fsck", "--strict"]);
}
