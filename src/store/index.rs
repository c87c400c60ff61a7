//! Keeping the index true after the branch has moved, without touching what the user staged.
//!
//! Git's lock is taken before the branch moves, so that all that is looked at is looked at under it;
//! libgit2 reads before it locks and loses the user's work. A plain index is written here, because
//! git takes longest for that of all things in a large repository; any other by git itself.

use super::entries::{IndexEntry, IndexFile, Staged};
use super::lock::IndexLock;
use super::ls_files::Listed;
use super::splice::{Edit, is_plain, splice};
use super::update_index::GitUpdate;
use super::{Error, Store};
use crate::base::{Class, Code, Digest, RepoPath, command};
use crate::record::{STATE_FILE, TRANSCRIPT_FILE};
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, UNIX_EPOCH};

/// What the branch's move means for one path: blob and mode before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexChange {
    pub path: RepoPath,
    pub before: Option<(Digest, i32)>,
    pub after: Option<(Digest, i32)>,
}

/// How many paths are named on a command line; beyond that everything is listed.
const MAX_NAMED: usize = 500;
/// How often the user's own lock is waited for.
const TRIES: u32 = 7;

/// Who holds the lock of the index until it is written.
pub(super) enum IndexUpdate<'s> {
    /// We do, and the index is one that we can write.
    Ours(Box<PlainUpdate<'s>>),
    /// A process of git.
    Git(GitUpdate),
    /// It is not known where git keeps its lock, so git is asked once everything else is done.
    Nobody,
}

/// A plain index that is locked by us, as it was read under the lock.
pub(super) struct PlainUpdate<'s> {
    lock: IndexLock<'s>,
    index: IndexFile,
    /// What the file system says of its file, if there is one.
    metadata: Option<Metadata>,
}

impl PlainUpdate<'_> {
    /// Writes the index with these edits and lets go of the lock; false where only git can do it.
    fn write(self, edits: &[Edit<'_>]) -> Result<bool, Error> {
        let Some(parts) = splice(&self.index, edits) else { return Ok(false) };
        let time = self.metadata.as_ref().and_then(|metadata| time_to_keep(&self.index, metadata));
        self.lock.replace(&parts, self.metadata.as_ref(), time)?;
        Ok(true)
    }
}

/// The date that the new index must bear, if not that of now.
///
/// To git a file is unchanged if its time is the one in the index. A file that changed twice within
/// one tick of the clock has that time too, so git compares its bytes as long as its time is not
/// before that of the index itself. We compare no bytes, and therefore must not give such an index
/// a later date.
fn time_to_keep(index: &IndexFile, metadata: &Metadata) -> Option<FileTimes> {
    let written = metadata.modified().ok()?;
    let seconds = written.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs());
    let is_racy = u32::try_from(seconds).map_or(true, |seconds| index.is_racy(seconds));
    is_racy.then(|| FileTimes::new().set_modified(written))
}

/// What has to be edited so that these paths are up to date, and the paths where the user has
/// staged something else.
pub(super) fn edits_for<'c>(changes: &'c [IndexChange], staged: &Staged) -> (Vec<Edit<'c>>, Vec<RepoPath>) {
    let mut edits = Vec::new();
    let mut left = Vec::new();
    for change in changes {
        let entry = staged.entries.get(change.path.as_str());
        let present = entry.map(|entry| (entry.blob, entry.mode));
        let intended = change.before.is_none() && entry.is_some_and(|entry| entry.intended);
        if present == change.after && !intended {
            continue;
        }
        if present == change.before || intended {
            edits.push(Edit { path: &change.path, entry: change.after });
        } else {
            left.push(change.path.clone());
        }
    }
    (edits, left)
}

impl Store {
    /// Takes git's lock of the index, for a while in which nothing else can be staged or checked
    /// out. [`Class::Busy`] means that somebody else has it.
    pub(super) fn begin_index_update(&self) -> Result<IndexUpdate<'_>, Error> {
        match self.lock_plain_index() {
            Ok(Some(update)) => return Ok(IndexUpdate::Ours(Box::new(update))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(self.index_is_busy()),
            // Git locks in its own way, and says what is wrong with the index.
            Ok(None) | Err(_) => {}
        }
        let mut process = self.start_git_update()?;
        if process.wait_for_lock() {
            Ok(IndexUpdate::Git(process))
        } else if self.index_is_locked() {
            Err(self.index_is_busy())
        } else {
            Ok(IndexUpdate::Nobody)
        }
    }

