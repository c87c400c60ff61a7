//! `orch suggest`: for whom, in which order, and waiting for a change.

use crate::harness::{World, started};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn the_most_urgent_comes_first() {
    let world = World::ready();
    for id in ["a-waits", "b-due", "c-gap", "d-broken"] {
        world.orch(&["new", id]).succeeds();
    }
    world.plan("b-due", 1);
    world.walk_to("c-gap", "review");
    world.remove("tasks/c-gap/code/diff.patch");
    world.write("tasks/d-broken/transcript.jsonl", "{");
    let all = world.orch_json(&["suggest"]);
    let ids: Vec<_> = all["suggestions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["task"])
        .collect();
    assert_eq!(ids, ["d-broken", "c-gap", "b-due", "a-waits"]);
}

#[test]
fn the_same_files_and_record_give_the_same_bytes() {
    let world = started("codegen");
    let first = world.orch(&["suggest", "--json"]).stdout;
    assert_eq!(world.orch(&["suggest", "--json"]).stdout, first);
    assert_eq!(
        world.orch(&["-C", "tasks/t", "suggest", "--json"]).stdout,
        first
    );
}

#[test]
fn waiting_returns_when_the_answer_changes() {
    let world = started("planning");
    let mut waiting = world.orch_spawn(&["suggest", "t", "--wait", "--timeout", "60", "--json"]);
    // Written again and again: whenever the wait has begun to listen, the next one is heard.
    let mut nth = 0;
    while waiting.try_wait().expect("a child").is_none() {
        assert!(nth < 300, "it never returned");
        nth += 1;
        world.plan("t", nth);
        sleep(Duration::from_millis(200));
        if waiting.try_wait().expect("a child").is_none() {
            world.remove("tasks/t/planning/plan.json");
            sleep(Duration::from_millis(200));
        }
    }
    let output = waiting.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(envelope["suggestions"][0]["task"], "t");
}

#[test]
fn waiting_ends_with_one_when_the_time_is_up() {
    let world = started("planning");
    for timeout in ["1", "100ms"] {
        let ended = world
            .orch(&["suggest", "t", "--wait", "--timeout", timeout, "--json"])
            .ends(1);
        let envelope: serde_json::Value =
            serde_json::from_str(&ended.stdout).expect("one document");
        assert_eq!(envelope["suggestions"][0]["currentPhase"], "planning");
    }
    let hint = "for example 90s, 5m or 1h30m";
    world
        .orch(&["suggest", "t", "--wait", "--timeout", "soon"])
        .ends(2)
        .reports(hint);
}
