//! `[executor.NAME]`: which program performs an action, or does the work of an agent.

use super::keys::Section;
use super::reader::TomlReader;
use crate::base::Period;
use crate::workflow::Times;
use toml::de::DeTable;

/// The name of the executor of whatever names no other.
const DEFAULT: &str = "default";

/// Every executor that the settings name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Executors(Vec<(String, ExecutorConfig)>);

/// The table `[executor.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutorConfig {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// How long one try may take, where an action says nothing else.
    pub times: Times,
    /// How long it has between being asked to end and being ended.
    pub grace: Period,
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        let hard = Some(Period::from_seconds(30 * 60));
        Self {
            command: Vec::new(),
            times: Times { hard, ..Times::default() },
            grace: Period::from_seconds(5),
        }
    }
}

impl Executors {
    /// The executor of one of these names, the first that there is, else the one for all.
    #[must_use]
    pub fn find<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<&ExecutorConfig> {
        names.into_iter().chain([DEFAULT]).find_map(|name| self.named(name))
    }

    /// The executor of exactly this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&ExecutorConfig> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, executor)| executor)
    }

    /// The names of all, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

/// Reads `[executor.*]`. One whose command is empty is none.
pub(super) fn executors<'t>(reader: &mut TomlReader<'t>, top: &DeTable<'t>) -> Executors {
    let Some(value) = top.get("executor") else { return Executors::default() };
    let Some(tables) = value.get_ref().as_table() else {
        reader.mismatch(value, "a table", "[executor.default]");
        return Executors::default();
    };
    let mut found = Vec::new();
    for (name, value) in tables {
        let Some(table) = value.get_ref().as_table() else {
            reader.mismatch(value, "a table", "[executor.default]");
            continue;
        };
        reader.keys(Section::Executor, table);
        let executor = executor(reader, table);
        if !executor.command.is_empty() {
            found.push((name.get_ref().to_string(), executor));
        }
    }
    Executors(found)
}

fn executor<'t>(reader: &mut TomlReader<'t>, table: &DeTable<'t>) -> ExecutorConfig {
    let default = ExecutorConfig::default();
    let example = "command = [\"claude\", \"-p\"]";
    let word = |text: &str| if text.contains('\0') { Err("it holds a NUL") } else { Ok(text.to_owned()) };
    let mut command = Vec::new();
    if let Some(value) = table.get("command") {
        command = reader.items(value, example, word);
        if command.first().is_some_and(String::is_empty) {
            reader.value(value.span(), "the first word, the program, is empty", format!("as in `{example}`"));
        }
    }
    let mut period = |key: &str, default: Option<Period>| {
        let read = |text: &str| Period::parse(text).ok_or("it is no length of time");
        let given = reader.string(table, key, "30m", read);
        given.or(default).filter(|period| period.milliseconds() > 0)
    };
    let times = Times {
        soft: period("soft_timeout", None),
        hard: period("timeout", default.times.hard),
        idle: period("idle_timeout", None),
    };
    ExecutorConfig { command, times, grace: period("grace", Some(default.grace)).unwrap_or_default() }
}
