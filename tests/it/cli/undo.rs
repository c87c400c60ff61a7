//! `orch undo`: takes back the last order, and says which.

use crate::harness::{World, started};

fn standings(world: &World) -> Vec<String> {
    let report = world.orch_json(&["audit"]);
    let changes = report["changes"].as_array().expect("changes");
    changes
        .iter()
        .map(|change| change["standing"].as_str().expect("a word").to_owned())
        .collect()
}

#[test]
fn an_order_is_taken_back_with_the_steps_that_followed_it() {
    let world = started("test");
    let before = world.json("tasks/t/state.json");
    world
        .orch(&["undo", "t"])
        .ends(5)
        .reports("nobody has given an order");
    world
        .orch(&["rollback", "t", "--to", "codegen", "--reason", "a mistake"])
        .succeeds();
    world.patch("t", 2);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("codegen -> review");
    world
        .orch(&["undo", "t", "--dry-run"])
        .succeeds()
        .says("review -> test")
        .reports("step 6 (rollback, test -> codegen, by Ann): a mistake")
        .reports("codegen -> review");
    assert_eq!(world.phase("t"), "review");
    world
        .orch_by_agent(&["undo", "t"])
        .ends(6)
        .reports("orch undo t");
    world
        .orch(&["undo", "--reason", "it was right"])
        .succeeds()
        .says("review -> test");
    let after = world.json("tasks/t/state.json");
    for key in ["phase", "actors", "waived", "run"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(
        (world.dirty().as_str(), world.phase_suggested("t").as_str()),
        ("", "test")
    );
    assert!(
        !standings(&world)
            .iter()
            .any(|one| one == "forged" || one == "unverifiable")
    );
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Orch-Override: takes back step 6 (rollback): it was right"),
        "{message}"
    );
}

#[test]
fn undo_goes_further_back_each_time_and_a_squash_of_it_is_proven() {
    let world = started("planning");
    let base = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["next", "t", "--override", "one", "--to", "codegen"])
        .succeeds();
    world
        .orch(&["next", "t", "--override", "two", "--to", "test"])
        .succeeds();
    world
        .orch(&["undo", "t"])
        .succeeds()
        .says("test -> codegen");
    world
        .orch(&["undo", "t"])
        .succeeds()
        .says("codegen -> planning");
    world.orch(&["undo", "t"]).ends(5);
    world
        .orch(&["next", "t", "--override", "again", "--to", "codegen"])
        .succeeds();
    world
        .orch(&["undo", "t"])
        .succeeds()
        .says("codegen -> planning");
    assert_eq!(
        world.json("tasks/t/state.json")["waived"],
        serde_json::json!({})
    );
    world.git(&["reset", "-q", "--soft", base.trim()]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    let report = world.orch_json(&["audit"]);
    assert_eq!(report["changes"][1]["standing"], "folded", "{report:#}");
}

#[test]
fn a_decision_and_a_confirmation_are_taken_back_and_a_made_up_undo_is_forged() {
    let world = started("accept");
    world
        .orch(&["reject", "t", "--reason", "no docs"])
        .succeeds();
    let phase = world.phase("t");
    assert_ne!(phase, "accept");
    world
        .orch(&["undo", "t"])
        .succeeds()
        .says(&format!("{phase} -> accept"));
    world
        .orch(&["approve", "t"])
        .succeeds()
        .says("accept -> done");
    world.orch(&["undo", "t"]).succeeds().says("done -> accept");
    assert!(
        !standings(&world).iter().any(|one| one == "forged"),
        "{:?}",
        standings(&world)
    );
    // Another event in its place.
    let log = world.read("tasks/t/transcript.jsonl");
    let last = log.lines().last().expect("a line").to_owned();
    world.write(
        "tasks/t/transcript.jsonl",
        log.replace(&last, &last.replace("takes back", "takes away")),
    );
    world.commit("made up");
    assert_eq!(standings(&world).last().map(String::as_str), Some("forged"));
}
