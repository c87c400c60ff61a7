//! The shipped `ccw-loop`: an honest executor that keeps its files of progress, and a person at the menu.

mod real;

use super::matrix::outcomes;
use super::simulator::{Ended, Job, Machine, Reply, Simulation, shipped};
use crate::model::Chance;
use orch_core::decide::{Ending, Kind, Mode, Verdict};
use orch_core::workflow::{Signal, System};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static MACHINE: LazyLock<Machine> = LazyLock::new(|| Machine {
    files,
    ..Machine::new(shipped("ccw-loop"), honest, asking, person)
});

/// Two tasks, tests that fail once, and a cause that is found at once.
fn honest(job: &Job<'_>) -> Value {
    match job.action.as_str() {
        "validate" if job.before == 0 => validated(&["failed", "passed"]),
        _ => plain(job),
    }
}

/// What an action reports where everything goes well.
fn plain(job: &Job<'_>) -> Value {
    match job.action.as_str() {
        "init" => planned(2),
        "develop" => developed(job, "completed"),
        "debug" => debugged(job, "mend it"),
        "validate" => validated(&["passed"]),
        "complete" => {
            json!({"stateUpdates": {"skill_state": {"summary": {"text": "Done."}}}, "summary": "done"})
        }
        other => panic!("{other} is unknown"),
    }
}

fn planned(count: usize) -> Value {
    let tasks: Vec<Value> = (1..=count).map(|number| task(number, "pending")).collect();
    json!({"stateUpdates": {"skill_state": {
        "develop": {"tasks": tasks},
        "debug": {"iteration": 0, "hypotheses": []},
        "validate": {"passed": false, "test_results": [], "failed_tests": []},
    }}, "summary": "planned"})
}

fn task(number: usize, status: &str) -> Value {
    json!({"id": format!("task-{number:03}"), "description": "a part of it", "status": status})
}

fn tasks(job: &Job<'_>) -> Vec<Value> {
    job.state["skill_state"]["develop"]["tasks"]
        .as_array()
        .expect("a plan")
        .clone()
}

/// The first open task comes out as this; without one, a new one is planned.
fn developed(job: &Job<'_>, status: &str) -> Value {
    let mut tasks = tasks(job);
    match tasks.iter_mut().find(|task| task["status"] == "pending") {
        Some(open) => open["status"] = json!(status),
        None => tasks.push(task(tasks.len() + 1, "pending")),
    }
    json!({"stateUpdates": {"skill_state": {"develop": {"tasks": tasks}}}, "summary": "developed"})
}

/// The cause is found: failed tasks are tried again, and a new one says what to mend.
fn debugged(job: &Job<'_>, description: &str) -> Value {
    let mut tasks = tasks(job);
    for failed in tasks.iter_mut().filter(|task| task["status"] == "failed") {
        failed["status"] = json!("pending");
    }
    let mut new = task(tasks.len() + 1, "pending");
    new["description"] = json!(description);
    tasks.push(new);
    let debug = json!({"iteration": job.before + 1, "active_bug": "it fails", "confirmed_hypothesis": "H1",
        "hypotheses": [{"id": "H1", "description": "the cause", "status": "confirmed"}]});
    json!({"stateUpdates": {"skill_state": {"debug": debug, "develop": {"tasks": tasks}}}, "summary": "found"})
}

fn validated(statuses: &[&str]) -> Value {
    let name = |index: usize| format!("test {index}");
    let results: Vec<Value> = statuses
        .iter()
        .enumerate()
        .map(|(index, status)| json!({"test_name": name(index), "status": status}))
        .collect();
    let failed: Vec<String> = (0..statuses.len())
        .filter(|index| statuses[*index] == "failed")
        .map(name)
        .collect();
    json!({"stateUpdates": {"skill_state": {"validate": {
        "passed": failed.is_empty(), "test_results": results, "failed_tests": failed}}}, "summary": "validated"})
}

fn asking(_: &Job<'_>) -> Value {
    json!({"status": "needs_input", "message": "what is meant?"})
}

