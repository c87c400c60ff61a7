//! What a file says, in sections: made alike from a Markdown document and from data such as JSON, so that a person reads
//! a plan or a verdict and not its syntax.

use orch_core::workflow::SchemaText;
use serde::Serialize;
use serde_json::{Map, Value};

/// A part of what a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SheetSection {
    /// Its name; null for what stands before the first heading.
    pub heading: Option<String>,
    /// What it says.
    pub lines: Vec<SheetLine>,
}

/// A line of a section. As JSON it is a text as in Markdown, with `- ` or `- [x] ` before an item of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct SheetLine {
    /// The text.
    pub text: String,
    /// Whether it is an item of a list.
    pub item: bool,
    /// How deep it stands in a list of lists, from 0.
    pub depth: usize,
    /// Whether it is done; null if it does not say.
    pub done: Option<bool>,
    /// What else the file says of it, in a few words.
    pub note: Option<String>,
}

/// The members that a decider sees elsewhere: what was judged, and when.
const ELSEWHERE: [&str; 5] = ["$schema", "of", "finished_at", "task_id", "taskId"];
/// The members that name the file that an item is about.
const PATHS: [&str; 2] = ["path", "file"];
/// The members that identify an item.
const IDS: [&str; 3] = ["id", "step", "name"];
/// The members that say what an item is about, in order of precedence.
const TEXTS: [&str; 13] = [
    "description",
    "criterion",
    "requirement",
    "message",
    "text",
    "question",
    "summary",
    "risk",
    "goal",
    "title",
    "what",
    "reason",
    "details",
];
/// The members by which an item says whether it is done.
const STATES: [&str; 6] = ["done", "checked", "completed", "met", "passed", "ok"];
/// The words by which an item says that it is done.
const DONE: [&str; 6] = ["done", "completed", "complete", "passed", "met", "pass"];
/// How deep lists are shown.
const DEEPEST: usize = 4;
/// How long a text may be that stands beside others of its kind, in characters.
const WORD: usize = 40;

impl From<SheetLine> for String {
    fn from(line: SheetLine) -> Self {
        let indent = "  ".repeat(line.depth);
        let mark = match (line.done, line.item) {
            (Some(true), _) => "- [x] ",
            (Some(false), _) => "- [ ] ",
            (None, true) => "- ",
            (None, false) => "",
        };
        let note = line.note.map_or(Self::new(), |note| format!(" ({note})"));
        format!("{indent}{mark}{}{note}", line.text)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for SheetLine {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SheetLine".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A line of a section: a text as in Markdown, with `- ` or `- [x] ` before an item of a list."
        })
    }
}

impl SheetLine {
    fn text(text: &str) -> Self {
        Self {
            text: text.trim_end().to_owned(),
            ..Self::default()
        }
    }

    fn item(text: impl Into<String>, depth: usize) -> Self {
        Self {
            text: text.into(),
            item: true,
            depth,
            ..Self::default()
        }
    }
}

/// Data as sections: short values in the first, and each list, object or longer text under its name. Members that the
/// schema marks as filled in for the writer are left out, and those that are in `shown` elsewhere.
pub(super) fn outline_of(
    value: &Value,
    schema: Option<&SchemaText>,
    shown: &[&str],
) -> Vec<SheetSection> {
    let Value::Object(members) = value else {
        let mut section = SheetSection::default();
        add(&mut section.lines, value, 0);
        return vec![section];
    };
    let mut short = SheetSection::default();
    let mut sections = Vec::new();
    for (name, value) in members {
        if ELSEWHERE.contains(&name.as_str()) || shown.contains(&name.as_str()) {
            continue;
        }
        if is_time(schema, name) || is_empty(value) {
            continue;
        }
        if let Some(word) = word(value) {
            let text = format!("{}: {word}", words(name));
            short.lines.push(SheetLine::text(&text));
            continue;
        }
        let mut section = SheetSection {
            heading: Some(words(name)),
            lines: Vec::new(),
        };
        add(&mut section.lines, value, 0);
        sections.push(section);
    }
    if !short.lines.is_empty() {
        sections.insert(0, short);
    }
    sections
}

/// Whether a schema marks a member as the time at which the file was written.
fn is_time(schema: Option<&SchemaText>, name: &str) -> bool {
    let member = schema
        .and_then(SchemaText::value)
        .and_then(|schema| schema.pointer(&format!("/properties/{name}/x-orch-fill")));
    member.and_then(Value::as_str) == Some("time")
}

