//! The journal of a commit in progress, from which the next command completes or takes back a killed one.

use super::durable::read_if_regular;
use super::read_index::IndexChange;
use super::references::RefStorage;
use super::side_work::{self, SideWork};
use super::{Error, Transactions, durable};
use orch_base::{Code, Diagnostic, Digest, Hint, RepoPath};
use orch_files::{Directory, FileStamp, io_error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One batch: the new commit of the branch, and the files and index entries that go with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub reference: String,
    pub new: Digest,
    pub files: Vec<JournalFile>,
    /// The files and directories to move after the files are written.
    #[serde(default)]
    pub moves: Vec<MovedPath>,
    /// The index entries that this batch changes.
    pub index: Vec<IndexChange>,
}

/// A file, or a directory with everything in it, that gets another path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedPath {
    /// The path before.
    pub from: RepoPath,
    /// The path after, where nothing is yet.
    pub to: RepoPath,
}

impl MovedPath {
    /// The path after the move of what was at or below the old path; `None` for any other path.
    pub(super) fn after(&self, path: &RepoPath) -> Option<RepoPath> {
        if *path == self.from {
            Some(self.to.clone())
        } else {
            self.to.join(path.below(&self.from)?).ok()
        }
    }
}

/// A file to write to the work tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct JournalFile {
    pub path: RepoPath,
    /// The content that was evaluated; `None` if there was no file.
    pub before: Option<Digest>,
    pub after: Digest,
}

/// A file written to the work tree, with its stamp.
pub(super) type PlacedFile = (RepoPath, FileStamp);

const FILE: &str = "journal.json";
/// A journal that could not be read; a further one has a number after this.
const BROKEN: &str = "journal.json.broken";

impl Journal {
    /// The path that a file of the work tree has in the commit.
    fn after_moves(&self, path: &RepoPath) -> RepoPath {
        self.moves
            .iter()
            .find_map(|moved| moved.after(path))
            .unwrap_or_else(|| path.clone())
    }
}

