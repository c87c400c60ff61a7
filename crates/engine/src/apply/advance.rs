//! Applies transitions: evaluates under the lock, reads each file once, and commits each transition, or all of
//! them together.

use super::attempts::CommitAttempts;
use super::authority::Authority;
use super::first_step::creation;
use super::new_result::{NewResult, write_results};
use super::record_files::{RecordFiles, Records};
use super::{CommitGroup, Holds};
use crate::survey::{Error, Look, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Digest, TaskId};
use orch_core::decide::{
    Detail, DetailStep, HistoryEntry, Recorded, Settled, Stamp, Step, Transition, Verdict,
    detailed, settle, settle_from,
};
use orch_files::{FileLock, io_error};
use orch_git::{Head, LockWait, PATIENCE};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What to apply, and how far.
pub struct AdvancePlan<'a> {
    /// Which transitions to apply.
    pub may: &'a dyn Fn(&Transition) -> bool,
    /// Whether to record which deadlines have passed.
    pub lapses: bool,
    /// Apply only the first one.
    pub once: bool,
    /// Record `orch` itself as the actor instead of the caller.
    pub own: bool,
    /// Decide, but write nothing.
    pub dry_run: bool,
    /// Which untracked tasks to adopt.
    pub adopt: &'a dyn Fn(&TaskId) -> bool,
}

/// The outcome for one task.
pub enum TaskOutcome {
    /// At least one transition was applied.
    Applied(Box<Applied>),
    /// There was nothing to apply.
    Nothing(Box<Sight>),
}

/// The transitions that were applied to one task.
#[derive(Clone)]
pub struct Applied {
    /// The task after the last transition.
    pub sight: Sight,
    /// The steps, in order.
    pub steps: Vec<AppliedStep>,
    /// Further findings for the user.
    pub notes: Vec<Diagnostic>,
}

/// A transition that was applied.
#[derive(Debug, Clone)]
pub struct AppliedStep {
    /// The transition.
    pub transition: Transition,
    /// The entry in the record; `None` if nothing was committed.
    pub entry: Option<Arc<HistoryEntry>>,
    /// The commit; `None` if nothing was committed.
    pub commit: Option<Digest>,
}

impl AppliedStep {
    /// A step with its commit, if there is one.
    pub(super) fn new(step: Step, commit: Option<Digest>) -> Self {
        let Step {
            transition,
            mut state,
        } = step;
        // The entry is the last one here; the state after the last step may not contain it any more.
        let entry = commit.and_then(|_| state.history.pop());
        Self {
            transition,
            entry,
            commit,
        }
    }
}

impl Applied {
    /// Logs every transition.
    pub(super) fn trace(&self) {
        for AppliedStep {
            transition, commit, ..
        } in &self.steps
        {
            let from = transition.from.as_ref();
            let rule = transition.rule.as_ref();
            tracing::info!(
                task = %self.sight.task.id,
                from = from.map(|phase| phase.as_str()),
                to = %transition.to,
                rule = rule.map(|rule| rule.as_str()),
                commit = commit.map(tracing::field::display),
                "applied a transition"
            );
        }
    }
}

/// The steps that an evaluated task takes.
pub(crate) type Steps<'a> = dyn Fn(&Sight) -> Result<Settled, Error> + 'a;

/// A task to apply steps to, with the result of a look at it, if there was one.
pub struct Wanted {
    /// The task.
    pub task: TaskRef,
    /// The look, and what follows from it.
    pub seen: Option<Foreseen>,
}

/// A look at a task, and the steps and records that follow from it.
pub struct Foreseen {
    pub sight: Sight,
    pub settled: Settled,
    /// The record after each of the steps, if it was already made.
    pub(super) records: Option<Vec<RecordFiles>>,
}

impl Foreseen {
    fn of(sight: Sight, settled: Settled) -> Self {
        Self {
            sight,
            settled,
            records: None,
        }
    }

    /// The record after each of the steps. Returns an error if one cannot be made.
    pub(super) fn take_records(&mut self, records: Records<'_>) -> Result<Vec<RecordFiles>, Error> {
        let made = self.records.take();
        made.map_or_else(
            || records.record_files(&self.sight, &self.settled.steps),
            Ok,
        )
    }
}

impl From<Foreseen> for Wanted {
    fn from(foreseen: Foreseen) -> Self {
        Self {
            task: foreseen.sight.task.clone(),
            seen: Some(foreseen),
        }
    }
}

