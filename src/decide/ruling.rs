//! A person's decision in a phase that a person owns: approve or reject.
//!
//! If a file already decides, the decision takes the transition that it makes due. Otherwise the file is
//! drafted from the schema of an output: the choices of one of its examples (enumerations, constants and
//! booleans), and the properties that the schema marks with `x-orch-fill`.

use super::derive::look;
use super::judge::Judge;
use super::order::{current, given, refused};
use super::{By, Facts, FileFact, Stamp, State, Transition, Verdict, Writer};
use crate::base::{ArtifactName, Code, Error, PhaseId, command, words};
use crate::workflow::{Artifact, Format, Owner, SchemaText, Workflow, blank};
use serde_json::{Map, Value};
use std::sync::Arc;

words! {
    /// What a person decides.
    pub enum Ruling {
        /// The task goes on.
        Approve = "approve",
        /// The task goes back.
        Reject = "reject",
    }
}

/// A decision with the transition that it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    /// The transition.
    pub transition: Transition,
    /// The file that has to be written first; `None` if a file already decides so.
    pub draft: Option<Draft>,
}

/// A file that records a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The path relative to the task directory.
    pub path: String,
    /// The text of the file.
    pub text: String,
    /// The facts with this file.
    pub facts: Facts,
}

/// What a person orders where a person decides.
#[derive(Debug, Clone, Copy)]
pub struct RulingOrder<'a> {
    /// Approve or reject.
    pub ruling: Ruling,
    /// The phase to which a rejection leads; by default the one that the schema's examples name first.
    pub to: Option<&'a str>,
    /// The reason, which a rejection requires.
    pub reason: Option<&'a str>,
}

/// The transition by which a person approves or rejects, with the person and the time in `stamp`. Returns
/// [`Code::NothingToApply`] if nothing waits for such a decision, and an error if the reason is empty or the
/// state names no phase.
pub fn rule_on(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    order: RulingOrder<'_>,
    stamp: &Stamp,
) -> Result<Ruled, Error> {
    let order = RulingOrder { reason: order.reason.map(given).transpose()?, ..order };
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let seen = look(workflow, state, &phase.id, facts);
    let judge = Judge { workflow, state, facts, phase, seen: &seen };
    judge.rule_on(order, stamp).ok_or_else(|| nothing(&judge, order, stamp))
}

fn nothing(judge: &Judge<'_>, order: RulingOrder<'_>, stamp: &Stamp) -> Error {
    let now = judge.decide_alone(Vec::new());
    // A decision that would be taken in vain says more than the missing file.
    let hindered = judge.drafts(order, stamp).map(|draft| judge.on(&draft, |on| on.decide_alone(Vec::new())));
    let mut hindered = hindered.filter(|decision| matches!(decision.verdict, Verdict::Inconsistent { .. }));
    let decision = hindered.next().unwrap_or(now);
    let toward = order.to.map(|to| format!(" to `{to}`")).unwrap_or_default();
    let message = match decision.transition().filter(|due| !due.by_human) {
        Some(_) => format!("nothing to {}: the due transition requires no person", order.ruling.as_str()),
        None => format!("nothing to {}{toward}: {}", order.ruling.as_str(), decision.reason),
    };
    let next = if decision.transition().is_some_and(|due| !due.by_human) { "next" } else { "explain" };
    refused(Code::NothingToApply, message, command(&["orch", next, judge.facts.task.as_str()]))
}

/// A transition that waits for a person, and the file that makes it due.
type Drafted = (Transition, Draft);

