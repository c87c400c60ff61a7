//! Where a repository lies: beside, inside and around others.

use super::{Row, sound, works};
use crate::harness::{World, started};
use std::fs;

pub const ROWS: [Row; 8] = [
    ("linked work tree (`git worktree`)", linked_work_tree),
    ("bare repository", bare),
    ("inside a submodule", inside_a_submodule),
    (
        "a submodule inside the tasks' directory",
        submodule_of_tasks,
    ),
    (
        "a nested repository inside the tasks' directory",
        nested_repository,
    ),
    ("a nested repository inside a task", nested_in_a_task),
    ("symbolic link to the repository", linked_repository),
    ("a branch without a commit", unborn_branch),
];

#[test]
fn linked_work_tree() {
    let world = World::ready();
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    works(&world, "../side");
    assert_eq!(world.dirty(), "");
    assert_eq!(world.git(&["rev-list", "--count", "main..side"]), "2\n");
    works(&world, ".");
}

#[test]
fn bare() {
    let world = World::ready();
    world.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let refused = world
        .orch(&["-C", "../bare.git", "new", "t"])
        .ends(2)
        .reports("has no work tree");
    assert!(refused.stderr.contains("git worktree add"), "{refused:?}");
    world.git(&[
        "-C",
        "../bare.git",
        "worktree",
        "add",
        "-q",
        "../tree",
        "main",
    ]);
    works(&world, "../tree");
    // The other way: a directory beside the git directory that is told to be its work tree.
    world.git(&[
        "clone",
        "-q",
        "--separate-git-dir",
        "../apart.git",
        ".",
        "../apart",
    ]);
    works(&world, "../apart");
}

/// A repository with another one in it, as a submodule at this path.
fn with_submodule(path: &str) -> World {
    let world = World::ready();
    world.git(&["clone", "-q", ".", "../library"]);
    world.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../library",
        path,
    ]);
    world.commit("Add the library");
    world
}

#[test]
fn inside_a_submodule() {
    let world = with_submodule("library");
    works(&world, "library");
    assert_eq!(world.dirty(), " M library\n", "as after any commit in it");
    world.git(&["submodule", "--quiet", "update", "--force"]);
    world.git(&["-C", "library", "status"]);
    works(&world, ".");
}

#[test]
fn submodule_of_tasks() {
    let world = with_submodule("tasks/library");
    let before = (
        world.git(&["rev-parse", "HEAD"]),
        world.git(&["ls-files", "-s"]),
    );
    for arguments in [
        &["new", "library"][..],
        &["suggest", "library"],
        &["next", "library"],
    ] {
        world
            .orch(arguments)
            .ends(2)
            .reports("tasks/library is a separate repository");
    }
    world.git(&["submodule", "--quiet", "deinit", "-f", "tasks/library"]);
    world
        .orch(&["new", "library"])
        .ends(2)
        .reports("belongs to that repository");
    world.plan("library", 1);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(
        (
            world.git(&["rev-parse", "HEAD"]),
            world.git(&["ls-files", "-s"])
        ),
        before
    );
    fs::remove_dir_all(world.path("tasks/library/planning")).expect("removed");
    works(&world, ".");
}

#[test]
fn nested_repository() {
    let world = World::ready();
    world.git(&["clone", "-q", ".", "tasks/inner"]);
    world.plan("inner", 1);
    world.plan("inner/deeper", 1);
    let seen = world.git(&["status", "--porcelain", "-uall"]);
    let refused = world
        .orch(&["new", "inner"])
        .ends(2)
        .reports("belongs to that repository");
    assert!(
        refused.stderr.contains("hint: orch -C tasks/inner status"),
        "{refused:?}"
    );
    assert_eq!(
        world.orch_json(&["new", "inner"])["error"]["code"],
        "nested-repository"
    );
    world
        .orch(&["suggest", "tasks/inner/deeper"])
        .ends(2)
        .reports("tasks/inner is a separate repository");
    world
        .orch(&["status"])
        .succeeds()
        .says("There are no tasks yet.");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.git(&["status", "--porcelain", "-uall"]), seen);
    // The inner one has tasks of its own.
    fs::remove_dir_all(world.path("tasks/inner")).expect("removed");
    world.git(&["clone", "-q", ".", "inner"]);
    fs::write(world.path(".git/info/exclude"), "inner\n").expect("written");
    works(&world, "inner");
    works(&world, ".");
    // A task that becomes a repository is left to it, and nothing is committed as deleted.
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["init", "-q", "tasks/t"]);
    world
        .orch(&["next", "t", "--override", "why"])
        .ends(2)
        .reports("a separate repository");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn nested_in_a_task() {
    let world = started("review");
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["init", "-q", "tasks/t/code"]);
    world.code_review("t", true, 1);
    world
        .orch(&["check", "t"])
        .ends(1)
        .says("repository-inside-task")
        .says("tasks/t/code");
    world
        .orch(&["next", "t", "--override", "why"])
        .ends(5)
        .reports("tasks/t/code is a separate repository");
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "why"])
        .ends(5);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    fs::remove_dir_all(world.path("tasks/t/code/.git")).expect("removed");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
    // A `.git` that is not a repository is nothing to git either.
    fs::create_dir(world.path("tasks/t/code/.git")).expect("made");
    world.tests("t", 0, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn linked_repository() {
    let world = World::ready();
    std::os::unix::fs::symlink(world.root(), world.path("../link")).expect("linked");
    works(&world, "../link");
    sound(&world, ".");
}

#[test]
fn unborn_branch() {
    let world = World::new();
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks/t"]), "");
    world.commit("The rest");
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "3\n");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}
