//! What a JSON Schema says of the values that it allows, as a type.
//!
//! What the types cannot express is left out, so that a type allows more than its schema, never less. Where presence
//! depends on other members, nothing is said of it.

use crate::workflow::guard::Types;
use crate::workflow::guard::typing::{
    FieldType, ListType, MapType, NumberType, Presence, RestType, TextType, ValueType,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How deep references and parts are followed.
const MOST_DEPTH: usize = 24;
/// How many parts of one schema are read. References may make it a tree of any size.
const MOST_PARTS: usize = 20_000;

/// The type of the values that a schema allows.
pub(super) fn type_of(schema: &Value) -> ValueType {
    let mut reader = SchemaReader {
        root: schema,
        left: MOST_PARTS,
        named: BTreeMap::new(),
    };
    reader.part(schema, 0)
}

struct SchemaReader<'s> {
    root: &'s Value,
    /// How many more parts are read.
    left: usize,
    /// What references are about, once they were read.
    named: BTreeMap<&'s str, ValueType>,
}

impl<'s> SchemaReader<'s> {
    fn part(&mut self, schema: &'s Value, depth: usize) -> ValueType {
        let Value::Object(keys) = schema else {
            return ValueType::any();
        };
        if depth > MOST_DEPTH || self.left == 0 {
            return ValueType::any();
        }
        self.left -= 1;
        let mut own = self.own(keys, depth);
        if let Some(target) = keys.get("$ref").and_then(Value::as_str) {
            own = own.meet(&self.referred(target, depth));
        }
        for all in alternatives(keys, "allOf") {
            own = own.meet(&self.part(all, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            let mut any: Option<ValueType> = None;
            for one in alternatives(keys, key) {
                let one = own.meet(&self.part(one, depth + 1));
                any = Some(any.map_or_else(|| one.clone(), |any| any.either(&one)));
            }
            own = any.unwrap_or(own);
        }
        let depending = depending(keys);
        if let Some(map) = own.map.as_mut().filter(|_| !depending.is_empty()) {
            for (name, field) in &mut Arc::make_mut(map).fields {
                if field.presence == Presence::Maybe && depending.contains(name.as_ref()) {
                    field.presence = Presence::Depends;
                }
            }
        }
        own
    }

    fn referred(&mut self, target: &'s str, depth: usize) -> ValueType {
        if let Some(known) = self.named.get(target) {
            return known.clone();
        }
        let found = target
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer));
        // A reference to itself, on the way to what it is about, says nothing.
        self.named.insert(target, ValueType::any());
        let known = found.map_or_else(ValueType::any, |found| self.part(found, depth + 1));
        self.named.insert(target, known.clone());
        known
    }

    /// What the keys themselves say, without references and alternatives.
    fn own(&mut self, keys: &'s Map<String, Value>, depth: usize) -> ValueType {
        let listed = match (keys.get("const"), keys.get("enum")) {
            (Some(value), _) => Some(std::slice::from_ref(value)),
            (None, Some(Value::Array(values))) => Some(values.as_slice()),
            _ => None,
        };
        let kinds = kinds_of(keys);
        if let Some(values) = listed {
            let listed = listed_type(values);
            return kinds.map_or_else(|| listed.clone(), |kinds| listed.within(kinds));
        }
        let Some(kinds) = kinds.or_else(|| implied(keys)) else {
            return ValueType::any();
        };
        let mut value = ValueType::of_kinds(kinds);
        if let Some(number) = &mut value.number {
            bound(number, keys);
        }
        if let Some(text) = &mut value.text {
            *text = text_type(keys);
        }
        if value.list.is_some() {
            value.list = Some(Arc::new(self.list(keys, depth)));
        }
        if value.map.is_some() {
            value.map = Some(Arc::new(self.map(keys, depth)));
        }
        value
    }

    fn list(&mut self, keys: &'s Map<String, Value>, depth: usize) -> ListType {
        let mut item = match keys.get("items") {
            Some(items) => self.part(items, depth + 1),
            None => ValueType::any(),
        };
        for first in alternatives(keys, "prefixItems") {
            item = item.join(&self.part(first, depth + 1));
        }
        let least = keys.get("minItems").and_then(whole_number);
        ListType {
            item,
            at_least: Some(least.unwrap_or_default()),
        }
    }

