//! The keywords of JSON Schema, and the schemas nested in a schema.

use orch_base::pointer::child;
use serde_json::{Map, Value};

/// Every keyword of JSON Schema 2020-12 and its vocabularies.
pub(super) const KEYWORDS: [&str; 60] = [
    "$id",
    "$schema",
    "$ref",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "prefixItems",
    "items",
    "contains",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
    "format",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "definitions",
    "dependencies",
    "$recursiveRef",
];

/// A schema nested in another one.
pub(super) struct Subschema<'s> {
    /// JSON pointer from the root of the document.
    pub pointer: String,
    /// What the pointer leads to.
    pub schema: &'s Value,
    /// Whether it validates the same value as the enclosing schema, not part of that value.
    pub same_value: bool,
}

/// The schemas nested directly in a schema, in document order.
pub(super) fn inner<'s>(schema: &'s Value, pointer: &str) -> Vec<Subschema<'s>> {
    let mut found = Vec::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        let below = child(pointer, key);
        let same_value = matches!(
            key.as_str(),
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
        );
        match key.as_str() {
            "properties" | "patternProperties" | "$defs" | "dependentSchemas" | "definitions" => {
                let members = value.as_object().into_iter().flat_map(Map::iter);
                found.extend(members.map(|(name, schema)| Subschema {
                    pointer: child(&below, name),
                    schema,
                    same_value,
                }));
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                found.extend(items.map(|(index, schema)| Subschema {
                    pointer: format!("{below}/{index}"),
                    schema,
                    same_value,
                }));
            }
            "not"
            | "if"
            | "then"
            | "else"
            | "items"
            | "contains"
            | "additionalProperties"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema" => found.push(Subschema {
                pointer: below,
                schema: value,
                same_value,
            }),
            _ => {}
        }
    }
    found
}

/// A schema and all schemas nested in it, each with its JSON pointer, in document order.
pub(super) fn subschemas(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), schema)];
    while let Some((pointer, schema)) = open.pop() {
        open.extend(
            inner(schema, &pointer)
                .into_iter()
                .rev()
                .map(|inner| (inner.pointer, inner.schema)),
        );
        found.push((pointer, schema));
    }
    found
}
