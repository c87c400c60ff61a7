//! The text of a test, as it stands in a document.

use crate::workflow::{GivenContent, GivenFile, GivenTask, TestSetup};
use serde_json::Value;
use std::fmt::Write as _;

/// What a test expects, as plain words.
#[derive(Debug, Clone, Default)]
pub struct ExpectedWords<'a> {
    /// The rule.
    pub rule: Option<&'a str>,
    /// Where it leads.
    pub phase: Option<&'a str>,
    /// Who has to act.
    pub who: Option<&'a str>,
    /// What the decision is.
    pub outcome: Option<&'a str>,
}

/// A test as TOML, with its heading.
#[must_use]
pub fn test_text(name: &str, setup: &TestSetup, expect: &ExpectedWords<'_>) -> String {
    let mut out = String::from("[[test]]\n");
    let mut line = |key: &str, value: String| {
        let _ = writeln!(out, "{key} = {value}");
    };
    line("name", quoted(name));
    if let Some(phase) = &setup.phase {
        line("phase", quoted(&phase.value));
    }
    if let Some(attempt) = setup.attempt {
        line("attempt", attempt.to_string());
    }
    for (table, files) in [("before", &setup.before), ("given", &setup.files)] {
        for GivenFile { of, content } in files {
            line(
                &format!("{table}.{}", key(&of.value)),
                content_text(content),
            );
        }
    }
    let words = |words: Vec<&str>| {
        let words: Vec<String> = words.into_iter().map(quoted).collect();
        format!("[{}]", words.join(", "))
    };
    for (key, names) in [
        ("used_up", &setup.used_up),
        ("waived", &setup.waived),
        ("approved", &setup.approved),
        ("rejected", &setup.rejected),
        ("lapsed", &setup.lapsed),
    ] {
        if !names.is_empty() {
            line(
                key,
                words(names.iter().map(|name| name.value.as_str()).collect()),
            );
        }
    }
    for (member, value) in &setup.state {
        line(&format!("state.{}", key(member)), inline(value));
    }
    let run = &setup.run;
    if let Some(mode) = &run.mode {
        line("run.mode", quoted(&mode.value));
    }
    if run.errors > 0 {
        line("run.errors", run.errors.to_string());
    }
    if let Some(chosen) = &run.chosen {
        line("run.chosen", quoted(&chosen.value));
    }
    for (action, count) in &run.done {
        line(
            &format!("run.done.{}", key(&action.value)),
            count.to_string(),
        );
    }
    if !run.skipped.is_empty() {
        line(
            "run.skipped",
            words(run.skipped.iter().map(|name| name.value.as_str()).collect()),
        );
    }
    for (name, became) in &setup.verified {
        line(
            &format!("verified.{}", key(&name.value)),
            quoted(&became.value),
        );
    }
    if let Some(code) = &setup.code {
        let files = words(code.files.iter().map(String::as_str).collect());
        let own = if code.is_own { "" } else { ", own = false" };
        line("code", format!("{{ files = {files}{own} }}"));
    }
    for (table, tasks) in [("children", &setup.children), ("after", &setup.after)] {
        for GivenTask { id, done, failed } in tasks {
            let word = match (done, failed) {
                (true, _) => "done",
                (_, true) => "failed",
                _ => "open",
            };
            line(&format!("{table}.{}", key(&id.value)), quoted(word));
        }
    }
    if let Some(signal) = setup.on {
        line("on", quoted(signal.as_str()));
    }
    let expected = [
        ("rule", expect.rule),
        ("phase", expect.phase),
        ("who", expect.who),
        ("outcome", expect.outcome),
    ];
    let mut members = Vec::new();
    for (key, value) in expected {
        members.extend(value.map(|value| format!("{key} = {}", quoted(value))));
    }
    line("expect", format!("{{ {} }}", members.join(", ")));
    out
}

fn content_text(content: &GivenContent) -> String {
    match content {
        GivenContent::Absent => "false".to_owned(),
        GivenContent::Filled => "true".to_owned(),
        GivenContent::Text(text) => {
            let is_long = text.trim_end().contains('\n');
            if is_long && !text.contains("'''") && !text.contains('\r') {
                format!("'''\n{text}'''")
            } else {
                quoted(text)
            }
        }
        GivenContent::Data(value) => inline(value),
    }
}

/// A key, quoted if it is none by itself.
fn key(name: &str) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A value on one line. What TOML has no value for, a null, is left out.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members: Vec<String> = members
                .map(|(name, value)| format!("{} = {}", key(name), inline(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
    }
}