    fn map(&mut self, keys: &'s Map<String, Value>, depth: usize) -> MapType {
        let required: Vec<&str> = names(keys.get("required")).collect();
        let mut fields = BTreeMap::new();
        let properties = keys.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            // Whether there can be such a member at all is left to the validator.
            let presence = if required.contains(&name.as_str()) {
                Presence::Always
            } else {
                Presence::Maybe
            };
            let value = self.part(schema, depth + 1);
            fields.insert(Arc::from(name.as_str()), FieldType::new(presence, value));
        }
        let has_patterns = keys.contains_key("patternProperties");
        let others = keys
            .get("additionalProperties")
            .or_else(|| keys.get("unevaluatedProperties"));
        let rest = match others {
            _ if has_patterns => RestType::Open(ValueType::any()),
            Some(Value::Bool(false)) => RestType::Closed,
            Some(Value::Bool(true)) => RestType::Open(ValueType::any()),
            Some(schema) => RestType::Open(self.part(schema, depth + 1)),
            None => RestType::Silent,
        };
        for name in required {
            let field = || {
                FieldType::always(match &rest {
                    RestType::Open(value) => value.clone(),
                    _ => ValueType::any(),
                })
            };
            fields.entry(Arc::from(name)).or_insert_with(field);
        }
        MapType {
            fields,
            rest,
            when: BTreeMap::new(),
            words: None,
        }
    }
}

/// The schemas of a list.
fn alternatives<'s>(keys: &'s Map<String, Value>, key: &str) -> impl Iterator<Item = &'s Value> {
    keys.get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn names(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let names = value.and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn whole_number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// The kinds that `type` allows; `None` without a `type`.
fn kinds_of(keys: &Map<String, Value>) -> Option<Types> {
    match keys.get("type")? {
        Value::Array(names) => names.iter().map(kind_named).reduce(Types::or),
        name => Some(kind_named(name)),
    }
}

fn kind_named(name: &Value) -> Types {
    match name.as_str() {
        Some("boolean") => Types::BOOL,
        Some("integer") => Types::INT,
        Some("number") => Types::INT.or(Types::DOUBLE),
        Some("string") => Types::TEXT,
        Some("array") => Types::LIST,
        Some("object") => Types::MAP,
        Some("null") => Types::NULL,
        _ => Types::ANY,
    }
}

/// The kind that is meant where keys speak of the parts of one, and no `type` is there.
fn implied(keys: &Map<String, Value>) -> Option<Types> {
    let has = |names: &[&str]| names.iter().any(|name| keys.contains_key(*name));
    let is_map = has(&["properties", "required", "additionalProperties"]);
    let is_list = has(&["items", "prefixItems", "minItems"]);
    match (is_map, is_list) {
        (true, false) => Some(Types::MAP),
        (false, true) => Some(Types::LIST),
        _ => None,
    }
}

fn bound(number: &mut NumberType, keys: &Map<String, Value>) {
    let of = |key: &str| keys.get(key).and_then(Value::as_f64);
    let step = if number.kinds == Types::INT { 1.0 } else { 0.0 };
    let least = of("exclusiveMinimum").map(|least| (least + step).floor().min(least + step));
    let most = of("exclusiveMaximum").map(|most| (most - step).ceil().max(most - step));
    number.least = of("minimum").into_iter().chain(least).reduce(f64::max);
    number.most = of("maximum").into_iter().chain(most).reduce(f64::min);
}

fn text_type(keys: &Map<String, Value>) -> TextType {
    let patterns = keys.get("pattern").and_then(Value::as_str);
    TextType {
        only: None,
        patterns: patterns.into_iter().map(Arc::from).collect(),
        shortest: keys
            .get("minLength")
            .and_then(whole_number)
            .unwrap_or_default(),
        longest: keys.get("maxLength").and_then(whole_number),
        is_lower: false,
    }
}

/// The type of these values.
fn listed_type(values: &[Value]) -> ValueType {
    let types = values.iter().map(|value| match value {
        Value::Null => ValueType::null(),
        Value::Bool(_) => ValueType::truth(),
        Value::Number(number) => {
            let value = number.as_f64().unwrap_or_default();
            let kinds = if value.fract() == 0.0 {
                Types::INT
            } else {
                Types::DOUBLE
            };
            ValueType::number(NumberType {
                only: Some(Arc::new(vec![value])),
                ..NumberType::of(kinds)
            })
        }
        Value::String(text) => ValueType::one_of([text.as_str()]),
        Value::Array(_) => ValueType::of_kinds(Types::LIST),
        Value::Object(_) => ValueType::of_kinds(Types::MAP),
    });
    types
        .reduce(|one, two| one.join(&two))
        .unwrap_or_else(ValueType::any)
}

/// The members of which other members decide whether they are there.
fn depending(keys: &Map<String, Value>) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for key in [
        "if",
        "then",
        "else",
        "not",
        "dependentRequired",
        "dependentSchemas",
    ] {
        if let Some(schema) = keys.get(key) {
            required_in(schema, key == "dependentRequired", &mut found);
        }
    }
    for all in alternatives(keys, "allOf") {
        if let Value::Object(keys) = all {
            found.extend(depending(keys));
        }
    }
    found
}

