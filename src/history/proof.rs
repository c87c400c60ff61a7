//! Proving a change of a task's record: did its log only grow, by what the rules yield from the bytes
//! beside it, and is its state the fold of that?

use super::archive::Archive;
use super::logs::{LogPool, ReadLog};
use super::new_steps::NewSteps;
use super::record::{StateCheck, TaskRecord, Unread, is_foreign, missing_end};
use crate::base::{Digest, command};
use crate::decide::{Proof, Standing, State};
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, TaskRef};
use std::collections::HashSet;
use std::sync::Arc;

/// A task before and after.
pub(super) struct RecordChange<'a> {
    pub task: &'a TaskRef,
    /// What the parents hold; of a commit without any, nothing at all.
    pub befores: &'a [Snapshot<'a>],
    /// The parents.
    pub parents: &'a [Digest],
    pub after: &'a Snapshot<'a>,
    pub archive: &'a Archive<'a>,
}

impl RecordChange<'_> {
    /// Proves the change; `None` where there is nothing to say of it.
    ///
    /// # Errors
    ///
    /// Something cannot be read.
    pub(super) fn prove(&self) -> Result<Option<Proof>, Error> {
        let new = match TaskRecord::of(self.task, self.after.source) {
            Ok(new) => new,
            Err(Unread::Elsewhere(why)) => return Ok(Some(Proof::bare(Standing::Unverifiable, why))),
            Err(Unread::NoFile(why)) => return Ok(Some(Proof::forged(why))),
            Err(Unread::Failed(error)) => return Err(error),
        };
        let mut olds = Vec::new();
        for before in self.befores {
            olds.push(match TaskRecord::of(self.task, before.source) {
                // What was no file before it is one again told nothing that could be gone on from.
                Err(Unread::NoFile(_)) => TaskRecord::default(),
                old => old?,
            });
        }
        if olds.iter().all(|old| *old == new) {
            return Ok(None);
        }
        let pool = self.archive.logs();
        let old_logs: Vec<_> = olds.iter().map(|old| old.read(pool, None)).collect();
        let log = new.read(pool, olds.first());
        let (lost, added) = self.growth(&olds, &old_logs, &new, &log)?;
        Proving { change: self, olds, old_logs, new, log, lost, added }.prove()
    }

    /// The events that the sides had and the log has not, and those that are new in it.
    ///
    /// An event that followed a lost one had no state. When the lost one returns, both are new, because the
    /// files that they rest on may be other files by then.
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
        let mut common = HashSet::new();
        for base in self.archive.common(self.parents)? {
            let base = TaskRecord::of(self.task, &base).unwrap_or_default();
            common.extend(pool.ids(&base.read(pool, None)));
        }
        let now = pool.ids(log);
        let intact = pool.intact_ids(log);
        let intact_before: HashSet<Digest> = old_logs.iter().flat_map(|old| pool.intact_ids(old)).collect();
        let dropped_by = |id: &Digest| sides.iter().any(|side| !side.contains(id));
        let lost: HashSet<Digest> = sides.iter().flatten().filter(|id| !now.contains(*id)).copied().collect();
        // What one side dropped from what both come from is told of its own commit.
        let lost = lost.into_iter().filter(|id| !(common.contains(id) && dropped_by(id)));
        let is_new = |id: &Digest| {
            let is_known = sides.iter().any(|side| side.contains(id));
            !is_known || (intact.contains(id) && !intact_before.contains(id))
        };
        let added = now.into_iter().filter(is_new);
        Ok((pool.sorted(lost), pool.sorted(added)))
    }
}

/// A change that is being proven.
struct Proving<'a> {
    change: &'a RecordChange<'a>,
    olds: Vec<TaskRecord>,
    old_logs: Vec<Arc<ReadLog>>,
    new: TaskRecord,
    log: Arc<ReadLog>,
    lost: Vec<Digest>,
    added: Vec<Digest>,
}

/// What a merge is told whose other side is not in it.
const DROPPED: &str = "what another side recorded is dropped";

/// Why a merge is forged that holds the events of no side in full.
const MERGED_AWAY: &str = "what one of the merged sides recorded is dropped";

