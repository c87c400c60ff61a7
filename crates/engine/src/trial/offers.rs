//! What may happen next in a play: all that somebody may choose from, or one thing that is drawn.
//!
//! Of the contents of a file, and of the results of an action, only those are offered that the rules tell apart. That takes a
//! look at each, so a draw tries them in a random order and ends with the first one.

use super::Play;
use super::moves::contents;
use super::playing::{PERSON, REASON, member};
use super::wanted::{filled, read_roots};
use orch_base::{ActionName, Timestamp};
use orch_core::decide::{
    Decision, Detail, ExecutorTrace, FreshResult, Lapse, Mode, PatchOp, Recorded, Ruling,
    RulingOrder, Transition, Verdict, accept, apply, deadlines, evaluate, give_up, override_to,
    pick, rollback, rule_on, signalled, start,
};
use orch_core::trial::{state_variants, trial_stamp, trial_step_at};
use orch_core::workflow::{Artifact, GivenContent, GivenFile, Phase, Signal, TestSetup};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most contents of one file, or results of an action, that are offered.
const MOST_OFFERED: usize = 6;
/// How many of them a draw tries before it tries something else.
const MOST_TRIED: usize = 8;

/// What may happen next.
#[derive(Debug, Clone, Default)]
pub struct PlayChoice {
    /// What it is, in words.
    pub label: String,
    /// What is there beside the record from now on.
    pub(super) given: Option<TestSetup>,
    /// What a verification gave.
    pub(super) result: Option<FreshResult>,
    /// The step that follows.
    pub(super) step: Option<Transition>,
    /// The person who takes it.
    pub(super) person: Option<String>,
    /// When it is due.
    pub(super) due: Option<Timestamp>,
}

impl PlayChoice {
    /// This is so from now on.
    pub(super) fn given(label: String, given: TestSetup) -> Self {
        Self {
            label,
            given: Some(given),
            ..Self::default()
        }
    }

    /// Somebody takes a step.
    pub(super) fn step(label: String, step: Transition) -> Self {
        Self {
            label,
            step: Some(step),
            person: Some(PERSON.to_owned()),
            ..Self::default()
        }
    }
}

/// Where choices come from.
pub(super) enum ChoiceSource<'w> {
    /// This may happen.
    Ready(Box<PlayChoice>),
    /// These may happen, as far as the rules tell them apart.
    OneOf {
        open: Vec<PlayCandidate<'w>>,
        /// What the rules say already.
        known: BTreeSet<String>,
    },
}

impl From<PlayChoice> for ChoiceSource<'_> {
    fn from(choice: PlayChoice) -> Self {
        Self::Ready(Box::new(choice))
    }
}

/// What may happen, and was not tried yet.
pub(super) enum PlayCandidate<'w> {
    /// A file of an artifact holds this: the one under its name, or another one under its path.
    Content(&'w Artifact, String, GivenContent),
    /// The action that is due ends with this patch, which is said so.
    Result(Vec<PatchOp>, String),
}

