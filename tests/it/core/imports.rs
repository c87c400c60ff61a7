//! States of older tools: what a workflow's map makes of them, what has no place, and which are refused.

use super::world::{World, compiled};
use orch_base::Digest;
use orch_core::decide::{
    Original, Recorded, State, Verdict, adopt, evaluate, import_of, is_original, refused_import,
};
use orch_core::record::RecordReading;
use serde_json::{Value, json};
use std::sync::Arc;

const MACHINE: &str = r#"
```toml orch
[state.defaults]
done = 0
name = "nobody"
kept = "default"
plan = {}
[state.import]
known_by = ["/old_id", "/stage"]
phase = "/stage"
[state.import.define]
work = "original.work"
begun = "work != null && work.tasks != null"
[state.import.data]
"/done" = "/steps/done"
"/name" = "original.name == null ? null : original.name"
"/kept" = "/nowhere"
"/plan/tasks" = "begun ? work.tasks : null"
"/plan/first" = "original.box == null ? null : original.box.first"
"/plan/is_old" = "original.kind.startsWith('old')"
"/plan/is_marked" = "original.mark != null"
[phase.open]
aliases = ["started"]
[phase.closed]
terminal = true
[[rule]]
id = "close"
from = "open"
when = "state.done > 9"
to = "closed"
because = "all is done"
[[rule]]
id = "wait"
from = "open"
wait = "work"
because = "work is left"
```
"#;

/// A state of the older tool with these members in place of, or beside, those that it always has.
fn original(members: &Value) -> Value {
    let mut original = json!({"old_id": "x-1", "stage": "started", "kind": "older"});
    let all = original.as_object_mut().expect("an object");
    for (key, value) in members.as_object().expect("an object") {
        all.insert(key.clone(), value.clone());
    }
    original
}

/// What reading the state of the older tool comes to.
fn read(original: &Value) -> (World, RecordReading) {
    let mut world = World::new(Arc::new(compiled("machine", MACHINE)));
    world.state = Some(original.to_string());
    let reading = world.reading();
    (world, reading)
}

fn imported(members: &Value) -> State {
    match read(&original(members)).1 {
        RecordReading::Foreign(state) => *state,
        other => panic!("{members}: {other:?}"),
    }
}

#[test]
fn an_import_fills_the_data_by_the_map_and_lists_what_has_no_place() {
    let nothing = json!({"is_old": true, "is_marked": false});
    let plan = |more: Value| {
        let mut plan = more;
        let members = plan.as_object_mut().expect("an object");
        members.insert("is_old".to_owned(), json!(true));
        members.insert("is_marked".to_owned(), json!(false));
        plan
    };
    // The members of the original, the data that differs from the defaults, and what is left out beside the id.
    for (members, data, left) in [
        (json!({}), json!({"plan": nothing}), &[][..]),
        // A copy, and what lies beside it.
        (
            json!({"steps": {"done": 3, "planned": 4, "note": ""}}),
            json!({"done": 3, "plan": nothing}),
            &["/steps/planned"],
        ),
        // Null is no value: the default stays.
        (
            json!({"steps": {"done": null}, "name": null}),
            json!({"plan": nothing}),
            &[],
        ),
        (
            json!({"name": "Ann"}),
            json!({"name": "Ann", "plan": nothing}),
            &[],
        ),
        // What is read by way of a definition: its member, and nothing beside it.
        (
            json!({"work": {"tasks": [1, 2], "notes": "n", "empty": [], "none": {}}}),
            json!({"plan": plan(json!({"tasks": [1, 2]}))}),
            &["/work/notes"],
        ),
        (
            json!({"work": {"notes": "n"}}),
            json!({"plan": nothing}),
            &["/work/notes"],
        ),
        (
            json!({"box": {"first": 1, "second": 2}}),
            json!({"plan": plan(json!({"first": 1}))}),
            &["/box/second"],
        ),
        // Who only asks whether a member is there does not keep it.
        (
            json!({"mark": "m"}),
            json!({"plan": {"is_old": true, "is_marked": true}}),
            &["/mark"],
        ),
        // A method is called on the member before it, so that one is read.
        (
            json!({"kind": "new"}),
            json!({"plan": {"is_old": false, "is_marked": false}}),
            &[],
        ),
        // What is the same in every state, and what says nothing.
        (
            json!({"title": "T", "errors": [{"message": "no"}], "task_id": "t", "list": [], "text": "", "map": {}}),
            json!({"plan": nothing}),
            &[],
        ),
        (
            json!({"flag": false, "zero": 0}),
            json!({"plan": nothing}),
            &["/flag", "/zero"],
        ),
        (
            json!({"deep": {"er": 1, "est": 2}}),
            json!({"plan": nothing}),
            &["/deep"],
        ),
    ] {
        let state = imported(&members);
        let mut expected = json!({"done": 0, "name": "nobody", "kept": "default"});
        for (key, value) in data.as_object().expect("an object") {
            expected[key] = value.clone();
        }
        assert_eq!(Value::Object(state.extra.clone()), expected, "{members}");
        assert_eq!(
            state.phase.as_deref(),
            Some("open"),
            "an alias names the phase"
        );
        let known = state.original.clone().expect("the file is kept");
        let mut all = vec!["/old_id"];
        all.extend(left);
        assert_eq!(known.left_out, all, "{members}");
        assert!(known.is_mapped && state.foreign);
        assert_eq!(
            known.digest,
            Digest::of_blob(original(&members).to_string().as_bytes())
        );
    }
    let titled = imported(&json!({"title": "T", "errors": [{"message": "no"}]}));
    assert_eq!(
        (titled.title.as_deref(), titled.errors),
        (Some("T"), vec![json!({"message": "no"})])
    );
}

