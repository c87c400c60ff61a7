//! One task in JSON: its identity, its phase, and who must do what about it.

use super::{DeadlineView, LeaseView, RelationsView, Subject};
use orch_base::{RepoPath, TaskId, Timestamp, WorkflowName};
use orch_core::decide::{Direction, Do, Duty, DutyKind, Runner, duty, duty_of_unread};
use orch_core::workflow::Owner;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A task: its identity and its phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The id of the task.
    #[serde(rename = "task")]
    pub id: String,
    /// The title.
    pub title: Option<String>,
    /// The directory, or the file if the task is one, relative to the root of the repository.
    pub path: String,
    /// The workflow that decided; if none could, that of the root of the task.
    pub workflow: String,
    /// The revision of the state: the number of recorded steps.
    pub rev: u64,
    /// The current phase; null if the state names none.
    pub current_phase: Option<String>,
    /// The substate that the workflow computes; null if the phase has none.
    pub substate: Option<Value>,
    /// The number of the attempt at that phase, from 1; 0 if there is no phase.
    pub attempt: u32,
    /// Who holds the task; null if nobody does.
    pub held: Option<LeaseView>,
    /// How it relates to others.
    pub relations: RelationsView,
    /// The deadlines of the present attempt.
    pub deadlines: Vec<DeadlineView>,
}

/// Who must do what about a task, and where that leads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DutyView {
    /// The target of a transition; the current phase if its work must be done or redone; the last consistent
    /// phase if the task is inconsistent; null for done and error.
    pub suggested_next: Option<String>,
    /// The direction of the suggested phase from the current one, in document order.
    pub direction: Direction,
    /// The kind of decision.
    pub kind: DutyKind,
    /// Who must act.
    pub owner: Owner,
    /// What has to be done.
    pub r#do: Do,
    /// The reason, in one sentence.
    pub reason: String,
    /// The tasks for which it waits before it begins.
    pub blocked_by: Vec<String>,
}

impl TaskView {
    /// The task of a subject.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let decision = subject.decision;
        Self {
            id: decision.task.to_string(),
            title: subject.title.map(str::to_owned),
            path: subject.path.to_string(),
            workflow: decision.workflow.to_string(),
            rev: decision.rev,
            current_phase: decision.phase.as_ref().map(ToString::to_string),
            substate: decision.substate.clone(),
            attempt: decision.attempt,
            held: subject.held.clone(),
            relations: RelationsView::of(&decision.relations),
            deadlines: DeadlineView::rows(&decision.deadlines),
        }
    }

    /// A task that could not be evaluated.
    pub(super) fn unread(id: &TaskId, path: &RepoPath, workflow: &WorkflowName) -> Self {
        Self {
            id: id.to_string(),
            title: None,
            path: path.to_string(),
            workflow: workflow.to_string(),
            rev: 0,
            current_phase: None,
            substate: None,
            attempt: 0,
            held: None,
            relations: RelationsView::default(),
            deadlines: Vec::new(),
        }
    }

    /// Tells the present time, for what depends on it.
    pub fn tell_time(&mut self, now: Timestamp) {
        let deadlines = self.deadlines.iter_mut();
        deadlines.for_each(|deadline| deadline.now = Some(now));
    }

    /// The name of the current phase, for people.
    pub(super) fn phase(&self) -> &str {
        self.current_phase.as_deref().unwrap_or("(no phase)")
    }
}

impl DutyView {
    /// The duty about a task that could not be evaluated, for this reason.
    pub(super) fn unread(reason: &str) -> Self {
        let Duty {
            kind,
            task,
            owner,
            direction,
            ..
        } = duty_of_unread();
        let suggested_next = None;
        Self {
            suggested_next,
            direction,
            kind,
            owner,
            r#do: task,
            reason: reason.to_owned(),
            blocked_by: Vec::new(),
        }
    }

    /// The duty of a subject in JSON.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let Duty {
            kind,
            task,
            owner,
            phase,
            direction,
            ..
        } = subject.duty();
        let reason = match subject.runner {
            Some(Runner::Stalled(why)) if kind == DutyKind::Stalled => why.clone(),
            Some(Runner::Limited { why, .. }) if owner == Owner::Process => {
                format!("the run waits: {why}")
            }
            _ => subject.decision.reason.clone(),
        };
        let suggested_next = phase.as_ref().map(ToString::to_string);
        let blocked_by = &subject.decision.blocked_by;
        let blocked_by = blocked_by.iter().map(ToString::to_string).collect();
        Self {
            suggested_next,
            direction,
            kind,
            owner,
            r#do: task,
            reason,
            blocked_by,
        }
    }
}

impl Subject<'_> {
    /// Who must do what about the task, given its decision and its run.
    #[must_use]
    pub fn duty(&self) -> Duty {
        duty(self.workflow, self.decision, self.runner)
    }
}
