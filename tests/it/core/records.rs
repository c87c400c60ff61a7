//! `state.json` as text: names that two members claim, what is believed of a log, and faults of foreign files.

use super::world::{LIFECYCLE, World};
use orch_base::{ArtifactName, Digest, ObjectFormat};
use orch_core::decide::{Actor, FilesByPath, RunRecord, State, WorkflowRef, document};
use orch_core::record::{
    LogExtent, LogPeek, RecordReading, StateText, believed_state, is_own_file, phase_key_in,
    read_state, write_state,
};
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use std::fmt;

/// The state of a task that has every member, with its own phase, title and counters.
fn full() -> State {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let run = RunRecord {
        errors: 1,
        ..RunRecord::default()
    };
    let waived = [(ArtifactName::new("plan").expect("valid"), 3)].into();
    State {
        title: Some("A title".to_owned()),
        run,
        waived,
        ..world.known()
    }
}

/// How often an object has a member of this name.
fn times_in(text: &str, name: &str) -> usize {
    struct Names(Vec<String>);

    impl<'de> Visitor<'de> for Names {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Vec<String>, A::Error> {
            while let Some((name, _)) = members.next_entry::<String, IgnoredAny>()? {
                self.0.push(name);
            }
            Ok(self.0)
        }
    }

    let names = serde_json::Deserializer::from_str(text)
        .deserialize_map(Names(Vec::new()))
        .expect("an object");
    names.iter().filter(|one| *one == name).count()
}

#[test]
fn no_data_takes_the_name_of_a_member_that_the_state_has() {
    let state = full();
    let own = document(&state, "phase");
    let names: Vec<&String> = own.as_object().expect("an object").keys().collect();
    for name in [
        "version", "task", "title", "rev", "workflow", "phase", "actors", "waived", "run",
        "history",
    ] {
        assert!(
            names.iter().any(|known| *known == name),
            "{name} of {names:?}"
        );
        let extra = Map::from_iter([(name.to_owned(), json!("data"))]);
        let claimed = State {
            extra: extra.clone(),
            ..state.clone()
        };
        let told = document(&claimed, "phase");
        assert_eq!(told[name], own[name], "{name}");
        // As text, each name stands once, so that every reader reads the same.
        let text = write_state(&claimed, "phase", "the schema", LogExtent::default());
        assert_eq!(times_in(&text, name), 1, "{name}: {text}");
        assert!(
            text.starts_with("{\n  \"$schema\": \"the schema\",\n"),
            "{text}"
        );
    }
    // A member that the state lacks leaves its name to the data.
    let empty = State {
        task: None,
        title: None,
        workflow: None,
        phase: None,
        run: RunRecord::default(),
        foreign: true,
        ..state
    };
    for name in [
        "version", "task", "title", "workflow", "phase", "run", "other",
    ] {
        let extra = Map::from_iter([(name.to_owned(), json!("data"))]);
        let told = document(
            &State {
                extra,
                ..empty.clone()
            },
            "phase",
        );
        assert_eq!(told[name], "data", "{name}");
    }
    // If the phase has another key, `phase` is data like any other.
    let extra = Map::from_iter([("phase".to_owned(), json!("data"))]);
    let told = document(&State { extra, ..full() }, "status");
    assert_eq!(
        (&told["phase"], &told["status"]),
        (&json!("data"), &json!("codegen"))
    );
}

#[test]
fn a_phase_key_that_is_a_name_of_the_state_is_written_once() {
    for key in ["title", "rev", "$schema", "status"] {
        let text = write_state(&full(), key, "the schema", LogExtent::default());
        assert_eq!(times_in(&text, key), 1, "{key}: {text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["$schema"], "the schema");
    }
    let schema = Map::from_iter([("$schema".to_owned(), json!("data"))]);
    let text = write_state(
        &State {
            extra: schema,
            ..full()
        },
        "phase",
        "the schema",
        LogExtent::default(),
    );
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["$schema"], "the schema", "{text}");
}

