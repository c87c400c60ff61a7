//! Limits of executors that pass by themselves, and those that do not.

use super::loops::LOOP;
use super::play::{Play, workflow};
use crate::model::Chance;
use orch_base::{Period, Timestamp};
use orch_core::decide::{
    ActionResult, Budget, ControlRequest, Ending, ExecutorExit, ExecutorTrace, Job, LimitWait,
    Mode, PassingLimit, Returned, RunEffect, Usage,
};
use serde_json::json;

fn ended(how: ExecutorExit) -> Returned {
    Returned {
        how,
        result: None,
        cost: 0.25,
        is_unpriced: false,
        trace: ExecutorTrace::default(),
        said: None,
    }
}

/// An executor that is limited, until then if it says so.
fn limited(until: Option<i64>) -> Returned {
    ended(ExecutorExit::Limited(PassingLimit {
        why: "`agent` has reached a limit".to_owned(),
        until: until.map(Timestamp::from_seconds),
    }))
}

fn good(name: &str) -> Returned {
    let value = match name {
        "find" => json!({"stateUpdates": {"found": 2}}),
        _ => json!({"stateUpdates": {"mended": 2}}),
    };
    Returned {
        result: Some(ActionResult::read(&value)),
        ..ended(ExecutorExit::Well)
    }
}

fn limits(text: &str) -> String {
    LOOP.replace("turns = 30\n", &format!("{text}\n"))
}

/// The run waits, counts turns and costs but no failure, and does not move the task; whoever is limited for ever ends it
/// by a limit of the run.
#[test]
fn a_run_waits_for_a_limit_and_keeps_its_own() {
    for (turns, told, times, ending, story, why) in [
        // The answer by default is the first turn.
        (
            "turns = 30",
            Some(3600),
            1,
            Ending::Completed,
            &["answer more", "find until 3600", "wait 1h", "find", "mend"][..],
            "the task is in `done`, which is terminal",
        ),
        (
            "turns = 30",
            None,
            3,
            Ending::Completed,
            &[
                "answer more",
                "find until 30",
                "wait 30s",
                "find until 90",
                "wait 1m",
                "find until 210",
                "wait 2m",
                "find",
                "mend",
            ],
            "the task is in `done`, which is terminal",
        ),
        (
            "turns = 3",
            None,
            9,
            Ending::Exhausted,
            &["answer more", "find until 30", "wait 30s"],
            "all 3 turns of the run are used up; `agent` has reached a limit",
        ),
        (
            "turns = 30\ncost = 0.5",
            None,
            9,
            Ending::Exhausted,
            &["answer more", "find until 30", "wait 30s"],
            "the run has cost 0.50; its limit is 0.50; `agent` has reached a limit",
        ),
        (
            "turns = 30\ntime = \"1m\"",
            None,
            9,
            Ending::Exhausted,
            &["answer more", "find until 30", "wait 30s"],
            "the time limit of 1m would end a wait until 1970-01-01T00:01:30Z: `agent` has reached a limit",
        ),
        (
            "turns = 30\ntime = \"1m\"",
            Some(3600),
            9,
            Ending::Exhausted,
            &["answer more"],
            "the time limit of 1m would end a wait until 1970-01-01T01:00:00Z: `agent` has reached a limit",
        ),
    ] {
        let text = limits(turns);
        let workflow = workflow(&text);
        let mut play = Play::new(&workflow, Mode::Auto);
        let mut left = times;
        play.perform = Box::new(move |name, _| {
            if left == 0 {
                return good(name);
            }
            left -= 1;
            limited(told)
        });
        let (how, reason) = play.run();
        assert_eq!(
            (how, reason.as_str()),
            (ending, why),
            "{turns}: {:?}",
            play.story
        );
        assert!(play.failed.is_empty() && play.machine.usage.failures.is_empty());
        let moves = |line: &&String| !line.starts_with("to ");
        let told: Vec<&str> = play
            .story
            .iter()
            .filter(moves)
            .map(String::as_str)
            .collect();
        assert_eq!(told, story, "{turns}");
    }
}

/// A person who pauses or stops the run does not wait for its limit.
#[test]
fn an_order_ends_the_wait() {
    for (request, ending) in [
        (ControlRequest::Interrupt, Ending::Paused),
        (ControlRequest::Pause, Ending::Paused),
        (ControlRequest::Stop, Ending::Stopped),
    ] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(|_, _| limited(Some(3600)));
        play.block = Box::new(move |effect| match effect {
            RunEffect::Wait(..) => (None, Some(request)),
            _ => (None, None),
        });
        assert_eq!(play.run().0, ending);
        let limit = play.machine.limit.as_ref().map(|limit| limit.until);
        assert_eq!(
            limit,
            Some(Timestamp::from_seconds(3600)),
            "the next run waits for it"
        );
    }
}

