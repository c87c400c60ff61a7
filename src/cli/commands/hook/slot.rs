//! The slot of one hook: its current contents, installing ours, and restoring the previous hook.

use super::script::{self, Author, author};
use crate::cli::Failure;
use orch_base::{Code, Hint};
use orch_git::durable::{read_if_there, write_executable};
use orch_view::{HookDone, HookName, HookState};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The slot of one hook in a hooks directory.
pub(super) struct Slot {
    pub(super) name: HookName,
    file: PathBuf,
    /// Where the previous hook is kept; ours runs it first.
    before: PathBuf,
    /// The text that `orch` would install now.
    text: String,
}

/// Whether someone changed or replaced our hook.
pub(super) fn is_disturbed(state: HookState) -> bool {
    matches!(state, HookState::Edited | HookState::Replaced)
}

impl Slot {
    pub(super) fn new(directory: &Path, name: HookName, text: String) -> Self {
        let file = directory.join(name.as_str());
        let before = directory.join(format!("{}.before-orch", name.as_str()));
        Self {
            name,
            file,
            before,
            text,
        }
    }

    /// Returns an error if the hook cannot be read: nobody knows then whose it is.
    pub(super) fn state(&self) -> Result<HookState, Failure> {
        if !is_there(&self.file)? {
            return Ok(HookState::Absent);
        }
        let bytes = bytes_of(&self.file)?;
        Ok(match author(self.name, &bytes) {
            Author::Orch if bytes == self.text.as_bytes() && is_executable(&self.file) => {
                HookState::Installed
            }
            Author::Orch => HookState::Outdated,
            Author::Edited => HookState::Edited,
            Author::Other if self.has_before()? => HookState::Replaced,
            Author::Other => HookState::Other,
        })
    }

    /// Whether a previous hook is kept, to run first.
    pub(super) fn has_before(&self) -> Result<bool, Failure> {
        is_there(&self.before)
    }

    /// Returns an error if our hook cannot be installed here.
    pub(super) fn require_free(&self) -> Result<(), Failure> {
        let (name, file, before) = (
            self.name.as_str(),
            self.file.display(),
            self.before.display(),
        );
        let (code, message, first) = match self.state()? {
            HookState::Edited => (
                Code::HookEdited,
                format!("the {name} hook of orch was edited after it was installed"),
                format!("move your lines to {before}, remove {file}, then: "),
            ),
            HookState::Replaced => (
                Code::HookReplaced,
                format!(
                    "the {name} hook of orch, which runs {name}.before-orch, was replaced by another hook"
                ),
                format!("remove one of {file} and {before}, then: "),
            ),
            _ => return Ok(()),
        };
        let hint = Hint::from(first).command(&["orch", "hook", "install"]);
        Err(Failure::new(code, message).hint(hint))
    }

    pub(super) fn install(&self) -> Result<HookDone, Failure> {
        let state = self.state()?;
        match state {
            HookState::Installed => return Ok(HookDone::Unchanged),
            HookState::Edited | HookState::Replaced => return Ok(HookDone::Left),
            HookState::Other => rename(&self.file, &self.before)?,
            HookState::Absent | HookState::Outdated => {}
        }
        if let Err(error) = write_executable(&self.file, self.text.as_bytes()) {
            if state == HookState::Other {
                rename(&self.before, &self.file)?;
            }
            return Err(Failure::new(Code::Io, error.to_string()));
        }
        Ok(if state == HookState::Outdated {
            HookDone::Updated
        } else {
            HookDone::Installed
        })
    }

    pub(super) fn uninstall(&self) -> Result<Option<HookDone>, Failure> {
        match self.state()? {
            HookState::Edited | HookState::Replaced => Ok(Some(HookDone::Left)),
            HookState::Other => Ok(None),
            // Restores the previous hook even if someone has removed ours.
            _ if self.has_before()? => {
                rename(&self.before, &self.file).map(|()| Some(HookDone::Restored))
            }
            HookState::Absent => Ok(None),
            HookState::Installed | HookState::Outdated => {
                fs::remove_file(&self.file).map_err(|error| failed(&self.file, &error))?;
                Ok(Some(HookDone::Removed))
            }
        }
    }
}

/// Whether the installed hook of `orch` checks the commit. One that does not exist does not. Returns an error if it cannot
/// be read.
pub(super) fn checks(directory: &Path, name: HookName) -> Result<bool, Failure> {
    let bytes = bytes_of(&directory.join(name.as_str()))?;
    Ok(author(name, &bytes) == Author::Orch && script::checks(&bytes))
}

/// The bytes of a hook; none if there is no regular file.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_if_there(path)
        .map_err(|error| failed(path, &error))?
        .unwrap_or_default())
}

/// Whether the path exists, including as a dangling symbolic link.
fn is_there(path: &Path) -> Result<bool, Failure> {
    match path.symlink_metadata() {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(false)
        }
        found => found.map(|_| true).map_err(|error| failed(path, &error)),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::rename(from, to).map_err(|error| failed(from, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("{}: {error}", path.display()))
}
