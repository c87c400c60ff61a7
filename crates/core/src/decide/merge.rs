//! Merging: joins the states of one task on two branches into one, independent of who merges.
//!
//! Neither side is picked. The task is in the phase of the side that is less far, and everything that either
//! side used up stays used up; then the rules evaluate the merged artifacts. So a verdict that was sent back
//! on one branch never returns through a merge, and whatever both sides changed is reviewed again.

use super::lost::{add_confirmed, is_confirmed, keep_confirmed};
use super::rules::join as listed;
use super::{
    Actor, ActorStatus, Approving, ERRORS_WINDOW, HistoryEntry, Holder, Kind, Lapsed, LostTests,
    NotedFiles, RecordVersion, Relations, RunRecord, Stamp, State, Tally, Transition, Verified,
    WorkflowRef, document, history_value,
};
use crate::workflow::{Phase, Workflow};
use orch_base::{
    ActionName, ArtifactName, Code, Digest, Error, PhaseId, TaskId, Timestamp, VerificationName,
    WorkflowName,
};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why two states cannot be joined; a person has to choose one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// Both sides are finished, but not on the same evidence.
    #[error("both sides are finished (`{ours}` and `{theirs}`), on different evidence")]
    Finished {
        /// The terminal phase of one side.
        ours: PhaseId,
        /// The terminal phase of the other side.
        theirs: PhaseId,
    },
    /// The sides follow different workflows.
    #[error("the two sides follow different workflows")]
    Workflows,
    /// A side is in a phase that the workflow does not have.
    #[error("one side is in `{phase}`, which is not a phase of the workflow")]
    UnknownPhase {
        /// The phase that this side names.
        phase: String,
    },
    /// A side was written by another tool, so the rules of merging do not apply.
    #[error("one side of the state was written by another tool")]
    Foreign,
    /// The sides are tasks that were created independently under the same id.
    #[error("tasks were created independently under this id: {}", listed(tasks))]
    SeveralTasks {
        /// Each of them in words.
        tasks: Vec<String>,
    },
}

impl Conflict {
    /// The code for an error about this conflict.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Finished { .. } => Code::BothFinished,
            Self::Workflows => Code::OtherWorkflow,
            Self::UnknownPhase { .. } => Code::UnknownPhase,
            Self::Foreign => Code::ForeignState,
            Self::SeveralTasks { .. } => Code::CreatedTwice,
        }
    }
}

/// The command that gives one of two tasks in one record an id of its own. `flag` says which.
#[must_use]
pub fn rename_side(task: &TaskId, flag: &str) -> [String; 5] {
    ["orch", "resolve", task.as_str(), flag, &format!("{task}-2")].map(str::to_owned)
}

/// The joined state of a task that two branches moved independently.
///
/// `base` is the state at the last common event, or `None` if there is none. The order of the sides does not
/// matter. Nothing is recorded: the next event follows both sides. The log determines the heads, and the
/// order of history entries with equal times.
///
/// # Errors
///
/// The rules of merging cannot join the sides, so a person has to choose one.
pub fn join(
    workflow: &Workflow,
    base: Option<&State>,
    one: &State,
    another: &State,
) -> Result<State, Conflict> {
    let [lead, other] = sides(workflow, one, another)?;
    let own_names = base.map(|base| base.under_own_names(workflow));
    Ok(Merging {
        workflow,
        base: own_names.as_deref(),
        lead: &lead,
        other: &other,
    }
    .joined())
}

/// Both sides, the one that is less far first.
fn sides<'s>(
    workflow: &'s Workflow,
    one: &'s State,
    another: &'s State,
) -> Result<[MergeInput<'s>; 2], Conflict> {
    if one.foreign || another.foreign {
        return Err(Conflict::Foreign);
    }
    if workflow_of(workflow, one) != workflow_of(workflow, another) {
        return Err(Conflict::Workflows);
    }
    let one = MergeInput::new(workflow, one)?;
    let another = MergeInput::new(workflow, another)?;
    if one.phase.terminal && another.phase.terminal && !one.rests_on_the_same_as(&another) {
        return Err(Conflict::Finished {
            ours: one.phase.id.clone(),
            theirs: another.phase.id.clone(),
        });
    }
    Ok(in_order(one, another))
}

/// The workflow that a side names, which may be as its document was called before.
fn workflow_of<'w>(workflow: &'w Workflow, state: &'w State) -> Option<&'w WorkflowName> {
    let name = &state.workflow.as_ref()?.name;
    if workflow.is_named(name.as_str()) {
        Some(&workflow.name)
    } else {
        Some(name)
    }
}

