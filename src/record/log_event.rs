//! One line of `transcript.jsonl`: an event, what it changed, and the events that it follows.

use super::json_patch::{JsonPatchOp, PatchText, diff};
use super::state::history_entry;
use crate::base::{Digest, ObjectFormat, WorkflowName};
use crate::decide::{
    FilesByPath, HistoryEntry, Performance, State, WorkflowRef, put_member, standing_document,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;

/// One event of a task's log.
///
/// A line begins with `"id"` and `"after"`. The id is the git blob id of the line without its `id` member and
/// without the newline, in the format of the repository in which the event was recorded. The text contains the
/// ids of the preceding events, so the id determines the whole past.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// The id of the event.
    pub id: Digest,
    /// The ids of the events that it follows, ordered by `seq`, then by id: empty for the first event,
    /// usually one, several for an event that joins branches.
    pub after: Vec<Digest>,
    /// What happened. Its `seq` is one more than the largest `seq` of the events that it follows.
    pub entry: Arc<HistoryEntry>,
    /// The workflow that decided.
    pub workflow: WorkflowRef,
    /// What the event changed: operations on the standing document after the *first* event of `after`, or on
    /// an empty object.
    ///
    /// If the event joins several, the patch includes the result of the join. So folding a log needs no
    /// workflow document, and a workflow that is edited later does not change the past.
    pub changes: PatchText,
}

/// Why a line is not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEvent {
    /// The line is not JSON, or a member has the wrong type.
    #[error("not an event: {0}")]
    Unreadable(String),
    /// The line does not begin with `id` and `after`.
    #[error("the line does not begin with `id` and `after`")]
    NoId,
    /// The text of the line does not match its id.
    #[error("the id of the event is {stated}, but its text hashes to {computed}: the line was changed")]
    OtherId {
        /// The id that the line states.
        stated: Digest,
        /// The id computed from the text.
        computed: Digest,
    },
    /// A member is missing or has an invalid value.
    #[error("not an event: `{0}` is missing or invalid")]
    Member(&'static str),
}

/// The text before the id, and the text between the id and the rest.
const BEFORE_ID: &str = "{\"id\":\"";
const AFTER_ID: &str = "\",";

/// A line as serde deserializes it.
#[derive(Deserialize)]
struct RawEvent {
    after: Vec<String>,
    workflow: String,
    #[serde(default)]
    changes: Vec<JsonPatchOp>,
    #[serde(flatten)]
    entry: Map<String, Value>,
}

impl LogEvent {
    /// The event that led to `state`: its last history entry, recorded after the events `after`.
    ///
    /// `base` is the state at the first of `after`, or `None` if `after` is empty. Returns `None` if the
    /// state has no history or no workflow.
    #[must_use]
    pub fn new(after: Vec<Digest>, base: Option<&State>, state: &State) -> Option<Self> {
        let (entry, workflow) = (state.history.last()?.clone(), state.workflow.clone()?);
        let old = base.map_or_else(|| json!({}), standing_document);
        let changes = PatchText::of(&diff(&old, &standing_document(state)));
        let format = state.format();
        let mut event = Self { id: format.null(), after, entry, workflow, changes };
        event.renew_id(format);
        Some(event)
    }

    /// Computes the id from the text.
    pub(super) fn renew_id(&mut self, format: ObjectFormat) {
        self.id = format.blob(self.body().as_bytes());
    }

    /// The line of the event, with its newline.
    #[must_use]
    pub fn line(&self) -> String {
        let body = self.body();
        format!("{}{}\n", Self::line_start(&self.id), &body[1..])
    }

    /// The text at which the line of the event with this id starts, and no other line of a log.
    #[must_use]
    pub fn line_start(id: &Digest) -> String {
        format!("{BEFORE_ID}{id}{AFTER_ID}")
    }

    /// The text of the line without the id.
    fn body(&self) -> String {
        let mut body = serde_json::to_string(&EventMembers(self)).unwrap_or_default();
        if !self.changes.as_str().is_empty() {
            body.pop();
            body.extend([",\"changes\":", self.changes.as_str(), "}"]);
        }
        body
    }

    /// The id that a line states, without checking it against the text.
    pub(super) fn stated_id(line: &str) -> Option<Digest> {
        Digest::parse(line.strip_prefix(BEFORE_ID)?.split_once('"')?.0)
    }

