//! `state.json`: laid out by lines, stable key order, final newline, sealed.

use super::extent::LogExtent;
use super::history_entry::history_entry;
use super::layout::{StateLayout, StateLines, has_values_of};
use super::seal;
use crate::decide::{
    Actor, ActorStatus, HistoryEntry, Holder, Mode, Relations, RunRecord, STATE_VERSION, State,
    StateDocument, Tally, WorkflowRef,
};
use crate::workflow::RESERVED_KEYS;
use orch_base::pointer::child;
use orch_base::{ActionName, ArtifactName, Code, Digest, Timestamp, WorkflowName, with_line_feeds};
use serde::de::DeserializeOwned;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A fault of a recorded state, with its location in the JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct StateFault {
    /// One of `state-invalid`, `state-version` and `state-seal`.
    pub code: Code,
    /// JSON Pointer (RFC 6901) of the offending value.
    pub pointer: String,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
}

/// Renders a `state.json` that accompanies a log of the size `log`. `schema` becomes `$schema`.
#[must_use]
pub fn write_state(state: &State, phase_key: &str, schema: &str, log: LogExtent) -> String {
    let file = WrittenState {
        schema,
        log,
        state: StateDocument { state, phase_key },
    };
    file.text(StateLayout::Lines)
}

/// Whether `text` is exactly what `orch` writes of a state, or wrote before.
#[must_use]
pub fn is_as_written(
    state: &State,
    phase_key: &str,
    schema: &str,
    log: LogExtent,
    text: &str,
) -> bool {
    let file = WrittenState {
        schema,
        log,
        state: StateDocument { state, phase_key },
    };
    file.text(StateLayout::of(text)) == text
}

/// Whether a `state.json`, of which `value` was read, has all values that `orch` writes of `state`, and another layout.
#[must_use]
pub fn is_other_layout(state: &State, phase_key: &str, value: &Value, text: &str) -> bool {
    let schema = value
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let log = log_extent_in(value).unwrap_or_default();
    if is_as_written(state, phase_key, schema, log, &with_line_feeds(text)) {
        return false;
    }
    let file = WrittenState {
        schema,
        log,
        state: StateDocument { state, phase_key },
    };
    // The seal is that of the layout from which the text was made.
    [StateLayout::Lines, StateLayout::Pretty]
        .iter()
        .any(|one| has_values_of(text, value, &file.text(*one)))
}

/// What a `state.json` contains, apart from its seal.
#[derive(Clone, Copy)]
struct WrittenState<'s> {
    schema: &'s str,
    log: LogExtent,
    state: StateDocument<'s>,
}

impl Serialize for WrittenState<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        self.write(&mut members)?;
        members.end()
    }
}

impl WrittenState<'_> {
    /// Its text in a layout, with its seal.
    fn text(&self, layout: StateLayout) -> String {
        let format = self.state.state.format();
        let text = match layout {
            StateLayout::Lines => self.lines(),
            StateLayout::Pretty if self.has_name_twice() => {
                serde_json::to_string_pretty(&self.members())
            }
            StateLayout::Pretty => serde_json::to_string_pretty(self),
        };
        seal::put_on(&format!("{}\n", text.unwrap_or_default()), layout, format)
    }

    fn lines(&self) -> Result<String, serde_json::Error> {
        let mut lines = StateLines::new(self.state.phase_key);
        match self.has_name_twice() {
            false => self.write(&mut lines)?,
            true => {
                for (name, value) in self.members().as_object().into_iter().flatten() {
                    lines.serialize_entry(name, value)?;
                }
            }
        }
        Ok(lines.text())
    }

    fn write<M: SerializeMap>(&self, members: &mut M) -> Result<(), M::Error> {
        members.serialize_entry("$schema", self.schema)?;
        self.state
            .write(members, |members| match self.state.state.foreign {
                true => Ok(()),
                false => {
                    members.serialize_entry("heads", &self.state.state.heads)?;
                    members.serialize_entry("transcript", &self.log)
                }
            })
    }

    /// Whether the workflow, or a log that no workflow makes, gives something else a name that a member has.
    fn has_name_twice(&self) -> bool {
        let StateDocument { state, phase_key } = self.state;
        let is_other_phase = phase_key != "phase" && RESERVED_KEYS.contains(&phase_key);
        is_other_phase || state.extra.keys().any(|key| !is_extra(key, phase_key))
    }

    /// Its members by name. If several have the same name, the last counts, but none replaces the schema.
    fn members(&self) -> Value {
        let mut members = serde_json::to_value(self).unwrap_or_default();
        if let Some(schema) = members.get_mut("$schema") {
            *schema = Value::from(self.schema);
        }
        members
    }
}

