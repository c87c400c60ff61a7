//! Every output against the schema that is shipped for it.

use crate::harness::{World, project, started};
use orch_read::Schema;
use serde_json::Value;
use std::fs;

fn schema(path: &str) -> Schema {
    let text =
        fs::read_to_string(project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Schema::compile(path, &text).unwrap_or_else(|problems| panic!("{path}: {problems:#?}"))
}

#[track_caller]
fn fits(schema: &Schema, what: &str, value: &Value) {
    let problems = schema.validate(value);
    assert!(problems.is_empty(), "{what}: {problems:#?}\n{value:#}");
}

/// Worlds with no task, with one, and with many in every kind of condition.
fn worlds() -> Vec<World> {
    let one = World::ready();
    one.orch(&["new", "t", "--title", "Login"]).succeeds();
    one.walk_to("t", "test");
    let many = World::ready();
    for id in [
        "due", "draft", "gap", "stale", "done", "invalid", "broken", "lost",
    ] {
        many.orch(&["new", id]).succeeds();
    }
    many.plan("unborn", 1);
    many.plan("due", 1);
    many.write(
        "tasks/draft/planning/plan.json",
        "{\"status\": \"draft\"}\n",
    );
    many.walk_to("gap", "review");
    many.remove("tasks/gap/code/diff.patch");
    many.walk_to("stale", "test");
    many.tests("stale", 1, 1);
    many.orch(&["next", "stale"]).succeeds();
    many.walk_to("done", "done");
    many.write("tasks/invalid/planning/plan.json", "{\"status\": 7,");
    many.write("tasks/broken/state.json", "{");
    many.remove("tasks/lost/state.json");
    vec![World::ready(), one, many]
}

#[test]
fn every_answer_fits_its_schema() {
    let of = |name: &str| schema(&format!("system/schemas/output/{name}.schema.json"));
    let commands: [(&[&str], Schema); 6] = [
        (&["suggest"], of("suggestions")),
        (&["status"], of("status")),
        (&["explain"], of("explanations")),
        (&["check"], of("findings")),
        (&["log"], of("log")),
        (&["workflow", "check"], of("findings")),
    ];
    let error = of("error");
    let mut many = false;
    for world in worlds() {
        let listed = world.orch_json(&["suggest"]);
        let tasks: Vec<&str> = listed["suggestions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["task"].as_str())
            .collect();
        many |= tasks.len() > 3;
        for (command, schema) in &commands {
            if *command != ["explain"] {
                fits(schema, &format!("{command:?}"), &world.orch_json(command));
            }
            if matches!(*command, ["suggest" | "explain" | "check" | "log"]) {
                for task in &tasks {
                    let named = [*command, &[task]].concat();
                    let answer = world.orch_json(&named);
                    let schema = if answer["kind"] == "error" {
                        &error
                    } else {
                        schema
                    };
                    fits(schema, &format!("{named:?}"), &answer);
                }
            }
        }
    }
    assert!(many, "no world has several tasks");
}

#[test]
fn transitions_errors_and_events_fit_their_schemas() {
    let transitions = schema("system/schemas/output/transitions.schema.json");
    let error = schema("system/schemas/output/error.schema.json");
    let event = schema("system/schemas/output/event.schema.json");
    let world = World::ready();
    fits(
        &transitions,
        "new",
        &world.orch_json(&["new", "t", "--title", "Login"]),
    );
    world.plan("t", 1);
    fits(
        &transitions,
        "dry",
        &world.orch_json(&["next", "t", "--dry-run"]),
    );
    fits(&transitions, "next", &world.orch_json(&["next", "t"]));
    fits(
        &error,
        "refused",
        &world.orch_json(&["next", "t", "--to", "test"]),
    );
    fits(&error, "unknown", &world.orch_json(&["next", "nope"]));
    fits(&error, "usage", &world.orch_json(&["next", "--nope"]));
    fits(
        &transitions,
        "override",
        &world.orch_json(&["next", "t", "--override", "why", "--to", "test"]),
    );
    fits(
        &transitions,
        "rollback",
        &world.orch_json(&["rollback", "t", "--to", "planning", "--reason", "why"]),
    );
    fits(
        &transitions,
        "confirm",
        &world.orch_json(&["confirm", "t", "plan", "--reason", "why"]),
    );
    world.write("tasks/broken/state.json", "{");
    let ended = world.orch(&["watch", "--once", "--json"]).ends(1);
    assert!(ended.stdout.lines().count() >= 2, "{ended:?}");
    for line in ended.stdout.lines() {
        fits(
            &event,
            "event",
            &serde_json::from_str(line).expect("a document"),
        );
    }
}

#[test]
fn what_is_written_into_a_task_fits_its_schema() {
    let state = schema("system/schemas/state.schema.json");
    let suggestions = schema("system/schemas/output/suggestions.schema.json");
    for world in worlds() {
        world.orch(&["watch", "--once"]).succeeds();
        for task in fs::read_dir(world.path("tasks"))
            .expect("tasks")
            .flatten()
            .filter(|entry| entry.path().is_dir())
        {
            let task = task.file_name().to_string_lossy().into_owned();
            if task != "unborn" {
                fits(
                    &suggestions,
                    &task,
                    &world.json(&format!("tasks/{task}/suggestion.json")),
                );
            }
            if !["unborn", "broken", "lost"].contains(&task.as_str()) {
                fits(
                    &state,
                    &task,
                    &world.json(&format!("tasks/{task}/state.json")),
                );
            }
        }
    }
}

#[test]
fn the_schemas_bite() {
    let suggestions = schema("system/schemas/output/suggestions.schema.json");
    let world = started("planning");
    let mut answer = world.orch_json(&["suggest", "t"]);
    answer["suggestions"][0]["kind"] = "maybe".into();
    assert!(!suggestions.validate(&answer).is_empty());
    let state = schema("system/schemas/state.schema.json");
    let mut recorded = world.json("tasks/t/state.json");
    recorded["phase"] = 7.into();
    assert!(!state.validate(&recorded).is_empty());
}

/// The expressions of the lifecycle rely on these shapes.
#[test]
fn a_plan_part_of_another_shape_is_not_valid() {
    let plan = schema("system/schemas/plan.schema.json");
    let with = |key: &str, value: Value| {
        let mut plan = serde_json::json!({"title": "t", "what": "w"});
        plan[key] = value;
        plan
    };
    let cases = [
        (
            "work",
            r#"{"milestones": [{"tasks": "x"}]}"#,
            r#"{"milestones": ["m", {"tasks": ["x"]}]}"#,
        ),
        (
            "file_impacts",
            r#"[{"path": 4}]"#,
            r#"["a", {"path": "a"}, {}]"#,
        ),
        ("draft_files", r"[4]", r#"["a", {"path": "a"}]"#),
    ];
    for (key, bad, good) in cases {
        let value = |text: &str| with(key, serde_json::from_str(text).expect("JSON"));
        assert!(!plan.validate(&value(bad)).is_empty(), "{key}: {bad}");
        fits(&plan, key, &value(good));
    }
}
