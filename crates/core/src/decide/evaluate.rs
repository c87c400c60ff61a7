//! Evaluates a task: state, needs and rules, in that order.

use super::apply::initial_state;
use super::deadline::deadlines;
use super::decision::UNSHALLOW;
use super::derive::SeenArtifact;
use super::evaluation::{Evaluation, SeenTask, choice};
use super::grounds::outdated_in_words;
use super::others::RelationHold;
use super::rules::{Fired, join};
use super::scope::TaskScope;
use super::way::way;
use super::ways_out::{to_archive, ways_out};
use super::{
    BrokenNeed, Choice, Decision, Evidence, Facts, OwnFile, Recorded, Relations, SendBack, State,
    Transition, Verdict, WHY, expect,
};
use crate::workflow::{Owner, Phase, Workflow};
use orch_base::{
    ArtifactName, Code, Diagnostic, Hint, ObjectFormat, PhaseId, Place, RepoPath, nearest,
};
use serde_json::Value;
use std::borrow::Cow;

/// Evaluates one task. Total: every combination of values yields a decision. Also a record that cannot be read does:
///
/// ````
/// use orch_core::decide::{Facts, Recorded, Verdict, evaluate};
/// # use orch_base::{TaskId, Timestamp};
/// # use orch_core::workflow::{Document, System, compile};
/// # let text = "```toml orch
/// # [workflow]
/// # initial = 'write'
/// # [artifact.note]
/// # path = 'note.json'
/// # [phase.write]
/// # produces = ['note']
/// # [phase.done]
/// # terminal = true
/// # [[rule]]
/// # id = 'finished'
/// # from = 'write'
/// # when = 'note.ready'
/// # to = 'done'
/// # because = 'the note is finished'
/// # ```";
/// # let (workflow, _) = compile(&Document::new("notes", "notes.md", text), &System::empty());
/// # let workflow = workflow.ok_or("the document has errors")?;
///
/// let facts = Facts::of_no_files(TaskId::new("n-1")?);
/// let decision = evaluate(&workflow, &Recorded::Lost, &facts);
/// assert!(matches!(decision.verdict, Verdict::Error { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ````
#[must_use]
pub fn evaluate(workflow: &Workflow, recorded: &Recorded, facts: &Facts) -> Decision {
    let state = match recorded {
        Recorded::Lost | Recorded::Broken(_) => {
            let found = recorded.faults(&facts.task);
            let first = found.iter().find(|diagnostic| diagnostic.is_error());
            let code = first.map_or(Code::StateInvalid, |first| first.code);
            return broken(workflow, facts, code, found, ways_out(facts, code));
        }
        Recorded::New => Cow::Owned(initial_state(workflow)),
        Recorded::Known(state) => state.under_own_names(workflow),
    };
    let state = &*state;
    let mut diagnostics = facts.diagnostics.clone();
    let Some(phase) = current_phase(workflow, state, &mut diagnostics) else {
        return broken(workflow, facts, Code::UnknownPhase, diagnostics, Vec::new());
    };
    let format = workflow.digest.format();
    if !phase.terminal && state.is_of_another_format(format) {
        let code = Code::OtherObjectFormat;
        diagnostics.push(other_format(facts, format));
        return broken(workflow, facts, code, diagnostics, Vec::new());
    }
    if let Some(found) = unknown_in_record(workflow, state, facts) {
        diagnostics.push(found);
        // Where the task stands is known all the same.
        return Decision {
            rev: state.rev,
            phase: Some(phase.id.clone()),
            attempt: state.attempt(&phase.id).max(1),
            ..broken(
                workflow,
                facts,
                Code::ArtifactUnknown,
                diagnostics,
                Vec::new(),
            )
        };
    }
    if let Some(found) = of_another_file(facts) {
        diagnostics.push(found);
        return Decision {
            rev: state.rev,
            phase: Some(phase.id.clone()),
            attempt: state.attempt(&phase.id).max(1),
            ..broken(
                workflow,
                facts,
                Code::IdReused,
                diagnostics,
                vec![to_archive(facts, phase)],
            )
        };
    }
    note_workflow(workflow, state, &mut diagnostics);
    let task = SeenTask::of(workflow, state, facts, phase);
    diagnostics.extend(
        task.seen
            .iter()
            .flat_map(|seen| seen.diagnostics(&facts.place)),
    );
    for seen in task
        .seen
        .iter()
        .filter(|seen| phase.produces.contains(&seen.derived.name))
    {
        let is_expected = !phase.optional.contains(&seen.derived.name);
        diagnostics.extend(seen.not_counted(&facts.place, is_expected));
    }
    let evaluation = task.evaluation();
    let decision = evaluation.decide(diagnostics);
    debug_assert_eq!(
        evaluation.yielded(),
        decision.yielded(),
        "an audit would conclude something else"
    );
    decision
}

