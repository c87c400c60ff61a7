//! Edits of a workflow document: renaming, what a hint says to write, and the diagram redrawn.

use crate::names::name_at;
use crate::project::OpenDocument;
use crate::text::LinedText;
use orch_base::{ArtifactName, Code, PhaseId};
use orch_core::workflow::{SymbolKind, format, symbols};
use serde_json::{Value, json};
use std::ops::Range;

fn edit(text: &LinedText, bytes: &Range<usize>, new: &str) -> Value {
    json!({"range": text.range(bytes), "newText": new})
}

/// The bytes of the name that can be renamed at an offset, and the name.
pub fn renameable(open: &OpenDocument<'_>, offset: usize) -> Option<(Range<usize>, String)> {
    let there = name_at(open, offset)?.symbol;
    let is_possible = matches!(there.kind, SymbolKind::Phase | SymbolKind::Artifact);
    is_possible.then_some((there.span, there.name))
}

/// The edits that rename the phase or the artifact at an offset wherever the document and its tests name it. The old name
/// becomes an alias, so that records under it continue. Returns what is wrong with the new name, if something is.
pub fn rename(
    open: &OpenDocument<'_>,
    text: &LinedText,
    offset: usize,
    new: &str,
) -> Result<Vec<Value>, String> {
    let there = name_at(open, offset).ok_or("there is no name here")?;
    let kind = there.symbol.kind;
    let checked = match kind {
        SymbolKind::Phase => PhaseId::new(new).map(|_| ()),
        SymbolKind::Artifact => ArtifactName::new(new).map(|_| ()),
        _ => return Err("only phases and artifacts can be renamed here".to_owned()),
    };
    checked.map_err(|error| error.to_string())?;
    let old = &there.symbol.name;
    if new == old {
        return Ok(Vec::new());
    }
    let mut others = symbols(&open.document).into_iter();
    if others.any(|one| one.kind == kind && one.name == new) {
        return Err(format!("`{new}` is already a name in this document"));
    }
    let mut edits: Vec<Value> = Vec::new();
    for one in &there.all {
        edits.push(edit(text, &one.span, new));
    }
    let defined = there.all.iter().find(|one| one.is_definition);
    edits.extend(defined.and_then(|one| alias(open, text, one.span.end, old)));
    Ok(edits)
}

/// The edit that adds an alias to the table whose heading ends behind an offset.
fn alias(open: &OpenDocument<'_>, text: &LinedText, end: usize, old: &str) -> Option<Value> {
    let blocks = open.document.blocks();
    let line_end = end + blocks[end..].find('\n')?;
    // A table below it, such as `[artifact.plan.facts]`, has no aliases.
    if !blocks[end..line_end]
        .trim_matches([' ', '"', '\'', '\r'])
        .starts_with(']')
    {
        return None;
    }
    let mut at = line_end + 1;
    for line in blocks[at..].split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            break;
        }
        if line
            .split('=')
            .next()
            .is_some_and(|key| key.trim() == "aliases")
        {
            let open_bracket = at + line.find('[')? + 1;
            let is_empty = blocks[open_bracket..].trim_start().starts_with(']');
            let new = if is_empty {
                format!("\"{old}\"")
            } else {
                format!("\"{old}\", ")
            };
            return Some(edit(text, &(open_bracket..open_bracket), &new));
        }
        at += line.len();
    }
    let at = line_end + 1;
    Some(edit(text, &(at..at), &format!("aliases = [\"{old}\"]\n")))
}

/// The edits that redraw the diagram; none if it is as the rules are, or the document has errors.
pub fn formatted(open: &OpenDocument<'_>, text: &LinedText) -> Vec<Value> {
    let Some(workflow) = open.workflow else {
        return Vec::new();
    };
    let new = format(&open.document, workflow);
    let old = &open.document.text;
    if new == *old {
        return Vec::new();
    }
    let ends = |one: &[u8], two: &[u8]| one.iter().zip(two).take_while(|(a, b)| a == b).count();
    let mut start = ends(old.as_bytes(), new.as_bytes());
    while !(old.is_char_boundary(start) && new.is_char_boundary(start)) {
        start -= 1;
    }
    let rest = [&old.as_bytes()[start..], &new.as_bytes()[start..]];
    let mut end = rest[0]
        .iter()
        .rev()
        .zip(rest[1].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    while !(old.is_char_boundary(old.len() - end) && new.is_char_boundary(new.len() - end)) {
        end -= 1;
    }
    let changed = &new[start..new.len() - end];
    vec![edit(text, &(start..old.len() - end), changed)]
}

/// What a hint says to write in the place of what a diagnostic is about.
fn replacement(hint: &str) -> Option<&str> {
    let (_, rest) = hint.split_once("did you mean `")?;
    rest.split_once("`?").map(|(word, _)| word)
}

/// The actions for the diagnostics that a client names.
pub fn actions(
    open: Option<&OpenDocument<'_>>,
    text: &LinedText,
    uri: &str,
    diagnostics: &[Value],
) -> Vec<Value> {
    let mut found = Vec::new();
    for diagnostic in diagnostics {
        let hint = diagnostic["data"]["hint"].as_str();
        let hint = hint.or_else(|| {
            diagnostic["message"]
                .as_str()?
                .split_once('\n')
                .map(|two| two.1)
        });
        let fix = |title: String, edits: Vec<Value>| {
            json!({
                "title": title,
                "kind": "quickfix",
                "isPreferred": true,
                "diagnostics": [diagnostic],
                "edit": {"changes": {uri: edits}},
            })
        };
        if diagnostic["code"] == Code::WorkflowDiagram.as_str() {
            let edits = open.map(|open| formatted(open, text)).unwrap_or_default();
            if !edits.is_empty() {
                found.push(fix("redraw the diagram".to_owned(), edits));
            }
            continue;
        }
        let Some(word) = hint.and_then(replacement) else {
            continue;
        };
        let range = &diagnostic["range"];
        let bytes = text.offset(&range["start"])..text.offset(&range["end"]);
        let Some(old) = text.text.get(bytes.clone()) else {
            continue;
        };
        let quote = old
            .chars()
            .next()
            .filter(|first| matches!(first, '"' | '\''));
        let new = match quote {
            Some(quote) => format!("{quote}{word}{quote}"),
            None => word.to_owned(),
        };
        let edits = vec![edit(text, &bytes, &new)];
        found.push(fix(format!("write `{word}`"), edits));
    }
    found
}
