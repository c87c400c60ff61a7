//! The recorded state of a task as the core sees it; [`crate::record`] defines its file format.

use super::{
    CodeBase, Detail, Holder, Kind, LostTests, Mode, NotedFile, NotedFiles, Original, OtherTask,
    RecordVersion, Relations, RestsOn, Ruling, Written, former_id,
};
use crate::verification::{VerifiedCode, VerifiedOutcome};
use crate::workflow::{Workflow, is_repository_name};
use orch_base::{
    ActionName, ArtifactName, Code, Diagnostic, Digest, Hint, ObjectFormat, PhaseId, TaskId,
    Timestamp, VerificationName, WorkflowName, words,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The record of a task as found on disk.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    /// There is neither a log nor a state: the task is new.
    New,
    /// The log is missing, although something shows that there was one.
    Lost,
    /// The log cannot be read or joined, or a foreign state is invalid.
    Broken(Vec<Diagnostic>),
    /// The state can be used.
    Known(Box<State>),
}

impl Recorded {
    /// Why no step can follow it; nothing if one can.
    #[must_use]
    pub fn faults(&self, task: &TaskId) -> Vec<Diagnostic> {
        match self {
            Self::New | Self::Known(_) => Vec::new(),
            Self::Lost => {
                let message = "transcript.jsonl, the record of this task, is missing";
                let hint = Hint::run(&["orch", "recover", task.as_str()]);
                vec![Diagnostic::error(Code::RecordLost, message).hint(hint)]
            }
            Self::Broken(found) => found.clone(),
        }
    }
}

/// The recorded state of a task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// The recorded id of the task.
    pub task: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// The ids of the events that the state is folded from; empty for a new or foreign state. After a
    /// transition that is not recorded yet, the events that its own event will follow.
    pub heads: Vec<Digest>,
    /// The number of the last folded event; 0 for a new or foreign state.
    pub rev: u64,
    /// The workflow that last wrote the state.
    pub workflow: Option<WorkflowRef>,
    /// The recorded phase, which may be an alias or unknown; `None` means the initial phase.
    pub phase: Option<String>,
    /// The record of each phase.
    pub actors: BTreeMap<String, Actor>,
    /// Artifacts whose absence a person has accepted, with the sequence number of that override.
    pub waived: BTreeMap<ArtifactName, u64>,
    /// The latest transitions, oldest first, at most as many as [`keep_latest`] keeps.
    pub history: Vec<Arc<HistoryEntry>>,
    /// The step by which the task entered its phase, if `history` no longer has it. The first version keeps none.
    pub entered: Option<Arc<HistoryEntry>>,
    /// The ids that the task had before, as far as steps of the second version followed the renames.
    pub former: Vec<String>,
    /// The latest failures, oldest first, at most [`ERRORS_WINDOW`].
    pub errors: Vec<Value>,
    /// The results of the task's actions, and of the verifications.
    pub run: RunRecord,
    /// How the task relates to others.
    pub relations: Relations,
    /// Who works on the task, if somebody has taken it.
    pub holder: Option<Holder>,
    /// When the state last changed.
    pub updated_at: Option<Timestamp>,
    /// The workflow's own keys and unknown keys, kept as they are.
    pub extra: Map<String, Value>,
    /// Whether another tool wrote the state (it has no version); such a state is read with defaults.
    pub foreign: bool,
    /// The file of an older tool that the state was imported from, until the first step is recorded.
    pub original: Option<Box<Original>>,
}

/// The results of a task's actions. Its counters never decrease.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RunRecord {
    /// Whether the last run asked people; `None` if there was no run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// How many actions were given up.
    pub errors: u32,
    /// The action that a person picked and that has not run yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ActionName>,
    /// The tally of each action.
    pub actions: BTreeMap<ActionName, Tally>,
    /// The last result of each verification.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub verified: BTreeMap<VerificationName, Verified>,
    /// The lost tests that people have confirmed, until a run sees them again.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub confirmed_lost: LostTests,
}

