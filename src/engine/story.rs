//! The story of a task: what the transcript tells, joined with the commits that hold it.

use super::{Engine, Error, TaskRef};
use crate::base::{Diagnostic, Digest};
use crate::decide::HistoryEntry;
use crate::record::{TRANSCRIPT_FILE, read_transcript};
use std::collections::BTreeMap;

impl Engine {
    /// Every recorded transition of a task, oldest first, with the commit that recorded it.
    ///
    /// The transcript tells the story; a commit is joined to the transition whose number its state
    /// holds last.
    pub fn story(&self, task: &TaskRef) -> Result<Vec<(HistoryEntry, Option<Digest>)>, Error> {
        let path = task
            .directory
            .join(TRANSCRIPT_FILE)
            .map_err(|error| Error::from(Diagnostic::error("path", error.to_string())))?;
        let text = crate::store::durable::read_regular(&path.under(&self.root)).unwrap_or_default();
        let mut entries: BTreeMap<u64, HistoryEntry> = BTreeMap::new();
        for event in read_transcript(&String::from_utf8_lossy(&text)) {
            entries.insert(event.entry.seq, event.entry);
        }
        let mut commits: BTreeMap<u64, Digest> = BTreeMap::new();
        if let Some(store) = &self.store {
            for commit in store.history(&task.directory, usize::MAX)? {
                let Some(bytes) = store.read_at(commit.id, &task.state_path()?)? else { continue };
                let state: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
                let last =
                    state.and_then(|state| state.get("history")?.as_array()?.last()?.get("seq")?.as_u64());
                if let Some(seq) = last {
                    // History runs from new to old, so the oldest commit with a number wins.
                    commits.insert(seq, commit.id);
                }
            }
        }
        Ok(entries.into_iter().map(|(seq, entry)| (entry, commits.get(&seq).copied())).collect())
    }
}
