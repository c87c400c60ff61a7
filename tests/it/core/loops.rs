//! Action loops on the pure core: scripted executors, no process, every way to the end.

use super::play::{Play, facts, workflow};
use crate::setting::number;
use orch_base::{Digest, Period};
use orch_core::decide::{
    ActionResult, Budget, Ending, EvaluatedTask, ExecutorExit, Job, Mode, NextStep, Recorded,
    Returned, State, Usage, evaluate, initial_state, next,
};
use orch_core::workflow::Workflow;
use serde_json::{Value, json};

/// Two actions, an iteration, a question, and rules that let both of them be given up.
pub(super) const LOOP: &str = r#"# Loop

```toml orch
[workflow]
attempts = 1000
[state.defaults]
found = 0
mended = 0
rounds = 0
asked = false
[limits]
turns = 30
failures = 2
errors = 3
[action.find]
writes = ["/found", "/notes"]
[action.mend]
when = "state.found > 0"
writes = ["/mended"]
[ask.more]
title = "More?"
writes = ["/asked"]
default = { "/asked" = "true" }
[phase.running]
[phase.done]
terminal = true
[phase.failed]
terminal = true
success = false
[[rule]]
id = "given-up"
from = "running"
when = "run.errors >= run.max_errors"
to = "failed"
because = "too many failed"
[[rule]]
id = "enough"
from = "running"
when = "state.rounds >= 5"
to = "failed"
because = "that was often enough"
[[rule]]
id = "ask"
from = "running"
when = "!state.asked"
wait = "an answer"
ask = "more"
because = "nobody said"
[[rule]]
id = "find"
from = "running"
when = "state.found == 0"
run = "find"
because = "nothing is found"
[[rule]]
id = "mend"
from = "running"
when = "state.mended < state.found"
run = "mend"
because = "something is broken"
[[rule]]
id = "done"
from = "running"
when = "state.found > 0 && state.mended >= state.found"
to = "done"
because = "all is mended"
[[rule]]
id = "again"
from = "running"
to = "running"
set = { "/rounds" = "state.rounds + 1", "/found" = "0", "/mended" = "0" }
because = "what is left was given up; from the start"
```
"#;

/// The outcome of a run: how it ended, the state, what it used, and each thing that happened.
type Played = (Ending, State, Usage, Vec<String>);

/// Plays a run; `perform` is given the action and the number of the turn.
fn play(text: &str, mode: Mode, perform: &mut dyn FnMut(&str, u32) -> Option<Value>) -> Played {
    played(&workflow(text), mode, perform)
}

fn played(
    workflow: &Workflow,
    mode: Mode,
    perform: &mut dyn FnMut(&str, u32) -> Option<Value>,
) -> Played {
    let mut play = Play::new(workflow, mode);
    play.perform = Box::new(|work, turn| match perform(work, turn) {
        Some(value) => Returned {
            how: ExecutorExit::Well,
            result: Some(ActionResult::read(&value)),
            cost: 0.0,
            is_unpriced: false,
            trace: orch_core::decide::ExecutorTrace::default(),
            said: None,
        },
        None => Returned {
            how: ExecutorExit::Badly("it died".to_owned()),
            result: None,
            cost: 0.0,
            is_unpriced: false,
            trace: orch_core::decide::ExecutorTrace::default(),
            said: None,
        },
    });
    let (ending, _) = play.run();
    play.story.retain(|happened| !happened.starts_with("wait "));
    (ending, play.state, play.machine.usage, play.story)
}

#[test]
fn scripted_executors_end_as_they_should() {
    type Script = fn(&str, u32) -> Option<Value>;
    let good: Script = |action, turn| {
        Some(match action {
            "find" => json!({"stateUpdates": {"found": 2}}),
            _ => json!({"stateUpdates": {"mended": turn}}),
        })
    };
    let cases: [(&str, Script, Ending, &str); 6] = [
        (
            "does it",
            good,
            Ending::Completed,
            "answer more, find, mend, to done",
        ),
        (
            "always fails",
            |_, _| None,
            Ending::Failed,
            "answer more, give up find, to running, give up find, to running, give up find, to failed",
        ),
        (
            "says it is done",
            |_, _| Some(json!({"summary": "done"})),
            Ending::Stalled,
            "answer more, find",
        ),
        (
            "finds and never mends",
            |action, _| (action == "find").then(|| json!({"stateUpdates": {"found": 1}})),
            Ending::Failed,
            "answer more, find, give up mend, to running, find, give up mend, to running, find, give up mend, to failed",
        ),
        (
            "writes what it may not",
            |_, _| Some(json!({"stateUpdates": {"rounds": 5}})),
            Ending::Failed,
            "answer more, give up find, to running, give up find, to running, give up find, to failed",
        ),
        (
            "always finds something else",
            |_, turn| Some(json!({"stateUpdates": {"notes": [turn]}})),
            Ending::Exhausted,
            "",
        ),
    ];
    for (name, script, ending, expected) in cases {
        let (ended, state, usage, story) =
            play(LOOP, Mode::Auto, &mut |action, turn| script(action, turn));
        assert_eq!(ended, ending, "{name}: {story:?}");
        assert!(usage.turns <= 30, "{name}");
        if !expected.is_empty() {
            assert_eq!(story.join(", "), expected, "{name}");
        }
        assert!(state.run.errors <= 3, "{name}");
    }
}

