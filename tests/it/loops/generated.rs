//! Workflows made of a skill's configuration: where their ancestor went round for ever, they end.

use super::matrix::slice;
use super::simulator::{Ended, Job, Machine, Reply, Simulation};
use crate::core::world::World;
use crate::harness::project;
use crate::model::Chance;
use orch_core::decide::{Ending, Mode, Verdict};
use orch_core::workflow::{Document, Signal, System, compile};
use orch_scaffold::{Strategy, read, scaffold};
use serde_json::{Map, Value, json};
use std::fs;

/// The machine that a configuration yields.
fn machine(fixture: &str, strategy: Strategy) -> Machine {
    let path = project().join(format!("fixtures/skills/valid/{fixture}.json"));
    let config = serde_json::from_str(&fs::read_to_string(path).expect("a fixture")).expect("JSON");
    // One fixture has a key without effect.
    let warnings: &[&str] = if fixture == "issue-triage" {
        &["skill-dropped"]
    } else {
        &[]
    };
    machine_with(&config, strategy, warnings)
}

fn machine_of(config: &Value, strategy: Strategy) -> Machine {
    machine_with(config, strategy, &[])
}

/// The machine of a configuration that yields exactly these warnings.
fn machine_with(config: &Value, strategy: Strategy, warnings: &[&str]) -> Machine {
    let (skill, mut faults) = read(config);
    assert!(
        faults.iter().all(|fault| !fault.diagnostic.is_error()),
        "{faults:#?}"
    );
    let (made, more) =
        scaffold("made", &skill, strategy).unwrap_or_else(|faults| panic!("{faults:#?}"));
    faults.extend(more);
    let warned: Vec<&str> = faults
        .iter()
        .map(|fault| fault.diagnostic.code.as_str())
        .collect();
    assert_eq!(warned, warnings, "{faults:#?}");
    let system = made
        .into_iter()
        .fold(System::empty(), |system, (path, text)| {
            system.with(path, text)
        });
    let text = system.workflow("made").expect("a document").to_owned();
    let (workflow, problems) = compile(&Document::new("made", "made.md", text), &system);
    assert_eq!(problems, []);
    let workflow = workflow.expect("compiled");
    Machine {
        files,
        ..Machine::new(
            workflow,
            honest,
            |_| json!({"status": "needs_input"}),
            person,
        )
    }
}

/// Three issues, each processed and reviewed.
fn honest(job: &Job<'_>) -> Value {
    let items = job
        .state
        .get("pending_items")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let updates = match job.action.as_str() {
        "init" => json!({"pending_items": ["a", "b", "c"]}),
        "process" => {
            json!({"pending_items": items.get(1..).unwrap_or_default(), "needs_review": true,
            "results": {format!("{}", items.len()): "close it"}})
        }
        "review" => json!({"needs_review": false, "quality_score": 80}),
        _ => json!({}),
    };
    json!({"stateUpdates": updates, "summary": "done"})
}

fn person(ask: &str, _: &Map<String, Value>, _: &mut Chance) -> Value {
    panic!("{ask}: nothing is asked but what to pick")
}

/// What the review of the specification writes.
fn files(_: &Job<'_>, _: &Value, path: &str) -> Option<String> {
    assert_eq!(path, "spec-review.json");
    let review = json!({"status": "complete", "specs_loaded": ["system/workflows/made/README.md"]});
    Some(review.to_string())
}

