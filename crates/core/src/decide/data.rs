//! The workflow's own part of a state: changed by merge patches, compared, and kept within bounds.

use crate::workflow::{StateShape, is_within};
use orch_base::Reason;
use orch_base::pointer::{child, unescape};
use serde_json::{Map, Value};

/// One change of a patch: the place, and the value merged into it (RFC 7396).
#[derive(Debug, Clone, PartialEq)]
pub struct PatchOp {
    /// The path to the place, key by key.
    pub path: Vec<String>,
    /// The value to merge; null removes the place.
    pub value: Value,
}

/// How many levels the workflow's own data may nest. JSON readers stop at 128, and a transcript nests the
/// data one level deeper than the state does.
pub const DEEPEST: usize = 100;

/// Whether a value nests deeper than `levels`.
#[must_use]
pub fn nests_deeper(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else {
        return value.is_object() || value.is_array();
    };
    match value {
        Value::Object(members) => members.values().any(|member| nests_deeper(member, left)),
        Value::Array(items) => items.iter().any(|item| nests_deeper(item, left)),
        _ => false,
    }
}

/// The changes that a result requests. Each key is a name, or a path with dots or slashes. Returns the reason
/// if a key is not a path or leads too deep.
pub fn patch(updates: &Map<String, Value>) -> Result<Vec<PatchOp>, Reason> {
    let mut ops = Vec::new();
    for (key, value) in updates {
        let path: Vec<String> = if key.contains('/') {
            key.strip_prefix('/')
                .unwrap_or(key)
                .split('/')
                .map(unescape)
                .collect()
        } else {
            key.split('.').map(str::to_owned).collect()
        };
        if path.iter().any(String::is_empty) {
            return Err(format!("`{key}` is not a path into the state").into());
        }
        if path.len() > DEEPEST {
            let start: String = key.chars().take(40).collect();
            return Err(format!("`{start}…` nests deeper than {DEEPEST} levels").into());
        }
        ops.push(PatchOp {
            path,
            value: value.clone(),
        });
    }
    Ok(ops)
}

/// The first place that a patch would change without permission, as a JSON pointer.
#[must_use]
pub fn outside(ops: &[PatchOp], allowed: &[String]) -> Option<String> {
    ops.iter().find_map(|op| {
        let pointer: String = op.path.iter().map(|key| child("", key)).collect();
        outside_at(pointer, &op.value, allowed)
    })
}

fn outside_at(pointer: String, value: &Value, allowed: &[String]) -> Option<String> {
    if is_within(&pointer, allowed) {
        return None;
    }
    match value {
        Value::Object(members) if !members.is_empty() => members
            .iter()
            .find_map(|(key, value)| outside_at(child(&pointer, key), value, allowed)),
        _ => Some(pointer),
    }
}

/// Applies a patch. Returns the reason if a place does not exist.
pub fn merge_patch(data: &mut Map<String, Value>, ops: &[PatchOp]) -> Result<(), Reason> {
    for op in ops {
        let Some((first, rest)) = op.path.split_first() else {
            continue;
        };
        merge_at(data, first, rest, &op.value)?;
    }
    Ok(())
}

