//! The course of a run, rule by rule: what counts, what is waited for, and how each thing ends it.

use super::loops::LOOP;
use super::play::{Play, facts, workflow};
use super::world::shipped;
use orch_base::{ActionName, Period};
use orch_core::decide::{
    ActionResult, Blocker, ControlRequest, Ending, EvaluatedTask, ExecutorExit, Job, Leftover,
    Mode, RecordOutcome, Recorded, RetryPolicy, Returned, RunCommand, RunEffect, RunEvent,
    RunMachine, Tick, evaluate, initial_state,
};
use serde_json::{Value, json};

fn well(value: Value) -> Returned {
    Returned {
        how: ExecutorExit::Well,
        result: Some(ActionResult::read(&value)),
        cost: 0.0,
        is_unpriced: false,
        trace: orch_core::decide::ExecutorTrace::default(),
        said: None,
    }
}

fn ended(how: ExecutorExit) -> Returned {
    Returned {
        how,
        result: None,
        cost: 0.0,
        is_unpriced: false,
        trace: orch_core::decide::ExecutorTrace::default(),
        said: None,
    }
}

/// A `find` that finds, and a `mend` that mends.
fn good(name: &str, turn: u32) -> Returned {
    well(match name {
        "find" => json!({"stateUpdates": {"found": 2}}),
        _ => json!({"stateUpdates": {"mended": turn}, "cost": 1.5}),
    })
}

fn blocker(retry: RetryPolicy) -> Blocker {
    Blocker {
        retry,
        why: "something is in the way".to_owned(),
    }
}

#[test]
fn what_cannot_be_recorded_is_waited_for_as_long_as_it_makes_sense() {
    let hour = Period::from_seconds(3600);
    let minute = Period::from_seconds(60);
    for (retry, limit, ending, taken) in [
        (RetryPolicy::Long, None, Ending::Waiting, hour),
        (RetryPolicy::Long, Some(minute), Ending::Exhausted, minute),
        (RetryPolicy::Short, None, Ending::Waiting, minute),
        (
            RetryPolicy::Short,
            Some(Period::from_seconds(9)),
            Ending::Exhausted,
            Period::from_seconds(9),
        ),
        (
            RetryPolicy::Never(Ending::Error),
            None,
            Ending::Error,
            Period::default(),
        ),
        (
            RetryPolicy::Never(Ending::Waiting),
            Some(minute),
            Ending::Waiting,
            Period::default(),
        ),
    ] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.machine.budget.time = limit;
        play.perform = Box::new(good);
        play.block = Box::new(move |effect| match effect {
            RunEffect::Record(RunCommand::Result { .. }) => (Some(blocker(retry)), None),
            _ => (None, None),
        });
        let (how, why) = play.run();
        assert_eq!(
            (how, play.machine.usage.time),
            (ending, taken),
            "{retry:?} {limit:?}"
        );
        assert_eq!(why, "something is in the way");
        // What was paid for is kept for the next run.
        assert!(play.machine.doing.is_some());
        assert_eq!(play.machine.usage.turns, 2);
        let waits: Vec<&str> = play
            .story
            .iter()
            .skip(1)
            .map(String::as_str)
            .take(6)
            .collect();
        if taken >= minute {
            assert_eq!(
                waits,
                [
                    "wait 200ms",
                    "wait 400ms",
                    "wait 800ms",
                    "wait 1s600ms",
                    "wait 3s200ms",
                    "wait 5s"
                ]
            );
        }
    }
}

#[test]
fn an_order_or_a_start_is_recorded_only_where_a_rule_answers_to_it() {
    for (name, start, pause, stop) in [
        ("ccw-loop", true, true, true),
        ("skill-tuning", false, false, true),
        ("global-state-machine", false, false, false),
    ] {
        let workflow = shipped(name);
        for (command, expected) in [
            (RunCommand::Start, start),
            (RunCommand::Order(ControlRequest::Pause), pause),
            (RunCommand::Order(ControlRequest::Stop), stop),
            (RunCommand::Order(ControlRequest::Interrupt), false),
            (RunCommand::Order(ControlRequest::AskPerson), false),
        ] {
            assert_eq!(
                command.may_record(&workflow),
                expected,
                "{name} {command:?}"
            );
        }
    }
}

