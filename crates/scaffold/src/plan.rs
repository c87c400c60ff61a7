//! Turns a configuration into a workflow that provably ends.
//!
//! Its phases are the statuses of the configuration, preceded by the review of the specification. Terminal
//! phases are terminal, whatever the configuration lists. An action that nothing in the state can stop runs
//! once. Repeated failure leads to `failed`.

use super::Strategy;
use super::expression::alternatives;
use super::fault::{SkillFault, SkillRefused};
use super::field::{Field, Type};
use super::skill::{Condition, KEPT, Skill, SkillAction, is_name};
use super::translate::{FieldNames, Translated, nullable, translate};
use orch_base::{Code, nearest};
use orch_core::workflow::Guard;
use std::cell::Cell;

/// The maximum number of actions of one loop.
pub(super) const MAX_ITERATIONS: u32 = 100;
/// The name that many configurations give to their last action.
pub(super) const COMPLETE: &str = "complete";
/// The name that many configurations give to the action that cleans up after a failure.
pub(super) const ABORT: &str = "abort";
/// The phase of that action.
pub(super) const ABORTING: &str = "aborting";

/// A workflow that is ready to be written.
pub(super) struct LoopPlan<'a> {
    pub name: &'a str,
    pub skill: &'a Skill,
    pub strategy: Strategy,
    /// The actions in the order in which they are tried.
    pub actions: Vec<PlannedMachine<'a>>,
    /// The conditions that end the loop.
    pub ends: Vec<End<'a>>,
    /// Whether the number of accepted actions is limited.
    pub limited: bool,
    /// Whether accepted actions are counted.
    pub counts: bool,
}

/// A condition that ends the loop: as completed, or as failed if it is a limit.
pub(super) struct End<'a> {
    pub when: Translated,
    /// The condition as written.
    pub written: &'a str,
    /// The JSON pointer of the condition.
    pub pointer: &'a str,
}

/// An action and the conditions under which it runs.
pub(super) struct PlannedMachine<'a> {
    pub action: &'a SkillAction,
    /// The phase in which the action runs.
    pub phase: &'static str,
    /// The CEL condition for the action; empty if there is none.
    pub when: String,
    /// Whether the action runs only once.
    pub once: bool,
    /// The fields that the result may change.
    pub writes: Vec<&'a str>,
    /// The fields that the instructions mention.
    pub shows: Vec<&'a str>,
}

impl LoopPlan<'_> {
    /// The actions that run in a phase, except the last action.
    pub(super) fn in_phase(&self, phase: &str) -> impl Iterator<Item = &PlannedMachine<'_>> {
        self.actions
            .iter()
            .filter(move |planned| planned.phase == phase && planned.action.name != COMPLETE)
    }

    /// The action that ends the loop, if there is one.
    pub(super) fn last(&self) -> Option<&PlannedMachine<'_>> {
        self.actions
            .iter()
            .find(|planned| planned.action.name == COMPLETE)
    }

    /// The action that cleans up after a failure, if there is one.
    pub(super) fn abort(&self) -> Option<&PlannedMachine<'_>> {
        self.in_phase(ABORTING).next()
    }

    /// The origin of a rule: the pointer and the name of the action or condition.
    pub(super) fn source(&self, rule: &str) -> Option<(String, &str)> {
        if let Some(name) = rule.strip_prefix("run-") {
            let action = self
                .actions
                .iter()
                .find(|planned| planned.action.name == name)?
                .action;
            return Some((format!("{}/id", action.pointer), &action.id));
        }
        let number: usize = rule.strip_prefix("end-")?.parse().ok()?;
        let end = self.ends.get(number.checked_sub(1)?)?;
        Some((end.pointer.to_owned(), end.written))
    }

    /// The phase of a loop that is given up.
    pub(super) fn failure(&self) -> &'static str {
        if self.abort().is_some() {
            ABORTING
        } else {
            "failed"
        }
    }
}

/// The skill with those fields marked optional that some condition compares with null.
pub(super) fn with_nullable(mut skill: Skill) -> Skill {
    let conditions = skill
        .actions
        .iter()
        .flat_map(|action| &action.preconditions)
        .chain(&skill.ends);
    let names: Vec<String> = conditions
        .flat_map(|condition| nullable(&condition.text))
        .collect();
    for field in skill
        .fields
        .iter_mut()
        .filter(|field| names.contains(&field.name))
    {
        field.optional = true;
    }
    skill
}

