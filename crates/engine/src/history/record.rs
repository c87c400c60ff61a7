//! The record of a task on one side: its log, and the state that is the fold of the log.

use super::archive::Archive;
use super::logs::{LogBytes, LogPool, ReadLog};
use crate::survey::setting::Settings;
use crate::survey::{Error, TaskRef};
use orch_base::{Code, Digest, RepoPath, with_line_feeds};
use orch_core::decide::{State, difference, document, is_original};
use orch_core::record::{
    AFTER_CHANGING, LogExtent, StateLayout, is_as_written, is_other_layout, log_extent_in,
    log_extent_of, read_state, sides,
};
use orch_core::workflow::{Workflow, is_tree_name};
use orch_files::{Content, Source};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

pub(super) struct RecordFile {
    pub blob: Digest,
    pub bytes: Vec<u8>,
}

/// The record of a task on one side.
#[derive(Default)]
pub(super) struct TaskRecord {
    pub state: Option<RecordFile>,
    /// The log, unless it is missing or empty.
    pub log: Option<RecordFile>,
}

/// Why a record cannot be read.
pub(super) enum Unread {
    /// The blob is not in this clone, or it is too large.
    Elsewhere(String),
    /// The path is not a regular file.
    NoFile(String),
    /// The source cannot be read.
    Failed(Error),
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Failed(error) => error,
            Unread::Elsewhere(why) | Unread::NoFile(why) => Self::new(Code::NotInClone, why),
        }
    }
}

impl PartialEq for TaskRecord {
    fn eq(&self, other: &Self) -> bool {
        self.blobs() == other.blobs()
    }
}

impl TaskRecord {
    /// Reads the record of a task from a source. Missing files are no error.
    ///
    /// # Errors
    ///
    /// A file of the record exists but cannot be read.
    pub(super) fn of(task: &TaskRef, source: &dyn Source) -> Result<Self, Unread> {
        let read = |path: RepoPath| -> Result<Option<RecordFile>, Unread> {
            match source.read(&path, u64::MAX - 1).map_err(Unread::Failed)? {
                Content::Bytes(bytes) => {
                    let blob = source
                        .blob_id(&path)
                        .unwrap_or_else(|| source.format().blob(&bytes));
                    Ok(Some(RecordFile { blob, bytes }))
                }
                Content::Missing => Ok(None),
                Content::Absent => Err(Unread::Elsewhere(format!("{path} is not in this clone"))),
                Content::Unreadable(why) => Err(Unread::NoFile(format!("{path}: {why}"))),
                Content::TooLarge(size) => {
                    Err(Unread::Elsewhere(format!("{path} has {size} bytes")))
                }
            }
        };
        let log = read(task.transcript_path())?.filter(|log| !log.bytes.trim_ascii().is_empty());
        Ok(Self {
            state: read(task.state_path())?,
            log,
        })
    }

    /// Like [`Self::of`], but a file of the record that is not a regular file counts as missing: it contains no
    /// events.
    ///
    /// # Errors
    ///
    /// A file of the record is not in this clone, is too large, or cannot be read.
    pub(super) fn in_source(task: &TaskRef, source: &dyn Source) -> Result<Self, Error> {
        match Self::of(task, source) {
            Err(Unread::NoFile(_)) => Ok(Self::default()),
            record => Ok(record?),
        }
    }

    /// The blob ids of the state and of the log.
    pub(super) fn blobs(&self) -> (Option<Digest>, Option<Digest>) {
        let blob = |file: &Option<RecordFile>| file.as_ref().map(|file| file.blob);
        (blob(&self.state), blob(&self.log))
    }

    /// Its blobs that another record does not have in their place.
    pub(super) fn blobs_unlike(&self, other: &Self) -> impl Iterator<Item = Digest> {
        let ((state, log), (other_state, other_log)) = (self.blobs(), other.blobs());
        let own = |(own, other): (Option<Digest>, Option<Digest>)| own.filter(|_| own != other);
        [(state, other_state), (log, other_log)]
            .into_iter()
            .filter_map(own)
    }

    /// Parses the log; a missing one is empty. `older` is a record whose log it may continue.
    pub(super) fn read(&self, pool: &LogPool, older: Option<&Self>) -> Arc<ReadLog> {
        let older = older.and_then(Self::log_bytes);
        self.log_bytes()
            .map(|log| pool.read(log, older))
            .unwrap_or_default()
    }

