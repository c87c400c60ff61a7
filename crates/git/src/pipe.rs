//! Pipes in the place of git's own files: whoever opens one waits for a writer that may never come.

use super::{Error, durable};
use orch_base::Hint;
use orch_files::io_error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a git directory that git and libgit2 open whatever they do.
const FILES: [&str; 8] = [
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "commondir",
    "info/exclude",
    "info/attributes",
];

/// Returns an error if one of git's own files in a git directory is a pipe, a device or a socket.
pub(super) fn refuse_pipes(directory: &Path) -> Result<(), Error> {
    for name in FILES {
        let file = directory.join(name);
        if fs::metadata(&file).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let hint = Hint::run(&["rm", &file.to_string_lossy()]);
            let why = io::Error::other("it is a pipe, a device or a socket");
            return Err(io_error(&file, why).with_hint(hint));
        }
    }
    Ok(())
}

/// The same for the git directories that a `.git` stands for: it may be a file that names one, which may name another.
pub(super) fn refuse_pipes_of(git: &Path) -> Result<(), Error> {
    let mut directory = git.to_owned();
    if let Some(named) = named_in(git, "gitdir: ") {
        directory = named;
    }
    refuse_pipes(&directory)?;
    match named_in(&directory.join("commondir"), "") {
        Some(common) => refuse_pipes(&common),
        None => Ok(()),
    }
}

/// The directory that a small file names, relative to its own.
fn named_in(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = durable::read_regular(file)?;
    let text = String::from_utf8(text).ok()?;
    let named = text.trim_end().strip_prefix(prefix)?;
    Some(file.parent()?.join(named))
}
