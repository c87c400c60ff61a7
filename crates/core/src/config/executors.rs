//! `[executor.NAME]`: the program that performs an action, or the work of an agent.

use super::fence::{FenceWish, fence_wish};
use super::keys::{EXECUTOR, example};
use super::reader::{SettingsReader, invalid};
use crate::workflow::Times;
use crate::{TomlTable, TomlValue};
use orch_base::Period;

/// The executor of everything that has no executor of its own.
const DEFAULT: &str = "default";

/// All configured executors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Executors(Vec<(String, ExecutorConfig)>);

/// The table `[executor.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutorConfig {
    /// The program and its arguments; no shell interprets them.
    pub command: Vec<String>,
    /// The time limits of one try, unless the action sets its own.
    pub times: Times,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Period,
    /// Whether it works inside a fence.
    pub fence: FenceWish,
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        let hard = Some(Period::from_seconds(30 * 60));
        Self {
            command: Vec::new(),
            times: Times {
                hard,
                ..Times::default()
            },
            grace: Period::from_seconds(5),
            fence: FenceWish::default(),
        }
    }
}

impl Executors {
    /// The executor with the first of these names that is configured, or else `default`.
    #[must_use]
    pub fn find<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<&ExecutorConfig> {
        names
            .into_iter()
            .chain([DEFAULT])
            .find_map(|name| self.named(name))
    }

    /// The longest time between SIGTERM and SIGKILL of any executor.
    #[must_use]
    pub fn longest_grace(&self) -> Period {
        let graces = self.0.iter().map(|(_, executor)| executor.grace);
        graces.max().unwrap_or(ExecutorConfig::default().grace)
    }

    /// The executor with exactly this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&ExecutorConfig> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, executor)| executor)
    }

    /// The names of all executors, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Parses `[executor.*]`. An executor with an empty command is left out.
pub(super) fn executors(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Executors {
    let mut found = Vec::new();
    for (name, value) in reader.entries("executor", value) {
        let Some(table) = reader.table_of("executor", value, EXECUTOR.title) else {
            continue;
        };
        let executor = executor(reader, table);
        if !executor.command.is_empty() {
            found.push((name.value, executor));
        }
    }
    Executors(found)
}

fn executor(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> ExecutorConfig {
    let command = table
        .take("command")
        .map(|value| command(reader, value))
        .unwrap_or_default();
    let default = ExecutorConfig::default();
    let times = Times {
        hard: period(reader, &mut table, "timeout", default.times.hard),
        soft: period(reader, &mut table, "soft_timeout", None),
        idle: period(reader, &mut table, "idle_timeout", None),
    };
    let grace = period(reader, &mut table, "grace", Some(default.grace)).unwrap_or_default();
    let fence = fence_wish(reader, &mut table);
    reader.finish(table);
    ExecutorConfig {
        command,
        times,
        grace,
        fence,
    }
}

/// A time, of which zero is none.
fn period(
    reader: &mut SettingsReader<'_>,
    table: &mut TomlTable<'_, '_>,
    key: &'static str,
    default: Option<Period>,
) -> Option<Period> {
    let given = reader.parsed_at(table, key, |text| {
        Period::parse(text).ok_or("the value is not a duration")
    });
    given.or(default).filter(|period| period.milliseconds() > 0)
}

/// The words of a command; an invalid word is reported and left out.
pub(super) fn command(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Vec<String> {
    let command = reader.items("command", value, |text| {
        if text.contains('\0') {
            Err("the argument contains a NUL byte")
        } else {
            Ok(text.to_owned())
        }
    });
    if command.first().is_some_and(String::is_empty) {
        let hint = format!("for example `{}`", example("command"));
        reader.report(value.span(), invalid("the program name is empty", hint));
    }
    command
}