/// A Markdown document as sections, one for each heading. Front matter is a section of short lines; comments are left
/// out.
pub(super) fn outline_of_markdown(text: &str) -> Vec<SheetSection> {
    let mut sections = vec![SheetSection::default()];
    let mut reader = MarkdownLines::default();
    for (number, line) in text.lines().enumerate() {
        let Some(line) = reader.shown(number, line) else {
            continue;
        };
        if let Some(heading) = heading(line).filter(|_| !reader.is_code) {
            sections.push(SheetSection {
                heading: Some(heading.to_owned()),
                lines: Vec::new(),
            });
            continue;
        }
        let line = if reader.is_code {
            SheetLine::text(line)
        } else {
            markdown_line(line)
        };
        if let Some(section) = sections.last_mut() {
            section.lines.push(line);
        }
    }
    for section in &mut sections {
        trim(&mut section.lines);
    }
    sections.retain(|section| section.heading.is_some() || !section.lines.is_empty());
    sections
}

/// Any other text, as one section without a name.
pub(super) fn outline_of_text(text: &str) -> Vec<SheetSection> {
    let mut lines: Vec<SheetLine> = text.lines().map(SheetLine::text).collect();
    trim(&mut lines);
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![SheetSection {
            heading: None,
            lines,
        }],
    }
}

/// Takes out the lines beyond `most`, and returns how many they were.
pub(super) fn cut(sections: &mut Vec<SheetSection>, most: usize) -> usize {
    let mut left = most;
    let mut omitted = 0;
    for section in sections.iter_mut() {
        let kept = section.lines.len().min(left);
        omitted += section.lines.len() - kept;
        section.lines.truncate(kept);
        left -= kept;
    }
    sections.retain(|section| !section.lines.is_empty() || omitted == 0);
    omitted
}

/// Where a reader of Markdown is: in front matter, in a comment, or in code.
#[derive(Default)]
struct MarkdownLines {
    is_front: bool,
    is_comment: bool,
    is_code: bool,
}

impl MarkdownLines {
    /// The line as far as it is shown; nothing of the marks around front matter, comments and code.
    fn shown<'l>(&mut self, number: usize, line: &'l str) -> Option<&'l str> {
        let bare = line.trim();
        if bare == "---" && (number == 0 || self.is_front) {
            self.is_front = number == 0;
            return None;
        }
        if bare.starts_with("```") || bare.starts_with("~~~") {
            self.is_code = !self.is_code;
            return None;
        }
        if self.is_code {
            return Some(line);
        }
        if self.is_comment || bare.starts_with("<!--") {
            self.is_comment = !bare.ends_with("-->");
            return None;
        }
        Some(line)
    }
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && rest.starts_with(' ');
    is_heading.then(|| rest.trim().trim_end_matches('#').trim_end())
}

/// A line of a document: an item of a list, with its check box, or a text.
fn markdown_line(line: &str) -> SheetLine {
    let bare = line.trim_start();
    let indent = line.len() - bare.len();
    let Some(rest) = ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| bare.strip_prefix(mark))
    else {
        return SheetLine::text(line);
    };
    let depth = (indent / 2).min(DEEPEST);
    let rest = rest.trim();
    for (mark, done) in [("[ ] ", false), ("[x] ", true), ("[X] ", true)] {
        if let Some(text) = rest.strip_prefix(mark) {
            return SheetLine {
                done: Some(done),
                ..SheetLine::item(text.trim(), depth)
            };
        }
    }
    SheetLine::item(rest, depth)
}

/// Takes out empty lines at the ends, and all but one between others.
fn trim(lines: &mut Vec<SheetLine>) {
    let is_empty = |line: &SheetLine| line.text.is_empty() && !line.item;
    let mut was_empty = true;
    lines.retain(|line| {
        let is_more = is_empty(line) && was_empty;
        was_empty = is_empty(line);
        !is_more
    });
    if lines.last().is_some_and(is_empty) {
        lines.pop();
    }
}

/// The name of a member in words.
fn words(name: &str) -> String {
    name.replace(['_', '-'], " ")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value that fits beside others: a number, a truth, or a short text.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if text.chars().count() <= WORD && !text.contains('\n') => {
            Some(text.trim().to_owned())
        }
        _ => None,
    }
}

/// Adds the lines of a value.
fn add(lines: &mut Vec<SheetLine>, value: &Value, depth: usize) {
    match value {
        Value::String(text) => lines.extend(text.trim().lines().map(SheetLine::text)),
        Value::Array(items) => {
            for item in items.iter().filter(|item| !is_empty(item)) {
                add_item(lines, item, depth);
            }
        }
        Value::Object(members) => {
            for (name, value) in members.iter().filter(|(_, value)| !is_empty(value)) {
                add_member(lines, name, value, depth);
            }
        }
        other => lines.extend(word(other).map(|word| SheetLine::text(&word))),
    }
}

/// Adds a member of an object as an item: its value beside its name, or below it.
fn add_member(lines: &mut Vec<SheetLine>, name: &str, value: &Value, depth: usize) {
    let name = words(name);
    match value {
        Value::Array(_) | Value::Object(_) if depth < DEEPEST => {
            lines.push(SheetLine::item(format!("{name}:"), depth));
            add(lines, value, depth + 1);
        }
        Value::Array(_) | Value::Object(_) => {
            lines.push(SheetLine::item(format!("{name}: {value}"), depth));
        }
        Value::String(text) => {
            lines.push(SheetLine::item(format!("{name}: {}", text.trim()), depth));
        }
        other => {
            let word = word(other).unwrap_or_default();
            lines.push(SheetLine::item(format!("{name}: {word}"), depth));
        }
    }
}

