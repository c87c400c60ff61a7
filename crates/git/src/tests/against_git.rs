//! Compares a spliced index with the one that git makes of the same edits.

use super::{FORMATS, Repo, info, path};
use crate::entries::IndexFile;
use crate::splice::{Edit, SplicedIndex, splice};
use orch_base::{Digest, RepoPath};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Pseudo-random numbers that are the same in every run.
pub(crate) struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("small") % limit
    }

    /// A random path whose names sort before, at and after a slash; sometimes a very long one.
    fn path(&mut self) -> RepoPath {
        let names = ["a", "a-b", "a.b", "a0", "b", "é ü", "Z"];
        let depth = 1 + self.below(4);
        let mut parts: Vec<String> = (0..depth)
            .map(|_| names[self.below(names.len())].to_owned())
            .collect();
        if self.below(8) == 0 {
            let long = "n".repeat(200);
            parts.extend((0..19 + self.below(3)).map(|_| long.clone()));
            parts.push("m".repeat(60 + self.below(60)));
        }
        path(&parts.join("/"))
    }
}

/// Random edits of existing and of new entries.
fn edits(
    chance: &mut Chance,
    present: &BTreeSet<RepoPath>,
    blobs: &[Digest],
) -> BTreeMap<RepoPath, Option<(Digest, i32)>> {
    let mut edits = BTreeMap::new();
    for _ in 0..=chance.below(5) {
        let entry = (
            blobs[chance.below(blobs.len())],
            [0o100_644, 0o100_755][chance.below(2)],
        );
        let known = present.iter().nth(chance.below(present.len().max(1)));
        match (known, chance.below(3)) {
            (Some(known), 0) => edits.insert(known.clone(), None),
            (Some(known), 1) => edits.insert(known.clone(), Some(entry)),
            _ => edits.insert(chance.path(), Some(entry)),
        };
    }
    edits
}

/// Whether one path is below the other.
fn collide(one: &RepoPath, other: &RepoPath) -> bool {
    one.below(other).is_some_and(|rest| rest != one.as_str()) || other.below(one).is_some()
}

