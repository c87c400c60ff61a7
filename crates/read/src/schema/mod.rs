//! JSON Schemas: compiled on first use, checked for mistakes, with validation errors in plain words.
//!
//! This is the only room that uses the schema crate. No reference is ever fetched.

mod cycle;
mod keywords;
mod lint;
mod unusable;
mod unwritten;
mod work;

pub use lint::lint;

use super::read::locate;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, ValidationOptions, Validator};
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath, locked, nearest};
use orch_core::workflow::{Format, SchemaText};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use unwritten::{MAX_UNWRITTEN, UNWRITTEN, add_unwritten, as_draft, is_todo};
use work::{Effort, SchemaWork};

/// The most problems reported for one document.
const MAX_PROBLEMS: usize = 20;
/// The most problems reported for one of several forms.
const MAX_FAULTS: usize = 2;
/// What is wrong with a value that is of none of several forms.
const NO_FORM: &str = "the value matches none of the forms that the schema allows";

/// What is wrong with a document that its schema cannot be applied to.
const TOO_DEEP: &str =
    "the document is nested so deep that its schema would be applied to it too often";
/// What is wrong with one that is known to be invalid, and no more.
const UNTOLD: &str =
    "the document does not match its schema, which would be applied to it too often to say where";

/// A problem of a whole document.
fn unmeasured(message: &str) -> Problem {
    Problem {
        pointer: String::new(),
        key: None,
        message: message.to_owned(),
        hint: Some("let each part of the schema name another one once".to_owned()),
    }
}

/// A compiled schema.
pub struct Schema {
    validator: Validator,
    value: Value,
    work: SchemaWork,
}

/// A part of a value that a schema rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON Pointer (RFC 6901) of the offending value.
    pub pointer: String,
    /// The unexpected key, if the problem is one.
    pub key: Option<String>,
    /// What is wrong, in plain words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Everything that a schema rejects in a value.
#[derive(Debug, Default)]
struct Faults {
    problems: Vec<Problem>,
    /// The pointers of the texts that are still to be written.
    unwritten: BTreeSet<String>,
}

/// Why a value is not of one form of an `anyOf` or `oneOf`.
struct FormFault {
    /// The name of the form, and what it asks for.
    message: String,
    hint: Option<String>,
}

/// How schemas are compiled.
fn options() -> ValidationOptions<'static> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
}

/// A text that is no JSON.
fn no_json(path: &str, text: &str, error: &serde_json::Error) -> Diagnostic {
    let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
    let column = u32::try_from(error.column().max(1)).ok();
    let place = Place::on_line(path, text, line, column);
    let message = error.to_string();
    let plain = message.split(" at line ").next().unwrap_or(&message);
    let message = format!("the schema is not valid JSON: {plain}");
    Diagnostic::error(Code::SchemaInvalid, message)
        .at(place)
        .hint("correct the schema")
}

