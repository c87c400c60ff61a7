//! Work trees side by side, and what becomes of their branches.

use super::Repo;
use crate::{Ancestors, BranchMoved, Joined, Uncommitted};
use orch_base::Digest;

/// Commits a file with a text on the branch that is checked out.
fn commit(repo: &Repo, file: &str, text: &str) -> Digest {
    repo.write(file, text);
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", text]);
    id(repo, "HEAD")
}

fn id(repo: &Repo, name: &str) -> Digest {
    Digest::parse(repo.git(&["rev-parse", name]).trim()).expect("an id")
}

#[test]
fn branches_are_joined_without_a_work_tree_or_not_at_all() {
    let repo = Repo::new();
    let first = commit(&repo, "a", "one");
    repo.git(&["switch", "-q", "-c", "side"]);
    let side = commit(&repo, "b", "of the side");
    repo.git(&["switch", "-q", "-c", "other", "main"]);
    let other = commit(&repo, "b", "of the other");
    repo.git(&["switch", "-q", "--detach", "main"]);
    let store = repo.store();
    let trees = store.work_trees();
    assert_eq!(trees.base_branch(None, &[]).expect("found"), "main");
    assert_eq!(trees.base_branch(Some("side"), &[]).expect("found"), "side");
    assert!(trees.base_branch(Some("missing"), &[]).is_err());
    let protected = ["release/*".to_owned(), "other".to_owned()];
    assert_eq!(trees.base_branch(None, &protected).expect("found"), "other");

    let joined = trees.merge(first, side, "join").expect("merged");
    let Joined::Commit(joined) = joined else {
        panic!("{joined:?}");
    };
    let parents = repo.git(&["log", "-1", "--format=%P %s", &joined.to_string()]);
    assert_eq!(parents.trim(), format!("{first} {side} join"));
    let conflict = Joined::Conflict(vec!["b".to_owned()]);
    assert_eq!(trees.merge(side, other, "no").expect("tried"), conflict);

    let mut main = Ancestors::default();
    let mut has = |tip, commit| {
        main.follow(store.history(), tip).expect("read");
        main.contain(store.history(), commit).expect("read")
    };
    assert!(has(first, first) && !has(first, side));
    assert!(has(joined, side) && has(joined, first) && !has(joined, other));
    assert!(has(other, other) && !has(other, side), "it was moved back");

    // A branch that nobody has checked out moves by compare-and-swap.
    let advance = |from, to| trees.advance("main", from, to).expect("tried");
    assert_eq!(advance(side, joined), BranchMoved::Overtaken);
    assert_eq!(advance(first, joined), BranchMoved::Moved);
    assert_eq!(trees.tip("main").expect("read"), Some(joined));
    assert!(trees.is_contained(side, joined).expect("read"));
    assert!(!trees.is_contained(other, joined).expect("read"));
    // The same change under another id.
    repo.git(&["switch", "-q", "-c", "picked", "main~1"]);
    commit(&repo, "c", "between");
    repo.git(&["cherry-pick", &side.to_string()]);
    assert!(trees.is_contained(side, id(&repo, "picked")).expect("read"));
}

