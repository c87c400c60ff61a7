//! What git keeps in extensions of the index: after a change of ours, `git status` says what it would say without them.

use super::against_git::Chance;
use super::{FORMATS, Repo, change};
use crate::entries::IndexFile;
use crate::index::IndexUpdate;
use orch_base::{Digest, ObjectFormat};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The files that come and go.
const NAMES: [&str; 14] = [
    "a",
    "d/b",
    "d/e/c",
    "d/e/new",
    "d/ignored",
    "d/new",
    "d/x/y/new",
    "f/g/h",
    "f/g/x.log",
    "f/new",
    "new",
    "q/r",
    "u/v/w",
    "z/é ü",
];

/// A monitor that names each file whose change was noted after the moment that git asks about. It calls a moment by the
/// number of notes. git begins with a time of its own, after which nothing has changed.
const MONITOR: &str = "#!/bin/sh
cd .git
printf '%s\\0' \"$(wc -l < changed)\"
[ ${#2} -gt 9 ] || tail -n +$(($2 + 1)) changed | tr '\\n' '\\0'
";

/// Changes a file of the work tree, or removes it, and lets the monitor know.
fn touch(repo: &Repo, name: &str, number: usize) {
    if number.is_multiple_of(4) && repo.path(name).exists() {
        fs::remove_file(repo.path(name)).expect("removed");
    } else {
        // git need not look at a file twice to see that it has another size.
        repo.write(name, &"x".repeat(1 + number));
    }
    let noted = fs::read_to_string(repo.path(".git/changed")).expect("notes");
    repo.write(".git/changed", &format!("{noted}{name}\n"));
}

/// Makes the last change of each directory an old one, which git believes to have seen. No two cases have the same time.
fn age(repo: &Repo, case: u64) {
    let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + case);
    for name in NAMES {
        for directory in Path::new(name).ancestors().skip(1) {
            if let Ok(opened) = File::open(repo.home.path().join(directory)) {
                opened.set_modified(time).expect("set");
            }
        }
    }
}

fn watched(repo: &Repo) {
    repo.write(".git/monitor", MONITOR);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(repo.path(".git/monitor"), executable).expect("executable");
    repo.git(&["config", "core.fsmonitor", ".git/monitor"]);
    repo.git(&["config", "core.fsmonitorHookVersion", "2"]);
    repo.git(&["update-index", "--fsmonitor"]);
}

/// The extensions of the index; `None` if only git writes it.
fn extensions(repo: &Repo) -> Option<BTreeSet<[u8; 4]>> {
    let bytes = fs::read(repo.path(".git/index")).expect("an index");
    let index = IndexFile::parse(bytes, repo.format)?;
    let signatures = index.extensions().map(|(signature, _)| *signature);
    Some(signatures.collect())
}

/// The status by what git has kept, and without anything that it has kept.
fn statuses(repo: &Repo) -> [String; 2] {
    // In this form git uses its untracked cache.
    let status = ["--no-optional-locks", "status", "--porcelain", "-z"];
    let kept = repo.git(&status);
    let entries = repo.git(&["ls-files", "-s", "-z"]);
    let _ = fs::remove_file(repo.path(".git/again"));
    let input = [
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.untrackedCache=false",
    ];
    let build = [&input[..], &["update-index", "-z", "--index-info"]].concat();
    repo.git_on("again", &build, entries.as_bytes());
    let anew = repo.git_on("again", &[&input[..], &status].concat(), b"");
    [kept, anew]
}

#[test]
fn git_says_what_it_says_without_them() {
    type Setup = fn(&Repo);
    let setups: [(&str, bool, &[&[u8; 4]], Setup); 5] = [
        ("untracked cache", true, &[b"UNTR"], |repo| {
            repo.git(&["update-index", "--force-untracked-cache"]);
        }),
        ("monitor", true, &[b"FSMN"], watched),
        ("both", true, &[b"FSMN", b"UNTR"], |repo| {
            repo.git(&["update-index", "--force-untracked-cache"]);
            watched(repo);
        }),
        ("many files", true, &[b"UNTR"], |repo| {
            repo.git(&["config", "feature.manyFiles", "true"]);
            repo.git(&["update-index", "--index-version", "4"]);
            repo.git(&["update-index", "--force-untracked-cache"]);
        }),
        ("split", false, &[], |repo| {
            repo.git(&["update-index", "--force-untracked-cache"]);
            repo.git(&["update-index", "--split-index"]);
        }),
    ];
    let sha1 = setups.iter().map(|setup| (ObjectFormat::Sha1, setup));
    let both = setups.iter().filter(|setup| setup.0 == "both");
    for (format, &(what, is_ours, wanted, setup)) in
        sha1.chain(both.map(|setup| (ObjectFormat::Sha256, setup)))
    {
        let repo = Repo::of(format);
        repo.write(".gitignore", "*.log\n");
        repo.write("d/.gitignore", "ignored\n");
        repo.write(".git/changed", "");
        for name in NAMES.iter().step_by(3) {
            repo.write(name, "");
        }
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "begin"]);
        setup(&repo);
        let blob = repo.blob("1\n");
        let mut chance = Chance(0x5eed);
        let mut number = 0;
        for case in 0..20 {
            for _ in 0..chance.below(3) {
                number += 1;
                touch(&repo, NAMES[chance.below(NAMES.len())], number);
            }
            if chance.below(4) > 0 {
                age(&repo, case);
                repo.git(&["status", "--porcelain"]);
                let found = extensions(&repo);
                assert_eq!(found.is_some(), is_ours, "{what}, case {case}");
                let is_there =
                    |signature: &&[u8; 4]| found.iter().any(|found| found.contains(*signature));
                assert!(
                    wanted.iter().all(is_there),
                    "{what}, case {case}: {found:?}"
                );
            }
            // A change in the work tree that git has not looked at yet.
            if chance.below(2) > 0 {
                number += 1;
                touch(&repo, NAMES[chance.below(NAMES.len())], number);
            }
            stage(&repo, NAMES[chance.below(NAMES.len())], blob, is_ours);
            let [kept, anew] = statuses(&repo);
            assert_eq!(kept, anew, "{what}, case {case}");
        }
    }
}

