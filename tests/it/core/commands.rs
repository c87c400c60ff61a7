//! What a run records: by whom, with which files and reasons, and when it is refused.

use super::loops::LOOP;
use super::world::{LIFECYCLE, World, compiled};
use orch_base::{ActionName, Digest, PhaseId, RuleId, Timestamp};
use orch_core::decide::{
    ActionResult, ActorKind, Budget, By, Ending, EvaluatedTask, FILES_KEPT, HistoryEntry, Job,
    Kind, Mode, NextStep, Precondition, Recorded, Recorder, RunCommand, Stamp, State, Step, Usage,
    end, evaluate, fingerprint, next,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn stamp(name: &str) -> Stamp {
    Stamp::new(
        Timestamp::from_seconds(9),
        By {
            kind: ActorKind::Orch,
            name: name.to_owned(),
        },
    )
}

/// A recorder that knows when the executor started, and the digest of each file that is there.
fn recorder<'r>(
    is_there: &'r dyn Fn(&str) -> bool,
    digest: &'r dyn Fn(&str) -> Option<Digest>,
    started: Option<(i64, &str)>,
) -> Recorder<'r> {
    Recorder {
        own: stamp("orch"),
        caller: stamp("caller"),
        earlier: &|_| None,
        refuses: &|_| None,
        is_there,
        started: started.map(|(at, program)| (Timestamp::from_seconds(at), program.to_owned())),
        digest,
    }
}

fn steps(
    world: &World,
    state: &State,
    command: &RunCommand,
    recorder: &Recorder<'_>,
) -> Result<Vec<Step>, String> {
    let steps = command.steps(&world.workflow, state, &world.facts(), recorder);
    steps.map_err(|why| why.as_str().to_owned())
}

/// A task of the loop whose action `find` is due.
fn finding(outputs: &str) -> (World, State) {
    let text = LOOP.replace(
        "writes = [\"/found\", \"/notes\"]",
        &format!("writes = [\"/found\", \"/notes\"]\n{outputs}"),
    );
    let mut world = World::new(Arc::new(compiled("loop", &text)));
    world.apply(&orch_core::decide::create(&world.workflow.clone(), "new"));
    let mut state = world.known();
    state.extra.insert("asked".to_owned(), json!(true));
    (world, state)
}

fn precondition(world: &World, state: &State) -> Precondition {
    let rule = RuleId::new("find").expect("valid");
    Precondition {
        fingerprint: fingerprint(&world.workflow, state, &world.facts(), Some(&rule)),
        phase: PhaseId::new("running").expect("valid"),
        entered: 1,
        done: 0,
        last: None,
    }
}

fn result(precondition: Precondition, value: &Value) -> RunCommand {
    RunCommand::Result {
        action: ActionName::new("find").expect("valid"),
        rule: RuleId::new("find").expect("valid"),
        precondition,
        result: Box::new(ActionResult::read(value).expect("a result")),
    }
}

#[test]
fn the_start_and_the_end_of_a_run_are_recorded_where_actions_run_or_a_failure_needs_a_cause() {
    let mut plain = World::new(LIFECYCLE.clone());
    plain.reach("codegen");
    let (acting, state) = finding("");
    let agent = plain
        .workflow
        .phases
        .iter()
        .any(|phase| phase.agent.is_some() && phase.id.as_str() == "codegen");
    for (command, in_loop, elsewhere) in [
        (RunCommand::Begin(Mode::Auto), Some(Kind::Start), None),
        (
            RunCommand::End(Ending::Paused.reason("x")),
            Some(Kind::End),
            None,
        ),
        (
            RunCommand::End(Ending::Failed.reason("x")),
            None,
            agent.then_some(Kind::End),
        ),
        (RunCommand::End(Ending::Completed.reason("x")), None, None),
        (RunCommand::End("it is over".to_owned()), None, None),
    ] {
        for (world, state, expected) in [
            (&acting, &state, in_loop),
            (&plain, &plain.known(), elsewhere),
        ] {
            let told = steps(
                world,
                state,
                &command,
                &recorder(&|_| true, &|_| None, None),
            )
            .expect("steps");
            let kinds: Vec<Kind> = told.iter().map(|step| step.transition.kind).collect();
            assert_eq!(
                kinds,
                expected.into_iter().collect::<Vec<_>>(),
                "{command:?}"
            );
        }
        let may = command.may_record(&plain.workflow);
        assert!(may || elsewhere.is_none(), "{command:?}");
        let is_failure = matches!(&command, RunCommand::End(told) if told.contains("failed"));
        assert_eq!(may, is_failure, "{command:?}");
    }
    assert_eq!(
        Ending::of_reason(&Ending::Failed.reason("why: so")),
        Some((Ending::Failed, "why: so"))
    );
    for text in [
        "the run ended as failed",
        "the run ended as nothing: x",
        "it ended as failed: x",
    ] {
        assert_eq!(Ending::of_reason(text), None, "{text}");
    }
}

