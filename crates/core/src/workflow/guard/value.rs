//! Converts JSON values to CEL values and back.
//!
//! Integers become CEL `int`, never `uint`, so that `state.seq + 1` works.

use cel::Value as Cel;
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use cel::objects::Key;
use serde_json::{Map, Number, Value};
use std::collections::HashMap;

/// The value for the evaluator; its texts stay where they are.
pub(super) fn to_val(value: &Value) -> Box<dyn Val + '_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Box::new(CelInt::from(integer)),
            (None, Some(large)) => Box::new(CelUInt::from(large)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            Box::new(CelList::from(items.iter().map(to_val).collect::<Vec<_>>()))
        }
        Value::Object(members) => map(members
            .iter()
            .map(|(key, value)| (CelMapKey::from(key.as_str()), to_val(value)))),
    }
}

/// A map for the evaluator.
pub(super) fn map<'v>(
    members: impl Iterator<Item = (CelMapKey<'v>, Box<dyn Val + 'v>)>,
) -> Box<dyn Val + 'v> {
    Box::new(CelMap::from(members.collect::<HashMap<_, _>>()))
}

/// The JSON value of a CEL value; `None` for what JSON cannot represent (functions, bytes, NaN).
pub(super) fn to_json(value: &Cel) -> Option<Value> {
    match value {
        Cel::Null => Some(Value::Null),
        Cel::Bool(value) => Some(Value::Bool(*value)),
        Cel::Int(value) => Some(Value::from(*value)),
        Cel::UInt(value) => Some(Value::from(*value)),
        Cel::Float(value) => Number::from_f64(*value).map(Value::Number),
        Cel::String(text) => Some(Value::String(text.as_str().to_owned())),
        Cel::List(items) => items
            .iter()
            .map(to_json)
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        Cel::Map(map) => {
            let mut members: Vec<(String, Value)> = Vec::with_capacity(map.map.len());
            for (key, value) in map.map.iter() {
                let key = match key {
                    Key::String(text) => text.as_str().to_owned(),
                    Key::Int(number) => number.to_string(),
                    Key::Uint(number) => number.to_string(),
                    Key::Bool(value) => value.to_string(),
                };
                members.push((key, to_json(value)?));
            }
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Some(Value::Object(Map::from_iter(members)))
        }
        _ => None,
    }
}

/// The most values that a glimpse shows.
const MAX_SHOWN: usize = 500;
/// The most bytes of a text that a glimpse shows.
const MAX_SHOWN_TEXT: usize = 2_000;

/// The value as an explanation shows it. What is left out of a large value is counted where it ends.
pub(super) fn glimpse(value: &Value) -> Value {
    shown(value, &mut { MAX_SHOWN })
}

/// What stands for parts that are left out.
fn more(count: usize) -> String {
    format!("… {count} more")
}

/// At most `left` values of a value, and what that leaves of `left`.
fn shown(value: &Value, left: &mut usize) -> Value {
    *left = left.saturating_sub(1);
    match value {
        Value::String(text) if text.len() > MAX_SHOWN_TEXT => {
            let end = text.floor_char_boundary(MAX_SHOWN_TEXT);
            Value::from(format!("{}{}", &text[..end], more(text.len() - end)))
        }
        Value::Array(items) => {
            let mut some = Vec::new();
            for item in items {
                if *left == 0 {
                    some.push(Value::from(more(items.len() - some.len())));
                    break;
                }
                some.push(shown(item, left));
            }
            Value::Array(some)
        }
        Value::Object(members) => {
            let mut some = Map::new();
            for (key, member) in members {
                if *left == 0 {
                    some.insert(
                        "…".to_owned(),
                        Value::from(more(members.len() - some.len())),
                    );
                    break;
                }
                some.insert(key.clone(), shown(member, left));
            }
            Value::Object(some)
        }
        other => other.clone(),
    }
}