fn run(
    machine: &Machine,
    task: &mut Simulation<'_>,
    mode: Mode,
    mut script: impl FnMut(&Job<'_>) -> Option<Value>,
) -> Ended {
    task.run(mode, &mut |job| {
        machine.reply(job, &script(job).unwrap_or_else(|| honest(job)))
    })
}

#[test]
fn g1_what_is_completed_stays_completed_though_nobody_listed_it() {
    let machine = machine("bare", Strategy::Priority);
    let mut task = machine.task();
    assert_eq!(
        run(&machine, &mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(task.trace, ["spec_review", "first", "second"]);
    let ended = run(&machine, &mut task, Mode::Auto, |_| None);
    assert_eq!(
        (ended.ending, ended.turns, task.phase().as_str()),
        (Ending::Completed, 0, "completed")
    );
}

#[test]
fn g2_a_precondition_that_stays_true_runs_its_action_once() {
    for strategy in [Strategy::Priority, Strategy::State] {
        let machine = machine("bare", strategy);
        let mut task = machine.task();
        run(&machine, &mut task, Mode::Auto, |_| None);
        assert_eq!(
            task.trace,
            ["spec_review", "first", "second"],
            "{strategy:?}"
        );
    }
}

#[test]
fn g2_an_action_that_the_state_asks_for_again_has_to_change_it() {
    let machine = machine("issue-triage", Strategy::State);
    let mut task = machine.task();
    assert_eq!(
        run(&machine, &mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(
        task.trace,
        [
            "spec_review",
            "init",
            "process",
            "process",
            "process",
            "review",
            "complete"
        ]
    );
    // Counting what it did is no change.
    let mut task = machine.task();
    let ended = run(&machine, &mut task, Mode::Auto, |job| {
        (job.action.as_str() == "process").then(|| json!({"stateUpdates": {}}))
    });
    assert_eq!(ended.ending, Ending::Stalled, "{}", ended.reason);
    assert_eq!(task.trace, ["spec_review", "init", "process"]);
}

#[test]
fn g3_what_has_failed_stays_failed() {
    for (fixture, failing, phase) in [
        ("issue-triage", "init", "failed"),
        ("bare", "second", "failed"),
        ("hostile", "in_", "failed"),
    ] {
        let machine = machine(fixture, Strategy::Priority);
        let mut task = machine.task();
        let mut dies = |job: &Job<'_>| match job.action.as_str() {
            name if name == failing || name == "abort" => Reply::Died,
            _ => machine.reply(job, &honest(job)),
        };
        let ended = task.run(Mode::Auto, &mut dies);
        assert_eq!(
            (ended.ending, task.phase().as_str()),
            (Ending::Failed, phase),
            "{fixture}"
        );
        assert_eq!(task.run(Mode::Auto, &mut dies).turns, 0, "{fixture}");
    }
}

#[test]
fn g3_an_abort_that_works_runs_once() {
    let machine = machine("hostile", Strategy::Priority);
    let mut task = machine.task();
    let ended = task.run(Mode::Auto, &mut |job| match job.action.as_str() {
        "in_" => Reply::Died,
        _ => machine.reply(job, &honest(job)),
    });
    assert_eq!(ended.ending, Ending::Failed);
    assert_eq!(task.trace, ["spec_review", "in_", "in_", "in_", "abort"]);
}

#[test]
fn g4_an_action_without_preconditions_runs_and_runs_once() {
    let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
        "actions": [{"id": "collect"}, {"id": "sort", "preconditions": []}]}});
    for strategy in [Strategy::Priority, Strategy::State] {
        let machine = machine_of(&config, strategy);
        let mut task = machine.task();
        assert_eq!(
            run(&machine, &mut task, Mode::Auto, |_| None).ending,
            Ending::Completed
        );
        assert_eq!(
            task.trace,
            ["spec_review", "collect", "sort"],
            "{strategy:?}"
        );
    }
}

#[test]
fn g5_the_limit_of_iterations_counts_and_is_no_success() {
    let machine = machine("issue-triage", Strategy::State);
    let mut task = machine.task();
    let endless = |job: &Job<'_>| {
        (job.action.as_str() == "process")
            .then(|| json!({"stateUpdates": {"pending_items": [job.before.to_string()]}}))
    };
    let ended = run(&machine, &mut task, Mode::Auto, endless);
    assert_eq!((ended.ending, ended.turns), (Ending::Exhausted, 100));
    let ended = run(&machine, &mut task, Mode::Auto, endless);
    assert_eq!(
        (ended.ending, ended.turns, task.phase().as_str()),
        (Ending::Failed, 1, "failed")
    );
    assert_eq!(task.at("/iteration_count"), 100);
}

#[test]
fn g5_a_limit_of_its_own_is_no_success() {
    let config = |ends: &[&str]| {
        json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"fields": [{"name": "pending_items", "type": "string[]"}]},
            "actions": [{"id": "process", "preconditions": ["pending_items.length >= 0"]}],
            "termination_conditions": ends}})
    };
    for (ends, turns, phase) in [
        (&["iteration_count >= 3"][..], 3, "failed"),
        (&["completed_actions.length > 2"], 3, "failed"),
        (
            &["pending_items.length > 1 || iteration_count >= 3"],
            2,
            "completed",
        ),
        (
            &["pending_items.length > 9 || iteration_count >= 3"],
            3,
            "failed",
        ),
        (
            &["iteration_count >= 3 && pending_items.length > 0"],
            3,
            "completed",
        ),
        (
            &["completed_actions.includes('process') && iteration_count > 1"],
            2,
            "completed",
        ),
    ] {
        let machine = machine_of(&config(ends), Strategy::State);
        let mut task = machine.task();
        let ended = run(&machine, &mut task, Mode::Auto, |job| {
            let items: Vec<String> = (0..=job.before).map(|item| item.to_string()).collect();
            (job.action.as_str() == "process")
                .then(|| json!({"stateUpdates": {"pending_items": items}}))
        });
        // The step that led to the failure says why.
        assert_eq!(
            ended.reason.contains("`failed`, which is terminal ("),
            phase == "failed",
            "{}",
            ended.reason
        );
        assert_eq!(
            (task.trace.len() - 1, task.phase().as_str()),
            (turns, phase),
            "{ends:?}: {:?}",
            task.trace
        );
    }
    let machine = machine_of(&config(&["error_count > 0"]), Strategy::State);
    let mut task = machine.task();
    task.run(Mode::Auto, &mut |job| match job.action.as_str() {
        "process" => Reply::Died,
        _ => machine.reply(job, &honest(job)),
    });
    assert_eq!(task.phase(), "failed");
}