fn person(ask: &str, state: &Map<String, Value>, chance: &mut Chance) -> Value {
    if ask != "more" {
        return json!({"notes": format!("note {}", chance.below(9))});
    }
    let taken = state["current_iteration"].as_u64().expect("a number");
    json!({"max_iterations": (taken + chance.below(3)).max(1)})
}

/// The files of progress say what the state will say.
fn files(job: &Job<'_>, result: &Value, path: &str) -> Option<String> {
    let part = path.strip_prefix("progress/")?.strip_suffix(".json")?;
    let known = job
        .state
        .get("skill_state")
        .and_then(|parts| parts.get(part))
        .cloned();
    let mut value = known.unwrap_or_else(|| json!({}));
    if let Some(given) = result["stateUpdates"]["skill_state"][part].as_object() {
        value
            .as_object_mut()
            .expect("an object")
            .extend(given.clone());
    }
    Some(value.to_string())
}

fn reply(job: &Job<'_>, result: &Value) -> Reply {
    MACHINE.reply(job, result)
}

/// Runs a task; what the script does not say goes well.
fn run(
    task: &mut Simulation<'_>,
    mode: Mode,
    mut script: impl FnMut(&Job<'_>) -> Option<Value>,
) -> Ended {
    task.run(mode, &mut |job| {
        let result = script(job).unwrap_or_else(|| plain(job));
        reply(job, &result)
    })
}

fn picked(task: &mut Simulation<'_>, action: &str) {
    task.answer(&json!({"action": action}))
        .unwrap_or_else(|fault| panic!("{action}: {fault}"));
}

#[test]
fn l1_the_plan_is_made_once() {
    let mut task = MACHINE.task();
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(
        task.trace,
        ["init", "develop", "develop", "validate", "complete"]
    );
    assert_eq!(
        (task.phase().as_str(), task.at("/current_iteration")),
        ("completed", json!(4))
    );
}

/// The contract of the older loop: what has a place reaches the state, and what orch keeps itself is passed over.
#[test]
fn what_an_executor_of_the_older_loop_reports_reaches_the_state() {
    let mut task = MACHINE.task();
    let ended = run(&mut task, Mode::Auto, |job| {
        let of_skill = json!({"summary": {"text": "Done."}, "current_action": null, "last_action": "action-complete",
            "completed_actions": ["action-complete"], "mode": "auto", "errors": []});
        (job.action.as_str() == "complete")
            .then(|| json!({"skillStateUpdates": of_skill, "continue": true, "message": "done"}))
    });
    assert_eq!(ended.ending, Ending::Completed, "{}", ended.reason);
    assert_eq!(
        task.trace,
        ["init", "develop", "develop", "validate", "complete"]
    );
    assert_eq!(task.at("/skill_state/summary"), json!({"text": "Done."}));
    assert_eq!(task.at("/skill_state/last_action"), Value::Null);
}

#[test]
fn l2_when_every_task_is_done_the_tests_run() {
    let mut task = MACHINE.task();
    // A task that fails is looked into, not passed over, and not developed again as it is.
    run(&mut task, Mode::Auto, |job| {
        (job.action.as_str() == "develop" && job.before == 0).then(|| developed(job, "failed"))
    });
    let expected = [
        "init", "develop", "develop", "debug", "develop", "develop", "validate", "complete",
    ];
    assert_eq!(task.trace, expected);
    assert_eq!(task.phase(), "completed");
}

#[test]
fn l3_a_confirmed_hypothesis_does_not_validate_for_ever() {
    let mut task = MACHINE.task();
    let ended = task.run(Mode::Auto, &mut |job| reply(job, &honest(job)));
    assert_eq!(ended.ending, Ending::Completed);
    assert_eq!(task.at("/skill_state/debug/confirmed_hypothesis"), "H1");
    let expected = [
        "init", "develop", "develop", "validate", "debug", "develop", "validate", "complete",
    ];
    assert_eq!(task.trace, expected);
}

#[test]
fn l4_a_failed_validation_leads_to_a_new_task_or_to_an_end() {
    let mut task = MACHINE.task();
    let ended = run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "validate" => Some(validated(&["failed"])),
        "debug" => {
            let found = json!({"iteration": 1, "hypotheses": []});
            let develop = job.state["skill_state"]["develop"].clone();
            Some(json!({"stateUpdates": {"skill_state": {"debug": found, "develop": develop}}}))
        }
        _ => None,
    });
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Stalled, "running"),
        "{}",
        ended.reason
    );
    assert_eq!(
        task.trace,
        ["init", "develop", "develop", "validate", "debug", "debug"]
    );
}

