//! Resolves a conflicted record: unites the logs and folds the state from the result.
//!
//! During a git operation both files are staged. Otherwise they are written, and only a person's choice of a
//! side is committed.

use super::TaskOutcome;
use super::advance::Advance;
use super::authority::{Authority, OrderedStep};
use super::conflicted::{Conflicts, LogSides};
use super::record_files::{RecordFiles, Records, bytes_at, log_before};
use crate::survey::{Error, Look, Reader, Sight, TaskRef, UsableWorkflow};
use orch_base::{Code, Diagnostic, Digest, Hint, Place};
use orch_core::decide::{self, Conflict, HistoryEntry, Kind, Stamp, State, Step};
use orch_core::record::{EventLog, FoldCache, FoldError, LogFault};
use orch_core::workflow::Workflow;
use orch_git::{Unmerged, resolving};
use orch_read::conflict;
use std::sync::Arc;

/// A side of a merge in git's terms: during a rebase, ours is the branch being rebased onto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeSide {
    /// The side in HEAD.
    Ours,
    /// The side being merged.
    Theirs,
}

/// The side that a person chose, against the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The side to keep.
    pub side: MergeSide,
    /// The reason, which is recorded.
    pub reason: String,
}

/// The outcome for one task.
pub enum Resolved {
    /// The record is intact again.
    Settled(Box<Settlement>),
    /// A person must choose a side.
    Disputed(Box<Dispute>),
}

/// How a record was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedBy {
    /// Only one side had moved the task.
    Moved(MergeSide),
    /// Both sides had moved it; their logs are united and their states joined.
    Merged,
    /// A person chose a side.
    Chosen(MergeSide),
    /// The log was intact; only `state.json` was out of date.
    Renewed,
}

/// A record that was resolved.
pub struct Settlement {
    /// The task after resolving.
    pub sight: Sight,
    /// How it was resolved.
    pub how: ResolvedBy,
    /// The phases of our side and of theirs.
    pub phases: [String; 2],
    /// Whether it was staged, which marks it as resolved.
    pub staged: bool,
    /// The commit that records a choice, unless a git operation is in progress.
    pub commit: Option<Digest>,
    /// The remaining conflicts: every other unmerged file of the task.
    pub left: Vec<Diagnostic>,
}

/// Two sides that no rule can join.
pub struct Dispute {
    /// The task that needs a choice.
    pub task: TaskRef,
    /// The phases of our side and of theirs.
    pub phases: [String; 2],
    /// Why they cannot be joined.
    pub conflict: Conflict,
    /// The steps of our side alone, oldest first.
    pub ours: Vec<HistoryEntry>,
    /// The steps of their side alone, oldest first.
    pub theirs: Vec<HistoryEntry>,
    /// Whether the record is staged as it is, so that the git operation in progress can continue.
    pub staged: bool,
}

/// A united log, and the heads of each side.
struct UnitedLog {
    lines: Vec<u8>,
    log: EventLog,
    /// The heads of our side, and those that our side does not have.
    sides: [Vec<Digest>; 2],
    compiled: Arc<UsableWorkflow>,
    cache: FoldCache,
    /// Why the sides are several tasks, if they are.
    several: Option<Conflict>,
}

impl Chosen {
    fn step(&self, task: &TaskRef) -> OrderedStep {
        let side = match self.side {
            MergeSide::Ours => "--ours",
            MergeSide::Theirs => "--theirs",
        };
        let argv = [
            "orch",
            "resolve",
            task.id.as_str(),
            side,
            "--reason",
            &self.reason,
        ];
        OrderedStep {
            kind: Kind::Merge,
            by_human: true,
            argv: argv.map(str::to_owned).to_vec(),
        }
    }
}

/// Resolves conflicted records.
#[derive(Clone, Copy)]
pub struct Resolve<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) records: Records<'w>,
    pub(super) advance: Advance<'w>,
    pub(super) conflicts: Conflicts<'w>,
}

