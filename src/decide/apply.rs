//! Applies a transition: computes the next state from the state before and the facts.

use super::data::{bound, set_pointer};
use super::derive::{SeenArtifact, look};
use super::scope::TaskScope;
use super::{
    Actor, ActorKind, ActorStatus, By, Change, ERRORS_WINDOW, Facts, HISTORY_WINDOW, HistoryEntry, Kind,
    Performance, State, Transition, WorkflowRef,
};
use crate::base::{ArtifactName, Digest, PhaseId, Timestamp};
use crate::workflow::Workflow;
use serde_json::{Value, json};

/// Who applies a transition, and when. The core has no clock of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The time of the step.
    pub at: Timestamp,
    /// The actor of the step.
    pub by: By,
    /// How an executor performed the action, for a step that records one.
    pub performance: Option<Box<Performance>>,
}

impl Stamp {
    /// The stamp of a step that no executor performed.
    #[must_use]
    pub fn new(at: Timestamp, by: By) -> Self {
        Self { at, by, performance: None }
    }

    /// A stamp for steps that are only simulated and never recorded.
    #[must_use]
    pub fn of_no_record() -> Self {
        Self::new(Timestamp::from_seconds(0), By { kind: ActorKind::Orch, name: "orch".to_owned() })
    }
}

/// The state of a task without a record: in the initial phase, with all defaults.
#[must_use]
pub fn initial_state(workflow: &Workflow) -> State {
    let mut state = State {
        phase: Some(workflow.initial.to_string()),
        extra: workflow.state.defaults.clone(),
        ..State::default()
    };
    state.actors.insert(workflow.initial.to_string(), Actor { attempt: 1, ..Actor::default() });
    state
}

/// The state after a transition. `facts` are the facts that the transition was decided on.
#[must_use]
pub fn apply(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    transition: &Transition,
    stamp: &Stamp,
) -> State {
    let state = &*state.under_own_names(workflow);
    let mut next = match &transition.change {
        Some(Change::Back(before)) => taken_back(workflow, state, before),
        _ => state.clone(),
    };
    let seq = state.rev.saturating_add(1);
    // A rename and an undo rest on no file, so they can be derived without any.
    let looks_at_files = !matches!(transition.kind, Kind::Rename | Kind::Undo);
    if let Some(from) = transition.from.as_ref().filter(|_| looks_at_files) {
        // A foreign state may lack an entry for its current phase, although the task has entered it.
        let left = actor(&mut next, from);
        left.attempt = left.attempt.max(1);
        let seen = look(workflow, state, from, facts);
        if let Some(substate) = substate(workflow, state, facts, from) {
            actor(&mut next, from).substate = Some(substate);
        }
        match transition.kind {
            Kind::Create => {}
            Kind::Confirm => confirm(workflow, transition, &mut next),
            kind if kind.stays() => stay(transition, seq, stamp, &mut next),
            _ => step(workflow, from, transition, &seen, seq, &mut next),
        }
    }
    if looks_at_files && transition.kind != Kind::Confirm {
        note_code(workflow, facts, &transition.to, &mut next);
    }
    for (key, value) in &workflow.state.defaults {
        next.extra.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if let Some(Change::Data(data)) = &transition.change {
        next.extra.clone_from(data);
    }
    for (pointer, value) in &transition.set {
        set_pointer(&mut next.extra, pointer, value.clone());
    }
    bound(&workflow.state, &mut next.extra);
    next.history.push(entry(transition, seq, stamp).into());
    let surplus = next.history.len().saturating_sub(HISTORY_WINDOW);
    next.history.drain(..surplus);
    next.rev = seq;
    next.foreign = false;
    next.original = None;
    next.task = Some(facts.task.to_string());
    next.workflow = Some(WorkflowRef { name: workflow.name.clone(), digest: workflow.digest });
    next.phase = Some(transition.to.to_string());
    next.updated_at = Some(stamp.at);
    // A substate of the phase in which the task stays, or to which it returns, may rest on evidence that this
    // step has used up or accepted again.
    let is_shown = next.actor(&transition.to).is_some_and(|actor| actor.substate.is_some());
    if looks_at_files && is_shown {
        let substate = substate(workflow, &next, facts, &transition.to);
        actor(&mut next, &transition.to).substate = substate;
    }
    next
}

/// The state before an order, with the history of the present one.
fn taken_back(workflow: &Workflow, state: &State, before: &State) -> State {
    let (title, history) = (state.title.clone(), state.history.clone());
    let heads = state.heads.clone();
    State { title, history, heads, ..before.under_own_names(workflow).into_owned() }
}

fn entry(transition: &Transition, seq: u64, stamp: &Stamp) -> HistoryEntry {
    HistoryEntry {
        seq,
        at: stamp.at,
        from: transition.from.clone(),
        to: transition.to.clone(),
        kind: transition.kind,
        rule: transition.rule.as_ref().map(ToString::to_string),
        reason: transition.reason.clone(),
        actor: stamp.by.clone(),
        evidence: evidence(transition),
        waived: transition.waive.clone(),
        confirmed: transition.confirm.as_ref().map(|(artifact, _)| artifact.clone()),
        action: transition.action.clone(),
        performance: stamp.performance.clone(),
    }
}

/// The files that a transition rests on, without duplicates even if several artifacts share a file.
fn evidence(transition: &Transition) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (path, digest) in transition.evidence.iter().flat_map(|evidence| &evidence.files) {
        if files.iter().all(|(known, _)| known != path) {
            files.push((path.clone(), digest.to_string()));
        }
    }
    files
}

