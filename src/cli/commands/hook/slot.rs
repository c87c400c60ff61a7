//! The slot of one hook: its current contents, installing ours, and restoring the previous hook.

use super::script::{self, Author, Name, author};
use crate::base::Code;
use crate::cli::Failure;
use crate::store::durable::{read_if_there, write_executable};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The slot of one hook in a hooks directory.
pub(super) struct Slot {
    pub(super) name: Name,
    file: PathBuf,
    /// Where the previous hook is kept; ours runs it first.
    before: PathBuf,
    /// The text that `orch` would install now.
    text: String,
}

/// The contents of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotState {
    Absent,
    /// Ours and up to date.
    Installed,
    /// Ours, from another version or with other settings.
    Outdated,
    /// Ours, but changed by someone.
    Edited,
    /// Another hook, which replaced ours after ours had kept a previous one.
    Replaced,
    /// Another hook.
    Other,
}

/// What was done to a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    Installed,
    Updated,
    Unchanged,
    Removed,
    Restored,
    /// Left alone, because it is not as `orch` installed it.
    Left,
}

impl SlotState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Edited => "edited",
            Self::Replaced => "replaced",
            Self::Other => "other",
        }
    }

    /// Whether someone changed or replaced our hook.
    pub(super) fn is_disturbed(self) -> bool {
        matches!(self, Self::Edited | Self::Replaced)
    }
}

impl Did {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::Left => "left",
        }
    }
}

impl Slot {
    pub(super) fn new(directory: &Path, name: Name, text: String) -> Self {
        let file = directory.join(name.as_str());
        let before = directory.join(format!("{}.before-orch", name.as_str()));
        Self { name, file, before, text }
    }

    /// Returns an error if the hook cannot be read: nobody knows then whose it is.
    pub(super) fn state(&self) -> Result<SlotState, Failure> {
        if !is_there(&self.file)? {
            return Ok(SlotState::Absent);
        }
        let bytes = bytes_of(&self.file)?;
        Ok(match author(self.name, &bytes) {
            Author::Orch if bytes == self.text.as_bytes() && is_executable(&self.file) => {
                SlotState::Installed
            }
            Author::Orch => SlotState::Outdated,
            Author::Edited => SlotState::Edited,
            Author::Other if self.has_before()? => SlotState::Replaced,
            Author::Other => SlotState::Other,
        })
    }

    /// Whether a previous hook is kept, to run first.
    pub(super) fn has_before(&self) -> Result<bool, Failure> {
        is_there(&self.before)
    }

    /// Returns an error if our hook cannot be installed here.
    pub(super) fn require_free(&self) -> Result<(), Failure> {
        let (name, file, before) = (self.name.as_str(), self.file.display(), self.before.display());
        let (code, message, hint) = match self.state()? {
            SlotState::Edited => (
                Code::HookEdited,
                format!("the {name} hook of orch was edited after it was installed"),
                format!("move your lines to {before}, remove {file}, then: orch hook install"),
            ),
            SlotState::Replaced => (
                Code::HookReplaced,
                format!(
                    "the {name} hook of orch, which runs {name}.before-orch, was replaced by another hook"
                ),
                format!("remove one of {file} and {before}, then: orch hook install"),
            ),
            _ => return Ok(()),
        };
        Err(Failure::new(code, message).hint(hint))
    }

    pub(super) fn install(&self) -> Result<Did, Failure> {
        let state = self.state()?;
        match state {
            SlotState::Installed => return Ok(Did::Unchanged),
            SlotState::Edited | SlotState::Replaced => return Ok(Did::Left),
            SlotState::Other => rename(&self.file, &self.before)?,
            SlotState::Absent | SlotState::Outdated => {}
        }
        if let Err(error) = write_executable(&self.file, self.text.as_bytes()) {
            if state == SlotState::Other {
                rename(&self.before, &self.file)?;
            }
            return Err(Failure::new(Code::Io, error.to_string()));
        }
        Ok(if state == SlotState::Outdated { Did::Updated } else { Did::Installed })
    }

    pub(super) fn uninstall(&self) -> Result<Option<Did>, Failure> {
        match self.state()? {
            SlotState::Edited | SlotState::Replaced => Ok(Some(Did::Left)),
            SlotState::Other => Ok(None),
            // Restores the previous hook even if someone has removed ours.
            _ if self.has_before()? => rename(&self.before, &self.file).map(|()| Some(Did::Restored)),
            SlotState::Absent => Ok(None),
            SlotState::Installed | SlotState::Outdated => {
                fs::remove_file(&self.file).map_err(|error| failed(&self.file, &error))?;
                Ok(Some(Did::Removed))
            }
        }
    }
}

/// Whether the installed hook of `orch` checks the commit. One that is not there does not. Returns an error if it cannot
/// be read.
pub(super) fn checks(directory: &Path, name: Name) -> Result<bool, Failure> {
    let bytes = bytes_of(&directory.join(name.as_str()))?;
    Ok(author(name, &bytes) == Author::Orch && script::checks(&bytes))
}

/// The bytes of a hook; none if there is no regular file.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_if_there(path).map_err(|error| failed(path, &error))?.unwrap_or_default())
}

/// Whether the path exists, including as a dangling symbolic link.
fn is_there(path: &Path) -> Result<bool, Failure> {
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        found => found.map(|_| true).map_err(|error| failed(path, &error)),
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::rename(from, to).map_err(|error| failed(from, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("{}: {error}", path.display()))
}
