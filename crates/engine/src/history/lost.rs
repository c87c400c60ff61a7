//! The events that a log has lost: which they are, which commit has them, and whether an older program dropped them.

use super::archive::Archive;
use super::logs::ReadLog;
use crate::survey::{Error, TaskRef};
use orch_base::Digest;
use orch_core::decide::RecordVersion;
use orch_core::record::{LogEvent, listed_events};

/// Events that were in the log of a task before a change.
pub(super) struct LostEvents<'a> {
    pub task: &'a TaskRef,
    /// The commits before the change.
    pub parents: &'a [Digest],
    pub archive: &'a Archive<'a>,
    pub lost: &'a [Digest],
    /// The log after the change.
    pub log: &'a ReadLog,
}

impl LostEvents<'_> {
    /// In words, with the newest commit that has them. Returns an error if git cannot read the history.
    pub(super) fn words(&self) -> Result<String, Error> {
        let pool = self.archive.logs();
        let mut text = listed_events(&self.events(self.lost));
        let Some(first) = self.lost.first() else {
            return Ok(text);
        };
        let holder = self.archive.log_before(self.parents, self.task, |_, log| {
            pool.holds(&pool.read(log, None), first)
        })?;
        if let Some(commit) = holder.and_then(|holder| holder.commit()) {
            text.push_str(&format!(", which {} has", commit.short()));
        }
        if self.is_of_later_versions() {
            text.push_str("; an older `orch recover` drops the events that it does not know");
        }
        Ok(text)
    }

    /// Whether the log lost all events that a program of the first version of the record does not know, and no other.
    pub(super) fn is_of_later_versions(&self) -> bool {
        let is_known = |event: &LogEvent| event.entry.version == RecordVersion::First;
        let kept: Vec<Digest> = self.archive.logs().ids(self.log).into_iter().collect();
        !self.lost.is_empty()
            && !self.events(self.lost).iter().any(is_known)
            && self.events(&kept).iter().all(is_known)
    }

    fn events(&self, ids: &[Digest]) -> Vec<LogEvent> {
        let pool = self.archive.logs();
        ids.iter()
            .filter_map(|id| Some(pool.event(id)?.clone()))
            .collect()
    }
}
