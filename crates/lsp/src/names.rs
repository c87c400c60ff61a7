//! Questions about a name in a workflow document: what it is, where it is defined and used, what may be written here.

use crate::keys::{OfferKind, keys_by_schema};
use crate::project::OpenDocument;
use crate::text::LinedText;
use orch_base::Code;
use orch_core::workflow::guard::{ITEM, function_names};
use orch_core::workflow::{
    BlockKey, GuardText, Outcome, Owner, Signal, Symbol, SymbolKind, Workflow, block_keys,
    guard_paths, guards, name_type, schema_field, symbols,
};
use serde_json::{Value, json};
use std::ops::Range;

/// The name at an offset.
pub struct NameThere {
    /// What is named.
    pub symbol: Symbol,
    /// All places where the document names the same.
    pub all: Vec<Symbol>,
}

/// The name at an offset of a document; `None` if there is none.
pub fn name_at(open: &OpenDocument<'_>, offset: usize) -> Option<NameThere> {
    let found = symbols(&open.document);
    let is_there = |one: &&Symbol| one.span.start <= offset && offset <= one.span.end;
    let symbol = found.iter().find(is_there)?.clone();
    let same = |one: &Symbol| one.kind == symbol.kind && one.name == symbol.name;
    let all = found.into_iter().filter(same).collect();
    Some(NameThere { symbol, all })
}

/// A path in a guard, up to the name at an offset.
pub struct PathThere {
    /// The names, from the root; in a fact, that is its artifact.
    pub names: Vec<String>,
    /// The bytes of all of them.
    pub bytes: Range<usize>,
}

/// The path at an offset, as guards have it.
pub fn path_at(open: &OpenDocument<'_>, offset: usize) -> Option<PathThere> {
    let guard = guard_at(open, offset)?;
    for path in guard_paths(&open.document, &guard) {
        let is_there = |span: &Range<usize>| span.start <= offset && offset <= span.end;
        let Some(last) = path.names.iter().position(|(_, span)| is_there(span)) else {
            continue;
        };
        let names = path.names[..=last].iter().map(|(name, _)| name.clone());
        return Some(PathThere {
            names: guard.artifact.clone().into_iter().chain(names).collect(),
            bytes: path.names[0].1.start..path.names[last].1.end,
        });
    }
    None
}

fn guard_at(open: &OpenDocument<'_>, offset: usize) -> Option<GuardText> {
    let mut all = guards(&open.document).into_iter();
    all.find(|guard| guard.span.start < offset && offset < guard.span.end.max(guard.span.start + 2))
}

/// What there is to say of the place of an offset, as Markdown, and the bytes that it is about.
pub fn hover(open: &mut OpenDocument<'_>, offset: usize) -> Option<(String, Range<usize>)> {
    if let Some(there) = name_at(open, offset) {
        let text = described(open, &there.symbol);
        return Some((text, there.symbol.span));
    }
    if let Some(path) = path_at(open, offset) {
        let text = fact(open, &path.names)?;
        return Some((text, path.bytes));
    }
    let (key, bytes) = key_at(open, offset)?;
    let text = format!("`{}` of `[{}]`: {}", key.key, key.table, key.meaning);
    Some((text, bytes))
}

/// What a fact is: its type, the values that it can have, and what its schema says of it.
fn fact(open: &mut OpenDocument<'_>, names: &[String]) -> Option<String> {
    let workflow = open.workflow?;
    let known = name_type(workflow, names, open.memo)?;
    let mut text = format!("`{}`: {}", names.join("."), known.kinds);
    if !known.texts.is_empty() {
        text.push_str(&format!(", one of `{}`", known.texts.join("`, `")));
    }
    if let Some(meaning) = meaning_by_schema(workflow, names) {
        text.push_str(&format!("\n\n{meaning}"));
    }
    if let [artifact, fact] = names
        && let Some(guard) = own_fact(workflow, artifact, fact)
    {
        text.push_str(&format!("\n\n```cel\n{guard}\n```"));
    }
    Some(text)
}