#[test]
fn no_data_of_an_actor_takes_the_name_of_a_member_that_it_has() {
    let digest = Digest::of_blob(b"plan");
    let plan = ArtifactName::new("plan").expect("valid");
    let full = Actor {
        attempt: 2,
        substate: Some(json!("sub")),
        left_with: [(plan.clone(), None)].into(),
        entered_with: [(plan.clone(), Some(digest))].into(),
        spent: [(plan, vec![digest])].into(),
        ..Actor::default()
    };
    let told = |actor: &Actor, name: &str| {
        let extra = Map::from_iter([(name.to_owned(), json!("data"))]);
        serde_json::to_string(&Actor {
            extra,
            ..actor.clone()
        })
        .expect("JSON")
    };
    for (name, is_always) in [
        ("status", true),
        ("attempt", true),
        ("substate", false),
        ("left_with", false),
        ("entered_with", false),
        ("spent", false),
    ] {
        let text = told(&full, name);
        assert_eq!(text.matches(&format!("\"{name}\":")).count(), 1, "{text}");
        assert!(!text.contains("data"), "{text}");
        // What is empty leaves its name to the data.
        assert_eq!(
            told(&Actor::default(), name).contains("data"),
            !is_always,
            "{name}"
        );
    }
    assert!(told(&full, "note").contains("\"note\":\"data\""));
}

#[test]
fn the_key_of_the_phase_is_the_one_after_the_workflow() {
    for (value, key) in [
        (
            json!({"rev": 1, "workflow": {}, "status": "a", "actors": {}}),
            Some("status"),
        ),
        (json!({"workflow": {}, "phase": "a"}), Some("phase")),
        (json!({"phase": "a", "workflow": {}}), None),
        (json!({"workflow": {}, "actors": {}}), None),
        (json!({"phase": "a"}), None),
        (json!([]), None),
    ] {
        assert_eq!(phase_key_in(&value), key, "{value}");
    }
    let text = write_state(&full(), "status", "schema", LogExtent::default());
    assert_eq!(
        phase_key_in(&serde_json::from_str(&text).expect("JSON")),
        Some("status")
    );
}

#[test]
fn another_tool_may_write_what_is_a_fault_in_a_state_of_orch() {
    let own = |members: Value| {
        let mut value = json!({
            "heads": [], "rev": 1, "phase": "a", "actors": {}, "history": [],
            "workflow": {"name": "w", "digest": Digest::of_blob(b"w").to_string()},
        });
        let all = value.as_object_mut().expect("an object");
        members
            .as_object()
            .expect("an object")
            .iter()
            .for_each(|(key, one)| drop(all.insert(key.clone(), one.clone())));
        value
    };
    // The members, the place of the fault in a state that orch wrote, and whether it is one in any other.
    for (members, pointer, is_always) in [
        (json!({"workflow": "w"}), "/workflow", false),
        (json!({"workflow": {"name": "w"}}), "/workflow", false),
        (
            json!({"workflow": {"name": "W W", "digest": Digest::of_blob(b"w").to_string()}}),
            "/workflow",
            false,
        ),
        (json!({"actors": []}), "/actors", false),
        (json!({"actors": {"a": "x"}}), "/actors/a", false),
        (json!({"actors": {"a": {}}}), "/actors/a/attempt", false),
        (
            json!({"actors": {"a": {"attempt": 1, "left_with": {"plan": "x"}}}}),
            "/actors/a/left_with/plan",
            true,
        ),
        (
            json!({"actors": {"a": {"attempt": 1, "left_with": {"P P": null}}}}),
            "/actors/a/left_with/P P",
            true,
        ),
        (
            json!({"actors": {"a": {"attempt": 1, "spent": {"plan": ["x"]}}}}),
            "/actors/a/spent/plan",
            true,
        ),
        (json!({"phase": ""}), "", false),
        (json!({"phase": 7}), "/phase", true),
        (json!({"run": 7}), "/run", false),
        (json!({"history": [7]}), "/history/0", false),
    ] {
        let faults = |value: &Value| {
            let found = read_state(value, "", "phase").err().unwrap_or_default();
            found
                .into_iter()
                .map(|fault| fault.pointer)
                .collect::<Vec<_>>()
        };
        let found = faults(&own(members.clone()));
        assert_eq!(
            found.first().map(String::as_str),
            Some(pointer),
            "{members}"
        );
        let is_told = !faults(&members).is_empty();
        assert_eq!(is_told, is_always, "{members}");
    }
    // Null is how an absent output is recorded.
    let absent = json!({"actors": {"a": {"left_with": {"plan": null}}}});
    let state = read_state(&absent, "", "phase").expect("readable");
    assert_eq!(
        state.actors["a"].left_with.values().collect::<Vec<_>>(),
        [&None]
    );
}

