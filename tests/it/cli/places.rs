//! Several roots: which of them `orch new` means.

use crate::harness::{Ended, World};

/// A repository with the roots of the README: tasks in `tasks`, changes in `openspec/changes`.
fn two_roots() -> World {
    let world = World::new();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/**\"\nworkflow = \"global-state-machine\"\n\n\
         [[root]]\npath = \"openspec/changes/*\"\nworkflow = \"openspec\"\n\
         exclude = [\"openspec/changes/archive\"]\n",
    );
    world.orch(&["init"]).succeeds();
    world.commit("Set up orch");
    world
}

fn proposal(world: &World, directory: &str) {
    world.write(
        &format!("{directory}/proposal.md"),
        "# Change\n\n## Why\n\nBecause.\n",
    );
}

fn directory(world: &World, id: &str) -> String {
    world.orch_json(&["suggest", id])["suggestions"][0]["path"]
        .as_str()
        .expect("a path")
        .to_owned()
}

#[test]
fn new_adopts_the_directory_that_exists_in_any_root() {
    let world = two_roots();
    proposal(&world, "openspec/changes/add-search");
    world
        .orch(&["new", "add-search"])
        .succeeds()
        .says("adopted");
    assert_eq!(
        directory(&world, "add-search"),
        "openspec/changes/add-search"
    );
    assert!(!world.path("tasks/add-search").exists());
    assert_eq!(
        world.json("openspec/changes/add-search/state.json")["workflow"]["name"],
        "openspec"
    );
    assert!(
        !world
            .orch(&["status"])
            .succeeds()
            .stdout
            .contains("duplicate-task")
    );
    // An existing directory may also be named by its path, from anywhere.
    proposal(&world, "openspec/changes/by-path");
    world.orch(&["new", "openspec/changes/by-path/"]).succeeds();
    proposal(&world, "openspec/changes/by-dot");
    world
        .orch(&["-C", "openspec/changes/by-dot", "new", "."])
        .succeeds();
    for id in ["by-path", "by-dot"] {
        assert_eq!(directory(&world, id), format!("openspec/changes/{id}"));
    }
    assert_eq!(world.dirty(), "");
}

#[test]
fn new_follows_the_root_the_workflow_and_the_current_directory() {
    let world = two_roots();
    std::fs::create_dir_all(world.path("openspec/changes/archive")).expect("made");
    let new = |arguments: &[&str]| -> Ended { world.orch(arguments).succeeds() };
    new(&["new", "first"]);
    new(&["new", "by-root", "--root", "openspec/changes"]);
    new(&["new", "by-glob", "--root", "openspec/changes/*"]);
    new(&["new", "by-workflow", "--workflow", "openspec"]);
    new(&["-C", "openspec/changes", "new", "by-place"]);
    new(&[
        "-C",
        "openspec/changes",
        "new",
        "both",
        "--root",
        "tasks",
        "--workflow",
        "openspec",
    ]);
    new(&["-C", "openspec", "new", "outside"]);
    new(&["new", "foreign", "--workflow", "ccw-loop"]);
    for (id, place, workflow) in [
        ("first", "tasks/first", "global-state-machine"),
        ("by-root", "openspec/changes/by-root", "openspec"),
        ("by-glob", "openspec/changes/by-glob", "openspec"),
        ("by-workflow", "openspec/changes/by-workflow", "openspec"),
        ("by-place", "openspec/changes/by-place", "openspec"),
        ("both", "tasks/both", "openspec"),
        ("outside", "tasks/outside", "global-state-machine"),
        ("foreign", "tasks/foreign", "ccw-loop"),
    ] {
        assert_eq!(directory(&world, id), place);
        assert_eq!(
            world.json(&format!("{place}/state.json"))["workflow"]["name"],
            workflow,
            "{id}"
        );
    }
    world.orch(&["audit"]).succeeds();
}

#[test]
fn new_never_makes_a_second_task_of_one_id() {
    let world = two_roots();
    world.orch(&["new", "t"]).succeeds();
    let head = world.git(&["rev-parse", "HEAD"]);
    let twice = |arguments: &[&str], says: &str| {
        world.orch(arguments).ends(2).reports(says);
    };
    twice(
        &["new", "t", "--root", "openspec/changes"],
        "task `t` is already in tasks/t",
    );
    twice(
        &["new", "t", "--workflow", "openspec"],
        "task `t` already exists",
    );
    twice(
        &["new", "x/y", "--root", "openspec/changes"],
        "the root `openspec/changes` permits no task `x/y`",
    );
    twice(
        &["new", "t2", "--root", "nowhere"],
        "the root `nowhere` permits no task `t2`",
    );
    proposal(&world, "openspec/changes/u");
    world.plan("u", 1);
    twice(&["new", "u"], "`u` could be tasks/u or openspec/changes/u");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert!(!world.path("openspec/changes/t").exists());
}