#[test]
fn what_passes_is_recorded_after_all() {
    let workflow = workflow(LOOP);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.perform = Box::new(good);
    let mut tried = 0;
    play.block = Box::new(move |effect| {
        tried += u32::from(matches!(effect, RunEffect::Record(_)));
        (
            (tried % 3 > 0)
                .then(|| blocker(RetryPolicy::Long))
                .filter(|_| matches!(effect, RunEffect::Record(_))),
            None,
        )
    });
    assert_eq!(play.run().0, Ending::Completed);
    assert_eq!(
        (play.machine.usage.turns, play.machine.usage.cost),
        (3, 1.5)
    );
}

#[test]
fn a_control_request_ends_any_wait_and_states_its_reason() {
    for (request, ending, told) in [
        (ControlRequest::Interrupt, Ending::Paused, "interrupt it"),
        (ControlRequest::Pause, Ending::Paused, "pause it"),
        (ControlRequest::AskPerson, Ending::Waiting, "ask-person it"),
        (ControlRequest::Stop, Ending::Stopped, "stop it"),
    ] {
        // While a default answer is held, while a result is, and before a further try.
        for at in 0..3 {
            let workflow = workflow(LOOP);
            let mut play = Play::new(&workflow, Mode::Auto);
            play.perform = Box::new(move |name, turn| match at {
                2 => ended(ExecutorExit::Badly("no".to_owned())),
                _ => good(name, turn),
            });
            play.block = Box::new(move |effect| match (effect, at) {
                (RunEffect::Record(RunCommand::Answer(_)), 0)
                | (RunEffect::Record(RunCommand::Result { .. }), 1) => {
                    (Some(blocker(RetryPolicy::Long)), None)
                }
                (RunEffect::Wait(..), _) => (None, Some(request)),
                _ => (None, None),
            });
            assert_eq!(play.run(), (ending, told.to_owned()), "{request:?} at {at}");
            assert_eq!(play.machine.doing.is_some(), at == 1);
        }
    }
}

#[test]
fn a_control_request_during_the_final_write_is_applied() {
    for (performs, ending) in [(false, Ending::Stopped), (true, Ending::Completed)] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Interactive);
        if performs {
            play.machine.mode = Mode::Auto;
            play.perform = Box::new(good);
        }
        let mut asked = 0;
        play.block = Box::new(move |effect| {
            let closes = matches!(effect, RunEffect::Finish(_));
            asked += u32::from(closes);
            // First a pause, then a stop; what is said twice is heard once.
            let request = if asked < 2 {
                ControlRequest::Pause
            } else {
                ControlRequest::Stop
            };
            (None, closes.then_some(request))
        });
        assert_eq!(play.run().0, ending);
    }
}

#[test]
fn what_is_refused_ends_the_run_instead_of_going_round() {
    type Which = fn(&RunCommand) -> bool;
    let refusals: [(Which, Ending, &str); 4] = [
        (
            |command| matches!(command, RunCommand::Start),
            Ending::Error,
            "no",
        ),
        (
            |command| matches!(command, RunCommand::Moves { .. }),
            Ending::Error,
            "no",
        ),
        (
            |command| matches!(command, RunCommand::Answer(_)),
            Ending::Waiting,
            "the default answer was refused: no",
        ),
        (
            |command| matches!(command, RunCommand::GiveUp(_)),
            Ending::Error,
            "`find` failed too often, and giving it up was refused: no",
        ),
    ];
    for (refused, ending, reason) in refusals {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(|_, _| ended(ExecutorExit::Badly("no".to_owned())));
        play.refuse = Box::new(move |command| refused(command).then(|| "no".to_owned()));
        assert_eq!(play.run(), (ending, reason.to_owned()));
    }
}

#[test]
fn rules_that_go_round_in_circles_end_the_run_with_their_reason() {
    let text = "# Round\n\n```toml orch\n[phase.a]\n[phase.b]\n[phase.c]\nterminal = true\n\
        [[rule]]\nid = \"there\"\nfrom = \"a\"\nto = \"b\"\nbecause = \"b\"\n\
        [[rule]]\nid = \"back\"\nfrom = \"b\"\nwhen = \"attempt < 1000\"\nto = \"a\"\nbecause = \"a\"\n\
        [[rule]]\nid = \"out\"\nfrom = \"b\"\nto = \"c\"\nbecause = \"c\"\n```\n";
    let workflow = workflow(text);
    let mut play = Play::new(&workflow, Mode::Auto);
    let (ending, why) = play.run();
    assert_eq!(ending, Ending::Error);
    assert!(
        why.contains("round in circles") && why.contains("a -> b -> a"),
        "{why}"
    );
}

