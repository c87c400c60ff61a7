//! What a side keeps of a task beside its artifacts, and the steps that a transcript tells of.

use super::archive::{Archive, HeldRecord};
use super::reconstruction::NotedDigests;
use crate::base::{Code, Digest, RepoPath};
use crate::decide::{HISTORY_WINDOW, HistoryEntry, Kind, Recorded, State};
use crate::record::{read_state, read_transcript, rebuild, settled_lines, sides, without_markers};
use crate::scan::{Content, Source};
use crate::survey::setting::Setting;
use crate::survey::{Error, TaskRef};
use crate::workflow::is_tree_name;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a side keeps of a task beside its artifacts.
#[derive(PartialEq, Default)]
pub(super) struct Records {
    pub state: Option<Vec<u8>>,
    pub transcript: Vec<u8>,
}

/// One recorded step: its line, and the state after it.
pub(super) struct RecordedStep {
    pub entry: HistoryEntry,
    pub line: String,
    pub state: State,
    pub noted: NotedDigests,
}

/// Why a record cannot be read.
pub(super) enum Unread {
    /// It is not in this clone.
    Elsewhere(String),
    /// It is no file.
    NoFile(String),
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
            Unread::Elsewhere(why) | Unread::NoFile(why) => Self::new(Code::NotInClone, why),
        }
    }
}

impl Records {
    pub(super) fn of(task: &TaskRef, source: &dyn Source) -> Result<Self, Unread> {
        let read = |path: RepoPath| -> Result<Option<Vec<u8>>, Unread> {
            match source.read(&path, u64::MAX - 1)? {
                Content::Bytes(bytes) => Ok(Some(bytes)),
                Content::Missing => Ok(None),
                Content::Absent => Err(Unread::Elsewhere(format!("{path} is not in this clone"))),
                Content::Unreadable(why) => Err(Unread::NoFile(format!("{path}: {why}"))),
                Content::TooLarge(size) => Err(Unread::Elsewhere(format!("{path} has {size} bytes"))),
            }
        };
        let state = read(task.state_path()?)?;
        Ok(Self { state, transcript: read(task.transcript_path()?)?.unwrap_or_default() })
    }

    /// The lines of the transcript up to the state, or without markers where that is in pieces.
    pub(super) fn lines(&self, near: &Setting, archive: &Archive<'_>) -> BTreeSet<String> {
        let state = self.state.as_deref().and_then(|bytes| state_in(bytes, near, archive));
        let lines = match (&state, &self.state) {
            (Some((state, _)), _) => settled_lines(&self.transcript, state.next_seq),
            (None, Some(_)) => without_markers(&self.transcript),
            (None, None) => self.transcript.clone(),
        };
        String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect()
    }

    /// Whether a merge left the state in pieces.
    pub(super) fn is_conflicted(&self) -> bool {
        let text = self.state.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.and_then(sides).is_some()
    }

    pub(super) fn digests(&self) -> Option<HeldRecord> {
        let state = Digest::of_blob(self.state.as_deref()?);
        Some((state, Digest::of_blob(&self.transcript)))
    }
}

/// The steps that the added lines of a transcript tell of; `None` if they do not give states.
pub(super) fn steps(
    before: Option<&State>,
    added: &[u8],
    last: &State,
    phase_key: &str,
) -> Option<Vec<RecordedStep>> {
    let mut steps: Vec<RecordedStep> = Vec::new();
    for line in std::str::from_utf8(added).ok()?.split_inclusive('\n') {
        let Some(event) = read_transcript(line).into_iter().next() else { continue };
        let before = steps.last().map(|step| &step.state).or(before);
        let state = if event.entry.seq + 1 == last.next_seq {
            last.clone()
        } else {
            let mut state = rebuild(line, phase_key)?.ok()?;
            // A line tells one step. What was before it stands in the state before it.
            if let Some(before) = before {
                state.history.splice(..0, before.history.iter().cloned());
                state.history.drain(..state.history.len().saturating_sub(HISTORY_WINDOW));
            }
            state
        };
        let noted = NotedDigests::since(before, &state);
        steps.push(RecordedStep { entry: event.entry, line: line.to_owned(), state, noted });
    }
    Some(steps)
}

/// Why these steps do not lead from the state before them to the one after; `None` where they do.
pub(super) fn gap(steps: &[RecordedStep], before: &Recorded, after: &State) -> Option<String> {
    let Some(first) = steps.first() else {
        return Some("the state changed without a recorded step".to_owned());
    };
    // A state that was taken over may have counted steps of its own.
    let taken_over = *before == Recorded::New && first.entry.kind == Kind::Create;
    let next = known(before).map_or(if taken_over { first.entry.seq } else { 1 }, |state| state.next_seq);
    let end = next + steps.len() as u64;
    let in_order = steps.iter().map(|step| step.entry.seq).eq(next..end) && after.next_seq == end;
    (!in_order).then(|| format!("step {next} should follow, and the transcript tells of others"))
}

/// Whether steps were taken after everything that was recorded before. A time is believed, but steps
/// taken anew bear a new one; the old ones told otherwise do not.
pub(super) fn is_later(steps: &[RecordedStep], before: &Recorded) -> bool {
    let last = known(before).and_then(|before| before.history.last());
    steps.first().zip(last).is_none_or(|(step, last)| step.entry.at > last.at)
}

pub(super) fn known(recorded: &Recorded) -> Option<&State> {
    match recorded {
        Recorded::Known(state) => Some(state),
        _ => None,
    }
}

pub(super) fn schema_of(state: &Value) -> &str {
    state.get("$schema").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn is_own(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes).is_ok_and(|value| value.get("version").is_some())
}

pub(super) fn named_workflow(value: &Value) -> Option<(String, Digest)> {
    let workflow = value.get("workflow")?;
    Some((workflow.get("name")?.as_str()?.to_owned(), Digest::parse(workflow.get("digest")?.as_str()?)?))
}

/// The whole state of `orch` in the bytes of a `state.json`, and where its workflow holds the phase.
pub(super) fn state_in(bytes: &[u8], near: &Setting, archive: &Archive<'_>) -> Option<(State, String)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let value: Value = serde_json::from_str(text).ok()?;
    let (name, _) = named_workflow(&value)?;
    let phase_key = archive.phase_key(near, &name, &value);
    let state = read_state(&value, text, &phase_key).ok()?;
    Some((state, phase_key))
}

/// What the end of a finished task rests on and is not there: nobody judges that task again.
pub(super) fn missing_end(
    task: &TaskRef,
    state: &State,
    near: &Setting,
    source: &dyn Source,
    archive: &Archive<'_>,
) -> Option<String> {
    let named = state.workflow.as_ref()?;
    let loaded = archive.workflow(near, named.name.as_str(), named.digest)?;
    let phase = loaded.workflow.as_ref()?.phase_named(state.phase.as_deref()?)?;
    let moved = |entry: &&HistoryEntry| entry.from.as_ref() != Some(&phase.id) && entry.to == phase.id;
    let last = state.history.iter().rev().find(moved).filter(|_| phase.terminal)?;
    // Code goes on, and is proven by the commit before the step.
    let mut files = last.evidence.iter().filter(|(name, _)| !is_tree_name(name));
    files.find_map(|(name, digest)| {
        let is_there = match source.read(&task.file(name).ok()?, u64::MAX - 1).ok()? {
            Content::Absent | Content::TooLarge(_) => true,
            content => content.blob().is_some_and(|blob| blob.to_string() == *digest),
        };
        (!is_there).then(|| format!("the end rests on {name}@{digest:.10}, which is not here"))
    })
}
