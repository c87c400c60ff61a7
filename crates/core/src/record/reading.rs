//! Reads the record of a task from `state.json` and `transcript.jsonl`; the log decides.

use super::extent::LogExtent;
use super::fold::FoldError;
use super::foreign::left_out;
use super::known_log::KnownLog;
use super::log::{LogFault, LogPeek};
use super::state::{StateFault, is_other_layout, log_extent_in, read_state};
use crate::decide::{
    Conflict, ImportFault, Original, State, difference, document, import, import_of,
};
use crate::workflow::Workflow;
use orch_base::{Code, Digest};
use serde_json::Value;
use std::sync::Arc;

/// The text of a `state.json`, and its value if it is valid JSON.
#[derive(Debug, Clone, Copy)]
pub struct StateText<'t> {
    /// The text of the file.
    pub text: &'t str,
    /// The parsed value; `None` if the text is not JSON, for example because of conflict markers.
    pub value: Option<&'t Value>,
}

/// The result of reading both files of a task's record.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordReading {
    /// There is neither a log nor a state: the task is new.
    New,
    /// The state is the fold of the log beside it.
    Current(Box<State>),
    /// The state was folded from the log, because `state.json` is missing or not the fold.
    Folded {
        /// The folded state.
        state: Box<State>,
        /// Why the file was not used.
        because: StateDefect,
    },
    /// There is no log, and another tool wrote the state.
    Foreign(Box<State>),
    /// There is no log, and the state is that of an older tool, which the workflow cannot import.
    ImportFaults(Vec<ImportFault>),
    /// There is no log, and the state is invalid.
    StateFaults(Vec<StateFault>),
    /// There is no log, and the state is not JSON.
    StateUnreadable,
    /// The state was folded from a log that is missing.
    LogGone,
    /// The log is damaged.
    LogFaults(Vec<LogFault>),
    /// Branches meet that a person has to join.
    Disputed {
        /// Why the rules of merging cannot join them.
        conflict: Conflict,
        /// The last event of each branch.
        heads: Vec<Digest>,
    },
}

/// Why a `state.json` is not the fold of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateDefect {
    /// The file is missing.
    Missing,
    /// The file is not JSON, or not a state.
    Unreadable,
    /// The file is the fold of other heads than those of the log.
    OtherHeads,
    /// The file has the values of the fold, and another layout: a formatter wrote it.
    Layout,
    /// The file was edited by hand: it differs from the fold.
    Edited {
        /// The first difference.
        difference: String,
    },
}

impl StateDefect {
    /// The code for a finding about this defect.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Edited { .. } => Code::StateEdited,
            Self::Layout => Code::StateLayout,
            Self::Missing | Self::Unreadable | Self::OtherHeads => Code::StateFolded,
        }
    }
}

/// Reads the record of a task from the bytes of both files.
///
/// A state with an intact seal that was written with exactly this log is used without parsing the log. In
/// every other case the log decides. `known` is the log that was read last.
#[must_use]
pub fn read_record(
    workflow: &Workflow,
    state: Option<StateText<'_>>,
    log: Option<&[u8]>,
    known: &mut KnownLog,
) -> RecordReading {
    let Some(bytes) = log.filter(|log| !log.trim_ascii().is_empty()) else {
        return without_log(workflow, state);
    };
    let own = OwnState::of(workflow, state);
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    // The state of a long log vouches only for the size, so every line is read.
    if own.extent().is_some_and(|extent| extent.digest.is_some())
        && own.is_of(LogPeek::new(length, bytes))
        && let Some(state) = own.whole().filter(has_one_head)
    {
        return RecordReading::Current(Box::new(state));
    }
    let (log, cache) = match known.read(bytes) {
        Ok(read) => read,
        Err(faults) => return RecordReading::LogFaults(faults),
    };
    let heads = log.heads();
    let parts = if heads.len() > 1 {
        log.parts()
    } else {
        Vec::new()
    };
    match log.tasks_in_one(&parts, cache) {
        Ok(None) => {}
        Ok(Some(conflict)) => return RecordReading::Disputed { conflict, heads },
        Err(fault) => return RecordReading::LogFaults(vec![fault]),
    }
    if let Some(state) = own.whole().filter(|state| state.heads == heads) {
        return RecordReading::Current(Box::new(state));
    }
    match log.fold(workflow, &heads, cache) {
        Ok(Some(folded)) => {
            let because = own.defect(workflow, &folded);
            RecordReading::Folded {
                state: Box::new(Arc::unwrap_or_clone(folded)),
                because,
            }
        }
        Ok(None) => without_log(workflow, state),
        Err(FoldError::Fault(fault)) => RecordReading::LogFaults(vec![fault]),
        Err(FoldError::Disputed { conflict, heads }) => RecordReading::Disputed { conflict, heads },
    }
}

