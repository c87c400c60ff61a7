//! JSON Patch (RFC 6902) between two JSON documents: `add`, `remove` and `replace`.
//!
//! A merge patch (RFC 7396) would be shorter, but it cannot set a member to null, which is how an absent
//! output is recorded. It also repeats a whole list to append one item, so the log of a task would grow with
//! the square of its length.

use orch_base::pointer::{child, escape, unescape};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum JsonPatchOp {
    /// Sets a member of an object, or inserts an item into a list; the index `-` appends.
    Add {
        /// JSON Pointer (RFC 6901) of the target.
        path: String,
        /// The new value.
        value: Value,
    },
    /// Removes the value at a path.
    Remove {
        /// JSON Pointer of the target.
        path: String,
    },
    /// Replaces the value at a path.
    Replace {
        /// JSON Pointer of the target.
        path: String,
        /// The new value.
        value: Value,
    },
}

/// Why a patch does not apply to a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no value at {pointer}")]
pub struct MissingPlace {
    /// JSON Pointer that does not exist in the document.
    pub pointer: String,
}

/// How many items may be dropped from the front of a list before it is replaced as a whole.
const MOST_DROPPED: usize = 16;

/// The operations that turn `old` into `new`; none if they are equal.
///
/// The result is deterministic. Objects are compared member by member: removals first, then the members of
/// `new` sorted by name. A list that gained or lost items in one place, or lost items at its front and gained
/// others at its end, yields one operation per item. A list of unchanged length is compared item by item. Any
/// other list is replaced as a whole.
#[must_use]
pub fn diff(old: &Value, new: &Value) -> Vec<JsonPatchOp> {
    let mut ops = Vec::new();
    diff_at(&mut String::new(), old, new, &mut ops);
    ops
}

fn diff_at(path: &mut String, old: &Value, new: &Value, ops: &mut Vec<JsonPatchOp>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => diff_objects(path, old, new, ops),
        (Value::Array(old), Value::Array(new)) => diff_arrays(path, old, new, ops),
        _ if old == new => {}
        _ => ops.push(JsonPatchOp::Replace {
            path: path.clone(),
            value: new.clone(),
        }),
    }
}

fn diff_objects(
    path: &mut String,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    ops: &mut Vec<JsonPatchOp>,
) {
    let mut removed: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
    removed.sort();
    ops.extend(removed.into_iter().map(|key| JsonPatchOp::Remove {
        path: child(path, key),
    }));
    let mut members: Vec<(&String, &Value)> = new.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    for (key, value) in members {
        match old.get(key) {
            Some(before) => within(path, key, |path| diff_at(path, before, value, ops)),
            None => ops.push(JsonPatchOp::Add {
                path: child(path, key),
                value: value.clone(),
            }),
        }
    }
}

fn diff_arrays(path: &mut String, old: &[Value], new: &[Value], ops: &mut Vec<JsonPatchOp>) {
    let shorter = old.len().min(new.len());
    let start = (0..shorter).take_while(|at| old[*at] == new[*at]).count();
    let end = (0..shorter - start)
        .take_while(|back| old[old.len() - 1 - back] == new[new.len() - 1 - back])
        .count();
    let lost = &old[start..old.len() - end];
    let gained = &new[start..new.len() - end];
    if gained.is_empty() {
        ops.extend(lost.iter().map(|_| JsonPatchOp::Remove {
            path: format!("{path}/{start}"),
        }));
    } else if lost.is_empty() {
        ops.extend(gained.iter().enumerate().map(|(offset, value)| {
            let at = if end == 0 {
                "-".to_owned()
            } else {
                (start + offset).to_string()
            };
            JsonPatchOp::Add {
                path: format!("{path}/{at}"),
                value: value.clone(),
            }
        }));
    } else if let Some(dropped) = dropped_from_front(old, new) {
        ops.extend((0..dropped).map(|_| JsonPatchOp::Remove {
            path: format!("{path}/0"),
        }));
        let added = new[old.len() - dropped..].iter();
        ops.extend(added.map(|value| JsonPatchOp::Add {
            path: format!("{path}/-"),
            value: value.clone(),
        }));
    } else if old.len() == new.len() {
        for (at, (old, new)) in old.iter().zip(new).enumerate() {
            within(path, &at.to_string(), |path| diff_at(path, old, new, ops));
        }
    } else {
        ops.push(JsonPatchOp::Replace {
            path: path.clone(),
            value: Value::from(new.to_vec()),
        });
    }
}

/// How many items a sliding window dropped from the front of `old`, if the rest of `old` is a prefix of
/// `new`.
fn dropped_from_front(old: &[Value], new: &[Value]) -> Option<usize> {
    let most = MOST_DROPPED.min(old.len().saturating_sub(1));
    (1..=most).find(|dropped| new.starts_with(&old[*dropped..]))
}