/// The refusal of a side that cannot be chosen.
fn refused(conflict: Conflict) -> Error {
    Error::new(conflict.code(), conflict.to_string())
        .with_hint("choose the other side, or repair this one first")
}

/// The state after a person chose one side; the history entry names that person.
///
/// Everything that the other side used up stays used up, who wrote its files stays known, and its history is kept. Returns
/// an error if the reason is empty or the chosen side cannot be used.
pub fn choose(
    workflow: &Workflow,
    chosen: &State,
    other: &State,
    reason: &str,
    stamp: &Stamp,
) -> Result<State, Error> {
    let reason = super::order::given(reason)?;
    if chosen.foreign {
        return Err(refused(Conflict::Foreign));
    }
    let side = MergeInput::new(workflow, chosen).map_err(refused)?;
    let left = MergeInput::new(workflow, other)
        .map_or_else(|_| side.phase.id.clone(), |side| side.phase.id.clone());
    let mut state = side.state.into_owned();
    for (name, actor) in &other.under_own_names(workflow).actors {
        if let Some(own) = state.actors.get_mut(name) {
            // What people said in an earlier attempt is used up.
            if own.attempt < actor.attempt {
                own.approvals.clear();
                own.lapsed.clear();
            }
            own.take_over(actor.clone());
        } else if !actor.spent.is_empty() || !actor.early.is_empty() || !actor.writers.is_empty() {
            let mut taken = Actor {
                status: ActorStatus::SentBack,
                ..Actor::default()
            };
            taken.take_over(actor.clone());
            state.actors.insert(name.clone(), taken);
        }
    }
    let rev = chosen.rev.max(other.rev).saturating_add(1);
    let entry = HistoryEntry {
        version: stamp.version,
        seq: rev,
        at: stamp.at,
        from: Some(left),
        to: side.phase.id.clone(),
        kind: Kind::Merge,
        rule: None,
        reason: reason.to_owned(),
        actor: stamp.by.clone(),
        evidence: Vec::new(),
        waived: Vec::new(),
        files: NotedFiles::new(),
        inputs: None,
        rests_on: Vec::new(),
        base: None,
        confirmed: None,
        lost: LostTests::new(),
        action: None,
        performance: None,
        detail: None,
        generation: None,
        others: Vec::new(),
    };
    let mut history = join_histories(chosen.history.iter().chain(&other.history));
    history.push(entry.into());
    state.run.errors = state.run.errors.max(other.run.errors);
    state.former = former(&state, other);
    state.holder = last_holder(&state, other).cloned();
    let mut state = State {
        rev,
        phase: Some(side.phase.id.to_string()),
        workflow: Some(WorkflowRef {
            name: workflow.name.clone(),
            digest: workflow.digest,
        }),
        history,
        updated_at: Some(stamp.at),
        ..state
    };
    state.keep_latest();
    Ok(state)
}

/// The transition by which a person's choice of a side is committed.
#[must_use]
pub fn merging(workflow: &Workflow, state: &State) -> Transition {
    let named = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name));
    let here = named.map_or(&workflow.initial, |phase| &phase.id);
    let last = state.history.last();
    let from = last.map_or_else(|| Some(here.clone()), |entry| entry.from.clone());
    let reason = last.map_or("", |entry| &entry.reason);
    Transition {
        by_human: true,
        ..Transition::new(from, here.clone(), Kind::Merge, reason)
    }
}

/// The histories of two sides as one, without duplicates.
///
/// The order is consistent with either side and independent of their order.
fn join_histories<'e>(
    entries: impl IntoIterator<Item = &'e Arc<HistoryEntry>>,
) -> Vec<Arc<HistoryEntry>> {
    let mut joined: Vec<(String, &Arc<HistoryEntry>)> = entries
        .into_iter()
        .map(|entry| (history_value(entry).to_string(), entry))
        .collect();
    joined.sort_by(|(a, left), (b, right)| (left.seq, left.at, a).cmp(&(right.seq, right.at, b)));
    joined.dedup_by(|(a, _), (b, _)| a == b);
    joined
        .into_iter()
        .map(|(_, entry)| Arc::clone(entry))
        .collect()
}

/// One of the two states, and its phase.
struct MergeInput<'s> {
    state: Cow<'s, State>,
    phase: &'s Phase,
    position: usize,
}