/// The last result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// The number of the step that recorded it.
    pub seq: u64,
    /// The code that it judged.
    pub code: VerifiedCode,
    /// The digest of its table in the settings.
    pub table: Digest,
    /// The number of the rules for verifications.
    pub rules: u32,
    /// Whether it passed.
    pub outcome: VerifiedOutcome,
    /// The digest of the file with the result.
    pub result: Digest,
}

/// The tally of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// How often a result of the action was accepted.
    pub done: u32,
    /// Whether the action is given up until the next phase is entered.
    pub skipped: bool,
}

/// Drops the oldest entries of a history that a state does not keep.
pub fn keep_latest(history: &mut Vec<Arc<HistoryEntry>>) {
    let window = history
        .last()
        .map_or(0, |last| last.version.history_window());
    history.drain(..history.len().saturating_sub(window));
}

/// How many errors the state keeps.
pub const ERRORS_WINDOW: usize = 5;

/// A reference to a version of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowRef {
    /// The name of the workflow.
    pub name: WorkflowName,
    /// The digest of its document and schemas.
    pub digest: Digest,
}

impl WorkflowRef {
    /// Reads `name@digest`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, digest) = text.rsplit_once('@')?;
        Some(Self {
            name: WorkflowName::new(name).ok()?,
            digest: Digest::parse(digest)?,
        })
    }
}

/// The record of one phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Actor {
    /// The status of the phase.
    pub status: ActorStatus,
    /// How often the phase has been entered.
    pub attempt: u32,
    /// The substate of the task in the phase when the state was written.
    pub substate: Option<Value>,
    /// The digests of the outputs when the phase was left forward; `None` for an absent output.
    pub left_with: BTreeMap<ArtifactName, Option<Digest>>,
    /// The digests of the needs when the phase was entered backward, and those of the code that the phase
    /// makes at every entry.
    pub entered_with: BTreeMap<ArtifactName, Option<Digest>>,
    /// The files of `left_with`, by their paths, of outputs that may have several files.
    pub left_files: BTreeMap<ArtifactName, BTreeMap<String, Digest>>,
    /// The versions that the verdicts and reports of `left_with` judged which counted then.
    pub judged: BTreeMap<ArtifactName, BTreeMap<ArtifactName, Digest>>,
    /// Digests of the outputs that a send-back has used up.
    pub spent: BTreeMap<ArtifactName, Vec<Digest>>,
    /// Digests of files of the outputs that were there before what they judge was recorded.
    pub early: BTreeMap<ArtifactName, Vec<Digest>>,
    /// What people said since the phase was entered, each the last time, where several are asked.
    pub approvals: Vec<Approving>,
    /// The deadlines that passed in the present attempt.
    pub lapsed: BTreeMap<String, Lapsed>,
    /// Who wrote the outputs, as far as steps have noted it.
    pub writers: BTreeMap<ArtifactName, Vec<Written>>,
    /// Keys that other tools added, kept as they are.
    pub extra: Map<String, Value>,
}

/// What one of several people said of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approving {
    /// The address of the person.
    pub person: String,
    /// What the person said.
    pub ruling: Ruling,
    /// The number of the step that recorded it.
    pub seq: u64,
    /// What it rests on: the digest of each artifact.
    pub on: BTreeMap<ArtifactName, Digest>,
}

/// A deadline that passed in an attempt at a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lapsed {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When it passed.
    pub at: Timestamp,
}

/// The status of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ActorStatus {
    /// The task is in the phase.
    #[default]
    Active,
    /// The phase was left forward.
    Done,
    /// The phase was left or passed backward.
    SentBack,
    /// An override skipped the phase.
    Skipped,
    /// Any other text in a foreign file.
    Other(String),
}