#[test]
fn whatever_executors_do_a_run_ends_within_its_budget() {
    let answers = [
        None,
        Some(json!({})),
        Some(json!({"summary": "done"})),
        Some(json!({"stateUpdates": {"found": 0}})),
        Some(json!({"stateUpdates": {"found": 3}})),
        Some(json!({"stateUpdates": {"mended": 3}})),
        Some(json!({"stateUpdates": {"mended": null}})),
        Some(json!({"stateUpdates": {"found": null, "notes": []}})),
        Some(json!({"stateUpdates": {"phase": "done"}})),
        Some(json!({"status": "failed"})),
        Some(json!("garbage")),
    ];
    let mut endings: Vec<Ending> = Vec::new();
    let compiled = workflow(LOOP);
    for seed in 0..number("ORCH_LOOP_COMBINATIONS").unwrap_or(600) {
        let mut at = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mode = if seed % 5 == 0 {
            Mode::Interactive
        } else {
            Mode::Auto
        };
        let (ending, state, usage, story) = played(&compiled, mode, &mut |_, _| {
            at ^= at << 13;
            at ^= at >> 7;
            at ^= at << 17;
            answers[usize::try_from(at % answers.len() as u64).expect("small")].clone()
        });
        assert!(usage.turns <= 30, "{seed}: {story:?}");
        assert!(state.run.errors <= 3, "{seed}: {story:?}");
        assert_eq!(
            mode == Mode::Interactive,
            ending == Ending::Waiting,
            "{seed}: {story:?}"
        );
        if !endings.contains(&ending) {
            endings.push(ending);
        }
    }
    for expected in [
        Ending::Completed,
        Ending::Failed,
        Ending::Stalled,
        Ending::Waiting,
    ] {
        assert!(
            endings.contains(&expected),
            "{expected:?} was never reached, only {endings:?}"
        );
    }
}

#[test]
fn limits_end_a_run_whatever_is_due() {
    let (workflow, facts) = (workflow(LOOP), facts());
    let mut state = initial_state(&workflow);
    state.extra.insert("asked".to_owned(), json!(true));
    let decision = evaluate(&workflow, &Recorded::Known(Box::new(state.clone())), &facts);
    let at = Budget {
        turns: 3,
        time: Some(Period::from_seconds(9)),
        cost: Some(1.0),
    };
    let usage = Usage::default();
    let (workflow, state, facts, decision) = (&workflow, &state, &facts, &decision);
    let case = EvaluatedTask {
        workflow,
        state,
        facts,
        decision,
        has_executor: &|_| false,
    };
    let due = |usage: &Usage| next(&case, usage, &at, Mode::Auto);
    let NextStep::Perform(work) = due(&usage) else {
        panic!("an action is due")
    };
    for used in [
        Usage {
            turns: 3,
            ..usage.clone()
        },
        Usage {
            time: Period::from_seconds(9),
            ..usage.clone()
        },
        Usage {
            cost: 1.0,
            ..usage.clone()
        },
    ] {
        assert!(
            matches!(due(&used), NextStep::End(Ending::Exhausted, _)),
            "{used:?}"
        );
    }
    let find = || Job::Action("find".to_owned());
    let seen = Usage {
        seen: vec![(find(), work.precondition.fingerprint)],
        ..usage.clone()
    };
    assert!(matches!(due(&seen), NextStep::End(Ending::Stalled, _)));
    // An agent, or a question, of the same name is somebody else.
    let other = Usage {
        seen: vec![(Job::Agent("find".to_owned()), work.precondition.fingerprint)],
        ..usage.clone()
    };
    assert!(matches!(due(&other), NextStep::Perform(_)));
    let elsewhere = Usage {
        seen: vec![(find(), Digest::of_blob(b"other"))],
        ..usage
    };
    assert!(matches!(due(&elsewhere), NextStep::Perform(_)));
}
