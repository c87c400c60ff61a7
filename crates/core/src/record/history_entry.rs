//! A history entry, which has the same form in a state and in a log.

use crate::decide::{
    ActorKind, By, CodeBase, Detail, HistoryEntry, Kind, LostTests, NotedFiles, OtherTask,
    Performance, RecordVersion, RestsOn,
};
use orch_base::{ActionName, ArtifactName, Digest, PhaseId, Timestamp};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// The history entry with these members; `None` if one is missing or invalid.
pub(super) fn history_entry(value: &Value) -> Option<HistoryEntry> {
    let members = EntryMembers::deserialize(value).ok()?;
    if members.is_newer() || members.unknown().is_some() || members.invalid().is_some() {
        return None;
    }
    members.entry().ok()
}

/// The members of a history entry, as far as they are read. What is of another type than it should be is taken as
/// missing.
pub(super) struct EntryMembers {
    /// The outer `None` if it is not known.
    version: Option<RecordVersion>,
    /// The first member that is unknown to every version, or contains one that is.
    unknown: Option<String>,
    seq: Option<u64>,
    at: Option<Timestamp>,
    /// The outer `None` if it is invalid.
    from: Option<Option<PhaseId>>,
    to: Option<PhaseId>,
    kind: Option<Kind>,
    /// The text of a kind that is not known.
    other_kind: Option<String>,
    rule: Option<String>,
    reason: Option<String>,
    actor: Option<By>,
    evidence: Vec<(String, String)>,
    files: NotedFiles,
    inputs: Option<Digest>,
    rests_on: Vec<RestsOn>,
    base: Option<CodeBase>,
    waives: Option<Vec<ArtifactName>>,
    /// What earlier versions wrote for `waives`.
    waived: Option<Vec<ArtifactName>>,
    confirmed: Option<ArtifactName>,
    lost: LostTests,
    action: Option<ActionName>,
    performance: Option<Performance>,
    detail: Option<Detail>,
    generation: Option<u64>,
    others: Vec<OtherTask>,
    /// The first member of the second version that is invalid, and why.
    invalid: Option<String>,
}

impl EntryMembers {
    /// No member so far.
    pub(super) const NONE: Self = Self {
        version: Some(RecordVersion::First),
        unknown: None,
        seq: None,
        at: None,
        from: Some(None),
        to: None,
        kind: None,
        other_kind: None,
        rule: None,
        reason: None,
        actor: None,
        evidence: Vec::new(),
        files: NotedFiles::new(),
        inputs: None,
        rests_on: Vec::new(),
        base: None,
        waives: None,
        waived: None,
        confirmed: None,
        lost: LostTests::new(),
        action: None,
        performance: None,
        detail: None,
        generation: None,
        others: Vec::new(),
        invalid: None,
    };

