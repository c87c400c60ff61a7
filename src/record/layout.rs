//! Whether two texts of a state differ in their layout alone, as after a formatter: in white space, the order of
//! members, escapes and how numbers are written.

use serde_json::Value;

/// Whether `text`, of which `value` was read, has the values of the state `written`, each member once.
pub(super) fn has_values_of(text: &str, value: &Value, written: &str) -> bool {
    let Ok(own) = serde_json::from_str(written) else { return false };
    // Of a member that is there twice, programs differ in which they take.
    is_same(value, &own) && members_in(text) == members_in(written)
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let has_same = |(key, value)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(has_same)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

/// The number of members of all objects in a JSON text.
fn members_in(text: &str) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b':' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str =
        "{\n  \"a\": \"x: \\\"\u{e9}\",\n  \"b\": [\n    1.0,\n    null\n  ],\n  \"c\": {}\n}\n";

    #[test]
    fn only_a_value_makes_another_state() {
        for (text, is_layout) in [
            (WRITTEN, true),
            (r#"{"c":{},"b":[1,null],"a":"x: \"\u00e9"}"#, true),
            (r#"{"a":"x: \"é","b":[1e0,null],"c":{ }}"#, true),
            (r#"{"a":"x: \"é","b":[1.5,null],"c":{}}"#, false),
            (r#"{"a":"x: \"é","b":[null,1.0],"c":{}}"#, false),
            (r#"{"a":"x: \"é","b":[1.0,null],"c":[]}"#, false),
            (r#"{"a":"x: \"é","b":[1.0,null],"c":null}"#, false),
            (r#"{"a":"x: \"e","b":[1.0,null],"c":{}}"#, false),
            (r#"{"a":"x: \"é","b":[1.0,null]}"#, false),
            (r#"{"a":"x: \"é","b":[1.0,null],"c":{},"d":{}}"#, false),
            (r#"{"a":"y","a":"x: \"é","b":[1.0,null],"c":{}}"#, false),
        ] {
            let value = serde_json::from_str(text).expect("JSON");
            assert_eq!(has_values_of(text, &value, WRITTEN), is_layout, "{text}");
        }
    }
}