impl Schema {
    /// Compiles a JSON Schema 2020-12. Returns diagnostics if the schema cannot be used.
    pub fn compile(path: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| vec![no_json(path, text, &error)])?;
        // The validator would treat such a schema as one that accepts everything.
        let cycles = cycle::cycles(path, text, &value);
        if !cycles.is_empty() {
            return Err(cycles);
        }
        let work = SchemaWork::of(path, text, &value)?;
        match options().build(&value) {
            Ok(validator) => Ok(Self {
                validator,
                value,
                work,
            }),
            Err(error) => {
                let why = error.to_string();
                Err(unusable::mistakes(path, text, &value, &why))
            }
        }
    }

    /// Everything in `data` that the schema rejects, at most 20 problems.
    #[must_use]
    pub fn validate(&self, data: &Value) -> Vec<Problem> {
        let Faults {
            problems,
            unwritten,
        } = self.faults(data);
        let unwritten = unwritten.into_iter().map(|pointer| Problem {
            pointer,
            key: None,
            message: UNWRITTEN.to_owned(),
            hint: None,
        });
        problems
            .into_iter()
            .chain(unwritten)
            .take(MAX_PROBLEMS)
            .collect()
    }

    /// The same, with what a draft leaves open kept apart: a text that begins with TODO, and a value that is of
    /// none of several forms because it holds such texts.
    fn faults(&self, data: &Value) -> Faults {
        let mut faults = Faults::default();
        let effort = self.work.effort(data);
        if effort == Effort::TooMuch {
            faults.problems.push(unmeasured(TOO_DEEP));
            return faults;
        }
        if self.validator.is_valid(data) {
            return faults;
        }
        if effort == Effort::Try {
            faults.problems.push(unmeasured(UNTOLD));
            return faults;
        }
        for error in self.validator.iter_errors(data) {
            let pointer = error.instance_path().as_str();
            let here = data.pointer(pointer).unwrap_or(&Value::Null);
            let known = faults.unwritten.len();
            match error.kind() {
                _ if is_todo(here) => {
                    faults.unwritten.insert(pointer.to_owned());
                }
                ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
                    let mut below = Vec::new();
                    add_unwritten(pointer, here, &mut below);
                    if below.is_empty() {
                        faults.problems.extend(self.problems(&error, data));
                    }
                    faults.unwritten.extend(below);
                }
                _ => faults.problems.extend(self.problems(&error, data)),
            }
            if faults.problems.len() >= MAX_PROBLEMS || known >= MAX_UNWRITTEN {
                break;
            }
        }
        faults.problems.truncate(MAX_PROBLEMS);
        faults
    }

    /// The problems that one validation error yields: one, or one per unexpected key.
    fn problems(&self, error: &ValidationError<'_>, data: &Value) -> Vec<Problem> {
        let here = data
            .pointer(error.instance_path().as_str())
            .and_then(Value::as_object);
        let unexpected: Vec<&String> = match (error.kind(), here) {
            (
                ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected },
                _,
            ) => unexpected.iter().collect(),
            // If a schema names no key at all, every key is unexpected.
            (ValidationErrorKind::FalseSchema, Some(members))
                if error
                    .schema_path()
                    .as_str()
                    .ends_with("/additionalProperties") =>
            {
                members.keys().collect()
            }
            _ => return vec![self.problem(error, data)],
        };
        let known = self.known_keys(error);
        let mut problems = Vec::new();
        for key in unexpected.into_iter().take(MAX_PROBLEMS) {
            let near = nearest(key, known.iter().map(String::as_str));
            problems.push(Problem {
                pointer: error.instance_path().to_string(),
                key: Some(key.clone()),
                message: format!("key `{key}` is not allowed here"),
                hint: near.map(|near| format!("did you mean `{near}`?")),
            });
        }
        problems
    }

    fn problem(&self, error: &ValidationError<'_>, data: &Value) -> Problem {
        let pointer = error.instance_path().to_string();
        let here = data.pointer(&pointer).unwrap_or(&Value::Null);
        let mut hint = None;
        let message = match error.kind() {
            _ if let Some(message) = self.own_message(error) => message.to_owned(),
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let present = here
                    .as_object()
                    .into_iter()
                    .flat_map(Map::keys)
                    .map(String::as_str);
                let known = self.keys_around(error);
                let slip = nearest(name, present.filter(|key| !known.contains(*key)));
                hint = slip.map(|slip| format!("did you mean `{name}` instead of `{slip}`?"));
                format!("`{name}` is missing")
            }
            ValidationErrorKind::Type { .. } => {
                let expected = self.at(error).map(|kind| words(&kind)).unwrap_or_default();
                format!("expected {expected}, found {}", found(here))
            }
            ValidationErrorKind::Enum { options } => {
                let texts: Vec<&str> = options
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let near = here
                    .as_str()
                    .and_then(|text| nearest(text, texts.iter().copied()));
                hint = near.map(|near| format!("did you mean `{near}`?"));
                format!(
                    "found {}, but the value must be one of {}",
                    found(here),
                    words(options)
                )
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                let forms = self.forms(error, context, data);
                let reasons: Vec<&str> = forms.iter().map(|form| form.message.as_str()).collect();
                hint = forms.iter().find_map(|form| form.hint.clone());
                format!("{NO_FORM}: {}", reasons.join("; or "))
            }
            ValidationErrorKind::FalseSchema => "no value is allowed here".to_owned(),
            _ => error.to_string(),
        };
        Problem {
            pointer,
            key: None,
            message,
            hint,
        }
    }

    /// Why the value is of none of the forms of an `anyOf` or `oneOf`, form by form.
    fn forms(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'_>>],
        data: &Value,
    ) -> Vec<FormFault> {
        let declared = self.at(error).unwrap_or_default();
        let here = error.instance_path().as_str();
        // The form that lacks least is the one that was meant, most likely.
        let mut order: Vec<(usize, &Vec<ValidationError<'_>>)> =
            context.iter().enumerate().collect();
        order.sort_by_key(|(_, faults)| faults.len());
        let mut forms = Vec::new();
        for (nth, faults) in order {
            let declared = declared.get(nth);
            let texts = ["title", "description"].map(|key| declared?.get(key)?.as_str());
            let name = texts.into_iter().flatten().next();
            let faults: Vec<Problem> = faults
                .iter()
                .take(MAX_FAULTS)
                .map(|fault| self.fault_of_form(fault, data))
                .collect();
            let reasons: Vec<String> = faults.iter().map(|fault| relative(fault, here)).collect();
            let reasons = reasons.join(" and ");
            forms.push(FormFault {
                message: match name {
                    Some(name) => format!("{} ({reasons})", name.trim_end_matches('.')),
                    None => reasons,
                },
                hint: faults.into_iter().find_map(|fault| fault.hint),
            });
        }
        forms
    }

    /// What keeps a value from being of one form. Forms within a form are not listed.
    fn fault_of_form(&self, fault: &ValidationError<'_>, data: &Value) -> Problem {
        match fault.kind() {
            ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
                Problem {
                    pointer: fault.instance_path().to_string(),
                    key: None,
                    message: NO_FORM.to_owned(),
                    hint: None,
                }
            }
            _ => self.problem(fault, data),
        }
    }

    /// The value of the keyword that failed.
    fn at(&self, error: &ValidationError<'_>) -> Option<Value> {
        self.value
            .pointer(&error.schema_path().to_string())
            .cloned()
    }

    /// What the schema itself says about a value that it rejects: `x-orch-message` beside the keyword that failed.
    fn own_message(&self, error: &ValidationError<'_>) -> Option<&str> {
        let path = error.schema_path().to_string();
        let (around, _) = path.rsplit_once('/')?;
        self.value.pointer(around)?.get("x-orch-message")?.as_str()
    }

    /// The keys that the schema defines for the object whose keyword failed.
    fn known_keys(&self, error: &ValidationError<'_>) -> HashSet<String> {
        let path = error.schema_path().to_string();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.keys_at(parent).cloned().collect()
    }

    /// The keys that any part of the schema around the failed keyword defines: a form of an `anyOf` seldom
    /// repeats the keys that are defined beside it.
    fn keys_around(&self, error: &ValidationError<'_>) -> HashSet<String> {
        let path = error.schema_path().to_string();
        let parents = path.match_indices('/').map(|(end, _)| &path[..end]);
        parents
            .flat_map(|parent| self.keys_at(parent))
            .cloned()
            .collect()
    }

    /// The keys that one part of the schema defines.
    fn keys_at(&self, part: &str) -> impl Iterator<Item = &String> {
        let properties = self
            .value
            .pointer(part)
            .and_then(|schema| schema.get("properties")?.as_object());
        properties.into_iter().flat_map(Map::keys)
    }
}