/// The transition that the rules yield, and whether it is held back because its phase was attempted too often: as in
/// the decision that [`evaluate`] returns, without anything that explains it. An audit asks this about each step.
pub(super) fn yielded(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
) -> Option<(Transition, bool)> {
    let state = match recorded {
        Recorded::Lost | Recorded::Broken(_) => return None,
        Recorded::New => Cow::Owned(initial_state(workflow)),
        Recorded::Known(state) => state.under_own_names(workflow),
    };
    let state = &*state;
    let phase = current_phase(workflow, state, &mut Vec::new())?;
    if state.is_of_another_format(workflow.digest.format()) {
        return None;
    }
    let task = SeenTask::of(workflow, state, facts, phase);
    task.evaluation().yielded()
}

fn current_phase<'w>(
    workflow: &'w Workflow,
    state: &State,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<&'w Phase> {
    let Some(name) = &state.phase else {
        return workflow.phase(&workflow.initial);
    };
    match workflow.phase_named(name) {
        Some(phase) => {
            if phase.id.as_str() != name {
                let message = format!("phase `{name}` is read as `{}`", phase.id);
                diagnostics.push(Diagnostic::note(Code::PhaseAlias, message));
            }
            Some(phase)
        }
        None => {
            let known: Vec<&str> = workflow
                .phases
                .iter()
                .map(|phase| phase.id.as_str())
                .collect();
            let meant =
                nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
            let message = format!("workflow `{}` has no phase `{name}`", workflow.name);
            let meant = meant.unwrap_or_default();
            let known = known.join(", ");
            let hint = if workflow.goes_on_in(name).is_some() {
                Hint::from("see where the map of the document leads: ")
            } else {
                Hint::from(format!(
                    "{meant}the phases are {known}; or add `{name}` to the `aliases` of one of them, or to `phases` under \
                     `[migrate]`, and see where that leads: "
                ))
            };
            let hint = hint.command(&["orch", "migrate", "--plan"]);
            diagnostics.push(Diagnostic::error(Code::UnknownPhase, message).hint(hint));
            None
        }
    }
}

/// The finding about a record whose digests another hash function made: none of them could equal that of a file,
/// so evidence that is used up would count again.
#[must_use]
pub fn other_format(facts: &Facts, format: ObjectFormat) -> Diagnostic {
    let message = format!(
        "the record names files by ids that are not {format}, the object format of this repository, so which \
         files are used up is unknown"
    );
    let hint = Hint::from("if no commit has the record: ")
        .command(&["orch", "new", facts.task.as_str()])
        .text("; otherwise start a new task with its other files: ")
        .command(&["orch", "new", "ID"])
        .text(", then move everything there but state.json and transcript.jsonl");
    let place = facts.place.place_of("state.json");
    Diagnostic::error(Code::OtherObjectFormat, message)
        .at(place)
        .hint(hint)
}

