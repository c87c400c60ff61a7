//! Unfinished git operations and unmerged paths.

use super::environment::{settings, settings_of_clone};
use super::lock_wait::PATIENCE;
use super::ls_files::{Listed, path_of};
use super::next_index::NextIndex;
use super::{Error, GitProgram, Index, Layout, Objects, Refs, Transactions, durable};
use crate::error::libgit2;
use git2::RepositoryState;
use orch_base::{Digest, Hint, RepoPath};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A git operation that waits to be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Its name, with an article.
    pub what: &'static str,
    /// The command that continues it.
    pub next: [&'static str; 3],
    /// The alternative option, such as `--abort`.
    or_else: Option<&'static str>,
}

/// A path with several versions in the index, none of which is chosen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// The path, relative to the root of the repository.
    pub path: RepoPath,
    /// The blobs of the common ancestor, of ours and of theirs; `None` for a side that has no file.
    pub stages: [Option<Digest>; 3],
}

impl Operation {
    fn of(state: RepositoryState) -> Option<Self> {
        let continued = |what, next| {
            Some(Self {
                what,
                next,
                or_else: Some("--abort"),
            })
        };
        match state {
            RepositoryState::Clean => None,
            RepositoryState::Merge => continued("a merge", ["git", "merge", "--continue"]),
            RepositoryState::Revert | RepositoryState::RevertSequence => {
                continued("a revert", ["git", "revert", "--continue"])
            }
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
                continued("a cherry-pick", ["git", "cherry-pick", "--continue"])
            }
            RepositoryState::Bisect => Some(Self {
                what: "a bisect",
                next: ["git", "bisect", "reset"],
                or_else: None,
            }),
            RepositoryState::Rebase
            | RepositoryState::RebaseInteractive
            | RepositoryState::RebaseMerge => {
                continued("a rebase", ["git", "rebase", "--continue"])
            }
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
                continued("applying a mailbox", ["git", "am", "--continue"])
            }
        }
    }

    /// The commands that end the operation.
    #[must_use]
    pub fn hint(&self) -> Hint {
        let next = Hint::run(&self.next);
        match self.or_else {
            Some(other) => next.text(format!(", or {other}")),
            None => next,
        }
    }
}

impl Refs<'_> {
    /// The unfinished operation, if there is one. Returns an error if git cannot read what marks it.
    pub fn operation(&self) -> Result<Option<Operation>, Error> {
        Ok(Operation::of(self.state()?))
    }
}

impl Index<'_> {
    /// The unmerged paths, in order. Returns an error if git fails.
    pub fn unmerged(&self) -> Result<Vec<Unmerged>, Error> {
        let listed = self
            .git
            .git(&["ls-files", "--unmerged", "--full-name", "-z"], &[])?;
        let mut found: Vec<Unmerged> = Vec::new();
        for Listed {
            blob, stage, path, ..
        } in Listed::all(&listed)
        {
            let Some(path) = path_of(path) else { continue };
            if found.last().is_none_or(|last| last.path != path) {
                found.push(Unmerged {
                    path,
                    stages: [None; 3],
                });
            }
            let slot = usize::from(stage).checked_sub(1);
            if let (Some(last), Some(slot)) = (found.last_mut(), slot.filter(|slot| *slot < 3)) {
                last.stages[slot] = Some(blob);
            }
        }
        Ok(found)
    }
}

