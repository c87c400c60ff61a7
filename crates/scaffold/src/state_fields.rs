//! Reads the fields of a state: a list of fields, an object of types by name, or a JSON Schema.

use super::fault::SkillFault;
use super::field::{self, Field, Type};
use super::reader::SkillReader;
use super::skill::{KEPT, is_name};
use orch_base::Code;
use orch_base::pointer::child;
use orch_core::workflow::RESERVED_KEYS;
use serde_json::{Map, Value};

/// The keys of a field, beside its name in a list.
const KEYS: [&str; 7] = [
    "name",
    "type",
    "description",
    "default",
    "enum",
    "items",
    "properties",
];

/// Where a field is declared.
struct DeclaredField {
    name: String,
    /// The JSON pointer of its name.
    at: String,
    /// The JSON pointer of the field.
    pointer: String,
    item: Map<String, Value>,
}

impl SkillReader {
    /// The fields that the loop at the pointer `above` declares, except those that `orch` manages.
    pub(super) fn fields(&mut self, loop_of: &Map<String, Value>, above: &str) -> Vec<Field> {
        if loop_of.get("state_schema").is_none_or(Value::is_null) {
            return Vec::new();
        }
        let mut fields: Vec<Field> = Vec::new();
        for declared in self.declared(loop_of, above) {
            let DeclaredField {
                name,
                at,
                pointer,
                item,
            } = declared;
            if name.is_empty() {
                continue;
            }
            if KEPT.contains(&name.as_str()) {
                self.dropped(&item, &pointer, &["default"], "orch sets this field itself");
            } else if fields.iter().any(|field| field.name == name) {
                self.error(
                    &at,
                    Code::SkillName,
                    format!("field `{name}` is already declared"),
                );
            } else if RESERVED_KEYS.contains(&name.as_str()) {
                let message =
                    format!("orch uses the key `{name}` of state.json for something else");
                let fault = SkillFault::error(at, Code::SkillName, message);
                self.faults
                    .push(fault.hint(format!("rename the field, for example `skill_{name}`")));
            } else if !is_name(&name) {
                let fault = SkillFault::error(
                    at,
                    Code::SkillName,
                    format!("`{name}` cannot be used in a condition"),
                );
                self.faults
                    .push(fault.hint("choose a name of letters, digits and underscores"));
            } else {
                fields.push(self.field(name, &item, &pointer));
            }
        }
        fields
    }

    fn field(&mut self, name: String, item: &Map<String, Value>, pointer: &str) -> Field {
        let (kind, nullable) = self.kind(item, pointer);
        // A default of null says that a new task has no value.
        let starts_absent = item.get("default").is_some_and(Value::is_null);
        let optional = nullable || starts_absent || kind.starts_absent();
        let description = self.text(item, pointer, "description", false);
        let initial = self.initial(item, pointer, &kind);
        if initial.is_some() && nullable && !kind.starts_absent() {
            let message = format!("`{name}` is never null: without a value it has its default");
            let at = child(pointer, "default");
            self.faults
                .push(SkillFault::warning(at, Code::SkillDropped, message));
        }
        Field {
            name,
            kind,
            optional,
            description,
            initial,
        }
    }

