//! What the description of a pull request says: which tasks a range changes, and what there is of each.

use super::sheet::source_of;
use super::tasks::unread_task;
use crate::survey::{LookDepth, Reader, Sight, TaskRef, Workspace};
use orch_base::{Diagnostic, Error, RepoPath};
use orch_core::record::EventLog;
use orch_view::{DescribedTask, TaskSheet};

/// The workspace at the end of a range, and the tasks there that the range changes, by id.
///
/// What others changed meanwhile, where the range begins, is no change of the range.
///
/// # Errors
///
/// There is no repository, or the range names an unknown commit or one that cannot be read.
pub fn tasks_of_range(
    workspace: Workspace,
    range: &str,
) -> Result<(Workspace, Vec<TaskRef>), Error> {
    let store = workspace.reader().repository_or_refuse()?;
    let ends = store.history().range(range)?;
    let begin = match ends.from {
        Some(from) => Some(
            store
                .history()
                .merge_bases(from, ends.to)?
                .first()
                .copied()
                .unwrap_or(from),
        ),
        None => None,
    };
    let changed = store.history().changed(
        &store.objects().source_at(begin),
        &store.objects().source_at(ends.to),
        &RepoPath::root(),
    )?;
    let workspace = workspace.at(&ends.to.to_string())?;
    let (mut tasks, _) = workspace.finder().survey()?;
    let is_changed = |task: &TaskRef| {
        let log = task.transcript_path();
        let directory = task.directory();
        let is_own = |path: &&RepoPath| match task.place.file() {
            Some(_) => **path == log || **path == task.shown(),
            None => path.below(directory).is_some(),
        };
        changed.iter().any(|path| is_own(&path))
    };
    tasks.retain(is_changed);
    tasks.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    Ok((workspace, tasks))
}

/// The descriptions of these tasks, and a diagnostic for each that cannot be read.
pub fn described_tasks(
    workspace: &Workspace,
    tasks: &[TaskRef],
) -> (Vec<DescribedTask>, Vec<Diagnostic>) {
    let looked = workspace
        .crew()
        .look_at_each(tasks, LookDepth::Whole, |reader, _, looked| {
            described(reader, &looked?)
        });
    let mut descriptions = Vec::new();
    let mut problems = Vec::new();
    for (task, looked) in tasks.iter().zip(looked) {
        match looked {
            Ok(description) => descriptions.push(description),
            Err(error) => problems.push(unread_task(task, &error)),
        }
    }
    (descriptions, problems)
}

/// The sheet of a task and its log. The code is in the pull request itself.
fn described(reader: &Reader, sight: &Sight) -> Result<DescribedTask, Error> {
    let subject = reader.subject(sight);
    let sheet = TaskSheet::of(source_of(reader, sight, &subject)?);
    let (log, _) = EventLog::parse(sight.observed.log.whole().unwrap_or_default());
    let entries = log.in_order().into_iter().map(|event| event.entry.as_ref());
    Ok(DescribedTask::of(sheet, &subject, entries))
}