#[test]
fn g6_no_text_of_a_configuration_becomes_machine() {
    let machine = machine("hostile", Strategy::Priority);
    assert!(
        machine
            .workflow
            .title
            .starts_with("$& $1 $` {{termination_checks}} \"quoted\" \\ <!-- orch:diagram")
    );
    let names: Vec<&str> = machine
        .workflow
        .actions
        .iter()
        .map(|action| action.name.as_str())
        .collect();
    assert_eq!(names, ["spec_review", "in_", "abort"]);
    assert_eq!(
        machine.workflow.actions[1].title.as_deref(),
        Some("Import $&\n[[rule]]")
    );
    assert!(
        machine
            .workflow
            .phases
            .iter()
            .all(|phase| phase.id.as_str() != "own")
    );
}

#[test]
fn g7_a_run_that_goes_on_begins_nothing_anew() {
    let machine = machine("issue-triage", Strategy::State);
    let mut task = machine.task();
    let mut runs = 0;
    loop {
        let ended = run(&machine, &mut task, Mode::Auto, |job| {
            let mut result = honest(job);
            result["continue"] = json!(false);
            Some(result)
        });
        runs += 1;
        if ended.ending != Ending::Paused {
            break assert_eq!(ended.ending, Ending::Completed);
        }
    }
    assert_eq!(
        task.trace,
        [
            "spec_review",
            "init",
            "process",
            "process",
            "process",
            "review",
            "complete"
        ]
    );
    assert_eq!((runs, task.at("/results/1")), (7, json!("close it")));
}

#[test]
fn g8_conditions_are_rewritten_and_what_is_no_condition_is_refused() {
    let machine = machine("issue-triage", Strategy::State);
    let when = |name: &str| {
        let action = machine
            .workflow
            .actions
            .iter()
            .find(|action| action.name.as_str() == name);
        action.expect("known").when.text().to_owned()
    };
    assert_eq!(when("process"), "size(state.pending_items) > 0");
    assert_eq!(
        when("complete"),
        "!state.needs_review && size(state.pending_items) == 0"
    );
    for code in [
        "require('fs').rmSync('/')",
        "this.constructor.constructor('return 1')()",
        "`${1}`",
        "a => a",
    ] {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "actions": [{"id": "one", "preconditions": [code]}]}});
        let faults = scaffold("made", &read(&config).0, Strategy::State).expect_err(code);
        assert!(
            faults.iter().all(|fault| fault.span.is_some()),
            "{code}: {faults:?}"
        );
    }
}

#[test]
fn g9_three_tries_are_three_and_a_failed_one_changes_nothing() {
    let machine = machine("issue-triage", Strategy::State);
    let mut task = machine.task();
    let ended = run(&machine, &mut task, Mode::Auto, |job| {
        let failed = json!({"stateUpdates": {"pending_items": []}, "status": "failed"});
        (job.action.as_str() == "process").then_some(failed)
    });
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Failed, "failed")
    );
    assert_eq!(
        task.trace,
        ["spec_review", "init", "process", "process", "process"]
    );
    assert_eq!(task.at("/pending_items"), json!(["a", "b", "c"]));
}

#[test]
fn g10_a_person_picks_by_a_name_that_only_one_action_has() {
    let machine = machine("issue-triage", Strategy::User);
    let mut task = machine.task();
    let ended = run(&machine, &mut task, Mode::Interactive, |_| None);
    assert_eq!((ended.ending, ended.turns), (Ending::Waiting, 2));
    for (pick, offered) in [
        ("process", 1),
        ("process", 2),
        ("process", 2),
        ("review", 1),
    ] {
        let Verdict::Choose(names) = task.decide().verdict else {
            panic!("a menu")
        };
        assert_eq!(names.len(), offered, "{names:?}");
        task.answer(&json!({"action": pick})).expect("offered");
        assert_eq!(
            run(&machine, &mut task, Mode::Interactive, |_| None).turns,
            1
        );
    }
    task.answer(&json!({"action": "process"}))
        .expect_err("nothing is pending");
    task.answer(&json!({"action": "complete"}))
        .expect("offered");
    assert_eq!(
        run(&machine, &mut task, Mode::Interactive, |_| None).ending,
        Ending::Completed
    );
}

#[test]
fn g11_nothing_starts_before_the_specification_was_reviewed() {
    for strategy in Strategy::ALL {
        let machine = machine("issue-triage", strategy);
        let mut task = machine.task();
        let ended = task.run(Mode::Auto, &mut |_| {
            Reply::Printed("{\"summary\": \"read\"}".to_owned(), Vec::new())
        });
        assert_eq!(
            (ended.ending, task.phase().as_str()),
            (Ending::Waiting, "spec_review"),
            "{strategy:?}"
        );
        assert!(
            task.trace.iter().all(|action| action == "spec_review"),
            "{:?}",
            task.trace
        );
        // A review that leaves questions open is one for a person.
        let mut task = machine.task();
        let open =
            json!({"status": "incomplete", "specs_loaded": ["system/workflows/made/README.md"]})
                .to_string();
        let ended = task.run(Mode::Auto, &mut |_| {
            Reply::Printed(
                "{\"summary\": \"read\"}".to_owned(),
                vec![("spec-review.json".to_owned(), Some(open.clone()))],
            )
        });
        assert_eq!(
            (ended.ending, ended.turns),
            (Ending::Waiting, 1),
            "{strategy:?}"
        );
        // And it has to stay.
        let mut task = machine.task();
        task.run(Mode::Auto, &mut |job| match job.action.as_str() {
            "init" => Reply::Printed(
                "{\"continue\": false, \"summary\": \"\"}".to_owned(),
                Vec::new(),
            ),
            _ => machine.reply(job, &honest(job)),
        });
        task.write("spec-review.json", Some(String::new()));
        assert!(
            matches!(task.decide().verdict, Verdict::Inconsistent { .. }),
            "{strategy:?}"
        );
        assert_eq!(run(&machine, &mut task, Mode::Auto, |_| None).turns, 0);
    }
}

