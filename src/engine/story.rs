//! The story of a task: what the transcript tells, joined with the commits that hold it.

use super::{Engine, Error, TaskRef};
use crate::base::Digest;
use crate::decide::{HistoryEntry, history_value, join_histories};
use crate::record::read_transcript;
use serde_json::Value;
use std::collections::HashMap;

impl Engine {
    /// Every recorded transition of a task, oldest first, with the commit that recorded it.
    ///
    /// The transcript tells the story, in whatever order a merge left its lines; a commit is joined
    /// to the transition that its state holds last.
    pub fn story(&self, task: &TaskRef) -> Result<Vec<(HistoryEntry, Option<Digest>)>, Error> {
        let path = task.transcript_path()?;
        let bytes = crate::store::durable::read_regular(&path.under(&self.root)).unwrap_or_default();
        let events = read_transcript(&String::from_utf8_lossy(&bytes));
        let mut commits: HashMap<String, Digest> = HashMap::new();
        if let Some(store) = &self.store {
            for commit in store.history(&task.directory, usize::MAX)? {
                let Some(bytes) = store.read_at(commit.id, &task.state_path()?)? else { continue };
                let state: Option<Value> = serde_json::from_slice(&bytes).ok();
                if let Some(last) =
                    state.and_then(|state| Some(state.get("history")?.as_array()?.last()?.to_string()))
                {
                    // History runs from new to old, so the oldest commit with a transition wins.
                    commits.insert(last, commit.id);
                }
            }
        }
        let entries = join_histories(events.iter().map(|event| &event.entry)).into_iter();
        let joined = entries.map(|entry| {
            let commit = commits.get(&history_value(&entry).to_string()).copied();
            (entry, commit)
        });
        Ok(joined.collect())
    }
}
