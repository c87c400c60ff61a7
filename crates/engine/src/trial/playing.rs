//! A workflow played without a task: somebody chooses what happens next, and the rules say what that comes to.
//!
//! What may happen is what a phase asks for: files that appear with each content that the rules tell apart, files that change,
//! results of actions, control requests, and what people order. Steps are applied as those of a real task are, and those that
//! are due by themselves follow at once.

use super::moves::with;
use super::wanted::{read_verifications, word};
use super::{PlayChoice, TrialWorkflow};
use orch_base::{PhaseId, Timestamp};
use orch_core::Spanned;
use orch_core::decide::{
    Decision, Detail, DetailStep, Facts, FreshResult, Recorded, State, Step, Transition, apply,
    create, detailed, evaluate, initial_state, settle,
};
use orch_core::trial::{surround, trial_stamp, trial_step_at};
use orch_core::workflow::{GivenCode, GivenContent, Phase, TestSetup, Workflow};

/// The person who gives orders in a play.
pub(super) const PERSON: &str = "somebody";
/// Why a person orders something in a play.
pub(super) const REASON: &str = "it is tried";

/// A play of a workflow.
pub struct Play<'t, 'a> {
    pub(super) trial: &'t TrialWorkflow<'a>,
    /// What is there beside the record.
    pub(super) given: TestSetup,
    /// What the last verifications gave.
    results: Vec<FreshResult>,
    pub(super) state: State,
    pub(super) facts: Facts,
    pub(super) steps: u64,
    /// The steps taken so far, in words.
    pub way: Vec<String>,
}

impl<'t, 'a> Play<'t, 'a> {
    /// A new task of a workflow.
    #[must_use]
    pub fn begin(trial: &'t TrialWorkflow<'a>) -> Self {
        let workflow = trial.workflow;
        let given = TestSetup {
            // There is code before a task begins.
            code: Some(GivenCode {
                files: Vec::new(),
                is_own: false,
            }),
            verified: verifications(workflow),
            ..TestSetup::default()
        };
        let facts = observed(trial, &given);
        let first = create(workflow, "a play");
        let state = apply(
            workflow,
            &initial_state(workflow),
            &facts,
            &first,
            &trial_stamp(0, None),
        );
        let mut play = Self {
            trial,
            given,
            results: Vec::new(),
            state,
            facts,
            steps: 1,
            way: Vec::new(),
        };
        play.settle();
        play
    }

    /// What the rules say now.
    #[must_use]
    pub fn decision(&self) -> Decision {
        evaluate(self.trial.workflow, &self.recorded(), &self.facts)
    }

    pub(super) fn recorded(&self) -> Recorded {
        Recorded::Known(Box::new(self.state.clone()))
    }

    pub(super) fn phase(&self) -> Option<&'a Phase> {
        let name = self.state.phase.as_deref()?;
        self.trial.workflow.phase_named(name)
    }

    /// Whether the task is in a phase that no rule leaves.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase().is_none_or(|phase| phase.terminal)
    }

    /// What is there with another content of a file, or without it.
    pub(super) fn with_file(&self, name: &str, content: Option<GivenContent>) -> TestSetup {
        TestSetup {
            files: with(&self.given.files, name, content),
            ..self.given.clone()
        }
    }

    pub(super) fn observed(&self, given: &TestSetup) -> Facts {
        let mut facts = observed(self.trial, given);
        for result in &self.results {
            result.note(&mut facts);
        }
        facts
    }

    /// The step that says this of the task; `None` if it cannot be so.
    pub(super) fn saying(&self, detail: Detail, at: Timestamp) -> Option<Transition> {
        let step = DetailStep {
            detail,
            at,
            to: None,
            former: None,
            why: None,
        };
        detailed(self.trial.workflow, &self.state, &self.facts.task, step).ok()
    }

    /// The time of the next step.
    pub(super) fn now(&self) -> Timestamp {
        trial_stamp(self.steps, None).at
    }

    /// Lets something happen, and takes the steps that follow by themselves.
    pub fn choose(&mut self, choice: &PlayChoice) {
        if let Some(given) = &choice.given {
            self.given = given.clone();
            self.facts = self.observed(given);
        }
        if let Some(result) = &choice.result {
            let name = &result.verification.name;
            self.results
                .retain(|known| known.verification.name != *name);
            self.results.push(result.clone());
            result.note(&mut self.facts);
        }
        if let Some(due) = choice.due {
            self.steps = self.steps.max(trial_step_at(due));
        }
        if let Some(step) = &choice.step {
            self.take(step, choice.person.as_deref());
        }
        self.settle();
    }

    fn take(&mut self, step: &Transition, person: Option<&str>) {
        let stamp = trial_stamp(self.steps, person);
        self.state = apply(self.trial.workflow, &self.state, &self.facts, step, &stamp);
        self.steps += 1;
        self.way.push(step_words(step));
    }

    /// Takes the steps that are due by themselves.
    fn settle(&mut self) {
        let stamp = trial_stamp(self.steps, None);
        let settled = settle(
            self.trial.workflow,
            &self.recorded(),
            &self.facts,
            &stamp,
            &|due| !due.by_human,
        );
        for Step { transition, state } in settled.steps {
            self.way.push(step_words(&transition));
            self.state = state;
            self.steps += 1;
        }
    }
}

/// What is observed of a task of which this is given.
fn observed(trial: &TrialWorkflow<'_>, given: &TestSetup) -> Facts {
    let (now, _) = trial.files.bytes(given);
    let mut facts = trial.files.facts(&now, given.code.as_ref());
    surround(trial.workflow, given, &mut facts);
    let phases = trial.workflow.phases.iter();
    for team in phases
        .filter_map(|phase| phase.approvals.as_ref())
        .flat_map(|asked| &asked.teams)
    {
        let address = trial_stamp(0, Some(&member(team))).address;
        facts
            .inputs
            .teams
            .insert(team.clone(), address.into_iter().collect());
    }
    facts
}

/// The person of a team.
pub(super) fn member(team: &str) -> String {
    format!("somebody-of-{team}")
}

/// The verifications of which a workflow speaks; none of them has run.
fn verifications(workflow: &Workflow) -> Vec<(Spanned<String>, Spanned<String>)> {
    let rules: Vec<_> = workflow.rules.iter().collect();
    let mut names = read_verifications(workflow, &rules);
    for name in workflow.phases.iter().flat_map(|phase| &phase.verifies) {
        if !names.iter().any(|known| *known == name.as_str()) {
            names.push(name.to_string());
        }
    }
    let names = names.iter();
    names.map(|name| (word(name), word("missing"))).collect()
}

/// What a step does, in words.
fn step_words(step: &Transition) -> String {
    let from = step.from.as_ref().map_or("", PhaseId::as_str);
    let by = step
        .rule
        .as_ref()
        .map_or(step.kind.as_str(), |rule| rule.as_str());
    if step.kind.stays() {
        format!("{from}: {} ({})", step.kind.as_str(), step.reason)
    } else {
        format!("{from} -> {} ({by})", step.to)
    }
}