impl Judge<'_> {
    /// The phases to which an approval and a rejection would lead now, beside the transition that is due without them;
    /// `None` for one that cannot be made.
    pub(super) fn ruled_to(&self, due: Option<&Transition>) -> [Option<PhaseId>; 2] {
        let order = |ruling| RulingOrder { ruling, to: None, reason: None };
        let drafted = self.drafted(order(Ruling::Approve), &Stamp::of_no_record());
        [Ruling::Approve, Ruling::Reject].map(|ruling| {
            let (taken, _) = self.ruled(order(ruling), due, (&drafted, &drafted))?;
            Some(taken.to.clone())
        })
    }

    fn rule_on(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Option<Ruled> {
        let due = self.due();
        let approvals = self.drafted(RulingOrder { to: None, ..order }, stamp);
        let toward = order.to.map(|_| self.drafted(order, stamp));
        let (taken, draft) =
            self.ruled(order, due.as_ref(), (&approvals, toward.as_ref().unwrap_or(&approvals)))?;
        let (mut transition, draft) = (taken.clone(), draft.cloned());
        if let (None, Some(reason), true) = (&draft, order.reason, transition.by_human) {
            transition.reason = format!("{}: {reason}", transition.reason);
        }
        Some(Ruled { transition, draft })
    }

    /// The transition that an order takes: the due one, or one that a draft makes due. `drafted` are the drafts without
    /// the phase that the order names, among which an approval is, and those with it.
    fn ruled<'a>(
        &self,
        order: RulingOrder<'_>,
        due: Option<&'a Transition>,
        (approvals, drafted): (&'a [Drafted], &'a [Drafted]),
    ) -> Option<(&'a Transition, Option<&'a Draft>)> {
        if self.phase.terminal {
            return None;
        }
        let approval = approvals.iter().find(|(transition, _)| self.leads_on(&transition.to));
        // In a phase that a person owns, the person may also take what a plain rule yields.
        let is_persons = |due: &&Transition| due.by_human || self.phase.owner == Owner::Human;
        let due = due.filter(is_persons).filter(|due| {
            let approves = match approval {
                Some((approval, _)) => approval.to == due.to,
                None => self.leads_on(&due.to),
            };
            approves == (order.ruling == Ruling::Approve) && order.to.is_none_or(|to| due.to.as_str() == to)
        });
        let taken = match (due, order.ruling) {
            (Some(due), _) => return Some((due, None)),
            (None, Ruling::Approve) => approval,
            // A rejection never takes the way of an approval, whatever `to` says.
            (None, Ruling::Reject) => drafted
                .iter()
                .find(|(transition, _)| match order.to {
                    None => !self.leads_on(&transition.to),
                    Some(to) => transition.to.as_str() == to,
                })
                .filter(|(transition, _)| approval.is_none_or(|(approval, _)| approval.to != transition.to)),
        };
        taken.map(|(transition, draft)| (transition, Some(draft)))
    }

    fn leads_on(&self, to: &PhaseId) -> bool {
        self.workflow.position(to) > self.workflow.position(&self.phase.id)
    }

    /// The drafts that make a transition due which waits for a person.
    fn drafted(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Vec<Drafted> {
        let due = |draft: Draft| Some((self.on(&draft, |on| on.due()).filter(|due| due.by_human)?, draft));
        self.drafts(order, stamp).filter_map(due).collect()
    }

    /// Every draft of an output of a phase that a person owns.
    fn drafts(&self, order: RulingOrder<'_>, stamp: &Stamp) -> impl Iterator<Item = Draft> {
        let is_persons = self.phase.owner == Owner::Human;
        let outputs =
            self.phase.produces.iter().filter(move |name| is_persons && !self.phase.optional.contains(name));
        let artifacts = outputs.filter_map(|name| self.workflow.artifact(name));
        let json = artifacts.filter(|artifact| artifact.format == Format::Json);
        let json = json.filter(|artifact| blank(&self.path_of(&artifact.name)).is_none());
        json.flat_map(move |artifact| {
            let schema = artifact.schema.as_ref().and_then(SchemaText::value).unwrap_or(&Value::Null);
            let choices = choices(schema, order.to.is_some()).into_iter();
            let values =
                choices.filter_map(|choice| self.filled(schema, choice, &artifact.name, (order, stamp)));
            values.map(|value| self.with_value(artifact, value, &stamp.by)).collect::<Vec<_>>()
        })
    }

    fn with_value(&self, artifact: &Artifact, value: Value, by: &By) -> Draft {
        let path = self.path_of(&artifact.name);
        let text = format!("{value:#}\n");
        let writer = Writer { kind: by.kind, name: by.name.clone(), ordered: true, turn: None };
        let mut facts = self.facts.clone();
        let files = facts.artifacts.entry(artifact.name.clone()).or_default();
        let pattern = files.iter().find(|file| file.path == path).map_or(0, |file| file.pattern);
        files.retain(|file| file.path != path);
        files.push(FileFact {
            pattern,
            is_tree: false,
            path: path.clone(),
            digest: Some(self.workflow.digest.format().blob(text.as_bytes())),
            data: Some(Arc::new(value)),
            problems: Vec::new(),
            writer: Some(writer),
        });
        Draft { path, text, facts }
    }

    /// What is concluded with a draft in its place.
    fn on<T>(&self, draft: &Draft, conclude: impl Fn(&Judge<'_>) -> T) -> T {
        let seen = look(self.workflow, self.state, &self.phase.id, &draft.facts);
        conclude(&Judge { facts: &draft.facts, seen: &seen, ..*self })
    }

    /// The value of a decision with these choices; `None` if the schema marks no property.
    fn filled(
        &self,
        schema: &Value,
        mut value: Map<String, Value>,
        artifact: &ArtifactName,
        (order, stamp): (RulingOrder<'_>, &Stamp),
    ) -> Option<Value> {
        let mut is_marked = false;
        for (key, shape) in schema.get("properties")?.as_object()? {
            let Some(mark) = shape.get("x-orch-fill").and_then(Value::as_str) else { continue };
            is_marked = true;
            let is_list = shape.get("type").and_then(Value::as_str) == Some("array");
            let filled = match mark {
                "reason" if is_list => order.reason.map(|reason| Value::from(vec![reason])),
                "reason" => order.reason.map(Value::from),
                "name" => Some(Value::from(stamp.by.name.as_str())),
                "time" => Some(Value::from(stamp.at.to_string())),
                "of" => Some(self.digests(artifact)),
                _ => None,
            };
            value.extend(filled.map(|filled| (key.clone(), filled)));
        }
        is_marked.then_some(Value::Object(value))
    }

    /// The digests of what a decision is made on: the needs of the phase.
    fn digests(&self, artifact: &ArtifactName) -> Value {
        let of = super::expect::judged(self, artifact).into_iter();
        Value::Object(of.map(|(name, digest)| (name.to_string(), digest.to_string().into())).collect())
    }
}

/// The choices of each example of a schema; `varied` adds those with another value of one enumeration.
fn choices(schema: &Value, varied: bool) -> Vec<Map<String, Value>> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let is_choice = |key: &str| {
        properties.get(key).is_some_and(|shape| {
            shape.get("enum").is_some()
                || shape.get("const").is_some()
                || shape.get("type") == Some(&"boolean".into())
        })
    };
    let examples = schema.get("examples").and_then(Value::as_array).into_iter().flatten();
    let mut found: Vec<Map<String, Value>> = examples
        .filter_map(Value::as_object)
        .map(|example| {
            example.iter().filter(|(key, _)| is_choice(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
        })
        .collect();
    for example in if varied { found.clone() } else { Vec::new() } {
        for key in example.keys() {
            let others = properties.get(key).and_then(|shape| shape.get("enum")?.as_array());
            for other in others.into_iter().flatten() {
                let varied = example.clone().into_iter().chain([(key.clone(), other.clone())]).collect();
                if !found.contains(&varied) {
                    found.push(varied);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn choices_are_those_of_the_examples_and_then_one_other_value_each() {
        let schema = json!({
            "properties": {"verdict": {"enum": ["yes", "no"]}, "sure": {"type": "boolean"}, "why": {"type": "string"}},
            "examples": [{"verdict": "no", "why": "It fails.", "sure": true}],
        });
        let found: Vec<Value> = choices(&schema, true).into_iter().map(Value::Object).collect();
        assert_eq!(found, [json!({"verdict": "no", "sure": true}), json!({"verdict": "yes", "sure": true})]);
        assert_eq!(choices(&schema, false).len(), 1);
        assert!(choices(&json!({}), true).is_empty());
    }
}
