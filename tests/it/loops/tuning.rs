//! The shipped `skill-tuning` and its people: what an honest executor reports, what a person answers.

mod decisions;
mod livelocks;
mod prompts;
mod real;
mod traces;

use super::matrix::outcomes;
use super::simulator::{Ended, Job, Machine, Reply, Simulation, shipped};
use crate::model::Chance;
use orch_core::decide::Mode;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The areas of diagnosis, in their order, with the prefix of their issues.
const AREAS: [(&str, &str); 6] = [
    ("context", "CTX"),
    ("memory", "MEM"),
    ("dataflow", "DF"),
    ("agent", "AGT"),
    ("docs", "DOC-RED"),
    ("token_consumption", "TKN"),
];

static MACHINE: LazyLock<Machine> =
    LazyLock::new(|| Machine::new(shipped("skill-tuning"), honest, asking, person));

/// A skill with four urgent issues at first and fewer in each iteration, and fixes that mostly work.
fn honest(job: &Job<'_>) -> Value {
    let iteration = job.state["iteration_count"].as_u64().expect("a number");
    let urgent = 3_u64.saturating_sub(iteration);
    match job.action.as_str() {
        "diagnose_context" => found(
            "context",
            &vec!["high"; usize::try_from(1 + urgent).expect("small")],
        ),
        "diagnose_dataflow" => found("dataflow", &["high"]),
        "verify" => verified(job, |fix| if fix % 3 == 2 { "fail" } else { "pass" }),
        _ => plain(job),
    }
}

/// What an action reports where there is nothing special to say.
fn plain(job: &Job<'_>) -> Value {
    let updates = match job.action.as_str() {
        "init" => json!({"target_skill": {"name": "demo", "execution_mode": "sequential",
            "phases": ["phases/01.md"], "specs": []}}),
        "analyze_requirements" => json!({"requirement_analysis": {"status": "completed",
            "coverage": {"status": "satisfied", "coverage_rate": 100}, "ambiguities": []}}),
        "gemini_analysis" => {
            json!({"gemini_analysis": {"status": "completed", "type": "root_cause",
            "issues": [issue("GEM-1", "high")]}})
        }
        "propose_fixes" => {
            let issues = job.state["issues"].as_array().expect("a list");
            let fixes = issues.iter().enumerate().map(|(at, issue)| {
                let risk = ["low", "medium", "high"][at % 3];
                json!({"id": format!("FIX-{}", at + 1), "issue_ids": [issue["id"]], "strategy": "custom",
                    "description": "mend it", "risk": risk})
            });
            json!({"proposed_fixes": fixes.collect::<Vec<_>>()})
        }
        "apply_fix" => {
            json!({"applying": {"fix_id": job.state["pending_fixes"][0], "success": true}})
        }
        "verify" => return verified(job, |_| "pass"),
        "generate_report" | "complete" | "abort" => json!({}),
        area => {
            let area = area
                .strip_prefix("diagnose_")
                .unwrap_or_else(|| panic!("{area} is unknown"));
            return found(area, &[]);
        }
    };
    json!({"stateUpdates": updates, "summary": "done"})
}

fn asking(job: &Job<'_>) -> Value {
    match job.action.as_str() {
        "analyze_requirements" => {
            let ambiguity = json!({"type": "vague_description", "description": "which of both?",
                "needs_clarification": true});
            let analysis = json!({"status": "needs_clarification", "ambiguities": [ambiguity]});
            json!({"stateUpdates": {"requirement_analysis": analysis}})
        }
        "gemini_analysis" => json!({"stateUpdates": {"gemini_analysis": {
            "status": "running", "type": "architecture", "task_id": "g-1"}}}),
        _ => honest(job),
    }
}