impl Transactions<'_> {
    /// Writes the journal, and returns what must be synced before anything else is changed. Returns an error
    /// if it cannot be written.
    ///
    /// It need not be written atomically: an incomplete journal belongs to a batch that has not changed
    /// anything yet.
    pub(super) fn write_journal(&self, journal: &Journal) -> Result<[PathBuf; 3], Error> {
        let path = self.layout.own(FILE);
        let fail = |source| io_error(&path, source);
        let text = serde_json::to_vec(journal).map_err(|error| fail(error.into()))?;
        let created = self.layout.own_directory()?.create_anew(FILE);
        created
            .and_then(|mut file| file.write_all(&text))
            .map_err(fail)?;
        Ok([
            self.objects.repo.path().to_owned(),
            self.objects.repo.path().join("orch"),
            path,
        ])
    }

    /// Whether a batch is in progress, or was when its process died. Returns an error if that is unknown.
    pub fn has_journal(&self) -> Result<bool, Error> {
        let path = self.layout.own(FILE);
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            found => found
                .map(|_| true)
                .map_err(|source| io_error(&path, source)),
        }
    }

    pub(super) fn remove_journal(&self) -> Result<(), Error> {
        let path = self.layout.own(FILE);
        let own = self.layout.own_directory()?;
        let removed = own.held(FILE);
        own.remove_if_there(FILE)
            .map_err(|source| io_error(&path, source))?;
        removed.into_iter().for_each(side_work::close);
        Ok(())
    }

    /// Whether a process is committing, or left something when it was killed. Returns an error if that is unknown.
    pub(super) fn has_leftovers(&self) -> Result<bool, Error> {
        Ok(self.has_journal()?
            || self.layout.locks().has_our_index_lock()
            || self.layout.locks().has_our_head_lock())
    }

    /// Completes or removes what a killed process left. Costs two file lookups if there is nothing. Returns
    /// an error if the repository cannot be read or written.
    ///
    /// If another `orch` process is at work, the files belong to it and are left alone.
    pub fn recover_leftovers(&self) -> Result<(), Error> {
        if !self.has_leftovers()? {
            return Ok(());
        }
        match self.try_lock()? {
            Some(_lock) => self
                .finish_leftovers()
                .and_then(|()| self.layout.locks().clear()),
            None => Ok(()),
        }
    }

    /// Completes or takes back what a killed process left. The caller holds the lock.
    pub(super) fn finish_leftovers(&self) -> Result<(), Error> {
        let path = self.layout.own(FILE);
        let journal = match read_journal(&path)? {
            None => return Ok(()),
            // A process was killed before it wrote anything.
            Some(LeftJournal::File(text)) if text.is_empty() => return self.remove_journal(),
            Some(LeftJournal::File(text)) => serde_json::from_slice::<Journal>(&text).ok(),
            Some(LeftJournal::Other) => None,
        };
        let Some(journal) = journal else {
            return self.set_aside();
        };
        let since = path
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok();
        self.refs
            .clear_reference_lock(&journal.reference, journal.new, since)?;
        for file in &journal.files {
            self.remove_temporary(&file.path);
        }
        self.mend_reference(&journal)?;
        tracing::warn!(commit = %journal.new, "completing or taking back what a killed process left");
        self.follow_head(&journal, true)?;
        self.remove_journal()
    }

    /// Makes the files and the index agree with HEAD as far as a batch changes them, whether its branch has moved or
    /// not. `was_replaced` says whether the index may have been replaced already. Returns an error if one of them cannot be
    /// written; then the journal must stay for the next command.
    ///
    /// Writes and stages only what HEAD contains: another branch may be checked out by now, or the user may have
    /// committed since. The lock of the index, which a killed process may have left, is held until everything agrees,
    /// because a `git commit` that takes it before commits what does not.
    pub(super) fn follow_head(&self, journal: &Journal, was_replaced: bool) -> Result<(), Error> {
        self.index.hold_index()?;
        let head = self.refs.head_source()?;
        let mut files = Vec::new();
        for JournalFile {
            path,
            before,
            after,
        } in &journal.files
        {
            let disk = self.blob_on_disk(path)?;
            let committed = head.blob_at(&journal.after_moves(path))?;
            let held = head.blob_at(path)?;
            if disk == *before && committed == Some(*after) {
                files.push((
                    path.under(self.layout.root),
                    Some(self.objects.find_blob(self.objects.oid(*after)?)?),
                ));
            } else if disk == Some(*after) && disk != *before && held == *before {
                // A power failure took back the branch, but not the file.
                let blob = before.map(|blob| self.objects.find_blob(self.objects.oid(blob)?));
                files.push((path.under(self.layout.root), blob.transpose()?));
            }
        }
        for (path, _) in files.iter().filter(|(_, blob)| blob.is_none()) {
            durable::remove(self.layout.root, path);
        }
        let written = files
            .iter()
            .filter_map(|(path, blob)| Some((path.clone(), blob.as_ref()?.content())));
        let written: Vec<_> = written.collect();
        for directory in durable::directories_of(written.iter().map(|(path, _)| path.as_path())) {
            // A power failure may take a new directory with all that is in it.
            Directory::make(self.layout.root, &directory)
                .map_err(|source| io_error(&directory, source))?;
        }
        durable::write_all(self.layout.root, &written)?;
        self.sync_places(journal).wait()?;
        for moved in &journal.moves {
            let is_committed =
                head.object(&moved.to)?.is_some() && head.object(&moved.from)?.is_none();
            if is_committed && let Err(error) = self.move_path(moved) {
                // Something else is there by now; git shows it.
                tracing::warn!(error = error.logged(), "cannot move a path");
            }
        }
        let mut changes = Vec::new();
        for IndexChange {
            path,
            before,
            after,
        } in &journal.index
        {
            let held = head.blob_at(path)?;
            let is = |side: &Option<(Digest, i32)>| held == side.map(|(blob, _)| blob);
            if is(after) {
                changes.push(IndexChange {
                    path: path.clone(),
                    before: *before,
                    after: *after,
                });
            } else if is(before) {
                changes.push(IndexChange {
                    path: path.clone(),
                    before: *after,
                    after: *before,
                });
            }
        }
        self.index.sync_index(&changes, was_replaced)?;
        self.layout.locks().clear_index_lock()
    }

    /// Begins to sync the branch, and the directories of the index and of the files of a batch. Those above a new file may
    /// be new.
    pub(super) fn sync_places(&self, journal: &Journal) -> SideWork {
        let references = self.refs.files_of(&journal.reference);
        let targets = journal
            .files
            .iter()
            .map(|file| file.path.under(self.layout.root));
        let changed: Vec<PathBuf> = targets
            .chain(references.iter().cloned())
            .chain([self.index.path()])
            .collect();
        let mut places: BTreeSet<PathBuf> =
            durable::directories_of(changed.iter().map(PathBuf::as_path))
                .into_iter()
                .collect();
        places.extend(references);
        for file in journal.files.iter().filter(|file| file.before.is_none()) {
            places.extend(durable::directories_above(
                self.layout.root,
                &file.path.under(self.layout.root),
            ));
        }
        let syncs = SideWork::default();
        places.into_iter().for_each(|place| syncs.add(place));
        syncs
    }

    /// Puts a journal that cannot be read, or what is in its place, where it can be looked at. One that a process was
    /// killed at while writing it belongs to a batch that has not changed anything yet; of any other, only people can
    /// tell what it was. Nothing that was set aside earlier is replaced.
    fn set_aside(&self) -> Result<(), Error> {
        let path = self.layout.own(FILE);
        let own = self.layout.own_directory()?;
        let fail = |source| io_error(&path, source);
        let taken = own.names().map_err(fail)?;
        let further = (2_u64..).map(|number| format!("{BROKEN}-{number}"));
        let mut names = std::iter::once(BROKEN.to_owned()).chain(further);
        let Some(name) = names.find(|name| !taken.iter().any(|other| *other == **name)) else {
            return Ok(());
        };
        own.rename(FILE, &own, &name).map_err(fail)?;
        let kept = self.layout.own(&name);
        tracing::warn!(kept = %kept.display(), "the journal cannot be read; it is kept");
        self.set_aside.borrow_mut().push(broken(&kept));
        Ok(())
    }

    /// A finding for each journal that was set aside since this was last asked.
    pub fn take_set_aside(&self) -> Vec<Diagnostic> {
        self.set_aside.take()
    }

    /// A finding for each journal that could not be read and is kept. Returns an error if that cannot be determined.
    pub(super) fn broken_journals(&self) -> Result<Vec<Diagnostic>, Error> {
        let directory = self.layout.own("");
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| io_error(&directory, source))?,
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names: Vec<OsString> = names
            .collect::<Result<_, _>>()
            .map_err(|source| io_error(&directory, source))?;
        names.retain(|name| name.to_string_lossy().starts_with(BROKEN));
        names.sort();
        Ok(names
            .iter()
            .map(|name| broken(&directory.join(name)))
            .collect())
    }

    /// Moves a file or a directory in the work tree. One that is gone was moved already. Returns an error if
    /// something is at the new path, or a directory cannot be written.
    pub(super) fn move_path(&self, moved: &MovedPath) -> Result<(), Error> {
        let [from, to] = [&moved.from, &moved.to].map(|path| path.under(self.layout.root));
        if from.symlink_metadata().is_err() {
            return Ok(());
        }
        durable::move_path(self.layout.root, &from, &to)
    }

    /// The digest of a regular file in the work tree, of the bytes as they are. Returns an error if it cannot be read,
    /// because nobody knows whether such a file has changed.
    pub(super) fn blob_on_disk(&self, path: &RepoPath) -> Result<Option<Digest>, Error> {
        let path = path.under(self.layout.root);
        let bytes = durable::read_if_there(&path).map_err(|source| io_error(&path, source))?;
        Ok(bytes.map(|bytes| self.objects.format.blob(&bytes)))
    }

    /// Writes a reference again whose file a power failure left without its bytes: a rename may reach the disk before
    /// them. The journal and the commit that it names were synced before the branch moved.
    fn mend_reference(&self, journal: &Journal) -> Result<(), Error> {
        let (RefStorage::Files, true) = (self.refs.references, is_reference(&journal.reference))
        else {
            return Ok(());
        };
        let path = self.objects.repo.commondir().join(&journal.reference);
        let bytes = read_if_regular(&path).map_err(|source| io_error(&path, source))?;
        let is_torn = bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
        if !is_torn
            || self
                .objects
                .find_commit(self.objects.oid(journal.new)?)
                .is_err()
        {
            return Ok(());
        }
        tracing::warn!(
            reference = journal.reference,
            "writing a reference again that a power failure tore"
        );
        let text = format!("{}\n", journal.new);
        durable::write_atomic(self.objects.repo.commondir(), &path, text.as_bytes()).map(drop)
    }

    /// Removes temporary files that a killed process left beside a file.
    fn remove_temporary(&self, path: &RepoPath) {
        let Some(directory) = path.parent() else {
            return;
        };
        let Ok(directory) = Directory::open(self.layout.root, &directory.under(self.layout.root))
        else {
            return;
        };
        let is_temporary = |name: &OsString| name.to_string_lossy().starts_with(durable::TEMPORARY);
        for name in directory
            .names()
            .unwrap_or_default()
            .into_iter()
            .filter(is_temporary)
        {
            // git ignores it; the next batch tries again.
            let _ = directory.remove(name);
        }
    }
}