#[test]
fn g12_what_was_done_can_be_asked_for() {
    let action = |id: &str, condition: &str| json!({"id": id, "preconditions": [condition]});
    let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {"actions": [
        action("last", "completed_actions.includes('action-second') && completed_actions.length === 2"),
        action("second", "completed_actions.includes('first') || completed_actions.includes('last')"),
        action("action-first", "!completed_actions.includes('last')")]}});
    let machine = machine_of(&config, Strategy::Priority);
    let mut task = machine.task();
    assert_eq!(
        run(&machine, &mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(task.trace, ["spec_review", "first", "second", "last"]);
}

#[test]
fn a_person_may_end_it_at_any_moment() {
    let machine = machine("issue-triage", Strategy::User);
    for before in [false, true] {
        let mut task = machine.task();
        if before {
            run(&machine, &mut task, Mode::Interactive, |_| None);
        }
        task.order(Signal::Stop).expect("answered");
        assert_eq!(task.phase(), "user_exit");
        assert_eq!(
            run(&machine, &mut task, Mode::Interactive, |_| None).ending,
            Ending::Failed
        );
    }
}

#[test]
fn a_condition_of_its_own_ends_it_as_completed() {
    let machine = machine("issue-triage", Strategy::State);
    let mut task = machine.task();
    run(&machine, &mut task, Mode::Auto, |job| {
        (job.action.as_str() == "review")
            .then(|| json!({"stateUpdates": {"needs_review": false, "quality_score": 95}}))
    });
    assert_eq!(task.phase(), "completed");
    assert_eq!(task.trace.last().map(String::as_str), Some("review"));
}

/// The shape of the example that the generator's own description gives: names that nothing declares, effects in
/// prose, no condition for the end of the work.
#[test]
fn an_example_with_undeclared_names_runs_to_its_good_end() {
    let action = |id: &str, conditions: &[&str], effect: &str| json!({"id": id, "preconditions": conditions, "effects": [effect]});
    let config = json!({"skill_name": "s", "description": "d", "execution_mode": "autonomous",
        "autonomous_config": {
            "state_schema": {"fields": [{"name": "tasks", "type": "object[]"}]},
            "actions": [action("action-list", &[], "Show it"),
                action("action-create", &[], "One task becomes task_selected"),
                action("action-edit", &["task_selected"], "Change tasks"),
                action("action-delete", &["task_selected"], "Take it out of tasks")],
            "termination_conditions": ["user_exit", "error_limit"]}});
    let (skill, faults) = read(&config);
    assert_eq!(faults, []);
    let (_, warnings) = scaffold("made", &skill, Strategy::Priority).expect("generated");
    let warned: Vec<String> = warnings
        .iter()
        .map(|fault| fault.diagnostic.message.clone())
        .collect();
    let idle = "the effect names no field of the state, so it allows no change";
    assert_eq!(
        warned,
        [
            "no field `task_selected` is declared, so it is taken for true or false",
            idle
        ]
    );
    let machine = machine_with(&config, Strategy::Priority, &["skill-type", "skill-effect"]);
    let mut task = machine.task();
    let ended = run(&machine, &mut task, Mode::Auto, |job| {
        (job.action.as_str() == "create").then(|| json!({"stateUpdates": {"task_selected": true}}))
    });
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Completed, "completed")
    );
    assert_eq!(
        task.trace,
        ["spec_review", "list", "create", "edit", "delete"]
    );
}

/// What the generator warns of in [`sources_example`].
fn warned(strategy: Strategy) -> &'static [&'static str] {
    if strategy == Strategy::Priority {
        &["skill-repeats", "skill-repeats"]
    } else {
        &[]
    }
}

/// The example of the generator's own description: its actions name no effects, and each asks the state whether
/// there is anything to do.
fn sources_example() -> Value {
    let action = |id: &str, conditions: &[&str]| json!({"id": id, "preconditions": conditions});
    json!({"skill_name": "s", "description": "d", "execution_mode": "autonomous", "autonomous_config": {
        "state_schema": {"fields": [{"name": "pending_items", "type": "string[]"},
            {"name": "needs_review", "type": "boolean"}, {"name": "quality_score", "type": "number"},
            {"name": "results", "type": "object"}]},
        "actions": [action("action-init", &["status === 'pending'"]),
            action("action-process", &["pending_items?.length > 0"]),
            action("action-review", &["needs_review"]), action("action-complete", &[])],
        "termination_conditions": ["user_exit", "error_limit", "task_completed", "max_iterations"]}})
}

