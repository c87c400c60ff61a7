//! One step of a task in JSON, as used by transitions, log, audit, events, runs and resolution.

use super::wire::in_repository;
use orch_base::TaskPlace;
use orch_core::decide::{ActorKind, Evidence, HistoryEntry, Kind, Transition};
use serde::Serialize;

/// A step of a task: a move from phase to phase, or a step within a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepView {
    /// The id of the task.
    pub task: String,
    /// The directory of the task, or its file if it is one.
    pub path: String,
    /// The number of the step, from 1; null if nothing was committed, in a dry run or outside git.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub seq: Option<u64>,
    /// When the step was recorded, in UTC; null if nothing was committed.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub at: Option<String>,
    /// The phase that was left; null for the creation of the task.
    pub from: Option<String>,
    /// The phase that was entered.
    pub to: String,
    /// The kind of step. `run`, `skip`, `answer`, `signal`, `start` and `end` are recorded within a phase.
    pub kind: Kind,
    /// The action that the step records.
    pub action: Option<String>,
    /// The rule that yielded the step.
    pub rule: Option<String>,
    /// The reason.
    pub reason: String,
    /// The actor of the step; null if nothing was committed.
    pub actor: Option<ActorView>,
    /// The files that the step rests on.
    pub evidence: Vec<StepEvidence>,
    /// Artifacts whose absence the step accepts.
    pub waived: Vec<String>,
    /// When the executor of the action started, in UTC; null if the step records no action, or this is not
    /// known.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub started: Option<String>,
    /// The program that performed the action; null as for `started`.
    pub executor: Option<String>,
    /// The files that the executor wrote, as the action or the result names them; at most 20.
    pub files: Vec<WrittenFile>,
    /// The commit that contains the step, if known.
    pub commit: Option<String>,
}

/// A file that an executor wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WrittenFile {
    /// The path, relative to the directory of the task, or else to the root of the repository.
    pub path: String,
    /// Its blob id when the step was recorded.
    pub digest: String,
}

/// The actor of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ActorView {
    /// The kind of actor.
    pub kind: ActorKind,
    /// The name.
    pub name: String,
}

/// A file that a step rests on. Records contain only its path and blob id.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepEvidence {
    /// The artifact; null if the step was read from a record.
    pub artifact: Option<String>,
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// The recorded blob id.
    pub digest: String,
    /// Whether the artifact parses and matches its schema; null if the step was read from a record.
    pub valid: Option<bool>,
}

/// The phase that was left, for people.
pub(super) fn origin(from: Option<&str>) -> &str {
    from.unwrap_or("new")
}

impl StepView {
    /// The step of a transition, completed from its recorded entry if there is one.
    #[must_use]
    pub fn of(
        task: &str,
        place: &TaskPlace,
        transition: &Transition,
        entry: Option<&HistoryEntry>,
        commit: Option<&str>,
    ) -> Self {
        let evidence = transition.evidence.iter().flat_map(|one| &one.files);
        let (started, executor, files) = performed(entry);
        Self {
            started,
            executor,
            files,
            task: task.to_owned(),
            path: place
                .shown(evidence.map(|(name, _)| name.as_str()))
                .to_string(),
            seq: entry.map(|entry| entry.seq),
            at: entry.map(|entry| entry.at.to_string()),
            from: transition.from.as_ref().map(ToString::to_string),
            to: transition.to.to_string(),
            kind: transition.kind,
            action: transition.action.as_ref().map(ToString::to_string),
            rule: transition.rule.as_ref().map(ToString::to_string),
            reason: transition.reason.clone(),
            actor: entry.map(ActorView::of),
            evidence: transition
                .evidence
                .iter()
                .flat_map(|one| StepEvidence::judged(one, place))
                .collect(),
            waived: transition.waive.iter().map(ToString::to_string).collect(),
            commit: commit.map(str::to_owned),
        }
    }

    /// A recorded step of a task.
    #[must_use]
    pub fn recorded(
        task: &str,
        place: &TaskPlace,
        entry: &HistoryEntry,
        commit: Option<&str>,
    ) -> Self {
        let evidence = entry.evidence.iter();
        let (started, executor, files) = performed(Some(entry));
        Self {
            started,
            executor,
            files,
            task: task.to_owned(),
            path: place
                .shown(evidence.map(|(name, _)| name.as_str()))
                .to_string(),
            seq: Some(entry.seq),
            at: Some(entry.at.to_string()),
            from: entry.from.as_ref().map(ToString::to_string),
            to: entry.to.to_string(),
            kind: entry.kind,
            action: entry.action.as_ref().map(ToString::to_string),
            rule: entry.rule.clone(),
            reason: entry.reason.clone(),
            actor: Some(ActorView::of(entry)),
            evidence: entry
                .evidence
                .iter()
                .map(|file| StepEvidence::recorded(file, place))
                .collect(),
            waived: entry.waived.iter().map(ToString::to_string).collect(),
            commit: commit.map(str::to_owned),
        }
    }

    /// The phase that was left, for people.
    pub(super) fn origin(&self) -> &str {
        origin(self.from.as_deref())
    }

    /// What was done, for people: the kind, and the action.
    pub(super) fn label(&self) -> String {
        let kind = self.kind.as_str();
        self.action
            .as_ref()
            .map_or_else(|| kind.to_owned(), |action| format!("{kind} {action}"))
    }

    /// The id of the commit, shortened for people.
    pub(super) fn short_commit(&self) -> String {
        self.commit
            .iter()
            .flat_map(|commit| commit.chars().take(10))
            .collect()
    }
}

/// How an executor performed the action of a step: since when, which program, and what it wrote.
fn performed(entry: Option<&HistoryEntry>) -> (Option<String>, Option<String>, Vec<WrittenFile>) {
    let Some(performance) = entry.and_then(|entry| entry.performance.as_ref()) else {
        return Default::default();
    };
    let mut written = Vec::new();
    for (path, digest) in &performance.files {
        written.push(WrittenFile {
            path: path.clone(),
            digest: digest.clone(),
        });
    }
    let started = performance.started.map(|at| at.to_string());
    (started, performance.executor.clone(), written)
}

impl ActorView {
    fn of(entry: &HistoryEntry) -> Self {
        Self {
            kind: entry.actor.kind,
            name: entry.actor.name.clone(),
        }
    }
}

impl StepEvidence {
    /// One row for every file of an artifact.
    fn judged(evidence: &Evidence, place: &TaskPlace) -> Vec<Self> {
        let mut rows = Vec::new();
        for (path, digest) in &evidence.files {
            rows.push(Self {
                artifact: Some(evidence.artifact.to_string()),
                path: in_repository(place, path),
                digest: digest.to_string(),
                valid: Some(evidence.valid),
            });
        }
        rows
    }

    fn recorded((path, digest): &(String, String), place: &TaskPlace) -> Self {
        Self {
            artifact: None,
            path: in_repository(place, path),
            digest: digest.clone(),
            valid: None,
        }
    }
}