/// Adds a file to the index, or changes or removes its entry.
fn stage(repo: &Repo, name: &str, blob: Digest, is_ours: bool) {
    let listed = repo.git(&["ls-files", "-s", name]);
    let id = listed.split(' ').nth(1).and_then(Digest::parse);
    let after = match id {
        Some(id) if id == blob => None,
        _ => Some(blob),
    };
    let store = repo.store();
    let update = store.index().begin_index_update().expect("locked");
    assert_eq!(matches!(update, IndexUpdate::Ours(_)), is_ours);
    drop(update);
    store
        .index()
        .sync_index(&[change(name, id, after)], false)
        .expect("written");
}

#[test]
fn an_untracked_cache_stays_without_a_setting_for_it() {
    for repo in FORMATS.map(Repo::of) {
        repo.write("a", "1\n");
        repo.git(&["add", "-A"]);
        repo.git(&["update-index", "--force-untracked-cache"]);
        repo.write("d/new", "1\n");
        repo.git(&["status"]);
        let one = repo.blob("1\n");
        repo.store()
            .index()
            .sync_index(&[change("b", None, Some(one))], false)
            .expect("written");
        let extensions = extensions(&repo).expect("a plain index");
        assert!(extensions.contains(b"UNTR"), "{extensions:?}");
        let cache = |repo: &Repo| fs::read(repo.path(".git/index")).expect("an index");
        let before = cache(&repo);
        repo.git(&["status"]);
        assert!(
            cache(&repo).len() > before.len() + "d/".len(),
            "git fills it again"
        );
    }
}
