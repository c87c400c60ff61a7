//! TOML with source positions: reads typed values from tables and reports a finding for every problem.
//!
//! Reading never stops at the first problem. What differs between kinds of files, the codes and the wording
//! of the findings, is a [`TomlDialect`].

use orch_base::Diagnostic;
use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use toml::Spanned as TomlSpanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A TOML value and its position.
pub type TomlValue<'i> = TomlSpanned<DeValue<'i>>;

/// A value and the byte range of the text that it was read from.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value that was read.
    pub value: T,
    /// The byte range, half-open.
    pub span: Range<usize>,
}

/// The type that a key expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TomlType {
    /// `true` or `false`.
    Boolean,
    /// A whole number that is at least this one.
    Integer(i64),
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// A table.
    Table,
    /// A list of tables, `[[like.this]]`.
    Tables,
}

/// The wording and the placement of the findings for one kind of file.
pub trait TomlDialect {
    /// Places a finding at the bytes `span` of the text, and adds a hint if it has none.
    fn place(&self, finding: Diagnostic, span: Range<usize>) -> Diagnostic;

    /// The finding for a `key` that has a value of the type `found`, as TOML names it.
    fn wrong_type(&self, key: &str, expected: TomlType, found: &str) -> Diagnostic;

    /// The finding for a `key` whose integer is outside `range` or does not fit an `i64`.
    fn out_of_range(
        &self,
        key: &str,
        number: &DeInteger<'_>,
        range: &RangeInclusive<i64>,
    ) -> Diagnostic;

    /// The finding for a `key` that the table called `title` does not know; `known` are the keys it knows.
    fn unknown_key(&self, key: &str, title: &str, known: &[&'static str]) -> Diagnostic;
}

/// Reads values and collects what is wrong with them.
pub struct TomlReader<D> {
    dialect: D,
    findings: Vec<Diagnostic>,
}

/// Where the heading or the key whose bytes are `again` stands before in a text.
fn said_before(text: &str, again: &Range<usize>) -> Option<Range<usize>> {
    let begins = text.get(..again.start)?.rfind('\n').map_or(0, |at| at + 1);
    let line = text[begins..].lines().next()?.trim();
    let heading = Some(line).filter(|line| line.starts_with('['));
    let key = text.get(again.clone())?;
    let mut at = 0;
    let mut found = None;
    for line in text[..begins].split_inclusive('\n') {
        let said = match heading {
            Some(heading) => (line.trim() == heading).then_some(heading),
            None => {
                let rest = line.trim_start().strip_prefix(key);
                let is_key = rest.is_some_and(|rest| rest.trim_start().starts_with('='));
                is_key.then_some(key)
            }
        };
        if let Some(said) = said {
            let start = at + (line.len() - line.trim_start().len());
            found = Some(start..start + said.len());
        }
        at += line.len();
    }
    found
}

/// The entries of one table. Reading takes them out one by one; the rest is unknown.
pub struct TomlTable<'t, 'i> {
    title: &'static str,
    known: Vec<&'static str>,
    left: Vec<(&'t TomlSpanned<Cow<'i, str>>, &'t TomlValue<'i>)>,
}

impl<'t, 'i> TomlTable<'t, 'i> {
    /// The entries of `table` in document order; findings call the table `title`.
    #[must_use]
    pub fn new(title: &'static str, table: &'t DeTable<'i>) -> Self {
        Self {
            title,
            known: Vec::new(),
            left: in_text_order(table),
        }
    }

    /// Whether there is a value for `key` that has not been taken yet.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.left.iter().any(|(name, _)| name.get_ref() == key)
    }

    /// Takes out the value of `key` and marks the key as known.
    pub fn take(&mut self, key: &'static str) -> Option<&'t TomlValue<'i>> {
        self.known.push(key);
        let at = self
            .left
            .iter()
            .position(|(name, _)| name.get_ref() == key)?;
        Some(self.left.remove(at).1)
    }
}

impl<D: TomlDialect> TomlReader<D> {
    /// A reader that has no findings yet.
    pub fn new(dialect: D) -> Self {
        Self {
            dialect,
            findings: Vec::new(),
        }
    }

    /// All findings, in document order.
    pub fn findings(self) -> Vec<Diagnostic> {
        Diagnostic::in_order(self.findings)
    }

    /// Adds a finding about the bytes `span`.
    pub fn report(&mut self, span: Range<usize>, finding: Diagnostic) {
        self.findings.push(self.dialect.place(finding, span));
    }

    /// Reports what keeps `text` from being TOML. The finding has this hint, or the line of what is said twice.
    pub fn report_syntax(
        &mut self,
        text: &str,
        faults: Vec<toml::de::Error>,
        finding: &Diagnostic,
    ) {
        for fault in faults {
            let message = fault.message().trim().replace('\n', ", ");
            let span = fault.span().unwrap_or(text.len()..text.len());
            let mut finding = finding.clone();
            if let Some(first) = said_before(text, &span).filter(|_| message == "duplicate key") {
                let place = self.dialect.place(finding.clone(), first.clone()).place;
                let line = place.and_then(|place| place.line).unwrap_or_default();
                finding.message = format!("`{}` is there twice", text[first].trim());
                finding.hint = None;
                finding = finding.hint(format!("the first is on line {line}; keep one of the two"));
            } else {
                finding.message = message;
            }
            self.report(span, finding);
        }
    }

