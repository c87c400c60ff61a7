//! What people are asked, and what they may answer.

use super::{GOOD, LOOP, Loop};
use crate::harness::World;

#[test]
fn a_question_waits_for_an_answer_that_fits() {
    let task = Loop::new(GOOD);
    let report = task.world.orch_json(&["run", "t"]);
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"waiting".into(), &0.into()),
        "{report:#}"
    );
    let told = task.world.orch(&["suggest", "t"]).succeeds();
    assert!(
        told.stdout.contains("orch answer t rounds=VALUE"),
        "{}",
        told.stdout
    );
    for (answer, why) in [
        ("score=90", "the question does not ask for"),
        ("rounds=9", "is not an option for /rounds: 1, 2, 3"),
        ("rounds=many", "is not an option"),
        ("rounds", "is not KEY=VALUE"),
        ("status=done", "the question does not ask for"),
    ] {
        let ended = task.world.orch(&["answer", "t", answer]);
        assert!(matches!(ended.code, 1 | 2), "{answer}: {ended:?}");
        ended.reports(why);
    }
    task.world.orch(&["answer", "t", "rounds=2"]).succeeds();
    assert_eq!(task.state()["rounds"], 2);
    task.world
        .orch(&["answer", "t", "rounds=2"])
        .ends(5)
        .reports("there is no question");
    task.world.orch(&["run", "t"]).succeeds();
    let log = task.world.read("tasks/t/transcript.jsonl");
    let mut events = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let answered = events.find(|event| event["kind"] == "answer");
    assert_eq!(answered.expect("recorded")["actor"]["kind"], "human");
    task.is_clean();
}

#[test]
fn a_person_picks_an_action_and_a_menu_costs_no_turn() {
    let menu = LOOP
        .replace(
            "run = \"improve\"\nset = { \"/rounds\" = \"state.rounds + 1\" }\n",
            "choose = [\"improve\", \"polish\"]\n",
        )
        .replace(
            "when = \"state.score < 80\"\nchoose",
            "when = \"state.score < 40\"\nchoose",
        );
    let task = Loop::with(&menu, GOOD);
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"waiting".into(), &1.into()),
        "{report:#}"
    );
    task.world
        .orch(&["answer", "t", "action=nothing"])
        .ends(1)
        .reports("is not one of the offered actions");
    task.world
        .orch(&["answer", "t", "action=improve"])
        .succeeds();
    assert_eq!(task.state()["run"]["chosen"], "improve");
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"completed".into(), &3.into()),
        "{report:#}"
    );
    assert_eq!(task.state()["run"].get("chosen"), None);
    task.is_clean();
}

#[test]
fn a_changed_state_that_nobody_recorded_is_found() {
    let task = Loop::new(GOOD);
    task.run().succeeds();
    // Somebody gives himself a better score, in a record that otherwise fits.
    let log = task
        .world
        .git(&["log", "--format=%H", "--grep", "run improve", "-1"]);
    task.world
        .git(&["checkout", "-q", "-b", "forged", log.trim()]);
    let forge = |path: &str| {
        let text = task
            .world
            .read(path)
            .replace("\"polished\": false", "\"polished\": true")
            .replace("\"polished\":false", "\"polished\":true");
        task.world.write(path, text);
    };
    forge("tasks/t/state.json");
    forge("tasks/t/transcript.jsonl");
    task.world
        .git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    task.world.orch(&["audit"]).ends(1);
}

/// A world with a task `t` of the shipped tuning.
fn tuning() -> World {
    let world = World::ready();
    world
        .orch(&["new", "t", "--workflow", "skill-tuning"])
        .succeeds();
    world
}

/// Whoever has to answer sees the types and the values, in every form of the answer.
#[test]
fn a_question_shows_what_may_be_answered() {
    let world = tuning();
    let told = world.orch_json(&["suggest", "t"])["suggestions"][0]["question"].clone();
    let field = |key: &str| {
        let fields = told["fields"].as_array().expect("a list");
        fields
            .iter()
            .find(|field| field["key"] == key)
            .unwrap_or_else(|| panic!("{key}: {told:#}"))
            .clone()
    };
    let areas = field("focus_areas");
    assert_eq!(
        (&areas["list"], &areas["values"][0]),
        (&true.into(), &"context".into()),
        "{areas:#}"
    );
    assert_eq!(field("max_iterations")["type"], "integer");
    assert_eq!(
        field("stop_at_gate")["values"],
        serde_json::json!([true, false])
    );
    assert_eq!(
        field("target_skill.path")["values"],
        serde_json::Value::Null
    );
    let text = world.orch(&["suggest", "t"]).succeeds();
    text.says("focus_areas: any of context, memory")
        .says("max_iterations: integer")
        .says("one of true, false");
    world
        .orch(&["suggest", "t", "--brief"])
        .succeeds()
        .says("focus_areas: any of context, memory");
}

/// A list is typed with commas, or as JSON; one item is a list of one.
#[test]
fn a_list_is_answered_with_commas() {
    for (typed, areas) in [
        ("context", serde_json::json!(["context"])),
        ("context, memory", serde_json::json!(["context", "memory"])),
        (r#"["memory"]"#, serde_json::json!(["memory"])),
        ("", serde_json::json!([])),
    ] {
        let world = tuning();
        let typed = format!("focus_areas={typed}");
        world
            .orch(&["answer", "t", "target_skill.path=skills/x", &typed])
            .succeeds();
        assert_eq!(
            world.json("tasks/t/state.json")["focus_areas"],
            areas,
            "{typed}"
        );
    }
    let world = tuning();
    world
        .orch(&[
            "answer",
            "t",
            "target_skill.path=x",
            "focus_areas=context,nonsense",
        ])
        .ends(1)
        .reports("\"nonsense\" is not an option for /focus_areas");
}

/// The prompt of an action that is due holds the relevant state and the form of the result.
#[test]
fn the_prompt_of_an_action_holds_the_form_of_the_result() {
    let world = tuning();
    world
        .orch(&["answer", "t", "target_skill.path=skills/x"])
        .succeeds();
    let prompt = world.orch(&["prompt", "t"]).succeeds().stdout;
    for part in [
        "- action `init`",
        "## State",
        "## Result",
        "$ORCH_RESULT",
        "\"stateUpdates\"",
        "tasks/t/state.json",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert!(prompt.len() < 5_000, "{} bytes", prompt.len());
}
