//! The tasks that names mean, a row of an answer for each, and what is wrong with them.

use crate::survey::{
    HeldTasks, Keeper, LookDepth, Reader, Sight, TaskLease, TaskRef, Workspace, unjudged, unread,
};
use orch_base::{Code, Diagnostic, Error};
use orch_view::{Repository, Suggestion, TaskStatus};
use std::collections::HashSet;

/// The tasks that these names and patterns mean, each once.
pub fn named(workspace: &Workspace, names: &[String]) -> Result<Vec<TaskRef>, Error> {
    let mut tasks: Vec<TaskRef> = Vec::new();
    let mut known = HashSet::new();
    for name in names {
        let meant = workspace.finder().tasks_meant(name)?.into_iter();
        tasks.extend(meant.filter(|task| known.insert(task.directory().clone())));
    }
    Ok(tasks)
}

/// The named tasks and no findings; without names, every task that is not archived, and findings about
/// directories that only look like tasks. Returns an error if a name matches no task.
pub fn named_or_all(
    workspace: &Workspace,
    names: &[String],
) -> Result<(Vec<TaskRef>, Vec<Diagnostic>), Error> {
    if names.is_empty() {
        let (mut tasks, misnamed) = workspace.finder().survey()?;
        tasks.retain(|task| !task.id.is_archived());
        return Ok((tasks, misnamed));
    }
    Ok((named(workspace, names)?, Vec::new()))
}

/// What `answer` makes of a look at each of these tasks, which is all that is kept of it, or `failed` of the fact that
/// it cannot be evaluated; and a diagnostic for each task that cannot be evaluated.
pub fn answers_of_each<R: Send>(
    workspace: &Workspace,
    tasks: &[TaskRef],
    answer: impl Fn(&Reader, &Sight) -> R + Sync,
    failed: impl Fn(&TaskRef, &Error) -> R,
) -> (Vec<R>, Vec<Diagnostic>) {
    let looked = workspace
        .crew()
        .look_at_each(tasks, LookDepth::End, |workspace, _, looked| {
            looked.map(|sight| answer(workspace, &sight))
        });
    sorted(tasks, looked, failed)
}

/// The name of the cache of the status of each task.
pub const STATUS_CACHE: &str = "status";

/// How the status of a task is kept.
const KEPT: Keeper<Box<TaskStatus>> = Keeper {
    to_text: |status| status.to_text(),
    of_text: |text| Some(TaskStatus::of_text(text)?.into()),
};

/// The status of each of these tasks, which may be known from earlier looks kept under [`STATUS_CACHE`], and a diagnostic
/// for each task that cannot be evaluated.
pub fn statuses(
    workspace: &Workspace,
    tasks: &[TaskRef],
) -> (Vec<Box<TaskStatus>>, Vec<Diagnostic>) {
    let row = |reader: &Reader, sight: &Sight| TaskStatus::of(&reader.subject(sight)).into();
    let looked = workspace.crew().answer_each(tasks, &KEPT, row);
    let (mut rows, mut problems) = sorted(tasks, looked, unread_status);
    // What is known of earlier looks knows no lease of now.
    match HeldTasks::of(workspace.reader()).all() {
        Ok(leases) => {
            for (task, row) in tasks.iter().zip(&mut rows) {
                row.task.held = leases.get(&task.id).map(TaskLease::view);
            }
        }
        Err(error) => problems.push(error.into()),
    }
    (rows, problems)
}

/// What keeps the lease of a task from being read, so that nothing shows who holds it; `None` if nothing does.
pub fn lease_problem(workspace: &Workspace, task: &TaskRef) -> Option<Diagnostic> {
    let held = HeldTasks::of(workspace.reader());
    held.lease_of(&task.id).err().map(Diagnostic::from)
}

/// The rows and diagnostics of what was made of a look at each of these tasks, or of the fact that it failed.
pub fn sorted<R>(
    tasks: &[TaskRef],
    looked: Vec<Result<R, Error>>,
    failed: impl Fn(&TaskRef, &Error) -> R,
) -> (Vec<R>, Vec<Diagnostic>) {
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (task, one) in tasks.iter().zip(looked) {
        rows.push(one.unwrap_or_else(|error| {
            problems.push(unread_task(task, &error));
            failed(task, &error)
        }));
    }
    problems.extend(duplicates(tasks));
    (rows, problems)
}

/// The finding about a task that cannot be evaluated.
pub fn unread_task(task: &TaskRef, error: &Error) -> Diagnostic {
    unread(&format!("task `{}`", task.id), error)
}

/// The repository that was read. If HEAD cannot be read, that is one of the problems.
pub fn repository(workspace: &Workspace, problems: &mut Vec<Diagnostic>) -> Repository {
    workspace.reader().repository().unwrap_or_else(|error| {
        problems.push(unjudged(&error));
        workspace.reader().repository_without_head()
    })
}

/// The suggestion for a task that cannot be evaluated.
pub fn unread_suggestion(task: &TaskRef, error: &Error) -> Suggestion {
    Suggestion::unread(&task.id, &task.shown(), &task.workflow, &unjudged(error))
}

/// The status of a task that cannot be evaluated.
pub fn unread_status(task: &TaskRef, error: &Error) -> Box<TaskStatus> {
    TaskStatus::unread(unread_suggestion(task, error), &task.id).into()
}

/// A finding for each task id that two directories share.
pub fn duplicates(tasks: &[TaskRef]) -> Vec<Diagnostic> {
    let mut ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    ids.sort_unstable();
    let pairs = ids.windows(2).filter(|pair| pair[0] == pair[1]);
    pairs
        .map(|pair| {
            let message = format!("two directories are tasks with the id `{}`", pair[0]);
            Diagnostic::error(Code::DuplicateTask, message)
                .hint("rename one, or narrow the roots in orch.toml")
        })
        .collect()
}
