//! A source as one look reads it: lists the task once, reads its state once, and counts reads.

use super::costs::Costs;
use orch_base::{Digest, Error, ObjectFormat, RepoPath, TaskPlace};
use orch_files::{Child, Content, Entry, EntryKind, ObservedLog, Source};
use std::cell::RefCell;

/// A source, wrapped for reading one task.
///
/// Files are listed before they are read, so a stamp in the list is never newer than the bytes that were
/// read.
pub(super) struct Glance<'a> {
    source: &'a dyn Source,
    costs: Option<&'a Costs>,
    place: &'a TaskPlace,
    entries: Vec<Entry>,
    /// The state, which is read first because it names the workflow.
    state: RefCell<Option<(RepoPath, Content)>>,
}

impl<'a> Glance<'a> {
    /// A source whose task has these files, listed just before.
    pub(super) fn of(
        source: &'a dyn Source,
        costs: Option<&'a Costs>,
        place: &'a TaskPlace,
        entries: Vec<Entry>,
    ) -> Self {
        Self {
            source,
            costs,
            place,
            entries,
            state: RefCell::default(),
        }
    }

    /// Reads the state, and keeps it for the next read; `None` if there is no such file, or it has no bytes that could be
    /// read. Returns an error if the machine fails to read it.
    pub(super) fn state(&self, path: &RepoPath, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let is_state = |entry: &Entry| entry.kind == EntryKind::File && entry.path == path.as_str();
        if !self.entries.iter().any(is_state) {
            return Ok(None);
        }
        let content = self.read(path, limit)?;
        self.state.replace(Some((path.clone(), content.clone())));
        Ok(match content {
            Content::Bytes(bytes) => Some(bytes),
            _ => None,
        })
    }

    /// The files of the task, as listed before any was read.
    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl Source for Glance<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        self.source.list(directory)
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        self.source.entry_at(path)
    }

    fn list_task(&self, place: &TaskPlace) -> Result<Vec<Entry>, Error> {
        if place == self.place {
            Ok(self.entries.clone())
        } else {
            self.source.list_task(place)
        }
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        self.source.children(directory)
    }

    fn is_behind_link(&self, directory: &RepoPath) -> Result<bool, Error> {
        self.source.is_behind_link(directory)
    }

    fn is_repository(&self, directory: &RepoPath) -> Result<bool, Error> {
        self.source.is_repository(directory)
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        if let Some((known, content)) = &*self.state.borrow()
            && known == path
        {
            return Ok(content.clone());
        }
        let content = self.source.read(path, limit)?;
        self.costs.inspect(|costs| {
            costs.read(if let Content::Bytes(bytes) = &content {
                bytes.len()
            } else {
                0
            })
        });
        Ok(content)
    }

    fn read_log(&self, path: &RepoPath, most: u64) -> Result<ObservedLog, Error> {
        let log = self.source.read_log(path, most)?;
        let read = match &log {
            ObservedLog::Whole(bytes) => bytes.len(),
            ObservedLog::End(end) => end.bytes.len(),
            ObservedLog::Missing | ObservedLog::Unreadable => 0,
        };
        self.costs.inspect(|costs| costs.read(read));
        Ok(log)
    }

    fn blob_id(&self, path: &RepoPath) -> Option<Digest> {
        self.source.blob_id(path)
    }

    fn format(&self) -> ObjectFormat {
        self.source.format()
    }

    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        self.source.digest(path, bytes)
    }
}