    /// Reports that the value of `key` is not of the type `expected`.
    pub fn wrong_type(&mut self, key: &str, value: &TomlValue<'_>, expected: TomlType) {
        let finding = self
            .dialect
            .wrong_type(key, expected, value.get_ref().type_str());
        self.report(value.span(), finding);
    }

    /// Reports every key that was not taken out of the table.
    pub fn finish(&mut self, table: TomlTable<'_, '_>) {
        for (key, _) in table.left {
            let finding = self
                .dialect
                .unknown_key(key.get_ref(), table.title, &table.known);
            self.report(key.span(), finding);
        }
    }

    /// Reads `value` as a string. Reports another type and returns `None`.
    pub fn text(&mut self, key: &str, value: &TomlValue<'_>) -> Option<Spanned<String>> {
        let text = self.typed(key, value, TomlType::Text, DeValue::as_str)?;
        Some(Spanned {
            value: text.to_owned(),
            span: value.span(),
        })
    }

    /// Reads `value` as a list of strings. Reports items that are not strings and leaves them out.
    pub fn texts(&mut self, key: &str, value: &TomlValue<'_>) -> Option<Vec<Spanned<String>>> {
        let items = self.typed(key, value, TomlType::Texts, DeValue::as_array)?;
        Some(
            items
                .iter()
                .filter_map(|item| self.text(key, item))
                .collect(),
        )
    }

    /// The boolean at `key`, or `default` if the key is missing or has another type.
    pub fn boolean(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
        default: bool,
    ) -> bool {
        let value = table.take(key);
        value
            .and_then(|value| self.typed(key, value, TomlType::Boolean, DeValue::as_bool))
            .unwrap_or(default)
    }

    /// Reads `value` as an integer within `range`.
    pub fn integer(
        &mut self,
        key: &str,
        value: &TomlValue<'_>,
        range: RangeInclusive<i64>,
    ) -> Option<Spanned<i64>> {
        let number = self.typed(
            key,
            value,
            TomlType::Integer(*range.start()),
            DeValue::as_integer,
        )?;
        match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) if range.contains(&number) => Some(Spanned {
                value: number,
                span: value.span(),
            }),
            _ => {
                let finding = self.dialect.out_of_range(key, number, &range);
                self.report(value.span(), finding);
                None
            }
        }
    }

    /// The table at `key`; findings call it `title`.
    pub fn table<'t, 'i>(
        &mut self,
        above: &mut TomlTable<'t, 'i>,
        key: &'static str,
        title: &'static str,
    ) -> Option<TomlTable<'t, 'i>> {
        self.table_of(key, above.take(key)?, title)
    }

    /// Reads `value` as a table; findings call it `title`.
    pub fn table_of<'t, 'i>(
        &mut self,
        key: &str,
        value: &'t TomlValue<'i>,
        title: &'static str,
    ) -> Option<TomlTable<'t, 'i>> {
        let table = self.typed(key, value, TomlType::Table, DeValue::as_table)?;
        Some(TomlTable::new(title, table))
    }

    /// Reads `value` as a table with arbitrary keys and returns its entries in document order.
    pub fn entries<'t, 'i>(
        &mut self,
        key: &str,
        value: &'t TomlValue<'i>,
    ) -> Vec<(Spanned<String>, &'t TomlValue<'i>)> {
        let table = self.typed(key, value, TomlType::Table, DeValue::as_table);
        let entries = table.map(in_text_order).unwrap_or_default().into_iter();
        entries
            .map(|(name, value)| {
                (
                    Spanned {
                        value: name.get_ref().to_string(),
                        span: name.span(),
                    },
                    value,
                )
            })
            .collect()
    }

    /// Reads `value` as a list of tables, each with its byte range; findings call each of them `title`.
    pub fn listed_tables<'t, 'i>(
        &mut self,
        key: &str,
        value: &'t TomlValue<'i>,
        title: &'static str,
    ) -> Vec<Spanned<TomlTable<'t, 'i>>> {
        let Some(items) = self.typed(key, value, TomlType::Tables, DeValue::as_array) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for item in items {
            if let Some(value) = self.table_of(key, item, title) {
                found.push(Spanned {
                    value,
                    span: item.span(),
                });
            }
        }
        found
    }

    /// Applies `read` to a value. Reports another type and returns `None`.
    fn typed<'t, 'i, T>(
        &mut self,
        key: &str,
        value: &'t TomlValue<'i>,
        expected: TomlType,
        read: impl FnOnce(&'t DeValue<'i>) -> Option<T>,
    ) -> Option<T> {
        let found = read(value.get_ref());
        if found.is_none() {
            self.wrong_type(key, value, expected);
        }
        found
    }
}

/// The entries of a table in document order.
fn in_text_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t TomlSpanned<Cow<'i, str>>, &'t TomlValue<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
