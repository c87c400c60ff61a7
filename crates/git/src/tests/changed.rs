//! The changes of a batch for the index, compared with the commits that are built.

use super::against_git::Chance;
use super::{Repo, path};
use crate::{MovedPath, PlannedCommit, Write};
use orch_base::{Digest, RepoPath};
use std::collections::BTreeMap;

type Files = BTreeMap<RepoPath, (Digest, i32)>;

fn files(repo: &Repo, commit: &str) -> Files {
    let listed = repo.git(&["ls-tree", "-r", "-z", commit]);
    let file = |line: &str| {
        let (about, name) = line.split_once('\t').expect("a tab");
        let parts: Vec<&str> = about.split(' ').collect();
        let mode = i32::from_str_radix(parts[0], 8).expect("a mode");
        (path(name), (Digest::parse(parts[2]).expect("an id"), mode))
    };
    listed.split_terminator('\0').map(file).collect()
}

#[test]
fn they_are_what_the_commits_change() {
    let repo = Repo::new();
    repo.git(&["config", "user.name", "Ann"]);
    repo.git(&["config", "user.email", "ann@example.com"]);
    for name in ["a/x", "a/y/z", "b/x", "c", "d/e/f"] {
        repo.write(name, name);
    }
    repo.git(&["add", "-A"]);
    repo.git(&["update-index", "--chmod=+x", "a/y/z"]);
    repo.git(&["commit", "-qm", "begin"]);
    let before = files(&repo, "HEAD");
    let mut chance = Chance(0x5eed);
    let mut below = |limit: usize| chance.below(limit);
    let names = [
        "a/x", "a/y/z", "a/new", "b/x", "b/y/x", "c", "d/e/f", "d/e/g", "m/x", "n",
    ];
    let (mut built_ones, mut moved_ones) = (0, 0);
    for round in 0..300 {
        let store = repo.store();
        let begun = store.transactions().begin().expect("begun");
        let planned: Vec<PlannedCommit> = (0..=below(3))
            .map(|number| {
                let moved = |from: &str| MovedPath {
                    from: path(from),
                    to: path(&format!("to{number}")),
                };
                let moves: Vec<_> = (0..below(2))
                    .map(|_| moved(["a", "b", "c", "d/e", "to0", "to1"][below(6)]))
                    .collect();
                let removes = (0..below(3))
                    .map(|_| path(names[below(names.len())]))
                    .collect();
                let text = |number: usize| format!("{number}\n").into_bytes();
                let writes = (0..below(4)).map(|_| {
                    Write::evidence(
                        path(names[below(names.len())]),
                        text(below(3)),
                        below(2) == 0,
                    )
                });
                let writes = writes.collect();
                PlannedCommit {
                    message: format!("{round} {number}"),
                    writes,
                    removes,
                    moves,
                }
            })
            .collect();
        // What cannot be committed has no changes.
        let Ok(built) = begun.build(&planned, false, &|_| false) else {
            continue;
        };
        let changes = begun.index_changes(&planned).expect("read");
        let after = files(&repo, &built.commits.last().expect("a commit").to_string());
        let entry = |files: &Files, path: &RepoPath| files.get(path).copied();
        for change in &changes {
            let is_file = |held: &(Digest, i32)| held.1 != 0o040_000;
            assert_eq!(
                change.before.filter(is_file),
                entry(&before, &change.path),
                "{round}: {planned:?}"
            );
            assert_eq!(
                change.after,
                entry(&after, &change.path),
                "{round}: {planned:?}"
            );
        }
        for path in before
            .keys()
            .chain(after.keys())
            .filter(|path| entry(&before, path) != entry(&after, path))
        {
            let is_told = changes.iter().any(|change| change.path == *path);
            assert!(is_told, "{round}: {path} of {planned:?}");
        }
        built_ones += 1;
        moved_ones += usize::from(planned.iter().any(|one| !one.moves.is_empty()));
    }
    assert!(
        built_ones > 100 && moved_ones > 40,
        "{built_ones} were built, {moved_ones} with moves"
    );
}

#[test]
fn what_differs_in_a_tree_that_git_would_not_write_is_found() {
    let repo = Repo::new();
    let (one, two) = (repo.blob("one\n"), repo.blob("two\n"));
    let within = |id: Digest| repo.raw_tree(&[("100644", "x", id)]);
    let (file, tree) = ("100644", "40000");
    let store = repo.store();
    let changed = |before: &[(&str, &str, Digest)], after: &[(&str, &str, Digest)]| {
        let [before, after] = [before, after].map(|entries| {
            let commit = repo.git(&[
                "commit-tree",
                "-m",
                "odd",
                &repo.raw_tree(entries).to_string(),
            ]);
            store
                .objects()
                .source_at(Digest::parse(commit.trim()).expect("an id"))
        });
        let paths = store
            .history()
            .changed(&before, &after, &RepoPath::root())
            .expect("compared");
        paths
            .iter()
            .map(|path| path.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    let both = |id| [(file, "log", id), (tree, "log", within(id))];
    assert_eq!(changed(&both(one), &both(two)), ["log", "log/x"]);
    assert_eq!(
        changed(
            &both(one),
            &[(file, "log", one), (tree, "log", within(two))]
        ),
        ["log/x"]
    );
    assert_eq!(changed(&both(one), &[(tree, "log", within(one))]), ["log"]);
    let twice = [(file, "log", one), (file, "log", two)];
    assert_eq!(changed(&twice, &[(file, "log", two)]), ["log"]);
    assert_eq!(changed(&[(file, "log", two)], &twice), ["log"]);
    assert_eq!(changed(&twice, &twice), Vec::<String>::new());
}