/// A compiled schema, or why it cannot be used.
type Compiled = Result<Schema, Vec<Diagnostic>>;

/// Compiled schemas, shared between tasks and threads.
#[derive(Default)]
pub struct Schemas {
    compiled: Mutex<HashMap<Digest, Arc<Compiled>>>,
    /// What is wrong with schemas, by their digests and paths.
    linted: Mutex<HashMap<(Digest, String), Vec<Diagnostic>>>,
}

impl Schemas {
    /// Validates a document; the resulting diagnostics have positions in `bytes`.
    #[must_use]
    pub fn validate(
        &self,
        schema: &SchemaText,
        data: &Value,
        path: &RepoPath,
        format: Format,
        bytes: &[u8],
    ) -> Vec<Diagnostic> {
        let compiled = self.compiled(schema);
        let compiled = match compiled.as_ref() {
            Ok(compiled) => compiled,
            Err(problems) => return problems.clone(),
        };
        let text = String::from_utf8_lossy(bytes);
        let print = ["orch", "schema", &schema.name];
        let usual_hint = match compiled.value.get("examples") {
            Some(_) => {
                Hint::run(&[&print[..], &["--example"]].concat()).text(" prints a valid example")
            }
            None => Hint::run(&print).text(" prints the schema"),
        };
        let Faults {
            problems,
            unwritten,
        } = compiled.faults(data);
        let mut found = if unwritten.is_empty() {
            Vec::new()
        } else {
            as_draft(data, &unwritten, path, format, &text)
        };
        let others = problems
            .into_iter()
            .map(|problem| diagnostic(problem, &usual_hint, path, format, &text));
        found.extend(others);
        found
    }

