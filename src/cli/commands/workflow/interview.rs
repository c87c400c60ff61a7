//! The questions of `orch workflow new`, and the skill configuration made of the answers.

use orch_base::pointer::is_at_or_below;
use orch_scaffold::{SkillFault, Strategy};
use serde_json::{Value, json};

/// The JSON pointer of the fields in the configuration.
const FIELDS: &str = "/autonomous_config/state_schema/fields";
/// The JSON pointer of the actions.
const ACTIONS: &str = "/autonomous_config/actions";

/// A person who answers questions.
pub(super) trait Words {
    /// Asks a question; `None` at the end of input.
    fn ask(&mut self, question: &str) -> Option<String>;
    /// Prints a text.
    fn say(&mut self, text: &str);
}

/// Asks for everything that a workflow needs; `None` if the input ends before that.
pub(super) fn interview(
    name: &str,
    strategy: Option<Strategy>,
    words: &mut dyn Words,
) -> Option<(Value, Strategy)> {
    let description = needed(words, "What does it do, in one sentence?")?;
    let title = words.ask(&format!("Its title? [{name}]"))?;
    let title = if title.trim().is_empty() {
        name.to_owned()
    } else {
        title.trim().to_owned()
    };
    let mut config = json!({
        "skill_name": name, "display_name": title, "description": description,
        "execution_mode": "autonomous",
        "autonomous_config": {"state_schema": {"fields": []}, "actions": [], "termination_conditions": []},
    });
    words.say("What does its state contain? One field per line, such as `items: string[]`; an empty line ends the list.");
    list(
        words,
        "field",
        FIELDS,
        &mut config,
        |name, kind| json!({"name": name, "type": if kind.is_empty() { "any" } else { kind }}),
    )?;
    words.say("Which actions does it run, in order? One per line, such as `review: read the draft`; an empty line ends the list.");
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
    words.say("Conditions look like `items.length > 0 && !done`; an empty line ends the list.");
    for index in 0..count(&config, ACTIONS) {
        let pointer = format!("{ACTIONS}/{index}");
        let id = config
            .pointer(&format!("{pointer}/id"))
            .and_then(Value::as_str)
            .unwrap_or_default();
        let question = format!("Which condition must hold before `{id}` runs?");
        conditions(
            words,
            &question,
            &format!("{pointer}/preconditions"),
            (&mut config, strategy),
        )?;
    }
    let ends = "/autonomous_config/termination_conditions";
    let question = "Which condition ends the workflow, apart from having no action left?";
    conditions(words, question, ends, (&mut config, strategy))?;
    Some((config, strategy))
}

fn count(config: &Value, pointer: &str) -> usize {
    config
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

fn needed(words: &mut dyn Words, question: &str) -> Option<String> {
    loop {
        match words.ask(question)?.trim() {
            "" => words.say("An answer is required."),
            answer => return Some(answer.to_owned()),
        }
    }
}

/// Reads lines of the form `name: what` until an empty one, and adds each as an item after checking it.
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
            add(
                config,
                Strategy::Priority,
                pointer,
                item(name.trim(), rest.trim()),
                words,
            );
        } else if pointer == ACTIONS && count(config, pointer) == 0 {
            words.say("At least one is required.");
        } else {
            return Some(());
        }
    }
}

/// Adds an item to a list. If it cannot be used, prints why and leaves it out.
fn add(config: &mut Value, strategy: Strategy, pointer: &str, item: Value, words: &mut dyn Words) {
    let Some(items) = config.pointer_mut(pointer).and_then(Value::as_array_mut) else {
        return;
    };
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

/// Reads conditions until an empty line, and adds each after checking it.
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

/// The first fault caused by the item at this pointer.
fn first_fault(config: &Value, strategy: Strategy, pointer: &str) -> Option<SkillFault> {
    let (skill, faults) = orch_scaffold::read(config);
    let is_whole = !faults.iter().any(|fault| fault.diagnostic.is_error());
    if is_whole {
        // The configuration was valid without the item, so the item caused every fault.
        let found = orch_scaffold::scaffold("new", &skill, strategy).err()?;
        return found
            .into_iter()
            .find(|fault| fault.diagnostic.is_error() || fault.pointer.is_empty());
    }
    let is_there = |fault: &SkillFault| is_at_or_below(&fault.pointer, pointer);
    faults
        .into_iter()
        .find(|fault| fault.diagnostic.is_error() && is_there(fault))
}

fn refuse(words: &mut dyn Words, fault: &SkillFault, text: &str) {
    if let Some(span) = &fault.span {
        let width = |part: Option<&str>| part.map_or(0, |part| part.chars().count());
        let before = width(text.get(..span.start));
        let meant = width(text.get(span.clone()));
        words.say(&format!(
            "  {text}\n  {}{}",
            " ".repeat(before),
            "^".repeat(meant.max(1))
        ));
    }
    words.say(&format!("{}; left out", fault.diagnostic.message));
    if let Some(hint) = &fault.diagnostic.hint {
        words.say(&hint.to_string());
    }
}

fn picked(words: &mut dyn Words) -> Option<Strategy> {
    loop {
        let question = "How is the next action chosen: priority, user or state? [priority]";
        let answer = words.ask(question)?;
        match answer.trim() {
            "" => return Some(Strategy::Priority),
            other => match Strategy::named(other) {
                Some(strategy) => return Some(strategy),
                None => words.say("Answer `priority`, `user` or `state`."),
            },
        }
    }
}
