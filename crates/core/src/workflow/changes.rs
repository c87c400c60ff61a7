//! Which tables of a workflow document have changed since another version of it.

use super::renames::Renames;
use super::{Document, SchemaText, Workflow};
use orch_base::words;
use toml::{Table, Value};

/// A version of a workflow: its document, and what was compiled of it.
#[derive(Clone, Copy)]
pub struct DocumentVersion<'d> {
    /// The document.
    pub document: &'d Document,
    /// The workflow.
    pub workflow: &'d Workflow,
}

/// A table of a document that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChange {
    /// What the table is: `phase`, `rule`, `limits`.
    pub section: String,
    /// Its present name, or the last one it had; empty where there is only one such table.
    pub name: String,
    /// What has become of it.
    pub kind: TableChangeKind,
    /// Its former name if it was renamed, the phase in which tasks go on if it moved, and nothing otherwise.
    pub other: Option<String>,
    /// The keys whose values differ.
    pub keys: Vec<String>,
}

words! {
    /// What has become of a table.
    pub enum TableChangeKind {
        /// It is new.
        Added = "added",
        /// It is no more.
        Removed = "removed",
        /// It has another name, and perhaps other values.
        Renamed = "renamed",
        /// It is no more, and the document says where tasks go on.
        Moved = "moved",
        /// It has other values.
        Changed = "changed",
    }
}

/// The tables that differ, in the order of the present version; those that are gone come last.
#[must_use]
pub fn changes(former: DocumentVersion<'_>, now: DocumentVersion<'_>) -> Vec<TableChange> {
    let mut comparing = TableComparison {
        renames: Renames::between(former.workflow, now.workflow),
        workflow: now.workflow,
        found: Vec::new(),
    };
    let [old, new] = [former, now].map(|version| tables(version.document));
    let gone = old.keys().filter(|section| !new.contains_key(*section));
    for section in new.keys().chain(gone) {
        comparing.section(section, old.get(section), new.get(section));
    }
    comparing.schemas(former.workflow);
    comparing.found
}

fn tables(document: &Document) -> Table {
    document.blocks().parse().unwrap_or_default()
}

struct TableComparison<'w> {
    renames: Renames,
    workflow: &'w Workflow,
    found: Vec<TableChange>,
}

/// The tables of a section by their names.
type NamedTables<'t> = Vec<(String, &'t Value)>;

