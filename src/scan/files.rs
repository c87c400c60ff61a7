//! Files in memory as a source: the content of a task at a moment that no single commit represents.

use super::{Child, Content, Entry, EntryKind, Source};
use crate::base::{Digest, Error, RepoPath};
use std::collections::BTreeMap;

/// Files by path, each with its bytes as git stores them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSet(BTreeMap<RepoPath, Vec<u8>>);

impl FileSet {
    /// All regular files below a directory of another source that can be read and have at most `limit` bytes.
    /// Returns an error if the source itself cannot be read.
    pub fn of(source: &dyn Source, directory: &RepoPath, limit: u64) -> Result<Self, Error> {
        let mut files = Self::default();
        for entry in source.list(directory)?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let Ok(path) = RepoPath::new(&entry.path) else { continue };
            if let Content::Bytes(bytes) = source.read(&path, limit)? {
                files.put(path, bytes);
            }
        }
        Ok(files)
    }

    /// Adds a file, or replaces it.
    pub fn put(&mut self, path: RepoPath, bytes: Vec<u8>) {
        self.0.insert(path, bytes);
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &RepoPath) {
        self.0.remove(path);
    }

    /// The paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.0.keys()
    }

    /// The bytes of a file; `None` if there is no such file.
    #[must_use]
    pub fn bytes(&self, path: &RepoPath) -> Option<&[u8]> {
        self.0.get(path).map(Vec::as_slice)
    }
}

impl Source for FileSet {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        let below = self.0.keys().filter(|path| path.below(directory).is_some());
        Ok(below
            .map(|path| Entry {
                path: path.to_string(),
                kind: EntryKind::File,
                executable: false,
                stamp: None,
            })
            .collect())
    }

    fn children(&self, directory: &RepoPath) -> Option<Vec<Child>> {
        Child::of_paths(directory, self.0.keys())
    }

    fn is_behind_link(&self, _directory: &RepoPath) -> bool {
        false
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        Ok(match self.0.get(path) {
            None => Content::Missing,
            Some(bytes) if bytes.len() as u64 > limit => Content::TooLarge(bytes.len() as u64),
            Some(bytes) => Content::Bytes(bytes.clone()),
        })
    }

    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        Ok(Digest::of_blob(bytes))
    }
}