impl Resolve<'_> {
    /// Resolves a task's record; `None` if there is nothing to resolve.
    ///
    /// Returns an error if the united log cannot be read, one side deleted the log, or the choice is refused.
    pub fn task(&self, task: &TaskRef, chosen: Option<&Chosen>) -> Result<Option<Resolved>, Error> {
        chosen.map_or(Ok(()), |chosen| decide::refuse_placeholder(&chosen.reason))?;
        let unmerged = self.conflicts.unmerged()?;
        let stamp = match chosen {
            Some(chosen) => self.authority.stamp_of(&chosen.step(task))?,
            None => self.authority.stamp(),
        };
        self.advance.holding().refuse_held(task)?;
        let is_conflicted = self.conflicts.is_conflicted(task, &unmerged)?;
        let before = Look::begin(self.reader)?.whole().at(task)?;
        let mut united =
            self.united_log(task, &before, self.conflicts.log_sides(task, &unmerged)?)?;
        if united.log.heads().is_empty() {
            return Err(no_record(task));
        }
        let compiled = Arc::clone(&united.compiled);
        let workflow = &compiled.workflow;
        let phases = united.phases(workflow);
        let folded = match united.fold(workflow) {
            Ok(folded) => Some(folded),
            Err(FoldError::Disputed { conflict, .. }) if chosen.is_none() => {
                let [ours, theirs] = united.timelines();
                let staged = self.stage_united(task, &united, &unmerged)?;
                let dispute = Dispute {
                    task: task.clone(),
                    phases,
                    conflict,
                    ours,
                    theirs,
                    staged,
                };
                return Ok(Some(Resolved::Disputed(Box::new(dispute))));
            }
            Err(FoldError::Disputed { .. }) => None,
            Err(FoldError::Fault(fault)) => return Err(unreadable(task, &fault)),
        };
        let is_open = is_conflicted || folded.is_none() || before.is_state_stale();
        if !is_open && (chosen.is_none() || united.sides.iter().any(Vec::is_empty)) {
            return Ok(None);
        }
        let pending = self.conflicts.operation()?.is_some()
            || unmerged.iter().any(|one| task.place.owns(&one.path));
        let chosen = chosen.filter(|_| !united.sides.iter().any(Vec::is_empty));
        let (how, commit) = match (chosen, folded) {
            (Some(chosen), _) => {
                let state = self.chosen_state(workflow, &mut united, chosen, &stamp)?;
                (
                    ResolvedBy::Chosen(chosen.side),
                    self.record_choice(task, &united, workflow, state, pending)?,
                )
            }
            (None, Some(state)) => {
                let how = united.how(is_conflicted);
                let files = RecordFiles {
                    state: self.records.state_text(workflow, &state, &united.lines),
                    folded: state,
                    log: united.lines,
                };
                self.put_files(task, &files, pending)?;
                (how, None)
            }
            (None, None) => return Ok(None),
        };
        let sight = Look::begin(self.reader)?.whole().at(task)?;
        let left = self.left_over(&sight)?;
        let settlement = Settlement {
            sight,
            how,
            phases,
            staged: pending,
            commit,
            left,
        };
        Ok(Some(Resolved::Settled(Box::new(settlement))))
    }

    /// Stages the united log of several tasks beside the state of HEAD, if the operation of git in progress has further
    /// commits to bring: only then it is known which events are whose. Returns whether it did.
    fn stage_united(
        &self,
        task: &TaskRef,
        united: &UnitedLog,
        unmerged: &[Unmerged],
    ) -> Result<bool, Error> {
        let (Some(store), Some(_)) = (&self.reader.store, &united.several) else {
            return Ok(false);
        };
        let is_conflicted = self.conflicts.is_conflicted(task, unmerged)?;
        if !is_conflicted
            || store.refs().operation()?.is_none()
            || !store.refs().merge_heads()?.is_empty()
        {
            return Ok(false);
        }
        let head = store.refs().head()?.commit;
        let state = head
            .map(|head| store.objects().read_at(head, &task.state_path()))
            .transpose()?
            .flatten();
        let Some(state) = state else { return Ok(false) };
        let files = [
            (task.transcript_path(), united.lines.clone()),
            (task.state_path(), state),
        ];
        store.transactions().settle(&files, &[])?;
        Ok(true)
    }

    fn united_log(
        &self,
        task: &TaskRef,
        sight: &Sight,
        sides: Option<LogSides>,
    ) -> Result<UnitedLog, Error> {
        let lines = match &sides {
            Some(sides) => sides.united(),
            None => log_before(&bytes_at(&self.reader.root, &task.transcript_path())?),
        };
        let (log, faults) = EventLog::parse(&lines);
        if let Some(fault) = faults.first() {
            return Err(unreadable(task, fault));
        }
        let mut cache = FoldCache::default();
        let parts = if log.heads().len() > 1 {
            log.parts()
        } else {
            Vec::new()
        };
        let several = log
            .tasks_in_one(&parts, &mut cache)
            .map_err(|fault| unreadable(task, &fault))?;
        let own_sides = if several.is_some() {
            self.conflicts
                .task_sides(task, &log, sides.as_ref())?
                .heads(&log)
        } else {
            let ours = match &sides {
                Some(sides) => EventLog::parse(&sides.ours).0.heads(),
                None => self.conflicts.heads_of_ours(task, &log)?,
            };
            let known = log.ancestry(&ours);
            let theirs = log
                .heads()
                .into_iter()
                .filter(|head| !known.contains(head))
                .collect();
            [ours, theirs]
        };
        let compiled = match log.in_order().last() {
            Some(last) => Arc::clone(
                self.reader
                    .settings
                    .workflow(last.workflow.name.as_str())?
                    .usable()?,
            ),
            None => Arc::clone(&sight.compiled),
        };
        Ok(UnitedLog {
            lines,
            log,
            sides: own_sides,
            compiled,
            cache,
            several,
        })
    }

    /// The state after choosing a side, which follows the heads of both.
    fn chosen_state(
        &self,
        workflow: &Workflow,
        united: &mut UnitedLog,
        chosen: &Chosen,
        stamp: &Stamp,
    ) -> Result<State, Error> {
        let [ours, theirs] = &united.sides;
        let (picked, other) = match chosen.side {
            MergeSide::Ours => (ours, theirs),
            MergeSide::Theirs => (theirs, ours),
        };
        let cache = &mut united.cache;
        let state = united
            .log
            .choose(workflow, picked, other, &chosen.reason, stamp, cache);
        state.map_err(|error| Error::new(Code::BothFinished, error.to_string()))?
    }

    /// Stages a choice during a git operation; otherwise commits it.
    fn record_choice(
        &self,
        task: &TaskRef,
        united: &UnitedLog,
        workflow: &Workflow,
        state: State,
        pending: bool,
    ) -> Result<Option<Digest>, Error> {
        let step = Step {
            transition: decide::merging(workflow, &state),
            state,
        };
        if !pending {
            let outcomes = self
                .advance
                .apply(std::slice::from_ref(task), false, &|sight| {
                    Ok(self.reader.settled(sight, vec![step.clone()]))
                })?;
            return Ok(outcomes.into_iter().find_map(|outcome| match outcome {
                TaskOutcome::Applied(applied) => applied.steps.last().and_then(|step| step.commit),
                TaskOutcome::Nothing(_) => None,
            }));
        }
        let steps = [step];
        let files = self
            .records
            .record_after(workflow, None, united.lines.clone(), &steps)?;
        files
            .iter()
            .try_for_each(|files| self.put_files(task, files, true))?;
        Ok(None)
    }

    fn put_files(&self, task: &TaskRef, files: &RecordFiles, stage: bool) -> Result<(), Error> {
        self.records.make_directory(task)?;
        match &self.reader.store {
            Some(store) if stage => {
                let log = (task.transcript_path(), files.log.clone());
                Ok(store
                    .transactions()
                    .settle(&[(task.state_path(), files.state.clone()), log], &[])?)
            }
            _ => self.records.write_record(task, files).map(drop),
        }
    }

    /// The findings about every other file of a task that is still in conflict.
    fn left_over(&self, sight: &Sight) -> Result<Vec<Diagnostic>, Error> {
        let mut left: Vec<Diagnostic> = Vec::new();
        for one in self.conflicts.unmerged()? {
            if !sight.task.place.owns(&one.path) {
                continue;
            }
            let bytes = bytes_at(&self.reader.root, &one.path)?;
            let text = String::from_utf8_lossy(&bytes);
            let found = conflict(&one.path, &text).unwrap_or_else(|| {
                Diagnostic::error(Code::Unmerged, "this file is unmerged")
                    .at(Place::file(&one.path))
            });
            left.push(found.hint(resolving(one.path.as_str())));
        }
        let conflicted = sight
            .decision
            .diagnostics
            .iter()
            .filter(|found| found.code == Code::ConflictMarkers);
        for found in conflicted {
            let path = |one: &Diagnostic| one.place.as_ref().map(|place| place.path.clone());
            if !left.iter().any(|known| path(known) == path(found)) {
                left.push(found.clone());
            }
        }
        Ok(left)
    }
}

