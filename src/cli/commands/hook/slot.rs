//! The place of one hook: what is there, putting ours in, and putting back what was there before.

use super::script::{Author, Name, author};
use crate::base::Code;
use crate::cli::Failure;
use crate::store::durable::{read_regular, write_executable};
use std::fs;
use std::path::{Path, PathBuf};

/// The place of one hook in a directory of hooks.
pub(super) struct Slot {
    pub(super) name: Name,
    file: PathBuf,
    /// Where the hook that was there before waits, and is run first.
    before: PathBuf,
    /// What `orch` would write there now.
    text: String,
}

/// What is in the place of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotState {
    Absent,
    /// Ours, as it would be written now.
    Installed,
    /// Ours, of another version or other settings.
    Outdated,
    /// Ours, and changed by somebody.
    Edited,
    /// Another one, put there after ours had made room for an earlier one.
    Replaced,
    /// Another one.
    Other,
}

/// What was done about a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    Installed,
    Updated,
    Unchanged,
    Removed,
    Restored,
    /// It is not as `orch` wrote it, so it was left alone.
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

    /// Whether somebody changed ours, or took its place.
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

    pub(super) fn state(&self) -> SlotState {
        if !is_there(&self.file) {
            return SlotState::Absent;
        }
        let bytes = read_regular(&self.file).unwrap_or_default();
        match author(self.name, &bytes) {
            Author::Orch if bytes == self.text.as_bytes() && is_executable(&self.file) => {
                SlotState::Installed
            }
            Author::Orch => SlotState::Outdated,
            Author::Edited => SlotState::Edited,
            Author::Other if self.has_before() => SlotState::Replaced,
            Author::Other => SlotState::Other,
        }
    }

    /// Whether another hook waits to be run first.
    pub(super) fn has_before(&self) -> bool {
        is_there(&self.before)
    }

    /// Why ours cannot be installed here, if so.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let (name, file, before) = (self.name.as_str(), self.file.display(), self.before.display());
        let (code, message, hint) = match self.state() {
            SlotState::Edited => (
                Code::HookEdited,
                format!("the {name} hook of orch was edited since it was installed"),
                format!("move your own lines to {before}, remove {file}, and install again"),
            ),
            SlotState::Replaced => (
                Code::HookReplaced,
                format!("another {name} hook was put in the place of orch's, which runs {name}.before-orch"),
                format!("keep one of {file} and {before}, and install again"),
            ),
            _ => return None,
        };
        Some(Failure::new(code, message).hint(hint))
    }

    pub(super) fn install(&self) -> Result<Did, Failure> {
        let state = self.state();
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
        match self.state() {
            SlotState::Edited | SlotState::Replaced => Ok(Some(Did::Left)),
            SlotState::Other => Ok(None),
            // Also where ours is gone already: what it made room for comes back.
            _ if self.has_before() => rename(&self.before, &self.file).map(|()| Some(Did::Restored)),
            SlotState::Absent => Ok(None),
            SlotState::Installed | SlotState::Outdated => {
                fs::remove_file(&self.file).map_err(|error| io(&self.file, &error))?;
                Ok(Some(Did::Removed))
            }
        }
    }
}

/// Whether anything has this name, also a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::rename(from, to).map_err(|error| io(from, &error))
}

fn io(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Code::Io, format!("{}: {error}", path.display()))
}
