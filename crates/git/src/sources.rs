//! A commit's tree as a source of files, and access to blobs.

use super::environment::settings;
use super::error::libgit2;
use super::listing::{EXECUTABLE, Listing, ListingEntry, SUBMODULE, TREE};
use super::{Error, Objects, Refs, Store, digest};
use git2::{ErrorCode, Oid};
use orch_base::{Digest, ObjectFormat, Place, Reason, RepoPath};
use orch_files::{Child, Clean, Content, Entry, EntryKind, Source};
use std::cell::OnceCell;
use std::sync::Arc;

impl Clean for Store {
    fn format(&self) -> ObjectFormat {
        self.objects.format
    }

    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Reason> {
        self.filters()
            .digest(path, bytes)
            .map_err(|error| error.to_string().into())
    }
}

/// An entry of a directory in a commit: its name, and the id of its tree; `None` for anything but a directory.
pub type TreeChild = (String, Option<Digest>);

/// The tree of a commit; an empty tree without a commit.
pub struct TreeSource<'s> {
    objects: &'s Objects,
    commit: Option<Digest>,
    tree: OnceCell<Option<Oid>>,
}

impl Objects {
    /// The bytes that a commit contains at a path; `None` if it contains no file there or this clone does not
    /// have the blob. Returns an error if git cannot read the commit.
    pub fn read_at(&self, commit: Digest, path: &RepoPath) -> Result<Option<Vec<u8>>, Error> {
        self.source_at(Some(commit))
            .blob_at(path)?
            .map_or(Ok(None), |blob| self.blob(blob))
    }

    /// The entries of a tree, in its order; without names that are not UTF-8. Returns an error if git cannot read
    /// it.
    pub fn tree_children(&self, tree: Digest) -> Result<Vec<TreeChild>, Error> {
        let tree = self.listing(self.oid(tree)?)?;
        let child = |entry: ListingEntry<'_>| {
            Some((
                entry.text()?.to_owned(),
                entry.is_tree().then(|| digest(entry.id)),
            ))
        };
        Ok(tree.iter().filter_map(child).collect())
    }

    /// The files of a commit; none without a commit.
    #[must_use]
    pub fn source_at(&self, commit: impl Into<Option<Digest>>) -> TreeSource<'_> {
        TreeSource::new(self, commit.into())
    }

    pub(super) fn content(
        &self,
        blob: Option<(Digest, u32)>,
        limit: u64,
    ) -> Result<Content, Error> {
        let Some((blob, mode)) = blob else {
            return Ok(Content::Missing);
        };
        let Some(blob) = regular((blob, mode)) else {
            return Ok(Content::Unreadable("it is not a regular file".to_owned()));
        };
        let id = self.oid(blob)?;
        let known = self
            .blobs
            .borrow_mut()
            .get(&id)
            .map(|known| known.len() as u64);
        let size = match known {
            // Without a limit, the blob is read at once.
            None if limit < u64::MAX - 1 => match self.blob_size(blob)? {
                None => return Ok(Content::Absent),
                size => size,
            },
            known => known,
        };
        if let Some(size) = size.filter(|size| *size > limit) {
            return Ok(Content::TooLarge(size));
        }
        Ok(self.blob(blob)?.map_or(Content::Absent, Content::Bytes))
    }
}

impl<'s> Refs<'s> {
    /// The files of HEAD; none on a branch without commits. Returns an error if git cannot read HEAD.
    pub fn head_source(&self) -> Result<TreeSource<'s>, Error> {
        Ok(self.objects.source_at(self.head()?.commit))
    }
}

impl<'s> TreeSource<'s> {
    fn new(objects: &'s Objects, commit: Option<Digest>) -> Self {
        Self {
            objects,
            commit,
            tree: OnceCell::new(),
        }
    }

    /// The id of its tree; `None` for the empty source.
    pub(super) fn tree(&self) -> Result<Option<Oid>, Error> {
        if let Some(tree) = self.tree.get() {
            return Ok(*tree);
        }
        let tree = self
            .commit
            .map(|commit| self.objects.tree_of(commit))
            .transpose()?;
        Ok(*self.tree.get_or_init(|| tree))
    }

