//! What a draft leaves open: texts that begin with TODO.

use crate::read::locate;
use orch_base::pointer::child;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use orch_core::decide::TODO;
use orch_core::workflow::Format;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most texts still to be written that are counted in one document.
pub(super) const MAX_UNWRITTEN: usize = 1000;
/// What is wrong with a text that a draft leaves open.
pub(super) const UNWRITTEN: &str = "this has not been written yet: the text begins with TODO";
/// How many places of a draft its finding names.
const NAMED_PLACES: usize = 3;
/// How many places of a draft are told one by one.
const TOLD_PLACES: usize = 100;

/// Whether a value is a text that a draft leaves open.
pub(super) fn is_todo(value: &Value) -> bool {
    let rest = value
        .as_str()
        .and_then(|text| text.trim_start().strip_prefix(TODO));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Adds the pointers of the texts in a value that a draft leaves open, in the order of the text.
pub(super) fn add_unwritten(at: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        _ if found.len() >= MAX_UNWRITTEN => {}
        _ if is_todo(value) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                add_unwritten(&format!("{at}/{nth}"), item, found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                add_unwritten(&child(at, key), member, found);
            }
        }
        _ => {}
    }
}

/// A place within its file, in words.
fn name_of(place: &Place) -> String {
    let pointer = match place.pointer.as_deref() {
        None | Some("") => String::new(),
        Some(pointer) => format!(" (`{pointer}`)"),
    };
    match place.line {
        Some(line) => format!("line {line}{pointer}"),
        None => pointer,
    }
}

/// The findings about a draft: one error that counts what is still to be written, and a note for each place.
pub(super) fn as_draft(
    data: &Value,
    unwritten: &BTreeSet<String>,
    path: &RepoPath,
    format: Format,
    text: &str,
) -> Vec<Diagnostic> {
    let mut pointers = Vec::new();
    add_unwritten("", data, &mut pointers);
    pointers.retain(|pointer| unwritten.contains(pointer));
    let count = pointers.len();
    let mut places = Vec::new();
    for pointer in pointers.into_iter().take(TOLD_PLACES) {
        let mut place = locate(format, path, text, &pointer, None);
        place.pointer = Some(pointer);
        places.push(place);
    }
    let mut named: Vec<String> = places.iter().take(NAMED_PLACES).map(name_of).collect();
    if count > NAMED_PLACES {
        named.push(format!("and {} more", count - NAMED_PLACES));
    }
    let are = if count == 1 {
        "1 place is".to_owned()
    } else {
        format!("{count} places are")
    };
    let message = format!(
        "this is a draft, and {are} still to be written: {}",
        named.join(", ")
    );
    let hint = "write each text that begins with TODO, and remove what is not needed; `orch check --json` lists them";
    let first = places.first().cloned().unwrap_or_default();
    let whole = Diagnostic::error(Code::Unwritten, message)
        .at(first)
        .hint(hint);
    let each = places
        .into_iter()
        .map(|place| Diagnostic::note(Code::Unwritten, UNWRITTEN).at(place));
    std::iter::once(whole).chain(each).collect()
}
