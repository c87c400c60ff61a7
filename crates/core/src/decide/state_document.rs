//! The JSON form of a state: what guards see as `state`, and what `state.json` contains.
//!
//! The parts of a state serialize as their fields, so that the names and the order of these are part of the file format.
//! [`crate::record`] adds the schema reference and the seal that make it a file, and reads it back.

use super::{Actor, HistoryEntry, RunRecord, State};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The version of the file format.
pub const STATE_VERSION: u64 = 1;

/// A state as one JSON object with its keys in the documented order.
#[derive(Clone, Copy)]
pub struct StateDocument<'s> {
    /// The state that is written.
    pub state: &'s State,
    /// The name of the member that holds the phase, as the workflow chooses it.
    pub phase_key: &'s str,
}

impl Serialize for StateDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        self.write(&mut members, |_| Ok(()))?;
        members.end()
    }
}

impl StateDocument<'_> {
    /// Writes its members. `before_rev` writes others before `rev`.
    ///
    /// # Errors
    ///
    /// The serializer fails.
    pub fn write<M: SerializeMap>(
        &self,
        members: &mut M,
        before_rev: impl FnOnce(&mut M) -> Result<(), M::Error>,
    ) -> Result<(), M::Error> {
        let Self { state, phase_key } = *self;
        if !state.foreign {
            members.serialize_entry("version", &STATE_VERSION)?;
        }
        put_member(members, "task", state.task.as_ref())?;
        put_member(members, "title", state.title.as_ref())?;
        before_rev(members)?;
        members.serialize_entry("rev", &state.rev)?;
        put_member(members, "workflow", state.workflow.as_ref())?;
        put_member(members, phase_key, state.phase.as_ref())?;
        members.serialize_entry("actors", &state.actors)?;
        members.serialize_entry("waived", &state.waived)?;
        put_member(
            members,
            "run",
            Some(&state.run).filter(|run| has_results(run)),
        )?;
        put_member(members, "relations", relations(state).as_ref())?;
        members.serialize_entry("history", &Entries(state))?;
        members.serialize_entry("errors", &state.errors)?;
        for (key, value) in state.extra.iter().filter(|(key, _)| !self.has_own(key)) {
            members.serialize_entry(key, value)?;
        }
        put_member(members, "updated_at", state.updated_at.as_ref())
    }

    /// Whether it has a member of this name before those of the workflow.
    fn has_own(&self, key: &str) -> bool {
        let state = self.state;
        let is_phase = key == self.phase_key && state.phase.is_some();
        let is_other = match key {
            "version" => !state.foreign,
            "task" => state.task.is_some(),
            "title" => state.title.is_some(),
            "workflow" => state.workflow.is_some(),
            "run" => has_results(&state.run),
            "relations" => relations(state).is_some(),
            _ => ["rev", "actors", "waived", "history", "errors"].contains(&key),
        };
        is_phase || is_other
    }
}

/// Writes a member that may be left out.
///
/// # Errors
///
/// The serializer fails.
pub fn put_member<M: SerializeMap>(
    members: &mut M,
    key: &str,
    value: Option<&(impl Serialize + ?Sized)>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| members.serialize_entry(key, value))
}

/// Writes a list or an object that is left out if it is empty.
///
/// # Errors
///
/// The serializer fails.
pub fn put_items<M: SerializeMap, T: Serialize>(
    members: &mut M,
    key: &str,
    items: &T,
) -> Result<(), M::Error>
where
    for<'a> &'a T: IntoIterator,
{
    match items.into_iter().next() {
        Some(_) => members.serialize_entry(key, items),
        None => Ok(()),
    }
}

/// The history of a state; before it, the step that entered the phase, if that is older.
struct Entries<'s>(&'s State);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .entered
                .iter()
                .chain(&self.0.history)
                .map(AsRef::as_ref),
        )
    }
}

/// A value that is written, as a value. Writing it cannot fail: its keys are text.
fn value_of(written: &impl Serialize) -> Value {
    serde_json::to_value(written).unwrap_or_default()
}

