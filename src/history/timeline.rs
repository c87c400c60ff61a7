//! The timeline of tasks: the events of their logs, joined with the commits that contain them.

use crate::base::{Digest, RepoPath};
use crate::decide::HistoryEntry;
use crate::record::{EventLog, LogPeek};
use crate::scan::io_error;
use crate::store::{PathChange, durable};
use crate::survey::{Error, TaskRef, Workspace};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A recorded transition, and the commit that recorded it.
type TimedStep = (Arc<HistoryEntry>, Option<Digest>);

/// The timeline of a task.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// Recorded transitions, oldest first, each with the commit that recorded it.
    pub steps: Vec<TimedStep>,
    /// Whether a line of the log is not an event, so that steps may be missing.
    pub is_damaged: bool,
}

/// The timeline of each task, in the given order. Walks the history once for all tasks.
///
/// A commit records the event in the last line of its log. An event that is the last line in no commit was
/// committed together with a later event.
///
/// # Errors
///
/// git cannot read the history, or the machine fails to read a log.
pub fn stories(workspace: &Workspace, tasks: &[TaskRef]) -> Result<Vec<Story>, Error> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let logs: Vec<(EventLog, bool)> =
        tasks.iter().map(|task| log_of(workspace, task)).collect::<Result<_, Error>>()?;
    let paths: Vec<Vec<RepoPath>> =
        tasks.iter().zip(&logs).map(|(task, (log, _))| places_of(workspace, task, log)).collect();
    let history = match &workspace.store {
        Some(store) => store.history(&paths.concat())?,
        None => BTreeMap::new(),
    };
    let story = |((log, is_damaged), paths): (&(EventLog, bool), &Vec<RepoPath>)| {
        Ok(Story { steps: steps(workspace, log, paths, &history)?, is_damaged: *is_damaged })
    };
    logs.iter().zip(&paths).map(story).collect()
}

/// The log of a task, and whether a line of it is not an event.
fn log_of(workspace: &Workspace, task: &TaskRef) -> Result<(EventLog, bool), Error> {
    let path = task.transcript_path().under(&workspace.root);
    let bytes = durable::read_if_there(&path).map_err(|source| io_error(&path, source))?;
    let (log, faults) = EventLog::parse(&bytes.unwrap_or_default());
    Ok((log, !faults.is_empty()))
}

/// The paths of the log, now and under former ids of the task.
fn places_of(workspace: &Workspace, task: &TaskRef, log: &EventLog) -> Vec<RepoPath> {
    let steps = log.events().map(|event| event.entry.as_ref());
    let places = workspace.snapshot(|snapshot| snapshot.places_of(task, steps));
    places.iter().map(TaskRef::transcript_path).collect()
}

fn steps(
    workspace: &Workspace,
    log: &EventLog,
    paths: &[RepoPath],
    history: &BTreeMap<RepoPath, Vec<PathChange>>,
) -> Result<Vec<TimedStep>, Error> {
    let mut recorded: HashMap<Digest, Digest> = HashMap::new();
    for path in paths {
        for PathChange { commit, blob } in history.get(path).into_iter().flatten() {
            // History runs from new to old, so the oldest commit with an event wins.
            let (Some(store), Some(blob)) = (&workspace.store, blob) else { continue };
            let held = store.blob(*blob)?.unwrap_or_default();
            recorded.extend(LogPeek::new(0, &held).last.map(|last| (last, *commit)));
        }
    }
    let events = log.in_order();
    for event in events.iter().rev() {
        let Some(commit) = recorded.get(&event.id).copied() else { continue };
        for before in &event.after {
            recorded.entry(*before).or_insert(commit);
        }
    }
    Ok(events.into_iter().map(|event| (event.entry.clone(), recorded.get(&event.id).copied())).collect())
}
