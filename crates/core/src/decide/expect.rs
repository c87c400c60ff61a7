//! What has to be done next if no transition is due: which outputs, where, and why.

use super::derive::SeenArtifact;
use super::evaluation::{Evaluation, choice, confirming};
use super::nearest_rule::by_nearness;
use super::order::onward;
use super::rules::{join, saw};
use super::{
    BrokenNeed, Choice, Decision, ExpectState, Expectation, GuardPart, Kind, Question,
    QuestionField, Truth, Verdict, WHY, signalled,
};
use crate::workflow::{Outcome, Owner, Rule, Signal};
use orch_base::{ActionName, ArtifactName, Code, Diagnostic, Digest, command};
use serde_json::Value;
use std::collections::BTreeMap;

/// No rule fired: names the outputs of the phase that are missing, invalid or stale.
pub(super) fn nothing_fired(evaluation: &Evaluation<'_>, decision: &mut Decision) {
    of_phase(evaluation, decision);
    let owner = evaluation.phase.owner;
    let mut reasons = Vec::new();
    let invalid = listed(&decision.expects, ExpectState::Invalid);
    if !invalid.is_empty() {
        reasons.push(format!("{} invalid", are(&invalid)));
    }
    let stale = listed(&decision.expects, ExpectState::Stale);
    if !stale.is_empty() {
        let because = stale
            .first()
            .map(|one| one.because.as_str())
            .unwrap_or_default();
        reasons.push(format!("{} stale: {because}", are(&stale)));
    }
    let missing = listed(&decision.expects, ExpectState::Missing);
    if !missing.is_empty() {
        reasons.push(format!("{} missing", are(&missing)));
    }
    let asked = evaluation
        .rulings()
        .approvals()
        .filter(|approvals| !approvals.suffice());
    if let Some(approvals) = &asked {
        reasons.push(format!(
            "`{}` waits for people: {}",
            evaluation.phase.id,
            approvals.words()
        ));
    }
    let is_closed = reasons.is_empty();
    if is_closed {
        reasons.push(format!(
            "no rule of `{}` fires: {}",
            evaluation.phase.id,
            closest(evaluation, decision)
        ));
    }
    if is_closed || !missing.is_empty() {
        reasons.extend(idle_reports(evaluation));
    }
    decision.reason = reasons.join("; ");
    let awaited: Vec<&str> = decision
        .expects
        .iter()
        .map(|expected| expected.path.as_str())
        .collect();
    let what = match &asked {
        Some(approvals) if awaited.is_empty() => approvals.words(),
        _ if awaited.is_empty() => "a rule to fire".to_owned(),
        _ => join(&awaited),
    };
    let owner = if asked.is_some() { Owner::Human } else { owner };
    decision.verdict = Verdict::Wait { what, owner };
}

/// How many rules a reason names.
const NAMED_RULES: usize = 2;

/// The false part of the rules that are nearest to firing, in words.
fn closest(evaluation: &Evaluation<'_>, decision: &Decision) -> String {
    let parts: Vec<String> = by_nearness(evaluation.workflow, decision)
        .into_iter()
        .filter_map(|tried| {
            let part = tried.parts.iter().find(|part| part.result != Truth::True)?;
            Some(format!("{}: `{}`{}", tried.rule, part.text, saw(&part.saw)))
        })
        .collect();
    match parts.len().checked_sub(NAMED_RULES) {
        _ if parts.is_empty() => "the phase has no rules".to_owned(),
        None | Some(0) => parts.join("; "),
        Some(more) => {
            let explain = command(&["orch", "explain", evaluation.facts.task.as_str()]);
            format!(
                "{}; {more} more: {explain}",
                parts[..NAMED_RULES].join("; ")
            )
        }
    }
}

/// A rule waits: names what the phase still has to produce, and the reports that count for nothing.
pub(super) fn rule_waits(evaluation: &Evaluation<'_>, decision: &mut Decision) {
    of_phase(evaluation, decision);
    let mut reasons = vec![std::mem::take(&mut decision.reason)];
    reasons.extend(idle_reports(evaluation));
    decision.reason = reasons.join("; ");
}

/// Adds a verdict of the phase that somebody else has to give.
pub(super) fn of_verdict(
    evaluation: &Evaluation<'_>,
    verdict: &ArtifactName,
    decision: &mut Decision,
) {
    let because = decision.reason.clone();
    decision.expects.extend(expectation(
        evaluation,
        verdict,
        ExpectState::Unmet,
        because,
    ));
}