/// Adds an item of a list: what it is about, whether it is done, and in a note what else it says.
fn add_item(lines: &mut Vec<SheetLine>, item: &Value, depth: usize) {
    match item {
        Value::Object(members) if depth < DEEPEST => add_object(lines, members, depth),
        Value::String(text) => lines.push(SheetLine::item(text.trim(), depth)),
        other => {
            let text = word(other).unwrap_or_else(|| other.to_string());
            lines.push(SheetLine::item(text, depth));
        }
    }
}

fn add_object(lines: &mut Vec<SheetLine>, members: &Map<String, Value>, depth: usize) {
    let mut used: Vec<&str> = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    for names in [&PATHS[..], &IDS, &TEXTS] {
        let found = names.iter().find_map(|name| {
            let text = members.get(*name)?.as_str()?.trim();
            (!text.is_empty()).then_some((*name, text))
        });
        if let Some((name, text)) = found {
            used.push(name);
            parts.push(text.to_owned());
        }
    }
    let mut line = SheetLine::item(parts.join(": "), depth);
    let mut notes: Vec<String> = Vec::new();
    let mut below: Vec<(&String, &Value)> = Vec::new();
    for (name, value) in members {
        if used.contains(&name.as_str()) || is_empty(value) {
            continue;
        }
        match value {
            Value::Bool(done) if STATES.contains(&name.as_str()) => line.done = Some(*done),
            Value::Bool(true) => notes.push(words(name)),
            Value::Bool(false) => notes.push(format!("not {}", words(name))),
            Value::String(text) if name == "status" => {
                match DONE.contains(&text.trim().to_lowercase().as_str()) {
                    true => line.done = Some(true),
                    false => notes.push(text.trim().to_owned()),
                }
            }
            value => match word(value) {
                Some(word) => notes.push(format!("{} {word}", words(name))),
                None => below.push((name, value)),
            },
        }
    }
    line.note = (!notes.is_empty()).then(|| notes.join(", "));
    lines.push(line);
    for (name, value) in below {
        add_member(lines, name, value, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(sections: &[SheetSection]) -> Vec<String> {
        let mut shown = Vec::new();
        for section in sections {
            shown.extend(section.heading.iter().map(|heading| format!("# {heading}")));
            shown.extend(section.lines.iter().cloned().map(String::from));
        }
        shown
    }

    #[test]
    fn a_plan_reads_the_same_as_data_and_as_a_document() {
        let data = json!({
            "status": "final", "title": "Retry", "of": {"x": null}, "requirements": [],
            "what": "Uploads are tried again.\nThree times.",
            "file_plan": [{"path": "src/a.rs", "summary": "a loop", "intent": "update"}],
            "acceptance_criteria": [
                {"id": "A1", "description": "It works.", "must_have": true, "met": true},
                {"id": "A2", "description": "It stops.", "status": "open"},
                "It is quick.",
            ],
            "test_plan": {"strategy": "Unit tests.", "cases": ["one", "two"]},
        });
        assert_eq!(
            shown(&outline_of(&data, None, &["title"])),
            [
                "status: final",
                "# what",
                "Uploads are tried again.",
                "Three times.",
                "# file plan",
                "- src/a.rs: a loop (intent update)",
                "# acceptance criteria",
                "- [x] A1: It works. (must have)",
                "- A2: It stops. (open)",
                "- It is quick.",
                "# test plan",
                "- strategy: Unit tests.",
                "- cases:",
                "  - one",
                "  - two",
            ]
        );
        let text = "---\nid: 7\n---\n\n<!-- a\nb -->\nFirst.\n\n\n## What ##\n- [x] one\n  - [ ] two\n* three\n\n```sh\n# no heading\n```\n";
        assert_eq!(
            shown(&outline_of_markdown(text)),
            [
                "id: 7",
                "",
                "First.",
                "# What",
                "- [x] one",
                "  - [ ] two",
                "- three",
                "",
                "# no heading",
            ]
        );
    }

    #[test]
    fn what_is_too_long_is_cut_and_counted() {
        let mut sections = outline_of_markdown("# A\n- 1\n- 2\n# B\n- 3\n");
        assert_eq!(cut(&mut sections, 2), 1);
        assert_eq!(shown(&sections), ["# A", "- 1", "- 2"]);
        assert_eq!(cut(&mut sections, 2), 0);
        assert!(outline_of_text(" \n").is_empty());
        let deep = json!([[[{"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}]]]);
        assert!(!outline_of(&deep, None, &[]).is_empty());
    }
}
