//! Tests of finding the commit that still has what later commits took away.

use super::{FORMATS, Repo, path};
use crate::base::{Digest, RepoPath};
use std::fs;

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
                .commit_holding(&path(at), repo.blob(text))
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
        .commit_holding(&path("tasks/t/plan.md"), repo.blob("side\n"))
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
                .commit_holding(&path(place), repo.blob(text))
                .expect("read"),
            Some(commit),
            "{place}"
        );
    }
}

/// A commit may add all of a large directory, of which it takes nothing away.
#[test]
fn what_a_commit_adds_is_not_read() {
    let repo = Repo::new();
    repo.write("tasks/t/plan.md", "one\n");
    let begin = commit(&repo, "begin");
    repo.write("tasks/t/plan.md", "two\n");
    for number in 0..50 {
        repo.write(&format!("tasks/u-{number}/notes/day.md"), "new\n");
    }
    commit(&repo, "added");
    let store = repo.store();
    let found = store
        .commit_holding(&path("tasks/t/plan.md"), repo.blob("one\n"))
        .expect("read");
    assert_eq!(found, Some(begin));
    // HEAD and the walk list `tasks` and `tasks/t`; the new directories have two entries each.
    let listed = store.listed.get();
    assert!(listed <= 2 * (51 + 4) + 8, "{listed}");
}

/// However many files are missing, and in however many threads they are looked for.
#[test]
fn all_that_is_missing_costs_one_walk() {
    let repo = Repo::new();
    for number in 0..20 {
        repo.write(&format!("tasks/t-{number}/plan.md"), &format!("{number}\n"));
    }
    let begin = commit(&repo, "begin");
    fs::remove_dir_all(repo.path("tasks")).expect("removed");
    commit(&repo, "removed");
    for number in 0..20 {
        repo.write(&format!("tasks/u-{number}/plan.md"), "another\n");
        commit(&repo, "another");
    }
    let store = repo.store();
    let found = |number: usize| {
        let place = path(&format!("tasks/t-{number}/plan.md"));
        store
            .commit_holding(&place, repo.blob(&format!("{number}\n")))
            .expect("read")
    };
    assert_eq!(found(0), Some(begin));
    let walked = store.listed.get();
    for number in 1..20 {
        assert_eq!(found(number), Some(begin));
    }
    // Each asks HEAD, which has two directories on the way.
    let most = 19 * (1 + 20);
    assert!(
        walked > most && store.listed.get() <= walked + most,
        "{walked}, then {}",
        store.listed.get()
    );
    let other = store.location().open().expect("opened");
    assert_eq!(
        other
            .commit_holding(&path("tasks/t-3/plan.md"), repo.blob("3\n"))
            .expect("read"),
        Some(begin)
    );
    assert!(other.listed.get() <= 1 + 20);
}

/// What no commit has changed is not looked for again, until there is another commit.
#[test]
fn that_a_path_has_no_history_stays_known() {
    let repo = Repo::new();
    for number in 0..20 {
        repo.write("tasks/t/plan.md", &format!("{number}\n"));
        commit(&repo, "again");
    }
    let (wanted, store) = (
        [path("tasks/t/plan.md"), path("tasks/u/plan.md")],
        repo.store(),
    );
    let newest = || Digest::parse(repo.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(store.last_changes(&wanted).expect("read"), [newest(), None]);
    for store in [store, repo.store()] {
        let listed = store.listed.get();
        assert_eq!(store.last_changes(&wanted).expect("read"), [newest(), None]);
        assert_eq!(store.listed.get(), listed);
    }
    repo.write("tasks/u/plan.md", "first\n");
    let first = commit(&repo, "first");
    fs::remove_file(repo.path("tasks/t/plan.md")).expect("removed");
    let removed = commit(&repo, "removed");
    assert_eq!(
        repo.store().last_changes(&wanted).expect("read"),
        [Some(removed), Some(first)]
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
            store.tree_source(Digest::parse(commit.trim()).expect("an id"))
        });
        let paths = store
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
