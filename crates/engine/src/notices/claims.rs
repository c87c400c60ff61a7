//! Which events were told: one file per task in the git directory, with the last event of the task, so that of a watch
//! and a run only one tells an event, and a later watch does not repeat it.

use crate::apply::Writer;
use crate::drive::TaskNotice;
use crate::survey::Workspace;
use orch_base::{Digest, Error, TaskId};
use orch_files::{Directory, io_error};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::time::SystemTime;

/// The directory, in that of `orch`.
const PLACE: &str = "notices";
/// The file that says that a watch told events before.
const WATCHED: &str = "watched";
/// How many seconds the file of a task is kept that is not in the work tree. Another branch may have the task.
const KEPT: i64 = 90 * 24 * 60 * 60;

/// The events of one work tree. Outside git there is no place for them, and each process has its own.
pub(super) struct NoticeClaims {
    directory: Option<Directory>,
}

impl NoticeClaims {
    /// Returns an error if there is no directory for them.
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Error> {
        let Some(store) = workspace.reader.store() else {
            return Ok(Self { directory: None });
        };
        let own = store.layout().own_directory()?;
        let directory = own
            .make_child(PLACE)
            .map_err(|error| io_error(&own.path().join(PLACE), error))?;
        Ok(Self {
            directory: Some(directory),
        })
    }

    /// Claims to be the first watch of this work tree that tells events. Returns whether it is, and an error if that
    /// cannot be found out.
    pub(super) fn claim_first_watch(&self) -> Result<bool, Error> {
        let Some(directory) = &self.directory else {
            return Ok(true);
        };
        match directory.create_new(WATCHED) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(io_error(&directory.path().join(WATCHED), error)),
        }
    }

    /// Claims an event. Returns whether this is the first claim of it since the task came to another event, and an
    /// error if that cannot be found out.
    pub(super) fn claim(&self, task: &TaskId, notice: TaskNotice) -> Result<bool, Error> {
        let text = format!("{} {}\n", notice.kind.as_str(), notice.key);
        self.change(task, |file| {
            let mut before = String::new();
            // What is no text is not an event.
            let is_text = match file.read_to_string(&mut before) {
                Err(error) if error.kind() == ErrorKind::InvalidData => false,
                read => read.map(|_| true)?,
            };
            if is_text && before == text {
                return Ok(false);
            }
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(text.as_bytes())?;
            Ok(true)
        })
        .map(|is_new| is_new.unwrap_or(true))
    }

    /// A task has left its last event, and may come to the same again. Returns an error if that cannot be kept.
    pub(super) fn forget(&self, task: &TaskId) -> Result<(), Error> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        if fs::symlink_metadata(directory.path().join(name(task))).is_err() {
            return Ok(());
        }
        // The file stays: another process may have opened it already to claim an event.
        self.change(task, |file| file.set_len(0)).map(drop)
    }

    /// Removes old files of tasks that are not in the work tree.
    pub(super) fn remove_gone(&self, writer: &Writer<'_>) -> Result<(), Error> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let fail = |error| io_error(directory.path(), error);
        let mut old = BTreeSet::new();
        for entry in fs::read_dir(directory.path()).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let changed = entry
                .metadata()
                .and_then(|metadata| metadata.modified())
                .map_err(fail)?;
            let changed = changed
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs();
            let age = writer.now().seconds().saturating_sub_unsigned(changed);
            if entry.file_name() != WATCHED && age > KEPT {
                old.insert(entry.file_name());
            }
        }
        if old.is_empty() {
            return Ok(());
        }
        for task in writer.workspace.finder().tasks()? {
            old.remove(OsStr::new(&name(&task.id)));
        }
        old.into_iter()
            .try_for_each(|name| directory.remove_if_there(name))
            .map_err(fail)
    }

    /// Changes the file of a task while no other process does. Returns `None` outside git.
    fn change<T>(
        &self,
        task: &TaskId,
        change: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> Result<Option<T>, Error> {
        let Some(directory) = &self.directory else {
            return Ok(None);
        };
        let name = name(task);
        let changed = directory.edit(&name).and_then(|mut file| {
            match file.lock() {
                // Not every file system has locks.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                locked => locked?,
            }
            change(&mut file)
        });
        changed
            .map(Some)
            .map_err(|error| io_error(&directory.path().join(name), error))
    }
}

/// The name of the file of a task.
fn name(task: &TaskId) -> String {
    Digest::of_blob(task.as_str().as_bytes()).to_string()
}
