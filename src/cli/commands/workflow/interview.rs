//! The questions that `orch workflow new` asks a person, and the configuration that they make.

use crate::scaffold::{self, SkillFault, Strategy};
use serde_json::{Value, json};

/// Where the configuration holds its fields.
const FIELDS: &str = "/autonomous_config/state_schema/fields";
/// Where it holds its actions.
const ACTIONS: &str = "/autonomous_config/actions";

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
    list(
        words,
        "field",
        FIELDS,
        &mut config,
        |name, kind| json!({"name": name, "type": if kind.is_empty() { "any" } else { kind }}),
    )?;
    words.say("What is done, in this order? One action a line, such as `review: read what was written`.");
    list(
        words,
        "action",
        ACTIONS,
        &mut config,
        |id, description| json!({"id": id, "name": id, "description": description, "preconditions": []}),
    )?;
    let strategy = match strategy {
        Some(strategy) => strategy,
        None => picked(words)?,
    };
    words.say("Conditions look like `items.length > 0 && !done`; an empty line ends.");
    for index in 0..count(&config, ACTIONS) {
        let pointer = format!("{ACTIONS}/{index}");
        let id = config.pointer(&format!("{pointer}/id")).and_then(Value::as_str).unwrap_or_default();
        let question = format!("What must hold before `{id}`?");
        conditions(words, &question, &format!("{pointer}/preconditions"), (&mut config, strategy))?;
    }
    let ends = "/autonomous_config/termination_conditions";
    let question = "What ends it, besides that nothing is left to do?";
    conditions(words, question, ends, (&mut config, strategy))?;
    Some((config, strategy))
}

fn count(config: &Value, pointer: &str) -> usize {
    config.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len)
}

fn needed(words: &mut dyn Words, question: &str) -> Option<String> {
    loop {
        match words.ask(question)?.trim() {
            "" => words.say("This is needed."),
            answer => return Some(answer.to_owned()),
        }
    }
}

/// Lines of the form `name: what`, each made an item and checked at once, until an empty one.
fn list(
    words: &mut dyn Words,
    what: &str,
    pointer: &str,
    config: &mut Value,
    item: impl Fn(&str, &str) -> Value,
) -> Option<()> {
    loop {
        let line = words.ask(&format!("{what}:"))?;
        let (name, rest) = line.split_once(':').unwrap_or((&line, ""));
        if !line.trim().is_empty() {
            add(config, Strategy::Priority, pointer, item(name.trim(), rest.trim()), words);
        } else if pointer == ACTIONS && count(config, pointer) == 0 {
            words.say("At least one is needed.");
        } else {
            return Some(());
        }
    }
}

/// Adds an item to a list; one that cannot be used is told and left out.
fn add(config: &mut Value, strategy: Strategy, pointer: &str, item: Value, words: &mut dyn Words) {
    let Some(items) = config.pointer_mut(pointer).and_then(Value::as_array_mut) else { return };
    let text = item.as_str().unwrap_or_default().to_owned();
    items.push(item);
    let at = format!("{pointer}/{}", items.len() - 1);
    if let Some(fault) = first_fault(config, strategy, &at) {
        refuse(words, &fault, &text);
        if let Some(items) = config.pointer_mut(pointer).and_then(Value::as_array_mut) {
            items.pop();
        }
    }
}

/// Conditions, each checked at once, until an empty line.
fn conditions(
    words: &mut dyn Words,
    question: &str,
    pointer: &str,
    (config, strategy): (&mut Value, Strategy),
) -> Option<()> {
    loop {
        let line = words.ask(question)?;
        if line.trim().is_empty() {
            return Some(());
        }
        add(config, strategy, pointer, json!(line.trim()), words);
    }
}

/// What is wrong since there is something at this pointer.
fn first_fault(config: &Value, strategy: Strategy, pointer: &str) -> Option<SkillFault> {
    let (skill, faults) = scaffold::read(config);
    let is_whole = !faults.iter().any(|fault| fault.diagnostic.is_error());
    if is_whole {
        // Without the item all was well, so whatever stands in the way comes of it.
        let found = scaffold::scaffold("new", &skill, strategy).err()?;
        return found.into_iter().find(|fault| fault.diagnostic.is_error() || fault.pointer.is_empty());
    }
    let is_there = |fault: &SkillFault| {
        fault.pointer.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    faults.into_iter().find(|fault| fault.diagnostic.is_error() && is_there(fault))
}

fn refuse(words: &mut dyn Words, fault: &SkillFault, text: &str) {
    if let Some(span) = &fault.span {
        let width = |part: Option<&str>| part.map_or(0, |part| part.chars().count());
        let (before, meant) = (width(text.get(..span.start)), width(text.get(span.clone())));
        words.say(&format!("  {text}\n  {}{}", " ".repeat(before), "^".repeat(meant.max(1))));
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
