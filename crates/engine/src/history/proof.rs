//! Proves a change of a task's record: the log may only grow, by events that the rules yield from the files
//! of the commit, and the state must be the fold of the log.

use super::archive::Archive;
use super::logs::{LogPool, ReadLog};
use super::lost::LostEvents;
use super::new_steps::NewSteps;
use super::record::{
    OTHER_LAYOUT, StateCheck, StateComparison, TaskRecord, Unread, events_of, is_foreign,
    missing_end,
};
use super::trailers::MessageSteps;
use crate::survey::setting::Settings;
use crate::survey::snapshot::{Snapshot, first};
use crate::survey::{Error, TaskRef};
use orch_base::{Code, Digest, TaskId, WorkflowName, command};
use orch_core::decide::{Proof, Standing, State, import_of, is_original};
use orch_core::record::{LogEvent, LogFault, LogFaultKind, NotAnEvent};
use orch_files::Source;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

/// The record of a task before and after a change.
pub(super) struct RecordChange<'a> {
    pub task: &'a TaskRef,
    /// The snapshots of the parents; an empty one for a commit without parents.
    pub befores: &'a [Snapshot<'a>],
    /// The commit ids of the parents.
    pub parents: &'a [Digest],
    pub after: &'a Snapshot<'a>,
    pub archive: &'a Archive<'a>,
    /// The steps that the commit message states.
    pub message_steps: &'a MessageSteps,
    /// Whether the change concerns the record of no other task.
    pub is_only: bool,
}

