//! Looks at the next tasks of a watch in another thread, while what is due for others is committed.

use super::complete::{FileSets, incomplete};
use super::known_task::KeptTask;
use super::watch_events::WatchMode;
use crate::apply::{AdvancePlan, Wanted, Writer};
use crate::survey::{Caller, Error, Opener, Sight, THREAD_STACK, TaskRef, Workspace};
use orch_base::{Diagnostic, RepoPath, TaskId};
use orch_core::decide::Transition;
use orch_git::Head;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

/// What a watch may do on its own, and until when, in whatever thread.
#[derive(Clone)]
pub(super) struct Mandate {
    pub caller: Caller,
    pub mode: WatchMode,
    /// Whether the watch is to end after the task that is in progress.
    pub stops: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The files of each task that have been quiet long enough; `None` if nothing waits for files of the same run.
    pub complete: Option<Arc<BTreeMap<RepoPath, FileSets>>>,
}

/// The result of a look at a task, with the steps that are due; `None` if it had not begun when the watch was stopped.
pub(super) type Looked = Option<Result<Wanted, Error>>;

impl Mandate {
    /// Whether the watch writes nothing.
    pub(super) fn only_reads(&self) -> bool {
        self.mode != WatchMode::Apply
    }

    /// The files of a task that have been quiet long enough.
    pub(super) fn complete_of(&self, task: &TaskRef) -> FileSets {
        let known = self
            .complete
            .as_ref()
            .and_then(|complete| complete.get(task.directory()));
        known.cloned().unwrap_or_default()
    }

    /// Notes that these files of the task in a directory have been quiet long enough.
    pub(super) fn note_complete(&mut self, directory: &RepoPath, sets: &FileSets) {
        if let Some(complete) = &mut self.complete {
            Arc::make_mut(complete).insert(directory.clone(), sets.clone());
        }
    }

    /// The writer of the watch.
    pub(super) fn writer<'w>(&'w self, workspace: &'w Workspace) -> Writer<'w> {
        Writer::new(workspace, &self.caller).until(&*self.stops)
    }

    /// Calls `act` with the plan of the settings: what the watch may apply on its own.
    pub(super) fn plan<R>(
        &self,
        workspace: &Workspace,
        act: impl FnOnce(&Writer<'_>, &AdvancePlan<'_>) -> R,
    ) -> R {
        let watch = &workspace.settings().config().watch;
        // Nothing is due by broken settings.
        let is_left = self.mode == WatchMode::Look
            || workspace
                .settings()
                .findings()
                .iter()
                .any(Diagnostic::is_error);
        let may = |transition: &Transition| {
            !is_left
                && !transition.by_human
                && transition
                    .rule
                    .as_ref()
                    .is_some_and(|rule| watch.apply.allows(rule))
        };
        let waits = |sight: &Sight, transition: &Transition| {
            incomplete(workspace, sight, transition, &self.complete_of(&sight.task)).is_some()
        };
        let adopt = |task: &TaskId| !is_left && watch.adopt.covers(task);
        let once = false;
        let own = true;
        let dry_run = self.only_reads();
        let plan = AdvancePlan {
            may: &may,
            lapses: !is_left,
            once,
            own,
            dry_run,
            adopt: &adopt,
        };
        match self.complete {
            Some(_) => act(&self.writer(workspace).holding(&waits), &plan),
            None => act(&self.writer(workspace), &plan),
        }
    }

    /// Looks at each of these tasks, of few under this HEAD.
    pub(super) fn look(
        &self,
        workspace: &Workspace,
        tasks: &[TaskRef],
        head: &Option<Head>,
    ) -> Vec<Looked> {
        let sights = workspace
            .crew()
            .sights(tasks, head, KeptTask::text_of, &*self.stops);
        let foreseen = |sight| {
            self.plan(workspace, |writer, plan| {
                writer.advance().foresee(sight, plan)
            })
        };
        sights
            .into_iter()
            .map(|sight| sight.map(|sight| sight.and_then(foreseen)))
            .collect()
    }
}

/// What was looked at before its turn.
pub(super) struct LooksAhead {
    tasks: Vec<TaskRef>,
    /// HEAD when the looks began.
    head: Option<Head>,
    looked: Vec<Looked>,
}

impl LooksAhead {
    /// Looks at these tasks with another workspace while `work` is done, if that can be opened, and makes the records of the
    /// steps that are due. Keeps nothing for later watches: what is kept must have been told, and a stop may come before
    /// that. Also returns what `work` returns.
    pub(super) fn during<R>(
        (opener, mandate): (Opener, Mandate),
        (tasks, head): (Vec<TaskRef>, Option<Head>),
        work: impl FnOnce() -> R,
    ) -> (R, Option<Self>) {
        let looks = move || {
            let workspace = opener.that_forgets().open()?;
            let writer = mandate.writer(&workspace);
            let recorded = |one: Looked| {
                one.map(|one| one.map(|wanted| wanted.with_records(writer.records())))
            };
            let looked = mandate
                .look(&workspace, &tasks, &head)
                .into_iter()
                .map(recorded)
                .collect();
            Some(Self {
                tasks,
                head,
                looked,
            })
        };
        thread::scope(|scope| {
            let started = thread::Builder::new()
                .stack_size(THREAD_STACK)
                .spawn_scoped(scope, looks)
                .ok();
            let done = work();
            let ended = started.map(|it| {
                it.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            (done, ended.flatten())
        })
    }

    /// The looks at these tasks under HEAD as it is now, which nobody but the watch has moved since, by steps of other
    /// tasks. `again` looks at those of which the look does not stand under it. `None` if the looks were at others, or on
    /// another branch.
    pub(super) fn under(
        self,
        head: &Option<Head>,
        tasks: &[TaskRef],
        again: impl FnOnce(&[TaskRef]) -> Vec<Looked>,
    ) -> Option<Vec<Looked>> {
        let [then, now] = [&self.head, head].map(|head| head.as_ref().and_then(Head::branch_name));
        if self.tasks != tasks || then != now {
            return None;
        }
        let stands = |looked: Looked| looked?.ok()?.under(&self.head, head);
        let standing: Vec<Option<Wanted>> = self.looked.into_iter().map(stands).collect();
        let rest = tasks
            .iter()
            .zip(&standing)
            .filter(|(_, standing)| standing.is_none());
        let rest: Vec<TaskRef> = rest.map(|(task, _)| task.clone()).collect();
        let mut again = if rest.is_empty() {
            Vec::new()
        } else {
            again(&rest)
        }
        .into_iter();
        let looked = |standing: Option<Wanted>| standing.map(Ok).or_else(|| again.next().flatten());
        Some(standing.into_iter().map(looked).collect())
    }
}
