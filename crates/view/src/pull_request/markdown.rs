//! What is described, as a heading and folded parts in Markdown.

use super::foreign::{code, inline, list, quotation};
use super::part::TextPart;
use super::{DescribedFile, DescribedGround, DescribedVerification, TaskDescription};
use crate::ci::CiPart;
use crate::layout::{below, counted};
use crate::verdict::SaidVerdict;
use crate::{Finding, StepView, VerificationLine};
use orch_core::decide::{ActorKind, DutyKind};
use serde_json::Value;

/// The members of a document that say what is to be done, and why.
const WHAT: [&str; 3] = ["what", "summary", "description"];
const WHY: &str = "why";
/// The members of a verdict that list issues.
const ISSUES: [&str; 3] = ["issues", "blocking_issues", "failed_tests"];
/// How many failed tests are listed.
const MOST_FAILED: usize = 50;
/// How many findings are listed.
const MOST_FINDINGS: usize = 100;

/// What CI found: whether it speaks against the range, a table of what was examined, and the findings.
pub(super) fn described_findings(
    passed: bool,
    examined: &[CiPart],
    findings: &[Finding],
) -> (String, Vec<TextPart>) {
    let said = if passed {
        "Nothing speaks against these commits."
    } else {
        "**Something speaks against these commits.**"
    };
    let mut heading = format!("{said}\n\n| examined | | |\n| --- | --- | --- |\n");
    for part in examined {
        let mark = if part.passed { "✓" } else { "✗" };
        let summary = inline(&part.summary).replace('|', "\\|");
        heading.push_str(&format!(
            "| {} | {mark} | {summary} |\n",
            inline(&part.name)
        ));
    }
    heading.push('\n');
    let mut body = String::new();
    for finding in findings.iter().take(MOST_FINDINGS) {
        let place = match &finding.path {
            Some(_) => format!("{} ", code(&finding.place())),
            None => String::new(),
        };
        body.push_str(&format!(
            "- {place}{} ({} {})\n",
            inline(&finding.message),
            finding.severity,
            code(finding.code)
        ));
        if let Some(hint) = finding.advice.hint() {
            body.push_str(&format!("  - {}\n", inline(&hint.to_string())));
        }
    }
    if let Some(more) = findings.len().checked_sub(MOST_FINDINGS + 1) {
        body.push_str(&format!("- and {} more\n", more + 1));
    }
    let mut parts = Vec::new();
    if !body.is_empty() {
        let summary = format!("<b>Findings</b>: {}", findings.len());
        parts.push(TextPart::open(summary, body));
    }
    (heading, parts)
}

/// The heading and the parts of a task.
pub(super) fn described_task(task: &TaskDescription) -> (String, Vec<TextPart>) {
    (heading(task), parts(task))
}

/// The title of a task, and where it stands.
fn heading(task: &TaskDescription) -> String {
    let title = match &task.task.title {
        Some(title) => format!(": {}", inline(title)),
        None => String::new(),
    };
    let phase = task.task.phase();
    let standing = match task.duty.kind {
        DutyKind::Done => format!("**{phase}**"),
        _ => format!("**{phase}**, attempt {}", task.task.attempt),
    };
    format!(
        "### {}{title}\n\n{standing} – {}\n\n",
        inline(&task.task.id),
        inline(&task.duty.reason)
    )
}

