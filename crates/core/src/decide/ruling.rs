//! A person's decision where the workflow asks for a verdict, or in a phase that a person owns: approve or reject.
//!
//! If a file already decides, the decision takes the transition that it makes due. Otherwise the file is
//! drafted from the schema of an output: the choices of one of its examples (enumerations, constants and
//! booleans), and the properties that the schema marks with `x-orch-fill`. A schema says with `x-orch-verdict` that its
//! files are verdicts: a person may write such an output whoever owns the phase. [`Rulings::undrafted`] says why an output
//! cannot be drafted.

use super::evaluation::{Evaluation, SeenTask};
use super::grounds::outdated_in_words;
use super::objection::Objection;
use super::order::{current, given, override_to, refused, rollback};
use super::standing::is_spent;
use super::{
    Decision, Facts, FileFact, FileWriter, Stamp, State, Transition, Verdict, WHY, is_order,
};
use crate::workflow::{Artifact, Format, Owner, SchemaText, Workflow, blank};
use orch_base::{ArtifactName, Code, Digest, Error, Hint, PhaseId, Timestamp, words};
use serde_json::{Map, Value};
use std::sync::Arc;

words! {
    /// What a person decides.
    pub enum Ruling {
        /// The task continues.
        Approve = "approve",
        /// The task goes back.
        Reject = "reject",
    }
}

/// A decision with the transition that it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled {
    /// The transition that the person takes.
    pub transition: Transition,
    /// The file that has to be written first; `None` if a file already decides so.
    pub draft: Option<Draft>,
    /// The facts with the file that the person has written, if it is there already; `None` if another file decides so.
    pub written: Option<Facts>,
}

impl Ruled {
    /// A transition without a file.
    fn of(transition: Transition) -> Self {
        Self {
            transition,
            draft: None,
            written: None,
        }
    }
}

/// A file that records a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The path relative to the task directory.
    pub path: String,
    /// The text of the file.
    pub text: String,
    /// The facts with this file, if it is an artifact.
    pub facts: Option<Facts>,
}

/// What a person orders where a verdict is asked for.
#[derive(Debug, Clone, Copy)]
pub struct RulingOrder<'a> {
    /// Approve or reject.
    pub ruling: Ruling,
    /// The phase to which a rejection leads; by default the one that the schema's examples name first.
    pub to: Option<&'a str>,
    /// The reason, which a rejection requires.
    pub reason: Option<&'a str>,
    /// Whether an approval that is closed is taken against the rules, for this reason.
    pub overrides: bool,
    /// The objections that the verdict names.
    pub objections: &'a [Objection],
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
    let order = RulingOrder {
        reason: order.reason.map(given).transpose()?,
        ..order
    };
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    if let Some(approvals) = evaluation
        .rulings()
        .approvals()
        .filter(|_| !evaluation.due().is_some_and(|due| due.by_human))
    {
        let is_enough = order.overrides && order.ruling == Ruling::Approve && approvals.suffice();
        return match order.reason.filter(|_| is_enough) {
            Some(reason) => override_to(workflow, state, facts, None, reason).map(Ruled::of),
            None => evaluation.rulings().said_by(order, stamp),
        };
    }
    let ruled = evaluation
        .rulings()
        .rule_on(order, stamp)
        .or_else(|| evaluation.rulings().rolled_back(order));
    ruled.ok_or_else(|| evaluation.rulings().nothing(order, stamp))
}

/// A transition that a verdict makes due, and the file with the verdict.
type Drafted = (Transition, Draft);

/// What people decide: what they have said, and what an order of theirs would say.
#[derive(Clone, Copy)]
pub(super) struct Rulings<'a> {
    pub(super) evaluation: Evaluation<'a>,
}

impl<'a> Evaluation<'a> {
    /// What people decide.
    pub(super) fn rulings(&self) -> Rulings<'a> {
        Rulings { evaluation: *self }
    }
}