/// Where within `phase` a task with this state stands; `None` if the phase does not say, or it cannot be computed.
fn substate(workflow: &Workflow, state: &State, facts: &Facts, phase: &PhaseId) -> Option<Value> {
    let guard = workflow.phase(phase)?.substate.as_ref()?;
    let seen = look(workflow, state, phase, facts);
    let scope = TaskScope::new(workflow, &seen, state, phase, state.attempt(phase).max(1), &facts.task);
    guard.value(&scope).ok()
}

/// Records the digests of the code when a phase that changes code is entered.
fn note_code(workflow: &Workflow, facts: &Facts, to: &PhaseId, next: &mut State) {
    let made = workflow.phase(to).map(|phase| phase.produces.as_slice()).unwrap_or_default();
    for artifact in made {
        if let Some(digest) = facts.tree_digest(artifact) {
            actor(next, to).entered_with.insert(artifact.clone(), Some(digest));
        }
    }
}

/// Removes a digest from the used-up ones. If the digest is the code as it was on entering its phase, that
/// record goes as well, because the code no longer differs from it.
fn confirm(workflow: &Workflow, transition: &Transition, next: &mut State) {
    let Some((artifact, digest)) = &transition.confirm else { return };
    for phase in workflow.producers(artifact) {
        if let Some(actor) = next.actors.get_mut(phase.id.as_str())
            && let Some(spent) = actor.spent.get_mut(artifact)
        {
            spent.retain(|other| other != digest);
            if spent.is_empty() {
                actor.spent.remove(artifact);
            }
        }
    }
    let is_code = workflow.artifact(artifact).is_some_and(|artifact| artifact.tree.is_some());
    for phase in workflow.producers(artifact).filter(|_| is_code) {
        if let Some(actor) = next.actors.get_mut(phase.id.as_str())
            && let Some(entered_with) = actor.entered_with.get_mut(artifact)
            && *entered_with == Some(*digest)
        {
            *entered_with = None;
        }
    }
}

/// Updates the counters for a step that stays in its phase.
fn stay(transition: &Transition, seq: u64, stamp: &Stamp, next: &mut State) {
    let run = &mut next.run;
    if let Some(Change::Mode(mode)) = transition.change {
        run.mode = Some(mode);
    }
    let Some(action) = &transition.action else { return };
    if transition.kind == Kind::Answer {
        run.chosen = Some(action.clone());
        return;
    }
    let tally = run.actions.entry(action.clone()).or_default();
    match transition.kind {
        Kind::Run => tally.done = tally.done.saturating_add(1),
        Kind::Skip => {
            tally.skipped = true;
            run.errors = run.errors.saturating_add(1);
            let mut error = json!({
                "seq": seq,
                "at": stamp.at.to_string(),
                "action": action.as_str(),
                "message": transition.reason,
            });
            if let (Some(Change::Failed(trace)), Some(members)) = (&transition.change, error.as_object_mut())
                && let Ok(Value::Object(cause)) = serde_json::to_value(trace)
            {
                members.extend(cause);
            }
            next.errors.push(error);
            let surplus = next.errors.len().saturating_sub(ERRORS_WINDOW);
            next.errors.drain(..surplus);
        }
        _ => return,
    }
    run.chosen = run.chosen.take().filter(|chosen| chosen != action);
}