#[test]
fn the_example_of_the_source_runs_to_its_good_end() {
    for strategy in [Strategy::Priority, Strategy::State] {
        let machine = machine_with(&sources_example(), strategy, warned(strategy));
        let mut task = machine.task();
        let ended = run(&machine, &mut task, Mode::Auto, |_| None);
        assert_eq!(
            (ended.ending, task.phase().as_str()),
            (Ending::Completed, "completed"),
            "{strategy:?}"
        );
        assert_eq!(
            task.trace,
            [
                "spec_review",
                "init",
                "process",
                "process",
                "process",
                "review",
                "complete"
            ]
        );
        assert_eq!(
            (task.at("/pending_items"), task.at("/needs_review")),
            (json!([]), json!(false))
        );
    }
    let (skill, _) = read(&sources_example());
    let (_, warnings) = scaffold("made", &skill, Strategy::Priority).expect("generated");
    let warned: Vec<(&str, &str)> = warnings
        .iter()
        .map(|fault| (fault.diagnostic.code.as_str(), fault.pointer.as_str()))
        .collect();
    let actions = "/autonomous_config/actions";
    let at = |nth: u32| format!("{actions}/{nth}/preconditions");
    assert_eq!(
        warned,
        [
            ("skill-repeats", at(1).as_str()),
            ("skill-repeats", at(2).as_str())
        ]
    );
}

#[test]
fn an_end_with_work_left_is_not_completed() {
    for strategy in [Strategy::Priority, Strategy::State] {
        for (fails, expected, phase) in [
            (false, Ending::Stalled, "running"),
            (true, Ending::Failed, "failed"),
        ] {
            let machine = machine_with(&sources_example(), strategy, warned(strategy));
            let mut task = machine.task();
            let status = if fails { "failed" } else { "success" };
            let ended = run(&machine, &mut task, Mode::Auto, |job| {
                let left = job.state["pending_items"].as_array().map_or(0, Vec::len);
                (job.action.as_str() == "process" && left == 1).then(|| json!({"status": status}))
            });
            assert_eq!(
                (ended.ending, task.phase().as_str()),
                (expected, phase),
                "{strategy:?} {fails}"
            );
            assert_eq!(task.at("/pending_items"), json!(["c"]));
        }
    }
}

#[test]
fn an_action_that_says_what_it_changes_repeats_only_if_that_can_stop_it() {
    let action = |effects: &[&str]| json!({"id": "process", "preconditions": ["pending_items.length > 0"], "effects": effects});
    for (effects, keys, warnings, times) in [
        (
            &["pending_items loses its first"][..],
            &["pending_items"][..],
            &[][..],
            3,
        ),
        (&["results"], &["results"], &[], 1),
        (&["a report"], &[], &["skill-effect"], 1),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"pending_items": "string[]", "needs_review": "boolean", "results": "object"},
            "actions": [{"id": "init", "preconditions": ["status === 'pending'"]}, action(effects)]}});
        let machine = machine_with(&config, Strategy::Priority, warnings);
        let mut task = machine.task();
        let ended = run(&machine, &mut task, Mode::Auto, |job| {
            let result = honest(job);
            let mut updates = result["stateUpdates"].clone();
            updates
                .as_object_mut()?
                .retain(|key, _| keys.contains(&key.as_str()));
            (job.action.as_str() == "process").then(|| json!({"stateUpdates": updates}))
        });
        assert_eq!(
            ended.ending,
            Ending::Completed,
            "{effects:?}: {}",
            ended.reason
        );
        let count = task
            .trace
            .iter()
            .filter(|action| *action == "process")
            .count();
        assert_eq!(count, times, "{effects:?}");
    }
}

/// What an action may change: what its effects name, everything if it has none, and never more because a name is wrong.
#[test]
fn an_effect_that_names_no_field_allows_no_change() {
    let made = |effects: &Value| {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"items": "string[]", "approved": "boolean"},
            "actions": [{"id": "w", "effects": effects}]}});
        scaffold("made", &read(&config).0, Strategy::Priority)
    };
    let both = "writes = [\"/items\", \"/approved\"]";
    for (effects, writes, warnings) in [
        (json!([]), Some(both), 0),
        (json!(null), Some(both), 0),
        (json!(["approved", "state.items = []"]), Some(both), 0),
        (
            json!(["approved: yes"]),
            Some("writes = [\"/approved\"]"),
            0,
        ),
        (
            json!(["the list of items grows", "a report is written"]),
            Some("writes = [\"/items\"]"),
            1,
        ),
        (json!(["status = 'running'"]), None, 0),
        (json!(["results"]), None, 1),
        (json!(["An item is shown"]), None, 1),
    ] {
        let (files, faults) =
            made(&effects).unwrap_or_else(|faults| panic!("{effects}: {faults:#?}"));
        let (_, text) = files
            .iter()
            .find(|(path, _)| path == "workflows/made.md")
            .expect("a document");
        let found = text
            .lines()
            .find(|line| line.starts_with("writes") && line.contains("/"));
        assert_eq!(found, writes, "{effects}");
        let codes: Vec<&str> = faults
            .iter()
            .map(|fault| fault.diagnostic.code.as_str())
            .collect();
        assert_eq!(codes, vec!["skill-effect"; warnings], "{effects}");
    }
    for (effects, nth, name, near) in [
        (json!(["itmes"]), 0, "itmes", "items"),
        (json!(["items", "aproved"]), 1, "aproved", "approved"),
        (json!(["state.itmes.length + 1"]), 0, "itmes", "items"),
        (json!(["aproved = true"]), 0, "aproved", "approved"),
    ] {
        let faults = made(&effects).expect_err("refused");
        let [fault] = faults.as_slice() else {
            panic!("{effects}: {faults:#?}")
        };
        assert_eq!(
            fault.pointer,
            format!("/autonomous_config/actions/0/effects/{nth}")
        );
        assert_eq!(
            fault.diagnostic.message,
            format!("there is no field `{name}`")
        );
        assert_eq!(
            fault.diagnostic.hint,
            Some(format!("did you mean `{near}`?").into())
        );
    }
}

