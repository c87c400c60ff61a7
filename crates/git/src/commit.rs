//! Commits a batch: builds the objects, prepares the index and the files, then replaces the index, moves the branch and
//! places the files. The README of this crate has the steps.

use super::durable::Prepared;
use super::environment::without_owners;
use super::gc::GcLock;
use super::git_processes::{A_MOMENT, MOST_OUTLASTED, ReplacedIndex};
use super::index::{IndexUpdate, refuse_unmerged};
use super::journal::{Journal, JournalFile, MovedPath, PlacedFile};
use super::lock::IndexLock;
use super::lock_wait::{LockWait, PATIENCE};
use super::new_pack::NewPack;
use super::next_index::NextIndex;
use super::read_index::IndexChange;
use super::ref_tables::RefMove;
use super::side_work::SideWork;
use super::sign::Person;
use super::{
    Error, Filters, GitProgram, Head, Identity, Index, Layout, Objects, Refs, StoreOptions, digest,
};
use crate::error::libgit2;
use git2::{FileMode, Oid, Repository};
use orch_base::Diagnostic;
use orch_base::{Class, Code, Digest, RepoPath};
use orch_files::{FileLock, FileStamp, io_error};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;

/// A commit to create.
#[derive(Debug, Clone)]
pub struct PlannedCommit {
    /// The complete commit message.
    pub message: String,
    /// The files it adds or changes.
    pub writes: Vec<Write>,
    /// The files it deletes.
    pub removes: Vec<RepoPath>,
    /// What it moves, before the files are written.
    pub moves: Vec<MovedPath>,
}

/// One file in a commit.
#[derive(Debug, Clone)]
pub struct Write {
    path: RepoPath,
    blob: Vec<u8>,
    executable: bool,
    place: Option<Replaces>,
}

/// What a placed file replaces: the content that was evaluated, or no file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Replaces {
    judged: Option<Digest>,
    /// The path in the work tree, before a directory is moved.
    at: RepoPath,
}

impl Write {
    /// A file that `orch` writes, also to the work tree. `judged` is the digest of the content that was
    /// evaluated there, at the path `at`, which differs from `path` if the commit moves the directory. If the
    /// work tree has other content by then, nothing is committed.
    #[must_use]
    pub fn own(path: RepoPath, at: RepoPath, bytes: Vec<u8>, judged: Option<Digest>) -> Self {
        let place = Some(Replaces { judged, at });
        Self {
            path,
            blob: bytes,
            executable: false,
            place,
        }
    }

    /// A file that is already in the work tree; `blob` are its bytes as git stores them.
    #[must_use]
    pub fn evidence(path: RepoPath, blob: Vec<u8>, executable: bool) -> Self {
        Self {
            path,
            blob,
            executable,
            place: None,
        }
    }

    /// The path of the file, relative to the root of the repository.
    #[must_use]
    pub fn path(&self) -> &RepoPath {
        &self.path
    }

    /// The bytes as git stores them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.blob
    }

    pub(super) fn mode(&self) -> FileMode {
        if self.executable {
            FileMode::BlobExecutable
        } else {
            FileMode::Blob
        }
    }
}

/// The outcome of a batch; by default of an empty one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Committed {
    /// The new commits, oldest first.
    pub commits: Vec<Digest>,
    /// The files written to the work tree, with their stamps; without those that someone changed since.
    pub placed: Vec<(RepoPath, FileStamp)>,
    /// Paths of which the user has staged another version, which is left alone.
    pub left_staged: Vec<RepoPath>,
    /// Why files or index could not be updated, if so. The next command completes the update.
    pub unfinished: Option<String>,
}

/// A batch that is synced, under the lock of the index.
struct Ready<'s> {
    /// The prepared files of the work tree.
    prepared: Prepared,
    left_staged: Vec<RepoPath>,
    index: IndexUpdate<'s>,
}

/// A moved branch whose files are not in place yet.
pub(super) struct Published<'s> {
    /// The prepared files of the work tree.
    prepared: Prepared,
    left_staged: Vec<RepoPath>,
    /// The lock of the index, if this process could keep it. `git commit -a` reads the work tree under this lock.
    index: Option<ReplacedIndex<'s>>,
}

/// Whether this many commits of a batch are enough, and the others are left.
pub type IsEnough<'a> = dyn Fn(usize) -> bool + 'a;

