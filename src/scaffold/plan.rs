//! From what a configuration asks for to a machine that provably ends.
//!
//! Its phases are what the configuration calls its status, with the specification's review before
//! them. Terminal phases are terminal, whatever the configuration lists; an action that nothing in
//! the state can stop runs once; what fails too often leads to `failed`.

use super::Strategy;
use super::expression::alternatives;
use super::fault::{SkillFault, SkillRefused};
use super::skill::{Condition, Skill, SkillAction};
use super::translate::{FieldNames, Translated, nullable, translate};
use crate::base::Code;
use crate::workflow::Guard;
use std::cell::Cell;

/// How many actions a loop may perform.
pub(super) const MAX_ITERATIONS: u32 = 100;
/// What many configurations call their last action.
pub(super) const COMPLETE: &str = "complete";
/// What many configurations call the action that tidies up after a failure.
pub(super) const ABORT: &str = "abort";
/// The phase in which that action runs.
pub(super) const ABORTING: &str = "aborting";

/// A machine to be written down.
pub(super) struct LoopPlan<'a> {
    pub name: &'a str,
    pub skill: &'a Skill,
    pub strategy: Strategy,
    /// The actions, in the order in which they are tried.
    pub actions: Vec<PlannedMachine<'a>>,
    /// The conditions that end the loop.
    pub ends: Vec<End<'a>>,
    /// Whether accepted actions are limited.
    pub limited: bool,
    /// Whether accepted actions are counted.
    pub counts: bool,
}

/// A condition that ends the loop: as completed, or as given up if it is a limit.
pub(super) struct End<'a> {
    pub when: Translated,
    /// The text that it was written as.
    pub written: &'a str,
    /// Where it stands.
    pub pointer: &'a str,
}

/// An action and how it comes to run.
pub(super) struct PlannedMachine<'a> {
    pub action: &'a SkillAction,
    /// The phase that it runs in.
    pub phase: &'static str,
    /// What must hold before it; empty if nothing.
    pub when: String,
    /// Whether it runs only once.
    pub once: bool,
    /// The fields that its result may change.
    pub writes: Vec<&'a str>,
    /// The fields that its instructions are about.
    pub shows: Vec<&'a str>,
}

impl LoopPlan<'_> {
    /// The actions that run in a phase, the last one apart.
    pub(super) fn in_phase(&self, phase: &str) -> impl Iterator<Item = &PlannedMachine<'_>> {
        self.actions.iter().filter(move |planned| planned.phase == phase && planned.action.name != COMPLETE)
    }

    /// The action that ends the loop, where there is one.
    pub(super) fn last(&self) -> Option<&PlannedMachine<'_>> {
        self.actions.iter().find(|planned| planned.action.name == COMPLETE)
    }

    /// The action that tidies up after a failure, where there is one.
    pub(super) fn abort(&self) -> Option<&PlannedMachine<'_>> {
        self.in_phase(ABORTING).next()
    }

    /// What a rule was made of: where that stands, and how it is called there.
    pub(super) fn source(&self, rule: &str) -> Option<(String, &str)> {
        if let Some(name) = rule.strip_prefix("run-") {
            let action = self.actions.iter().find(|planned| planned.action.name == name)?.action;
            return Some((format!("{}/id", action.pointer), &action.id));
        }
        let number: usize = rule.strip_prefix("end-")?.parse().ok()?;
        let end = self.ends.get(number.checked_sub(1)?)?;
        Some((end.pointer.to_owned(), end.written))
    }

    /// Where a loop goes that is given up.
    pub(super) fn failure(&self) -> &'static str {
        if self.abort().is_some() { ABORTING } else { "failed" }
    }
}

/// A skill whose fields are optional where some condition asks whether they are null.
pub(super) fn with_nullable(mut skill: Skill) -> Skill {
    let conditions = skill.actions.iter().flat_map(|action| &action.preconditions).chain(&skill.ends);
    let names: Vec<String> = conditions.flat_map(|condition| nullable(&condition.text)).collect();
    for field in skill.fields.iter_mut().filter(|field| names.contains(&field.name)) {
        field.optional = true;
    }
    skill
}

