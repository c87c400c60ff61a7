//! What a change of a workflow document or of a schema makes looser. Where that cannot be determined, it is a change.

use super::Document;
use crate::TomlLines;
use crate::TomlStep::{Item, Key};
use crate::toml_lines::texts;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// One thing that a change of the rules does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    /// The line in the new text, from 1; `None` if it is no longer there.
    pub line: Option<u32>,
    /// What it does, as a sentence without its end.
    pub what: String,
    /// Whether more is permitted than before; if not, that is unknown.
    pub is_looser: bool,
}

impl RuleChange {
    /// A change that permits more.
    #[must_use]
    pub fn looser(line: Option<u32>, what: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
            is_looser: true,
        }
    }

    /// A change that may permit more: nobody can say.
    #[must_use]
    pub fn unclear(line: Option<u32>, what: impl Into<String>) -> Self {
        Self {
            line,
            what: what.into(),
            is_looser: false,
        }
    }
}

/// The lists of a phase or an artifact that ask for something: less in them permits more.
const ASKING: [&str; 6] = [
    "needs", "produces", "requires", "judges", "not_by", "verifies",
];
/// What decides nothing.
const WORDS: [&str; 11] = [
    "title", "because", "agent", "remarks", "substate", "reads", "prompt", "show", "example",
    "new_path", "id",
];

/// What the changes of a document make looser, or may make looser. What only tightens it is left out.
#[must_use]
pub fn loosened(before: &Document, after: &Document) -> Vec<RuleChange> {
    let tables = before
        .toml
        .parse::<Table>()
        .ok()
        .zip(after.toml.parse::<Table>().ok());
    let Some((old, new)) = tables else {
        return vec![RuleChange::unclear(
            first_other_line(&before.text, &after.text),
            "the rules changed",
        )];
    };
    let mut compared = DocumentChanges {
        lines: TomlLines::new(&after.toml),
        found: Vec::new(),
    };
    compared.rules(&old, &new);
    for (kind, what) in [
        ("phase", "phase"),
        ("artifact", "artifact"),
        ("action", "action"),
        ("ask", "question"),
        ("deadline", "deadline"),
    ] {
        compared.each(
            kind,
            what,
            Both {
                old: &old,
                new: &new,
            },
        );
    }
    compared.settings(&old, &new);
    compared.found
}

/// The first line of a text that another one does not have there, from 1.
#[must_use]
pub fn first_other_line(before: &str, after: &str) -> Option<u32> {
    let mut old = before.lines();
    let place = after.lines().position(|line| old.next() != Some(line));
    let line = place.unwrap_or_else(|| after.lines().count().saturating_sub(1));
    u32::try_from(line + 1).ok()
}

/// A value before and after.
#[derive(Clone, Copy)]
struct Both<T> {
    old: T,
    new: T,
}

struct DocumentChanges<'a> {
    lines: TomlLines<'a>,
    found: Vec<RuleChange>,
}

