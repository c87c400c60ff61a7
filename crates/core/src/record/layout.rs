//! The layouts of `state.json`, and whether two texts of a state differ in their layout alone, as after a formatter: in
//! white space, the order of members, escapes and how numbers are written.

use crate::workflow::RESERVED_KEYS;
use serde::ser::{Error, Serialize, SerializeMap};
use serde_json::Value;

/// A layout in which `orch` writes states, or wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateLayout {
    /// One line for each phase, history entry and error. All that every step changes stands on the line of the newest
    /// history entry. So the difference that a step makes is short.
    Lines,
    /// Every value on a line of its own: what was written before.
    Pretty,
}

/// What begins the line of a seal that has a line of its own.
pub(super) const SEAL_LINE: &str = "\n  \"seal\": \"";

impl StateLayout {
    /// The layout in which a sealed text was written, as far as its seal shows it.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.contains(SEAL_LINE) {
            Self::Pretty
        } else {
            Self::Lines
        }
    }
}

/// What stands before the history, in this order.
const FIRST: [&str; 5] = ["$schema", "version", "task", "title", "workflow"];
/// What stands behind the newest history entry and the phase, in this order.
const CHANGING: [&str; 4] = ["updated_at", "rev", "heads", "transcript"];
/// What follows the line that every step changes.
pub const AFTER_CHANGING: &str = ",\n  \"actors\": ";
/// The members of which each element has a line.
const LISTED: [&str; 3] = ["actors", "history", "errors"];

/// The members of a state, each as the text of its layout by lines.
pub(super) struct StateLines<'s> {
    phase_key: &'s str,
    members: Vec<(String, String)>,
    key: Option<String>,
}

impl<'s> StateLines<'s> {
    /// No member so far.
    pub(super) fn new(phase_key: &'s str) -> Self {
        Self {
            phase_key,
            members: Vec::new(),
            key: None,
        }
    }

    /// The text of a member, which is then no longer among the rest.
    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.remove(at).1)
    }

    /// The text of the whole, without a final line feed.
    pub(super) fn text(mut self) -> String {
        let phase = self.take(self.phase_key);
        let mut lines = Vec::new();
        for name in FIRST {
            lines.extend(self.take(name));
        }
        let mut changing = Vec::new();
        if let Some(history) = self.take("history") {
            changing.push(match history.strip_suffix("\n  ]") {
                Some(entries) => format!("{entries}]"),
                None => history,
            });
        }
        changing.extend(phase);
        for name in CHANGING {
            changing.extend(self.take(name));
        }
        lines.push(changing.join(", "));
        lines.extend(self.members.into_iter().map(|(_, text)| text));
        format!("{{\n  {}\n}}", lines.join(",\n  "))
    }

    /// How many levels of a member are broken into lines.
    fn broken(&self, name: &str) -> usize {
        if LISTED.contains(&name) {
            return 1;
        }
        let is_own = name != self.phase_key && !RESERVED_KEYS.contains(&name);
        if is_own { usize::MAX } else { 0 }
    }
}

impl SerializeMap for StateLines<'_> {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Self::Error> {
        self.key = serde_json::to_value(key)?.as_str().map(str::to_owned);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Self::Error> {
        let Some(key) = self.key.take() else {
            return Err(Self::Error::custom("a member without a name"));
        };
        let mut text = format!("{}: ", Value::from(key.as_str()));
        put(
            &mut text,
            &serde_json::to_value(value)?,
            self.broken(&key),
            1,
        );
        self.members.push((key, text));
        Ok(())
    }

    fn end(self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Adds what stands before a member of a value.
fn begin(text: &mut String, at: usize, is_broken: bool, depth: usize) {
    if at > 0 {
        text.push(',');
    }
    if is_broken {
        new_line(text, depth);
    } else if at > 0 {
        text.push(' ');
    }
}

/// Adds the text of a value at a depth, of which so many levels are broken into lines.
fn put(text: &mut String, value: &Value, levels: usize, depth: usize) {
    let (brackets, many) = match value {
        Value::Array(items) => (['[', ']'], items.len()),
        Value::Object(members) => (['{', '}'], members.len()),
        scalar => return text.push_str(&scalar.to_string()),
    };
    let is_broken = levels > 0 && many > 0;
    let levels = levels.saturating_sub(1);
    let inner = depth + 1;
    text.push(brackets[0]);
    match value {
        Value::Object(members) => {
            for (at, (name, value)) in members.iter().enumerate() {
                begin(text, at, is_broken, inner);
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push_str(": ");
                put(text, value, levels, inner);
            }
        }
        _ => {
            for (at, value) in value.as_array().into_iter().flatten().enumerate() {
                begin(text, at, is_broken, inner);
                put(text, value, levels, inner);
            }
        }
    }
    if is_broken {
        new_line(text, depth);
    }
    text.push(brackets[1]);
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    (0..depth).for_each(|_| text.push_str("  "));
}

/// Whether `text`, of which `value` was read, has the values of the state `written`, each member once.
pub(super) fn has_values_of(text: &str, value: &Value, written: &str) -> bool {
    let Ok(own) = serde_json::from_str(written) else {
        return false;
    };
    // Programs differ in which of two members with the same name they use.
    is_same(value, &own) && members_in(text) == members_in(written)
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut members = one.iter();
            one.len() == other.len()
                && members
                    .all(|(key, value)| other.get(key).is_some_and(|other| is_same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        _ => one == other,
    }
}

/// The number of members of all objects in a JSON text.
fn members_in(text: &str) -> usize {
    let mut count = 0;
    let mut is_string = false;
    let mut is_escaped = false;
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
