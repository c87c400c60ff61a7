//! Applies a transition: computes the next state from the state before and the facts.

use super::data::{bound, set_pointer};
use super::derive::{SeenArtifact, look, seen_of};
use super::lost::{add_confirmed, is_confirmed, keep_confirmed};
use super::scope::TaskScope;
use super::standing::{is_noted_early, is_spent};
use super::writer::{NewWriters, keep_writers, new_writers};
use super::{
    Actor, ActorKind, ActorStatus, Approving, By, Change, Detail, ERRORS_WINDOW, Facts, FileWriter,
    HistoryEntry, Kind, Lapsed, NamedVersion, NotedFile, NotedFiles, OtherTask, Performance,
    RecordVersion, RunRecord, State, Transition, Verified, WorkflowRef,
};
use crate::workflow::{Artifact, Workflow, is_repository_name};
use orch_base::{ArtifactName, Digest, PhaseId, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Who applies a transition, and when. The core has no clock of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The time of the step.
    pub at: Timestamp,
    /// The actor of the step.
    pub by: By,
    /// How an executor performed the action, for a step that records one.
    pub performance: Option<Box<Performance>>,
    /// The version of the rules of recording.
    pub version: RecordVersion,
    /// Under which take-over of the task the step is made, if the task was taken.
    pub generation: Option<u64>,
    /// Other tasks that the decision rests on.
    pub others: Vec<OtherTask>,
    /// The email address of the person who gives an order, if it is known. It is not recorded with the step, but with
    /// what the person writes.
    pub address: Option<String>,
}

impl Stamp {
    /// The stamp of a step that no executor performed.
    #[must_use]
    pub fn new(at: Timestamp, by: By) -> Self {
        let version = RecordVersion::CURRENT;
        Self {
            at,
            by,
            performance: None,
            version,
            generation: None,
            others: Vec::new(),
            address: None,
        }
    }

    /// The stamp with which a step was recorded, apart from how an action was performed.
    #[must_use]
    pub fn of(entry: &HistoryEntry) -> Self {
        Self {
            version: entry.version,
            generation: entry.generation,
            others: entry.others.clone(),
            ..Self::new(entry.at, entry.actor.clone())
        }
    }

    /// Who writes what is written with this stamp.
    #[must_use]
    pub fn writer(&self) -> FileWriter {
        let By { kind, name } = &self.by;
        match self.address.as_ref().filter(|_| *kind == ActorKind::Human) {
            Some(address) => FileWriter::new(*kind, format!("{name} <{address}>")),
            None => FileWriter::new(*kind, name.as_str()),
        }
    }

    /// A stamp for steps that are only simulated and never recorded.
    #[must_use]
    pub fn of_no_record() -> Self {
        Self::new(
            Timestamp::from_seconds(0),
            By {
                kind: ActorKind::Orch,
                name: "orch".to_owned(),
            },
        )
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
    state.actors.insert(
        workflow.initial.to_string(),
        Actor {
            attempt: 1,
            ..Actor::default()
        },
    );
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
    let mut early = Vec::new();
    let looks_at_files = transition.kind.looks_at_files();
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
            Kind::Confirm => {
                confirm(workflow, transition, &mut next);
                add_confirmed(&mut next.run.confirmed_lost, &transition.lost);
            }
            kind if kind.stays() => stay(transition, seq, stamp, &mut next),
            _ => {
                let stepping = Stepping {
                    workflow,
                    version: facts.version,
                    seen: &seen,
                };
                step(&stepping, from, transition, seq, &mut next);
                early = note_early(workflow, facts, state, &mut next);
            }
        }
    }
    if looks_at_files && transition.kind != Kind::Confirm {
        note_code(workflow, facts, &transition.to, &mut next);
    }
    for (key, value) in &workflow.state.defaults {
        next.extra
            .entry(key.clone())
            .or_insert_with(|| value.clone());
    }
    if let Some(Change::Data(data)) = &transition.change {
        next.extra.clone_from(data);
    }
    for (pointer, value) in &transition.set {
        set_pointer(&mut next.extra, pointer, value.clone());
    }
    bound(&workflow.state, &mut next.extra);
    if let Some(detail) = transition.detail.as_deref() {
        record_detail(workflow, detail, transition, seq, &mut next);
    }
    // What branches are joined to rests on no file either.
    let sees_files = looks_at_files && transition.kind != Kind::Merge;
    let writers = if sees_files {
        new_writers(workflow, facts, state)
    } else {
        Vec::new()
    };
    keep_writers(workflow, facts, &writers, &mut next);
    let files = match stamp.version {
        RecordVersion::First => NotedFiles::new(),
        RecordVersion::Second | RecordVersion::Third | RecordVersion::Fourth => {
            noted_files(facts, &writers, &early)
        }
    };
    let inputs = if sees_files {
        facts.inputs.digest
    } else {
        None
    };
    let inputs = inputs.filter(|_| stamp.version > RecordVersion::First);
    // The history soon forgets the renames.
    if stamp.version > RecordVersion::First {
        next.former = state.former_ids().map(str::to_owned).collect();
    }
    let others = facts.others.recorded(workflow, state, transition, stamp);
    next.history.push(
        HistoryEntry {
            inputs,
            others,
            ..entry(transition, seq, stamp, files)
        }
        .into(),
    );
    next.rev = seq;
    next.foreign = false;
    next.original = None;
    next.task = Some(facts.task.to_string());
    next.workflow = Some(WorkflowRef {
        name: workflow.name.clone(),
        digest: workflow.digest,
    });
    next.phase = Some(transition.to.to_string());
    next.keep_latest();
    next.updated_at = Some(stamp.at);
    // A substate of the phase in which the task stays, or to which it returns, may rest on evidence that this
    // step has used up or accepted again.
    let is_shown = next
        .actor(&transition.to)
        .is_some_and(|actor| actor.substate.is_some());
    if looks_at_files && is_shown {
        let substate = substate(workflow, &next, facts, &transition.to);
        actor(&mut next, &transition.to).substate = substate;
    }
    next
}

