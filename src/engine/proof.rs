//! Proving a change of a task's record: is it what the rules yield from the bytes beside it?

use super::archive::Archive;
use super::join::prove_joined;
use super::setting::Setting;
use super::snapshot::Snapshot;
use super::{Error, Loaded, TaskRef};
use crate::base::{Digest, RepoPath};
use crate::decide::{HistoryEntry, Kind, Proof, ProvenStep, Recorded, Standing, State, replay};
use crate::record::{read_state, read_transcript, rebuild, settled_lines, sides, transcript_line};
use crate::scan::{Content, Files, Observed, Source};
use crate::workflow::{Artifact, Workflow};
use serde_json::Value;
use std::rc::Rc;

/// A task before and after.
pub(super) struct Change<'a> {
    pub task: &'a TaskRef,
    pub before: Snapshot<'a>,
    pub after: Snapshot<'a>,
}

/// What a side keeps of a task beside its artifacts.
#[derive(PartialEq)]
pub(super) struct Records {
    pub state: Option<Vec<u8>>,
    pub transcript: Vec<u8>,
}

/// One recorded step: its line, and the state after it.
struct Step {
    entry: HistoryEntry,
    line: String,
    state: State,
}

/// Proves a change; `None` where the record did not change, or is not of `orch`.
pub(super) fn prove(change: &Change<'_>, archive: &Archive<'_>) -> Result<Option<Proof>, Error> {
    let old = Records::of(change.task, &change.before)?;
    let new = match Records::of(change.task, &change.after) {
        Ok(new) => new,
        Err(Unread::Elsewhere(why)) => return Ok(Some(Proof::bare(Standing::Unverifiable, why))),
        Err(Unread::Failed(error)) => return Err(error),
    };
    if old == new {
        return Ok(None);
    }
    Proving { change, archive, old, new }.prove()
}

struct Proving<'a> {
    change: &'a Change<'a>,
    archive: &'a Archive<'a>,
    old: Records,
    new: Records,
}

/// Why a record cannot be read.
pub(super) enum Unread {
    /// It is not in this clone.
    Elsewhere(String),
    /// Nothing can be read.
    Failed(Error),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Failed(error) => error,
            Unread::Elsewhere(why) => Self::NotNow { code: "not-in-clone", message: why, hint: None },
        }
    }
}

impl Records {
    pub(super) fn of(task: &TaskRef, snapshot: &Snapshot<'_>) -> Result<Self, Unread> {
        let read = |path: RepoPath| -> Result<Option<Vec<u8>>, Unread> {
            match snapshot.source.read(&path, u64::MAX - 1).map_err(Error::from)? {
                Content::Bytes(bytes) => Ok(Some(bytes)),
                Content::Missing => Ok(None),
                Content::Unreadable(why) => Err(Unread::Elsewhere(format!("{path}: {why}"))),
                Content::TooLarge(size) => Err(Unread::Elsewhere(format!("{path} has {size} bytes"))),
            }
        };
        let state = read(task.state_path()?)?;
        Ok(Self { state, transcript: read(task.transcript_path()?)?.unwrap_or_default() })
    }

    pub(super) fn digests(&self) -> Option<(Digest, Digest)> {
        let state = Digest::of_blob(self.state.as_deref()?);
        Some((state, Digest::of_blob(&self.transcript)))
    }
}