#[test]
fn the_defaults_of_a_configuration_are_the_initial_state() {
    let defaults = json!({"limit": 7, "ratio": 0.5, "tags": ["a", "b\n"], "mode": "slow", "note": "x",
        "extra": {"a.b": {"deep": [1, {"c": true}]}}});
    let kinds = json!({"limit": "integer", "ratio": "number", "tags": "string[]", "mode": "fast|slow",
        "note": "string", "extra": "object"});
    let field =
        |name: &str| json!({"type": kinds[name], "default": defaults[name], "description": "D."});
    let names: Vec<&str> = ["limit", "ratio", "tags", "mode", "note", "extra"].to_vec();
    let listed: Vec<Value> = names
        .iter()
        .map(|name| {
            let mut field = field(name);
            field["name"] = json!(name);
            field
        })
        .collect();
    let flat: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), field(name)))
        .collect();
    for schema in [
        json!({"fields": listed}),
        json!(flat),
        json!({"type": "object", "properties": flat}),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": schema, "actions": [{"id": "change", "effects": ["note"]}]}});
        assert_eq!(read(&config).1, [], "{schema}");
        let machine = machine_of(&config, Strategy::Priority);
        let mut task = machine.task();
        let ended = run(&machine, &mut task, Mode::Auto, |job| {
            (job.action.as_str() == "change").then(|| json!({"stateUpdates": {"note": "y"}}))
        });
        assert_eq!(ended.ending, Ending::Completed, "{}", ended.reason);
        for name in &names {
            let expected = if *name == "note" {
                json!("y")
            } else {
                defaults[name].clone()
            };
            assert_eq!(task.at(&format!("/{name}")), expected, "{name}");
        }
    }
    for (kind, default, pointer, message) in [
        (
            "number",
            json!("7"),
            "",
            "the default is not of the type of its field",
        ),
        (
            "fast|slow",
            json!("none"),
            "",
            "the default is not of the type of its field",
        ),
        (
            "any[]",
            json!([1, null]),
            "/1",
            "a default cannot contain null",
        ),
        (
            "string | null",
            json!("x"),
            "",
            "`one` is never null: without a value it has its default",
        ),
        (
            "object",
            json!({"a": u64::MAX}),
            "/a",
            "a default cannot contain a number above 9223372036854775807",
        ),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"one": {"type": kind, "default": default}}, "actions": [{"id": "a"}]}});
        let found: Vec<(String, String)> = read(&config)
            .1
            .into_iter()
            .map(|fault| (fault.pointer, fault.diagnostic.message))
            .collect();
        let at = format!("/autonomous_config/state_schema/one/default{pointer}");
        assert_eq!(found, [(at, message.to_owned())]);
    }
}