/// The state before an order, with the history of the current one, and with what is not work on the task: its relations,
/// who holds it, what was verified, and the deadlines that passed in attempts that continue.
fn taken_back(workflow: &Workflow, state: &State, before: &State) -> State {
    let mut before = before.under_own_names(workflow).into_owned();
    for (phase, actor) in &mut before.actors {
        if let Some(now) = state
            .actors
            .get(phase)
            .filter(|now| now.attempt == actor.attempt)
        {
            actor.lapsed.clone_from(&now.lapsed);
        }
    }
    let verified = state.run.verified.clone();
    // What ran again since counts as lost once more.
    let mut confirmed_lost = before.run.confirmed_lost.clone();
    keep_confirmed(&mut confirmed_lost, |name, test| {
        is_confirmed(&state.run.confirmed_lost, name, test)
    });
    State {
        title: state.title.clone(),
        history: state.history.clone(),
        entered: state.entered.clone(),
        heads: state.heads.clone(),
        relations: state.relations.clone(),
        holder: state.holder.clone(),
        run: RunRecord {
            verified,
            confirmed_lost,
            ..before.run
        },
        ..before
    }
}

/// Records what a step of some kinds says beside its move.
fn record_detail(
    workflow: &Workflow,
    detail: &Detail,
    transition: &Transition,
    seq: u64,
    next: &mut State,
) {
    match detail {
        Detail::Verify(run) => {
            let code = run.code;
            let table = run.table;
            let rules = run.rules;
            let outcome = run.result.outcome;
            let result = run.result.digest;
            let verified = Verified {
                seq,
                code,
                table,
                rules,
                outcome,
                result,
            };
            next.run.verified.insert(run.name.clone(), verified);
            keep_confirmed(&mut next.run.confirmed_lost, |name, test| {
                *name != run.name || !run.returned.contains(test)
            });
        }
        Detail::Approve(said) => {
            // The file that says the same is not part of what it rests on.
            let own = said.path(&transition.to);
            let judged = transition
                .evidence
                .iter()
                .filter(|one| one.files.iter().all(|(path, _)| *path != own));
            let on = judged
                .map(|one| (one.artifact.clone(), one.digest))
                .collect();
            let approvals = &mut actor(next, &transition.to).approvals;
            approvals.retain(|known| !known.person.eq_ignore_ascii_case(&said.person));
            approvals.push(Approving {
                person: said.person.clone(),
                ruling: said.ruling,
                seq,
                on,
            });
        }
        Detail::Relate(relations) => next.relations.clone_from(relations),
        Detail::Take(holder) => next.holder = Some(holder.clone()),
        Detail::Lapse(lapse) => {
            let lapsed = Lapsed {
                attempt: lapse.attempt,
                at: lapse.at,
            };
            actor(next, &transition.to)
                .lapsed
                .insert(lapse.deadline.clone(), lapsed);
        }
        Detail::Migrate(_) => {
            if let Some(from) = &transition.from {
                go_on(workflow, from, &transition.to, next);
            }
        }
    }
}