/// Adds what the current phase still has to produce.
pub(super) fn of_phase(evaluation: &Evaluation<'_>, decision: &mut Decision) {
    for artifact in &evaluation.phase.produces {
        let Some(seen) = evaluation.seen_of(artifact) else {
            continue;
        };
        if is_verified(evaluation, artifact) {
            continue;
        }
        let optional = evaluation.phase.optional.contains(artifact);
        let Some(expected) = for_output(evaluation, seen, optional) else {
            continue;
        };
        // If a set of files is used up, any of them may be the reason, so all are listed.
        let is_set = seen.files.len() > 1 && evaluation.can_be_confirmed(artifact);
        let others = seen
            .files
            .iter()
            .filter(|file| is_set && file.path != expected.path);
        let others: Vec<Expectation> = others
            .map(|file| Expectation {
                path: file.path.clone(),
                ..expected.clone()
            })
            .collect();
        decision.expects.push(expected);
        decision.expects.extend(others);
    }
    if decision.expects.is_empty() {
        decision.expects = unmet(evaluation, decision);
    }
}

/// The expected files in one state.
fn listed(expects: &[Expectation], state: ExpectState) -> Vec<&Expectation> {
    expects
        .iter()
        .filter(|expected| expected.state == state)
        .collect()
}

/// The subject and verb of a sentence about expected files.
fn are(expected: &[&Expectation]) -> String {
    let paths: Vec<&str> = expected.iter().map(|one| one.path.as_str()).collect();
    let verb = if paths.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", join(&paths))
}

/// Why reports count for nothing that lie where the phase may produce them: no test ran, nothing was measured, or nothing
/// reads them there.
fn idle_reports(evaluation: &Evaluation<'_>) -> Vec<String> {
    let produces = &evaluation.phase.produces;
    let mut idle = Vec::new();
    for seen in evaluation.seen {
        if !produces.contains(&seen.derived.name) {
            continue;
        }
        for file in &seen.files {
            let mut problems = file.problems.iter();
            if let Some(found) = problems.find(|problem| is_idle(problem.code)) {
                idle.push(format!("{} does not count: {}", file.path, found.message));
            }
        }
    }
    let mut produced = produces
        .iter()
        .filter_map(|name| evaluation.workflow.artifact(name));
    if produced.any(|artifact| artifact.format.is_report()) {
        let found = evaluation.facts.diagnostics.iter();
        let below = found.filter(|found| found.code == Code::ArtifactBelow);
        idle.extend(below.map(|found| found.message.clone()));
    }
    idle
}

fn is_idle(code: Code) -> bool {
    matches!(code, Code::NoTestRan | Code::NothingMeasured)
}

fn for_output(
    evaluation: &Evaluation<'_>,
    seen: &SeenArtifact<'_>,
    optional: bool,
) -> Option<Expectation> {
    let derived = &seen.derived;
    let (state, because) = if !derived.present {
        (ExpectState::Missing, missing(evaluation, &derived.name))
    } else if !derived.fresh {
        (
            ExpectState::Stale,
            derived.stale_because.clone().unwrap_or_default(),
        )
    } else if !derived.valid {
        let problems: Vec<&Diagnostic> =
            seen.files.iter().flat_map(|file| &file.problems).collect();
        let error = problems.iter().find(|problem| problem.is_error());
        let message = error
            .or(problems.first())
            .map(|problem| problem.message.clone());
        (ExpectState::Invalid, message.unwrap_or_default())
    } else {
        return None;
    };
    if optional && state != ExpectState::Invalid {
        return None;
    }
    expectation(evaluation, &derived.name, state, because)
}

/// Why an output is absent; for code, which change is missing.
fn missing(evaluation: &Evaluation<'_>, name: &ArtifactName) -> String {
    let artifact = evaluation.workflow.artifact(name);
    let Some((artifact, scope)) =
        artifact.and_then(|artifact| Some((artifact, artifact.tree.as_ref()?)))
    else {
        return "there is no such file".to_owned();
    };
    let unchanged = format!(
        "no commit has changed {scope} since `{}` was entered",
        evaluation.phase.id
    );
    if artifact.paths.is_empty() {
        unchanged
    } else {
        format!("there is no such file, and {unchanged}")
    }
}

