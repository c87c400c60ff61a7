//! What is about to happen, written down before it happens, so that the next run can finish it.

use super::index::IndexChange;
use super::{Error, Store, digest, durable, oid};
use crate::base::{Digest, RepoPath};
use serde_json::{Value, json};
use std::fs;

/// One batch: the branch's move, and what has to follow it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Journal {
    pub reference: String,
    pub new: Digest,
    /// Files to place in the work tree: what is there before, and the blob that follows.
    pub files: Vec<(RepoPath, Option<Digest>, Digest)>,
    pub index: Vec<IndexChange>,
}

const FILE: &str = "journal.json";

impl Store {
    pub(super) fn write_journal(&self, journal: &Journal) -> Result<(), Error> {
        durable::write_atomic(&self.own(FILE), journal.to_json().to_string().as_bytes())
    }

    pub(super) fn remove_journal(&self) -> Result<(), Error> {
        let path = self.own(FILE);
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Finishes, or clears away, what a killed process left. The caller holds the lock.
    pub(super) fn finish_leftovers(&self) -> Result<(), Error> {
        let Ok(text) = fs::read_to_string(self.own(FILE)) else { return Ok(()) };
        let journal = serde_json::from_str(&text).ok().and_then(|value| Journal::from_json(&value));
        if let Some(journal) = journal
            && self.has_happened(&journal)?
        {
            for (path, before, after) in &journal.files {
                self.finish_file(path, *before, *after)?;
            }
            self.sync_index(&journal.index)?;
        }
        self.remove_journal()
    }

    /// Whether the branch holds the batch's last commit.
    fn has_happened(&self, journal: &Journal) -> Result<bool, Error> {
        let Ok(reference) = self.repo.find_reference(&journal.reference) else { return Ok(false) };
        let (now, new) = (reference.peel_to_commit()?.id(), oid(journal.new)?);
        Ok(now == new || (self.repo.find_commit(new).is_ok() && self.repo.graph_descendant_of(now, new)?))
    }

    /// Places a file, unless somebody has changed it or the branch has moved on since.
    fn finish_file(&self, path: &RepoPath, before: Option<Digest>, after: Digest) -> Result<(), Error> {
        let target = path.under(&self.root);
        let present = fs::read(&target).ok().map(|bytes| Digest::of_blob(&bytes));
        if present == before && self.blob_at_head(path)? == Some(after) {
            let blob = self.repo.find_blob(oid(after)?)?;
            durable::write_atomic(&target, blob.content())?;
        }
        self.remove_temporary(path);
        Ok(())
    }

    /// Removes what a killed process wrote beside a file and never renamed.
    fn remove_temporary(&self, path: &RepoPath) {
        let Some(directory) = path.parent() else { return };
        for entry in fs::read_dir(directory.under(&self.root)).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(durable::TEMPORARY) {
                // It is ignored by git and harmless; another try comes with the next batch.
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
            files: files.map(|file| Some((path(file)?, id(&file["before"]), id(&file["after"])?))).collect::<Option<_>>()?,
            index: index
                .map(|change| {
                    Some(IndexChange { path: path(change)?, before: side(&change["before"]), after: side(&change["after"]) })
                })
                .collect::<Option<_>>()?,
        })
    }
}

/// The id of a commit as a digest, for the journal.
pub(super) fn commit_digest(commit: git2::Oid) -> Digest {
    digest(commit)
}