impl DocumentChanges<'_> {
    fn looser(&mut self, line: Option<u32>, what: String) {
        self.found.push(RuleChange::looser(line, what));
    }

    fn unclear(&mut self, line: Option<u32>, what: String) {
        self.found.push(RuleChange::unclear(line, what));
    }

    fn rules(&mut self, old: &Table, new: &Table) {
        let old = named_rules(old);
        let new = named_rules(new);
        if common(&old, &new) != common(&new, &old) {
            let line = self.lines.of(&[Key("rule"), Item(0)]);
            self.unclear(line, "the order of the rules changed".to_owned());
        }
        for (id, _) in old
            .iter()
            .filter(|(id, _)| !new.iter().any(|(other, _)| other == id))
        {
            self.looser(None, format!("rule `{id}` is removed"));
        }
        for (place, (id, rule)) in new.iter().enumerate() {
            let Some((_, before)) = old.iter().find(|(other, _)| other == id) else {
                self.unclear(
                    self.lines.of(&[Key("rule"), Item(place)]),
                    format!("rule `{id}` is new"),
                );
                continue;
            };
            for key in other_keys(before, rule) {
                let place = self.lines.of(&[Key("rule"), Item(place), Key(&key)]);
                match (key.as_str(), before.get(&key).and_then(Value::as_str)) {
                    ("by", Some("human")) => {
                        self.looser(place, format!("rule `{id}` no longer asks for a person"))
                    }
                    ("by", None) => {}
                    ("when", _) => self.unclear(place, format!("the guard of rule `{id}` changed")),
                    _ => self.unclear(place, format!("`{key}` of rule `{id}` changed")),
                }
            }
        }
    }

    /// The tables of one kind, each with a name. One whose aliases have a former name is the former one.
    fn each(&mut self, kind: &str, what: &str, both: Both<&Table>) {
        let empty = Table::new();
        let old = both
            .old
            .get(kind)
            .and_then(Value::as_table)
            .unwrap_or(&empty);
        let new = both
            .new
            .get(kind)
            .and_then(Value::as_table)
            .unwrap_or(&empty);
        for name in old.keys() {
            let is_renamed = new
                .values()
                .any(|value| texts(value.get("aliases")).contains(name));
            if !new.contains_key(name) && !is_renamed {
                self.unclear(None, format!("{what} `{name}` is removed"));
            }
        }
        for (name, value) in new {
            let former = texts(value.get("aliases"))
                .into_iter()
                .find(|alias| old.contains_key(alias) && !new.contains_key(alias));
            let before = old.get(name).or_else(|| old.get(&former.clone()?));
            let Some(before) = before.map(|before| before.as_table().unwrap_or(&empty)) else {
                // An artifact alone decides nothing.
                if kind != "artifact" {
                    self.unclear(
                        self.lines.of(&[Key(kind), Key(name)]),
                        format!("{what} `{name}` is new"),
                    );
                }
                continue;
            };
            let after = value.as_table().unwrap_or(&empty);
            for key in other_keys(before, after) {
                if key == "aliases" && former.is_some() {
                    continue;
                }
                let line = self.lines.of(&[Key(kind), Key(name), Key(&key)]);
                let values = Both {
                    old: before.get(&key),
                    new: after.get(&key),
                };
                self.key(line, values, &key, &format!("{what} `{name}`"));
            }
        }
    }

    /// One key of a phase, an artifact, an action or a question.
    fn key(&mut self, line: Option<u32>, both: Both<Option<&Value>>, key: &str, of: &str) {
        let human = Some("human");
        let old_text = both.old.and_then(Value::as_str);
        let new_text = both.new.and_then(Value::as_str);
        let new_flag = both.new.and_then(Value::as_bool);
        match key {
            _ if ASKING.contains(&key) => {
                for lost in texts(both.old).difference(&texts(both.new)) {
                    self.looser(line, format!("{of} no longer has `{lost}` under `{key}`"));
                }
            }
            "undoes" => {
                for more in texts(both.new).difference(&texts(both.old)) {
                    self.looser(
                        line,
                        format!("{of} can end well whatever happened to `{more}`"),
                    );
                }
            }
            "writes" => {
                for more in texts(both.new).difference(&texts(both.old)) {
                    self.looser(line, format!("{of} may write `{more}`"));
                }
            }
            "owner" | "by" if old_text == human => {
                self.looser(line, format!("{of} no longer belongs to a person"));
            }
            "owner" | "by" if new_text == human => {}
            "schema" if both.new.is_none() => {
                self.looser(line, format!("{of} no longer has a schema"))
            }
            "schema" if both.old.is_none() => {}
            "commit" if new_flag == Some(false) => {
                self.looser(line, format!("{of} is no longer committed as evidence"));
            }
            "filled" if new_flag == Some(true) => {}
            // The default follows from `judges`, and whoever drops those is told.
            "filled" if new_flag == Some(false) || both.new.is_none() => {
                self.looser(
                    line,
                    format!("{of} may now merely repeat the example of its schema"),
                );
            }
            "independent" if old_text == Some("people") => {
                self.looser(
                    line,
                    format!("{of} no longer asks for a verdict by another person"),
                );
            }
            "independent" => {}
            "approvals" => self.approvals(line, both, of),
            "attempts" => self.number(line, both, &format!("`attempts` of {of}")),
            _ => self.unclear(line, format!("`{key}` of {of} changed")),
        }
    }

    /// How many people say yes, and of which teams.
    fn approvals(&mut self, line: Option<u32>, both: Both<Option<&Value>>, of: &str) {
        if both.old.is_none() {
            return;
        }
        if approvals_asked(both.new) < approvals_asked(both.old) {
            self.looser(line, format!("{of} asks for fewer approvals"));
        }
        let before = texts(both.old.and_then(|asked| asked.get("teams")));
        let after = texts(both.new.and_then(|asked| asked.get("teams")));
        for lost in before.difference(&after) {
            self.looser(
                line,
                format!("{of} no longer asks for an approval of team `{lost}`"),
            );
        }
    }

    /// A number of which more permits more.
    fn number(&mut self, line: Option<u32>, both: Both<Option<&Value>>, what: &str) {
        match (both.old.and_then(number), both.new.and_then(number)) {
            (Some(old), Some(new)) if new > old => self.looser(line, format!("{what} grew")),
            (Some(_), Some(_)) => {}
            _ => self.unclear(line, format!("{what} changed")),
        }
    }

    /// What applies to the whole workflow.
    fn settings(&mut self, old: &Table, new: &Table) {
        let empty = Table::new();
        for kind in ["workflow", "define", "state", "limits", "migrate"] {
            let old = old.get(kind).and_then(Value::as_table).unwrap_or(&empty);
            let new = new.get(kind).and_then(Value::as_table).unwrap_or(&empty);
            for key in other_keys(old, new) {
                let line = self.lines.of(&[Key(kind), Key(&key)]);
                let values = Both {
                    old: old.get(&key),
                    new: new.get(&key),
                };
                match (kind, key.as_str()) {
                    ("limits", _) | ("workflow", "attempts") => {
                        self.number(line, values, &format!("`{key}` under `[{kind}]`"));
                    }
                    ("workflow", "forgets") => {
                        for more in texts(values.new).difference(&texts(values.old)) {
                            self.looser(
                                line,
                                format!("what records say about artifact `{more}` is now ignored"),
                            );
                        }
                    }
                    ("workflow", "names") if values.new.is_none() => {
                        let what =
                            "later changes of what the plan names no longer close an approval";
                        self.looser(line, what.to_owned());
                    }
                    _ => self.unclear(line, format!("`{key}` under `[{kind}]` changed")),
                }
            }
        }
    }
}

