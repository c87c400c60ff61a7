//! The seal of an entry in a JSON file: it says that orch wrote the entry, and a digest in it, whether someone has
//! changed it since. An entry without a seal is a person's, even if it says the same.

use orch_base::ObjectFormat;
use serde_json::{Map, Value};

/// The environment variable with a seal.
const VARIABLE: &str = "ORCH_INIT";
/// What begins a seal at the end of a command.
const COMMENT: &str = " # orch:init ";
/// What follows the digest of an entry with which orch created its file.
const FIRST: &str = " file";
/// The key of commands.
const COMMAND: &str = "command";

/// Where an entry has its seal. Programs refuse members that they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealPlace {
    /// In a variable, below this key of the entry.
    Variable(&'static str),
    /// In a comment at the end of each command, which a shell executes.
    Comment,
}

/// An entry without its seal.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedEntry {
    /// The entry.
    pub value: Value,
    /// Whether it is as orch wrote it, in this version or an earlier one; `None` if orch did not write it.
    pub is_own: Option<bool>,
    /// Whether orch created the file with it, and more than it.
    pub is_first: bool,
}

/// An entry with its seal. `is_first` says whether orch creates the file with it, and more than it.
pub fn seal(value: &Value, place: SealPlace, is_first: bool) -> Value {
    let mut digest = digest_of(value);
    if is_first {
        digest += FIRST;
    }
    match place {
        SealPlace::Comment => with_comments(value, &format!("{COMMENT}{digest}")),
        SealPlace::Variable(key) => {
            let mut sealed = value.as_object().cloned().unwrap_or_default();
            let variables = Map::from_iter([(VARIABLE.to_owned(), Value::from(digest))]);
            sealed.insert(key.to_owned(), variables.into());
            sealed.into()
        }
    }
}

/// Takes the seal off an entry.
pub fn open(entry: &Value) -> OpenedEntry {
    let mut seals = Vec::new();
    let value = opened(entry, &mut seals).unwrap_or_default();
    let digest = digest_of(&value);
    let plain = |seal: &String| seal.strip_suffix(FIRST).unwrap_or(seal) == digest;
    let is_own = (!seals.is_empty()).then(|| seals.iter().all(plain));
    let is_first = seals.iter().any(|seal| seal.ends_with(FIRST));
    OpenedEntry {
        value,
        is_own,
        is_first,
    }
}

fn with_comments(value: &Value, comment: &str) -> Value {
    match value {
        Value::Object(members) => {
            let sealed = |(key, value): (&String, &Value)| match value {
                Value::String(text) if key == COMMAND => {
                    (key.clone(), format!("{text}{comment}").into())
                }
                value => (key.clone(), with_comments(value, comment)),
            };
            Value::Object(members.iter().map(sealed).collect())
        }
        Value::Array(values) => values
            .iter()
            .map(|value| with_comments(value, comment))
            .collect(),
        other => other.clone(),
    }
}

/// The value without seals, which are added to the list; `None` for an object that held nothing else.
fn opened(value: &Value, seals: &mut Vec<String>) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let mut rest = Map::new();
            for (key, value) in members {
                match value {
                    Value::String(text) if key == VARIABLE => seals.push(text.clone()),
                    Value::String(text) if key == COMMAND => {
                        let (command, seal) = text.split_once(COMMENT).unzip();
                        seals.extend(seal.map(str::to_owned));
                        rest.insert(key.clone(), command.unwrap_or(text).into());
                    }
                    value => {
                        rest.extend(opened(value, seals).map(|value| (key.clone(), value)));
                    }
                }
            }
            (!rest.is_empty() || members.is_empty()).then(|| rest.into())
        }
        Value::Array(values) => Some(
            values
                .iter()
                .map(|value| opened(value, seals).unwrap_or_default())
                .collect(),
        ),
        other => Some(other.clone()),
    }
}

/// A digest of a value, in whatever order its members are.
fn digest_of(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    let digest = ObjectFormat::Sha256
        .blob(sorted.to_string().as_bytes())
        .to_string();
    digest.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_seal_is_taken_off_and_says_whether_the_entry_is_as_it_was() {
        let server = json!({"command": "orch", "args": ["mcp"]});
        let hook = json!({"matcher": "Write", "hooks": [{"type": "command", "command": "orch hook agent stop"}]});
        for (value, place) in [
            (&server, SealPlace::Variable("env")),
            (&server, SealPlace::Comment),
            (&hook, SealPlace::Comment),
        ] {
            let sealed = seal(value, place, false);
            assert_ne!(sealed, *value);
            assert_eq!(
                open(&sealed),
                OpenedEntry {
                    value: value.clone(),
                    is_own: Some(true),
                    is_first: false,
                }
            );
            assert_eq!(
                open(value),
                OpenedEntry {
                    value: value.clone(),
                    is_own: None,
                    is_first: false,
                }
            );
            let changed = sealed
                .to_string()
                .replace("orch", "orch2")
                .replace("orch2:init", "orch:init");
            let changed: Value = serde_json::from_str(&changed).expect("JSON");
            assert_eq!(open(&changed).is_own, Some(false), "{changed}");
        }
        let sealed = seal(&server, SealPlace::Variable("env"), false);
        assert_eq!(sealed["env"].as_object().map(Map::len), Some(1));
        let reordered = json!({"env": sealed["env"], "args": ["mcp"], "command": "orch"});
        assert_eq!(open(&reordered).is_own, Some(true));
        let mut more = sealed;
        more["env"]["DEBUG"] = "1".into();
        assert_eq!(
            open(&more).is_own,
            Some(false),
            "a variable of someone else is a change"
        );
    }
}