/// A run that continues waits for what is left, unless the limit is that of another job.
#[test]
fn the_next_process_waits_for_what_is_left() {
    for (job, waits) in [("find", true), ("mend", false)] {
        let workflow = workflow(LOOP);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.machine.limit = Some(LimitWait {
            job: Job::Action(job.to_owned()),
            until: Timestamp::from_seconds(600),
            why: String::new(),
            times: 2,
        });
        play.perform = Box::new(|name, _| good(name));
        assert_eq!(play.run().0, Ending::Completed);
        let has_waited = play.story.contains(&"wait 10m".to_owned());
        assert_eq!(has_waited, waits, "{:?}", play.story);
        assert_eq!(play.machine.limit, None);
    }
}

/// What no further try can change ends the run at once, without a failure and without giving anything up.
#[test]
fn what_does_not_pass_ends_the_run_at_once() {
    let workflow = workflow(LOOP);
    let mut play = Play::new(&workflow, Mode::Auto);
    let why = "`agent` is not signed in";
    play.perform = Box::new(move |_, _| ended(ExecutorExit::Hopeless(why.to_owned())));
    assert_eq!(play.run(), (Ending::Error, why.to_owned()));
    let usage = &play.machine.usage;
    assert_eq!((usage.turns, usage.cost), (2, 0.25));
    assert!(usage.failures.is_empty() && play.machine.doing.is_none());
    assert_eq!(play.state.run.errors, 0);
}

/// Of one conversation only what has been added counts; one that begins again counts as a whole.
#[test]
fn a_conversation_is_charged_once() {
    let mut usage = Usage::default();
    for (conversation, cost, charged) in [
        ("a", 0.5, 0.5),
        ("a", 0.75, 0.25),
        ("b", 1.0, 1.0),
        ("a", 0.75, 0.0),
        ("a", 0.25, 0.25),
    ] {
        assert_eq!(
            usage.charge(conversation, cost),
            charged,
            "{conversation} {cost}"
        );
    }
}

/// A run that ends because nothing changes says what the agent was denied.
#[test]
fn what_an_agent_said_stands_beside_the_end() {
    let text = LOOP.replace(
        "state.mended < state.found",
        "state.found == 0 || state.mended < state.found",
    );
    let workflow = workflow(&text);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.perform = Box::new(|_, _| Returned {
        said: Some("it was denied Write (a.md)".to_owned()),
        result: Some(ActionResult::read(&json!({"stateUpdates": {"found": 0}}))),
        ..ended(ExecutorExit::Well)
    });
    let (ending, why) = play.run();
    assert_eq!(ending, Ending::Stalled, "{why}");
    assert!(why.ends_with("; it was denied Write (a.md)"), "{why}");
}

/// Whatever executors report, each step of a run leaves less, so that it ends.
#[test]
fn any_mixture_of_limits_and_failures_ends() {
    let workflow = workflow(LOOP);
    for seed in 0..40 {
        let mut chance = Chance::new(seed);
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(move |name, turn| match chance.below(6) {
            0 => good(name),
            1 => limited(None),
            2 => limited(Some(i64::from(turn) * 500)),
            3 => limited(Some(-1)),
            4 if chance.below(8) == 0 => ended(ExecutorExit::Hopeless("no".to_owned())),
            _ => ended(ExecutorExit::Badly("it exited with code 1".to_owned())),
        });
        play.run();
        assert!(play.machine.usage.turns <= 30, "seed {seed}");
    }
}

/// The budget of a run holds for time, too, however long the executor itself works.
#[test]
fn the_time_that_is_left_bounds_each_wait() {
    let text = limits("turns = 30\ntime = \"5m\"");
    let workflow = workflow(&text);
    let mut play = Play::new(&workflow, Mode::Auto);
    play.machine.budget = Budget {
        cost: None,
        ..play.machine.budget
    };
    play.took = Period::from_seconds(100);
    play.perform = Box::new(|_, _| limited(None));
    let (ending, why) = play.run();
    assert_eq!(ending, Ending::Exhausted, "{why}");
    assert!(
        play.machine.usage.time <= Period::from_seconds(500),
        "{:?}",
        play.story
    );
}
