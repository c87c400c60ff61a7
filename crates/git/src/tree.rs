//! Reads trees: blobs and files by path.

use super::environment::settings;
use super::listing::{SUBMODULE, TREE};
use super::{Error, Store};
use crate::error::libgit2;
use git2::{ErrorCode, Oid};
use orch_base::{Digest, RepoPath};
use std::path::Path;

impl Store {
    /// The id of the tree of HEAD; `None` on a branch without commits.
    pub(super) fn head_tree(&self) -> Result<Option<Oid>, Error> {
        let head = self.head()?.commit;
        head.map(|commit| self.objects.tree_of(commit)).transpose()
    }

    pub(super) fn knows_modes(&self) -> Result<bool, Error> {
        match settings(&self.objects.repo)
            .map_err(libgit2)?
            .get_bool("core.fileMode")
        {
            Ok(known) => Ok(known),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(true),
            Err(error) => Err(libgit2(error)),
        }
    }

    /// The submodule in HEAD that a directory is or is inside of, even if it is not checked out. Returns an
    /// error if git cannot read a tree.
    pub fn submodule_around(&self, directory: &RepoPath) -> Result<Option<RepoPath>, Error> {
        let Some(tree) = self.head_tree()? else {
            return Ok(None);
        };
        for step in std::iter::successors(Some(directory.clone()), RepoPath::parent) {
            if !step.as_str().is_empty()
                && self
                    .entry_at(tree, &step)?
                    .is_some_and(|(_, mode)| mode == SUBMODULE)
            {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// The bytes that a commit contains at a path; `None` if it contains no file there or this clone does not
    /// have the blob. Returns an error if git cannot read the commit.
    pub fn read_at(&self, commit: Digest, path: &RepoPath) -> Result<Option<Vec<u8>>, Error> {
        self.source_at(Some(commit))
            .blob_at(path)?
            .map_or(Ok(None), |blob| self.objects.blob(blob))
    }

    /// The id and the mode of what a tree has at a path. Returns an error if git cannot read a tree.
    pub(super) fn entry_at(
        &self,
        tree: Oid,
        path: &RepoPath,
    ) -> Result<Option<(Digest, u32)>, Error> {
        self.objects.object_below(tree, path.as_str().split('/'))
    }

    /// The blob id at a path in a tree. Returns an error if git cannot read a tree.
    pub(super) fn blob_in(
        &self,
        tree: Option<Oid>,
        path: &RepoPath,
    ) -> Result<Option<Digest>, Error> {
        let entry = tree.map_or(Ok(None), |tree| self.entry_at(tree, path))?;
        Ok(entry
            .filter(|(_, mode)| *mode != TREE && *mode != SUBMODULE)
            .map(|(blob, _)| blob))
    }

    /// Whether git ignores a path. Returns an error if the ignore rules cannot be read.
    pub fn is_ignored(&self, path: &RepoPath) -> Result<bool, Error> {
        self.refuse_special(path, ".gitignore")?;
        self.objects
            .repo
            .is_path_ignored(Path::new(path.as_str()))
            .map_err(libgit2)
    }
}
