//! The timeline of tasks: the events of their logs, joined with the commits that hold them.

use crate::base::{Digest, RepoPath};
use crate::decide::HistoryEntry;
use crate::record::EventLog;
use crate::survey::{Error, TaskRef, Workspace};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Recorded transitions, oldest first, each with the commit that recorded it.
pub type Story = Vec<(HistoryEntry, Option<Digest>)>;

/// The timeline of each task, in the order given; one walk through history for all.
///
/// A commit is joined to the events that its `state.json` names as heads. An event that no state names was
/// committed together with the one that follows it.
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
    for commit in commits {
        // History runs from new to old, so the oldest commit with an event wins.
        let heads = heads_in(workspace, task, *commit)?;
        recorded.extend(heads.into_iter().map(|head| (head, *commit)));
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

/// The heads of a task's log in a commit: as its state names them, else as the log has them.
fn heads_in(workspace: &Workspace, task: &TaskRef, commit: Digest) -> Result<Vec<Digest>, Error> {
    let Some(store) = &workspace.store else { return Ok(Vec::new()) };
    let state = store.read_at(commit, &task.state_path())?;
    let state: Option<Value> = state.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let named = state.as_ref().and_then(|state| state.get("heads")?.as_array());
    if let Some(heads) = named {
        return Ok(heads.iter().filter_map(|head| Digest::parse(head.as_str()?)).collect());
    }
    let log = store.read_at(commit, &task.transcript_path())?.unwrap_or_default();
    Ok(EventLog::parse(&log).0.heads())
}
