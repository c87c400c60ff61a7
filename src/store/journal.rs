//! The journal of a commit in progress, from which the next command completes a killed one.

use super::entries::Staged;
use super::index::{IndexChange, IndexUpdate};
use super::tree::blob_at;
use super::{Error, Store, durable, oid};
use crate::base::{Digest, RepoPath};
use crate::scan::{FileStamp, io_error};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// One batch: the new commit of the branch, and what must follow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Journal {
    pub reference: String,
    pub new: Digest,
    /// The files to write to the work tree: path, digest before, and blob after.
    pub files: Vec<(RepoPath, Option<Digest>, Digest)>,
    pub index: Vec<IndexChange>,
}

/// Provides the bytes of a file to write, by path and blob.
pub(super) type Bytes<'b> = dyn Fn(&RepoPath, Digest) -> Result<Cow<'b, [u8]>, Error> + 'b;

/// A file written to the work tree, with its stamp.
pub(super) type PlacedFile = (RepoPath, FileStamp);

const FILE: &str = "journal.json";

impl Store {
    /// Writes the journal and syncs it together with `before`. Returns an error if that fails.
    ///
    /// It need not be written atomically: an incomplete journal belongs to a batch whose branch has not moved
    /// yet.
    pub(super) fn write_journal(&self, journal: &Journal, before: Vec<PathBuf>) -> Result<(), Error> {
        let path = self.own(FILE);
        fs::write(&path, journal.to_json().to_string()).map_err(|source| io_error(&path, source))?;
        let mut places = before;
        places.extend(path.parent().map(Path::to_owned));
        places.push(path);
        durable::sync(&places)
    }

    /// Whether a batch is in progress, or was when its process died.
    #[must_use]
    pub fn has_journal(&self) -> bool {
        self.own(FILE).exists()
    }

