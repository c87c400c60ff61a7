//! The directory of a fence among the temporary files, and those that killed processes have left.
//!
//! As long as its process lives, it holds a lock of the directory, and the directory gets the name by which others find it
//! only when it is locked. So whoever can lock one with that name knows that its process is dead. An executor that has survived it
//! still has mounts of the directory, until the next run of the task ends it.

use orch_files::FileLock;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How the name of a directory begins that is locked, as long as its process lives.
const LOCKED: &str = "orch-fenced-";
/// How it begins before.
const NEW: &str = "orch-making-";

/// A directory of this process, which is removed with this value.
#[derive(Debug)]
pub(super) struct OwnDirectory {
    path: PathBuf,
    _lock: Option<FileLock>,
}

impl OwnDirectory {
    /// Makes a directory in another one. Returns an error if it cannot be made.
    pub(super) fn make(place: &Path) -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix(NEW).tempdir_in(place)?;
        // Some network file systems lock no directories: without a lock it keeps the name that nobody looks for.
        let Ok(Some(lock)) = File::open(made.path()).and_then(FileLock::try_new) else {
            return Ok(Self {
                path: made.keep(),
                _lock: None,
            });
        };
        let path = renamed(&made)?;
        // It has another name now.
        let _ = made.keep();
        Ok(Self {
            path,
            _lock: Some(lock),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Gives a directory the name of one that is locked. Returns its path, and an error if it cannot be renamed.
fn renamed(made: &TempDir) -> io::Result<PathBuf> {
    let name = made.path().file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let unique = name.strip_prefix(NEW).unwrap_or(&name);
    let path = made.path().with_file_name(format!("{LOCKED}{unique}"));
    fs::rename(made.path(), &path)?;
    Ok(path)
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes the directories of dead processes of this user from a directory.
pub(super) fn remove_dead(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(LOCKED.as_bytes())
        {
            continue;
        }
        let path = entry.path();
        let is_own = |data: &fs::Metadata| data.is_dir() && data.uid() == geteuid().as_raw();
        if !path.symlink_metadata().is_ok_and(|data| is_own(&data)) {
            continue;
        }
        let Ok(Some(_lock)) = File::open(&path).and_then(FileLock::try_new) else {
            continue;
        };
        if !is_mounted_somewhere(&entry.file_name()) {
            tracing::info!(path = %path.display(), "a killed process has left the directory of a fence");
            remove(&path);
        }
    }
}

/// Whether a process has mounts of a directory with this name.
fn is_mounted_somewhere(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let named = format!("/{name}/");
    let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.any(|process| {
        let mounts = fs::read_to_string(process.path().join("mountinfo"));
        mounts.is_ok_and(|mounts| mounts.contains(&named))
    })
}

/// Removes a directory with all that is in it, also below directories that nobody may write.
fn remove(path: &Path) {
    let mut removed = fs::remove_dir_all(path);
    if removed.is_err() {
        open_all(path);
        removed = fs::remove_dir_all(path);
    }
    if let Err(error) = removed {
        tracing::warn!(path = %path.display(), %error, "cannot remove the directory of a fence");
    }
}

/// Makes all directories at or below a path writable. Follows no link.
fn open_all(path: &Path) {
    if !path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return;
    }
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_all(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_any_more_is_removed() {
        let place = tempfile::tempdir().expect("a directory");
        let own = OwnDirectory::make(place.path()).expect("made");
        let left = place.path().join("orch-fenced-left");
        fs::create_dir_all(left.join("tmp/closed/below")).expect("made");
        fs::write(left.join("tmp/closed/file"), "").expect("written");
        let closed = fs::Permissions::from_mode(0o500);
        fs::set_permissions(left.join("tmp/closed"), closed).expect("set");
        let target = tempfile::tempdir().expect("a directory");
        let link = place.path().join("orch-fenced-link");
        std::os::unix::fs::symlink(target.path(), &link).expect("linked");
        fs::create_dir(place.path().join("orch-making-x")).expect("made");
        remove_dead(place.path());
        assert!(!left.exists());
        assert!(own.path().is_dir() && target.path().is_dir());
        assert!(place.path().join("orch-making-x").is_dir());
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
    }
}