#[test]
fn every_further_try_is_waited_for() {
    let workflow = workflow(LOOP);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.perform = Box::new(|_, _| ended(ExecutorExit::Badly("no".to_owned())));
    assert_eq!(play.run().0, Ending::Failed);
    let expected = "answer more, wait 2s, give up find, to running, wait 2s, give up find, to running, \
        wait 2s, give up find, to failed";
    assert_eq!(play.story.join(", "), expected);
    assert_eq!(play.machine.usage.turns, 7);
}

#[test]
fn only_what_has_failed_counts_as_failed() {
    let find = Job::Action("find".to_owned());
    let long = || "it took longer than 9s".to_owned();
    for (how, took, failures, ending, turns) in [
        (
            ExecutorExit::Badly("no".to_owned()),
            1,
            1,
            Ending::Paused,
            2,
        ),
        (ExecutorExit::TooLong(long()), 1, 1, Ending::Paused, 2),
        // The limit is that of the run: nobody's failure.
        (ExecutorExit::TooLong(long()), 9, 0, Ending::Exhausted, 2),
        (ExecutorExit::Stopped, 1, 0, Ending::Paused, 2),
        (
            ExecutorExit::NotStarted("no such program".to_owned()),
            1,
            0,
            Ending::Error,
            1,
        ),
    ] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        let named = format!("{how:?}");
        let has_begun = std::rc::Rc::new(std::cell::Cell::new(false));
        let begun = std::rc::Rc::clone(&has_begun);
        play.machine.budget.time = Some(Period::from_seconds(9));
        play.took = Period::from_seconds(took);
        play.perform = Box::new(move |_, _| {
            begun.set(true);
            ended(how.clone())
        });
        // Where the run may continue, somebody ends it after the first try.
        play.block = Box::new(move |effect| match effect {
            RunEffect::Evaluate | RunEffect::Wait(..) if has_begun.get() && took < 9 => {
                (None, Some(ControlRequest::Interrupt))
            }
            _ => (None, None),
        });
        assert_eq!(play.run().0, ending, "{named}");
        let usage = &play.machine.usage;
        assert_eq!(
            (usage.failures_of(&find), usage.turns),
            (failures, turns),
            "{named}"
        );
        assert!(play.machine.doing.is_none());
    }
}

/// The error says whether another try could succeed: not if the executor rules that out, and not if it was the last
/// error that the workflow allows.
#[test]
fn errors_are_recoverable_until_the_executor_or_the_limit_says_no() {
    let failed = |recoverable: bool| json!({"status": "failed", "recoverable": recoverable, "message": "no network"});
    for (recoverable, tries, told) in [
        (
            true,
            2,
            "`find` failed 2 times in a row and was given up: no network",
        ),
        (
            false,
            1,
            "`find` failed once and was given up: no network (not recoverable)",
        ),
    ] {
        for limit in [1, 3] {
            let mut workflow = workflow(LOOP);
            workflow.limits.errors = limit;
            let mut play = Play::new(&workflow, Mode::Auto);
            play.perform = Box::new(move |_, _| well(failed(recoverable)));
            play.run();
            let error = &play.state.errors[0];
            assert_eq!(error["message"], told);
            assert_eq!(error["recoverable"], recoverable && limit > 1, "{error}");
            let before = play
                .story
                .iter()
                .position(|step| step == "give up find")
                .expect("given up");
            let waits = play.story[..before]
                .iter()
                .filter(|step| step.starts_with("wait"))
                .count();
            assert_eq!(waits + 1, tries, "{:?}", play.story);
        }
    }
}

#[test]
fn an_action_may_ask_to_stop_after_it() {
    let workflow = workflow(LOOP);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.perform = Box::new(|_, _| well(json!({"stateUpdates": {"found": 1}, "continue": false})));
    assert_eq!(
        play.run(),
        (Ending::Paused, "`find` asked to stop here".to_owned())
    );
    assert_eq!(play.state.extra["found"], 1);
}

