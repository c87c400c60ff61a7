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
use crate::survey::{Error, TaskRef};
use orch_base::{Digest, RepoPath};
use orch_core::decide::{HistoryEntry, ProvenStep};
use orch_core::workflow::is_tree_name;
use orch_git::{Removal, Store};
use orch_read::ValidationCache;
use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

/// The maximum number of events that a commit which renames a task adds to its log.
const MOST_ADDED: usize = 64;

/// A record that a commit removed.
struct RemovedRecord {
    commit: Digest,
    removal: Removal,
    /// The directory of the task.
    task: RepoPath,
    /// What it says; `None` if this clone does not have it.
    read: Option<ReadRecord>,
}

/// What a removed record says.
struct ReadRecord {
    events: HashSet<Digest>,
    /// The digests of all evidence that its steps name, and what it used up.
    known: HashSet<String>,
    spent: HashSet<String>,
}

impl RemovedRecord {
    /// Whether it had used up some evidence, if known.
    fn may_have_spent(&self, (path, digest): &(String, String)) -> bool {
        match &self.read {
            Some(read) => read.spent.contains(digest),
            None => !is_tree_name(path),
        }
    }
}

/// The records that the history before a commit removed, with what they had used up.
pub(super) struct RemovedRecords<'a> {
    store: &'a Store,
    archive: &'a Archive<'a>,
    records: Vec<RemovedRecord>,
}

