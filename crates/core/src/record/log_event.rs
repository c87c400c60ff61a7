//! One line of `transcript.jsonl`: an event, what it changed, and the events that it follows.

use super::history_entry::{EntryMembers, Scalar};
use super::json_patch::diff;
use super::patch_text::PatchText;
use crate::decide::{
    Detail, FilesByPath, HistoryEntry, Performance, RecordVersion, State, WorkflowRef, put_items,
    put_member, standing_document,
};
use orch_base::{Digest, ObjectFormat};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// One event of a task's log.
///
/// A line begins with `"id"` and `"after"`, from the second version of the record on with `"v"` between them. The id is the git blob id of the line without its `id` member and
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
    #[error(
        "the id of the event is {stated}, but its text hashes to {computed}: the line was changed"
    )]
    OtherId {
        /// The id that the line states.
        stated: Digest,
        /// The id computed from the text.
        computed: Digest,
    },
    /// Its version of the record is that of a newer program.
    #[error("written by a newer orch: this one does not know its version of the record")]
    Newer,
    /// It has a kind or a member that its version of the record does not have.
    #[error("written by a newer orch: this one does not know {0}")]
    Unknown(String),
    /// A member of the second version is invalid; its name, and why.
    #[error("not an event: {0}")]
    Invalid(String),
    /// A member is missing or has an invalid value.
    #[error("not an event: `{0}` is missing or invalid")]
    Member(&'static str),
}

/// The text before the id, and the text between the id and the rest.
const BEFORE_ID: &str = "{\"id\":\"";
const AFTER_ID: &str = "\",";

/// The members of a line, as far as they can be read.
struct RawEvent {
    after: Option<Vec<Digest>>,
    workflow: Option<WorkflowRef>,
    changes: PatchText,
    entry: EntryMembers,
}

impl LogEvent {
    /// The event that led to `state`: its last history entry, recorded after the events `after`.
    ///
    /// `base` is the state at the first of `after`, or `None` if `after` is empty. Returns `None` if the
    /// state has no history or no workflow.
    #[must_use]
    pub fn new(after: Vec<Digest>, base: Option<&State>, state: &State) -> Option<Self> {
        let entry = state.history.last()?.clone();
        let workflow = state.workflow.clone()?;
        let old = base.map_or_else(|| json!({}), standing_document);
        let changes = PatchText::of(&diff(&old, &standing_document(state)));
        let format = state.format();
        let mut event = Self {
            id: format.null(),
            after,
            entry,
            workflow,
            changes,
        };
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
        let parts = line
            .strip_prefix(BEFORE_ID)
            .and_then(|rest| rest.split_once(AFTER_ID));
        let parts = parts.and_then(|(id, rest)| Some((Digest::parse(id)?, rest)));
        let Some((stated, rest)) =
            parts.filter(|(_, rest)| rest.starts_with("\"after\":") || rest.starts_with("\"v\":"))
        else {
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
        let raw: RawEvent = serde_json::from_str(&body)
            .map_err(|error| NotAnEvent::Unreadable(error.to_string()))?;
        if raw.entry.is_newer() {
            return Err(NotAnEvent::Newer);
        }
        if let Some(what) = raw.entry.unknown() {
            return Err(NotAnEvent::Unknown(what));
        }
        if let Some(why) = raw.entry.invalid() {
            return Err(NotAnEvent::Invalid(why));
        }
        Ok(Self {
            id: computed,
            after: raw.after.ok_or(NotAnEvent::Member("after"))?,
            entry: raw.entry.entry().map_err(NotAnEvent::Member)?.into(),
            workflow: raw.workflow.ok_or(NotAnEvent::Member("workflow"))?,
            changes: raw.changes,
        })
    }
}

impl<'de> Deserialize<'de> for RawEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawEventVisitor)
    }
}

struct RawEventVisitor;

