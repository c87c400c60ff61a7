//! Why a schema cannot be used: all mistakes of its text, each with its place.

use super::cycle::SchemaNames;
use super::keywords::subschemas;
use super::{found, options};
use crate::span::{key_span, span};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, draft202012};
use orch_base::{Code, Diagnostic, Place, nearest};
use serde_json::{Value, json};

/// The names of types.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];
/// Where the documents lie that describe JSON Schema itself.
const META: &str = "https://json-schema.org/";

/// The mistakes of a schema that the validator refuses. `why` is what it says, where nothing else is found.
pub(super) fn mistakes(path: &str, text: &str, schema: &Value, why: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for error in draft202012::meta::validator().iter_errors(schema) {
        let mistake = against_the_rules(path, text, schema, &error);
        // Several vocabularies may say the same.
        if !found.contains(&mistake) {
            found.push(mistake);
        }
    }
    let nodes = subschemas(schema);
    let names = SchemaNames::new(&nodes);
    for (pointer, inner) in &nodes {
        let at = |key: &str| place(path, text, &format!("{pointer}/{key}"));
        if let Some(pattern) = inner.get("pattern").and_then(Value::as_str)
            && !is_pattern(pattern)
        {
            found.push(no_pattern(pattern).at(at("pattern")));
        }
        let patterns = inner.get("patternProperties").and_then(Value::as_object);
        for pattern in patterns.into_iter().flat_map(|patterns| patterns.keys()) {
            if !is_pattern(pattern) {
                let of = format!("{pointer}/patternProperties");
                let (start, length) = key_span(text, &of, pattern).unwrap_or_default();
                found.push(no_pattern(pattern).at(Place::at(path, text, start, length)));
            }
        }
        for key in ["$ref", "$dynamicRef"] {
            let Some(reference) = inner.get(key).and_then(Value::as_str) else {
                continue;
            };
            let target = names.target(reference, pointer);
            if target.is_some_and(|target| schema.pointer(&target).is_some())
                || reference.starts_with(META)
            {
                continue;
            }
            found.push(no_target(schema, reference).at(at(key)));
        }
    }
    if found.is_empty() {
        let message = format!("the schema cannot be used: {why}");
        let problem =
            Diagnostic::error(Code::SchemaInvalid, message).at(Place::at(path, text, 0, 1));
        found.push(problem.hint("correct the schema"));
    }
    Diagnostic::in_order(found)
}

fn place(path: &str, text: &str, pointer: &str) -> Place {
    let (start, length) = span(text, pointer).unwrap_or_default();
    // Of a list or an object, its first character is shown.
    let is_long = text[start..].starts_with(['{', '[']);
    Place::at(path, text, start, if is_long { 1 } else { length })
}

/// What one error against the rules of JSON Schema means.
fn against_the_rules(
    path: &str,
    text: &str,
    schema: &Value,
    error: &ValidationError<'_>,
) -> Diagnostic {
    let pointer = error.instance_path().to_string();
    let here = schema.pointer(&pointer).unwrap_or(&Value::Null);
    let key = pointer
        .rsplit('/')
        .find(|part| part.parse::<usize>().is_err());
    let key = key.filter(|key| !key.is_empty()).unwrap_or("the schema");
    let mut hint = "correct the schema".to_owned();
    let expected = match error.kind() {
        _ if key == "type" => {
            let near = here.as_str().and_then(|name| nearest(name, TYPES));
            if let Some(near) = near {
                hint = format!("did you mean `{near}`?");
            }
            format!("one of {}, or a list of these", TYPES.join(", "))
        }
        ValidationErrorKind::Type { kind } => {
            let names: Vec<String> = match kind {
                TypeKind::Single(name) => vec![name.to_string()],
                TypeKind::Multiple(names) => names.iter().map(|name| name.to_string()).collect(),
            };
            if key == "items" && here.is_array() {
                hint = "since draft 2020-12, a list of schemas is `prefixItems`".to_owned();
            } else if matches!(key, "exclusiveMinimum" | "exclusiveMaximum") && here.is_boolean() {
                hint = "since draft 6, it is the bound itself: a number".to_owned();
            } else if key == "required" && here.is_boolean() {
                hint = "list the required members in the schema of the object".to_owned();
            }
            words_of_types(&names)
        }
        _ => {
            let message = format!("`{key}`: {error}");
            return Diagnostic::error(Code::SchemaInvalid, message)
                .at(place(path, text, &pointer))
                .hint(hint);
        }
    };
    let message = format!("`{key}` must be {expected}; found {}", found(here));
    Diagnostic::error(Code::SchemaInvalid, message)
        .at(place(path, text, &pointer))
        .hint(hint)
}

