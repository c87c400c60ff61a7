//! The index and a commit's tree as sources of a task's bytes.

use super::{Error, Store, digest, oid};
use crate::base::{Digest, RepoPath};
use crate::scan::{Content, Entry, EntryKind, Source, SourceError};
use git2::ObjectType;
use std::collections::BTreeMap;

/// Files as a commit or the index holds them: path to blob and mode.
type Files = BTreeMap<RepoPath, (Digest, i32)>;

/// A commit's tree.
pub struct TreeSource<'s> {
    store: &'s Store,
    commit: Digest,
}

/// The index: what the next commit would hold.
pub struct IndexSource<'s> {
    store: &'s Store,
    files: Files,
}

impl Store {
    /// The tree of a revision, by any name that git understands.
    pub fn tree_source(&self, revision: &str) -> Result<TreeSource<'_>, Error> {
        let object = self.repo.revparse_single(revision)?.peel(ObjectType::Commit)?;
        Ok(TreeSource { store: self, commit: digest(object.id()) })
    }

    /// The index as it is now.
    pub fn index_source(&self) -> Result<IndexSource<'_>, Error> {
        let mut index = self.repo.index()?;
        index.read(false)?;
        let files = index
            .iter()
            .filter(|entry| (entry.flags >> 12) & 0x3 == 0)
            .filter_map(|entry| {
                let path = RepoPath::new(std::str::from_utf8(&entry.path).ok()?).ok()?;
                Some((path, (digest(entry.id), i32::try_from(entry.mode).ok()?)))
            })
            .collect();
        Ok(IndexSource { store: self, files })
    }

    fn content(&self, blob: Option<Digest>, limit: u64) -> Result<Content, Error> {
        let Some(blob) = blob else { return Ok(Content::Missing) };
        let (size, _) = self.repo.odb()?.read_header(oid(blob)?)?;
        if size as u64 > limit {
            return Ok(Content::TooLarge(size as u64));
        }
        Ok(Content::Bytes(self.repo.find_blob(oid(blob)?)?.content().to_vec()))
    }
}

impl TreeSource<'_> {
    fn files(&self, directory: &RepoPath) -> Result<Vec<(RepoPath, Digest, i32)>, Error> {
        let tree = self.store.tree_of(self.commit)?;
        self.store.files_in(&tree, directory)
    }
}

impl Source for TreeSource<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, SourceError> {
        let files = self.files(directory).map_err(|error| refused(directory, &error))?;
        Ok(files.into_iter().map(|(path, _, mode)| entry(&path, mode)).collect())
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, SourceError> {
        let blob = self.store.tree_of(self.commit).and_then(|tree| super::tree::entry_at(&tree, path));
        let blob = blob.map_err(|error| refused(path, &error))?.map(|entry| digest(entry.id()));
        self.store.content(blob, limit).map_err(|error| refused(path, &error))
    }

    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, SourceError> {
        Ok(Digest::of_blob(bytes))
    }
}

impl Source for IndexSource<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, SourceError> {
        let below = self.files.iter().filter(|(path, _)| path.below(directory).is_some());
        Ok(below.map(|(path, (_, mode))| entry(path, *mode)).collect())
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, SourceError> {
        let blob = self.files.get(path).map(|(blob, _)| *blob);
        self.store.content(blob, limit).map_err(|error| refused(path, &error))
    }

    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, SourceError> {
        Ok(Digest::of_blob(bytes))
    }
}

fn entry(path: &RepoPath, mode: i32) -> Entry {
    let kind = match mode {
        0o120_000 => EntryKind::Symlink,
        0o160_000 => EntryKind::Directory,
        _ => EntryKind::File,
    };
    Entry { path: path.to_string(), kind, executable: mode == 0o100_755 }
}

fn refused(path: &RepoPath, error: &Error) -> SourceError {
    SourceError::Repository { path: path.to_string(), message: error.to_string() }
}