/// Moves the record of a phase that the workflow has no more to that in which the task goes on: what was used up stays used
/// up, and what was left and approved there and later counts no more. A phase that the workflow has keeps its record.
fn go_on(workflow: &Workflow, from: &PhaseId, to: &PhaseId, next: &mut State) {
    if workflow.phase_named(from.as_str()).is_some() {
        return;
    }
    let start = workflow.position(to);
    let later = workflow.phases.iter().skip(start.unwrap_or_default());
    for phase in later {
        let Some(actor) = next.actors.get_mut(phase.id.as_str()) else {
            continue;
        };
        actor.left_with.clear();
        actor.left_files.clear();
        actor.judged.clear();
        actor.entered_with.clear();
        actor.approvals.clear();
        actor.lapsed.clear();
        actor.status = ActorStatus::SentBack;
    }
    let former = next.actors.remove(from.as_str());
    let target = actor(next, to);
    let attempt = target.attempt.saturating_add(1);
    if let Some(former) = former {
        target.take_over(former);
    }
    target.attempt = attempt;
    target.status = ActorStatus::Active;
}

fn entry(transition: &Transition, seq: u64, stamp: &Stamp, files: NotedFiles) -> HistoryEntry {
    HistoryEntry {
        version: stamp.version,
        seq,
        at: stamp.at,
        from: transition.from.clone(),
        to: transition.to.clone(),
        kind: transition.kind,
        rule: transition.rule.as_ref().map(ToString::to_string),
        reason: transition.reason.clone(),
        actor: stamp.by.clone(),
        evidence: evidence(transition),
        files,
        inputs: None,
        rests_on: transition.rests_on.clone(),
        base: transition.base.clone(),
        waived: transition.waive.clone(),
        confirmed: transition
            .confirm
            .as_ref()
            .map(|(artifact, _)| artifact.clone()),
        lost: transition.lost.clone(),
        action: transition.action.clone(),
        performance: stamp.performance.clone(),
        detail: transition.detail.clone(),
        generation: stamp.generation,
        others: stamp.others.clone(),
    }
}

/// The files that a transition rests on, without duplicates even if several artifacts share a file.
fn evidence(transition: &Transition) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for (path, digest) in transition
        .evidence
        .iter()
        .flat_map(|evidence| &evidence.files)
    {
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
    let scope = TaskScope::new(
        workflow,
        &seen,
        state,
        phase,
        state.attempt(phase).max(1),
        facts,
    );
    guard.value(&scope).ok()
}

/// Records the digests of the code when a phase that changes code is entered.
fn note_code(workflow: &Workflow, facts: &Facts, to: &PhaseId, next: &mut State) {
    let made = workflow
        .phase(to)
        .map(|phase| phase.produces.as_slice())
        .unwrap_or_default();
    for artifact in made {
        if let Some(digest) = facts.tree_digest(artifact) {
            actor(next, to)
                .entered_with
                .insert(artifact.clone(), Some(digest));
        }
    }
}

/// Removes digests from a list of an artifact.
fn forget(
    lists: &mut BTreeMap<ArtifactName, Vec<Digest>>,
    artifact: &ArtifactName,
    digests: &[Digest],
) {
    let Some(list) = lists.get_mut(artifact) else {
        return;
    };
    list.retain(|digest| !digests.contains(digest));
    if list.is_empty() {
        lists.remove(artifact);
    }
}

