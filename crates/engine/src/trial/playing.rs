//! A workflow played without a task: somebody chooses what happens next, and the rules say what that comes to.
//!
//! What may happen is what a phase asks for: files that appear with each content that the rules tell apart, files that change,
//! results of actions, control requests, and what people order. Steps are applied as those of a real task are, and those that
//! are due by themselves follow at once.

use super::TrialWorkflow;
use super::moves::{contents, with};
use super::wanted::{filled, read_roots, read_verifications, word};
use orch_base::{ActionName, PhaseId, Timestamp};
use orch_core::Spanned;
use orch_core::decide::{
    Decision, Detail, DetailStep, ExecutorTrace, Facts, FreshResult, Lapse, PatchOp, Recorded,
    Ruling, RulingOrder, State, Step, Transition, Verdict, accept, apply, create, deadlines,
    detailed, evaluate, give_up, initial_state, override_to, pick, rollback, rule_on, settle,
    signalled, start,
};
use orch_core::trial::{state_variants, surround, trial_stamp, trial_step_at};
use orch_core::workflow::{
    Artifact, GivenCode, GivenContent, GivenFile, Phase, Signal, TestSetup, Workflow,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most contents of one artifact that are offered.
const MOST_OF_ONE: usize = 6;
/// The most results of an action that are offered.
const MOST_RESULTS: usize = 6;
/// The person who gives orders in a play.
const PERSON: &str = "somebody";
/// Why a person orders something in a play.
const REASON: &str = "it is tried";

/// What may happen next.
#[derive(Debug, Clone)]
pub struct PlayChoice {
    /// What it is, in words.
    pub label: String,
    happens: PlayEvent,
}

/// Something that happens.
#[derive(Debug, Clone)]
enum PlayEvent {
    /// Beside the record, this is so from now on.
    Given(Box<TestSetup>),
    /// A verification gave a result, and a step records it.
    Verified(Box<FreshResult>, Box<Transition>),
    /// This is so from now on, and a step says it, too.
    Related(Box<TestSetup>, Box<Transition>),
    /// A person rules.
    Ruled(Box<PlayedRuling>),
    /// A step.
    Step(Box<Transition>),
    /// A step that is due at a time.
    Passes(Box<Transition>, Timestamp),
}

/// What a person orders: the file that says it, if there is one, and the step that follows.
#[derive(Debug, Clone)]
struct PlayedRuling {
    person: String,
    file: Option<(String, String)>,
    step: Transition,
}

/// A play of a workflow.
pub struct Play<'t, 'a> {
    pub(super) trial: &'t TrialWorkflow<'a>,
    /// What is there beside the record.
    pub(super) given: TestSetup,
    /// What the last verifications gave.
    results: Vec<FreshResult>,
    pub(super) state: State,
    pub(super) facts: Facts,
    steps: u64,
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

    fn recorded(&self) -> Recorded {
        Recorded::Known(Box::new(self.state.clone()))
    }

    fn phase(&self) -> Option<&'a Phase> {
        let name = self.state.phase.as_deref()?;
        self.trial.workflow.phase_named(name)
    }

    /// Whether the task is in a phase that no rule leaves.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase().is_none_or(|phase| phase.terminal)
    }

    /// What may happen next.
    #[must_use]
    pub fn choices(&self) -> Vec<PlayChoice> {
        let Some(phase) = self.phase() else {
            return Vec::new();
        };
        let decision = self.decision();
        let mut found = Vec::new();
        self.files_of(phase, &decision, &mut found);
        self.code(phase, &mut found);
        self.verifications(phase, &mut found);
        self.other_tasks(&mut found);
        self.actions(&decision, &mut found);
        self.signals(&mut found);
        self.times(&mut found);
        self.orders(&decision, &mut found);
        found
    }

    /// Files that the phase produces or the rules of it read, with each content that they tell apart.
    fn files_of(&self, phase: &Phase, decision: &Decision, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        let rules: Vec<_> = workflow.rules_from(&phase.id).collect();
        let read = read_roots(workflow, &rules);
        for artifact in &workflow.artifacts {
            let is_made =
                phase.produces.contains(&artifact.name) || phase.needs.contains(&artifact.name);
            let name = artifact.name.as_str();
            if is_made || read.iter().any(|root| root == name) {
                self.files_of_artifact(artifact, decision, found);
            }
        }
    }

    fn files_of_artifact(
        &self,
        artifact: &Artifact,
        decision: &Decision,
        found: &mut Vec<PlayChoice>,
    ) {
        let name = artifact.name.as_str();
        self.contents_of(artifact, name, decision, found);
        let files = self.given.files.iter();
        let is_further = |file: &&GivenFile| {
            file.of.value != name && artifact.pattern_of(&file.of.value).is_some()
        };
        let mut further: Vec<String> = files
            .filter(is_further)
            .map(|file| file.of.value.clone())
            .collect();
        further.extend(self.trial.files.another_path(artifact, &self.given.files));
        for path in &further {
            self.contents_of(artifact, path, decision, found);
        }
    }

    /// The contents of one file of an artifact: the one under its name, or another one under its path.
    fn contents_of(
        &self,
        artifact: &Artifact,
        name: &str,
        decision: &Decision,
        found: &mut Vec<PlayChoice>,
    ) {
        let is_path = artifact.name.as_str() != name;
        let mut files = self.given.files.iter();
        let now = files.find(|file| file.of.value == name);
        let mut told_apart = BTreeSet::from([outcome_of(decision)]);
        let mut offered = 0;
        for content in contents(self.trial, artifact, now.map(|file| &file.content)) {
            let content = if is_path {
                self.trial.files.by_path(artifact, &content)
            } else {
                content
            };
            if now.is_some_and(|file| file.content == content) || offered >= MOST_OF_ONE {
                continue;
            }
            let given = self.with_file(name, Some(content.clone()));
            let facts = self.observed(&given);
            let then = evaluate(self.trial.workflow, &self.recorded(), &facts);
            let is_first = now.is_none() && offered == 0;
            if !told_apart.insert(outcome_of(&then)) && !is_first {
                continue;
            }
            offered += 1;
            let verb = if now.is_some() { "changes" } else { "appears" };
            let label = format!(
                "{} {verb}: {} ({})",
                self.trial.files.name_of(&filled(name)),
                words(&content),
                then.rule.as_ref().map_or("no rule", |rule| rule.as_str())
            );
            found.push(becoming(label, given));
        }
        if now.is_some() {
            let label = format!("{} is removed", self.trial.files.name_of(&filled(name)));
            found.push(becoming(label, self.with_file(name, None)));
        }
    }

    /// What is there with another content of a file, or without it.
    fn with_file(&self, name: &str, content: Option<GivenContent>) -> TestSetup {
        TestSetup {
            files: with(&self.given.files, name, content),
            ..self.given.clone()
        }
    }

    fn observed(&self, given: &TestSetup) -> Facts {
        let mut facts = observed(self.trial, given);
        for result in &self.results {
            result.note(&mut facts);
        }
        facts
    }

    /// What may come of an action that is due, and which one a person may pick.
    fn actions(&self, decision: &Decision, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        match &decision.verdict {
            Verdict::Run(action) => self.results(action, decision, found),
            Verdict::Choose(offered) => {
                for action in offered {
                    if let Ok(step) = pick(workflow, &self.state, &self.facts, action, REASON) {
                        found.push(chosen(format!("a person picks `{action}`"), step));
                    }
                }
            }
            _ => {}
        }
    }

    fn results(&self, action: &ActionName, decision: &Decision, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        let Some(rule) = &decision.rule else { return };
        let mut patches = vec![(Vec::new(), "changes nothing".to_owned())];
        let now = Value::Object(self.state.extra.clone());
        for variant in state_variants(workflow, &now) {
            let Value::Object(members) = &variant.0 else {
                continue;
            };
            let ops = members.iter().map(|(key, value)| PatchOp {
                path: vec![key.clone()],
                value: value.clone(),
            });
            patches.push((ops.collect(), format!("writes {}", variant.0)));
        }
        let mut told_apart = BTreeSet::new();
        let mut offered = 0;
        for (patch, label) in patches {
            if offered >= MOST_RESULTS {
                break;
            }
            let accepted = accept(
                workflow,
                &self.state,
                &self.facts,
                rule,
                action,
                &patch,
                REASON,
            );
            let Ok(step) = accepted else { continue };
            let next = apply(
                workflow,
                &self.state,
                &self.facts,
                &step,
                &trial_stamp(self.steps, None),
            );
            if self.trial.files.refuses_state(&next) {
                continue;
            }
            let then = evaluate(workflow, &Recorded::Known(Box::new(next)), &self.facts);
            if told_apart.insert(outcome_of(&then)) {
                offered += 1;
                found.push(chosen(format!("`{action}` ends and {label}"), step));
            }
        }
        let trace = ExecutorTrace::default();
        if let Ok(step) = give_up(
            workflow,
            &self.state,
            &self.facts,
            rule,
            action,
            REASON,
            trace,
        ) {
            found.push(chosen(format!("`{action}` fails and is given up"), step));
        }
    }

    fn signals(&self, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        for signal in Signal::ALL {
            let responds = workflow.rules.iter().any(|rule| rule.on == Some(signal));
            if !responds {
                continue;
            }
            if let Some(Ok(step)) = signalled(workflow, &self.state, &self.facts, signal) {
                found.push(chosen(format!("orch {}", verb_of(signal)), step));
            }
        }
        if workflow.has_actions() {
            for mode in orch_core::decide::Mode::ALL {
                if let Some(step) = start(workflow, &self.state, &self.facts, mode) {
                    found.push(chosen(format!("a run begins, {}", mode.as_str()), step));
                }
            }
        }
    }

    /// Deadlines of the present attempt that may pass now.
    fn times(&self, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        for running in deadlines(workflow, &self.state) {
            if running.has_lapsed {
                continue;
            }
            let at = trial_stamp(trial_step_at(running.ends), None).at;
            let lapse = Lapse {
                deadline: running.name,
                attempt: running.attempt,
                entered: running.entered,
                at: running.ends,
            };
            let label = format!("the deadline `{}` passes", lapse.deadline);
            if let Some(step) = self.saying(Detail::Lapse(lapse), at) {
                let happens = PlayEvent::Passes(Box::new(step), running.ends);
                found.push(PlayChoice { label, happens });
            }
        }
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

    /// What a person may order.
    fn orders(&self, decision: &Decision, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        if let Some(due) = decision.transition().filter(|due| due.by_human) {
            let label = format!("a person takes the step to {}", due.to);
            found.push(chosen(label, due.clone()));
        } else {
            for person in self.people() {
                self.rulings(&person, found);
            }
        }
        if let Ok(step) = override_to(workflow, &self.state, &self.facts, None, REASON) {
            let label = format!("a person overrides the rules: to {}", step.to);
            found.push(chosen(label, step));
        }
        if let Ok(step) = rollback(workflow, &self.state, &self.facts, None, REASON) {
            let label = format!("a person sends it back to {}", step.to);
            found.push(chosen(label, step));
        }
    }

    /// Those who may rule in the phase: one of each team, and as many others as are asked for.
    fn people(&self) -> Vec<String> {
        let asked = self.phase().and_then(|phase| phase.approvals.as_ref());
        let Some(asked) = asked else {
            return vec![PERSON.to_owned()];
        };
        let mut people: Vec<String> = asked.teams.iter().map(|team| member(team)).collect();
        while people.len() < asked.count.max(1) {
            people.push(format!("person-{}", people.len() + 1));
        }
        people
    }

    /// What a person may say of what is judged in the phase.
    fn rulings(&self, person: &str, found: &mut Vec<PlayChoice>) {
        let workflow = self.trial.workflow;
        for (ruling, verb) in [(Ruling::Approve, "approves"), (Ruling::Reject, "rejects")] {
            let order = RulingOrder {
                ruling,
                to: None,
                reason: Some(REASON),
                overrides: false,
                objections: &[],
            };
            let stamp = trial_stamp(self.steps, Some(person));
            let Ok(ruled) = rule_on(workflow, &self.state, &self.facts, order, &stamp) else {
                continue;
            };
            let ruled = PlayedRuling {
                person: person.to_owned(),
                file: ruled.draft.map(|draft| (draft.path, draft.text)),
                step: ruled.transition,
            };
            found.push(PlayChoice {
                label: format!("{person} {verb}"),
                happens: PlayEvent::Ruled(Box::new(ruled)),
            });
        }
    }

    /// Lets something happen, and takes the steps that follow by themselves.
    pub fn choose(&mut self, choice: &PlayChoice) {
        match &choice.happens {
            PlayEvent::Given(given) => self.become_so(given),
            PlayEvent::Related(given, step) => {
                self.become_so(given);
                self.take(step, Some(PERSON));
            }
            PlayEvent::Verified(result, step) => {
                let name = &result.verification.name;
                self.results
                    .retain(|known| known.verification.name != *name);
                self.results.push((**result).clone());
                result.note(&mut self.facts);
                self.take(step, None);
            }
            PlayEvent::Ruled(ruled) => {
                if let Some((path, text)) = &ruled.file {
                    let content = GivenContent::Text(text.clone());
                    self.become_so(&self.with_file(path, Some(content)));
                }
                self.take(&ruled.step, Some(&ruled.person));
            }
            PlayEvent::Step(step) => self.take(step, Some(PERSON)),
            PlayEvent::Passes(step, at) => {
                self.steps = self.steps.max(trial_step_at(*at));
                self.take(step, None);
            }
        }
        self.settle();
    }

    fn become_so(&mut self, given: &TestSetup) {
        self.given = given.clone();
        self.facts = self.observed(given);
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
fn member(team: &str) -> String {
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

/// What is so from now on.
pub(super) fn becoming(label: String, given: TestSetup) -> PlayChoice {
    PlayChoice {
        label,
        happens: PlayEvent::Given(Box::new(given)),
    }
}

/// What is so from now on, with the step that says it.
pub(super) fn related(label: String, given: TestSetup, step: Transition) -> PlayChoice {
    PlayChoice {
        label,
        happens: PlayEvent::Related(Box::new(given), Box::new(step)),
    }
}

/// What a verification gave, with the step that records it.
pub(super) fn verified(label: String, result: FreshResult, step: Transition) -> PlayChoice {
    PlayChoice {
        label,
        happens: PlayEvent::Verified(Box::new(result), Box::new(step)),
    }
}

/// A step that somebody chose.
fn chosen(label: String, step: Transition) -> PlayChoice {
    PlayChoice {
        label,
        happens: PlayEvent::Step(Box::new(step)),
    }
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

/// What tells two decisions apart.
fn outcome_of(decision: &Decision) -> String {
    let rule = decision.rule.as_ref().map_or("none", |rule| rule.as_str());
    let to = decision.transition().map_or("", |step| step.to.as_str());
    format!("{} {rule} {to}", decision.verdict.name())
}

/// What a file holds, in few words.
fn words(content: &GivenContent) -> String {
    match content {
        GivenContent::Absent => "nothing".to_owned(),
        GivenContent::Filled => "as its schema or example shows it".to_owned(),
        GivenContent::Text(text) => {
            let last = text.trim_end().lines().last().unwrap_or_default();
            format!("a text that ends with `{last}`")
        }
        GivenContent::Data(value) => value.to_string(),
    }
}

fn verb_of(signal: Signal) -> &'static str {
    match signal {
        Signal::Start => "run",
        other => other.as_str(),
    }
}
