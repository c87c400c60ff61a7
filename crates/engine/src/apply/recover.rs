//! Recovers a record: the log from git history and from what is left of it, or else the state from the files.

use super::Writer;
use super::create::{refuse_misplaced, refuse_unknown_phase};
use super::record_files::RecordFiles;
use crate::base::{Code, Digest, RepoPath, command, shell_word};
use crate::decide::rebuild_from_files;
use crate::record::{EventLog, TRANSCRIPT_FILE, record_steps, whole_lines};
use crate::scan::io_error;
use crate::store::{PathChange, durable};
use crate::survey::{Error, Sight, TaskRef};
use std::path::PathBuf;

/// The source of a recovered record.
pub enum Recovered {
    /// The record was intact; nothing was done.
    NotNeeded,
    /// The log was restored from a commit.
    FromGit(Digest),
    /// The log was intact, and the state was folded from it.
    FromTranscript,
    /// The state was rebuilt from the task's files as its workflow declares; the log starts anew.
    FromFiles,
}

impl Writer<'_> {
    /// Recovers a task's record in the work tree, and keeps the previous files as `….broken`.
    ///
    /// Commits nothing and makes no transition: it restores what was recorded before. Returns an error if the
    /// record is conflicted, nothing is left to recover from, or a file cannot be written.
    pub fn recover(&self, task: &TaskRef) -> Result<Recovered, Error> {
        let judged = self.workspace.look_at_all(task)?;
        refuse_misplaced(&judged)?;
        if let Some(foreign) = judged.state().filter(|state| state.foreign) {
            refuse_unknown_phase(&judged, foreign)?;
        }
        if judged.state().is_some() && !judged.is_state_stale() {
            return Ok(Recovered::NotNeeded);
        }
        let unmerged = self.unmerged()?;
        let is_unmerged = unmerged
            .iter()
            .any(|one| self.task_of_record(&one.path).as_ref() == Some(task));
        let is_in_conflict = is_unmerged || self.log_sides(task, &unmerged)?.is_some();
        if is_in_conflict || (judged.state().is_none() && self.has_several_heads(task)?) {
            let message = format!(
                "two branches moved `{}`, and recovering would lose one of them",
                task.id
            );
            let hint = Some(command(&["orch", "resolve", task.id.as_str()]));
            return Err(Error::new(Code::ConflictMarkers, message).with_hint(hint));
        }
        if judged.state().is_some() {
            self.keep_broken(&task.state_path())?;
            self.renew_state(&judged)?;
            return Ok(Recovered::FromTranscript);
        }
        let (log, from) = self.whole_log(task)?;
        let files = if log.is_empty() {
            Some(self.record_from_files(task, &judged)?)
        } else {
            None
        };
        for path in [task.transcript_path(), task.state_path()] {
            self.keep_broken(&path)?;
        }
        if let Some(files) = files {
            self.write_record(task, &files)?;
            return Ok(Recovered::FromFiles);
        }
        self.make_directory(task)?;
        let root = &self.workspace.root;
        durable::write_atomic(root, &task.transcript_path().under(root), &log)?;
        self.renew_state(&self.workspace.look_at_all(task)?)?;
        Ok(from)
    }

    /// All events whose predecessors are present, from the current log, from that in HEAD, and from the
    /// newest commit with an intact log.
    fn whole_log(&self, task: &TaskRef) -> Result<(Vec<u8>, Recovered), Error> {
        let path = task.transcript_path();
        let here = self.bytes_at(&path)?;
        let Some(store) = &self.workspace.store else {
            return Ok((whole_lines(&[&here]), Recovered::FromTranscript));
        };
        let head = store.head()?.commit;
        let at_head = store
            .source_at(head)
            .blob_at(&path)?
            .map(|blob| store.blob(blob))
            .transpose()?
            .flatten();
        let at_head = at_head.unwrap_or_default();
        let mut whole = (Vec::new(), Recovered::FromTranscript);
        for PathChange { commit, .. } in store
            .history(std::slice::from_ref(&path))?
            .remove(&path)
            .unwrap_or_default()
        {
            let held = store.read_at(commit, &path)?.unwrap_or_default();
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
        self.keep_copy(path, "broken").map(|_| ())
    }

    /// Keeps a copy of a file beside it, with `suffix` after its name, and returns its path; `None` if there is no
    /// file. Returns an error if the copy cannot be written.
    pub(super) fn keep_copy(
        &self,
        path: &RepoPath,
        suffix: &str,
    ) -> Result<Option<PathBuf>, Error> {
        let place = path.under(&self.workspace.root);
        let bytes = durable::read_if_there(&place).map_err(|source| io_error(&place, source))?;
        if bytes.is_none()
            && !place
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir())
        {
            return Ok(None);
        }
        let extension = place
            .extension()
            .map(|own| own.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut names = std::iter::once(format!("{extension}.{suffix}"))
            .chain((2..).map(|number| format!("{extension}.{suffix}.{number}")))
            .map(|extension| place.with_extension(extension));
        // Earlier copies are never overwritten.
        let Some(kept) = names.find(|name| name.symlink_metadata().is_err()) else {
            return Ok(None);
        };
        match bytes {
            Some(bytes) => {
                durable::write_atomic(&self.workspace.root, &kept, &bytes).map(|_| ())?
            }
            // A directory makes way for the file.
            None => std::fs::rename(&place, &kept).map_err(|source| io_error(&place, source))?,
        }
        Ok(Some(kept))
    }

    /// The record that follows from the task's files. Returns an error if there is none, or not a complete
    /// one.
    fn record_from_files(&self, task: &TaskRef, judged: &Sight) -> Result<RecordFiles, Error> {
        let lost = |message: String| -> Result<RecordFiles, Error> {
            let id = shell_word(task.id.as_str());
            let path = task.state_path();
            let hint =
                format!("start over: remove {path} and {TRANSCRIPT_FILE}, then orch new {id}");
            Err(Error::new(Code::RecordLost, message).with_hint(Some(hint)))
        };
        let no_event = format!(
            "neither git history nor {TRANSCRIPT_FILE} contains an event of `{}`",
            task.id
        );
        let stamp = self.caller.own_stamp();
        let workflow = judged.workflow();
        let Some(state) = rebuild_from_files(workflow, &judged.observed.facts, &stamp) else {
            return lost(no_event);
        };
        if let Some(why) = self.refused_data(workflow, &state) {
            return lost(format!(
                "{no_event}, and its state cannot be rebuilt from its files: {why}"
            ));
        }
        let steps = record_steps(&state, &state, [&state]);
        match self.files_after(workflow, Vec::new(), &steps).pop() {
            Some(files) => Ok(files),
            None => lost(no_event),
        }
    }
}
