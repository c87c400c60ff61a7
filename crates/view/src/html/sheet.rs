//! The sheet of a task on its page: what is in doubt, what its files say, what an approval would rest on, and the code.

use super::{class, hinted, marked, short};
use crate::layout::{below, counted};
use crate::sheet::{
    GroundView, SheetLine, SheetSection, SheetVerification, ShownArtifact, ShownFile,
};
use crate::verdict::SaidVerdict;
use crate::way::way_text;
use crate::{ChangedFile, IssueView, Paint, Style, TaskChange, TaskSheet, uri};
use maud::{Markup, html};
use orch_base::Timestamp;
use percent_encoding::utf8_percent_encode;

/// How many lines of a patch are shown without being asked for.
const OPEN_LINES: usize = 250;

/// The sheet of a task, for a page.
#[derive(Clone, Copy)]
pub(super) struct SheetParts<'a> {
    pub sheet: &'a TaskSheet,
    /// The present time, for ages.
    pub now: Timestamp,
}

impl SheetParts<'_> {
    /// What is stale, missing or in doubt; nothing if nothing is.
    pub(super) fn doubts(self) -> Markup {
        html! {
            @if !self.sheet.doubts.is_empty() {
                ul.doubts aria-label="in doubt" {
                    @for doubt in &self.sheet.doubts {
                        li.doubt.{ "doubt-" (class(doubt.style())) } {
                            bdi { (marked(&doubt.message)) }
                            @if let Some(place) = &doubt.place { " " bdi.mono.dim { (place) } }
                            @if let Some(hint) = doubt.advice.hint() { p.hint { bdi { (hinted(hint)) } } }
                        }
                    }
                }
            }
        }
    }

    /// The way of the task in one line.
    pub(super) fn way(self) -> Markup {
        html! { p.way-line { (way_text(&self.sheet.way, 0, Paint::PLAIN, 0).trim_end()) } }
    }

    /// What the files say, and the rest.
    pub(super) fn body(self) -> Markup {
        html! {
            div.sheet {
                @for artifact in &self.sheet.artifacts { (self.artifact(artifact)) }
                (self.verifications())
                (self.grounds())
                @if let Some(code) = &self.sheet.code { (self.code(code)) }
            }
        }
    }

    fn artifact(self, artifact: &ShownArtifact) -> Markup {
        let only = artifact.files.first().filter(|_| artifact.files.len() == 1);
        html! {
            section.shown.{ "role-" (artifact.role.as_str()) } {
                h2 { (artifact.artifact) @if let Some(title) = &artifact.title { ": " bdi { (title) } } }
                p.facts {
                    @if artifact.standing != "ready" {
                        span class={ "state state-" (artifact.standing) } { (artifact.standing) }
                    }
                    @if let Some(verdict) = only.and_then(|file| file.verdict.as_ref()) {
                        (said(verdict))
                    }
                    @if let Some(file) = only { (self.link(file)) }
                    @if !artifact.writers.is_empty() { span { "by " bdi { (artifact.writers.join(", ")) } } }
                    @if let Some(digest) = &artifact.digest { span.mono { (short(digest)) } }
                }
                @for file in &artifact.files {
                    @if only.is_none() { (self.file_head(file)) }
                    (file_body(file))
                }
                @if artifact.omitted > 0 { p.warn { (counted(artifact.omitted, "more file")) } }
            }
        }
    }

    /// One of several files.
    fn file_head(self, file: &ShownFile) -> Markup {
        html! {
            p.facts {
                (self.link(file))
                @if let Some(verdict) = &file.verdict {
                    (said(verdict))
                }
                @if let Some(why) = &file.not_counted { span { "does not count: " bdi { (marked(why)) } } }
            }
        }
    }

    /// The path of a file, as a link to its content.
    fn link(self, file: &ShownFile) -> Markup {
        self.link_to(&file.path)
    }

    fn link_to(self, path: &str) -> Markup {
        let task = utf8_percent_encode(&self.sheet.task.id, uri::SEGMENT);
        let query = utf8_percent_encode(path, uri::SEGMENT);
        html! {
            a.mono href={ "/api/v1/tasks/" (task) "/content?path=" (query) } { bdi { (below(&self.sheet.task.path, path)) } }
        }
    }

    fn verifications(self) -> Markup {
        html! {
            @if !self.sheet.verifications.is_empty() {
                section.shown {
                    h2 { "Verifications" }
                    ul.facts-list { @for one in &self.sheet.verifications { li { (verification(one)) } } }
                }
            }
        }
    }

    fn grounds(self) -> Markup {
        let name = match self.sheet.is_done() {
            true => "The approval rested on",
            false => "An approval would rest on",
        };
        html! {
            @if !self.sheet.rests_on.is_empty() {
                section.shown {
                    h2 { (name) }
                    ul.facts-list { @for ground in &self.sheet.rests_on { li { (ground_line(ground)) } } }
                }
            }
        }
    }

    fn code(self, code: &TaskChange) -> Markup {
        html! {
            section.shown.change {
                h2 { "Code: " (code.artifact) }
                p.facts {
                    span { (code.counts()) }
                    @if let Some(path) = &code.patch { (self.link_to(path)) }
                    @if let Some(judged) = &code.judged {
                        @let since = super::age(Timestamp::parse(&judged.at), self.now);
                        @if code.files.iter().any(|file| file.changed_since) {
                            span.warn { "marked: changed since " code { (judged.artifact) } " judged it, " (since) }
                        } @else {
                            span { "unchanged since " code { (judged.artifact) } " judged it, " (since) }
                        }
                    }
                }
                @for file in &code.files { (changed_file(file)) }
                p.dim { "All of it: " code.command { (code.whole()) } }
            }
        }
    }
}

