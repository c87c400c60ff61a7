//! Tests of finding the commit that still has what later commits took away.

use super::{FORMATS, Repo, path};
use crate::Store;
use orch_base::Digest;
use std::fs;

fn head(store: &Store) -> Digest {
    let head = store.refs().head().expect("read");
    head.commit.expect("a commit")
}

fn commit(repo: &Repo, subject: &str) -> Digest {
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    Digest::parse(repo.git(&["rev-parse", "HEAD"]).trim()).expect("an id")
}

#[test]
fn the_newest_commit_that_had_the_content_is_found() {
    for repo in FORMATS.map(Repo::of) {
        repo.write("tasks/t/plan.md", "one\n");
        repo.write("top.md", "first\n");
        commit(&repo, "begin");
        let unrelated = {
            repo.write("src/x", "x\n");
            commit(&repo, "unrelated")
        };
        repo.write("tasks/t/plan.md", "two\n");
        let second = commit(&repo, "replaced");
        fs::remove_file(repo.path("tasks/t/plan.md")).expect("removed");
        repo.write("top.md", "second\n");
        let removed = commit(&repo, "removed");
        let store = repo.store();
        let holding = |at: &str, text: &str| {
            store
                .history()
                .commit_holding(head(&store), &path(at), repo.blob(text))
                .expect("read")
        };
        assert_eq!(holding("tasks/t/plan.md", "one\n"), Some(unrelated));
        assert_eq!(holding("tasks/t/plan.md", "two\n"), Some(second));
        assert_eq!(holding("top.md", "first\n"), Some(second));
        assert_eq!(
            holding("top.md", "second\n"),
            Some(removed),
            "it is there still"
        );
        assert_eq!(holding("tasks/t/plan.md", "never\n"), None);
        assert_eq!(holding("tasks/other.md", "one\n"), None);
        // A later HEAD, seen by the same process.
        repo.write("tasks/t/plan.md", "two\n");
        let back = commit(&repo, "back");
        assert_eq!(holding("tasks/t/plan.md", "two\n"), Some(back));
    }
}

#[test]
fn what_a_merge_did_not_take_is_found_on_its_side() {
    let repo = Repo::new();
    repo.write("tasks/t/plan.md", "base\n");
    commit(&repo, "base");
    repo.git(&["switch", "-qc", "side"]);
    repo.write("tasks/t/plan.md", "side\n");
    let side = commit(&repo, "side");
    repo.git(&["switch", "-q", "main"]);
    repo.write("tasks/t/plan.md", "main\n");
    commit(&repo, "main");
    repo.git(&["merge", "-q", "-s", "ours", "-m", "merged", "side"]);
    let store = repo.store();
    let found = store
        .history()
        .commit_holding(head(&store), &path("tasks/t/plan.md"), repo.blob("side\n"))
        .expect("read");
    assert_eq!(found, Some(side));
}

#[test]
fn a_file_that_became_a_directory_is_found_and_the_reverse() {
    let repo = Repo::new();
    repo.write("tasks/t/plan", "a file\n");
    repo.write("tasks/t/notes/deep/day.md", "in a directory\n");
    let begin = commit(&repo, "begin");
    fs::remove_file(repo.path("tasks/t/plan")).expect("removed");
    repo.write("tasks/t/plan/part.md", "part\n");
    fs::remove_dir_all(repo.path("tasks/t/notes")).expect("removed");
    repo.write("tasks/t/notes", "a file\n");
    let turned = commit(&repo, "turned");
    fs::remove_dir_all(repo.path("tasks")).expect("removed");
    commit(&repo, "removed");
    let store = repo.store();
    for (place, text, commit) in [
        ("tasks/t/plan", "a file\n", begin),
        ("tasks/t/notes/deep/day.md", "in a directory\n", begin),
        ("tasks/t/plan/part.md", "part\n", turned),
        ("tasks/t/notes", "a file\n", turned),
    ] {
        assert_eq!(
            store
                .history()
                .commit_holding(head(&store), &path(place), repo.blob(text))
                .expect("read"),
            Some(commit),
            "{place}"
        );
    }
}