/// The rules with their ids.
fn named_rules(document: &Table) -> Vec<(String, &Table)> {
    let rules = document
        .get("rule")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let tables = rules.filter_map(Value::as_table);
    tables
        .map(|rule| {
            (
                rule.get("id")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                rule,
            )
        })
        .collect()
}

/// The ids of those rules that are also among others, in order.
fn common<'r>(rules: &'r [(String, &Table)], others: &[(String, &Table)]) -> Vec<&'r String> {
    let ids = rules.iter().map(|(id, _)| id);
    ids.filter(|id| others.iter().any(|(other, _)| other == *id))
        .collect()
}

/// How many approvals a phase asks for.
fn approvals_asked(asked: Option<&Value>) -> i64 {
    let count = asked.and_then(|asked| asked.get("count")?.as_integer());
    count.unwrap_or_default()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(whole) => Some(*whole as f64),
        other => other.as_float(),
    }
}

/// The keys whose values differ, but for those that decide nothing.
fn other_keys(old: &Table, new: &Table) -> Vec<String> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter(|key| old.get(*key) != new.get(*key) && !WORDS.contains(&key.as_str()))
        .cloned()
        .collect()
}

/// What a change of a schema does: whether it accepts more; `None` if it only accepts less, or decides the same.
#[must_use]
pub fn schema_loosened(before: &str, after: &str) -> Option<bool> {
    match (serde_json::from_str(before), serde_json::from_str(after)) {
        (Ok(old), Ok(new)) => match schema_change(&old, &new) {
            SchemaChange::None => None,
            SchemaChange::Looser => Some(true),
            SchemaChange::Unclear => Some(false),
        },
        _ => Some(false),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaChange {
    None,
    Unclear,
    Looser,
}

/// The keywords that assert nothing.
const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "$comment",
    "$id",
    "$schema",
    "deprecated",
    "x-orch-message",
    "x-orch-draft",
];

fn schema_change(old: &Json, new: &Json) -> SchemaChange {
    use SchemaChange::{Looser, None, Unclear};
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
        return match (old, new) {
            _ if old == new => None,
            (Json::Bool(false), _) | (_, Json::Bool(true)) => Looser,
            (Json::Bool(true), _) | (_, Json::Bool(false)) => None,
            _ => Unclear,
        };
    };
    let is_closed = before.get("additionalProperties") == Some(&Json::Bool(false));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut worst = None;
    for key in keys {
        let change = match (before.get(key), after.get(key)) {
            (old, new) if old == new || ANNOTATIONS.contains(&key.as_str()) => None,
            (Some(_), Option::None)
                if ["properties", "patternProperties", "prefixItems"].contains(&key.as_str()) =>
            {
                Unclear
            }
            (Some(_), Option::None) | (Option::None, Some(_)) if key.starts_with("x-") => Unclear,
            (Some(_), Option::None) => Looser,
            (Option::None, Some(_)) if key == "properties" && is_closed => Looser,
            (Option::None, _) => None,
            (Some(old), Some(new)) => keyword_change(key, old, new, is_closed),
        };
        worst = worst.max(change);
    }
    worst
}