/// The size of the log that a state was written with, as the state records it.
#[must_use]
pub fn log_extent_in(value: &Value) -> Option<LogExtent> {
    log_extent_of(value.get("transcript")?)
}

/// The size of a log, as the member `transcript` of a state has it.
#[must_use]
pub fn log_extent_of(transcript: &Value) -> Option<LogExtent> {
    let digest = match transcript.get("digest")? {
        Value::Null => None,
        digest => Some(Digest::parse(digest.as_str()?)?),
    };
    Some(LogExtent {
        lines: transcript.get("lines")?.as_u64()?,
        bytes: transcript.get("bytes")?.as_u64()?,
        digest,
    })
}

/// The name of the key that holds the phase in a state that `orch` wrote: the first text after `workflow`.
#[must_use]
pub fn phase_key_in(value: &Value) -> Option<&str> {
    let mut members = value.as_object()?.iter();
    members.find(|(key, _)| *key == "workflow")?;
    let (key, _) = members.find(|(_, value)| value.is_string())?;
    if key == "phase" || !RESERVED_KEYS.contains(&key.as_str()) {
        Some(key)
    } else {
        None
    }
}

/// Parses a state from its JSON and checks its seal against the text. Returns all faults if there are any.
///
/// A foreign file (no `heads`) is read with defaults, and its unknown keys are kept. A file that `orch` wrote
/// must be exact.
pub fn read_state(value: &Value, text: &str, phase_key: &str) -> Result<State, Vec<StateFault>> {
    let mut reader = StateReader { faults: Vec::new() };
    let state = reader.state(value, phase_key);
    if !reader.faults.is_empty() {
        return Err(reader.faults);
    }
    if !state.foreign && seal::is_whole(text) != Some(true) {
        let message = "the file was edited by hand: its seal is broken".to_owned();
        return Err(vec![StateFault {
            code: Code::StateSeal,
            pointer: "/seal".to_owned(),
            message,
        }]);
    }
    Ok(state)
}

/// Reads the part of a state that events change, in the form that
/// [`standing_document`](crate::decide::standing_document) yields. The rest of the state stays empty.
pub(super) fn read_standing(document: &Value) -> Result<State, StateFault> {
    let mut reader = StateReader { faults: Vec::new() };
    let empty = Value::Object(Map::new());
    let run = document.get("run").map(|run| reader.run(Some(run), false));
    let ReadRelations {
        relations,
        holder,
        former,
    } = reader.relations(document.get("relations"));
    let state = State {
        task: document
            .get("task")
            .and_then(Value::as_str)
            .map(str::to_owned),
        title: document
            .get("title")
            .and_then(Value::as_str)
            .map(str::to_owned),
        actors: reader.actors(Some(document.get("actors").unwrap_or(&empty)), false),
        waived: waived(document.get("waived")),
        errors: document
            .get("errors")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        run: run.unwrap_or_default(),
        relations,
        former,
        holder,
        extra: document
            .get("data")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default(),
        ..State::default()
    };
    reader.faults.into_iter().next().map_or(Ok(state), Err)
}

fn waived(value: Option<&Value>) -> BTreeMap<ArtifactName, u64> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    members
        .filter_map(|(name, seq)| Some((ArtifactName::new(name).ok()?, seq.as_u64()?)))
        .collect()
}

/// Whether a top-level key belongs to the workflow or to another tool. If the phase has another key, `phase` is
/// a key like any other.
fn is_extra(key: &str, phase_key: &str) -> bool {
    key != phase_key && (key == "phase" || !RESERVED_KEYS.contains(&key))
}

/// How a task relates to others, who holds it, and what it was called.
#[derive(Default)]
struct ReadRelations {
    relations: Relations,
    holder: Option<Holder>,
    former: Vec<String>,
}

