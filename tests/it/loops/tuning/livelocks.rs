//! Where the machine's ancestors went round for ever, each under its name; here each comes to an end.

use super::{AREAS, MACHINE, asking, begun, count, found, plain, reply, run};
use crate::loops::simulator::{Machine, Reply, compiled};
use orch_core::decide::{Ending, Kind, Mode};
use orch_core::workflow::System;
use serde_json::json;

#[test]
fn t1_what_has_failed_does_not_abort_again() {
    let mut task = begun(&json!({}));
    let ended = task.run(Mode::Auto, &mut |job| match job.action.as_str() {
        "init" => Reply::Died,
        _ => reply(job, &plain(job)),
    });
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Failed, "failed")
    );
    assert_eq!(task.trace, ["init", "init", "init", "abort"]);
    assert_eq!(run(&mut task, Mode::Auto, |_| None).turns, 0);
    // Nor where not even the report of it can be written.
    let mut task = begun(&json!({}));
    let ended = task.run(Mode::Auto, &mut |_| Reply::Died);
    assert_eq!(
        (ended.ending, task.phase().as_str()),
        (Ending::Failed, "failed")
    );
    assert_eq!(
        task.trace,
        ["init", "init", "init", "abort", "abort", "abort"]
    );
}

#[test]
fn t2_a_passed_gate_ends_the_work_unless_a_person_wants_every_issue_mended() {
    let one_high = |job: &super::Job<'_>| {
        (job.action.as_str() == "diagnose_context").then(|| found("context", &["high"]))
    };
    let mut newer = begun(&json!({}));
    assert_eq!(
        run(&mut newer, Mode::Auto, one_high).ending,
        Ending::Completed
    );
    assert_eq!(
        (newer.at("/quality_gate"), count(&newer, "propose_fixes")),
        (json!("pass"), 0)
    );
    let mut older = begun(&json!({"stop_at_gate": false}));
    assert_eq!(
        run(&mut older, Mode::Auto, one_high).ending,
        Ending::Completed
    );
    assert_eq!(
        older.trace[8..],
        [
            "generate_report",
            "propose_fixes",
            "apply_fix",
            "verify",
            "complete"
        ]
    );
    assert_eq!(older.at("/issues"), json!([]));
}

/// Four high issues, so that the gate stays shut.
fn urgent(job: &super::Job<'_>) -> Option<serde_json::Value> {
    (job.action.as_str() == "diagnose_context").then(|| found("context", &["high"; 4]))
}

#[test]
fn t3a_without_a_chosen_fix_nothing_is_diagnosed_again() {
    let mut task = begun(&json!({}));
    assert_eq!(
        run(&mut task, Mode::Interactive, urgent).ending,
        Ending::Waiting
    );
    task.answer(&json!({"pending_fixes": []}))
        .expect("asked for");
    assert_eq!(run(&mut task, Mode::Auto, urgent).ending, Ending::Completed);
    assert_eq!(
        (count(&task, "diagnose_context"), count(&task, "complete")),
        (1, 1)
    );
    assert_eq!(task.at("/quality_gate"), "review");
}

#[test]
fn t3b_a_person_who_says_stop_is_heard() {
    let mut task = begun(&json!({}));
    let failing = |job: &super::Job<'_>| match job.action.as_str() {
        "verify" => Some(super::verified(job, |_| "fail")),
        _ => urgent(job),
    };
    run(&mut task, Mode::Interactive, failing);
    task.answer(&json!({"pending_fixes": ["FIX-1"]}))
        .expect("asked for");
    assert_eq!(
        run(&mut task, Mode::Interactive, failing).ending,
        Ending::Waiting
    );
    task.answer(&json!({"decision": "stop"}))
        .expect("asked for");
    run(&mut task, Mode::Interactive, failing);
    task.answer(&json!({"summary_review": "seen"}))
        .expect("asked for");
    assert_eq!(
        run(&mut task, Mode::Interactive, failing).ending,
        Ending::Completed
    );
    assert_eq!(
        (
            count(&task, "diagnose_context"),
            task.at("/iteration_count")
        ),
        (1, json!(1))
    );
}

