//! The directories and files of a repository; see gitrepository-layout(5).

use super::environment::{prepare_library, settings, without_owners};
use super::error::{bare, libgit2};
use super::{Error, Objects, durable};
use git2::Repository;
use orch_files::{Directory, io_error};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The name of a work tree or a branch, and why it cannot be read.
pub type UnreadPlace = (String, Error);

/// The permissions of directories where the users of a machine share no repository.
pub(super) const UNSHARED: u32 = 0o700;

/// The directories and files of a repository: the work tree, git's directory, and that of `orch` in it.
#[derive(Clone, Copy)]
pub struct Layout<'s> {
    pub(super) objects: &'s Objects,
    pub(super) root: &'s Path,
}

impl<'s> Layout<'s> {
    /// Returns an error if the repository has no work tree: there are no tasks to evaluate or move.
    pub fn refuse_bare(&self) -> Result<(), Error> {
        match self.objects.repo.workdir() {
            Some(_) => Ok(()),
            None => Err(bare(self.objects.repo.path())),
        }
    }

    /// The root of the work tree.
    #[must_use]
    pub fn root(&self) -> &'s Path {
        self.root
    }

    /// The git directory of this work tree.
    pub fn git_directory(&self) -> &'s Path {
        self.objects.repo.path()
    }

    /// The git directory that all work trees of the repository share.
    pub fn common_directory(&self) -> &'s Path {
        self.objects.repo.commondir()
    }

    /// The directory that git runs hooks from, by these settings.
    pub(super) fn hooks_directory(&self, settings: &git2::Config) -> PathBuf {
        match settings.get_path("core.hookspath") {
            Ok(path) => self.root.join(path),
            Err(_) => self.common_directory().join("hooks"),
        }
    }

    /// The path of a file of `orch` for this work tree, inside the git directory.
    #[must_use]
    pub fn own(&self, name: &str) -> PathBuf {
        self.objects.repo.path().join("orch").join(name)
    }

    /// The directory of `orch` for this work tree, created if it is missing. Returns an error if it cannot be
    /// opened or is a link.
    pub fn own_directory(&self) -> Result<Directory, Error> {
        let git = self.objects.repo.path();
        let path = git.join("orch");
        let made = Directory::make(git, &path).map_err(|source| io_error(&path, source))?;
        // Whoever may open the lock can hold it. The owner of the directory may be another user who shares it.
        if let Err(error) = made.permit(self.sharing()?) {
            tracing::debug!(%error, "cannot set the permissions of .git/orch");
        }
        Ok(made)
    }

    /// Replaces a file in the directory of `orch` for this work tree by one that only this user can read and change.
    /// Returns an error if it cannot be written.
    pub fn keep_private(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let written = durable::write_private(&self.own_directory()?, name, bytes);
        written.map_err(|source| io_error(&self.own(name), source))
    }

    /// The permissions of the directories of `orch` that all work trees share; those of one user if the settings of git cannot
    /// be read.
    #[must_use]
    pub fn shared_mode(&self) -> u32 {
        self.sharing().unwrap_or(UNSHARED)
    }

    /// The permissions of directories that users share, as `core.sharedRepository` says; [`UNSHARED`] if they share none.
    pub(super) fn sharing(&self) -> Result<u32, Error> {
        let said = settings(&self.objects.repo)
            .map_err(libgit2)?
            .get_str("core.sharedRepository")
            .map(str::to_owned);
        let said = said.unwrap_or_default().to_lowercase();
        Ok(match said.as_str() {
            "group" | "true" | "yes" | "on" | "1" => 0o770,
            "all" | "world" | "everybody" | "2" => 0o775,
            octal if octal.starts_with('0') => {
                let files = u32::from_str_radix(octal, 8).unwrap_or_default() & 0o666;
                0o700 | files | (files & 0o444) >> 2
            }
            _ => UNSHARED,
        })
    }

    /// The roots of the other work trees of the repository, sorted, without those that no longer exist, and the
    /// entries that cannot be read. Returns an error if git cannot list them.
    pub fn other_work_trees(&self) -> Result<(Vec<PathBuf>, Vec<UnreadPlace>), Error> {
        let mut found: Vec<(String, Result<PathBuf, Error>)> = Vec::new();
        for name in self
            .objects
            .repo
            .worktrees()
            .map_err(libgit2)?
            .iter()
            .flatten()
            .flatten()
        {
            let root = self
                .objects
                .repo
                .find_worktree(name)
                .map(|one| one.path().to_owned());
            found.push((name.to_owned(), root.map_err(libgit2)));
        }
        if self.objects.repo.is_worktree() {
            prepare_library();
            let directory = self.objects.repo.commondir();
            // This repository is open, so git trusts it.
            match without_owners(|| Repository::open(directory)) {
                // A bare repository has no work tree of its own.
                Ok(main) => found.extend(
                    main.workdir()
                        .map(|root| (root.display().to_string(), Ok(root.into()))),
                ),
                Err(error) => found.push((directory.display().to_string(), Err(libgit2(error)))),
            }
        }
        let mut roots = Vec::new();
        let mut unread = Vec::new();
        for (name, root) in found {
            let root = root.map(|root| (root.canonicalize(), root));
            match root {
                Ok((Ok(root), _)) => roots.push(root),
                Ok((Err(gone), _)) if gone.kind() == ErrorKind::NotFound => {}
                Ok((Err(source), root)) => unread.push((name, io_error(&root, source))),
                Err(error) => unread.push((name, error)),
            }
        }
        roots.retain(|root| *root != self.root);
        roots.sort();
        Ok((roots, unread))
    }
}