#[test]
fn a_result_is_recorded_with_its_reason_its_executor_and_the_files_that_it_left() {
    let (world, state) = finding("outputs = [\"out.txt\"]");
    let digest = |path: &str| (path != "gone.txt").then(|| Digest::of_blob(path.as_bytes()));
    let many: Vec<String> = (0..FILES_KEPT + 5).map(|n| format!("{n}.txt")).collect();
    for (value, reason, files) in [
        (
            json!({"stateUpdates": {"found": 1}}),
            "`find` is done",
            vec!["out.txt".to_owned()],
        ),
        (
            json!({"stateUpdates": {"found": 1}, "summary": " two \n words ", "message": "m"}),
            "two words",
            vec!["out.txt".to_owned()],
        ),
        (
            json!({"stateUpdates": {"found": 1}, "message": "m"}),
            "m",
            vec!["out.txt".to_owned()],
        ),
        (
            json!({"stateUpdates": {"found": 1}, "outputFiles": ["a.txt", "out.txt", "gone.txt", "a.txt"]}),
            "`find` is done",
            vec!["out.txt".to_owned(), "a.txt".to_owned()],
        ),
        (
            json!({"stateUpdates": {"found": 1}, "outputFiles": many}),
            "`find` is done",
            std::iter::once("out.txt".to_owned())
                .chain(many.iter().take(FILES_KEPT - 1).cloned())
                .collect(),
        ),
    ] {
        let command = result(precondition(&world, &state), &value);
        let told = steps(
            &world,
            &state,
            &command,
            &recorder(&|_| true, &digest, Some((5, "make"))),
        );
        let told = told.expect("recorded");
        let entry = told[0].state.history.last().expect("an entry");
        assert_eq!(
            (entry.reason.as_str(), entry.kind),
            (reason, Kind::Run),
            "{value}"
        );
        assert_eq!(
            entry.actor,
            By {
                kind: ActorKind::Agent,
                name: "find".to_owned()
            }
        );
        let performance = entry.performance.as_ref().expect("known");
        let kept: Vec<String> = performance
            .files
            .iter()
            .map(|(path, _)| path.clone())
            .collect();
        assert_eq!(kept, files, "{value}");
        assert!(
            performance
                .files
                .iter()
                .all(|(path, known)| *known == digest(path).expect("known").to_string())
        );
        assert_eq!(
            (performance.started, performance.executor.as_deref()),
            (Some(Timestamp::from_seconds(5)), Some("make"))
        );
    }
    // Where nothing is known, nothing is recorded of it.
    let (world, state) = finding("");
    let command = result(
        precondition(&world, &state),
        &json!({"stateUpdates": {"found": 1}}),
    );
    let told = steps(
        &world,
        &state,
        &command,
        &recorder(&|_| true, &|_| None, None),
    )
    .expect("recorded");
    assert_eq!(
        told[0].state.history.last().expect("an entry").performance,
        None
    );
}