/// The actor of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct By {
    /// The kind of actor.
    pub kind: ActorKind,
    /// The name: a git identity, `ORCH_ACTOR`, or a version of `orch`.
    pub name: String,
}

words! {
    /// Who performed a step: the program itself, a person, or another program.
    pub enum ActorKind {
        /// `orch` itself, following the rules.
        Orch = "orch",
        /// A person.
        Human = "human",
        /// A coding agent.
        Agent = "agent",
    }
}

/// One recorded transition. Its fields are the members of the entry in `state.json`, in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryEntry {
    /// The version of the rules by which it was recorded.
    #[serde(rename = "v", skip_serializing_if = "RecordVersion::is_unstated")]
    pub version: RecordVersion,
    /// Its number, from 1, without gaps. Before a merge, two branches may have used the same number.
    pub seq: u64,
    /// The time of the transition.
    pub at: Timestamp,
    /// The phase that was left; `None` for the creation of the task.
    pub from: Option<PhaseId>,
    /// The phase that was entered.
    pub to: PhaseId,
    /// The kind of transition.
    pub kind: Kind,
    /// The rule that fired, if any.
    pub rule: Option<String>,
    /// Why the transition happened: the `because` of the rule, or the reason of a person.
    pub reason: String,
    /// The actor of the transition.
    pub actor: By,
    /// The evidence: paths relative to the task directory, and blob ids.
    #[serde(serialize_with = "by_path")]
    pub evidence: Vec<(String, String)>,
    /// What was noted of single files: that they are early, and who wrote them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: NotedFiles,
    /// The digest of what the settings asked of the decision; `None` if they asked nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Digest>,
    /// What a move to a good end rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<RestsOn>,
    /// The commit that told the commits of the task from those of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<CodeBase>,
    /// Artifacts whose absence the transition accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<ArtifactName>,
    /// For a confirmation: the artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<ArtifactName>,
    /// For a confirmation that tests are gone on purpose: these tests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lost: LostTests,
    /// The action that the transition records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionName>,
    /// How an executor performed the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub performance: Option<Box<Performance>>,
    /// What its kind says beside the move.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<Detail>>,
    /// Under which take-over the step was made, if the task was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Other tasks that the step rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherTask>,
}

impl HistoryEntry {
    /// Whether the task came to this phase, from elsewhere or by a move that began it again.
    #[must_use]
    pub fn enters(&self, phase: &PhaseId) -> bool {
        let is_new_attempt = matches!(
            self.kind,
            Kind::Advance | Kind::Regress | Kind::Override | Kind::Rollback | Kind::Reopen
        );
        self.to == *phase && (is_new_attempt || self.from.as_ref() != Some(phase))
    }

    /// The files without which the step cannot be derived again, with their blob ids: what it rests on, and what it found
    /// to be early.
    #[must_use]
    pub fn named_files(&self) -> Vec<(String, String)> {
        let mut files = self.evidence.clone();
        let is_needed = |noted: &&NotedFile| noted.early || is_repository_name(&noted.path);
        for noted in self.files.values().flatten().filter(is_needed) {
            if files.iter().all(|(path, _)| *path != noted.path) {
                files.push((noted.path.clone(), noted.digest.to_string()));
            }
        }
        files
    }
}

/// How an executor performed an action. No rule yields it, so it is recorded as it was observed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Performance {
    /// When the executor started; `None` if an earlier process started it.
    #[serde(rename = "started_at", skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// The program, without its arguments; `None` as for `started`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The files that it wrote, as the action or the result names them, with their blob ids; at most
    /// [`FILES_KEPT`].
    #[serde(serialize_with = "by_path", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, String)>,
}

/// Digests by path, as an object.
pub struct FilesByPath<'f>(pub &'f [(String, String)]);