fn own_fact<'w>(workflow: &'w Workflow, artifact: &str, fact: &str) -> Option<&'w str> {
    let mut artifacts = workflow.artifacts.iter();
    let artifact = artifacts.find(|known| known.name.as_str() == artifact)?;
    let (_, guard) = artifact.facts.iter().find(|(name, _)| name == fact)?;
    Some(guard.text())
}

fn meaning_by_schema(workflow: &Workflow, names: &[String]) -> Option<String> {
    let (schema, rest) = match names {
        [artifact, data, rest @ ..] if data == "data" => {
            let mut artifacts = workflow.artifacts.iter();
            let artifact = artifacts.find(|known| known.name.as_str() == artifact)?;
            (artifact.schema.as_ref()?, rest)
        }
        [state, rest @ ..] if state == "state" => (workflow.state.schema.as_ref()?, rest),
        _ => return None,
    };
    let pointer = rest.iter().fold(String::new(), |pointer, name| {
        orch_base::pointer::child(&pointer, name)
    });
    let field = schema_field(schema.value()?, &pointer)?;
    let text = field.get("description").or_else(|| field.get("title"))?;
    text.as_str().map(str::to_owned)
}

fn described(open: &OpenDocument<'_>, symbol: &Symbol) -> String {
    let name = &symbol.name;
    let of = open.workflow;
    let text = match symbol.kind {
        SymbolKind::Phase => of.and_then(|workflow| phase(workflow, name)),
        SymbolKind::Artifact => of.and_then(|workflow| artifact(workflow, name)),
        SymbolKind::Define => of.and_then(|workflow| {
            let mut defines = workflow.defines.iter();
            let (_, guard) = defines.find(|(known, _)| known == name)?;
            Some(format!(
                "`{name}` is a definition:\n\n```cel\n{}\n```",
                guard.text()
            ))
        }),
        SymbolKind::Action => of.and_then(|workflow| {
            let mut actions = workflow.actions.iter();
            let action = actions.find(|known| known.name.as_str() == name)?;
            let title = action.title.clone().unwrap_or_default();
            Some(format!("action `{name}` {title}"))
        }),
        SymbolKind::Rule => of.and_then(|workflow| {
            let mut rules = workflow.rules.iter();
            let rule = rules.find(|known| known.id.as_str() == name)?;
            Some(format!("rule `{name}`: {}", rule.because))
        }),
        SymbolKind::Ask | SymbolKind::Schema | SymbolKind::Agent => None,
    };
    text.unwrap_or_else(|| {
        let what = match symbol.kind {
            SymbolKind::Phase => "phase",
            SymbolKind::Artifact => "artifact",
            SymbolKind::Define => "definition",
            SymbolKind::Action => "action",
            SymbolKind::Ask => "question",
            SymbolKind::Schema => "schema",
            SymbolKind::Agent => "instructions",
            SymbolKind::Rule => "rule",
        };
        format!("{what} `{name}`")
    })
}

fn phase(workflow: &Workflow, name: &str) -> Option<String> {
    let phase = workflow.phase_named(name)?;
    let title = phase.title.clone().unwrap_or_default();
    let mut text = format!("phase `{name}` {title}\n\nowner: {}", phase.owner.as_str());
    for (what, names) in [("needs", &phase.needs), ("produces", &phase.produces)] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            text.push_str(&format!("\n\n{what}: {}", names.join(", ")));
        }
    }
    for rule in workflow.rules_from(&phase.id) {
        if let Outcome::To(to) = &rule.outcome {
            text.push_str(&format!("\n- to `{to}`: {} (`{}`)", rule.because, rule.id));
        }
    }
    Some(text)
}

