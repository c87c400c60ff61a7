//! Where the keys and the values of a TOML text are.

use orch_base::Place;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A step from a value of a TOML text to a value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TomlStep<'s> {
    /// The value of a key of a table.
    Key(&'s str),
    /// An item of a list, from 0.
    Item(usize),
    /// The item of a list that is this text.
    Text(&'s str),
}

/// The lines of the values of a TOML text.
pub struct TomlLines<'t> {
    text: &'t str,
    document: DeTable<'t>,
}

impl<'t> TomlLines<'t> {
    /// Reads a text. What cannot be parsed has no lines.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        let document = DeTable::parse(text)
            .map(Spanned::into_inner)
            .unwrap_or_default();
        Self { text, document }
    }

    /// The line, from 1, where these steps lead. If there is nothing, it is that of the last value on the way;
    /// `None` if the first step already leads nowhere.
    #[must_use]
    pub fn of(&self, steps: &[TomlStep<'_>]) -> Option<u32> {
        let mut offset = None;
        let mut value: Option<&DeValue<'_>> = None;
        for step in steps {
            let table = match value {
                None => Some(&self.document),
                Some(value) => value.as_table(),
            };
            let list = value.and_then(DeValue::as_array);
            let next = match step {
                TomlStep::Key(key) => table.and_then(|table| {
                    let entry = table.iter().find(|(name, _)| name.get_ref() == key);
                    entry.map(|(name, value)| (name.span().start, value.get_ref()))
                }),
                TomlStep::Item(place) => {
                    let item = list.and_then(|list| list.get(*place));
                    item.map(|item| (item.span().start, item.get_ref()))
                }
                TomlStep::Text(text) => {
                    let mut items = list.into_iter().flat_map(|list| list.iter());
                    let item = items.find(|item| item.get_ref().as_str() == Some(text));
                    item.map(|item| (item.span().start, item.get_ref()))
                }
            };
            let Some((start, found)) = next else { break };
            offset = Some(start);
            value = Some(found);
        }
        Place::at("", self.text, offset?, 0).line
    }
}

/// The texts of a list, or the one text.
pub(crate) fn texts(value: Option<&toml::Value>) -> BTreeSet<String> {
    match value {
        Some(toml::Value::String(text)) => BTreeSet::from([text.clone()]),
        Some(toml::Value::Array(items)) => items
            .iter()
            .filter_map(toml::Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::TomlStep::{Item, Key, Text};
    use super::*;

    #[test]
    fn values_are_found_however_they_are_written() {
        let text = "top = 1\n\n[a.b]\nc = [\n  \"x\",\n  'y',\n]\n[a.\"d e\"]\nf.g = 1\n[[h]]\ni = 1\n[[h]]\n\nj = { k = 2 }\n";
        let lines = TomlLines::new(text);
        for (steps, line) in [
            (&[Key("top")][..], Some(1)),
            (&[Key("a"), Key("b")], Some(3)),
            (&[Key("a"), Key("b"), Key("c")], Some(4)),
            (&[Key("a"), Key("b"), Key("c"), Text("y")], Some(6)),
            (&[Key("a"), Key("b"), Key("c"), Text("z")], Some(4)),
            (&[Key("a"), Key("b"), Key("gone"), Key("c")], Some(3)),
            (&[Key("a"), Key("d e"), Key("f"), Key("g")], Some(9)),
            (&[Key("h"), Item(0)], Some(10)),
            (&[Key("h"), Item(1), Key("j"), Key("k")], Some(14)),
            (&[Key("h"), Item(2)], Some(10)),
            (&[Key("gone")], None),
        ] {
            assert_eq!(lines.of(steps), line, "{steps:?}");
        }
        assert_eq!(TomlLines::new("top = ").of(&[Key("top")]), None);
    }
}