/// The names that a schema or a part of it requires.
fn required_in<'s>(schema: &'s Value, is_map_of_names: bool, found: &mut BTreeSet<&'s str>) {
    match schema {
        Value::Object(keys) if is_map_of_names => {
            keys.values()
                .for_each(|list| found.extend(names(Some(list))));
        }
        Value::Object(keys) => {
            found.extend(names(keys.get("required")));
            for value in keys.values() {
                required_in(value, false, found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| required_in(item, false, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::guard::typing::value_type::FoundField;
    use serde_json::json;

    fn field(value: &ValueType, name: &str) -> FieldType {
        match value.map.as_ref().expect("a map").field(name) {
            FoundField::Field(field) => field,
            FoundField::Never => panic!("`{name}` is never there"),
            FoundField::Slip(near) => panic!("`{name}` is taken for `{near}`"),
        }
    }

    #[test]
    fn a_schema_says_what_is_there_and_of_which_kind() {
        let schema = json!({
            "type": "object",
            "required": ["n", "kind"],
            "properties": {
                "n": {"type": "integer", "minimum": 1},
                "kind": {"enum": ["a", "b"]},
                "score": {"type": ["number", "null"]},
                "list": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/one"}},
                "when_bad": {"type": "string"}
            },
            "if": {"properties": {"kind": {"const": "b"}}},
            "then": {"required": ["when_bad"]},
            "additionalProperties": false,
            "$defs": {"one": {"type": "object", "properties": {"next": {"$ref": "#/$defs/one"}}}}
        });
        let of = type_of(&schema);
        assert_eq!(of.kinds(), Types::MAP);
        assert_eq!(field(&of, "n").presence, Presence::Always);
        assert!(
            !field(&of, "n")
                .value
                .number
                .clone()
                .expect("a number")
                .allows(0.0)
        );
        assert!(
            !field(&of, "kind")
                .value
                .text
                .clone()
                .expect("a text")
                .allows("c")
        );
        assert_eq!(field(&of, "score").presence, Presence::Maybe);
        assert!(field(&of, "score").value.null);
        assert_eq!(
            field(&of, "list")
                .value
                .list
                .clone()
                .expect("a list")
                .at_least,
            Some(2)
        );
        assert_eq!(field(&of, "when_bad").presence, Presence::Depends);
        assert!(matches!(
            of.map.expect("a map").field("other"),
            FoundField::Never
        ));
    }

    #[test]
    fn of_alternatives_only_what_all_have_is_there() {
        let schema = json!({
            "properties": {"ok": {"type": "boolean"}, "all": {"type": "object"}},
            "anyOf": [{"required": ["ok"]}, {"required": ["all"]}],
            "allOf": [{"required": ["id"]}, {"properties": {"id": {"type": "string"}}}]
        });
        let of = type_of(&schema);
        assert_eq!(field(&of, "ok").presence, Presence::Depends);
        assert_eq!(field(&of, "ok").value.kinds(), Types::BOOL);
        assert_eq!(field(&of, "id").presence, Presence::Always);
        assert_eq!(field(&of, "id").value.kinds(), Types::TEXT);
    }
}