fn person(ask: &str, state: &Map<String, Value>, chance: &mut Chance) -> Value {
    match ask {
        "target" | "again" => {
            let focus = [
                json!([]),
                json!(["all"]),
                json!(["memory"]),
                json!(["architecture"]),
                json!(["docs", "prompt"]),
            ];
            json!({
                "target_skill.path": "skills/demo",
                "user_issue_description": "It forgets the limit.",
                "focus_areas": chance.pick(&focus),
                "max_iterations": 1 + chance.below(5),
                "stop_at_gate": chance.below(3) > 0,
                "gemini_analysis_requested": chance.below(4) == 0,
            })
        }
        "clarify" => json!({"requirement_analysis.answers": ["the second"]}),
        "analysis" => {
            json!({"gemini_analysis.status": chance.pick(&["completed", "failed", "skipped"])})
        }
        "fixes" => {
            let fixes = state["proposed_fixes"].as_array().expect("a list");
            let chosen = fixes
                .iter()
                .map(|fix| &fix["id"])
                .filter(|_| chance.below(3) > 0);
            json!({"pending_fixes": chosen.collect::<Vec<_>>()})
        }
        "continue" => json!({"decision": chance.pick(&["continue", "continue", "stop"]),
            "gemini_analysis_requested": chance.below(3) == 0}),
        "summary" => json!({"summary_review": "seen"}),
        _ => panic!("{ask} is not answered"),
    }
}

fn issue(id: &str, severity: &str) -> Value {
    json!({"id": id, "type": "custom", "severity": severity, "description": "something is wrong"})
}

/// The result of a diagnosis that found issues of these severities.
fn found(area: &str, severities: &[&str]) -> Value {
    let prefix = AREAS
        .iter()
        .find(|(name, _)| *name == area)
        .expect("an area")
        .1;
    let issues: Vec<Value> = severities
        .iter()
        .enumerate()
        .map(|(at, severity)| issue(&format!("{prefix}-{}", at + 1), severity))
        .collect();
    let severity = severities.first().copied().unwrap_or("none");
    let diagnosis = json!({"status": "completed", "severity": severity, "issues": issues});
    let report = format!("diagnosis/{}-diagnosis.json", area.replace('_', "-"));
    json!({
        "stateUpdates": {"diagnosis": {area: diagnosis}},
        "outputFiles": [report],
        "summary": format!("{area} is diagnosed"),
    })
}

/// The result of a verification, given what it finds of the fix with a number.
fn verified(job: &Job<'_>, verdict: impl Fn(u64) -> &'static str) -> Value {
    let applied = job.state["applied_fixes"].as_array().expect("a list");
    let pending = applied
        .iter()
        .filter(|fix| fix["verification_result"] == "pending");
    let results = pending.map(|fix| {
        let id = fix["fix_id"].as_str().expect("an id");
        let number = id.trim_start_matches("FIX-").parse().expect("a number");
        json!({"fix_id": id, "result": verdict(number)})
    });
    json!({"stateUpdates": {"verification": {"results": results.collect::<Vec<_>>()}}})
}

/// An executor that reports this and writes what its action has to.
fn reply(job: &Job<'_>, result: &Value) -> Reply {
    MACHINE.reply(job, result)
}

/// A task whose target a person has named, with these further answers.
fn begun(more: &Value) -> Simulation<'static> {
    begun_on(&MACHINE, more)
}

fn begun_on<'m>(machine: &'m Machine, more: &Value) -> Simulation<'m> {
    let mut task = machine.task();
    let mut answers =
        json!({"target_skill.path": "skills/demo", "user_issue_description": "It forgets."});
    answers
        .as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    task.answer(&answers).expect("asked for");
    task
}

/// Runs a task; `special` says what an action does that does not do the plain thing.
fn run(
    task: &mut Simulation<'_>,
    mode: Mode,
    special: impl Fn(&Job<'_>) -> Option<Value>,
) -> Ended {
    task.run(mode, &mut |job| {
        reply(job, &special(job).unwrap_or_else(|| plain(job)))
    })
}

/// How often an action was started.
fn count(task: &Simulation<'_>, action: &str) -> usize {
    task.trace.iter().filter(|name| *name == action).count()
}

#[test]
fn whatever_executors_do_a_tuning_comes_to_an_end() {
    let found = outcomes(&MACHINE);
    let ways: Vec<(&str, &str)> = found
        .iter()
        .map(|outcome| (outcome.ending, outcome.phase.as_str()))
        .collect();
    // Nobody is left waiting who answers, and nothing stalls: every action either moves or is given up.
    assert_eq!(
        ways,
        [
            ("completed", "completed"),
            ("failed", "exhausted"),
            ("failed", "failed")
        ],
        "{found:#?}"
    );
}
