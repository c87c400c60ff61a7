//! One task in JSON: which it is and where it is, and who must do what about it.

use super::{RunnerView, Subject};
use crate::base::RepoPath;
use crate::decide::{Decision, Direction, Do, Duty, DutyKind, RunnerState, duty};
use crate::workflow::Owner;
use serde::Serialize;
use serde_json::Value;

/// A task: which one it is, and the phase it is in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The id of the task.
    #[serde(rename = "task")]
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its directory, relative to the root of the repository.
    pub path: String,
    /// The workflow that judged it.
    pub workflow: String,
    /// The revision of its state: how many steps are recorded.
    pub rev: u64,
    /// The phase it is in; null where the state names none.
    pub current_phase: Option<String>,
    /// The position within the phase, as the workflow computes it; null where the phase has none.
    pub substate: Option<Value>,
    /// Which attempt at that phase this is, from 1; 0 where it is in none.
    pub attempt: u32,
}

/// Who must do what about a task, and where that leads.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DutyView {
    /// The target of a transition; the current phase where it must be done or redone; the last
    /// consistent one where inconsistent; null for done and error.
    pub suggested_next: Option<String>,
    /// Where the suggested phase lies from the current one, in document order.
    pub direction: Direction,
    /// What kind of decision stands.
    pub kind: DutyKind,
    /// Who must act.
    pub owner: Owner,
    /// What has to be done.
    pub r#do: Do,
    /// Why, in one sentence.
    pub reason: String,
}

impl TaskView {
    /// The task of a decision, with its title and its directory.
    #[must_use]
    pub fn of(decision: &Decision, title: Option<&str>, directory: &RepoPath) -> Self {
        Self {
            id: decision.task.to_string(),
            title: title.map(str::to_owned),
            path: directory.to_string(),
            workflow: decision.workflow.to_string(),
            rev: decision.rev,
            current_phase: decision.phase.as_ref().map(ToString::to_string),
            substate: decision.substate.clone(),
            attempt: decision.attempt,
        }
    }

    /// The name of the current phase for people.
    pub(super) fn phase(&self) -> &str {
        self.current_phase.as_deref().unwrap_or("(no phase)")
    }
}

impl DutyView {
    /// What the table of duties says about a subject.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let Duty { kind, task, owner, phase, direction, .. } = subject.duty();
        let reason = match subject.runner {
            Some(RunnerView::Stalled(why)) if kind == DutyKind::Stalled => why.to_owned(),
            _ => subject.decision.reason.clone(),
        };
        let suggested_next = phase.as_ref().map(ToString::to_string);
        Self { suggested_next, direction, kind, owner, r#do: task, reason }
    }
}

impl Subject<'_> {
    /// Who must do what about the task, given its decision and what is known of its run.
    #[must_use]
    pub fn duty(&self) -> Duty {
        let runner = self.runner.map(|runner| match runner {
            RunnerView::Running => RunnerState::Running,
            RunnerView::Stalled(_) => RunnerState::Stalled,
        });
        duty(self.workflow, self.decision, runner)
    }
}
