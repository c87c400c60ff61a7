//! Converts JSON values to CEL values and back.
//!
//! Integers become CEL `int`, never `uint`, so that `state.seq + 1` works.

use cel::Value as Cel;
use cel::objects::{Key, Map as CelMap};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Cel::Int(integer),
            (None, Some(large)) => Cel::UInt(large),
            (None, None) => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(members) => {
            let members: HashMap<Key, Cel> =
                members.iter().map(|(key, value)| (Key::from(key.as_str()), to_cel(value))).collect();
            Cel::Map(CelMap { map: Arc::new(members) })
        }
    }
}

/// What a macro iterates over: the sorted keys of a map, any other value as it is.
pub(super) fn in_order(value: Cel) -> Cel {
    let Cel::Map(map) = &value else { return value };
    let mut keys: Vec<&Key> = map.map.keys().collect();
    keys.sort();
    Cel::List(Arc::new(keys.into_iter().map(key_value).collect()))
}

fn key_value(key: &Key) -> Cel {
    match key {
        Key::String(text) => Cel::String(Arc::clone(text)),
        Key::Int(number) => Cel::Int(*number),
        Key::Uint(number) => Cel::UInt(*number),
        Key::Bool(value) => Cel::Bool(*value),
    }
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
        Cel::List(items) => items.iter().map(to_json).collect::<Option<Vec<_>>>().map(Value::Array),
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
