//! The draft of a file that a task lacks: an example of its schema whose texts are still to be written.
//!
//! What is no judgement is filled in: who writes, when, and what is judged. A verdict is never chosen in advance, and
//! every text begins with `TODO`, which the schema is to refuse: a draft decides nothing.

use super::evaluation::{Evaluation, SeenTask};
use super::expect::judged;
use super::order::{current, refused};
use super::{ExpectState, Facts, Stamp, State, unknown_artifact};
use crate::workflow::{Artifact, Format, SchemaText, Workflow};
use orch_base::{ArtifactName, Code, Error, Hint};
use serde_json::{Map, Value};

/// What a text begins with that is still to be written.
pub const TODO: &str = "TODO";
/// How many schemas may refer to one another in a row.
const MOST_REFERENCES: usize = 16;

/// A file whose texts are still to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFile {
    /// The artifact that the file will be.
    pub artifact: ArtifactName,
    /// The path relative to the task directory.
    pub path: String,
    /// What is written there, with the texts still to be filled in.
    pub text: String,
}

/// The draft of `artifact`, or else of the first file that is expected and missing, with the writer and the time in
/// `stamp`. Returns an error if the workflow has no such artifact, nothing is missing, or there is nothing to make a
/// draft of.
pub fn draft(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    artifact: Option<&str>,
    stamp: &Stamp,
) -> Result<DraftFile, Error> {
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let drafting = Drafting {
        evaluation: task.evaluation(),
        stamp,
    };
    let artifact = match artifact {
        Some(name) => {
            let known = workflow
                .artifacts
                .iter()
                .find(|one| one.name.as_str() == name);
            known.ok_or_else(|| unknown_artifact(workflow, name))?
        }
        None => drafting.first_missing()?,
    };
    let text = drafting
        .text(artifact)
        .ok_or_else(|| drafting.refused(artifact))?;
    Ok(DraftFile {
        artifact: artifact.name.clone(),
        path: drafting.evaluation.path_of(&artifact.name),
        text,
    })
}

/// The drafts of files of a task, with the writer and the time in the stamp.
struct Drafting<'a> {
    evaluation: Evaluation<'a>,
    stamp: &'a Stamp,
}

impl<'a> Drafting<'a> {
    /// The first file that is expected and missing, otherwise used up, preferably one of which a draft can be made.
    fn first_missing(&self) -> Result<&'a Artifact, Error> {
        let decision = self.evaluation.decide_alone(Vec::new());
        for state in [ExpectState::Missing, ExpectState::Stale] {
            let mut first = None;
            for expected in &decision.expects {
                if expected.state != state {
                    continue;
                }
                let Some(artifact) = self.evaluation.workflow.artifact(&expected.artifact) else {
                    continue;
                };
                if artifact.schema.is_some() || artifact.example.is_some() {
                    return Ok(artifact);
                }
                first = first.or(Some(artifact));
            }
            if let Some(first) = first {
                return Ok(first);
            }
        }
        let explain = Hint::run(&["orch", "suggest", self.evaluation.facts.task.as_str()]);
        let message = format!("no file is missing: {}", decision.reason);
        Err(refused(Code::NothingToDraft, message, explain))
    }

    /// Why there is no draft of an artifact.
    fn refused(&self, artifact: &Artifact) -> Error {
        let prompt = Hint::run(&["orch", "prompt", self.evaluation.facts.task.as_str()]);
        let message = match artifact.format {
            format if format == Format::Patch || format.is_report() => {
                format!(
                    "`{}` is made by a program, so there is no draft of it",
                    artifact.name
                )
            }
            _ if artifact.example.is_some() => {
                format!(
                    "`{}` has no schema, which would refuse a draft; the prompt shows an example",
                    artifact.name
                )
            }
            _ => format!(
                "there is no example of `{}` to make a draft of",
                artifact.name
            ),
        };
        refused(Code::NothingToDraft, message, prompt)
    }

    /// The text of a draft; `None` if nothing tells what it looks like.
    fn text(&self, artifact: &Artifact) -> Option<String> {
        let schema = artifact.schema.as_ref();
        match artifact.format {
            Format::Json | Format::Yaml | Format::Toml => {
                let example = schema.and_then(SchemaText::example)?;
                let value = self.value(schema?.value()?, example, &artifact.name);
                artifact.format.written(&value)
            }
            Format::Markdown => Some(unwritten_markdown(
                &artifact.example_for(&self.evaluation.facts.task, None)?,
            )),
            _ => None,
        }
    }

    fn value(&self, root: &Value, example: &Value, name: &ArtifactName) -> Value {
        let fill = |mark: &str| match mark {
            "name" => Some(Value::from(self.stamp.by.name.as_str())),
            "time" => Some(Value::from(self.stamp.at.to_string())),
            "of" => {
                let of = judged(&self.evaluation, name).into_iter();
                Some(
                    of.map(|(name, digest)| (name.to_string(), Value::from(digest.to_string())))
                        .collect(),
                )
            }
            _ => None,
        };
        let shape = SchemaParts::of(root, root);
        let mut value = shape.unwritten(example, "", &fill);
        if let Value::Object(members) = &mut value {
            for (key, property) in shape.properties() {
                let mark = property.get("x-orch-fill").and_then(Value::as_str);
                if let Some(filled) = mark.and_then(fill) {
                    members.insert(key.clone(), filled);
                }
            }
        }
        value
    }
}

/// The parts of a schema that describe one value.
struct SchemaParts<'s> {
    root: &'s Value,
    parts: Vec<&'s Value>,
}

impl<'s> SchemaParts<'s> {
    fn of(root: &'s Value, schema: &'s Value) -> Self {
        let mut parts = Vec::new();
        add_parts(root, schema, 0, &mut parts);
        Self { root, parts }
    }