fn keyword_change(key: &str, old: &Json, new: &Json, is_closed: bool) -> SchemaChange {
    use SchemaChange::{Looser, None, Unclear};
    let is_looser = match key {
        // A file that says the same as an example does not count.
        "required" | "examples" => !items_of(old).is_subset(&items_of(new)),
        "enum" | "type" => !items_of(new).is_subset(&items_of(old)),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
        | "minContains" => new.as_f64() < old.as_f64(),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            new.as_f64() > old.as_f64()
        }
        "properties" | "$defs" | "patternProperties" => {
            let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else {
                return Unclear;
            };
            let changed = after
                .iter()
                .filter_map(|(name, schema)| Some(schema_change(before.get(name)?, schema)));
            let worst = changed.max().unwrap_or(None);
            let is_new = after.keys().any(|name| !before.contains_key(name));
            let is_gone = before.keys().any(|name| !after.contains_key(name));
            // A member that a closed object did not accept; one that may be anything from now on.
            let opened = key != "$defs" && ((is_new && is_closed) || (is_gone && !is_closed));
            if opened {
                return worst.max(Looser);
            }
            return worst;
        }
        "items" | "additionalProperties" | "contains" | "propertyNames" => {
            return schema_change(old, new);
        }
        "allOf" => match (old.as_array(), new.as_array()) {
            (Some(before), Some(after)) if before.len() == after.len() => {
                let changes = before
                    .iter()
                    .zip(after)
                    .map(|(old, new)| schema_change(old, new));
                return changes.max().unwrap_or(None);
            }
            _ => return Unclear,
        },
        _ => return Unclear,
    };
    if is_looser { Looser } else { None }
}

