//! One task: what to do and why, the rules that were tried, its artifacts, the way it went, and its timeline.

use super::sheet::{SheetParts, issue_lines};
use super::{TaskPage, age, class, hinted, is_trouble, marked, owner_label, run_line, short};
use crate::explain::{GuardPartView, TriedRuleView, substate_text, value_text};
use crate::layout::{SHORT, below, shorten};
use crate::text::{headline, mood, own_reason};
use crate::{Expected, Finding, StepView, Suggestion};
use maud::{Markup, html};
use orch_base::{Severity, command};
use orch_core::decide::{ActorKind, DutyKind};

/// How many steps of a timeline are shown at once.
const STEPS: usize = 12;

/// A finding with its place.
pub(super) fn finding(finding: &Finding) -> Markup {
    let (word, style) = match finding.severity {
        Severity::Error => ("error", "bad"),
        Severity::Warning => ("warning", "warn"),
        Severity::Note => ("note", "dim"),
    };
    html! {
        li.finding {
            span class=(style) { (word) } " "
            @if finding.path.is_some() { bdi.mono { (finding.place()) } ": " }
            bdi { (marked(&finding.message)) } " " span.code { (finding.code) }
            @if let Some(hint) = finding.advice.hint() { p.hint { bdi { (hinted(hint)) } } }
        }
    }
}

/// Everything about a task, below its name.
pub(super) fn task(page: &TaskPage<'_>) -> Markup {
    let suggestion = &page.explanation.suggestion;
    let task = &suggestion.task;
    let duty = &suggestion.duty;
    let sheet = page.served.map(|served| SheetParts {
        sheet: served.sheet,
        now: page.now,
    });
    html! {
        article.task-page id=(super::anchor(&task.id)) data-tag=[page.served.map(|served| served.tag)] {
            @if let Some(sheet) = sheet { (sheet.doubts()) }
            @if page.served.is_some() {
                h1.task-name {
                    bdi.id { (task.id) } " "
                    @if let Some(title) = &task.title { bdi { (title) } }
                }
            }
            @if let Some(served) = page.served { (served.rights.note()) }
            p.facts {
                span.phase-name { (task.phase()) (substate_text(task.substate.as_ref())) }
                span { "attempt " (task.attempt) }
                span { (task.workflow) }
                bdi.mono { (task.path) }
                @if let Some(held) = &task.held { bdi { (held.words()) } }
                @if page.unmoved_since.is_some() { span { "last step " (age(page.unmoved_since, page.now)) } }
            }
            @if let Some(relations) = task.relations.words() { p.facts { bdi { (relations) } } }
            @if let Some(sheet) = sheet { (sheet.way()) }
            section.duty.trouble[is_trouble(duty)] {
                p.card-what {
                    (owner_label(duty.owner)) " "
                    strong class=(class(mood(suggestion))) { bdi { (headline(suggestion)) } }
                }
                p.reason dir="auto" { (marked(&duty.reason)) }
                @if let Some(run) = page.run {
                    p.card-run { "run: " (run_line(run)) " since " time datetime=(run.since) { (run.since) }
                        @if let Some(reason) = &run.reason { " – " bdi { (marked(reason)) } } }
                }
                (wanted(suggestion, sheet.is_some()))
                (options(page))
            }
            (orders(page))
            @if let (Some(output), Some(run)) = (page.served.and_then(|served| served.output), page.run) {
                section.run-output hidden {
                    (heading(page, "Output of the run"))
                    pre #output tabindex="0" aria-label="output of the run" data-output=(output) data-run=(run.run) {}
                }
            }
            div.sides {
                div.main-side {
                    @if let Some(sheet) = sheet { (sheet.body()) }
                    (rules(page))
                    @if sheet.is_none() { (artifacts(page)) }
                    (timeline(page))
                }
                section.way {
                    (heading(page, "Path"))
                    (way(page.steps))
                    (page.chart.drawn(page.steps, task.current_phase.as_deref(), page.served.is_none()))
                }
            }
        }
    }
}