    /// Reads the value of the member `key`, the next one of `members`. If two members have the same name, the last
    /// counts.
    ///
    /// # Errors
    ///
    /// The value is not JSON.
    pub(super) fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        members: &mut A,
    ) -> Result<(), A::Error> {
        match key {
            "files" => {
                let files = strict("files", members.next_value()?);
                self.files = self.strictly(files).unwrap_or_default();
            }
            "others" => {
                let others = strict("others", members.next_value()?);
                self.others = self.strictly(others).unwrap_or_default();
            }
            "lost" => {
                let lost = strict("lost", members.next_value()?);
                self.lost = self.strictly(lost).unwrap_or_default();
            }
            "generation" => {
                let generation = strict("generation", members.next_value()?);
                self.generation = self.strictly(generation);
            }
            "rests_on" => {
                let rests_on = strict("rests_on", members.next_value()?);
                self.rests_on = self.strictly(rests_on).unwrap_or_default();
            }
            "base" => {
                let base = strict("base", members.next_value()?);
                self.base = self.strictly(base);
            }
            "evidence" => self.evidence = texts(members.next_value()?),
            "waives" => self.waives = Some(names(members.next_value()?)),
            "waived" => self.waived = Some(names(members.next_value()?)),
            "actor" => self.actor = by(members.next_value()?),
            "performance" => self.performance = performance(members.next_value()?),
            _ => match Kind::named(key).filter(|kind| Detail::is_of(*kind)) {
                Some(kind) => {
                    let read = Detail::read(kind, members.next_value()?)
                        .map_err(|fault| Strict::of(key, &fault));
                    let is_second = self.detail.is_some();
                    self.detail = self.strictly(read).flatten();
                    if is_second {
                        self.invalid.get_or_insert_with(|| {
                            format!("`{key}` is not its only member of a kind")
                        });
                    }
                }
                None => self.set(key, members.next_value()?),
            },
        }
        Ok(())
    }

    /// The value of a member of the second version, of which nothing is passed over.
    fn strictly<T>(&mut self, read: Result<T, Strict>) -> Option<T> {
        match read {
            Ok(value) => return Some(value),
            Err(Strict::Unknown(what)) => self.note_unknown(what),
            Err(Strict::Invalid(why)) => drop(self.invalid.get_or_insert(why)),
        }
        None
    }

    fn set(&mut self, key: &str, value: Scalar<'_>) {
        match key {
            "v" => self.version = value.number().and_then(RecordVersion::numbered),
            "seq" => self.seq = value.number(),
            "at" => self.at = value.text().and_then(|at| Timestamp::parse(&at)),
            "from" => {
                self.from = match value {
                    Scalar::Null => Some(None),
                    value => value
                        .text()
                        .and_then(|phase| PhaseId::new(phase).ok())
                        .map(Some),
                }
            }
            "to" => self.to = value.text().and_then(|phase| PhaseId::new(phase).ok()),
            "kind" => {
                let text = value.text().unwrap_or_default();
                self.kind = Kind::named(&text);
                self.other_kind = self.kind.is_none().then(|| text.into_owned());
            }
            "inputs" => match value.text().and_then(|text| Digest::parse(&text)) {
                Some(digest) => self.inputs = Some(digest),
                None => self.note_unknown("inputs: no digest".to_owned()),
            },
            "rule" => self.rule = value.text().map(Cow::into_owned),
            "reason" => self.reason = value.text().map(Cow::into_owned),
            "confirmed" => {
                self.confirmed = value.text().and_then(|name| ArtifactName::new(name).ok())
            }
            "action" => self.action = value.text().and_then(|name| ActionName::new(name).ok()),
            _ => self.note_unknown(key.to_owned()),
        }
    }

    fn note_unknown(&mut self, member: String) {
        self.unknown.get_or_insert(member);
    }

    /// Whether it is of a version that this program does not know.
    pub(super) fn is_newer(&self) -> bool {
        self.version.is_none()
    }

    /// The kind or member that its version does not have, in words. Events of the first version may have members that
    /// nobody knows.
    pub(super) fn unknown(&self) -> Option<String> {
        if self.version == Some(RecordVersion::First) {
            return None;
        }
        let kind = self
            .other_kind
            .as_ref()
            .map(|kind| format!("the kind `{kind}`"));
        kind.or_else(|| {
            self.unknown
                .as_ref()
                .map(|member| format!("the member `{member}`"))
        })
    }

    /// What is wrong with a member of the second version, in words. Events of the first version may have members of any
    /// name.
    pub(super) fn invalid(&self) -> Option<String> {
        if self.version == Some(RecordVersion::First) {
            return None;
        }
        if let Some(why) = &self.invalid {
            return Some(why.clone());
        }
        let said = self.detail.as_ref().map(Detail::kind);
        let needed = self.kind.filter(|kind| Detail::is_of(*kind));
        match (needed, said) {
            (Some(kind), None) => Some(format!("`{}` is missing", kind.as_str())),
            (_, Some(said)) if needed != Some(said) => {
                let kind = self.kind.map_or("?", Kind::as_str);
                Some(format!(
                    "`{}` is not a member of an event of the kind `{kind}`",
                    said.as_str()
                ))
            }
            _ => None,
        }
    }

    /// The entry, or the first member that is missing or invalid.
    pub(super) fn entry(self) -> Result<HistoryEntry, &'static str> {
        let version = self.version.ok_or("v")?;
        let is_second = version != RecordVersion::First;
        Ok(HistoryEntry {
            version,
            seq: self.seq.ok_or("seq")?,
            at: self.at.ok_or("at")?,
            kind: self
                .kind
                .filter(|kind| kind.since() <= version)
                .ok_or("kind")?,
            to: self.to.ok_or("to")?,
            actor: self.actor.ok_or("actor")?,
            from: self.from.ok_or("from")?,
            rule: self.rule,
            reason: self.reason.unwrap_or_default(),
            evidence: self.evidence,
            files: self.files,
            inputs: self.inputs,
            rests_on: self.rests_on,
            base: self.base,
            waived: self.waives.or(self.waived).unwrap_or_default(),
            confirmed: self.confirmed,
            lost: if is_second {
                self.lost
            } else {
                LostTests::new()
            },
            action: self.action,
            performance: self.performance.map(Box::new),
            detail: self.detail.filter(|_| is_second).map(Box::new),
            generation: self.generation.filter(|_| is_second),
            others: if is_second { self.others } else { Vec::new() },
        })
    }
}

