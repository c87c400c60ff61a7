//! The references of a repository: HEAD, the branches, and what marks an unfinished pick or revert.
//!
//! libgit2 reads and locks references that are files. Those in a reftable are read and moved by git; see
//! [`RefTables`]. No other file of this room knows the difference.

use super::environment::settings;
use super::error::{ambiguous_revision, unknown_revision, unsupported};
use super::git::git_id;
use super::layout::UnreadPlace;
use super::listing::SUBMODULE;
use super::lock::HeadLock;
use super::lock_wait::LockWait;
use super::pipe::refuse_pipes;
use super::ref_tables::{RefMove, RefTables, TableLock};
use super::{Error, GitProgram, Head, Layout, Objects, digest, durable, side_work};
use crate::error::{GitFault, libgit2};
use git2::{
    ErrorCode, Object, ObjectType, Oid, Reference, ReferenceType, Repository, RepositoryState,
};
use orch_base::{Code, Digest, Hint, RepoPath};
use orch_files::Directory;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

/// How a repository stores its references.
pub(super) enum RefStorage {
    /// In files below the git directory.
    Files,
    /// In a reftable.
    Tables(RefTables),
}

impl RefStorage {
    /// Reads the format from the configuration. Returns an error if `orch` does not know it.
    pub(super) fn of(repo: &Repository) -> Result<Self, Error> {
        match settings(repo)
            .map_err(libgit2)?
            .get_str("extensions.refstorage")
        {
            Ok("files") => Ok(Self::Files),
            Ok("reftable") => Ok(Self::Tables(RefTables::of(repo))),
            Ok(format) => Err(unsupported(&format!("the ref format `{format}`"))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(Self::Files),
            Err(error) => Err(libgit2(error)),
        }
    }

    /// Whether `git refs migrate` has moved the references from files to a reftable since the repository was opened.
    pub(super) fn is_migrated(&self, repo: &Repository) -> bool {
        matches!(self, Self::Files) && repo.commondir().join("reftable/tables.list").exists()
    }
}

/// A locked reference that is at the expected commit. No other process can move it; dropping the lock leaves
/// it where it is.
pub(super) enum RefLock<'s> {
    /// A file, which is replaced.
    File(git2::Transaction<'s>, Option<OwnedFd>),
    Table(Box<TableLock<'s>>),
}

impl RefLock<'_> {
    /// Moves the reference and releases the lock. Returns an error if it has not moved.
    pub(super) fn commit(self) -> Result<(), Error> {
        match self {
            Self::File(transaction, replaced) => {
                transaction.commit().map_err(libgit2)?;
                replaced.into_iter().for_each(side_work::close);
                Ok(())
            }
            Self::Table(lock) => lock.commit(),
        }
    }
}

/// Who follows a revision.
#[derive(PartialEq, Eq)]
enum Notation {
    /// libgit2: it is a name, and steps to ancestors.
    Steps,
    /// git.
    Other,
}

/// The maximum number of generations that a revision is followed to find an unreadable commit.
const MOST_GENERATIONS: usize = 20_000;

/// How many references may stand for one another, as in git.
const MOST_SYMBOLIC: usize = 5;

/// What HEAD says as a file while the references are in a reftable.
const MOVED_TO_TABLES: &str = "refs/heads/.invalid";

/// How long to wait until nobody holds git's lock of a reference.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to try to take it when the index is locked already, and git commands of the user are refused. git tries for as
/// long.
const MOMENT: Duration = Duration::from_millis(100);

/// The name of a reference, and the commit that it leads to.
pub(super) type EachTip = (String, Result<Oid, Error>);

/// The ids of objects in what git printed, also those that are written as the path of a file.
fn ids_named(message: &str) -> Vec<Digest> {
    let mut ids = Vec::new();
    for word in message.split(|c: char| !c.is_ascii_hexdigit() && c != '/') {
        let mut names = word.rsplit('/');
        let name = names.next().unwrap_or_default();
        let directory = names.next().unwrap_or_default();
        ids.extend(Digest::parse(name));
        ids.extend(Digest::parse(&format!("{directory}{name}")));
    }
    ids
}

/// A branch and its newest commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// The full name: `refs/heads/…`, or `refs/remotes/…` for a remote-tracking branch.
    pub name: String,
    /// The commit.
    pub commit: Digest,
}

