//! Commits beside a user's own work, in real repositories, asked of git itself.

use crate::harness::{World, executable, started};
use std::fs;

mod bytes;
mod places;

/// Everything that git knows of the user's work outside the tasks, as bytes that can be compared.
fn mine(world: &World) -> String {
    let asked: [&[&str]; 5] = [
        &["diff", "--", ".", ":!tasks"],
        &["diff", "--cached", "--", ".", ":!tasks"],
        &["ls-files", "-s", "-t", "-v", "--", ".", ":!tasks"],
        &["status", "--porcelain=v2", "--", ".", ":!tasks"],
        &["stash", "list"],
    ];
    asked
        .iter()
        .map(|arguments| world.git(arguments))
        .collect::<Vec<_>>()
        .join("\n---\n")
}

/// A repository in which the user is in the middle of everything at once.
fn busy() -> World {
    let world = World::ready();
    for name in [
        "staged",
        "unstaged",
        "both",
        "moved",
        "deleted",
        "forgotten",
        "mode",
        "assumed",
        "skipped",
    ] {
        world.write(&format!("src/{name}.txt"), format!("{name}\n"));
    }
    world.commit("Begin");
    world.orch(&["new", "t"]).succeeds();
    world.write("src/staged.txt", "staged 2\n");
    world.write("src/both.txt", "both 2\n");
    world.write("src/added.txt", "added\n");
    world.git(&["add", "src/staged.txt", "src/both.txt", "src/added.txt"]);
    world.write("src/both.txt", "both 3\n");
    world.write("src/unstaged.txt", "unstaged 2\n");
    world.write("src/untracked.txt", "untracked\n");
    world.write("src/intended.txt", "intended\n");
    world.git(&["add", "-N", "src/intended.txt"]);
    world.git(&["mv", "src/moved.txt", "src/renamed.txt"]);
    world.git(&["rm", "-q", "src/deleted.txt"]);
    world.git(&["rm", "-q", "--cached", "src/forgotten.txt"]);
    world.git(&["update-index", "--chmod=+x", "src/mode.txt"]);
    world.git(&["update-index", "--assume-unchanged", "src/assumed.txt"]);
    world.git(&["update-index", "--skip-worktree", "src/skipped.txt"]);
    world.write("src/assumed.txt", "assumed 2\n");
    world.write("src/skipped.txt", "skipped 2\n");
    world
}

#[test]
fn the_users_work_is_exactly_as_before() {
    let world = busy();
    let before = mine(&world);
    world.walk_to("t", "test");
    assert_eq!(mine(&world), before);
    world.tests("t", 1, 1);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "again"])
        .succeeds();
    assert_eq!(mine(&world), before);
    let files = world.git(&["log", "--name-only", "--format=", "HEAD~7..HEAD"]);
    assert!(
        files
            .lines()
            .filter(|line| !line.is_empty())
            .all(|path| path.starts_with("tasks/t/")),
        "{files}"
    );
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks"]), "");
    // The user's next plain commit holds the user's work and undoes nothing.
    world.git(&["commit", "-q", "-m", "Mine"]);
    let mine = world.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert!(mine.lines().all(|path| path.starts_with("src/")), "{mine}");
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn an_artifact_that_the_user_staged_goes_along_when_it_is_the_same() {
    let world = started("planning");
    world.plan("t", 1);
    world.git(&["add", "tasks/t/planning/plan.json"]);
    world.orch(&["next", "t"]).succeeds();
    world.plan_review("t", true, 1);
    world.git(&["add", "-N", "tasks/t/review/plan/verdict.json"]);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn another_staged_version_of_an_artifact_is_left_and_told() {
    let world = started("planning");
    world.plan("t", 1);
    world.git(&["add", "tasks/t/planning/plan.json"]);
    let staged = world.git(&["ls-files", "-s", "tasks/t/planning"]);
    world.plan("t", 2);
    world
        .orch(&["next", "t"])
        .succeeds()
        .reports("you have staged another version")
        .reports("git restore --staged");
    assert_eq!(world.git(&["ls-files", "-s", "tasks/t/planning"]), staged);
    assert!(
        world
            .git(&["show", "HEAD:tasks/t/planning/plan.json"])
            .contains("Version 2")
    );
    assert_eq!(world.dirty(), "MM tasks/t/planning/plan.json\n");
}

#[test]
fn another_staged_version_of_the_state_is_left_and_told() {
    let world = started("planning");
    let whole = world.read("tasks/t/state.json");
    world.write("tasks/t/state.json", "{\"mine\": true}\n");
    world.git(&["add", "tasks/t/state.json"]);
    let staged = world.git(&["ls-files", "-s", "tasks/t/state.json"]);
    world.write("tasks/t/state.json", whole);
    world.plan("t", 1);
    world
        .orch(&["next", "t"])
        .succeeds()
        .reports("tasks/t/state.json: you have staged another version");
    assert_eq!(world.git(&["ls-files", "-s", "tasks/t/state.json"]), staged);
    assert_eq!(world.phase("t"), "plan_review");
}

#[test]
fn a_burst_of_transitions_writes_the_index_once() {
    let world = World::ready();
    for id in ["a", "b", "c"] {
        world.orch(&["new", id]).succeeds();
        world.plan(id, 1);
        world.plan_review_of(id, true, 1);
        world.patch(id, 1);
    }
    let count = world.path("../written");
    let hook = world.path(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().expect("a parent")).expect("hooks");
    fs::write(
        &hook,
        format!("#!/bin/sh\necho once >> '{}'\n", count.display()),
    )
    .expect("written");
    executable(&hook);
    let before = world
        .git(&["rev-list", "--count", "HEAD"])
        .trim()
        .parse::<u32>()
        .expect("a number");
    world.orch(&["watch", "--once"]).succeeds();
    let after = world
        .git(&["rev-list", "--count", "HEAD"])
        .trim()
        .parse::<u32>()
        .expect("a number");
    assert_eq!(
        after - before,
        3,
        "three transitions of each task share a commit"
    );
    assert_eq!(fs::read_to_string(&count).expect("the hook ran"), "once\n");
    fs::remove_file(&hook).expect("removed");
    assert_eq!(world.dirty(), "");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}

#[test]
fn a_plain_index_is_kept_true_without_the_git_command() {
    let world = busy();
    world.plan("t", 1);
    let before = mine(&world);
    let ended = world
        .orch_command(&["next", "t"])
        .env("PATH", "/nowhere")
        .output()
        .expect("orch runs");
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    assert_eq!(mine(&world), before);
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks"]), "");
    // In another format it is git's, which is missed before anything has happened.
    world.git(&["update-index", "--split-index"]);
    world.plan_review("t", true, 1);
    let ended = world
        .orch_command(&["next", "t"])
        .env("PATH", "/nowhere")
        .output()
        .expect("orch runs");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("git ls-files"));
    assert_eq!(world.phase("t"), "plan_review");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(mine(&world), before);
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks"]), "");
}