/// The executor of an action that asks is started once per run; the action is neither done nor failed.
#[test]
fn an_executor_that_needs_input_makes_the_run_wait() {
    let workflow = workflow(LOOP);
    for turns in [30, 2] {
        let mut play = Play::new(&workflow, Mode::Auto);
        play.machine.budget.turns = turns;
        play.perform = Box::new(|_, _| {
            well(
                json!({"status": "needs_input", "message": "which?", "stateUpdates": {"found": 1}, "cost": 0.5}),
            )
        });
        assert_eq!(
            play.run(),
            (Ending::Waiting, "`find` asks: which?".to_owned())
        );
        let find = ActionName::new("find").expect("a name");
        assert_eq!(
            (
                play.state.tally(&find).done,
                play.state.extra["found"].clone()
            ),
            (0, json!(0))
        );
        let usage = &play.machine.usage;
        let failures = usage.failures_of(&Job::Action("find".to_owned()));
        assert_eq!(
            (usage.turns, usage.cost, failures),
            (2, 0.5, 0),
            "one answer by default, one try"
        );
        // Once the person has answered, the action is tried again with the rest of the budget.
        if turns > 2 {
            let usage = usage.clone();
            play.machine = RunMachine::new(Mode::Auto, play.machine.budget, usage, None);
            play.perform = Box::new(good);
            assert_eq!(play.run().0, Ending::Completed);
        }
    }
}

#[test]
fn the_sum_of_costs_stays_a_number() {
    let workflow = workflow(LOOP);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.perform =
        Box::new(|_, turn| well(json!({"stateUpdates": {"notes": [turn]}, "cost": 1e308})));
    assert_eq!(play.run().0, Ending::Exhausted);
    assert_eq!(play.machine.usage.cost, f64::MAX);
}

#[test]
fn what_an_earlier_process_left_is_settled_first_and_recorded_once() {
    let find = Job::Action("find".to_owned());
    let result = || {
        Some(ActionResult::read(
            &json!({"stateUpdates": {"found": 2}, "cost": 0.5}),
        ))
    };
    let told = |was_running, result| Leftover {
        was_running,
        result,
    };
    // Whether it had been recorded already, what it left, and whether that counts as a failure.
    for (is_recorded, left, failures, finds) in [
        (false, told(false, result()), 0, 1),
        (true, told(false, result()), 0, 1),
        // Who was still running had not said its last word.
        (false, told(true, result()), 1, 0),
        (false, told(false, None), 1, 0),
        (false, told(false, Some(Err("no JSON".into()))), 1, 0),
    ] {
        let workflow = workflow(LOOP);
        let mut first = Play::new(&workflow, Mode::Auto);
        first.perform = Box::new(good);
        first.block = Box::new(|effect| match effect {
            RunEffect::Record(RunCommand::Result { .. }) => {
                (Some(blocker(RetryPolicy::Never(Ending::Error))), None)
            }
            _ => (None, None),
        });
        assert_eq!(first.run().0, Ending::Error);
        let mut again = Play::new(&workflow, Mode::Auto);
        again.state.clone_from(&first.state);
        if is_recorded {
            // Killed after the commit, and before anything else was written.
            let mut other = Play::new(&workflow, Mode::Auto);
            other.state.clone_from(&first.state);
            other.perform = Box::new(good);
            other.machine.budget.turns = 1;
            other.run();
            again.state = other.state;
        }
        let (usage, doing) = (first.machine.usage.clone(), first.machine.doing.clone());
        again.machine = RunMachine::new(Mode::Auto, first.machine.budget, usage, doing);
        let named = format!("{is_recorded} {left:?}");
        again.left = Some(left);
        again.block = Box::new(|effect| {
            (
                None,
                matches!(effect, RunEffect::Evaluate).then_some(ControlRequest::Interrupt),
            )
        });
        assert_eq!(again.run().0, Ending::Paused, "{named}");
        let done = again
            .state
            .tally(&ActionName::new("find").expect("a name"))
            .done;
        assert_eq!(
            (again.machine.usage.failures_of(&find), done),
            (failures, finds),
            "{named}"
        );
        // Its turn was counted when it began, and what it has cost is counted when it is settled.
        let cost = if named.contains("cost: 0.5") {
            0.5
        } else {
            0.0
        };
        assert_eq!(
            (again.machine.usage.turns, again.machine.usage.cost),
            (2, cost),
            "{named}"
        );
    }
}