    /// The record of one of several tasks in this log, all of whose events are among these ids; `None` if there is no
    /// such task, or this log holds no other.
    pub(super) fn part_within(&self, pool: &LogPool, ids: &HashSet<Digest>) -> Option<Self> {
        let log = self.log.as_ref()?;
        let held = pool.ids(&self.read(pool, None));
        let parts = pool.parts(&held);
        let within = parts
            .into_iter()
            .filter(|part| part.is_subset(ids))
            .flatten();
        let within: HashSet<Digest> = within.collect();
        if within.is_empty() || within.len() == held.len() {
            return None;
        }
        let bytes = pool.lines_of(&within);
        let blob = log.blob.format().blob(&bytes);
        Some(Self {
            state: None,
            log: Some(RecordFile { blob, bytes }),
        })
    }

    fn log_bytes(&self) -> Option<LogBytes<'_>> {
        self.log.as_ref().map(|file| LogBytes {
            blob: file.blob,
            bytes: &file.bytes,
        })
    }

    /// The state as JSON; `None` if it is missing or not JSON.
    pub(super) fn value(&self) -> Option<Value> {
        serde_json::from_slice(&self.state.as_ref()?.bytes).ok()
    }

    /// The state that another tool wrote, as the workflow of this name in `near` reads it.
    pub(super) fn foreign(
        &self,
        archive: &Archive<'_>,
        near: &Settings,
        name: &str,
    ) -> Option<State> {
        let text = std::str::from_utf8(&self.state.as_ref()?.bytes).ok()?;
        archive.foreign(near, name, text, &self.value()?)
    }

    /// Whether the state contains conflict markers.
    pub(super) fn has_torn_state(&self) -> bool {
        let text = self
            .state
            .as_ref()
            .and_then(|file| std::str::from_utf8(&file.bytes).ok());
        text.and_then(sides).is_some()
    }
}

/// The events of a task's log in a source; none if there is no log. Returns an error if the record exists and
/// cannot be read.
pub(super) fn events_of(
    pool: &LogPool,
    task: &TaskRef,
    source: &dyn Source,
) -> Result<HashSet<Digest>, Error> {
    Ok(pool.ids(&TaskRecord::in_source(task, source)?.read(pool, None)))
}

/// Whether another tool wrote this state.
pub(super) fn is_foreign(state: &Value) -> bool {
    state.get("heads").is_none()
}

/// What a state says of the log that it folds.
#[derive(Deserialize)]
struct StatedFold {
    #[serde(rename = "$schema")]
    schema: String,
    heads: Vec<String>,
    transcript: Value,
}

impl StatedFold {
    /// Reads the beginning of a state, up to what follows it as `orch` writes it.
    fn of(text: &str) -> Option<Self> {
        let next = match StateLayout::of(text) {
            StateLayout::Lines => AFTER_CHANGING,
            StateLayout::Pretty => ",\n  \"rev\": ",
        };
        let (begin, _) = text.split_once(next)?;
        serde_json::from_str(&format!("{begin}}}")).ok()
    }
}

/// What the audit says of a state in another layout.
pub(super) const OTHER_LAYOUT: &str =
    "state.json has a different layout from the one that orch writes, but the same values";

/// What a `state.json` is beside its log.
pub(super) enum StateComparison {
    /// The fold of the events that it names; or it is missing.
    Fold,
    /// The fold in another layout than that of `orch`.
    Layout,
    /// Something else, and why.
    Other(String),
}

/// A `state.json` to compare with its log.
pub(super) struct StateCheck<'a> {
    pub record: &'a TaskRecord,
    pub log: &'a ReadLog,
    pub archive: &'a Archive<'a>,
    /// The settings whose workflow may have joined its heads.
    pub settings: Vec<&'a Settings>,
}