    /// The objects of its repository.
    #[must_use]
    pub fn objects(&self) -> &'s Objects {
        self.objects
    }

    /// The commit, or `None` for the empty source.
    #[must_use]
    pub fn commit(&self) -> Option<Digest> {
        self.commit
    }

    /// The object id and mode at a path: a blob, or the tree of a directory. Returns an error if git cannot
    /// read a tree.
    pub fn object(&self, path: &RepoPath) -> Result<Option<(Digest, u32)>, Error> {
        let Some(tree) = self.tree()? else {
            return Ok(None);
        };
        self.objects.object_below(
            tree,
            path.as_str().split('/').filter(|name| !name.is_empty()),
        )
    }

    /// The blob at a path, including that of a symbolic link; `None` if there is none. Returns an error if
    /// git cannot read a tree.
    pub fn blob_at(&self, path: &RepoPath) -> Result<Option<Digest>, Error> {
        let is_blob = |mode: &u32| *mode != TREE && *mode != SUBMODULE;
        Ok(self
            .object(path)?
            .filter(|(_, mode)| is_blob(mode))
            .map(|(blob, _)| blob))
    }

    /// Whether there is exactly this blob at a path, with this executable bit. The bit is ignored if the file
    /// system has none (`core.fileMode`). Returns an error if git cannot read a tree.
    pub fn holds(&self, path: &RepoPath, blob: Digest, executable: bool) -> Result<bool, Error> {
        let Some((held, mode)) = self.object(path)? else {
            return Ok(false);
        };
        Ok(held == blob && (!knows_modes(self.objects)? || (mode == EXECUTABLE) == executable))
    }

    /// The executable bit to commit a file with: its own, or the committed one if the file system has none.
    /// Returns an error if git cannot read a tree.
    pub fn mode_for(&self, path: &RepoPath, executable: bool) -> Result<bool, Error> {
        if knows_modes(self.objects)? {
            return Ok(executable);
        }
        Ok(self
            .object(path)?
            .is_some_and(|(_, mode)| mode == EXECUTABLE))
    }

    /// All files below a directory, in path order. Returns an error if git cannot read a tree.
    pub fn paths_below(&self, directory: &RepoPath) -> Result<Vec<RepoPath>, Error> {
        Ok(self
            .files(directory)?
            .into_iter()
            .map(|(path, ..)| path)
            .collect())
    }

    /// The directory with this tree id. Returns an error if git cannot read it, with a code of its own if this clone
    /// does not have it.
    pub(super) fn directory(&self, id: Oid) -> Result<Arc<Listing>, Error> {
        self.objects.listing(id)
    }

    /// The tree id of a directory; `None` if there is no directory. Returns an error if git cannot read a tree.
    pub(super) fn directory_at(&self, path: &RepoPath) -> Result<Option<Oid>, Error> {
        match self.object(path)? {
            Some((id, TREE)) => Ok(Some(self.objects.oid(id)?)),
            _ => Ok(None),
        }
    }

    /// All files below a directory: path, blob id and mode.
    pub(super) fn files(
        &self,
        directory: &RepoPath,
    ) -> Result<Vec<(RepoPath, Digest, u32)>, Error> {
        let mut files = Vec::new();
        if let Some((tree, TREE)) = self.object(directory)? {
            self.collect(self.objects.oid(tree)?, directory, &mut files)?;
        }
        Ok(files)
    }

    fn collect(
        &self,
        tree: Oid,
        directory: &RepoPath,
        files: &mut Vec<(RepoPath, Digest, u32)>,
    ) -> Result<(), Error> {
        for entry in self.directory(tree)?.iter() {
            let Some(path) = entry.text().and_then(|name| directory.join(name).ok()) else {
                continue;
            };
            match entry.mode {
                TREE => self.collect(entry.id, &path, files)?,
                SUBMODULE => {}
                mode => files.push((path, digest(entry.id), mode)),
            }
        }
        Ok(())
    }
}

/// Whether the file system has executable bits (`core.fileMode`).
fn knows_modes(objects: &Objects) -> Result<bool, Error> {
    match settings(&objects.repo)
        .map_err(libgit2)?
        .get_bool("core.fileMode")
    {
        Ok(known) => Ok(known),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(true),
        Err(error) => Err(libgit2(error)),
    }
}

/// The tree of a directory, given what [`TreeSource::object`](super::TreeSource::object) found at its path.
pub fn tree_id(object: Option<(Digest, u32)>) -> Option<Digest> {
    object
        .filter(|(_, mode)| *mode == TREE)
        .map(|(tree, _)| tree)
}

/// The blob of an entry, if it is a regular file.
pub(super) fn regular((blob, mode): (Digest, u32)) -> Option<Digest> {
    (mode & 0o170_000 == 0o100_000).then_some(blob)
}

impl Source for TreeSource<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        let files = self
            .files(directory)
            .map_err(|error| refused(directory, error))?;
        Ok(files
            .into_iter()
            .map(|(path, _, mode)| entry(&path, mode))
            .collect())
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        let found = self.object(path).map_err(|error| refused(path, error))?;
        Ok(found.map(|(_, mode)| entry(path, mode)))
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        let fail = |error| refused(directory, error);
        let Some((id, mode)) = self.object(directory).map_err(fail)? else {
            return Ok(None);
        };
        if mode != TREE {
            return Ok(None);
        }
        let tree = self
            .objects
            .oid(id)
            .and_then(|id| self.directory(id))
            .map_err(fail)?;
        let child = |entry: ListingEntry<'_>| Some(Child::new(entry.text()?, entry.is_tree()));
        Ok(Some(tree.iter().filter_map(child).collect()))
    }

    fn is_behind_link(&self, _directory: &RepoPath) -> Result<bool, Error> {
        Ok(false)
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        let blob = self.object(path).map_err(|error| refused(path, error))?;
        self.objects
            .content(blob, limit)
            .map_err(|error| refused(path, error))
    }

    fn blob_id(&self, path: &RepoPath) -> Option<Digest> {
        regular(self.object(path).ok()??)
    }

    fn format(&self) -> ObjectFormat {
        self.objects.format()
    }
}

pub(super) fn entry(path: &RepoPath, mode: u32) -> Entry {
    let kind = match mode {
        0o120_000 => EntryKind::Symlink,
        SUBMODULE | TREE => EntryKind::Directory,
        _ => EntryKind::File,
    };
    Entry {
        path: path.to_string(),
        kind,
        executable: mode == 0o100_755,
        stamp: None,
    }
}

pub(super) fn refused(path: &RepoPath, error: Error) -> Error {
    error.or_at(Place::file(path))
}
