//! `transcript.jsonl`: the whole story of a task, one JSON object a line, only ever appended to.

use crate::decide::{HistoryEntry, Kind, State, history_value, standing};
use serde_json::{Value, json};

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
