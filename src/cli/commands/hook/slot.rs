//! The slot of one hook: its current contents, installing ours, and restoring the previous hook.

use super::script::{self, Author, author};
use crate::cli::Failure;
use orch_base::{Code, Hint};
use orch_git::durable::{read_if_there, write_executable};
use orch_view::{HookDone, HookName, HookState};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// The slot of one hook in a hooks directory.
pub(super) struct Slot {
    pub(super) name: HookName,
    file: PathBuf,
    /// Where the previous hook is kept, under its own name; ours runs it first.
    kept: PathBuf,
    /// Where former versions of `orch` kept it. A hook that asks for its own name does not work there.
    formerly_kept: PathBuf,
    /// The text that `orch` would install now.
    text: String,
}

/// The directory that keeps the previous hooks of a hooks directory. It is beside it, and as deep, so that relative
/// links and paths that begin at the hook lead to the same files. The hook makes links there to the files beside it.
fn keeping(directory: &Path) -> PathBuf {
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned());
    let mut beside = directory.into_os_string();
    beside.push(".before-orch");
    PathBuf::from(beside)
}

/// Removes the links beside the kept hooks, and their directory.
pub(super) fn clear(directory: &Path) -> Result<(), Failure> {
    let kept = keeping(directory);
    let entries = match fs::read_dir(&kept) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| failed(&kept, &error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| failed(&kept, &error))?.path();
        if leads_beside(&path) {
            fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
        }
    }
    match fs::remove_dir(&kept) {
        // Somebody has put something there.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        done => done.map_err(|error| failed(&kept, &error)),
    }
}

/// Whether this is a link that the hook of `orch` made: to the file of the same name in the hooks directory.
fn leads_beside(path: &Path) -> bool {
    let Ok(target) = fs::read_link(path) else {
        return false;
    };
    let mut parts = target.components();
    let is_below_hooks = parts.next() == Some(Component::ParentDir) && parts.nth(1).is_some();
    is_below_hooks && parts.next().is_none() && target.file_name() == path.file_name()
}

/// Whether someone changed or replaced our hook.
pub(super) fn is_disturbed(state: HookState) -> bool {
    matches!(state, HookState::Edited | HookState::Replaced)
}

impl Slot {
    pub(super) fn new(directory: &Path, name: HookName, text: String) -> Self {
        let file = directory.join(name.as_str());
        Self {
            name,
            file,
            kept: keeping(directory).join(name.as_str()),
            formerly_kept: directory.join(format!("{}.before-orch", name.as_str())),
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
            Author::Other if self.before()?.is_some() => HookState::Replaced,
            Author::Other => HookState::Other,
        })
    }

    /// Where a previous hook is kept.
    pub(super) fn before(&self) -> Result<Option<&Path>, Failure> {
        if is_there(&self.kept)? && !leads_beside(&self.kept) {
            return Ok(Some(&self.kept));
        }
        Ok(is_there(&self.formerly_kept)?.then_some(&*self.formerly_kept))
    }

    /// Keeps the hook at this path as the previous one.
    fn keep(&self, hook: &Path) -> Result<(), Failure> {
        if let Some(directory) = self.kept.parent() {
            fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
        }
        rename(hook, &self.kept)
    }

    /// Returns an error if our hook cannot be installed here.
    pub(super) fn require_free(&self) -> Result<(), Failure> {
        let name = self.name.as_str();
        let file = self.file.display();
        let before = self.before()?.unwrap_or(&self.kept).display();
        let state = self.state()?;
        if state == HookState::Other && self.file.with_file_name(".git").exists() {
            let message = format!(
                "git takes hooks from the root of the work tree, beside which the {name} hook cannot be kept"
            );
            return Err(Failure::new(Code::HooksShared, message).hint(
                "give hooks a directory of their own in this repository (`core.hooksPath`)",
            ));
        }
        let (code, message, first) = match state {
            HookState::Edited => (
                Code::HookEdited,
                format!("the {name} hook of orch was edited after it was installed"),
                format!("move your lines to {before}, remove {file}, then: "),
            ),
            HookState::Replaced => (
                Code::HookReplaced,
                format!(
                    "the {name} hook of orch was replaced by another hook, and an earlier hook is still kept"
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
            HookState::Other => self.keep(&self.file)?,
            HookState::Absent | HookState::Outdated => {
                if self.before()? == Some(&self.formerly_kept) {
                    self.keep(&self.formerly_kept)?;
                }
            }
        }
        if let Err(error) = write_executable(&self.file, self.text.as_bytes()) {
            if state == HookState::Other {
                rename(&self.kept, &self.file)?;
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
        let state = self.state()?;
        match state {
            HookState::Edited | HookState::Replaced => return Ok(Some(HookDone::Left)),
            HookState::Other => return Ok(None),
            HookState::Absent | HookState::Installed | HookState::Outdated => {}
        }
        // Restores the previous hook even if someone has removed ours.
        if let Some(before) = self.before()? {
            rename(before, &self.file)?;
            return Ok(Some(HookDone::Restored));
        }
        if state == HookState::Absent {
            return Ok(None);
        }
        fs::remove_file(&self.file).map_err(|error| failed(&self.file, &error))?;
        Ok(Some(HookDone::Removed))
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

pub(super) fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

fn rename(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::rename(from, to).map_err(|error| failed(from, &error))
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("{}: {error}", path.display()))
}
