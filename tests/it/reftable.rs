//! Repositories whose references are in a reftable, which only git reads and writes.

use crate::formats::ready_with;
use crate::harness::{Ended, World, eventually, executable, started};
use crate::watch::Running;
use std::fs;

/// A repository with a reftable after `orch init`.
fn ready() -> Option<World> {
    ready_with(&["--ref-format=reftable"])
}

/// A program named `git` in a directory of its own, which `orch` finds first. It has the path of the real git in
/// `$git`, and `$PPID` is `orch`.
fn shim(world: &World, script: &str) {
    let found = world
        .command("sh")
        .args(["-c", "command -v git"])
        .output()
        .expect("sh runs");
    let git = String::from_utf8(found.stdout).expect("a path");
    world.write(
        "../bin/git",
        format!("#!/bin/sh\ngit={}\n{script}", git.trim()),
    );
    executable(&world.path("../bin/git"));
}

/// Runs `orch` with the program of [`shim`].
fn orch_with_shim(world: &World, arguments: &[&str]) -> Ended {
    let mut command = world.orch_command(arguments);
    let path = command
        .get_envs()
        .find(|(name, _)| *name == "PATH")
        .and_then(|(_, path)| path.map(ToOwned::to_owned));
    let path = format!(
        "{}:{}",
        world.path("../bin").display(),
        path.unwrap_or_default().to_string_lossy()
    );
    world.end(command.env("PATH", path).output().expect("orch runs"))
}

#[test]
fn a_look_starts_git_once_and_a_commit_once_more() {
    let Some(world) = ready() else { return };
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    shim(&world, "echo \"$*\" >> ../calls\nexec $git \"$@\"\n");
    let calls = |arguments: &[&str]| {
        world.write("../calls", "");
        orch_with_shim(&world, arguments).succeeds();
        world.read("../calls").lines().count()
    };
    assert_eq!(calls(&["suggest", "t"]), 1, "{}", world.read("../calls"));
    assert_eq!(calls(&["status"]), 1, "{}", world.read("../calls"));
    assert_eq!(calls(&["next", "t"]), 2, "{}", world.read("../calls"));
    // With references in files, git is not needed at all.
    let files = started("planning");
    files.plan("t", 1);
    shim(&files, "echo \"$*\" >> ../calls\nexit 1\n");
    orch_with_shim(&files, &["next", "t"]).succeeds();
    assert!(!files.path("../calls").exists());
}

/// A process that dies before the branch moves leaves the old state, and one that dies after it the new one.
#[test]
fn a_kill_in_a_transaction_leaves_the_old_state_or_the_new_one() {
    let Some(world) = ready() else { return };
    let pass = "while read -r line; do [ \"$line\" = commit ] && kill -9 $orch && exit; echo \"$line\"; done";
    let answer = "while read -r line; do [ \"$line\" = 'commit: ok' ] && kill -9 $orch; echo \"$line\"; done";
    let lock = "touch .git/reftable/tables.list.lock";
    for (task, way, phase) in [
        ("before", format!("{pass} | $git \"$@\""), "planning"),
        (
            "locked",
            format!("{pass} | $git \"$@\"; {lock}"),
            "planning",
        ),
        ("after", format!("$git \"$@\" | {answer}"), "plan_review"),
    ] {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
        let script = format!(
            "orch=$PPID\ncase \"$*\" in\n*update-ref*) {way};;\n*) exec $git \"$@\";;\nesac\n"
        );
        shim(&world, &script);
        let killed = orch_with_shim(&world, &["next", task]);
        assert_eq!(killed.code, -1, "{task}: {killed:?}");
        assert!(world.path(".git/orch/journal.json").exists(), "{task}");
        // git, which survives, ends by itself, and what started it leaves a lock in one case.
        eventually("git has ended", || {
            let has_lock = world.path(".git/reftable/tables.list.lock").exists();
            has_lock == (task == "locked")
        });
        world.orch(&["suggest", task]).succeeds();
        assert_eq!(world.phase(task), phase, "{task}");
        assert!(!world.path(".git/orch/journal.json").exists(), "{task}");
        world
            .orch(&["next", task, "--expect", "plan_review"])
            .succeeds();
        assert_eq!(world.dirty(), "", "{task}");
    }
    world.orch(&["audit"]).succeeds();
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_lock_that_a_living_process_may_hold_stays() {
    let Some(world) = ready() else { return };
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    let lock = world.path(".git/reftable/tables.list.lock");
    fs::write(&lock, "").expect("written");
    let head = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["next", "t"])
        .ends(4)
        .reports("another git process holds the lock of refs/heads/main");
    assert!(lock.exists());
    assert!(!world.path(".git/orch/journal.json").exists());
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    fs::remove_file(&lock).expect("released");
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
    assert_eq!(world.dirty(), "");
}