impl StateCheck<'_> {
    /// How the state differs from its log; `None` if it is the fold of the events that it names, in any layout,
    /// or is missing.
    pub(super) fn fault(&self) -> Option<String> {
        match self.comparison() {
            StateComparison::Fold | StateComparison::Layout => None,
            StateComparison::Other(why) => Some(why),
        }
    }

    /// Compares the state with its log.
    pub(super) fn comparison(&self) -> StateComparison {
        let Some(file) = self.record.state.as_ref() else {
            return StateComparison::Fold;
        };
        if self.is_exact(&file.bytes) {
            return StateComparison::Fold;
        }
        let Some(value) = self.record.value() else {
            return StateComparison::Other("state.json is not JSON".to_owned());
        };
        if is_foreign(&value) && self.is_as_adopted(&value) {
            return StateComparison::Fold;
        }
        let text = String::from_utf8_lossy(&file.bytes);
        let text = with_line_feeds(&text);
        let heads = match self.heads(&value) {
            Ok(heads) => heads,
            Err(why) => return StateComparison::Other(why),
        };
        let mut found = None;
        for setting in &self.settings {
            match self.compared(setting, &heads, &value, &text) {
                StateComparison::Fold => return StateComparison::Fold,
                StateComparison::Layout => found = Some(StateComparison::Layout),
                other => found = found.or(Some(other)),
            }
        }
        found.unwrap_or(StateComparison::Fold)
    }

    /// Whether these bytes are exactly what `orch` writes of all events of the log. Nearly every state is, and
    /// finding that out takes no value of the whole.
    fn is_exact(&self, bytes: &[u8]) -> bool {
        let pool = self.archive.logs();
        let Ok(text) = std::str::from_utf8(bytes) else {
            return false;
        };
        let Some(stated) = StatedFold::of(text) else {
            return false;
        };
        let heads = pool.sorted(self.log.heads.iter().copied());
        let named = stated.heads.iter().map(|head| Digest::parse(head));
        if heads.is_empty() || !named.eq(heads.iter().copied().map(Some)) {
            return false;
        }
        let Some(extent) = log_extent_of(&stated.transcript) else {
            return false;
        };
        let Some(name) = pool.workflow_name(&heads) else {
            return false;
        };
        self.settings.iter().any(|setting| {
            let loaded = setting.workflow(name.as_str()).ok();
            let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
            let folded = pool.fold(workflow, &heads).ok().flatten();
            let key = self.archive.declared_phase_key(setting, name.as_str());
            let folded = folded.zip(key);
            folded.is_some_and(|(folded, key)| {
                is_as_written(&folded, &key, &stated.schema, extent, text)
            })
        })
    }

    /// Whether a state of another tool says what the first event of the log took over. It is a copy from before
    /// that event.
    fn is_as_adopted(&self, value: &Value) -> bool {
        let pool = self.archive.logs();
        let mut firsts = self.log.heads.clone();
        while let Some(before) = firsts
            .first()
            .and_then(|id| pool.event(id)?.after.first().copied())
        {
            firsts = vec![before];
        }
        let Some(adopted) = firsts.first().and_then(|first| pool.state_at(first).ok()) else {
            return false;
        };
        let Some(name) = pool.workflow_name(&firsts) else {
            return false;
        };
        let Some(Ok(text)) = self
            .record
            .state
            .as_ref()
            .map(|file| std::str::from_utf8(&file.bytes))
        else {
            return false;
        };
        let read = |setting: &&Settings| self.archive.foreign(setting, name.as_str(), text, value);
        self.settings.iter().filter_map(read).any(|foreign| {
            foreign.phase == adopted.phase
                && foreign
                    .extra
                    .iter()
                    .all(|(key, value)| adopted.extra.get(key) == Some(value))
        })
    }

    /// The heads that the state names. Returns an error if they do not fit the log.
    fn heads(&self, value: &Value) -> Result<Vec<Digest>, String> {
        let pool = self.archive.logs();
        let named = value.get("heads").and_then(Value::as_array);
        let heads =
            named.and_then(|heads| heads.iter().map(|id| Digest::parse(id.as_str()?)).collect());
        let Some(heads): Option<Vec<Digest>> =
            heads.filter(|heads: &Vec<Digest>| !heads.is_empty())
        else {
            return Err("state.json does not name the events that it is folded from".to_owned());
        };
        if let Some(lost) = heads.iter().find(|id| !pool.holds(self.log, id)) {
            let lost = lost.short();
            return Err(format!(
                "state.json is folded from event {lost}, which transcript.jsonl does not hold"
            ));
        }
        let written = log_extent_in(value);
        let format = written
            .and_then(|written| Some(written.digest?.format()))
            .unwrap_or_default();
        let extent = || {
            self.record
                .log
                .as_ref()
                .map(|log| LogExtent::of(&log.bytes, format))
        };
        // A reader trusts a state that names this size of the log, without folding the log.
        if heads != pool.sorted(self.log.heads.iter().copied()) && written == extent() {
            return Err(
                "state.json claims to fold all of transcript.jsonl, but leaves out events"
                    .to_owned(),
            );
        }
        Ok(heads)
    }

    fn compared(
        &self,
        setting: &Settings,
        heads: &[Digest],
        value: &Value,
        text: &str,
    ) -> StateComparison {
        let pool = self.archive.logs();
        let Some(name) = pool.workflow_name(heads) else {
            return StateComparison::Fold;
        };
        let loaded = setting.workflow(name.as_str()).ok();
        let workflow: Option<&Workflow> = loaded.as_ref().and_then(|loaded| loaded.workflow());
        let folded = match pool.fold(workflow, heads) {
            Ok(Some(folded)) => folded,
            Ok(None) => return StateComparison::Fold,
            Err(why) => {
                return StateComparison::Other(format!(
                    "state.json folds events that have no state: {why}"
                ));
            }
        };
        let phase_key = self.archive.phase_key(setting, name.as_str(), value);
        let schema = value
            .get("$schema")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let extent = log_extent_in(value).unwrap_or_default();
        if is_as_written(&folded, &phase_key, schema, extent, text) {
            return StateComparison::Fold;
        }
        if is_other_layout(&folded, &phase_key, value, text) {
            return StateComparison::Layout;
        }
        let said = read_state(value, text, &phase_key).map_err(|faults| faults.into_iter().next());
        StateComparison::Other(match said {
            Ok(said) => {
                let [expected, said] = [&folded, &said].map(|state| document(state, &phase_key));
                match difference(&expected, &said, "") {
                    Some(why) => format!("state.json is not the fold of its log: {why}"),
                    None => "state.json contains something that no step writes".to_owned(),
                }
            }
            Err(fault) => {
                let why = fault.map(|fault| format!("{}: {}", fault.pointer, fault.message));
                format!(
                    "state.json is not the fold of its log: {}",
                    why.unwrap_or_default()
                )
            }
        })
    }
}

