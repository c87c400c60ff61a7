//! What the state of another tool says that a record has no place for.

use crate::workflow::RESERVED_KEYS;
use orch_base::WorkflowName;
use orch_base::pointer::child;
use serde_json::Value;

/// The reserved keys that are kept from the state of another tool, if their values have the right form.
const KEPT: [&str; 7] = [
    "task", "task_id", "title", "workflow", "actors", "waived", "errors",
];
/// Reserved keys that say nothing about the task.
const ABOUT_THE_FILE: [&str; 3] = ["$schema", "version", "seal"];

/// JSON pointers to what is lost when a state of another tool with this text is adopted by a workflow.
pub(super) fn left_out(
    workflow: &WorkflowName,
    phase_key: &str,
    value: &Value,
    text: &str,
) -> Vec<String> {
    let mut left = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let name = key.as_str();
        let is_reserved = RESERVED_KEYS.contains(&name) || KEPT.contains(&name);
        if !is_reserved || name == phase_key || name == "phase" {
            continue;
        }
        if !ABOUT_THE_FILE.contains(&name) && !is_kept(workflow, key, value) {
            left.push(child("", key));
        }
    }
    let mut rounded = rounded(value, text);
    rounded.retain(|place| !left.contains(place));
    left.extend(rounded);
    left
}

/// Whether a record keeps the value of a reserved key. What is empty says nothing.
fn is_kept(workflow: &WorkflowName, key: &str, value: &Value) -> bool {
    let members = value.as_object();
    let is_empty = match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    is_empty
        || match key {
            "task" | "task_id" | "title" => value.is_string(),
            "workflow" => value.get("name").unwrap_or(value).as_str() == Some(workflow.as_str()),
            "errors" => value.is_array(),
            "actors" => members.is_some_and(|members| members.values().all(Value::is_object)),
            "waived" => members.is_some_and(|members| members.values().all(Value::is_u64)),
            _ => false,
        }
}

/// JSON pointers to the numbers of a text whose digits are not those of the parsed value: a number that is too large,
/// or too exact, is rounded.
fn rounded(value: &Value, text: &str) -> Vec<String> {
    let mut parsed = Vec::new();
    numbers(value, "", &mut parsed);
    let literals = literals(text);
    if literals.len() != parsed.len() {
        return Vec::new();
    }
    let mut places = Vec::new();
    for (literal, (place, number)) in literals.iter().zip(parsed) {
        if digits(literal) != digits(&number) {
            places.push(place);
        }
    }
    places
}

/// The numbers of a value with their places, in the order of the text.
fn numbers(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Number(number) => found.push((place.to_owned(), number.to_string())),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                numbers(item, &format!("{place}/{index}"), found);
            }
        }
        Value::Object(members) => members
            .iter()
            .for_each(|(key, value)| numbers(value, &child(place, key), found)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The numbers in the text of JSON, as they are written.
fn literals(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[at..];
        let length = if let Some(string) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = string.find(|c| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            end.map_or(rest.len(), |end| end + 2)
        } else {
            let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
            let end = end.unwrap_or(rest.len());
            found.push(&rest[..end]);
            end
        };
        rest = &rest[length..];
    }
    found
}

/// The digits of a number without zeros at either end, and the power of ten that they are multiplied with.
fn digits(number: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = all.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return (false, String::new(), 0);
    }
    let zeros = all.len() - all.trim_end_matches('0').len();
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or(i64::MAX);
    let power = exponent
        .saturating_add(i64::try_from(zeros).unwrap_or(i64::MAX))
        .saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX));
    (number.starts_with('-'), significant.to_owned(), power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_has_no_place_for_is_listed() {
        let workflow = WorkflowName::new("w").expect("valid");
        for (text, expected) in [
            (
                r#"{"phase": "a", "title": "T", "ticket": 1, "$schema": "x", "version": 1}"#,
                &[][..],
            ),
            (
                r#"{"history": [], "title": null, "waived": {}, "workflow": "w"}"#,
                &[],
            ),
            (
                r#"{"workflow": {"name": "w", "digest": "x"}, "errors": [1], "actors": {"a": {}}}"#,
                &[],
            ),
            (
                r#"{"history": [{"at": 1}], "title": 7, "task": true}"#,
                &["/history", "/title", "/task"],
            ),
            (
                r#"{"workflow": "v", "updated_at": "2024-01-01", "rev": 3}"#,
                &["/workflow", "/updated_at", "/rev"],
            ),
            (
                r#"{"actors": {"a": "b"}, "waived": ["a"], "errors": "e"}"#,
                &["/actors", "/waived", "/errors"],
            ),
            (r#"{"state": "a", "phase": [1]}"#, &[]),
            (r#"{"history": {}, "waived": {"a": 3}, "seal": 1}"#, &[]),
            // A number that is rounded is named once, also where its member is left out.
            (
                r#"{"rev": 12345678901234567890123, "n": 12345678901234567890123}"#,
                &["/rev", "/n"],
            ),
        ] {
            let value = serde_json::from_str(text).expect("JSON");
            let phase_key = if text.contains("\"state\"") {
                "state"
            } else {
                "phase"
            };
            assert_eq!(
                left_out(&workflow, phase_key, &value, text),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_number_that_is_rounded_is_found() {
        let text = r#"{"a \"1": 12345678901234567890123, "b": [0.1, 1e3, 1.10, -0, 100, 1E+2,
            0.1000000000000000055511151231257827, {"c~/d": -12345678901234567890}],
            "e": 18446744073709551615, "f": 1e-7, "h": 1e-3, "i": 0.10e-2, "g": "123456789012345678901234"}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(rounded(&value, text), ["/a \"1", "/b/6", "/b/7/c~0~1d"]);
    }
}