/// Types of JSON in words.
fn words_of_types(names: &[String]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for name in names {
        words.push(match name.as_str() {
            "array" => "a list",
            "boolean" => "true or false",
            "integer" => "a whole number",
            "null" => "null",
            "number" => "a number",
            "object" => "an object",
            _ => "a text",
        });
    }
    words.join(" or ")
}

/// Whether the validator takes a pattern.
fn is_pattern(pattern: &str) -> bool {
    options().build(&json!({"pattern": pattern})).is_ok()
}

fn no_pattern(pattern: &str) -> Diagnostic {
    let message = format!("`{pattern}` is no regular expression that orch can use");
    Diagnostic::error(Code::SchemaInvalid, message)
        .hint("close all brackets; there is no look-around and there are no back-references")
}

/// A reference that leads nowhere.
fn no_target(schema: &Value, reference: &str) -> Diagnostic {
    let Some(inside) = reference.strip_prefix('#') else {
        let message = format!("the schema refers to another document: `{reference}`");
        return Diagnostic::error(Code::SchemaRemoteRef, message)
            .hint("orch never fetches schemas; copy the definition into `$defs`");
    };
    let message = format!("`{reference}` is no part of the schema");
    let known = schema.get("$defs").and_then(Value::as_object);
    let known = known.into_iter().flat_map(|known| known.keys());
    let name = inside.rsplit('/').next().unwrap_or_default();
    let hint = match nearest(name, known.map(String::as_str)) {
        Some(near) => format!("did you mean `#/$defs/{near}`?"),
        None => "name a part of the schema, for example `#/$defs/NAME`".to_owned(),
    };
    Diagnostic::error(Code::SchemaInvalid, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::lint;

    /// All mistakes of a schema are told at once, each with its place.
    #[test]
    fn a_schema_that_cannot_be_used_says_where_and_why() {
        for (text, expected) in [
            (
                "{\"type\": \"strin\",\n \"properties\": {\"a\": {\"minimum\": \"x\"}},\n \"required\": \"a\"}",
                &[
                    "1:10 schema-invalid `type` must be one of array, boolean, integer, null, number, object, string, or a list of these; found string \"strin\" (did you mean `string`?)",
                    "2:34 schema-invalid `minimum` must be a number; found string \"x\" (correct the schema)",
                    "3:14 schema-invalid `required` must be a list; found string \"a\" (correct the schema)",
                ][..],
            ),
            (
                "{\"pattern\": \"[a\", \"patternProperties\": {\"(\": {}},\n\"properties\": {\"a\": {\"pattern\": \"(?=a)\"}}}",
                &[
                    "1:13 schema-invalid `[a` is no regular expression that orch can use (close all brackets; there is no look-around and there are no back-references)",
                    "1:41 schema-invalid `(` is no regular expression that orch can use (close all brackets; there is no look-around and there are no back-references)",
                    "2:33 schema-invalid `(?=a)` is no regular expression that orch can use (close all brackets; there is no look-around and there are no back-references)",
                ],
            ),
            (
                "{\"$defs\": {\"step\": {}},\n\"items\": {\"$ref\": \"#/$defs/stp\"}, \"not\": {\"$ref\": \"other.json\"}}",
                &[
                    "2:19 schema-invalid `#/$defs/stp` is no part of the schema (did you mean `#/$defs/step`?)",
                    "2:51 schema-remote-ref the schema refers to another document: `other.json` (orch never fetches schemas; copy the definition into `$defs`)",
                ],
            ),
            (
                "{\"items\": [{}]}",
                &[
                    "1:11 schema-invalid `items` must be true or false or an object; found a list (since draft 2020-12, a list of schemas is `prefixItems`)",
                ],
            ),
            (
                "{\"type\": \"object\",\n}",
                &[
                    "2:1 schema-invalid the schema is not valid JSON: trailing comma (correct the schema)",
                ],
            ),
        ] {
            let told: Vec<String> = lint("s.json", text)
                .into_iter()
                .map(|one| {
                    let place = one.place.expect("a place");
                    format!(
                        "{}:{} {} {} ({})",
                        place.line.expect("a line"),
                        place.column.expect("a column"),
                        one.code.as_str(),
                        one.message,
                        one.hint.unwrap_or_default()
                    )
                })
                .collect();
            assert_eq!(told, expected, "{text}");
        }
    }
}
