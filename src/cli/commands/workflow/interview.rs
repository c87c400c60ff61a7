//! The questions that `orch workflow new` asks a person, and the configuration that they make.

use crate::scaffold::{self, Fault, Strategy};
use serde_json::{Value, json};

/// Somebody who can be asked and told.
pub(super) trait Words {
    /// Asks a question; `None` when there is nobody any more.
    fn ask(&mut self, question: &str) -> Option<String>;
    /// Tells something.
    fn say(&mut self, text: &str);
}

/// Asks for everything that a workflow needs; `None` if the answers end before that.
pub(super) fn interview(
    name: &str,
    strategy: Option<Strategy>,
    words: &mut dyn Words,
) -> Option<(Value, Strategy)> {
    let description = needed(words, "What is it for, in a sentence?")?;
    let title = words.ask(&format!("Its title? [{name}]"))?;
    let title = if title.trim().is_empty() { name.to_owned() } else { title.trim().to_owned() };
    let mut config = json!({
        "skill_name": name, "display_name": title, "description": description,
        "execution_mode": "autonomous",
        "autonomous_config": {"state_schema": {"fields": []}, "actions": [], "termination_conditions": []},
    });
    words.say("What does it remember? One field a line, such as `items: string[]`; an empty line ends.");
    let fields = list(words, "field", false)?;
    for (name, kind) in fields {
        let kind = if kind.is_empty() { "any".to_owned() } else { kind };
        let field = json!({"name": name, "type": kind});
        add(&mut config, "/autonomous_config/state_schema/fields", field, words);
    }
    words.say("What is done, in this order? One action a line, such as `review: read what was written`.");
    let actions = list(words, "action", true)?;
    for (id, description) in actions {
        let action = json!({"id": id, "name": id, "description": description, "preconditions": []});
        add(&mut config, "/autonomous_config/actions", action, words);
    }
    words.say("Conditions look like `items.length > 0 && !done`; an empty line ends.");
    let count = config.pointer("/autonomous_config/actions").and_then(Value::as_array).map_or(0, Vec::len);
    for index in 0..count {
        let pointer = format!("/autonomous_config/actions/{index}");
        let id = config.pointer(&format!("{pointer}/id")).and_then(Value::as_str).unwrap_or_default();
        let question = format!("What must hold before `{id}`?");
        conditions(words, &question, &format!("{pointer}/preconditions"), &mut config)?;
    }
    let ends = "/autonomous_config/termination_conditions";
    let question = "What ends it, besides that nothing is left to do?";
    conditions(words, question, ends, &mut config)?;
    let strategy = match strategy {
        Some(strategy) => strategy,
        None => picked(words)?,
    };
    Some((config, strategy))
}

fn needed(words: &mut dyn Words, question: &str) -> Option<String> {
    loop {
        match words.ask(question)?.trim() {
            "" => words.say("This is needed."),
            answer => return Some(answer.to_owned()),
        }
    }
}

/// Lines of the form `name: what`, until an empty one.
fn list(words: &mut dyn Words, what: &str, one: bool) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    loop {
        let line = words.ask(&format!("{what}:"))?;
        if line.trim().is_empty() {
            if one && found.is_empty() {
                words.say("At least one is needed.");
                continue;
            }
            return Some(found);
        }
        let (name, rest) = line.split_once(':').unwrap_or((&line, ""));
        found.push((name.trim().to_owned(), rest.trim().to_owned()));
    }
}

/// Adds an item to a list; one that cannot be used is told and left out.
fn add(config: &mut Value, pointer: &str, item: Value, words: &mut dyn Words) {
    let Some(items) = config.pointer_mut(pointer).and_then(Value::as_array_mut) else { return };
    items.push(item);
    let at = format!("{pointer}/{}", items.len() - 1);
    if let Some(fault) = first_fault(config, &at) {
        refuse(words, &fault);
        if let Some(items) = config.pointer_mut(pointer).and_then(Value::as_array_mut) {
            items.pop();
        }
    }
}

/// Conditions, each checked at once, until an empty line.
fn conditions(words: &mut dyn Words, question: &str, pointer: &str, config: &mut Value) -> Option<()> {
    loop {
        let line = words.ask(question)?;
        if line.trim().is_empty() {
            return Some(());
        }
        add(config, pointer, json!(line.trim()), words);
    }
}

/// What is wrong at a pointer or below it.
fn first_fault(config: &Value, pointer: &str) -> Option<Fault> {
    let (skill, mut faults) = scaffold::read(config);
    if !faults.iter().any(|fault| fault.diagnostic.is_error()) {
        faults.extend(scaffold::scaffold("new", &skill, Strategy::Priority).err().into_iter().flatten());
    }
    let is_there = |fault: &Fault| {
        fault.pointer.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    faults.into_iter().find(|fault| fault.diagnostic.is_error() && is_there(fault))
}

fn refuse(words: &mut dyn Words, fault: &Fault) {
    if let Some(span) = &fault.span {
        words.say(&format!("{}{}", " ".repeat(span.start), "^".repeat(span.len().max(1))));
    }
    words.say(&format!("{}; left out", fault.diagnostic.message));
    if let Some(hint) = &fault.diagnostic.hint {
        words.say(hint);
    }
}

fn picked(words: &mut dyn Words) -> Option<Strategy> {
    loop {
        let question = "What picks the next action: priority, user or state? [priority]";
        let answer = words.ask(question)?;
        match answer.trim() {
            "" => return Some(Strategy::Priority),
            other => match Strategy::named(other) {
                Some(strategy) => return Some(strategy),
                None => words.say("It is one of the three."),
            },
        }
    }
}