/// What has to be done about a need that does not hold.
pub(super) fn for_need(evaluation: &Evaluation<'_>, need: &BrokenNeed) -> Option<Expectation> {
    let (state, because) = match &need.outdated {
        Some(why) => (ExpectState::Stale, why.clone()),
        None if need.missing => (ExpectState::Missing, "the phase needs it".to_owned()),
        None => (
            ExpectState::Invalid,
            "the phase needs it, and it is invalid".to_owned(),
        ),
    };
    let mut expected = expectation(evaluation, &need.artifact, state, because)?;
    let is_pattern = evaluation
        .workflow
        .artifact(&need.artifact)?
        .paths
        .contains(&need.path);
    if !is_pattern {
        expected.path.clone_from(&need.path);
    }
    Some(expected)
}

fn expectation(
    evaluation: &Evaluation<'_>,
    name: &ArtifactName,
    state: ExpectState,
    because: String,
) -> Option<Expectation> {
    let artifact = evaluation.workflow.artifact(name)?;
    let seen = evaluation.seen_of(name)?;
    Some(Expectation {
        artifact: name.clone(),
        path: evaluation.path_of(name),
        format: artifact.format,
        schema: artifact.schema.as_ref().map(|schema| schema.name.clone()),
        state,
        because,
        of: if artifact.format.names_judged() {
            judged(evaluation, name)
        } else {
            BTreeMap::new()
        },
        problems: seen
            .files
            .iter()
            .flat_map(|file| file.problems.iter().cloned())
            .collect(),
    })
}

/// The `of` map to copy: what the artifact judges and the needs of the phase that writes it, as they are now.
pub(super) fn judged(
    evaluation: &Evaluation<'_>,
    name: &ArtifactName,
) -> BTreeMap<ArtifactName, Digest> {
    let writer = if evaluation.phase.produces.contains(name) {
        Some(evaluation.phase)
    } else {
        evaluation.workflow.producers(name).next()
    };
    let needs = writer
        .map(|phase| phase.needs.as_slice())
        .unwrap_or_default();
    let artifact = evaluation.workflow.artifact(name);
    let judges = artifact.map_or(&[][..], |artifact| artifact.judges.as_slice());
    evaluation
        .seen
        .iter()
        .filter(|seen| needs.contains(&seen.derived.name) || judges.contains(&seen.derived.name))
        .filter(|seen| seen.derived.name != *name)
        .filter_map(|seen| Some((seen.derived.name.clone(), seen.derived.digest?)))
        .collect()
}

/// Every output is ready, yet no rule fires: the rules require other content in one of them.
fn unmet(evaluation: &Evaluation<'_>, decision: &Decision) -> Vec<Expectation> {
    let mut found: Vec<Expectation> = Vec::new();
    for rule in evaluation
        .workflow
        .rules_from(&evaluation.phase.id)
        .filter(|rule| leads_on(evaluation, rule))
    {
        let Some(tried) = decision.tried.iter().find(|tried| tried.rule == rule.id) else {
            continue;
        };
        for part in tried
            .parts
            .iter()
            .filter(|part| part.result == Truth::False)
        {
            for name in evaluation
                .phase
                .produces
                .iter()
                .filter(|name| part_reads(part, name))
            {
                let known = found.iter().any(|expected| expected.artifact == *name);
                let present = evaluation
                    .seen
                    .iter()
                    .any(|seen| seen.derived.name == *name && seen.derived.present);
                if !known && present && !is_verified(evaluation, name) {
                    let because = format!("`{}` does not hold{}", part.text, saw(&part.saw));
                    found.extend(expectation(evaluation, name, ExpectState::Unmet, because));
                }
            }
        }
    }
    found
}

/// Whether `orch` runs itself what the files of an output say.
fn is_verified(evaluation: &Evaluation<'_>, artifact: &ArtifactName) -> bool {
    let verifications = evaluation.verifications();
    verifications
        .in_place_of(evaluation.phase, artifact)
        .is_some()
}

fn leads_on(evaluation: &Evaluation<'_>, rule: &Rule) -> bool {
    matches!(&rule.outcome, Outcome::To(to) if evaluation.workflow.position(to) > evaluation.workflow.position(&evaluation.phase.id))
}

fn part_reads(part: &GuardPart, artifact: &ArtifactName) -> bool {
    part.saw
        .iter()
        .any(|(path, _)| path.split('.').next() == Some(artifact.as_str()))
}

