//! The JSON form of a state: what guards see as `state`, and what `state.json` contains.
//!
//! [`crate::record`] adds the schema reference and the seal that make it a file, and reads it back.

use super::{Actor, HistoryEntry, Performance, RunRecord, State};
use crate::base::{ArtifactName, Digest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The version of the file format.
pub const STATE_VERSION: u64 = 1;

/// The state as one JSON object with its keys in the documented order.
#[must_use]
pub fn document(state: &State, phase_key: &str) -> Value {
    let mut members = standing(state, phase_key);
    members.insert("history".to_owned(), state.history.iter().map(|entry| history_value(entry)).collect());
    members.insert("errors".to_owned(), Value::Array(state.errors.clone()));
    for (key, value) in &state.extra {
        members.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(at) = state.updated_at {
        members.insert("updated_at".to_owned(), Value::from(at.to_string()));
    }
    Value::Object(members)
}

/// The members of a state before the history, which is by far the longest.
#[must_use]
pub fn standing(state: &State, phase_key: &str) -> Map<String, Value> {
    let mut members = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            members.insert(key.to_owned(), value);
        }
    };
    put("version", (!state.foreign).then(|| Value::from(STATE_VERSION)));
    put("task", state.task.as_deref().map(Value::from));
    put("title", state.title.as_deref().map(Value::from));
    put("rev", Some(Value::from(state.rev)));
    put(
        "workflow",
        state
            .workflow
            .as_ref()
            .map(|workflow| json!({"name": workflow.name.as_str(), "digest": workflow.digest.to_string()})),
    );
    put(phase_key, state.phase.as_deref().map(Value::from));
    put(
        "actors",
        Some(Value::Object(
            state.actors.iter().map(|(name, actor)| (name.clone(), actor_value(actor))).collect(),
        )),
    );
    let waived: Map<String, Value> =
        state.waived.iter().map(|(name, seq)| (name.to_string(), Value::from(*seq))).collect();
    put("waived", Some(Value::Object(waived)));
    put("run", run_value(&state.run));
    members
}

/// The part of a state that events change: `task`, `title`, `actors`, `waived`, `run`, `errors`, and the
/// workflow's own keys under `data`. Empty members are left out.
///
/// The phase, the workflow, the time and the history are not in it, because every event states them itself.
/// So its keys are the same for every workflow, and folding a log needs no workflow document.
#[must_use]
pub fn standing_document(state: &State) -> Value {
    let mut members = standing(state, "");
    members.retain(|key, _| ["task", "title", "actors", "waived", "run"].contains(&key.as_str()));
    members.insert("errors".to_owned(), Value::Array(state.errors.clone()));
    members.insert("data".to_owned(), Value::Object(state.extra.clone()));
    let is_empty = |value: &Value| match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    members.retain(|_, value| !is_empty(value));
    Value::Object(members)
}

/// The results of actions as JSON; `None` if there are none.
fn run_value(run: &RunRecord) -> Option<Value> {
    if *run == RunRecord::default() {
        return None;
    }
    let mut members = Map::new();
    if let Some(mode) = run.mode {
        members.insert("mode".to_owned(), Value::from(mode.as_str()));
    }
    members.insert("errors".to_owned(), Value::from(run.errors));
    if let Some(chosen) = &run.chosen {
        members.insert("chosen".to_owned(), Value::from(chosen.as_str()));
    }
    let actions: Map<String, Value> = run
        .actions
        .iter()
        .map(|(name, tally)| (name.to_string(), json!({"done": tally.done, "skipped": tally.skipped})))
        .collect();
    members.insert("actions".to_owned(), Value::Object(actions));
    Some(Value::Object(members))
}

fn actor_value(actor: &Actor) -> Value {
    let mut members = Map::new();
    members.insert("status".to_owned(), Value::from(actor.status.as_str()));
    members.insert("attempt".to_owned(), Value::from(actor.attempt));
    if let Some(substate) = &actor.substate {
        members.insert("substate".to_owned(), substate.clone());
    }
    let digests = |map: &BTreeMap<ArtifactName, Option<Digest>>| -> Value {
        map.iter()
            .map(|(name, digest)| {
                (name.to_string(), digest.map_or(Value::Null, |digest| Value::from(digest.to_string())))
            })
            .collect::<Map<_, _>>()
            .into()
    };
    if !actor.entered_with.is_empty() {
        members.insert("entered_with".to_owned(), digests(&actor.entered_with));
    }
    if !actor.left_with.is_empty() {
        members.insert("left_with".to_owned(), digests(&actor.left_with));
    }
    if !actor.spent.is_empty() {
        let spent: Map<String, Value> = actor
            .spent
            .iter()
            .map(|(name, digests)| {
                (name.to_string(), digests.iter().map(|digest| digest.to_string()).collect())
            })
            .collect();
        members.insert("spent".to_owned(), Value::Object(spent));
    }
    for (key, value) in &actor.extra {
        members.entry(key.clone()).or_insert_with(|| value.clone());
    }
    Value::Object(members)
}

/// How an executor performed an action, as JSON; what is not known is left out.
fn performance_value(performance: &Performance) -> Value {
    let mut members = Map::new();
    members.extend(performance.started.map(|at| ("started_at".to_owned(), Value::from(at.to_string()))));
    let executor = performance.executor.as_deref();
    members.extend(executor.map(|name| ("executor".to_owned(), Value::from(name))));
    if !performance.files.is_empty() {
        let files =
            performance.files.iter().map(|(path, digest)| (path.clone(), Value::from(digest.as_str())));
        members.insert("files".to_owned(), Value::Object(files.collect()));
    }
    Value::Object(members)
}

/// One history entry as JSON, in the form that the state and the transcript share.
#[must_use]
pub fn history_value(entry: &HistoryEntry) -> Value {
    let mut value = json!({
        "seq": entry.seq,
        "at": entry.at.to_string(),
        "from": entry.from.as_ref().map(|phase| phase.as_str()),
        "to": entry.to.as_str(),
        "kind": entry.kind.as_str(),
        "rule": entry.rule,
        "reason": entry.reason,
        "actor": {"kind": entry.actor.kind.as_str(), "name": entry.actor.name},
        "evidence": entry.evidence.iter().map(|(path, digest)| (path.clone(), Value::from(digest.as_str()))).collect::<Map<_, _>>(),
    });
    if let Value::Object(members) = &mut value {
        if !entry.waived.is_empty() {
            let waived = entry.waived.iter().map(|name| Value::from(name.as_str())).collect();
            members.insert("waived".to_owned(), waived);
        }
        if let Some(artifact) = &entry.confirmed {
            members.insert("confirmed".to_owned(), Value::from(artifact.as_str()));
        }
        if let Some(action) = &entry.action {
            members.insert("action".to_owned(), Value::from(action.as_str()));
        }
        if let Some(performance) = &entry.performance {
            members.insert("performance".to_owned(), performance_value(performance));
        }
    }
    value
}