/// Calls `visit` with the path of a child, then restores the path.
fn within(path: &mut String, key: &str, visit: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(&escape(key));
    visit(path);
    path.truncate(length);
}

/// Applies the operations to a document, in order.
///
/// # Errors
///
/// An operation names a path that does not exist in the document. The earlier operations have been applied.
pub fn apply_patch(document: &mut Value, ops: &[JsonPatchOp]) -> Result<(), MissingPlace> {
    ops.iter().try_for_each(|op| {
        let done = match op {
            JsonPatchOp::Add { path, value } => add(document, path, value),
            JsonPatchOp::Remove { path } => remove(document, path),
            JsonPatchOp::Replace { path, value } => replace(document, path, value),
        };
        done.ok_or_else(|| MissingPlace {
            pointer: op.path().to_owned(),
        })
    })
}

fn add(document: &mut Value, path: &str, value: &Value) -> Option<()> {
    let Some((parent, key)) = path.rsplit_once('/') else {
        return replace(document, path, value);
    };
    match document.pointer_mut(parent)? {
        Value::Object(members) => {
            members.insert(unescape(key), value.clone());
        }
        Value::Array(items) => {
            let at = if key == "-" { items.len() } else { index(key)? };
            if at > items.len() {
                return None;
            }
            items.insert(at, value.clone());
        }
        _ => return None,
    }
    Some(())
}

fn remove(document: &mut Value, path: &str) -> Option<()> {
    let (parent, key) = path.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Object(members) => members.shift_remove(&unescape(key)).map(drop),
        Value::Array(items) => {
            let at = index(key)?;
            if at >= items.len() {
                return None;
            }
            items.remove(at);
            Some(())
        }
        _ => None,
    }
}

fn replace(document: &mut Value, path: &str, value: &Value) -> Option<()> {
    document.pointer_mut(path)?.clone_from(value);
    Some(())
}

/// Parses an index as RFC 6901 spells it: digits without a sign or a leading zero.
fn index(key: &str) -> Option<usize> {
    let is_plain = key.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || (key != "0" && key.starts_with('0')) {
        return None;
    }
    key.parse().ok()
}

impl JsonPatchOp {
    /// JSON Pointer of the place that the operation changes.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Remove { path } | Self::Replace { path, .. } => path,
        }
    }
}

/// An operation as deserialized, before its members are checked against each other.
#[derive(Deserialize)]
#[serde(bound = "V: Deserialize<'de>")]
pub(super) struct RawOp<'t, V> {
    #[serde(borrow)]
    pub op: Cow<'t, str>,
    #[serde(borrow)]
    pub path: Cow<'t, str>,
    /// `Some` also for a null, `None` if the member is missing.
    #[serde(default, deserialize_with = "present")]
    pub value: Option<V>,
}

fn present<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    V::deserialize(deserializer).map(Some)
}