impl Proving<'_> {
    fn prove(&self) -> Result<Option<Proof>, Error> {
        let Some(bytes) = &self.new.state else { return Ok(self.removed()) };
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return Ok(Some(self.unparsable(bytes)));
        };
        if value.get("version").is_none() {
            let was_ours = self.old.state.as_deref().is_some_and(is_own);
            return Ok(was_ours.then(|| Proof::forged("state.json was replaced by one without a history")));
        }
        let Some((name, digest)) = named_workflow(&value) else {
            return Ok(Some(Proof::forged("state.json does not say which workflow decided")));
        };
        let Some(loaded) = self.archive.workflow(self.change.after.setting, &name, digest) else {
            return Ok(Some(Proof::bare(Standing::Unverifiable, unknown_workflow(&name, digest))));
        };
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty()) };
        let state = match read_state(&value, &String::from_utf8_lossy(bytes), &workflow.phase_key) {
            Ok(state) => state,
            Err(faults) => {
                let first =
                    faults.first().map(|fault| format!("state.json{}: {}", fault.pointer, fault.message));
                return Ok(Some(Proof::forged(first.unwrap_or_default())));
            }
        };
        let before = self.before(workflow);
        let next = match &before {
            Recorded::Known(before) if !before.foreign => before.next_seq,
            _ => 1,
        };
        let kept = settled_lines(&self.old.transcript, next);
        let added = self.new.transcript.strip_prefix(kept.as_slice());
        let steps = added.and_then(|added| steps(&kept, added, &state, &workflow.phase_key));
        if let Some(restored) =
            self.restored(workflow, &state, steps.as_deref().is_none_or(<[Step]>::is_empty))?
        {
            return Ok(Some(restored));
        }
        let joins = |step: &Step| step.entry.kind == Kind::Merge;
        if steps.as_deref().is_none_or(|steps| steps.iter().any(joins)) {
            let joined =
                prove_joined(self.change.task, &[self.change.before], &[], &self.change.after, self.archive)?;
            if joined.is_some() {
                return Ok(joined);
            }
        }
        let (Some(_), Some(steps)) = (added, steps) else {
            return Ok(Some(Proof::forged("transcript.jsonl, which only grows, was rewritten")));
        };
        if let Some(fault) = self.gap(&steps, next, &state) {
            return Ok(fault);
        }
        self.replay(before, &steps).map(Some)
    }

    /// Either a merge was committed with its conflict, or the state was destroyed. What it was made of
    /// is noted, so that whoever mends it can be believed.
    fn unparsable(&self, bytes: &[u8]) -> Proof {
        let before = self.old.state.as_deref();
        let before = before.and_then(|bytes| state_in(bytes, self.change.before.setting, self.archive));
        if let (Some((state, _)), Some(digests)) = (before, self.new.digests()) {
            self.archive.note_made_of(self.change.task, digests, state);
        }
        if std::str::from_utf8(bytes).ok().and_then(sides).is_none() {
            return Proof::forged("state.json is not JSON any more");
        }
        let why = format!("the conflict of a merge was committed; orch resolve {}", self.change.task.id);
        Proof::bare(Standing::Unverifiable, why)
    }

    /// The record is gone: with its task that is nobody's loss, else somebody hides what happened.
    fn removed(&self) -> Option<Proof> {
        let directory = &self.change.task.directory;
        let nothing_left = self.change.after.source.children(directory).is_none_or(|left| left.is_empty());
        let was_ours = self.old.state.as_deref().is_some_and(is_own);
        (was_ours && !nothing_left)
            .then(|| Proof::forged("state.json was removed, and the task's files were not"))
    }

    /// What was recorded before: a state that is not whole was rebuilt from the transcript.
    fn before(&self, workflow: &Workflow) -> Recorded {
        let whole = |bytes: &Vec<u8>| {
            let value: Value = serde_json::from_slice(bytes).ok()?;
            let named = named_workflow(&value);
            let loaded = named
                .and_then(|(name, digest)| self.archive.workflow(self.change.before.setting, &name, digest));
            let phase_key = loaded
                .as_ref()
                .and_then(|loaded| loaded.workflow.as_ref())
                .map_or_else(|| workflow.phase_key.clone(), |workflow| workflow.phase_key.clone());
            read_state(&value, &String::from_utf8_lossy(bytes), &phase_key).ok()
        };
        let state =
            self.old.state.as_ref().and_then(whole).or_else(|| {
                rebuild(&String::from_utf8_lossy(&self.old.transcript), &workflow.phase_key)?.ok()
            });
        state.map_or(Recorded::New, |state| Recorded::Known(Box::new(state)))
    }

    /// The same record as an ancestor's, put back.
    fn restored(
        &self,
        workflow: &Workflow,
        state: &State,
        adds_nothing: bool,
    ) -> Result<Option<Proof>, Error> {
        let Some((bytes, transcript)) = self.new.digests().filter(|_| adds_nothing) else { return Ok(None) };
        let Some(commit) = self.archive.held_by(self.change.task, bytes, transcript)? else {
            return Ok(None);
        };
        let terminal = state
            .phase
            .as_deref()
            .and_then(|name| workflow.phase_named(name))
            .is_some_and(|phase| phase.terminal);
        // An open task's files are judged again at its next step. A finished one's are not, so they
        // must be what they were.
        if terminal && !self.archive.holds_the_same(commit, self.change.task, self.change.after.source)? {
            let why = format!("{} was done with other files than these", commit.short());
            return Ok(Some(Proof::forged(why)));
        }
        Ok(Some(Proof::bare(Standing::Restored, format!("as in {}", commit.short()))))
    }

    /// Whether the transcript's new lines and the state tell the same steps.
    fn gap(&self, steps: &[Step], next: u64, state: &State) -> Option<Option<Proof>> {
        if steps.is_empty() {
            let same = self.old.state == self.new.state;
            return Some((!same).then(|| Proof::forged("the state changed without a recorded step")));
        }
        let numbers = steps.iter().map(|step| step.entry.seq);
        if !numbers.eq(next..next + steps.len() as u64) || state.next_seq != next + steps.len() as u64 {
            let why = format!("step {next} should follow, and the transcript tells of others");
            return Some(Some(Proof::forged(why)));
        }
        None
    }

    fn replay(&self, mut before: Recorded, steps: &[Step]) -> Result<Proof, Error> {
        let mut proven = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            proven.push(self.one(&before, steps, index)?);
            before = Recorded::Known(Box::new(step.state.clone()));
        }
        Ok(Proof::of(proven))
    }

    fn one(&self, before: &Recorded, steps: &[Step], index: usize) -> Result<ProvenStep, Error> {
        let step = &steps[index];
        let entry = &step.entry;
        let verdict = |standing, why: Option<String>| ProvenStep {
            entry: entry.clone(),
            standing,
            by_person: false,
            why,
        };
        if transcript_line(&step.state, self.phase_key(step).as_str()) != step.line {
            return Ok(verdict(
                Standing::Forged,
                Some("the transcript tells it otherwise than the state".to_owned()),
            ));
        }
        let Some(named) = &step.state.workflow else {
            return Ok(verdict(Standing::Forged, Some("it does not say which workflow decided".to_owned())));
        };
        let found = self.archive.workflow(self.change.after.setting, named.name.as_str(), named.digest);
        let Some(loaded) = found else {
            let why = unknown_workflow(named.name.as_str(), named.digest);
            return Ok(verdict(Standing::Unverifiable, Some(why)));
        };
        let mut refused: Option<String> = None;
        let mut excuse: Option<String> = None;
        let mut attempt = |source: &dyn Source| -> Result<Option<ProvenStep>, Error> {
            let snapshot = Snapshot { source, ..self.change.after };
            let (workflow, observed) = snapshot.observe_by(self.change.task, &loaded)?;
            match replay(workflow, before, &observed.facts, entry, Some(&step.state)) {
                Ok(replayed) => {
                    Ok(Some(ProvenStep { by_person: replayed.by_person, ..verdict(replayed.standing, None) }))
                }
                Err(disproof) => {
                    let other = self.other_evidence(entry, &observed);
                    refused.get_or_insert_with(|| other.unwrap_or(disproof.message));
                    excuse = excuse.take().or_else(|| self.excuse(steps, index, workflow, &observed));
                    Ok(None)
                }
            }
        };
        if let Some(proven) = attempt(self.change.after.source)? {
            return Ok(proven);
        }
        if steps.len() > 1 {
            for files in self.moments(steps, index)? {
                if let Some(proven) = attempt(&files)? {
                    return Ok(proven);
                }
            }
        }
        Ok(match excuse {
            Some(why) => verdict(Standing::Unverifiable, Some(why)),
            None => verdict(Standing::Forged, refused),
        })
    }

    fn phase_key(&self, step: &Step) -> String {
        let named = step.state.workflow.as_ref();
        let loaded = named.and_then(|named| {
            self.archive.workflow(self.change.after.setting, named.name.as_str(), named.digest)
        });
        let key = loaded.as_ref().and_then(|loaded| Some(loaded.workflow.as_ref()?.phase_key.clone()));
        key.unwrap_or_else(|| "phase".to_owned())
    }

    /// What the task may have held at a step in the middle of several: a squash keeps only the end,
    /// but every step names its evidence. The files that nobody names may have been there or not.
    fn moments(&self, steps: &[Step], index: usize) -> Result<Vec<Files>, Error> {
        let task = self.change.task;
        let limit = self.change.after.setting.config.limit_bytes;
        let mut earlier = Files::of(self.change.before.source, &task.directory, limit)?;
        let latest = Files::of(self.change.after.source, &task.directory, limit)?;
        let mut own = Files::default();
        let mut named: Vec<RepoPath> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            for (path, digest) in &step.entry.evidence {
                let (Ok(path), Some(digest)) = (task.file(path), Digest::parse(digest)) else { continue };
                named.push(path.clone());
                if let Some(bytes) = self.archive.blob(digest)?.filter(|_| number <= index) {
                    if number == index {
                        own.put(path.clone(), bytes.clone());
                    }
                    earlier.put(path, bytes);
                }
            }
        }
        let mut with_rest = earlier.clone();
        for path in latest.paths().filter(|path| !named.contains(path)) {
            if let Some(bytes) = latest.bytes(path) {
                with_rest.put(path.clone(), bytes.to_vec());
            }
        }
        Ok(vec![earlier, with_rest, own])
    }

    /// Evidence that is other bytes here than the record says.
    fn other_evidence(&self, entry: &HistoryEntry, observed: &Observed) -> Option<String> {
        entry.evidence.iter().find_map(|(name, recorded)| {
            let path = self.change.task.file(name).ok()?;
            let present =
                observed.files.iter().find(|file| file.path == path).map(|file| file.digest.to_string());
            (present.as_deref() != Some(recorded.as_str())).then(|| match present {
                Some(present) => {
                    format!("the record rests on {name}@{recorded:.10}, and it is {present:.10} here")
                }
                None => format!("the record rests on {name}@{recorded:.10}, which is not here"),
            })
        })
    }

    /// Why a step that does not derive may be honest all the same.
    fn excuse(
        &self,
        steps: &[Step],
        index: usize,
        workflow: &Workflow,
        observed: &Observed,
    ) -> Option<String> {
        if let Some(path) = observed.unread.first() {
            return Some(format!("{path} cannot be read here"));
        }
        // A squash keeps only the end. What a step in the middle rests on stands in its own record,
        // and in those of the steps before it.
        let in_middle = if steps.len() > 1 { &steps[..=index] } else { &[] };
        for (name, digest) in in_middle.iter().flat_map(|step| &step.entry.evidence) {
            let digest = Digest::parse(digest)?;
            if !matches!(self.archive.blob(digest), Ok(Some(_))) {
                return Some(format!("the blob of {name}, {}, is not in git", digest.short()));
            }
        }
        let entry = &steps.get(index)?.entry;
        // Any rule of the phase may have asked before the one that fired.
        let asked =
            |artifact: &Artifact| {
                entry.from.iter().flat_map(|from| workflow.rules_from(from)).any(|rule| {
                    workflow.reads(&rule.when).iter().any(|chain| chain[0] == artifact.name.as_str())
                })
            };
        let elsewhere = workflow.artifacts.iter().find(|artifact| !artifact.commit && asked(artifact));
        if let Some(artifact) = elsewhere {
            return Some(format!("`{}` is not committed", artifact.name));
        }
        let filtered = observed.files.iter().find(|file| self.archive.is_filtered(&file.path));
        filtered.map(|file| format!("the bytes of {} lie behind a filter", file.path))
    }
}