impl<'s> MergeInput<'s> {
    fn new(workflow: &'s Workflow, state: &'s State) -> Result<Self, Conflict> {
        let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
        let position = workflow
            .phase_named(name)
            .and_then(|phase| workflow.position(&phase.id));
        let Some(position) = position else {
            return Err(Conflict::UnknownPhase {
                phase: name.to_owned(),
            });
        };
        Ok(Self {
            state: state.under_own_names(workflow),
            phase: &workflow.phases[position],
            position,
        })
    }

    /// Whether both sides are in one phase on the same evidence: the digests of every output when it was
    /// left, and the evidence of the last step.
    fn rests_on_the_same_as(&self, other: &Self) -> bool {
        self.phase.id == other.phase.id
            && self.left_with() == other.left_with()
            && self.last_evidence() == other.last_evidence()
    }

    /// The evidence of the last step between two phases.
    fn last_evidence(&self) -> Option<&Vec<(String, String)>> {
        let mut newest = self.state.history.iter().rev();
        let moved = newest.find(|entry| entry.from.as_ref() != Some(&entry.to))?;
        Some(&moved.evidence)
    }

    /// The digests with which phases were left.
    fn left_with(&self) -> Vec<(&String, &DigestRecords)> {
        let actors = self.state.actors.iter();
        actors
            .filter(|(_, actor)| !actor.left_with.is_empty())
            .map(|(name, actor)| (name, &actor.left_with))
            .collect()
    }

    /// How far the side is; of two in one phase, the one that moved last is less far.
    fn progress(&self) -> (bool, usize, Reverse<Option<Timestamp>>) {
        let moved = Reverse(self.state.updated_at);
        (self.phase.terminal, self.position, moved)
    }

    fn text(&self) -> String {
        document(&self.state, "phase").to_string()
    }
}

/// The digests recorded when a phase was left or entered.
type DigestRecords = BTreeMap<ArtifactName, Option<Digest>>;

/// The side that is less far first; if both are in one phase, the one that moved last.
fn in_order<'s>(a: MergeInput<'s>, b: MergeInput<'s>) -> [MergeInput<'s>; 2] {
    let ordering = a.progress().cmp(&b.progress());
    match ordering.then_with(|| a.text().cmp(&b.text())) {
        Ordering::Greater => [b, a],
        Ordering::Less | Ordering::Equal => [a, b],
    }
}

/// A merge in progress. Where nothing else decides, the side that is less far does.
struct Merging<'m> {
    workflow: &'m Workflow,
    base: Option<&'m State>,
    lead: &'m MergeInput<'m>,
    other: &'m MergeInput<'m>,
}

