//! Mistakes in a schema that validators accept silently.

use super::Schema;
use super::keywords::{KEYWORDS, subschemas};
use crate::span::{key_span, span};
use orch_base::{Code, Diagnostic, Place, nearest};
use serde_json::Value;
use std::collections::BTreeSet;

/// Finds mistakes in a schema that validators accept silently: misspelled keywords, and examples that the
/// schema rejects.
#[must_use]
pub fn lint(path: &str, text: &str) -> Vec<Diagnostic> {
    let schema = match Schema::compile(path, text) {
        Ok(schema) => schema,
        Err(problems) => return problems,
    };
    let mut found = Vec::new();
    for (pointer, inner) in subschemas(&schema.value) {
        misspelt(path, text, inner, &pointer, &mut found);
        unchecked(path, text, inner, &pointer, &mut found);
    }
    other_draft(path, text, &schema.value, &mut found);
    for (index, example) in schema
        .value
        .get("examples")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        if let Some(problem) = schema.validate(example).first() {
            let pointer = format!("/examples/{index}");
            let (start, length) = span(text, &pointer).unwrap_or_default();
            let place = Place::at(path, text, start, length.min(1));
            let message = format!(
                "the schema rejects its own example: {} {}",
                problem.pointer, problem.message
            );
            found.push(
                Diagnostic::warning(Code::SchemaExample, message)
                    .at(place)
                    .hint("correct the schema or the example"),
            );
        }
    }
    found
}

/// The formats that are checked.
const FORMATS: [&str; 17] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];
/// The formats of JSON Schema that are not.
const UNCHECKED: [&str; 2] = ["idn-email", "idn-hostname"];

/// Tells a format that is not checked.
fn unchecked(path: &str, text: &str, schema: &Value, pointer: &str, found: &mut Vec<Diagnostic>) {
    let Some(name) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    if FORMATS.contains(&name) {
        return;
    }
    let hint = match nearest(name, FORMATS) {
        _ if UNCHECKED.contains(&name) => {
            "any text is accepted; a `pattern` beside it is checked".to_owned()
        }
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "any text is accepted; these are checked: {}",
            FORMATS.join(", ")
        ),
    };
    let message = format!("the format `{name}` is not checked");
    let (start, length) = span(text, &format!("{pointer}/format")).unwrap_or_default();
    found.push(
        Diagnostic::warning(Code::SchemaFormat, message)
            .at(Place::at(path, text, start, length))
            .hint(hint),
    );
}

/// Keywords of earlier drafts that are ignored, with what has taken their place.
const EARLIER: [(&str, &str); 3] = [
    ("dependencies", "`dependentRequired` or `dependentSchemas`"),
    ("additionalItems", "`items` beside `prefixItems`"),
    ("$recursiveRef", "`$dynamicRef`"),
];
/// What may stand beside a `$ref` without a meaning of its own.
const REMARKS: [&str; 12] = [
    "$ref",
    "$schema",
    "$comment",
    "$id",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "readOnly",
    "writeOnly",
];