fn parts(task: &TaskDescription) -> Vec<TextPart> {
    let mut parts = Vec::new();
    let said = what(task);
    if !said.is_empty() {
        parts.push(TextPart::plain(said));
    }
    let place = task.task.path.as_str();
    let mut add = |summary: String, body: String| {
        if !body.is_empty() {
            parts.push(TextPart::folded(summary, body));
        }
    };
    add("<b>Why</b>".to_owned(), why(task));
    add("<b>Plan</b>".to_owned(), documents(task));
    let verdicts: Vec<String> = task
        .verdicts
        .iter()
        .map(|verdict| format!("{} {}", words(&verdict.artifact), decided(verdict)))
        .collect();
    let bodies = task.verdicts.iter().map(|one| judgement(one, place));
    add(
        format!("<b>Verdicts</b>: {}", verdicts.join(", ")),
        bodies.collect(),
    );
    let ran: Vec<String> = task
        .verifications
        .iter()
        .map(|one| format!("{} {}", one.line.name, one.line.outcome))
        .collect();
    let bodies = task.verifications.iter().map(verification);
    add(
        format!("<b>Verification</b> by orch: {}", ran.join(", ")),
        bodies.collect(),
    );
    let bodies = task.reports.iter().map(|one| judgement(one, place));
    add(
        format!("<b>Reports</b> that others wrote: {}", task.reports.len()),
        bodies.collect(),
    );
    if !(task.orders.is_empty() && task.waived.is_empty()) {
        let summary = format!("<b>Ordered by people</b>: {}", task.orders.len());
        parts.push(TextPart::open(summary, orders(task)));
    }
    let grounds: String = task.rests_on.iter().map(ground).collect();
    let heading = if task.approved {
        "<b>What the approval rests on</b>"
    } else {
        "<b>What an approval would rest on</b>"
    };
    if !grounds.is_empty() {
        parts.push(TextPart::folded(heading.to_owned(), grounds));
    }
    let steps: String = task.steps.iter().map(step).collect();
    if !steps.is_empty() {
        let summary = format!("<b>History</b>: {}", counted(task.steps.len(), "step"));
        parts.push(TextPart::folded(summary, steps));
    }
    parts
}

/// What is different when the work is done, as the first document that says so has it.
fn what(task: &TaskDescription) -> String {
    let mut documents = task.documents.iter();
    let said = documents.find_map(|document| {
        let mut members = WHAT.iter().filter_map(|name| document.content.get(name));
        members.find_map(Value::as_str)
    });
    said.map(|text| quotation(text, 0)).unwrap_or_default()
}

/// What was wanted: the brief, or else what the plan says of it.
fn why(task: &TaskDescription) -> String {
    let mut out = String::new();
    for brief in &task.brief {
        out.push_str(&list(&brief.content, &[]));
        out.push('\n');
    }
    if out.is_empty() {
        let mut said = task
            .documents
            .iter()
            .filter_map(|document| document.content.get(WHY));
        out.push_str(&said.next().map(|why| list(why, &[])).unwrap_or_default());
    }
    out
}

fn documents(task: &TaskDescription) -> String {
    let mut out = String::new();
    for document in &task.documents {
        out.push_str(&file_line(document, &task.task.path));
        out.push_str(&list(&document.content, &["$schema"]));
        out.push('\n');
    }
    out
}

/// The name of a file, who wrote it, and why it does not count.
fn file_line(file: &DescribedFile, task: &str) -> String {
    let mut line = format!(
        "**{}** {}",
        words(&file.artifact),
        code(&below(task, &file.path))
    );
    if !file.writers.is_empty() {
        line.push_str(&format!(" by {}", inline(&file.writers.join(", "))));
    }
    if let Some(why) = &file.not_counted {
        line.push_str(&format!(" – does not count: {}", inline(why)));
    }
    format!("{line}\n\n")
}

/// A verdict or a report: what it says, and what it objects to.
fn judgement(file: &DescribedFile, task: &str) -> String {
    let mut out = file_line(file, task);
    let mut hidden = vec!["$schema", "of", "suites", "failed"];
    if !file.issues.is_empty() {
        hidden.extend(ISSUES);
    }
    out.push_str(&list(&file.content, &hidden));
    for issue in file.issues.iter().take(MOST_FAILED) {
        let severity = match &issue.severity {
            Some(severity) => format!("**{}**: ", inline(severity)),
            None => String::new(),
        };
        let about = match &issue.about {
            Some(about) => format!(" ({})", code(about)),
            None => String::new(),
        };
        out.push_str(&format!("- {severity}{}{about}\n", inline(&issue.message)));
    }
    more(&mut out, file.issues.len());
    out.push('\n');
    out
}