#[test]
fn t3c_another_iteration_is_one_transition_that_clears_the_last() {
    let mut task = begun(&json!({}));
    let later = |job: &super::Job<'_>| match job.action.as_str() {
        "verify" => Some(super::verified(
            job,
            |fix| if fix == 1 { "pass" } else { "fail" },
        )),
        "diagnose_context" if job.before > 0 => Some(found("context", &["medium"])),
        _ => urgent(job),
    };
    run(&mut task, Mode::Interactive, later);
    task.answer(&json!({"pending_fixes": ["FIX-1", "FIX-2"]}))
        .expect("asked for");
    run(&mut task, Mode::Interactive, later);
    task.answer(&json!({"decision": "continue"}))
        .expect("asked for");
    let steps = task.settle();
    assert_eq!(steps.len(), 1);
    let step = &steps[0].transition;
    assert_eq!(
        step.rule.as_ref().map(|rule| rule.as_str()),
        Some("next-iteration")
    );
    assert_eq!(task.at("/iteration_count"), 2);
    for (pointer, cleared) in [
        ("/diagnosis", json!({})),
        ("/proposed_fixes", json!([])),
        ("/pending_fixes", json!([])),
        ("/issues", json!([])),
        ("/decision", json!("")),
        ("/progress/reported", json!(false)),
    ] {
        assert_eq!(task.at(pointer), cleared, "{pointer}");
    }
    assert_eq!(
        task.at("/applied_fixes").as_array().map(Vec::len),
        Some(2),
        "what was applied is kept"
    );
    assert_eq!(run(&mut task, Mode::Auto, later).ending, Ending::Completed);
    for (area, _) in AREAS {
        assert_eq!(count(&task, &format!("diagnose_{area}")), 2, "{area}");
    }
    assert_eq!(
        (
            count(&task, "generate_report"),
            count(&task, "analyze_requirements")
        ),
        (2, 1)
    );
}

#[test]
fn t4_an_empty_list_of_proposals_is_an_answer() {
    let mut task = begun(&json!({}));
    let ended = run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "propose_fixes" => Some(json!({"stateUpdates": {"proposed_fixes": []}})),
        _ => urgent(job),
    });
    assert_eq!(
        (ended.ending, count(&task, "propose_fixes")),
        (Ending::Completed, 1)
    );
}

#[test]
fn t5_a_key_with_dots_is_a_way_into_the_state() {
    let mut task = begun(&json!({"focus_areas": ["context"]}));
    let ended = run(&mut task, Mode::Auto, |job| {
        (job.action.as_str() == "diagnose_context").then(|| {
            let diagnosis = json!({"status": "completed", "severity": "none", "issues": []});
            let report = "diagnosis/context-diagnosis.json";
            json!({"stateUpdates": {"diagnosis.context": diagnosis}, "outputFiles": [report]})
        })
    });
    assert_eq!(
        (ended.ending, count(&task, "diagnose_context")),
        (Ending::Completed, 1)
    );
    assert_eq!(task.at("/diagnosis/context/status"), "completed");
}

#[test]
fn t6_every_action_has_its_prompt_under_the_name_it_is_looked_for() {
    let system = orch_core::workflow::System::shipped();
    for action in &MACHINE.workflow.actions {
        let prompt = action
            .prompt
            .as_deref()
            .unwrap_or_else(|| panic!("{} has no prompt", action.name));
        assert_eq!(
            prompt,
            format!("skill-tuning-{}", action.name.as_str().replace('_', "-"))
        );
        assert!(system.agent(prompt).is_some(), "{prompt}");
    }
    assert_eq!(
        MACHINE.workflow.actions.len(),
        15,
        "the fourteen of the catalogue, and token consumption"
    );
}