impl Proving<'_> {
    fn prove(&self) -> Result<Option<Proof>, Error> {
        if self.new.log.is_none() {
            return self.without_log();
        }
        if let Some(why) = self.spoilt_line() {
            return Ok(Some(self.put_back(None)?.unwrap_or_else(|| Proof::forged(why))));
        }
        let proof = if self.lost.is_empty() { self.grown()? } else { self.shrunk()? };
        let Some(why) = self.state_fault().filter(|_| !is_settled(proof.as_ref())) else {
            return Ok(self.conflicted(proof));
        };
        if let Some(restored) = self.put_back(Some(self.new.blobs().0))? {
            return Ok(Some(restored));
        }
        let steps = proof.map(|proof| proof.steps).unwrap_or_default();
        Ok(Some(Proof { steps, ..Proof::forged(why) }))
    }

    /// What became of a log that has everything that was recorded before.
    fn grown(&self) -> Result<Option<Proof>, Error> {
        if self.added.is_empty() {
            return Ok(self.united());
        }
        if let Some(renamed) = self.renamed() {
            return Ok(Some(renamed));
        }
        let pool = self.change.archive.logs();
        let heads: Vec<Digest> = self.old_logs.iter().flat_map(|log| pool.intact_heads(log)).collect();
        let heads = pool.tips(&heads);
        let mut best: Option<Proof> = None;
        for (before, old) in self.change.befores.iter().zip(&self.olds) {
            let foreign = self.foreign(before, old);
            let proof = self.replay(before, &heads, &self.added, foreign.as_ref())?;
            if best.as_ref().is_none_or(|best| best.standing > proof.standing) {
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
        Ok(Some(match self.put_back(None)? {
            None if proof.standing == Standing::Forged => self.moved_on()?.unwrap_or(proof),
            restored => restored.unwrap_or(proof),
        }))
    }

    /// A log that holds no new event: of a merge, what both sides recorded.
    fn united(&self) -> Option<Proof> {
        if self.state_fault().is_some() {
            return None;
        }
        let pool = self.change.archive.logs();
        let heads = pool.sorted(self.log.heads.iter().copied());
        let is_one_side = self.old_logs.iter().any(|old| pool.sorted(old.heads.iter().copied()) == heads);
        let was_torn = self.old_logs.iter().any(|old| old.is_conflicted)
            || self.olds.iter().any(TaskRecord::has_torn_state);
        if was_torn && !self.is_torn() {
            return Some(Proof::bare(Standing::Merged, "the conflict of a merge is resolved"));
        }
        if !is_one_side {
            return Some(Proof { why: None, ..Proof::bare(Standing::Merged, "") });
        }
        let was_edited = self.olds.len() == 1 && self.new.state.is_some() && self.state_fault_before();
        was_edited
            .then(|| Proof::bare(Standing::Restored, "state.json is the fold of transcript.jsonl again"))
    }

    /// What became of a log that lost events: an ancestor's was put back, or somebody went on from one.
    fn shrunk(&self) -> Result<Option<Proof>, Error> {
        let is_merge = self.olds.len() > 1;
        let pool = self.change.archive.logs();
        let now = pool.ids(&self.log);
        let is_one_side = self.old_logs.iter().any(|old| pool.ids(old) == now);
        let dropped = |proof: Proof| Proof {
            why: proof.why.map(|why| if is_merge { format!("{why}; {DROPPED}") } else { why }),
            ..proof
        };
        if is_merge && !is_one_side {
            return Ok(Some(Proof::forged(MERGED_AWAY)));
        }
        if let Some(restored) = self.put_back(None)? {
            return Ok(Some(dropped(restored)));
        }
        let moved_on = self.moved_on()?;
        Ok(Some(moved_on.unwrap_or_else(|| dropped(Proof::forged(self.what_is_lost())))))
    }

    fn what_is_lost(&self) -> String {
        let first = self.lost.first();
        let told = first.and_then(|id| {
            let event = self.change.archive.logs().event(id)?;
            Some(format!("{} to {} ({})", event.entry.kind.as_str(), event.entry.to, id.short()))
        });
        let more = match self.lost.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let told = told.unwrap_or_default();
        format!("transcript.jsonl, which only grows, lost an event: {told}{more}")
    }

    /// Derives new events anew, that stand behind those which end at `heads`.
    fn replay(
        &self,
        before: &Snapshot<'_>,
        heads: &[Digest],
        added: &[Digest],
        foreign: Option<&State>,
    ) -> Result<Proof, Error> {
        let RecordChange { task, befores, parents, after, archive } = *self.change;
        // A step is taken on the code that was committed before it.
        let after = Snapshot { code: before.code, ..*after };
        let (steps, held_after) = Default::default();
        let mut replaying =
            NewSteps { task, parents, befores, before: *before, after, archive, steps, held_after };
        if let Err(why) = replaying.read(added, heads, foreign) {
            return Ok(Proof::forged(why));
        }
        let proof = replaying.prove()?;
        let is_doubtful =
            proof.standing == Standing::Unverifiable || replaying.steps.iter().any(|step| step.is_aside);
        let end = if is_doubtful { self.end() } else { None };
        let missing = end.and_then(|end| missing_end(task, &end, before.setting, after.source, archive));
        // Of what is in doubt at least the end must be there.
        Ok(match missing.filter(|_| proof.standing < Standing::Forged) {
            Some(missing) => Proof { standing: Standing::Forged, why: Some(missing), ..proof },
            None => proof,
        })
    }

    /// The record continues that of an ancestor: a commit that goes back there and then takes other steps.
    fn moved_on(&self) -> Result<Option<Proof>, Error> {
        let RecordChange { task, parents, befores, archive, .. } = *self.change;
        let (pool, [before]) = (archive.logs(), befores) else { return Ok(None) };
        let now = pool.ids(&self.log);
        let at = |ids: &mut dyn Iterator<Item = Digest>| {
            ids.filter_map(|id| Some(pool.event(&id)?.entry.at)).max()
        };
        let last = at(&mut self.old_logs.iter().flat_map(|log| log.heads.iter().copied()));
        let (mut most, mut best) = (0, None);
        archive.log_before(parents, task, |log| {
            let blob = log.blob;
            let log = pool.read(log, None);
            let ids = pool.ids(&log);
            let mut later = now.difference(&ids);
            // The audit believes the time of a step. A step that is taken anew has a new time; the old steps
            // with other contents have the old one.
            let is_later = later.all(|id| pool.event(id).map(|event| event.entry.at) > last);
            let is_part = log.faults.is_empty() && ids.is_subset(&now) && ids.len() < now.len();
            // The longest log is the one that the new steps follow.
            if is_part && is_later && ids.len() > most {
                (most, best) = (ids.len(), Some(blob));
            }
            false
        })?;
        let Some(blob) = best else { return Ok(None) };
        let Some(source) = archive.log_before(parents, task, |log| log.blob == blob)? else {
            return Ok(None);
        };
        let log = TaskRecord::of(task, &source)?.read(pool, None);
        let ids = pool.ids(&log);
        let added = pool.sorted(now.difference(&ids).copied());
        let proof = self.replay(before, &log.heads, &added, None)?;
        let from = source.commit().map(|commit| format!("after going back to {}", commit.short()));
        Ok((proof.standing != Standing::Forged).then(|| Proof { why: proof.why.clone().or(from), ..proof }))
    }

    /// The same record under another name: the task was renamed, and nothing of it stayed behind.
    fn renamed(&self) -> Option<Proof> {
        let RecordChange { befores, after, .. } = self.change;
        if self.olds.iter().any(|old| old.log.is_some()) {
            return None;
        }
        let was_it = |before: &Snapshot<'_>, other: &TaskRef| {
            let same = TaskRecord::of(other, before.source).is_ok_and(|record| record == self.new);
            same && after.task_at(&other.directory).is_none()
        };
        let other =
            befores.iter().find_map(|before| before.tasks().into_iter().find(|task| was_it(before, task)))?;
        Some(Proof::bare(Standing::Restored, format!("renamed from {}", other.id)))
    }

    /// The log of an ancestor, put back, with the files that it was about; where `state` says which, with
    /// the state beside it.
    fn put_back(&self, state: Option<Option<Digest>>) -> Result<Option<Proof>, Error> {
        let RecordChange { task, parents, after, archive, .. } = *self.change;
        let Some(log) = self.new.blobs().1 else { return Ok(None) };
        let pool = archive.logs();
        let made = self.log.heads.iter().filter_map(|id| Some(pool.event(id)?.entry.at)).max();
        let Some(commit) = archive.held_by(parents, task, (state, log), made)? else { return Ok(None) };
        Ok(Some(match archive.stood(parents, task, made, after.source)? {
            Some(commit) => restored_from(commit),
            None => {
                let why = format!("the record is that of {}, and the files are not", commit.short());
                // The next step judges the files of an open task again. No step judges those of a finished one.
                let standing = if self.is_finished() { Standing::Forged } else { Standing::Unverifiable };
                Proof::bare(standing, why)
            }
        }))
    }

    /// There is no log any more: as there was none before the task was begun, or somebody hides it.
    fn without_log(&self) -> Result<Option<Proof>, Error> {
        let RecordChange { task, parents, after, archive, .. } = *self.change;
        let had_log = self.olds.iter().any(|old| old.log.is_some());
        let value = self.new.value();
        let is_gone = after.source.children(&task.directory).is_none_or(|left| left.is_empty());
        let is_taken_over = self.olds.contains(&self.new);
        if self.olds.len() > 1 && !self.lost.is_empty() && !is_taken_over {
            return Ok(Some(Proof::forged(MERGED_AWAY)));
        }
        let why = match (&self.new.state, &value) {
            (None, _) if is_gone || !had_log || self.lost.is_empty() => return Ok(None),
            (None, _) => "transcript.jsonl was removed, and the task's files were not",
            (Some(_), None) => "state.json is not JSON",
            (Some(_), Some(value)) if !is_foreign(value) => {
                "state.json is there without the log that it folds"
            }
            (Some(_), Some(_)) if had_log => "the record was replaced by a state without a history",
            (Some(_), Some(_)) => {
                let why = "a state without a record: nothing says how it came into its phase";
                return Ok(Some(Proof::bare(Standing::Unverifiable, why)));
            }
        };
        let stood = archive.stood(parents, task, None, after.source)?;
        Ok(Some(stood.map_or_else(|| Proof::forged(why), restored_from)))
    }

    /// What is wrong with a line that no side had.
    fn spoilt_line(&self) -> Option<String> {
        let is_old = |line: &Vec<u8>| {
            let mut logs = self.olds.iter().filter_map(|old| old.log.as_ref());
            logs.any(|log| log.bytes.split(|byte| *byte == b'\n').any(|old| old == line.as_slice()))
        };
        let (fault, _) = self.log.faults.iter().find(|(_, line)| !is_old(line))?;
        Some(format!("transcript.jsonl, {fault}"))
    }

    /// What this state says otherwise than its log, unless it stood so on a side whose events are all there.
    fn state_fault(&self) -> Option<String> {
        let state = self.new.blobs().0?;
        let is_beside_log = |old: &TaskRecord| old.log.is_some() && old.blobs().0 == Some(state);
        let stood = self.lost.is_empty() && self.olds.iter().any(is_beside_log);
        if stood || self.is_torn() {
            return None;
        }
        let RecordChange { befores, after, archive, .. } = *self.change;
        let settings = befores.iter().chain([after]).map(|snapshot| snapshot.setting).collect();
        StateCheck { record: &self.new, log: &self.log, archive, settings }.fault()
    }

    /// Whether the state before was not the fold of its log.
    fn state_fault_before(&self) -> bool {
        let RecordChange { befores, archive, .. } = *self.change;
        let settings = befores.iter().map(|snapshot| snapshot.setting).collect();
        let (Some(record), Some(log)) = (self.olds.first(), self.old_logs.first()) else { return false };
        record.blobs() != self.new.blobs() && StateCheck { record, log, archive, settings }.fault().is_some()
    }

    /// Whether a merge was committed with its conflict.
    fn is_torn(&self) -> bool {
        self.log.is_conflicted || self.new.has_torn_state()
    }

    /// The verdict about a change with a conflict in it, which is for a person to resolve.
    fn conflicted(&self, proof: Option<Proof>) -> Option<Proof> {
        if !self.is_torn() || self.olds.iter().any(|old| old.blobs() == self.new.blobs()) {
            return proof;
        }
        let way_out = command(&["orch", "resolve", self.change.task.id.as_str()]);
        let why = format!("the conflict of a merge was committed; {way_out}");
        let forged = proof.filter(|proof| proof.standing == Standing::Forged);
        Some(forged.unwrap_or_else(|| Proof::bare(Standing::Unverifiable, why)))
    }

    /// The state in the end.
    fn end(&self) -> Option<State> {
        let RecordChange { befores, archive, .. } = *self.change;
        let pool = archive.logs();
        let name = self.log.heads.first().and_then(|id| Some(pool.event(id)?.workflow.name.to_string()))?;
        befores.iter().find_map(|before| {
            let loaded = before.setting.workflow(&name).ok();
            pool.fold(loaded.as_ref().and_then(|loaded| loaded.workflow()), &self.log.heads).ok()?
        })
    }

    /// Whether nobody judges the files of the task again.
    fn is_finished(&self) -> bool {
        let Some(end) = self.end() else { return true };
        let named = end.workflow.as_ref();
        let loaded = named.and_then(|named| self.change.after.setting.workflow(named.name.as_str()).ok());
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
        let phase = end.phase.as_deref().and_then(|phase| workflow?.phase_named(phase));
        phase.is_none_or(|phase| phase.terminal)
    }

    /// The state of another tool that the first event of a task may have taken over.
    fn foreign(&self, before: &Snapshot<'_>, old: &TaskRecord) -> Option<State> {
        let value = old.value()?;
        let first = self
            .added
            .first()
            .and_then(|id| Some(self.change.archive.logs().event(id)?.workflow.name.to_string()))?;
        old.foreign(&self.change.archive.phase_key(before.setting, &first, &value))
    }
}

/// Whether a verdict stands, whatever the state says.
fn is_settled(proof: Option<&Proof>) -> bool {
    proof.is_some_and(|proof| {
        proof.standing == Standing::Forged || (proof.standing == Standing::Restored && proof.steps.is_empty())
    })
}

fn restored_from(commit: Digest) -> Proof {
    Proof::bare(Standing::Restored, format!("as in {}", commit.short()))
}
