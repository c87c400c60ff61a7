//! Tries the rules of a phase in document order and records what each one read and yields.

use super::evaluation::Evaluation;
use super::{
    Decision, Evidence, GuardPart, Kind, Move, RestsOn, Transition, Tried, Truth, Verdict,
};
use crate::workflow::guard::{GuardOutcome, HeldPart, Scope};
use crate::workflow::{APPROVALS, Guard, Outcome, Owner, Phase, Rule, Signal, VERIFIED};
use orch_base::{ActionName, ArtifactName, Code, PhaseId, Reason};
use serde_json::Value;

/// The rule that decided, and what it yields.
pub(super) struct Fired<'w> {
    pub rule: &'w Rule,
    pub verdict: Verdict,
    pub reason: String,
}

/// The rules of the phase.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) evaluation: Evaluation<'a>,
}

impl<'a> Evaluation<'a> {
    /// The rules of the phase.
    pub(super) fn rules(&self) -> Rules<'a> {
        Rules { evaluation: *self }
    }
}

impl<'a> Rules<'a> {
    /// Tries every rule of the phase; the first that fires or fails decides.
    pub(super) fn try_rules(
        &self,
        scope: &dyn Scope,
        decision: &mut Decision,
    ) -> Option<Fired<'a>> {
        let mut fired = None;
        for rule in self
            .evaluation
            .workflow
            .rules_from(&self.evaluation.phase.id)
        {
            let held = rule.when.holds(scope);
            self.note_move(rule, &held, fired.as_ref(), decision);
            if rule.on.is_some() {
                continue;
            }
            if fired.is_some() {
                decision
                    .tried
                    .push(tried(rule, Truth::NotTried, Vec::new()));
                continue;
            }
            let (may, parts) = self.weigh(rule, &held, scope);
            decision.tried.push(tried(rule, truth(&may), parts));
            match may {
                Ok(true) => fired = Some(self.fire(rule, scope)),
                Ok(false) => {}
                Err(message) => fired = Some(self.failed(rule, &held.parts, message.as_str())),
            }
        }
        fired
    }

    /// Whether a rule with this guard may be performed, and the parts on which that depends.
    fn weigh(
        &self,
        rule: &Rule,
        held: &GuardOutcome,
        scope: &dyn Scope,
    ) -> (Result<bool, Reason>, Vec<GuardPart>) {
        let mut parts = Vec::new();
        for part in &held.parts {
            self.open(part, None, scope, &mut parts);
        }
        let may = match &held.result {
            Ok(true) => self.may_perform(rule, scope, &mut parts),
            other => other.clone(),
        };
        (may, parts)
    }

    /// What a rule comes to by itself.
    pub(super) fn try_alone(&self, rule: &Rule, scope: &dyn Scope) -> Tried {
        let held = rule.when.holds(scope);
        let (may, parts) = self.weigh(rule, &held, scope);
        tried(rule, truth(&may), parts)
    }

    /// The same rule and verdict as [`Self::try_rules`] returns, without what explains them.
    pub(super) fn decisive(&self, scope: &dyn Scope) -> Option<Fired<'a>> {
        let mut rules = self
            .evaluation
            .workflow
            .rules_from(&self.evaluation.phase.id)
            .filter(|rule| rule.on.is_none());
        rules.find_map(|rule| {
            let may = match rule.when.result(scope) {
                Ok(true) => self.may_perform(rule, scope, &mut Vec::new()),
                other => other,
            };
            match may {
                Ok(true) => Some(self.fire(rule, scope)),
                Ok(false) => None,
                Err(message) => Some(self.failed(rule, &[], message.as_str())),
            }
        })
    }

    /// Whether the outcome of a rule may be performed: for an action, its condition holds and it is not given
    /// up; for a choice, this is so for at least one of its actions.
    pub(super) fn may_perform(
        &self,
        rule: &Rule,
        scope: &dyn Scope,
        parts: &mut Vec<GuardPart>,
    ) -> Result<bool, Reason> {
        if !self.may_lead(rule, parts) {
            return Ok(false);
        }
        let actions = rule.outcome.actions();
        let mut any = actions.is_empty();
        for name in actions {
            any |= self.is_available(name, scope, parts)?;
        }
        Ok(any)
    }

    /// Whether the approvals that a phase asks for let a rule lead on; records what is missing.
    fn may_lead(&self, rule: &Rule, parts: &mut Vec<GuardPart>) -> bool {
        let Outcome::To(to) = &rule.outcome else {
            return true;
        };
        if self.evaluation.workflow.position(to)
            <= self.evaluation.workflow.position(&self.evaluation.phase.id)
        {
            return true;
        }
        let Some(approvals) = self
            .evaluation
            .rulings()
            .approvals()
            .filter(|approvals| !approvals.suffice())
        else {
            return true;
        };
        let name = format!("{APPROVALS}.{}", self.evaluation.phase.id);
        let saw = vec![
            (
                format!("{name}.missing"),
                Some(Value::from(approvals.missing)),
            ),
            (
                format!("{name}.rejected"),
                Some(Value::from(approvals.rejected)),
            ),
        ];
        let text = format!("{name}.missing == [] && {name}.rejected == []");
        parts.push(GuardPart {
            text,
            result: Truth::False,
            saw,
            within: None,
        });
        false
    }

    /// Whether an action may be performed now; records the parts of its condition that are false.
    pub(super) fn is_available(
        &self,
        name: &ActionName,
        scope: &dyn Scope,
        parts: &mut Vec<GuardPart>,
    ) -> Result<bool, Reason> {
        let Some(action) = self.evaluation.workflow.action(name) else {
            return Ok(false);
        };
        if self.evaluation.state.tally(name).skipped {
            parts.push(GuardPart {
                text: format!("!action.{name}.skipped"),
                result: Truth::False,
                saw: vec![(format!("action.{name}.skipped"), Some(Value::Bool(true)))],
                within: Some(format!("action {name}")),
            });
            return Ok(false);
        }
        let held = action.when.holds(scope);
        if held.result != Ok(true) {
            for part in &held.parts {
                self.open(part, Some(&format!("action {name}")), scope, parts);
            }
        }
        held.result
    }

    /// Records a part of a guard; if it is false, also the parts of the named expressions in it, each
    /// expression once.
    fn open(
        &self,
        part: &HeldPart,
        within: Option<&str>,
        scope: &dyn Scope,
        parts: &mut Vec<GuardPart>,
    ) {
        parts.push(GuardPart {
            text: part.text.clone(),
            result: truth(&part.result),
            saw: part.saw.clone(),
            within: within.map(str::to_owned),
        });
        if part.result == Ok(true) {
            return;
        }
        for (read, value) in &part.saw {
            if !matches!(value, None | Some(Value::Bool(false))) {
                continue;
            }
            let Some((name, define)) = self
                .evaluation
                .workflow
                .defines
                .iter()
                .find(|(name, _)| name == read)
            else {
                continue;
            };
            if parts
                .iter()
                .any(|known| known.within.as_ref() == Some(name))
            {
                continue;
            }
            for inner in &define.holds(scope).parts {
                self.open(inner, Some(name), scope, parts);
            }
        }
    }

    fn failed(&self, rule: &'a Rule, parts: &[HeldPart], message: &str) -> Fired<'a> {
        let part = parts.iter().find(|part| part.result.is_err());
        let text = part.map_or(rule.when.text(), |part| part.text.as_str());
        let saw = part.map(|part| saw(&part.saw)).unwrap_or_default();
        let reason = format!(
            "rule `{}` cannot be evaluated: in `{text}`, {message}{saw}",
            rule.id
        );
        Fired {
            rule,
            verdict: Verdict::Error {
                code: Code::GuardError,
            },
            reason,
        }
    }

    fn fire(&self, rule: &'a Rule, scope: &dyn Scope) -> Fired<'a> {
        let reason = rule.because.clone();
        let verdict = match &rule.outcome {
            Outcome::To(to) => return self.lead(rule, to, scope),
            // The values that it sets may depend on the result, so they are computed when that is there.
            Outcome::Run(action) => Verdict::Run(action.clone()),
            Outcome::Wait(what) => {
                let is_asked = rule.by_human || rule.ask.is_some();
                let owner = if is_asked {
                    Owner::Human
                } else {
                    self.evaluation.phase.owner
                };
                Verdict::Wait {
                    what: what.clone(),
                    owner,
                }
            }
            Outcome::Choose(actions) => {
                let mut offered = actions.clone();
                offered
                    .retain(|action| self.is_available(action, scope, &mut Vec::new()) == Ok(true));
                match self
                    .evaluation
                    .state
                    .run
                    .chosen
                    .as_ref()
                    .filter(|chosen| offered.contains(chosen))
                {
                    Some(chosen) => Verdict::Run(chosen.clone()),
                    None => Verdict::Choose(offered),
                }
            }
        };
        Fired {
            rule,
            verdict,
            reason,
        }
    }

    /// The values that a rule sets. Returns the reason if one of them cannot be computed.
    pub(super) fn bookkeeping(
        &self,
        rule: &Rule,
        scope: &dyn Scope,
    ) -> Result<Vec<(String, Value)>, Reason> {
        computed(&rule.set, scope)
            .map_err(|message| format!("rule `{}` cannot {message}", rule.id).into())
    }

    /// The outcome of a rule that leads to a phase: checks the needs of the target and how often it has been
    /// attempted.
    pub(super) fn lead(&self, rule: &'a Rule, to: &PhaseId, scope: &dyn Scope) -> Fired<'a> {
        let set = match self.bookkeeping(rule, scope) {
            Ok(set) => set,
            Err(reason) => {
                return Fired {
                    rule,
                    verdict: Verdict::Error {
                        code: Code::GuardError,
                    },
                    reason: reason.into(),
                };
            }
        };
        let Some(target) = self.evaluation.workflow.phase(to) else {
            let reason = format!("rule `{}` leads to unknown phase `{to}`", rule.id);
            return Fired {
                rule,
                verdict: Verdict::Error {
                    code: Code::UnknownPhase,
                },
                reason,
            };
        };
        let unmet = self.evaluation.hinders(target);
        if !unmet.is_empty() {
            let last_consistent = self.evaluation.last_consistent();
            let verdict = Verdict::Inconsistent {
                phase: to.clone(),
                broken: unmet,
                last_consistent,
            };
            let reason = match self.exhausted(rule, to) {
                Some(attempts) => format!("{} ({})", rule.because, too_often(to, attempts)),
                None => rule.because.clone(),
            };
            return Fired {
                rule,
                verdict,
                reason,
            };
        }
        let is_back = self.evaluation.workflow.position(to)
            <= self.evaluation.workflow.position(&self.evaluation.phase.id);
        let rests_on = self.evaluation.grounds().rests_on_grounds(target);
        let kind = if is_back {
            Kind::Regress
        } else {
            Kind::Advance
        };
        let transition = Transition {
            rule: Some(rule.id.clone()),
            evidence: self.evidence(rule, target, &rests_on),
            set,
            base: self.evaluation.grounds().base_of(&rests_on),
            rests_on,
            by_human: rule.by_human,
            ..Transition::new(
                Some(self.evaluation.phase.id.clone()),
                to.clone(),
                kind,
                &rule.because,
            )
        };
        if let Some(attempts) = self.exhausted(rule, to) {
            let reason = format!("{}, but {}", rule.because, too_often(to, attempts));
            return Fired {
                rule,
                verdict: Verdict::Handover {
                    held: Box::new(transition),
                    attempts,
                },
                reason,
            };
        }
        Fired {
            rule,
            verdict: Verdict::Transition(Box::new(transition)),
            reason: rule.because.clone(),
        }
    }

    /// How often a phase has been attempted, if a rule may not lead there once more without a person.
    ///
    /// A rule that only a person takes is not limited, nor is the way to an end. A person who allowed another
    /// attempt at the current phase allowed it for the phases after it, too.
    fn exhausted(&self, rule: &Rule, to: &PhaseId) -> Option<u32> {
        let target = self
            .evaluation
            .workflow
            .phase(to)
            .filter(|target| !target.terminal)?;
        if rule.by_human || rule.on.is_some() {
            return None;
        }
        let is_forward = self.evaluation.workflow.position(to)
            > self.evaluation.workflow.position(&self.evaluation.phase.id);
        let here = self.evaluation.state.attempt(&self.evaluation.phase.id);
        if is_forward && here > self.evaluation.workflow.attempts_of(self.evaluation.phase) {
            return None;
        }
        let attempts = self.evaluation.state.attempt(&target.id);
        if attempts >= self.evaluation.workflow.attempts_of(target) {
            Some(attempts)
        } else {
            None
        }
    }

    /// That the rules lead to a phase whose attempts are used up, in words; for a task that lacks a need of its
    /// own phase, so that its rules decide nothing.
    pub(super) fn handover_besides(&self, scope: &dyn Scope) -> Option<String> {
        let mut rules = self
            .evaluation
            .workflow
            .rules_from(&self.evaluation.phase.id)
            .filter(|rule| rule.on.is_none());
        let rule = rules.find(|rule| rule.when.holds(scope).result == Ok(true))?;
        let Outcome::To(to) = &rule.outcome else {
            return None;
        };
        self.exhausted(rule, to)
            .map(|attempts| format!("{}, but {}", rule.because, too_often(to, attempts)))
    }

    /// The evidence for a transition: artifacts, and the results of verifications if its guard read one.
    fn evidence(&self, rule: &Rule, target: &Phase, grounds: &[RestsOn]) -> Vec<Evidence> {
        let names = self.rests_on(rule, target, grounds);
        let mut evidence = self.evaluation.evidence(&names);
        if self.reads(rule, VERIFIED) && !self.evaluation.workflow.has_own(VERIFIED) {
            evidence.extend(self.evaluation.verifications().evidence());
        }
        evidence
    }

    /// The artifacts that a transition rests on: those that its guard read, the outputs of the phase left, the needs of the
    /// next one, and at a good end what it rests on.
    fn rests_on(&self, rule: &Rule, target: &Phase, grounds: &[RestsOn]) -> Vec<ArtifactName> {
        let mut names: Vec<ArtifactName> = self
            .evaluation
            .phase
            .produces
            .iter()
            .chain(&target.needs)
            .cloned()
            .collect();
        names.extend(grounds.iter().map(|ground| ground.artifact.clone()));
        let read = self
            .evaluation
            .seen
            .iter()
            .filter(|seen| self.reads(rule, seen.derived.name.as_str()));
        // Code is not committed with the step, so every step from a phase that needs code names it.
        let code = self.evaluation.seen.iter().filter(|seen| {
            seen.derived.tree.is_some() && self.evaluation.phase.needs.contains(&seen.derived.name)
        });
        names.extend(read.chain(code).map(|seen| seen.derived.name.clone()));
        names
    }

    /// Whether the guard of a rule reads an artifact, directly or through a named expression.
    pub(super) fn reads(&self, rule: &Rule, artifact: &str) -> bool {
        self.evaluation
            .workflow
            .reads(&rule.when)
            .iter()
            .any(|chain| chain[0] == artifact)
    }

    fn note_move(
        &self,
        rule: &Rule,
        held: &GuardOutcome,
        fired: Option<&Fired<'_>>,
        decision: &mut Decision,
    ) {
        let Outcome::To(to) = &rule.outcome else {
            return;
        };
        let false_parts = held
            .parts
            .iter()
            .filter(|part| part.result != Ok(true))
            .map(|part| match &part.result {
                Err(message) => format!("{}: {message}", part.text),
                Ok(_) => format!("{}{}", part.text, saw(&part.saw)),
            });
        let mut unmet: Vec<String> = false_parts.collect();
        if let Some(target) = self.evaluation.workflow.phase(to) {
            let hindered = self.evaluation.hinders(target);
            unmet.extend(
                hindered
                    .iter()
                    .map(|need| format!("`{to}` needs {} ({})", need.artifact, need.fault())),
            );
        }
        if let Some(signal) = rule.on {
            let verb = if signal == Signal::Start {
                "run"
            } else {
                signal.as_str()
            };
            unmet.push(format!("the rule waits for `orch {verb}`"));
        }
        if let Some(first) = fired.filter(|_| unmet.is_empty()) {
            unmet.push(format!("rule `{}` comes first", first.rule.id));
        }
        if let Some(attempts) = self.exhausted(rule, to).filter(|_| held.result == Ok(true)) {
            unmet.push(too_often(to, attempts));
        }
        decision.moves.push(Move {
            to: to.clone(),
            rule: rule.id.clone(),
            allowed: unmet.is_empty(),
            unmet,
        });
    }
}

fn too_often(to: &PhaseId, attempts: u32) -> String {
    let times = if attempts == 1 {
        "once".to_owned()
    } else {
        format!("{attempts} times")
    };
    format!("`{to}` has been attempted {times}: a person decides")
}

/// Values for places in the state. Returns the reason if one of them cannot be computed.
pub(super) fn computed(
    set: &[(String, Guard)],
    scope: &dyn Scope,
) -> Result<Vec<(String, Value)>, Reason> {
    let values = set.iter().map(|(pointer, guard)| match guard.value(scope) {
        Ok(value) => Ok((pointer.clone(), value)),
        Err(message) => Err(format!("set `{pointer}`: in `{}`, {message}", guard.text()).into()),
    });
    values.collect()
}

fn tried(rule: &Rule, result: Truth, parts: Vec<GuardPart>) -> Tried {
    let to = match &rule.outcome {
        Outcome::To(to) => Some(to.clone()),
        _ => None,
    };
    Tried {
        rule: rule.id.clone(),
        outcome: rule.outcome.words(),
        to,
        line: rule.place.line,
        result,
        parts,
    }
}

fn truth(result: &Result<bool, Reason>) -> Truth {
    match result {
        Ok(true) => Truth::True,
        Ok(false) => Truth::False,
        Err(message) => Truth::Error(message.clone().into()),
    }
}

/// The values that a part of a guard read, in words: ` (plan.ready is false)`.
pub(super) fn saw(values: &[(String, Option<Value>)]) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|(path, value)| match value {
            None => format!("{path} is missing"),
            Some(value) => {
                let text = value.to_string();
                match text.char_indices().nth(60) {
                    Some((end, _)) => format!("{path} is {}…", &text[..end]),
                    None => format!("{path} is {text}"),
                }
            }
        })
        .collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!(" ({})", shown.join(", "))
    }
}

pub(super) fn join<T: ToString>(items: &[T]) -> String {
    items
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
