//! `orch log`: the history of a task, line by line.

use super::layout::{Cell, below, id_cell, one_line, paragraph, plain, styled, table};
use super::{Finding, Paint, Repository, StepView, Style};
use orch_base::Diagnostic;
use orch_core::decide::{ActorKind, Kind};
use serde::Serialize;

/// The envelope of a history.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Log {
    /// The repository that was read.
    pub repository: Repository,
    /// The steps, in the given order.
    pub entries: Vec<StepView>,
    /// Why steps of tasks may be missing.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { Log = "log" }

impl Log {
    /// The envelope of these entries, and of findings about what is missing.
    #[must_use]
    pub fn new(repository: Repository, entries: Vec<StepView>, diagnostics: &[Diagnostic]) -> Self {
        Self {
            repository,
            entries,
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }

    /// The history as text: aligned lines, each followed by the rule and the reason, the actor and the evidence.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.entries.is_empty() {
            return "no transition\n".to_owned();
        }
        let several = self
            .entries
            .iter()
            .any(|entry| entry.task != self.entries[0].task);
        let rows: Vec<Vec<Cell>> = self
            .entries
            .iter()
            .map(|entry| row(entry, several))
            .collect();
        // The commit and the task are what people copy.
        let whole: &[usize] = if several { &[0, 1, 2] } else { &[0, 1] };
        let heads = table(&rows, whole, 0, paint, width);
        let mut out = String::new();
        for (entry, head) in self.entries.iter().zip(&heads) {
            out.push_str(head);
            let reason = match &entry.rule {
                Some(rule) => format!("({rule}) {}", entry.reason),
                None => entry.reason.clone(),
            };
            paragraph(&mut out, &reason, 4, 0, width);
            if let Some(actor) = entry
                .actor
                .as_ref()
                .filter(|actor| actor.kind != ActorKind::Orch)
            {
                let by = format!("by {} ({})", actor.name, actor.kind.as_str());
                paragraph(&mut out, &by, 4, 0, width);
            }
            if let (Some(executor), Some(started)) = (&entry.executor, &entry.started) {
                paragraph(
                    &mut out,
                    &format!("performed by {executor}, started {started}"),
                    4,
                    0,
                    width,
                );
            }
            for file in &entry.files {
                let short: String = file.digest.chars().take(10).collect();
                let line = one_line(&format!("wrote {}@{short}", file.path));
                out.push_str(&format!("    {}\n", paint.paint(Style::Dim, &line)));
            }
            for file in &entry.evidence {
                let short: String = file.digest.chars().take(10).collect();
                let path = below(&entry.path, &file.path);
                let line = format!("    {path}@{}\n", one_line(&short));
                out.push_str(&paint.paint(Style::Dim, line.trim_end_matches('\n')));
                out.push('\n');
            }
        }
        out
    }
}

/// The line of a step; it names the task only if the log covers several.
fn row(step: &StepView, several: bool) -> Vec<Cell> {
    let style = match step.kind {
        Kind::Create | Kind::Advance | Kind::Run | Kind::Start | Kind::Answer | Kind::Rename => {
            Style::Good
        }
        Kind::Approve | Kind::Relate | Kind::Take | Kind::Verify => Style::Good,
        Kind::Lapse | Kind::Migrate => Style::Warn,
        Kind::End => Style::Dim,
        Kind::Regress | Kind::Override | Kind::Rollback | Kind::Reopen | Kind::Confirm => {
            Style::Warn
        }
        Kind::Skip | Kind::Signal | Kind::Merge | Kind::Undo => Style::Warn,
    };
    let mut row = vec![
        styled(step.at.as_deref().unwrap_or_default(), Style::Dim),
        styled(step.short_commit(), Style::Dim),
    ];
    if several {
        row.push(id_cell(&step.task));
    }
    row.extend([
        styled(format!("{} -> {}", step.origin(), step.to), style),
        plain(step.label()),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn a_history_reads_like_a_log() {
        let log = Log::new(samples::repository(), samples::log(), &[]);
        assert_data_eq!(
            log.text(Paint::PLAIN, 80),
            str![[r#"
2026-11-21T04:50:00Z              new -> planning          create
    the task is new
    by Ada (human)
2026-11-21T04:50:00Z  c0ffee0123  planning -> plan_review  advance
    (plan-final) the plan is final and holds no blocking question
    planning/plan.json@d68ba18a52

"#]]
        );
        assert_eq!(
            Log::new(samples::repository(), Vec::new(), &[]).text(Paint::PLAIN, 0),
            "no transition\n"
        );
    }
}
