//! One attempt to commit the steps of tasks: decided under the lock, and committed as one batch with one update of the
//! index.

use super::advance::{Advance, Applied, AppliedStep, Foreseen, Steps, TaskOutcome, Wanted};
use super::attempts::CommitAttempts;
use super::group::Landed;
use super::record_files::RecordFiles;
use crate::survey::{Error, Look, TaskRef};
use orch_base::{Code, Diagnostic, Hint, RepoPath};
use orch_core::decide::Settled;
use orch_git::{Head, PlannedCommit, Store};
use std::collections::{HashSet, VecDeque};

/// What to commit for the first tasks of several.
struct BatchPlan {
    /// How many tasks were looked at; the others are left.
    looked: usize,
    /// Whether the first commit keeps files that are imported.
    has_kept: bool,
    /// Whether one commit contains all steps.
    is_one: bool,
    number_of_steps: usize,
    /// After how many commits a task is complete. One commit is made as a whole.
    ends: HashSet<usize>,
    /// The record after the last step of each task with a step.
    records: VecDeque<RecordFiles>,
}

impl Advance<'_> {
    /// Decides and commits the steps of each task, if the branch does not move meanwhile. After an error, the last look
    /// stays in `wanted`. Returns an error if a task cannot be read or a commit is not possible now.
    pub(super) fn commit_batch(
        &self,
        wanted: &mut [Wanted],
        attempts: &mut CommitAttempts,
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let Some(store) = &self.reader.store else {
            return Ok(Vec::new());
        };
        let (plan, landed) = match self.group {
            None => {
                let mut transaction = attempts.begin(store)?;
                // Read after the transaction has read HEAD, because the decision is about that commit.
                let head = transaction.head().clone();
                let (plan, commits) = self.plan_batch(store, wanted, &head, steps_of)?;
                let is_enough = |made: usize| plan.ends.contains(&made) && self.is_stopped();
                let committed = transaction.commit_until(&commits, &is_enough)?;
                let head = transaction.head().clone();
                (plan, Landed { committed, head })
            }
            Some(group) => {
                let tasks = wanted.iter().map(|one| one.task.id.clone()).collect();
                let patience = attempts.patience();
                let decide = |head: &Head| self.plan_batch(store, wanted, head, steps_of);
                group.commit(tasks, patience, || attempts.begin(store), decide)?
            }
        };
        let (first, _) = wanted.split_at_mut(plan.looked);
        Ok(self.outcomes(first, plan, &landed))
    }

    /// What to commit on top of HEAD, and the commits.
    fn plan_batch(
        &self,
        store: &Store,
        wanted: &mut [Wanted],
        head: &Head,
        steps_of: &Steps<'_>,
    ) -> Result<(BatchPlan, Vec<PlannedCommit>), Error> {
        let mut looked = 0;
        for one in wanted.iter_mut().take_while(|_| !self.is_stopped()) {
            self.renew(one, Some(head), steps_of)?;
            looked += 1;
        }
        let seen = wanted
            .iter_mut()
            .take(looked)
            .filter_map(|one| one.seen.as_mut());
        let due = seen.filter(|seen| !seen.settled.steps.is_empty());
        let tasks = due.map(|seen| self.task_commit(store, seen));
        let mut tasks = tasks.collect::<Result<Vec<_>, _>>()?;
        // The results of several verifications are files of one record, which its next state names.
        let is_one = self.together || self.reader.settings.batches() || !self.results.is_empty();
        let (commits, has_kept) = self.planned(store, &mut tasks, is_one)?;
        let mut number_of_steps = 0;
        let mut ends = HashSet::new();
        for task in &tasks {
            number_of_steps += task.steps.len();
            ends.extend((!is_one).then_some(usize::from(has_kept) + number_of_steps));
        }
        let records = tasks.into_iter().map(|task| task.record).collect();
        Ok((
            BatchPlan {
                looked,
                has_kept,
                is_one,
                number_of_steps,
                ends,
                records,
            },
            commits,
        ))
    }

    /// What came of each task whose steps are committed, or that has none; the others were left.
    fn outcomes(
        &self,
        wanted: &mut [Wanted],
        plan: BatchPlan,
        landed: &Landed,
    ) -> Vec<TaskOutcome> {
        let BatchPlan {
            has_kept,
            is_one,
            number_of_steps,
            mut records,
            ..
        } = plan;
        let Landed { committed, head } = landed;
        let mut ids = committed
            .commits
            .iter()
            .copied()
            .skip(usize::from(has_kept));
        let has_several = is_one && number_of_steps > 1;
        let mut left = if is_one { number_of_steps } else { ids.len() };
        let mut next = || {
            if is_one {
                ids.clone().next()
            } else {
                ids.next()
            }
        };
        let mut outcomes = Vec::new();
        for one in wanted {
            let due = one.seen.as_ref().map_or(0, |seen| seen.settled.steps.len());
            let Some(others) = left.checked_sub(due) else {
                break;
            };
            left = others;
            let Some(Foreseen {
                sight,
                settled: Settled { steps, decision },
                ..
            }) = one.seen.take()
            else {
                continue;
            };
            let Some(record) = (if steps.is_empty() {
                None
            } else {
                records.pop_front()
            }) else {
                outcomes.push(TaskOutcome::Nothing(Box::new(sight)));
                continue;
            };
            let mut notes = left_staged(&committed.left_staged, &sight.task);
            let made = steps.into_iter().map(|step| AppliedStep {
                shares_commit: has_several,
                ..AppliedStep::new(step, next())
            });
            let made: Vec<_> = made.collect();
            let commit = made.last().and_then(|step| step.commit);
            let placed = record.placed(decision, commit, Some(head.clone()), &committed.placed);
            notes.extend(
                committed
                    .unfinished
                    .iter()
                    .map(|problem| unfinished_note(problem)),
            );
            let sight = Look::after(self.reader, sight, placed);
            notes.extend(self.reader.filtered(&sight).unwrap_or_default());
            let applied = Applied {
                sight,
                steps: made,
                notes,
            };
            applied.trace();
            outcomes.push(TaskOutcome::Applied(Box::new(applied)));
        }
        outcomes
    }
}

fn left_staged(paths: &[RepoPath], task: &TaskRef) -> Vec<Diagnostic> {
    let ours = paths.iter().filter(|path| task.place.owns(path));
    ours.map(|path| {
        let message = format!("{path}: you have staged another version, which orch leaves staged");
        let hint = Hint::run(&["git", "add", "--", path.as_str()])
            .text(", or ")
            .command(&["git", "restore", "--staged", "--", path.as_str()]);
        Diagnostic::warning(Code::StagedOther, message).hint(hint)
    })
    .collect()
}

fn unfinished_note(problem: &str) -> Diagnostic {
    let message = format!("committed, but could not update files or index: {problem}");
    Diagnostic::warning(Code::Unfinished, message).hint("the next orch command completes it")
}