/// Tests that never pass, and always a new idea.
fn hopeless(job: &Job<'_>) -> Option<Value> {
    match job.action.as_str() {
        "validate" => {
            let mut result = validated(&["failed"]);
            result["stateUpdates"]["skill_state"]["validate"]["pass_rate"] = json!(job.before);
            Some(result)
        }
        "debug" => Some(debugged(job, &format!("idea {}", job.before))),
        _ => None,
    }
}

#[test]
fn l5_the_iteration_limit_is_an_end_of_its_own_and_no_success() {
    let mut task = MACHINE.task();
    let ended = run(&mut task, Mode::Auto, hopeless);
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Failed, "exhausted")
    );
    assert_eq!(
        (task.at("/current_iteration"), ended.turns),
        (json!(10), 10)
    );
    assert_eq!(task.at("/failure_reason"), "max_iterations");
    assert_eq!(run(&mut task, Mode::Auto, hopeless).turns, 0, "it is over");
    // Whoever opens it again is asked; nothing raises the limit by itself.
    task.reopen(Some("running"));
    let ended = run(&mut task, Mode::Auto, hopeless);
    assert_eq!((ended.ending, ended.turns), (Ending::Waiting, 0));
    task.answer(&json!({"max_iterations": 0}))
        .expect_err("not a limit");
    task.answer(&json!({"current_iteration": 0}))
        .expect_err("not asked for");
    task.answer(&json!({"max_iterations": 12}))
        .expect("asked for");
    let ended = run(&mut task, Mode::Auto, hopeless);
    assert_eq!((task.phase().as_str(), ended.turns), ("exhausted", 2));
}

#[test]
fn l5_what_is_validated_at_the_limit_is_completed() {
    let mut task = MACHINE.task();
    run(&mut task, Mode::Auto, |job| {
        (job.action.as_str() == "init").then(|| planned(8))
    });
    assert_eq!(
        (task.at("/current_iteration"), task.at("/max_iterations")),
        (json!(10), json!(10))
    );
    assert_eq!((task.trace.len(), task.phase().as_str()), (11, "completed"));
}