impl Serialize for FilesByPath<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let paths: HashSet<&str> = self.0.iter().map(|(path, _)| path.as_str()).collect();
        let pairs = self.0.iter().map(|(path, digest)| (path, digest));
        if paths.len() == self.0.len() {
            return serializer.collect_map(pairs);
        }
        // A path has one place in an object.
        let members: Map<_, _> = pairs
            .map(|(path, digest)| (path.clone(), Value::from(digest.as_str())))
            .collect();
        members.serialize(serializer)
    }
}

/// Serializes the files of a history entry as an object.
fn by_path<S: Serializer>(files: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    FilesByPath(files).serialize(serializer)
}

/// How many files of a performance are recorded.
pub const FILES_KEPT: usize = 20;

impl ActorStatus {
    /// The statuses that `orch` sets, and their texts.
    const KNOWN: [(Self, &'static str); 4] = [
        (Self::Active, "active"),
        (Self::Done, "done"),
        (Self::SentBack, "sent_back"),
        (Self::Skipped, "skipped"),
    ];

    /// The spelling in `state.json`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(text) => text,
            known => Self::KNOWN
                .iter()
                .find(|(status, _)| status == known)
                .map_or("", |(_, text)| text),
        }
    }

    /// The status with this spelling in `state.json`.
    #[must_use]
    pub fn named(text: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|(_, known)| *known == text);
        known.map_or_else(|| Self::Other(text.to_owned()), |(status, _)| status)
    }
}

/// The same values by the artifacts' own names. What is recorded under the own name comes first, and `both` adds another.
fn renamed<T>(
    workflow: &Workflow,
    recorded: BTreeMap<ArtifactName, T>,
    both: impl Fn(&mut T, T),
) -> BTreeMap<ArtifactName, T> {
    let (mut all, aliased): (BTreeMap<_, _>, BTreeMap<_, _>) = recorded
        .into_iter()
        .partition(|(name, _)| workflow.own_name(name) == name);
    for (name, value) in aliased {
        match all.get_mut(workflow.own_name(&name)) {
            Some(known) => both(known, value),
            None => drop(all.insert(workflow.own_name(&name).clone(), value)),
        }
    }
    all
}

/// Adds the writers, and their files, that do not exist yet.
fn add_written(own: &mut Vec<Written>, others: Vec<Written>) {
    for other in others {
        let same = own
            .iter_mut()
            .find(|known| known.by == other.by && known.files.is_empty() == other.files.is_empty());
        match same {
            Some(known) => add_new(&mut known.files, other.files),
            None => own.push(other),
        }
    }
}

/// Adds the digests that do not exist yet.
fn add_new(own: &mut Vec<Digest>, others: Vec<Digest>) {
    for digest in others {
        if !own.contains(&digest) {
            own.push(digest);
        }
    }
}

impl Actor {
    /// Every digest that the record holds.
    fn digests(&self) -> impl Iterator<Item = Digest> {
        let ends = self.entered_with.values().chain(self.left_with.values());
        let files = self.spent.values().chain(self.early.values()).flatten();
        let judged = self.judged.values().flat_map(BTreeMap::values);
        let approved = self.approvals.iter().flat_map(|said| said.on.values());
        ends.flatten()
            .chain(files)
            .chain(judged)
            .chain(approved)
            .copied()
    }
    /// The artifacts that the record names.
    pub(super) fn artifacts(&self) -> impl Iterator<Item = &ArtifactName> {
        let ends = self
            .left_with
            .keys()
            .chain(self.entered_with.keys())
            .chain(self.left_files.keys());
        let judged = self
            .judged
            .iter()
            .flat_map(|(name, judged)| std::iter::once(name).chain(judged.keys()));
        let approved = self.approvals.iter().flat_map(|said| said.on.keys());
        ends.chain(judged)
            .chain(self.spent.keys())
            .chain(self.early.keys())
            .chain(approved)
            .chain(self.writers.keys())
    }

