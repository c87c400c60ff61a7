//! Where each name of a document is defined and used, as byte ranges of its text.
//!
//! A document with errors has symbols too: what can be read of it counts. Nothing here decides whether a name exists.

use super::place::source_offset;
use super::raw::{self, Text};
use super::{Document, Guard};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a name names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// A phase.
    Phase,
    /// An artifact.
    Artifact,
    /// A named expression.
    Define,
    /// An action.
    Action,
    /// A question.
    Ask,
    /// A schema of `system/schemas`.
    Schema,
    /// Instructions of `system/agents`.
    Agent,
    /// A rule.
    Rule,
}

/// A place where a document names something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// What is named.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// The bytes of the name, without quotes.
    pub span: Range<usize>,
    /// Whether it is named here for the first time, in the heading of its table.
    pub is_definition: bool,
}

/// A dotted path in a guard, with the bytes of each of its names in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardPath {
    /// The names, from the root.
    pub names: Vec<(String, Range<usize>)>,
}

/// A guard or another expression, where it stands.
#[derive(Debug, Clone)]
pub struct GuardText {
    /// The expression.
    pub text: String,
    /// The bytes of its TOML string, with the quotes.
    pub span: Range<usize>,
    /// The artifact of which it is a fact.
    pub artifact: Option<String>,
}

/// The symbols of a document, in the order of its text.
#[must_use]
pub fn symbols(document: &Document) -> Vec<Symbol> {
    let (raw, _) = raw::read(document);
    let mut found = SymbolList {
        document,
        symbols: Vec::new(),
    };
    found.headings();
    let of_artifacts = raw
        .artifacts
        .iter()
        .map(|one| (SymbolKind::Artifact, &one.name));
    let of_phases = raw.phases.iter().map(|one| (SymbolKind::Phase, &one.name));
    let of_actions = raw
        .actions
        .iter()
        .map(|one| (SymbolKind::Action, &one.name));
    let of_asks = raw.asks.iter().map(|one| (SymbolKind::Ask, &one.name));
    let of_defines = raw
        .defines
        .iter()
        .map(|(name, _)| (SymbolKind::Define, name));
    let named = of_artifacts.chain(of_phases).chain(of_actions);
    for (kind, name) in named.chain(of_asks).chain(of_defines) {
        found.definition(kind, name);
    }
    found.all(SymbolKind::Phase, &raw.initial);
    found.all(SymbolKind::Schema, &raw.state_schema);
    for artifact in &raw.artifacts {
        found.all(SymbolKind::Artifact, &artifact.judges);
        found.all(SymbolKind::Schema, &artifact.schema);
    }
    for phase in &raw.phases {
        for names in [
            &phase.needs,
            &phase.reads,
            &phase.produces,
            &phase.may_produce,
            &phase.not_by,
            &phase.undoes,
        ] {
            found.all(SymbolKind::Artifact, names);
        }
        found.all(SymbolKind::Agent, &phase.agent);
    }
    for action in &raw.actions {
        found.all(SymbolKind::Agent, &action.prompt);
    }
    for rule in &raw.rules {
        let from = rule.from.iter().filter(|from| from.value != "*");
        found.all(SymbolKind::Phase, from.chain(&rule.to));
        let chosen = rule.choose.iter().flatten();
        found.all(SymbolKind::Action, rule.run.iter().chain(chosen));
        found.all(SymbolKind::Ask, &rule.ask);
        if let Some(id) = &rule.id {
            found.definition(SymbolKind::Rule, id);
        }
    }
    let known = found.symbols.clone();
    for guard in guards(document) {
        found.of_guard(&guard, &known);
    }
    found.of_tests(&known);
    let mut symbols = found.symbols;
    symbols.sort_by_key(|symbol| symbol.span.start);
    symbols.dedup_by_key(|symbol| symbol.span.start);
    symbols
}