/// The skill with a field for each name that is a whole precondition and that nothing declares, with a warning.
/// A name that resembles a declared one is a misspelling, which the translation rejects.
pub(super) fn with_implied(mut skill: Skill, faults: &mut Vec<SkillFault>) -> Skill {
    let mut implied: Vec<Field> = Vec::new();
    for condition in skill
        .actions
        .iter()
        .flat_map(|action| &action.preconditions)
    {
        let name = condition.text.trim().trim_start_matches('!').trim();
        let name = name.strip_prefix("state.").unwrap_or(name);
        let is_known = declared(&skill).any(|known| known == name)
            || implied.iter().any(|field| field.name == name);
        if is_known || !is_name(name) || nearest(name, declared(&skill)).is_some() {
            continue;
        }
        let message = format!("no field `{name}` is declared, so it is taken for true or false");
        let fault = SkillFault::warning(&condition.pointer, Code::SkillType, message);
        faults.push(fault.hint("declare it under `state_schema.fields`"));
        let name = name.to_owned();
        let description = String::new();
        implied.push(Field {
            name,
            kind: Type::Bool,
            optional: false,
            description,
            initial: None,
        });
    }
    skill.fields.extend(implied);
    skill
}

/// Plans the workflow of a skill. Returns a fault for every condition that cannot be translated.
pub(super) fn plan<'a>(
    name: &'a str,
    skill: &'a Skill,
    strategy: Strategy,
    faults: &mut Vec<SkillFault>,
) -> LoopPlan<'a> {
    let names = FieldNames {
        fields: &skill.fields,
        actions: &skill.actions,
        counts: Cell::new(false),
    };
    let mut actions: Vec<PlannedMachine<'a>> = skill
        .actions
        .iter()
        .map(|action| planned(action, &names, strategy, skill, faults))
        .collect();
    // The sort is stable, so equal priorities keep document order.
    actions.sort_by_key(|planned| std::cmp::Reverse(planned.action.priority));
    let mut limited = false;
    let mut ends = Vec::new();
    for end in &skill.ends {
        match end.text.trim() {
            // Every generated workflow already ends on these.
            "user_exit" | "error_limit" | "task_completed" => {}
            "max_iterations" => limited = true,
            text => match translated(end, &names) {
                // A terminal phase ends the loop by itself.
                Ok(found) if is_terminal(found.status.as_deref()) => {}
                // A limit in a disjunction becomes an end of its own, because reaching a limit is not
                // success.
                Ok(_) => ends.extend(alternatives(text).into_iter().filter_map(|written| {
                    let when = translate(written, &names).ok()?;
                    let is_said_already = is_terminal(when.status.as_deref());
                    (!is_said_already).then_some(End {
                        when,
                        written,
                        pointer: &end.pointer,
                    })
                })),
                Err(fault) => faults.push(*fault),
            },
        }
    }
    let counts = limited || names.counts.get();
    LoopPlan {
        name,
        skill,
        strategy,
        actions,
        ends,
        limited,
        counts,
    }
}

fn is_terminal(status: Option<&str>) -> bool {
    matches!(status, Some("completed" | "failed" | "user_exit"))
}

