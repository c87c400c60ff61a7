//! The merge driver that git runs for the files of a task's record; see gitattributes(5).
//!
//! git calls it once per file. Logs are united line by line, as git's own union merge does. `state.json` is
//! only the fold of the log, so our version is kept: its heads then differ from those of the log, and the
//! next reader folds the log again.

use super::conflicted::{Conflicts, united};
use crate::survey::{Error, TaskRef};
use orch_base::RepoPath;
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use orch_files::io_error;
use orch_git::durable;
use std::io;
use std::path::Path;

/// The name of the driver in `.gitattributes` and in git's configuration.
pub const DRIVER: &str = "orch";

impl Conflicts<'_> {
    /// Merges three versions of the file at `path` into `ours`.
    ///
    /// Returns whether there was no conflict; otherwise `ours` contains markers. Returns an error if there is
    /// no repository, a side cannot be read, or `ours` cannot be written.
    pub fn merge_files(
        &self,
        path: &RepoPath,
        base: &Path,
        ours: &Path,
        theirs: &Path,
    ) -> Result<bool, Error> {
        let store = self.reader.repository_or_refuse()?;
        // A file with such a name is a record only if it belongs to a task.
        let outer = self.finder.task_of_path(path)?;
        let is_outer = |task: &TaskRef| {
            outer
                .as_ref()
                .is_none_or(|outer| outer.directory() == task.directory())
        };
        let own = self
            .task_of_record(path)
            .filter(is_outer)
            .map(|_| path.name());
        match own {
            Some(STATE_FILE) => Ok(true),
            Some(TRANSCRIPT_FILE) => {
                // A side that cannot be read is not an empty one.
                let united = united(&side(ours)?, &side(theirs)?);
                durable::write_atomic(durable::parent(ours), ours, &united)?;
                Ok(true)
            }
            _ => {
                let names = [base, ours, theirs].map(|path| path.to_string_lossy().into_owned());
                Ok(store
                    .settings()
                    .merge_files(&names[0], &names[1], &names[2]))
            }
        }
    }
}

/// The bytes of one side. Returns an error if they cannot be read.
fn side(path: &Path) -> Result<Vec<u8>, Error> {
    let none = || io::ErrorKind::NotFound.into();
    let bytes = durable::read_if_there(path).and_then(|bytes| bytes.ok_or_else(none));
    bytes.map_err(|source| io_error(path, source))
}
