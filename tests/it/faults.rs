//! Killed processes, several at once, a user at work beside: nothing is lost, nothing runs twice.

use crate::harness::{World, eventually};
use crate::setting;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const PLAN: &str =
    r#"{"id": "p", "title": "T", "brief": "B", "status": "final", "scope": {"in_scope": ["a"]}}"#;

/// How many rounds: a slice, or many where `ORCH_SOAK` asks for it.
fn rounds(slice: u64) -> u64 {
    if setting::setting("ORCH_SOAK").is_some() { slice * 20 } else { slice }
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_state_or_the_new_one() {
    let world = World::ready();
    for round in 0..rounds(24) {
        let task = format!("k{round}");
        world.orch(&["new", &task]).succeeds();
        world.write(&format!("tasks/{task}/planning/plan.json"), PLAN);
        let mut child = world
            .orch_command(&["next", &task])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("orch starts");
        // From long before the commit to long after it.
        thread::sleep(Duration::from_micros(1500 * round));
        let _ = child.kill();
        let _ = child.wait();
        // A process of git that it had started may still hold the index for a moment.
        eventually("git lets go of the index", || !world.path(".git/index.lock").exists());
        // The next run finishes or begins anew; either way the task is where it should be, once.
        let ended = world.orch(&["next", &task, "--expect", "plan_review"]);
        assert_eq!(ended.code, 0, "round {round}: {ended:?}");
        world.orch(&["watch", "--once"]).succeeds();
        assert_eq!(world.phase(&task), "plan_review", "round {round}");
        assert_eq!(world.dirty(), "", "round {round}");
        let subjects = world.git(&["log", "--format=%s"]);
        let moves =
            subjects.lines().filter(|line| line.starts_with(&format!("orch({task}): planning"))).count();
        assert_eq!(moves, 1, "round {round}: it ran twice");
        let transcript = world.read(&format!("tasks/{task}/transcript.jsonl"));
        assert_eq!(transcript.lines().count(), 2, "round {round}");
    }
    let fsck = world.git_ended(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!((fsck.code, fsck.stdout.as_str()), (0, ""), "{fsck:?}");
    world.orch(&["check"]).succeeds();
}

#[test]
fn an_add_beside_our_commits_is_never_lost() {
    let world = World::ready();
    let count = rounds(12);
    for number in 0..count {
        world.orch(&["new", &format!("t{number}")]).succeeds();
        world.write(&format!("tasks/t{number}/planning/plan.json"), PLAN);
    }
    thread::scope(|scope| {
        let ours = scope.spawn(|| {
            for number in 0..count {
                world.orch(&["next", &format!("t{number}")]).succeeds();
            }
        });
        let mut added = Vec::new();
        let mut number = 0;
        while !ours.is_finished() {
            let path = format!("by-hand/{number}.txt");
            world.write(&path, format!("{number}\n"));
            // While orch holds the lock for a moment, git itself refuses; only what it accepted counts.
            if world.git_ended(&["add", &path]).code == 0 {
                added.push(path);
            }
            number += 1;
        }
        let staged = world.git(&["diff", "--cached", "--name-only"]);
        for path in &added {
            assert!(staged.lines().any(|line| line == path), "{path} was added and is lost");
        }
        assert!(!added.is_empty());
    });
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks"]), "");
}

#[test]
fn several_at_once_make_one_line_of_history() {
    let world = World::ready();
    for number in 0..8 {
        world.orch(&["new", &format!("t{number}")]).succeeds();
        world.write(&format!("tasks/t{number}/planning/plan.json"), PLAN);
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..8 {
                    let ended = world.orch(&["next", &format!("t{number}"), "--expect", "plan_review"]);
                    assert!([0, 4].contains(&ended.code), "{ended:?}");
                }
            });
        }
    });
    world.orch(&["watch", "--once"]).succeeds();
    let subjects = world.git(&["log", "--format=%s"]);
    for number in 0..8 {
        let moves =
            subjects.lines().filter(|line| line.starts_with(&format!("orch(t{number}): planning"))).count();
        assert_eq!(moves, 1, "t{number} moved {moves} times");
    }
    assert_eq!(world.git(&["rev-list", "--merges", "HEAD"]), "");
    assert_eq!(world.dirty(), "");
}
