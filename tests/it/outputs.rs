//! What the commands really print fits the schemas that ship.

use crate::harness::{World, project};
use orch_base::Timestamp;
use orch_read::Schema;
use orch_view::{EventView, Happening, line};
use serde_json::Value;
use std::fs;

fn schema(kind: &str) -> Schema {
    let path = project().join(format!("system/schemas/output/{kind}.schema.json"));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Schema::compile(kind, &text).unwrap_or_else(|problems| panic!("{kind}: {problems:#?}"))
}

#[track_caller]
pub fn fits(value: &Value) {
    assert_eq!(value["schemaVersion"], 1, "{value:#}");
    let kind = value["kind"].as_str().expect("a kind");
    let problems = schema(kind).validate(value);
    assert!(problems.is_empty(), "{kind}: {problems:#?}\n{value:#}");
}

#[test]
fn answers_fit_for_none_one_and_many() {
    let world = World::ready();
    let ask = |world: &World| {
        for command in [
            &["suggest"][..],
            &["status"],
            &["check"],
            &["log"],
            &["audit"],
            &["check", "--staged"],
        ] {
            fits(&world.orch_json(command));
        }
    };
    ask(&world);
    fits(&world.orch_json(&["new", "t1"]));
    ask(&world);
    world.orch(&["new", "t2"]).succeeds();
    world.write("tasks/t1/planning/plan.json", "{\"title\": 3}");
    let plan = "{\"id\": \"p\", \"title\": \"T\", \"brief\": \"B\", \"status\": \"final\", \"scope\": {\"in_scope\": [\"a\"]}}";
    world.write("tasks/t2/planning/plan.json", plan);
    ask(&world);
    fits(&world.orch_json(&["explain", "t1", "t2"]));
    fits(&world.orch_json(&["next", "t2", "--dry-run"]));
    fits(&world.orch_json(&["next", "t2"]));
    fits(&world.orch_json(&["rollback", "t2", "--to", "planning", "--reason", "again"]));
    fits(&world.orch_json(&["confirm", "t2", "plan", "--reason", "right"]));
    fits(&world.orch_json(&["next", "t1", "--to", "done"]));
    fits(&world.orch_json(&["suggest", "nobody"]));
    fits(&world.orch_json(&["no-such-command"]));
    fits(&world.orch_json(&["next", "t2"]));
    fits(&world.orch_json(&["next", "t2"]));
    fits(&world.orch_json(&["init"]));
    fits(&world.orch_json(&["recover", "t2"]));
    fits(&world.orch_json(&["prompt", "t2"]));
    fits(&world.orch_json(&["workflow", "list"]));
    fits(&world.orch_json(&["workflow", "check"]));
    fits(&world.orch_json(&["runs"]));
    fits(&world.orch_json(&["pause", "t2"]));
    fits(&world.orch_json(&["run", "t2", "--dry-run"]));
    world.write("orch.toml", "[executor.default]\ncommand = [\"true\"]\n");
    fits(&world.orch_json(&["run", "t2"]));
    fits(&world.orch_json(&["runs"]));
    fits(&world.orch_json(&["stop", "t2"]));
    for command in ["uninstall", "install", "install", "status", "uninstall"] {
        fits(&world.orch_json(&["hook", command]));
    }
    ask(&world);
    for command in [
        &["suggest"][..],
        &["status"],
        &["check"],
        &["explain", "t2"],
    ] {
        fits(&world.orch_json(&[command, &["--at", "HEAD~1"]].concat()));
    }
    world.write("tasks/t2/state.json", "{}");
    ask(&world);
}

#[test]
fn events_and_suggestion_files_fit() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.write("tasks/t1/planning/plan.json", "{\"title\": 3}");
    let watched = world.orch(&["watch", "--once", "--json"]).succeeds();
    assert!(!watched.stdout.is_empty());
    for line in watched.stdout.lines() {
        fits(&serde_json::from_str(line).expect("one document a line"));
    }
    fits(&world.json("tasks/t1/suggestion.json"));
    assert_eq!(world.dirty(), "?? tasks/t1/planning/\n");
}

#[test]
fn rare_events_fit_too() {
    let (task, reason) = (|| "t1".to_owned(), || "a merge is in progress".to_owned());
    for happening in [
        Happening::Started { tasks: 0 },
        Happening::Held {
            task: task(),
            reason: reason(),
            advice: orch_view::Advice::default(),
        },
        Happening::Gone { task: task() },
        Happening::Stopped { reason: reason() },
    ] {
        let event = line(&EventView::new(Timestamp::from_seconds(0), happening));
        fits(&serde_json::from_str(&event).expect("JSON"));
    }
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let first = world.orch(&["suggest", "--json"]).stdout;
    assert_eq!(world.orch(&["suggest", "--json"]).stdout, first);
}

#[test]
fn states_fit_their_schema() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let text =
        fs::read_to_string(project().join("system/schemas/state.schema.json")).expect("a schema");
    let schema = Schema::compile("state", &text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let problems = schema.validate(&world.json("tasks/t1/state.json"));
    assert!(problems.is_empty(), "{problems:#?}");
}
