//! Which actions are performed, in which order: the traces that are known of the machine's ancestors.

use super::{MACHINE, begun, count, found, issue, run};
use orch_core::decide::{Ending, Mode};
use serde_json::json;

const DIAGNOSED: [&str; 8] = [
    "init",
    "analyze_requirements",
    "diagnose_context",
    "diagnose_memory",
    "diagnose_dataflow",
    "diagnose_agent",
    "diagnose_docs",
    "diagnose_token_consumption",
];

#[track_caller]
fn traced(trace: &[String], expected: &[&str]) {
    assert_eq!(trace, expected);
}

#[test]
fn nothing_is_done_before_a_person_names_the_target() {
    let mut task = MACHINE.task();
    let ended = run(&mut task, Mode::Auto, |_| None);
    assert_eq!((ended.ending, ended.turns), (Ending::Waiting, 0));
    let decision = task.decide();
    let command = &decision.options.first().expect("a way on").argv;
    assert_eq!(command[..3], ["orch", "answer", "t-1"], "{command:?}");
    traced(&task.trace, &[]);
}

#[test]
fn without_issues_the_report_is_the_last_work() {
    let mut task = begun(&json!({}));
    let ended = run(&mut task, Mode::Auto, |_| None);
    assert_eq!(
        (ended.ending, ended.turns),
        (Ending::Completed, 11),
        "ten actions and one answer by default"
    );
    traced(
        &task.trace,
        &[&DIAGNOSED[..], &["generate_report", "complete"]].concat(),
    );
    assert_eq!(
        (task.at("/quality_score"), task.at("/quality_gate")),
        (json!(100), json!("pass"))
    );
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).turns,
        0,
        "the end is the end"
    );
}

#[test]
fn three_high_issues_are_fixed_in_one_iteration() {
    let mut task = begun(&json!({}));
    let ended = run(&mut task, Mode::Auto, |job| match job.action.as_str() {
        "diagnose_context" => Some(found("context", &["high", "high", "high"])),
        "propose_fixes" => Some(json!({"stateUpdates": {"proposed_fixes": [
            {"id": "FIX-1", "issue_ids": ["CTX-1", "CTX-2", "CTX-3"], "strategy": "sliding_window",
             "description": "keep ten", "risk": "low"}]}})),
        _ => None,
    });
    assert_eq!(ended.ending, Ending::Completed);
    let rest = [
        "generate_report",
        "propose_fixes",
        "apply_fix",
        "verify",
        "complete",
    ];
    traced(&task.trace, &[&DIAGNOSED[..], &rest].concat());
    assert_eq!(
        (task.at("/issues"), task.at("/quality_score")),
        (json!([]), json!(100))
    );
    assert_eq!(task.at("/applied_fixes/0/verification_result"), "pass");
}

#[test]
fn an_ambiguous_description_waits_for_its_answer() {
    let mut task = begun(&json!({}));
    let ended = run(&mut task, Mode::Auto, |job| {
        (job.action.as_str() == "analyze_requirements").then(|| super::asking(job))
    });
    assert_eq!(ended.ending, Ending::Waiting);
    traced(&task.trace, &["init", "analyze_requirements"]);
    task.answer(&json!({"requirement_analysis.answers": ["the second"]}))
        .expect("asked for");
    assert_eq!(
        run(&mut task, Mode::Auto, |_| None).ending,
        Ending::Completed
    );
    assert_eq!(
        count(&task, "analyze_requirements"),
        1,
        "what was answered is not asked again"
    );
}

#[test]
fn a_critical_issue_calls_for_a_deep_analysis_in_the_background() {
    let mut task = begun(&json!({}));
    let critical = |job: &super::Job<'_>| match job.action.as_str() {
        "diagnose_context" => Some(found("context", &["critical"])),
        "gemini_analysis" => Some(super::asking(job)),
        _ => None,
    };
    let ended = run(&mut task, Mode::Auto, critical);
    assert_eq!(ended.ending, Ending::Waiting);
    let four = [
        "init",
        "analyze_requirements",
        "diagnose_context",
        "gemini_analysis",
    ];
    traced(&task.trace, &four);
    assert_eq!(
        run(&mut task, Mode::Auto, critical).turns,
        0,
        "it is not started again while it runs"
    );
    let result =
        json!({"gemini_analysis": {"status": "completed", "issues": [issue("GEM-1", "low")]}});
    task.answer(&result).expect("asked for");
    assert_eq!(task.at("/issues/1/id"), "GEM-1");
    assert_eq!(
        run(&mut task, Mode::Auto, critical).ending,
        Ending::Completed
    );
    assert_eq!(count(&task, "gemini_analysis"), 1);
}

#[test]
fn the_cap_of_turns_is_no_end_of_the_task() {
    let mut task = begun(&json!({"max_iterations": 4}));
    // Twelve issues are found again in every iteration, and only the first is ever mended.
    let stubborn = |job: &super::Job<'_>| match job.action.as_str() {
        "diagnose_context" => Some(found("context", &["high"; 12])),
        "verify" => Some(super::verified(
            job,
            |fix| if fix == 1 { "pass" } else { "fail" },
        )),
        _ => None,
    };
    let first = run(&mut task, Mode::Auto, stubborn);
    assert_eq!((first.ending, first.turns), (Ending::Exhausted, 50));
    assert!(first.reason.contains("50 turns"), "{}", first.reason);
    let mut runs = 1;
    while run(&mut task, Mode::Auto, stubborn).ending == Ending::Exhausted {
        runs += 1;
        assert!(runs < 10, "it does not end");
    }
    assert_eq!(
        (task.phase().as_str(), task.at("/iteration_count")),
        ("exhausted", json!(4))
    );
    assert_eq!((count(&task, "verify"), count(&task, "complete")), (4, 1));
}