    /// Adds the used-up digests and counters of another record of the same phase; its own other values stay.
    pub(super) fn take_over(&mut self, other: Self) {
        self.attempt = self.attempt.max(other.attempt);
        unite(&mut self.spent, other.spent);
        unite(&mut self.early, other.early);
        for (artifact, written) in other.writers {
            add_written(self.writers.entry(artifact).or_default(), written);
        }
    }
}

/// Adds the digests of another list of each artifact that are not in its own.
fn unite(
    own: &mut BTreeMap<ArtifactName, Vec<Digest>>,
    other: BTreeMap<ArtifactName, Vec<Digest>>,
) {
    for (artifact, digests) in other {
        add_new(own.entry(artifact).or_default(), digests);
    }
}

impl State {
    /// The steps that the state keeps, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Arc<HistoryEntry>> {
        self.history.iter().rev().chain(&self.entered)
    }

    /// The last step that entered a phase: always, of the current one; of others, if it is among the latest.
    #[must_use]
    pub fn last_entry_into(&self, phase: &PhaseId) -> Option<&Arc<HistoryEntry>> {
        self.newest_first().find(|entry| entry.enters(phase))
    }

    /// The ids that the task had before, by which its older commits name it.
    pub fn former_ids(&self) -> impl Iterator<Item = &str> {
        let latest = self.history.iter().filter_map(|entry| former_id(entry));
        let latest = latest.filter(|id| !self.former.iter().any(|known| known == id));
        self.former.iter().map(String::as_str).chain(latest)
    }

    /// Drops the oldest entries of the history that the state does not keep. The step that entered the current phase
    /// stays apart, as what sent the task back, or from where it came, is asked for until it leaves.
    pub fn keep_latest(&mut self) {
        let mut dropped = self.history.clone();
        keep_latest(&mut self.history);
        dropped.truncate(dropped.len() - self.history.len());
        let Some(last) = self.history.last() else {
            return;
        };
        let phase = self
            .phase
            .as_deref()
            .and_then(|phase| PhaseId::new(phase).ok());
        let Some(phase) = phase.filter(|_| last.version > RecordVersion::First) else {
            self.entered = None;
            return;
        };
        let older = dropped
            .into_iter()
            .rev()
            .chain(self.entered.take())
            .find(|entry| entry.enters(&phase));
        let is_kept = self.history.iter().any(|entry| entry.enters(&phase));
        self.entered = older.filter(|_| !is_kept);
    }

    /// The format of the digests that the last step recorded.
    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        self.workflow
            .as_ref()
            .map(|workflow| workflow.digest.format())
            .unwrap_or_default()
    }

    /// Takes over what a replay of a step knows only from what was recorded: the event that is its head, and the digest by
    /// which a record from before names the same version of the workflow.
    pub fn be_recorded_as(&mut self, recorded: &Self, workflow: &Workflow) {
        self.heads.clone_from(&recorded.heads);
        if let (Some(own), Some(named)) = (&mut self.workflow, &recorded.workflow)
            && workflow.has_digest(named.digest)
        {
            own.digest = named.digest;
        }
    }

    /// Whether the records of phases name an artifact by a digest of another format than this one.
    #[must_use]
    pub fn is_of_another_format(&self, format: ObjectFormat) -> bool {
        self.actors
            .values()
            .flat_map(Actor::digests)
            .any(|digest| digest.format() != format)
    }

    /// The record of a phase.
    #[must_use]
    pub fn actor(&self, phase: &PhaseId) -> Option<&Actor> {
        self.actors.get(phase.as_str())
    }

    /// The same state with everything that is recorded under an alias of a phase or of an artifact moved to the own
    /// name of that phase or artifact.
    #[must_use]
    pub fn under_own_names(&self, workflow: &Workflow) -> Cow<'_, Self> {
        let are_phases_own = self.actors.keys().all(|name| {
            workflow
                .phase_named(name)
                .is_none_or(|phase| phase.id.as_str() == name)
        });
        let are_artifacts_own = self
            .recorded_artifacts()
            .all(|name| workflow.own_name(name) == name);
        if are_phases_own && are_artifacts_own {
            return Cow::Borrowed(self);
        }
        let mut state = self.clone();
        state.waived = renamed(workflow, std::mem::take(&mut state.waived), |own, other| {
            *own = other.max(*own)
        });
        let mut aliased = Vec::new();
        for (name, mut actor) in std::mem::take(&mut state.actors) {
            for record in [&mut actor.left_with, &mut actor.entered_with] {
                *record = renamed(workflow, std::mem::take(record), |_, _| {});
            }
            for digests in [&mut actor.spent, &mut actor.early] {
                *digests = renamed(workflow, std::mem::take(digests), add_new);
            }
            actor.left_files = renamed(workflow, std::mem::take(&mut actor.left_files), |_, _| {});
            for said in &mut actor.approvals {
                said.on = renamed(workflow, std::mem::take(&mut said.on), |_, _| {});
            }
            actor.writers = renamed(workflow, std::mem::take(&mut actor.writers), add_written);
            actor.judged = renamed(workflow, std::mem::take(&mut actor.judged), |_, _| {});
            for judged in actor.judged.values_mut() {
                *judged = renamed(workflow, std::mem::take(judged), |_, _| {});
            }
            match workflow
                .phase_named(&name)
                .filter(|phase| phase.id.as_str() != name)
            {
                Some(phase) => aliased.push((phase.id.to_string(), actor)),
                None => drop(state.actors.insert(name, actor)),
            }
        }
        for (id, actor) in aliased {
            match state.actors.get_mut(&id) {
                Some(own) => {
                    let mut new = actor.approvals.clone();
                    new.retain(|said| own.approvals.iter().all(|own| own.person != said.person));
                    own.approvals.extend(new);
                    own.take_over(actor);
                }
                None => drop(state.actors.insert(id, actor)),
            }
        }
        Cow::Owned(state)
    }

    /// The artifacts that the records of phases and the waivers name.
    pub(super) fn recorded_artifacts(&self) -> impl Iterator<Item = &ArtifactName> {
        self.waived
            .keys()
            .chain(self.actors.values().flat_map(Actor::artifacts))
    }

    /// The tally of an action.
    #[must_use]
    pub fn tally(&self, action: &ActionName) -> Tally {
        self.run.actions.get(action).copied().unwrap_or_default()
    }

    /// How often a phase has been entered; 0 if never.
    #[must_use]
    pub fn attempt(&self, phase: &PhaseId) -> u32 {
        self.actor(phase).map_or(0, |actor| actor.attempt)
    }

    /// The total number of used-up digests.
    #[must_use]
    pub fn spent_count(&self) -> usize {
        self.actors
            .values()
            .flat_map(|actor| actor.spent.values())
            .map(Vec::len)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_of_another_format_is_found_wherever_a_phase_records_it() {
        let artifact = || ArtifactName::new("plan").expect("valid");
        for recorded in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let digest = recorded.blob(b"plan");
            for actor in [
                Actor {
                    left_with: BTreeMap::from([(artifact(), Some(digest))]),
                    ..Actor::default()
                },
                Actor {
                    entered_with: BTreeMap::from([(artifact(), Some(digest))]),
                    ..Actor::default()
                },
                Actor {
                    spent: BTreeMap::from([(artifact(), vec![digest])]),
                    ..Actor::default()
                },
            ] {
                let other = Actor {
                    left_with: BTreeMap::from([(artifact(), None)]),
                    ..Actor::default()
                };
                let actors = BTreeMap::from([("a".to_owned(), other), ("b".to_owned(), actor)]);
                let state = State {
                    actors,
                    ..State::default()
                };
                for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
                    assert_eq!(
                        state.is_of_another_format(format),
                        format != recorded,
                        "{state:?}"
                    );
                }
            }
        }
    }
}