impl UnitedLog {
    fn fold(&mut self, workflow: &Workflow) -> Result<State, FoldError> {
        let heads = self.log.heads();
        if let Some(conflict) = self.several.clone() {
            return Err(FoldError::Disputed { conflict, heads });
        }
        Ok(self
            .log
            .fold(workflow, &heads, &mut self.cache)?
            .map(Arc::unwrap_or_clone)
            .unwrap_or_default())
    }

    /// The phases of both sides. A side without events of its own gets the phase of the other.
    fn phases(&mut self, workflow: &Workflow) -> [String; 2] {
        let [ours, theirs] = self.sides.clone();
        let mut phase = |heads: &[Digest]| {
            let state = self
                .log
                .fold(workflow, heads, &mut self.cache)
                .ok()
                .flatten()?;
            state.phase.clone()
        };
        let one = phase(&ours);
        let other = phase(&theirs);
        let named = |one: &Option<String>, other: &Option<String>| {
            one.clone()
                .or_else(|| other.clone())
                .unwrap_or_else(|| workflow.initial.to_string())
        };
        [named(&one, &other), named(&other, &one)]
    }

    /// The steps that only one side has, for each side, oldest first.
    fn timelines(&self) -> [Vec<HistoryEntry>; 2] {
        let [ours, theirs] = [0, 1].map(|side: usize| self.log.ancestry(&self.sides[side]));
        let alone = |own: &std::collections::HashSet<Digest>,
                     other: &std::collections::HashSet<Digest>| {
            let events = self.log.in_order().into_iter();
            let own = events.filter(|event| own.contains(&event.id) && !other.contains(&event.id));
            own.map(|event| HistoryEntry::clone(&event.entry)).collect()
        };
        [alone(&ours, &theirs), alone(&theirs, &ours)]
    }