/// Why the value of a member of the second version is not read.
enum Strict {
    /// It has a member, or a word, that this program does not know.
    Unknown(String),
    /// It is not what it should be.
    Invalid(String),
}

impl Strict {
    fn of(member: &str, fault: &serde_json::Error) -> Self {
        let fault = fault.to_string();
        if fault.starts_with("unknown field") || fault.starts_with("unknown variant") {
            return Self::Unknown(format!("{member}: {fault}"));
        }
        Self::Invalid(format!("`{member}`: {fault}"))
    }
}

fn strict<T: serde::de::DeserializeOwned>(member: &str, value: Value) -> Result<T, Strict> {
    serde_json::from_value(value).map_err(|fault| Strict::of(member, &fault))
}

impl<'de> Deserialize<'de> for EntryMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfObject;

        impl<'de> Visitor<'de> for OfObject {
            type Value = EntryMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<EntryMembers, A::Error> {
                let mut read = EntryMembers::NONE;
                while let Some(key) = members.next_key::<Scalar<'_>>()? {
                    read.read(&key.text().unwrap_or_default(), &mut members)?;
                }
                Ok(read)
            }
        }

        deserializer.deserialize_any(OfObject)
    }
}

/// A JSON value of which only a text or a whole number counts. Lists and objects are read to their ends.
pub(super) enum Scalar<'de> {
    /// A string.
    Text(Cow<'de, str>),
    /// A whole number.
    Number(u64),
    Null,
    /// Any other value.
    Other,
}