    /// Validates a value that is not in a file of its own. Returns no problem if the schema itself cannot be
    /// used, because a separate check reports that.
    #[must_use]
    pub fn refuses(&self, schema: &SchemaText, data: &Value) -> Vec<Problem> {
        self.compiled(schema)
            .as_ref()
            .as_ref()
            .map_or_else(|_| Vec::new(), |schema| schema.validate(data))
    }

    /// Finds mistakes in a schema, as [`lint`] does; of the same text at the same path only once.
    #[must_use]
    pub fn lint(&self, schema: &SchemaText, path: &str) -> Vec<Diagnostic> {
        let mut known = locked(&self.linted);
        let key = (schema.digest, path.to_owned());
        let entry = known.entry(key);
        entry.or_insert_with(|| lint(path, &schema.text)).clone()
    }

    fn compiled(&self, schema: &SchemaText) -> Arc<Compiled> {
        let mut known = locked(&self.compiled);
        let entry = known.entry(schema.digest).or_insert_with(|| {
            let path = format!("schemas/{}.schema.json", schema.name);
            Arc::new(Schema::compile(&path, &schema.text))
        });
        Arc::clone(entry)
    }
}

/// The message of a problem, with its place below `here`.
fn relative(problem: &Problem, here: &str) -> String {
    match problem
        .pointer
        .strip_prefix(here)
        .filter(|below| !below.is_empty())
    {
        Some(below) => format!("{} in `{below}`", problem.message),
        None => problem.message.clone(),
    }
}

fn diagnostic(
    problem: Problem,
    usual_hint: &Hint,
    path: &RepoPath,
    format: Format,
    text: &str,
) -> Diagnostic {
    let place = locate(format, path, text, &problem.pointer, problem.key.as_deref());
    let place = Place {
        pointer: Some(problem.pointer),
        ..place
    };
    let hint = problem.hint.map_or_else(|| usual_hint.clone(), Hint::from);
    Diagnostic::error(Code::SchemaMismatch, problem.message)
        .at(place)
        .hint(hint)
}

/// The first entry of the top-level `examples` of a schema that the schema accepts.
#[must_use]
pub fn example(text: &str) -> Option<Value> {
    let schema = Schema::compile("", text).ok()?;
    let examples = schema.value.get("examples")?.as_array()?;
    examples
        .iter()
        .find(|example| schema.validator.is_valid(example))
        .cloned()
}

