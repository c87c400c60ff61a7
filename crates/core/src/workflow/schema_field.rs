//! The part of a JSON Schema that describes one value of a document.

use super::guard::ITEM;
use orch_base::pointer::unescape;
use serde_json::Value;

/// How many references are followed in a row.
const MOST_REFERENCES: usize = 16;

/// The part of `schema` that describes the value at a JSON pointer; `None` if it describes no such value.
/// References within the schema are followed. The segment `[]` stands for each item of a list.
#[must_use]
pub fn schema_field<'s>(schema: &'s Value, pointer: &str) -> Option<&'s Value> {
    let mut here = resolved(schema, schema)?;
    for segment in pointer.split('/').skip(1) {
        let properties = here.get("properties");
        let member = properties.and_then(|members| members.get(unescape(segment)));
        let others = here
            .get("additionalProperties")
            .filter(|others| others.is_object());
        let items = if segment == ITEM {
            here.get("items")
        } else {
            None
        };
        here = resolved(schema, member.or(others).or(items)?)?;
    }
    Some(here)
}

/// Whether a part of a schema describes a list, and nothing else that a person may type.
#[must_use]
pub fn is_list(field: &Value) -> bool {
    field.get("type").and_then(Value::as_str) == Some("array")
}

fn resolved<'s>(root: &'s Value, mut here: &'s Value) -> Option<&'s Value> {
    for _ in 0..MOST_REFERENCES {
        let Some(target) = here.get("$ref").and_then(Value::as_str) else {
            return Some(here);
        };
        here = root.pointer(target.strip_prefix('#')?)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_found_through_members_and_references() {
        let schema = json!({
            "properties": {
                "a/b": {"type": "array"},
                "c": {"$ref": "#/$defs/c"},
                "g": {"items": {"type": "string"}},
                "d": {"additionalProperties": {"type": "string"}},
                "e": {"$ref": "#/properties/e"}
            },
            "$defs": {"c": {"properties": {"f": {"enum": [1, 2]}}}}
        });
        for (pointer, expected) in [
            ("/a~1b", Some(json!({"type": "array"}))),
            ("/c/f", Some(json!({"enum": [1, 2]}))),
            ("/d/any", Some(json!({"type": "string"}))),
            ("/g/[]", Some(json!({"type": "string"}))),
            ("/g/0", None),
            ("/e", None),
            ("/none", None),
            ("/c/none", None),
        ] {
            assert_eq!(
                schema_field(&schema, pointer).cloned(),
                expected,
                "{pointer}"
            );
        }
        assert!(
            is_list(&json!({"type": "array"})) && !is_list(&json!({"type": ["array", "null"]}))
        );
    }
}