/// Whether a name is that of a branch, below `refs/` and nowhere else.
fn is_reference(name: &str) -> bool {
    name.starts_with("refs/heads/") && git2::Reference::is_valid_name(name)
}

/// What is where the journal belongs.
enum LeftJournal {
    /// A file with these bytes.
    File(Vec<u8>),
    /// A directory or something else that `orch` did not write.
    Other,
}

/// What is where the journal belongs; `None` if nothing is. Returns an error if the journal cannot be read.
fn read_journal(path: &Path) -> Result<Option<LeftJournal>, Error> {
    let fail = |error| io_error(path, error);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error)),
        Ok(found) if !found.is_file() => Ok(Some(LeftJournal::Other)),
        Ok(_) => {
            let forbidden = || fail(io::ErrorKind::PermissionDenied.into());
            let bytes = read_if_regular(path).map_err(fail)?.ok_or_else(forbidden)?;
            Ok(Some(LeftJournal::File(bytes)))
        }
    }
}

/// The finding about a journal that could not be read and is kept here.
fn broken(kept: &Path) -> Diagnostic {
    let message = format!(
        "a commit was left unfinished, and its journal could not be read; it is kept as {}",
        kept.display()
    );
    let remove: &[&str] = if kept.is_dir() {
        &["rm", "-r"]
    } else {
        &["rm"]
    };
    let hint = Hint::from("compare the branch with the files: ")
        .command(&["git", "status"])
        .then(&[remove, &[&kept.to_string_lossy()]].concat());
    Diagnostic::warning(Code::Unfinished, message).hint(hint)
}