    fn properties(&self) -> impl Iterator<Item = (&'s String, &'s Value)> {
        self.parts
            .iter()
            .filter_map(|part| part.get("properties")?.as_object())
            .flatten()
    }

    /// What describes the members with this name.
    fn member(&self, key: &str) -> Self {
        self.below(|part| part.get("properties")?.get(key))
    }

    /// What describes the items.
    fn items(&self) -> Self {
        self.below(|part| part.get("items"))
    }

    fn below(&self, inner: impl Fn(&'s Value) -> Option<&'s Value>) -> Self {
        let mut parts = Vec::new();
        for schema in self.parts.iter().filter_map(|part| inner(part)) {
            add_parts(self.root, schema, 0, &mut parts);
        }
        Self {
            root: self.root,
            parts,
        }
    }

    fn keyword(&self, name: &str) -> Option<&'s Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    /// An example in which every judgement and every text is left to write. `about` describes the list whose item it
    /// is.
    fn unwritten(
        &self,
        example: &Value,
        about: &str,
        fill: &impl Fn(&str) -> Option<Value>,
    ) -> Value {
        let mark = self.keyword("x-orch-fill").and_then(Value::as_str);
        if let Some(filled) = mark.and_then(fill) {
            return filled;
        }
        if let Some(value) = self
            .keyword("x-orch-draft")
            .or_else(|| self.keyword("const"))
        {
            return value.clone();
        }
        let about = self
            .keyword("description")
            .and_then(Value::as_str)
            .unwrap_or(about);
        if let Some(Value::Array(choices)) = self.keyword("enum") {
            let choices: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
            return todo(&format!("one of {}", choices.join(", ")));
        }
        match example {
            Value::Object(members) => {
                let unwritten = members
                    .iter()
                    .map(|(key, value)| (key.clone(), self.member(key).unwritten(value, "", fill)));
                Value::Object(unwritten.collect::<Map<_, _>>())
            }
            Value::Array(items) => items
                .iter()
                .take(1)
                .map(|item| self.items().unwritten(item, about, fill))
                .collect(),
            Value::Bool(_) => todo("true or false"),
            Value::Number(_) => todo("a number"),
            Value::String(_) => todo(about),
            Value::Null => Value::Null,
        }
    }
}

/// Adds a schema and all that it refers to for the same value.
fn add_parts<'s>(root: &'s Value, schema: &'s Value, depth: usize, parts: &mut Vec<&'s Value>) {
    if depth > MOST_REFERENCES {
        return;
    }
    parts.push(schema);
    let target = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|target| target.strip_prefix('#'));
    let target = target.and_then(|pointer| root.pointer(pointer));
    let forms = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_array());
    for inner in target.into_iter().chain(forms.flatten()) {
        add_parts(root, inner, depth + 1, parts);
    }
}

/// A text to write, about something that a description explains.
fn todo(about: &str) -> Value {
    let first = about
        .split(". ")
        .next()
        .unwrap_or_default()
        .trim_end_matches('.');
    Value::from(if first.is_empty() {
        TODO.to_owned()
    } else {
        format!("{TODO}: {first}")
    })
}

/// A Markdown document of which the structure is left: front matter, headings, list markers, labels, comments.
fn unwritten_markdown(example: &str) -> String {
    let mut text = String::new();
    let mut fence = None;
    let mut is_paragraph = false;
    for (nth, line) in example.trim_start().lines().enumerate() {
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        if line == "---" && (nth == 0 || fence == Some("---")) {
            fence = if nth == 0 { Some("---") } else { None };
        } else if fence.is_some() {
        } else if bare.is_empty() || bare.starts_with("<!--") {
            is_paragraph = false;
        } else {
            let marker = marker_length(bare);
            let rest = &bare[marker..];
            // A line that continues with a paragraph or an item is part of the same text.
            let goes_on = marker == 0 && is_paragraph;
            if !goes_on {
                text.push_str(&format!(
                    "{indent}{}{}\n",
                    &bare[..marker],
                    unwritten_line(&bare[..marker], rest)
                ));
            }
            is_paragraph = !bare.starts_with('#');
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// How many bytes at the start of a line are structure: the marks of a heading, a list item and its box.
fn marker_length(line: &str) -> usize {
    let heading = line.bytes().take_while(|byte| *byte == b'#').count();
    if heading > 0 && line[heading..].starts_with(' ') {
        return heading + 1;
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let item = match line.as_bytes().first() {
        Some(b'-' | b'*' | b'+') if line[1..].starts_with(' ') => 2,
        _ if digits > 0 && line[digits..].starts_with(". ") => digits + 2,
        _ => return 0,
    };
    let has_box = ["[ ] ", "[x] ", "[X] "]
        .iter()
        .any(|sign| line[item..].starts_with(sign));
    if has_box { item + 4 } else { item }
}

/// What to write after a marker. The label before a colon and a word in bold stay; so does a heading that names a
/// section.
fn unwritten_line(marker: &str, rest: &str) -> String {
    if let Some(end) = rest.strip_prefix("**").and_then(|label| label.find("**")) {
        let end = end + 4;
        let colon = usize::from(rest[end..].starts_with(':'));
        return format!("{} {TODO}", &rest[..end + colon]);
    }
    if !marker.starts_with('#') {
        return TODO.to_owned();
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && rest[digits..].starts_with(". ") {
        return format!("{}. {TODO}", &rest[..digits]);
    }
    let label = [": ", " - "]
        .into_iter()
        .filter_map(|mark| Some(rest.find(mark)? + mark.len()))
        .min();
    match label {
        Some(end) => format!("{}{TODO}", &rest[..end]),
        None if marker == "# " => TODO.to_owned(),
        None => rest.to_owned(),
    }
}