fn step(
    workflow: &Workflow,
    from: &PhaseId,
    transition: &Transition,
    seen: &[SeenArtifact<'_>],
    seq: u64,
    next: &mut State,
) {
    let to = &transition.to;
    let (Some(start), Some(end)) = (workflow.position(from), workflow.position(to)) else { return };
    // A terminal phase need not be the last in the document, but leaving it always uses up evidence.
    let is_back = end <= start || transition.kind == Kind::Reopen;
    if is_back {
        backward(workflow, start, end, transition.kind, seen, next);
        actor(next, from).status = ActorStatus::SentBack;
    } else {
        forward(workflow, start, end, seen, next);
    }
    if transition.kind == Kind::Reopen {
        // Only a person reopens a task, and expects that it is tried again.
        next.run.errors = 0;
    }
    // Given-up actions may be tried again; their counters stay.
    next.run.actions.values_mut().for_each(|tally| tally.skipped = false);
    next.run.chosen = None;
    let target = actor(next, to);
    target.status = ActorStatus::Active;
    target.attempt = target.attempt.saturating_add(1);
    let ready = |artifact: &ArtifactName| {
        seen.iter().any(|seen| seen.derived.name == *artifact && seen.derived.ready())
    };
    let undone = |artifact: &ArtifactName| {
        is_back && workflow.producers(artifact).any(|phase| workflow.position(&phase.id) >= Some(end))
    };
    next.waived.retain(|artifact, _| !ready(artifact) && !undone(artifact));
    for artifact in &transition.waive {
        next.waived.insert(artifact.clone(), seq);
    }
}

/// Records the outputs of the phase that is left, and of every phase jumped over.
fn forward(workflow: &Workflow, start: usize, end: usize, seen: &[SeenArtifact<'_>], next: &mut State) {
    for (position, phase) in workflow.phases.iter().enumerate().take(end).skip(start) {
        let left_with =
            phase.produces.iter().map(|artifact| (artifact.clone(), present(seen, artifact))).collect();
        let left = actor(next, &phase.id);
        left.left_with = left_with;
        left.status = if position == start { ActorStatus::Done } else { ActorStatus::Skipped };
    }
    let target = actor(next, &workflow.phases[end].id);
    target.left_with.clear();
    target.entered_with.clear();
}

/// Uses up the outputs of the target and of every later phase, and drops their records.
fn backward(
    workflow: &Workflow,
    start: usize,
    end: usize,
    kind: Kind,
    seen: &[SeenArtifact<'_>],
    next: &mut State,
) {
    let by_person = matches!(kind, Kind::Rollback | Kind::Reopen);
    for (position, phase) in workflow.phases.iter().enumerate().skip(end) {
        for artifact in &phase.produces {
            let left_with =
                next.actor(&phase.id).and_then(|actor| actor.left_with.get(artifact).copied().flatten());
            let now = present(seen, artifact);
            let judged = if position < start { left_with.or(now) } else { now };
            // The present code becomes the code with which the target is entered, so it is no longer a
            // change.
            let is_code =
                seen.iter().any(|seen| seen.derived.name == *artifact && seen.derived.tree.is_some());
            let used: [Option<Digest>; 2] =
                if by_person || is_code { [left_with, now] } else { [judged, None] };
            for digest in used.into_iter().flatten() {
                let spent = actor(next, &phase.id).spent.entry(artifact.clone()).or_default();
                if !spent.contains(&digest) {
                    spent.push(digest);
                }
            }
        }
        if let Some(actor) = next.actors.get_mut(phase.id.as_str()) {
            actor.left_with.clear();
            actor.entered_with.clear();
            if position > end {
                actor.substate = None;
            }
            actor.status = ActorStatus::SentBack;
        }
    }
    let target = &workflow.phases[end];
    let entered_with = target.needs.iter().map(|need| (need.clone(), present(seen, need))).collect();
    actor(next, &target.id).entered_with = entered_with;
}

fn actor<'s>(state: &'s mut State, phase: &PhaseId) -> &'s mut Actor {
    state.actors.entry(phase.to_string()).or_default()
}

fn present(seen: &[SeenArtifact<'_>], artifact: &ArtifactName) -> Option<Digest> {
    seen.iter().find(|seen| seen.derived.name == *artifact)?.derived.digest
}
