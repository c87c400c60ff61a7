//! The recorded state of a task, as the core sees it; its file format lives in [`crate::record`].

use super::Mode;
use crate::base::{ActionName, ArtifactName, Diagnostic, Digest, PhaseId, Timestamp, WorkflowName, words};
use crate::workflow::Workflow;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What was found where `state.json` belongs.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    /// No log and no state: the task is new.
    New,
    /// The log is gone, and something says that there was one.
    Lost,
    /// A log that cannot be read or joined, or a foreign state with faults.
    Broken(Vec<Diagnostic>),
    /// A usable state.
    Known(Box<State>),
}

/// The recorded state of a task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// The task's id as recorded.
    pub task: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// The ids of the events that it is the fold of; none for a new or foreign one. After a transition that
    /// is not recorded yet, those that its event will follow.
    pub heads: Vec<Digest>,
    /// The number of the last event that it folds; 0 for a new or foreign one.
    pub rev: u64,
    /// The workflow that last wrote it.
    pub workflow: Option<WorkflowRef>,
    /// The phase as recorded, which may be an alias or unknown; `None` means the initial one.
    pub phase: Option<String>,
    /// What is recorded of each phase.
    pub actors: BTreeMap<String, Actor>,
    /// Artifacts whose absence a person has accepted, with the sequence number of that override.
    pub waived: BTreeMap<ArtifactName, u64>,
    /// The last transitions, oldest first, at most [`HISTORY_WINDOW`].
    pub history: Vec<HistoryEntry>,
    /// The last failures, oldest first, at most [`ERRORS_WINDOW`].
    pub errors: Vec<Value>,
    /// What the runs of its actions have come to.
    pub run: RunRecord,
    /// When it was last written.
    pub updated_at: Option<Timestamp>,
    /// The workflow's own keys, and keys nobody knows, kept as they are.
    pub extra: Map<String, Value>,
    /// Whether others wrote it (it has no version); then it is read with defaults.
    pub foreign: bool,
}

/// What the runs of a task's actions have come to; nothing of it is ever given back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunRecord {
    /// How the last run went about questions.
    pub mode: Option<Mode>,
    /// How many actions were given up.
    pub errors: u32,
    /// The action that a person picked and that has not run yet.
    pub chosen: Option<ActionName>,
    /// What became of each action.
    pub actions: BTreeMap<ActionName, Tally>,
}

/// What became of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How often its result was accepted.
    pub done: u32,
    /// Whether it is given up, until a phase is entered.
    pub skipped: bool,
}

/// How many history entries the state keeps.
pub const HISTORY_WINDOW: usize = 10;
/// How many errors the state keeps.
pub const ERRORS_WINDOW: usize = 5;

/// A workflow as a state records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowRef {
    /// Its name.
    pub name: WorkflowName,
    /// The digest of its document and schemas.
    pub digest: Digest,
}

/// What is recorded of one phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Actor {
    /// Where the phase stands.
    pub status: ActorStatus,
    /// How often it has been entered.
    pub attempt: u32,
    /// Where within the phase the task stood when the state was written.
    pub substate: Option<Value>,
    /// The digests its outputs had when it was left forward; `None` for an absent one.
    pub left_with: BTreeMap<ArtifactName, Option<Digest>>,
    /// The digests its needs had when it was entered backward, and what the code that it makes was whenever
    /// it was entered.
    pub entered_with: BTreeMap<ArtifactName, Option<Digest>>,
    /// Digests of its outputs that a send-back has used up.
    pub spent: BTreeMap<ArtifactName, Vec<Digest>>,
    /// Keys that others put there, kept as they are.
    pub extra: Map<String, Value>,
}

/// Where a phase stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ActorStatus {
    /// The task is in it.
    #[default]
    Active,
    /// Left forward.
    Done,
    /// Left or passed backward.
    SentBack,
    /// Jumped over by an override.
    Skipped,
    /// What a foreign file says.
    Other(String),
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// What kind of actor.
    pub kind: ActorKind,
    /// Its name: a git identity, `ORCH_ACTOR`, or a version of `orch`.
    pub name: String,
}

