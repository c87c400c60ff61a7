//! The two files of a task's record as they are written: the log with its new events, and the state.

use crate::survey::evidence::with_own_line_endings;
use crate::survey::{Error, Placed, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Digest, RepoPath};
use orch_core::decide::{Decision, State, Step};
use orch_core::record::{
    EventLog, FoldCache, LogExtent, RecordedStep, record_steps, sides, united_lines, write_state,
};
use orch_core::workflow::Workflow;
use orch_files::{Directory, FileStamp, io_error};
use orch_git::{Head, durable};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Both files after a step.
pub(super) struct RecordFiles {
    /// The state, which is the fold of the log.
    pub folded: State,
    /// The bytes of the log.
    pub log: Vec<u8>,
    /// The bytes of the state.
    pub state: Vec<u8>,
}

impl RecordFiles {
    /// Describes what was written for the last step of a task.
    pub(super) fn placed(
        self,
        decision: Decision,
        commit: Option<Digest>,
        head: Option<Head>,
        stamps: &[(RepoPath, FileStamp)],
    ) -> Placed<'_> {
        Placed {
            state: (self.folded, self.state),
            transcript: self.log,
            decision,
            commit,
            head,
            stamps,
        }
    }
}

/// Writes the two files of a record, and the states that follow from a log.
#[derive(Clone, Copy)]
pub struct Records<'w> {
    pub(super) reader: &'w Reader,
}

