//! `orch log`: the history of a task, line by line.

use super::json::SCHEMA_VERSION;
use super::layout::{Cell, columns, one_line, paragraph, plain, styled};
use super::{Paint, Repository, Style};
use crate::decide::HistoryEntry;
use serde::Serialize;
use std::collections::BTreeMap;

/// The envelope of a history.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// The version of this shape.
    pub schema_version: u32,
    /// `log`.
    pub kind: &'static str,
    /// What was looked at.
    pub repository: Repository,
    /// The transitions, in the order given.
    pub entries: Vec<LogEntry>,
}

/// One recorded transition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEntry {
    /// The task.
    pub task: String,
    /// Its number, from 1.
    pub seq: u64,
    /// When, in UTC.
    pub at: String,
    /// The phase that was left; null for the creation of the task.
    pub from: Option<String>,
    /// The phase that was entered.
    pub to: String,
    /// What kind of transition.
    pub kind: &'static str,
    /// The action that it tells of.
    pub action: Option<String>,
    /// The rule that yielded it.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// Who.
    pub actor: LogActor,
    /// Paths below the task directory and their blob ids, as recorded.
    pub evidence: BTreeMap<String, String>,
    /// The commit that holds it, where known.
    pub commit: Option<String>,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogActor {
    /// `orch`, `human` or `agent`.
    pub kind: &'static str,
    /// A name.
    pub name: String,
}

impl Log {
    /// The envelope of these entries.
    #[must_use]
    pub fn new(repository: Repository, entries: Vec<LogEntry>) -> Self {
        Self { schema_version: SCHEMA_VERSION, kind: "log", repository, entries }
    }

    /// The history as text: aligned lines, each followed by its reason, actor and evidence.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.entries.is_empty() {
            return "no transition\n".to_owned();
        }
        let several = self.entries.iter().any(|entry| entry.task != self.entries[0].task);
        let rows: Vec<Vec<Cell>> = self.entries.iter().map(|entry| entry.row(several)).collect();
        let heads = columns(&rows, 0, paint, width);
        let mut out = String::new();
        for (entry, head) in self.entries.iter().zip(heads.lines()) {
            out.push_str(head);
            out.push('\n');
            paragraph(&mut out, &entry.reason, 4, 0, width);
            if entry.actor.kind != "orch" {
                paragraph(&mut out, &format!("by {} ({})", entry.actor.name, entry.actor.kind), 4, 0, width);
            }
            for (path, digest) in &entry.evidence {
                let short: String = digest.chars().take(10).collect();
                let line = format!("    {}@{}\n", one_line(path), one_line(&short));
                out.push_str(&paint.paint(Style::Dim, line.trim_end_matches('\n')));
                out.push('\n');
            }
        }
        out
    }
}

impl LogEntry {
    /// The wire shape of a recorded transition of a task.
    #[must_use]
    pub fn of(task: &str, entry: &HistoryEntry, commit: Option<&str>) -> Self {
        Self {
            task: task.to_owned(),
            seq: entry.seq,
            at: entry.at.to_string(),
            from: entry.from.as_ref().map(ToString::to_string),
            to: entry.to.to_string(),
            kind: entry.kind.as_str(),
            action: entry.action.as_ref().map(ToString::to_string),
            rule: entry.rule.clone(),
            reason: entry.reason.clone(),
            actor: LogActor { kind: entry.actor.kind.as_str(), name: entry.actor.name.clone() },
            evidence: entry.evidence.iter().cloned().collect(),
            commit: commit.map(str::to_owned),
        }
    }

    /// The task is named only where the log is of several.
    fn row(&self, several: bool) -> Vec<Cell> {
        let commit: String = self.commit.iter().flat_map(|commit| commit.chars().take(10)).collect();
        let style = match self.kind {
            "create" | "advance" | "run" | "start" | "answer" => Style::Good,
            "end" => Style::Dim,
            _ => Style::Warn,
        };
        let mut row = vec![styled(&self.at, Style::Dim)];
        if several {
            row.push(styled(&self.task, Style::Strong));
        }
        row.extend([
            styled(format!("{} -> {}", self.from.as_deref().unwrap_or("new"), self.to), style),
            plain(
                self.action
                    .as_ref()
                    .map_or_else(|| self.kind.to_owned(), |name| format!("{} {name}", self.kind)),
            ),
            plain(self.rule.as_deref().unwrap_or_default()),
            styled(commit, Style::Dim),
        ]);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::samples;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn a_history_reads_like_a_log() {
        let log = Log::new(samples::repository(), samples::log());
        assert_data_eq!(
            log.text(Paint::PLAIN, 80),
            str![[r#"
2026-11-21T04:50:00Z  new -> planning          create
    the task is new
    by Ada (human)
2026-11-21T04:50:00Z  planning -> plan_review  advance  plan-final  c0ffee0123
    the plan is final and holds no blocking question
    planning/plan.json@d68ba18a52

"#]]
        );
        assert_eq!(Log::new(samples::repository(), Vec::new()).text(Paint::PLAIN, 0), "no transition\n");
    }
}
