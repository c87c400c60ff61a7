//! Indexes and checkouts out of the ordinary: sparse, split, of another version, with extensions.

use super::{Row, works};
use crate::harness::{World, executable};

pub const ROWS: [Row; 9] = [
    ("sparse checkout", sparse_checkout),
    ("sparse checkout of a part of a task", sparse_part),
    ("a file marked with `--skip-worktree`", skip_worktree),
    ("sparse index", sparse_index),
    ("split index", split_index),
    ("index version 4", version_4),
    ("`core.fsmonitor` and the untracked cache", extensions),
    ("packed refs and objects", packed),
    (
        "`feature.manyFiles`, `index.threads`, `index.skipHash`",
        many_files,
    ),
];

/// A repository with a task `old` in `phase`, and much beside it.
fn with_task(phase: &str) -> World {
    let world = World::ready();
    for directory in ["docs", "src/deep/er"] {
        world.write(&format!("{directory}/a.txt"), "a\n");
    }
    world.commit("More");
    world.orch(&["new", "old"]).succeeds();
    world.walk_to("old", phase);
    // Git leaves a file where it is until it has seen that it is the one that the index means.
    assert_eq!(world.dirty(), "");
    world
}

#[test]
fn sparse_checkout() {
    let world = with_task("codegen");
    world.git(&["sparse-checkout", "set", "src", "tasks/other"]);
    assert!(!world.path("tasks/old").exists());
    works(&world, ".");
    // What is not checked out is not seen, and not made again.
    world
        .orch(&["suggest", "old"])
        .ends(2)
        .reports("there is no task `old`");
    world
        .orch(&["new", "old"])
        .ends(2)
        .reports("task `old` already exists");
    assert_eq!(world.dirty(), "");
    world.git(&["sparse-checkout", "add", "tasks/old"]);
    world.patch("old", 1);
    world
        .orch(&["next", "old"])
        .succeeds()
        .says("codegen -> review");
    assert_eq!(world.dirty(), "");
}