/// The objects of a batch.
pub(super) struct Built {
    /// The commits, oldest first.
    pub commits: Vec<Oid>,
    pub objects: NewObjects,
}

/// Where the objects of a batch were written.
pub(super) struct NewObjects {
    /// What syncs them, which has to be over before the branch points to the last commit.
    pub syncs: SideWork,
    /// Those that have a file of their own.
    pub added: Vec<Digest>,
    /// The pack that contains them, if they are not loose. Dropping it removes it, unless it is kept.
    pub pack: Option<NewPack>,
}

impl NewObjects {
    /// Whether the clone has all of these objects now, whatever was read of them before. Returns an error if the repository
    /// cannot be opened again.
    fn are_kept(&self, objects: &Objects) -> Result<bool, Error> {
        // A handle that has read an object takes it for there.
        let opened = without_owners(|| Repository::open(objects.repo.path())).map_err(libgit2)?;
        let held = opened.odb().map_err(libgit2)?;
        for added in &self.added {
            if !held.exists(objects.oid(*added)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// From here on something may lead to the objects.
    fn keep(&self) {
        self.pack.iter().for_each(NewPack::keep);
    }
}

/// Permission to commit: holds the lock. If HEAD moves meanwhile, nothing is committed.
pub struct Transaction<'s> {
    pub(super) parts: Transactions<'s>,
    head: Head,
    /// The index, if it is locked throughout.
    index: Option<IndexUpdate<'s>>,
    order: LockOrder,
    pub(super) author: git2::Signature<'static>,
    pub(super) committer: git2::Signature<'static>,
    /// The lock among `orch` processes; `None` if it was lost while git signed.
    lock: Option<FileLock>,
}

/// How much a transaction keeps from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOrder {
    /// What others need is locked last: git's index while it is replaced, and the lock among `orch` processes not while git
    /// signs. HEAD and the files may move before.
    Late,
    /// Locked first, for those who have lost that race. The index is locked before HEAD is read, so that no `git commit`
    /// moves it, unless commits are signed: signing may wait for a person, and then only other `orch` processes wait.
    Early,
}

/// The commits of `orch`: each batch is made whole, or not at all.
#[derive(Clone, Copy)]
pub struct Transactions<'s> {
    pub(super) objects: &'s Objects,
    pub(super) refs: Refs<'s>,
    pub(super) index: Index<'s>,
    pub(super) layout: Layout<'s>,
    pub(super) git: GitProgram<'s>,
    pub(super) filters: Filters<'s>,
    pub(super) identity: Identity<'s>,
    pub(super) options: &'s StoreOptions,
    /// The findings about journals that were set aside and that nobody was told of yet.
    pub(super) set_aside: &'s RefCell<Vec<Diagnostic>>,
}

