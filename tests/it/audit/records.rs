//! Records of tasks as somebody forges them: whole logs with ids made again, and states with proper seals.

use crate::harness::World;
use orch_base::{Digest, ObjectFormat};
use orch_core::decide::State;
use orch_core::record::{
    EventLog, FoldCache, LogExtent, RecordedStep, log_extent_in, read_state, record_steps,
    write_state,
};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

pub const STATE: &str = "tasks/t/state.json";
pub const LOG: &str = "tasks/t/transcript.jsonl";
pub const SCHEMA: &str = "system/schemas/state.schema.json";

/// The steps that lead from one state to others, as `orch` records them.
pub fn steps_from(lines: &str, before: &State, steps: &[State]) -> Vec<RecordedStep> {
    let (log, _) = EventLog::parse(lines.as_bytes());
    let first = before
        .heads
        .first()
        .and_then(|id| log.state_at(id, &mut FoldCache::default()).ok());
    record_steps(before, first.as_deref().unwrap_or(before), steps)
}

/// The line of the event that leads from one state to another.
pub fn line_of(lines: &str, before: &State, state: &State) -> Option<String> {
    let steps = steps_from(lines, before, std::slice::from_ref(state));
    steps.first().map(|step| step.event.line())
}

/// The events of a log, as far as its lines are events.
pub fn parsed(lines: &str) -> EventLog {
    EventLog::parse(lines.as_bytes()).0
}

/// A log without its last line.
pub fn without_last(lines: &str) -> String {
    let kept: Vec<&str> = lines.split_inclusive('\n').collect();
    kept[..kept.len().saturating_sub(1)].concat()
}

/// A log with an edit of each line, all ids made again, so that it is whole again.
pub fn relinked(lines: &str, mut edit: impl FnMut(usize, &mut Value)) -> String {
    let mut known: HashMap<String, String> = HashMap::new();
    let mut relinked = String::new();
    for (number, line) in lines.lines().enumerate() {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        let old = value["id"].as_str().expect("an id").to_owned();
        for id in value["after"].as_array_mut().expect("a list") {
            if let Some(new) = id.as_str().and_then(|id| known.get(id)) {
                *id = Value::from(new.as_str());
            }
        }
        edit(number, &mut value);
        value.as_object_mut().expect("an object").shift_remove("id");
        let body = value.to_string();
        let id = Digest::of_blob(body.as_bytes()).to_string();
        relinked += &format!("{{\"id\":\"{id}\",{}\n", &body[1..]);
        known.insert(old, id);
    }
    relinked
}

/// The state of the task, taken apart.
pub fn state(world: &World) -> State {
    let text = world.read(STATE);
    read_state(&serde_json::from_str(&text).expect("JSON"), &text, "phase").expect("whole")
}

/// Writes a state with a proper seal, and the size of the log that lies there.
pub fn put(world: &World, state: &State) {
    let extent = LogExtent::of(world.read(LOG).as_bytes(), ObjectFormat::Sha1);
    world.write(STATE, write_state(state, "phase", SCHEMA, extent));
}

/// Records a state as one more event after those that lie there.
pub fn tell(world: &World, state: &State) {
    tell_after(world, &world.read(LOG), state);
}

/// Records a state as another event in place of the last.
pub fn retell(world: &World, state: &State) {
    tell_after(world, &without_last(&world.read(LOG)), state);
}

fn tell_after(world: &World, lines: &str, state: &State) {
    let (log, mut cache) = (parsed(lines), FoldCache::default());
    let heads = log.heads();
    let base = heads
        .first()
        .map(|id| log.state_at(id, &mut cache).expect("whole"))
        .unwrap_or_default();
    let before = State {
        heads,
        ..Arc::unwrap_or_clone(base)
    };
    let line = line_of(lines, &before, state).expect("a step");
    tell_lines(world, &format!("{lines}{line}"));
}

/// Writes a log, and the state after its last event.
pub fn tell_lines(world: &World, lines: &str) {
    world.write(LOG, lines);
    let log = parsed(lines);
    let last = log.heads().last().copied().expect("an event");
    put(
        world,
        &log.state_at(&last, &mut FoldCache::default())
            .expect("whole"),
    );
}

/// An edited state with a seal that fits it.
pub fn resealed(text: &str) -> String {
    let (begin, end) = text.split_once(",\n  \"actors\": ").expect("phases");
    let (before, _) = begin.rsplit_once(", \"seal\": \"").expect("a seal");
    let rest = format!(",\n  \"actors\": {end}");
    let seal = Digest::of_blob(format!("{before}{rest}").as_bytes());
    format!("{before}, \"seal\": \"{seal}\"{rest}")
}

/// A state as it was written before it had a line for each phase: every value on its own line.
pub fn earlier(text: &str) -> String {
    let mut members: Vec<(String, Value)> = serde_json::from_str::<serde_json::Map<_, _>>(text)
        .expect("JSON")
        .into_iter()
        .collect();
    const OWN: [&str; 14] = [
        "$schema",
        "version",
        "task",
        "title",
        "heads",
        "transcript",
        "rev",
        "workflow",
        "phase",
        "actors",
        "waived",
        "run",
        "history",
        "errors",
    ];
    let place = |name: &str| match OWN.iter().position(|own| *own == name) {
        Some(place) => place,
        None if name == "updated_at" => usize::MAX,
        None => OWN.len(),
    };
    members.retain(|(name, _)| name != "seal");
    members.sort_by_key(|(name, _)| place(name));
    let members: serde_json::Map<String, Value> = members.into_iter().collect();
    let text = format!("{:#}\n", Value::Object(members));
    let seal = Digest::of_blob(text.as_bytes());
    let rev = text
        .lines()
        .find(|line| line.starts_with("  \"rev\": "))
        .expect("a revision");
    text.replacen(rev, &format!("{rev}\n  \"seal\": \"{seal}\","), 1)
}

/// Whether a state is the fold of the events that it names in this log.
pub fn is_fold(text: &str, lines: &str, workflow: &orch_core::workflow::Workflow) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let heads = value["heads"].as_array().into_iter().flatten();
    let heads: Option<Vec<Digest>> = heads.map(|id| Digest::parse(id.as_str()?)).collect();
    let folded = heads.and_then(|heads| {
        parsed(lines)
            .fold(workflow, &heads, &mut FoldCache::default())
            .ok()?
    });
    let extent = log_extent_in(&value).unwrap_or_default();
    folded.is_some_and(|state| write_state(&state, "phase", SCHEMA, extent) == text)
}