/// A list of values in words: `a, b or c`.
fn words(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(words).collect();
            match items.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, others)) => format!("{} or {last}", others.join(", ")),
                None => String::new(),
            }
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn found(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(value) => return value.to_string(),
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => return "a list".to_owned(),
        Value::Object(_) => return "an object".to_owned(),
    };
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{kind} {}…", &text[..end]),
        None => format!("{kind} {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_core::workflow::{Document, System};
    use serde_json::json;
    use std::path::Path;

    fn schema(value: &Value) -> SchemaText {
        let text = value.to_string();
        SchemaText::new("s".to_owned(), &text, Digest::of_blob(text.as_bytes()))
    }

    fn check(schema_value: &Value, text: &str) -> Vec<String> {
        let path = RepoPath::new("f.json").expect("valid");
        let data: Value = serde_json::from_str(text).expect("JSON");
        let found = Schemas::default().validate(
            &schema(schema_value),
            &data,
            &path,
            Format::Json,
            text.as_bytes(),
        );
        found
            .into_iter()
            .map(|one| {
                format!(
                    "{} {} ({})",
                    one.place.expect("a place"),
                    one.message,
                    one.hint.unwrap_or_default()
                )
            })
            .collect()
    }

    #[test]
    fn refusals_are_plain_and_placed() {
        let strict = json!({
            "type": "object", "required": ["ok"], "additionalProperties": false,
            "properties": {"ok": {"type": "boolean"}, "kind": {"enum": ["draft", "final"]}},
        });
        for (text, expected) in [
            (
                "{\n  \"ok\": \"yes\"}",
                "f.json:2:9 expected boolean, found string \"yes\"",
            ),
            ("{\"kind\": \"final\"}", "f.json:1:1 `ok` is missing"),
            (
                "{\"ok\": true, \"knd\": 1}",
                "f.json:1:14 key `knd` is not allowed here (did you mean `kind`?)",
            ),
            (
                "{\"ok\": true, \"kind\": \"fnal\"}",
                "must be one of draft or final (did you mean `final`?)",
            ),
        ] {
            let found = check(&strict, text);
            assert!(
                found.iter().any(|line| line.contains(expected)),
                "{text}: {found:#?}"
            );
        }
        assert!(check(&strict, "{\"ok\": true}").is_empty());
    }

    /// Also where the schema knows no drafts: what it refuses because of a text that begins with TODO is one finding.
    #[test]
    fn a_draft_is_one_finding() {
        let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let drafted = json!({"properties": {
            "ok": {"type": "boolean"}, "note": {"anyOf": [{"type": "integer"}, form]}, "kind": {"enum": ["a"]},
        }});
        let draft = "{\"ok\": \"TODO: true or false\",\n\"note\": {\"n\": \"TODO\"},\n\"title\": \"TODO\", \"kind\": \"b\"}";
        let found = check(&drafted, draft);
        assert_eq!(found.len(), 4, "{found:#?}");
        let whole = "f.json:1:8 this is a draft, and 2 places are still to be written: line 1 (`/ok`), line 2 (`/note/n`) (";
        assert!(found[0].starts_with(whole), "{found:#?}");
        assert!(
            found[1].starts_with("f.json:1:8 this has not been"),
            "{found:#?}"
        );
        assert!(
            found[2].starts_with("f.json:2:15 this has not been"),
            "{found:#?}"
        );
        assert!(found[3].contains("must be one of a"), "{found:#?}");
        // A word that begins like the mark, and a value of another form.
        for text in ["{\"ok\": \"TODOS\"}", "{\"note\": []}"] {
            let found = check(&drafted, text);
            assert!(
                found.len() == 1 && !found[0].contains("draft"),
                "{found:#?}"
            );
        }
        let refused = Schemas::default().refuses(&schema(&drafted), &json!({"ok": "TODO"}));
        assert_eq!(refused[0].message, UNWRITTEN);
    }

    #[test]
    fn a_schema_may_say_in_its_own_words_what_is_wrong() {
        let own = json!({"properties": {"a": {"minItems": 1, "x-orch-message": "name an item"}, "b": {"minItems": 1}}});
        let found = check(&own, "{\"a\": [], \"b\": []}");
        assert!(
            found[0].contains("name an item") && !found[1].contains("name an item"),
            "{found:?}"
        );
    }

    #[test]
    fn a_verdict_without_ok_names_ok() {
        let system = orch_core::workflow::System::shipped();
        for name in ["plan-review", "code-review"] {
            let shipped: Value =
                serde_json::from_str(system.schema(name).expect("shipped")).expect("a document");
            for (text, expected) in [
                (
                    r#"{"reasons": ["fine"]}"#,
                    "The verdict at the top level (`ok` is missing); or The verdict under aggregate (`aggregate` is missing)",
                ),
                (
                    r#"{"aggregate": {"decision": "accepted"}}"#,
                    "(`ok` is missing); or The verdict under aggregate (`ok` is missing in `/aggregate`)",
                ),
                (
                    r#"{"Ok": true, "of": {}}"#,
                    "(did you mean `ok` instead of `Ok`?)",
                ),
                (r#"{"of": {}}"#, "example prints a valid example)"),
            ] {
                let found = check(&shipped, text);
                assert!(
                    found.len() == 1 && found[0].contains(expected),
                    "{name}: {text}: {found:#?}"
                );
            }
        }
    }

    #[test]
    fn every_unexpected_key_is_reported() {
        let inner = json!({"additionalProperties": false, "properties": {"kind": {}, "name": {}}});
        let open = json!({"allOf": [{"properties": {"kind": {}}}], "unevaluatedProperties": false,
            "properties": {"name": {}}});
        let text = "{\"knd\": 1, \"name\": 2,\n\"nmae\": 3, \"zebra\": 4}";
        let other = "orch schema s prints the schema";
        for (schema, hints) in [
            (
                inner.clone(),
                ["did you mean `kind`?", "did you mean `name`?", other],
            ),
            (
                json!({"$defs": {"i": inner}, "$ref": "#/$defs/i"}),
                ["did you mean `kind`?", "did you mean `name`?", other],
            ),
            (open, [other, "did you mean `name`?", other]),
        ] {
            let unknown_key = |place, key, hint| {
                format!("f.json:{place} key `{key}` is not allowed here ({hint})")
            };
            let expected = [
                unknown_key("1:2", "knd", hints[0]),
                unknown_key("2:1", "nmae", hints[1]),
                unknown_key("2:12", "zebra", hints[2]),
            ];
            assert_eq!(check(&schema, text), expected, "{schema}");
        }
        let many: Map<String, Value> = (0..1000)
            .map(|key| (format!("key{key}"), json!(1)))
            .collect();
        let many = Value::from(many).to_string();
        let nothing = json!({"additionalProperties": false});
        let strict = json!({"additionalProperties": false, "properties": {"kind": {}}});
        for schema in [nothing, strict] {
            let found = check(&schema, &many);
            assert_eq!(found.len(), MAX_PROBLEMS);
            assert_eq!(
                found[1],
                format!("f.json:1:11 key `key1` is not allowed here ({other})")
            );
        }
        let found = check(&json!({"properties": {"a": false}}), "{\"a\": 1}");
        assert_eq!(
            found,
            [format!("f.json:1:7 no value is allowed here ({other})")]
        );
    }

    #[test]
    fn formats_count() {
        assert_eq!(
            check(&json!({"format": "date-time"}), "\"yesterday\"").len(),
            1
        );
    }

    #[test]
    fn a_recursive_schema_and_a_wild_pattern_are_harmless() {
        let recursive = json!({"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
        assert!(check(&recursive, "{\"n\": {\"n\": {}}}").is_empty());
        let wild = json!({"pattern": "^(a+)+$"});
        let text = format!("\"{}b\"", "a".repeat(5000));
        assert_eq!(check(&wild, &text).len(), 1);
    }

    /// What the schema of these blocks refuses in a TOML text.
    fn refused(name: &str, text: &str) -> Vec<String> {
        let system = System::shipped();
        let schema = system.schema(&format!("input/{name}")).expect("it ships");
        let schema = SchemaText::new(name.to_owned(), schema, Digest::of_blob(schema.as_bytes()));
        let table: toml::Table = text.parse().expect("TOML");
        let value = serde_json::to_value(table).expect("JSON");
        let problems = Schemas::default().refuses(&schema, &value);
        let problems = problems.iter();
        problems
            .map(|problem| format!("{}: {}", problem.pointer, problem.message))
            .collect()
    }

    #[test]
    fn the_schemas_for_editors_accept_what_is_written_and_refuse_slips() {
        let system = System::shipped();
        let shipped = system.names("workflows", ".md");
        let shipped =
            shipped.filter_map(|name| Some((name.to_owned(), system.workflow(name)?.to_owned())));
        let mut documents: Vec<(String, String)> = shipped.collect();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for directory in ["crates/scaffold/patterns", "fixtures/workflows/valid"] {
            for entry in std::fs::read_dir(root.join(directory)).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.extension().is_some_and(|extension| extension == "md") {
                    let text = std::fs::read_to_string(&path).expect("a document");
                    documents.push((path.display().to_string(), text));
                }
            }
        }
        assert!(documents.len() > 20, "{}", documents.len());
        for (name, text) in documents {
            let document = Document::new(&name, &name, text);
            assert_eq!(refused("workflow", document.blocks()), [""; 0], "{name}");
            assert_eq!(
                refused("workflow-tests", document.test_blocks()),
                [""; 0],
                "{name}"
            );
        }
        let mut count = 0;
        for page in [
            "configuration",
            "fleet",
            "git",
            "hooks",
            "notify",
            "guides/verifications",
        ] {
            let path = root.join(format!("docs/{page}.md"));
            let text = std::fs::read_to_string(&path).expect("a page");
            let parts = text.split("```toml\n").skip(1);
            for part in parts.filter_map(|part| part.split("```").next()) {
                if orch_core::config::parse(part, "orch.toml").1.is_empty() {
                    count += 1;
                    assert_eq!(refused("orch-toml", part), [""; 0], "{part}");
                }
            }
        }
        assert!(count > 8, "{count}");
        for (name, text) in [
            ("workflow", "[phase.p]\nproduce = ['a']"),
            ("workflow", "[phase.p]\nterminal = 'yes'"),
            ("workflow", "[rule]\nid = 'x'"),
            ("workflow-tests", "[[test]]\nname = 'x'"),
            (
                "workflow-tests",
                "[[test]]\nname = 'x'\nexpect = {fase = 'p'}",
            ),
            ("orch-toml", "[git]\ncomit = 'batch'"),
            ("orch-toml", "settle_ms = 'fast'"),
        ] {
            assert!(!refused(name, text).is_empty(), "{text}");
        }
    }
}
