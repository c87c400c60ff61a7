//! Steps within a phase: each is replayed from its record alone, and no other record of it is.

use super::world::{World, compiled};
use orch_base::{ActionName, RuleId, Timestamp};
use orch_core::decide::{
    ActionResult, ActorKind, By, ExecutorTrace, HistoryEntry, Kind, Mode, PatchOp, Performance,
    Recorded, Stamp, Standing, State, Transition, Verdict, accept, answer, apply, end, evaluate,
    give_up, permits_activity, pick, refute, replay, signalled, start,
};
use orch_core::workflow::Signal;
use serde_json::{Value, json};
use std::sync::Arc;

const MACHINE: &str = r#"
```toml orch
[workflow]
attempts = 100
[state.defaults]
found = 0
turns = 0
asked = ""
tags = []
answered = false
[limits]
errors = 3
[artifact.report]
path = "report.json"
[artifact.other]
path = "other.json"
[action.find]
writes = ["/found"]
ensures = "state.found > 0"
[action.check]
ensures = "report.ready && report.data.ok"
[action.never]
[ask.which]
title = "Which?"
writes = ["/asked", "/tags"]
options = { "/asked" = "['a', 'b']", "/tags" = "['x', 'y']" }
set = { "/answered" = "true" }
[ask.again]
title = "Again?"
writes = ["/asked"]
[phase.running]
may_produce = ["report", "other"]
[phase.paused]
[phase.done]
terminal = true
[phase.failed]
terminal = true
success = false
[[rule]]
id = "paused"
on = "pause"
from = "running"
to = "paused"
because = "a person paused it"
[[rule]]
id = "stopped-late"
on = "stop"
from = "running"
when = "state.turns > 50"
to = "done"
because = "a person stopped it late"
[[rule]]
id = "stopped"
on = "stop"
from = ["running", "paused"]
to = "failed"
because = "a person stopped it"
[[rule]]
id = "resumed"
on = "resume"
from = "paused"
to = "running"
because = "a person resumed it"
[[rule]]
id = "rest"
from = "paused"
wait = "orch resume"
ask = "again"
because = "it is paused"
[[rule]]
id = "given-up"
from = "running"
when = "run.errors >= run.max_errors"
to = "failed"
because = "too much failed"
[[rule]]
id = "question"
from = "running"
when = "!state.answered"
wait = "an answer"
ask = "which"
because = "nobody said which"
[[rule]]
id = "find"
from = "running"
when = "state.found == 0"
run = "find"
set = { "/turns" = "state.turns + state.found" }
because = "nothing is found"
[[rule]]
id = "menu"
from = "running"
choose = ["check", "find"]
because = "a person picks"
[[rule]]
id = "over"
from = "running"
to = "done"
because = "nothing is left"
```
"#;

fn action(name: &str) -> ActionName {
    ActionName::new(name).expect("valid")
}

fn rule(name: &str) -> RuleId {
    RuleId::new(name).expect("valid")
}

fn patch(updates: &Value) -> Vec<PatchOp> {
    ActionResult::read(&json!({ "stateUpdates": updates }))
        .expect("a result")
        .patch
}

/// A task of the machine, and the states before and after each of its steps.
struct Told {
    world: World,
    steps: Vec<(State, State)>,
}