impl<V> RawOp<'_, V> {
    /// Returns an error if it is not one of the known operations, with a value only where one belongs.
    pub fn check<E: Error>(&self) -> Result<(), E> {
        match (&*self.op, &self.value) {
            ("add" | "replace", Some(_)) | ("remove", None) => Ok(()),
            (op, _) => Err(E::custom(format!(
                "`{op}` of {} is not a known operation",
                self.path
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for JsonPatchOp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawOp::deserialize(deserializer)?;
        raw.check()?;
        let is_new = raw.op == "add";
        let path = raw.path.into_owned();
        Ok(match raw.value {
            None => Self::Remove { path },
            Some(value) if is_new => Self::Add { path, value },
            Some(value) => Self::Replace { path, value },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::PatchText;
    use super::*;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
    use proptest::sample::select;
    use serde_json::json;

    fn ops(old: Value, new: Value) -> Value {
        let ops = diff(&old, &new);
        let mut patched = old;
        apply_patch(&mut patched, &ops).expect("its own patch applies");
        assert_eq!(patched, new);
        serde_json::to_value(ops).expect("JSON")
    }

    #[test]
    fn a_patch_says_no_more_than_what_changed() {
        for (old, new, expected) in [
            (json!({"a": 1}), json!({"a": 1}), json!([])),
            (
                json!({}),
                json!({"a": null}),
                json!([{"op": "add", "path": "/a", "value": null}]),
            ),
            (
                json!({"a": null}),
                json!({}),
                json!([{"op": "remove", "path": "/a"}]),
            ),
            (json!({"a/b": {"~": 1}}), json!({"a/b": {"~": 2}}), {
                json!([{"op": "replace", "path": "/a~1b/~0", "value": 2}])
            }),
            (json!({"l": [1]}), json!({"l": [1, 2, 3]}), {
                json!([{"op": "add", "path": "/l/-", "value": 2}, {"op": "add", "path": "/l/-", "value": 3}])
            }),
            (json!({"l": [1, 3]}), json!({"l": [1, 2, 3]}), {
                json!([{"op": "add", "path": "/l/1", "value": 2}])
            }),
            (
                json!({"l": [1, 2, 3]}),
                json!({"l": [1, 3]}),
                json!([{"op": "remove", "path": "/l/1"}]),
            ),
            (json!({"l": [1, 2, 3]}), json!({"l": [2, 3, 4]}), {
                json!([{"op": "remove", "path": "/l/0"}, {"op": "add", "path": "/l/-", "value": 4}])
            }),
            (
                json!({"l": [1, {"a": 1}, 3]}),
                json!({"l": [0, {"a": 2}, 3]}),
                {
                    json!([
                        {"op": "replace", "path": "/l/0", "value": 0},
                        {"op": "replace", "path": "/l/1/a", "value": 2},
                    ])
                },
            ),
            (json!({"l": [1, 2]}), json!({"l": [3]}), {
                json!([{"op": "replace", "path": "/l", "value": [3]}])
            }),
            (json!({"b": 1, "c": 1}), json!({"c": {}, "a": 1}), {
                json!([
                    {"op": "remove", "path": "/b"},
                    {"op": "add", "path": "/a", "value": 1},
                    {"op": "replace", "path": "/c", "value": {}},
                ])
            }),
        ] {
            assert_eq!(ops(old.clone(), new.clone()), expected, "{old} -> {new}");
        }
    }

    #[test]
    fn a_patch_that_does_not_fit_is_refused_with_the_place() {
        let read = |value: Value| serde_json::from_value::<Vec<JsonPatchOp>>(value);
        for (op, path) in [
            ("remove", "/x"),
            ("remove", "/l/2"),
            ("remove", ""),
            ("remove", "/l/01"),
        ] {
            let ops = read(json!([{"op": op, "path": path}])).expect("an operation");
            let mut document = json!({"l": [1, 2], "s": "text"});
            assert_eq!(
                apply_patch(&mut document, &ops),
                Err(MissingPlace {
                    pointer: path.to_owned()
                })
            );
        }
        for (op, path) in [
            ("replace", "/x"),
            ("add", "/x/y"),
            ("add", "/l/3"),
            ("add", "/s/a"),
            ("add", "/l/+1"),
        ] {
            let ops = read(json!([{"op": op, "path": path, "value": 1}])).expect("an operation");
            let mut document = json!({"l": [1, 2], "s": "text"});
            assert_eq!(
                apply_patch(&mut document, &ops),
                Err(MissingPlace {
                    pointer: path.to_owned()
                })
            );
        }
        for odd in [
            json!({"op": "add", "path": "/a"}),
            json!({"op": "move", "path": "/a"}),
            json!({}),
        ] {
            assert!(read(json!([odd])).is_err(), "{odd}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let key =
            select(vec!["", "a", "b", "~", "/", "~1", "0", "-", "ä b"]).prop_map(str::to_owned);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0_u8..4).prop_map(Value::from),
            any::<f64>()
                .prop_filter("JSON", |n| n.is_finite())
                .prop_map(Value::from),
            ".{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, move |inner| {
            prop_oneof![
                vec(inner.clone(), 0..6).prop_map(Value::from),
                btree_map(key.clone(), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn values_that_are_put_between_others_keep_their_order() {
        for (old, new) in [
            (json!([1, 2]), json!([1, 7, 8, 9, 2])),
            (json!([1, 2, 3]), json!([1, 2, 7, 8, 3])),
            (json!([1]), json!([7, 8, 1])),
            (json!([1]), json!([1, 7, 8])),
        ] {
            let mut patched = old.clone();
            assert_eq!(apply_patch(&mut patched, &diff(&old, &new)), Ok(()));
            assert_eq!(patched, new);
        }
    }

    proptest! {
        #[test]
        fn a_patch_makes_the_new_of_the_old(old in value(), new in value()) {
            let ops = diff(&old, &new);
            let mut patched = old.clone();
            prop_assert_eq!(apply_patch(&mut patched, &ops), Ok(()));
            prop_assert_eq!(&patched, &new);
            let text = PatchText::of(&ops);
            let read: PatchText = serde_json::from_str(&serde_json::to_string_pretty(&ops).expect("JSON")).expect("operations");
            prop_assert_eq!(&read, &text);
            prop_assert_eq!(text.ops(), ops);
        }
    }
}