#[test]
fn the_watch_sees_that_head_moves() {
    let Some(world) = ready() else { return };
    let settings = world
        .read("orch.toml")
        .replace("#reconcile_seconds = 45", "reconcile_seconds = 600");
    world.write("orch.toml", settings);
    world.commit("Look seldom");
    world.git(&["switch", "-q", "-c", "side"]);
    world.orch(&["new", "t"]).succeeds();
    let side = world.git(&["rev-parse", "side"]);
    world.plan("t", 1);
    // The record is in the work tree, but not on this branch.
    world.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    let running = Running::start(&world);
    world.git(&["symbolic-ref", "HEAD", "refs/heads/side"]);
    eventually("the task moves", || {
        world.git(&["rev-parse", "side"]) != side
    });
    running.stop();
    assert_eq!(world.phase("t"), "plan_review");
}

#[test]
fn an_unfinished_pick_or_revert_holds_transitions_back() {
    let Some(world) = ready() else { return };
    world.orch(&["new", "t"]).succeeds();
    for text in ["1", "2", "3"] {
        world.write("a", text);
        world.commit(text);
    }
    world.plan("t", 1);
    for (verb, commit) in [("cherry-pick", "HEAD~2"), ("revert", "HEAD~1")] {
        assert_ne!(world.git_ended(&[verb, commit]).code, 0);
        world
            .orch(&["next", "t"])
            .ends(5)
            .reports(&format!("git {verb} --continue"));
        world.git(&[verb, "--abort"]);
    }
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn every_kind_of_head_moves_as_it_should() {
    let Some(world) = ready() else { return };
    let settings = world
        .read("orch.toml")
        .replace("#detached_head = false", "detached_head = true");
    world.write("orch.toml", settings);
    world.commit("Allow a detached HEAD");
    world.git(&["switch", "-q", "--detach"]);
    let main = world.git(&["rev-parse", "main"]);
    world.orch(&["new", "t"]).succeeds();
    assert_eq!(
        world.git(&["rev-parse", "HEAD~1", "main"]),
        format!("{main}{main}")
    );
    assert_ne!(
        world.git_ended(&["symbolic-ref", "-q", "HEAD"]).code,
        0,
        "it is detached"
    );
    assert!(
        world
            .git(&["reflog", "-1"])
            .contains("commit: orch(t): new -> planning")
    );
    // A branch without a commit, whose name is a directory of another one.
    world.git(&["branch", "topic/one"]);
    world.git(&["switch", "-q", "--orphan", "topic"]);
    world.git(&["restore", "-s", "main", "--", "orch.toml", "system"]);
    world
        .orch(&["new", "u"])
        .ends(5)
        .reports("refs/heads/topic/one exists");
    world.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
    world.orch(&["new", "u"]).succeeds();
    assert_eq!(
        world.git(&["log", "--format=%s", "other"]),
        "orch(u): new -> planning\n"
    );
    world
        .orch(&["audit", "main..HEAD"])
        .succeeds()
        .says("new -> planning");
    world
        .orch(&["audit", "nothing..HEAD"])
        .ends(2)
        .reports("there is no commit `nothing`");
}

#[test]
fn people_hooks_runs_and_pushes_work_as_elsewhere() {
    let Some(world) = ready() else { return };
    world
        .orch(&["hook", "install", "--pre-commit", "--pre-push"])
        .succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "why"])
        .succeeds();
    world
        .orch(&["undo", "t"])
        .succeeds()
        .says("planning -> codegen");
    let work = "cat > /dev/null; mkdir tasks/t/code; printf -- '--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-old\\n+new\\n' > tasks/t/code/diff.patch";
    world
        .orch(&["run", "t", "--max-turns", "1", "--", "sh", "-c", work])
        .ends(1);
    assert_eq!(world.phase("t"), "review");
    // A hand that changes the record is held up by the hook.
    let state = world
        .read("tasks/t/state.json")
        .replace("\"review\"", "\"done\"");
    world.write("tasks/t/state.json", state);
    world.git(&["add", "-A"]);
    assert_ne!(world.git_ended(&["commit", "-q", "-m", "Done"]).code, 0);
    world.git(&["reset", "-q", "--hard"]);
    world.git(&["init", "-q", "--bare", "../server.git"]);
    world.git(&["remote", "add", "origin", "../server.git"]);
    world.git(&["push", "-q", "origin", "main"]);
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["push", "-q", "origin", "main"]);
    world.orch(&["audit"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_git_that_is_too_old_or_missing_is_named() {
    let Some(world) = ready() else { return };
    world.orch(&["new", "t"]).succeeds();
    shim(
        &world,
        "echo 'fatal: unknown repository extension found:' >&2\nexit 128\n",
    );
    let old = orch_with_shim(&world, &["suggest", "t"])
        .ends(2)
        .reports("this git does not support");
    assert!(
        old.stderr.contains("hint: install git 2.45 or newer"),
        "{old:?}"
    );
    let mut command = world.orch_command(&["suggest", "t"]);
    let none = world.end(
        command
            .env("PATH", world.path("../home"))
            .output()
            .expect("orch runs"),
    );
    assert!(
        none.ends(70)
            .stderr
            .contains("hint: install git 2.45 or newer")
    );
}
