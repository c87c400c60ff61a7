//! Mistakes in a schema that validators accept silently.

use super::Schema;
use super::keywords::{KEYWORDS, subschemas};
use crate::span::{key_span, span};
use orch_base::{Code, Diagnostic, Place, nearest};
use serde_json::Value;

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
    }
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

fn misspelt(path: &str, text: &str, schema: &Value, pointer: &str, found: &mut Vec<Diagnostic>) {
    for key in schema
        .as_object()
        .into_iter()
        .flat_map(|members| members.keys())
    {
        if KEYWORDS.contains(&key.as_str()) || key.starts_with("x-") {
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
        let example = json!({"type": "string", "examples": [1]}).to_string();
        assert_eq!(lint("s.json", &example)[0].code, Code::SchemaExample);
    }
}