impl Transactions<'_> {
    /// Writes these files and removes those, and stages both, which marks them as resolved. Stages nothing else.
    /// Returns an error if a file cannot be written or git fails.
    pub fn settle(&self, files: &[(RepoPath, Vec<u8>)], removed: &[RepoPath]) -> Result<(), Error> {
        let _lock = self.lock(self.index.patience(PATIENCE))?;
        self.layout.locks().clear()?;
        self.index.wait_for_index()?;
        // A link to an index is git's to follow.
        let is_file = self
            .index
            .path()
            .symlink_metadata()
            .is_ok_and(|index| index.is_file());
        let lock = if is_file {
            self.index.wait_for_index_lock()?
        } else {
            None
        };
        let placed: Vec<(PathBuf, &[u8])> = files
            .iter()
            .map(|(path, bytes)| (path.under(self.layout.root), bytes.as_slice()))
            .collect();
        durable::write_all(self.layout.root, &placed)?;
        removed
            .iter()
            .for_each(|path| durable::remove(self.layout.root, &path.under(self.layout.root)));
        let names = files
            .iter()
            .map(|(path, _)| path.as_str())
            .chain(removed.iter().map(RepoPath::as_str));
        let arguments: Vec<&str> = ["--literal-pathspecs", "add", "--"]
            .into_iter()
            .chain(names)
            .collect();
        let Some(lock) = lock else {
            return Ok(self.git.git(&arguments, &[]).map(drop)?);
        };
        let add = |index: &Path| Ok(self.git.git_with_index(index, &arguments)?);
        lock.put(NextIndex::write_by(
            Arc::clone(&lock.own),
            &lock.index,
            add,
        )?)
    }
}

/// Settings of git that are about merges, commands and hooks.
#[derive(Clone, Copy)]
pub struct GitSettings<'s> {
    pub(super) objects: &'s Objects,
    pub(super) git: GitProgram<'s>,
    pub(super) layout: Layout<'s>,
}

impl GitSettings<'_> {
    /// Merges three files into `ours` as git does without a merge driver. Returns whether there was no
    /// conflict.
    pub fn merge_files(&self, base: &str, ours: &str, theirs: &str) -> bool {
        let labels = ["-L", "ours", "-L", "base", "-L", "theirs"];
        let arguments = [
            &["merge-file", "-q"],
            &labels[..],
            &["--", ours, base, theirs],
        ]
        .concat();
        self.git.git(&arguments, &[]).is_ok()
    }

    /// Registers a command as a merge driver in the configuration of this clone, in one write: the driver gets no name in
    /// words, which git does not need. Returns an error if it cannot be written.
    pub fn set_merge_driver(&self, driver: &str, command: &str) -> Result<(), Error> {
        settings_of_clone(&self.objects.repo)
            .map_err(libgit2)?
            .set_str(&format!("merge.{driver}.driver"), command)
            .map_err(libgit2)
    }

    /// Defines a git alias in the configuration of this clone. Returns false, and changes nothing, if the name
    /// already has another meaning, and an error if the configuration cannot be read or written.
    pub fn set_alias(&self, name: &str, meaning: &str) -> Result<bool, Error> {
        let key = format!("alias.{name}");
        if let Ok(known) = settings(&self.objects.repo).map_err(libgit2)?.get_str(&key) {
            return Ok(known == meaning);
        }
        settings_of_clone(&self.objects.repo)
            .map_err(libgit2)?
            .set_str(&key, meaning)
            .map_err(libgit2)?;
        Ok(true)
    }

    /// The attribute `merge` that git gives a path: the name of a merge driver. `None` if it has no text as value.
    /// Returns an error if git fails.
    pub fn merge_attribute(&self, path: &RepoPath) -> Result<Option<String>, Error> {
        // libgit2 falls back to attributes in the index where the file in the work tree has none.
        let printed = self
            .git
            .git(&["check-attr", "-z", "merge", "--", path.as_str()], &[])?;
        let value = printed.split(|byte| *byte == 0).nth(2).unwrap_or_default();
        let is_name = !matches!(value, b"set" | b"unset" | b"unspecified" | b"");
        Ok(is_name.then(|| String::from_utf8_lossy(value).into_owned()))
    }

    /// The command of a merge driver that is registered in this clone, or for its user; `None` if there is none.
    /// Returns an error if the settings cannot be read.
    pub fn merge_driver(&self, driver: &str) -> Result<Option<String>, Error> {
        match settings(&self.objects.repo)
            .map_err(libgit2)?
            .get_str(&format!("merge.{driver}.driver"))
        {
            Ok(command) => Ok(Some(command.to_owned())),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(libgit2(error)),
        }
    }
}