#[test]
fn l6_what_is_picked_runs_next_and_the_menu_counts_for_nothing() {
    let mut task = MACHINE.task();
    let ended = run(&mut task, Mode::Interactive, |_| None);
    assert_eq!((ended.ending, ended.turns), (Ending::Waiting, 1));
    for _ in 0..5 {
        let ended = run(&mut task, Mode::Interactive, |_| None);
        assert_eq!((ended.ending, ended.turns), (Ending::Waiting, 0));
    }
    assert_eq!(task.at("/current_iteration"), 1);
    let Verdict::Choose(offered) = task.decide().verdict else {
        panic!("a menu")
    };
    let offered: Vec<&str> = offered.iter().map(|action| action.as_str()).collect();
    assert_eq!(offered, ["develop", "debug"]);
    task.answer(&json!({"action": "complete"}))
        .expect_err("nothing is validated yet");
    for (at, action) in ["develop", "validate", "develop", "develop", "develop"]
        .into_iter()
        .enumerate()
    {
        picked(&mut task, action);
        assert_eq!(run(&mut task, Mode::Interactive, |_| None).turns, 1);
        assert_eq!(task.trace.last().map(String::as_str), Some(action));
        assert_eq!(task.at("/current_iteration"), at + 2);
    }
    // Without an open task the last two planned one and did it, so the verdict on the code is old.
    task.answer(&json!({"action": "complete"}))
        .expect_err("what is validated has changed");
    picked(&mut task, "validate");
    run(&mut task, Mode::Interactive, |_| None);
    picked(&mut task, "complete");
    assert_eq!(
        run(&mut task, Mode::Interactive, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(
        task.told
            .iter()
            .filter(|entry| entry.kind == Kind::Answer)
            .count(),
        7
    );
}

#[test]
fn l7_neither_plane_writes_what_is_the_others() {
    for (pointer, value) in [
        ("status", json!("completed")),
        ("current_iteration", json!(0)),
        ("max_iterations", json!(1000)),
        ("validated", json!(true)),
        (
            "skill_state.validate",
            json!({"passed": true, "test_results": [], "failed_tests": []}),
        ),
        ("skill_state", Value::Null),
    ] {
        let mut task = MACHINE.task();
        run(&mut task, Mode::Auto, |job| {
            let mut result = plain(job);
            if job.action.as_str() == "develop" {
                result["stateUpdates"][pointer] = value.clone();
            }
            Some(result)
        });
        assert_eq!(
            task.trace,
            ["init", "develop", "develop", "develop"],
            "{pointer}"
        );
        assert_eq!(
            (task.phase().as_str(), task.at("/current_iteration")),
            ("failed", json!(1))
        );
    }
}

#[test]
fn l12_what_keeps_failing_ends_the_loop() {
    let mut task = MACHINE.task();
    let ended = task.run(Mode::Auto, &mut |_| {
        Reply::Printed("no JSON".to_owned(), Vec::new())
    });
    assert_eq!((ended.ending, ended.turns), (Ending::Failed, 3));
    assert_eq!(task.at("/failure_reason"), "no plan could be made");
    // At the menu there is more to try, until too much was given up.
    let mut task = MACHINE.task();
    run(&mut task, Mode::Interactive, |_| None);
    for action in ["develop", "develop", "validate"] {
        picked(&mut task, action);
        run(&mut task, Mode::Interactive, |_| None);
    }
    for action in ["develop", "debug", "validate"] {
        picked(&mut task, action);
        task.run(Mode::Interactive, &mut |_| Reply::Died);
    }
    assert_eq!(task.at("/failure_reason"), "too many actions were given up");
    assert_eq!(task.phase(), "failed");
}

#[test]
fn tests_passed_is_believed_only_where_a_test_did() {
    let blaming = |mut result: Value| {
        result["stateUpdates"]["skill_state"]["validate"]["failed_tests"] = json!(["test 9"]);
        result
    };
    for told in [
        validated(&[]),
        validated(&["skipped"]),
        blaming(validated(&["passed"])),
    ] {
        let mut task = MACHINE.task();
        run(&mut task, Mode::Auto, |job| {
            (job.action.as_str() == "validate").then(|| told.clone())
        });
        assert_eq!(task.trace[3..], ["validate", "validate", "validate"]);
        assert_eq!(task.phase(), "failed");
    }
}

#[test]
fn a_file_of_progress_that_says_something_else_is_a_failure() {
    let mut task = MACHINE.task();
    let ended = task.run(Mode::Auto, &mut |job| {
        let Reply::Printed(output, mut files) = reply(job, &plain(job)) else {
            panic!("printed")
        };
        files[0].1 = Some(planned(3)["stateUpdates"]["skill_state"]["develop"].to_string());
        Reply::Printed(output, files)
    });
    assert_eq!((ended.ending, ended.turns), (Ending::Failed, 3));
}

#[test]
fn every_order_leads_where_the_table_says() {
    use Signal::{Pause, Resume, Start, Stop};
    let table: &[(&str, Mode, &[Signal], &str)] = &[
        ("created", Mode::Auto, &[Start], "running"),
        ("created", Mode::Auto, &[Stop], "failed"),
        ("created", Mode::Auto, &[Pause, Resume], "created"),
        ("running", Mode::Auto, &[Pause], "paused"),
        ("running", Mode::Auto, &[Stop], "failed"),
        ("running", Mode::Interactive, &[Stop], "user_exit"),
        ("running", Mode::Auto, &[Start, Resume], "running"),
        ("running", Mode::Auto, &[Pause, Resume], "running"),
        ("running", Mode::Auto, &[Pause, Pause, Start], "running"),
        ("running", Mode::Auto, &[Pause, Stop], "failed"),
        ("running", Mode::Interactive, &[Stop, Resume], "running"),
        ("running", Mode::Interactive, &[Stop, Stop], "failed"),
        (
            "running",
            Mode::Auto,
            &[Stop, Start, Resume, Pause, Stop],
            "failed",
        ),
    ];
    for (from, mode, orders, to) in table {
        let mut task = MACHINE.task();
        if *from == "running" {
            task.run(*mode, &mut |job| match job.action.as_str() {
                "init" => reply(job, &plain(job)),
                _ => Reply::Printed("{\"continue\": false}".to_owned(), Vec::new()),
            });
        }
        assert_eq!(task.phase(), *from);
        for order in *orders {
            // An order that nothing answers to changes nothing.
            let _ = task.order(*order);
        }
        assert_eq!(task.phase(), *to, "{from} {mode:?} {orders:?}");
    }
}

#[test]
fn pausing_refunds_nothing() {
    let mut task = MACHINE.task();
    for _ in 0..40 {
        let ended = task.run(Mode::Auto, &mut |job| {
            let mut result = hopeless(job).unwrap_or_else(|| plain(job));
            result["continue"] = json!(false);
            reply(job, &result)
        });
        if ended.ending != Ending::Paused {
            break;
        }
        task.order(Signal::Pause)
            .and_then(|()| task.order(Signal::Resume))
            .expect("answered");
    }
    assert_eq!(
        (task.phase().as_str(), task.at("/current_iteration")),
        ("exhausted", json!(10))
    );
}

/// The result that the prompt of an action shows.
fn example(action: &str) -> Value {
    let text = System::shipped()
        .agent(&format!("ccw-loop-{action}"))
        .expect("shipped")
        .to_owned();
    let block = text
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    serde_json::from_str(block.expect("an example"))
        .unwrap_or_else(|error| panic!("{action}: {error}"))
}

#[test]
fn every_example_of_a_prompt_is_accepted_at_the_first_try() {
    let mut task = MACHINE.task();
    let shown = |job: &Job<'_>| Some(example(job.action.as_str()));
    run(&mut task, Mode::Interactive, shown);
    for action in ["develop", "debug", "validate"] {
        picked(&mut task, action);
        run(&mut task, Mode::Interactive, shown);
    }
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "complete" => Some(example("complete")),
        _ => None,
    });
    let expected = [
        "init", "develop", "debug", "validate", "develop", "validate", "complete",
    ];
    assert_eq!(
        (task.trace.as_slice(), task.phase().as_str()),
        (&expected.map(str::to_owned)[..], "completed")
    );
}

