//! The timeline of tasks: the events of their logs, joined with the commits that contain them.

use crate::base::{Digest, RepoPath};
use crate::decide::HistoryEntry;
use crate::record::{EventLog, LogPeek};
use crate::survey::{Error, TaskRef, Workspace};
use std::collections::{BTreeMap, HashMap};

/// Recorded transitions, oldest first, each with the commit that recorded it.
pub type Story = Vec<(HistoryEntry, Option<Digest>)>;

/// The timeline of each task, in the given order. Walks the history once for all tasks.
///
/// A commit records the event in the last line of its log. An event that is the last line in no commit was
/// committed together with a later event.
///
/// # Errors
///
/// git cannot read the history.
pub fn stories(workspace: &Workspace, tasks: &[TaskRef]) -> Result<Vec<Story>, Error> {
    let paths: Vec<RepoPath> = tasks.iter().map(TaskRef::transcript_path).collect();
    let mut history = match &workspace.store {
        Some(store) => store.history(&paths)?,
        None => BTreeMap::new(),
    };
    let story = |(task, path): (&TaskRef, &RepoPath)| {
        story(workspace, task, &history.remove(path).unwrap_or_default())
    };
    tasks.iter().zip(&paths).map(story).collect()
}

fn story(workspace: &Workspace, task: &TaskRef, commits: &[Digest]) -> Result<Story, Error> {
    let path = task.transcript_path().under(&workspace.root);
    let text = crate::store::durable::read_regular(&path).unwrap_or_default();
    let (log, _) = EventLog::parse(&text);
    let mut recorded: HashMap<Digest, Digest> = HashMap::new();
    if let Some(store) = &workspace.store {
        for commit in commits {
            // History runs from new to old, so the oldest commit with an event wins.
            let held = store.read_at(*commit, &task.transcript_path())?.unwrap_or_default();
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