impl TableComparison<'_> {
    fn section(&mut self, section: &str, former: Option<&Value>, now: Option<&Value>) {
        let former = former.map(|value| named(section, value));
        let now = now.map(|value| named(section, value));
        let (former, now) = (former.unwrap_or_default(), now.unwrap_or_default());
        let is_renamed = matches!(section, "phase" | "artifact");
        let present = |name: &str| -> String {
            let name = if is_renamed {
                self.renames.name(name)
            } else {
                name
            };
            name.to_owned()
        };
        let former: Vec<(String, String, &Value)> = former
            .into_iter()
            .map(|(name, value)| (present(&name), name, value))
            .collect();
        let mut found = Vec::new();
        for (name, value) in &now {
            let mut same = former.iter();
            let change = match same.find(|(own, _, _)| own == name) {
                Some((_, old, before)) => self.changed(section, (old, before), (name, value)),
                None => Some(change(section, name, TableChangeKind::Added)),
            };
            found.extend(change);
        }
        for (own, name, _) in &former {
            if now.iter().any(|(name, _)| name == own) {
                continue;
            }
            let mut gone = change(section, name, TableChangeKind::Removed);
            if section == "phase"
                && let Some(to) = self.workflow.goes_on_in(name)
            {
                gone.kind = TableChangeKind::Moved;
                gone.other = Some(to.to_string());
            }
            found.push(gone);
        }
        if matches!(section, "phase" | "rule") && is_other_order(&former, &now) {
            let mut order = change(section, "", TableChangeKind::Changed);
            order.keys.push("order".to_owned());
            found.push(order);
        }
        self.found.extend(found);
    }

    /// What has changed between a table and the same one, perhaps under another name.
    fn changed(
        &self,
        section: &str,
        (old, former): (&str, &Value),
        (name, now): (&str, &Value),
    ) -> Option<TableChange> {
        let is_renamed = old != name;
        let mut found = change(section, name, TableChangeKind::Changed);
        if is_renamed {
            found.kind = TableChangeKind::Renamed;
            found.other = Some(old.to_owned());
        }
        match (former, now) {
            (Value::Table(former), Value::Table(now)) => {
                let gone = former.keys().filter(|key| !now.contains_key(*key));
                let all = now.keys().chain(gone);
                let differ = |key: &&String| match (former.get(*key), now.get(*key)) {
                    (Some(former), Some(now)) => !self.is_same(former, now),
                    _ => true,
                };
                let keys = all
                    .filter(differ)
                    .filter(|key| !is_renamed || *key != "aliases");
                found.keys = keys.cloned().collect();
            }
            (former, now) if self.is_same(former, now) => {}
            _ => return Some(found),
        }
        (is_renamed || !found.keys.is_empty()).then_some(found)
    }

    /// Whether a value of the former version is the same as one now, under the names of now.
    fn is_same(&self, former: &Value, now: &Value) -> bool {
        match (former, now) {
            (Value::String(former), Value::String(now)) => {
                former == now || self.renames.expression(former) == *now
            }
            (Value::Array(former), Value::Array(now)) => {
                let mut both = former.iter().zip(now);
                former.len() == now.len() && both.all(|(one, other)| self.is_same(one, other))
            }
            (Value::Table(former), Value::Table(now)) => {
                let mut both = former.iter();
                former.len() == now.len()
                    && both.all(|(key, value)| {
                        now.get(key).is_some_and(|other| self.is_same(value, other))
                    })
            }
            _ => former == now,
        }
    }

    /// Adds the schemas whose texts differ to what has changed of the tables that name them.
    fn schemas(&mut self, former: &Workflow) {
        let digest = |schema: &Option<SchemaText>| schema.as_ref().map(|schema| schema.digest);
        for artifact in &self.workflow.artifacts {
            let name = artifact.name.as_str();
            let mut old = former.artifacts.iter();
            let old = old.find(|old| self.renames.name(old.name.as_str()) == name);
            if old.is_some_and(|old| digest(&old.schema) != digest(&artifact.schema)) {
                self.key("artifact", name, "schema");
            }
        }
        if digest(&former.state.schema) != digest(&self.workflow.state.schema) {
            self.key("state", "", "schema");
        }
    }

    fn key(&mut self, section: &str, name: &str, key: &str) {
        let mut known = self.found.iter();
        let at = known.position(|known| known.section == section && known.name == name);
        let at = at.unwrap_or_else(|| {
            self.found
                .push(change(section, name, TableChangeKind::Changed));
            self.found.len() - 1
        });
        let keys = &mut self.found[at].keys;
        if !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
}

fn change(section: &str, name: &str, kind: TableChangeKind) -> TableChange {
    TableChange {
        section: section.to_owned(),
        name: name.to_owned(),
        kind,
        other: None,
        keys: Vec::new(),
    }
}

/// The tables of a section: those that have names, the rules by their ids, and otherwise the section itself.
fn named<'t>(section: &str, value: &'t Value) -> NamedTables<'t> {
    const OF_NAMES: [&str; 6] = ["define", "artifact", "phase", "action", "ask", "deadline"];
    match value {
        Value::Table(table) if OF_NAMES.contains(&section) => table
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(tables) => {
            let id = |nth: usize, table: &Value| match table.get("id").and_then(Value::as_str) {
                Some(id) => id.to_owned(),
                None => (nth + 1).to_string(),
            };
            let tables = tables.iter().enumerate();
            tables.map(|(nth, table)| (id(nth, table), table)).collect()
        }
        value => vec![(String::new(), value)],
    }
}