#[test]
fn the_state_and_the_files_of_progress_have_one_shape() {
    let system = System::shipped();
    let read = |name: &str| -> Value {
        serde_json::from_str(system.schema(name).expect("shipped")).expect("JSON")
    };
    let state = read("ccw-loop");
    for part in ["develop", "debug", "validate"] {
        let mut file = read(&format!("ccw-loop-{part}"));
        for key in ["$schema", "$id", "examples"] {
            file.as_object_mut()
                .expect("an object")
                .remove(key)
                .expect(key);
        }
        assert_eq!(state["$defs"][part], file, "{part}");
    }
}

/// The limit, the tags, the priority and the notes belong to each loop, and a person sets them.
#[test]
fn the_settings_of_a_loop_are_its_own() {
    let mut task = MACHINE.task();
    let settings = json!({"max_iterations": 3, "tags": ["api"], "priority": "high", "notes": "ask Ann",
        "description": "Uploads are tried again."});
    task.answer(&settings).expect("asked for");
    task.answer(&json!({"priority": "urgent"}))
        .expect_err("not a priority");
    task.answer(&json!({"skill_state": {}}))
        .expect_err("the executor's");
    let ended = run(&mut task, Mode::Auto, hopeless);
    assert_eq!((task.phase().as_str(), ended.turns), ("exhausted", 3));
    assert_eq!(
        (task.at("/tags"), task.at("/notes")),
        (json!(["api"]), json!("ask Ann"))
    );
}

