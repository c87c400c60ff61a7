//! A record that is many steps longer than it was, for what has to be as quick with it.

use orch_core::decide::{HistoryEntry, State, keep_latest};
use orch_core::record::{EventLog, FoldCache, LogExtent, record_steps, write_state};

/// The log and the state of a task as if so many steps more had been recorded, each of which changes nothing.
pub fn longer(log: &str, many: usize) -> (String, String) {
    let events = EventLog::parse(log.as_bytes()).0;
    let last = State::clone(
        &events
            .state_at(&events.heads()[0], &mut FoldCache::default())
            .expect("a state"),
    );
    let next = |before: &State| {
        let mut state = before.clone();
        state.rev += 1;
        let mut entry = HistoryEntry::clone(state.history.last().expect("an entry"));
        (entry.seq, entry.reason) = (state.rev, format!("step {}", state.rev));
        state.history.push(entry.into());
        keep_latest(&mut state.history);
        state
    };
    let row: Vec<State> = std::iter::successors(Some(next(&last)), |state| Some(next(state)))
        .take(many)
        .collect();
    let recorded = record_steps(&last, &last, &row);
    let mut log = log.to_owned();
    log.extend(recorded.iter().map(|step| step.event.line()));
    let state = recorded.last().map_or(&last, |step| &step.state);
    let text = write_state(
        state,
        "phase",
        "system/schemas/state.schema.json",
        LogExtent::of(log.as_bytes(), state.format()),
    );
    (log, text)
}