/// The references of a repository, and what they lead to.
#[derive(Clone, Copy)]
pub struct Refs<'s> {
    pub(super) objects: &'s Objects,
    pub(super) references: &'s RefStorage,
    pub(super) git: GitProgram<'s>,
    pub(super) layout: Layout<'s>,
    /// How long a caller waits for locks, if not as long as suits each.
    pub(super) wait: Option<Duration>,
}

impl<'s> Refs<'s> {
    /// The submodule in HEAD that a directory is or is inside of, even if it is not checked out. Returns an
    /// error if git cannot read a tree.
    pub fn submodule_around(&self, directory: &RepoPath) -> Result<Option<RepoPath>, Error> {
        let head = self.head_source()?;
        for step in std::iter::successors(Some(directory.clone()), RepoPath::parent) {
            if !step.as_str().is_empty()
                && head
                    .object(&step)?
                    .is_some_and(|(_, mode)| mode == SUBMODULE)
            {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// All local branches, then all remote-tracking branches, each sorted by name, and those that lead to no
    /// commit. Remote-tracking branches with the name `HEAD`, such as `origin/HEAD`, are left out: they stand for
    /// another one. Returns an error if git cannot list them.
    pub fn branches(&self) -> Result<(Vec<BranchTip>, Vec<UnreadPlace>), Error> {
        let mut all = Vec::new();
        let mut unread = Vec::new();
        for prefix in ["refs/heads/", "refs/remotes/"] {
            let mut tips = self.each_tip(prefix)?;
            tips.retain(|(name, _)| prefix == "refs/heads/" || !name.ends_with("/HEAD"));
            tips.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (name, commit) in tips {
                match commit {
                    Ok(commit) => all.push(BranchTip {
                        name,
                        commit: digest(commit),
                    }),
                    Err(error) => unread.push((name, error)),
                }
            }
        }
        Ok((all, unread))
    }

    /// Returns an error if git is needed to read references, and cannot.
    pub(super) fn refuse_old_git(&self) -> Result<(), Error> {
        match &self.references {
            RefStorage::Files => Ok(()),
            RefStorage::Tables(tables) => tables.root_refs(*self).map(drop),
        }
    }

    /// Reads HEAD. Returns an error if git cannot read it.
    pub fn head(&self) -> Result<Head, Error> {
        self.objects.costs.heads.fetch_add(1, Relaxed);
        // While a run lasts, an executor may have put one there.
        refuse_pipes(self.objects.repo.path())?;
        if let RefStorage::Tables(tables) = &self.references {
            return Ok(tables.root_refs(*self)?.head);
        }
        let head = self.objects.repo.find_reference("HEAD").map_err(libgit2)?;
        let Some(target) = head.symbolic_target_bytes() else {
            return Ok(Head {
                branch: None,
                commit: head.target().map(digest),
            });
        };
        let mut name = String::from_utf8_lossy(target).into_owned();
        if name == MOVED_TO_TABLES {
            return Err(Error::busy("git is changing how it stores references"));
        }
        // A branch may stand for another one, on which git commits.
        for _ in 0..MOST_SYMBOLIC {
            let reference = match self.objects.repo.find_reference(&name) {
                Ok(reference) => reference,
                Err(error) if error.code() == ErrorCode::NotFound => {
                    return Ok(Head {
                        branch: Some(name),
                        commit: None,
                    });
                }
                Err(error) => return Err(libgit2(error)),
            };
            match reference.symbolic_target_bytes() {
                Some(target) => name = String::from_utf8_lossy(target).into_owned(),
                None => {
                    return Ok(Head {
                        branch: Some(name),
                        commit: Some(digest(self.peeled(&reference)?)),
                    });
                }
            }
        }
        let message = format!("HEAD: the branch {name} stands for itself, or for too many others");
        Err(Error::new(Code::Git, message).with_hint(Hint::run(&["git", "switch", "BRANCH"])))
    }

    /// Whether an operation of git is unfinished, and which.
    pub(super) fn state(&self) -> Result<RepositoryState, Error> {
        match (self.objects.repo.state(), &self.references) {
            // libgit2 looks for files.
            (
                state @ (RepositoryState::Clean | RepositoryState::Bisect),
                RefStorage::Tables(tables),
            ) => {
                let roots = tables.root_refs(*self)?;
                Ok(match (roots.is_reverting, roots.is_picking) {
                    (true, _) => RepositoryState::Revert,
                    (false, true) => RepositoryState::CherryPick,
                    (false, false) => state,
                })
            }
            (state, _) => Ok(state),
        }
    }

    /// The commit that a revision names, in any notation of gitrevisions(7). Returns an error if there is
    /// none.
    pub fn resolve(&self, revision: &str) -> Result<Digest, Error> {
        // A path in the index is no commit, and libgit2 has no error of its own for it.
        if revision.starts_with(':') && !revision.starts_with(":/") {
            return Err(unknown_revision(revision));
        }
        if self.refuse_unread_on_way(revision)? == Notation::Other {
            return self.resolve_by_git(revision);
        }
        let object = match &self.references {
            RefStorage::Tables(tables) if Digest::parse(revision).is_none() => {
                let object = tables
                    .parse(*self, revision)?
                    .ok_or_else(|| unknown_revision(revision))?;
                self.objects
                    .repo
                    .find_object(self.objects.oid(object)?, None)
            }
            _ => self.objects.repo.revparse_single(revision),
        };
        match object.and_then(|object| object.peel(ObjectType::Commit)) {
            Ok(commit) => Ok(digest(commit.id())),
            // libgit2 does not tell a file that it failed to look up from a missing one, and looks for packs only once.
            Err(error)
                if error.code() == ErrorCode::NotFound
                    && (self.objects.repo.revparse_single(revision).is_ok()
                        || self
                            .objects
                            .opened_anew()?
                            .revparse_single(revision)
                            .is_ok()) =>
            {
                Err(libgit2(error))
            }
            Err(error)
                if error.code() == ErrorCode::NotFound
                    || error.code() == ErrorCode::InvalidSpec =>
            {
                Err(unknown_revision(revision))
            }
            // Two or three hexadecimal digits are too few for a name of an object.
            Err(error) if error.code() == ErrorCode::Ambiguous => Err(ambiguous_revision(revision)),
            Err(error) => Err(libgit2(error)),
        }
    }

    /// The commit that a reference leads to. Returns an error if git cannot read it.
    fn peeled(&self, reference: &Reference<'_>) -> Result<Oid, Error> {
        let last = || reference.resolve().ok()?.target();
        if let Some(id) = reference.target().or_else(last) {
            self.objects.refuse_torn_tags(id)?;
        }
        Ok(reference.peel_to_commit().map_err(libgit2)?.id())
    }

    /// The commit that an object is, or that a tag points to. Returns an error if git cannot read it.
    fn commit_at(&self, id: Oid) -> Result<Oid, Error> {
        self.objects.refuse_torn_tags(id)?;
        Ok(self
            .objects
            .repo
            .find_object(id, None)
            .map_err(libgit2)?
            .peel(ObjectType::Commit)
            .map_err(libgit2)?
            .id())
    }

    /// Like [`Self::resolve`], where libgit2 would search the history, and may meet a torn object. git tells.
    fn resolve_by_git(&self, revision: &str) -> Result<Digest, Error> {
        let commit = format!("{revision}^{{commit}}");
        let answer = self
            .git
            .git(&["rev-parse", "--verify", "--end-of-options", &commit], &[]);
        let answer = match answer {
            Err(GitFault::Refused { message, .. }) => {
                // git names an object that it cannot read, and a torn one by its file.
                for id in ids_named(&message) {
                    if let Ok(id) = self.objects.oid(id) {
                        self.objects.object(id, ObjectType::Any)?;
                    }
                }
                return Err(unknown_revision(revision));
            }
            answer => answer?,
        };
        let found = git_id(&answer)?;
        self.objects
            .refuse_torn(self.objects.oid(found)?)
            .map(|()| found)
    }

    /// Returns an error if a revision such as `HEAD~2^` leads to a commit, or past one, that is in this repository and
    /// cannot be read: libgit2 takes it for a missing one, or reads a torn one for ever.
    fn refuse_unread_on_way(&self, revision: &str) -> Result<Notation, Error> {
        let at = revision.find(['~', '^']).unwrap_or(revision.len());
        let (base, mut steps) = revision.split_at(at);
        if revision.contains(['{', ':']) || base.contains("-g") {
            return Ok(Notation::Other);
        }
        let Some(id) = self.id_named(base) else {
            return Ok(Notation::Steps);
        };
        self.objects.refuse_torn_tags(id)?;
        let found = self.objects.repo.find_object(id, None);
        let peeled = found.and_then(|object| object.peel(ObjectType::Commit));
        let Ok(Ok(mut commit)) = peeled.map(Object::into_commit) else {
            return Ok(Notation::Steps);
        };
        while let Some(step) = steps.strip_prefix(['~', '^']) {
            let digits = step
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(step.len());
            let (count, rest) = step.split_at(digits);
            let count: usize = if count.is_empty() {
                1
            } else {
                count.parse().unwrap_or(usize::MAX)
            };
            let parents = match (steps.starts_with('~'), count) {
                (true, generations) => vec![0; generations.min(MOST_GENERATIONS)],
                (false, 0) => Vec::new(),
                (false, nth) => vec![nth - 1],
            };
            for nth in parents {
                let Ok(parent) = commit.parent_id(nth) else {
                    return Ok(Notation::Steps);
                };
                match self.objects.commit_if_held(parent)? {
                    Some(held) => commit = held,
                    None => return Ok(Notation::Steps),
                }
            }
            steps = rest;
        }
        Ok(Notation::Steps)
    }

    /// The id of the object with this name: a reference, or the beginning of an id. Reads no object.
    fn id_named(&self, name: &str) -> Option<Oid> {
        let name = match name {
            "" | "@" => "HEAD",
            name => name,
        };
        if let Some(id) = Digest::parse(name) {
            return self.objects.oid(id).ok();
        }
        let found = self.objects.repo.resolve_reference_from_short_name(name);
        if let Ok(reference) = found.and_then(|found| found.resolve()) {
            return reference.target();
        }
        let short = Oid::from_str_ext(name, self.objects.repo.object_format()).ok()?;
        let objects = self.objects.repo.odb().ok()?;
        objects.exists_prefix(short, name.len()).ok()
    }

    /// The commit that a reference points to; `None` if it does not exist.
    pub(super) fn target(&self, name: &str) -> Result<Option<Digest>, Error> {
        match &self.references {
            RefStorage::Files => match self.objects.repo.find_reference(name) {
                Ok(reference) => Ok(Some(digest(self.peeled(&reference)?))),
                Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
                Err(error) => Err(libgit2(error)),
            },
            RefStorage::Tables(tables) => tables.parse(*self, name),
        }
    }

    /// The references that point to commits, by name, with these commits. Reads those that begin with a prefix
    /// such as `refs/remotes/`.
    pub(super) fn tips(&self, prefix: &str) -> Result<Vec<(String, Oid)>, Error> {
        let all = self.each_tip(prefix)?.into_iter();
        Ok(all
            .filter_map(|(name, commit)| Some((name, commit.ok()?)))
            .collect())
    }

    /// The references below a prefix with their commits, each with an error if it does not lead to one. References
    /// to references that do not exist are left out.
    pub(super) fn each_tip(&self, prefix: &str) -> Result<Vec<EachTip>, Error> {
        let mut tips = Vec::new();
        match &self.references {
            RefStorage::Files => {
                for reference in self
                    .objects
                    .repo
                    .references_glob(&format!("{prefix}*"))
                    .map_err(libgit2)?
                {
                    let reference = reference.map_err(libgit2)?;
                    let Ok(name) = reference.name() else { continue };
                    match self.peeled(&reference) {
                        Ok(commit) => tips.push((name.to_owned(), Ok(commit))),
                        Err(_) if reference.kind() == Some(ReferenceType::Symbolic) => {}
                        Err(error) => tips.push((name.to_owned(), Err(error))),
                    }
                }
            }
            RefStorage::Tables(tables) => {
                for (name, object) in tables.below(*self, prefix)? {
                    tips.push((name, self.commit_at(self.objects.oid(object)?)));
                }
            }
        }
        Ok(tips)
    }

    /// The directories whose files change when HEAD moves, each with whether its subdirectories count too:
    /// the git directory of this work tree, that of the repository, and the branches.
    #[must_use]
    pub fn head_places(&self) -> Vec<(PathBuf, bool)> {
        let common = self.objects.repo.commondir();
        let mut places = vec![(self.objects.repo.path().to_owned(), false)];
        match &self.references {
            RefStorage::Files => places.push((common.join("refs/heads"), true)),
            RefStorage::Tables(tables) => {
                places.extend(
                    tables
                        .directories()
                        .iter()
                        .map(|directory| (directory.clone(), false)),
                );
            }
        }
        if common != self.objects.repo.path() {
            places.push((common.to_owned(), false));
        }
        places
            .into_iter()
            .filter_map(|(path, below)| Some((path.canonicalize().ok()?, below)))
            .collect()
    }

    /// A file that git writes whenever HEAD of this work tree moves.
    pub(super) fn head_log(&self) -> PathBuf {
        match &self.references {
            RefStorage::Files => self.objects.repo.path().join("logs/HEAD"),
            RefStorage::Tables(tables) => tables.list(),
        }
    }

    /// The files to sync after a reference has moved.
    pub(super) fn files_of(&self, reference: &str) -> Vec<PathBuf> {
        match &self.references {
            RefStorage::Files => vec![self.reference_file(reference)],
            RefStorage::Tables(tables) => tables.files(),
        }
    }

    /// The file of a branch, or of a detached HEAD.
    fn reference_file(&self, reference: &str) -> PathBuf {
        match reference {
            "HEAD" => self.objects.repo.path().join(reference),
            branch => self.objects.repo.commondir().join(branch),
        }
    }

    /// git's lock file of a branch, or of a detached HEAD.
    fn reference_lock(&self, reference: &str) -> PathBuf {
        let mut lock = self.reference_file(reference).into_os_string();
        lock.push(".lock");
        lock.into()
    }

    /// Waits until nobody holds git's lock of HEAD or of a branch: a second, or not at all if the caller waits. Returns an
    /// error of [`Class::Busy`](orch_base::Class) if one is still held.
    ///
    /// Who holds the lock of a reftable is only told when it is taken.
    pub(super) fn wait_for_reference(&self, name: &str) -> Result<(), Error> {
        let mut wait = LockWait::at_most(if self.wait.is_some() {
            Duration::ZERO
        } else {
            PATIENCE
        });
        let locks = match &self.references {
            RefStorage::Files => ["HEAD", name].map(|name| self.reference_lock(name)),
            RefStorage::Tables(tables) => {
                while tables.are_locked() && wait.again() {}
                return Ok(());
            }
        };
        while let Some(held) = locks.iter().find(|lock| lock.symlink_metadata().is_ok()) {
            if !wait.again() {
                return Err(self.layout.lock_is_busy(held));
            }
        }
        Ok(())
    }

    /// Takes git's lock of HEAD while this branch is to move, where HEAD is a file and files can be linked. `None` if HEAD is
    /// detached: then it is what moves. Returns an error of [`Class::Busy`](orch_base::Class) if another process keeps the
    /// lock.
    pub(super) fn lock_head(&self, branch: &str) -> Result<Option<HeadLock>, Error> {
        if branch == "HEAD" || !matches!(&self.references, RefStorage::Files) {
            return Ok(None);
        }
        let mut wait = LockWait::at_most(MOMENT);
        loop {
            match self.layout.locks().lock_head() {
                Ok(lock) => return Ok(Some(lock)),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Ok(None),
                Err(_) if wait.again() => {}
                Err(_) => return Err(self.layout.lock_is_busy(&self.layout.locks().head_lock())),
            }
        }
    }

    /// Locks a reference, which must still be at the commit that was evaluated. Returns [`Error::moved`] if it
    /// is not, and an error of [`Class::Busy`](orch_base::Class) if another process keeps it locked.
    pub(super) fn lock_reference(
        &self,
        moved: RefMove<'_>,
        committer: &git2::Signature<'_>,
    ) -> Result<RefLock<'s>, Error> {
        let mut wait = LockWait::at_most(MOMENT);
        let name = moved.name;
        let busy = || match &self.references {
            RefStorage::Files => self.layout.lock_is_busy(&self.reference_lock(name)),
            RefStorage::Tables(_) => {
                Error::busy(format!("another git process holds the lock of {name}"))
            }
        };
        if moved.from.is_none() {
            self.refuse_taken_name(name)?;
        }
        if let RefStorage::Tables(_) = &self.references {
            loop {
                match TableLock::take(*self, moved)? {
                    Some(lock) => return Ok(RefLock::Table(Box::new(lock))),
                    None if wait.again() => {}
                    None => return Err(busy()),
                }
            }
        }
        let mut lock = self.objects.repo.transaction().map_err(libgit2)?;
        while let Err(error) = lock.lock_ref(name) {
            match error.code() {
                ErrorCode::Locked if wait.again() => {}
                ErrorCode::Locked => return Err(busy()),
                _ => return Err(libgit2(error)),
            }
        }
        let now = match self.objects.repo.find_reference(name) {
            Ok(reference) => reference.target().map(digest),
            Err(error) if error.code() == ErrorCode::NotFound => None,
            Err(error) => return Err(libgit2(error)),
        };
        if now != moved.from {
            return Err(Error::moved());
        }
        lock.set_target(
            name,
            self.objects.oid(moved.to)?,
            Some(committer),
            moved.message,
        )
        .map_err(libgit2)?;
        let file = self.objects.repo.commondir().join(name);
        let directory = Directory::open_itself(durable::parent(&file)).ok();
        let replaced = directory.and_then(|at| at.held(file.file_name().unwrap_or_default()));
        Ok(RefLock::File(lock, replaced))
    }

    /// Refuses a first commit on a branch whose name is a directory of another branch, or lies below one.
    fn refuse_taken_name(&self, name: &str) -> Result<(), Error> {
        let is_below = |one: &str, other: &str| {
            one.strip_prefix(other)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        for (other, _) in self.tips("refs/")? {
            if is_below(&other, name) || is_below(name, &other) {
                let message =
                    format!("the branch {name} cannot be created, because {other} exists");
                let hint = "switch to a branch with another name";
                return Err(Error::new(Code::BranchTaken, message).with_hint(hint));
            }
        }
        Ok(())
    }

    /// Removes the lock of a reference that a killed process left, given the commit that it was to move to and
    /// the time since when it worked. Returns an error of [`Class::Busy`](orch_base::Class) if a living
    /// process may hold it.
    ///
    /// The lock file of a branch belongs to the killed process if it contains that commit or nothing, and does
    /// not change.
    pub(super) fn clear_reference_lock(
        &self,
        reference: &str,
        new: Digest,
        since: Option<SystemTime>,
    ) -> Result<(), Error> {
        if let RefStorage::Tables(tables) = &self.references {
            return tables.clear_locks(*self, since);
        }
        let lock = self.reference_lock(reference);
        let is_ours = || {
            let held = fs::read_to_string(&lock).ok()?;
            // A power failure may leave its size without its bytes.
            let held = held.trim_matches('\0').trim();
            (held.is_empty() || held == new.to_string()).then_some(())
        };
        if is_ours().is_some() {
            sleep(Duration::from_millis(100));
            if is_ours().is_some() {
                // Another process may have removed it.
                let _ = fs::remove_file(&lock);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ids_named;

    #[test]
    fn ids_are_found_in_what_git_prints() {
        let id = "a735c0d73ef4c6eea9e7f178e3467bff47be0acf";
        let path = format!("{}/{}", &id[..2], &id[2..]);
        for message in [
            format!("error: Could not read {id}"),
            format!("fatal: bad object '{id}'"),
            format!("error: object file .git/objects/{path} is empty"),
            // The name of another directory of objects may end with hexadecimal digits.
            format!("fatal: loose object {id} (stored in /srv/cache/{path}) is corrupt"),
            format!("error: object file /srv/cache/{path} is empty"),
        ] {
            let found: Vec<String> = ids_named(&message)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert!(found.contains(&id.to_owned()), "{message}: {found:?}");
        }
        assert!(ids_named("fatal: Needed a single revision").is_empty());
    }
}