/// The finding about a record of a task that is not finished which names an artifact that the workflow does not know:
/// what was used up of it would count again, and nobody would notice that it changed.
#[must_use]
pub fn unknown_in_record(workflow: &Workflow, state: &State, facts: &Facts) -> Option<Diagnostic> {
    let phase = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name));
    if state.foreign || phase.is_some_and(|phase| phase.terminal) {
        return None;
    }
    let unknown = state.recorded_artifacts().find(|name| {
        let name = name.as_str();
        workflow.artifact_named(name).is_none()
            && workflow.forgets.iter().all(|forgotten| forgotten != name)
    })?;
    let message = format!(
        "the record names the artifact `{unknown}`, which workflow `{}` does not have",
        workflow.name
    );
    let names = workflow
        .artifacts
        .iter()
        .map(|artifact| artifact.name.as_str());
    // What the same phase produces now, and no record names, may be the same one.
    let of_phase = state
        .actors
        .iter()
        .filter(|(_, actor)| actor.artifacts().any(|name| name == unknown));
    let phases = of_phase.filter_map(|(name, _)| workflow.phase_named(name));
    let produced = phases
        .flat_map(|phase| &phase.produces)
        .map(ArtifactName::as_str);
    let mut new = produced.filter(|name| {
        !state
            .recorded_artifacts()
            .any(|known| known.as_str() == *name)
    });
    let only_new = new.next().filter(|_| new.next().is_none());
    let (meant, named) = match nearest(unknown.as_str(), names).or(only_new) {
        Some(near) => (format!("did you mean `{near}`? "), near),
        None => (String::new(), "NAME"),
    };
    let hint = format!(
        "{meant}if it was renamed: aliases = [\"{unknown}\"] in [artifact.{named}] of {}; if it was removed: \
         forgets = [\"{unknown}\"] in [workflow]",
        workflow.path
    );
    let place = facts.place.place_of("state.json");
    Some(
        Diagnostic::error(Code::ArtifactUnknown, message)
            .at(place)
            .hint(hint),
    )
}

/// The title that a file of this name gives its task, otherwise the name.
fn title<'n>(facts: &'n Facts, name: &'n str) -> &'n str {
    let title = facts.place.file().and_then(|file| file.title(name));
    title.filter(|title| !title.is_empty()).unwrap_or(name)
}

/// The finding about a record that is about another file than the one that is the task now.
#[must_use]
pub fn of_another_file(facts: &Facts) -> Option<Diagnostic> {
    let OwnFile::Another { present, recorded } = &facts.own_file else {
        return None;
    };
    let new = title(facts, present);
    let old = title(facts, recorded.name());
    let message = format!(
        "`{}` is \"{new}\" now, and its record is that of \"{old}\", which is in {recorded}: the id was reused",
        facts.task
    );
    let task = facts.task.as_str();
    let hint = Hint::from("archive the old record, and begin one for the new task: ")
        .command(&["orch", "archive", task, "--force", WHY])
        .and(&["orch", "new", task]);
    let place = facts.place.place_of(present);
    Some(
        Diagnostic::error(Code::IdReused, message)
            .at(place)
            .hint(hint),
    )
}

fn note_workflow(workflow: &Workflow, state: &State, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(recorded) = &state.workflow
        && !workflow.has_digest(recorded.digest)
    {
        let message = format!(
            "workflow `{}` has changed since the last transition; the current version decides",
            workflow.name
        );
        diagnostics.push(Diagnostic::note(Code::WorkflowChanged, message));
    }
}

/// The decision for a task whose state cannot be used.
fn broken(
    workflow: &Workflow,
    facts: &Facts,
    code: Code,
    diagnostics: Vec<Diagnostic>,
    options: Vec<Choice>,
) -> Decision {
    let first = diagnostics.iter().find(|diagnostic| diagnostic.is_error());
    let reason = first.map_or_else(
        || "the state cannot be used".to_owned(),
        |first| first.message.clone(),
    );
    Decision {
        task: facts.task.clone(),
        workflow: workflow.name.clone(),
        rev: 0,
        phase: None,
        substate: None,
        remarks: Vec::new(),
        attempt: 0,
        way: Vec::new(),
        verdict: Verdict::Error { code },
        reason,
        rule: None,
        tried: Vec::new(),
        inputs: Vec::new(),
        sent_back: None,
        grounds: Vec::new(),
        evidence: Vec::new(),
        relations: Relations::default(),
        blocked_by: Vec::new(),
        expects: Vec::new(),
        deadlines: Vec::new(),
        verifications: Vec::new(),
        moves: Vec::new(),
        options,
        question: None,
        waived: Vec::new(),
        artifacts: Vec::new(),
        lost: Vec::new(),
        diagnostics,
    }
}