#[test]
fn a_result_that_claims_files_that_are_not_there_is_refused() {
    let there = |path: &str| path == "there.txt";
    for (outputs, claimed, refused) in [
        ("", json!([]), None),
        ("", json!(["there.txt"]), None),
        ("outputs = [\"there.txt\"]", json!([]), None),
        (
            "",
            json!(["there.txt", "x.txt"]),
            Some("x.txt is missing, but the result says that it was written"),
        ),
        (
            "outputs = [\"there.txt\", \"y.txt\"]",
            json!([]),
            Some("y.txt is missing, but the action should have written it"),
        ),
    ] {
        let (world, state) = finding(outputs);
        let value = json!({"stateUpdates": {"found": 1}, "outputFiles": claimed});
        let command = result(precondition(&world, &state), &value);
        let told = steps(&world, &state, &command, &recorder(&there, &|_| None, None)).map(drop);
        assert_eq!(told.err().as_deref(), refused, "{outputs} {claimed}");
    }
}

#[test]
fn a_result_counts_only_where_its_work_began() {
    let (world, state) = finding("");
    let at = precondition(&world, &state);
    let last = state.history.last().expect("an entry").seq;
    for (began, refused) in [
        (at.clone(), None),
        (
            Precondition {
                phase: PhaseId::new("done").expect("valid"),
                ..at.clone()
            },
            Some("the task moved to `running` meanwhile"),
        ),
        (
            Precondition {
                entered: 2,
                ..at.clone()
            },
            Some("the task left `running` and came back meanwhile"),
        ),
        (
            Precondition {
                last: Some((last, Digest::of_blob(b"another step"))),
                ..at.clone()
            },
            Some(
                "the task's history was replaced: the step from which the work started is not in it",
            ),
        ),
        (
            Precondition {
                last: Some((last + 1, Digest::of_blob(b"a later step"))),
                ..at.clone()
            },
            Some(
                "the task's history was replaced: the step from which the work started is not in it",
            ),
        ),
        // Without a log, steps older than what the state keeps cannot be compared.
        (
            Precondition {
                last: Some((last - 1, Digest::of_blob(b"an older step"))),
                ..at
            },
            None,
        ),
    ] {
        let told = began.check(&world.workflow, &state, &|_| None);
        assert_eq!(
            told.err().as_ref().map(|why| why.as_str()),
            refused,
            "{began:?}"
        );
        let command = result(began, &json!({"stateUpdates": {"found": 1}}));
        let told = steps(
            &world,
            &state,
            &command,
            &recorder(&|_| true, &|_| None, None),
        )
        .map(drop);
        assert_eq!(told.err().as_deref(), refused);
    }
}

/// The state keeps only the last steps; the log has all.
#[test]
fn a_result_is_compared_with_an_older_step_in_the_log() {
    let (world, mut state) = finding("");
    let step = Arc::clone(state.history.last().expect("an entry"));
    let (at, by) = (step.at, &step.actor.name);
    let text = format!(
        "{} {at} {by} {:?} {} {}",
        step.seq, step.kind, step.to, step.reason
    );
    let last = Some((step.seq, Digest::of_blob(text.as_bytes())));
    let at = Precondition {
        last,
        ..precondition(&world, &state)
    };
    let other = Arc::new(HistoryEntry {
        reason: "another".to_owned(),
        ..HistoryEntry::clone(&step)
    });
    let later = HistoryEntry {
        seq: step.seq + 4,
        ..HistoryEntry::clone(&step)
    };
    state.history = vec![Arc::new(later)];
    for (logged, is_fine) in [
        (None, true),
        (Some(vec![Arc::clone(&step)]), true),
        (Some(vec![Arc::clone(&other), step]), true),
        (Some(vec![other]), false),
        (Some(Vec::new()), false),
    ] {
        let told = at.check(&world.workflow, &state, &|_| logged.clone());
        assert_eq!(told.is_ok(), is_fine, "{logged:?}");
    }
}