impl ReadRelations {
    fn read(mut value: Value) -> Result<Self, serde_json::Error> {
        let mut holder = None;
        let mut former = None;
        if let Some(members) = value.as_object_mut() {
            holder = members.shift_remove("holder");
            former = members.shift_remove("former");
        }
        Ok(Self {
            holder: holder.map(serde_json::from_value).transpose()?,
            former: former
                .map(serde_json::from_value)
                .transpose()?
                .unwrap_or_default(),
            relations: serde_json::from_value(value)?,
        })
    }
}

struct StateReader {
    faults: Vec<StateFault>,
}

impl StateReader {
    fn fault(&mut self, code: Code, pointer: impl Into<String>, message: impl Into<String>) {
        self.faults.push(StateFault {
            code,
            pointer: pointer.into(),
            message: message.into(),
        });
    }

    fn invalid(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.fault(Code::StateInvalid, pointer, message);
    }

    fn state(&mut self, value: &Value, phase_key: &str) -> State {
        let Some(members) = value.as_object() else {
            self.invalid("", "the state should be an object");
            return State::default();
        };
        let foreign = self.is_foreign(members);
        let mut history: Vec<Arc<HistoryEntry>> = self
            .history(members.get("history"), foreign)
            .into_iter()
            .map(Arc::new)
            .collect();
        let window = history
            .last()
            .map_or(0, |last| last.version.history_window());
        // One more is the step that entered the phase.
        let entered = if history.len() == window + 1 {
            Some(history.remove(0))
        } else {
            None
        };
        let rev = members.get("rev").and_then(Value::as_u64);
        if !foreign && rev.is_none() {
            self.invalid("/rev", "`rev` should be a whole number");
        }
        let phase = match members.get(phase_key) {
            None | Some(Value::Null) => None,
            Some(Value::String(phase)) if phase.is_empty() => None,
            Some(Value::String(phase)) => Some(phase.clone()),
            Some(_) => {
                self.invalid(
                    format!("/{phase_key}"),
                    format!("`{phase_key}` should be a string"),
                );
                None
            }
        };
        if !foreign && phase.is_none() {
            self.invalid("", format!("`{phase_key}` is missing"));
        }
        let ReadRelations {
            relations,
            holder,
            former,
        } = self.relations(members.get("relations").filter(|_| !foreign));
        State {
            task: text(members, "task").or_else(|| text(members, "task_id")),
            title: text(members, "title"),
            heads: self.heads(members.get("heads")),
            rev: rev.filter(|_| !foreign).unwrap_or(0),
            workflow: self.workflow(members.get("workflow"), foreign),
            phase,
            actors: self.actors(members.get("actors"), foreign),
            waived: waived(members.get("waived")),
            history,
            entered,
            errors: members
                .get("errors")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            run: self.run(members.get("run"), foreign),
            relations,
            holder,
            former,
            updated_at: text(members, "updated_at").and_then(|at| Timestamp::parse(&at)),
            extra: members
                .iter()
                .filter(|(key, _)| is_extra(key, phase_key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            foreign,
            original: None,
        }
    }

    fn heads(&mut self, value: Option<&Value>) -> Vec<Digest> {
        let Some(value) = value else {
            return Vec::new();
        };
        let heads = value.as_array().and_then(|heads| {
            heads
                .iter()
                .map(|head| head.as_str().and_then(Digest::parse))
                .collect::<Option<Vec<_>>>()
        });
        if heads.is_none() {
            self.invalid("/heads", "`heads` should be a list of event ids");
        }
        heads.unwrap_or_default()
    }

    fn run(&mut self, value: Option<&Value>, foreign: bool) -> RunRecord {
        let Some(value) = value.filter(|_| !foreign) else {
            return RunRecord::default();
        };
        let run = run_record(value);
        if run.is_none() {
            self.invalid("/run", "`run` should record the results of actions");
        }
        run.unwrap_or_default()
    }

    /// How the task relates to others, and who holds it.
    fn relations(&mut self, value: Option<&Value>) -> ReadRelations {
        let value = value.cloned().unwrap_or_else(|| Value::Object(Map::new()));
        ReadRelations::read(value).unwrap_or_else(|fault| {
            self.invalid(
                "/relations",
                format!("the value does not say how the task relates to others: {fault}"),
            );
            ReadRelations::default()
        })
    }

    /// The value of a member of a phase's record, of which nothing is passed over.
    fn strict<T: DeserializeOwned + Default>(
        &mut self,
        value: Option<&Value>,
        pointer: String,
    ) -> T {
        let Some(value) = value else {
            return T::default();
        };
        serde_json::from_value(value.clone()).unwrap_or_else(|fault| {
            self.invalid(pointer, fault.to_string());
            T::default()
        })
    }

    fn is_foreign(&mut self, members: &Map<String, Value>) -> bool {
        let version = members.get("version");
        if let Some(version) = version.filter(|version| version.as_u64() != Some(STATE_VERSION)) {
            let message =
                format!("version {version} is unknown; this orch supports version {STATE_VERSION}");
            self.fault(Code::StateVersion, "/version", message);
        }
        !members.contains_key("heads")
    }

    fn workflow(&mut self, value: Option<&Value>, foreign: bool) -> Option<WorkflowRef> {
        let value = value?;
        let name = value
            .get("name")
            .and_then(Value::as_str)
            .and_then(|name| WorkflowName::new(name).ok());
        let digest = value
            .get("digest")
            .and_then(Value::as_str)
            .and_then(Digest::parse);
        match (name, digest) {
            (Some(name), Some(digest)) => Some(WorkflowRef { name, digest }),
            _ if foreign => None,
            _ => {
                self.invalid(
                    "/workflow",
                    "`workflow` should name a workflow and its digest",
                );
                None
            }
        }
    }

    fn actors(&mut self, value: Option<&Value>, foreign: bool) -> BTreeMap<String, Actor> {
        let Some(Value::Object(members)) = value else {
            if !foreign {
                self.invalid("/actors", "`actors` should be an object");
            }
            return BTreeMap::new();
        };
        members
            .iter()
            .map(|(name, value)| (name.clone(), self.actor(name, value, foreign)))
            .collect()
    }

    fn actor(&mut self, name: &str, value: &Value, foreign: bool) -> Actor {
        let pointer = child("/actors", name);
        let Some(members) = value.as_object() else {
            if !foreign {
                self.invalid(pointer, "an actor should be an object");
            }
            return Actor::default();
        };
        const KNOWN: [&str; 12] = [
            "status",
            "attempt",
            "substate",
            "left_with",
            "left_files",
            "judged",
            "entered_with",
            "spent",
            "early",
            "approvals",
            "lapsed",
            "writers",
        ];
        // Of these, a state of another tool means something else.
        const NEW: [&str; 4] = ["judged", "approvals", "lapsed", "writers"];
        let nothing = Map::new();
        let own = if foreign { &nothing } else { members };
        // Predecessors of this format write `round` for what is `attempt` here.
        let attempt = members
            .get("attempt")
            .or_else(|| members.get("round"))
            .and_then(Value::as_u64);
        if !foreign && members.get("attempt").and_then(Value::as_u64).is_none() {
            self.invalid(
                format!("{pointer}/attempt"),
                "`attempt` should be a whole number",
            );
        }
        Actor {
            status: ActorStatus::named(
                members
                    .get("status")
                    .and_then(Value::as_str)
                    .unwrap_or("active"),
            ),
            attempt: u32::try_from(attempt.unwrap_or(u64::from(foreign))).unwrap_or(u32::MAX),
            substate: members.get("substate").cloned(),
            left_with: self.record(members.get("left_with"), &format!("{pointer}/left_with")),
            entered_with: self.record(
                members.get("entered_with"),
                &format!("{pointer}/entered_with"),
            ),
            left_files: self.nested_digests(
                members.get("left_files"),
                &format!("{pointer}/left_files"),
                |path| Some(path.to_owned()),
            ),
            judged: self.nested_digests(own.get("judged"), &format!("{pointer}/judged"), |name| {
                ArtifactName::new(name).ok()
            }),
            spent: self.digests(members.get("spent"), &format!("{pointer}/spent")),
            early: self.digests(members.get("early"), &format!("{pointer}/early")),
            approvals: self.strict(own.get("approvals"), format!("{pointer}/approvals")),
            lapsed: self.strict(own.get("lapsed"), format!("{pointer}/lapsed")),
            writers: self.strict(own.get("writers"), format!("{pointer}/writers")),
            extra: members
                .iter()
                .filter(|(key, _)| {
                    !KNOWN.contains(&key.as_str()) || (foreign && NEW.contains(&key.as_str()))
                })
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        }
    }

    fn record(
        &mut self,
        value: Option<&Value>,
        pointer: &str,
    ) -> BTreeMap<ArtifactName, Option<Digest>> {
        let mut records = BTreeMap::new();
        for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
            let digest = value.as_str().and_then(Digest::parse);
            match ArtifactName::new(name) {
                Ok(name) if digest.is_some() || value.is_null() => {
                    records.insert(name, digest);
                }
                _ => self.invalid(child(pointer, name), "the value should be a digest or null"),
            }
        }
        records
    }

    fn digests(
        &mut self,
        value: Option<&Value>,
        pointer: &str,
    ) -> BTreeMap<ArtifactName, Vec<Digest>> {
        let mut spent = BTreeMap::new();
        for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
            let digests: Option<Vec<Digest>> = value.as_array().and_then(|items| {
                items
                    .iter()
                    .map(|item| item.as_str().and_then(Digest::parse))
                    .collect()
            });
            match (ArtifactName::new(name), digests) {
                (Ok(name), Some(digests)) => {
                    spent.insert(name, digests);
                }
                _ => self.invalid(
                    child(pointer, name),
                    "the value should be a list of digests",
                ),
            }
        }
        spent
    }

