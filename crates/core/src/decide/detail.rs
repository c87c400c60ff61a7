//! What events of some kinds say beside their move: a verification, a person's approval, the relations of a task to others,
//! a take-over, a lapse, or a migration.
//!
//! An event has at most one such member. It is named as its kind.

use super::{Kind, Ruling, WorkflowRef};
use crate::verification::Verification;
use orch_base::{Digest, PhaseId, TaskId, Timestamp, WorkflowName, words};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an event of one of these kinds says. Its name in an event is that of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// A command of the project that `orch` ran.
    Verify(Verification),
    /// What one of several people said.
    Approve(PersonRuling),
    /// How the task relates to others from here on.
    Relate(Relations),
    /// Who works on the task from here on.
    Take(Holder),
    /// A deadline that has passed.
    Lapse(Lapse),
    /// The workflow to which the task was moved.
    Migrate(Migration),
}

impl Detail {
    /// The kind of the events that say this.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Verify(_) => Kind::Verify,
            Self::Approve(_) => Kind::Approve,
            Self::Relate(_) => Kind::Relate,
            Self::Take(_) => Kind::Take,
            Self::Lapse(_) => Kind::Lapse,
            Self::Migrate(_) => Kind::Migrate,
        }
    }

    /// Whether events of a kind say such things.
    #[must_use]
    pub fn is_of(kind: Kind) -> bool {
        matches!(
            kind,
            Kind::Verify | Kind::Approve | Kind::Relate | Kind::Take | Kind::Lapse | Kind::Migrate
        )
    }

    /// Reads the value of the member of an event of this kind.
    ///
    /// # Errors
    ///
    /// The value lacks a member, has one that is unknown, or one that is invalid.
    pub fn read(kind: Kind, value: Value) -> Result<Option<Self>, serde_json::Error> {
        Ok(Some(match kind {
            Kind::Verify => Self::Verify(serde_json::from_value(value)?),
            Kind::Approve => Self::Approve(serde_json::from_value(value)?),
            Kind::Relate => Self::Relate(serde_json::from_value(value)?),
            Kind::Take => Self::Take(serde_json::from_value(value)?),
            Kind::Lapse => Self::Lapse(serde_json::from_value(value)?),
            Kind::Migrate => Self::Migrate(serde_json::from_value(value)?),
            _ => return Ok(None),
        }))
    }

    /// In words, for whoever reads the history of a task.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Verify(run) => format!("{} {}", run.name, run.result.outcome.as_str()),
            Self::Approve(said) => format!("{} by {}", said.ruling.as_str(), said.person),
            Self::Relate(relations) => relations.words(),
            Self::Take(holder) => format!("{}, generation {}", holder.owner, holder.generation),
            Self::Lapse(lapse) => {
                let (name, attempt) = (&lapse.deadline, lapse.attempt);
                format!("the deadline `{name}` passed in attempt {attempt}")
            }
            Self::Migrate(moved) => format!("from {} to {}", moved.from, moved.to),
        }
    }
}

/// What one of several people said in a phase that asks for several approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonRuling {
    /// What the person said.
    pub ruling: Ruling,
    /// The address of the person.
    pub person: String,
}

impl PersonRuling {
    /// The path of the file that says so too, relative to the task directory.
    #[must_use]
    pub fn path(&self, phase: &PhaseId) -> String {
        let name = self.person.replace(
            |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-' | '@'),
            "_",
        );
        format!("{phase}/by/{name}.json")
    }
}

/// How a task relates to others.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relations {
    /// The tasks that have to be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TaskId>,
    /// The task of which this one is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Who is to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
}

impl Relations {
    /// Why a task cannot relate to others like that, in words; `None` if it can. Whether they exist is a separate question.
    #[must_use]
    pub fn fault(&self, task: &TaskId) -> Option<String> {
        if self.after.contains(task) {
            return Some(format!("`{task}` cannot wait for itself"));
        }
        if self.parent.as_ref() == Some(task) {
            return Some(format!("`{task}` cannot be part of itself"));
        }
        let mut others = self.after.iter().enumerate();
        let twice = others.find(|(at, other)| self.after[..*at].contains(other));
        twice.map(|(_, other)| format!("`{task}` waits for `{other}` twice"))
    }

    fn words(&self) -> String {
        let named: Vec<&str> = self.after.iter().map(TaskId::as_str).collect();
        let mut said = Vec::new();
        if !named.is_empty() {
            said.push(format!("after {}", named.join(", ")));
        }
        said.extend(
            self.parent
                .as_ref()
                .map(|parent| format!("part of {parent}")),
        );
        said.extend(
            self.priority
                .map(|priority| format!("priority {}", priority.as_str())),
        );
        said.extend(
            self.assignee
                .as_ref()
                .map(|assignee| format!("assigned to {assignee}")),
        );
        if said.is_empty() {
            "no relations".to_owned()
        } else {
            said.join("; ")
        }
    }
}

words! {
    /// How urgent a task is.
    pub enum Priority {
        /// Before all others.
        Urgent = "urgent",
        /// Before most.
        High = "high",
        /// As most.
        Normal = "normal",
        /// After most.
        Low = "low",
    }
}

/// Who works on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// Larger than that of each holder before.
    pub generation: u64,
    /// The name of whoever works on it.
    pub owner: String,
}

/// A deadline that has passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lapse {
    /// The name of the deadline in the workflow.
    pub deadline: String,
    /// The attempt at the phase that had to be over by then.
    pub attempt: u32,
    /// When the phase was entered.
    pub entered: Timestamp,
    /// When the deadline passed.
    pub at: Timestamp,
}

impl Lapse {
    /// That it names another time of entry than that at which its phase was entered, in words; `None` if it does not.
    #[must_use]
    pub fn entered_otherwise(&self, phase: &PhaseId, entered: Timestamp) -> Option<String> {
        let named = self.entered;
        (named != entered)
            .then(|| format!("`{phase}` was entered at {entered}, and not at {named}"))
    }
}

/// The move of a task from one version of its workflow to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Migration {
    /// The digest of the map that says how.
    pub map: Digest,
    /// The workflow before.
    #[serde(with = "workflow_text")]
    pub from: WorkflowRef,
    /// The workflow after.
    #[serde(with = "workflow_text")]
    pub to: WorkflowRef,
}

/// A workflow as `name@digest`.
mod workflow_text {
    use super::WorkflowRef;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        named: &WorkflowRef,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(named)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<WorkflowRef, D::Error> {
        let text = String::deserialize(deserializer)?;
        WorkflowRef::parse(&text)
            .ok_or_else(|| D::Error::custom(format!("{text:?} is not a workflow with a digest")))
    }
}

/// Another task, as a decision saw it through the relations of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherTask {
    /// The id that the relation names.
    pub id: TaskId,
    /// The phase in which it was.
    pub phase: PhaseId,
    /// Whether it was finished well.
    pub done: bool,
    /// Whether it ended otherwise.
    #[serde(default, skip_serializing_if = "is_no")]
    pub failed: bool,
    /// The workflow that it follows.
    pub workflow: WorkflowName,
    /// Whether it was seen as a part of the task, and not as one that the task waits for.
    #[serde(default, skip_serializing_if = "is_no")]
    pub part: bool,
    /// The last event of its log.
    pub head: Digest,
}

/// Whether a member is left out, because it is no.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_no(value: &bool) -> bool {
    !value
}