impl Merging<'_> {
    fn joined(&self) -> State {
        let lead = &*self.lead.state;
        let other = &*self.other.state;
        let names: BTreeSet<&String> = lead.actors.keys().chain(other.actors.keys()).collect();
        let history = join_histories(lead.history.iter().chain(&other.history));
        let rev = lead.rev.max(other.rev);
        let mut state = State {
            title: {
                let base = self.base.and_then(|base| base.title.as_ref());
                three_way(base, lead.title.as_ref(), other.title.as_ref())
                    .map_or_else(|| lead.title.clone(), |title| title.cloned())
            },
            rev,
            phase: Some(self.lead.phase.id.to_string()),
            actors: names
                .into_iter()
                .map(|name| (name.clone(), self.actor(name)))
                .collect(),
            waived: self.waived(),
            history,
            errors: self.errors(),
            run: self.run(),
            relations: self.relations(),
            holder: holder(self.base, lead, other),
            former: former(lead, other),
            updated_at: lead.updated_at.max(other.updated_at),
            extra: objects(self.base.map(|base| &base.extra), &lead.extra, &other.extra),
            ..lead.clone()
        };
        state.keep_latest();
        state
    }

    fn actor(&self, name: &str) -> Actor {
        let nothing = Actor::default();
        let base = self.base.and_then(|base| base.actors.get(name));
        let own = self.lead.state.actors.get(name);
        let others = self.other.state.actors.get(name);
        let lead = own.unwrap_or(&nothing);
        let other = others.unwrap_or(&nothing);
        let mut spent = Actor {
            spent: lead.spent.clone(),
            early: lead.early.clone(),
            writers: lead.writers.clone(),
            attempt: lead.attempt,
            ..Actor::default()
        };
        spent.take_over(other.clone());
        let substate = three_way(
            base.and_then(|base| base.substate.as_ref()),
            lead.substate.as_ref(),
            other.substate.as_ref(),
        );
        Actor {
            status: self.status(name, own, others),
            attempt: spent.attempt,
            // If both sides moved on, the substate is computed again when the phase is left.
            substate: substate.flatten().cloned(),
            // If both sides changed a record, it becomes null, so any present digest is a change.
            left_with: by_artifact(
                base.map(|base| &base.left_with),
                &lead.left_with,
                &other.left_with,
                |_, _| Some(None),
            ),
            entered_with: by_artifact(
                base.map(|base| &base.entered_with),
                &lead.entered_with,
                &other.entered_with,
                |_, _| Some(None),
            ),
            // Without them, whatever is there is used up when the task is sent back.
            left_files: by_artifact(
                base.map(|base| &base.left_files),
                &lead.left_files,
                &other.left_files,
                |_, _| None,
            ),
            // Without it, an approval would be held against nothing.
            judged: by_artifact(
                base.map(|base| &base.judged),
                &lead.judged,
                &other.judged,
                |own, others| own.or(others).cloned(),
            ),
            spent: spent.spent,
            early: spent.early,
            approvals: approvals(base, lead, other),
            lapsed: lapsed(lead, other),
            writers: spent.writers,
            extra: objects(base.map(|base| &base.extra), &lead.extra, &other.extra),
        }
    }

    /// The status that follows from the phase of the joined state.
    fn status(&self, name: &str, lead: Option<&Actor>, other: Option<&Actor>) -> ActorStatus {
        let recorded: Vec<&ActorStatus> = [lead, other]
            .into_iter()
            .flatten()
            .map(|actor| &actor.status)
            .filter(|status| **status != ActorStatus::Active)
            .collect();
        let position = self
            .workflow
            .phases
            .iter()
            .position(|phase| phase.id.as_str() == name);
        match position.map(|position| position.cmp(&self.lead.position)) {
            Some(Ordering::Equal) => ActorStatus::Active,
            Some(Ordering::Less) if recorded.contains(&&ActorStatus::Done) => ActorStatus::Done,
            Some(Ordering::Less) if recorded.contains(&&ActorStatus::Skipped) => {
                ActorStatus::Skipped
            }
            Some(Ordering::Greater) if recorded.windows(2).all(|pair| pair[0] == pair[1]) => {
                recorded
                    .first()
                    .map_or(ActorStatus::SentBack, |status| (*status).clone())
            }
            Some(Ordering::Greater) => ActorStatus::SentBack,
            Some(Ordering::Less) | None => recorded
                .first()
                .map_or(ActorStatus::SentBack, |status| (*status).clone()),
        }
    }

    /// The artifacts that either side waived, unless the other side has dropped the waiver since.
    fn waived(&self) -> BTreeMap<ArtifactName, u64> {
        let lead = &self.lead.state.waived;
        let other = &self.other.state.waived;
        let mut waived = BTreeMap::new();
        for (name, seq) in lead.iter().chain(other) {
            let was = self.base.is_some_and(|base| base.waived.contains_key(name));
            if was && !(lead.contains_key(name) && other.contains_key(name)) {
                continue;
            }
            let known = waived.entry(name.clone()).or_insert(*seq);
            *known = (*known).max(*seq);
        }
        waived
    }

    /// The counters of both sides, each failure and each result counted once; nothing is refunded.
    fn run(&self) -> RunRecord {
        let lead = &self.lead.state.run;
        let other = &self.other.state.run;
        let base = self.base.map(|base| base.run.clone()).unwrap_or_default();
        let names: BTreeSet<&ActionName> =
            lead.actions.keys().chain(other.actions.keys()).collect();
        let mut actions = BTreeMap::new();
        for name in names {
            let lead = tally(lead, name);
            let other = tally(other, name);
            let joined = Tally {
                done: added(lead.done, other.done, tally(&base, name).done),
                skipped: lead.skipped || other.skipped,
            };
            actions.insert(name.clone(), joined);
        }
        RunRecord {
            mode: lead.mode.or(other.mode),
            errors: added(lead.errors, other.errors, base.errors),
            chosen: lead.chosen.clone(),
            actions,
            verified: verified(&base, lead, other),
            confirmed_lost: confirmed_lost(&base, lead, other),
        }
    }

    /// The relations of both sides: what either side added or took away counts. If there are two values for one
    /// thing, the one of the side that is less far does.
    fn relations(&self) -> Relations {
        let lead = &self.lead.state.relations;
        let other = &self.other.state.relations;
        let base = self
            .base
            .map(|base| base.relations.clone())
            .unwrap_or_default();
        let mut after = Vec::new();
        let more = other.after.iter().filter(|id| !lead.after.contains(id));
        for id in lead.after.iter().chain(more) {
            let was = base.after.contains(id);
            if !was || (lead.after.contains(id) && other.after.contains(id)) {
                after.push(id.clone());
            }
        }
        Relations {
            after,
            parent: joined(&base.parent, &lead.parent, &other.parent).clone(),
            priority: *joined(&base.priority, &lead.priority, &other.priority),
            assignee: joined(&base.assignee, &lead.assignee, &other.assignee).clone(),
        }
    }

    fn errors(&self) -> Vec<Value> {
        let mut errors = self.lead.state.errors.clone();
        for error in &self.other.state.errors {
            if !errors.contains(error) {
                errors.push(error.clone());
            }
        }
        errors.drain(..errors.len().saturating_sub(ERRORS_WINDOW));
        errors
    }
}