impl Evaluation<'_> {
    fn decide(&self, diagnostics: Vec<Diagnostic>) -> Decision {
        let mut decision = self.decide_alone(diagnostics);
        let is_in_order =
            decision.rule.is_some() || matches!(decision.verdict, Verdict::Wait { .. });
        if is_in_order && !decision.lacks_history() && !RelationHold::of(self).holds() {
            expect::options(self, &mut decision);
        }
        if let OwnFile::Gone(to) = &self.facts.own_file {
            self.gone(to.as_ref(), &mut decision);
        }
        decision
    }

    pub(super) fn scope(&self) -> TaskScope<'_> {
        let attempt = self.state.attempt(&self.phase.id).max(1);
        TaskScope::new(
            self.workflow,
            self.seen,
            self.state,
            &self.phase.id,
            attempt,
            self.facts,
        )
    }

    /// The transition that is due, without anything that explains it.
    pub(super) fn due(&self) -> Option<Transition> {
        self.yielded()
            .filter(|(_, is_held)| !is_held)
            .map(|(due, _)| due)
    }

    fn yielded(&self) -> Option<(Transition, bool)> {
        if self.phase.terminal || !self.broken_needs(&self.phase.needs, &[]).is_empty() {
            return None;
        }
        if RelationHold::of(self).holds() {
            return None;
        }
        let fired = self.rules().decisive(&self.scope())?;
        if self.verifications().hold(fired.rule).is_some() {
            return None;
        }
        match fired.verdict {
            Verdict::Transition(due)
                if self.required_and_missing().is_none()
                    && self.grounds().dependence_of(&due).is_none() =>
            {
                Some((*due, false))
            }
            Verdict::Handover { held, .. } => Some((*held, true)),
            _ => None,
        }
    }

    /// The phase that the task would enter if its verdict were by somebody else, or its code were verified; `None` if
    /// neither keeps it from anything.
    pub(super) fn held(&self) -> Option<PhaseId> {
        if RelationHold::of(self).holds() {
            return None;
        }
        let fired = self.rules().decisive(&self.scope())?;
        let is_held = self.verifications().hold(fired.rule).is_some();
        match fired.verdict {
            Verdict::Transition(due) if is_held || self.grounds().dependence_of(&due).is_some() => {
                Some(due.to)
            }
            _ => None,
        }
    }

    /// The decision without the commands that are available, except those of a finished or inconsistent task.
    pub(super) fn decide_alone(&self, mut diagnostics: Vec<Diagnostic>) -> Decision {
        let attempt = self.state.attempt(&self.phase.id).max(1);
        let scope = self.scope();
        let sent_back = self.sent_back(&scope);
        let mut decision = Decision {
            task: self.facts.task.clone(),
            workflow: self.workflow.name.clone(),
            rev: self.state.rev,
            phase: Some(self.phase.id.clone()),
            substate: self
                .phase
                .substate
                .as_ref()
                .and_then(|guard| guard.value(&scope).ok()),
            remarks: self.remarks(&scope, &mut diagnostics),
            attempt,
            way: way(self.workflow, self.state, self.phase),
            verdict: Verdict::Done {
                changed: Vec::new(),
            },
            reason: String::new(),
            rule: None,
            tried: Vec::new(),
            inputs: self.inputs(sent_back.as_ref()),
            sent_back,
            grounds: self.grounds().all(),
            evidence: Vec::new(),
            relations: self.state.relations.clone(),
            blocked_by: Vec::new(),
            expects: Vec::new(),
            deadlines: deadlines(self.workflow, self.state),
            verifications: Vec::new(),
            moves: Vec::new(),
            options: Vec::new(),
            question: None,
            waived: self.state.waived.keys().cloned().collect(),
            artifacts: self.seen.iter().map(|seen| seen.derived.clone()).collect(),
            lost: Vec::new(),
            diagnostics,
        };
        if self.phase.terminal {
            self.finished(&mut decision);
            return decision;
        }
        self.note_lost(&mut decision);
        let found = self.grounds().ground_findings(&decision.grounds);
        decision.diagnostics.extend(found);
        decision.diagnostics.extend(self.verifications().findings());
        let unmet = self.broken_needs(&self.phase.needs, &[]);
        if !unmet.is_empty() {
            self.inconsistent(&mut decision, &self.phase.id, unmet);
            if let Some(handover) = self.rules().handover_besides(&scope) {
                decision.reason = format!("{}; {handover}", decision.reason);
            }
            return decision;
        }
        if RelationHold::of(self).hold(&mut decision) {
            return decision;
        }
        let fired = self.rules().try_rules(&scope, &mut decision);
        match fired {
            Some(fired) => match self.verifications().hold(fired.rule) {
                Some(hold) => hold.apply(fired.rule, &mut decision),
                None => self.apply_outcome(fired, &mut decision),
            },
            None => expect::nothing_fired(self, &mut decision),
        }
        self.verifications().await_due(&mut decision);
        self.grounds().report_fallen(&mut decision);
        decision
    }

    /// What the workflow remarks in this phase. A list within the list counts as its items, because an
    /// expression cannot join lists that are inside other values. That they cannot be computed is a finding and a
    /// remark, so that whoever works in the phase knows that nothing was checked.
    fn remarks(&self, scope: &TaskScope<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
        let mut remarks = if self.phase.terminal {
            Vec::new()
        } else {
            let mut remarks = self.grounds().remarks_on_writers();
            remarks.extend(self.grounds().remarks_on_unseen());
            remarks.extend(self.verifications().remarks());
            remarks
        };
        let Some(guard) = &self.phase.remarks else {
            return remarks;
        };
        let value = guard.value(scope).unwrap_or_else(|reason| {
            let message = format!(
                "the remarks of `{}` cannot be computed: {reason}",
                self.phase.id
            );
            diagnostics.push(Diagnostic::warning(Code::GuardError, message.clone()));
            Value::from(message)
        });
        add_texts(value, &mut remarks);
        remarks
    }

    /// The files to read in the phase: its needs, then what it reads besides, then the verdicts that sent the
    /// task back.
    fn inputs(&self, sent_back: Option<&SendBack>) -> Vec<Evidence> {
        let mut names: Vec<ArtifactName> = self
            .phase
            .needs
            .iter()
            .chain(&self.phase.reads)
            .cloned()
            .collect();
        for verdict in sent_back.iter().flat_map(|sent_back| &sent_back.verdicts) {
            if !names.contains(verdict) {
                names.push(verdict.clone());
            }
        }
        let mut inputs: Vec<Evidence> = names
            .iter()
            .flat_map(|name| self.evidence(std::slice::from_ref(name)))
            .collect();
        let results = sent_back.iter().flat_map(|sent_back| &sent_back.results);
        inputs.extend(results.cloned());
        inputs
    }

    /// Whether the last step that entered the current phase names an artifact as it is. It may have changed since
    /// the phase that makes it, as a list does whose boxes are checked until the end.
    fn is_of_the_end(&self, seen: &SeenArtifact<'_>) -> bool {
        let Some(end) = self.state.last_entry_into(&self.phase.id) else {
            return false;
        };
        seen.derived.present
            && seen.files.iter().all(|file| {
                let digest = file.digest.map(|digest| digest.to_string());
                end.evidence
                    .iter()
                    .any(|(path, known)| *path == file.path && Some(known) == digest.as_ref())
            })
    }

    fn finished(&self, decision: &mut Decision) {
        let changed: Vec<ArtifactName> = self
            .seen
            .iter()
            // Code keeps changing for other tasks; that is not news about this one.
            .filter(|seen| {
                seen.derived.changed && seen.derived.tree.is_none() && !self.is_of_the_end(seen)
            })
            .map(|seen| seen.derived.name.clone())
            .collect();
        // Where a task has failed, people want to know why.
        let led_here = self
            .state
            .last_entry_into(&self.phase.id)
            .filter(|_| !self.phase.success);
        let why = led_here.map_or(String::new(), |entry| format!(" ({})", entry.reason));
        let news = match changed.as_slice() {
            [] => String::new(),
            some => format!("; changed since: {}", join(some)),
        };
        decision.reason = format!(
            "the task is in `{}`, which is terminal{why}{news}",
            self.phase.id
        );
        decision.options.push(choice(
            "reopen",
            ["orch", "reopen", self.facts.task.as_str(), "--reason", WHY],
            Owner::Human,
            "reopen the task",
        ));
        decision.verdict = Verdict::Done { changed };
    }

    /// Adds the evidence of earlier phases that is gone, with a finding for each file.
    fn note_lost(&self, decision: &mut Decision) {
        for (phase, lost) in self.lost_evidence() {
            // A need of this phase is reported as such.
            if self.phase.needs.contains(&lost.artifact) {
                continue;
            }
            let message = format!(
                "{} is {}, although the task left `{phase}` with it",
                lost.path,
                lost.fault()
            );
            let place = self.facts.place.place_of(&lost.path);
            let hint =
                "restore it from git, or write it again; the task cannot be finished without it";
            let finding = Diagnostic::warning(Code::EvidenceGone, message).at(place);
            decision.diagnostics.push(finding.hint(hint));
            decision.lost.push(lost);
        }
    }

    fn inconsistent(&self, decision: &mut Decision, phase: &PhaseId, unmet: Vec<BrokenNeed>) {
        if unmet
            .iter()
            .all(|need| self.is_out_of_reach(&need.artifact))
        {
            return self.shallow(decision);
        }
        let last_consistent = match self.grounds().first_fallen(&unmet) {
            Some(phase) => Some(phase),
            None => self.last_consistent(),
        };
        let needs = self
            .workflow
            .phase(phase)
            .map(|phase| phase.needs.as_slice())
            .unwrap_or_default();
        let (outdated, broken): (Vec<_>, Vec<_>) =
            unmet.iter().partition(|broken| broken.outdated.is_some());
        let (needed, lost): (Vec<_>, Vec<_>) = broken
            .into_iter()
            .partition(|broken| needs.contains(&broken.artifact));
        let mut reasons = Vec::new();
        if !needed.is_empty() {
            reasons.push(format!(
                "the needs of `{phase}` are not met: {}",
                faults_of(&needed)
            ));
        }
        if !lost.is_empty() {
            let phases = self.lost_evidence();
            let stated = lost.iter().map(|one| {
                let left = phases
                    .iter()
                    .find(|(_, known)| known.artifact == one.artifact);
                let left = left.map(|(phase, _)| format!(" (the task left `{phase}` with it)"));
                format!(
                    "{} is {}{}",
                    one.named(),
                    one.fault(),
                    left.unwrap_or_default()
                )
            });
            let stated: Vec<String> = stated.collect();
            reasons.push(format!(
                "the evidence of earlier phases is gone: {}",
                stated.join("; ")
            ));
        }
        reasons.extend(outdated_in_words(&outdated));
        decision.reason = reasons.join("; ");
        decision.expects = unmet
            .iter()
            .filter_map(|need| expect::for_need(self, need))
            .collect();
        if let Some(back) = &last_consistent {
            let argv = [
                "orch",
                "rollback",
                self.facts.task.as_str(),
                "--to",
                back.as_str(),
                "--reason",
                WHY,
            ];
            let effect = match unmet.iter().all(|need| need.outdated.is_some()) {
                true => format!("go back to `{back}`, to have it judged again"),
                false => format!("go back to `{back}`, the last phase whose needs hold"),
            };
            decision
                .options
                .push(choice("rollback", argv, Owner::Human, effect));
        }
        decision.verdict = Verdict::Inconsistent {
            phase: phase.clone(),
            broken: unmet,
            last_consistent,
        };
    }

    /// Says of a task whose file was moved away that it is gone, where the rules lead nowhere without the file.
    fn gone(&self, to: Option<&RepoPath>, decision: &mut Decision) {
        let message = match to {
            Some(path) => format!("the file of the task is gone: it is {path} now"),
            None => "the file of the task is gone".to_owned(),
        };
        match &decision.verdict {
            Verdict::Wait { .. } | Verdict::Inconsistent { .. } => {
                decision.verdict = Verdict::Wait {
                    what: "the archive".to_owned(),
                    owner: Owner::Human,
                };
                decision.reason.clone_from(&message);
                decision.rule = None;
                decision.expects.clear();
                decision.options.clear();
            }
            Verdict::Done { .. } => decision.reason = format!("{}; {message}", decision.reason),
            _ => return,
        }
        decision
            .lost
            .retain(|lost| !self.facts.place.is_own_file(&lost.path));
        decision
            .diagnostics
            .retain(|found| found.code != Code::EvidenceGone || !decision.lost.is_empty());
        let place = Place::file(to.unwrap_or(&self.facts.shown()));
        decision
            .diagnostics
            .push(Diagnostic::note(Code::TaskGone, message).at(place));
        // In the archive it is already where it belongs.
        if to.is_some() {
            decision
                .options
                .insert(0, to_archive(self.facts, self.phase));
        }
    }

    /// Whether the only fault of an artifact is that this clone lacks the history of its code.
    fn is_out_of_reach(&self, artifact: &ArtifactName) -> bool {
        let files = self
            .facts
            .artifacts
            .get(artifact)
            .map(Vec::as_slice)
            .unwrap_or_default();
        files.iter().all(|file| file.is_tree)
            && files
                .iter()
                .flat_map(|file| &file.problems)
                .any(|problem| problem.code == Code::NotInClone)
    }

    /// The decision for a task whose code cannot be judged before its history is fetched.
    fn shallow(&self, decision: &mut Decision) {
        let task = &self.facts.task;
        decision.reason = format!(
            "this clone is shallow and lacks the commits since the last step of `{task}`: git fetch --unshallow"
        );
        let argv = ["git", "fetch", "--unshallow"];
        decision.options.push(choice(
            UNSHALLOW,
            argv,
            Owner::Human,
            "fetch the whole history",
        ));
        let what = "the history that this shallow clone lacks".to_owned();
        decision.verdict = Verdict::Wait {
            what,
            owner: Owner::Human,
        };
    }

    /// The first file that the phase requires and that is not in the work tree.
    fn required_and_missing(&self) -> Option<&RepoPath> {
        self.phase
            .requires
            .iter()
            .find(|path| self.facts.missing.contains(path))
    }

    fn apply_outcome(&self, fired: Fired<'_>, decision: &mut Decision) {
        decision.rule = Some(fired.rule.id.clone());
        decision.reason = fired.reason;
        match fired.verdict {
            Verdict::Inconsistent { phase, broken, .. } => {
                let because = std::mem::take(&mut decision.reason);
                self.inconsistent(decision, &phase, broken);
                decision.reason = format!("{because}, but {}", decision.reason);
            }
            Verdict::Transition(transition) => {
                if let Some(path) = self.required_and_missing() {
                    return wait_for_required(path, decision);
                }
                if let Some(dependence) = self.grounds().dependence_of(&transition) {
                    decision.diagnostics.push(dependence.finding(self));
                    decision.reason = dependence.reason(&self.facts.inputs);
                    for one in &mut decision.moves {
                        if Some(&one.rule) == decision.rule.as_ref() {
                            one.allowed = false;
                            one.unmet.push(dependence.why.clone());
                        }
                    }
                    let what = dependence.what();
                    decision.verdict = Verdict::Wait {
                        what,
                        owner: dependence.owner,
                    };
                    if let Some(verdict) = &dependence.verdict {
                        expect::of_verdict(self, verdict, decision);
                    }
                    return;
                }
                decision.evidence.clone_from(&transition.evidence);
                if transition.by_human {
                    decision.reason = format!("a person decides: {}", decision.reason);
                }
                decision.verdict = Verdict::Transition(transition);
            }
            Verdict::Handover { held, attempts } => {
                decision.evidence.clone_from(&held.evidence);
                decision.verdict = Verdict::Handover { held, attempts };
            }
            Verdict::Wait { what, owner } => {
                decision.verdict = Verdict::Wait { what, owner };
                expect::rule_waits(self, decision);
            }
            other => decision.verdict = other,
        }
    }
}

/// Each of these needs with its fault, in words.
fn faults_of(needs: &[&BrokenNeed]) -> String {
    let stated = needs
        .iter()
        .map(|need| format!("{} is {}", need.named(), need.fault()));
    stated.collect::<Vec<_>>().join("; ")
}

/// Holds a transition back until a file is there that the phase requires.
fn wait_for_required(path: &RepoPath, decision: &mut Decision) {
    let why = format!("{path}, which the phase requires, is not in the repository");
    let hint = format!("write {path}, or take it out of `requires` in the workflow");
    let finding = Diagnostic::error(Code::RequiredMissing, why.clone()).at(Place::file(path));
    decision.diagnostics.push(finding.hint(hint));
    decision.reason = why;
    decision.verdict = Verdict::Wait {
        what: path.to_string(),
        owner: Owner::Human,
    };
}

/// Adds a text, or the texts of a list and of the lists in it.
fn add_texts(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| add_texts(item, texts)),
        _ => {}
    }
}
