//! The story of tasks: what their transcripts tell, joined with the commits that hold it.

use super::{Engine, Error, TaskRef};
use crate::base::{Digest, RepoPath};
use crate::decide::HistoryEntry;
use crate::record::read_transcript;
use std::collections::BTreeMap;

/// Recorded transitions, oldest first, each with the commit that recorded it.
pub type Story = Vec<(HistoryEntry, Option<Digest>)>;

impl Engine {
    /// The story of each task, in the order given; one walk through history for all.
    ///
    /// A transcript tells the story; a commit is joined to the transition whose number its state
    /// holds last.
    pub fn stories(&self, tasks: &[TaskRef]) -> Result<Vec<Story>, Error> {
        let paths = tasks.iter().map(TaskRef::state_path).collect::<Result<Vec<_>, _>>()?;
        let mut history = match &self.store {
            Some(store) => store.history(&paths)?,
            None => BTreeMap::new(),
        };
        let story = |(task, path): (&TaskRef, &RepoPath)| {
            self.story(task, path, &history.remove(path).unwrap_or_default())
        };
        tasks.iter().zip(&paths).map(story).collect()
    }

    fn story(&self, task: &TaskRef, path: &RepoPath, commits: &[Digest]) -> Result<Story, Error> {
        let transcript = task.transcript_path()?.under(&self.root);
        let text = crate::store::durable::read_regular(&transcript).unwrap_or_default();
        let mut entries: BTreeMap<u64, HistoryEntry> = BTreeMap::new();
        for event in read_transcript(&String::from_utf8_lossy(&text)) {
            entries.insert(event.entry.seq, event.entry);
        }
        let mut recorded: BTreeMap<u64, Digest> = BTreeMap::new();
        for commit in commits {
            let bytes = self.store.as_ref().map(|store| store.read_at(*commit, path)).transpose()?.flatten();
            let state: Option<serde_json::Value> =
                bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let last = state.and_then(|state| state.get("history")?.as_array()?.last()?.get("seq")?.as_u64());
            if let Some(seq) = last {
                // History runs from new to old, so the oldest commit with a number wins.
                recorded.insert(seq, *commit);
            }
        }
        Ok(entries.into_iter().map(|(seq, entry)| (entry, recorded.get(&seq).copied())).collect())
    }
}