/// Tells what a schema of an earlier draft means here, where all are read as 2020-12.
fn other_draft(path: &str, text: &str, schema: &Value, found: &mut Vec<Diagnostic>) {
    let mut tell = |place: Place, message: String, hint: String| {
        found.push(
            Diagnostic::warning(Code::SchemaDraft, message)
                .at(place)
                .hint(hint),
        );
    };
    let nodes = subschemas(schema);
    let mut drafts: BTreeSet<&str> = BTreeSet::new();
    for (pointer, inner) in &nodes {
        if let Some(draft) = inner.get("$schema").and_then(Value::as_str)
            && !draft.contains("2020-12")
            && drafts.insert(draft)
        {
            let (start, length) = span(text, &format!("{pointer}/$schema")).unwrap_or_default();
            let place = Place::at(path, text, start, length);
            let message =
                format!("the schema says that it is of `{draft}`, and is read as 2020-12");
            let hint = "write the schema for https://json-schema.org/draft/2020-12/schema";
            tell(place, message, hint.to_owned());
        }
        for (key, instead) in EARLIER {
            if inner.get(key).is_some() {
                let (start, length) = key_span(text, pointer, key).unwrap_or_default();
                let place = Place::at(path, text, start, length);
                let message = format!("`{key}` is of an earlier draft, and is ignored");
                tell(place, message, format!("use {instead}"));
            }
        }
    }
    let before_siblings = ["draft-03", "draft-04", "draft-06", "draft-07"];
    let is_before = |draft: &&str| before_siblings.iter().any(|early| draft.contains(early));
    if !drafts.iter().any(is_before) {
        return;
    }
    for (pointer, inner) in &nodes {
        let members = inner
            .as_object()
            .filter(|members| members.contains_key("$ref"));
        let sibling = members
            .into_iter()
            .flat_map(|members| members.keys())
            .find(|key| !REMARKS.contains(&key.as_str()) && !key.starts_with("x-"));
        if let Some(sibling) = sibling {
            let (start, length) = key_span(text, pointer, sibling).unwrap_or_default();
            let place = Place::at(path, text, start, length);
            let message = format!("`{sibling}` counts beside `$ref`; in that draft it is ignored");
            tell(
                place,
                message,
                "remove it, or keep it if it is meant".to_owned(),
            );
        }
    }
}

fn misspelt(path: &str, text: &str, schema: &Value, pointer: &str, found: &mut Vec<Diagnostic>) {
    for key in schema
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys())
    {
        let is_earlier = EARLIER.iter().any(|(earlier, _)| earlier == key);
        if KEYWORDS.contains(&key.as_str()) || is_earlier || key.starts_with("x-") {
            continue;
        }
        let (start, length) = key_span(text, pointer, key).unwrap_or_default();
        let hint = match nearest(key, KEYWORDS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "unknown keywords are ignored; prefix your own with `x-`".to_owned(),
        };
        let message = format!("`{key}` is not a JSON Schema keyword");
        let place = Place::at(path, text, start, length);
        found.push(
            Diagnostic::warning(Code::SchemaKeyword, message)
                .at(place)
                .hint(hint),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_fetched_and_misspellings_are_reported() {
        let remote = json!({"$ref": "https://example.com/other.json"}).to_string();
        assert_eq!(lint("s.json", &remote)[0].code, Code::SchemaRemoteRef);
        let slip = json!({"requird": ["a"], "properties": {"requird": {"minimun": 1}}}).to_string();
        let found: Vec<String> = lint("s.json", &slip)
            .into_iter()
            .map(|one| one.message)
            .collect();
        assert_eq!(
            found,
            [
                "`requird` is not a JSON Schema keyword",
                "`minimun` is not a JSON Schema keyword"
            ]
        );
        for (schema, code, message) in [
            (
                json!({"format": "date-tiem"}),
                Code::SchemaFormat,
                "the format `date-tiem` is not checked",
            ),
            (
                json!({"items": {"format": "idn-hostname"}}),
                Code::SchemaFormat,
                "the format `idn-hostname` is not checked",
            ),
            (
                json!({"dependencies": {"a": ["b"]}}),
                Code::SchemaDraft,
                "`dependencies` is of an earlier draft, and is ignored",
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
                Code::SchemaDraft,
                "the schema says that it is of `http://json-schema.org/draft-07/schema#`, and is read as 2020-12",
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"a": {}}, "$ref": "#/$defs/a", "minLength": 2}),
                Code::SchemaDraft,
                "`minLength` counts beside `$ref`; in that draft it is ignored",
            ),
        ] {
            let found = lint("s.json", &schema.to_string());
            let last = found.last().expect("a finding");
            assert_eq!(
                (last.code, last.message.as_str()),
                (code, message),
                "{found:?}"
            );
        }
        for schema in [
            json!({"format": "uuid"}),
            json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}),
        ] {
            assert_eq!(lint("s.json", &schema.to_string()), [], "{schema}");
        }
        let example = json!({"type": "string", "examples": [1]}).to_string();
        assert_eq!(lint("s.json", &example)[0].code, Code::SchemaExample);
    }
}