/// Counting turns is no progress, but everything else that work can change is.
#[test]
fn the_fingerprint_is_of_all_that_work_can_change_but_the_bookkeeping() {
    let text = LOOP.replace(
        "run = \"find\"",
        "run = \"find\"\nset = { \"/turns\" = \"1\", \"/word\" = \"'x'\" }",
    );
    let mut world = World::new(Arc::new(compiled("loop", &text)));
    world.apply(&orch_core::decide::create(&world.workflow.clone(), "new"));
    let state = world.known();
    let rule = RuleId::new("find").expect("valid");
    let of = |state: &State, rule: Option<&RuleId>| {
        fingerprint(&world.workflow, state, &world.facts(), rule)
    };
    let with = |key: &str, value: Value| {
        let mut state = state.clone();
        state.extra.insert(key.to_owned(), value);
        state
    };
    let before = with("turns", json!(1));
    for (state, is_same) in [
        (with("turns", json!(7)), true),
        (
            State {
                extra: with("word", json!("y")).extra,
                ..before.clone()
            },
            false,
        ),
        (with("turns", json!("many")), false),
        (with("found", json!(7)), false),
        (
            State {
                phase: Some("done".to_owned()),
                ..before.clone()
            },
            false,
        ),
    ] {
        assert_eq!(
            of(&state, Some(&rule)) == of(&before, Some(&rule)),
            is_same,
            "{:?}",
            state.extra
        );
    }
    let other = RuleId::new("mend").expect("valid");
    for rule in [None, Some(&other)] {
        assert_ne!(
            of(&with("turns", json!(7)), rule),
            of(&before, rule),
            "no bookkeeping of this rule"
        );
    }
}

#[test]
fn a_run_is_recorded_to_end_only_as_the_task_allows() {
    let (world, state) = finding("");
    for (phase, completed, failed) in [
        ("running", false, false),
        ("done", true, false),
        ("failed", false, true),
    ] {
        let state = State {
            phase: Some(phase.to_owned()),
            ..state.clone()
        };
        let ends = |ending: Ending| {
            end(&world.workflow, &state, &world.facts(), &ending.reason("x")).is_some()
        };
        assert_eq!(
            (ends(Ending::Completed), ends(Ending::Failed)),
            (completed, failed),
            "{phase}"
        );
        assert!(ends(Ending::Paused) && ends(Ending::Exhausted), "{phase}");
    }
    // An agent that fails too often ends the run in any phase.
    let mut agents = world.workflow.as_ref().clone();
    agents.phases[0].agent = Some("writer".to_owned());
    assert!(end(&agents, &state, &world.facts(), &Ending::Failed.reason("x")).is_some());
    assert!(
        end(
            &agents,
            &state,
            &world.facts(),
            &Ending::Completed.reason("x")
        )
        .is_none()
    );
}

#[test]
fn an_action_that_is_given_up_is_recorded_with_its_executor() {
    let (world, state) = finding("");
    let facts = world.facts();
    let decision = evaluate(
        &world.workflow,
        &Recorded::Known(Box::new(state.clone())),
        &facts,
    );
    let (workflow, state, facts, decision) = (&*world.workflow, &state, &facts, &decision);
    let case = EvaluatedTask {
        workflow,
        state,
        facts,
        decision,
        has_executor: &|_| false,
    };
    let usage = Usage {
        failures: [(Job::Action("find".to_owned()), 2)].into(),
        ..Usage::default()
    };
    let budget = Budget {
        turns: 9,
        time: None,
        cost: None,
    };
    let NextStep::GiveUp(failed) = next(&case, &usage, &budget, Mode::Auto) else {
        panic!("it failed twice")
    };
    let command = RunCommand::GiveUp(failed);
    for (started, executor) in [(Some((5, "make")), Some("make")), (None, None)] {
        let told = steps(
            &world,
            state,
            &command,
            &recorder(&|_| true, &|_| None, started),
        );
        let told = told.expect("recorded");
        let entry = told[0].state.history.last().expect("an entry");
        assert_eq!(
            (entry.kind, entry.actor.name.as_str()),
            (Kind::Skip, "orch")
        );
        let known = entry
            .performance
            .as_ref()
            .and_then(|known| known.executor.as_deref());
        assert_eq!(known, executor);
    }
}
