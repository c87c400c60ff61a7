//! The values that an expression reads, as a tree of names for the evaluator. Nothing is copied before it is converted.

use super::value::{map, to_val};
use cel::common::types::CelMapKey;
use cel::common::value::Val;
use serde_json::Value;
use std::collections::BTreeMap;

/// What is given under each name.
#[derive(Default)]
pub(super) struct Given<'a>(BTreeMap<&'a str, GivenValue<'a>>);

enum GivenValue<'a> {
    Whole(&'a Value),
    Members(Given<'a>),
}

impl<'a> Given<'a> {
    /// Gives the value at a path. The value contains what was given below the path before.
    pub(super) fn set(&mut self, path: &'a [String], value: &'a Value) {
        self.insert(path, GivenValue::Whole(value));
    }

    /// Gives an object at a path, without further members.
    pub(super) fn set_empty(&mut self, path: &'a [String]) {
        self.insert(path, GivenValue::Members(Self::default()));
    }

    fn insert(&mut self, path: &'a [String], value: GivenValue<'a>) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        if rest.is_empty() {
            match (self.0.get(first.as_str()), &value) {
                // What is there says at least as much.
                (Some(_), GivenValue::Members(_)) | (Some(GivenValue::Whole(_)), _) => {}
                _ => _ = self.0.insert(first, value),
            }
            return;
        }
        let empty = GivenValue::Members(Given::default());
        if let GivenValue::Members(members) = self.0.entry(first).or_insert(empty) {
            members.insert(rest, value);
        }
    }

    /// The values by their names.
    pub(super) fn into_values(self) -> impl Iterator<Item = (&'a str, Box<dyn Val + 'a>)> {
        self.0
            .into_iter()
            .map(|(name, value)| (name, value.into_val()))
    }
}

impl<'a> GivenValue<'a> {
    fn into_val(self) -> Box<dyn Val + 'a> {
        match self {
            Self::Whole(value) => to_val(value),
            Self::Members(members) => map(members
                .into_values()
                .map(|(name, value)| (CelMapKey::from(name), value))),
        }
    }
}