/// The steps that the added lines of a transcript tell of; `None` if they do not give states.
fn steps(kept: &[u8], added: &[u8], last: &State, phase_key: &str) -> Option<Vec<Step>> {
    let added = std::str::from_utf8(added).ok()?;
    let mut so_far = String::from_utf8_lossy(kept).into_owned();
    let mut steps = Vec::new();
    for line in added.split_inclusive('\n') {
        so_far.push_str(line);
        let Some(event) = read_transcript(line).into_iter().next() else { continue };
        let state = if event.entry.seq + 1 == last.next_seq {
            last.clone()
        } else {
            rebuild(&so_far, phase_key)?.ok()?
        };
        steps.push(Step { entry: event.entry, line: line.to_owned(), state });
    }
    Some(steps)
}

/// The whole state of `orch` in the bytes of a `state.json`, with the workflow that it names.
pub(super) fn state_in(bytes: &[u8], near: &Setting, archive: &Archive<'_>) -> Option<(State, Rc<Loaded>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let value: Value = serde_json::from_str(text).ok()?;
    let (name, digest) = named_workflow(&value)?;
    let loaded = archive.workflow(near, &name, digest)?;
    let state = read_state(&value, text, &loaded.workflow.as_ref()?.phase_key).ok()?;
    Some((state, loaded))
}

fn is_own(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes).is_ok_and(|value| value.get("version").is_some())
}

fn named_workflow(value: &Value) -> Option<(String, Digest)> {
    let workflow = value.get("workflow")?;
    Some((workflow.get("name")?.as_str()?.to_owned(), Digest::parse(workflow.get("digest")?.as_str()?)?))
}

fn unknown_workflow(name: &str, digest: Digest) -> String {
    format!("workflow {name}@{} stands neither in git here nor in this orch", digest.short())
}