/// While the loop is paused, its list of tasks is open to people.
#[test]
fn tasks_are_added_reordered_and_removed() {
    let mut task = MACHINE.task();
    run(&mut task, Mode::Interactive, |job| {
        (job.action.as_str() == "init").then(|| planned(3))
    });
    task.answer(&json!({"skill_state.develop.tasks": []}))
        .expect_err("the loop is running");
    task.order(Signal::Pause).expect("running");
    let mut list = [4, 1].map(|number| self::task(number, "pending"));
    list[0]["description"] = json!("first");
    task.answer(&json!({"skill_state.develop.tasks": list}))
        .expect("paused");
    task.answer(&json!({"skill_state.develop.tasks": []}))
        .expect_err("no list of tasks");
    task.order(Signal::Resume).expect("paused");
    let mut seen = Vec::new();
    run(&mut task, Mode::Auto, |job| {
        if job.action.as_str() == "develop" {
            let open = tasks(job)
                .into_iter()
                .find(|task| task["status"] == "pending");
            seen.push(open.expect("a task")["id"].clone());
        }
        None
    });
    assert_eq!(
        (seen, task.phase().as_str()),
        (vec![json!("task-004"), json!("task-001")], "completed")
    );
}

/// The words of the older loop's executors: their own key for updates, and their further fields.
#[test]
fn what_executors_of_the_older_loop_report_is_accepted() {
    let mut task = MACHINE.task();
    let ended = task.run(Mode::Auto, &mut |job| {
        let mut result = honest(job);
        let mut updates = result["stateUpdates"]["skill_state"].clone();
        match job.action.as_str() {
            "develop" => {
                updates["develop"]["tasks"][0]["tool"] = json!("gemini");
                updates["develop"]["tasks"][0]["created_at"] = json!("2026-01-22T10:00:00Z");
                updates["develop"]["completed"] = json!(1);
            }
            "debug" => {
                updates["debug"]["hypotheses"][0]["evidence"] = json!([{"hid": "H1", "ts": 1}]);
                updates["debug"]["hypotheses_count"] = json!(1);
            }
            "validate" => {
                updates["validate"]["test_results"][0]["stack_trace"] = json!("at upload")
            }
            _ => {}
        }
        result["stateUpdates"]["skill_state"] = updates.clone();
        let Reply::Printed(_, files) = reply(job, &result) else {
            panic!("it printed")
        };
        let told = json!({"skillStateUpdates": updates, "message": "done", "continue": true});
        Reply::Printed(format!("{told}\n"), files)
    });
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Completed, "completed"),
        "{}",
        ended.reason
    );
    assert_eq!(task.at("/skill_state/develop/tasks/0/tool"), "gemini");
    assert_eq!(
        task.at("/skill_state/validate/test_results/0/stack_trace"),
        "at upload"
    );
}

#[test]
fn the_progress_is_shown() {
    let mut task = MACHINE.task();
    let mut shown = Vec::new();
    for _ in 0..4 {
        run(&mut task, Mode::Interactive, |_| None);
        shown.push(task.decide().substate.expect("progress"));
        let next = ["develop", "develop", "validate", "complete"][shown.len() - 1];
        picked(&mut task, next);
    }
    run(&mut task, Mode::Interactive, |_| None);
    shown.push(task.decide().substate.expect("progress"));
    assert_eq!(
        shown,
        [
            "0 of 2 tasks, 0 %, last: init",
            "1 of 2 tasks, 25 %, last: develop",
            "2 of 2 tasks, 50 %, last: develop",
            "2 of 2 tasks, 100 %, validated, last: validate",
            "2 of 2 tasks, 100 %, validated, last: complete",
        ]
    );
}

#[test]
fn whatever_executors_do_the_loop_comes_to_an_end() {
    let found: BTreeSet<(&str, String)> = outcomes(&MACHINE)
        .into_iter()
        .map(|outcome| (outcome.ending, outcome.phase))
        .collect();
    let expected = [
        ("completed", "completed"),
        ("failed", "exhausted"),
        ("failed", "failed"),
        ("stalled", "running"),
        ("waiting", "running"),
    ];
    for (ending, phase) in &found {
        assert!(
            expected.contains(&(ending, phase.as_str())),
            "{ending} in {phase}"
        );
    }
    assert!(found.len() >= 4, "{found:?}");
}