    /// Objects of digests; `key` reads the names of their members.
    fn nested_digests<K: Ord>(
        &mut self,
        value: Option<&Value>,
        pointer: &str,
        key: fn(&str) -> Option<K>,
    ) -> BTreeMap<ArtifactName, BTreeMap<K, Digest>> {
        let mut all = BTreeMap::new();
        for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
            match (ArtifactName::new(name), digests_in(value, key)) {
                (Ok(name), Some(digests)) => {
                    all.insert(name, digests);
                }
                _ => self.invalid(
                    child(pointer, name),
                    "the value should be an object of digests",
                ),
            }
        }
        all
    }

    fn history(&mut self, value: Option<&Value>, foreign: bool) -> Vec<HistoryEntry> {
        // The history of another tool is not part of the log.
        let Some(items) = value.and_then(Value::as_array).filter(|_| !foreign) else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match history_entry(item) {
                Some(entry) => entries.push(entry),
                None => self.invalid(
                    format!("/history/{index}"),
                    "the value is not a history entry",
                ),
            }
        }
        entries
    }
}

/// An object of digests; `key` reads the names of its members.
fn digests_in<K: Ord>(value: &Value, key: fn(&str) -> Option<K>) -> Option<BTreeMap<K, Digest>> {
    let mut digests = BTreeMap::new();
    for (name, digest) in value.as_object()? {
        digests.insert(key(name)?, Digest::parse(digest.as_str()?)?);
    }
    Some(digests)
}