#[test]
fn t7_a_deep_analysis_does_not_call_for_itself() {
    for (status, expected) in [
        ("failed", Ending::Completed),
        ("skipped", Ending::Completed),
        ("running", Ending::Waiting),
    ] {
        let mut task = begun(&json!({"focus_areas": ["architecture", "memory"]}));
        let ended = run(&mut task, Mode::Auto, |job| {
            let result = json!({"stateUpdates": {"gemini_analysis": {"status": status, "type": "architecture"}}});
            (job.action.as_str() == "gemini_analysis").then_some(result)
        });
        assert_eq!(
            (ended.ending, count(&task, "gemini_analysis")),
            (expected, 1),
            "{status}"
        );
    }
    // One that cannot be performed is tried twice, and the rest continues without it.
    let mut task = begun(&json!({"focus_areas": ["architecture", "memory"]}));
    let ended = task.run(Mode::Auto, &mut |job| match job.action.as_str() {
        "gemini_analysis" => Reply::Hung,
        _ => reply(job, &plain(job)),
    });
    assert_eq!(
        (ended.ending, count(&task, "gemini_analysis")),
        (Ending::Completed, 2)
    );
    assert_eq!(count(&task, "diagnose_memory"), 1);
}

#[test]
fn t7_each_thing_calls_for_a_deep_analysis_at_its_time() {
    // After which action it comes.
    for (answers, special, after) in [
        (
            json!({}),
            json!({"coverage": "unsatisfied"}),
            "analyze_requirements",
        ),
        (
            json!({"gemini_analysis_requested": true}),
            json!({}),
            "analyze_requirements",
        ),
        (
            json!({"focus_areas": ["memory", "custom"]}),
            json!({}),
            "analyze_requirements",
        ),
        (json!({}), json!({"agent": "critical"}), "diagnose_agent"),
        (json!({}), json!({"agent": "high"}), ""),
    ] {
        let mut task = begun(&answers);
        run(&mut task, Mode::Auto, |job| {
            match (job.action.as_str(), special["agent"].as_str()) {
                ("analyze_requirements", _) if special["coverage"].is_string() => {
                    let mut result = plain(job);
                    result["stateUpdates"]["requirement_analysis"]["coverage"]["status"] =
                        json!("unsatisfied");
                    Some(result)
                }
                ("diagnose_agent", Some(severity)) => Some(found("agent", &[severity])),
                _ => None,
            }
        });
        let at = task
            .trace
            .iter()
            .position(|action| action == "gemini_analysis");
        let before = at.map_or("", |at| task.trace[at - 1].as_str());
        assert_eq!(
            (before, count(&task, "gemini_analysis")),
            (after, usize::from(!after.is_empty())),
            "{answers}"
        );
    }
    // What the first iteration did not mend calls for it in the second, once all is diagnosed again.
    let mut task = begun(&json!({"max_iterations": 3}));
    run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "verify" => Some(super::verified(
            job,
            |fix| if fix == 1 { "pass" } else { "fail" },
        )),
        _ => urgent(job),
    });
    let at = task
        .trace
        .iter()
        .position(|action| action == "gemini_analysis")
        .expect("called for");
    let around = [&task.trace[at - 1], &task.trace[at + 1]];
    assert_eq!(around, ["diagnose_token_consumption", "generate_report"]);
    assert_eq!(
        (count(&task, "gemini_analysis"), task.at("/iteration_count")),
        (1, json!(3))
    );
    assert!(task.trace[..at].iter().any(|action| action == "verify"));
}

#[test]
fn t7_a_request_is_answered_once_each_time() {
    let mut task = begun(&json!({"gemini_analysis_requested": true}));
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(
        (
            count(&task, "gemini_analysis"),
            task.at("/gemini_analysis_requested")
        ),
        (1, json!(false))
    );
    let mut task = begun(&json!({"analysis_type": "performance"}));
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(count(&task, "gemini_analysis"), 1);
}