/// How a verdict decided, in its own words.
fn decided(file: &DescribedFile) -> String {
    let said = SaidVerdict::of(&file.content, &file.issues);
    let said = said.map_or("is there".to_owned(), |said| inline(&said.word));
    match file.not_counted {
        Some(_) => format!("{said} (does not count)"),
        None => said,
    }
}

fn verification(one: &DescribedVerification) -> String {
    let VerificationLine {
        name,
        outcome,
        tests,
        failures,
        message,
        failed,
        new,
        known,
        lost,
        flaky,
        ..
    } = &one.line;
    let counts = match (tests, failures) {
        (Some(tests), Some(failures)) => format!(", {tests} tests, {failures} failed"),
        _ => ", by its exit code".to_owned(),
    };
    let mut out = format!("**{}** {outcome}{counts}\n\n", inline(name));
    if one.same_code == Some(false) {
        out.push_str("- it ran on other code than what is there now\n");
    }
    if let Some(message) = message {
        out.push_str(&format!("- {}\n", inline(message)));
    }
    for test in failed.iter().take(MOST_FAILED) {
        let known = if known.contains(&test.name) {
            ", which fails at the base too"
        } else {
            ""
        };
        let place = match (&test.file, test.line) {
            (Some(file), Some(line)) => format!(" at {}", code(&format!("{file}:{line}"))),
            (Some(file), None) => format!(" in {}", code(file)),
            _ => String::new(),
        };
        out.push_str(&format!("- failed{known}: {}{place}\n", code(&test.name)));
        if let Some(message) = &test.message {
            out.push_str(&quotation(message, 2));
        }
    }
    more(&mut out, failed.len());
    for (names, what) in [
        (new, "fails, and does not fail at the base"),
        (lost, "passed at the base, and did not run"),
        (flaky, "passed only when it was tried again"),
    ] {
        for name in names.iter().take(MOST_FAILED) {
            out.push_str(&format!("- {what}: {}\n", code(name)));
        }
        more(&mut out, names.len());
    }
    out.push('\n');
    out
}

fn more(out: &mut String, count: usize) {
    if let Some(more) = count.checked_sub(MOST_FAILED + 1) {
        out.push_str(&format!("- and {} more\n", more + 1));
    }
}

/// What people ordered, and what they accepted without.
fn orders(task: &TaskDescription) -> String {
    let mut out: String = task.orders.iter().map(step).collect();
    if !task.waived.is_empty() {
        let names: Vec<String> = task.waived.iter().map(|name| code(name)).collect();
        out.push_str(&format!("- accepted without: {}\n", names.join(", ")));
    }
    out
}

fn ground(ground: &DescribedGround) -> String {
    let by = if ground.ran { ", which orch ran" } else { "" };
    let short: String = ground.digest.chars().take(10).collect();
    let standing = match &ground.why_not {
        Some(why) => format!(" – **does not stand**: {}", inline(why)),
        None => String::new(),
    };
    format!(
        "- {} {}{by}{standing}\n",
        words(&ground.artifact),
        code(&short)
    )
}

/// A step as an item of a list.
fn step(step: &StepView) -> String {
    let by = match &step.actor {
        Some(actor) if actor.kind != ActorKind::Orch => format!(", by {}", inline(&actor.name)),
        _ => String::new(),
    };
    let waived = match step.waived.as_slice() {
        [] => String::new(),
        names => format!("; without {}", inline(&names.join(", "))),
    };
    let moved = if step.from.as_deref() == Some(step.to.as_str()) {
        step.to.clone()
    } else {
        format!("{} → {}", step.origin(), step.to)
    };
    format!(
        "- {moved} ({}{by}): {}{waived}\n",
        inline(&step.label()),
        inline(&step.reason)
    )
}

/// The name of an artifact for people.
fn words(artifact: &str) -> String {
    inline(&artifact.replace('_', " "))
}
