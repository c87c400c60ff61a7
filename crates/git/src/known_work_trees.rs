//! The work trees of a repository, read from the files that git keeps of each; see gitrepository-layout(5).
//!
//! To start git for that takes longer than everything else that a command does about one of them.

use std::fs;
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};

/// A work tree of a repository, as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownWorkTree {
    /// Its root.
    pub path: PathBuf,
    /// The name of its branch without `refs/heads/`; `None` if HEAD is detached.
    pub branch: Option<String>,
}

/// The work trees that exist, the main one first and the others by their paths, from the git directory that they share; the
/// main one of a bare repository is that directory. `None` if only git knows: where references are not in files, or a file
/// cannot be read.
pub(super) fn known_work_trees(common: &Path, is_bare: bool) -> Option<Vec<KnownWorkTree>> {
    if common.join("reftable").exists() {
        return None;
    }
    // Without the slash at the end.
    let common: PathBuf = common.components().collect();
    let main = if common.file_name()? == ".git" {
        common.parent()?.to_owned()
    } else {
        common.clone()
    };
    let mut linked = Vec::new();
    match fs::read_dir(common.join("worktrees")) {
        Ok(entries) => {
            for entry in entries {
                let directory = entry.ok()?.path();
                match linked_work_tree(&directory) {
                    Ok(path) if path.exists() => linked.push(KnownWorkTree {
                        branch: branch_of(&directory).ok()?,
                        path,
                    }),
                    Ok(_) => {}
                    // It is being made or removed.
                    Err(error) if is_gone(&error) => {}
                    Err(_) => return None,
                }
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    linked.sort_by(|one, other| one.path.cmp(&other.path));
    let branch = if is_bare {
        None
    } else {
        branch_of(&common).ok()?
    };
    let main = KnownWorkTree { path: main, branch };
    Some([vec![main], linked].concat())
}

/// Whether a work tree that git knows is gone, as far as its files tell.
pub(super) fn may_be_gone(common: &Path) -> bool {
    let is_there = |directory: PathBuf| {
        let root = linked_work_tree(&directory);
        root.is_ok_and(|root| root.join(".git").exists())
    };
    match fs::read_dir(common.join("worktrees")) {
        Ok(mut entries) => !entries.all(|entry| entry.is_ok_and(|entry| is_there(entry.path()))),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// The git directory of the work tree at a path. Returns an error if there is none.
pub(super) fn git_directory(work_tree: &Path) -> io::Result<PathBuf> {
    let entry = work_tree.join(".git");
    if entry.is_dir() {
        return Ok(entry);
    }
    let text = fs::read_to_string(&entry)?;
    let named = text.trim_end().strip_prefix("gitdir: ");
    let named = named.ok_or_else(|| Error::from(ErrorKind::InvalidData))?;
    Ok(work_tree.join(named))
}

/// The root of the linked work tree whose git directory this is.
fn linked_work_tree(directory: &Path) -> io::Result<PathBuf> {
    let text = fs::read_to_string(directory.join("gitdir"))?;
    let entry = PathBuf::from(text.trim_end());
    if entry.is_absolute() {
        return Ok(entry.parent().unwrap_or(&entry).to_owned());
    }
    let entry = directory.join(entry);
    entry.parent().unwrap_or(&entry).canonicalize()
}

/// The branch that is checked out where this is the git directory, without `refs/heads/`; `None` if HEAD is detached.
fn branch_of(directory: &Path) -> io::Result<Option<String>> {
    let head = directory.join("HEAD");
    // git once wrote a link.
    if head.is_symlink() {
        return Err(Error::from(ErrorKind::InvalidData));
    }
    let text = fs::read_to_string(head)?;
    let name = text.trim_end().strip_prefix("ref: ");
    let branch = name.and_then(|name| name.strip_prefix("refs/heads/"));
    Ok(branch.map(str::to_owned))
}

fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