/// The state as one JSON object with its keys in the documented order.
#[must_use]
pub fn document(state: &State, phase_key: &str) -> Value {
    value_of(&StateDocument { state, phase_key })
}

/// The part of a state that events change: `task`, `title`, `actors`, `waived`, `run`, `relations`, `errors`, and the
/// workflow's own keys under `data`. Empty members are left out.
///
/// The phase, the workflow, the time and the history are not in it, because every event states them itself.
/// So its keys are the same for every workflow, and folding a log needs no workflow document.
#[must_use]
pub fn standing_document(state: &State) -> Value {
    let run = if has_results(&state.run) {
        value_of(&state.run)
    } else {
        Value::Null
    };
    let members = [
        ("task", value_of(&state.task)),
        ("title", value_of(&state.title)),
        ("actors", value_of(&state.actors)),
        ("waived", value_of(&state.waived)),
        ("run", run),
        ("relations", relations(state).unwrap_or_default()),
        ("errors", value_of(&state.errors)),
        ("data", value_of(&state.extra)),
    ];
    let mut document = Map::new();
    for (key, value) in members {
        if !is_empty(&value) {
            document.insert(key.to_owned(), value);
        }
    }
    Value::Object(document)
}

/// Whether a member says nothing: it is `null`, or a list or an object without members.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// How a task relates to others, who holds it, and what it was called; `None` if nothing is recorded of that.
fn relations(state: &State) -> Option<Value> {
    let mut relations = value_of(&state.relations);
    if let (Some(holder), Some(members)) = (&state.holder, relations.as_object_mut()) {
        members.insert("holder".to_owned(), value_of(holder));
    }
    if let (false, Some(members)) = (state.former.is_empty(), relations.as_object_mut()) {
        members.insert("former".to_owned(), value_of(&state.former));
    }
    Some(relations).filter(|relations| !is_empty(relations))
}

/// Whether a task has results of actions.
fn has_results(run: &RunRecord) -> bool {
    *run != RunRecord::default()
}

impl Actor {
    /// Whether it writes a member of this name before those of other tools.
    fn has_own(&self, key: &str) -> bool {
        match key {
            "status" | "attempt" => true,
            "substate" => self.substate.is_some(),
            "entered_with" => !self.entered_with.is_empty(),
            "left_with" => !self.left_with.is_empty(),
            "left_files" => !self.left_files.is_empty(),
            "judged" => !self.judged.is_empty(),
            "spent" => !self.spent.is_empty(),
            "early" => !self.early.is_empty(),
            "approvals" => !self.approvals.is_empty(),
            "lapsed" => !self.lapsed.is_empty(),
            "writers" => !self.writers.is_empty(),
            _ => false,
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            substate,
            entered_with,
            left_with,
            left_files,
            judged,
            spent,
            early,
            approvals,
            lapsed,
            writers,
            extra,
            ..
        } = self;
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("status", self.status.as_str())?;
        members.serialize_entry("attempt", &self.attempt)?;
        put_member(&mut members, "substate", substate.as_ref())?;
        put_items(&mut members, "entered_with", entered_with)?;
        put_items(&mut members, "left_with", left_with)?;
        put_items(&mut members, "left_files", left_files)?;
        put_items(&mut members, "judged", judged)?;
        put_items(&mut members, "spent", spent)?;
        put_items(&mut members, "early", early)?;
        put_items(&mut members, "approvals", approvals)?;
        put_items(&mut members, "lapsed", lapsed)?;
        put_items(&mut members, "writers", writers)?;

        for (key, value) in extra.iter().filter(|(key, _)| !self.has_own(key)) {
            members.serialize_entry(key, value)?;
        }
        members.end()
    }
}

/// One history entry as JSON, in the form that the state has.
#[must_use]
pub fn history_value(entry: &HistoryEntry) -> Value {
    value_of(entry)
}
