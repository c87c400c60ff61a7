//! The prompts say what the machine accepts: each example in them is a result that it takes.

use super::{AREAS, MACHINE, begun, found, plain, reply, run};
use crate::loops::simulator::Reply;
use orch_core::decide::Mode;
use orch_core::workflow::System;
use serde_json::{Value, json};

/// The example in the prompt of an action.
pub fn example(action: &str) -> Value {
    let system = System::shipped();
    let prompt = format!("skill-tuning-{}", action.replace('_', "-"));
    let text = system.agent(&prompt).expect("shipped");
    let block = text
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    serde_json::from_str(block.expect("an example"))
        .unwrap_or_else(|error| panic!("{action}: {error}"))
}

#[test]
fn every_example_is_accepted_at_the_first_try() {
    // One high issue from each area and a deep analysis leave something to propose, apply and verify.
    let mut task = begun(&json!({"max_iterations": 1, "gemini_analysis_requested": true}));
    let ended = task.run(Mode::Auto, &mut |job| {
        let result = match job.action.as_str() {
            "analyze_requirements" => plain(job),
            action => example(action),
        };
        reply(job, &result)
    });
    assert_eq!(task.phase(), "exhausted", "{ended:?}");
    for action in MACHINE
        .workflow
        .actions
        .iter()
        .filter(|action| action.name.as_str() != "abort")
    {
        assert!(
            task.trace.contains(&action.name.to_string()),
            "{} was not due: {:?}",
            action.name,
            task.trace
        );
    }
    assert_eq!(task.state.run.errors, 0);
    assert_eq!(task.state.errors, Vec::<Value>::new());
    let mut failures = task.trace.clone();
    failures.dedup();
    assert_eq!(failures, task.trace, "something had to be done twice");
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Auto, |job| {
        (job.action.as_str() == "analyze_requirements").then(|| example("analyze_requirements"))
    });
    assert_eq!(
        (task.at("/focus_areas"), task.phase().as_str()),
        (json!(["memory"]), "completed")
    );
}

#[test]
fn the_example_of_the_abort_is_accepted() {
    let mut task = begun(&json!({}));
    task.run(Mode::Auto, &mut |job| match job.action.as_str() {
        "abort" => reply(job, &example("abort")),
        _ => Reply::Died,
    });
    assert_eq!(task.trace, ["init", "init", "init", "abort"]);
}

#[test]
fn the_files_that_an_action_has_to_write_are_named_in_its_prompt() {
    let system = System::shipped();
    for action in &MACHINE.workflow.actions {
        let text = system
            .agent(action.prompt.as_deref().expect("a prompt"))
            .expect("shipped");
        for path in &action.outputs {
            assert!(text.contains(path), "{}: {path} is not named", action.name);
        }
        for pointer in &action.writes {
            let key = pointer.rsplit('/').next().expect("a key");
            assert!(
                text.contains(&format!("\"{key}\"")),
                "{}: {pointer} is not shown",
                action.name
            );
        }
        let shown = example(action.name.as_str());
        let files = shown["outputFiles"].as_array().expect("a list");
        for path in &action.outputs {
            assert!(
                files.contains(&json!(path)),
                "{}: the example does not write {path}",
                action.name
            );
        }
    }
}

#[test]
fn a_list_in_a_prompt_is_a_list() {
    let system = System::shipped();
    for action in &MACHINE.workflow.actions {
        let name = action.prompt.as_deref().expect("a prompt");
        let text = system.agent(name).expect("shipped");
        for line in text.lines().filter(|line| !line.starts_with('|')) {
            let has_item = |sign: &str| {
                line.split(sign)
                    .skip(1)
                    .any(|rest| rest.starts_with(char::is_uppercase))
            };
            let run_on =
                (2..9).any(|number| has_item(&format!(". {number}. "))) || has_item(". - ");
            let is_cut = (2..9).any(|number| line.ends_with(&format!(" {number}.")));
            assert!(!run_on && !is_cut, "{name}: {line}");
        }
    }
}

#[test]
fn an_issue_of_another_area_is_refused() {
    for (area, _) in AREAS {
        let mut result = found(area, &["low"]);
        result["stateUpdates"]["diagnosis"][area]["issues"][0]["id"] = json!("XYZ-1");
        let mut task = begun(&json!({"focus_areas": [area]}));
        run(&mut task, Mode::Auto, |job| {
            job.action
                .as_str()
                .starts_with("diagnose")
                .then(|| result.clone())
        });
        assert_eq!(
            (
                super::count(&task, &format!("diagnose_{area}")),
                task.at("/issues")
            ),
            (3, json!([])),
            "{area}"
        );
    }
}

#[test]
fn every_decision_is_explained_in_the_document() {
    let system = System::shipped();
    let text = system.workflow("skill-tuning").expect("shipped");
    for number in 1..=20 {
        assert!(text.contains(&format!("(T-{number})")), "T-{number}");
    }
}
