//! Transitions that were applied, or would be: a line of text, and JSON.

use super::layout::{columns_of, one_line, shorten};
use super::wire::Finding;
use super::{Paint, Repository, StepView, Style};
use orch_base::{Diagnostic, TaskId, TaskPlace, command};
use orch_core::decide::{Direction, HistoryEntry, Transition, direction};
use orch_core::workflow::Workflow;
use serde::Serialize;

/// A transition of a task that was applied, or would be.
#[derive(Debug, Clone, Copy)]
pub struct AppliedView<'a> {
    /// The id of the task.
    pub task: &'a TaskId,
    /// Where the files of the task are.
    pub place: &'a TaskPlace,
    /// The workflow, which determines the direction of the transition.
    pub workflow: &'a Workflow,
    /// The transition.
    pub transition: &'a Transition,
    /// The entry in the record; `None` if nothing was recorded.
    pub entry: Option<&'a HistoryEntry>,
    /// The commit that contains it; `None` if nothing was committed.
    pub commit: Option<&'a str>,
}

/// The envelope of transitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Transitions {
    /// The repository that was read.
    pub repository: Repository,
    /// Whether the transitions were applied; false for a dry run.
    pub applied: bool,
    /// The transitions, in order.
    pub transitions: Vec<TransitionLine>,
    /// Notes and warnings about them.
    pub diagnostics: Vec<Finding>,
}

/// A step that was just made, or would be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransitionLine {
    /// The step.
    #[serde(flatten)]
    pub step: StepView,
    /// The direction from the phase that was left to the phase that was entered, in document order.
    pub direction: Direction,
    /// The command that undoes the step and those after it in its commit, for a send-back: nothing before it is in that
    /// commit.
    pub undo: Option<Vec<String>>,
}

super::json::documents! { Transitions = "transitions" }

impl Transitions {
    /// The envelope of these transitions.
    #[must_use]
    pub fn new(
        repository: Repository,
        applied: bool,
        transitions: Vec<TransitionLine>,
        diagnostics: &[Diagnostic],
    ) -> Self {
        Self {
            repository,
            applied,
            transitions,
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }
}

/// The fewest columns in which a reason makes sense.
const READABLE: usize = 8;

impl TransitionLine {
    /// The JSON form of a transition.
    #[must_use]
    pub fn of(applied: &AppliedView<'_>) -> Self {
        let transition = applied.transition;
        let AppliedView {
            task,
            place,
            workflow,
            entry,
            commit,
            ..
        } = *applied;
        Self {
            step: StepView::of(task.as_str(), place, transition, entry, commit),
            direction: direction(workflow, transition.from.as_ref(), Some(&transition.to)),
            undo: commit
                .filter(|_| transition.sends_back(workflow))
                .map(|commit| ["git", "revert", commit].map(str::to_owned).to_vec()),
        }
    }

    /// The transition as text, such as `t-42: planning -> plan_review  (plan-final) the plan is final
    /// 3f2a1bc`, cut at `width` (0: never) by shortening the reason, or leaving it out. The commit is always whole. After a
    /// send-back, a second line shows how to undo it.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let step = &self.step;
        let done = step.action.as_ref().map(|_| format!(" ({})", step.label()));
        let head = format!(
            "{}: {} -> {}{}",
            one_line(&step.task),
            step.origin(),
            step.to,
            done.unwrap_or_default()
        );
        let cause = step.rule.as_deref().unwrap_or(step.kind.as_str());
        let commit = step.short_commit();
        let tail = if commit.is_empty() {
            String::new()
        } else {
            format!("  {commit}")
        };
        let taken = columns_of(&head) + columns_of(cause) + columns_of(&tail) + 5;
        let reason = match width.checked_sub(taken) {
            _ if width == 0 => shorten(&step.reason, 0),
            Some(room) if room >= READABLE => shorten(&step.reason, room),
            // Without it the commit still fits, or gets a line of its own.
            _ => String::new(),
        };
        let is_too_long = width > 0 && reason.is_empty() && taken > width + 1;
        let tail = if is_too_long && !commit.is_empty() {
            format!("\n    {commit}")
        } else {
            tail
        };
        let style = match self.direction {
            Direction::Advance => Style::Good,
            _ => Style::Warn,
        };
        let mut out = format!(
            "{}  {}{}\n",
            paint.paint(style, &head),
            format!("({cause}) {reason}").trim_end(),
            paint.paint(Style::Dim, &tail)
        );
        if let Some(undo) = &self.undo {
            out.push_str(&format!(
                "    undo: {}\n",
                paint.paint(Style::Command, &command(undo))
            ));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn a_transition_is_a_line_and_a_send_back_can_be_undone() {
        let workflow = samples::workflow();
        let task = samples::task();
        let place = samples::place();
        let text = |transition: &Transition, commit, width| {
            let applied = AppliedView {
                task: &task,
                place: &place,
                workflow: &workflow,
                transition,
                entry: None,
                commit,
            };
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
t-42: planning -> plan_review  (plan-final) the plan is fin…

"#]]
        );
        assert_data_eq!(
            text(&samples::advance(), commit, 60),
            str![[r#"
t-42: planning -> plan_review  (plan-final)  3f2a1bc012

"#]]
        );
        assert_data_eq!(
            text(&samples::advance(), commit, 50),
            str![[r#"
t-42: planning -> plan_review  (plan-final)
    3f2a1bc012

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
