//! The files that commits remove.

use super::{FORMATS, Repo};
use crate::{Range, Removal};
use orch_base::{Digest, RepoPath};

/// A history in which files are removed, moved and removed again, on both sides of a merge and by the merge.
fn history(repo: &Repo) {
    let commit = |message: &str| {
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", message]);
    };
    for name in ["a", "b", "c", "d", "deep/e"] {
        repo.write(&format!("{name}/log"), &format!("{name}\n"));
        repo.write(&format!("{name}/other"), "x\n");
    }
    commit("begun");
    repo.git(&["rm", "-q", "a/log", "b/other"]);
    commit("a is removed");
    repo.write("a/log", "again\n");
    commit("a is back");
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.git(&["rm", "-q", "-r", "b", "deep"]);
    commit("b and e are removed");
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["mv", "c", "moved"]);
    commit("c is moved");
    repo.git(&["rm", "-q", "a/log"]);
    commit("a is removed again");
    repo.git(&["merge", "-q", "--no-commit", "side"]);
    repo.git(&["rm", "-q", "-r", "d"]);
    repo.git(&["commit", "-q", "-m", "merged without d"]);
}

#[test]
fn removals_of_single_commits_are_those_of_the_walk_in_its_order() {
    for format in FORMATS {
        let repo = Repo::of(format);
        history(&repo);
        let (store, everywhere) = (repo.store(), [RepoPath::root()]);
        let tip = Digest::parse(repo.git(&["rev-parse", "HEAD"]).trim()).expect("an id");
        let walked = store
            .removals()
            .all(tip, &everywhere, "log")
            .expect("walked");
        let mut removed: Vec<&str> = walked.iter().map(|removal| removal.path.as_str()).collect();
        removed.sort_unstable();
        assert_eq!(
            removed,
            [
                "a/log",
                "a/log",
                "b/log",
                "c/log",
                "d/log",
                "d/log",
                "deep/e/log"
            ]
        );
        let commits = store
            .history()
            .commits(&Range {
                from: None,
                to: tip,
            })
            .expect("listed");
        let each = commits
            .iter()
            .map(|commit| store.removals().of_commit(commit.id, &everywhere, "log"));
        let mut found: Vec<Removal> = each
            .flat_map(|removals| removals.expect("compared"))
            .collect();
        assert_ne!(found, walked, "the oldest commit comes first");
        store.removals().sort(tip, &mut found).expect("sorted");
        assert_eq!(found, walked);
    }
}