/// Makes a plan of a skill; every condition that cannot be translated is a fault.
pub(super) fn plan<'a>(
    name: &'a str,
    skill: &'a Skill,
    strategy: Strategy,
    faults: &mut Vec<SkillFault>,
) -> LoopPlan<'a> {
    let names = FieldNames { fields: &skill.fields, actions: &skill.actions, counts: Cell::new(false) };
    let mut actions: Vec<PlannedMachine<'a>> =
        skill.actions.iter().map(|action| planned(action, &names, strategy, skill, faults)).collect();
    // The sort is stable, so the order of the document decides between equals.
    actions.sort_by_key(|planned| std::cmp::Reverse(planned.action.priority));
    let mut limited = false;
    let mut ends = Vec::new();
    for end in &skill.ends {
        match end.text.trim() {
            // What these ask for is so in every workflow made here.
            "user_exit" | "error_limit" | "task_completed" => {}
            "max_iterations" => limited = true,
            text => match translated(end, &names) {
                // A terminal phase ends the loop by itself.
                Ok(found) if is_terminal(found.status.as_deref()) => {}
                // A limit among other reasons to end is an end of its own: reaching it is no success.
                Ok(_) => ends.extend(alternatives(text).into_iter().filter_map(|written| {
                    let when = translate(written, &names).ok()?;
                    let is_said_already = is_terminal(when.status.as_deref());
                    (!is_said_already).then_some(End { when, written, pointer: &end.pointer })
                })),
                Err(fault) => faults.push(*fault),
            },
        }
    }
    let counts = limited || names.counts.get();
    LoopPlan { name, skill, strategy, actions, ends, limited, counts }
}

fn is_terminal(status: Option<&str>) -> bool {
    matches!(status, Some("completed" | "failed" | "user_exit"))
}

fn translated(condition: &Condition, names: &FieldNames<'_>) -> Result<Translated, Box<SkillFault>> {
    let refuse = |refused| Box::new(SkillFault::refused(&condition.pointer, refused));
    let found = translate(&condition.text, names).map_err(refuse)?;
    // What is translated faithfully may still be more than a guard can hold.
    match Guard::parse(if found.cel.is_empty() { "true" } else { &found.cel }) {
        Ok(_) => Ok(found),
        Err(error) => Err(refuse(SkillRefused::new(0..condition.text.len(), error.to_string()))),
    }
}

fn planned<'a>(
    action: &'a SkillAction,
    names: &FieldNames<'_>,
    strategy: Strategy,
    skill: &'a Skill,
    faults: &mut Vec<SkillFault>,
) -> PlannedMachine<'a> {
    let mut status: Option<String> = None;
    let mut parts = Vec::new();
    let mut reads_state = false;
    for condition in &action.preconditions {
        match translated(condition, names) {
            Ok(found) => {
                let clash = status.as_ref().zip(found.status.as_ref()).is_some_and(|(one, two)| one != two);
                if clash || is_terminal(found.status.as_deref()) {
                    let message = "the action can never run: nothing runs with this status";
                    let span = 0..condition.text.len();
                    faults.push(SkillFault::refused(&condition.pointer, SkillRefused::new(span, message)));
                }
                status = status.or(found.status);
                reads_state |= found.reads_state;
                if !found.cel.is_empty() {
                    // Only an `||` binds looser than the `&&` that joins them.
                    let loose = found.cel.contains(" || ");
                    parts.push(if loose { format!("({})", found.cel) } else { found.cel });
                }
            }
            Err(fault) => faults.push(*fault),
        }
    }
    let phase = match (action.name.as_str(), status.as_deref()) {
        (ABORT, _) => ABORTING,
        (_, Some("pending")) => "pending",
        _ => "running",
    };
    // Whether an action may run again is left to the state only where the state can stop it.
    let again = strategy == Strategy::State && reads_state;
    let mentioned = |texts: Vec<&str>| -> Vec<&'a str> {
        let fields = skill.fields.iter().map(|field| field.name());
        fields.filter(|name| texts.iter().any(|text| mentions(text, name))).collect()
    };
    let named = mentioned(action.effects.iter().map(String::as_str).collect());
    let read = mentioned(action.preconditions.iter().map(|condition| condition.text.as_str()).collect());
    if strategy == Strategy::Priority
        && let Some(field) = named.iter().find(|field| read.contains(field))
    {
        let message =
            format!("`{}` changes `{field}`, which decides whether it runs, yet runs once", action.id);
        let fault =
            SkillFault::warning(format!("{}/preconditions", action.pointer), Code::SkillOnce, message);
        faults.push(fault.hint("if it is meant to run again and again: --strategy state"));
    }
    let all = || skill.fields.iter().map(|field| field.name()).collect();
    let conditions = action.preconditions.iter().map(|condition| condition.text.as_str());
    let shows = mentioned(conditions.chain(action.effects.iter().map(String::as_str)).collect());
    PlannedMachine {
        action,
        phase,
        when: if action.name == ABORT { String::new() } else { parts.join(" && ") },
        once: !again || [ABORT, COMPLETE].contains(&action.name.as_str()),
        writes: if named.is_empty() { all() } else { named },
        shows,
    }
}

/// Whether a text holds a name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|word| word == name)
}
