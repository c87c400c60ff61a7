//! Rebuilding a lost state from the transcript.

use super::read_transcript;
use super::state::StateFault;
use crate::base::Code;
use crate::decide::{HISTORY_WINDOW, Kind, State, join_histories};

/// The state after the last transition that a transcript records; `None` if it records none.
///
/// The lines of merged branches stand in any order. Branches that no record joins have no last
/// transition, so that is a fault.
#[must_use]
pub fn rebuild(transcript: &str, phase_key: &str) -> Option<Result<State, Vec<StateFault>>> {
    let events = read_transcript(transcript);
    let history = join_histories(events.iter().map(|event| &event.entry));
    let last = history.last()?;
    let event = events.iter().find(|event| event.entry == *last)?;
    let joined = history.iter().rposition(|entry| entry.kind == Kind::Merge).unwrap_or(0);
    if let Some(pair) = history[joined..].windows(2).find(|pair| pair[0].seq == pair[1].seq) {
        let message = format!("two branches record a step {}, and nothing joins them", pair[0].seq);
        return Some(Err(vec![StateFault { code: Code::StateForked, pointer: String::new(), message }]));
    }
    let window = history.len().saturating_sub(HISTORY_WINDOW);
    Some(event.state(phase_key).map(|state| State { history: history[window..].to_vec(), ..state }))
}

#[cfg(test)]
mod tests {
    use super::super::{read_transcript, transcript_line};
    use super::*;
    use crate::base::{Digest, PhaseId, Timestamp, WorkflowName};
    use crate::decide::{Actor, ActorKind, By, HistoryEntry, WorkflowRef};
    use serde_json::Value;

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
