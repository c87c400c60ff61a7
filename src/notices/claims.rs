//! Which events were given word of: one empty file for each, in the git directory, so that of a watch and a run only one
//! gives word of an event, and a later watch does not repeat it.

use crate::base::{Digest, TaskId};
use crate::drive::TaskNotice;
use crate::scan::Directory;
use crate::survey::Workspace;
use std::fs;
use std::io::{self, ErrorKind};

/// The directory, in that of `orch`.
const PLACE: &str = "notices";
/// The file that says that a watch gave word of events before.
const WATCHED: &str = "watched";

/// The events of one work tree. Outside git there is no place for them, and each process has its own.
pub(super) struct NoticeClaims {
    directory: Option<Directory>,
}

impl NoticeClaims {
    pub(super) fn of(workspace: &Workspace) -> Self {
        let directory = workspace.store().and_then(|store| {
            let directory = store.own_directory().ok()?.make_child(PLACE);
            directory.inspect_err(|error| tracing::warn!(%error, "cannot keep which notices were given")).ok()
        });
        Self { directory }
    }

    /// Claims to be the first watch of this work tree that gives word of events. Returns whether it is.
    pub(super) fn claim_first_watch(&self) -> bool {
        self.directory.as_ref().is_none_or(|directory| directory.create_new(WATCHED).is_ok())
    }

    /// Claims an event. Returns whether this is the first claim of it. If that cannot be told, it is.
    pub(super) fn claim(&self, task: &TaskId, notice: TaskNotice) -> bool {
        let Some(directory) = &self.directory else { return true };
        let name = format!("{}{}-{}", prefix(task), notice.kind.as_str(), notice.key.short());
        match directory.create_new(&name) {
            Ok(_) => {
                self.remove(&prefix(task), &name);
                true
            }
            Err(error) => error.kind() != ErrorKind::AlreadyExists,
        }
    }

    /// A task has left its last event, and may come to the same again.
    pub(super) fn forget(&self, task: &TaskId) {
        self.remove(&prefix(task), "");
    }

    /// Removes the files whose names begin with `prefix`, except one.
    fn remove(&self, prefix: &str, kept: &str) {
        let Some(directory) = &self.directory else { return };
        let remove = || -> io::Result<()> {
            for entry in fs::read_dir(directory.path())? {
                let name = entry?.file_name();
                if name.to_str().is_some_and(|name| name.starts_with(prefix) && name != kept) {
                    directory.remove(&name)?;
                }
            }
            Ok(())
        };
        if let Err(error) = remove() {
            tracing::debug!(%error, "cannot forget which notices were given");
        }
    }
}

/// How the names of the files of a task begin.
fn prefix(task: &TaskId) -> String {
    format!("{}-", Digest::of_blob(task.as_str().as_bytes()))
}
