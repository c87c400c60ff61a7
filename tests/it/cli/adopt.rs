//! Foreign states: `orch new` adopts them where they say they are, or refuses.

use crate::harness::{World, started};
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
fn a_foreign_state_with_an_unknown_phase_is_refused_and_kept() {
    let world = World::ready();
    let text = "{\"phase\": \"bogus\", \"title\": \"Mine\"}\n";
    foreign(&world, "t", text);
    let head = world.git(&["rev-parse", "HEAD"]);
    let refused = world.orch(&["new", "t"]).ends(2);
    assert!(
        refused
            .stderr
            .contains("tasks/t/state.json names the phase `bogus`"),
        "{refused:?}"
    );
    assert!(
        refused
            .stderr
            .contains("name one of planning, plan_review, codegen"),
        "{refused:?}"
    );
    world
        .orch(&["recover", "t"])
        .ends(2)
        .reports("tasks/t/state.json names the phase `bogus`");
    assert_eq!(world.read("tasks/t/state.json"), text);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    // What the hint says works: the title and the phase are those of the foreign state.
    foreign(&world, "t", &text.replace("bogus", "plan_review"));
    world.orch(&["new", "t"]).succeeds();
    assert_eq!(
        (
            world.phase("t").as_str(),
            &world.json("tasks/t/state.json")["title"]
        ),
        ("plan_review", &"Mine".into())
    );
}

/// Where nothing was recorded there is nothing to restore or to recover, and no answer says so.
#[test]
fn a_foreign_state_that_cannot_be_read_has_a_way_out() {
    let conflict =
        "<<<<<<< HEAD\n{\"phase\":\"codegen\"}\n=======\n{\"phase\":\"test\"}\n>>>>>>> x\n";
    for text in ["{\"phase\": 3}\n", "{\"phase\": \n", "[]\n", conflict] {
        let world = World::ready();
        foreign(&world, "t", text);
        assert_eq!(offered(&world, "t"), [""; 0], "{text}");
        for order in [
            &["suggest", "t"][..],
            &["explain", "t"],
            &["check", "t"],
            &["next", "t"],
            &["new", "t"],
        ] {
            let told = world.orch(order);
            let all = told.stdout.clone() + &told.stderr;
            assert!(
                all.contains("rm -f tasks/t/state.json; then: orch new t"),
                "{order:?}: {all}"
            );
            assert!(
                !all.contains("orch recover") && !all.contains("git restore"),
                "{order:?}: {all}"
            );
        }
        // Folding a state from no log would lose what the file says.
        world
            .orch(&["resolve", "t"])
            .ends(1)
            .reports("correct tasks/t/state.json by hand, then: orch new t");
        assert_eq!(world.read("tasks/t/state.json"), text);
        world.remove("tasks/t/state.json");
        world.orch(&["new", "t"]).succeeds();
    }
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

/// A command that is offered is one that works.
#[test]
fn a_state_with_an_unknown_phase_offers_no_adoption() {
    let world = World::ready();
    world.write("tasks/f/state.json", r#"{"phase":"deploying"}"#);
    world.orch(&["new", "f"]).ends(2).reports("deploying");
    let suggestion = &world.orch_json(&["suggest", "f"])["suggestions"][0];
    assert!(
        !suggestion.to_string().contains("orch new f"),
        "{suggestion}"
    );
    assert!(
        !suggestion["options"].to_string().contains("\"new\""),
        "{suggestion}"
    );
}

#[test]
fn a_task_that_cannot_be_made_leaves_no_directory() {
    let world = started("planning");
    std::fs::rename(world.path("tasks/t"), world.path("tasks/u")).expect("moved");
    world
        .orch(&["new", "t"])
        .ends(2)
        .reports("git restore --source=HEAD -- tasks/t");
    assert!(!world.path("tasks/t").exists());
}

#[test]
fn what_a_record_has_no_place_for_is_told_and_stays_in_git() {
    let world = World::ready();
    let text = "{\"phase\": \"plan_review\", \"history\": [{\"by\": \"me\"}], \"title\": 7,\n \
                \"ticket\": 12345678901234567890123}\n";
    foreign(&world, "t", text);
    world.plan("t", 1);
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("adopting it leaves out /history, /title, /ticket");
    let adopted = world.orch(&["new", "t"]).succeeds();
    let adopted =
        adopted.reports("adopted the state of another tool; left out: /history, /title, /ticket");
    let hint = adopted
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: the file as it was: "))
        .expect("a hint");
    let kept: Vec<&str> = hint.split(' ').skip(1).collect();
    assert_eq!(world.git(&kept), text);
    assert_eq!(world.git(&["show", "HEAD~1:tasks/t/state.json"]), text);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    let audit = world.orch(&["audit"]).succeeds();
    assert_eq!(audit.stdout.matches("  proven").count(), 2, "{audit:?}");
    world.orch(&["check", "--range", "HEAD~3..HEAD"]).succeeds();
}

#[test]
fn a_workflow_that_a_foreign_state_names_is_that_of_the_task() {
    let world = World::ready();
    foreign(&world, "s", "{\"workflow\": \"skill-tuning\"}");
    world.orch(&["new", "s"]).succeeds();
    assert_eq!(
        world.json("tasks/s/state.json")["workflow"]["name"],
        "skill-tuning"
    );
    for (id, named) in [
        ("a", "\"nowhere\""),
        ("b", "{\"name\": \"nowhere\", \"digest\": \"x\"}"),
    ] {
        foreign(&world, id, &format!("{{\"workflow\": {named}}}"));
        let choose = format!("orch new {id} --workflow WORKFLOW");
        world
            .orch(&["new", id])
            .ends(2)
            .reports("there is no workflow `nowhere`")
            .reports(&choose);
        let new = ["new", id, "--workflow", "global-state-machine"];
        world.orch(&new).succeeds().reports("left out: /workflow");
        assert_eq!(world.phase(id), "planning");
        assert_eq!(
            world.json(&format!("tasks/{id}/state.json"))["workflow"]["name"],
            "global-state-machine"
        );
    }
    world.orch(&["audit"]).succeeds();
}
