//! The record of a task, held against what HEAD and the history contain of it.

use super::basis::LookBasis;
use super::evidence::with_own_line_endings;
use super::snapshot::{Reading, log_faults};
use super::{Error, Look, TaskRef};
use orch_base::{Code, Diagnostic, Digest, Hint, Place};
use orch_core::decide::Recorded;
use orch_core::record::{EventLog, LogPart, has_lost_events, listed_events, lost_events};
use orch_files::{ObservedLog, io_error};
use orch_git::{Store, durable};
use orch_read::Observed;

/// What was read of a task, with its record compared with HEAD and with the history.
pub(super) struct HeldReading {
    pub reading: Reading,
    /// Whether the current branch has no log of it.
    pub untracked: bool,
    /// Whether the current branch contains exactly this log.
    pub is_committed: bool,
    /// What the comparison rests on.
    pub basis: LookBasis,
}

impl Look<'_> {
    /// Why no step can follow the record of a task, as a look at all of its log finds it; nothing if one can. Evaluates no
    /// rule.
    ///
    /// Returns an error if the source cannot be read or the workflow cannot be used.
    pub fn record_faults(&self, task: &TaskRef) -> Result<Vec<Diagnostic>, Error> {
        let reading = self
            .reader
            .snapshot_at(self.commit(), |snapshot| snapshot.observe(task, u64::MAX))?;
        let held = self.hold_against_history(task, reading, self.reader.reads_work_dir())?;
        Ok(held.reading.recorded.faults(&task.id))
    }

    /// Compares the record that was read with HEAD and with the history. Only in the work tree is HEAD consulted.
    pub(super) fn hold_against_history(
        &self,
        task: &TaskRef,
        reading: Reading,
        is_present: bool,
    ) -> Result<HeldReading, Error> {
        let head = self.head.as_ref();
        let Reading {
            compiled,
            mut recorded,
            observed,
            entries,
        } = reading;
        let basis = LookBasis::default();
        let path = task.transcript_path();
        let in_head = match (&self.reader.store, head, is_present) {
            (Some(store), Some(head), true) => {
                Some(store.objects().source_at(head.commit).blob_at(&path)?)
            }
            _ => None,
        };
        let log_here = match (&self.reader.store, &observed.log) {
            (Some(store), ObservedLog::Whole(log)) if in_head.flatten().is_some() => {
                Some(store.filters().digest(&path, log)?)
            }
            (_, ObservedLog::End(end)) => end.held,
            _ => None,
        };
        if let (Some(store), Some(Some(held))) = (&self.reader.store, in_head)
            && log_here != Some(held)
            && !matches!(recorded, Recorded::Broken(_) | Recorded::Lost)
        {
            basis.note_unknown();
            recorded = self.still_whole((store, task), &observed, held, recorded)?;
        }
        if let (Some(store), Some(held)) = (&self.reader.store, in_head) {
            let commit = head.and_then(|head| head.commit);
            let mut fault =
                self.record_of_another((task, &recorded), &entries, (store, commit), held)?;
            if let (None, None, Some(commit)) = (&fault, held, commit) {
                fault = self.removed_record(task, &recorded, (store, commit), &basis)?;
            }
            recorded = fault.map_or(recorded, |fault| Recorded::Broken(vec![fault]));
        }
        if let (Recorded::Broken(faults), ObservedLog::Missing, None) =
            (&mut recorded, &observed.log, in_head.flatten())
        {
            begin_anew(task, faults);
        }
        // Where nothing is committed, HEAD says what was lost, but not which tasks there are.
        let at_head = in_head.filter(|_| self.reader.commits());
        let untracked = at_head.map_or(!observed.log.is_there(), |blob| blob.is_none());
        let is_readable = !matches!(observed.log, ObservedLog::Missing | ObservedLog::Unreadable);
        let is_committed = match at_head {
            _ if !is_readable || self.reader.store.is_none() => false,
            Some(held) => held.is_some() && log_here == held,
            // What a commit holds is committed; what is staged is not yet.
            None => !is_present,
        };
        let reading = Reading {
            compiled,
            recorded,
            observed,
            entries,
        };
        Ok(HeldReading {
            reading,
            untracked,
            is_committed,
            basis,
        })
    }
}