/// The commands that a run records, in order, without its moves.
fn recorded_of(play: &mut Play<'_>) -> std::rc::Rc<std::cell::RefCell<Vec<String>>> {
    let told = std::rc::Rc::<std::cell::RefCell<Vec<String>>>::default();
    let seen = std::rc::Rc::clone(&told);
    let mut block = std::mem::replace(&mut play.block, Box::new(|_| (None, None)));
    play.block = Box::new(move |effect| {
        if let RunEffect::Record(command) = effect {
            let name = match command {
                RunCommand::Begin(mode) => format!("begin {}", mode.as_str()),
                RunCommand::End(told) => told.clone(),
                RunCommand::Order(request) => format!("order {}", request.as_str()),
                RunCommand::GiveUp(failed) => format!("give up {}", failed.action),
                RunCommand::Verify(_) => "verify".to_owned(),
                RunCommand::Start => "start".to_owned(),
                RunCommand::Answer(_) => "answer".to_owned(),
                RunCommand::Result { .. } => "result".to_owned(),
                RunCommand::Moves { .. } => return block(effect),
            };
            seen.borrow_mut().push(name);
        }
        block(effect)
    });
    told
}

/// A run that did nothing leaves no end in the record, and neither does one that can record nothing.
#[test]
fn the_end_of_a_run_is_recorded_if_it_did_anything_and_can_record_it() {
    let ended_as = |told: &[String]| {
        told.last()
            .filter(|last| last.starts_with("the run ended"))
            .cloned()
    };
    for (mode, how, request, expected) in [
        (Mode::Interactive, ExecutorExit::Well, None, None),
        (
            Mode::Auto,
            ExecutorExit::Well,
            None,
            Some("the run ended as completed: "),
        ),
        (
            Mode::Auto,
            ExecutorExit::NotStarted("no such program".to_owned()),
            None,
            None,
        ),
        (
            Mode::Auto,
            ExecutorExit::Badly("no".to_owned()),
            None,
            Some("the run ended as failed: "),
        ),
        (
            Mode::Auto,
            ExecutorExit::Well,
            Some(ControlRequest::Stop),
            Some("the run ended as stopped: stop it"),
        ),
        (
            Mode::Auto,
            ExecutorExit::Well,
            Some(ControlRequest::Pause),
            Some("the run ended as paused: pause it"),
        ),
        (
            Mode::Auto,
            ExecutorExit::Well,
            Some(ControlRequest::Interrupt),
            Some("the run ended as paused: interrupt it"),
        ),
    ] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, mode);
        let named = format!("{mode:?} {how:?} {request:?}");
        let has_begun = std::rc::Rc::new(std::cell::Cell::new(false));
        let begun = std::rc::Rc::clone(&has_begun);
        play.perform = Box::new(move |name, turn| {
            begun.set(true);
            match how {
                ExecutorExit::Well => good(name, turn),
                _ => ended(how.clone()),
            }
        });
        play.block = Box::new(move |effect| {
            (
                None,
                request.filter(|_| has_begun.get() && matches!(effect, RunEffect::Evaluate)),
            )
        });
        let told = recorded_of(&mut play);
        play.run();
        let told = told.borrow();
        assert_eq!(
            told[..2],
            ["start".to_owned(), format!("begin {}", mode.as_str())],
            "{named}"
        );
        let end = ended_as(&told);
        assert_eq!(end.is_some(), expected.is_some(), "{named}: {told:?}");
        let (end, expected) = (end.unwrap_or_default(), expected.unwrap_or_default());
        assert!(end.starts_with(expected), "{named}: {told:?}");
        // The order itself is recorded before, where a rule may answer to it.
        let order = request.filter(|request| request.signal().is_some());
        let order = order.map(|request| format!("order {}", request.as_str()));
        assert_eq!(
            told.iter().find(|step| step.starts_with("order")),
            order.as_ref(),
            "{named}"
        );
    }
}