impl Records<'_> {
    /// The record of a task after each step. The first step follows the heads of its state. Returns an error
    /// if the log does not fold to that state.
    pub(super) fn record_files(
        &self,
        sight: &Sight,
        steps: &[Step],
    ) -> Result<Vec<RecordFiles>, Error> {
        let workflow = sight.workflow();
        let log = log_before(sight.observed.log.whole().unwrap_or_default());
        if let (false, Some(known)) = (steps.is_empty(), sight.state()) {
            self.refuse_other_state(&sight.task, known, &log)?;
        }
        self.record_after(workflow, sight.state(), log, steps)
    }

    /// The record after each step that follows `log`. `known` is a state of the task that need not be folded
    /// again. Returns an error if the log cannot be folded.
    pub(super) fn record_after(
        &self,
        workflow: &Workflow,
        known: Option<&State>,
        log: Vec<u8>,
        steps: &[Step],
    ) -> Result<Vec<RecordFiles>, Error> {
        let Some(first) = steps.first() else {
            return Ok(Vec::new());
        };
        let base = self.base_of(known, &first.state, &log)?;
        let recorded = record_steps(&first.state, &base, steps.iter().map(|step| &step.state));
        if recorded.len() < steps.len() {
            let message = "cannot record a step without a history entry or a workflow";
            return Err(Diagnostic::error(Code::StateInvalid, message).into());
        }
        Ok(self.files_after(workflow, log, &recorded))
    }

    /// The files after each step that follows a log.
    pub(super) fn files_after(
        &self,
        workflow: &Workflow,
        mut log: Vec<u8>,
        steps: &[RecordedStep],
    ) -> Vec<RecordFiles> {
        let after = steps.iter().map(|step| {
            log.extend(step.event.line().into_bytes());
            let state = self.state_text(workflow, &step.state, &log);
            RecordFiles {
                folded: step.state.clone(),
                state,
                log: log.clone(),
            }
        });
        after.collect()
    }

    /// The text of `state.json` for a log.
    pub(super) fn state_text(&self, workflow: &Workflow, state: &State, log: &[u8]) -> Vec<u8> {
        let schema = self.reader.settings.state_schema();
        write_state(
            state,
            &workflow.phase_key,
            &schema,
            LogExtent::of(log, state.format()),
        )
        .into_bytes()
    }

    /// Writes both files in the work tree, and returns their stamps. The log is written first: after a crash
    /// in between, the state is folded again. Returns an error if a file cannot be written.
    pub(super) fn write_record(
        &self,
        task: &TaskRef,
        files: &RecordFiles,
    ) -> Result<Vec<(RepoPath, FileStamp)>, Error> {
        self.make_directory(task)?;
        let mut stamps = Vec::new();
        for (path, bytes) in [
            (task.transcript_path(), &files.log),
            (task.state_path(), &files.state),
        ] {
            let stamp =
                durable::write_atomic(&self.reader.root, &path.under(&self.reader.root), bytes)?;
            stamps.extend(stamp.map(|stamp| (path, stamp)));
        }
        Ok(stamps)
    }

    /// Makes the directory of a task that is a file. Returns an error if it cannot be written.
    pub(super) fn make_directory(&self, task: &TaskRef) -> Result<(), Error> {
        if task.place.file().is_none() {
            return Ok(());
        }
        let directory = task.directory().under(&self.reader.root);
        Directory::make(&self.reader.root, &directory)
            .map_err(|source| io_error(&directory, source))?;
        Ok(())
    }

    /// Writes `state.json` again if it is not the fold of the log. Returns an error if it cannot be written.
    pub(crate) fn renew_state(&self, sight: &Sight) -> Result<(), Error> {
        let (workflow, Some(state)) = (sight.workflow(), sight.state()) else {
            return Ok(());
        };
        if sight.untracked || !sight.is_state_stale() {
            return Ok(());
        }
        let log = sight.observed.log.whole().unwrap_or_default();
        let text = self.state_text(workflow, state, &with_own_line_endings(log.into()));
        let root = &self.reader.root;
        durable::write_atomic(root, &sight.task.state_path().under(root), &text).map(drop)
    }

    /// Returns an error if the log does not fold to this state. A look trusts a state with the right seal and
    /// heads, and a step after an edited one would be recorded and look forged ever after.
    fn refuse_other_state(&self, task: &TaskRef, known: &State, log: &[u8]) -> Result<(), Error> {
        let [head] = known.heads.as_slice() else {
            return Ok(());
        };
        if *self.state_after(log, head)? == *known {
            return Ok(());
        }
        let path = task.state_path();
        let message = format!(
            "{path} was edited: it is not the fold of {}",
            task.transcript_path()
        );
        let hint = format!("remove {path}; orch folds it from the log again");
        Err(Error::new(Code::StateUnusable, message).with_hint(hint))
    }

    /// The state that the next event's changes are relative to: that after the first of its heads.
    fn base_of(&self, known: Option<&State>, next: &State, log: &[u8]) -> Result<State, Error> {
        match (next.heads.as_slice(), known) {
            ([], _) => Ok(State::default()),
            ([_], Some(known)) if known.heads == next.heads => Ok(known.clone()),
            ([first, ..], _) => self.state_after(log, first).map(Arc::unwrap_or_clone),
        }
    }

    /// The state after an event of a log. A line at fault does not matter if the event does not follow it.
    fn state_after(&self, log: &[u8], id: &Digest) -> Result<Arc<State>, Error> {
        let state = match self.reader.known_log.borrow_mut().read(log) {
            Ok((log, folds)) => log.state_at(id, folds),
            Err(_) => EventLog::parse(log)
                .0
                .state_at(id, &mut FoldCache::default()),
        };
        state.map_err(|fault| Diagnostic::error(fault.kind.code(), fault.to_string()).into())
    }

    /// Keeps a copy of a file beside it, with `suffix` after its name, and returns its path; `None` if there is no
    /// file. Returns an error if the copy cannot be written.
    pub(super) fn keep_copy(
        &self,
        path: &RepoPath,
        suffix: &str,
    ) -> Result<Option<PathBuf>, Error> {
        let place = path.under(&self.reader.root);
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
            Some(bytes) => durable::write_atomic(&self.reader.root, &kept, &bytes).map(|_| ())?,
            // A directory makes way for the file.
            None => std::fs::rename(&place, &kept).map_err(|source| io_error(&place, source))?,
        }
        Ok(Some(kept))
    }
}

/// The log to append to: the current one without conflict markers, ending with a newline.
pub(super) fn log_before(bytes: &[u8]) -> Vec<u8> {
    let united = std::str::from_utf8(bytes).ok().and_then(sides);
    let mut log = match united {
        Some(sides) => united_lines(&sides.ours, &sides.theirs).into_bytes(),
        None => with_own_line_endings(bytes.into()).into_owned(),
    };
    if log.last().is_some_and(|last| *last != b'\n') {
        log.push(b'\n');
    }
    log
}

/// The bytes of a file of the work tree; none if there is no regular file. Returns an error if it cannot be read.
pub(super) fn bytes_at(root: &Path, path: &RepoPath) -> Result<Vec<u8>, Error> {
    let place = path.under(root);
    let bytes = durable::read_if_there(&place).map_err(|source| io_error(&place, source))?;
    Ok(bytes.unwrap_or_default())
}