/// Removes digests from those that are used up or early. If one is the code as it was on entering its phase, that
/// record goes as well, because the code no longer differs from it.
fn confirm(workflow: &Workflow, transition: &Transition, next: &mut State) {
    let Some((artifact, confirmed)) = &transition.confirm else {
        return;
    };
    for phase in workflow.producers(artifact) {
        let Some(actor) = next.actors.get_mut(phase.id.as_str()) else {
            continue;
        };
        for digests in [&mut actor.spent, &mut actor.early] {
            forget(digests, artifact, confirmed);
        }
    }
    let is_code = workflow
        .artifact(artifact)
        .is_some_and(|artifact| artifact.tree.is_some());
    for phase in workflow.producers(artifact).filter(|_| is_code) {
        if let Some(actor) = next.actors.get_mut(phase.id.as_str())
            && let Some(entered_with) = actor.entered_with.get_mut(artifact)
            && entered_with.is_some_and(|digest| confirmed.contains(&digest))
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
    let Some(action) = &transition.action else {
        return;
    };
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
            if let (Some(Change::Failed(trace)), Some(members)) =
                (&transition.change, error.as_object_mut())
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
    stepping: &Stepping<'_>,
    from: &PhaseId,
    transition: &Transition,
    seq: u64,
    next: &mut State,
) {
    let Stepping { workflow, seen, .. } = *stepping;
    let to = &transition.to;
    let (Some(start), Some(end)) = (workflow.position(from), workflow.position(to)) else {
        return;
    };
    // A terminal phase need not be the last in the document, but leaving it always uses up evidence.
    let is_back = end <= start || transition.kind == Kind::Reopen;
    if is_back {
        backward(stepping, start, end, transition.kind, next);
        actor(next, from).status = ActorStatus::SentBack;
    } else {
        forward(stepping, start, end, next);
    }
    if transition.kind == Kind::Reopen {
        // Only a person reopens a task, and expects that it is tried again.
        next.run.errors = 0;
    }
    // Given-up actions may be tried again; their counters stay.
    next.run
        .actions
        .values_mut()
        .for_each(|tally| tally.skipped = false);
    next.run.chosen = None;
    let target = actor(next, to);
    target.approvals.clear();
    target.lapsed.clear();
    target.status = ActorStatus::Active;
    target.attempt = target.attempt.saturating_add(1);
    next.waived.retain(|artifact, _| {
        let is_ready = seen
            .iter()
            .any(|seen| seen.derived.name == *artifact && seen.derived.ready());
        let is_undone = is_back
            && workflow
                .producers(artifact)
                .any(|phase| workflow.position(&phase.id) >= Some(end));
        !is_ready && !is_undone
    });
    for artifact in &transition.waive {
        next.waived.insert(artifact.clone(), seq);
    }
}

/// Records the outputs of the phase that is left, and of every phase jumped over.
fn forward(stepping: &Stepping<'_>, start: usize, end: usize, next: &mut State) {
    let Stepping { workflow, seen, .. } = *stepping;
    for (position, phase) in workflow.phases.iter().enumerate().take(end).skip(start) {
        let left_with = phase
            .produces
            .iter()
            .map(|artifact| (artifact.clone(), present(seen, artifact)))
            .collect();
        let left_files = phase
            .produces
            .iter()
            .filter_map(|artifact| stepping.files_of_set(artifact))
            .collect();
        let judged = phase
            .produces
            .iter()
            .filter_map(|artifact| stepping.judged_by(artifact))
            .collect();
        let left = actor(next, &phase.id);
        left.left_with = left_with;
        left.left_files = left_files;
        left.judged = judged;
        left.status = if position == start {
            ActorStatus::Done
        } else {
            ActorStatus::Skipped
        };
    }
    let target = actor(next, &workflow.phases[end].id);
    target.left_with.clear();
    target.left_files.clear();
    target.judged.clear();
    target.entered_with.clear();
}

/// Uses up the outputs of the target and of every later phase, and drops their records.
fn backward(stepping: &Stepping<'_>, start: usize, end: usize, kind: Kind, next: &mut State) {
    let Stepping { workflow, seen, .. } = *stepping;
    let by_person = matches!(kind, Kind::Rollback | Kind::Reopen);
    for (position, phase) in workflow.phases.iter().enumerate().skip(end) {
        for artifact in &phase.produces {
            let left = next
                .actor(&phase.id)
                .map(|actor| stepping.left(actor, artifact))
                .unwrap_or_default();
            let now = stepping.now(artifact);
            // The present code becomes the code with which the target is entered, so it is no longer a
            // change.
            let is_code = seen
                .iter()
                .any(|seen| seen.derived.name == *artifact && seen.derived.tree.is_some());
            let used = if by_person || is_code {
                [left, now].concat()
            } else if position < start && !left.is_empty() {
                left
            } else {
                now
            };
            if used.is_empty() {
                continue;
            }
            let used_up = actor(next, &phase.id);
            let spent = used_up.spent.entry(artifact.clone()).or_default();
            for digest in &used {
                if !spent.contains(digest) {
                    spent.push(*digest);
                }
            }
            forget(&mut used_up.early, artifact, &used);
        }
        if let Some(actor) = next.actors.get_mut(phase.id.as_str()) {
            actor.left_with.clear();
            actor.left_files.clear();
            actor.judged.clear();
            actor.entered_with.clear();
            actor.approvals.clear();
            actor.lapsed.clear();
            if position > end {
                actor.substate = None;
            }
            actor.status = ActorStatus::SentBack;
        }
    }
    let target = &workflow.phases[end];
    let entered_with = target
        .needs
        .iter()
        .map(|need| (need.clone(), present(seen, need)))
        .collect();
    actor(next, &target.id).entered_with = entered_with;
}

/// What a step between phases is computed from.
#[derive(Clone, Copy)]
struct Stepping<'a> {
    workflow: &'a Workflow,
    version: RecordVersion,
    /// The artifacts as the phase that is left sees them.
    seen: &'a [SeenArtifact<'a>],
}

