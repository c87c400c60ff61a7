//! `--wait`: how long a command waits for what another process holds.

use crate::harness::{World, eventually, started};
use std::fs::{self, File};

#[test]
fn commands_wait_for_the_locks_of_others_as_long_as_they_are_told() {
    let world = World::ready();
    let tasks = ["a", "b", "c", "d"];
    for task in tasks {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    let index_lock = world.path(".git/index.lock");
    fs::write(&index_lock, "").expect("locked");
    let lock = File::open(world.path(".git/orch/lock")).expect("a lock file");
    lock.lock().expect("locked");
    world
        .orch(&["next", "a", "--wait", "0s"])
        .ends(4)
        .reports("another orch process");
    world
        .orch(&["next", "a", "--wait", "soon"])
        .ends(2)
        .reports("not a duration");
    drop(lock);
    world
        .orch(&["next", "a", "--wait", "50ms"])
        .ends(4)
        .reports("index.lock");
    let moves: Vec<_> = tasks
        .iter()
        .map(|task| world.orch_spawn(&["next", task, "--wait", "1m"]))
        .collect();
    fs::remove_file(&index_lock).expect("unlocked");
    for started in moves {
        world
            .end(started.wait_with_output().expect("ended"))
            .succeeds();
    }
    assert!(tasks.iter().all(|task| world.phase(task) == "plan_review"));
}

#[test]
fn an_order_waits_for_an_open_git_commit_if_it_is_told_to() {
    let world = started("planning");
    world.write("note", "one");
    world.git(&["add", "note"]);
    world.write(
        "editor.sh",
        "#!/bin/sh\ntouch ../opened\nwhile [ ! -e ../close ]; do sleep 0.01; done\necho done > \"$1\"\n",
    );
    crate::harness::executable(&world.path("editor.sh"));
    let mut commit = world.command("git");
    commit
        .args(["commit", "-q"])
        .env("GIT_EDITOR", world.path("editor.sh"));
    let mut commit = commit.spawn().expect("git starts");
    eventually("the editor is open", || world.path("../opened").exists());
    let order = [
        "next",
        "t",
        "--override",
        "now",
        "--to",
        "codegen",
        "--wait",
    ];
    world.orch(&[&order[..], &["0s"]].concat()).ends(4);
    let mut waiting = world.orch_command(&[&order[..], &["1m"]].concat());
    let waiting = waiting
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("orch starts");
    fs::write(world.path("../close"), "").expect("closed");
    assert!(commit.wait().expect("ended").success());
    world
        .end(waiting.wait_with_output().expect("ended"))
        .succeeds();
    assert_eq!(world.phase("t"), "codegen");
}