/// The value if at most one side differs from the base; `None` if both do and disagree.
fn three_way<T: PartialEq>(
    base: Option<T>,
    lead: Option<T>,
    other: Option<T>,
) -> Option<Option<T>> {
    if lead == other || other == base {
        return Some(lead);
    }
    (lead == base).then_some(other)
}

/// The value that one side changed; if both did, that of the side that is less far.
fn joined<'v, T: PartialEq>(base: &'v T, lead: &'v T, other: &'v T) -> &'v T {
    if lead == base { other } else { lead }
}

/// A counter to which both sides have added.
fn added(lead: u32, other: u32, base: u32) -> u32 {
    lead.saturating_add(other.saturating_sub(base)).max(other)
}

fn tally(run: &RunRecord, name: &ActionName) -> Tally {
    run.actions.get(name).copied().unwrap_or_default()
}

/// The ids that the task had on either side. The first version kept none.
fn former(one: &State, other: &State) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for side in [one, other] {
        let last = side.history.last();
        if last.is_none_or(|last| last.version <= RecordVersion::First) {
            continue;
        }
        for id in side.former_ids() {
            if !all.iter().any(|known| known == id) {
                all.push(id.to_owned());
            }
        }
    }
    all
}

/// Who holds the task: whoever took it last. If two took it at once, one of them, the same for everyone who merges.
fn holder(base: Option<&State>, lead: &State, other: &State) -> Option<Holder> {
    let base = base.and_then(|base| base.holder.as_ref());
    three_way(base, lead.holder.as_ref(), other.holder.as_ref())
        .unwrap_or_else(|| last_holder(lead, other))
        .cloned()
}

fn last_holder<'s>(one: &'s State, other: &'s State) -> Option<&'s Holder> {
    one.holder
        .iter()
        .chain(&other.holder)
        .max_by_key(|holder| (holder.generation, &holder.owner))
}

/// What people said on both sides, each the last time. What either side used up stays used up, and of two attempts only the
/// later one counts.
fn approvals(base: Option<&Actor>, lead: &Actor, other: &Actor) -> Vec<Approving> {
    match lead.attempt.cmp(&other.attempt) {
        Ordering::Greater => return lead.approvals.clone(),
        Ordering::Less => return other.approvals.clone(),
        Ordering::Equal => {}
    }
    // What was said in an earlier attempt is used up.
    let base = base.filter(|base| base.attempt == lead.attempt);
    let persons: BTreeSet<&String> = lead
        .approvals
        .iter()
        .chain(&other.approvals)
        .map(|said| &said.person)
        .collect();
    let mut all: Vec<Approving> = Vec::new();
    for person in persons {
        let was = base.and_then(|base| said_by(base, person));
        let own = said_by(lead, person);
        let others = said_by(other, person);
        let said = match three_way(was, own, others) {
            Some(said) => said,
            None => last_said(own, others),
        };
        all.extend(said.cloned());
    }
    all.sort_by(|a, b| (a.seq, &a.person).cmp(&(b.seq, &b.person)));
    all
}

/// The deadlines that passed on either side, in the latest attempt.
fn lapsed(lead: &Actor, other: &Actor) -> BTreeMap<String, Lapsed> {
    let attempt = lead.attempt.max(other.attempt);
    let mut all = BTreeMap::new();
    for (deadline, lapse) in lead
        .lapsed
        .iter()
        .chain(&other.lapsed)
        .filter(|(_, one)| one.attempt == attempt)
    {
        let known = all.entry(deadline.clone()).or_insert(*lapse);
        known.at = known.at.min(lapse.at);
    }
    all
}