impl Wanted {
    /// A task that is looked at under the lock.
    pub(crate) fn unseen(task: &TaskRef) -> Self {
        Self {
            task: task.clone(),
            seen: None,
        }
    }

    /// Whether a step is due, according to the look.
    pub fn is_due(&self) -> bool {
        self.seen
            .as_ref()
            .is_some_and(|seen| !seen.settled.steps.is_empty())
    }

    /// The same under a HEAD that has moved by steps of other tasks; `None` if the look has to be made again, or there was
    /// none.
    pub(crate) fn under(self, before: &Option<Head>, now: &Option<Head>) -> Option<Self> {
        let seen = self.seen?;
        Some(
            Foreseen {
                sight: seen.sight.under(before, now)?,
                ..seen
            }
            .into(),
        )
    }

    /// A task with the result of a look.
    pub(crate) fn seen(sight: Sight, settled: Settled) -> Self {
        Foreseen::of(sight, settled).into()
    }

    /// The same, with the records of its steps, if they can be made. If not, the error is reported when they are applied.
    pub(crate) fn with_records(mut self, records: Records<'_>) -> Self {
        if self.is_due()
            && let Some(seen) = &mut self.seen
            && is_enough(&seen.sight, &seen.settled)
        {
            seen.records = seen.take_records(records).ok();
        }
        self
    }
}

/// Applies transitions: what the rules decide, or what is ordered.
#[derive(Clone, Copy)]
pub struct Advance<'w> {
    pub(super) reader: &'w Reader,
    pub(super) wait: Option<Duration>,
    pub(super) authority: Authority<'w>,
    pub(super) records: Records<'w>,
    /// Whether what several tasks wait for is to end after the task that is in progress.
    pub(super) stops: Option<&'w (dyn Fn() -> bool + 'w)>,
    /// The others of this process, with which it commits.
    pub(super) group: Option<&'w CommitGroup>,
    /// Which transitions of a task it holds back although they are due.
    pub(super) holds: Option<&'w Holds<'w>>,
    /// What verifications gave, whose files are written with the steps.
    pub(super) results: &'w [NewResult],
    /// Whether the steps of a task share a commit, whatever the settings say.
    pub(super) together: bool,
}

