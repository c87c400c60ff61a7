//! Foreign states: `orch new` adopts them where they say they are, or refuses.

use crate::harness::World;
use std::fs;

fn foreign(world: &World, id: &str, state: &str) {
    world.write(&format!("tasks/{id}/state.json"), state);
}

/// The commands that the suggestion of a task offers.
fn offered(world: &World, id: &str) -> Vec<String> {
    let suggested = world.orch_json(&["suggest", id]);
    let options = suggested["suggestions"][0]["options"]
        .as_array()
        .expect("options")
        .clone();
    let argv = |option: &serde_json::Value| {
        let words = option["argv"].as_array().expect("words").iter();
        words
            .map(|word| word.as_str().expect("text"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    options.iter().map(argv).collect()
}

#[test]
fn the_watch_adopts_the_others_where_one_foreign_state_names_an_unknown_phase() {
    let world = World::ready();
    world.write("orch.toml", "[watch]\nadopt = true\n");
    world.commit("Adopt");
    foreign(&world, "a", "{\"phase\": \"bogus\"}");
    world.plan("b", 1);
    world.orch(&["watch", "--once"]).ends(1);
    assert_eq!(world.phase("b"), "plan_review");
    assert_eq!(world.read("tasks/a/state.json"), "{\"phase\": \"bogus\"}");
}

#[test]
fn an_adopted_task_without_its_artifacts_is_offered_the_phase_that_makes_them() {
    // What is there, and the phase to which the way out leads: never one whose output is there and valid.
    type Scene = fn(&World);
    let scenes: [(&str, Scene, &str); 4] = [
        ("{\"phase\": \"codegen\"}", |_| {}, "planning"),
        (
            "{\"phase\": \"codegen\"}",
            |world| world.plan("t", 1),
            "plan_review",
        ),
        (
            "{\"phase\": \"codegen\", \"actors\": {\"planning\": {\"status\": \"done\", \"attempt\": 1}}}",
            |world| world.plan("t", 1),
            "plan_review",
        ),
        (
            "{\"phase\": \"accept\"}",
            |world| {
                world.plan("t", 1);
                world.plan_review("t", true, 1);
            },
            "codegen",
        ),
    ];
    for (state, scene, back) in scenes {
        let world = World::ready();
        scene(&world);
        foreign(&world, "t", state);
        world.orch(&["new", "t"]).succeeds();
        let way = format!("orch rollback t --to {back} --reason WHY");
        assert_eq!(offered(&world, "t").first(), Some(&way), "{state}");
        world
            .orch(&["rollback", "t", "--reason", "adopted too late"])
            .succeeds();
        assert_eq!(world.phase("t"), back, "{state}");
        world.walk_to_from("t", back, "done");
        world.orch(&["audit"]).succeeds();
    }
}

#[test]
fn a_plan_that_is_there_when_its_review_is_missing_is_not_used_up() {
    let world = World::ready();
    world.plan("t", 1);
    foreign(&world, "t", "{\"phase\": \"codegen\"}");
    world.orch(&["new", "t"]).succeeds();
    world
        .orch(&["rollback", "t", "--reason", "no review"])
        .succeeds();
    let state = fs::read_to_string(world.path("tasks/t/state.json")).expect("readable");
    assert!(!state.contains("\"spent\""), "{state}");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
}
