//! The story of tasks: what their transcripts tell, joined with the commits that hold it.

use crate::base::{Digest, RepoPath};
use crate::decide::{HistoryEntry, history_value, join_histories};
use crate::record::read_transcript;
use crate::survey::Workspace;
use crate::survey::{Error, TaskRef};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Recorded transitions, oldest first, each with the commit that recorded it.
pub type Story = Vec<(HistoryEntry, Option<Digest>)>;

/// The story of each task, in the order given; one walk through history for all.
///
/// A transcript tells the story, in whatever order a merge left its lines; a commit is joined to the
/// transition that its state holds last.
pub fn stories(workspace: &Workspace, tasks: &[TaskRef]) -> Result<Vec<Story>, Error> {
    let paths: Vec<_> = tasks.iter().map(TaskRef::state_path).collect();
    let mut history = match &workspace.store {
        Some(store) => store.history(&paths)?,
        None => BTreeMap::new(),
    };
    let story = |(task, path): (&TaskRef, &RepoPath)| {
        story(workspace, task, path, &history.remove(path).unwrap_or_default())
    };
    tasks.iter().zip(&paths).map(story).collect()
}

fn story(workspace: &Workspace, task: &TaskRef, path: &RepoPath, commits: &[Digest]) -> Result<Story, Error> {
    let transcript = task.transcript_path().under(&workspace.root);
    let text = crate::store::durable::read_regular(&transcript).unwrap_or_default();
    let events = read_transcript(&String::from_utf8_lossy(&text));
    let mut recorded: HashMap<String, Digest> = HashMap::new();
    for commit in commits {
        let bytes = workspace.store.as_ref().map(|store| store.read_at(*commit, path)).transpose()?.flatten();
        let state: Option<Value> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let last = state.and_then(|state| Some(state.get("history")?.as_array()?.last()?.to_string()));
        if let Some(last) = last {
            // History runs from new to old, so the oldest commit with a transition wins.
            recorded.insert(last, *commit);
        }
    }
    let commit = |entry: &HistoryEntry| recorded.get(&history_value(entry).to_string()).copied();
    let entries = join_histories(events.iter().map(|event| &event.entry));
    Ok(entries
        .into_iter()
        .map(|entry| (commit(&entry), entry))
        .map(|(commit, entry)| (entry, commit))
        .collect())
}