impl<'s> Transactions<'s> {
    /// Commits everything in the work tree that is not ignored, like `git add -A && git commit`. Returns an
    /// error if git fails.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.git.git(&["add", "-A"], &[])?;
        Ok(self
            .git
            .git(&["commit", "-q", "--no-verify", "-m", message], &[])
            .map(drop)?)
    }

    /// Begins a transaction: takes the lock, checks that the repository allows a commit now, and completes
    /// what a killed process left. Evaluate only what is read after this. Returns an error if another process
    /// holds the lock, or the state of the repository, the branch or the identity does not permit a commit.
    pub fn begin(&self) -> Result<Transaction<'s>, Error> {
        let mut wait = LockWait::at_most(self.options.wait.unwrap_or_default());
        self.begin_within(&mut wait, LockOrder::Late)
    }

    /// Like [`Self::begin`], but waits for as long as the caller still does.
    pub fn begin_within(
        &self,
        wait: &mut LockWait,
        order: LockOrder,
    ) -> Result<Transaction<'s>, Error> {
        // With a time of the caller's, everything that another process holds is waited for together.
        loop {
            match self.begin_now(order) {
                Err(error) if error.class() == Class::Busy && wait.again() => {}
                begun => return begun,
            }
        }
    }

    fn begin_now(&self, order: LockOrder) -> Result<Transaction<'s>, Error> {
        let lock = self.lock(self.index.patience(PATIENCE))?;
        self.filters.forget_attributes();
        self.objects.costs.locks.fetch_add(1, Relaxed);
        self.mend()?;
        self.index.wait_for_index()?;
        self.wait_for_gc()?;
        self.layout.refuse_bare()?;
        let is_early = order == LockOrder::Early && !self.identity.signs()?;
        // Looking at every process is slow, and it is done again before the branch moves.
        if is_early || self.message_is_open() {
            self.refuse_open_commit(MOST_OUTLASTED)?;
        }
        let index = if is_early {
            let index = self.index.lock_first()?;
            self.refuse_open_commit(A_MOMENT)?;
            Some(index)
        } else {
            None
        };
        let head = self.refs.head()?;
        self.vet(&head)?;
        self.refs
            .wait_for_reference(head.branch.as_deref().unwrap_or("HEAD"))?;
        let author = self.identity.person(Person::Author)?;
        let committer = self.identity.person(Person::Committer)?;
        Ok(Transaction {
            parts: *self,
            head,
            index,
            order,
            author,
            committer,
            lock: Some(lock),
        })
    }

    /// Mends what a killed process left. The caller holds the lock.
    fn mend(&self) -> Result<(), Error> {
        // Before anything else: only the lock that a killed process left keeps git from committing its index.
        self.finish_leftovers()?;
        self.layout.locks().clear()?;
        NextIndex::clear(&self.layout.own(""));
        Ok(())
    }

    /// Takes the lock among `orch` processes: a kernel lock that its process releases even when it dies.
    pub(super) fn lock(&self, mut wait: LockWait) -> Result<FileLock, Error> {
        loop {
            match self.try_lock()? {
                Some(lock) => return Ok(lock),
                None if wait.again() => {}
                None => {
                    return Err(Error::busy(
                        "another orch process is committing in this repository",
                    ));
                }
            }
        }
    }

    /// Takes the lock, or returns `None` if another process holds it.
    pub(super) fn try_lock(&self) -> Result<Option<FileLock>, Error> {
        let path = self.layout.own("lock");
        let file = self
            .layout
            .own_directory()?
            .touch("lock")
            .map_err(|source| io_error(&path, source))?;
        if let mode @ 0o701.. = self.layout.sharing()? {
            // Only its owner may do this, and only that user needs to.
            let _ =
                file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode & 0o666));
        }
        FileLock::try_new(file).map_err(|source| io_error(&path, source))
    }
}

impl<'s> Transaction<'s> {
    /// HEAD when the transaction began, or after its last commit.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Creates the commits, moves the branch over all of them at once, writes the files, and updates the
    /// index once.
    ///
    /// Returns [`Error::moved`] if nothing was changed because the branch or a file did: read and decide
    /// again. Failures after the branch has moved are not errors; [`Committed::unfinished`] reports them, and
    /// the next command completes the work.
    pub fn commit(&mut self, planned: &[PlannedCommit]) -> Result<Committed, Error> {
        self.commit_until(planned, &|_| false)
    }

