//! `transcript.jsonl`: the whole story of a task, one JSON object a line, only ever appended to.

use super::state::{StateFault, history_entry, read_unsealed};
use crate::base::{ArtifactName, WorkflowName};
use crate::decide::{HistoryEntry, Kind, STATE_VERSION, State, history_value, standing};
use serde_json::{Map, Value, json};

/// One line of a transcript that records a transition.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The transition.
    pub entry: HistoryEntry,
    /// The revision of the state after it.
    pub rev: u64,
    /// The workflow that decided.
    pub workflow: Option<WorkflowName>,
    /// The parts of the state after it that history alone does not tell.
    pub after: Value,
}

/// The line that records the last transition of a state; ends with a newline.
///
/// It carries what the phases hold after it, so that a lost state can be rebuilt from it alone.
#[must_use]
pub fn transcript_line(state: &State, phase_key: &str) -> String {
    let Some(entry) = state.history.last() else { return String::new() };
    let mut value = json!({ "event": event_name(entry) });
    let standing = standing(state, phase_key);
    if let (Value::Object(line), Value::Object(entry)) = (&mut value, history_value(entry)) {
        line.extend(entry);
        // Under `waived` stands all that is waived after it.
        if let Some(waived) = line.shift_remove("waived") {
            line.insert("waives".to_owned(), waived);
        }
        line.insert("rev".to_owned(), Value::from(state.rev));
        for key in ["task", "title", "workflow", "actors", "waived", "run"] {
            if let Some(member) = standing.get(key).or_else(|| state.extra.get(key)) {
                line.insert(key.to_owned(), member.clone());
            }
        }
        if !state.errors.is_empty() {
            line.insert("errors".to_owned(), Value::Array(state.errors.clone()));
        }
        if !state.extra.is_empty() {
            line.insert("state".to_owned(), Value::Object(state.extra.clone()));
        }
    }
    format!("{value}\n")
}

fn event_name(entry: &HistoryEntry) -> &'static str {
    match entry.kind {
        Kind::Override => "override",
        Kind::Rollback => "rollback",
        Kind::Answer => "answer",
        Kind::Run | Kind::Skip => "action",
        Kind::Start => "run-start",
        Kind::End => "run-end",
        _ => "transition",
    }
}

impl Event {
    /// The state after it; of its history, only this.
    pub fn state(&self, phase_key: &str) -> Result<State, Vec<StateFault>> {
        let mut members = Map::new();
        members.insert("version".to_owned(), Value::from(STATE_VERSION));
        members.insert("heads".to_owned(), json!([]));
        for key in ["task", "title", "rev", "workflow", "actors", "waived", "errors", "run"] {
            if let Some(value) = self.after.get(key) {
                members.insert(key.to_owned(), value.clone());
            }
        }
        members.insert(phase_key.to_owned(), Value::from(self.entry.to.as_str()));
        members.insert("history".to_owned(), Value::Array(vec![history_value(&self.entry)]));
        if let Some(Value::Object(extra)) = self.after.get("state") {
            members.extend(extra.clone());
        }
        members.insert("updated_at".to_owned(), Value::from(self.entry.at.to_string()));
        read_unsealed(&Value::Object(members), phase_key)
    }
}

/// Reads the transitions of a transcript, line by line; lines that are none are passed over.
#[must_use]
pub fn read_transcript(text: &str) -> Vec<Event> {
    text.lines()
        .filter_map(|line| {
            let value: Value = serde_json::from_str(line).ok()?;
            let waives = value.get("waives").and_then(Value::as_array).into_iter().flatten();
            let waived = waives.filter_map(|name| ArtifactName::new(name.as_str()?).ok()).collect();
            Some(Event {
                entry: HistoryEntry { waived, ..history_entry(&value)? },
                rev: value.get("rev")?.as_u64()?,
                workflow: value
                    .pointer("/workflow/name")
                    .and_then(Value::as_str)
                    .and_then(|name| WorkflowName::new(name).ok()),
                after: value,
            })
        })
        .collect()
}

/// A transcript as it is, byte for byte, ending with a newline, without the lines at its end that a
/// crash left ahead of the state, whose next transition has the number `next`.
#[must_use]
pub fn settled_lines(transcript: &[u8], next: u64) -> Vec<u8> {
    let ahead = |line: &&[u8]| {
        let value: Option<Value> = serde_json::from_slice(line).ok();
        value.and_then(|value| value.get("seq")?.as_u64()).is_some_and(|seq| seq >= next)
    };
    let lines: Vec<&[u8]> = transcript.split_inclusive(|byte| *byte == b'\n').collect();
    let whole = lines.iter().rposition(|line| !ahead(line)).map_or(0, |last| last + 1);
    let mut kept = lines[..whole].concat();
    if kept.last().is_some_and(|last| *last != b'\n') {
        kept.push(b'\n');
    }
    kept
}

/// A transcript with the line that records the last transition of a state, unless it is told already.
#[must_use]
pub fn with_line(mut transcript: Vec<u8>, state: &State, phase_key: &str) -> Vec<u8> {
    let line = transcript_line(state, phase_key);
    let is_told = transcript.split_inclusive(|byte| *byte == b'\n').any(|told| told == line.as_bytes());
    if !is_told {
        transcript.extend(line.into_bytes());
    }
    transcript
}
