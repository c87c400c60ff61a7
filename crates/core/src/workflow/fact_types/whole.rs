//! Whole numbers that a file writes with a point: `2.0` where the schema asks for an `integer` is 2.

use super::schema::type_of;
use crate::workflow::SchemaText;
use crate::workflow::guard::Types;
use crate::workflow::guard::typing::ValueType;
use crate::workflow::guard::typing::value_type::FoundField;
use serde_json::Value;

/// Beyond these, not every whole number has a fraction of the same value.
const LARGEST: f64 = 9_007_199_254_740_992.0;

impl SchemaText {
    /// Turns each number that the schema calls whole into one, whichever way it is written. To JSON Schema both are the
    /// same; to guards they are not.
    pub fn make_whole(&self, value: &mut Value) {
        if has_pointed(value)
            && let Some(schema) = self.value()
        {
            make_whole(&type_of(schema), value);
        }
    }
}

/// The whole number that a value is, if it is written as a fraction.
fn pointed(value: &Value) -> Option<i64> {
    let number = value
        .as_number()
        .filter(|number| number.is_f64())?
        .as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and within bounds"
    )]
    let whole = number as i64;
    (number.fract() == 0.0 && number.abs() < LARGEST).then_some(whole)
}

/// Whether a whole number in a value is written as a fraction.
fn has_pointed(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_pointed),
        Value::Object(members) => members.values().any(has_pointed),
        other => pointed(other).is_some(),
    }
}

fn make_whole(known: &ValueType, value: &mut Value) {
    match value {
        Value::Array(items) => {
            if let Some(list) = &known.list {
                items
                    .iter_mut()
                    .for_each(|item| make_whole(&list.item, item));
            }
        }
        Value::Object(members) => {
            let Some(map) = &known.map else { return };
            for (name, member) in members {
                if let FoundField::Field(field) = map.field(name) {
                    make_whole(&field.value, member);
                }
            }
        }
        _ => {
            let kinds = known.number.as_ref().map(|number| number.kinds);
            let is_whole = !known.unknown && kinds.is_some_and(|kinds| kinds.is_within(Types::INT));
            if let Some(whole) = pointed(value).filter(|_| is_whole) {
                *value = Value::from(whole);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Digest;
    use serde_json::json;

    #[test]
    fn a_number_is_whole_where_its_schema_says_so() {
        let schema = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer"}, "score": {"type": "number"}, "either": {"type": ["integer", "string"]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/one"}}, "free": {}
            },
            "additionalProperties": {"type": "integer"},
            "$defs": {"one": {"type": "object", "properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}}
        });
        let text = schema.to_string();
        let schema = SchemaText::new("s".to_owned(), &text, Digest::of_files(&[]));
        let mut value = json!({
            "n": 2.0, "score": 2.0, "either": 3.0, "list": [{"n": -4.0}, {"n": 4.5}, {"n": null}], "free": 5.0, "more": 6.0,
        });
        schema.make_whole(&mut value);
        let expected = json!({
            "n": 2, "score": 2.0, "either": 3, "list": [{"n": -4}, {"n": 4.5}, {"n": null}], "free": 5.0, "more": 6,
        });
        assert_eq!(value, expected);
    }
}