/// What has to be written, and what is asked. Beside a sheet, without what that says: objections, remarks and findings.
fn wanted(suggestion: &Suggestion, has_sheet: bool) -> Markup {
    let findings: Vec<&Finding> = suggestion.findings().collect();
    let issues: Vec<_> = suggestion
        .inputs
        .iter()
        .filter(|input| !input.issues.is_empty())
        .collect();
    html! {
        @if !has_sheet {
            @for remark in &suggestion.remarks { p.remark dir="auto" { (marked(remark)) } }
        }
        @if let Some(back) = &suggestion.sent_back {
            p dir="auto" { "sent back from " bdi.mono { (back.from) } ": " bdi { (marked(&back.reason)) } }
        }
        @if !suggestion.expects.is_empty() {
            ul.expects { @for expected in &suggestion.expects { (expectation(suggestion, expected, has_sheet)) } }
        }
        @for input in issues.iter().filter(|_| !has_sheet) {
            p { "objections in " bdi.mono { (input.file.path) } }
            (issue_lines(&input.issues))
        }
        @if !findings.is_empty() && !has_sheet {
            ul.findings { @for one in findings { (finding(one)) } }
        }
        @if !suggestion.waived.is_empty() && !has_sheet { p.dim { "waived: " (suggestion.waived.join(", ")) } }
        @if let Some(question) = &suggestion.question {
            p { bdi { (marked(&question.title)) } }
            ul.fields { @for field in &question.fields { li { bdi { (marked(&field.text())) } } } }
        }
    }
}

/// The buttons of the orders that may be given: those that the task asks for, which stay in sight, and the others folded.
fn orders(page: &TaskPage<'_>) -> Markup {
    let orders = page.served.map(|served| served.orders).unwrap_or_default();
    let numbered = orders.iter().enumerate();
    let (offered, others): (Vec<_>, Vec<_>) = numbered.partition(|(_, order)| order.is_offered);
    html! {
        @if !offered.is_empty() {
            div.orders hidden { @for (number, order) in offered { (order.button(number)) } }
        }
        @if !others.is_empty() {
            details.other-orders data-name="orders" hidden {
                summary { "more orders: " (others.iter().map(|(_, order)| order.name.as_str()).collect::<Vec<_>>().join(", ")) }
                div.orders hidden { @for (number, order) in others { (order.button(number)) } }
            }
        }
    }
}

/// The commands to choose from. Those that have a button are hidden where there is a script.
fn options(page: &TaskPage<'_>) -> Markup {
    let options = &page.explanation.suggestion.options;
    let orders = page.served.map(|served| served.orders).unwrap_or_default();
    html! {
        @if !options.is_empty() {
            ul.options {
                @for option in options {
                    li.has-button[orders.iter().any(|order| order.argv == option.argv)] {
                        code.command { (command(&option.argv)) } " " bdi.dim { (marked(&option.effect)) }
                    }
                }
            }
        }
    }
}

/// The heading of a part of the page.
fn heading(page: &TaskPage<'_>, text: &str) -> Markup {
    html! { @if page.served.is_some() { h2 { (text) } } @else { h4 { (text) } } }
}

fn expectation(suggestion: &Suggestion, expected: &Expected, has_sheet: bool) -> Markup {
    let reason = own_reason(expected);
    html! {
        li {
            span class={ "state state-" (expected.state.as_str()) } { (expected.state.as_str()) } " "
            bdi.mono { (below(&suggestion.task.path, &expected.path)) }
            @if let Some(schema) = &expected.schema { span.dim { " schema " (schema) } }
            @if !reason.is_empty() { p { bdi { (marked(&reason)) } } }
            @if !expected.problems.is_empty() && !has_sheet {
                ul.findings { @for problem in expected.problems.iter().filter(|problem| !problem.is_detail()) { (finding(problem)) } }
            }
        }
    }
}

/// The rules of the phase, the nearest one first.
fn rules(page: &TaskPage<'_>) -> Markup {
    let explanation = page.explanation;
    let task = explanation.suggestion.task.path.as_str();
    let (nearest, others): (Vec<&TriedRuleView>, Vec<_>) = explanation
        .rules
        .iter()
        .partition(|rule| Some(&rule.rule) == explanation.nearest.as_ref());
    html! {
        section.rules {
            (heading(page, "Rules"))
            @if explanation.rules.is_empty() {
                p.dim {
                    @if explanation.suggestion.duty.kind == DutyKind::Done {
                        "No rule leaves a terminal phase."
                    } @else {
                        "No rule was tried."
                    }
                }
            }
            @for rule in nearest { (tried(task, &explanation.document, rule)) }
            @if !others.is_empty() {
                details data-name="rules" {
                    summary { "other rules of the phase: " (others.len()) }
                    @for rule in others { (tried(task, &explanation.document, rule)) }
                }
            }
        }
    }
}

fn tried(task: &str, document: &str, rule: &TriedRuleView) -> Markup {
    let (word, style) = rule.standing();
    html! {
        div.rule {
            p {
                strong.mono { (rule.rule) } " " bdi { (shorten(&rule.outcome, SHORT)) } " "
                span class=(class(style)) { (word) }
                @if let Some(line) = rule.line { " " bdi.mono.dim { (document) ":" (line) } }
            }
            @if let Some(error) = &rule.error { p.bad { bdi { (marked(error)) } } }
            @if rule.result != "not-tried" && !rule.parts.is_empty() {
                ul.parts { @for part in &rule.parts { (guard_part(task, part)) } }
            }
        }
    }
}