/// Replaces the hints about a state that no log belongs to: there is nothing to restore.
fn begin_anew(task: &TaskRef, faults: &mut [Diagnostic]) {
    let state = task.state_path();
    let is_of_state = |fault: &Diagnostic| {
        fault
            .place
            .as_ref()
            .is_some_and(|place| place.path == state.as_str())
    };
    for fault in faults
        .iter_mut()
        .filter(|fault| is_of_state(fault) && !has_own_remedy(fault))
    {
        let aside = format!("{state}.broken");
        let remove = match fault.code {
            Code::IsADirectory => ["mv", state.as_str(), &aside],
            _ => ["rm", "-f", state.as_str()],
        };
        let hint = Hint::from("correct the file, or begin without it: ")
            .command(&remove)
            .then(&["orch", "new", task.id.as_str()]);
        fault.hint = Some(hint);
    }
}

/// Whether what is wrong with a record has a remedy of its own, other than to recover it or to begin without it.
pub(crate) fn has_own_remedy(fault: &Diagnostic) -> bool {
    use Code::{ImportInvalid, RecordElsewhere, RecordLost, UnknownPhase};
    matches!(
        fault.code,
        ImportInvalid | UnknownPhase | RecordElsewhere | RecordLost
    )
}

impl Look<'_> {
    /// The recorded state, or an error if the log has lost events that HEAD contains: the next step would commit
    /// that loss.
    fn still_whole(
        &self,
        (store, task): (&Store, &TaskRef),
        observed: &Observed,
        held: Digest,
        recorded: Recorded,
    ) -> Result<Recorded, Error> {
        let Some(log) = observed.log.whole() else {
            return Ok(Recorded::Lost);
        };
        let held = store.objects().blob(held)?.unwrap_or_default();
        let here = with_own_line_endings(log.into());
        if !has_lost_events(&held, &here) {
            return Ok(recorded);
        }
        let path = task.transcript_path();
        // Another process may have moved the branch since the log was read: then there is a journal, or its files
        // are in place by now. A decision on the older log is made again before it is committed.
        let place = path.under(store.layout().root());
        let now = durable::read_if_there(&place)
            .map_err(|source| io_error(&place, source))?
            .unwrap_or_default();
        if store.transactions().has_journal()?
            || !has_lost_events(&held, &with_own_line_endings(now.into()))
        {
            return Ok(recorded);
        }
        if let Some(found) = log_faults(task, log) {
            return Ok(Recorded::Broken(found));
        }
        if self.is_split_off(task, &held, &here)? {
            return Ok(recorded);
        }
        let lost = listed_events(&lost_events(&held, &here));
        let message = format!("this log has lost events that are in HEAD: {lost}");
        let hint = Hint::run(&["git", "restore", "--", path.as_str()]).or(&[
            "orch",
            "recover",
            task.id.as_str(),
        ]);
        let found = Diagnostic::error(Code::TranscriptCut, message).at(Place::file(&path));
        Ok(Recorded::Broken(vec![found.hint(hint)]))
    }

    /// Whether the events that a log has lost are those of another task, which was created under the same id and
    /// has a record of its own now: a merge in progress gave it another id.
    fn is_split_off(&self, task: &TaskRef, held: &[u8], now: &[u8]) -> Result<bool, Error> {
        let held = EventLog::parse(held).0;
        let now = EventLog::parse(now).0;
        let is_here = |id: &Digest| now.get(id).is_some();
        let parts = held.parts();
        let mut lost: Vec<&LogPart> = Vec::new();
        for part in parts.iter().filter(|part| !part.ids.iter().all(is_here)) {
            if now.is_empty() || part.ids.iter().any(is_here) {
                return Ok(false);
            }
            lost.push(part);
        }
        for other in self
            .reader
            .snapshot(|snapshot| snapshot.search().tasks())?
            .iter()
            .filter(|other| other.directory() != task.directory())
        {
            let path = other.transcript_path().under(&self.reader.root);
            let bytes = durable::read_if_there(&path).map_err(|source| io_error(&path, source))?;
            let log = EventLog::parse(&bytes.unwrap_or_default()).0;
            lost.retain(|part| !part.ids.iter().all(|id| log.get(id).is_some()));
        }
        Ok(lost.is_empty())
    }
}