#[test]
fn a_branch_that_is_checked_out_moves_only_if_nothing_is_lost() {
    let repo = Repo::new();
    let first = commit(&repo, "a", "one");
    repo.git(&["switch", "-q", "-c", "side"]);
    let side = commit(&repo, "a", "two");
    let store = repo.store();
    let trees = store.work_trees();
    let place = repo.path("linked");
    repo.git(&["update-ref", "refs/heads/main", &first.to_string()]);
    trees.add(&place, "main", first).expect("made");
    let listed = trees.list().expect("listed");
    let branches: Vec<_> = listed.iter().map(|tree| tree.branch.as_deref()).collect();
    assert_eq!(branches, [Some("side"), Some("main")]);
    repo.git(&["worktree", "add", "-q", "--detach", "a\u{e4} b", "main"]);
    repo.git(&["worktree", "add", "-q", "--detach", "gone", "main"]);
    std::fs::remove_dir_all(repo.path("gone")).expect("removed");
    let known = trees.list().expect("listed");
    assert_eq!(known.len(), 3);
    assert_eq!(known, trees.list_by_git().expect("listed"));
    let count = || {
        std::fs::read_dir(repo.path(".git/worktrees"))
            .expect("a directory")
            .count()
    };
    assert_eq!(count(), 3);
    trees.prune().expect("pruned");
    assert_eq!(count(), 2);
    repo.git(&["worktree", "remove", "a\u{e4} b"]);
    repo.git(&["config", "core.bare", "true"]);
    let known = trees.list().expect("listed");
    assert_eq!(known, trees.list_by_git().expect("listed"));
    repo.git(&["config", "core.bare", "false"]);

    repo.write("linked/a", "by hand");
    let file = Uncommitted::Files("a".to_owned());
    assert_eq!(trees.uncommitted(&place, true).expect("read"), file);
    let moved = trees.advance("main", first, side).expect("tried");
    let linked = listed[1].path.clone();
    assert_eq!(
        moved,
        BranchMoved::CheckedOut(linked.clone(), "a".to_owned())
    );
    assert!(trees.remove(&place, false).is_err(), "it holds a change");
    repo.write("linked/a", "one");
    repo.write("linked/new", "untracked");
    assert_eq!(
        trees.uncommitted(&place, true).expect("read"),
        Uncommitted::Nothing
    );
    let file = Uncommitted::Files("new".to_owned());
    assert_eq!(trees.uncommitted(&place, false).expect("read"), file);
    repo.write(".git/worktrees/linked/index.lock", "");
    let moved = trees.advance("main", first, side).expect("tried");
    assert_eq!(moved, BranchMoved::Locked(linked));
    std::fs::remove_file(repo.path(".git/worktrees/linked/index.lock")).expect("removed");
    let moved = trees.advance("main", first, side).expect("tried");
    assert_eq!(moved, BranchMoved::Moved);
    assert_eq!(
        std::fs::read(repo.path("linked/a")).expect("a file"),
        b"two"
    );

    // A conflict leaves both as they were.
    let third = commit(&repo, "a", "three");
    repo.git(&[
        "-C",
        "linked",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "empty",
    ]);
    repo.write("linked/a", "four");
    repo.git(&["-C", "linked", "commit", "-q", "-am", "four"]);
    let before = trees.tip("main").expect("read");
    let conflict = Joined::Conflict(vec!["a".to_owned()]);
    assert_eq!(trees.rebase(&place, third).expect("tried"), conflict);
    assert_eq!(trees.tip("main").expect("read"), before);
    assert_eq!(
        trees.uncommitted(&place, true).expect("read"),
        Uncommitted::Nothing
    );
    std::fs::remove_file(repo.path("linked/new")).expect("removed");
    trees.remove(&place, false).expect("removed");
    assert_eq!(trees.list().expect("listed").len(), 1);
}

#[test]
fn references_that_moved_are_told_unless_somebody_works_on_them_in_another_work_tree_or_orch_moved_them()
 {
    let repo = Repo::new();
    let first = commit(&repo, "a", "one");
    for branch in ["worked", "moved", "behind", "joined"] {
        repo.git(&["branch", "-q", branch]);
    }
    repo.git(&["tag", "mark"]);
    for branch in ["worked", "behind", "gone"] {
        let place = repo.path(&format!("trees/{branch}"));
        let place = place.display().to_string();
        repo.git(&["worktree", "add", "-q", "-B", branch, &place]);
    }
    let store = repo.store();
    let before = store.refs().guard().expect("read");
    let moved = || store.refs().moved_since(&before).expect("read");
    assert_eq!(moved(), Vec::<String>::new());
    let second = commit(&repo, "b", "on the branch of this work tree");
    let second = second.to_string();
    let there = repo.path("trees/worked").display().to_string();
    repo.git(&["-C", &there, "merge", "-q", "--ff-only", &second]);
    let gone = repo.path("trees/gone").display().to_string();
    repo.git(&["worktree", "remove", &gone]);
    repo.git(&["branch", "-q", "-D", "gone"]);
    let joined = Digest::parse(&second).expect("an id");
    let advanced = store.work_trees().advance("joined", first, joined);
    assert_eq!(advanced.expect("tried"), BranchMoved::Moved);
    assert_eq!(moved(), Vec::<String>::new());
    for name in [
        "refs/heads/moved",
        "refs/heads/behind",
        "refs/heads/new",
        "refs/tags/mark",
        "refs/orch/a",
    ] {
        repo.git(&["update-ref", name, &second]);
    }
    repo.git(&["pack-refs", "--all"]);
    let told = [
        "refs/heads/behind",
        "refs/heads/moved",
        "refs/heads/new",
        "refs/orch/a",
        "refs/tags/mark",
    ];
    repo.git(&["update-ref", "refs/orch/leases/a", &second]);
    assert_eq!(moved(), told);
}
