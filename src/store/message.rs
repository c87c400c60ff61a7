//! Trailers of commit messages.

use super::{Error, Store};
use crate::base::{Code, TaskId};
use crate::scan::io_error;
use std::path::Path;

impl Store {
    /// Adds the trailer `Orch-Task` to the message in a file, above the comments that git ignores, unless the
    /// message has one. Returns an error if the path is not UTF-8 or git cannot rewrite the file.
    pub fn name_task(&self, file: &Path, task: &TaskId) -> Result<(), Error> {
        // git runs at the root, and the path may be relative to another directory.
        let path = file.canonicalize().map_err(|source| io_error(file, source))?;
        let is_not_text = || Error::new(Code::BadPath, format!("{}: the path is not UTF-8", path.display()));
        let path = path.to_str().ok_or_else(is_not_text)?;
        let trailer = format!("Orch-Task: {task}");
        // `---` divides an e-mail, but not a commit message.
        let arguments = ["interpret-trailers", "--in-place", "--no-divider", "--where=end"];
        let addition = ["--if-exists=doNothing", "--if-missing=add", "--trailer", &trailer, path];
        self.git(&[&arguments[..], &addition].concat(), &[])?;
        Ok(())
    }
}

/// The trailers of a commit message, in order; see git-interpret-trailers(1).
#[must_use]
pub fn trailers(message: &str) -> Vec<(String, String)> {
    git2::message_trailers_strs(message).map_or_else(
        |_| Vec::new(),
        |trailers| trailers.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
    )
}