/// The type of a field, as a schema and as whether a new task has it.
#[test]
fn a_field_has_the_type_that_its_json_schema_gives() {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let levels = json!({"enum": ["low", "high"]});
    for (field, schema, initial) in [
        (json!("string[]"), texts.clone(), Some(json!([]))),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            texts,
            Some(json!([])),
        ),
        (
            json!({"type": "array", "items": {"type": ["string", "null"]}}),
            json!({"type": "array"}),
            Some(json!([])),
        ),
        (
            json!({"enum": ["low", "high"]}),
            levels.clone(),
            Some(json!("low")),
        ),
        (
            json!({"type": "string", "enum": ["low", "high", null]}),
            levels,
            None,
        ),
        (json!({"type": ["string", "null"]}), text, None),
        (
            json!({"type": "number", "default": null}),
            json!({"type": "number"}),
            None,
        ),
        (
            json!({"type": "number"}),
            json!({"type": "number"}),
            Some(json!(0)),
        ),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"type": "object", "properties": {"one": field}}, "actions": [{"id": "a"}]}});
        let (skill, faults) = read(&config);
        assert_eq!(faults, [], "{field}");
        let (files, _) = scaffold("made", &skill, Strategy::Priority).expect("generated");
        let made = files
            .iter()
            .find(|(path, _)| path == "schemas/made-state.schema.json")
            .expect("a schema");
        let made: Value = serde_json::from_str(&made.1).expect("JSON");
        assert_eq!(made["properties"]["one"], schema, "{field}");
        assert_eq!(made["examples"][0].get("one"), initial.as_ref(), "{field}");
    }
    for (field, below, message) in [
        (
            json!({"type": "string[]", "default": [1, 2]}),
            "/default",
            "the default is not of the type of its field",
        ),
        (
            json!({"type": ["string", 1]}),
            "/type",
            "the value should be a type or a list of types",
        ),
        (
            json!({"type": []}),
            "/type",
            "the value should be a type or a list of types",
        ),
        (
            json!({"type": ["string", " "]}),
            "/type",
            "the value should be a type or a list of types",
        ),
        (
            json!({"type": "object", "properties": {"two": {"type": "string"}}}),
            "/properties",
            "the members of an object cannot be declared",
        ),
        (
            json!({"type": "array", "items": {"type": "object", "properties": {"two": {}}}}),
            "/items/properties",
            "the members of an object cannot be declared",
        ),
        (
            json!({"enum": [1, 2]}),
            "/enum",
            "the value should be a list of strings",
        ),
        (
            json!({"enum": []}),
            "/enum",
            "the value should be a list of strings",
        ),
        (
            json!({"type": "string", "items": {"type": "string"}}),
            "/items",
            "the value should be an object with the `type` of the items, below a field of type `array`",
        ),
        (
            json!({"type": "array", "items": {}}),
            "/items",
            "`type` is missing",
        ),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"one": field}, "actions": [{"id": "a"}]}});
        let found: Vec<(String, String)> = read(&config)
            .1
            .into_iter()
            .map(|fault| (fault.pointer, fault.diagnostic.message))
            .collect();
        assert_eq!(
            found,
            [(
                format!("/autonomous_config/state_schema/one{below}"),
                message.to_owned()
            )]
        );
    }
}

#[test]
fn optional_chaining_means_what_a_dot_means() {
    let config = |condition: &str| {
        json!({"skill_name": "s", "description": "d", "autonomous_config": {
            "state_schema": {"fields": [{"name": "pending_items", "type": "string[] | null"}]},
            "actions": [{"id": "process", "preconditions": [condition]}]}})
    };
    let when = |condition: &str| {
        machine_of(&config(condition), Strategy::State)
            .workflow
            .actions[1]
            .when
            .text()
            .to_owned()
    };
    assert_eq!(
        when("pending_items?.length > 0"),
        when("pending_items.length > 0")
    );
}

#[test]
fn what_a_configuration_says_without_effect_is_told() {
    let config = json!({"skill_name": "s", "description": "d", "context_strategy": "file",
        "llm_integration": {"enabled": true}, "allowed_tools": ["Read"], "mcp_tools": [], "tools": ["Bash"],
        "sequential_config": {"phases": []}, "author": "me", "$schema": "x", "version": "1.2.0",
        "autonomous_config": {"owner": "you",
            "state_schema": {"fields": [{"name": "status", "type": "string", "default": "new"},
                {"name": "a", "type": "string", "unit": "m"}], "strict": true},
            "actions": [{"id": "one", "tools": ["Read"], "model": "large"}]}});
    let (skill, faults) = read(&config);
    let told: Vec<(&str, &str)> = faults
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.diagnostic.code.as_str()))
        .collect();
    let keys = [
        "/context_strategy",
        "/llm_integration",
        "/tools",
        "/allowed_tools",
        "/mcp_tools",
        "/author",
        "/sequential_config",
        "/autonomous_config/owner",
        "/autonomous_config/state_schema/strict",
        "/autonomous_config/state_schema/fields/1/unit",
        "/autonomous_config/state_schema/fields/0/default",
        "/autonomous_config/actions/0/model",
        "/autonomous_config/actions/0/tools",
    ];
    assert_eq!(told, keys.map(|key| (key, "skill-dropped")));
    assert!(faults.iter().all(|fault| !fault.diagnostic.is_error()));
    let (files, _) = scaffold("made", &skill, Strategy::Priority).expect("generated");
    let readme = files
        .iter()
        .find(|(path, _)| path.ends_with("README.md"))
        .expect("a README");
    assert!(readme.1.contains("- version: 1.2.0"), "{}", readme.1);
}

#[test]
fn the_document_lists_how_it_ends_and_recovers() {
    let config = json!({"skill_name": "s", "description": "d", "autonomous_config": {
        "state_schema": {"fields": [{"name": "score", "type": "number"}]},
        "actions": [{"id": "one"}],
        "termination_conditions": ["user_exit", "max_iterations", "score >= 90", "error_count > 1"]}});
    let (files, _) = scaffold("made", &read(&config).0, Strategy::Priority).expect("generated");
    let document = &files
        .iter()
        .find(|(path, _)| path == "workflows/made.md")
        .expect("a document")
        .1;
    for line in [
        "- user\\_exit: a person ends the loop with `orch stop`",
        "- max\\_iterations: 100 actions were done: `failed`",
        "- score \\>= 90: it holds: `completed`",
        "- error\\_count \\> 1: it holds: `failed`",
        "| an action fails | it is tried again, three times in all; then it is given up, and its rules are skipped |",
    ] {
        assert!(document.contains(line), "{line}: {document}");
    }
}

