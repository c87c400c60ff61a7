//! A JSON Schema in a few lines: the names, the types and the required fields of a document.

use orch_core::workflow::is_list;
use serde_json::Value;

/// How deep objects are shown.
const DEEPEST: usize = 4;
/// How many values of an enumeration are shown.
const MOST_VALUES: usize = 8;

/// The fields of a document that the schema describes, one per line: `name*: type`. A star marks a required
/// field. `None` if the schema does not describe an object with fields.
#[must_use]
pub fn schema_outline(schema: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(schema).ok()?;
    let outline = Outline { root: &schema };
    let mut out = String::new();
    for (name, field) in schema.get("properties")?.as_object()? {
        let star = if is_required(&schema, name) { "*" } else { "" };
        out.push_str(&format!("{name}{star}: {}\n", outline.kind(field, DEEPEST)));
    }
    let alternatives: Vec<String> = (schema
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten())
    .map(|one| required(one, ""))
    .filter(|names| !names.is_empty())
    .map(|names| names.join(" and "))
    .collect();
    if alternatives.len() > 1 {
        out.push_str(&format!("at least: {}\n", alternatives.join("; or ")));
    }
    (!out.is_empty()).then_some(out)
}

/// The type that a part of a schema describes, in one line.
pub(super) fn kind_of(root: &Value, part: &Value) -> String {
    Outline { root }.kind(part, DEEPEST)
}

/// The values that a part of a schema allows, or allows as the items of a list; `None` if they are not listed.
pub(super) fn allowed(root: &Value, part: &Value) -> Option<Vec<Value>> {
    if is_list(part) {
        return allowed(root, part.get("items")?);
    }
    let part = match part.get("$ref").and_then(Value::as_str) {
        Some(target) => root.pointer(target.strip_prefix('#')?)?,
        None => part,
    };
    if part.get("type").and_then(Value::as_str) == Some("boolean") {
        return Some(vec![Value::Bool(true), Value::Bool(false)]);
    }
    part.get("enum")?.as_array().cloned()
}

struct Outline<'s> {
    root: &'s Value,
}

impl Outline<'_> {
    /// A type in one line; below `depth` levels of lists, objects and references, an ellipsis.
    fn kind(&self, schema: &Value, depth: usize) -> String {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let found = target
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            let shown = found
                .zip(depth.checked_sub(1))
                .map(|(found, depth)| self.kind(found, depth));
            return shown.unwrap_or_else(|| "…".to_owned());
        }
        if let Some(only) = schema.get("const") {
            return only.to_string();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let mut shown: Vec<String> = values
                .iter()
                .take(MOST_VALUES)
                .map(ToString::to_string)
                .collect();
            if values.len() > MOST_VALUES {
                shown.push("…".to_owned());
            }
            return shown.join(" | ");
        }
        for several in ["anyOf", "oneOf"] {
            if let Some(list) = schema.get(several).and_then(Value::as_array)
                && schema.get("properties").is_none()
            {
                return either(list.iter().map(|one| self.kind(one, depth)));
            }
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.named(schema, name, depth),
            Some(Value::Array(names)) => either(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| self.named(schema, name, depth)),
            ),
            _ if schema.get("properties").is_some() => self.named(schema, "object", depth),
            _ => "any".to_owned(),
        }
    }

    fn named(&self, schema: &Value, name: &str, depth: usize) -> String {
        let depth = match (name, depth.checked_sub(1)) {
            ("array", None) => return "[…]".to_owned(),
            ("object", None) => return "{…}".to_owned(),
            (_, below) => below.unwrap_or(0),
        };
        match name {
            "array" => match schema.get("items") {
                Some(items) => format!("[{}]", self.kind(items, depth)),
                None => "[any]".to_owned(),
            },
            "object" => {
                let Some(members) = schema.get("properties").and_then(Value::as_object) else {
                    return match schema
                        .get("additionalProperties")
                        .filter(|rest| rest.is_object())
                    {
                        Some(rest) => format!("{{name: {}}}", self.kind(rest, depth)),
                        None => "object".to_owned(),
                    };
                };
                let mut fields = Vec::new();
                for (name, field) in members {
                    let star = if is_required(schema, name) { "*" } else { "" };
                    fields.push(match self.kind(field, depth).as_str() {
                        "string" => format!("{name}{star}"),
                        kind => format!("{name}{star}: {kind}"),
                    });
                }
                format!("{{{}}}", fields.join(", "))
            }
            other => other.to_owned(),
        }
    }
}

fn either(kinds: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for kind in kinds.filter(|kind| kind != "…") {
        if !different.contains(&kind) {
            different.push(kind);
        }
    }
    if different.is_empty() {
        "…".to_owned()
    } else {
        different.join(" | ")
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let names = schema.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
}

/// The fields that a schema requires, each with its path, including those of its properties.
fn required(schema: &Value, above: &str) -> Vec<String> {
    let names = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    names
        .filter_map(Value::as_str)
        .flat_map(|name| {
            let path = if above.is_empty() {
                name.to_owned()
            } else {
                format!("{above}.{name}")
            };
            let inner = schema
                .get("properties")
                .and_then(|members| members.get(name));
            match inner.map(|inner| required(inner, &path)) {
                Some(inner) if !inner.is_empty() => inner,
                _ => vec![path],
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outline_has_names_types_and_stars() {
        let schema = r##"{
            "required": ["id"],
            "anyOf": [{"required": ["ok"]}, {"required": ["sum"], "properties": {"sum": {"required": ["ok"]}}}],
            "properties": {
                "id": {"type": "string"},
                "ok": {"type": "boolean"},
                "sum": {"type": "object"},
                "level": {"enum": ["a", "b", null]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/one"}},
                "of": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
                "free": {}
            },
            "$defs": {"one": {"anyOf": [{"type": "string"}, {"required": ["m"], "properties": {"m": {"type": "string"}, "n": {"type": "integer"}}}]}}
        }"##;
        let expected = "id*: string\nok: boolean\nsum: object\nlevel: \"a\" | \"b\" | null\n\
            list: [string | {m*, n: integer}]\nof: {name: string | null}\nfree: any\n\
            at least: ok; or sum.ok\n";
        assert_eq!(schema_outline(schema).as_deref(), Some(expected));
        assert_eq!(schema_outline("{}"), None);
        assert_eq!(schema_outline("no json"), None);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = r##"{"properties": {"a": {"$ref": "#"}}}"##;
        assert_eq!(schema_outline(schema).as_deref(), Some("a: {a: {a: …}}\n"));
    }
}
