//! One attempt to commit the steps of tasks: decided under the lock, and committed as one batch with one update of the
//! index.

use super::advance::{Advance, Applied, AppliedStep, Foreseen, Steps, TaskOutcome, Wanted};
use super::attempts::CommitAttempts;
use super::commit_plan::{Sharing, StepCommits};
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
    /// After how many commits a task is complete. Commits of several tasks are made as a whole.
    ends: HashSet<usize>,
    /// What records each task with a step.
    tasks: VecDeque<StepsRecord>,
}

/// What records the steps of a task.
struct StepsRecord {
    /// Which of the commits contains each step.
    commits: Vec<usize>,
    /// The record after the last step.
    record: RecordFiles,
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
        let sharing = self.sharing();
        let StepCommits { commits, of_tasks } = self.planned(store, &mut tasks, sharing)?;
        let last = of_tasks.iter().filter_map(|commits| commits.last());
        let ends = last.filter(|_| sharing != Sharing::AllTasks);
        let ends = ends.map(|at| at + 1).collect();
        let records = tasks.into_iter().map(|task| task.record);
        let tasks = of_tasks.into_iter().zip(records);
        let tasks = tasks
            .map(|(commits, record)| StepsRecord { commits, record })
            .collect();
        Ok((
            BatchPlan {
                looked,
                ends,
                tasks,
            },
            commits,
        ))
    }

    fn sharing(&self) -> Sharing {
        let settings = &self.reader.settings;
        if settings.joins_tasks() {
            Sharing::AllTasks
        } else if self.together || settings.batches() || !self.results.is_empty() {
            // The results of several verifications are files of one record, which its next state names.
            Sharing::EachTask
        } else {
            Sharing::Nothing
        }
    }

    /// What came of each task whose steps are committed, or that has none; the others were left.
    fn outcomes(
        &self,
        wanted: &mut [Wanted],
        plan: BatchPlan,
        landed: &Landed,
    ) -> Vec<TaskOutcome> {
        let mut tasks = plan.tasks;
        let Landed { committed, head } = landed;
        let ids = &committed.commits;
        let mut outcomes = Vec::new();
        for one in wanted {
            let is_due = one.is_due();
            let is_left = |task: &StepsRecord| task.commits.iter().any(|at| *at >= ids.len());
            if is_due && tasks.front().is_none_or(is_left) {
                break;
            }
            let Some(Foreseen {
                sight,
                settled: Settled { steps, decision },
                ..
            }) = one.seen.take()
            else {
                continue;
            };
            let task = if is_due { tasks.pop_front() } else { None };
            let Some(StepsRecord { commits, record }) = task else {
                outcomes.push(TaskOutcome::Nothing(Box::new(sight)));
                continue;
            };
            let mut notes = left_staged(&committed.left_staged, &sight.task);
            let commits = commits.into_iter().map(|at| ids.get(at).copied());
            let made = steps.into_iter().zip(commits);
            let made = made.map(|(step, commit)| AppliedStep::new(step, commit));
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