/// A sequential skill is a chain of phases: each waits for the file of the one before.
#[test]
fn a_sequential_skill_is_a_chain_with_a_gate_each() {
    let config = json!({"skill_name": "docs", "description": "Documents an interface.",
        "execution_mode": "sequential",
        "sequential_config": {"phases": [
            {"id": "01-scan", "name": "Scan", "output": "endpoints.json", "input": ["src"]},
            {"id": "02-analyze", "name": "Analyze", "output": "analysis.json"},
            {"id": "03-write", "name": "Write", "output": "api.md"}]}});
    let (skill, faults) = read(&config);
    assert_eq!(faults, []);
    let (files, warnings) = scaffold("made", &skill, Strategy::Priority).expect("generated");
    assert_eq!(warnings, []);
    let system = files
        .into_iter()
        .fold(System::empty(), |system, (path, text)| {
            system.with(path, text)
        });
    let text = system.workflow("made").expect("a document").to_owned();
    let (workflow, problems) = compile(&Document::new("made", "made.md", text), &system);
    assert_eq!(problems, []);
    let mut world = World::new(std::sync::Arc::new(workflow.expect("compiled")));
    for (path, text, before) in [
        (
            "spec-review.json",
            r#"{"status": "complete", "specs_loaded": ["system/workflows/made/README.md"]}"#,
            "spec_review",
        ),
        ("endpoints.json", "[1]", "scan"),
        ("analysis.json", "{}", "analyze"),
    ] {
        assert_eq!(
            world.settle().decision.phase.expect("a phase").as_str(),
            before
        );
        world.write(path, text);
    }
    assert_eq!(
        world.settle().decision.phase.expect("a phase").as_str(),
        "write"
    );
    // What is scanned again is analyzed again.
    world.write("endpoints.json", "[2]");
    assert_eq!(
        world.settle().decision.phase.expect("a phase").as_str(),
        "analyze"
    );
    world.write("analysis.json", "{\"n\": 2}");
    world.write("api.md", "# API\n");
    assert!(world.settle().decision.is_done());
    for (broken, message) in [
        (json!([]), "there are no phases"),
        (json!([{"id": "01-scan"}]), "`output` is missing"),
        (
            json!([{"id": "1", "output": "a.md"}]),
            "cannot be the id of a phase",
        ),
        (
            json!([{"id": "a", "output": "a.md"}, {"id": "b", "output": "a.md"}]),
            "writes this file, too",
        ),
        (
            json!([{"id": "a", "output": "spec-review.json"}]),
            "`spec_review` writes this file, too",
        ),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "execution_mode": "sequential",
            "sequential_config": {"phases": broken}});
        let (_, faults) = read(&config);
        assert!(
            faults
                .iter()
                .any(|fault| fault.diagnostic.message.contains(message)),
            "{message}: {faults:?}"
        );
    }
}

/// A fault that only the generated document shows is told where the configuration causes it.
#[test]
fn every_fault_of_a_chain_has_a_place_in_its_configuration() {
    for (output, message) in [
        ("../x.json", "must not contain empty parts"),
        ("/abs.md", "must be relative to the task"),
        ("state.json", "names a file that orch itself writes"),
        ("[x.md", "has an unclosed bracket"),
    ] {
        let config = json!({"skill_name": "s", "description": "d", "execution_mode": "sequential",
            "sequential_config": {"phases": [{"id": "01-scan", "output": "a.md"}, {"id": "b", "output": output}]}});
        let (skill, faults) = read(&config);
        assert_eq!(faults, []);
        let faults = scaffold("made", &skill, Strategy::Priority).expect_err("a fault");
        let [fault] = faults.as_slice() else {
            panic!("{faults:#?}")
        };
        assert!(fault.diagnostic.message.contains(message), "{faults:#?}");
        assert_eq!(
            (fault.pointer.as_str(), &fault.diagnostic.place),
            ("/sequential_config/phases/1/output", &None)
        );
    }
}

#[test]
fn whatever_executors_do_what_is_made_comes_to_an_end() {
    for (fixture, strategy) in [
        ("issue-triage", Strategy::Priority),
        ("issue-triage", Strategy::State),
        ("issue-triage", Strategy::User),
        ("bare", Strategy::State),
        ("hostile", Strategy::Priority),
    ] {
        let found = slice(&machine(fixture, strategy), 12);
        for outcome in &found {
            let is_known = match outcome.ending {
                "completed" | "failed" => outcome.phase == outcome.ending,
                "stalled" => outcome.phase == "running",
                "waiting" => ["spec_review", "pending", "running", "aborting"]
                    .contains(&outcome.phase.as_str()),
                _ => false,
            };
            assert!(is_known, "{fixture} {strategy:?}: {outcome:?}");
        }
        assert!(found.len() >= 2, "{fixture} {strategy:?}: {found:?}");
    }
}