/// The guards and the other expressions of a document.
#[must_use]
pub fn guards(document: &Document) -> Vec<GuardText> {
    let (raw, _) = raw::read(document);
    let mut found = Vec::new();
    let mut add = |texts: &mut dyn Iterator<Item = &Text>, artifact: Option<&str>| {
        for text in texts {
            found.push(GuardText {
                text: text.value.clone(),
                span: text.span.clone(),
                artifact: artifact.map(str::to_owned),
            });
        }
    };
    for artifact in &raw.artifacts {
        let facts = artifact.facts.iter().map(|(_, text)| text);
        add(&mut facts.into_iter(), Some(&artifact.name.value));
        add(&mut artifact.named_by.iter(), None);
    }
    add(&mut raw.defines.iter().map(|(_, text)| text), None);
    add(&mut raw.names.iter(), None);
    add(&mut raw.rebuild.iter().map(|(_, text)| text), None);
    for phase in &raw.phases {
        add(&mut phase.substate.iter().chain(&phase.remarks), None);
    }
    for rule in &raw.rules {
        let set = rule.set.iter().map(|(_, text)| text);
        add(&mut rule.when.iter().chain(set), None);
    }
    for action in &raw.actions {
        add(&mut action.when.iter().chain(&action.ensures), None);
    }
    for ask in &raw.asks {
        let values = ask.options.iter().chain(&ask.default).chain(&ask.set);
        add(&mut values.map(|(_, text)| text), None);
    }
    found
}

/// The dotted paths of a guard, outside its texts.
#[must_use]
pub fn guard_paths(document: &Document, guard: &GuardText) -> Vec<GuardPath> {
    let source = &document.text[guard.span.clone()];
    let at = |offset| guard.span.start + source_offset(source, &guard.text, offset);
    let mut paths: Vec<GuardPath> = Vec::new();
    let mut continues = false;
    for (start, word) in words(&guard.text) {
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if is_name {
            let name = (word.to_owned(), at(start)..at(start + word.len()));
            match paths.last_mut().filter(|_| continues) {
                Some(path) => path.names.push(name),
                None => paths.push(GuardPath { names: vec![name] }),
            }
        }
        continues = word == "." && !paths.is_empty();
    }
    paths
}

/// The words of an expression: names and numbers, texts with their quotes, and single signs, each with its offset.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(char) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if char.is_ascii_alphanumeric() || char == '_' {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len())
        } else if matches!(char, '"' | '\'') {
            let mut is_escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let is_end = *c == char && !is_escaped;
                is_escaped = *c == '\\' && !is_escaped;
                is_end
            });
            end.map_or(rest.len(), |(end, _)| end + 1)
        } else {
            char.len_utf8()
        };
        if !char.is_whitespace() {
            found.push((at, &text[at..at + length]));
        }
        at += length;
    }
    found
}

struct SymbolList<'d> {
    document: &'d Document,
    symbols: Vec<Symbol>,
}