    /// Like [`Self::commit`], but leaves the rest of the commits as soon as `is_enough` says that so many are.
    pub fn commit_until(
        &mut self,
        planned: &[PlannedCommit],
        is_enough: &IsEnough<'_>,
    ) -> Result<Committed, Error> {
        let parts = self.parts;
        if planned.is_empty() {
            return Ok(Committed::default());
        }
        if self.lock.is_none() {
            return Err(Error::moved());
        }
        let signs = parts.identity.signs()?;
        let gc;
        let made;
        if signs && self.order == LockOrder::Late {
            made = self.build_aside(planned, is_enough)?;
            gc = parts.lock_gc()?;
            // Until now nothing has kept `git gc` from them.
            if !made.objects.are_kept(parts.objects)? {
                return Err(Error::moved());
            }
        } else {
            gc = parts.lock_gc()?;
            made = self.build(planned, signs, is_enough)?;
        }
        let Built {
            commits: built,
            objects,
        } = made;
        let planned = &planned[..built.len()];
        let mut journal = self.journal(planned, &built)?;
        let locked = self.index.take();
        let mut published = self.publish(planned, &mut journal, &objects, &gc, locked)?;
        drop((objects, gc));
        let left_staged = std::mem::take(&mut published.left_staged);
        // The commits exist from here on; the next command completes whatever fails.
        let commits: Vec<Digest> = built.iter().copied().map(digest).collect();
        self.head.commit = commits.last().copied();
        for commit in &commits {
            tracing::info!(%commit, branch = self.head.branch.as_deref(), "committed");
        }
        // What fails once may succeed when it is done as after a kill.
        let placed = self.place(&journal, published).or_else(|error| {
            tracing::warn!(
                error = error.logged(),
                "cannot place the files; trying again"
            );
            parts.follow_head(&journal, true).map(|()| Vec::new())
        });
        let (placed, unfinished) = match placed {
            Ok(placed) => (
                placed,
                parts.remove_journal().err().map(|error| error.to_string()),
            ),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        if let Some(error) = &unfinished {
            tracing::warn!(error, "committed, but could not write the files yet");
        }
        Ok(Committed {
            commits,
            placed,
            left_staged,
            unfinished,
        })
    }

    /// Builds signed commits while other `orch` processes may commit: signing may wait for a person, or hang. Returns
    /// [`Error::moved`] if one of them has.
    fn build_aside(
        &mut self,
        planned: &[PlannedCommit],
        is_enough: &IsEnough<'_>,
    ) -> Result<Built, Error> {
        let parts = self.parts;
        if parts.refs.head()? != self.head {
            return Err(Error::moved());
        }
        let lock = self.lock.take().ok_or_else(Error::moved)?;
        let place = parts.layout.own("lock");
        lock.unlock().map_err(|source| io_error(&place, source))?;
        let built = self.build(planned, true, is_enough)?;
        let wait = parts.options.wait.unwrap_or(PATIENCE);
        // Not to wait at all would cost a signature.
        let wait = LockWait::at_most(wait.max(MOST_OUTLASTED));
        self.lock = Some(parts.lock(wait)?);
        parts.mend()?;
        if parts.refs.head()? != self.head {
            return Err(Error::moved());
        }
        Ok(built)
    }

    /// Updates the index and moves the branch if nothing has changed since it was evaluated. If that fails, everything is
    /// taken back.
    pub(super) fn publish(
        &self,
        planned: &[PlannedCommit],
        journal: &mut Journal,
        objects: &NewObjects,
        gc: &GcLock,
        locked: Option<IndexUpdate<'s>>,
    ) -> Result<Published<'s>, Error> {
        let parts = self.parts;
        let ready = match locked {
            Some(index) => self.ready_under(index, planned, journal, objects),
            None => self.ready(planned, journal, objects),
        };
        let ready = ready.and_then(|ready| {
            self.require_unchanged(journal, gc)?;
            Ok(ready)
        });
        // Nothing but the journal has been written yet.
        let ready = ready.inspect_err(|_| {
            let is_there = parts.has_journal();
            let removed = is_there.and_then(|is_there| match is_there {
                true => parts.remove_journal(),
                false => Ok(()),
            });
            if let Err(error) = removed {
                tracing::warn!(error = error.logged(), "cannot remove a journal yet");
            }
        })?;
        self.move_branch(planned, journal, objects, ready)
            .inspect_err(|_| {
                let taken_back = parts.follow_head(journal, false);
                if let Err(error) = taken_back.and_then(|()| parts.remove_journal()) {
                    // The index may hold what is only in the pack.
                    objects.keep();
                    tracing::warn!(
                        error = error.logged(),
                        "cannot take back an abandoned batch yet"
                    );
                }
            })
    }

