//! What is described, as a heading and folded parts in Markdown.

use super::DescribedTask;
use super::foreign::{code, inline, quotation, section_lines};
use super::part::TextPart;
use crate::ci::CiPart;
use crate::layout::{below, counted, shorten};
use crate::sheet::{GroundView, SheetVerification, ShownArtifact, ShownFile, short};
use crate::{Finding, StepView, TaskSheet, VerificationLine};
use orch_core::decide::ActorKind;
use orch_core::workflow::ArtifactRole;

/// The parts of a document that say what is different when the work is done.
const WHAT: [&str; 3] = ["what", "summary", "description"];
/// How long a word of a file may be in the line of a fold, and a sentence of it in a heading, in columns.
const WORD: usize = 60;
const SENTENCE: usize = 300;
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
pub(super) fn described_task(task: &DescribedTask) -> (String, Vec<TextPart>) {
    (heading(&task.sheet), parts(task))
}

/// The title of a task, and where it stands.
fn heading(sheet: &TaskSheet) -> String {
    let title = match &sheet.task.title {
        Some(title) => format!(": {}", inline(&shorten(title, SENTENCE))),
        None => String::new(),
    };
    let phase = sheet.task.phase();
    let standing = match sheet.is_done() {
        true => format!("**{phase}**"),
        false => format!("**{phase}**, attempt {}", sheet.task.attempt),
    };
    format!(
        "### {}{title}\n\n{standing} – {}\n\n",
        inline(&sheet.task.id),
        inline(&shorten(&sheet.duty.reason, SENTENCE))
    )
}

fn parts(task: &DescribedTask) -> Vec<TextPart> {
    let sheet = &task.sheet;
    let mut parts = Vec::new();
    let said = what(sheet);
    if !said.is_empty() {
        parts.push(TextPart::plain(said));
    }
    let doubts = sheet.doubts.iter();
    let doubts: String = doubts
        .map(|doubt| format!("- {}\n", inline(&doubt.sentence())))
        .collect();
    if !doubts.is_empty() {
        let summary = format!("<b>In doubt</b>: {}", sheet.doubts.len());
        parts.push(TextPart::open(summary, doubts));
    }
    let mut add = |summary: String, body: String| {
        if !body.is_empty() {
            parts.push(TextPart::folded(summary, body));
        }
    };
    add(
        "<b>Why</b>".to_owned(),
        artifacts(sheet, ArtifactRole::Brief),
    );
    add(
        "<b>Plan</b>".to_owned(),
        artifacts(sheet, ArtifactRole::Document),
    );
    let verdicts = of_role(sheet, ArtifactRole::Verdict).flat_map(verdict_words);
    let verdicts: Vec<String> = verdicts.collect();
    add(
        format!("<b>Verdicts</b>: {}", verdicts.join(", ")),
        artifacts(sheet, ArtifactRole::Verdict),
    );
    let ran: Vec<String> = sheet
        .verifications
        .iter()
        .map(|one| format!("{} {}", one.result.name, one.result.outcome))
        .collect();
    let bodies = sheet.verifications.iter().map(verification);
    add(
        format!("<b>Verification</b> by orch: {}", ran.join(", ")),
        bodies.collect(),
    );
    let reports = of_role(sheet, ArtifactRole::Report).map(|artifact| artifact.files.len());
    add(
        format!(
            "<b>Reports</b> that others wrote: {}",
            reports.sum::<usize>()
        ),
        artifacts(sheet, ArtifactRole::Report),
    );
    if !task.orders.is_empty() {
        let summary = format!(
            "<b>Ordered or sent back by people</b>: {}",
            task.orders.len()
        );
        let orders = task.orders.iter().map(step);
        parts.push(TextPart::open(summary, orders.collect()));
    }
    let grounds: String = sheet.rests_on.iter().map(ground).collect();
    let heading = if sheet.is_done() {
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
fn what(sheet: &TaskSheet) -> String {
    let files = of_role(sheet, ArtifactRole::Document).flat_map(|artifact| &artifact.files);
    let mut sections = files.flat_map(|file| &file.sections);
    let said = sections.find_map(|section| match &section.heading {
        Some(heading) => {
            let is_what = WHAT.contains(&heading.to_lowercase().as_str());
            is_what.then(|| section_lines(&section.lines))
        }
        None => section.lines.iter().find_map(|line| {
            let (name, text) = line.text.split_once(": ")?;
            WHAT.contains(&name).then(|| quotation(text, 0))
        }),
    });
    said.unwrap_or_default()
}

fn of_role(sheet: &TaskSheet, role: ArtifactRole) -> impl Iterator<Item = &ShownArtifact> {
    let artifacts = sheet.artifacts.iter();
    artifacts.filter(move |artifact| artifact.role == role)
}

/// What the files of such artifacts say.
fn artifacts(sheet: &TaskSheet, role: ArtifactRole) -> String {
    let mut out = String::new();
    for artifact in of_role(sheet, role) {
        for file in &artifact.files {
            out.push_str(&file_line(artifact, file, &sheet.task.path));
            out.push_str(&file_body(file));
        }
        if artifact.omitted > 0 {
            out.push_str(&format!("- {}\n", counted(artifact.omitted, "more file")));
        }
    }
    out
}

/// The name of a file, who wrote it, and why it does not count.
fn file_line(artifact: &ShownArtifact, file: &ShownFile, task: &str) -> String {
    let mut line = format!(
        "**{}** {}",
        words(&artifact.artifact),
        code(&below(task, &file.path))
    );
    if !artifact.writers.is_empty() {
        line.push_str(&format!(" by {}", inline(&artifact.writers.join(", "))));
    }
    if artifact.standing != "ready" {
        line.push_str(&format!(" – {}", artifact.standing));
    }
    if let Some(why) = &file.not_counted {
        line.push_str(&format!(" – does not count: {}", inline(why)));
    }
    format!("{line}\n\n")
}

/// What a file objects to, and what else it says.
fn file_body(file: &ShownFile) -> String {
    let mut out = String::new();
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
    if !file.issues.is_empty() {
        out.push('\n');
    }
    for section in &file.sections {
        if let Some(heading) = &section.heading {
            out.push_str(&format!("**{}**\n\n", inline(heading)));
        }
        out.push_str(&section_lines(&section.lines));
        out.push('\n');
    }
    if file.omitted > 0 {
        let left = counted(file.omitted, "more line");
        out.push_str(&format!("- {left}\n\n"));
    }
    out
}

/// The name of each verdict of an artifact, and what it says.
fn verdict_words(artifact: &ShownArtifact) -> impl Iterator<Item = String> {
    artifact.files.iter().map(|file| {
        let said = file.verdict.as_ref();
        let said = said.map_or("is there".to_owned(), |said| {
            inline(&shorten(&said.word, WORD))
        });
        let counts = match file.not_counted.is_none() && artifact.standing == "ready" {
            true => "",
            false => " (does not count)",
        };
        format!("{} {said}{counts}", words(&artifact.artifact))
    })
}

fn verification(one: &SheetVerification) -> String {
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
    } = &one.result;
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

fn ground(ground: &GroundView) -> String {
    let mark = match ground.why_not {
        Some(_) => "✗",
        None => "✓",
    };
    let digest = code(&short(ground.digest.as_deref()));
    format!("- {mark} {} {digest}\n", inline(&ground.words()))
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