impl Stepping<'_> {
    fn seen_of(&self, artifact: &ArtifactName) -> Option<&SeenArtifact<'_>> {
        seen_of(self.seen, artifact)
    }

    /// The files of an artifact that may have several, by their paths.
    fn files_of_set(
        &self,
        artifact: &ArtifactName,
    ) -> Option<(ArtifactName, BTreeMap<String, Digest>)> {
        let is_glob = self
            .workflow
            .artifact(artifact)
            .is_some_and(Artifact::is_glob);
        if self.version == RecordVersion::First || !is_glob {
            return None;
        }
        let files = self
            .seen_of(artifact)?
            .files
            .iter()
            .filter(|file| !file.is_tree);
        let files: BTreeMap<String, Digest> = files
            .filter_map(|file| Some((file.path.clone(), file.digest?)))
            .collect();
        if files.is_empty() {
            None
        } else {
            Some((artifact.clone(), files))
        }
    }

    /// Whether a verdict names the current version of an artifact.
    fn is_named_as_it_is(&self, verdict: &SeenArtifact<'_>, artifact: &ArtifactName) -> bool {
        let Some(digest) = present(self.seen, artifact) else {
            return false;
        };
        verdict.derived.of.iter().any(|(name, version)| {
            let named = self.workflow.artifact_named(name);
            named.is_some_and(|named| named.name == *artifact)
                && *version == NamedVersion::Digest(digest)
        })
    }

    /// The versions that a verdict or report judged which counts, or which names all of them as they are.
    fn judged_by(
        &self,
        artifact: &ArtifactName,
    ) -> Option<(ArtifactName, BTreeMap<ArtifactName, Digest>)> {
        if self.version == RecordVersion::First {
            return None;
        }
        let declared = self.workflow.artifact(artifact)?;
        let seen = self.seen_of(artifact)?;
        let mut names: BTreeSet<&ArtifactName> = declared.judges.iter().collect();
        for name in seen.derived.of.keys() {
            names.extend(self.workflow.artifact_named(name).map(|named| &named.name));
        }
        let is_of_now = !declared.judges.is_empty()
            && names.iter().all(|name| self.is_named_as_it_is(seen, name));
        if !(seen.derived.ready() || (seen.derived.holds() && is_of_now)) {
            return None;
        }
        let judged: BTreeMap<ArtifactName, Digest> = names
            .into_iter()
            .filter(|name| *name != artifact)
            .filter_map(|name| Some((name.clone(), present(self.seen, name)?)))
            .collect();
        if judged.is_empty() {
            None
        } else {
            Some((artifact.clone(), judged))
        }
    }

    /// The digests to use up of the present files of an artifact.
    fn now(&self, artifact: &ArtifactName) -> Vec<Digest> {
        let Some(seen) = self.seen_of(artifact) else {
            return Vec::new();
        };
        match self.version {
            RecordVersion::First => seen.derived.digest.into_iter().collect(),
            RecordVersion::Second | RecordVersion::Third | RecordVersion::Fourth => {
                seen.files.iter().filter_map(|file| file.digest).collect()
            }
        }
    }

    /// The digests to use up of what a phase was left with. Of a set that the first version recorded, only the digest of
    /// all its files together is known, unless they are still there.
    fn left(&self, actor: &Actor, artifact: &ArtifactName) -> Vec<Digest> {
        let left_with = actor.left_with.get(artifact).copied().flatten();
        match actor.left_files.get(artifact) {
            Some(files) => files.values().copied().collect(),
            None if left_with.is_some() && left_with == present(self.seen, artifact) => {
                self.now(artifact)
            }
            None => left_with.into_iter().collect(),
        }
    }
}