fn count(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

/// Parses the results of actions.
fn run_record(value: &Value) -> Option<RunRecord> {
    let members = value.as_object()?;
    let mut actions = BTreeMap::new();
    for (name, tally) in members.get("actions")?.as_object()? {
        let tally = Tally {
            done: count(tally.get("done")?)?,
            skipped: tally.get("skipped")?.as_bool()?,
        };
        actions.insert(ActionName::new(name).ok()?, tally);
    }
    Some(RunRecord {
        mode: members
            .get("mode")
            .map(|mode| Mode::named(mode.as_str()?))
            .unwrap_or_default(),
        errors: count(members.get("errors")?)?,
        chosen: match members.get("chosen") {
            None => None,
            Some(name) => Some(ActionName::new(name.as_str()?).ok()?),
        },
        actions,
        verified: match members.get("verified") {
            None => BTreeMap::new(),
            Some(verified) => serde_json::from_value(verified.clone()).ok()?,
        },
        confirmed_lost: match members.get("confirmed_lost") {
            None => BTreeMap::new(),
            Some(lost) => serde_json::from_value(lost.clone()).ok()?,
        },
    })
}

fn text(members: &Map<String, Value>, key: &str) -> Option<String> {
    members.get(key)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{ActorKind, By, Kind, Performance};
    use orch_base::PhaseId;
    use serde_json::json;

    fn state() -> State {
        let digest = Digest::of_blob(b"plan");
        let plan = ArtifactName::new("plan").expect("valid");
        let mut actor = Actor {
            attempt: 2,
            status: ActorStatus::SentBack,
            ..Actor::default()
        };
        actor.left_with.insert(plan.clone(), None);
        actor.entered_with.insert(plan.clone(), Some(digest));
        actor.spent.insert(plan.clone(), vec![digest]);
        State {
            task: Some("t/1".to_owned()),
            title: Some("A title".to_owned()),
            heads: vec![digest],
            rev: 7,
            workflow: Some(WorkflowRef {
                name: WorkflowName::new("w").expect("valid"),
                digest,
            }),
            phase: Some("planning".to_owned()),
            actors: BTreeMap::from([("planning".to_owned(), actor)]),
            waived: BTreeMap::from([(plan, 4)]),
            entered: None,
            history: vec![Arc::new(HistoryEntry {
                rests_on: Vec::new(),
                base: None,
                version: crate::decide::RecordVersion::CURRENT,
                files: crate::decide::NotedFiles::new(),
                inputs: None,
                seq: 7,
                at: Timestamp::from_seconds(1_000_000_000),
                from: None,
                to: PhaseId::new("planning").expect("valid"),
                kind: Kind::Create,
                rule: None,
                reason: "new".to_owned(),
                actor: By {
                    kind: ActorKind::Human,
                    name: "Ann".to_owned(),
                },
                evidence: vec![("a b".to_owned(), digest.to_string())],
                waived: Vec::new(),
                confirmed: None,
                lost: BTreeMap::from([(
                    orch_base::VerificationName::new("tests").expect("valid"),
                    vec!["a::b".to_owned()],
                )]),
                action: Some(ActionName::new("build").expect("valid")),
                performance: Some(Box::new(Performance {
                    started: Some(Timestamp::from_seconds(999_999_990)),
                    executor: Some("make".to_owned()),
                    files: vec![("out/a b".to_owned(), digest.to_string())],
                })),
                detail: None,
                generation: None,
                others: Vec::new(),
            })],
            errors: Vec::new(),
            run: RunRecord {
                mode: Some(Mode::Auto),
                errors: 1,
                chosen: Some(ActionName::new("build").expect("valid")),
                actions: BTreeMap::from([(
                    ActionName::new("build").expect("valid"),
                    Tally {
                        done: 2,
                        skipped: true,
                    },
                )]),
                verified: BTreeMap::new(),
                confirmed_lost: BTreeMap::from([(
                    orch_base::VerificationName::new("tests").expect("valid"),
                    vec!["a::b".to_owned()],
                )]),
            },
            relations: Relations::default(),
            holder: None,
            former: Vec::new(),
            updated_at: Some(Timestamp::from_seconds(1_000_000_000)),
            extra: Map::from_iter([("counter".to_owned(), json!(3))]),
            foreign: false,
            original: None,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = write_state(&state(), "phase", "schema", LogExtent::default());
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read_state(&value, &text, "phase"), Ok(state()));
        assert!(text.ends_with("}\n"));
    }

    #[test]
    fn a_hand_edit_is_found() {
        let text = write_state(&state(), "phase", "schema", LogExtent::default())
            .replace("\"planning\",", "\"done\",");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let faults = read_state(&value, &text, "phase").expect_err("edited");
        assert_eq!(faults[0].code, Code::StateSeal);
    }

    #[test]
    fn a_foreign_state_is_read_with_defaults_and_keeps_its_keys() {
        let value = json!({
            "task_id": "x", "phase": "planning_done", "artifacts": {},
            "actors": {"planning": {"status": "completed", "round": 3}},
        });
        let state = read_state(&value, "", "phase").expect("readable");
        assert!(state.foreign);
        assert_eq!(state.actors["planning"].attempt, 3);
        assert_eq!(state.extra["artifacts"], json!({}));
    }

    #[test]
    fn faults_point_at_their_place() {
        for (value, pointer) in [
            (json!([]), ""),
            (json!({"version": 2}), "/version"),
            (json!({"phase": 3}), "/phase"),
            (json!({"heads": [], "rev": "x"}), "/rev"),
            (json!({"heads": ["x"], "rev": 1}), "/heads"),
            (
                json!({"heads": [], "rev": 1, "phase": "a", "actors": {"a/b": {}}}),
                "/actors/a~1b/attempt",
            ),
        ] {
            let faults = read_state(&value, "", "phase").expect_err("faulty");
            assert!(
                faults.iter().any(|fault| fault.pointer == pointer),
                "{value}: {faults:?}"
            );
        }
    }
}