fn merge_at(
    members: &mut Map<String, Value>,
    key: &str,
    rest: &[String],
    value: &Value,
) -> Result<(), Reason> {
    let Some((next, rest)) = rest.split_first() else {
        if value.is_null() {
            members.shift_remove(key);
        } else {
            merge_value(members.entry(key.to_owned()).or_insert(Value::Null), value);
        }
        return Ok(());
    };
    let slot = members
        .entry(key.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    descend(slot, next, rest, value)
}

fn descend(slot: &mut Value, key: &str, rest: &[String], value: &Value) -> Result<(), Reason> {
    if let Value::Array(items) = slot {
        let length = items.len();
        let item = key
            .parse::<usize>()
            .ok()
            .and_then(|index| items.get_mut(index));
        let Some(item) = item else {
            return Err(format!("`{key}` is not an index of a list with {length} items").into());
        };
        return match rest.split_first() {
            None => {
                merge_value(item, value);
                Ok(())
            }
            Some((next, rest)) => descend(item, next, rest, value),
        };
    }
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    let Value::Object(inner) = slot else {
        return Ok(());
    };
    merge_at(inner, key, rest, value)
}

/// RFC 7396: objects are merged, everything else is replaced, null removes.
fn merge_value(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            members.shift_remove(key);
        } else {
            merge_value(members.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Sets the value at a JSON pointer (RFC 6901), creating objects on the way.
pub(super) fn set_pointer(members: &mut Map<String, Value>, pointer: &str, value: Value) {
    let segments: Vec<String> = pointer.split('/').skip(1).map(unescape).collect();
    let Some((first, rest)) = segments.split_first() else {
        return;
    };
    if rest.is_empty() {
        members.insert(first.clone(), value);
        return;
    }
    let mut slot = members.entry(first.clone()).or_insert(Value::Null);
    for segment in rest {
        if let Value::Array(items) = slot {
            // An index that the list does not have cannot be set.
            let Some(item) = segment
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get_mut(index))
            else {
                return;
            };
            slot = item;
            continue;
        }
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        let Value::Object(inner) = slot else { return };
        slot = inner.entry(segment.clone()).or_insert(Value::Null);
    }
    *slot = value;
}

/// Sets the value at a JSON pointer, or removes it if `value` is `None`.
pub(super) fn put_back(members: &mut Map<String, Value>, pointer: &str, value: Option<&Value>) {
    match value {
        Some(value) => set_pointer(members, pointer, value.clone()),
        None => {
            let path: Vec<String> = pointer.split('/').skip(1).map(unescape).collect();
            if let Some((first, rest)) = path.split_first() {
                // If the path leads through a list, there is nothing to remove.
                let _ = merge_at(members, first, rest, &Value::Null);
            }
        }
    }
}

/// The value at a JSON pointer into the workflow's own data.
#[must_use]
pub fn at<'v>(members: &'v Map<String, Value>, pointer: &str) -> Option<&'v Value> {
    let mut path = pointer.split('/').skip(1).map(unescape);
    let mut value = members.get(&path.next()?)?;
    for key in path {
        value = match value {
            Value::Object(inner) => inner.get(&key)?,
            Value::Array(items) => items.get(key.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The first difference between two sets of own data outside `allowed`, as a JSON pointer.
pub(super) fn changed_outside(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    allowed: &[String],
) -> Option<String> {
    differs(before, after, "", allowed)
}

fn differs(
    a: &Map<String, Value>,
    b: &Map<String, Value>,
    above: &str,
    allowed: &[String],
) -> Option<String> {
    let added = b.keys().filter(|key| !a.contains_key(*key));
    for key in a.keys().chain(added) {
        let pointer = child(above, key);
        if is_within(&pointer, allowed) {
            continue;
        }
        let found = match (a.get(key), b.get(key)) {
            (Some(a), Some(b)) if a == b => None,
            (Some(Value::Object(a)), Some(Value::Object(b))) => differs(a, b, &pointer, allowed),
            (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
                differs(&keyed(a), &keyed(b), &pointer, allowed)
            }
            // An object that a patch created on the way to an allowed place is not a difference.
            (None, Some(Value::Object(b))) => differs(&Map::new(), b, &pointer, allowed),
            _ => Some(pointer),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The items of a list by their indexes.
fn keyed(items: &[Value]) -> Map<String, Value> {
    let mut members = Map::new();
    for (at, item) in items.iter().enumerate() {
        members.insert(at.to_string(), item.clone());
    }
    members
}

/// Cuts every bounded list to its last items.
pub(super) fn bound(shape: &StateShape, data: &mut Map<String, Value>) {
    for (pointer, kept) in &shape.keep {
        let Some(Value::Array(items)) = at(data, pointer) else {
            continue;
        };
        if items.len() > *kept {
            let last = Value::from(items[items.len() - kept..].to_vec());
            set_pointer(data, pointer, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(members) = value else {
            panic!("no object: {value}")
        };
        members
    }

    fn merged(before: Value, updates: Value) -> Result<Value, Reason> {
        let mut data = object(before);
        merge_patch(&mut data, &patch(&object(updates))?)?;
        Ok(Value::Object(data))
    }

    #[test]
    fn patches_merge_and_paths_lead_into_the_state() {
        for (before, updates, expected) in [
            (
                json!({"a": 1}),
                json!({"a": 2, "b": {"c": 3}}),
                json!({"a": 2, "b": {"c": 3}}),
            ),
            (
                json!({"a": {"b": 1, "c": 2}}),
                json!({"a": {"b": null}}),
                json!({"a": {"c": 2}}),
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a.c": 2}),
                json!({"a": {"b": 1, "c": 2}}),
            ),
            (json!({}), json!({"/a/b~1c": 1}), json!({"a": {"b/c": 1}})),
            (json!({}), json!({"a/b": 1}), json!({"a": {"b": 1}})),
            (
                json!({"l": [1, {"x": 1}]}),
                json!({"l.1.x": 2}),
                json!({"l": [1, {"x": 2}]}),
            ),
            (json!({"l": [1, 2]}), json!({"l": [3]}), json!({"l": [3]})),
            (json!({"a": 1}), json!({"a": null}), json!({})),
            (
                json!({"a": 1}),
                json!({"a.b.c": 1}),
                json!({"a": {"b": {"c": 1}}}),
            ),
        ] {
            assert_eq!(
                merged(before.clone(), updates.clone()),
                Ok(expected),
                "{before} {updates}"
            );
        }
        for updates in [
            json!({"a..b": 1}),
            json!({"": 1}),
            json!({"/": 1}),
            json!({"l.9": 1}),
        ] {
            assert!(
                merged(json!({"l": []}), updates.clone()).is_err(),
                "{updates}"
            );
        }
    }

    #[test]
    fn a_bounded_list_keeps_its_last_items() {
        let keep = vec![
            ("/l".to_owned(), 3),
            ("/o/l".to_owned(), 1),
            ("/gone".to_owned(), 1),
            ("/n".to_owned(), 1),
        ];
        let shape = StateShape {
            keep,
            ..StateShape::default()
        };
        for (before, after) in [
            (json!({"l": [1, 2, 3, 4, 5, 6, 7]}), json!({"l": [5, 6, 7]})),
            (json!({"l": [1, 2, 3, 4]}), json!({"l": [2, 3, 4]})),
            (json!({"l": [1, 2, 3]}), json!({"l": [1, 2, 3]})),
            (
                json!({"l": [], "n": 9, "m": [1, 2]}),
                json!({"l": [], "n": 9, "m": [1, 2]}),
            ),
            (json!({"o": {"l": [1, 2]}}), json!({"o": {"l": [2]}})),
        ] {
            let mut data = object(before);
            bound(&shape, &mut data);
            assert_eq!(Value::Object(data), after);
        }
    }

    #[test]
    fn a_value_is_found_where_its_pointer_leads() {
        let data = object(json!({"a": {"l": [1, {"x": 2}]}, "b~/": null}));
        for (pointer, found) in [
            ("/a/l/1/x", Some(json!(2))),
            ("/a/l/0", Some(json!(1))),
            ("/b~0~1", Some(json!(null))),
            ("/a/l/2", None),
            ("/a/l/x", None),
            ("/a/l/0/y", None),
            ("/c", None),
            ("", None),
        ] {
            assert_eq!(at(&data, pointer), found.as_ref(), "{pointer}");
        }
    }

    #[test]
    fn the_first_change_outside_of_what_is_allowed_is_named() {
        for (before, after, allowed, found) in [
            (json!({"a": 1}), json!({"a": 1}), &[][..], None),
            (json!({"a": 1}), json!({"a": 2}), &[], Some("/a")),
            (json!({"a": 1}), json!({"a": 2}), &["/a"], None),
            (json!({}), json!({"a": 1}), &[], Some("/a")),
            (json!({"a": 1}), json!({}), &[], Some("/a")),
            (
                json!({"a": {"b": 1, "c": 1}}),
                json!({"a": {"b": 2, "c": 2}}),
                &["/a/b"],
                Some("/a/c"),
            ),
            (json!({}), json!({"a": {"b": 1}}), &["/a/b"], None),
            (
                json!({}),
                json!({"a": {"b": 1, "c": 1}}),
                &["/a/b"],
                Some("/a/c"),
            ),
            (
                json!({"a": [1, 2]}),
                json!({"a": [1, 3]}),
                &["/a/0"],
                Some("/a/1"),
            ),
            (json!({"a": [1, 2]}), json!({"a": [9, 2]}), &["/a/0"], None),
            (
                json!({"a": [1, 2]}),
                json!({"a": [1]}),
                &["/a/1"],
                Some("/a"),
            ),
        ] {
            let allowed: Vec<String> = allowed
                .iter()
                .map(|pointer| (*pointer).to_owned())
                .collect();
            let changed =
                changed_outside(&object(before.clone()), &object(after.clone()), &allowed);
            assert_eq!(changed.as_deref(), found, "{before} {after} {allowed:?}");
        }
    }

    #[test]
    fn a_value_is_set_where_its_pointer_leads() {
        for (before, pointer, expected) in [
            (json!({"a": 1}), "/b", json!({"a": 1, "b": 9})),
            (
                json!({"a": {"b": 1, "c": {"d": 2}}}),
                "/a/c/e",
                json!({"a": {"b": 1, "c": {"d": 2, "e": 9}}}),
            ),
            (json!({"a": 1}), "/a/b/c", json!({"a": {"b": {"c": 9}}})),
            (
                json!({"a": [1, {"b": 2, "c": 3}]}),
                "/a/1/b",
                json!({"a": [1, {"b": 9, "c": 3}]}),
            ),
            (json!({"a": [1]}), "/a/0", json!({"a": [9]})),
            (json!({"a": [1]}), "/a/1", json!({"a": [1]})),
            (json!({"a": [1]}), "/a/x", json!({"a": [1]})),
            (json!({}), "/a~1b/c~0d", json!({"a/b": {"c~d": 9}})),
            (json!({"a": 1}), "", json!({"a": 1})),
        ] {
            let mut members = object(before.clone());
            set_pointer(&mut members, pointer, json!(9));
            assert_eq!(Value::Object(members), expected, "{before} {pointer}");
        }
    }

    #[test]
    fn nothing_leads_deeper_than_can_be_read() {
        let path = |levels: usize| vec!["a"; levels].join(".");
        assert_eq!(
            merged(json!({}), json!({(path(DEEPEST)): 1}))
                .map(|value| nests_deeper(&value, DEEPEST)),
            Ok(false)
        );
        for levels in [DEEPEST + 1, 300_000] {
            let error = merged(json!({}), json!({(path(levels)): 1})).expect_err("too deep");
            assert!(
                error.as_str().ends_with("nests deeper than 100 levels")
                    && error.as_str().len() < 100,
                "{error}"
            );
        }
        for (value, levels, expected) in [
            (json!(1), 0, false),
            (json!([]), 0, true),
            (json!([]), 1, false),
            (json!({"a": [1]}), 1, true),
            (json!({"a": [1], "b": 2}), 2, false),
            (json!([[], [[]]]), 2, true),
        ] {
            assert_eq!(nests_deeper(&value, levels), expected, "{value} {levels}");
        }
    }

    #[test]
    fn what_is_not_allowed_is_named() {
        let allowed = ["/diagnosis/context".to_owned(), "/issues".to_owned()];
        for (updates, expected) in [
            (json!({"diagnosis.context": {"a": 1}, "issues": []}), None),
            (json!({"diagnosis": {"context": 1}}), None),
            (
                json!({"diagnosis": {"context": 1, "memory": 2}}),
                Some("/diagnosis/memory"),
            ),
            (json!({"diagnosis": null}), Some("/diagnosis")),
            (json!({"diagnosis": {}}), Some("/diagnosis")),
            (json!({"phase": "done"}), Some("/phase")),
        ] {
            let found = outside(&patch(&object(updates.clone())).expect("paths"), &allowed);
            assert_eq!(found.as_deref(), expected, "{updates}");
        }
    }

    #[test]
    fn a_difference_outside_is_found_wherever_it_is() {
        let before = object(json!({"a": {"b": 1, "c": [1, {"d": 2}]}, "e": 3}));
        for (after, allowed, expected) in [
            (
                json!({"a": {"b": 2, "c": [1, {"d": 2}]}, "e": 3}),
                "/a/b",
                None,
            ),
            (
                json!({"a": {"b": 2, "c": [1, {"d": 3}]}, "e": 3}),
                "/a/b",
                Some("/a/c/1/d"),
            ),
            (
                json!({"a": {"b": 1, "c": [1]}, "e": 3}),
                "/a/b",
                Some("/a/c"),
            ),
            (json!({"a": {"b": 1, "c": [1, {"d": 2}]}}), "/a", Some("/e")),
            (
                json!({"a": {"b": 1, "c": [1, {"d": 2}]}, "e": 3, "f": {"g": 1}}),
                "/f/g",
                None,
            ),
        ] {
            let found = changed_outside(&before, &object(after.clone()), &[allowed.to_owned()]);
            assert_eq!(found.as_deref(), expected, "{after}");
        }
    }

    #[test]
    fn windows_keep_the_last() {
        let shape = StateShape {
            keep: vec![("/a/l".to_owned(), 2)],
            ..StateShape::default()
        };
        let mut data = object(json!({"a": {"l": [1, 2, 3]}}));
        bound(&shape, &mut data);
        assert_eq!(Value::Object(data), json!({"a": {"l": [2, 3]}}));
    }
}