#[test]
fn t8_all_means_every_area() {
    let mut task = begun(&json!({"focus_areas": ["all"]}));
    run(&mut task, Mode::Auto, |_| None);
    for (area, _) in AREAS {
        assert_eq!(count(&task, &format!("diagnose_{area}")), 1, "{area}");
    }
}

#[test]
fn t9_every_action_is_in_the_history_with_its_result() {
    let mut task = begun(&json!({}));
    run(&mut task, Mode::Auto, |job| {
        (job.action.as_str() == "diagnose_memory").then(|| asking(job))
    });
    let performed: Vec<&str> = task
        .told
        .iter()
        .filter(|entry| entry.kind == Kind::Run)
        .map(|entry| entry.action.as_ref().expect("an action").as_str())
        .collect();
    assert_eq!(performed, task.trace);
    assert!(task.told.iter().all(|entry| !entry.reason.is_empty()));
    assert_eq!(
        task.state.history,
        task.told[task.told.len() - task.state.history.len()..]
    );
}

/// What a diagnosis has to come to.
const REPORTED: &str = "ensures = \"has(state.diagnosis.memory) && (state.diagnosis.memory.status != 'completed' || memory_report.ready)\"\n";

#[test]
fn a_document_that_forgets_a_decision_is_stopped_and_not_completed() {
    let text = System::shipped()
        .workflow("skill-tuning")
        .expect("shipped")
        .to_owned();
    let not_proposed = (
        "!state.progress.proposed && size(state.issues)",
        "size(state.proposed_fixes) == 0 && size(state.issues)",
    );
    for (decision, (written, forgotten), focus) in [
        ("T-4", not_proposed, "all"),
        (
            "T-7",
            ("!analysed && (criticals", "true && (criticals"),
            "architecture",
        ),
        ("T-12", ("\"/progress/reported\" = \"true\"\n", ""), "all"),
        ("T-19", (REPORTED, ""), "memory"),
    ] {
        assert_eq!(text.matches(written).count(), 1, "{decision}");
        let workflow = compiled("skill-tuning", &text.replace(written, forgotten));
        // What is written is the same each time, so nothing new can be taken for progress.
        let mut machine = Machine::new(workflow, super::honest, asking, super::person);
        machine.files = |job, _, _| Some(format!("\"{}\"\n", job.action));
        let mut task = super::begun_on(&machine, &json!({"focus_areas": [focus]}));
        let ended = task.run(Mode::Auto, &mut |job| {
            let result = match job.action.as_str() {
                "propose_fixes" => json!({"stateUpdates": {"proposed_fixes": []}}),
                "diagnose_memory" => json!({"summary": "all done"}),
                _ => urgent(job).unwrap_or_else(|| plain(job)),
            };
            machine.reply(job, &result)
        });
        assert_eq!(
            ended.ending,
            Ending::Stalled,
            "{decision}: {} {:?}",
            ended.reason,
            task.trace
        );
    }
}

#[test]
fn a_default_answer_that_does_not_help_is_not_given_for_ever() {
    let text = System::shipped()
        .workflow("skill-tuning")
        .expect("shipped")
        .to_owned();
    let written = "set = { \"/progress/selected\" = \"true\" }\n";
    assert_eq!(text.matches(written).count(), 1);
    let workflow = compiled("skill-tuning", &text.replace(written, ""));
    let machine = Machine::new(workflow, super::honest, asking, super::person);
    let mut task = super::begun_on(&machine, &json!({"focus_areas": ["context"]}));
    let ended = task.run(Mode::Auto, &mut |job| {
        machine.reply(job, &urgent(job).unwrap_or_else(|| plain(job)))
    });
    assert_eq!(ended.ending, Ending::Waiting, "{:?}", task.trace);
    assert!(
        ended.reason.contains("the default answer changed nothing"),
        "{}",
        ended.reason
    );
    assert_eq!((task.trace.len(), ended.turns), (5, 7), "{:?}", task.trace);
}