#[test]
fn the_first_step_of_an_imported_task_rests_on_the_file() {
    let (mut world, reading) = read(&original(&json!({"steps": {"done": 3}})));
    let RecordReading::Foreign(state) = reading else {
        panic!("{reading:?}")
    };
    let decision = evaluate(
        &world.workflow,
        &Recorded::Known(state.clone()),
        &world.facts(),
    );
    assert!(
        matches!(decision.verdict, Verdict::Wait { .. }),
        "{decision:?}"
    );
    let transition = adopt(&world.workflow, &state, "imported");
    let evidence: Vec<&str> = transition
        .evidence
        .iter()
        .flat_map(|one| &one.files)
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(evidence, ["state.json"]);
    assert!(evidence.iter().all(|path| is_original(path)) && !is_original("plan.json"));
    assert_eq!(transition.to.as_str(), "open");
    world.apply(&transition);
    let after = world.known();
    assert_eq!(
        (&after.extra["done"], after.foreign, after.original),
        (&json!(3), false, None)
    );
}

#[test]
fn a_state_that_the_map_cannot_read_is_refused_at_its_place() {
    for (members, faults) in [
        (
            json!({"stage": "gone"}),
            &[("unknown-phase", "/stage", "\"gone\" is not a phase")][..],
        ),
        (
            json!({"stage": 7}),
            &[("unknown-phase", "/stage", "7 is not a phase")],
        ),
        (
            json!({"kind": 7}),
            &[("import-invalid", "/kind", "cannot compute /plan/is_old")],
        ),
        (
            json!({"kind": {}}),
            &[("import-invalid", "/kind", "cannot compute /plan/is_old")],
        ),
        // The missing member is null, and has no members itself.
        (
            json!({"box": 7}),
            &[("import-invalid", "/box", "cannot compute /plan/first")],
        ),
        // A faulty definition is a fault of whoever reads it.
        (
            json!({"work": 7}),
            &[("import-invalid", "/work", "cannot compute /plan/tasks")],
        ),
        (
            json!({"stage": "gone", "kind": 7}),
            &[
                ("unknown-phase", "/stage", "not a phase"),
                ("import-invalid", "/kind", "compute"),
            ],
        ),
    ] {
        let (_, reading) = read(&original(&members));
        let RecordReading::ImportFaults(found) = reading else {
            panic!("{members}: {reading:?}")
        };
        let told: Vec<(&str, &str)> = found
            .iter()
            .map(|fault| (fault.code.as_str(), fault.pointer.as_str()))
            .collect();
        let expected: Vec<(&str, &str)> = faults
            .iter()
            .map(|(code, pointer, _)| (*code, *pointer))
            .collect();
        assert_eq!(told, expected, "{members}: {found:?}");
        for (fault, (_, _, says)) in found.iter().zip(faults) {
            assert!(
                fault.message.contains(says) && !fault.hint.is_empty(),
                "{members}: {fault:?}"
            );
        }
    }
    // How far the original has what an expression reads.
    for (value, deep, says) in [
        ("original.deep.box.it == null", json!({"box": {}}), None),
        (
            "original.deep.box.it == null",
            json!({"box": {"it": null}}),
            None,
        ),
        (
            "original.deep.box.it == null",
            json!({}),
            Some("cannot compute /plan/is_marked"),
        ),
        (
            "original.deep.box.it == null",
            json!(null),
            Some("cannot compute /plan/is_marked"),
        ),
        (
            "original.lost.box.it == null",
            json!({}),
            Some("cannot compute /plan/is_marked"),
        ),
    ] {
        let text = MACHINE.replace("original.mark != null", value);
        let mut world = World::new(Arc::new(compiled("machine", &text)));
        world.state = Some(original(&json!({ "deep": deep })).to_string());
        match (world.reading(), says) {
            (RecordReading::Foreign(state), None) => {
                assert_eq!(state.extra["plan"]["is_marked"], true, "{deep}")
            }
            (RecordReading::ImportFaults(found), Some(says)) => {
                assert!(found[0].message.contains(says), "{value} {deep}: {found:?}");
            }
            (other, says) => panic!("{value} {deep} {says:?}: {other:?}"),
        }
    }
    // Without one of the members by which the older tool is known, it is a state like any other.
    let (_, reading) = read(&json!({"stage": "started"}));
    let RecordReading::Foreign(state) = reading else {
        panic!("{reading:?}")
    };
    assert!(state.original.is_none_or(|original| !original.is_mapped));
}