impl Advance<'_> {
    /// Whether the tasks that were not begun are left.
    pub(super) fn is_stopped(&self) -> bool {
        self.stops.is_some_and(|stops| stops())
    }

    /// Applies what the rules decide for each task, as one batch with one update of the index. Returns an
    /// error if a task cannot be read or a commit is not possible now.
    pub fn tasks(
        &self,
        tasks: &[TaskRef],
        plan: &AdvancePlan<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        self.apply(tasks, plan.dry_run, &|sight| self.steps_due(sight, plan))
    }

    /// Returns [`Code::TaskHeld`] if another holds a task, and an error if its lease cannot be read.
    pub fn refuse_held(&self, task: &TaskRef) -> Result<(), Error> {
        self.holding().refuse_held(task).map(drop)
    }

    /// Records which deadlines of a task have passed, and nothing else. Returns what was applied; `None` if there was nothing
    /// to record. Returns an error if the task cannot be read or a commit is not possible now.
    pub fn lapses(&self, task: &TaskRef) -> Result<Option<Applied>, Error> {
        let plan = AdvancePlan {
            may: &|_| false,
            lapses: true,
            once: true,
            own: true,
            dry_run: false,
            adopt: &|_| false,
        };
        let outcomes = self.tasks(std::slice::from_ref(task), &plan)?;
        Ok(outcomes.into_iter().find_map(|outcome| match outcome {
            TaskOutcome::Applied(applied) => Some(*applied),
            TaskOutcome::Nothing(_) => None,
        }))
    }

    /// What [`Advance::tasks`] would do with a task that was looked at; writes nothing. Returns an error if a new record of
    /// it cannot be made.
    pub fn foresee(&self, sight: Sight, plan: &AdvancePlan<'_>) -> Result<Wanted, Error> {
        let settled = self.steps_due(&sight, plan)?;
        Ok(Wanted::seen(sight, settled))
    }

    /// The steps that the rules yield for an evaluated task, as far as the plan permits.
    fn steps_due(&self, sight: &Sight, plan: &AdvancePlan<'_>) -> Result<Settled, Error> {
        let workflow = sight.workflow();
        let facts = &sight.observed.facts;
        let stamp = if plan.own {
            self.authority.caller.own_stamp()
        } else {
            self.authority.stamp()
        };
        let taken = std::cell::Cell::new(false);
        let is_held =
            |transition: &Transition| self.holds.is_some_and(|holds| holds(sight, transition));
        let may = |transition: &Transition| {
            (plan.may)(transition) && !is_held(transition) && !(plan.once && taken.replace(true))
        };
        if !sight.untracked {
            let lapsed = if plan.lapses {
                lapse_steps(sight, &stamp)?
            } else {
                Vec::new()
            };
            let Some(last) = lapsed.last() else {
                let first = sight.decision.clone();
                let settled = settle_from(first, workflow, &sight.recorded, facts, &stamp, &may);
                self.reader.costs.evaluated(settled.steps.len());
                return Ok(settled);
            };
            let recorded = Recorded::Known(Box::new(last.state.clone()));
            let facts = facts.after_a_step();
            let mut settled = settle(workflow, &recorded, &facts, &stamp, &may);
            self.reader.costs.evaluated(1 + settled.steps.len());
            settled.steps.splice(0..0, lapsed);
            return Ok(settled);
        }
        // A foreign state that names an unknown phase waits for a person, and keeps no other task from moving.
        let is_unknown = matches!(
            sight.decision.verdict,
            Verdict::Error {
                code: Code::UnknownPhase
            }
        );
        let usable = matches!(sight.recorded, Recorded::New | Recorded::Known(_));
        if !usable || is_unknown || !(plan.adopt)(&sight.task.id) {
            return Ok(self.reader.settled(sight, Vec::new()));
        }
        let created = creation(sight, true, None, &stamp)?;
        let recorded = Recorded::Known(Box::new(created.state.clone()));
        let mut settled = settle(workflow, &recorded, facts, &stamp, &may);
        self.reader.costs.evaluated(1 + settled.steps.len());
        settled.steps.insert(0, created);
        Ok(settled)
    }

    /// Applies the steps that `steps_of` yields for each task, and decides again if the branch moves
    /// meanwhile. Returns an error if a task cannot be read or a commit is not possible now.
    pub(crate) fn apply(
        &self,
        tasks: &[TaskRef],
        dry_run: bool,
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let mut wanted = Vec::new();
        for task in tasks {
            let sight = self.reader.look(task)?;
            let settled = steps_of(&sight)?;
            wanted.push(Wanted::seen(sight, settled));
        }
        if dry_run || !wanted.iter().any(Wanted::is_due) {
            return Ok(wanted.into_iter().filter_map(Wanted::uncommitted).collect());
        }
        self.carry_out(&mut wanted, steps_of)
    }

    /// Applies what the rules decide for tasks with a step due; see [`Advance::tasks`].
    pub fn due(
        &self,
        wanted: &mut [Wanted],
        plan: &AdvancePlan<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        self.carry_out(wanted, &|sight| self.steps_due(sight, plan))
    }

    /// Applies the steps of each task under the lock. An earlier look is used if it is still current; after
    /// an error, the last look stays in `wanted`. Returns an error if a task cannot be read or a commit is
    /// not possible now.
    pub(crate) fn carry_out(
        &self,
        wanted: &mut [Wanted],
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let steps_of: &Steps<'_> = &|sight| self.under_lease(sight, steps_of);
        for one in wanted.iter_mut().filter(|one| one.is_due()) {
            if self.holding().refuse_held(&one.task)? {
                // What was foreseen knows nothing of the lease.
                one.seen = None;
            }
        }
        if !self.reader.commits() {
            return self.apply_without_git(wanted, steps_of);
        }
        let mut attempts = CommitAttempts::within(self.wait);
        loop {
            match self.commit_batch(wanted, &mut attempts, steps_of) {
                Err(error) if attempts.again(&error) => {
                    tracing::info!(error = error.logged(), "evaluating the tasks again");
                    // The stamps of files do not show what other processes have committed.
                    wanted.iter_mut().for_each(|one| one.seen = None);
                }
                other => return other,
            }
        }
    }

    /// Looks at a task, unless the earlier look is still current. `head` is HEAD now.
    pub(super) fn renew(
        &self,
        wanted: &mut Wanted,
        head: Option<&Head>,
        steps_of: &Steps<'_>,
    ) -> Result<(), Error> {
        let look = Look::under(self.reader, head.cloned()).whole();
        let stands = |Foreseen { sight, settled, .. }: &Foreseen| {
            is_enough(sight, settled) && look.still_stands(sight)
        };
        if !wanted.seen.as_ref().is_some_and(stands) {
            let sight = look.at(&wanted.task)?;
            let settled = steps_of(&sight)?;
            wanted.seen = Some(Foreseen::of(sight, settled));
        }
        Ok(())
    }

    fn apply_without_git(
        &self,
        wanted: &mut [Wanted],
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let _lock = lock_directory(&self.reader.root, self.wait)?;
        let head = self
            .reader
            .store
            .as_ref()
            .map(|store| store.refs().head())
            .transpose()?;
        let mut outcomes = Vec::new();
        for one in wanted {
            self.renew(one, head.as_ref(), steps_of)?;
            let Some(mut seen) = one.seen.take() else {
                continue;
            };
            let last = seen.take_records(self.records)?.pop();
            let Foreseen {
                sight,
                settled: Settled { steps, decision },
                ..
            } = seen;
            let Some(last) = last else {
                outcomes.push(TaskOutcome::Nothing(Box::new(sight)));
                continue;
            };
            let workflow = sight.workflow();
            self.records.refuse_data(workflow, &steps)?;
            if sight.state().is_some_and(|state| state.original.is_some()) {
                // No commit keeps the file that the record replaces.
                self.records
                    .keep_copy(&sight.task.state_path(), "original")?;
            }
            write_results(&self.reader.root, &sight.task, self.results)?;
            let stamps = self.records.write_record(&sight.task, &last)?;
            let commit = None;
            let head = head.clone();
            let sight = Look::after(
                self.reader,
                sight,
                last.placed(decision, commit, head, &stamps),
            );
            let steps = steps
                .into_iter()
                .map(|step| AppliedStep::new(step, None))
                .collect();
            let applied = Applied {
                sight,
                steps,
                notes: Vec::new(),
            };
            applied.trace();
            outcomes.push(TaskOutcome::Applied(Box::new(applied)));
        }
        Ok(outcomes)
    }
}

