//! Reading values of a document: each with its place, and a finding where it is not what it should be.

use super::{Spanned, Text};
use crate::base::{Code, Diagnostic, nearest};
use crate::workflow::Document;
use crate::workflow::place::advised;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

/// Reads values, and gathers what is wrong with them.
pub(super) struct BlockReader<'d> {
    document: &'d Document,
    pub problems: Vec<Diagnostic>,
}

/// The entries of one table, taken out one by one; what is left over is unknown.
pub(super) struct Entries<'t, 'i> {
    what: &'static str,
    known: Vec<&'static str>,
    left: Vec<(&'t TomlSpanned<Cow<'i, str>>, &'t TomlSpanned<DeValue<'i>>)>,
}

impl<'t, 'i> Entries<'t, 'i> {
    pub(super) fn new(what: &'static str, table: &'t DeTable<'i>) -> Self {
        let mut left: Vec<_> = table.iter().collect();
        left.sort_by_key(|(key, _)| key.span().start);
        Self { what, known: Vec::new(), left }
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<&'t TomlSpanned<DeValue<'i>>> {
        self.known.push(key);
        let at = self.left.iter().position(|(name, _)| name.get_ref() == key)?;
        Some(self.left.remove(at).1)
    }
}

impl<'d> BlockReader<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, problems: Vec::new() }
    }

    pub(super) fn problem(&mut self, span: &Range<usize>, diagnostic: Diagnostic) {
        let place = self.document.place(span.start, span.len());
        self.problems.push(advised(diagnostic.at(place)));
    }

    pub(super) fn finish(&mut self, entries: Entries<'_, '_>) {
        for (key, _) in entries.left {
            let name = key.get_ref();
            let mut diagnostic =
                Diagnostic::error(Code::WorkflowUnknownKey, format!("{} has no key `{name}`", entries.what));
            diagnostic.hint = Some(match nearest(name, entries.known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the keys are: {}", entries.known.join(", ")),
            });
            self.problem(&key.span(), diagnostic);
        }
    }

    pub(super) fn wrong_type(&mut self, key: &str, value: &TomlSpanned<DeValue<'_>>, expected: &str) {
        let found = value.get_ref().type_str();
        let message = format!("`{key}` should be {expected}, but is of type {found}");
        self.problem(&value.span(), Diagnostic::error(Code::WorkflowValue, message));
    }

    pub(super) fn text(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Text> {
        let value = entries.take(key)?;
        self.text_of(key, value)
    }

    fn text_of(&mut self, key: &str, value: &TomlSpanned<DeValue<'_>>) -> Option<Text> {
        match value.get_ref().as_str() {
            Some(text) => Some(Spanned { value: text.to_owned(), span: value.span() }),
            None => {
                self.wrong_type(key, value, "a text");
                None
            }
        }
    }

    pub(super) fn texts(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Vec<Text> {
        self.list(entries, key).unwrap_or_default()
    }

    pub(super) fn list(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Vec<Text>> {
        let value = entries.take(key)?;
        match value.get_ref() {
            DeValue::Array(items) => Some(items.iter().filter_map(|item| self.text_of(key, item)).collect()),
            DeValue::String(_) => Some(self.text_of(key, value).into_iter().collect()),
            _ => {
                self.wrong_type(key, value, "a text or a list of texts");
                None
            }
        }
    }

    pub(super) fn boolean(
        &mut self,
        entries: &mut Entries<'_, '_>,
        key: &'static str,
        default: bool,
    ) -> bool {
        let Some(value) = entries.take(key) else { return default };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong_type(key, value, "true or false");
            default
        })
    }

    pub(super) fn count(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Spanned<i64>> {
        let value = entries.take(key)?;
        self.whole(key, value, 1)
    }

    pub(super) fn whole(
        &mut self,
        key: &str,
        value: &TomlSpanned<DeValue<'_>>,
        least: i64,
    ) -> Option<Spanned<i64>> {
        let expected = if least > 0 { "a whole number above zero" } else { "a whole number" };
        let number = value.get_ref().as_integer();
        match number.and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok()) {
            Some(number) if number >= least => Some(Spanned { value: number, span: value.span() }),
            Some(number) => {
                let message = format!("`{key}` should be {expected}, not {number}");
                self.problem(&value.span(), Diagnostic::error(Code::WorkflowValue, message));
                None
            }
            None => {
                self.wrong_type(key, value, expected);
                None
            }
        }
    }

    pub(super) fn amount(
        &mut self,
        entries: &mut Entries<'_, '_>,
        key: &'static str,
    ) -> Option<Spanned<f64>> {
        let value = entries.take(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        match number.filter(|number| number.is_finite() && *number > 0.0) {
            Some(number) => Some(Spanned { value: number, span: value.span() }),
            None => {
                let message = format!("`{key}` should be a number above zero");
                self.problem(&value.span(), Diagnostic::error(Code::WorkflowValue, message));
                None
            }
        }
    }

    /// A table of named texts, such as `[define]`, in document order.
    pub(super) fn named_texts(
        &mut self,
        key: &'static str,
        value: Option<&TomlSpanned<DeValue<'_>>>,
    ) -> Vec<(Text, Text)> {
        self.named(key, value)
            .into_iter()
            .filter_map(|(name, value)| {
                let text = self.text_of(&name.value, value)?;
                Some((name, text))
            })
            .collect()
    }

    /// `[define]`, and `[define.GROUP]` for those who want them near the prose that explains them;
    /// a group's own name means nothing.
    pub(super) fn defines(&mut self, value: Option<&TomlSpanned<DeValue<'_>>>) -> Vec<(Text, Text)> {
        let mut found = Vec::new();
        for (name, value) in self.named("define", value) {
            if value.get_ref().is_table() {
                found.extend(self.named_texts("define", Some(value)));
            } else if let Some(text) = self.text_of("define", value) {
                found.push((name, text));
            }
        }
        found.sort_by_key(|(name, _)| name.span.start);
        found
    }

    /// The entries of a table, by name, in document order.
    pub(super) fn named<'t, 'i>(
        &mut self,
        key: &str,
        value: Option<&'t TomlSpanned<DeValue<'i>>>,
    ) -> Vec<(Text, &'t TomlSpanned<DeValue<'i>>)> {
        let Some(value) = value else { return Vec::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return Vec::new();
        };
        let mut entries: Vec<_> = table
            .iter()
            .map(|(name, value)| (Spanned { value: name.get_ref().to_string(), span: name.span() }, value))
            .collect();
        entries.sort_by_key(|(name, _)| name.span.start);
        entries
    }

    /// The tables of a table of tables, such as `[phase.*]`, by name.
    pub(super) fn named_tables<'t, 'i>(
        &mut self,
        key: &str,
        value: Option<&'t TomlSpanned<DeValue<'i>>>,
    ) -> Vec<(Text, &'t DeTable<'i>)> {
        let entries = self.named(key, value);
        entries
            .into_iter()
            .filter_map(|(name, value)| match value.get_ref().as_table() {
                Some(table) => Some((name, table)),
                None => {
                    self.wrong_type(&name.value, value, "a table");
                    None
                }
            })
            .collect()
    }

    /// What `read` makes of each table of a table of tables.
    pub(super) fn each<'t, 'i, T>(
        &mut self,
        value: Option<&'t TomlSpanned<DeValue<'i>>>,
        key: &str,
        read: fn(&mut Self, Text, &'t DeTable<'i>) -> T,
    ) -> Vec<T> {
        self.named_tables(key, value).into_iter().map(|(name, table)| read(self, name, table)).collect()
    }

    /// The table at a key.
    pub(super) fn table<'t, 'i>(
        &mut self,
        entries: &mut Entries<'t, 'i>,
        key: &'static str,
    ) -> Option<&'t DeTable<'i>> {
        let value = entries.take(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong_type(key, value, "a table");
        }
        table
    }
}

/// The JSON value of a TOML value; dates become texts.
pub(super) fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref()))).collect(),
        ),
    }
}