#[test]
fn a_state_is_believed_by_the_end_of_its_log() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    let older = world.state.clone().expect("a state");
    world.reach("codegen");
    let newer = world.state.clone().expect("a state");
    let peek = |log: &str| {
        believed_state(
            &world.workflow,
            StateText {
                text: &newer,
                value: serde_json::from_str(&newer).ok().as_ref(),
            },
            LogPeek::new(log.len() as u64, log.as_bytes()),
        )
    };
    assert_eq!(peek(&world.transcript), Some(world.known()));
    let cut = world
        .transcript
        .trim_end()
        .rsplit_once('\n')
        .expect("lines")
        .0;
    assert_eq!(peek(&format!("{cut}\n")), None);
    assert_eq!(peek(""), None);
    for text in [
        older,
        newer.replacen("\"attempt\": 1", "\"attempt\": 7", 1),
        "{}".to_owned(),
        "{".to_owned(),
    ] {
        let value = serde_json::from_str(&text).ok();
        let log = LogPeek::new(world.transcript.len() as u64, world.transcript.as_bytes());
        let told = believed_state(
            &world.workflow,
            StateText {
                text: &text,
                value: value.as_ref(),
            },
            log,
        );
        assert_eq!(told, None, "{text}");
    }
}

#[test]
fn a_short_log_has_a_digest_whatever_its_line_endings_are() {
    const SHORT: usize = 32 << 10;
    let of = |log: &str| LogExtent::of(log.as_bytes(), ObjectFormat::Sha1);
    for line in ["", "0123456"] {
        let most = SHORT / (line.len() + 1);
        let (short, long) = (
            format!("{line}\n").repeat(most),
            format!("{line}\n").repeat(most + 1),
        );
        assert_eq!((short.len(), of(&short).lines), (SHORT, most as u64));
        let digest = of(&short).digest;
        assert!(digest.is_some() && of(&long).digest.is_none());
        assert_eq!(of(&short.replace('\n', "\r\n")).digest, digest);
        assert_eq!(of(&long.replace('\n', "\r\n")).digest, None);
    }
    assert_eq!(
        of(&"x".repeat(SHORT - 1)).digest.is_some(),
        of(&"x".repeat(SHORT)).digest.is_none()
    );
}

#[test]
fn what_a_state_of_another_tool_says_beyond_a_record_is_listed_with_the_file() {
    let mut world = World::new(LIFECYCLE.clone());
    for (members, left) in [
        (json!({"phase": "review", "ticket": 1}), None),
        (
            json!({"phase": "review", "history": [{"at": 1}], "rev": 3}),
            Some(vec!["/history", "/rev"]),
        ),
    ] {
        let text = members.to_string();
        world.state = Some(text.clone());
        let RecordReading::Foreign(state) = world.reading() else {
            panic!("{:?}", world.reading())
        };
        let told = state
            .original
            .as_ref()
            .map(|known| (known.digest, known.left_out.clone(), known.is_mapped));
        let left = left.map(|left| left.into_iter().map(str::to_owned).collect());
        assert_eq!(
            told,
            left.map(|left| (Digest::of_blob(text.as_bytes()), left, false)),
            "{text}"
        );
    }
}

#[test]
fn a_state_is_sealed_in_the_format_of_the_digest_of_its_workflow() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let workflow = full().workflow.map(|named| WorkflowRef {
            digest: format.blob(b"workflow"),
            ..named
        });
        let state = State { workflow, ..full() };
        assert_eq!(state.format(), format);
        let text = write_state(&state, "phase", "schema", LogExtent::default());
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let seal = value["seal"]
            .as_str()
            .and_then(Digest::parse)
            .expect("a seal");
        assert_eq!(
            (seal.format(), read_state(&value, &text, "phase").is_ok()),
            (format, true)
        );
    }
    assert_eq!(State::default().format(), ObjectFormat::Sha1);
}

#[test]
fn orch_writes_three_files_of_a_task() {
    for (path, is_own) in [
        ("state.json", true),
        ("transcript.jsonl", true),
        ("suggestion.json", true),
        ("plan.json", false),
        ("sub/state.json", false),
        ("", false),
    ] {
        assert_eq!(is_own_file(path), is_own, "{path}");
    }
}

#[test]
fn a_path_has_one_place_in_an_object_of_digests() {
    let of = |files: &[(&str, &str)]| {
        let files: Vec<(String, String)> = files
            .iter()
            .map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned()))
            .collect();
        serde_json::to_string(&FilesByPath(&files)).expect("JSON")
    };
    assert_eq!(of(&[("b", "1"), ("a", "2")]), r#"{"b":"1","a":"2"}"#);
    assert_eq!(
        of(&[("b", "1"), ("a", "2"), ("b", "3")]),
        r#"{"b":"3","a":"2"}"#
    );
    assert_eq!(of(&[]), "{}");
}