/// Somebody may have moved the task meanwhile, so only a second refusal in one turn counts.
#[test]
fn giving_an_action_up_is_refused_once_without_harm() {
    for (refusals, ending) in [(0, Ending::Failed), (1, Ending::Failed), (2, Ending::Error)] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(|_, _| ended(ExecutorExit::Badly("no".to_owned())));
        let mut left = refusals;
        play.refuse = Box::new(move |command| {
            let is_refused = matches!(command, RunCommand::GiveUp(_)) && left > 0;
            left -= u32::from(is_refused);
            is_refused.then(|| "it moved".to_owned())
        });
        let (how, why) = play.run();
        assert_eq!(how, ending, "{refusals}: {why}");
        let says = "`find` failed too often, and giving it up was refused: it moved";
        assert_eq!(why == says, refusals == 2, "{why}");
    }
}

#[test]
fn a_run_ends_where_no_rule_handles_that_too_much_was_given_up() {
    let text = LOOP
        .replace("run.errors >= run.max_errors", "run.errors >= 99")
        .replace("errors = 3", "errors = LIMIT");
    let handled = LOOP.replace("errors = 3", "errors = LIMIT");
    for (text, limit, ending, says) in [
        (&handled, 1, Ending::Failed, "too many failed"),
        (
            &text.replace("run.errors >= 99", "false"),
            1,
            Ending::Exhausted,
            "1 actions were given up, and no rule handles this",
        ),
    ] {
        let workflow = workflow(&text.replace("LIMIT", &limit.to_string()));
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(|_, _| ended(ExecutorExit::Badly("no".to_owned())));
        let (how, why) = play.run();
        assert_eq!((how, why.contains(says)), (ending, true), "{why}");
    }
}

#[test]
fn a_run_goes_on_after_a_pause_or_a_question_and_after_nothing_else() {
    for ending in Ending::ALL {
        assert_eq!(
            ending.goes_on(),
            matches!(ending, Ending::Paused | Ending::Waiting),
            "{ending:?}"
        );
    }
}

#[test]
fn a_failed_try_is_told_with_how_long_the_run_waits_before_the_next() {
    let two = Some(Period::from_seconds(2));
    for (recoverable, failures, waits) in [
        (true, 1, &[None][..]),
        (true, 2, &[two, None]),
        (true, 3, &[two, Some(Period::from_seconds(4)), None]),
        (false, 3, &[None]),
    ] {
        let mut workflow = workflow(LOOP);
        workflow.limits.failures = failures;
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(move |_, _| {
            well(json!({"status": "failed", "recoverable": recoverable, "message": "no"}))
        });
        play.run();
        let told: Vec<Option<Period>> = play
            .failed
            .iter()
            .take(waits.len())
            .map(|(_, _, again)| *again)
            .collect();
        assert_eq!(told, waits, "{recoverable} {failures}");
        assert!(
            play.failed
                .iter()
                .all(|(name, why, _)| name == "find" && why.starts_with("no"))
        );
    }
}

/// An executor that asks to stop does so before further work, and not before what its work makes due.
#[test]
fn what_is_due_without_work_comes_before_the_end_that_an_executor_asked_for() {
    let stops = |value: Value| {
        let mut value = value;
        value["continue"] = json!(false);
        well(value)
    };
    for (turns, last, asks, ending) in [
        // More work is due.
        (30, "find", false, Ending::Paused),
        // The end is due.
        (30, "mend", false, Ending::Completed),
        // The budget is used up: a limit that is reached is told, and a question is not lost.
        (2, "find", false, Ending::Exhausted),
        (2, "find", true, Ending::Waiting),
    ] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.machine.budget.turns = turns;
        play.perform = Box::new(move |name, turn| match name {
            "find" if asks => well(json!({"status": "needs_input", "message": "which?"})),
            "find" if last == "find" => stops(json!({"stateUpdates": {"found": 2}})),
            "find" => good(name, turn),
            _ => stops(json!({"stateUpdates": {"mended": 2}})),
        });
        assert_eq!(
            play.run().0,
            ending,
            "{turns} {last} {asks}: {:?}",
            play.story
        );
        let is_over = play.story.last().is_some_and(|last| last == "to done");
        assert_eq!(is_over, ending == Ending::Completed, "{:?}", play.story);
    }
}