fn guard_part(task: &str, part: &GuardPartView) -> Markup {
    let is_obvious = match part.saw.as_slice() {
        [only] => only.name == part.text && only.value.is_boolean(),
        _ => false,
    };
    html! {
        li.part {
            span class={ "truth truth-" (part.result) } { (part.result) } " "
            @if let Some(name) = &part.within { span.dim { "in " (name) ": " } }
            code { (shorten(&part.text, SHORT)) }
            @for seen in &part.saw {
                @let from = html! {
                    @if let Some(path) = &seen.path { bdi.mono.dim.from { (below(task, path)) } }
                };
                @if is_obvious {
                    (from)
                } @else {
                    span.saw {
                        code { (seen.name) }
                        @if seen.missing { " is missing" } @else { " = " bdi.mono { (value_text(&seen.value)) } }
                        (from)
                    }
                }
            }
        }
    }
}

fn artifacts(page: &TaskPage<'_>) -> Markup {
    let task = page.explanation.suggestion.task.path.as_str();
    let (present, missing): (Vec<_>, Vec<_>) = page
        .explanation
        .artifacts
        .iter()
        .partition(|facts| facts.present);
    html! {
        section.artifacts {
            (heading(page, "Artifacts"))
            @if !present.is_empty() {
                ul.facts-list {
                    @for facts in present {
                        @let (word, style) = facts.standing();
                        li {
                            span class={ "state state-" (word) " " (class(style)) } { (word) } " "
                            strong { (facts.artifact) } " "
                            @match facts.paths.as_slice() {
                                [] => {}
                                [only] => bdi.mono { (below(task, only)) },
                                several => details.inline data-name={ "files:" (facts.artifact) } {
                                    summary { (several.len()) " files" }
                                    ul { @for path in several { li { bdi.mono { (below(task, path)) } } } }
                                },
                            }
                            @if let Some(digest) = &facts.digest { " " span.mono.dim { (short(digest)) } }
                            @for note in facts.notes() { p.note { bdi { (marked(&note)) } } }
                        }
                    }
                }
            }
            @if !missing.is_empty() {
                @let names: Vec<&str> = missing.iter().map(|facts| facts.artifact.as_str()).collect();
                p.dim { "not there: " (names.join(", ")) }
            }
        }
    }
}

/// The phases that the task went through, in order.
fn way(steps: &[StepView]) -> Markup {
    let moved = steps
        .iter()
        .filter(|step| step.from.as_deref() != Some(step.to.as_str()));
    html! {
        ol.walked-list { @for step in moved { li { (step.to) } } }
    }
}

fn timeline(page: &TaskPage<'_>) -> Markup {
    let newest: Vec<&StepView> = page.steps.iter().rev().collect();
    let (first, rest) = newest.split_at(newest.len().min(STEPS));
    html! {
        section.timeline {
            (heading(page, "Timeline"))
            @if newest.is_empty() { p.dim { "Nothing is recorded." } }
            ol.steps { @for one in first { (step(page, one)) } }
            @if !rest.is_empty() {
                details data-name="timeline" {
                    summary { (rest.len()) " earlier" }
                    ol.steps { @for one in rest { (step(page, one)) } }
                }
            }
        }
    }
}

fn step(page: &TaskPage<'_>, step: &StepView) -> Markup {
    let task = page.explanation.suggestion.task.path.as_str();
    html! {
        li.step.{ "kind-" (step.kind.as_str()) } {
            p {
                strong { (step.origin()) " → " (step.to) } " " span.kind { (step.label()) }
                @if let Some(rule) = &step.rule { " " span.mono.dim { (rule) } }
                @if let Some(at) = &step.at { " " time.dim datetime=(at) { (at) } }
                @if step.commit.is_some() { " " span.mono.dim { (step.short_commit()) } }
            }
            p dir="auto" { (marked(&step.reason)) }
            @if let Some(actor) = step.actor.as_ref().filter(|actor| actor.kind != ActorKind::Orch) {
                p.dim { "by " bdi { (actor.name) } " (" (actor.kind.as_str()) ")"
                    @if let Some(executor) = &step.executor { ", performed by " bdi { (executor) } } }
            }
            @if !step.evidence.is_empty() || !step.files.is_empty() {
                ul.evidence {
                    @for file in &step.evidence {
                        li.mono { bdi { (below(task, &file.path)) } span.dim { "@" (short(&file.digest)) } }
                    }
                    @for file in &step.files {
                        li.mono { "wrote " bdi { (file.path) } span.dim { "@" (short(&file.digest)) } }
                    }
                }
            }
            @if !step.waived.is_empty() { p.dim { "waived: " (step.waived.join(", ")) } }
        }
    }
}