/// The commands that are available now: those that advance the work first, orders against the rules last.
pub(super) fn options(evaluation: &Evaluation<'_>, decision: &mut Decision) {
    let task = evaluation.facts.task.as_str();
    if let Some(transition) = decision.transition().filter(|due| !due.by_human) {
        let effect = format!("move to `{}`", transition.to);
        decision
            .options
            .push(choice("next", ["orch", "next", task], Owner::Orch, effect));
        return;
    }
    let fallen = decision
        .grounds
        .iter()
        .find(|ground| ground.why_not.is_some());
    if let Some(fallen) = fallen.filter(|_| evaluation.workflow.may_end_well(&evaluation.phase.id))
    {
        let argv = [
            "orch",
            "rollback",
            task,
            "--to",
            fallen.phase.as_str(),
            "--reason",
            WHY,
        ];
        let effect = format!("go back to `{}`, to have it judged again", fallen.phase);
        decision
            .options
            .push(choice("rollback", argv, Owner::Human, effect));
        evaluation.ruling_options(decision);
        if waits_for_ruling(evaluation, decision) {
            let argv = ["orch", "approve", task, "--override", WHY];
            let effect = "approve although its evidence no longer stands";
            decision
                .options
                .push(choice("override", argv, Owner::Human, effect));
        }
        return;
    }
    if waits_for_ruling(evaluation, decision) {
        evaluation.ruling_options(decision);
        if !decision.options.is_empty() {
            return;
        }
    }
    if !decision.verifications.is_empty() {
        let effect = "run what is due, and record what it gave";
        let argv = ["orch", "verify", task];
        decision
            .options
            .push(choice("verify", argv, Owner::Orch, effect));
    }
    evaluation.prompt_option(decision);
    if matches!(decision.verdict, Verdict::Wait { .. }) {
        evaluation.ruling_options(decision);
        evaluation.persons_prompt(decision);
    }
    match decision.verdict.clone() {
        Verdict::Handover { held, .. } => {
            let effect = format!("allow one more attempt at `{}`", held.to);
            if held.kind == Kind::Regress && held.from.as_ref() != Some(&held.to) {
                let argv = [
                    "orch",
                    "rollback",
                    task,
                    "--to",
                    held.to.as_str(),
                    "--reason",
                    WHY,
                ];
                decision
                    .options
                    .push(choice("rollback", argv, Owner::Human, effect));
            } else {
                let argv = [
                    "orch",
                    "next",
                    task,
                    "--to",
                    held.to.as_str(),
                    "--override",
                    WHY,
                ];
                decision
                    .options
                    .push(choice("again", argv, Owner::Human, effect));
            }
        }
        Verdict::Choose(actions) => evaluation.choose_options(&actions, decision),
        Verdict::Wait { .. } => {
            evaluation.signal_option(decision);
            evaluation.ask_options(decision);
        }
        _ => {}
    }
    let mut stale: Vec<ArtifactName> = decision
        .expects
        .iter()
        .filter(|expected| expected.state == ExpectState::Stale)
        .map(|expected| expected.artifact.clone())
        .filter(|artifact| evaluation.can_be_confirmed(artifact))
        .collect();
    stale.dedup();
    for artifact in stale {
        decision
            .options
            .push(confirming(&evaluation.facts.task, &artifact));
    }
    decision
        .options
        .extend(evaluation.verifications().confirming_lost());
    let Some(onward) = onward(evaluation.workflow, evaluation.phase) else {
        return;
    };
    let is_offered = decision
        .options
        .iter()
        .any(|option| option.id == "again" && option.argv.contains(&onward.id.to_string()));
    if !is_offered {
        let argv = ["orch", "next", task, "--override", WHY];
        let effect = format!("move to `{}` against the rules", onward.id);
        decision
            .options
            .push(choice("override", argv, Owner::Human, effect));
    }
}

/// Whether a person has to decide, and not only may.
fn waits_for_ruling(evaluation: &Evaluation<'_>, decision: &Decision) -> bool {
    decision.transition().is_some() || evaluation.phase.owner == Owner::Human
}

/// The value that is offered for a place of the data.
fn value_at<'v>(values: &'v [(String, Value)], pointer: &str) -> Option<&'v Value> {
    let (_, value) = values.iter().find(|(known, _)| known == pointer)?;
    Some(value)
}

