//! The wording of the findings in `orch.toml`, and helpers for values that are parsed further.

use super::keys::{example, home};
use crate::{Spanned, TomlDialect, TomlReader, TomlTable, TomlType, TomlValue};
use orch_base::{Code, Diagnostic, Hint, Place, nearest};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::de::DeInteger;

/// Reads the values of `orch.toml`.
pub(super) type SettingsReader<'t> = TomlReader<SettingsDialect<'t>>;

/// The wording of the findings in `orch.toml`.
pub(super) struct SettingsDialect<'t> {
    /// The text being read.
    pub text: &'t str,
    /// The path that findings show.
    pub path: &'t str,
}

impl TomlDialect for SettingsDialect<'_> {
    fn place(&self, finding: Diagnostic, span: Range<usize>) -> Diagnostic {
        finding.at(Place::at(self.path, self.text, span.start, span.len()))
    }

    fn wrong_type(&self, key: &str, expected: TomlType, found: &str) -> Diagnostic {
        let expected = match expected {
            TomlType::Boolean => "a boolean",
            TomlType::Integer(_) => "an integer",
            TomlType::Text => "a string",
            TomlType::Texts => "a list of strings",
            TomlType::Table => "a table",
            TomlType::Tables => "a list of tables",
        };
        let article = if found.starts_with(['a', 'i']) {
            "an"
        } else {
            "a"
        };
        invalid(
            format!("expected {expected}, found {article} {found}"),
            as_in(key),
        )
    }

    fn out_of_range(
        &self,
        key: &str,
        number: &DeInteger<'_>,
        range: &RangeInclusive<i64>,
    ) -> Diagnostic {
        let hint = format!("`{key}` must be from {} to {}", range.start(), range.end());
        invalid(format!("{number} is out of range"), hint)
    }

    fn unknown_key(&self, key: &str, title: &str, known: &[&'static str]) -> Diagnostic {
        let hint = match (nearest(key, known.iter().copied()), home(key)) {
            (_, Some(home)) => format!("`{key}` belongs to {home}"),
            (Some(near), None) => format!("did you mean `{near}`?"),
            (None, None) => format!("the keys of {title} are {}", list(known)),
        };
        Diagnostic::error(Code::ConfigUnknownKey, format!("unknown key `{key}`")).hint(hint)
    }
}

/// The finding for a value that cannot be used.
pub(super) fn invalid(message: impl Into<String>, hint: impl Into<Hint>) -> Diagnostic {
    Diagnostic::error(Code::ConfigValue, message).hint(hint)
}

fn as_in(key: &str) -> String {
    format!("write for example `{}`", example(key))
}

impl SettingsReader<'_> {
    /// The integer at `key`, within `range`.
    pub(super) fn integer_at(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
        range: RangeInclusive<i64>,
        default: u64,
    ) -> u64 {
        let number = table
            .take(key)
            .and_then(|value| self.integer(key, value, range));
        number
            .and_then(|number| u64::try_from(number.value).ok())
            .unwrap_or(default)
    }

    /// The string at `key`, parsed by `parse`. Reports an invalid string and returns `None`.
    pub(super) fn parsed_at<T, E: Display>(
        &mut self,
        table: &mut TomlTable<'_, '_>,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text(key, table.take(key)?)?;
        self.parsed(text, parse, || format!("for example `{}`", example(key)))
    }

    /// The items of a list of strings, each parsed; invalid ones are reported and left out.
    pub(super) fn items<T, E: Display>(
        &mut self,
        key: &str,
        value: &TomlValue<'_>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let texts = self.texts(key, value).unwrap_or_default().into_iter();
        texts
            .filter_map(|text| self.parsed(text, &parse, || as_in(key)))
            .collect()
    }

    /// The text parsed by `parse`. Reports an invalid text with this hint and returns `None`.
    pub(super) fn parsed<T, E: Display>(
        &mut self,
        text: Spanned<String>,
        parse: impl FnOnce(&str) -> Result<T, E>,
        hint: impl FnOnce() -> String,
    ) -> Option<T> {
        parse(&text.value)
            .map_err(|error| self.report(text.span, invalid(error.to_string(), hint())))
            .ok()
    }
}

/// Names in words: `` `a`, `b` and `c` ``.
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Parses a word from a closed list; the error lists the choices.
pub(super) fn choice<T>(
    text: &str,
    named: fn(&str) -> Option<T>,
    choices: &[&str],
) -> Result<T, String> {
    named(text).ok_or_else(|| unknown_choice(text, choices))
}

/// Why a word is not one of a closed list.
pub(super) fn unknown_choice(text: &str, choices: &[&str]) -> String {
    let known = list(choices).replace('`', "\"");
    match nearest(text, choices.iter().copied()) {
        Some(near) => {
            format!("\"{text}\" is unknown; did you mean \"{near}\"? The choices are {known}")
        }
        None => format!("\"{text}\" is unknown; the choices are {known}"),
    }
}