/// Whether what both versions have stands in another order.
fn is_other_order(former: &[(String, String, &Value)], now: &[(String, &Value)]) -> bool {
    let is_kept = |name: &&str| now.iter().any(|(own, _)| own == name);
    let was = former.iter().map(|(own, _, _)| own.as_str());
    let was: Vec<&str> = was.filter(is_kept).collect();
    let is = now.iter().map(|(own, _)| own.as_str());
    let is: Vec<&str> = is.filter(|own| was.contains(own)).collect();
    was != is
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{System, compile};

    const TEXT: &str = r#"```toml orch
[workflow]
title = "A title"
[artifact.a]
path = "a.json"
schema = "a"
[phase.write]
produces = ["a"]
[phase.review]
needs = ["a"]
[phase.done]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "a.ready"
to = "review"
because = "it is there"
[[rule]]
id = "end"
from = "review"
when = "a.ready"
to = "done"
because = "it is over"
```
"#;

    fn version(replaced: &[(&str, &str)], schema: &str) -> (Document, Workflow) {
        let mut text = TEXT.to_owned();
        for (old, new) in replaced {
            assert!(text.contains(old), "{old}");
            text = text.replace(old, new);
        }
        let document = Document::new("w", "w.md", text);
        let (workflow, found) = compile(
            &document,
            &System::empty().with("schemas/a.schema.json", schema),
        );
        let workflow = workflow.unwrap_or_else(|| panic!("{found:#?}"));
        (document, workflow)
    }

    #[test]
    fn tables_are_compared_by_their_present_names() {
        let removed = "[[rule]]\nid = \"end\"\nfrom = \"review\"\nwhen = \"a.ready\"\nto = \"done\"\nbecause = \"it is over\"\n";
        for (replaced, schema, expected) in [
            (vec![("A title", "A title")], "{}", vec![]),
            (vec![("\"a.ready\"", "'a.ready' # why")], "{}", vec![]),
            (
                vec![
                    ("[phase.review]", "[phase.check]\naliases = ['review']"),
                    ("\"review\"", "\"check\""),
                ],
                "{}",
                vec!["phase check renamed review: "],
            ),
            (
                vec![
                    ("[phase.review]", "[phase.facts]"),
                    ("\"review\"", "\"facts\""),
                    (
                        "[phase.done]",
                        "[migrate.phases]\nreview = 'facts'\n[phase.done]",
                    ),
                ],
                "{}",
                vec![
                    "phase facts added: ",
                    "phase review moved facts: ",
                    "migrate  added: ",
                    "rule written changed: to",
                    "rule end changed: from",
                ],
            ),
            (
                vec![
                    (removed, ""),
                    ("title = \"A title\"", "title = \"B\"\nattempts = 3"),
                ],
                "{\"type\": \"object\"}",
                vec![
                    "workflow  changed: title, attempts",
                    "rule end removed: ",
                    "artifact a changed: schema",
                ],
            ),
            (
                vec![(removed, ""), ("[[rule]]", &format!("{removed}[[rule]]"))],
                "{}",
                vec!["rule  changed: order"],
            ),
        ] {
            let former = version(&[], "{}");
            let now = version(&replaced, schema);
            let [old, new] =
                [&former, &now].map(|(document, workflow)| DocumentVersion { document, workflow });
            let found: Vec<String> = changes(old, new)
                .iter()
                .map(|one| {
                    let other = one.other.as_ref().map(|other| format!(" {other}"));
                    let other = other.unwrap_or_default();
                    let (section, name) = (&one.section, &one.name);
                    format!(
                        "{section} {name} {}{other}: {}",
                        one.kind.as_str(),
                        one.keys.join(", ")
                    )
                })
                .collect();
            assert_eq!(found, expected, "{replaced:?}");
            // The digest says the same.
            assert_eq!(former.1.digest == now.1.digest, found.is_empty());
        }
    }
}