#[test]
fn a_spliced_index_is_the_one_that_git_would_write() {
    let repos = FORMATS.map(Repo::of);
    let blobs = repos
        .each_ref()
        .map(|repo| [0, 1, 2, 3].map(|number| repo.blob(&format!("{number}\n"))));
    repos.iter().for_each(|repo| repo.write("later", "later\n"));
    let mut chance = Chance(0x5eed);
    let (mut spliced, mut versions) = (0, BTreeSet::new());
    for case in 0..200 {
        let (repo, blobs) = (&repos[case % 2], &blobs[case % 2]);
        let mut begin = BTreeMap::new();
        for _ in 0..chance.below(24) {
            begin.insert(
                chance.path(),
                Some((blobs[chance.below(blobs.len())], 0o100_644)),
            );
        }
        let begin: Vec<Edit<'_>> = begin
            .iter()
            .map(|(path, entry)| Edit {
                path,
                entry: *entry,
            })
            .collect();
        repo.git(&["read-tree", "--empty"]);
        repo.git_on(
            "index",
            &["update-index", "-z", "--index-info"],
            &info(repo, &begin),
        );
        let list = |index: &str| -> BTreeSet<RepoPath> {
            repo.git_on(index, &["ls-files", "-z"], &[])
                .split_terminator('\0')
                .map(path)
                .collect()
        };
        repo.git(&[
            "update-index",
            "--index-version",
            ["2", "3", "4"][chance.below(3)],
        ]);
        let present = list("index");
        match (
            chance.below(4),
            present.iter().nth(chance.below(present.len().max(1))),
        ) {
            (0, Some(skipped)) => {
                drop(repo.git(&["update-index", "--skip-worktree", skipped.as_str()]))
            }
            (1, _) => drop(repo.git(&["add", "-N", "later"])),
            _ => {}
        }
        if chance.below(3) > 0 {
            repo.git(&["write-tree"]);
        }
        if chance.below(3) == 0 {
            let more = edits(&mut chance, &list("index"), blobs);
            let more: Vec<Edit<'_>> = more
                .iter()
                .map(|(path, entry)| Edit {
                    path,
                    entry: *entry,
                })
                .collect();
            repo.git_on(
                "index",
                &["update-index", "-z", "--index-info"],
                &info(repo, &more),
            );
        }
        let present = list("index");
        let edits = edits(&mut chance, &present, blobs);
        // In a commit no file is below another, so neither among the edits.
        let collides = |path: &RepoPath| {
            edits
                .iter()
                .any(|(other, entry)| entry.is_some() && collide(path, other))
        };
        let edits: Vec<Edit<'_>> = edits
            .iter()
            .filter(|(path, entry)| entry.is_none() || !collides(path))
            .map(|(path, entry)| Edit {
                path,
                entry: *entry,
            })
            .collect();

        let index = fs::read(repo.path(".git/index")).expect("an index");
        versions.insert(index[7]);
        let index = IndexFile::parse(index, repo.format).expect("a plain index");
        let parts = splice(&index, &edits);
        let is_new = |edit: &&Edit<'_>| edit.entry.is_some() && !present.contains(edit.path);
        let in_the_way = edits
            .iter()
            .filter(is_new)
            .any(|edit| present.iter().any(|other| collide(edit.path, other)));
        assert_eq!(parts.is_none(), in_the_way, "case {case}: {edits:?}");
        let Some(parts) = parts else { continue };
        spliced += 1;
        fs::write(repo.path(".git/ours"), bytes(&parts)).expect("written");
        fs::copy(repo.path(".git/index"), repo.path(".git/theirs")).expect("copied");
        repo.git_on(
            "theirs",
            &["update-index", "-z", "--index-info"],
            &info(repo, &edits),
        );
        let compare = |asked: &[&str]| {
            let [ours, theirs] = ["ours", "theirs"].map(|index| repo.git_on(index, asked, &[]));
            assert_eq!(ours, theirs, "case {case}: {asked:?} after {edits:?}");
        };
        compare(&["ls-files", "-s", "-t", "-v", "-z"]);
        // git trusts the cached trees of an index.
        compare(&["write-tree"]);
        if case % 8 < 2 {
            compare(&["status", "--porcelain", "-z"]);
            let fsck = repo.output("ours", &["fsck", "--no-dangling", "--strict"], &[]);
            let said = String::from_utf8_lossy(&fsck.stderr);
            assert!(
                said.lines().all(|line| line.starts_with("notice:")),
                "case {case}: {said}"
            );
            assert_eq!(
                repo.git_on("ours", &["write-tree"], &[]),
                repo.tree_anew("ours"),
                "case {case}"
            );
        }
    }
    assert!(spliced > 100, "only {spliced} cases were spliced");
    assert_eq!(versions, BTreeSet::from([2, 3, 4]));
}

#[test]
fn both_ways_to_write_names_are_read_alike() {
    for repo in FORMATS.map(Repo::of) {
        let blob = repo.blob("x\n");
        let name = |number: usize| {
            let long = "n".repeat([number % 40, 5_000][usize::from(number % 50 == 7)]);
            path(&format!(
                "{}/{long}{number}",
                ["a", "a-b", "b/c"][number % 3]
            ))
        };
        let paths: Vec<RepoPath> = (0..300).map(name).collect();
        let edits: Vec<Edit<'_>> = paths
            .iter()
            .map(|path| Edit {
                path,
                entry: Some((blob, 0o100_644)),
            })
            .collect();
        repo.git_on(
            "index",
            &["update-index", "-z", "--index-info"],
            &info(&repo, &edits),
        );
        let [whole, compressed] = ["2", "4"].map(|version| {
            repo.git(&["update-index", "--index-version", version]);
            let bytes = fs::read(repo.path(".git/index")).expect("an index");
            IndexFile::parse(bytes, repo.format).expect("a plain index")
        });
        assert!(compressed.is_compressed() && !whole.is_compressed());
        let names: Vec<Vec<u8>> = whole
            .entries(0)
            .map(|entry| entry.name.into_owned())
            .collect();
        assert_eq!(names.len(), 300);
        for (number, name) in names.iter().enumerate() {
            assert_eq!(compressed.entry(number).expect("there").name, *name);
            let rest: Vec<Vec<u8>> = compressed
                .entries(number)
                .map(|entry| entry.name.into_owned())
                .collect();
            assert_eq!(rest, names[number..]);
            let (before, after) = (&name[..name.len() - 1], [name, &b"\x01"[..]].concat());
            for asked in [name.as_slice(), before, &after] {
                assert_eq!(compressed.position(asked), whole.position(asked));
                assert_eq!(compressed.named(asked), whole.named(asked));
            }
        }
        assert!(compressed.entry(names.len()).is_none());
        assert_eq!(compressed.position(b"~"), names.len());
    }
}

