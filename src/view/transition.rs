//! Transitions that were applied, or would be: a line of text, and JSON.

use super::json::SCHEMA_VERSION;
use super::layout::{one_line, shorten};
use super::next::direction;
use super::wire::{Finding, Proof};
use super::{Direction, Paint, Repository, Style};
use crate::base::{Diagnostic, RepoPath, TaskId, command};
use crate::decide::Transition;
use crate::workflow::Workflow;
use serde::Serialize;

/// A transition of a task that was applied, or would be.
#[derive(Debug, Clone, Copy)]
pub struct AppliedView<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// Its directory.
    pub directory: &'a RepoPath,
    /// The workflow that tells forward from backward.
    pub workflow: &'a Workflow,
    /// The transition.
    pub transition: &'a Transition,
    /// The commit that holds it; `None` where nothing was committed.
    pub commit: Option<&'a str>,
}

/// The envelope of transitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transitions {
    /// The version of this shape.
    pub schema_version: u32,
    /// `transitions`.
    pub kind: &'static str,
    /// What was looked at.
    pub repository: Repository,
    /// Whether they were applied; false for a dry run.
    pub applied: bool,
    /// The transitions, in the order in which they happened.
    pub transitions: Vec<TransitionLine>,
    /// What should be known beside them.
    pub diagnostics: Vec<Finding>,
}

/// One transition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransitionLine {
    /// The task.
    pub task: String,
    /// The directory of the task.
    pub path: String,
    /// The phase that was left; null for the creation of the task.
    pub from: Option<String>,
    /// The phase that was entered.
    pub to: String,
    /// `create`, `advance`, `regress`, `override`, `rollback`, `reopen`, `confirm` or `merge`; of what is
    /// recorded within a phase `run`, `skip`, `answer`, `order`, `start` or `end`.
    pub kind: &'static str,
    /// The action that it tells of.
    pub action: Option<String>,
    /// Where it leads.
    pub direction: Direction,
    /// The rule that yielded it.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// What it rests on.
    pub evidence: Vec<Proof>,
    /// Artifacts whose absence it accepts.
    pub waived: Vec<String>,
    /// The commit that holds it.
    pub commit: Option<String>,
    /// The command that undoes it, for a send-back that was committed.
    pub undo: Option<Vec<String>>,
}

impl Transitions {
    /// The same with what the user should know beside them.
    #[must_use]
    pub fn noting(mut self, notes: &[Diagnostic]) -> Self {
        self.diagnostics = notes.iter().map(Finding::of).collect();
        self
    }

    /// The envelope of these transitions.
    #[must_use]
    pub fn new(
        repository: Repository,
        applied: bool,
        transitions: Vec<TransitionLine>,
        diagnostics: &[Diagnostic],
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            kind: "transitions",
            repository,
            applied,
            transitions,
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }
}

impl TransitionLine {
    /// The wire shape of a transition.
    #[must_use]
    pub fn of(applied: &AppliedView<'_>) -> Self {
        let transition = applied.transition;
        let direction = direction(applied.workflow, transition.from.as_ref(), Some(&transition.to));
        let goes_back = matches!(direction, Direction::Regress | Direction::Stay) && !transition.kind.stays();
        Self {
            task: applied.task.to_string(),
            path: applied.directory.to_string(),
            from: transition.from.as_ref().map(ToString::to_string),
            to: transition.to.to_string(),
            kind: transition.kind.as_str(),
            action: transition.action.as_ref().map(ToString::to_string),
            direction,
            rule: transition.rule.as_ref().map(ToString::to_string),
            reason: transition.reason.clone(),
            evidence: Proof::rows(&transition.evidence, applied.directory),
            waived: transition.waive.iter().map(ToString::to_string).collect(),
            commit: applied.commit.map(str::to_owned),
            undo: applied
                .commit
                .filter(|_| goes_back)
                .map(|commit| ["git", "revert", commit].map(str::to_owned).to_vec()),
        }
    }

    /// `t-42: planning -> plan_review  (plan-final) the plan is final  3f2a1bc`, cut at `width`
    /// (0: never) by shortening the reason; after a send-back, a second line that undoes it.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let from = self.from.as_deref().unwrap_or("new");
        let done = self.action.as_ref().map(|action| format!(" ({} {action})", self.kind));
        let head = format!("{}: {from} -> {}{}", one_line(&self.task), self.to, done.unwrap_or_default());
        let cause = self.rule.as_deref().unwrap_or(self.kind);
        let commit: String = self.commit.iter().flat_map(|commit| commit.chars().take(10)).collect();
        let tail = if commit.is_empty() { String::new() } else { format!("  {commit}") };
        let taken = head.chars().count() + cause.chars().count() + tail.chars().count() + 5;
        let room = if width == 0 { 0 } else { width.saturating_sub(taken).max(20) };
        let style = match self.direction {
            Direction::Advance => Style::Good,
            _ => Style::Warn,
        };
        let mut out = format!(
            "{}  ({cause}) {}{}\n",
            paint.paint(style, &head),
            shorten(&self.reason, room),
            paint.paint(Style::Dim, &tail)
        );
        if let Some(undo) = &self.undo {
            out.push_str(&format!("    undo: {}\n", paint.paint(Style::Command, &command(undo))));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::samples;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn a_transition_is_a_line_and_a_send_back_can_be_undone() {
        let workflow = samples::workflow();
        let (task, directory) = (samples::task(), samples::directory());
        let text = |transition: &Transition, commit, width| {
            let applied =
                AppliedView { task: &task, directory: &directory, workflow: &workflow, transition, commit };
            TransitionLine::of(&applied).text(Paint::PLAIN, width)
        };
        let commit = Some("3f2a1bc0123456789");
        assert_data_eq!(
            text(&samples::advance(), commit, 0),
            str![[r#"
t-42: planning -> plan_review  (plan-final) the plan is final and holds no blocking question  3f2a1bc012

"#]]
        );
        assert_data_eq!(
            text(&samples::advance(), None, 60),
            str![[r#"
t-42: planning -> plan_review  (plan-final) the plan is final a…

"#]]
        );
        assert_data_eq!(
            text(&samples::regress(), commit, 0),
            str![[r#"
t-42: plan_review -> planning  (plan-blocked) the plan review names a blocking issue  3f2a1bc012
    undo: git revert 3f2a1bc0123456789

"#]]
        );
    }
}
