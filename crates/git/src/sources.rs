//! A commit's tree as a source of files, and access to blobs.

use super::listing::{EXECUTABLE, Listing, ListingEntry, SUBMODULE, TREE};
use super::{Error, Store, digest};
use git2::Oid;
use orch_base::{Digest, ObjectFormat, Reason, RepoPath};
use orch_files::{Child, Clean, Content, Entry, EntryKind, Source};
use std::cell::OnceCell;
use std::sync::Arc;

impl Clean for Store {
    fn format(&self) -> ObjectFormat {
        Self::format(self)
    }

    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Reason> {
        Self::digest(self, path, bytes).map_err(|error| error.to_string().into())
    }
}

/// The tree of a commit; an empty tree without a commit.
pub struct TreeSource<'s> {
    store: &'s Store,
    commit: Option<Digest>,
    tree: OnceCell<Option<Oid>>,
}

impl Store {
    /// A source without files.
    #[must_use]
    pub fn empty_source(&self) -> TreeSource<'_> {
        TreeSource::new(self, None)
    }

    /// The files of a commit.
    #[must_use]
    pub fn tree_source(&self, commit: Digest) -> TreeSource<'_> {
        TreeSource::new(self, Some(commit))
    }

    /// The files of a commit; none without a commit.
    #[must_use]
    pub fn source_at(&self, commit: Option<Digest>) -> TreeSource<'_> {
        TreeSource::new(self, commit)
    }

    /// The files of HEAD; none on a branch without commits. Returns an error if git cannot read HEAD.
    pub fn head_source(&self) -> Result<TreeSource<'_>, Error> {
        Ok(self.source_at(self.head()?.commit))
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
        let id = self.objects.oid(blob)?;
        let known = self
            .objects
            .blobs
            .borrow_mut()
            .get(&id)
            .map(|known| known.len() as u64);
        let size = match known {
            // Without a limit, the blob is read at once.
            None if limit < u64::MAX - 1 => match self.objects.blob_size(blob)? {
                None => return Ok(Content::Absent),
                size => size,
            },
            known => known,
        };
        if let Some(size) = size.filter(|size| *size > limit) {
            return Ok(Content::TooLarge(size));
        }
        Ok(self
            .objects
            .blob(blob)?
            .map_or(Content::Absent, Content::Bytes))
    }
}

impl<'s> TreeSource<'s> {
    fn new(store: &'s Store, commit: Option<Digest>) -> Self {
        Self {
            store,
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
            .map(|commit| self.store.objects.tree_of(commit))
            .transpose()?;
        Ok(*self.tree.get_or_init(|| tree))
    }

    /// The repository of the tree.
    #[must_use]
    pub fn store(&self) -> &'s Store {
        self.store
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
        self.store.objects.object_below(
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
        Ok(held == blob && (!self.store.knows_modes()? || (mode == EXECUTABLE) == executable))
    }

    /// The executable bit to commit a file with: its own, or the committed one if the file system has none.
    /// Returns an error if git cannot read a tree.
    pub fn mode_for(&self, path: &RepoPath, executable: bool) -> Result<bool, Error> {
        if self.store.knows_modes()? {
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
        self.store.objects.listing(id)
    }

    /// The tree id of a directory; `None` if there is no directory. Returns an error if git cannot read a tree.
    pub(super) fn directory_at(&self, path: &RepoPath) -> Result<Option<Oid>, Error> {
        match self.object(path)? {
            Some((id, TREE)) => Ok(Some(self.store.objects.oid(id)?)),
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
            self.collect(self.store.objects.oid(tree)?, directory, &mut files)?;
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

/// The blob of an entry, if it is a regular file.
pub(super) fn regular((blob, mode): (Digest, u32)) -> Option<Digest> {
    (mode & 0o170_000 == 0o100_000).then_some(blob)
}

impl Source for TreeSource<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        let files = self
            .files(directory)
            .map_err(|error| refused(directory, &error))?;
        Ok(files
            .into_iter()
            .map(|(path, _, mode)| entry(&path, mode))
            .collect())
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        let found = self.object(path).map_err(|error| refused(path, &error))?;
        Ok(found.map(|(_, mode)| entry(path, mode)))
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        let fail = |error| refused(directory, &error);
        let Some((id, mode)) = self.object(directory).map_err(fail)? else {
            return Ok(None);
        };
        if mode != TREE {
            return Ok(None);
        }
        let tree = self
            .store
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
        let blob = self.object(path).map_err(|error| refused(path, &error))?;
        self.store
            .content(blob, limit)
            .map_err(|error| refused(path, &error))
    }

    fn blob_id(&self, path: &RepoPath) -> Option<Digest> {
        regular(self.object(path).ok()??)
    }

    fn format(&self) -> ObjectFormat {
        self.store.format()
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

pub(super) fn refused(path: &RepoPath, error: &Error) -> Error {
    Error::new(error.code(), format!("{path}: {error}")).with_hint_of(error.hint().cloned())
}
