//! Files in memory as a source: the content of a task at a moment that no single commit represents.

use super::{Child, Content, Entry, EntryKind, Source};
use orch_base::{Error, ObjectFormat, RepoPath, TaskPlace};
use std::collections::BTreeMap;

/// Files by path, each with its bytes as git stores them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSet {
    files: BTreeMap<RepoPath, Vec<u8>>,
    format: ObjectFormat,
}

impl FileSet {
    /// No files; their ids have this format.
    #[must_use]
    pub fn empty(format: ObjectFormat) -> Self {
        Self {
            files: BTreeMap::new(),
            format,
        }
    }

    /// All regular files of a task in another source that can be read and have at most `limit` bytes. Returns
    /// an error if the source itself cannot be read.
    pub fn of(source: &dyn Source, place: &TaskPlace, limit: u64) -> Result<Self, Error> {
        let mut files = Self::empty(source.format());
        for entry in source
            .list_task(place)?
            .into_iter()
            .filter(|entry| entry.kind == EntryKind::File)
        {
            let Ok(path) = RepoPath::new(&entry.path) else {
                continue;
            };
            if let Content::Bytes(bytes) = source.read(&path, limit)? {
                files.put(path, bytes);
            }
        }
        Ok(files)
    }

    /// Adds a file, or replaces it.
    pub fn put(&mut self, path: RepoPath, bytes: Vec<u8>) {
        self.files.insert(path, bytes);
    }

    /// Removes a file.
    pub fn remove(&mut self, path: &RepoPath) {
        self.files.remove(path);
    }

    /// The paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// The bytes of a file; `None` if there is no such file.
    #[must_use]
    pub fn bytes(&self, path: &RepoPath) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }
}

impl Source for FileSet {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        Ok(self
            .files
            .keys()
            .filter(|path| path.below(directory).is_some())
            .map(entry)
            .collect())
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        if self.files.contains_key(path) {
            Ok(Some(entry(path)))
        } else {
            Ok(None)
        }
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        Ok(Child::of_paths(directory, self.files.keys()))
    }

    fn is_behind_link(&self, _directory: &RepoPath) -> Result<bool, Error> {
        Ok(false)
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        Ok(match self.files.get(path) {
            None => Content::Missing,
            Some(bytes) if bytes.len() as u64 > limit => Content::TooLarge(bytes.len() as u64),
            Some(bytes) => Content::Bytes(bytes.clone()),
        })
    }

    fn format(&self) -> ObjectFormat {
        self.format
    }
}

fn entry(path: &RepoPath) -> Entry {
    Entry {
        path: path.to_string(),
        kind: EntryKind::File,
        executable: false,
        stamp: None,
    }
}