    fn how(&self, was_conflicted: bool) -> ResolvedBy {
        let heads = self.log.heads();
        match &self.sides {
            [_, theirs] if theirs.is_empty() && was_conflicted && heads.len() == 1 => {
                ResolvedBy::Moved(MergeSide::Ours)
            }
            [_, theirs] if theirs.is_empty() => ResolvedBy::Renewed,
            _ if heads.len() == 1 => ResolvedBy::Moved(MergeSide::Theirs),
            _ => ResolvedBy::Merged,
        }
    }
}

/// The error for a task without a log: whatever its state says belongs to someone else, and folding it from nothing
/// would lose it.
fn no_record(task: &TaskRef) -> Error {
    let message = format!(
        "`{}` has no record to resolve: there is no log of it",
        task.id
    );
    let hint = Hint::from(format!("correct {} by hand, then: ", task.state_path())).command(&[
        "orch",
        "new",
        task.id.as_str(),
    ]);
    Error::new(Code::Untracked, message).with_hint(hint)
}

/// The error for a log that cannot be read even with both sides.
fn unreadable(task: &TaskRef, fault: &LogFault) -> Error {
    let message = format!("cannot read the log of `{}`: {fault}", task.id);
    let hint = Hint::run(&["orch", "recover", task.id.as_str()]);
    Error::new(fault.kind.code(), message).with_hint(hint)
}