#[test]
fn sparse_part() {
    let world = with_task("review");
    let whole = world.orch_json(&["suggest", "old"]);
    let held = world.git(&["ls-tree", "-r", "--name-only", "HEAD", "tasks/old"]);
    world.git(&["sparse-checkout", "set", "tasks/old/code"]);
    assert!(
        !world.path("tasks/old/planning").exists() && world.path("tasks/old/state.json").exists()
    );
    assert_eq!(
        world.orch_json(&["suggest", "old"])["suggestions"],
        whole["suggestions"],
        "the same verdict"
    );
    world
        .orch(&["next", "old", "--override", "It is small."])
        .succeeds();
    assert_eq!(
        world.git(&["ls-tree", "-r", "--name-only", "HEAD", "tasks/old"]),
        held,
        "nothing is deleted"
    );
    assert_eq!(world.dirty(), "");
    assert!(
        !world.path("tasks/old/planning").exists(),
        "what is left out stays out"
    );
    assert_eq!(world.git(&["fsck", "--strict"]), "");
    // Without its own files a task can be judged, but not moved.
    world.git(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "/tasks/old/*/",
        "!/tasks/old/state.json",
        "!/tasks/old/transcript.jsonl",
    ]);
    assert!(!world.path("tasks/old/state.json").exists());
    let head = world.git(&["rev-parse", "HEAD"]);
    world.tests("old", 0, 1);
    world.orch(&["suggest", "old"]).succeeds().says("accept");
    let refused = world
        .orch(&["next", "old"])
        .ends(5)
        .reports("git sparse-checkout add tasks/old");
    assert!(
        refused
            .stderr
            .contains("tasks/old/state.json is not checked out"),
        "{refused:?}"
    );
    assert_eq!(
        world.orch_json(&["next", "old"])["error"]["code"],
        "evidence-sparse"
    );
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.git(&["sparse-checkout", "disable"]);
    world.orch(&["next", "old"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn skip_worktree() {
    let world = with_task("codegen");
    let head = world.git(&["rev-parse", "HEAD"]);
    let path = "tasks/old/review/plan/verdict.json";
    world.git(&["update-index", "--skip-worktree", path]);
    world.remove(path);
    world.patch("old", 1);
    let refused = world
        .orch(&["next", "old", "--override", "why"])
        .ends(5)
        .reports(path);
    assert!(
        refused
            .stderr
            .contains("git update-index --no-skip-worktree"),
        "{refused:?}"
    );
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.git(&["update-index", "--no-skip-worktree", path]);
    world.git(&["restore", path]);
    world.orch(&["next", "old"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn sparse_index() {
    let world = with_task("codegen");
    world.git(&[
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "tasks",
    ]);
    let entries = world.git(&["ls-files", "--sparse", "-s"]);
    assert!(
        entries.contains("040000 "),
        "whole directories stand in it: {entries}"
    );
    works(&world, ".");
    world.patch("old", 1);
    world
        .orch(&["next", "old"])
        .succeeds()
        .says("codegen -> review");
    assert_eq!(world.dirty(), "");
    assert!(
        world
            .git(&["ls-tree", "-r", "--name-only", "HEAD"])
            .contains("src/deep/er/a.txt")
    );
    // Also where a part of a task is a whole directory in it.
    world.git(&["sparse-checkout", "set", "--sparse-index", "tasks/old/code"]);
    world.code_review("old", true, 1);
    world.git(&["sparse-checkout", "add", "tasks/old/review"]);
    world
        .orch(&["next", "old"])
        .succeeds()
        .says("review -> test");
    assert!(
        world
            .git(&["ls-tree", "-r", "--name-only", "HEAD"])
            .contains("tasks/old/planning/plan.json")
    );
    assert_eq!(world.dirty(), "");
}

#[test]
fn split_index() {
    let world = World::ready();
    world.git(&["update-index", "--split-index"]);
    assert!(
        world
            .git(&["ls-files", "--", "orch.toml"])
            .contains("orch.toml")
    );
    works(&world, ".");
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "A  mine.txt\n");
}

#[test]
fn version_4() {
    let world = World::ready();
    world.git(&["config", "index.version", "4"]);
    world.git(&["update-index", "--index-version", "4"]);
    works(&world, ".");
    world.plan_review("t", true, 1);
    world.git(&["add", "-N", "tasks/t/review/plan/verdict.json"]);
    world.orch(&["next", "t"]).succeeds();
    sound_again(&world);
    assert_eq!(world.git(&["update-index", "--show-index-version"]), "4\n");
}

fn sound_again(world: &World) {
    assert_eq!(
        (
            world.dirty(),
            world.git(&["fsck", "--strict", "--no-dangling"])
        ),
        (String::new(), String::new())
    );
}

#[test]
fn extensions() {
    let world = World::ready();
    // A monitor that, as it may, always says that everything may have changed.
    let monitor = world.path("../monitor");
    std::fs::write(&monitor, "#!/bin/sh\nprintf 'token\\0/\\0'\n").expect("written");
    executable(&monitor);
    world.git(&["config", "core.fsmonitor", &monitor.to_string_lossy()]);
    world.git(&["config", "core.untrackedCache", "true"]);
    world.git(&["update-index", "--fsmonitor", "--untracked-cache"]);
    world.dirty();
    let index = std::fs::read(world.path(".git/index")).expect("an index");
    for extension in [b"FSMN", b"UNTR"] {
        assert!(
            index.windows(4).any(|window| window == extension),
            "the index has the extension"
        );
    }
    works(&world, ".");
    world.write("mine.txt", "mine\n");
    assert_eq!(world.dirty(), "?? mine.txt\n");
}

#[test]
fn packed() {
    let world = World::ready();
    world.orch(&["new", "old"]).succeeds();
    world.git(&["gc", "-q", "--prune=now"]);
    world.git(&["pack-refs", "--all"]);
    works(&world, ".");
    world.plan("old", 1);
    world.orch(&["next", "old"]).succeeds();
    world.git(&["repack", "-q", "-a", "-d"]);
    sound_again(&world);
    world.orch(&["log", "old"]).succeeds().says("plan-ready");
    assert!(
        world
            .git(&["log", "--format=%s"])
            .starts_with("orch(old): planning -> plan_review\n")
    );
}

#[test]
fn many_files() {
    let world = World::ready();
    for setting in [
        ["feature.manyFiles", "true"],
        ["index.threads", "2"],
        ["index.skipHash", "true"],
    ] {
        world.git(&["config", setting[0], setting[1]]);
    }
    world.git(&["update-index", "--force-write-index"]);
    works(&world, ".");
}
