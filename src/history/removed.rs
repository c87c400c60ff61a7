//! Records that a commit removed. What such a record had used up would count again if the same work was
//! restarted under another record.
//!
//! The rules yield the new record, and people do restart, so such a step is not forged. But the log that says
//! why its evidence was sent back is gone, so the step is not proven either.

use super::archive::Archive;
use super::logs::{LogBytes, ReadLog};
use super::record::{TaskRecord, events_of};
use super::replay::Audited;
use super::side::Side;
use crate::base::{Digest, RepoPath};
use crate::decide::{HistoryEntry, ProvenStep};
use crate::record::TRANSCRIPT_FILE;
use crate::scan::ValidationCache;
use crate::store::{Removal, Store};
use crate::survey::Error;
use crate::workflow::is_tree_name;
use std::collections::{BTreeMap, HashSet};

/// A record that a commit removed.
struct RemovedRecord {
    commit: Digest,
    /// The directory of the task.
    task: RepoPath,
    events: HashSet<Digest>,
    /// The digests of all evidence that its steps name, and what it used up.
    known: HashSet<String>,
    spent: HashSet<String>,
}

/// The records that the history before a commit removed, with what they had used up.
pub(super) struct RemovedRecords<'a> {
    store: &'a Store,
    archive: &'a Archive<'a>,
    records: Vec<RemovedRecord>,
}

impl<'a> RemovedRecords<'a> {
    /// Finds the records that `tip` and its ancestors removed and that had used something up.
    ///
    /// # Errors
    ///
    /// git cannot read the history.
    pub(super) fn before(store: &'a Store, archive: &'a Archive<'a>, tip: Digest) -> Result<Self, Error> {
        let pool = archive.logs();
        let mut records = Vec::new();
        for Removal { commit, path, blob } in store.removals(tip, &[RepoPath::root()], TRANSCRIPT_FILE)? {
            let (Some(bytes), Some(task)) = (store.blob(blob)?, path.parent()) else { continue };
            let log = pool.read(LogBytes { blob, bytes: &bytes }, None);
            let events = pool.ids(&log);
            let states = log.heads.iter().filter_map(|head| pool.state_at(head).ok());
            let spent: HashSet<String> = states
                .flat_map(|state| state.actors.into_values().flat_map(|actor| actor.spent.into_values()))
                .flatten()
                .map(|digest| digest.to_string())
                .collect();
            if spent.is_empty() {
                continue;
            }
            let entries = events.iter().filter_map(|id| Some(pool.event(id)?.entry.clone()));
            let named = entries.flat_map(|entry| entry.evidence).map(|(_, digest)| digest);
            let known = named.chain(spent.iter().cloned()).collect();
            records.push(RemovedRecord { commit, task, events, known, spent });
        }
        Ok(Self { store, archive, records })
    }

    /// Makes the steps of a change unverifiable whose task has nothing but what a removed record knew, and that
    /// rest on something which that record had used up.
    ///
    /// # Errors
    ///
    /// git cannot read the history.
    pub(super) fn doubt(&self, change: &mut Audited) -> Result<(), Error> {
        let rests_on_spent = |step: &ProvenStep| {
            let mut evidence = step.entry.evidence.iter();
            evidence.any(|(_, digest)| self.records.iter().any(|record| record.spent.contains(digest)))
        };
        if !change.proof.steps.iter().any(rests_on_spent) {
            return Ok(());
        }
        let at = Side::new(self.archive, self.store.tree_source(change.commit.id))?;
        let log = TaskRecord::of(&change.task, &at.source)?.read(self.archive.logs(), None);
        change.proof.doubt(|step| self.restarted(&at, &log, step))?;
        Ok(())
    }

    /// Which evidence of a step a removed record had used up, if the step restarts the work of that record.
    fn restarted(&self, at: &Side<'_>, log: &ReadLog, step: &ProvenStep) -> Result<Option<String>, Error> {
        let pool = self.archive.logs();
        let own = pool.ids(log);
        let before = own.iter().filter_map(|id| Some(pool.event(id)?.entry.clone()));
        let mut entries: Vec<HistoryEntry> = before.filter(|entry| entry.seq <= step.entry.seq).collect();
        entries.sort_by_key(|entry| entry.seq);
        // What the task has at the step: the newest evidence of each path.
        let named = entries.into_iter().flat_map(|entry| entry.evidence);
        let newest: BTreeMap<String, String> = named.filter(|(path, _)| !is_tree_name(path)).collect();
        for record in &self.records {
            let mut evidence = step.entry.evidence.iter();
            let Some((path, digest)) = evidence.find(|(_, digest)| record.spent.contains(digest)) else {
                continue;
            };
            let is_same_work = newest.values().all(|digest| record.known.contains(digest));
            let is_own_record = !own.is_disjoint(&record.events);
            if is_same_work
                && !is_own_record
                && self.is_removed_before(record, at)?
                && !self.lives_on(record, at)?
            {
                let (task, commit) = (&record.task, record.commit.short());
                return Ok(Some(format!(
                    "{path}@{digest:.10} was used up by the task in {task}, whose record {commit} removed"
                )));
            }
        }
        Ok(None)
    }

    fn is_removed_before(&self, record: &RemovedRecord, at: &Side<'_>) -> Result<bool, Error> {
        let Some(commit) = at.source.commit() else { return Ok(false) };
        Ok(record.commit == commit || self.store.is_ancestor(record.commit, commit)?)
    }

    /// Whether a task of a commit has the events of a removed record: the task was renamed or restored.
    fn lives_on(&self, record: &RemovedRecord, at: &Side<'_>) -> Result<bool, Error> {
        let (pool, validations) = (self.archive.logs(), ValidationCache::default());
        for task in at.snapshot(&validations).tasks()? {
            if record.events.is_subset(&events_of(pool, &task, &at.source)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
