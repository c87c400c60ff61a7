//! What git knows about untracked files stays known, and stays true.

use super::against_git::Chance;
use super::{FORMATS, Repo, change};
use crate::entries::IndexFile;
use crate::untracked;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// A repository with tracked files in some directories, whose index has an untracked cache.
fn cached(repo: &Repo) {
    for name in ["a", "d/b", "d/e/c", "f/g/h", "z/é ü"] {
        repo.write(name, "1\n");
    }
    repo.write(".gitignore", "*.log\n");
    repo.write("d/.gitignore", "ignored\n");
    repo.git(&["add", "-A"]);
    repo.git(&["update-index", "--force-untracked-cache"]);
}

/// What is untracked according to git: by what it knows, and by looking anew.
fn told(repo: &Repo) -> [String; 2] {
    fs::copy(repo.path(".git/index"), repo.path(".git/anew")).expect("copied");
    repo.git_on("anew", &["update-index", "--no-untracked-cache"], b"");
    let status = ["--no-optional-locks", "status", "--porcelain", "-z"];
    ["index", "anew"].map(|index| repo.git_on(index, &status, b""))
}

#[test]
fn git_finds_what_it_finds_without_it() {
    let repos = FORMATS.map(Repo::of);
    repos.iter().for_each(cached);
    let blobs = repos.each_ref().map(|repo| repo.blob("1\n"));
    let names = [
        "new",
        "d/new",
        "d/ignored",
        "d/e/new",
        "d/x/y/new",
        "f/new",
        "f/g/x.log",
        "u/v/w",
        "z/new",
        "q/r",
    ];
    let mut chance = Chance(0x5eed);
    let mut known = 0;
    for case in 0..120 {
        let (repo, blob) = (&repos[case % 2], blobs[case % 2]);
        // A change within a second counts as one that git must look for.
        for _ in 0..chance.below(3) {
            repo.write(names[chance.below(names.len())], "1\n");
        }
        if chance.below(4) > 0 {
            repo.git(&["status", "--porcelain"]);
        }
        let index = fs::read(repo.path(".git/index")).expect("an index");
        let index = IndexFile::parse(index, repo.format).expect("a plain index");
        known += index
            .extensions()
            .filter(|(signature, _)| *signature == b"UNTR")
            .count();
        let name = names[chance.below(names.len())];
        let listed = repo.git(&["ls-files", "-s", name]);
        let (before, after) = if listed.is_empty() {
            (None, Some(blob))
        } else {
            (Some(blob), None)
        };
        repo.store()
            .sync_index(&[change(name, before, after)], false)
            .expect("written");
        let [ours, anew] = told(repo);
        assert_eq!(ours, anew, "case {case}: {name}");
    }
    assert_eq!(known, 120, "it is never lost");
}

#[test]
fn other_directories_stay_known() {
    for repo in FORMATS.map(Repo::of) {
        cached(&repo);
        repo.write("d/e/untracked", "1\n");
        repo.git(&["status"]);
        let extension = |repo: &Repo| {
            let index = fs::read(repo.path(".git/index")).expect("an index");
            let index = IndexFile::parse(index, repo.format).expect("a plain index");
            let found = index
                .extensions()
                .find(|(signature, _)| *signature == b"UNTR");
            found.expect("a cache").1.to_vec()
        };
        let before = extension(&repo);
        assert_eq!(
            untracked::forget(&before, repo.format, &HashSet::new()),
            Some(before.clone())
        );
        // So long after a change git believes what it knows.
        let old = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for directory in ["", "d", "d/e", "f", "f/g", "z"] {
            let opened = fs::File::open(repo.path(directory)).expect("opened");
            opened.set_modified(old).expect("set");
        }
        repo.git(&["status"]);
        let one = repo.blob("1\n");
        repo.store()
            .sync_index(&[change("f/new", None, Some(one))], false)
            .expect("written");
        let after = extension(&repo);
        // Whether there is something to forget.
        let stamps = |extension: &[u8]| {
            ["", "d", "d/e", "f", "f/g", "z"].map(|name| {
                let above: Vec<&str> = Path::new(name)
                    .ancestors()
                    .filter_map(Path::to_str)
                    .collect();
                let [without, with] = [1, 0].map(|first| {
                    let directories = above
                        .iter()
                        .skip(first)
                        .map(|path| path.as_bytes().to_vec())
                        .collect();
                    untracked::forget(extension, repo.format, &directories).expect("whole")
                });
                without != with
            })
        };
        assert_eq!(stamps(&after), [false, true, true, false, true, true]);
    }
}

/// A directory that changed in the second in which git wrote the index may have changed again in that second. git looks at
/// it again, unless the index is younger.
#[test]
fn what_came_in_the_moment_git_looked_is_still_found() {
    for repo in FORMATS.map(Repo::of) {
        cached(&repo);
        let moment = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let set = |path: &str, time| {
            fs::File::open(repo.path(path))
                .expect("opened")
                .set_modified(time)
                .expect("set");
        };
        let old = moment - Duration::from_secs(100);
        let files = [
            "a",
            "d/b",
            "d/e/c",
            "f/g/h",
            "z/é ü",
            ".gitignore",
            "d/.gitignore",
        ];
        files.iter().for_each(|path| set(path, old));
        ["", "d", "d/e", "f", "f/g", "z"]
            .iter()
            .for_each(|path| set(path, moment));
        repo.git(&["status"]);
        repo.write("z/late", "1\n");
        set("z", moment);
        set(".git/index", moment);
        assert!(told(&repo)[0].contains("z/late"), "git looks again");
        let one = repo.blob("1\n");
        let changes = [change("a", Some(one), None)];
        repo.store().sync_index(&changes, false).expect("written");
        let [ours, anew] = told(&repo);
        assert!(ours == anew && ours.contains("z/late"), "{ours}");
        let written = fs::metadata(repo.path(".git/index")).and_then(|index| index.modified());
        assert_eq!(written.expect("a time"), moment);
    }
}
