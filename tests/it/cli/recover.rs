//! A state that is lost or broken: named, never reset, rebuilt on order.

use crate::harness::World;

fn walked() -> World {
    let world = World::ready();
    world.orch(&["new", "t", "--title", "Login"]).succeeds();
    world.walk_to("t", "review");
    world
}

const STATE: &str = "tasks/t/state.json";

/// Breaks the state of a world.
type Break = Box<dyn Fn(&World)>;

/// Breaks a state in each way; none of them may pass for another state.
fn broken() -> Vec<(&'static str, Break)> {
    vec![
        ("state-lost", Box::new(|world: &World| world.remove(STATE))),
        (
            "seal",
            Box::new(|world: &World| world.write(STATE, world.read(STATE).replace("\"review\"", "\"test\""))),
        ),
        (
            "",
            Box::new(|world: &World| {
                let text = world.read(STATE);
                world.write(STATE, &text[..text.len() / 2]);
            }),
        ),
        ("", Box::new(|world: &World| world.write(STATE, ""))),
        (
            "conflict",
            Box::new(|world: &World| {
                let text = world.read(STATE);
                world.write(STATE, format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> other\n"));
            }),
        ),
    ]
}

#[test]
fn every_broken_state_is_an_error_that_moves_nothing_and_is_recovered_from_git() {
    for (code, breaks) in broken() {
        let world = walked();
        let whole = world.read(STATE);
        let head = world.git(&["rev-parse", "HEAD"]);
        breaks(&world);
        world.code_review("t", true, 1);
        let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        assert_eq!(suggestion["kind"], "error", "{code}: {suggestion:#}");
        assert!(suggestion.to_string().contains(code), "{code}: {suggestion:#}");
        // What a merge left in pieces has a better way out, though these pieces are the same.
        let way_out = if code == "conflict" { "resolve" } else { "recover" };
        assert_eq!(suggestion["options"][0]["argv"], serde_json::json!(["orch", way_out, "t"]), "{code}");
        world.orch(&["check", "t"]).ends(1);
        let refused = world.orch(&["next", "t"]);
        assert_eq!(refused.code, 1, "{code}: {refused:?}");
        world.orch(&["next", "t", "--override", "force", "--to", "test"]).ends(1);
        world.orch(&["watch", "--once"]).succeeds();
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head, "{code}");
        world.orch(&["recover", "t"]).succeeds().says("commit");
        assert_eq!(world.read(STATE), whole, "{code}");
        world.orch(&["recover", "t"]).ends(3);
        world.orch(&["next", "t"]).succeeds().says("review -> test");
        assert_eq!(world.dirty(), "", "{code}");
    }
}

#[test]
fn without_git_the_transcript_rebuilds_it() {
    for (code, breaks) in broken() {
        let world = World::without_git();
        world.orch(&["init"]).succeeds();
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "test");
        world.tests("t", 1, 1);
        world.orch(&["next", "t"]).succeeds();
        let before = world.json(STATE);
        breaks(&world);
        world.orch(&["next", "t"]).ends(1);
        world.orch(&["recover", "t"]).succeeds().says("transcript");
        let after = world.json(STATE);
        for key in ["phase", "actors", "rev", "task"] {
            assert_eq!(after[key], before[key], "{code}: {key}");
        }
        // What was used up is still used up.
        world.orch(&["next", "t"]).ends(3);
    }
}

#[test]
fn what_was_broken_is_kept_beside_it() {
    let world = walked();
    world.write(STATE, "{ mine");
    world.orch(&["recover", "t"]).succeeds();
    assert_eq!(world.read("tasks/t/state.json.broken"), "{ mine");
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_fault_in_the_state_has_a_line_and_a_column() {
    let world = walked();
    let text = world.read(STATE).replacen("\"rev\": 4", "\"rev\": oops", 1);
    world.write(STATE, &text);
    let line = text.lines().position(|line| line.contains("oops")).expect("it is there") + 1;
    world.orch(&["check", "t"]).ends(1).says(&format!("tasks/t/state.json:{line}:"));
}

#[test]
fn nothing_to_recover_from_says_how_to_start_over() {
    let world = World::ready();
    world.plan("t", 1);
    world.write("tasks/t/transcript.jsonl", "not json\n");
    world.orch(&["recover", "t"]).ends(5).says("orch new t");
}

#[test]
fn a_task_of_which_only_the_transcript_is_left_is_not_forgotten() {
    let world = World::ready();
    world.orch(&["new", "t"]).succeeds();
    world.remove(STATE);
    let all = world.orch_json(&["suggest"]);
    assert_eq!(all["suggestions"][0]["task"], "t", "{all:#}");
    world.orch(&["recover", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}