/// Why the evidence of a finished task's last step is incomplete, if it is. No later step checks it.
pub(super) fn missing_end(
    task: &TaskRef,
    state: &State,
    near: &Settings,
    source: &dyn Source,
    archive: &Archive<'_>,
) -> Option<String> {
    let named = state.workflow.as_ref()?;
    let loaded = archive.workflow(near, named.name.as_str(), named.digest)?;
    let phase = loaded.workflow()?.phase_named(state.phase.as_deref()?)?;
    let last = state
        .last_entry_into(&phase.id)
        .filter(|_| phase.terminal)?;
    // Code changes later; the parent commit of the step proves it.
    let mut files = last
        .evidence
        .iter()
        .filter(|(name, _)| !is_tree_name(name) && !is_original(name));
    files.find_map(|(name, digest)| {
        let is_there = match source.read(&task.file(name).ok()?, u64::MAX - 1).ok()? {
            Content::Absent | Content::TooLarge(_) => true,
            content => Digest::parse(digest).is_some_and(|digest| content.is_blob(digest)),
        };
        (!is_there)
            .then(|| format!("the last step rests on {name}@{digest:.10}, which is not here"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, every audit takes the slow way.
    #[test]
    fn the_beginning_of_a_state_says_what_it_folds() {
        let head = Digest::of_blob(b"event");
        let state = State {
            heads: vec![head],
            task: Some("t".to_owned()),
            rev: 3,
            ..State::default()
        };
        let text =
            orch_core::record::write_state(&state, "phase", "system/s.json", LogExtent::default());
        let stated = StatedFold::of(&text).expect("as it is written");
        assert_eq!(
            (stated.schema.as_str(), stated.heads),
            ("system/s.json", vec![head.to_string()])
        );
        assert!(log_extent_of(&stated.transcript).is_some());
    }
}