    pub(super) fn remove_journal(&self) -> Result<(), Error> {
        let path = self.own(FILE);
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io_error(&path, error)),
        }
    }

    /// Completes or removes what a killed process left. Costs two file lookups if there is nothing. Returns
    /// an error if the repository cannot be read or written.
    ///
    /// If another `orch` process is at work, the files belong to it and are left alone.
    pub fn recover_leftovers(&self) -> Result<(), Error> {
        if !self.own(FILE).exists() && !self.has_our_index_lock() {
            return Ok(());
        }
        match self.try_lock()? {
            Some(_lock) => self.clear_index_lock().and_then(|()| self.finish_leftovers()),
            None => Ok(()),
        }
    }

    /// Completes or removes what a killed process left. The caller holds the lock.
    pub(super) fn finish_leftovers(&self) -> Result<(), Error> {
        let Ok(text) = fs::read_to_string(self.own(FILE)) else { return Ok(()) };
        let journal = serde_json::from_str(&text).ok().and_then(|value| Journal::from_json(&value));
        if let Some(journal) = &journal {
            self.clear_lock(journal);
        }
        if let Some(journal) = journal
            && self.has_happened(&journal)?
        {
            tracing::warn!(commit = %journal.new, "finishing what a killed process left");
            for (path, ..) in &journal.files {
                self.remove_temporary(path);
            }
            self.finish(&journal)?;
        }
        self.remove_journal()
    }

    /// Writes the files and updates the index after the branch has moved. Returns the paths of which the user
    /// has staged another version.
    ///
    /// Writes and stages only what HEAD contains: another branch may be checked out by now, or the user may
    /// have committed since.
    pub(super) fn finish(&self, journal: &Journal) -> Result<Vec<RepoPath>, Error> {
        let stored = |_: &RepoPath, blob| Ok(Cow::Owned(self.repo.find_blob(oid(blob)?)?.content().to_vec()));
        self.sync_index(&self.place(journal, &[], &stored)?.0)
    }

    /// Like [`Self::finish`], with the index lock already held; also syncs `before`, takes contents from
    /// `bytes`, and returns the written files.
    pub(super) fn finish_locked<'b>(
        &self,
        journal: &Journal,
        before: &[PathBuf],
        bytes: &Bytes<'b>,
        (index, staged): (IndexUpdate<'_>, &Staged),
    ) -> Result<(Vec<RepoPath>, Vec<PlacedFile>), Error> {
        let (changes, placed) = self.place(journal, before, bytes)?;
        Ok((self.finish_index_update(index, &changes, staged)?, placed))
    }

    /// Writes the files. Returns the index changes that HEAD still contains, and the written files.
    fn place<'b>(
        &self,
        journal: &Journal,
        before: &[PathBuf],
        bytes: &Bytes<'b>,
    ) -> Result<(Vec<IndexChange>, Vec<PlacedFile>), Error> {
        let head = self.head_tree()?;
        let at_head = |path: &RepoPath| head.as_ref().map_or(Ok(None), |tree| blob_at(tree, path));
        let mut files = Vec::new();
        for (path, judged, after) in &journal.files {
            let target = path.under(&self.root);
            let present = durable::read_regular(&target).map(|bytes| Digest::of_blob(&bytes));
            if present == *judged && at_head(path)? == Some(*after) {
                files.push((path, target, bytes(path, *after)?));
            }
        }
        let (paths, files): (Vec<&RepoPath>, Vec<(PathBuf, &[u8])>) =
            files.iter().map(|(path, target, bytes)| (*path, (target.clone(), &**bytes))).unzip();
        let stamps = durable::write_all_after(before, &files)?;
        let placed = paths.into_iter().cloned().zip(stamps);
        let placed = placed.filter_map(|(path, stamp)| Some((path, stamp?))).collect();
        let mut changes = Vec::new();
        for change in &journal.index {
            if at_head(&change.path)? == change.after.map(|(blob, _)| blob) {
                changes.push(change.clone());
            }
        }
        Ok((changes, placed))
    }

    /// Removes the lock file of the branch if it belongs to the killed process: it contains the batch's last
    /// commit or nothing, and does not change.
    fn clear_lock(&self, journal: &Journal) {
        let lock = self.repo.commondir().join(format!("{}.lock", journal.reference));
        let is_ours = || {
            let held = fs::read_to_string(&lock).ok()?;
            (held.trim().is_empty() || held.trim() == journal.new.to_string()).then_some(())
        };
        if is_ours().is_some() {
            sleep(Duration::from_millis(100));
            if is_ours().is_some() {
                // Another process may have removed it.
                let _ = fs::remove_file(&lock);
            }
        }
    }

    /// Whether the branch contains the batch's last commit.
    fn has_happened(&self, journal: &Journal) -> Result<bool, Error> {
        let Ok(reference) = self.repo.find_reference(&journal.reference) else { return Ok(false) };
        let (now, new) = (reference.peel_to_commit()?.id(), oid(journal.new)?);
        Ok(now == new || (self.repo.find_commit(new).is_ok() && self.repo.graph_descendant_of(now, new)?))
    }

    /// Removes temporary files that a killed process left beside a file.
    fn remove_temporary(&self, path: &RepoPath) {
        let Some(directory) = path.parent() else { return };
        for entry in fs::read_dir(directory.under(&self.root)).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(durable::TEMPORARY) {
                // git ignores it; the next batch tries again.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Journal {
    fn to_json(&self) -> Value {
        let id = |digest: &Digest| Value::from(digest.to_string());
        let side = |side: &Option<(Digest, i32)>| match side {
            Some((digest, mode)) => json!({"blob": id(digest), "mode": mode}),
            None => Value::Null,
        };
        json!({
            "ref": self.reference,
            "new": id(&self.new),
            "files": self.files.iter().map(|(path, before, after)| {
                json!({"path": path.as_str(), "before": before.as_ref().map(id), "after": id(after)})
            }).collect::<Vec<_>>(),
            "index": self.index.iter().map(|change| {
                json!({"path": change.path.as_str(), "before": side(&change.before), "after": side(&change.after)})
            }).collect::<Vec<_>>(),
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let path = |value: &Value| RepoPath::new(value["path"].as_str()?).ok();
        let id = |value: &Value| value.as_str().and_then(Digest::parse);
        let side = |value: &Value| Some((id(&value["blob"])?, i32::try_from(value["mode"].as_i64()?).ok()?));
        let files = value["files"].as_array()?.iter();
        let index = value["index"].as_array()?.iter();
        Some(Self {
            reference: value["ref"].as_str()?.to_owned(),
            new: id(&value["new"])?,
            files: files
                .map(|file| Some((path(file)?, id(&file["before"]), id(&file["after"])?)))
                .collect::<Option<_>>()?,
            index: index
                .map(|change| {
                    Some(IndexChange {
                        path: path(change)?,
                        before: side(&change["before"]),
                        after: side(&change["after"]),
                    })
                })
                .collect::<Option<_>>()?,
        })
    }
}