/// Whether one of these logs begins with the log that has this blob id, which this clone lacks.
fn is_continued(store: &Store, log: Digest, others: &[Digest]) -> Result<bool, Error> {
    for other in others {
        if *other == log {
            return Ok(true);
        }
        let bytes = store.objects().blob(*other)?.unwrap_or_default();
        let ends = bytes
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'\n');
        // The events of one commit are few.
        let mut begun = ends
            .take(MOST_ADDED)
            .map(|(end, _)| log.format().blob(&bytes[..=end]));
        if begun.any(|begun| begun == log) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl<'a> RemovedRecords<'a> {
    /// The removed records that had used something up. `removals` are those of logs, newest first.
    ///
    /// # Errors
    ///
    /// git cannot read a log.
    pub(super) fn of(
        store: &'a Store,
        archive: &'a Archive<'a>,
        removals: Vec<Removal>,
    ) -> Result<Self, Error> {
        let pool = archive.logs();
        let mut records = Vec::new();
        for removal in removals {
            let Removal {
                commit,
                ref path,
                blob,
                ref added,
            } = removal;
            let Some(task) = path.parent() else { continue };
            let Some(bytes) = store.objects().blob(blob)? else {
                // The record of a task that was renamed is in the new log.
                if !is_continued(store, blob, added)? {
                    records.push(RemovedRecord {
                        commit,
                        removal,
                        task,
                        read: None,
                    });
                }
                continue;
            };
            let log = pool.read(
                LogBytes {
                    blob,
                    bytes: &bytes,
                },
                None,
            );
            let events = pool.ids(&log);
            let states = log.heads.iter().filter_map(|head| pool.state_at(head).ok());
            let spent: HashSet<String> = states
                .flat_map(|state| Arc::unwrap_or_clone(state).actors.into_values())
                .flat_map(|actor| actor.spent.into_values())
                .flatten()
                .map(|digest| digest.to_string())
                .collect();
            if spent.is_empty() {
                continue;
            }
            let entries = events
                .iter()
                .filter_map(|id| Some(pool.event(id)?.entry.clone()));
            let entries: Vec<Arc<HistoryEntry>> = entries.collect();
            let named = entries
                .iter()
                .flat_map(|entry| &entry.evidence)
                .map(|(_, digest)| digest.clone());
            let known = named.chain(spent.iter().cloned()).collect();
            let read = Some(ReadRecord {
                events,
                known,
                spent,
            });
            records.push(RemovedRecord {
                commit,
                removal,
                task,
                read,
            });
        }
        Ok(Self {
            store,
            archive,
            records,
        })
    }

    /// The removals of these records.
    pub(super) fn into_removals(self) -> Vec<Removal> {
        self.records
            .into_iter()
            .map(|record| record.removal)
            .collect()
    }

    /// Makes the steps of a change unverifiable whose task has nothing but what a removed record knew, and that
    /// rest on something which that record had used up; even if this clone lacks what would show that.
    pub(super) fn doubt(&self, change: &mut Audited) {
        let Audited {
            commit,
            task,
            proof,
            ..
        } = change;
        let rests_on_spent = |step: &ProvenStep| {
            let mut evidence = step.entry.evidence.iter();
            evidence.any(|named| {
                self.records
                    .iter()
                    .any(|record| record.may_have_spent(named))
            })
        };
        if !proof.steps.iter().any(rests_on_spent) {
            return;
        }
        let read = || -> Result<_, Error> {
            let at = Side::new(self.archive, self.store.objects().source_at(commit.id))?;
            let log = TaskRecord::of(task, &at.source)?.read(self.archive.logs(), None);
            Ok((at, log))
        };
        let read = read();
        let why = |step: &ProvenStep| -> Result<_, Infallible> {
            let found = match &read {
                _ if !rests_on_spent(step) => Ok(None),
                Ok((at, log)) => self.restarted(task, (at, log), step),
                Err(error) => Err(error.clone()),
            };
            // What cannot be read must not hide the verdicts about other changes.
            Ok(found.unwrap_or_else(|error| {
                Some(format!(
                    "whether a removed record had used up its evidence is unknown: {error}"
                ))
            }))
        };
        proof.doubt(why).unwrap_or_else(|never| match never {});
    }

    /// Which evidence of a step a removed record had used up, if the step restarts the work of that record.
    fn restarted(
        &self,
        own_task: &TaskRef,
        (at, log): (&Side<'_>, &ReadLog),
        step: &ProvenStep,
    ) -> Result<Option<String>, Error> {
        let pool = self.archive.logs();
        let own = pool.ids(log);
        let before = own
            .iter()
            .filter_map(|id| Some(pool.event(id)?.entry.clone()));
        let mut entries: Vec<Arc<HistoryEntry>> =
            before.filter(|entry| entry.seq <= step.entry.seq).collect();
        entries.sort_by_key(|entry| entry.seq);
        // What the task has at the step: the newest evidence of each path.
        let named = entries.iter().flat_map(|entry| &entry.evidence).cloned();
        let newest: BTreeMap<String, String> =
            named.filter(|(path, _)| !is_tree_name(path)).collect();
        for record in &self.records {
            let mut evidence = step.entry.evidence.iter();
            let Some((path, digest)) = evidence.find(|named| record.may_have_spent(named)) else {
                continue;
            };
            let task = &record.task;
            let commit = record.commit.short();
            let Some(read) = &record.read else {
                if self.is_removed_before(record, at)? && !self.was_there(own_task, record)? {
                    return Ok(Some(format!(
                        "whether {path}@{digest:.10} was used up is unknown: the record that {commit} removed from \
                         {task} is not in this clone"
                    )));
                }
                continue;
            };
            let is_same_work = newest.values().all(|digest| read.known.contains(digest));
            let is_own_record = !own.is_disjoint(&read.events);
            if is_same_work
                && !is_own_record
                && self.is_removed_before(record, at)?
                && !self.lives_on(read, at)?
            {
                return Ok(Some(format!(
                    "{path}@{digest:.10} was used up by the task in {task}, whose record {commit} removed"
                )));
            }
        }
        Ok(None)
    }

    fn is_removed_before(&self, record: &RemovedRecord, at: &Side<'_>) -> Result<bool, Error> {
        let Some(commit) = at.source.commit() else {
            return Ok(false);
        };
        Ok(record.commit == commit || self.store.history().is_ancestor(record.commit, commit)?)
    }

    /// Whether a task had a log before a commit removed a record, so that it does not restart the work of that record.
    fn was_there(&self, task: &TaskRef, record: &RemovedRecord) -> Result<bool, Error> {
        if record.task == *task.directory() {
            return Ok(false);
        }
        for parent in self.store.history().visit(record.commit)?.parents {
            if self
                .store
                .objects()
                .source_at(parent)
                .object(&task.transcript_path())?
                .is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a task of a commit has the events of a removed record: the task was renamed or restored.
    fn lives_on(&self, record: &ReadRecord, at: &Side<'_>) -> Result<bool, Error> {
        let pool = self.archive.logs();
        let validations = ValidationCache::default();
        for task in at.snapshot(&validations).search().tasks()? {
            if record
                .events
                .is_subset(&events_of(pool, &task, &at.source)?)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