#[test]
fn trees_of_other_directories_stay_known() {
    FORMATS.map(Repo::of).iter().for_each(trees_stay_known);
}

fn trees_stay_known(repo: &Repo) {
    let blob = repo.blob("x\n");
    let paths = ["a/b/c", "a/d", "e/f", "g"].map(path);
    let begin = paths.each_ref().map(|path| Edit {
        path,
        entry: Some((blob, 0o100_644)),
    });
    repo.git_on(
        "index",
        &["update-index", "-z", "--index-info"],
        &info(repo, &begin),
    );
    let tree = repo.git(&["write-tree"]);
    let known = |bytes: &[u8]| {
        // A cached tree starts with the number of its entries.
        let text = String::from_utf8_lossy(bytes).into_owned();
        ["TREE", "b\x001 0\n", "e\x001 0\n", "a\x002 1\n"].map(|part| text.contains(part))
    };
    let index = fs::read(repo.path(".git/index")).expect("an index");
    assert_eq!(known(&index), [true; 4]);
    let index = IndexFile::parse(index, repo.format).expect("a plain index");
    let edit = Edit {
        path: &path("a/new"),
        entry: Some((blob, 0o100_644)),
    };
    let parts = bytes(&splice(&index, &[edit]).expect("spliced"));
    assert_eq!(known(&parts), [true, true, true, false]);
    // After removing the entry again, the trees are the old ones.
    let index = IndexFile::parse(parts, repo.format).expect("a plain index");
    let parts = bytes(
        &splice(
            &index,
            &[Edit {
                entry: None,
                ..edit
            }],
        )
        .expect("spliced"),
    );
    fs::write(repo.path(".git/index"), parts).expect("written");
    assert_eq!(repo.git(&["write-tree"]), tree);
}

#[test]
fn no_bytes_make_it_panic() {
    for repo in FORMATS.map(Repo::of) {
        ["2", "4"]
            .iter()
            .for_each(|version| no_index_makes_it_panic(&repo, version));
    }
}

fn no_index_makes_it_panic(repo: &Repo, version: &str) {
    let blob = repo.blob("x\n");
    let paths = ["a/b", "a/c", "d"].map(path);
    let begin = paths.each_ref().map(|path| Edit {
        path,
        entry: Some((blob, 0o100_644)),
    });
    repo.git_on(
        "index",
        &["update-index", "-z", "--index-info"],
        &info(repo, &begin),
    );
    repo.git(&["write-tree"]);
    repo.write("a/untracked", "x\n");
    repo.git(&[
        "update-index",
        "--index-version",
        version,
        "--force-untracked-cache",
    ]);
    repo.git(&["status"]);
    let bytes = fs::read(repo.path(".git/index")).expect("an index");
    let edits = ["a/b", "a/new", "z"].map(path);
    let edits = [
        Edit {
            path: &edits[0],
            entry: None,
        },
        Edit {
            path: &edits[1],
            entry: Some((blob, 0o100_755)),
        },
        Edit {
            path: &edits[2],
            entry: Some((blob, 0o100_644)),
        },
    ];
    let mut spliced = 0;
    for at in 0..bytes.len() {
        for byte in [0, b'/', 0x7f, 0xff] {
            let mut hostile = bytes.clone();
            hostile[at] = byte;
            let index = IndexFile::parse(hostile, repo.format);
            spliced += usize::from(index.is_some_and(|index| splice(&index, &edits).is_some()));
        }
    }
    assert!(spliced > 0);
    for length in 0..bytes.len() {
        let index = IndexFile::parse(bytes[..length].to_vec(), repo.format);
        let _ = index.is_some_and(|index| splice(&index, &edits).is_some());
    }
}

fn bytes(index: &SplicedIndex<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.write(&mut bytes).expect("written");
    bytes
}