    /// Locks the index if it is one that we can write.
    fn lock_plain_index(&self) -> io::Result<Option<PlainUpdate<'_>>> {
        if self.wants_git_to_write() {
            return Ok(None);
        }
        let lock = self.lock_index()?;
        let Some((index, metadata)) = read_index(&self.index())? else { return Ok(None) };
        Ok(is_plain(&index).then_some(PlainUpdate { lock, index, metadata }))
    }

    /// Whether something is set up that only git heeds when it writes an index.
    fn wants_git_to_write(&self) -> bool {
        let Ok(config) = self.repo.config().and_then(|mut config| config.snapshot()) else { return true };
        let hooks = match config.get_path("core.hookspath") {
            Ok(path) => self.root.join(path),
            Err(_) => self.repo.commondir().join("hooks"),
        };
        hooks.join("post-index-change").exists()
            || config.get_str("core.fsync").is_ok()
            || (config.get_str("core.sharedrepository").is_ok() && !self.index().exists())
    }

    /// What the index says of these paths, in which nothing may change before it is written.
    pub(super) fn staged_under(
        &self,
        update: &IndexUpdate<'_>,
        changes: &[IndexChange],
    ) -> Result<Staged, Error> {
        match update {
            IndexUpdate::Ours(update) => Ok(update.index.staged(changes.iter().map(|change| &change.path))),
            IndexUpdate::Git(_) | IndexUpdate::Nobody => self.staged(changes),
        }
    }

    /// Brings the entries of these paths up to date and lets go of the lock, under which `staged` was
    /// read; returns the paths where the user has staged something else.
    pub(super) fn finish_index_update(
        &self,
        update: IndexUpdate<'_>,
        changes: &[IndexChange],
        staged: &Staged,
    ) -> Result<Vec<RepoPath>, Error> {
        let (edits, left) = edits_for(changes, staged);
        if edits.is_empty() {
            return Ok(left);
        }
        let is_written = match update {
            IndexUpdate::Ours(update) => update.write(&edits)?,
            IndexUpdate::Git(process) => process.write(&edits).map(|()| true)?,
            IndexUpdate::Nobody => false,
        };
        if is_written { Ok(left) } else { patiently(|| self.sync_by_git(changes)) }
    }

    /// The same where no lock is held.
    pub(super) fn sync_index(&self, changes: &[IndexChange]) -> Result<Vec<RepoPath>, Error> {
        let (edits, left) = edits_for(changes, &self.staged(changes)?);
        if edits.is_empty() {
            return Ok(left);
        }
        patiently(|| {
            let update = self.begin_index_update()?;
            let staged = self.staged_under(&update, changes)?;
            self.finish_index_update(update, changes, &staged)
        })
    }

    fn sync_by_git(&self, changes: &[IndexChange]) -> Result<Vec<RepoPath>, Error> {
        let (edits, left) = edits_for(changes, &self.staged(changes)?);
        if !edits.is_empty() {
            self.update_by_git(&edits)?;
        }
        Ok(left)
    }

    /// What the index says of these paths.
    fn staged(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        match read_index(&self.index()) {
            Ok(Some((index, _))) => Ok(index.staged(changes.iter().map(|change| &change.path))),
            Ok(None) | Err(_) => self.listed(changes),
        }
    }

    /// The same, as git itself lists them: whatever the format of the index.
    fn listed(&self, changes: &[IndexChange]) -> Result<Staged, Error> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-s", "-z", "--full-name"];
        if changes.len() <= MAX_NAMED {
            arguments.push("--");
            arguments.extend(changes.iter().map(|change| change.path.as_str()));
        }
        let listed = self.git(&arguments, &[])?;
        let mut staged = Staged::default();
        for Listed { mode, blob, stage, path } in Listed::all(&listed) {
            let path = String::from_utf8_lossy(path).into_owned();
            if stage != 0 {
                staged.unmerged.push(path);
            } else if let Ok(mode) = i32::try_from(mode) {
                staged.entries.insert(path, IndexEntry { blob, mode, intended: false });
            }
        }
        // What is only intended to be added stands there with the blob of nothing.
        let nothing = Digest::of_blob(b"");
        if staged.entries.values().any(|entry| entry.blob == nothing) {
            let listed = self.git(&["diff-files", "--name-only", "--diff-filter=A", "-z"], &[])?;
            for path in listed.split(|byte| *byte == 0) {
                let entry = staged.entries.get_mut(&*String::from_utf8_lossy(path));
                entry
                    .into_iter()
                    .filter(|entry| entry.blob == nothing)
                    .for_each(|entry| entry.intended = true);
            }
        }
        Ok(staged)
    }
}

/// The index taken apart, and what the file system says of it; `None` where only git can read it.
pub(super) fn read_index(path: &Path) -> io::Result<Option<(IndexFile, Option<Metadata>)>> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Some((IndexFile::empty(), None)));
        }
        _ => {}
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.read_to_end(&mut bytes)?;
    Ok(IndexFile::parse(bytes).map(|index| (index, Some(metadata))))
}

/// Refuses while one of these paths is in an unfinished merge, also one that left no other trace.
pub(super) fn refuse_unmerged(staged: &Staged) -> Result<(), Error> {
    match staged.unmerged.first() {
        None => Ok(()),
        Some(path) => {
            Err(Error::new(Code::Unmerged, format!("{path} is unmerged")).with_hint(resolving(path)))
        }
    }
}

/// How an unmerged path is resolved.
#[must_use]
pub fn resolving(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((task, STATE_FILE | TRANSCRIPT_FILE)) => command(&["orch", "resolve", task]),
        _ => format!("resolve it, then: {}", command(&["git", "add", path])),
    }
}

/// Tries again while somebody else has the lock.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for tried in 0..TRIES {
        match attempt() {
            Err(error) if error.class() == Class::Busy => sleep(Duration::from_millis(10 << tried)),
            result => return result,
        }
    }
    attempt()
}