impl<'de> Scalar<'de> {
    /// The text, if it is one.
    pub(super) fn text(self) -> Option<Cow<'de, str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(text.to_owned().into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Scalar<'de>, A::Error> {
        while items.next_element::<Scalar<'_>>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Scalar<'de>, A::Error> {
        while members.next_entry::<Scalar<'_>, Scalar<'_>>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

fn string(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// The members that are texts.
fn texts(value: Value) -> Vec<(String, String)> {
    let members = object(value).into_iter().flatten();
    members
        .filter_map(|(name, value)| Some((name, string(value)?)))
        .collect()
}

fn names(value: Value) -> Vec<ArtifactName> {
    let names = value.as_array().into_iter().flatten();
    names
        .filter_map(|name| ArtifactName::new(name.as_str()?).ok())
        .collect()
}

fn by(value: Value) -> Option<By> {
    let mut members = object(value)?;
    let kind = ActorKind::named(members.get("kind")?.as_str()?)?;
    Some(By {
        kind,
        name: members.remove("name").and_then(string).unwrap_or_default(),
    })
}

fn performance(value: Value) -> Option<Performance> {
    let mut members = object(value)?;
    let started = members.remove("started_at").and_then(string);
    Some(Performance {
        started: started.and_then(|at| Timestamp::parse(&at)),
        executor: members.remove("executor").and_then(string),
        files: members.remove("files").map(texts).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn whole() -> Value {
        json!({
            "seq": 3, "at": "2026-01-02T03:04:05Z", "kind": "advance", "from": "a", "to": "b", "rule": "r",
            "reason": "\u{e4}\n", "actor": {"kind": "human", "name": "Ann"}, "evidence": {"b": "1", "a": "2"},
            "waives": ["plan"], "confirmed": "plan", "action": "build",
            "performance": {"started_at": "2026-01-02T03:04:00Z", "executor": "make", "files": {"out": "3"}},
        })
    }

    /// The entry without these members, and with those.
    fn entry(changed: Value) -> Result<HistoryEntry, &'static str> {
        let mut members = whole();
        for (name, value) in object(changed).expect("members") {
            members[&name] = value;
        }
        let entry = EntryMembers::deserialize(&members)
            .expect("an object")
            .entry();
        let of_text: EntryMembers = serde_json::from_str(&members.to_string()).expect("an object");
        assert_eq!(of_text.entry(), entry, "{members}");
        assert_eq!(history_entry(&members), entry.clone().ok());
        entry
    }

    #[test]
    fn what_is_needed_is_named_if_it_is_missing_or_invalid() {
        for (changed, expected) in [
            (json!({}), Ok(())),
            (json!({"seq": null}), Err("seq")),
            (json!({"seq": "3"}), Err("seq")),
            (json!({"seq": 3.0}), Err("seq")),
            (json!({"seq": -3}), Err("seq")),
            (json!({"at": "yesterday", "to": 1}), Err("at")),
            (json!({"kind": "other", "to": 1}), Err("kind")),
            (json!({"to": ["b"], "from": 1}), Err("to")),
            (json!({"actor": "Ann"}), Err("actor")),
            (json!({"actor": {"name": "Ann"}}), Err("actor")),
            (json!({"from": null}), Ok(())),
            (json!({"from": ""}), Err("from")),
            (json!({"from": {}}), Err("from")),
        ] {
            assert_eq!(entry(changed.clone()).map(drop), expected, "{changed}");
        }
        for odd in [json!([]), json!("text"), json!(null)] {
            assert_eq!(history_entry(&odd), None);
        }
    }

    #[test]
    fn anything_else_of_another_type_is_as_good_as_missing() {
        let read = |changed| entry(changed).expect("an entry");
        let bare = HistoryEntry {
            rule: None,
            reason: String::new(),
            evidence: Vec::new(),
            files: NotedFiles::new(),
            inputs: None,
            waived: Vec::new(),
            confirmed: None,
            lost: LostTests::new(),
            action: None,
            performance: None,
            detail: None,
            generation: None,
            others: Vec::new(),
            ..read(json!({}))
        };
        for odd in [
            json!(null),
            json!(7),
            json!(true),
            json!([[{}]]),
            json!("\u{1}"),
        ] {
            let names = [
                "reason",
                "rule",
                "evidence",
                "waives",
                "confirmed",
                "action",
                "performance",
                "more",
            ];
            let members: Map<String, Value> = names
                .iter()
                .map(|name| ((*name).to_owned(), odd.clone()))
                .collect();
            let text = odd.as_str().map(str::to_owned);
            let expected = HistoryEntry {
                rule: text.clone(),
                reason: text.unwrap_or_default(),
                ..bare.clone()
            };
            assert_eq!(read(Value::Object(members)), expected);
        }
        let odd = json!({
            "evidence": {"a": 1, "b": "2"}, "waives": [1, "plan", "no name"], "waived": ["other"],
            "actor": {"kind": "orch", "name": 1}, "performance": {"files": [], "started_at": 1, "executor": {}},
        });
        let found = read(odd);
        assert_eq!(found.evidence, [("b".to_owned(), "2".to_owned())]);
        assert_eq!(found.waived, [ArtifactName::new("plan").expect("valid")]);
        assert_eq!(
            found.actor,
            By {
                kind: ActorKind::Orch,
                name: String::new()
            }
        );
        assert_eq!(found.performance, Some(Box::default()));
    }

    #[test]
    fn of_two_members_of_one_name_the_last_counts() {
        let text = whole().to_string().replacen(
            '{',
            r#"{"seq":1,"evidence":{"z":"1"},"waived":["other"],"#,
            1,
        );
        let text = text.replace(r#""b":"1""#, r#""b":"0","b":"1""#);
        let read: EntryMembers = serde_json::from_str(&text).expect("an object");
        assert_eq!(read.entry().ok(), history_entry(&whole()));
    }
}