impl Rulings<'_> {
    /// The phases to which an approval and a rejection would lead now, beside the transition that is due without them;
    /// `None` for one that cannot be made.
    pub(super) fn ruled_to(&self, due: Option<&Transition>) -> [Option<PhaseId>; 2] {
        let order = RulingOrder {
            ruling: Ruling::Approve,
            to: None,
            reason: None,
            overrides: false,
            objections: &[],
        };
        let stamp = Stamp::of_no_record();
        let approval = self.approval(order, &stamp);
        [Ruling::Approve, Ruling::Reject].map(|ruling| {
            let order = RulingOrder { ruling, ..order };
            let (taken, _) = self.ruled(order, &stamp, due, approval.as_ref())?;
            Some(taken.to)
        })
    }

    fn rule_on(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Option<Ruled> {
        let approval = self.approval(order, stamp);
        let ruled = self.ruled(
            order,
            stamp,
            self.evaluation.due().as_ref(),
            approval.as_ref(),
        );
        let ruled = ruled.or_else(|| self.overridden(order, stamp));
        let (mut transition, draft) = ruled?;
        // A verdict that lies there already, byte for byte, needs not be written.
        let (draft, written) = match draft {
            Some(draft) if self.holds(&draft) => (None, draft.facts),
            other => (other, None),
        };
        if let (None, Some(reason), true) = (&draft, order.reason, transition.by_human) {
            transition.reason = format!("{}: {reason}", transition.reason);
        }
        Some(Ruled {
            transition,
            draft,
            written,
        })
    }

    /// The approval that is closed, taken against the rules.
    fn overridden(
        &self,
        order: RulingOrder<'_>,
        stamp: &Stamp,
    ) -> Option<(Transition, Option<Draft>)> {
        let reason = order
            .reason
            .filter(|_| order.overrides && order.ruling == Ruling::Approve)?;
        let Hindered { to, draft, .. } = self.hindered(order, stamp)?;
        let to = Some(to.as_str());
        let transition = override_to(
            self.evaluation.workflow,
            self.evaluation.state,
            draft.facts.as_ref()?,
            to,
            reason,
        )
        .ok()?;
        Some((transition, Some(draft)))
    }

    /// A rejection where a need of the phase is gone, so that no verdict moves the task: the order back.
    fn rolled_back(&self, order: RulingOrder<'_>) -> Option<Ruled> {
        let reason = order.reason.filter(|_| order.ruling == Ruling::Reject)?;
        self.outputs().find(|output| is_value(output.format))?;
        if self
            .evaluation
            .broken_needs(&self.evaluation.phase.needs, &[])
            .is_empty()
        {
            return None;
        }
        let objections = order.objections.iter().map(Objection::text);
        let reasons: Vec<&str> = std::iter::once(reason).chain(objections).collect();
        rollback(
            self.evaluation.workflow,
            self.evaluation.state,
            self.evaluation.facts,
            order.to,
            &reasons.join("; "),
        )
        .ok()
        .map(Ruled::of)
    }

    /// Whether the file of a draft is there as it was drafted.
    pub(super) fn holds(&self, draft: &Draft) -> bool {
        draft.facts.as_ref().is_some_and(|facts| {
            digest_at(self.evaluation.facts, &draft.path) == digest_at(facts, &draft.path)
        })
    }

    /// The transition that an order takes: the due one, or one that a draft makes due. `approval` is the draft that
    /// leads on.
    fn ruled(
        &self,
        order: RulingOrder<'_>,
        stamp: &Stamp,
        due: Option<&Transition>,
        approval: Option<&Drafted>,
    ) -> Option<(Transition, Option<Draft>)> {
        if self.evaluation.phase.terminal {
            return None;
        }
        // Objections have to be written down, whatever lies there.
        let due = due
            .filter(|due| order.objections.is_empty() && self.is_persons(due))
            .filter(|due| {
                let approves = match approval {
                    Some((approval, _)) => approval.to == due.to,
                    None => self.leads_on(&due.to),
                };
                approves == (order.ruling == Ruling::Approve)
                    && order.to.is_none_or(|to| due.to.as_str() == to)
            });
        if let Some(due) = due {
            return Some((due.clone(), None));
        }
        let (transition, draft) = match order.ruling {
            Ruling::Approve => approval.cloned()?,
            // A rejection never takes the way of an approval, whatever `to` says.
            Ruling::Reject => self.rejection(order, stamp).filter(|(rejection, _)| {
                approval.is_none_or(|(approval, _)| approval.to != rejection.to)
            })?,
        };
        Some((transition, Some(draft)))
    }

    /// Whether a person may take a transition that is due by a decision: it waits for a person, or a person owns the
    /// phase, or it rests on a verdict of the phase.
    pub(super) fn is_persons(&self, due: &Transition) -> bool {
        due.by_human
            || self.evaluation.phase.owner == Owner::Human
            || self
                .outputs()
                .any(|output| output.is_verdict() && self.rests_on_verdict(due, output))
    }

    /// Whether a transition leaves the phase because of what a verdict says.
    fn rests_on_verdict(&self, due: &Transition, verdict: &Artifact) -> bool {
        let mut rules = self.evaluation.workflow.rules.iter();
        let rule = rules.find(|rule| due.rule.as_ref() == Some(&rule.id));
        due.to != self.evaluation.phase.id
            && rule.is_some_and(|rule| self.evaluation.rules().reads(rule, verdict.name.as_str()))
    }

    fn leads_on(&self, to: &PhaseId) -> bool {
        self.evaluation.workflow.position(to)
            > self.evaluation.workflow.position(&self.evaluation.phase.id)
    }

    /// The draft of an approval: by an example of the schema, or else, of a verdict, by the opposite of one.
    fn approval(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Option<Drafted> {
        let order = RulingOrder { to: None, ..order };
        first_drafted(&self.evaluation, order, stamp, Choices::OfExamples, true)
            .or_else(|| first_drafted(&self.evaluation, order, stamp, Choices::Opposite, true))
    }

    /// The draft of a rejection. The way back that an example names first may be closed, because its phase lacks a need;
    /// then the nearest open one before it is taken.
    fn rejection(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Option<Drafted> {
        if let Some(to) = order.to {
            let varied = self.drafted(order, stamp, Choices::Varied);
            return varied.into_iter().find(|(due, _)| due.to.as_str() == to);
        }
        if let Some(first) =
            first_drafted(&self.evaluation, order, stamp, Choices::OfExamples, false)
        {
            return Some(first);
        }
        let closed = self
            .hindered(order, stamp)
            .and_then(|hindered| self.evaluation.workflow.position(&hindered.to));
        let Some(closed) = closed else {
            return first_drafted(&self.evaluation, order, stamp, Choices::Opposite, false);
        };
        let mut before = self.drafted(order, stamp, Choices::Varied);
        before.retain(|(due, _)| self.evaluation.workflow.position(&due.to) < Some(closed));
        // If several lead there, the first.
        before
            .into_iter()
            .rev()
            .max_by_key(|(due, _)| self.evaluation.workflow.position(&due.to))
    }

    /// The drafts that make a transition due which a person may take by them. A verdict leads there with its objections
    /// and without them, so that it does not contradict itself.
    fn drafted(&self, order: RulingOrder<'_>, stamp: &Stamp, choices: Choices) -> Vec<Drafted> {
        let plain = self.drafts(
            RulingOrder {
                objections: &[],
                ..order
            },
            stamp,
            choices,
        );
        let mut found = Vec::new();
        for ((artifact, draft), (_, plain)) in self.drafts(order, stamp, choices).zip(plain) {
            let Some(due) = self.on(&draft, |on| on.due()) else {
                continue;
            };
            let is_of_verdict = artifact.is_verdict() && self.rests_on_verdict(&due, artifact);
            if !due.by_human && !is_of_verdict {
                continue;
            }
            if !order.objections.is_empty() {
                let without = self.on(&plain, |on| on.due());
                if without.is_none_or(|plain| plain.to != due.to) {
                    continue;
                }
            }
            found.push((due, draft));
        }
        found
    }

    /// The phases to which rejections lead that have to name their phase, because no example says which is meant: each once.
    pub(super) fn named_rejections(&self) -> Vec<PhaseId> {
        let order = RulingOrder {
            ruling: Ruling::Reject,
            to: None,
            reason: None,
            overrides: false,
            objections: &[],
        };
        let stamp = Stamp::of_no_record();
        if self.rejection(order, &stamp).is_some() {
            return Vec::new();
        }
        let approval = self.approval(order, &stamp).map(|(due, _)| due.to);
        let mut found = Vec::new();
        for (due, _) in self.drafted(order, &stamp, Choices::Varied) {
            if Some(&due.to) != approval.as_ref() && !found.contains(&due.to) {
                found.push(due.to);
            }
        }
        found
    }

    /// Why a decision cannot be written: the first output that a person may write, that is not there, and of which there is
    /// no draft. `None` if there is none.
    fn undrafted(&self) -> Option<String> {
        for artifact in self.outputs() {
            let is_there = self
                .evaluation
                .seen_of(&artifact.name)
                .is_some_and(|seen| seen.derived.ready());
            let why = match self.hindrance(artifact) {
                Some(why) if !is_there => why,
                _ => continue,
            };
            return Some(format!(
                "`orch approve` and `orch reject` cannot write `{}`, because {why}",
                artifact.name
            ));
        }
        None
    }

    /// Why there is no draft of an output, if so.
    fn hindrance(&self, artifact: &Artifact) -> Option<String> {
        let path = self.evaluation.path_of(&artifact.name);
        let schema = artifact.schema.as_ref().and_then(SchemaText::value);
        if !is_value(artifact.format) {
            Some(format!(
                "it is a file of the format {}",
                artifact.format.as_str()
            ))
        } else if blank(&path).is_some() {
            Some(format!("{path} may have several names"))
        } else if let Some(schema) = schema {
            let examples = choices_of(schema, Choices::OfExamples);
            if examples.is_empty() {
                Some("its schema has no example".to_owned())
            } else if !has_marks(schema) {
                Some("its schema marks no property with `x-orch-fill`".to_owned())
            } else {
                None
            }
        } else {
            Some("it has no schema".to_owned())
        }
    }

    /// The outputs of the phase that a person may write: the verdicts, and in a phase that a person owns all that have
    /// to be there.
    fn outputs(&self) -> impl Iterator<Item = &Artifact> {
        let is_persons = self.evaluation.phase.owner == Owner::Human;

        let artifacts = self
            .evaluation
            .phase
            .produces
            .iter()
            .filter_map(|name| self.evaluation.workflow.artifact(name));
        artifacts.filter(move |artifact| {
            let is_owed = is_persons && !self.evaluation.phase.optional.contains(&artifact.name);
            is_owed || artifact.is_verdict()
        })
    }

    /// Every draft of an output that a person may write.
    fn drafts(
        &self,
        order: RulingOrder<'_>,
        stamp: &Stamp,
        choices: Choices,
    ) -> impl Iterator<Item = (&Artifact, Draft)> {
        let outputs = self
            .outputs()
            .filter(|artifact| self.hindrance(artifact).is_none());
        outputs.flat_map(move |artifact| {
            let schema = artifact
                .schema
                .as_ref()
                .and_then(SchemaText::value)
                .unwrap_or(&Value::Null);
            let is_given = choices != Choices::Opposite || artifact.is_verdict();
            let choices = if is_given {
                choices_of(schema, choices)
            } else {
                Vec::new()
            };
            let choices = choices.into_iter();
            let values =
                choices.filter_map(|choice| self.unspent(schema, choice, artifact, order, stamp));
            let drafts = values
                .map(|(value, text)| (artifact, self.with_text(artifact, value, text, stamp)));
            drafts.collect::<Vec<_>>()
        })
    }

    /// The file of an artifact with a text, which reads as this value.
    pub(super) fn with_text(
        &self,
        artifact: &Artifact,
        value: Value,
        text: String,
        stamp: &Stamp,
    ) -> Draft {
        let path = self.evaluation.path_of(&artifact.name);
        let writer = FileWriter {
            ordered: true,
            ..stamp.writer()
        };
        let mut facts = self.evaluation.facts.clone();
        let files = facts.artifacts.entry(artifact.name.clone()).or_default();
        let pattern = files
            .iter()
            .find(|file| file.path == path)
            .map_or(0, |file| file.pattern);
        files.retain(|file| file.path != path);
        files.push(FileFact {
            pattern,
            is_tree: false,
            path: path.clone(),
            digest: Some(
                self.evaluation
                    .workflow
                    .digest
                    .format()
                    .blob(text.as_bytes()),
            ),
            data: Some(Arc::new(value)),
            problems: Vec::new(),
            writers: vec![writer],
        });
        Draft {
            path,
            text,
            facts: Some(facts),
        }
    }

    /// What holds with a draft in its place.
    pub(super) fn on<T>(&self, draft: &Draft, ask: impl Fn(&Evaluation<'_>) -> T) -> T {
        let Evaluation {
            workflow,
            state,
            phase,
            ..
        } = self.evaluation;
        let facts = draft.facts.as_ref().unwrap_or(self.evaluation.facts);
        ask(&SeenTask::of(workflow, state, facts, phase).evaluation())
    }

    /// The value of a decision with these choices, as [`Self::filled`], and its text. If the same decision was used up
    /// within this second, the time in the new one is later, so that it counts.
    fn unspent(
        &self,
        schema: &Value,
        choices: Map<String, Value>,
        artifact: &Artifact,
        order: RulingOrder<'_>,
        stamp: &Stamp,
    ) -> Option<(Value, String)> {
        let Evaluation {
            workflow, state, ..
        } = self.evaluation;
        let name = &artifact.name;
        let mut stamp = stamp.clone();
        let mut value = self.filled(schema, choices.clone(), name, order, &stamp)?;
        loop {
            let text = artifact.format.written(&value)?;
            let digest = workflow.digest.format().blob(text.as_bytes());
            if !is_spent(workflow, state, name, digest) {
                return Some((value, text));
            }
            stamp.at = Timestamp::from_seconds(stamp.at.seconds() + 1);
            let later = self.filled(schema, choices.clone(), name, order, &stamp)?;
            // Without a time, the same decision has the same bytes for ever.
            if later == value {
                return Some((value, text));
            }
            value = later;
        }
    }

    /// The value of a decision with these choices; `None` if the schema marks no property, or requires one that a
    /// decision does not fill.
    fn filled(
        &self,
        schema: &Value,
        mut value: Map<String, Value>,
        artifact: &ArtifactName,
        order: RulingOrder<'_>,
        stamp: &Stamp,
    ) -> Option<Value> {
        let properties = schema.get("properties")?.as_object()?;

        let names_objections = properties
            .values()
            .any(|shape| mark_of(shape) == Some("issues"));
        let apart = if names_objections {
            &[]
        } else {
            order.objections
        };
        let texts = order
            .reason
            .into_iter()
            .chain(apart.iter().map(Objection::text));
        let reasons: Vec<&str> = texts.collect();
        let mut is_marked = false;
        for (key, shape) in properties {
            let Some(mark) = mark_of(shape) else { continue };
            is_marked = true;
            let is_list = shape.get("type").and_then(Value::as_str) == Some("array");
            let filled = match mark {
                "reason" if reasons.is_empty() => None,
                "reason" if is_list => Some(Value::from(reasons.clone())),
                "reason" => Some(Value::from(reasons.join("; "))),
                "issues" if order.objections.is_empty() => None,
                "issues" => Some(Objection::values(order.objections)),
                "name" => Some(Value::from(stamp.by.name.as_str())),
                "time" => Some(Value::from(stamp.at.to_string())),
                "of" => Some(self.digests(artifact)),
                _ => None,
            };
            value.extend(filled.map(|filled| (key.clone(), filled)));
        }
        if is_marked && has_required(schema, &value) {
            Some(Value::Object(value))
        } else {
            None
        }
    }

    /// The digests of what a decision is made on: the needs of the phase.
    fn digests(&self, artifact: &ArtifactName) -> Value {
        let of = super::expect::judged(&self.evaluation, artifact).into_iter();
        Value::Object(
            of.map(|(name, digest)| (name.to_string(), digest.to_string().into()))
                .collect(),
        )
    }

    /// What keeps the decision of an order from leading anywhere.
    fn hindered(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Option<Hindered> {
        let choices = if order.to.is_some() {
            Choices::Varied
        } else {
            Choices::OfExamples
        };

        for (_, draft) in self.drafts(order, stamp, choices) {
            let decision = self.on(&draft, |on| on.decide_alone(Vec::new()));
            let to = match &decision.verdict {
                Verdict::Inconsistent { phase, .. } => Some(phase.clone()),
                Verdict::Handover { held, .. } => Some(held.to.clone()),
                Verdict::Wait { .. } => self.on(&draft, |on| on.held()),
                _ => None,
            };
            let Some(to) = to else { continue };
            let is_meant = self.leads_on(&to) == (order.ruling == Ruling::Approve)
                && order
                    .to
                    .is_none_or(|named| to.as_str() == named || to == self.evaluation.phase.id);
            if is_meant {
                return Some(Hindered {
                    to,
                    decision,
                    draft,
                });
            }
        }
        None
    }

    /// Why nothing can be decided so.
    fn nothing(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Error {
        let task = self.evaluation.facts.task.as_str();

        if let Some(why) = self.contradicted(order, stamp) {
            let argv = ["orch", "reject", task, "--reason", WHY];
            return nothing_to(order, &why, Hint::run(&argv));
        }
        let now = self.evaluation.decide_alone(Vec::new());
        // A decision that would be taken in vain says more than the missing file.
        let hindered = self
            .hindered(order, stamp)
            .map(|hindered| hindered.decision);
        let is_hindered = hindered.is_some();
        let decision = hindered.unwrap_or(now);
        if decision.transition().is_some_and(|due| !due.by_human) {
            let why = "the due transition requires no person";
            return nothing_to(order, why, Hint::run(&["orch", "next", task]));
        }
        let ways = match order.ruling {
            Ruling::Reject if order.to.is_none() => self.named_rejections(),
            _ => Vec::new(),
        };
        if let Some(first) = ways.first() {
            let named: Vec<String> = ways.iter().map(|to| format!("`{to}`")).collect();
            let why = format!("say to which phase: {}", named.join(" or "));
            let argv = [
                "orch",
                "reject",
                task,
                "--to",
                first.as_str(),
                "--reason",
                WHY,
            ];
            return nothing_to(order, &why, Hint::run(&argv));
        }
        let others = decision
            .diagnostics
            .iter()
            .find(|found| found.code == Code::NotIndependent);
        if let Some(hint) = others.and_then(|found| found.hint.clone()) {
            return nothing_to(order, &decision.reason, hint);
        }
        let lacks_needs = is_hindered || matches!(decision.verdict, Verdict::Inconsistent { .. });
        let is_closed = matches!(&decision.verdict, Verdict::Inconsistent { broken, .. }
            if broken.iter().all(|need| need.outdated.is_some()));
        if is_closed && order.ruling == Ruling::Approve {
            let back = decision
                .options
                .iter()
                .find(|option| option.id == "rollback");
            let back = back.map_or_else(Hint::default, |back| {
                Hint::run(&back.argv).text("; or accept it as it is: ")
            });
            let hint = back.command(&["orch", "approve", task, "--override", WHY]);
            let broken = match &decision.verdict {
                Verdict::Inconsistent { broken, .. } => broken.iter().collect(),
                _ => Vec::new(),
            };
            let why = outdated_in_words(&broken).unwrap_or_default();
            let said = format!("the approval would rest on evidence that no longer stands: {why}");
            return refused(Code::EvidenceOutdated, said, hint);
        }
        let back = if lacks_needs && order.ruling == Ruling::Reject {
            self.evaluation.last_consistent()
        } else {
            None
        };
        let hint = match back {
            Some(back) => Hint::run(&[
                "orch",
                "rollback",
                task,
                "--to",
                back.as_str(),
                "--reason",
                WHY,
            ]),
            None => what_to_do(&decision, task),
        };
        if let Some(why) = self.undrafted().filter(|_| !lacks_needs) {
            let why = format!("{}; {why}", decision.reason);
            let hint = Hint::from("write the file yourself: ")
                .command(&["orch", "prompt", task])
                .text("; then: ")
                .command(&["orch", "next", task]);
            return nothing_to(order, &why, hint);
        }
        nothing_to(order, &decision.reason, hint)
    }

    /// Why an approval with these objections would not approve.
    fn contradicted(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Option<String> {
        if order.ruling != Ruling::Approve || order.objections.is_empty() {
            return None;
        }
        let without = RulingOrder {
            objections: &[],
            ..order
        };
        self.approval(without, stamp)?;
        Some("a verdict with these objections does not move the task on".to_owned())
    }
}

/// A decision that would be taken in vain.
struct Hindered {
    /// The phase that cannot be entered.
    to: PhaseId,
    decision: Decision,
    /// The file that would decide so.
    draft: Draft,
}

/// Which values the choices of a draft have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choices {
    /// Those of the examples of the schema.
    OfExamples,
    /// Also those with another value of one enumeration or boolean.
    Varied,
    /// For a verdict, also those with the opposite value of one boolean; for any other output,
    /// none.
    Opposite,
}

/// What a person may do next by a decision, without going against the rules; or else to ask why.
pub(super) fn what_to_do(decision: &Decision, task: &str) -> Hint {
    let mut options = decision.options.iter();
    let first = options.find(|option| !is_order(option.id));
    first.map_or_else(
        || Hint::run(&["orch", "explain", task]),
        |option| Hint::run(&option.argv),
    )
}

/// The refusal of a decision that would lead nowhere.
fn nothing_to(order: RulingOrder<'_>, why: &str, hint: Hint) -> Error {
    let ruling = order.ruling.as_str();
    let message = match order.to {
        Some(to) => format!("nothing to {ruling} to `{to}`: {why}"),
        None => format!("nothing to {ruling}: {why}"),
    };
    refused(Code::NothingToApply, message, hint)
}

/// The digest of the artifact's file at a path of the task.
fn digest_at(facts: &Facts, path: &str) -> Option<Digest> {
    let mut files = facts.artifacts.values().flatten();
    files.find(|file| file.path == path)?.digest
}

/// Whether a file of the format is a single value that can be written.
fn is_value(format: Format) -> bool {
    matches!(format, Format::Json | Format::Yaml | Format::Toml)
}

/// Whether a schema marks a property that a decision writes.
fn has_marks(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut shapes = properties.into_iter().flat_map(Map::values);
    shapes.any(|shape| mark_of(shape).is_some())
}

/// What a decision writes into a property, as its schema says.
fn mark_of(shape: &Value) -> Option<&str> {
    shape.get("x-orch-fill")?.as_str()
}

fn is_boolean(shape: &Value) -> bool {
    shape.get("type") == Some(&"boolean".into())
}

/// Whether a property can only be one of several values.
fn is_choice(shape: &Value) -> bool {
    shape.get("enum").is_some() || shape.get("const").is_some() || is_boolean(shape)
}

/// Whether a value has the properties that a schema requires: all of its own, and those of one of its alternatives.
fn has_required(schema: &Value, value: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    let mut names = required.into_iter().flatten().filter_map(Value::as_str);
    let has_own = names.all(|name| value.contains_key(name));
    let mut alternatives = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array());
    has_own && alternatives.all(|forms| forms.iter().any(|form| has_required(form, value)))
}

/// The choices of a schema.
fn choices_of(schema: &Value, wanted: Choices) -> Vec<Map<String, Value>> {
    let none = Map::new();
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let examples = schema
        .get("examples")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut found = Vec::new();
    for example in examples.filter_map(Value::as_object) {
        let mut choices = example.clone();
        choices.retain(|key, _| properties.get(key).is_some_and(is_choice));
        found.push(choices);
    }
    if wanted == Choices::OfExamples {
        return found;
    }
    let booleans = [Value::Bool(true), Value::Bool(false)];
    for example in found.clone() {
        for key in example.keys() {
            let Some(shape) = properties.get(key) else {
                continue;
            };
            let listed = shape.get("enum").and_then(Value::as_array);
            let others: &[Value] = match listed {
                Some(listed) if wanted == Choices::Varied => listed,
                _ if is_boolean(shape) => &booleans,
                _ => &[],
            };
            for other in others {
                let mut varied = example.clone();
                varied.insert(key.clone(), other.clone());
                if !found.contains(&varied) {
                    found.push(varied);
                }
            }
        }
    }
    found
}

/// The first draft that leads on, or the first that leads back.
fn first_drafted(
    evaluation: &Evaluation<'_>,
    order: RulingOrder<'_>,
    stamp: &Stamp,
    choices: Choices,
    on: bool,
) -> Option<Drafted> {
    let drafted = evaluation.rulings().drafted(order, stamp, choices);
    drafted
        .into_iter()
        .find(|(due, _)| evaluation.rulings().leads_on(&due.to) == on)
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
        let found: Vec<Value> = choices_of(&schema, Choices::Varied)
            .into_iter()
            .map(Value::Object)
            .collect();
        assert_eq!(
            found,
            [
                json!({"verdict": "no", "sure": true}),
                json!({"verdict": "yes", "sure": true}),
                json!({"verdict": "no", "sure": false}),
            ]
        );
        let opposite: Vec<Value> = choices_of(&schema, Choices::Opposite)
            .into_iter()
            .map(Value::Object)
            .collect();
        assert_eq!(opposite[1..], [json!({"verdict": "no", "sure": false})]);
        assert_eq!(choices_of(&schema, Choices::OfExamples).len(), 1);
        assert!(choices_of(&json!({}), Choices::Varied).is_empty());
    }

    #[test]
    fn a_decision_has_what_its_schema_requires() {
        let forms = json!({"anyOf": [
            {"required": ["ok"]},
            {"required": ["all"], "properties": {"all": {"required": ["ok"]}}},
        ]});
        let own = json!({"required": ["ok", "by"]});
        for (schema, value, expected) in [
            (&forms, json!({"ok": true}), true),
            (&forms, json!({"all": {"ok": true}}), true),
            (&forms, json!({"by": "Ann"}), false),
            (&own, json!({"ok": true, "by": "Ann"}), true),
            (&own, json!({"ok": true}), false),
            (&json!({}), json!({}), true),
        ] {
            let members = value.as_object().expect("an object");
            assert_eq!(has_required(schema, members), expected, "{schema} {value}");
        }
    }
}
