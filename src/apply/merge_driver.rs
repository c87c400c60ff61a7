//! Git's merge driver: what git calls for the files of a task's record, where it is installed.
//!
//! Git calls it file by file. The log is united line by line, as git's own union merge does. The state only
//! folds the log, so ours is left as it is: whoever reads the task next sees that its heads are not those
//! of the log.

use super::Writer;
use crate::base::RepoPath;
use crate::record::{STATE_FILE, TRANSCRIPT_FILE, united_lines};
use crate::store::durable;
use crate::survey::{Error, TaskRef};
use std::path::Path;

/// The name of the driver in attributes and settings.
pub const DRIVER: &str = "orch";

impl Writer<'_> {
    /// Merges three versions of the file at `path`; the result takes the place of `ours`.
    ///
    /// Returns whether it went without a conflict, which is left in `ours` with its markers.
    pub fn merge_files(
        &self,
        path: &RepoPath,
        base: &Path,
        ours: &Path,
        theirs: &Path,
    ) -> Result<bool, Error> {
        let store = self.workspace.repository_or_refuse()?;
        // Only in a task is a file of such a name a record.
        let outer = self.workspace.task_of_path(path)?;
        let is_outer = |task: &TaskRef| outer.as_ref().is_none_or(|outer| outer.directory == task.directory);
        let own = self.task_of_record(path).filter(is_outer).map(|_| path.name());
        match own {
            Some(STATE_FILE) => Ok(true),
            Some(TRANSCRIPT_FILE) => {
                let [own, other] = [ours, theirs].map(|path| durable::read_regular(path).unwrap_or_default());
                durable::write_atomic(ours, &united(&own, &other))?;
                Ok(true)
            }
            _ => {
                let names = [base, ours, theirs].map(|path| path.to_string_lossy().into_owned());
                Ok(store.merge_files(&names[0], &names[1], &names[2]))
            }
        }
    }
}

/// The lines of both sides of a log, each once.
pub(super) fn united(ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    match (std::str::from_utf8(ours), std::str::from_utf8(theirs)) {
        (Ok(ours), Ok(theirs)) => united_lines(ours, theirs).into_bytes(),
        _ => [ours, b"\n", theirs].concat(),
    }
}
