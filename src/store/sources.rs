//! A commit's tree as a source of a task's bytes.

use super::{Error, Store, digest, oid};
use crate::base::{Digest, RepoPath};
use crate::scan::{Child, Clean, Content, Entry, EntryKind, Source, SourceError};
use git2::{ErrorCode, ObjectType, Tree};
use std::cell::OnceCell;

impl Clean for Store {
    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, String> {
        Self::digest(self, path, bytes).map_err(|error| error.to_string())
    }
}

/// A commit's tree; of no commit, an empty one.
pub struct TreeSource<'s> {
    store: &'s Store,
    commit: Option<Digest>,
    tree: OnceCell<Option<Tree<'s>>>,
}

impl Store {
    /// The commit that a revision names, in any way that git understands.
    pub fn resolve(&self, revision: &str) -> Result<Digest, Error> {
        let object = self.repo.revparse_single(revision).and_then(|object| object.peel(ObjectType::Commit));
        match object {
            Ok(commit) => Ok(digest(commit.id())),
            Err(error) if error.code() == ErrorCode::NotFound || error.code() == ErrorCode::InvalidSpec => {
                Err(Error::Revision { revision: revision.to_owned() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What no commit holds: nothing.
    #[must_use]
    pub fn empty_source(&self) -> TreeSource<'_> {
        TreeSource { store: self, commit: None, tree: OnceCell::new() }
    }

    /// What a commit holds.
    #[must_use]
    pub fn tree_source(&self, commit: Digest) -> TreeSource<'_> {
        TreeSource { store: self, commit: Some(commit), tree: OnceCell::new() }
    }

    /// What HEAD holds; nothing on a branch without a commit.
    pub fn head_source(&self) -> Result<TreeSource<'_>, Error> {
        Ok(TreeSource { store: self, commit: self.head()?.commit, tree: OnceCell::new() })
    }

    pub(super) fn content(&self, blob: Option<(Digest, u32)>, limit: u64) -> Result<Content, Error> {
        let Some((blob, mode)) = blob else { return Ok(Content::Missing) };
        if mode & 0o170_000 != 0o100_000 {
            return Ok(Content::Unreadable("it is not a regular file".to_owned()));
        }
        let (size, _) = match self.repo.odb()?.read_header(oid(blob)?) {
            Ok(header) => header,
            // A partial clone fetches blobs when they are needed; here nothing is fetched.
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Ok(Content::Absent);
            }
            Err(error) => return Err(error.into()),
        };
        if size as u64 > limit {
            return Ok(Content::TooLarge(size as u64));
        }
        Ok(Content::Bytes(self.repo.find_blob(oid(blob)?)?.content().to_vec()))
    }

    /// The bytes of a blob; `None` if this clone has none.
    pub fn blob(&self, blob: Digest) -> Result<Option<Vec<u8>>, Error> {
        match self.repo.find_blob(oid(blob)?) {
            Ok(found) => Ok(Some(found.content().to_vec())),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl<'s> TreeSource<'s> {
    pub(super) fn tree(&self) -> Result<Option<&Tree<'s>>, Error> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree.as_ref());
        }
        let tree = self.commit.map(|commit| self.store.tree_of(commit)).transpose()?;
        Ok(self.tree.get_or_init(|| tree).as_ref())
    }

    /// The repository that it is of.
    #[must_use]
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// The commit, if it is one.
    #[must_use]
    pub fn commit(&self) -> Option<Digest> {
        self.commit
    }

    /// The object and mode at a path: a blob, or the tree of a directory.
    pub fn object(&self, path: &RepoPath) -> Result<Option<(Digest, u32)>, Error> {
        let Some(tree) = self.tree()? else { return Ok(None) };
        if path.as_str().is_empty() {
            return Ok(Some((digest(tree.id()), 0o040_000)));
        }
        let entry = super::tree::entry_at(tree, path)?;
        Ok(entry.map(|entry| (digest(entry.id()), mode_of(entry.filemode()))))
    }
}

fn mode_of(mode: i32) -> u32 {
    u32::try_from(mode).unwrap_or_default()
}

impl Source for TreeSource<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, SourceError> {
        let files = || -> Result<_, Error> {
            match self.tree()? {
                Some(tree) => self.store.files_in(tree, directory),
                None => Ok(Vec::new()),
            }
        };
        let files = files().map_err(|error| refused(directory, &error))?;
        Ok(files.into_iter().map(|(path, _, mode)| entry(&path, mode_of(mode))).collect())
    }

    fn children(&self, directory: &RepoPath) -> Option<Vec<Child>> {
        let (id, _) = self.object(directory).ok()??;
        let tree = self.store.repo.find_tree(oid(id).ok()?).ok()?;
        let child = |entry: git2::TreeEntry<'_>| {
            let is_directory = entry.kind() == Some(ObjectType::Tree);
            Some(Child::new(entry.name().ok()?, is_directory))
        };
        Some(tree.iter().filter_map(child).collect())
    }

    fn is_behind_link(&self, _directory: &RepoPath) -> bool {
        false
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, SourceError> {
        let blob = self.object(path).map_err(|error| refused(path, &error))?;
        self.store.content(blob, limit).map_err(|error| refused(path, &error))
    }

    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, SourceError> {
        Ok(Digest::of_blob(bytes))
    }
}

pub(super) fn entry(path: &RepoPath, mode: u32) -> Entry {
    let kind = match mode {
        0o120_000 => EntryKind::Symlink,
        0o160_000 => EntryKind::Directory,
        _ => EntryKind::File,
    };
    Entry { path: path.to_string(), kind, executable: mode == 0o100_755 }
}

pub(super) fn refused(path: &RepoPath, error: &Error) -> SourceError {
    SourceError::Repository { path: path.to_string(), message: error.to_string() }
}