fn artifact(workflow: &Workflow, name: &str) -> Option<String> {
    let mut artifacts = workflow.artifacts.iter();
    let artifact = artifacts.find(|known| known.name.as_str() == name)?;
    let title = artifact.title.clone().unwrap_or_default();
    let mut text = format!("artifact `{name}` {title}");
    if !artifact.paths.is_empty() {
        text.push_str(&format!("\n\n`{}`", artifact.paths.join("`, `")));
    }
    text.push_str(&format!(", read as {}", artifact.format.as_str()));
    if let Some(schema) = &artifact.schema {
        text.push_str(&format!(", schema `{}`", schema.name));
    }
    Some(text)
}

/// The table of a block in which an offset is.
fn table_at(open: &OpenDocument<'_>, offset: usize) -> Option<&'static str> {
    let before = open.document.blocks().get(..offset)?;
    let heading = before
        .lines()
        .rev()
        .find(|line| line.trim_start().starts_with('['))?;
    let table = heading.trim().trim_matches(['[', ']']);
    let tables = [
        "workflow", "artifact", "phase", "rule", "action", "ask", "limits",
    ];
    let mut parts = table.split('.');
    let first = parts.next()?;
    let depth = parts.count();
    let is_own = depth == usize::from(!matches!(first, "workflow" | "rule" | "limits"));
    tables.into_iter().find(|known| *known == first && is_own)
}

fn key_at(open: &OpenDocument<'_>, offset: usize) -> Option<(BlockKey, Range<usize>)> {
    let table = table_at(open, offset)?;
    let text = open.document.blocks();
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next()?;
    let lead = line.len() - line.trim_start().len();
    let key = line.trim_start().split(['=', ' ', '.']).next()?;
    let bytes = start + lead..start + lead + key.len();
    let mut keys = block_keys().into_iter();
    let found = keys.find(|known| known.table == table && known.key == key)?;
    (bytes.start <= offset && offset <= bytes.end).then_some((found, bytes))
}

fn offer(label: &str, kind: OfferKind, detail: &str) -> Value {
    json!({"label": label, "kind": kind as u8, "detail": detail})
}

/// What may be written at an offset.
pub fn completions(open: &mut OpenDocument<'_>, text: &LinedText, offset: usize) -> Vec<Value> {
    let line = text.line_before(offset).to_owned();
    if open.document.is_test(offset) {
        if let Some((before, _)) = line.rsplit_once('=') {
            return of_test_values(open, before);
        }
        return keys_by_schema(
            "input/workflow-tests",
            &open.document.test_blocks()[..offset],
        );
    }
    if !open.document.is_machine(offset) {
        return Vec::new();
    }
    if line.trim_start().starts_with('[') {
        return Vec::new();
    }
    let Some((key, value)) = line.split_once('=') else {
        return of_keys(open, offset);
    };
    let key = key.trim();
    if guard_at(open, offset).is_some() || is_expression(open, key, offset) {
        return in_guard(open, value);
    }
    of_values(open, key)
}

/// Whether the value of a key is an expression, also where the document cannot be read because it is being typed.
fn is_expression(open: &OpenDocument<'_>, key: &str, offset: usize) -> bool {
    let before = &open.document.blocks()[..offset];
    let heading = before.lines().rev().find(|line| line.starts_with('['));
    let is_table = heading.is_some_and(|heading| {
        heading.starts_with("[define") || heading.trim_end_matches(']').ends_with(".facts")
    });
    is_table
        || matches!(
            key,
            "when" | "ensures" | "substate" | "remarks" | "names" | "named_by"
        )
}

fn of_keys(open: &OpenDocument<'_>, offset: usize) -> Vec<Value> {
    let Some(table) = table_at(open, offset) else {
        return Vec::new();
    };
    let keys = block_keys().into_iter();
    let keys = keys.filter(|key| key.table == table);
    keys.map(|key| {
        json!({
            "label": key.key,
            "kind": OfferKind::Property as u8,
            "insertText": format!("{} = ", key.key),
            "documentation": {"kind": "markdown", "value": key.meaning},
        })
    })
    .collect()
}

fn of_values(open: &OpenDocument<'_>, key: &str) -> Vec<Value> {
    let kind = match key {
        "initial" | "from" | "to" => SymbolKind::Phase,
        "needs" | "reads" | "produces" | "may_produce" | "judges" | "not_by" | "undoes" => {
            SymbolKind::Artifact
        }
        "run" | "choose" => SymbolKind::Action,
        "ask" => SymbolKind::Ask,
        "schema" => return files(open, "schemas", ".schema.json"),
        "agent" | "prompt" => return files(open, "agents", ".md"),
        "owner" => return words(&["agent", "human", "process", "none"]),
        "by" => return words(&["human"]),
        "on" => return words(&["start", "pause", "resume", "stop"]),
        "terminal" | "success" | "commit" | "filled" => return words(&["true", "false"]),
        "format" => {
            let formats = orch_core::workflow::Format::ALL.iter();
            let formats: Vec<&str> = formats.map(|format| format.as_str()).collect();
            return words(&formats);
        }
        _ => return Vec::new(),
    };
    of_symbols(open, kind)
}

/// What the value of a key of a test can be. The key ends the text that stands before its sign.
fn of_test_values(open: &OpenDocument<'_>, before: &str) -> Vec<Value> {
    let mut parts = before.trim_end().rsplit([' ', '{', ',', '.']);
    let kind = match parts.next().unwrap_or_default() {
        "phase" => SymbolKind::Phase,
        "rule" => SymbolKind::Rule,
        "used_up" | "waived" => SymbolKind::Artifact,
        "chosen" | "skipped" => SymbolKind::Action,
        "who" => return words(&Owner::ALL.map(Owner::as_str)),
        "findings" => {
            let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
            return words(&codes);
        }
        "on" => return words(&Signal::ALL.map(Signal::as_str)),
        _ => return Vec::new(),
    };
    of_symbols(open, kind)
}

/// The names that a document defines.
fn of_symbols(open: &OpenDocument<'_>, kind: SymbolKind) -> Vec<Value> {
    let found = symbols(&open.document).into_iter();
    let found = found.filter(|one| one.kind == kind && one.is_definition);
    found
        .map(|one| offer(&one.name, OfferKind::Value, ""))
        .collect()
}

fn words(words: &[&str]) -> Vec<Value> {
    words
        .iter()
        .map(|word| offer(word, OfferKind::Value, ""))
        .collect()
}

fn files(open: &OpenDocument<'_>, folder: &str, suffix: &str) -> Vec<Value> {
    let names = open.system.names(folder, suffix);
    let names = names.filter(|name| !name.contains('/'));
    names
        .map(|name| offer(name, OfferKind::Module, ""))
        .collect()
}

/// What may follow in a guard: the members of a path, or a name and a function.
fn in_guard(open: &mut OpenDocument<'_>, before: &str) -> Vec<Value> {
    let start = before
        .rfind(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'))
        .map_or(0, |at| at + 1);
    let path = &before[start..];
    let Some(workflow) = open.workflow else {
        return Vec::new();
    };
    if let Some((above, _)) = path.rsplit_once('.') {
        let names: Vec<String> = above.split('.').map(str::to_owned).collect();
        let Some(known) = name_type(workflow, &names, open.memo) else {
            return Vec::new();
        };
        let members = known.members.iter();
        return members
            .filter(|(name, _)| name != ITEM)
            .map(|(name, kinds)| offer(name, OfferKind::Field, kinds))
            .collect();
    }
    let mut offers = Vec::new();
    for artifact in &workflow.artifacts {
        let title = artifact.title.as_deref().unwrap_or("artifact");
        offers.push(offer(artifact.name.as_str(), OfferKind::Module, title));
    }
    for (name, guard) in &workflow.defines {
        offers.push(offer(name, OfferKind::Field, guard.text()));
    }
    for name in ["state", "phase", "attempt", "task", "run", "action"] {
        offers.push(offer(name, OfferKind::Field, ""));
    }
    for name in function_names() {
        offers.push(offer(name, OfferKind::Function, "function"));
    }
    offers
}