fn file_body(file: &ShownFile) -> Markup {
    html! {
        @if !file.issues.is_empty() { (issue_lines(&file.issues)) }
        @for one in &file.sections { (section(one)) }
        @if file.omitted > 0 { p.warn { (counted(file.omitted, "more line")) } }
    }
}

fn said(verdict: &SaidVerdict) -> Markup {
    html! { strong class=(class(verdict.style())) { bdi { (verdict.word) } } }
}

/// What a verdict objects to.
pub(super) fn issue_lines(issues: &[IssueView]) -> Markup {
    html! {
        ul.findings {
            @for issue in issues {
                li.finding {
                    @if let Some(line) = issue.line { span.mono { "line " (line) } " " }
                    @if let Some(severity) = &issue.severity { span class=(class(issue.style())) { (severity) } " " }
                    bdi { (marked(&issue.message)) }
                    @if let Some(about) = &issue.about { " " bdi.mono { (about) } }
                }
            }
        }
    }
}

fn section(section: &SheetSection) -> Markup {
    html! {
        @if let Some(heading) = &section.heading { h3 { bdi { (heading) } } }
        div.said { @for line in &section.lines { (section_line(line)) } }
    }
}

fn section_line(line: &SheetLine) -> Markup {
    let depth = line.depth.min(4).to_string();
    html! {
        @if line.item || !line.text.trim().is_empty() {
            p dir="auto" data-depth=[(line.item).then_some(depth)] {
                @match line.done {
                    Some(true) => span.good role="img" aria-label="done" { "☑ " },
                    Some(false) => span.dim role="img" aria-label="not done" { "☐ " },
                    None => @if line.item { "• " },
                }
                (marked(&line.text))
                @if let Some(note) = &line.note { span.dim { " (" (note) ")" } }
            }
        }
    }
}

fn verification(one: &SheetVerification) -> Markup {
    let result = &one.result;
    let style = if result.outcome == "passed" {
        "good"
    } else {
        "bad"
    };
    html! {
        strong { (result.name) } " " span class=(style) { (result.outcome) }
        @if let Some(counts) = result.counts() { ": " (counts) }
        @if let Some(message) = &result.message { p.note { bdi { (marked(message)) } } }
        @if !result.failed.is_empty() {
            ul.findings {
                @for test in &result.failed {
                    li.finding {
                        bdi.mono { (test.name) }
                        @if let Some(place) = test.place() { " " bdi.mono.dim { (place) } }
                        @if result.known.contains(&test.name) { span.dim { " (fails at the base too)" } }
                        @if let Some(message) = &test.message { pre.message { (message) } }
                    }
                }
            }
        }
        @for name in &result.lost { p.note { bdi.mono { (name) } ": passed at the base, and did not run now" } }
    }
}

fn ground_line(ground: &GroundView) -> Markup {
    let (mark, style) = match ground.why_not {
        Some(_) => ("✗", Style::Bad),
        None => ("✓", Style::Good),
    };
    html! {
        span class=(class(style)) { (mark) } " " bdi { (marked(&ground.words())) }
        @if let Some(digest) = &ground.digest { " " span.mono.dim { (short(digest)) } }
    }
}

fn changed_file(file: &ChangedFile) -> Markup {
    let lines = file.lines();
    html! {
        details.changed-file data-name={ "code:" (file.path) } open[lines.len() <= OPEN_LINES] {
            summary {
                bdi.mono { (file.path) } " "
                @if let Some(note) = &file.note {
                    span.warn { (note) }
                } @else if file.patch.is_some() {
                    span.good { "+" (file.added) } " " span.bad { "-" (file.removed) }
                } @else { "binary" }
                @if file.changed_since { " " span.warn { "changed since" } }
            }
            @if !lines.is_empty() {
                pre.diff tabindex="0" aria-label={ "the change of " (file.path) } {
                    @for (line, is_new) in lines { (patch_line(line, is_new)) }
                }
            }
            @if file.omitted > 0 { p.warn { (counted(file.omitted, "more line")) } }
        }
    }
}

fn patch_line(line: &str, is_new: bool) -> Markup {
    let kind = match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => "head-line",
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "hunk",
        _ => "same",
    };
    html! { span.{ (kind) }.since[is_new] { (line) "\n" } }
}