fn said_by<'a>(actor: &'a Actor, person: &str) -> Option<&'a Approving> {
    actor.approvals.iter().find(|said| said.person == person)
}

/// What a person who spoke on both sides said last.
fn last_said<'a>(
    own: Option<&'a Approving>,
    others: Option<&'a Approving>,
) -> Option<&'a Approving> {
    let own = own?;
    let others = others?;
    let is_later = (others.seq, others.ruling, &others.on) > (own.seq, own.ruling, &own.on);
    Some(if is_later { others } else { own })
}

/// The last result of each verification on either side.
fn verified(
    base: &RunRecord,
    lead: &RunRecord,
    other: &RunRecord,
) -> BTreeMap<VerificationName, Verified> {
    let names: BTreeSet<&VerificationName> =
        lead.verified.keys().chain(other.verified.keys()).collect();
    let mut verified = BTreeMap::new();
    for name in names {
        let own = lead.verified.get(name);
        let others = other.verified.get(name);
        let last = three_way(base.verified.get(name), own, others).unwrap_or_else(|| {
            let both = own.into_iter().chain(others);
            both.max_by_key(|run| (run.seq, run.result.to_string()))
        });
        if let Some(last) = last {
            verified.insert(name.clone(), last.clone());
        }
    }
    verified
}

/// The lost tests that people have confirmed on either side, unless a run on the other side has seen them again.
fn confirmed_lost(base: &RunRecord, lead: &RunRecord, other: &RunRecord) -> LostTests {
    let mut all = lead.confirmed_lost.clone();
    add_confirmed(&mut all, &other.confirmed_lost);
    keep_confirmed(&mut all, |name, test| {
        let is_in = |run: &RunRecord| is_confirmed(&run.confirmed_lost, name, test);
        !is_in(base) || (is_in(lead) && is_in(other))
    });
    all
}

/// What both sides recorded of each artifact. If both changed it, `both` says what is kept.
fn by_artifact<V: Clone + PartialEq>(
    base: Option<&BTreeMap<ArtifactName, V>>,
    lead: &BTreeMap<ArtifactName, V>,
    other: &BTreeMap<ArtifactName, V>,
    both: impl Fn(Option<&V>, Option<&V>) -> Option<V>,
) -> BTreeMap<ArtifactName, V> {
    let names: BTreeSet<&ArtifactName> = lead.keys().chain(other.keys()).collect();
    let mut all = BTreeMap::new();
    for name in names {
        let own = lead.get(name);
        let others = other.get(name);
        let base = base.and_then(|base| base.get(name));
        let joined = match three_way(base, own, others) {
            Some(record) => record.cloned(),
            None => both(own, others),
        };
        if let Some(joined) = joined {
            all.insert(name.clone(), joined);
        }
    }
    all
}

/// Keys of the workflow or of other tools: joined three-way, also inside objects.
fn objects(
    base: Option<&Map<String, Value>>,
    lead: &Map<String, Value>,
    other: &Map<String, Value>,
) -> Map<String, Value> {
    let more = other.keys().filter(|key| !lead.contains_key(*key));
    let mut all = Map::new();
    for key in lead.keys().chain(more) {
        let base = base.and_then(|base| base.get(key));
        let own = lead.get(key);
        let others = other.get(key);
        let joined = match (three_way(base, own, others), own, others) {
            (Some(value), ..) => value.cloned(),
            (None, Some(own), Some(others)) => Some(both_changed(base, own, others)),
            (None, one, another) => one.or(another).cloned(),
        };
        if let Some(joined) = joined {
            all.insert(key.clone(), joined);
        }
    }
    all
}

/// Numbers are counters, so the larger one wins; otherwise the side that is less far does.
fn both_changed(base: Option<&Value>, lead: &Value, other: &Value) -> Value {
    match (lead, other) {
        (Value::Object(lead), Value::Object(other)) => {
            Value::Object(objects(base.and_then(Value::as_object), lead, other))
        }
        (Value::Number(a), Value::Number(b)) => {
            let larger = match (a.as_i64(), b.as_i64()) {
                (Some(a), Some(b)) => b > a,
                _ => b.as_f64() > a.as_f64(),
            };
            if larger { other.clone() } else { lead.clone() }
        }
        _ => lead.clone(),
    }
}