impl Evaluation<'_> {
    /// The commands by which a person decides, one each way, the due one first.
    fn ruling_options(&self, decision: &mut Decision) {
        let due = decision.transition().map(|due| due.to.clone());
        let task = self.facts.task.as_str();
        if self
            .rulings()
            .approvals()
            .is_some_and(|approvals| !approvals.suffice())
        {
            let argv = ["orch", "approve", task];
            decision.options.push(choice(
                "approve",
                argv,
                Owner::Human,
                "approve, as one of several",
            ));
            let argv = ["orch", "reject", task, "--reason", WHY];
            decision.options.push(choice(
                "reject",
                argv,
                Owner::Human,
                "reject, as one of several",
            ));
            return;
        }
        let [approved, rejected] = self.rulings().ruled_to(decision.transition());
        if let Some(to) = approved {
            let effect = format!("move to `{to}`");
            decision.options.push(choice(
                "approve",
                ["orch", "approve", task],
                Owner::Human,
                effect,
            ));
        }
        if rejected.is_none() {
            for to in self.rulings().named_rejections() {
                let named = to.as_str();
                let argv = ["orch", "reject", task, "--to", named, "--reason", WHY];
                let effect = format!("reject: move to `{to}`");
                let reject = choice("reject", argv, Owner::Human, effect);
                decision.options.push(reject);
            }
        }
        if let Some(to) = rejected {
            let argv = ["orch", "reject", task, "--reason", WHY];
            let reject = choice("reject", argv, Owner::Human, format!("send back to `{to}`"));
            let at = if due == Some(to) {
                0
            } else {
                decision.options.len()
            };
            decision.options.insert(at, reject);
        }
    }

    /// The command that prints the instructions of the agent whose turn it is.
    fn prompt_option(&self, decision: &mut Decision) {
        let owner = match &decision.verdict {
            Verdict::Wait { owner, .. } => *owner,
            Verdict::Run(_) => self.phase.owner,
            _ => return,
        };
        if owner == Owner::Agent {
            let argv = ["orch", "prompt", self.facts.task.as_str()];
            decision.options.push(choice(
                "prompt",
                argv,
                Owner::Agent,
                "print the complete instructions",
            ));
        }
    }

    /// The same command for a person who has to write a file and cannot just approve or reject.
    fn persons_prompt(&self, decision: &mut Decision) {
        let is_persons = matches!(
            decision.verdict,
            Verdict::Wait {
                owner: Owner::Human,
                ..
            }
        );
        if is_persons && decision.options.is_empty() && !decision.expects.is_empty() {
            let argv = ["orch", "prompt", self.facts.task.as_str()];
            decision.options.push(choice(
                "prompt",
                argv,
                Owner::Human,
                "print the complete instructions",
            ));
        }
    }

    /// The command whose signal ends the wait, if a rule of the phase responds to one: `orch resume` before `orch run`.
    fn signal_option(&self, decision: &mut Decision) {
        for (signal, id) in [(Signal::Resume, "resume"), (Signal::Start, "run")] {
            let due = signalled(self.workflow, self.state, self.facts, signal);
            if let Some(Ok(due)) = due {
                let argv = ["orch", id, self.facts.task.as_str()];
                let effect = format!("move to `{}`, and run", due.to);
                decision
                    .options
                    .push(choice(id, argv, Owner::Human, effect));
                return;
            }
        }
    }

    /// The question of a rule, if the rule asks one, and the command that answers it.
    fn ask_options(&self, decision: &mut Decision) {
        let rule = self
            .workflow
            .rules
            .iter()
            .find(|rule| decision.rule.as_ref() == Some(&rule.id));
        let Some(ask) = rule.and_then(|rule| self.workflow.ask(rule.ask.as_deref()?)) else {
            return;
        };
        let options = super::offers(self.workflow, self.state, self.facts, &ask.options);
        let defaults = super::offers(self.workflow, self.state, self.facts, &ask.default);
        let mut fields = Vec::new();
        for pointer in &ask.writes {
            fields.push(QuestionField {
                pointer: pointer.clone(),
                options: value_at(&options, pointer).and_then(|values| values.as_array().cloned()),
                default: value_at(&defaults, pointer).cloned(),
            });
        }
        let keys = fields.iter().map(|field| format!("{}=VALUE", field.key()));
        let argv = ["orch", "answer", self.facts.task.as_str()]
            .map(str::to_owned)
            .into_iter()
            .chain(keys);
        let effect = format!("answer: {}", ask.title);
        decision.options.push(Choice {
            id: "answer",
            argv: argv.collect(),
            by: Owner::Human,
            effect,
        });
        decision.question = Some(Question {
            title: ask.title.clone(),
            fields,
        });
    }

    /// The actions that a person may pick, each as a command.
    fn choose_options(&self, actions: &[ActionName], decision: &mut Decision) {
        for action in actions {
            let argv = [
                "orch",
                "answer",
                self.facts.task.as_str(),
                &format!("action={action}"),
            ]
            .map(str::to_owned);
            let effect = format!("run `{action}`");
            decision.options.push(Choice {
                id: "answer",
                argv: argv.to_vec(),
                by: Owner::Human,
                effect,
            });
        }
    }
}
