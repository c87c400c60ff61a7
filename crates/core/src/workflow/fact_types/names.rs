//! What is known of a name in guards, for people who write one.

use super::super::guard::typing::{FieldType, ValueType};
use crate::workflow::{CheckMemo, Workflow};

/// What is known of a path in a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameType {
    /// The kinds of its value, in words: `text or null`.
    pub kinds: String,
    /// The texts that it can be, if only some are possible.
    pub texts: Vec<String>,
    /// Its members, each with the kinds of its value.
    pub members: Vec<(String, String)>,
}

/// What is known of a path such as `plan.data.status`; `None` if nothing is. The items of a list are at `[]`.
#[must_use]
pub fn name_type(workflow: &Workflow, path: &[String], memo: &mut CheckMemo) -> Option<NameType> {
    memo.types.about(workflow);
    let field = memo.types.vocabulary.env.at(path)?;
    Some(described(&field.value))
}

fn described(value: &ValueType) -> NameType {
    let member = |(name, field): (&std::sync::Arc<str>, &FieldType)| {
        (name.to_string(), field.value.kinds().to_string())
    };
    let map = value.map.as_ref();
    let text = value.text.as_ref().filter(|_| !value.unknown);
    let only = text.and_then(|text| text.only.as_ref());
    let texts = only.map_or_else(Vec::new, |only| only.iter().cloned().collect());
    NameType {
        kinds: value.kinds().to_string(),
        texts,
        members: map.map_or_else(Vec::new, |map| map.fields.iter().map(member).collect()),
    }
}
