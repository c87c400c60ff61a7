//! Recovers a record: the log from git history and from what is left of it, or else the state from the files.

use super::authority::Authority;
use super::conflicted::Conflicts;
use super::create::refuse_misplaced;
use super::first_step::refuse_unknown_phase;
use super::lease::Holding;
use super::record_files::{RecordFiles, Records, bytes_at};
use crate::survey::{Error, Look, Reader, Sight, TaskRef};
use orch_base::{Code, Digest, Hint, RepoPath};
use orch_core::decide::rebuild_from_files;
use orch_core::record::{EventLog, TRANSCRIPT_FILE, record_steps, whole_lines};
use orch_git::{PathChange, durable};

/// The source of a recovered record.
pub enum Recovered {
    /// The record was intact; nothing was done.
    NotNeeded,
    /// The log was restored from a commit.
    FromGit(Digest),
    /// The log was intact, and the state was folded from it.
    FromTranscript,
    /// The state was rebuilt from the task's files as its workflow declares; the log starts again.
    FromFiles,
}

/// Recovers damaged records.
#[derive(Clone, Copy)]
pub struct Recover<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) records: Records<'w>,
    pub(super) conflicts: Conflicts<'w>,
    pub(super) holding: Holding<'w>,
}

impl Recover<'_> {
    /// Recovers a task's record in the work tree, and keeps the previous files as `….broken`.
    ///
    /// Commits nothing and makes no transition: it restores what was recorded before. Returns an error if the
    /// record is conflicted, nothing is left to recover from, or a file cannot be written; and [`Code::TaskHeld`] if the log
    /// has to start again and another holds the task.
    pub fn task(&self, task: &TaskRef) -> Result<Recovered, Error> {
        let sight = Look::begin(self.reader)?.whole().at(task)?;
        refuse_misplaced(&sight)?;
        if let Some(foreign) = sight.state().filter(|state| state.foreign) {
            refuse_unknown_phase(&sight, foreign)?;
        }
        if sight.state().is_some() && !sight.is_state_stale() {
            return Ok(Recovered::NotNeeded);
        }
        let unmerged = self.conflicts.unmerged()?;
        let is_unmerged = unmerged
            .iter()
            .any(|one| self.conflicts.task_of_record(&one.path).as_ref() == Some(task));
        let is_in_conflict = is_unmerged || self.conflicts.log_sides(task, &unmerged)?.is_some();
        if is_in_conflict || (sight.state().is_none() && self.conflicts.has_several_heads(task)?) {
            let message = format!(
                "two branches moved `{}`, and recovering would lose one of them",
                task.id
            );
            let hint = Hint::run(&["orch", "resolve", task.id.as_str()]);
            return Err(Error::new(Code::ConflictMarkers, message).with_hint(hint));
        }
        if sight.state().is_some() {
            self.keep_broken(&task.state_path())?;
            self.records.renew_state(&sight)?;
            return Ok(Recovered::FromTranscript);
        }
        let (log, from) = self.whole_log(task)?;
        let files = if log.is_empty() {
            self.holding.refuse_held(task)?;
            Some(self.record_from_files(task, &sight)?)
        } else {
            None
        };
        for path in [task.transcript_path(), task.state_path()] {
            self.keep_broken(&path)?;
        }
        if let Some(files) = files {
            self.records.write_record(task, &files)?;
            return Ok(Recovered::FromFiles);
        }
        self.records.make_directory(task)?;
        let root = &self.reader.root;
        durable::write_atomic(root, &task.transcript_path().under(root), &log)?;
        self.records
            .renew_state(&Look::begin(self.reader)?.whole().at(task)?)?;
        Ok(from)
    }

    /// All events whose predecessors are present, from the current log, from that in HEAD, and from the
    /// newest commit with an intact log.
    fn whole_log(&self, task: &TaskRef) -> Result<(Vec<u8>, Recovered), Error> {
        let path = task.transcript_path();
        let here = bytes_at(&self.reader.root, &path)?;
        let Some(store) = &self.reader.store else {
            return Ok((whole_lines(&[&here]), Recovered::FromTranscript));
        };
        let head = store.refs().head()?.commit;
        let at_head = store
            .objects()
            .source_at(head)
            .blob_at(&path)?
            .map(|blob| store.objects().blob(blob))
            .transpose()?
            .flatten();
        let at_head = at_head.unwrap_or_default();
        let mut whole = (Vec::new(), Recovered::FromTranscript);
        for PathChange { commit, .. } in store
            .history()
            .of_paths(std::slice::from_ref(&path))?
            .remove(&path)
            .unwrap_or_default()
        {
            let held = store.objects().read_at(commit, &path)?.unwrap_or_default();
            let (log, faults) = EventLog::parse(&held);
            if faults.is_empty() && !log.is_empty() {
                whole = (held, Recovered::FromGit(commit));
                break;
            }
        }
        let own = whole_lines(&[&here]);
        let log = whole_lines(&[&whole.0, &at_head, &here]);
        let from = if own.len() == log.len() {
            Recovered::FromTranscript
        } else {
            whole.1
        };
        Ok((log, from))
    }

    fn keep_broken(&self, path: &RepoPath) -> Result<(), Error> {
        self.records.keep_copy(path, "broken").map(|_| ())
    }

    /// The record that follows from the task's files. Returns an error if there is none, or not a complete
    /// one.
    fn record_from_files(&self, task: &TaskRef, sight: &Sight) -> Result<RecordFiles, Error> {
        let lost = |message: String| -> Result<RecordFiles, Error> {
            let path = task.state_path();
            let hint = Hint::from(format!(
                "start over: remove {path} and {TRANSCRIPT_FILE}, then "
            ))
            .command(&["orch", "new", task.id.as_str()]);
            Err(Error::new(Code::RecordLost, message).with_hint(hint))
        };
        let no_event = format!(
            "neither git history nor {TRANSCRIPT_FILE} contains an event of `{}`",
            task.id
        );
        let stamp = self.authority.caller.own_stamp();
        let workflow = sight.workflow();
        let Some(state) = rebuild_from_files(workflow, &sight.observed.facts, &stamp) else {
            return lost(no_event);
        };
        if let Some(why) = self.records.refused_data(workflow, &state) {
            return lost(format!(
                "{no_event}, and its state cannot be rebuilt from its files: {why}"
            ));
        }
        let steps = record_steps(&state, &state, [&state]);
        match self.records.files_after(workflow, Vec::new(), &steps).pop() {
            Some(files) => Ok(files),
            None => lost(no_event),
        }
    }
}
