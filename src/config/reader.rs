//! Reads typed values out of a TOML table; what is wrong with them becomes findings.

use super::keys::Section;
use crate::base::{Code, Diagnostic, Place, nearest};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
pub(super) type SpannedToml<'t> = Spanned<DeValue<'t>>;

/// The text being read, and what was found wrong so far.
pub(super) struct TomlReader<'t> {
    text: &'t str,
    path: &'t str,
    findings: Vec<Diagnostic>,
}

impl<'t> TomlReader<'t> {
    /// A reader of `text`, whose findings name `path`.
    pub(super) fn new(text: &'t str, path: &'t str) -> Self {
        Self { text, path, findings: Vec::new() }
    }

    /// What was found, in the order of the text.
    pub(super) fn findings(mut self) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| {
            finding
                .place
                .as_ref()
                .map_or((0, 0), |place| (place.line.unwrap_or(0), place.column.unwrap_or(0)))
        });
        self.findings
    }

    /// Reports a fault of the text itself.
    pub(super) fn syntax(&mut self, error: &toml::de::Error) {
        let span = error.span().unwrap_or(self.text.len()..self.text.len());
        let hint = "the file is TOML, as in `key = \"value\"`; see https://toml.io";
        self.report(Code::ConfigSyntax, span, error.message().to_owned(), hint);
    }

    /// Reports a value that is not usable.
    pub(super) fn value(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        self.report(Code::ConfigValue, span, message.into(), hint);
    }

    fn report(&mut self, code: Code, span: Range<usize>, message: String, hint: impl Into<String>) {
        let place = Place::at(self.path, self.text, span.start, span.len());
        self.findings.push(Diagnostic::error(code, message).at(place).hint(hint));
    }

    /// Reports every key of `table` that its section does not know.
    pub(super) fn keys(&mut self, section: Section, table: &DeTable<'_>) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if section.keys().contains(&name) {
                continue;
            }
            let hint = match (nearest(name, section.keys().iter().copied()), Section::of(name)) {
                (_, Some(home)) => format!("`{name}` belongs to {}", home.title()),
                (Some(near), None) => format!("did you mean `{near}`?"),
                (None, None) => format!("{} knows {}", section.title(), list(section.keys())),
            };
            self.report(Code::ConfigUnknownKey, key.span(), format!("unknown key `{name}`"), hint);
        }
    }

    /// Reports that `value` is of another type than `expected`, which the hint shows by an example.
    pub(super) fn mismatch(&mut self, value: &SpannedToml<'_>, expected: &str, example: &str) {
        let found = value.get_ref().type_str();
        let message = format!("expected {expected}, found {} {found}", article(found));
        self.value(value.span(), message, format!("write it as in `{example}`"));
    }

    /// The table at `key`, its keys checked.
    pub(super) fn table<'a>(
        &mut self,
        table: &'a DeTable<'t>,
        key: &str,
        section: Section,
    ) -> Option<&'a DeTable<'t>> {
        let value = table.get(key)?;
        let Some(inner) = value.get_ref().as_table() else {
            self.mismatch(value, "a table", &format!("[{key}]"));
            return None;
        };
        self.keys(section, inner);
        Some(inner)
    }

    /// The boolean at `key`.
    pub(super) fn boolean(&mut self, table: &DeTable<'t>, key: &str, default: bool) -> bool {
        let Some(value) = table.get(key) else { return default };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.mismatch(value, "a boolean", &format!("{key} = {default}"));
            default
        })
    }

    /// The integer at `key`, which must lie in `range`.
    pub(super) fn integer(
        &mut self,
        table: &DeTable<'t>,
        key: &str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> u64 {
        let Some(value) = table.get(key) else { return default };
        let Some(integer) = value.get_ref().as_integer() else {
            self.mismatch(value, "an integer", &format!("{key} = {default}"));
            return default;
        };
        match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) if range.contains(&number) => number,
            _ => {
                let message = format!("{integer} is out of range");
                let hint = format!("`{key}` is from {} to {}", range.start(), range.end());
                self.value(value.span(), message, hint);
                default
            }
        }
    }

    /// The string at `key`, parsed; `example` shows how it may look.
    pub(super) fn string<T, E: Display>(
        &mut self,
        table: &DeTable<'t>,
        key: &str,
        example: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let value = table.get(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.mismatch(value, "a string", &format!("{key} = \"{example}\""));
            return None;
        };
        match parse(text) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.value(value.span(), error.to_string(), format!("for example `{key} = \"{example}\"`"));
                None
            }
        }
    }

    /// The items of a list of strings, each parsed; bad ones are reported and left out.
    pub(super) fn items<T, E: Display>(
        &mut self,
        value: &SpannedToml<'t>,
        example: &str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let Some(array) = value.get_ref().as_array() else {
            self.mismatch(value, "a list of strings", example);
            return Vec::new();
        };
        let mut items = Vec::new();
        for item in array {
            let Some(text) = item.get_ref().as_str() else {
                self.mismatch(item, "a string", example);
                continue;
            };
            match parse(text) {
                Ok(parsed) => items.push(parsed),
                Err(error) => {
                    self.value(item.span(), error.to_string(), format!("write it as in `{example}`"))
                }
            }
        }
        items
    }
}

/// `` `a`, `b` and `c` ``.
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'i']) { "an" } else { "a" }
}
