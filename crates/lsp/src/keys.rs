//! The keys that may be written in a table, as the JSON Schema of a TOML text says.

use orch_core::workflow::System;
use serde_json::{Value, json};

/// The kinds of the protocol for what is offered.
#[derive(Clone, Copy)]
pub enum OfferKind {
    Function = 3,
    Field = 5,
    Module = 9,
    Property = 10,
    Value = 12,
}

/// The keys that may be written at the end of a text, which ends where the cursor is; nothing in a heading or a value.
/// `schema` is the name of a schema that ships.
pub fn keys_by_schema(schema: &str, before: &str) -> Vec<Value> {
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.contains(['=', '[', '#']) {
        return Vec::new();
    }
    let system = System::shipped();
    let schema = system.schema(schema).unwrap_or_default();
    let whole: Value = serde_json::from_str(schema).unwrap_or_default();
    let headings = before.lines().rev().map(str::trim_start);
    let heading = headings
        .filter(|line| line.starts_with('['))
        .find_map(|line| {
            let names = line.trim_start_matches('[');
            names.split_once(']').map(|(names, _)| names)
        });
    let names = heading.into_iter().flat_map(|names| names.split('.'));
    let Some(table) = names.map(str::trim).try_fold(&whole, below) else {
        return Vec::new();
    };
    let keys = table["properties"].as_object().into_iter().flatten();
    keys.map(|(key, value)| {
        let example = value["examples"][0]
            .as_str()
            .map(|text| format!("for example `{text}`"));
        let meaning = value["description"].as_str().map(str::to_owned).or(example);
        json!({
            "label": key,
            "kind": OfferKind::Property as u8,
            "insertText": format!("{key} = "),
            "documentation": {"kind": "markdown", "value": meaning.unwrap_or_default()},
        })
    })
    .collect()
}

/// The schema of a table below another one.
fn below<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let known = schema["properties"].get(name);
    let found = known.or_else(|| {
        schema
            .get("additionalProperties")
            .filter(|of| of.is_object())
    })?;
    Some(found.get("items").unwrap_or(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_table() {
        for (schema, before, is_there, is_not) in [
            ("input/orch-toml", "", "settle_ms", "batch_seconds"),
            ("input/orch-toml", "[git]\nco", "batch_seconds", "settle_ms"),
            (
                "input/orch-toml",
                "[[root]]\npath = 'x'\n",
                "workflow",
                "commit",
            ),
            ("input/orch-toml", "[verify.tests]\n", "command", "verify"),
            (
                "input/workflow-tests",
                "[[test]]\nname = 'x'\n",
                "expect",
                "test",
            ),
            (
                "input/workflow-tests",
                "[test.expect]\n",
                "outcome",
                "expect",
            ),
        ] {
            let found = keys_by_schema(schema, before);
            let has = |key: &str| found.iter().any(|offer| offer["label"] == key);
            assert!(has(is_there) && !has(is_not), "{before}: {found:?}");
        }
        for before in ["[gi", "[git]\ncommit = ", "[nowhere]\n", "# a"] {
            assert!(
                keys_by_schema("input/orch-toml", before).is_empty(),
                "{before}"
            );
        }
    }
}