impl SymbolList<'_> {
    /// The names in the headings of tables: `[phase.plan]`, `[artifact.plan.facts]`.
    fn headings(&mut self) {
        let mut at = 0;
        for line in self.document.toml.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let Some(inner) = line.trim_start().strip_prefix('[') else {
                continue;
            };
            let begin = start + line.len() - inner.len();
            let Some((table, rest)) = inner.split_once('.') else {
                continue;
            };
            let kind = match table.trim() {
                "phase" => SymbolKind::Phase,
                "artifact" => SymbolKind::Artifact,
                "action" => SymbolKind::Action,
                "ask" => SymbolKind::Ask,
                _ => continue,
            };
            let quoted = rest.trim_start_matches(['"', '\'', ' ']);
            let length = quoted
                .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
                .unwrap_or(quoted.len());
            let name = &quoted[..length];
            let start = begin + table.len() + 1 + rest.len() - quoted.len();
            let mut known = self.symbols.iter();
            let is_definition = !known.any(|one| one.kind == kind && one.name == name);
            self.symbols.push(Symbol {
                kind,
                name: name.to_owned(),
                span: start..start + length,
                is_definition,
            });
        }
    }

    /// A name that defines something, unless a heading does.
    fn definition(&mut self, kind: SymbolKind, text: &Text) {
        let mut known = self.symbols.iter();
        if known.any(|one| one.kind == kind && one.name == text.value && one.is_definition) {
            return;
        }
        self.add(kind, text, true);
    }

    fn all<'t>(&mut self, kind: SymbolKind, texts: impl IntoIterator<Item = &'t Text>) {
        for text in texts {
            self.add(kind, text, false);
        }
    }

    fn add(&mut self, kind: SymbolKind, text: &Text, is_definition: bool) {
        let source = &self.document.text[text.span.clone()];
        let is_quoted = source.starts_with(['"', '\'']);
        let span = if is_quoted {
            let at = |offset| text.span.start + source_offset(source, &text.value, offset);
            at(0)..at(text.value.len())
        } else {
            text.span.clone()
        };
        self.symbols.push(Symbol {
            kind,
            name: text.value.clone(),
            span,
            is_definition,
        });
    }

    /// The names that a guard reads, as far as the document defines them.
    fn of_guard(&mut self, guard: &GuardText, known: &[Symbol]) {
        if guard.artifact.is_some() {
            return;
        }
        let is_known = |kind: SymbolKind, name: &str| {
            known
                .iter()
                .any(|one| one.kind == kind && one.name == name && one.is_definition)
        };
        let is_read = Guard::parse(&guard.text).map(|parsed| {
            let roots: Vec<String> = parsed.chains().map(|chain| chain[0].clone()).collect();
            roots
        });
        let mut asks_phase = false;
        for path in guard_paths(self.document, guard) {
            let (root, span) = &path.names[0];
            // The variable of a macro may have any name.
            if is_read.as_ref().is_ok_and(|roots| !roots.contains(root)) {
                continue;
            }
            asks_phase |= root == "phase" || path.names.iter().any(|(name, _)| name == "phase");
            let (kind, name, span) = match (root.as_str(), path.names.get(1), path.names.get(2)) {
                ("action", Some((name, span)), _) => (SymbolKind::Action, name, span),
                ("approvals", Some((name, span)), _) => (SymbolKind::Phase, name, span),
                ("state", Some((member, _)), Some((name, span))) if member == "waived" => {
                    (SymbolKind::Artifact, name, span)
                }
                _ if is_known(SymbolKind::Define, root) => (SymbolKind::Define, root, span),
                _ => (SymbolKind::Artifact, root, span),
            };
            if is_known(kind, name) {
                self.symbols.push(Symbol {
                    kind,
                    name: name.clone(),
                    span: span.clone(),
                    is_definition: false,
                });
            }
        }
        if !asks_phase {
            return;
        }
        let source = &self.document.text[guard.span.clone()];
        for (start, word) in words(&guard.text) {
            let name = word.trim_matches(['"', '\'']);
            if name.len() + 2 == word.len() && is_known(SymbolKind::Phase, name) {
                let at = |offset| guard.span.start + source_offset(source, &guard.text, offset);
                self.symbols.push(Symbol {
                    kind: SymbolKind::Phase,
                    name: name.to_owned(),
                    span: at(start + 1)..at(start + 1 + name.len()),
                    is_definition: false,
                });
            }
        }
    }
}

/// The keys of a test below which artifacts are named.
const FILES: [&str; 2] = ["given", "before"];

