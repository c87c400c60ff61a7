//! What others stage while a batch is made, and batches that are not committed as planned.

use super::{Repo, path};
use crate::index::IndexUpdate;
use crate::read_index::IndexChange;
use crate::{PlannedCommit, Store, Write};
use orch_base::{Class, Code};
use std::fs;

/// A repository with a commit.
fn begun() -> Repo {
    let repo = Repo::new();
    repo.git(&["config", "user.name", "Ann"]);
    repo.git(&["config", "user.email", "ann@example.com"]);
    repo.write("src/file", "x\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "begin"]);
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
fn what_is_staged_while_the_commits_are_built_is_not_lost() {
    let repo = begun();
    let store = repo.store();
    let meanwhile = |_: usize| {
        repo.write("theirs", "theirs\n");
        repo.git(&["add", "theirs"]);
        false
    };
    let planned = [writes("t/a", "1\n"), writes("t/b", "2\n")];
    store
        .transactions()
        .begin()
        .and_then(|mut begun| begun.commit_until(&planned, &meanwhile))
        .expect("committed");
    assert_eq!(staged(&repo), "theirs\n");
    // The same path as a later commit.
    let meanwhile = |_: usize| {
        repo.write("t/b", "theirs\n");
        repo.git(&["add", "t/b"]);
        false
    };
    let planned = [writes("t/a", "3\n"), writes("t/b", "4\n")];
    let done = store
        .transactions()
        .begin()
        .and_then(|mut begun| begun.commit_until(&planned, &meanwhile));
    assert_eq!(done.expect("committed").left_staged, [path("t/b")]);
    assert_eq!(staged(&repo), "t/b\ntheirs\n");
}

#[test]
fn a_batch_that_ends_early_stages_no_more_than_it_commits() {
    let repo = begun();
    let store = repo.store();
    let planned = [
        writes("t/a", "1\n"),
        writes("t/b", "2\n"),
        writes("t/c", "3\n"),
    ];
    let done = store
        .transactions()
        .begin()
        .and_then(|mut begun| begun.commit_until(&planned, &|built| built == 2));
    assert_eq!(done.expect("committed").commits.len(), 2);
    assert_eq!(staged(&repo), "");
    assert_eq!(repo.git(&["ls-files", "t"]), "t/a\nt/b\n");
}

#[test]
fn nothing_stays_of_commits_that_cannot_be_built() {
    let repo = begun();
    let before = fs::read(repo.path(".git/index")).expect("an index");
    let store = repo.store();
    let mut begun = store.transactions().begin().expect("begun");
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
}

/// Plans these changes of the index, runs `between`, and locks the index.
fn planned_and_locked<'s>(
    store: &'s Store,
    due: &[IndexChange],
    between: impl FnOnce(),
) -> IndexUpdate<'s> {
    let own = store.layout().own_directory().expect("a directory");
    let (mut plan, _) = store.index().plan_update(due).expect("read");
    plan.begin(due, own).expect("written");
    plan.wait().expect("synced");
    between();
    let update = store.index().lock_planned(plan, due, due);
    update.expect("locked")
}

#[test]
fn what_is_staged_between_the_plan_and_the_lock_stays() {
    let repo = begun();
    let store = repo.store();
    let due = [IndexChange {
        path: path("t/a"),
        before: None,
        after: Some((repo.blob("new\n"), 0o100_644)),
    }];
    repo.write("mine", "mine\n");
    let update = planned_and_locked(&store, &due, || drop(repo.git(&["add", "mine"])));
    let held = store.index().finish_index_update(update, &due);
    drop(held.expect("written"));
    assert_eq!(repo.git(&["ls-files", "mine", "t/a"]), "mine\nt/a\n");
    // Another version of what is planned for is a reason to evaluate again.
    let due = [IndexChange {
        path: path("t/b"),
        before: None,
        after: Some((repo.blob("new\n"), 0o100_644)),
    }];
    let own = store.layout().own_directory().expect("a directory");
    let (mut plan, _) = store.index().plan_update(&due).expect("read");
    plan.begin(&due, own).expect("written");
    repo.write("t/b", "other\n");
    repo.git(&["add", "t/b"]);
    let refused = store.index().lock_planned(plan, &due, &due);
    assert!(refused.err().expect("refused").is_moved());
    assert!(!repo.path(".git/index.lock").exists());
}

#[test]
fn an_index_that_is_changed_without_its_lock_is_not_replaced() {
    let repo = begun();
    let store = repo.store();
    let blob = repo.blob("new\n");
    let due = [IndexChange {
        path: path("t/a"),
        before: None,
        after: Some((blob, 0o100_644)),
    }];
    let update = planned_and_locked(&store, &due, || ());
    let file = repo.path(".git/index");
    let mut changed = fs::read(&file).expect("an index");
    changed.push(0);
    fs::write(&file, &changed).expect("written");
    let error = store
        .index()
        .finish_index_update(update, &due)
        .err()
        .expect("refused");
    assert_eq!(error.class(), Class::Busy);
    assert!(fs::read(&file).expect("an index") == changed);
    assert!(!repo.path(".git/orch/index.next").exists());
    assert!(!repo.path(".git/index.lock").exists());
}
