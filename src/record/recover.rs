//! Rebuilding a lost state from the transcript.

use super::read_transcript;
use super::state::{Fault, read_unsealed};
use crate::decide::{HISTORY_WINDOW, STATE_VERSION, State, history_value};
use serde_json::{Map, Value};

/// The state after the last transition that a transcript records; `None` if it records none.
#[must_use]
pub fn rebuild(transcript: &str, phase_key: &str) -> Option<Result<State, Vec<Fault>>> {
    let events = read_transcript(transcript);
    let last = events.last()?;
    let mut members = Map::new();
    members.insert("version".to_owned(), Value::from(STATE_VERSION));
    for key in ["task", "title", "rev", "workflow", "actors", "waived", "errors", "run"] {
        if let Some(value) = last.after.get(key) {
            members.insert(key.to_owned(), value.clone());
        }
    }
    members.insert(phase_key.to_owned(), Value::from(last.entry.to.as_str()));
    let window = events.len().saturating_sub(HISTORY_WINDOW);
    members.insert(
        "history".to_owned(),
        events[window..].iter().map(|event| history_value(&event.entry)).collect(),
    );
    if let Some(Value::Object(extra)) = last.after.get("state") {
        members.extend(extra.clone());
    }
    members.insert("updated_at".to_owned(), Value::from(last.entry.at.to_string()));
    Some(read_unsealed(&Value::Object(members), phase_key))
}

#[cfg(test)]
mod tests {
    use super::super::{read_transcript, transcript_line};
    use super::*;
    use crate::base::{Digest, PhaseId, Timestamp, WorkflowName};
    use crate::decide::{Actor, ActorKind, By, HistoryEntry, Kind, WorkflowRef};

    #[test]
    fn the_transcript_alone_gives_the_state_back() {
        let digest = Digest::of_blob(b"w");
        let mut state = State {
            task: Some("t".to_owned()),
            rev: 2,
            workflow: Some(WorkflowRef { name: WorkflowName::new("w").expect("valid"), digest }),
            phase: Some("b".to_owned()),
            next_seq: 3,
            updated_at: Some(Timestamp::from_seconds(9)),
            ..State::default()
        };
        state.actors.insert("b".to_owned(), Actor { attempt: 2, ..Actor::default() });
        state.extra.insert("n".to_owned(), Value::from(1));
        let mut text = String::new();
        for seq in 1..=2 {
            state.history.push(HistoryEntry {
                seq,
                at: Timestamp::from_seconds(9),
                from: None,
                to: PhaseId::new("b").expect("valid"),
                kind: Kind::Advance,
                rule: Some("r".to_owned()),
                reason: "because".to_owned(),
                actor: By { kind: ActorKind::Orch, name: "orch".to_owned() },
                evidence: Vec::new(),
                waived: Vec::new(),
                confirmed: None,
                action: None,
            });
            text.push_str(&transcript_line(&state, "phase"));
        }
        assert_eq!(read_transcript(&text).len(), 2);
        assert_eq!(rebuild(&text, "phase"), Some(Ok(state)));
        assert_eq!(rebuild("not json\n{}\n", "phase"), None);
    }
}
