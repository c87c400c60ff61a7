//! The timeline of tasks: the events of their logs, joined with the commits that contain them.

use crate::survey::{Error, Reader, TaskRef, Workspace};
use orch_base::{Digest, RepoPath};
use orch_core::decide::{HistoryEntry, former_id};
use orch_core::record::{EventLog, LogPeek};
use orch_files::io_error;
use orch_git::{PathChange, durable};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A recorded transition, and the commit that recorded it.
pub type TimedStep = (Arc<HistoryEntry>, Option<Digest>);

/// The timeline of a task.
#[derive(Debug, Clone, Default)]
pub struct Story {
    /// Recorded transitions, oldest first, each with the commit that recorded it.
    pub steps: Vec<TimedStep>,
    /// Whether a line of the log is not an event, so that steps may be missing.
    pub is_damaged: bool,
}

/// The log of a task as it is now.
struct TaskLog {
    log: EventLog,
    /// Whether a line of it is not an event.
    is_damaged: bool,
    /// Its paths, now and under former ids of the task.
    paths: Vec<RepoPath>,
}

/// The timeline of each task, in the given order, or why its log, or what git has of it, cannot be read. Walks the history
/// once for all tasks.
///
/// A commit records the event in the last line of its log. An event that is the last line in no commit was
/// committed together with a later event.
///
/// # Errors
///
/// git cannot read the history.
pub fn stories(
    workspace: &Workspace,
    tasks: &[TaskRef],
) -> Result<Vec<Result<Story, Error>>, Error> {
    let logs = workspace.crew().map_each(tasks, TaskLog::of);
    let paths: Vec<RepoPath> = logs
        .iter()
        .flatten()
        .flat_map(|log| &log.paths)
        .cloned()
        .collect();
    let history = match &workspace.reader.store {
        Some(store) if !paths.is_empty() => store.history().of_paths(&paths)?,
        _ => BTreeMap::new(),
    };
    let story = |reader: &Reader, log: &Result<TaskLog, Error>| {
        let log = log.as_ref().map_err(Error::clone)?;
        Ok(Story {
            steps: steps(reader, log, &history)?,
            is_damaged: log.is_damaged,
        })
    };
    Ok(workspace.crew().map_each(&logs, story))
}

impl TaskLog {
    fn of(reader: &Reader, task: &TaskRef) -> Result<Self, Error> {
        let path = task.transcript_path().under(&reader.root);
        let bytes = durable::read_if_there(&path).map_err(|source| io_error(&path, source))?;
        let (log, faults) = EventLog::parse(&bytes.unwrap_or_default());
        let events = log.events().map(|event| event.entry.as_ref());
        let places =
            reader.snapshot(|snapshot| snapshot.places_of(task, events.filter_map(former_id)));
        let paths = places.iter().map(TaskRef::transcript_path).collect();
        Ok(Self {
            log,
            is_damaged: !faults.is_empty(),
            paths,
        })
    }
}

fn steps(
    reader: &Reader,
    TaskLog { log, paths, .. }: &TaskLog,
    history: &BTreeMap<RepoPath, Vec<PathChange>>,
) -> Result<Vec<TimedStep>, Error> {
    let mut recorded: HashMap<Digest, Digest> = HashMap::new();
    for path in paths {
        for PathChange { commit, blob } in history.get(path).into_iter().flatten() {
            // History runs from new to old, so the oldest commit with an event wins.
            let (Some(store), Some(blob)) = (&reader.store, blob) else {
                continue;
            };
            let held = store.objects().blob(*blob)?.unwrap_or_default();
            recorded.extend(LogPeek::new(0, &held).last.map(|last| (last, *commit)));
        }
    }
    let events = log.in_order();
    for event in events.iter().rev() {
        let Some(commit) = recorded.get(&event.id).copied() else {
            continue;
        };
        for before in &event.after {
            recorded.entry(*before).or_insert(commit);
        }
    }
    Ok(events
        .into_iter()
        .map(|event| (event.entry.clone(), recorded.get(&event.id).copied()))
        .collect())
}