impl<'a> Play<'_, 'a> {
    /// What may happen next.
    #[must_use]
    pub fn choices(&self) -> Vec<PlayChoice> {
        let decision = self.decision();
        let mut found = Vec::new();
        for source in self.sources(&decision) {
            match source {
                ChoiceSource::Ready(choice) => found.push(*choice),
                ChoiceSource::OneOf { open, mut known } => {
                    let offered = open
                        .into_iter()
                        .filter_map(|candidate| self.tried(candidate, &decision, &mut known));
                    found.extend(offered.take(MOST_OFFERED));
                }
            }
        }
        found
    }

    /// One thing that may happen next; `None` if nothing may. `below` draws: it returns a number below the one that it takes.
    #[must_use]
    pub fn drawn(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<PlayChoice> {
        let decision = self.decision();
        let mut sources = self.sources(&decision);
        while !sources.is_empty() {
            let at = below(sources.len());
            let (open, known) = match &mut sources[at] {
                ChoiceSource::Ready(choice) => return Some((**choice).clone()),
                ChoiceSource::OneOf { open, known } => (open, known),
            };
            for _ in 0..MOST_TRIED.min(open.len()) {
                let candidate = open.swap_remove(below(open.len()));
                let choice = self.tried(candidate, &decision, known);
                if choice.is_some() {
                    return choice;
                }
            }
            if open.is_empty() {
                sources.swap_remove(at);
            }
        }
        None
    }

    fn sources(&self, decision: &Decision) -> Vec<ChoiceSource<'a>> {
        let Some(phase) = self.phase() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        self.files_of(phase, decision, &mut found);
        self.code(phase, &mut found);
        self.verifications(phase, &mut found);
        self.other_tasks(&mut found);
        self.actions(decision, &mut found);
        self.signals(&mut found);
        self.times(&mut found);
        self.orders(decision, &mut found);
        found
    }

    /// Files that the phase produces or the rules of it read, with each content that they may tell apart.
    fn files_of(&self, phase: &Phase, decision: &Decision, found: &mut Vec<ChoiceSource<'a>>) {
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
        artifact: &'a Artifact,
        decision: &Decision,
        found: &mut Vec<ChoiceSource<'a>>,
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
        artifact: &'a Artifact,
        name: &str,
        decision: &Decision,
        found: &mut Vec<ChoiceSource<'a>>,
    ) {
        let now = self.content(name);
        let open = contents(self.trial, artifact, now).into_iter();
        found.push(ChoiceSource::OneOf {
            open: open
                .map(|content| PlayCandidate::Content(artifact, name.to_owned(), content))
                .collect(),
            known: BTreeSet::from([outcome_of(decision)]),
        });
        if now.is_some() {
            let label = format!("{} is removed", self.trial.files.name_of(&filled(name)));
            found.push(PlayChoice::given(label, self.with_file(name, None)).into());
        }
    }

    /// What a file holds; `None` if it is not there.
    fn content(&self, name: &str) -> Option<&GivenContent> {
        let mut files = self.given.files.iter();
        let file = files.find(|file| file.of.value == name)?;
        Some(&file.content)
    }

    /// What comes of a candidate; `None` if it cannot be, or the rules say what they say already.
    fn tried(
        &self,
        candidate: PlayCandidate<'_>,
        decision: &Decision,
        known: &mut BTreeSet<String>,
    ) -> Option<PlayChoice> {
        match candidate {
            PlayCandidate::Content(artifact, name, content) => {
                self.with_content(artifact, &name, content, known)
            }
            PlayCandidate::Result(patch, label) => {
                self.with_result(&patch, &label, decision, known)
            }
        }
    }

    fn with_content(
        &self,
        artifact: &Artifact,
        name: &str,
        content: GivenContent,
        known: &mut BTreeSet<String>,
    ) -> Option<PlayChoice> {
        let files = &self.trial.files;
        if !files.accepts(artifact, &content) {
            return None;
        }
        let now = self.content(name);
        // That a file appears may matter later.
        let is_first = now.is_none() && content == GivenContent::Filled;
        let content = if artifact.name.as_str() == name {
            content
        } else {
            files.by_path(artifact, &content)
        };
        if now == Some(&content) {
            return None;
        }
        let given = self.with_file(name, Some(content.clone()));
        let facts = self.observed(&given);
        let then = evaluate(self.trial.workflow, &self.recorded(), &facts);
        if !known.insert(outcome_of(&then)) && !is_first {
            return None;
        }
        let verb = if now.is_some() { "changes" } else { "appears" };
        let label = format!(
            "{} {verb}: {} ({})",
            files.name_of(&filled(name)),
            words(&content),
            then.rule.as_ref().map_or("no rule", |rule| rule.as_str())
        );
        Some(PlayChoice::given(label, given))
    }

    /// What may come of an action that is due, and which one a person may pick.
    fn actions(&self, decision: &Decision, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        match &decision.verdict {
            Verdict::Run(action) => self.results(action, decision, found),
            Verdict::Choose(offered) => {
                for action in offered {
                    if let Ok(step) = pick(workflow, &self.state, &self.facts, action, REASON) {
                        let label = format!("a person picks `{action}`");
                        found.push(PlayChoice::step(label, step).into());
                    }
                }
            }
            _ => {}
        }
    }

    fn results(&self, action: &ActionName, decision: &Decision, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        let Some(rule) = &decision.rule else { return };
        let mut open = vec![PlayCandidate::Result(
            Vec::new(),
            "changes nothing".to_owned(),
        )];
        let now = Value::Object(self.state.extra.clone());
        for variant in state_variants(workflow, &now) {
            let Value::Object(members) = &variant.0 else {
                continue;
            };
            let ops = members.iter().map(|(key, value)| PatchOp {
                path: vec![key.clone()],
                value: value.clone(),
            });
            let label = format!("writes {}", variant.0);
            open.push(PlayCandidate::Result(ops.collect(), label));
        }
        found.push(ChoiceSource::OneOf {
            open,
            known: BTreeSet::new(),
        });
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
            let label = format!("`{action}` fails and is given up");
            found.push(PlayChoice::step(label, step).into());
        }
    }

    fn with_result(
        &self,
        patch: &[PatchOp],
        label: &str,
        decision: &Decision,
        known: &mut BTreeSet<String>,
    ) -> Option<PlayChoice> {
        let workflow = self.trial.workflow;
        let (Verdict::Run(action), Some(rule)) = (&decision.verdict, &decision.rule) else {
            return None;
        };
        let step = accept(
            workflow,
            &self.state,
            &self.facts,
            rule,
            action,
            patch,
            REASON,
        );
        let step = step.ok()?;
        let next = apply(
            workflow,
            &self.state,
            &self.facts,
            &step,
            &trial_stamp(self.steps, None),
        );
        if self.trial.files.refuses_state(&next) {
            return None;
        }
        let then = evaluate(workflow, &Recorded::Known(Box::new(next)), &self.facts);
        if !known.insert(outcome_of(&then)) {
            return None;
        }
        let label = format!("`{action}` ends and {label}");
        Some(PlayChoice::step(label, step))
    }

    fn signals(&self, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        for signal in Signal::ALL {
            let responds = workflow.rules.iter().any(|rule| rule.on == Some(signal));
            if !responds {
                continue;
            }
            if let Some(Ok(step)) = signalled(workflow, &self.state, &self.facts, signal) {
                let label = format!("orch {}", verb_of(signal));
                found.push(PlayChoice::step(label, step).into());
            }
        }
        if workflow.has_actions() {
            for mode in Mode::ALL {
                if let Some(step) = start(workflow, &self.state, &self.facts, mode) {
                    let label = format!("a run begins, {}", mode.as_str());
                    found.push(PlayChoice::step(label, step).into());
                }
            }
        }
    }

    /// Deadlines of the present attempt that may pass now.
    fn times(&self, found: &mut Vec<ChoiceSource<'a>>) {
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
                let passes = PlayChoice {
                    label,
                    step: Some(step),
                    due: Some(running.ends),
                    ..PlayChoice::default()
                };
                found.push(passes.into());
            }
        }
    }

    /// What a person may order.
    fn orders(&self, decision: &Decision, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        if let Some(due) = decision.transition().filter(|due| due.by_human) {
            let label = format!("a person takes the step to {}", due.to);
            found.push(PlayChoice::step(label, due.clone()).into());
        } else {
            for person in self.people() {
                self.rulings(&person, found);
            }
        }
        if let Ok(step) = override_to(workflow, &self.state, &self.facts, None, REASON) {
            let label = format!("a person overrides the rules: to {}", step.to);
            found.push(PlayChoice::step(label, step).into());
        }
        if let Ok(step) = rollback(workflow, &self.state, &self.facts, None, REASON) {
            let label = format!("a person sends it back to {}", step.to);
            found.push(PlayChoice::step(label, step).into());
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
    fn rulings(&self, person: &str, found: &mut Vec<ChoiceSource<'a>>) {
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
            // The order may be given by a file, which is there then.
            let given = ruled
                .draft
                .map(|draft| self.with_file(&draft.path, Some(GivenContent::Text(draft.text))));
            let rules = PlayChoice {
                label: format!("{person} {verb}"),
                given,
                step: Some(ruled.transition),
                person: Some(person.to_owned()),
                ..PlayChoice::default()
            };
            found.push(rules.into());
        }
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