    /// The fields as declared: a list under `fields`, or an object of types, or of fields, by name.
    fn declared(&mut self, loop_of: &Map<String, Value>, above: &str) -> Vec<DeclaredField> {
        let at = child(above, "state_schema");
        let Some(schema) = self.object(loop_of, above, "state_schema") else {
            return Vec::new();
        };
        let is_list = match schema.get("fields") {
            None => schema.is_empty(),
            Some(fields) => !(fields.is_string() || fields.is_object()),
        };
        if is_list {
            self.keys(schema, &at, &["fields"]);
            let mut named = Vec::new();
            for (pointer, item) in self.items(schema, &at, "fields", false) {
                self.keys(item, &pointer, &KEYS);
                named.push(DeclaredField {
                    name: self.text(item, &pointer, "name", true),
                    at: child(&pointer, "name"),
                    pointer,
                    item: item.clone(),
                });
            }
            return named;
        }
        // A JSON Schema has its fields below `properties`.
        let (at, members) = match schema.get("properties") {
            Some(Value::Object(members))
                if schema.get("type").is_none_or(|kind| kind == "object") =>
            {
                self.keys(schema, &at, &["type", "properties"]);
                (child(&at, "properties"), members)
            }
            _ => (at, schema),
        };
        let mut found = Vec::new();
        for (name, value) in members {
            let pointer = child(&at, name);
            let item = match value {
                Value::String(kind) => {
                    Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))])
                }
                Value::Object(item) => {
                    self.keys(item, &pointer, &KEYS[1..]);
                    item.clone()
                }
                _ => {
                    self.wrong(pointer, "a type, or an object with a `type`");
                    continue;
                }
            };
            found.push(DeclaredField {
                name: name.clone(),
                at: pointer.clone(),
                pointer,
                item,
            });
        }
        found
    }

    /// The value that a configuration gives a field of a new task.
    fn initial(&mut self, item: &Map<String, Value>, pointer: &str, kind: &Type) -> Option<Value> {
        let value = item.get("default").filter(|value| !value.is_null())?;
        let at = child(pointer, "default");
        if !kind.accepts(value) {
            self.error(
                &at,
                Code::SkillValue,
                "the default is not of the type of its field",
            );
            return None;
        }
        if let Some((inner, what)) = unwritable(value, &at) {
            self.error(
                &inner,
                Code::SkillValue,
                format!("a default cannot contain {what}"),
            );
            return None;
        }
        Some(value.clone())
    }

    /// The type of a field and whether it may be null: from `enum`, or else from `type` and `items`.
    fn kind(&mut self, item: &Map<String, Value>, pointer: &str) -> (Type, bool) {
        let members = item.get("properties").filter(|members| !members.is_null());
        if members.is_some_and(|members| {
            members
                .as_object()
                .is_none_or(|members| !members.is_empty())
        }) {
            let message = "the members of an object cannot be declared";
            let fault = SkillFault::error(child(pointer, "properties"), Code::SkillValue, message);
            let hint = "declare each member as a field of its own, or leave `properties` out: the field then accepts any object";
            self.faults.push(fault.hint(hint));
        }
        if let Some(values) = item.get("enum").filter(|values| !values.is_null()) {
            return self.one_of(values, &child(pointer, "enum"));
        }
        let at = child(pointer, "type");
        let text = match item.get("type") {
            Some(Value::Array(kinds)) if !kinds.is_empty() && kinds.iter().all(is_word) => {
                let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                kinds.join(" | ")
            }
            Some(Value::Array(_)) => {
                self.wrong(at, "a type or a list of types");
                return (Type::Any, false);
            }
            _ => self.text(item, pointer, "type", true),
        };
        let (kind, nullable) = field::read(&text);
        if kind == Type::Any && !text.is_empty() && text != "any" {
            let message = format!("type `{text}` is unknown, so the field accepts any value");
            let hint = "the types are: string, number, integer, boolean, array, object, TYPE[], 'a' | 'b', null";
            self.faults
                .push(SkillFault::warning(at, Code::SkillType, message).hint(hint));
        }
        match (kind, item.get("items")) {
            (Type::List(_), Some(Value::Object(of))) => {
                let below = child(pointer, "items");
                self.keys(of, &below, &KEYS[1..]);
                let (of, item_nullable) = self.kind(of, &below);
                (Type::list_of(of, item_nullable), nullable)
            }
            (kind, Some(items)) if !items.is_null() => {
                let what = "an object with the `type` of the items, below a field of type `array`";
                self.wrong(child(pointer, "items"), what);
                (kind, nullable)
            }
            (kind, _) => (kind, nullable),
        }
    }

    /// The type of a field that is one of these values, and whether null is among them.
    fn one_of(&mut self, values: &Value, at: &str) -> (Type, bool) {
        let values = values.as_array().filter(|values| !values.is_empty());
        let nullable = values.is_some_and(|values| values.iter().any(Value::is_null));
        let given: Option<Vec<String>> = values.and_then(|values| {
            let texts = values.iter().filter(|value| !value.is_null());
            texts
                .map(|value| value.as_str().map(str::to_owned))
                .collect()
        });
        match given.filter(|texts| !texts.is_empty()) {
            Some(texts) => (Type::OneOf(texts), nullable),
            None => {
                self.wrong(at.to_owned(), "a list of strings");
                (Type::Any, nullable)
            }
        }
    }
}

fn is_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// The pointer and the kind of the first part of a value that a workflow document cannot contain.
fn unwritable(value: &Value, at: &str) -> Option<(String, &'static str)> {
    match value {
        Value::Null => Some((at.to_owned(), "null")),
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            Some((at.to_owned(), "a number above 9223372036854775807"))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(nth, item)| unwritable(item, &child(at, &nth.to_string()))),
        Value::Object(members) => members
            .iter()
            .find_map(|(key, item)| unwritable(item, &child(at, key))),
        _ => None,
    }
}