#[test]
fn what_the_schema_refuses_is_told_of_the_original() {
    let original = original(&json!({
        "steps": {"done": "3"}, "name": 7, "work": {"tasks": ["x"]}, "box": {"first": 1}, "other": 1,
        "nick": {"short": 1},
    }));
    let nick = "\"/kept\" = \"/nowhere\"\n\"/nick\" = \"original.nick.short.startsWith('x')\"";
    let workflow = compiled(
        "machine",
        &MACHINE.replace("\"/kept\" = \"/nowhere\"", nick),
    );
    let map = import_of(&workflow, &original).expect("its map");
    // The place in the new state, that in the original, and whether the original has the very value there.
    for (place, pointer, is_exact) in [
        ("/done", "/steps/done", true),
        // A place below a copy, as far as the original has it.
        ("/done/more", "/steps/done", true),
        // Most values keep their place.
        ("/name", "/name", true),
        ("/name/first", "/name", true),
        // So does a value of which the expression reads only a part.
        ("/nick", "/nick", false),
        // Else it is what the expression reads first.
        ("/plan/tasks", "/work", false),
        ("/plan/tasks/0", "/work", false),
        ("/plan/first", "/box", false),
        ("/plan", "", false),
        // A place of no entry is looked for as it is.
        ("/other", "/other", true),
        ("/kept", "", false),
        ("/missing", "", false),
    ] {
        let problems = [(place.to_owned(), "it is wrong".to_owned())].into_iter();
        let faults = refused_import(map, &original, problems);
        let told: Vec<(&str, &str)> = faults
            .iter()
            .map(|fault| (fault.pointer.as_str(), fault.message.as_str()))
            .collect();
        let message = match is_exact {
            true => "it is wrong".to_owned(),
            false => format!("it is wrong (as {place} of the new state)"),
        };
        assert_eq!(told, [(pointer, message.as_str())], "{place}");
    }
    // Exact places come first.
    let problems = ["/plan", "/done"].map(|place| (place.to_owned(), "wrong".to_owned()));
    let faults = refused_import(map, &original, problems.into_iter());
    assert_eq!(
        faults
            .iter()
            .map(|fault| fault.pointer.as_str())
            .collect::<Vec<_>>(),
        ["/steps/done", ""]
    );
}

#[test]
fn what_an_import_leaves_out_is_told_in_a_line() {
    let told = |many: usize| {
        let left_out = (0..many).map(|n| format!("/{n}")).collect();
        Original {
            digest: Digest::of_blob(b""),
            left_out,
            is_mapped: true,
        }
        .left_out()
    };
    assert_eq!(told(0), "nothing");
    assert_eq!(told(1), "/0");
    assert_eq!(told(3), "/0, /1, /2");
    assert!(told(24).ends_with("/22, /23"), "{}", told(24));
    assert!(told(27).ends_with("/22, /23 and 3 more"), "{}", told(27));
}

/// A definition that is one of two parts of the original stands for both of them, with all that is in them.
#[test]
fn what_a_computed_definition_reads_has_a_place() {
    let first = "begun = \"work != null && work.tasks != null\"";
    let both = "either = \"original.job == null ? original.work : original.job\"";
    for (value, left_out) in [
        ("either.tasks", &["/old_id"][..]),
        ("original.work.tasks", &["/old_id", "/work/other", "/job"]),
    ] {
        let text = MACHINE
            .replace(first, &format!("{first}\n{both}"))
            .replace("begun ? work.tasks : null", value);
        let mut world = World::new(Arc::new(compiled("machine", &text)));
        world.state = Some(
            original(&json!({"work": {"tasks": [1], "other": 1}, "job": {"tasks": [2]}}))
                .to_string(),
        );
        let RecordReading::Foreign(state) = world.reading() else {
            panic!("{:?}", world.reading())
        };
        assert_eq!(
            state.original.expect("an original").left_out,
            left_out,
            "{value}"
        );
    }
}
