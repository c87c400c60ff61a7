//! Orders of people: what may be ordered, and what a recorded step was.

use super::world::{LIFECYCLE, World, compiled};
use orch::base::{ArtifactName, Code, PhaseId, TaskId};
use orch::decide::{HistoryEntry, Kind, Recorder, RunCommand, State, is_person_order, rename};
use orch::record::{RecordReading, StateDefect};
use std::sync::Arc;

#[test]
fn a_task_that_is_not_finished_is_archived_by_a_person_with_a_reason() {
    for (phase, to, why, expected) in [
        ("codegen", "other", None, Ok(false)),
        ("codegen", "other", Some("a better name"), Ok(false)),
        ("codegen", "archive/t-1", None, Err(Code::NotTerminal)),
        ("codegen", "archive/t-1", Some("given up"), Ok(true)),
        ("codegen", "t-1", None, Err(Code::TaskExists)),
        ("done", "archive/t-1", None, Ok(false)),
        ("done", "archive/t-1", Some("tidy"), Ok(false)),
    ] {
        let mut world = World::new(LIFECYCLE.clone());
        world.reach(phase);
        let state = State { task: Some("t-1".to_owned()), ..world.known() };
        let to = TaskId::new(to).expect("valid");
        let renamed = rename(&world.workflow, &state, &to, why);
        let told = renamed.as_ref().map(|renamed| renamed.by_human).map_err(|error| error.code());
        assert_eq!(told, expected, "{phase} {to} {why:?}");
        let named = renamed.map(|renamed| why.is_none_or(|why| renamed.reason.ends_with(why)));
        assert!(named.unwrap_or(true), "{phase} {to} {why:?}");
    }
}

#[test]
fn a_recorded_step_is_a_persons_order_by_its_kind_or_its_rule() {
    let text = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[phase.a]
produces = ["plan"]
[phase.b]
terminal = true
[[rule]]
id = "free"
from = "a"
when = "plan.ready && plan.data.ok"
to = "b"
because = "it is ok"
[[rule]]
id = "agreed"
from = "a"
when = "plan.ready"
by = "human"
to = "b"
because = "a person agrees"
```
"#;
    let workflow = Arc::new(compiled("orders", text));
    let mut world = World::new(workflow);
    world.write("plan.json", r#"{"ok": true}"#);
    world.settle();
    let entry = world.known().history.last().expect("a step").clone();
    for kind in Kind::ALL {
        for (rule, is_of_a_person) in [(Some("free"), false), (Some("agreed"), true), (None, false)] {
            let expected = match kind {
                Kind::Override | Kind::Rollback | Kind::Reopen | Kind::Confirm | Kind::Merge => true,
                Kind::Advance | Kind::Regress => is_of_a_person,
                _ => false,
            };
            let entry = HistoryEntry { kind, rule: rule.map(str::to_owned), ..HistoryEntry::clone(&entry) };
            assert_eq!(is_person_order(&world.workflow, &entry), expected, "{kind:?} {rule:?}");
        }
    }
}

#[test]
fn a_run_takes_no_move_that_needs_a_person() {
    let text = r#"
```toml orch
[artifact.verdict]
path = "verdict.json"
[phase.a]
owner = "human"
produces = ["verdict"]
[phase.b]
terminal = true
[[rule]]
id = "decided"
from = "a"
when = "verdict.ready"
BY
to = "b"
because = "it is decided"
```
"#;
    let verdict = || ArtifactName::new("verdict").expect("valid");
    for (by, proposed, moves) in [
        ("", vec![], 1),
        ("", vec![verdict()], 0),
        ("by = \"human\"", vec![], 0),
        ("by = \"human\"", vec![verdict()], 0),
    ] {
        let mut world = World::new(Arc::new(compiled("moves", &text.replace("BY", by))));
        world.settle();
        world.write("verdict.json", "{}");
        let recorder = Recorder {
            own: world.stamp(),
            caller: world.stamp(),
            refuses: &|_| None,
            is_there: &|_| true,
            started: None,
            digest: &|_| None,
        };
        let command = RunCommand::Moves { proposed: proposed.clone() };
        let steps = command.steps(&world.workflow, &world.known(), &world.facts(), &recorder);
        assert_eq!(steps.map(|steps| steps.len()), Ok(moves), "{by} {proposed:?}");
    }
}

#[test]
fn why_a_state_is_not_believed_is_named() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    let older = world.state.clone().expect("a state");
    world.reach("codegen");
    let newer = world.state.clone().expect("a state");
    let edited = |text: &str| text.replacen("\"attempt\": 1", "\"attempt\": 7", 1);
    assert!(edited(&older) != older && edited(&newer) != newer);
    for (state, expected) in [
        (None, "missing"),
        (Some("{".to_owned()), "unreadable"),
        (Some("[]".to_owned()), "unreadable"),
        (Some(older.clone()), "other heads"),
        // An edited fold of other heads is none of this log, whatever was edited.
        (Some(edited(&older)), "other heads"),
        (Some(edited(&newer)), "edited"),
        (Some(newer), "current"),
    ] {
        world.state.clone_from(&state);
        let told = match world.reading() {
            RecordReading::Current(_) => "current",
            RecordReading::Folded { because, state } => {
                assert_eq!(state.phase, Some(PhaseId::new("codegen").expect("valid").to_string()));
                match because {
                    StateDefect::Missing => "missing",
                    StateDefect::Unreadable => "unreadable",
                    StateDefect::OtherHeads => "other heads",
                    StateDefect::Edited { difference } => {
                        assert!(difference.is_some_and(|found| found.contains("attempt")));
                        "edited"
                    }
                }
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(told, expected, "{state:?}");
    }
}