impl RecordChange<'_> {
    /// The verdict about the change; `None` if there is none to give, for example for an unchanged record.
    ///
    /// # Errors
    ///
    /// A commit, a blob or a record cannot be read.
    pub(super) fn prove(&self) -> Result<Option<Proof>, Error> {
        let new = match TaskRecord::of(self.task, self.after.source) {
            Ok(new) => new,
            Err(Unread::Elsewhere(why)) => {
                return Ok(Some(Proof::bare(Standing::Unverifiable, why)));
            }
            Err(Unread::NoFile(why)) => return Ok(Some(Proof::forged(why))),
            Err(Unread::Failed(error)) => return Err(error),
        };
        let pool = self.archive.logs();
        let mut olds = Vec::new();
        let mut former = None;
        for before in self.befores {
            let old = TaskRecord::in_source(self.task, before.source)?;
            // If a log continues one that was read before, only its new lines are parsed.
            old.read(pool, None);
            olds.push(match self.former(before, &old, &new)? {
                Some((task, record)) => {
                    former = Some(task);
                    record
                }
                None => old,
            });
        }
        if olds.iter().all(|old| *old == new) {
            let renamed = |former: TaskRef| format!("renamed from {}", former.id);
            return Ok(former.map(|former| Proof::bare(Standing::Restored, renamed(former))));
        }
        let old_logs: Vec<_> = olds.iter().map(|old| old.read(pool, None)).collect();
        let log = new.read(pool, olds.first());
        let (lost, added) = self.growth(&olds, &old_logs, &new, &log)?;
        // The next step of the task follows this record.
        let replaced = olds.iter().flat_map(|old| old.blobs_unlike(&new));
        replaced.for_each(|blob| self.archive.forget_blob(blob));
        let contradiction = self.contradiction(&added);
        let proof = Proving {
            change: self,
            olds,
            old_logs,
            new,
            log,
            lost,
            added,
        }
        .prove()?;
        let is_worse = |other: &Proof| {
            proof
                .as_ref()
                .is_none_or(|proof| proof.standing < other.standing)
        };
        let Some(other) = contradiction.filter(is_worse) else {
            return Ok(proof);
        };
        let steps = proof.map(|proof| proof.steps).unwrap_or_default();
        Ok(Some(Proof { steps, ..other }))
    }

    /// The task with its record that was at another place, if this change moves it here: its events are there no
    /// longer, and the new log continues its log, but not the one that was here. That record is on the side
    /// `before`, or in its history, if earlier commits moved it out of the sight of `orch`.
    fn former(
        &self,
        before: &Snapshot<'_>,
        old: &TaskRecord,
        new: &TaskRecord,
    ) -> Result<Option<(TaskRef, TaskRecord)>, Error> {
        let pool = self.archive.logs();
        let log = new.read(pool, Some(old));
        if old
            .log
            .as_ref()
            .is_some_and(|old| LogPool::added(old.blob, &log).is_some())
        {
            return Ok(None);
        }
        let ids = pool.ids(&log);
        if ids.is_empty() || !ids.is_disjoint(&pool.ids(&old.read(pool, None))) {
            return Ok(None);
        }
        // The newest id comes first.
        let mut others: Vec<String> = Vec::new();
        for id in pool.sorted(ids.iter().copied()).iter().rev() {
            let named = pool.state_at(id).ok().and_then(|state| state.task.clone());
            others.extend(
                named.filter(|name| name != self.task.id.as_str() && !others.contains(name)),
            );
        }
        if old.log.is_none() && others.is_empty() {
            return Ok(None);
        }
        let record_in =
            |other: &TaskRef, source: &dyn Source| -> Result<Option<TaskRecord>, Error> {
                let record = TaskRecord::in_source(other, source)?;
                let held = pool.ids(&record.read(pool, None));
                Ok(Some(record).filter(|_| !held.is_empty() && held.is_subset(&ids)))
            };
        let on_side = |other: &TaskRef| -> Result<Option<Option<(TaskRef, TaskRecord)>>, Error> {
            let whole = record_in(other, before.source)?;
            let part = || -> Result<Option<TaskRecord>, Error> {
                Ok(TaskRecord::in_source(other, before.source)?.part_within(pool, &ids))
            };
            let Some(record) = whole.map_or_else(part, |whole| Ok(Some(whole)))? else {
                return Ok(None);
            };
            let is_copied = !ids.is_disjoint(&events_of(pool, other, self.after.source)?);
            Ok(Some((!is_copied).then(|| (other.clone(), record))))
        };
        if let Some(found) = first(before.search().tasks()?.iter(), on_side)? {
            return Ok(found);
        }
        let in_history = |name: &String| -> Result<Option<(TaskRef, TaskRecord)>, Error> {
            let place = TaskId::new(name)
                .ok()
                .and_then(|id| self.after.place_of(self.task, &id));
            let Some(other) = place.filter(|other| other.directory() != self.task.directory())
            else {
                return Ok(None);
            };
            if self.after.search().task_at(other.directory())?.is_some() {
                return Ok(None);
            }
            let Some(last) = self.archive.log_before(self.parents, &other, |_, _| true)? else {
                return Ok(None);
            };
            Ok(record_in(&other, &last)?.map(|record| (other, record)))
        };
        first(others.iter(), in_history)
    }

    /// The verdict if the commit message does not describe the events that the commit adds.
    fn contradiction(&self, added: &[Digest]) -> Option<Proof> {
        if self.message_steps.is_empty() {
            return None;
        }
        let pool = self.archive.logs();
        let events: Vec<LogEvent> = added
            .iter()
            .filter_map(|id| Some(pool.event(id)?.clone()))
            .collect();
        let names = || {
            events
                .iter()
                .map(|event| &event.workflow.name)
                .chain([&self.task.workflow])
        };
        let settings = || {
            self.befores
                .iter()
                .chain([self.after])
                .map(|snapshot| snapshot.setting)
        };
        let is_phase = |phase: &str| {
            let has_phase = |(setting, name): (&Settings, &WorkflowName)| {
                let loaded = setting.workflow(name.as_str()).ok();
                loaded.is_some_and(|loaded| {
                    loaded
                        .workflow()
                        .is_some_and(|one| one.phase_named(phase).is_some())
                })
            };
            settings().any(|setting| names().any(|name| has_phase((setting, name))))
        };
        self.message_steps
            .contradicts(&self.task.id, &events, self.is_only, is_phase)
    }

    /// The events of the sides that the log has lost, and the events that are new in it.
    ///
    /// An event that follows a lost one has no state. If the lost event returns, both count as new, because
    /// the files may have changed meanwhile.
    fn growth(
        &self,
        olds: &[TaskRecord],
        old_logs: &[Arc<ReadLog>],
        new: &TaskRecord,
        log: &ReadLog,
    ) -> Result<(Vec<Digest>, Vec<Digest>), Error> {
        let pool = self.archive.logs();
        if let [TaskRecord { log: Some(old), .. }] = olds {
            if new.log.as_ref().is_some_and(|log| log.blob == old.blob) {
                return Ok((Vec::new(), Vec::new()));
            }
            if let Some(added) = LogPool::added(old.blob, log) {
                return Ok((Vec::new(), added.to_vec()));
            }
        }
        let sides: Vec<HashSet<Digest>> = old_logs.iter().map(|old| pool.ids(old)).collect();
        let now = pool.ids(log);
        let intact = pool.intact_ids(log);
        let intact_before: HashSet<Digest> = old_logs
            .iter()
            .flat_map(|old| pool.intact_ids(old))
            .collect();
        let dropped_by = |id: &Digest| sides.iter().any(|side| !side.contains(id));
        let mut lost: HashSet<Digest> = sides
            .iter()
            .flatten()
            .filter(|id| !now.contains(*id))
            .copied()
            .collect();
        // If one side dropped an event of the common ancestor, the commit that dropped it has that finding.
        if lost.iter().any(dropped_by) {
            let mut common = HashSet::new();
            for base in self.archive.common(self.parents)? {
                common.extend(events_of(pool, self.task, &base)?);
            }
            lost.retain(|id| !(common.contains(id) && dropped_by(id)));
        }
        let lost = self.not_elsewhere(lost, olds)?;
        let is_new = |id: &Digest| {
            let is_known = sides.iter().any(|side| side.contains(id));
            !is_known || (intact.contains(id) && !intact_before.contains(id))
        };
        let added = now.into_iter().filter(is_new);
        Ok((pool.sorted(lost), pool.sorted(added)))
    }
}