/// Whether nothing of the state may be the join of two tasks.
fn has_one_head(state: &State) -> bool {
    state.heads.len() < 2
}

/// The state in `state.json`, if it is believed given only the size and the last event of the log.
///
/// `None` means that the whole log has to be read.
#[must_use]
pub fn believed_state(
    workflow: &Workflow,
    state: StateText<'_>,
    log: LogPeek<'_>,
) -> Option<State> {
    let own = OwnState::of(workflow, Some(state));
    own.read
        .as_ref()
        .filter(|state| has_one_head(state) && own.is_of(log))
        .cloned()
}

fn without_log(workflow: &Workflow, state: Option<StateText<'_>>) -> RecordReading {
    let Some(StateText { text, value }) = state else {
        return RecordReading::New;
    };
    let Some(value) = value else {
        return RecordReading::StateUnreadable;
    };
    if value.get("heads").is_some() {
        return RecordReading::LogGone;
    }
    read_foreign(workflow, text, value)
}

/// Reads the state of another tool, which has no log beside it. The state of an older tool that the workflow
/// knows is imported. Of any other, the file is kept if the state says what a record has no place for.
#[must_use]
pub fn read_foreign(workflow: &Workflow, text: &str, value: &Value) -> RecordReading {
    let map = import_of(workflow, value);
    let phase_key = map.map_or(workflow.phase_key.as_str(), |_| "");
    let foreign = match read_state(value, text, phase_key) {
        Ok(foreign) => foreign,
        Err(faults) => return RecordReading::StateFaults(faults),
    };
    let digest = workflow.digest.format().blob(text.as_bytes());
    let Some(map) = map else {
        let left_out = left_out(&workflow.name, phase_key, value, text);
        let mut foreign = foreign;
        if !left_out.is_empty() {
            foreign.original = Some(Box::new(Original {
                digest,
                left_out,
                is_mapped: false,
            }));
        }
        return RecordReading::Foreign(Box::new(foreign));
    };
    match import(workflow, map, value, digest, foreign) {
        Ok(state) => RecordReading::Foreign(Box::new(state)),
        Err(faults) => RecordReading::ImportFaults(faults),
    }
}

/// A `state.json` that has a log beside it.
struct OwnState<'t> {
    file: Option<StateText<'t>>,
    read: Option<State>,
}

impl<'t> OwnState<'t> {
    fn of(workflow: &Workflow, file: Option<StateText<'t>>) -> Self {
        let read = file.and_then(|StateText { text, value }| {
            let value = value.filter(|value| value.get("heads").is_some())?;
            read_state(value, text, &workflow.phase_key).ok()
        });
        Self { file, read }
    }

    /// The state, if its seal is intact.
    fn whole(&self) -> Option<State> {
        self.read.clone()
    }

    /// What the state says of its log.
    fn extent(&self) -> Option<LogExtent> {
        self.file.and_then(|file| log_extent_in(file.value?))
    }

    /// Whether the state was written with exactly this log.
    fn is_of(&self, log: LogPeek<'_>) -> bool {
        self.extent()
            .zip(self.read.as_ref())
            .is_some_and(|(extent, state)| log.is_of(extent, &state.heads))
    }

    fn defect(&self, workflow: &Workflow, folded: &State) -> StateDefect {
        let Some(StateText { text, value }) = self.file else {
            return StateDefect::Missing;
        };
        let Some(value) = value.filter(|value| value.is_object()) else {
            return StateDefect::Unreadable;
        };
        let heads: Vec<String> = folded.heads.iter().map(Digest::to_string).collect();
        // A state with the same heads that could be read would have been believed.
        if value.get("heads") != Some(&Value::from(heads)) {
            return StateDefect::OtherHeads;
        }
        if is_other_layout(folded, &workflow.phase_key, value, text) {
            return StateDefect::Layout;
        }
        let mut found = value.clone();
        if let Value::Object(members) = &mut found {
            ["$schema", "seal", "heads", "transcript"]
                .iter()
                .for_each(|key| drop(members.shift_remove(*key)));
        }
        let difference = difference(&document(folded, &workflow.phase_key), &found, "");
        StateDefect::Edited {
            difference: difference.unwrap_or_else(|| "its seal is broken".to_owned()),
        }
    }
}