impl<'de> Visitor<'de> for RawEventVisitor {
    type Value = RawEvent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<RawEvent, A::Error> {
        let mut read = RawEvent {
            after: None,
            workflow: None,
            changes: PatchText::default(),
            entry: EntryMembers::NONE,
        };
        let mut seen: Vec<&str> = Vec::new();
        while let Some(key) = members.next_key::<Scalar<'_>>()? {
            let key = key.text().unwrap_or_default();
            if let Some(name) = ["after", "workflow", "changes"]
                .into_iter()
                .find(|name| *name == key)
            {
                // Programs differ in which of two members they take.
                if seen.contains(&name) {
                    return Err(A::Error::duplicate_field(name));
                }
                seen.push(name);
            }
            match &*key {
                "after" => {
                    let ids: Vec<Scalar<'_>> = members.next_value()?;
                    read.after = ids
                        .into_iter()
                        .map(|id| Digest::parse(&id.text()?))
                        .collect();
                }
                "workflow" => {
                    let named: Scalar<'_> = members.next_value()?;
                    read.workflow = named.text().and_then(|text| WorkflowRef::parse(&text));
                }
                "changes" => {
                    read.changes = members.next_value()?;
                }
                other => read.entry.read(other, &mut members)?,
            }
        }
        Ok(read)
    }
}

/// The members of an event before its changes. What is empty is left out.
struct EventMembers<'e>(&'e LogEvent);

impl Serialize for EventMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let LogEvent {
            after,
            entry,
            workflow,
            ..
        } = self.0;
        let mut members = serializer.serialize_map(None)?;
        let version = Some(&entry.version).filter(|version| **version != RecordVersion::First);
        put_member(&mut members, "v", version)?;
        members.serialize_entry("after", after)?;
        members.serialize_entry("seq", &entry.seq)?;
        members.serialize_entry("at", &entry.at)?;
        members.serialize_entry("kind", entry.kind.as_str())?;
        put_member(&mut members, "from", entry.from.as_ref())?;
        members.serialize_entry("to", &entry.to)?;
        put_member(&mut members, "rule", entry.rule.as_ref())?;
        members.serialize_entry("reason", &entry.reason)?;
        members.serialize_entry("actor", &entry.actor)?;
        if !entry.evidence.is_empty() {
            members.serialize_entry("evidence", &FilesByPath(&entry.evidence))?;
        }
        put_items(&mut members, "files", &entry.files)?;
        put_member(&mut members, "inputs", entry.inputs.as_ref())?;
        put_items(&mut members, "rests_on", &entry.rests_on)?;
        put_member(&mut members, "base", entry.base.as_ref())?;
        put_items(&mut members, "waives", &entry.waived)?;
        put_member(&mut members, "confirmed", entry.confirmed.as_ref())?;
        put_items(&mut members, "lost", &entry.lost)?;
        put_member(&mut members, "action", entry.action.as_ref())?;
        let performance = entry
            .performance
            .as_ref()
            .filter(|known| ***known != Performance::default());
        put_member(&mut members, "performance", performance)?;
        if let Some(detail) = &entry.detail {
            entry_detail(&mut members, detail)?;
        }
        put_member(&mut members, "generation", entry.generation.as_ref())?;
        put_items(&mut members, "others", &entry.others)?;
        members.serialize_entry("workflow", &workflow.to_string())?;
        members.end()
    }
}

/// Writes what the kind of an event says, under the name of the kind.
fn entry_detail<M: SerializeMap>(members: &mut M, detail: &Detail) -> Result<(), M::Error> {
    let kind = detail.kind().as_str();
    match detail {
        Detail::Verify(said) => members.serialize_entry(kind, said),
        Detail::Approve(said) => members.serialize_entry(kind, said),
        Detail::Relate(said) => members.serialize_entry(kind, said),
        Detail::Take(said) => members.serialize_entry(kind, said),
        Detail::Lapse(said) => members.serialize_entry(kind, said),
        Detail::Migrate(said) => members.serialize_entry(kind, said),
    }
}

impl fmt::Display for WorkflowRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.digest)
    }
}