/// People who move the task back again and again do not keep a run open that does no work.
#[test]
fn a_run_records_only_so_many_steps_without_work_in_between() {
    let text = "```toml orch\n[phase.a]\n[phase.b]\n[phase.c]\nterminal = true\n[[rule]]\nid = \"on\"\n\
        from = \"a\"\nto = \"b\"\nbecause = \"b\"\n[[rule]]\nid = \"out\"\nfrom = \"b\"\n\
        when = \"attempt > 1000\"\nto = \"c\"\nbecause = \"c\"\n```\n";
    let workflow = workflow(text);
    let (state, facts) = (initial_state(&workflow), facts());
    let decision = evaluate(&workflow, &Recorded::Known(Box::new(state.clone())), &facts);
    let (workflow, state, facts, decision) = (&workflow, &state, &facts, &decision);
    let case = EvaluatedTask {
        workflow,
        state,
        facts,
        decision,
        has_executor: &|_| false,
    };
    let mut machine = Play::new(workflow, Mode::Auto).machine;
    let now = Tick {
        time: Period::default(),
        at: Default::default(),
        request: None,
    };
    let mut effect = machine.step(&now, RunEvent::Begun);
    let mut moves = 0;
    for _ in 0..1_000 {
        let event = match effect {
            RunEffect::Evaluate => RunEvent::Evaluated(&case),
            RunEffect::Record(command) => {
                moves += u32::from(matches!(command, RunCommand::Moves { .. }));
                RunEvent::Recorded(command, RecordOutcome::Done)
            }
            _ => break,
        };
        effect = machine.step(&now, event);
    }
    // The start and its mode are recorded, too.
    let (ending, why) = machine.over.expect("it is over");
    assert_eq!((ending, moves), (Ending::Error, 98));
    assert_eq!(why, "the task moved 100 times without any work in between");
}

/// Once a run is to end, another wish to end it changes nothing but a weaker ending.
#[test]
fn a_wish_that_comes_while_the_end_is_recorded_replaces_only_a_weaker_one() {
    for (first, second, ending) in [
        (
            ControlRequest::Interrupt,
            ControlRequest::Stop,
            Ending::Stopped,
        ),
        (
            ControlRequest::Interrupt,
            ControlRequest::Pause,
            Ending::Paused,
        ),
        (
            ControlRequest::Pause,
            ControlRequest::Interrupt,
            Ending::Paused,
        ),
        (
            ControlRequest::AskPerson,
            ControlRequest::Pause,
            Ending::Waiting,
        ),
        (ControlRequest::Stop, ControlRequest::Pause, Ending::Stopped),
    ] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Interactive);
        let mut asked = 0;
        play.block = Box::new(move |effect| {
            let closes = matches!(effect, RunEffect::Finish(_));
            asked += u32::from(closes);
            (
                None,
                closes.then_some(if asked == 1 { first } else { second }),
            )
        });
        let (how, why) = play.run();
        assert_eq!(how, ending, "{first:?} {second:?}");
        let told = if second > first { second } else { first };
        assert_eq!(why, format!("{} it", told.as_str()), "{first:?} {second:?}");
    }
}

#[test]
fn a_wish_that_comes_while_an_order_is_held_up_does_not_replace_the_order() {
    let text = LOOP.replace(
        "[[rule]]\nid = \"given-up\"",
        "[[rule]]\nid = \"stopped\"\non = \"stop\"\nfrom = \"running\"\nto = \"failed\"\n\
         because = \"it is stopped\"\n[[rule]]\nid = \"given-up\"",
    );
    let workflow = workflow(&text);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.block = Box::new(|effect| match effect {
        RunEffect::Record(RunCommand::Order(_)) => (Some(blocker(RetryPolicy::Long)), None),
        RunEffect::Record(RunCommand::Start) => (None, None),
        RunEffect::Evaluate => (None, Some(ControlRequest::Stop)),
        RunEffect::Wait(..) => (None, Some(ControlRequest::Pause)),
        _ => (None, None),
    });
    let (ending, why) = play.run();
    let told = "stop it; the response to it could not be recorded: something is in the way";
    assert_eq!((ending, why.as_str()), (Ending::Stopped, told));
}
