//! The settings in the home directory by which programs start others, as far as an executor can make them.
//!
//! A fence covers those that exist. Others may come in a turn, and Claude Code keeps in a file that it writes in each turn
//! which servers it starts: of that, the parts are compared that make it run commands.

use crate::apply::Writer;
use crate::run::program_places;
use orch_git::durable;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The keys by which Claude Code starts programs, or starts them without a question. Source: its documentation of settings and
/// of MCP, and the files that it writes.
const STARTING: [&str; 9] = [
    "allowedTools",
    "apiKeyHelper",
    "enableAllProjectMcpServers",
    "enabledMcpjsonServers",
    "env",
    "hasTrustDialogAccepted",
    "hooks",
    "mcpServers",
    "statusLine",
];

/// What there is.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HomeSettings {
    home: Option<PathBuf>,
    present: BTreeSet<PathBuf>,
    /// By file and keys, the parts of the files of Claude Code that start programs.
    parts: BTreeMap<(PathBuf, String), Value>,
}

impl HomeSettings {
    /// What there is now. What cannot be read starts nothing.
    pub(super) fn of(writer: &Writer<'_>) -> Self {
        let variables = &writer.caller.variables;
        let root = writer.workspace.reader.root();
        Self::found(&|name| variables.get(name), root)
    }

    fn found(variable: &dyn Fn(&str) -> Option<String>, root: &Path) -> Self {
        let places = program_places(variable, "", &[], root);
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let mut parts = BTreeMap::new();
        for file in &places.memories {
            let bytes = durable::read_if_regular(file).ok().flatten();
            let value = serde_json::from_slice(&bytes.unwrap_or_default());
            for (keys, part) in starting(&value.unwrap_or_default()) {
                parts.insert((file.clone(), keys), part);
            }
        }
        Self {
            home: variable("HOME").map(PathBuf::from),
            present: places.covers.into_iter().filter(is_there).collect(),
            parts,
        }
    }

    /// What has come since, for people: files, and the parts of files that came or changed.
    pub(super) fn since(&self, before: &Self) -> Vec<String> {
        let new = self.present.difference(&before.present);
        let mut came: Vec<String> = new.map(|path| self.shown(path)).collect();
        for (place, part) in &self.parts {
            if before.parts.get(place) != Some(part) {
                let (file, keys) = place;
                came.push(format!("{} ({keys})", self.shown(file)));
            }
        }
        came
    }

    fn shown(&self, path: &Path) -> String {
        let home = self.home.as_ref();
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }
}

/// The parts that start programs, by their keys: those for all projects and those for each one.
fn starting(value: &Value) -> Vec<(String, Value)> {
    let mut found = parts_of(value, "");
    for (project, value) in value["projects"].as_object().into_iter().flatten() {
        found.extend(parts_of(value, &format!(" of {project}")));
    }
    found
}

fn parts_of(value: &Value, of: &str) -> Vec<(String, Value)> {
    let part = |key: &str| {
        let part = value.get(key).filter(|part| !is_empty(part))?;
        Some((format!("{key}{of}"), part.clone()))
    };
    STARTING.into_iter().filter_map(part).collect()
}

/// Whether a part says nothing: Claude Code writes such parts for each new directory.
fn is_empty(part: &Value) -> bool {
    match part {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn new_settings_and_new_servers_are_told_and_what_a_program_only_remembers_is_not() {
        let home = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        let variable = |name: &str| (name == "HOME").then(|| home.path().display().to_string());
        let now = || HomeSettings::found(&variable, Path::new("/r"));
        write(".claude/settings.json", "{}");
        write(
            ".claude.json",
            r#"{"numStartups": 1, "mcpServers": {"a": {"command": "x"}}, "projects": {"/r": {"history": []}}}"#,
        );
        let before = now();
        write(".claude/settings.json", "{\"hooks\": {}}");
        write(
            ".claude.json",
            r#"{"numStartups": 2, "mcpServers": {"a": {"command": "x"}}, "projects": {"/r": {"allowedTools": [],
                "mcpServers": {}, "hasTrustDialogAccepted": false, "history": ["y"]}}}"#,
        );
        assert_eq!(now().since(&before), Vec::<String>::new());
        write(
            ".claude.json",
            r#"{"mcpServers": {"a": {"command": "y"}}, "projects": {"/r": {"mcpServers": {"b": {"command": "z"}}}}}"#,
        );
        write(".codex/config.toml", "notify = ['x']");
        write(".config/goose/config.yaml", "extensions: {}");
        let told = [
            "~/.codex/config.toml",
            "~/.config/goose/config.yaml",
            "~/.claude.json (mcpServers)",
            "~/.claude.json (mcpServers of /r)",
        ];
        assert_eq!(now().since(&before), told);
    }
}