impl RecordChange<'_> {
    /// Those of the lost events that did not get a record of their own: a log that two tasks shared was split if all
    /// events of one of them are in the record of another task now.
    fn not_elsewhere(
        &self,
        mut lost: HashSet<Digest>,
        olds: &[TaskRecord],
    ) -> Result<HashSet<Digest>, Error> {
        let pool = self.archive.logs();
        if lost.is_empty() {
            return Ok(lost);
        }
        let mut parts: Vec<HashSet<Digest>> = Vec::new();
        let all: HashSet<Digest> = olds
            .iter()
            .flat_map(|old| pool.ids(&old.read(pool, None)))
            .collect();
        for part in pool.parts(&all) {
            // Events of the same task that stay say that it only lost some.
            if part.is_subset(&lost) && part.len() < all.len() {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            return Ok(lost);
        }
        for other in self
            .after
            .search()
            .tasks()?
            .iter()
            .filter(|other| other.directory() != self.task.directory())
        {
            let there = events_of(pool, other, self.after.source)?;
            for part in parts.iter().filter(|part| part.is_subset(&there)) {
                lost.retain(|id| !part.contains(id));
            }
        }
        Ok(lost)
    }
}

/// A change whose proof is in progress.
struct Proving<'a> {
    change: &'a RecordChange<'a>,
    olds: Vec<TaskRecord>,
    old_logs: Vec<Arc<ReadLog>>,
    new: TaskRecord,
    log: Arc<ReadLog>,
    lost: Vec<Digest>,
    added: Vec<Digest>,
}