    /// Prepares everything under the lock of the index.
    fn ready_under(
        &self,
        mut index: IndexUpdate<'s>,
        planned: &[PlannedCommit],
        journal: &mut Journal,
        objects: &NewObjects,
    ) -> Result<Ready<'s>, Error> {
        let staged = self.parts.index.staged_under(&index, &journal.index)?;
        refuse_unmerged(&staged)?;
        let left_staged = staged.keep_due(&mut journal.index);
        let prepared = self.prepare(planned, journal, &objects.syncs)?;
        index.prepare(&journal.index)?;
        Ok(Ready {
            prepared,
            left_staged,
            index,
        })
    }

    /// Prepares everything, then locks the index.
    fn ready(
        &self,
        planned: &[PlannedCommit],
        journal: &mut Journal,
        objects: &NewObjects,
    ) -> Result<Ready<'s>, Error> {
        let parts = self.parts;
        let changes = journal.index.clone();
        let (mut plan, staged) = parts.index.plan_update(&changes)?;
        refuse_unmerged(&staged)?;
        let left_staged = staged.keep_due(&mut journal.index);
        plan.begin(&journal.index, parts.layout.own_directory()?)?;
        let prepared = self.prepare(planned, journal, &objects.syncs)?;
        plan.wait()?;
        parts.refs.wait_for_reference(&journal.reference)?;
        let index = parts
            .index
            .lock_planned(plan, &changes, &journal.index)
            .map_err(moved_if_busy)?;
        Ok(Ready {
            prepared,
            left_staged,
            index,
        })
    }

    /// Returns an error if another operation has started, or anything has changed, since it was evaluated.
    fn require_unchanged(&self, journal: &Journal, gc: &GcLock) -> Result<(), Error> {
        let parts = self.parts;
        parts.refuse_open_commit(A_MOMENT)?;
        parts.vet(&self.head)?;
        gc.require()?;
        if parts.refs.head()? != self.head || self.judged(journal)?.contains(&false) {
            return Err(Error::moved());
        }
        Ok(())
    }

    /// Writes the index and moves the branch.
    ///
    /// The lock of the branch is held while the index is written. A `git commit` that begins before the branch
    /// moves therefore cannot move it, and one that begins after it finds the new index; otherwise it would
    /// commit the old index on top of the new commit, which undoes it. The lock of the index is held on, because
    /// a `git commit -a` that begins after the branch has moved would commit the old files of the work tree.
    fn move_branch(
        &self,
        planned: &[PlannedCommit],
        journal: &Journal,
        objects: &NewObjects,
        ready: Ready<'s>,
    ) -> Result<Published<'s>, Error> {
        let parts = self.parts;
        let subject = planned
            .last()
            .and_then(|one| one.message.lines().next())
            .unwrap_or_default();
        let message = format!("commit: {subject}");
        let name = journal.reference.as_str();
        let from = self.head.commit;
        let to = journal.new;
        // Held until the branch has moved, so that nobody switches to another one.
        let _head = parts.refs.lock_head(name)?;
        if parts.refs.head()? != self.head {
            return Err(Error::moved());
        }
        let branch = parts.refs.lock_reference(
            RefMove {
                name,
                from,
                to,
                message: &message,
            },
            &self.committer,
        )?;
        let index = match parts
            .index
            .finish_index_update(ready.index, &journal.index)
            .map_err(moved_if_busy)?
        {
            Some(held) => Some(held),
            None => parts.index.lock_written_index(&journal.index)?,
        };
        objects.keep();
        if let Err(error) = branch.commit() {
            // Whoever takes the entries back takes over the lock, so that git does not commit them.
            index.into_iter().for_each(IndexLock::leave);
            return Err(error);
        }
        Ok(Published {
            prepared: ready.prepared,
            left_staged: ready.left_staged,
            index: index.map(|lock| parts.index.index_replaced(lock)),
        })
    }

    /// Writes the journal and the new files beside their targets, and waits until all of it is synced, with the objects.
    fn prepare(
        &self,
        planned: &[PlannedCommit],
        journal: &Journal,
        syncs: &SideWork,
    ) -> Result<Prepared, Error> {
        let parts = self.parts;
        // The journal is first, because the next command finds the temporary files by it.
        parts
            .write_journal(journal)?
            .into_iter()
            .for_each(|place| syncs.add(place));
        let own = placed(planned);
        let files: Vec<_> = own
            .iter()
            .map(|(path, (bytes, _))| (path.under(parts.layout.root), *bytes))
            .collect();
        if files
            .iter()
            .any(|(path, _)| path.parent().is_some_and(|directory| !directory.is_dir()))
        {
            // Someone has removed the task since it was evaluated.
            return Err(Error::moved());
        }
        let prepared = Prepared::write(parts.layout.root, &files)?;
        prepared
            .temporaries()
            .into_iter()
            .for_each(|file| syncs.add(file));
        syncs.wait()?;
        Ok(prepared)
    }

    /// Renames the prepared files to their targets, except those that someone has changed, syncs them together with the
    /// branch, and releases the index meanwhile.
    pub(super) fn place(
        &self,
        journal: &Journal,
        published: Published<'_>,
    ) -> Result<Vec<PlacedFile>, Error> {
        let Published {
            prepared, index, ..
        } = published;
        let parts = self.parts;
        let mut index = index;
        let placed = self
            .judged(journal)
            .and_then(|wanted| prepared.place(wanted))
            .and_then(|stamps| {
                let syncs = parts.sync_places(journal);
                // A directory may be moved only when its files are on the disk, so the index stays locked until then.
                if journal.moves.is_empty() {
                    index.take().into_iter().for_each(ReplacedIndex::release);
                    return syncs.wait().map(|()| stamps);
                }
                syncs.wait()?;
                journal
                    .moves
                    .iter()
                    .try_for_each(|moved| parts.move_path(moved))?;
                index.take().into_iter().for_each(ReplacedIndex::release);
                Ok(stamps)
            });
        let stamps = placed.inspect_err(|_| {
            // Until everything is in place, `git commit -a` would commit what was there before.
            index.into_iter().for_each(ReplacedIndex::leave);
        })?;
        let paths = journal.files.iter().map(|file| file.path.clone());
        Ok(paths
            .zip(stamps)
            .filter_map(|(path, stamp)| Some((path, stamp?)))
            .collect())
    }

    /// For each file to be replaced, whether it still has the content that was evaluated.
    fn judged(&self, journal: &Journal) -> Result<Vec<bool>, Error> {
        let is_judged =
            |file: &JournalFile| Ok(self.parts.blob_on_disk(&file.path)? == file.before);
        journal.files.iter().map(is_judged).collect()
    }

    pub(super) fn journal(
        &self,
        planned: &[PlannedCommit],
        built: &[Oid],
    ) -> Result<Journal, Error> {
        let last = built.last().copied().ok_or_else(Error::moved)?;
        let moves = planned.iter().flat_map(|one| one.moves.clone()).collect();
        let files = placed(planned)
            .into_iter()
            .map(|(path, (blob, before))| JournalFile {
                path: path.clone(),
                before,
                after: self.parts.objects.format().blob(blob),
            })
            .collect();
        let reference = self
            .head
            .branch
            .clone()
            .unwrap_or_else(|| "HEAD".to_owned());
        Ok(Journal {
            reference,
            new: digest(last),
            files,
            moves,
            index: self.index_changes(planned)?,
        })
    }

    /// What these commits change, from HEAD to the last one, sorted by path.
    pub(super) fn index_changes(
        &self,
        planned: &[PlannedCommit],
    ) -> Result<Vec<IndexChange>, Error> {
        let head = self.parts.objects.source_at(self.head.commit);
        let before = |path: &RepoPath| -> Result<Option<(Digest, i32)>, Error> {
            Ok(head
                .object(path)?
                .map(|(id, mode)| (id, i32::try_from(mode).unwrap_or_default())))
        };
        let mut after = BTreeMap::new();
        for one in planned {
            for moved in &one.moves {
                let file = head.blob_at(&moved.from)?.map(|_| moved.from.clone());
                let mut paths: BTreeSet<_> = head
                    .paths_below(&moved.from)?
                    .into_iter()
                    .chain(file)
                    .collect();
                paths.extend(
                    after
                        .keys()
                        .filter(|path| moved.after(path).is_some())
                        .cloned(),
                );
                for path in paths {
                    let held = after
                        .get(&path)
                        .copied()
                        .map_or_else(|| before(&path), Ok)?;
                    moved.after(&path).and_then(|new| after.insert(new, held));
                    after.insert(path, None);
                }
            }
            after.extend(one.removes.iter().map(|path| (path.clone(), None)));
            for write in &one.writes {
                let mode = i32::from(write.mode());
                after.insert(
                    write.path.clone(),
                    Some((self.parts.objects.format().blob(&write.blob), mode)),
                );
            }
        }
        let change = |(path, after)| {
            Ok(IndexChange {
                before: before(&path)?,
                after,
                path,
            })
        };
        after.into_iter().map(change).collect()
    }
}

/// What another process keeps from being locked is evaluated again.
fn moved_if_busy(error: Error) -> Error {
    if error.class() == Class::Busy {
        Error::moved()
    } else {
        error
    }
}

/// A file has to be written where HEAD has a directory, or the other way round.
pub(super) fn directory_taken() -> Error {
    let why = "HEAD has a file or a submodule in place of a directory of the task";
    let hint = "commit the change that put the directory there, then try again";
    Error::new(Code::DirectoryTaken, why).with_hint(hint)
}

/// The files to write to the work tree: for each path the last content, and the digest that was evaluated.
fn placed(planned: &[PlannedCommit]) -> BTreeMap<&RepoPath, (&[u8], Option<Digest>)> {
    let writes = planned.iter().flat_map(|one| &one.writes);
    let own = writes.filter_map(|write| Some((write.blob.as_slice(), write.place.as_ref()?)));
    own.map(|(blob, place)| (&place.at, (blob, place.judged)))
        .collect()
}