impl SymbolList<'_> {
    /// The phases, the artifacts and the rules that test blocks name.
    fn of_tests(&mut self, known: &[Symbol]) {
        let text = &self.document.tests;
        let (table, _) = DeTable::parse_recoverable(text);
        let tests = table.get_ref().get("test").map(|tests| tests.get_ref());
        for test in tests.and_then(DeValue::as_array).into_iter().flatten() {
            for (key, value) in test.get_ref().as_table().into_iter().flatten() {
                let of_value = value.get_ref().as_table();
                match key.get_ref().as_ref() {
                    "phase" => self.of_test(SymbolKind::Phase, value, known),
                    "used_up" | "waived" => {
                        let items = value.get_ref().as_array();
                        for item in items.into_iter().flatten() {
                            self.of_test(SymbolKind::Artifact, item, known);
                        }
                    }
                    "expect" => {
                        for (key, value) in of_value.into_iter().flatten() {
                            match key.get_ref().as_ref() {
                                "phase" => self.of_test(SymbolKind::Phase, value, known),
                                "rule" => self.of_test(SymbolKind::Rule, value, known),
                                _ => {}
                            }
                        }
                    }
                    files if FILES.contains(&files) => {
                        for (key, _) in of_value.into_iter().flatten() {
                            let named = (key.get_ref().as_ref(), key.span());
                            self.known(SymbolKind::Artifact, named, known);
                        }
                    }
                    _ => {}
                }
            }
        }
        // A key that occurs twice, `given.plan.a` and `given.plan.b`, and the digests: `@plan`.
        let words = words(text);
        for window in words.windows(3) {
            let [(_, above), (_, dot), (at, name)] = window else {
                continue;
            };
            if FILES.contains(above) && *dot == "." {
                let named = (*name, *at..at + name.len());
                self.known(SymbolKind::Artifact, named, known);
            }
        }
        for (at, word) in words {
            let name = word.trim_matches(['"', '\'']);
            if let Some(name) = name
                .strip_prefix('@')
                .filter(|_| name.len() + 2 == word.len())
            {
                self.known(
                    SymbolKind::Artifact,
                    (name, at + 2..at + 2 + name.len()),
                    known,
                );
            }
        }
    }

    /// A text of a test block.
    fn of_test(&mut self, kind: SymbolKind, value: &Spanned<DeValue<'_>>, known: &[Symbol]) {
        if let Some(name) = value.get_ref().as_str() {
            let span = value.span();
            self.known(
                kind,
                (name, span.start + 1..span.end.saturating_sub(1)),
                known,
            );
        }
    }

    /// A use of a name that the document defines, where the text has exactly this name.
    fn known(&mut self, kind: SymbolKind, named: (&str, Range<usize>), known: &[Symbol]) {
        let (name, span) = named;
        let mut known = known.iter();
        let is_known = known.any(|one| one.kind == kind && one.name == name);
        if is_known && self.document.text.get(span.clone()) == Some(name) {
            self.symbols.push(Symbol {
                kind,
                name: name.to_owned(),
                span,
                is_definition: false,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
```toml orch
[workflow]
initial = "write"

[define]
settled = "note.ready && state.waived.note == null"

[artifact.note]
path = "note.json"
schema = "note"
[artifact.note.facts]
good = "data.note"

[phase.write]
produces = ["note"]
agent = "writer"

[phase.done]
terminal = true

[[rule]]
id = "finished"
from = ["write"]
when = "settled && phase == 'write' && [1].all(note, note > 0)"
to = "done"
because = "note is finished"
```

```toml orch-test
[[test]]
name = "note"
phase = "write"
given.note = { of = "@note" }
used_up = ["note"]
expect = { rule = "finished", phase = "done" }
```
"#;

    #[test]
    fn each_name_is_found_where_it_stands() {
        let document = Document::new("w", "w.md", TEXT);
        let found = symbols(&document);
        let of = |kind, name: &str| {
            let of_kind = found
                .iter()
                .filter(|one| one.kind == kind && one.name == name);
            of_kind
                .map(|one| {
                    assert_eq!(&TEXT[one.span.clone()], name);
                    (
                        TEXT[..one.span.start].matches('\n').count() + 1,
                        one.is_definition,
                    )
                })
                .collect::<Vec<_>>()
        };
        for (kind, name, lines) in [
            (
                SymbolKind::Phase,
                "write",
                vec![
                    (4, false),
                    (15, true),
                    (24, false),
                    (25, false),
                    (33, false),
                ],
            ),
            (
                SymbolKind::Phase,
                "done",
                vec![(19, true), (26, false), (36, false)],
            ),
            (
                SymbolKind::Artifact,
                "note",
                vec![
                    (7, false),
                    (7, false),
                    (9, true),
                    (12, false),
                    (16, false),
                    (34, false),
                    (34, false),
                    (35, false),
                ],
            ),
            (SymbolKind::Schema, "note", vec![(11, false)]),
            (SymbolKind::Agent, "writer", vec![(17, false)]),
            (SymbolKind::Define, "settled", vec![(7, true), (25, false)]),
            (SymbolKind::Rule, "finished", vec![(23, true), (36, false)]),
        ] {
            assert_eq!(of(kind, name), lines, "{kind:?} {name}");
        }
    }

    /// The keys of `code` are words of tests, also where an artifact has the same name.
    #[test]
    fn the_files_of_code_are_no_artifact() {
        for code in [
            "code = { files = [\"a.rs\"] }",
            "code.files = [\"a.rs\"]",
            "given.files = true",
        ] {
            let text = format!(
                "```toml orch\n[artifact.files]\npath = \"f.md\"\n```\n\n```toml orch-test\n[[test]]\nname = \"t\"\n{code}\n```\n"
            );
            let document = Document::new("w", "w.md", text);
            let found = symbols(&document);
            let uses = found
                .iter()
                .filter(|one| one.kind == SymbolKind::Artifact && !one.is_definition);
            assert_eq!(
                uses.count(),
                usize::from(code.starts_with("given")),
                "{code}"
            );
        }
    }
}