fn translated(
    condition: &Condition,
    names: &FieldNames<'_>,
) -> Result<Translated, Box<SkillFault>> {
    let refused = match translate(&condition.text, names) {
        Err(refused) => refused,
        Ok(found) => {
            let cel = if found.cel.is_empty() {
                "true"
            } else {
                &found.cel
            };
            // A faithful translation may still exceed the limits of a guard.
            match Guard::parse(cel) {
                Ok(_) => return Ok(found),
                Err(error) => SkillRefused::new(0..condition.text.len(), error.to_string()),
            }
        }
    };
    Err(Box::new(SkillFault::refused(&condition.pointer, refused)))
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
                let clash = status
                    .as_ref()
                    .zip(found.status.as_ref())
                    .is_some_and(|(one, two)| one != two);
                if clash || is_terminal(found.status.as_deref()) {
                    let message = "the action can never run: no action runs in this status";
                    let span = 0..condition.text.len();
                    faults.push(SkillFault::refused(
                        &condition.pointer,
                        SkillRefused::new(span, message),
                    ));
                }
                status = status.or(found.status);
                reads_state |= found.reads_state;
                if !found.cel.is_empty() {
                    // Only `||` binds less tightly than the `&&` that joins them.
                    let loose = found.cel.contains(" || ");
                    parts.push(if loose {
                        format!("({})", found.cel)
                    } else {
                        found.cel
                    });
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
    let effects: Vec<&str> = action.effects.iter().map(String::as_str).collect();
    let mut texts: Vec<&str> = action
        .preconditions
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    let named = mentioned(skill, &effects);
    faults.extend(idle_effects(action, skill));
    let read = mentioned(skill, &texts);
    // An action may repeat only if the state can stop it: by any change, or by its own.
    let again = reads_state
        && match strategy {
            Strategy::State => true,
            Strategy::Priority => {
                action.effects.is_empty() || named.iter().any(|field| read.contains(field))
            }
            Strategy::User => false,
        };
    let once = !again || [ABORT, COMPLETE].contains(&action.name.as_str());
    if let (Strategy::Priority, false, true, Some(field)) =
        (strategy, once, action.effects.is_empty(), read.first())
    {
        let message = format!(
            "`{}` names no effects, so it repeats for as long as `{field}` asks for it",
            action.id
        );
        let fault = SkillFault::warning(
            format!("{}/preconditions", action.pointer),
            Code::SkillRepeats,
            message,
        );
        faults.push(fault.hint(
            "name its `effects`; it runs once unless they contain a field of its preconditions",
        ));
    }
    texts.extend(effects);
    PlannedMachine {
        action,
        phase,
        when: if action.name == ABORT {
            String::new()
        } else {
            parts.join(" && ")
        },
        once,
        writes: if action.effects.is_empty() {
            skill.fields.iter().map(Field::name).collect()
        } else {
            named
        },
        shows: mentioned(skill, &texts),
    }
}

/// A fault for each effect that names no field of the state and therefore allows no change: an error if it begins
/// like an assignment to a misspelled field, otherwise a warning, because effects may be prose.
fn idle_effects(action: &SkillAction, skill: &Skill) -> Vec<SkillFault> {
    let mut faults = Vec::new();
    for (nth, effect) in action.effects.iter().enumerate() {
        if declared(skill).any(|name| mentions(effect, name)) {
            continue;
        }
        let at = format!("{}/effects/{nth}", action.pointer);
        if let Some(name) = subject(effect)
            && let Some(near) = nearest(name, declared(skill))
        {
            let message = format!("there is no field `{name}`");
            let fault = SkillFault::error(at, Code::SkillEffect, message);
            faults.push(fault.hint(format!("did you mean `{near}`?")));
            continue;
        }
        let fields: Vec<String> = skill
            .fields
            .iter()
            .map(|field| format!("`{}`", field.name()))
            .collect();
        let hint = match fields.as_slice() {
            [] => "declare the field that it changes under `state_schema.fields`".to_owned(),
            fields => format!(
                "name the fields that it changes; the fields are {}",
                fields.join(", ")
            ),
        };
        let message = "the effect names no field of the state, so it allows no change";
        faults.push(SkillFault::warning(at, Code::SkillEffect, message).hint(hint));
    }
    faults
}

/// The names that conditions and effects may use.
fn declared(skill: &Skill) -> impl Iterator<Item = &str> {
    skill.fields.iter().map(Field::name).chain(KEPT)
}

/// The fields that one of these texts mentions.
fn mentioned<'s>(skill: &'s Skill, texts: &[&str]) -> Vec<&'s str> {
    let fields = skill.fields.iter().map(Field::name);
    fields
        .filter(|name| texts.iter().any(|text| mentions(text, name)))
        .collect()
}

/// The name with which an effect begins, if it can only be that of a field: it is the whole effect, an operator
/// follows it, or it contains an underscore. `None` for prose.
fn subject(effect: &str) -> Option<&str> {
    let text = effect.trim();
    let text = text.strip_prefix("state.").unwrap_or(text);
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_alone = rest.trim().is_empty()
        || rest
            .trim_start()
            .starts_with(['=', '.', '[', '+', '-', ':']);
    if !name.is_empty() && (is_alone || name.contains('_')) {
        Some(name)
    } else {
        None
    }
}

/// Whether a text contains a name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .any(|word| word == name)
}
