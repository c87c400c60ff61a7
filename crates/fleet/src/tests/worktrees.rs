//! Work trees of tasks: made once, found again, and kept as long as they hold something.

use super::conformance::task;
use super::git_server::{Reach, World, git, store_at};
use crate::worktrees::{TaskTrees, TreeClaim};
use orch_base::{Code, Digest};
use orch_core::config::{WorkTreeKind, WorkTreesConfig};
use std::fs;
use std::path::PathBuf;

/// A clone with one commit.
fn repository(world: &World) -> (PathBuf, Digest) {
    let clone = world.cloned();
    git(&clone, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let tip = Digest::parse(&git(&clone, &["rev-parse", "HEAD"]));
    (clone, tip.expect("an id"))
}

fn of_kind(kind: WorkTreeKind) -> WorkTreesConfig {
    WorkTreesConfig {
        kind,
        ..WorkTreesConfig::default()
    }
}

/// Makes a work tree and prepares it.
fn make(claim: &TreeClaim<'_>, from: Digest) -> PathBuf {
    assert!(claim.make(from).expect("made"), "it has to be prepared");
    claim.prepared().expect("noted");
    claim.tree().path.clone()
}

#[test]
fn a_work_tree_stays_as_long_as_it_holds_something() {
    for kind in [WorkTreeKind::WorkTree, WorkTreeKind::Clone] {
        let world = World::new(Reach::File, "sha1");
        let (clone, first) = repository(&world);
        let store = store_at(&clone);
        let settings = of_kind(kind);
        let trees = TaskTrees::new(&store, &settings);
        let one = task("a/b");
        assert_eq!(trees.find(&one).expect("listed"), None);
        let claim = trees.claim(&one).expect("claimed");
        let path = make(&claim, first);
        assert!(path.ends_with("clone-0.orch/a+b"), "{}", path.display());
        assert!(!claim.make(first).expect("it is there"), "{kind:?}");
        let busy = trees.claim(&one).err().map(|error| error.code());
        assert_eq!(busy, Some(Code::Busy));
        drop(claim);

        let tree = trees.find(&one).expect("listed").expect("a work tree");
        assert_eq!((tree.branch.as_str(), tree.kind), ("task/a/b", kind));
        assert_eq!(trees.list().expect("listed"), std::slice::from_ref(&tree));
        let stays = || trees.stays_because(&tree, "main").expect("read");
        assert_eq!(stays(), None);
        fs::write(path.join("new"), "x").expect("written");
        assert_eq!(stays().as_deref(), Some("new is not committed"));
        git(&path, &["add", "new"]);
        git(&path, &["commit", "-q", "-m", "second"]);
        let why = "task/a/b is neither merged into main nor pushed";
        assert_eq!(stays().as_deref(), Some(why));
        // What a clone has committed is here since it was asked about.
        git(&clone, &["push", "-q", "origin", "task/a/b"]);
        assert_eq!(stays(), None);
        trees
            .claim(&one)
            .expect("claimed")
            .remove()
            .expect("removed");
        assert!(!path.exists());
        assert_eq!(trees.find(&one).expect("listed"), None);
        // The branch stays, and the next work tree goes on with it.
        make(&trees.claim(&one).expect("claimed"), first);
        assert!(path.join("new").exists(), "{kind:?}");
    }
}

#[test]
fn what_was_not_prepared_is_made_anew_and_what_is_not_ours_stays() {
    let world = World::new(Reach::File, "sha1");
    let (clone, first) = repository(&world);
    let store = store_at(&clone);
    let settings = of_kind(WorkTreeKind::WorkTree);
    let trees = TaskTrees::new(&store, &settings);
    let one = task("a");
    let claim = trees.claim(&one).expect("claimed");
    assert!(claim.make(first).expect("made"));
    let path = claim.tree().path.clone();
    fs::write(path.join("half"), "x").expect("written");
    drop(claim);
    make(&trees.claim(&one).expect("claimed"), first);
    assert!(!path.join("half").exists(), "nobody has worked in it");
    fs::write(path.join("work"), "x").expect("written");
    let claim = trees.claim(&one).expect("claimed");
    assert!(!claim.make(first).expect("it is there"));
    assert!(claim.remove().is_err(), "git keeps what is not committed");
    assert!(path.join("work").exists());

    // A directory of somebody else, and a branch that is checked out.
    let claim = trees.claim(&task("b")).expect("claimed");
    let taken = claim.tree().path.clone();
    fs::create_dir_all(&taken).expect("made");
    fs::write(taken.join("theirs"), "x").expect("written");
    let refused = claim.make(first).expect_err("it is taken");
    assert_eq!(refused.code(), Code::WorkTreeTaken);
    assert!(taken.join("theirs").exists());
    git(&clone, &["switch", "-q", "-c", "task/c"]);
    let claim = trees.claim(&task("c")).expect("claimed");
    let refused = claim.make(first).expect_err("its branch is checked out");
    assert_eq!(refused.code(), Code::WorkTreeTaken);
}