impl Proving<'_> {
    fn prove(&self) -> Result<Option<Proof>, Error> {
        if self.new.log.is_none() {
            return self.without_log();
        }
        let proof = self.of_the_log()?;
        // What follows from an event that only a newer orch knows, this one cannot say.
        Ok(match (proof, self.newer_line()) {
            (Some(proof), Some(why))
                if proof.standing == Standing::Forged && self.lost.is_empty() =>
            {
                Some(Proof {
                    steps: proof.steps,
                    ..Proof::bare(Standing::Unverifiable, why)
                })
            }
            (proof, _) => proof,
        })
    }

    fn of_the_log(&self) -> Result<Option<Proof>, Error> {
        if let Some(why) = self.spoilt_line() {
            return Ok(Some(
                self.put_back(None)?.unwrap_or_else(|| Proof::forged(why)),
            ));
        }
        let proof = if self.lost.is_empty() {
            self.grown()?
        } else {
            self.shrunk()?
        };
        let why = match self.state_comparison() {
            _ if is_settled(proof.as_ref()) => return Ok(self.conflicted(proof)),
            StateComparison::Fold => return Ok(self.conflicted(proof)),
            StateComparison::Layout => return Ok(Some(in_other_layout(proof))),
            StateComparison::Other(why) => why,
        };
        if let Some(restored) = self.put_back(Some(self.new.blobs().0))? {
            return Ok(Some(restored));
        }
        let steps = proof.map(|proof| proof.steps).unwrap_or_default();
        Ok(Some(Proof {
            steps,
            ..Proof::forged(why)
        }))
    }

    /// The verdict about a log that lost no event.
    fn grown(&self) -> Result<Option<Proof>, Error> {
        if self.added.is_empty() {
            return Ok(self.united());
        }
        let pool = self.change.archive.logs();
        let heads: Vec<Digest> = self
            .old_logs
            .iter()
            .flat_map(|log| pool.intact_heads(log))
            .collect();
        let heads = pool.tips(&heads);
        let mut best: Option<Proof> = None;
        for (before, old) in self.change.befores.iter().zip(&self.olds) {
            let foreign = self.foreign(before, old);
            let proof = self.replay(before, &heads, &self.added, foreign.as_ref())?;
            if best
                .as_ref()
                .is_none_or(|best| best.standing > proof.standing)
            {
                best = Some(proof);
            }
        }
        let Some(proof) = best else { return Ok(None) };
        // A search through the ancestors is slow, so an ordinary step is accepted without one.
        let was_damaged = self.old_logs.iter().any(|old| !old.faults.is_empty());
        let ends_after_several = || self.added.len() > 1 && self.is_finished();
        if proof.standing < Standing::Unverifiable && !was_damaged && !ends_after_several() {
            return Ok(Some(proof));
        }
        Ok(Some(self.returned(proof)?))
    }

    /// The verdict about a record that may be restored from an ancestor or continue one; otherwise `proof`.
    fn returned(&self, proof: Proof) -> Result<Proof, Error> {
        Ok(match self.put_back(None)? {
            None if proof.standing == Standing::Forged => self.moved_on()?.unwrap_or(proof),
            restored => restored.unwrap_or(proof),
        })
    }

    /// The verdict about a log without new events, for example the union of two merged sides.
    fn united(&self) -> Option<Proof> {
        if matches!(self.state_comparison(), StateComparison::Other(_)) {
            return None;
        }
        let pool = self.change.archive.logs();
        let heads = pool.sorted(self.log.heads.iter().copied());
        let is_one_side = self
            .old_logs
            .iter()
            .any(|old| pool.sorted(old.heads.iter().copied()) == heads);
        let was_torn = self.old_logs.iter().any(|old| old.is_conflicted)
            || self.olds.iter().any(TaskRecord::has_torn_state);
        if was_torn && !self.is_torn() {
            return Some(Proof::bare(
                Standing::Merged,
                "the commit resolves the conflict of a merge",
            ));
        }
        if !is_one_side {
            return Some(Proof {
                why: None,
                ..Proof::bare(Standing::Merged, "")
            });
        }
        let was_edited =
            self.olds.len() == 1 && self.new.state.is_some() && self.state_fault_before();
        was_edited.then(|| {
            Proof::bare(
                Standing::Restored,
                "state.json is the fold of transcript.jsonl again",
            )
        })
    }

    /// The verdict about a log that lost events: it may be that of an ancestor or continue one. A merge may not
    /// lose any, because the other branch took these steps too; `orch resolve` chooses a side by an event.
    fn shrunk(&self) -> Result<Option<Proof>, Error> {
        if self.olds.len() > 1 {
            return Ok(Some(Proof::forged(self.merged_away()?)));
        }
        let why = format!(
            "transcript.jsonl, which only grows, lost an event: {}",
            self.loss().words()?
        );
        let forged = Proof {
            is_loss: self.loss().is_of_later_versions(),
            ..Proof::forged(why)
        };
        Ok(Some(self.returned(forged)?))
    }

    /// The reason for a merge whose record lacks events of a side.
    fn merged_away(&self) -> Result<String, Error> {
        Ok(format!(
            "the merge drops events of a merged side: {}",
            self.loss().words()?
        ))
    }

    fn loss(&self) -> LostEvents<'_> {
        let RecordChange {
            task,
            parents,
            archive,
            ..
        } = *self.change;
        LostEvents {
            task,
            parents,
            archive,
            lost: &self.lost,
            log: &self.log,
        }
    }

    /// Derives the events `added`, which follow `heads`.
    fn replay(
        &self,
        before: &Snapshot<'_>,
        heads: &[Digest],
        added: &[Digest],
        foreign: Option<&State>,
    ) -> Result<Proof, Error> {
        let RecordChange {
            task,
            befores,
            parents,
            after,
            archive,
            ..
        } = *self.change;
        // A step rests on the code of the parent commit.
        let own_code = after.code;
        let after = Snapshot {
            code: before.code,
            ..*after
        };
        let mut replaying = NewSteps {
            task,
            parents,
            befores,
            before: *before,
            after,
            own_code,
            archive,
            moved_from: Vec::new(),
            is_new_task: heads.is_empty(),
            steps: Vec::new(),
            held_after: RefCell::default(),
            edited: RefCell::default(),
        };
        if let Err(why) = replaying.read(added, heads, foreign) {
            return Ok(Proof::forged(why));
        }
        replaying.find_moves()?;
        let proof = replaying.prove()?;
        let is_doubtful = proof.standing == Standing::Unverifiable
            || replaying.steps.iter().any(|step| step.is_aside);
        let end = if is_doubtful { self.end() } else { None };
        // If the files of a step were edited later, its evidence cannot be as it was.
        let is_edited = |end: &Arc<State>| {
            end.heads
                .iter()
                .any(|head| replaying.edited.borrow().contains(head))
        };
        let end = end.filter(|end| !is_edited(end));
        let missing =
            end.and_then(|end| missing_end(task, &end, before.setting, after.source, archive));
        // If a step is in doubt, at least the evidence of the end must be present.
        Ok(
            match missing.filter(|_| proof.standing < Standing::Forged) {
                Some(missing) => Proof {
                    standing: Standing::Forged,
                    why: Some(missing),
                    ..proof
                },
                None => proof,
            },
        )
    }

    /// The verdict about a record that goes back to an ancestor and continues from there with other steps.
    fn moved_on(&self) -> Result<Option<Proof>, Error> {
        let RecordChange {
            task,
            parents,
            befores,
            archive,
            ..
        } = *self.change;
        let (pool, [before]) = (archive.logs(), befores) else {
            return Ok(None);
        };
        let now = pool.ids(&self.log);
        let at = |ids: &mut dyn Iterator<Item = Digest>| {
            ids.filter_map(|id| Some(pool.event(&id)?.entry.at)).max()
        };
        let last = at(&mut self
            .old_logs
            .iter()
            .flat_map(|log| log.heads.iter().copied()));
        let mut longest: Option<(Digest, HashSet<Digest>, Arc<ReadLog>)> = None;
        archive.log_before(parents, task, |source, log| {
            let log = pool.read(log, None);
            let ids = pool.ids(&log);
            let mut later = now.difference(&ids);
            // The audit trusts the time of a step. A step that is taken again has a later time; an edited old
            // step keeps its time.
            let is_later = later.all(|id| pool.event(id).map(|event| event.entry.at) > last);
            let is_part = log.faults.is_empty() && ids.is_subset(&now) && ids.len() < now.len();
            let is_longer = ids.len() > longest.as_ref().map_or(0, |(_, ids, _)| ids.len());
            if is_part && is_later && is_longer {
                longest = source.commit().map(|commit| (commit, ids, log));
            }
            false
        })?;
        let Some((commit, ids, log)) = longest else {
            return Ok(None);
        };
        let added = pool.sorted(now.difference(&ids).copied());
        let proof = self.replay(before, &log.heads, &added, None)?;
        if proof.standing == Standing::Forged {
            return Ok(None);
        }
        let back = format!("after going back to {}", commit.short());
        if self.loss().is_of_later_versions() {
            let why = Some(format!(
                "{back}, where transcript.jsonl lost an event: {}",
                self.loss().words()?
            ));
            let standing = proof.standing.max(Standing::Unverifiable);
            return Ok(Some(Proof {
                standing,
                why,
                is_loss: true,
                ..proof
            }));
        }
        Ok(Some(Proof {
            why: proof.why.clone().or(Some(back)),
            ..proof
        }))
    }

    /// The verdict about a commit whose log equals that of an ancestor, and whose state too if `state` is
    /// given. The record counts as restored only if all files equal those of an ancestor.
    fn put_back(&self, state: Option<Option<Digest>>) -> Result<Option<Proof>, Error> {
        let RecordChange {
            task,
            parents,
            after,
            archive,
            ..
        } = *self.change;
        let Some(log) = self.new.blobs().1 else {
            return Ok(None);
        };
        let pool = archive.logs();
        let made = self
            .log
            .heads
            .iter()
            .filter_map(|id| Some(pool.event(id)?.entry.at))
            .max();
        let Some(commit) = archive.held_by(parents, task, (state, log), made)? else {
            return Ok(None);
        };
        Ok(Some(
            match archive.stood(parents, task, made, after.source)? {
                // A revert of the first step of a later version does the same.
                Some(commit) if self.loss().is_of_later_versions() => {
                    let why = format!("as in {}, without {}", commit.short(), self.loss().words()?);
                    Proof::bare(Standing::Restored, why)
                }
                Some(commit) => restored_from(commit),
                None => {
                    let mut why = format!(
                        "the record is that of {}, and the files are not",
                        commit.short()
                    );
                    if !self.lost.is_empty() {
                        why.push_str(&format!(
                            "; transcript.jsonl lost an event: {}",
                            self.loss().words()?
                        ));
                    }
                    // The next step of an open task checks its files again. A finished task has no next step, but what
                    // somebody edited before this commit is not part of it.
                    let is_forged = self.is_finished()
                        && archive.brings_files(parents, task, commit, after.source)?;
                    let standing = if is_forged {
                        Standing::Forged
                    } else {
                        Standing::Unverifiable
                    };
                    Proof {
                        is_loss: self.loss().is_of_later_versions(),
                        ..Proof::bare(standing, why)
                    }
                }
            },
        ))
    }

    /// The verdict about a commit without a log: the task is new, or the commit removed its log.
    fn without_log(&self) -> Result<Option<Proof>, Error> {
        let RecordChange {
            task,
            parents,
            after,
            archive,
            ..
        } = *self.change;
        let had_log = self.olds.iter().any(|old| old.log.is_some());
        let value = self.new.value();
        let is_gone = after.source.list_task(&task.place)?.is_empty();
        let is_taken_over = self.olds.contains(&self.new);
        if self.olds.len() > 1 && !self.lost.is_empty() && !is_taken_over {
            return Ok(Some(Proof::forged(self.merged_away()?)));
        }
        let why = match (&self.new.state, &value) {
            (None, _) if is_gone || !had_log || self.lost.is_empty() => return Ok(None),
            (None, _) if self.leaves_another_task()? => return Ok(None),
            (None, _) => "the commit removes transcript.jsonl but not the other files of the task",
            (Some(_), None) => "state.json is not JSON",
            (Some(_), Some(value)) if !is_foreign(value) => {
                "state.json is there without the log that it folds"
            }
            (Some(_), Some(_)) if had_log => {
                "the commit replaces the record with a state without a history"
            }
            (Some(_), Some(value)) if self.is_importable(value) => {
                let why = "the state of an older tool, which `orch new` imports";
                return Ok(Some(Proof::bare(Standing::Claimed, why)));
            }
            (Some(_), Some(_)) => {
                let why = "a state without a record: no log shows how the task reached its phase";
                return Ok(Some(Proof::bare(Standing::Unverifiable, why)));
            }
        };
        if let Some(commit) = archive.stood(parents, task, None, after.source)? {
            return Ok(Some(restored_from(commit)));
        }
        if self.new.state.is_none() && self.takes_creation_back()? {
            let why =
                "the commit reverts the one that added the whole record, but other files stay";
            return Ok(Some(Proof::bare(Standing::Unverifiable, why)));
        }
        Ok(Some(Proof::forged(why)))
    }

    /// Whether the commit takes the record to the archive, and leaves the file of a new task under the same id.
    fn leaves_another_task(&self) -> Result<bool, Error> {
        let RecordChange { task, after, .. } = *self.change;
        let [old] = self.olds.as_slice() else {
            return Ok(false);
        };
        let log = old
            .log
            .as_ref()
            .map(|log| log.bytes.as_slice())
            .unwrap_or_default();
        after.setting.has_other_task_left(task, log, after.source)
    }

    /// Whether one commit brought the whole record that this one removes, so that its revert does so too.
    fn takes_creation_back(&self) -> Result<bool, Error> {
        let RecordChange {
            task,
            parents,
            archive,
            ..
        } = *self.change;
        let [old] = self.old_logs.as_slice() else {
            return Ok(false);
        };
        let pool = archive.logs();
        let had = pool.ids(old);
        let other = archive.log_before(parents, task, |_, log| {
            pool.ids(&pool.read(log, None)) != had
        })?;
        Ok(other.is_none())
    }

    /// Whether the workflow of the task imports this state.
    fn is_importable(&self, value: &Value) -> bool {
        let RecordChange {
            task,
            befores,
            after,
            ..
        } = *self.change;
        let mut settings = befores
            .iter()
            .chain([after])
            .map(|snapshot| snapshot.setting);
        settings.any(|setting| {
            let loaded = setting.workflow(task.workflow.as_str()).ok();
            loaded
                .as_ref()
                .and_then(|loaded| import_of(loaded.workflow()?, value))
                .is_some()
        })
    }

    /// The fault of a line of a newer version of the record, unless something else is wrong with other lines of the log. What
    /// a known version does not have is no such fault: a program that writes more raises the version.
    fn newer_line(&self) -> Option<String> {
        let is_newer =
            |fault: &&LogFault| fault.kind == LogFaultKind::NotAnEvent(NotAnEvent::Newer);
        let follows = |fault: &LogFault| {
            matches!(
                fault.kind.code(),
                Code::LogIncomplete | Code::LogInconsistent
            )
        };
        let faults = || self.log.faults.iter().map(|(fault, _)| fault);
        let newer = faults().find(is_newer)?;
        let is_only = faults().all(|fault| is_newer(&fault) || follows(fault));
        is_only.then(|| format!("transcript.jsonl, {newer}"))
    }

    /// The fault of a line that no side contains.
    fn spoilt_line(&self) -> Option<String> {
        let is_old = |line: &Vec<u8>| {
            let mut logs = self.olds.iter().filter_map(|old| old.log.as_ref());
            logs.any(|log| {
                log.bytes
                    .split(|byte| *byte == b'\n')
                    .any(|old| old == line.as_slice())
            })
        };
        let (fault, _) = self.log.faults.iter().find(|(_, line)| !is_old(line))?;
        Some(format!("transcript.jsonl, {fault}"))
    }

    /// What the state is beside its log, unless a side has the same state and the log lost no event.
    fn state_comparison(&self) -> StateComparison {
        let Some(state) = self.new.blobs().0 else {
            return StateComparison::Fold;
        };
        let is_beside_log = |old: &TaskRecord| old.log.is_some() && old.blobs().0 == Some(state);
        let stood = self.lost.is_empty() && self.olds.iter().any(is_beside_log);
        if stood || self.is_torn() {
            return StateComparison::Fold;
        }
        let RecordChange {
            befores,
            after,
            archive,
            ..
        } = *self.change;
        let settings = befores
            .iter()
            .chain([after])
            .map(|snapshot| snapshot.setting)
            .collect();
        StateCheck {
            record: &self.new,
            log: &self.log,
            archive,
            settings,
        }
        .comparison()
    }

    /// Whether the changed state before the commit was not the fold of its log.
    fn state_fault_before(&self) -> bool {
        let RecordChange {
            befores, archive, ..
        } = *self.change;
        let settings = befores.iter().map(|snapshot| snapshot.setting).collect();
        let (Some(record), Some(log)) = (self.olds.first(), self.old_logs.first()) else {
            return false;
        };
        record.blobs() != self.new.blobs()
            && StateCheck {
                record,
                log,
                archive,
                settings,
            }
            .fault()
            .is_some()
    }

    /// Whether the commit contains conflict markers.
    fn is_torn(&self) -> bool {
        self.log.is_conflicted || self.new.has_torn_state()
    }

    /// The verdict about a change with conflict markers, which a person must resolve; otherwise `proof`.
    fn conflicted(&self, proof: Option<Proof>) -> Option<Proof> {
        if !self.is_torn() || self.olds.iter().any(|old| old.blobs() == self.new.blobs()) {
            return proof;
        }
        let way_out = command(&["orch", "resolve", self.change.task.id.as_str()]);
        let why = format!("the commit contains conflict markers of a merge; {way_out}");
        let forged = proof.filter(|proof| proof.standing == Standing::Forged);
        Some(forged.unwrap_or_else(|| Proof::bare(Standing::Unverifiable, why)))
    }

    /// The state after the whole log, if it can be folded.
    fn end(&self) -> Option<Arc<State>> {
        let RecordChange {
            befores, archive, ..
        } = *self.change;
        let pool = archive.logs();
        let name = pool.workflow_name(&self.log.heads)?;
        befores.iter().find_map(|before| {
            let loaded = before.setting.workflow(name.as_str()).ok();
            pool.fold(
                loaded.as_ref().and_then(|loaded| loaded.workflow()),
                &self.log.heads,
            )
            .ok()?
        })
    }

    /// Whether no later step checks the files of the task.
    fn is_finished(&self) -> bool {
        let Some(end) = self.end() else { return true };
        let named = end.workflow.as_ref();
        let loaded =
            named.and_then(|named| self.change.after.setting.workflow(named.name.as_str()).ok());
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
        let phase = end
            .phase
            .as_deref()
            .and_then(|phase| workflow?.phase_named(phase));
        phase.is_none_or(|phase| phase.terminal)
    }

    /// The state of another tool that the first event may have adopted.
    fn foreign(&self, before: &Snapshot<'_>, old: &TaskRecord) -> Option<State> {
        let archive = self.change.archive;
        if old.log.is_some() {
            return None;
        }
        let name = archive.logs().workflow_name(&self.added)?;
        if old.state.is_some() {
            return old.foreign(archive, before.setting, name.as_str());
        }
        // A squash leaves no commit that holds the imported file, but git may still have it.
        let events = archive.logs().sorted(self.added.iter().copied());
        let first = archive.logs().event(events.first()?)?.clone();
        let (_, digest) = first
            .entry
            .evidence
            .iter()
            .find(|(path, _)| is_original(path))?;
        let bytes = archive.blob(Digest::parse(digest)?).ok()??;
        let text = std::str::from_utf8(&bytes).ok()?;
        archive.foreign(
            before.setting,
            name.as_str(),
            text,
            &serde_json::from_str(text).ok()?,
        )
    }
}

/// Whether a verdict is final, even if the state is wrong.
fn is_settled(proof: Option<&Proof>) -> bool {
    proof.is_some_and(|proof| {
        proof.standing == Standing::Forged
            || (proof.standing == Standing::Restored && proof.steps.is_empty())
    })
}

/// A verdict with the note that a formatter wrote the state.
fn in_other_layout(proof: Option<Proof>) -> Proof {
    let Some(proof) = proof else {
        return Proof::bare(Standing::Proven, OTHER_LAYOUT);
    };
    let why = proof.why.as_ref().map_or_else(
        || OTHER_LAYOUT.to_owned(),
        |why| format!("{why}; {OTHER_LAYOUT}"),
    );
    Proof {
        why: Some(why),
        ..proof
    }
}

fn restored_from(commit: Digest) -> Proof {
    Proof::bare(Standing::Restored, format!("as in {}", commit.short()))
}