words! {
    /// What kind of actor did something.
    pub enum ActorKind {
        /// `orch` by itself, under the rules.
        Orch = "orch",
        /// A person.
        Human = "human",
        /// A coding agent.
        Agent = "agent",
    }
}

/// One recorded transition.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Its number, from 1, without gaps; before a merge, two branches may have given the same one.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The phase that was left; `None` for the creation of the task.
    pub from: Option<PhaseId>,
    /// The phase that was entered.
    pub to: PhaseId,
    /// What kind of transition.
    pub kind: super::Kind,
    /// The rule that fired, if one did.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
    /// Who.
    pub actor: By,
    /// Paths below the task directory and their blob ids.
    pub evidence: Vec<(String, String)>,
    /// Artifacts whose absence was accepted by it.
    pub waived: Vec<ArtifactName>,
    /// For a confirmation: the artifact.
    pub confirmed: Option<ArtifactName>,
    /// The action that it tells of.
    pub action: Option<ActionName>,
}

impl ActorStatus {
    /// The statuses that `orch` gives, and their texts.
    const KNOWN: [(Self, &'static str); 4] = [
        (Self::Active, "active"),
        (Self::Done, "done"),
        (Self::SentBack, "sent_back"),
        (Self::Skipped, "skipped"),
    ];

    /// The status as `state.json` spells it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(text) => text,
            known => Self::KNOWN.iter().find(|(status, _)| status == known).map_or("", |(_, text)| text),
        }
    }

    /// The status that a text of `state.json` means.
    #[must_use]
    pub fn named(text: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|(_, known)| *known == text);
        known.map_or_else(|| Self::Other(text.to_owned()), |(status, _)| status)
    }
}

impl Actor {
    /// Adds what another actor of the same phase used up and counted; its own records stay.
    pub(super) fn take_over(&mut self, other: Self) {
        self.attempt = self.attempt.max(other.attempt);
        for (artifact, digests) in other.spent {
            let own = self.spent.entry(artifact).or_default();
            for digest in digests {
                if !own.contains(&digest) {
                    own.push(digest);
                }
            }
        }
    }
}

impl State {
    /// What is recorded of a phase.
    #[must_use]
    pub fn actor(&self, phase: &PhaseId) -> Option<&Actor> {
        self.actors.get(phase.as_str())
    }

    /// The same state with everything recorded under an alias of a phase put under its own name.
    #[must_use]
    pub(super) fn under_own_names(&self, workflow: &Workflow) -> Cow<'_, Self> {
        let own = |name: &String| workflow.phase_named(name).filter(|phase| phase.id.as_str() != name);
        let aliased: Vec<(&String, &PhaseId)> =
            self.actors.keys().filter_map(|name| Some((name, &own(name)?.id))).collect();
        if aliased.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut state = self.clone();
        for (alias, id) in aliased {
            let Some(aliased) = state.actors.remove(alias) else { continue };
            match state.actors.get_mut(id.as_str()) {
                Some(own) => own.take_over(aliased),
                None => {
                    state.actors.insert(id.to_string(), aliased);
                }
            }
        }
        Cow::Owned(state)
    }

    /// What became of an action.
    #[must_use]
    pub fn tally(&self, action: &ActionName) -> Tally {
        self.run.actions.get(action).copied().unwrap_or_default()
    }

    /// How often a phase has been entered; 0 if never.
    #[must_use]
    pub fn attempt(&self, phase: &PhaseId) -> u32 {
        self.actor(phase).map_or(0, |actor| actor.attempt)
    }

    /// How many digests have been spent so far, in all.
    #[must_use]
    pub fn spent_count(&self) -> usize {
        self.actors.values().flat_map(|actor| actor.spent.values()).map(Vec::len).sum()
    }
}