    /// Parses a line without its line ending.
    ///
    /// # Errors
    ///
    /// The line is not an event, or its text does not match its id.
    pub fn read(line: &str) -> Result<Self, NotAnEvent> {
        let parts = line.strip_prefix(BEFORE_ID).and_then(|rest| rest.split_once(AFTER_ID));
        let parts = parts.and_then(|(id, rest)| Some((Digest::parse(id)?, rest)));
        let Some((stated, rest)) = parts.filter(|(_, rest)| rest.starts_with("\"after\":")) else {
            return Err(match serde_json::from_str::<Value>(line) {
                Err(error) => NotAnEvent::Unreadable(error.to_string()),
                Ok(_) => NotAnEvent::NoId,
            });
        };
        let body = format!("{{{rest}");
        let computed = stated.format().blob(body.as_bytes());
        if computed != stated {
            // A truncated line is not valid JSON; report that rather than the id.
            return Err(match serde_json::from_str::<IgnoredAny>(&body) {
                Err(error) => NotAnEvent::Unreadable(error.to_string()),
                Ok(_) => NotAnEvent::OtherId { stated, computed },
            });
        }
        let raw: RawEvent =
            serde_json::from_str(&body).map_err(|error| NotAnEvent::Unreadable(error.to_string()))?;
        Self::of_raw(computed, raw)
    }

    fn of_raw(id: Digest, raw: RawEvent) -> Result<Self, NotAnEvent> {
        let after: Option<Vec<Digest>> = raw.after.iter().map(|id| Digest::parse(id)).collect();
        Ok(Self {
            id,
            after: after.ok_or(NotAnEvent::Member("after"))?,
            entry: entry_of(Value::Object(raw.entry))?.into(),
            workflow: workflow_ref(&raw.workflow).ok_or(NotAnEvent::Member("workflow"))?,
            changes: PatchText::of(&raw.changes),
        })
    }
}

/// The members of an event before its changes. What is empty is left out.
struct EventMembers<'e>(&'e LogEvent);

impl Serialize for EventMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let LogEvent { after, entry, workflow, .. } = self.0;
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("after", after)?;
        members.serialize_entry("seq", &entry.seq)?;
        members.serialize_entry("at", &entry.at)?;
        members.serialize_entry("kind", entry.kind.as_str())?;
        put_member(&mut members, "from", entry.from.as_ref())?;
        members.serialize_entry("to", &entry.to)?;
        put_member(&mut members, "rule", entry.rule.as_ref())?;
        members.serialize_entry("reason", &entry.reason)?;
        members.serialize_entry("actor", &entry.actor)?;
        let evidence = FilesByPath(&entry.evidence);
        put_member(&mut members, "evidence", Some(&evidence).filter(|evidence| !evidence.0.is_empty()))?;
        put_member(&mut members, "waives", Some(&entry.waived).filter(|waived| !waived.is_empty()))?;
        put_member(&mut members, "confirmed", entry.confirmed.as_ref())?;
        put_member(&mut members, "action", entry.action.as_ref())?;
        let performance = entry.performance.as_ref().filter(|known| ***known != Performance::default());
        put_member(&mut members, "performance", performance)?;
        members.serialize_entry("workflow", &workflow.to_string())?;
        members.end()
    }
}

/// The history entry with these members. The error names the first member that is missing or invalid.
fn entry_of(members: Value) -> Result<HistoryEntry, NotAnEvent> {
    let entry = history_entry(&members);
    entry.ok_or_else(|| {
        let odd = |key: &&&str| !is_usable(key, members.get(**key));
        let named = ["seq", "at", "kind", "to", "actor"].iter().find(odd);
        NotAnEvent::Member(named.copied().unwrap_or("from"))
    })
}

fn is_usable(key: &str, value: Option<&Value>) -> bool {
    let Some(value) = value else { return false };
    let probe = json!({
        "seq": 1, "at": "2000-01-01T00:00:00Z", "kind": "create", "to": "a", "actor": {"kind": "orch"},
    });
    let Value::Object(mut probe) = probe else { return false };
    probe.insert(key.to_owned(), value.clone());
    history_entry(&Value::Object(probe)).is_some()
}

fn workflow_ref(text: &str) -> Option<WorkflowRef> {
    let (name, digest) = text.rsplit_once('@')?;
    Some(WorkflowRef { name: WorkflowName::new(name).ok()?, digest: Digest::parse(digest)? })
}

impl fmt::Display for WorkflowRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.digest)
    }
}