/// The items of a list, or the one value.
fn items_of(value: &Json) -> BTreeSet<String> {
    match value {
        Json::Array(items) => items.iter().map(Json::to_string).collect(),
        one => BTreeSet::from([one.to_string()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = "[workflow]\ninitial = \"a\"\nforgets = [\"u\"]\n[artifact.x]\npath = \"x.json\"\nschema = \"x\"\njudges = [\"z\"]\nfilled = true\naliases = [\"w\"]\ncomplete = \"quiet 3s\"\n[phase.a]\napprovals = { count = 2, teams = [\"security\"] }\nproduces = [\"x\"]\nowner = \"human\"\n[phase.b]\nneeds = [\"x\"]\nnot_by = [\"x\"]\nindependent = \"people\"\nattempts = 2\n[[rule]]\nid = \"one\"\nfrom = \"a\"\nwhen = \"x.ready\"\nto = \"b\"\nby = \"human\"\nbecause = \"y\"\n[[rule]]\nid = \"two\"\nfrom = \"b\"\nwhen = \"x.changed\"\nto = \"a\"\n";

    fn found(from: &str, to: &str) -> Vec<(Option<u32>, String, bool)> {
        assert!(FLOW.contains(from), "{from}");
        let document =
            |toml: &str| Document::new("w", "w.md", format!("```toml orch\n{toml}```\n"));
        let changes = loosened(&document(FLOW), &document(&FLOW.replacen(from, to, 1)));
        changes
            .into_iter()
            .map(|change| (change.line, change.what, change.is_looser))
            .collect()
    }

    #[test]
    fn a_change_of_a_document_is_looser_or_unclear_or_nothing() {
        for (from, to, line, what, is_looser) in [
            (
                "by = \"human\"\n",
                "",
                Some(21),
                "rule `one` no longer asks for a person",
                true,
            ),
            (
                "needs = [\"x\"]",
                "needs = []",
                Some(17),
                "phase `b` no longer has `x` under `needs`",
                true,
            ),
            (
                "produces = [\"x\"]\n",
                "",
                Some(12),
                "phase `a` no longer has `x` under `produces`",
                true,
            ),
            (
                "attempts = 2",
                "attempts = 3",
                Some(20),
                "`attempts` of phase `b` grew",
                true,
            ),
            (
                "owner = \"human\"\n",
                "",
                Some(12),
                "phase `a` no longer belongs to a person",
                true,
            ),
            (
                "schema = \"x\"\n",
                "",
                Some(5),
                "artifact `x` no longer has a schema",
                true,
            ),
            (
                "x.ready",
                "x.valid",
                Some(24),
                "the guard of rule `one` changed",
                false,
            ),
            (
                "\"x.json\"",
                "\"y.json\"",
                Some(6),
                "`path` of artifact `x` changed",
                false,
            ),
            (
                "initial = \"a\"",
                "initial = \"b\"",
                Some(3),
                "`initial` under `[workflow]` changed",
                false,
            ),
            (
                "judges = [\"z\"]\n",
                "",
                Some(5),
                "artifact `x` no longer has `z` under `judges`",
                true,
            ),
            (
                "filled = true\n",
                "",
                Some(5),
                "artifact `x` may now merely repeat the example of its schema",
                true,
            ),
            (
                "aliases = [\"w\"]\n",
                "",
                Some(5),
                "`aliases` of artifact `x` changed",
                false,
            ),
            (
                "complete = \"quiet 3s\"\n",
                "",
                Some(5),
                "`complete` of artifact `x` changed",
                false,
            ),
            (
                "forgets = [\"u\"]",
                "forgets = [\"u\", \"v\"]",
                Some(4),
                "what records say about artifact `v` is now ignored",
                true,
            ),
            (
                "not_by = [\"x\"]\n",
                "",
                Some(16),
                "phase `b` no longer has `x` under `not_by`",
                true,
            ),
            (
                "[phase.b]\n",
                "[phase.b]\nundoes = [\"x\"]\n",
                Some(17),
                "phase `b` can end well whatever happened to `x`",
                true,
            ),
            (
                "independent = \"people\"\n",
                "",
                Some(16),
                "phase `b` no longer asks for a verdict by another person",
                true,
            ),
            (
                "count = 2",
                "count = 1",
                Some(13),
                "phase `a` asks for fewer approvals",
                true,
            ),
            (
                "[\"security\"]",
                "[]",
                Some(13),
                "phase `a` no longer asks for an approval of team `security`",
                true,
            ),
        ] {
            assert_eq!(
                found(from, to),
                [(line, what.to_owned(), is_looser)],
                "{from} -> {to}"
            );
        }
        let two = &FLOW[FLOW.find("[[rule]]\nid = \"two\"").expect("there")..];
        assert_eq!(
            found(two, ""),
            [(None, "rule `two` is removed".to_owned(), true)]
        );
        for (from, to) in [
            ("because = \"y\"", "because = \"z\""),
            ("attempts = 2", "attempts = 1"),
            ("needs = [\"x\"]", "needs = ['x'] # why"),
            ("forgets = [\"u\"]", "forgets = []"),
            ("judges = [\"z\"]", "judges = [\"z\", \"y\"]"),
            ("count = 2", "count = 3"),
            (
                "[artifact.x]\npath = \"x.json\"\nschema = \"x\"\njudges = [\"z\"]\nfilled = true\naliases = [\"w\"]\n",
                "[artifact.y]\npath = \"x.json\"\nschema = \"x\"\njudges = [\"z\"]\nfilled = true\naliases = [\"x\"]\n",
            ),
        ] {
            assert_eq!(found(from, to), [], "{from} -> {to}");
        }
    }

    #[test]
    fn a_schema_accepts_more_or_less_or_that_is_unclear() {
        for (old, new, expected) in [
            (r#"{"required":["a"]}"#, r#"{"required":[]}"#, Some(true)),
            (r#"{"required":["a"]}"#, r#"{"required":["a","b"]}"#, None),
            (r#"{"type":"array"}"#, "{}", Some(true)),
            ("{}", r#"{"type":"array"}"#, None),
            (
                r#"{"type":"array"}"#,
                r#"{"type":["array","null"]}"#,
                Some(true),
            ),
            (
                r#"{"properties":{"n":{"maximum":1}}}"#,
                r#"{"properties":{"n":{"maximum":2}}}"#,
                Some(true),
            ),
            (
                r#"{"properties":{"n":{"maximum":1}}}"#,
                r#"{"properties":{"n":{"maximum":0}}}"#,
                None,
            ),
            (
                r#"{"additionalProperties":false}"#,
                r#"{"additionalProperties":true}"#,
                Some(true),
            ),
            (
                r#"{"additionalProperties":false,"properties":{}}"#,
                r#"{"additionalProperties":false,"properties":{"a":{}}}"#,
                Some(true),
            ),
            (r#"{"pattern":"a"}"#, r#"{"pattern":"b"}"#, Some(false)),
            (r#"{"anyOf":[{}]}"#, r#"{"anyOf":[{},{}]}"#, Some(false)),
            (r#"{"title":"a"}"#, r#"{"title":"b"}"#, None),
            (r#"{"examples":[1,2]}"#, r#"{"examples":[1]}"#, Some(true)),
            (r#"{"examples":[1]}"#, r#"{"examples":[1,2]}"#, None),
            ("{}", r#"{"x-orch-fill":"time"}"#, Some(false)),
            (r#"{"x-orch-fill":"time"}"#, "{}", Some(false)),
            (r#"{"x-orch-message":"a"}"#, "{}", None),
            ("{}", "{", Some(false)),
        ] {
            assert_eq!(schema_loosened(old, new), expected, "{old} -> {new}");
        }
    }
}