/// Whether a step records a version of an artifact that no phase knows yet.
fn records_anew(
    workflow: &Workflow,
    before: &State,
    next: &State,
    artifact: &ArtifactName,
) -> bool {
    left_with(next, artifact).any(|digest| {
        let left = Some(&Some(digest));
        let is_recorded = before.actors.values().any(|actor| {
            actor.left_with.get(artifact) == left || actor.entered_with.get(artifact) == left
        });
        !is_recorded && !is_spent(workflow, before, artifact, digest)
    })
}

/// Notes the files that were there before what they judge was recorded by this step, each with its artifact.
///
/// A version is recorded by a step if no phase knows it yet: neither as what it was left or entered with, nor as used up.
fn note_early(
    workflow: &Workflow,
    facts: &Facts,
    before: &State,
    next: &mut State,
) -> Vec<(ArtifactName, Digest)> {
    if facts.version == RecordVersion::First {
        return Vec::new();
    }
    let mut judges = Vec::new();
    for artifact in &workflow.artifacts {
        let mut judged = artifact.judges.iter();
        if judged.any(|judged| records_anew(workflow, before, next, judged)) {
            judges.push(artifact);
        }
    }
    let mut noted = Vec::new();
    for artifact in judges {
        let Some(phase) = workflow.producers(&artifact.name).next() else {
            continue;
        };
        let files = facts.artifacts.get(&artifact.name).into_iter().flatten();
        for digest in files.filter_map(|file| file.digest) {
            let is_noted = is_noted_early(workflow, next, artifact, digest);
            if is_noted || is_spent(workflow, next, &artifact.name, digest) {
                continue;
            }
            actor(next, &phase.id)
                .early
                .entry(artifact.name.clone())
                .or_default()
                .push(digest);
            noted.push((artifact.name.clone(), digest));
        }
    }
    noted
}

/// The digests with which phases were left, of an artifact.
fn left_with<'s>(
    state: &'s State,
    artifact: &'s ArtifactName,
) -> impl Iterator<Item = Digest> + 's {
    state
        .actors
        .values()
        .filter_map(|actor| actor.left_with.get(artifact).copied().flatten())
}

/// What a step notes of files: those that it found to be early, and the writers that were not known before it.
fn noted_files(
    facts: &Facts,
    writers: &[NewWriters],
    early: &[(ArtifactName, Digest)],
) -> NotedFiles {
    let mut noted = NotedFiles::new();
    for (artifact, files) in &facts.artifacts {
        let mut found: Vec<NotedFile> = Vec::new();
        for file in files {
            let Some(digest) = file.digest else { continue };
            let early = early
                .iter()
                .any(|(name, noted)| name == artifact && *noted == digest);
            let new = writers.iter().find(|new| {
                new.artifact == *artifact && new.path == file.path && new.is_tree == file.is_tree
            });
            // Which files of the repository a step saw, its commit does not tell after a rebase.
            let is_of_repository = is_repository_name(&file.path);
            if !early && new.is_none() && !is_of_repository {
                continue;
            }
            let mut note = NotedFile {
                path: file.path.clone(),
                digest,
                early,
                writer: None,
                writers: Vec::new(),
            };
            match new.map(|new| (new.is_tree, new.writers.as_slice())) {
                Some((false, [writer])) => note.writer = Some(writer.clone()),
                Some((_, writers)) => note.writers = writers.to_vec(),
                None => {}
            }
            found.push(note);
        }
        if !found.is_empty() {
            found.sort_by(|a, b| a.path.cmp(&b.path));
            noted.insert(artifact.clone(), found);
        }
    }
    noted
}

fn actor<'s>(state: &'s mut State, phase: &PhaseId) -> &'s mut Actor {
    state.actors.entry(phase.to_string()).or_default()
}

fn present(seen: &[SeenArtifact<'_>], artifact: &ArtifactName) -> Option<Digest> {
    seen.iter()
        .find(|seen| seen.derived.name == *artifact)?
        .derived
        .digest
}