impl Told {
    fn new() -> Self {
        let mut world = World::new(Arc::new(compiled("machine", MACHINE)));
        world.write("report.json", r#"{"ok": true}"#);
        world.settle();
        Self {
            world,
            steps: Vec::new(),
        }
    }

    /// Records a transition by who may take it.
    fn takes(&mut self, transition: &Transition) {
        let by = match (transition.kind, &transition.action) {
            (Kind::Run, Some(action)) => By {
                kind: ActorKind::Agent,
                name: action.to_string(),
            },
            (Kind::Skip | Kind::End, _) => By {
                kind: ActorKind::Orch,
                name: "orch".to_owned(),
            },
            _ => By {
                kind: ActorKind::Human,
                name: "Ann".to_owned(),
            },
        };
        let at =
            Timestamp::from_seconds(1_700_000_000 + i64::try_from(self.steps.len()).expect("few"));
        let (before, facts) = (self.world.known(), self.world.facts());
        // What is known of an executor is recorded with its work, and with nothing else.
        let executor = Performance {
            executor: Some("make".to_owned()),
            ..Performance::default()
        };
        let is_work = matches!(transition.kind, Kind::Run | Kind::Skip);
        let stamp = Stamp {
            performance: is_work.then(|| executor.into()),
            ..Stamp::new(at, by)
        };
        let after = apply(&self.world.workflow, &before, &facts, transition, &stamp);
        self.world.record(std::slice::from_ref(&after));
        self.steps.push((before, self.world.known()));
    }

    /// Everything that can happen within a phase, once.
    fn all() -> Self {
        let mut told = Self::new();
        let steps: [&dyn Fn(&World) -> Transition; 9] = [
            &|world| {
                start(&world.workflow, &world.known(), &world.facts(), Mode::Auto).expect("a start")
            },
            &|world| {
                let given = patch(&json!({"asked": "b", "tags": ["y", "x"]}));
                answer(&world.workflow, &world.known(), &world.facts(), &given, "b")
                    .expect("an answer")
            },
            &|world| {
                let found = patch(&json!({"found": 2}));
                accept(
                    &world.workflow,
                    &world.known(),
                    &world.facts(),
                    &rule("find"),
                    &action("find"),
                    &found,
                    "two",
                )
                .expect("a result")
            },
            &|world| {
                let (workflow, state, facts) = (&world.workflow, world.known(), world.facts());
                pick(workflow, &state, &facts, &action("check"), "that one").expect("a choice")
            },
            &|world| {
                accept(
                    &world.workflow,
                    &world.known(),
                    &world.facts(),
                    &rule("menu"),
                    &action("check"),
                    &[],
                    "fine",
                )
                .expect("a result")
            },
            &|world| {
                let (workflow, state, facts) = (&world.workflow, world.known(), world.facts());
                pick(workflow, &state, &facts, &action("find"), "the other").expect("a choice")
            },
            &|world| {
                let trace = ExecutorTrace {
                    exit: Some(3),
                    ..ExecutorTrace::default()
                };
                give_up(
                    &world.workflow,
                    &world.known(),
                    &world.facts(),
                    &rule("menu"),
                    &action("find"),
                    "no luck",
                    trace,
                )
                .expect("it is given up")
            },
            &|world| {
                let told = "the run ended as paused: for now";
                end(&world.workflow, &world.known(), &world.facts(), told).expect("an end")
            },
            &|world| {
                signalled(
                    &world.workflow,
                    &world.known(),
                    &world.facts(),
                    Signal::Pause,
                )
                .expect("a rule answers")
                .expect("a move")
            },
        ];
        for step in steps {
            let transition = step(&told.world);
            told.takes(&transition);
        }
        told
    }
}

/// A changed copy of what a step recorded: its entry and the state after it.
type Forge = dyn Fn(&mut HistoryEntry, &mut State);

#[test]
fn what_happens_within_a_phase_is_replayed_and_nothing_else_is() {
    let told = Told::all();
    let (workflow, facts) = (&told.world.workflow, told.world.facts());
    let kinds: Vec<Kind> = told
        .steps
        .iter()
        .map(|(_, after)| after.history.last().expect("an entry").kind)
        .collect();
    assert_eq!(
        kinds,
        [
            Kind::Start,
            Kind::Answer,
            Kind::Run,
            Kind::Answer,
            Kind::Run,
            Kind::Answer,
            Kind::Skip,
            Kind::End,
            Kind::Signal
        ]
    );
    // Bookkeeping sees what the result has changed.
    let (before, after) = &told.steps[2];
    assert_eq!(
        (&before.extra["turns"], &after.extra["turns"]),
        (&json!(0), &json!(2))
    );
    for (before, after) in &told.steps {
        let entry = HistoryEntry::clone(after.history.last().expect("an entry"));
        let recorded = Recorded::Known(Box::new(before.clone()));
        let replayed = replay(workflow, &recorded, &facts, &entry, Some(after));
        let standing = replayed.map(|replayed| (replayed.standing, replayed.state == *after));
        assert_eq!(standing, Ok((Standing::Claimed, true)), "{entry:?}");
        assert_eq!(
            refute(workflow, &recorded, &facts, &entry, after),
            None,
            "{entry:?}"
        );
        assert!(
            permits_activity(workflow, before, &facts, &entry, after),
            "{entry:?}"
        );
        // A step of another kind, or the answer to another signal, is not.
        let other = HistoryEntry {
            kind: Kind::Advance,
            ..entry.clone()
        };
        assert!(
            !permits_activity(workflow, before, &facts, &other, after),
            "{other:?}"
        );
        if entry.kind == Kind::Signal {
            let to = orch_base::PhaseId::new("failed").expect("valid");
            let by_other = HistoryEntry {
                rule: Some("stopped".to_owned()),
                ..entry.clone()
            };
            for other in [
                by_other,
                HistoryEntry {
                    to,
                    ..entry.clone()
                },
            ] {
                assert!(
                    !permits_activity(workflow, before, &facts, &other, after),
                    "{other:?}"
                );
            }
        }
        assert!(
            replay(workflow, &recorded, &facts, &entry, None).is_err(),
            "the state after it says what it did"
        );
    }
    let by = |kind: ActorKind, name: &str| By {
        kind,
        name: name.to_owned(),
    };
    let set = |state: &mut State, key: &str, value: Value| {
        drop(state.extra.insert(key.to_owned(), value))
    };
    // The step, what is another in its record, and whether that is impossible whatever the files were.
    let forgeries: Vec<(usize, &str, Box<Forge>, bool)> = vec![
        (
            0,
            "no mode",
            Box::new(|_, after| after.run.mode = None),
            false,
        ),
        (
            0,
            "a mode that is not asked for",
            Box::new(|_, after| after.run.errors = 1),
            false,
        ),
        (
            0,
            "a rule",
            Box::new(|entry, _| entry.rule = Some("find".to_owned())),
            false,
        ),
        (
            1,
            "no option",
            Box::new(move |_, after| set(after, "asked", json!("c"))),
            false,
        ),
        (
            1,
            "no option in a list",
            Box::new(move |_, after| set(after, "tags", json!(["x", "z"]))),
            false,
        ),
        (
            1,
            "what is not asked",
            Box::new(move |_, after| set(after, "found", json!(1))),
            true,
        ),
        (
            1,
            "the bookkeeping",
            Box::new(move |_, after| set(after, "answered", json!(false))),
            false,
        ),
        (
            1,
            "a rule without a question",
            Box::new(|entry, _| entry.rule = Some("find".to_owned())),
            true,
        ),
        (
            1,
            "another question",
            Box::new(|entry, _| entry.rule = Some("rest".to_owned())),
            true,
        ),
        (1, "no rule", Box::new(|entry, _| entry.rule = None), false),
        (
            2,
            "another executor",
            Box::new(move |entry, _| entry.actor = by(ActorKind::Agent, "check")),
            true,
        ),
        (
            2,
            "a person",
            Box::new(move |entry, _| entry.actor = by(ActorKind::Human, "find")),
            true,
        ),
        (
            2,
            "another action",
            Box::new(|entry, _| entry.action = Some(action("never"))),
            true,
        ),
        (
            2,
            "an action of another rule",
            Box::new(|entry, _| entry.rule = Some("menu".to_owned())),
            true,
        ),
        (
            2,
            "a rule of another phase",
            Box::new(|entry, _| entry.rule = Some("rest".to_owned())),
            true,
        ),
        (
            2,
            "no rule",
            Box::new(|entry, _| entry.rule = Some("nobody".to_owned())),
            false,
        ),
        (
            2,
            "what it may not write",
            Box::new(move |_, after| set(after, "asked", json!("a"))),
            true,
        ),
        (
            2,
            "a success that is none",
            Box::new(move |_, after| set(after, "found", json!(0))),
            false,
        ),
        (
            2,
            "the bookkeeping",
            Box::new(move |_, after| set(after, "turns", json!(9))),
            false,
        ),
        (
            3,
            "what is not offered",
            Box::new(|entry, _| entry.action = Some(action("never"))),
            false,
        ),
        (
            3,
            "another choice",
            Box::new(|entry, _| entry.action = Some(action("find"))),
            false,
        ),
        (
            4,
            "what was not picked",
            Box::new(move |entry, _| {
                entry.action = Some(action("find"));
                entry.actor = by(ActorKind::Agent, "find");
            }),
            true,
        ),
        (
            6,
            "an executor",
            Box::new(move |entry, _| entry.actor = by(ActorKind::Agent, "find")),
            true,
        ),
        (
            6,
            "what was not picked",
            Box::new(|entry, _| entry.action = Some(action("check"))),
            true,
        ),
        (
            6,
            "more errors",
            Box::new(|_, after| after.run.errors += 1),
            false,
        ),
        (
            7,
            "a person",
            Box::new(move |entry, _| entry.actor = by(ActorKind::Human, "Ann")),
            true,
        ),
        (
            7,
            "a success",
            Box::new(|entry, _| entry.reason = "the run ended as completed: x".to_owned()),
            true,
        ),
        (
            7,
            "a failure",
            Box::new(|entry, _| entry.reason = "the run ended as failed: x".to_owned()),
            true,
        ),
        (
            7,
            "no ending",
            Box::new(|entry, _| entry.reason = "it ended".to_owned()),
            true,
        ),
        (
            8,
            "another signal",
            Box::new(|entry, _| entry.rule = Some("stopped".to_owned())),
            false,
        ),
        (
            8,
            "a rule that answers to none",
            Box::new(|entry, _| entry.rule = Some("over".to_owned())),
            false,
        ),
        (
            8,
            "another phase",
            Box::new(|entry, after| {
                entry.to = orch_base::PhaseId::new("failed").expect("valid");
                after.phase = Some("failed".to_owned());
            }),
            false,
        ),
    ];
    for (at, what, forge, is_impossible) in forgeries {
        let (before, after) = &told.steps[at];
        let (mut entry, mut after) = (
            HistoryEntry::clone(after.history.last().expect("an entry")),
            after.clone(),
        );
        let (genuine, state) = (entry.clone(), after.clone());
        forge(&mut entry, &mut after);
        assert!(
            entry != genuine || after != state,
            "{at} {what} changes nothing"
        );
        *after.history.last_mut().expect("an entry") = entry.clone().into();
        let recorded = Recorded::Known(Box::new(before.clone()));
        let replayed = replay(workflow, &recorded, &facts, &entry, Some(&after));
        assert!(replayed.is_err(), "step {at} with {what}: {replayed:?}");
        let refuted = refute(workflow, &recorded, &facts, &entry, &after);
        assert_eq!(
            refuted.is_some(),
            is_impossible,
            "step {at} with {what}: {refuted:?}"
        );
    }
}

#[test]
fn a_signal_is_answered_by_the_first_rule_for_it_whose_guard_holds() {
    let mut told = Told::all();
    let told_of = |world: &World, signal: Signal| {
        let moved = signalled(&world.workflow, &world.known(), &world.facts(), signal)?;
        let moved = moved.expect("a move");
        Some((
            moved.rule.expect("a rule").to_string(),
            moved.to.to_string(),
            moved.kind,
        ))
    };
    let moved = |rule: &str, to: &str| Some((rule.to_owned(), to.to_owned(), Kind::Signal));
    assert_eq!(
        told_of(&told.world, Signal::Resume),
        moved("resumed", "running")
    );
    assert_eq!(
        told_of(&told.world, Signal::Stop),
        moved("stopped", "failed")
    );
    assert_eq!(told_of(&told.world, Signal::Pause), None, "it is paused");
    assert_eq!(told_of(&told.world, Signal::Start), None, "no rule answers");
    let back = signalled(
        &told.world.workflow,
        &told.world.known(),
        &told.world.facts(),
        Signal::Resume,
    );
    told.takes(&back.expect("a rule").expect("a move"));
    assert_eq!(
        told_of(&told.world, Signal::Stop),
        moved("stopped", "failed")
    );
    let mut state = told.world.known();
    state.extra.insert("turns".to_owned(), json!(51));
    let late = signalled(
        &told.world.workflow,
        &state,
        &told.world.facts(),
        Signal::Stop,
    );
    assert_eq!(late.expect("a rule").expect("a move").to.as_str(), "done");
}

#[test]
fn a_choice_offers_what_was_not_given_up_and_only_that_can_be_picked() {
    let told = Told::all();
    let (workflow, facts) = (&told.world.workflow, told.world.facts());
    let (before, _) = &told.steps[3];
    let offered =
        |state: &State| match evaluate(workflow, &Recorded::Known(Box::new(state.clone())), &facts)
            .verdict
        {
            Verdict::Choose(actions) => actions.iter().map(ToString::to_string).collect(),
            Verdict::Run(action) => vec![format!("run {action}")],
            other => panic!("{other:?}"),
        };
    assert_eq!(offered(before), ["check", "find"]);
    let refused = pick(workflow, before, &facts, &action("never"), "x").expect_err("not offered");
    assert!(
        refused
            .as_str()
            .ends_with("is not one of the offered actions: check, find"),
        "{refused:?}"
    );
    // Once it is picked, it runs, and no choice is open.
    let (_, picked) = &told.steps[3];
    assert_eq!(offered(picked), ["run check"]);
    assert!(pick(workflow, picked, &facts, &action("find"), "x").is_err());
    // Nor is a question, which is asked before.
    let (asked, _) = &told.steps[1];
    assert!(pick(workflow, asked, &facts, &action("find"), "x").is_err());
    let (_, given_up) = &told.steps[6];
    assert_eq!(offered(given_up), ["check"]);
}

#[test]
fn an_answer_keeps_to_the_options_of_what_it_changes() {
    let told = Told::all();
    let (before, _) = &told.steps[1];
    let (workflow, facts) = (&told.world.workflow, told.world.facts());
    for (given, refused) in [
        (json!({"asked": "a"}), None),
        (json!({"asked": "b", "tags": []}), None),
        (json!({"tags": ["x", "y", "x"]}), None),
        (json!({}), None),
        // What stands already may stay, although it is not an option.
        (json!({"asked": ""}), None),
        (
            json!({"asked": "c"}),
            Some("\"c\" is not an option for /asked: \"a\", \"b\""),
        ),
        (json!({"asked": ["a"]}), None),
        (
            json!({"tags": ["x", "z"]}),
            Some("\"z\" is not an option for /tags: \"x\", \"y\""),
        ),
        (
            json!({"found": 1}),
            Some("the question does not ask for /found, only for /asked, /tags"),
        ),
    ] {
        let told = answer(workflow, before, &facts, &patch(&given), "so").map(drop);
        assert_eq!(
            told.as_ref().err().map(|why| why.as_str()),
            refused,
            "{given}"
        );
    }
}

#[test]
fn a_success_that_the_files_contradict_is_refused_with_what_is_wrong_with_them() {
    let claim = "`check` reports success, but `report.ready && report.data.ok` does not hold";
    for (report, other, expected) in [
        (Some(r#"{"ok": true}"#), None, None),
        (Some(r#"{"ok": false}"#), None, Some(String::new())),
        // A file that the condition does not read is not named, whatever is wrong with it.
        (Some(r#"{"ok": false}"#), Some("{"), Some(String::new())),
        (None, None, Some(": there is no `report`".to_owned())),
        (
            Some(r#"{"ok": true, "of": {"gone": null}}"#),
            None,
            Some(": `report` is stale: `of` names `gone`, which is not in the workflow".to_owned()),
        ),
        (
            Some(""),
            None,
            Some(": report.json: the file is empty".to_owned()),
        ),
    ] {
        let mut told = Told::all();
        told.world.files.clear();
        for (path, text) in [("report.json", report), ("other.json", other)] {
            text.into_iter()
                .for_each(|text| told.world.write(path, text));
        }
        let (before, _) = &told.steps[4];
        let accepted = accept(
            &told.world.workflow,
            before,
            &told.world.facts(),
            &rule("menu"),
            &action("check"),
            &[],
            "fine",
        );
        let why = accepted.err().map(|why| why.as_str().to_owned());
        assert_eq!(
            why,
            expected.map(|more| format!("{claim}{more}")),
            "{report:?}"
        );
    }
}
