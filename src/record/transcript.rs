//! `transcript.jsonl`: the whole story of a task, one JSON object a line, only ever appended to.

use super::state::history_entry;
use crate::base::{ArtifactName, WorkflowName};
use crate::decide::{HistoryEntry, State, document, history_value};
use serde_json::{Value, json};

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
    let whole = document(state, phase_key);
    if let (Value::Object(line), Value::Object(entry)) = (&mut value, history_value(entry)) {
        line.extend(entry);
        // Under `waived` stands all that is waived after it.
        if let Some(waived) = line.shift_remove("waived") {
            line.insert("waives".to_owned(), waived);
        }
        line.insert("rev".to_owned(), Value::from(state.rev));
        for key in ["task", "title", "workflow", "actors", "waived", "run"] {
            if let Some(member) = whole.get(key) {
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
        crate::decide::Kind::Override => "override",
        crate::decide::Kind::Rollback => "rollback",
        crate::decide::Kind::Answer => "answer",
        crate::decide::Kind::Run | crate::decide::Kind::Skip => "action",
        crate::decide::Kind::Start => "run-start",
        crate::decide::Kind::End => "run-end",
        _ => "transition",
    }
}

/// Reads the transitions of a transcript, oldest first; lines that are none are passed over.
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