impl Wanted {
    /// The outcome without applying anything; `None` for a task without a look.
    pub fn uncommitted(self) -> Option<TaskOutcome> {
        let Foreseen {
            sight,
            settled: Settled { steps, .. },
            ..
        } = self.seen?;
        if steps.is_empty() {
            return Some(TaskOutcome::Nothing(Box::new(sight)));
        }
        let steps = steps
            .into_iter()
            .map(|step| AppliedStep::new(step, None))
            .collect();
        Some(TaskOutcome::Applied(Box::new(Applied {
            sight,
            steps,
            notes: Vec::new(),
        })))
    }
}

/// The steps that record which deadlines of a task have passed by the time of the stamp.
fn lapse_steps(sight: &Sight, stamp: &Stamp) -> Result<Vec<Step>, Error> {
    let Some(mut state) = sight.state().cloned() else {
        return Ok(Vec::new());
    };
    let workflow = sight.workflow();
    let mut steps = Vec::new();
    for lapse in sight.lapses(stamp.at) {
        let step = DetailStep {
            detail: Detail::Lapse(lapse),
            at: stamp.at,
            to: None,
            former: None,
            why: None,
        };
        let transition = detailed(workflow, &state, &sight.task.id, step)
            .map_err(|why| Error::new(Code::StateInvalid, why))?;
        let facts = &sight.observed.facts;
        state = orch_core::decide::apply(workflow, &state, facts, &transition, stamp);
        steps.push(Step {
            transition,
            state: state.clone(),
        });
    }
    Ok(steps)
}

/// Whether a look has read what its steps follow from: all of a log, of which it may have read no more than the end.
fn is_enough(sight: &Sight, settled: &Settled) -> bool {
    settled.steps.is_empty() || sight.observed.log.end().is_none()
}

/// Takes the lock among writers outside git: a kernel lock on the root directory.
pub(super) fn lock_directory(root: &Path, wait: Option<Duration>) -> Result<FileLock, Error> {
    let refused = |source| io_error(root, source);
    let mut wait = LockWait::at_most(wait.unwrap_or(PATIENCE));
    loop {
        let directory = File::open(root).map_err(refused)?;
        if let Some(lock) = FileLock::try_new(directory).map_err(refused)? {
            return Ok(lock);
        }
        if !wait.again() {
            return Err(Error::busy(
                "another orch process is writing in this directory".to_owned(),
            ));
        }
    }
}
