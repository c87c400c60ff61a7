//! The wording of the findings in a workflow document, and readers for values that only it has.

use super::Text;
use crate::workflow::Document;
use crate::workflow::place::advised;
use crate::{Spanned, TomlDialect, TomlReader, TomlTable, TomlType, TomlValue};
use orch_base::{Code, Diagnostic, nearest};
use serde_json::Value;
use std::ops::{Range, RangeInclusive};
use toml::de::{DeInteger, DeValue};

/// Reads the values of a document.
pub(in crate::workflow) type BlockReader<'d> = TomlReader<DocumentDialect<'d>>;

/// The wording of the findings in a document.
pub(in crate::workflow) struct DocumentDialect<'d>(pub &'d Document);

impl TomlDialect for DocumentDialect<'_> {
    fn place(&self, finding: Diagnostic, span: Range<usize>) -> Diagnostic {
        advised(finding.at(self.0.place(span.start, span.len())))
    }

    fn wrong_type(&self, key: &str, expected: TomlType, found: &str) -> Diagnostic {
        wrong(
            key,
            &format!("be {}, but is of type {found}", described(key, expected)),
        )
    }

    fn out_of_range(
        &self,
        key: &str,
        number: &DeInteger<'_>,
        range: &RangeInclusive<i64>,
    ) -> Diagnostic {
        let expected = TomlType::Integer(*range.start());
        match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => wrong(
                key,
                &format!("be {}, not {number}", described(key, expected)),
            ),
            Err(_) => self.wrong_type(key, expected, "integer"),
        }
    }

    fn unknown_key(&self, key: &str, title: &str, known: &[&'static str]) -> Diagnostic {
        let finding = Diagnostic::error(
            Code::WorkflowUnknownKey,
            format!("{title} has no key `{key}`"),
        );
        finding.hint(match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys are: {}", known.join(", ")),
        })
    }
}

fn wrong(key: &str, should: &str) -> Diagnostic {
    Diagnostic::error(Code::WorkflowValue, format!("`{key}` should {should}"))
}

fn described(key: &str, expected: TomlType) -> String {
    let words = match expected {
        TomlType::Boolean => "true or false",
        TomlType::Integer(least) if least > 0 => "a whole number above zero",
        TomlType::Integer(_) => "a whole number",
        TomlType::Text => "a string",
        TomlType::Texts => "a string or a list of strings",
        TomlType::Table => "a table",
        TomlType::Tables => return format!("a list of tables; write `[[{key}]]`"),
    };
    words.to_owned()
}

impl BlockReader<'_> {
    /// The string at `key`.
    pub(in crate::workflow) fn text_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
    ) -> Option<Text> {
        self.text(key, table.take(key)?)
    }

    /// The string, or the strings, at `key`; `None` if the key is missing.
    pub(in crate::workflow) fn list_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
    ) -> Option<Vec<Text>> {
        let value = table.take(key)?;
        match value.get_ref() {
            DeValue::String(_) => Some(self.text(key, value).into_iter().collect()),
            _ => self.texts(key, value),
        }
    }

    /// The string, or the strings, at `key`; a missing key is an empty list.
    pub(in crate::workflow) fn texts_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
    ) -> Vec<Text> {
        self.list_at(table, key).unwrap_or_default()
    }

    /// The integer at `key`, at least `least`.
    pub(in crate::workflow) fn count_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
        least: i64,
    ) -> Option<Spanned<i64>> {
        self.integer(key, table.take(key)?, least..=i64::MAX)
    }

    /// The number at `key`, whole or not, above zero.
    pub(super) fn amount_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
    ) -> Option<Spanned<f64>> {
        let value = table.take(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        if number.is_none() {
            self.report(value.span(), wrong(key, "be a number above zero"));
        }
        number.map(|number| Spanned {
            value: number,
            span: value.span(),
        })
    }

    /// The table of named strings at `key`, such as `[rule.set]`, in document order.
    pub(in crate::workflow) fn named_texts_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
    ) -> Vec<(Text, Text)> {
        table
            .take(key)
            .map(|value| self.named_texts(key, value))
            .unwrap_or_default()
    }

    fn named_texts(&mut self, key: &str, value: &TomlValue<'_>) -> Vec<(Text, Text)> {
        let entries = self.entries(key, value).into_iter();
        entries
            .filter_map(|(name, value)| self.text(&name.value, value).map(|text| (name, text)))
            .collect()
    }

    /// Reads `[define]` and `[define.GROUP]`. Groups exist only so that definitions can be close to the prose
    /// that explains them; the name of a group has no meaning.
    pub(super) fn defines(&mut self, value: &TomlValue<'_>) -> Vec<(Text, Text)> {
        let mut found = Vec::new();
        for (name, value) in self.entries("define", value) {
            if value.get_ref().is_table() {
                found.extend(self.named_texts("define", value));
            } else if let Some(text) = self.text("define", value) {
                found.push((name, text));
            }
        }
        found.sort_by_key(|(name, _)| name.span.start);
        found
    }
}

/// The JSON value of a TOML value; dates become strings.
pub(in crate::workflow) fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .map_or(Value::Null, Value::from),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())))
                .collect(),
        ),
    }
}
