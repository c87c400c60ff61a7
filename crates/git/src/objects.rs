//! Whether an object is missing from this clone, or is there and cannot be read.
//!
//! libgit2 takes an object file that it cannot look up for a missing one. In a shallow or partial clone a missing
//! object is normal, so that an unreadable one would pass for it and hide what it contains.

use super::recent::Recent;
use super::{Environment, Error, Listing, StoreCosts, digest};
use crate::error::libgit2;
use git2::{Blob, Commit, ErrorCode, ObjectType, Oid, Repository, RepositoryOpenFlags, Tree};
use orch_base::{Code, Digest, Hint, ObjectFormat};
use orch_files::io_error;
use std::cell::{Cell, OnceCell, RefCell};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How many levels of alternates libgit2 follows.
const MOST_LEVELS: usize = 5;

/// Whether the store compares objects with their ids, and not libgit2, for which this is a setting of the process.
static CHECKED_HERE: AtomicBool = AtomicBool::new(false);

/// Lets the store compare blobs, trees and commits with their ids. libgit2 does so with a hash function that also finds
/// texts made to collide, and takes several times as long as the processor does; git has looked for these when it
/// received the object. From now on, other commands of this process read what only libgit2 reads as git does: without
/// a comparison.
fn check_here() {
    CHECKED_HERE.store(true, Relaxed);
    git2::opts::strict_hash_verification(false);
}

/// The objects of a repository, and those that were read recently. It says of each whether this clone has it, and gives
/// libgit2 none that is torn.
pub struct Objects {
    pub(super) repo: Repository,
    pub(super) format: ObjectFormat,
    pub(super) environment: Environment,
    pub(super) blobs: RefCell<Recent<Oid, Arc<[u8]>>>,
    pub(super) trees: RefCell<Recent<Oid, Arc<Listing>>>,
    pub(super) trees_of_commits: RefCell<Recent<Oid, Oid>>,
    /// How many entries the directories had that were asked for, cached or not.
    pub(super) listed: Cell<u64>,
    /// The repository opened once more, to make sure that a missing object is missing.
    anew: OnceCell<Repository>,
    /// The directories of objects, of this repository and those that it borrows from.
    directories: OnceCell<Vec<PathBuf>>,
    pub(super) costs: Arc<StoreCosts>,
}

/// How many bytes of recently read blobs, and of trees, a generation of the cache holds. Most trees are those of single
/// tasks, and each is read for one look; the directory of all tasks may need the maximum.
const RECENT_BLOBS: usize = 8 << 20;
const RECENT_TREES: usize = 1 << 20;
const MOST_RECENT_TREES: usize = 16 << 20;
/// Of how many commits a generation of the cache holds the ids of their trees.
const RECENT_COMMITS: usize = 1024;
/// A blob of more bytes is not cached.
const LARGE: usize = 1 << 20;

impl Objects {
    /// The format of the ids of its objects.
    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// The objects of this repository.
    pub(super) fn of(repo: Repository, environment: Environment) -> Self {
        let format = match repo.object_format() {
            git2::ObjectFormat::Sha1 => ObjectFormat::Sha1,
            git2::ObjectFormat::Sha256 => ObjectFormat::Sha256,
        };
        Self {
            repo,
            format,
            environment,
            blobs: Recent::at_most(RECENT_BLOBS).into(),
            trees: Recent::between(RECENT_TREES, MOST_RECENT_TREES).into(),
            trees_of_commits: Recent::at_most(RECENT_COMMITS).into(),
            listed: Cell::new(0),
            anew: OnceCell::new(),
            directories: OnceCell::new(),
            costs: Arc::default(),
        }
    }

    /// Prepares for going through a whole history: keeps more blobs, fewer trees, and nothing in libgit2.
    pub(super) fn prepare_for_history(&self) {
        self.blobs.replace(Recent::at_most(2 * RECENT_BLOBS));
        self.trees.replace(Recent::at_most(MOST_RECENT_TREES / 4));
        git2::opts::enable_caching(false);
        check_here();
    }

    /// How many bytes a blob has; `None` if this clone does not have it.
    pub fn blob_size(&self, blob: Digest) -> Result<Option<u64>, Error> {
        let Ok(id) = self.oid(blob) else {
            return Ok(None);
        };
        // A partial clone fetches blobs when they are needed; here nothing is fetched.
        let odb = self.repo.odb().map_err(libgit2)?;
        let header = self.found_or_missing((id, ObjectType::Any), odb.read_header(id))?;
        Ok(header.map(|(size, _)| size as u64))
    }

    /// The bytes of a blob; `None` if this clone does not have it. Returns an error if git cannot read it.
    pub fn blob(&self, blob: Digest) -> Result<Option<Vec<u8>>, Error> {
        let Ok(id) = self.oid(blob) else {
            return Ok(None);
        };
        if let Some(known) = self.blobs.borrow_mut().get(&id) {
            return Ok(Some(known.to_vec()));
        }
        let found = self
            .object(id, ObjectType::Blob)?
            .filter(|(kind, _)| *kind == ObjectType::Blob);
        let Some((_, content)) = found else {
            return Ok(None);
        };
        self.costs
            .blob_bytes
            .fetch_add(content.len() as u64, Relaxed);
        // A large blob would evict many others.
        if content.len() <= LARGE {
            self.blobs
                .borrow_mut()
                .put(id, content.as_slice().into(), content.len());
        }
        Ok(Some(content))
    }

    /// Makes room for other blobs: this one is not read again soon.
    pub fn forget_blob(&self, blob: Digest) {
        if let Ok(id) = self.oid(blob) {
            self.blobs.borrow_mut().remove(&id);
        }
    }

    /// The id of the tree of a commit. Returns an error if git cannot read the commit, with a code of its own if this
    /// clone does not have it.
    pub(super) fn tree_of(&self, commit: Digest) -> Result<Oid, Error> {
        let id = self.oid(commit)?;
        if let Some(known) = self.trees_of_commits.borrow_mut().get(&id) {
            return Ok(known);
        }
        Ok(self.held_commit(id)?.tree_id())
    }

    /// Converts a digest to a git object id. Returns an error if it is of another format than the ids here, so
    /// that no object can have it.
    pub(super) fn oid(&self, digest: Digest) -> Result<Oid, Error> {
        if digest.format() != self.format {
            let message = format!(
                "no object has the {} id {}",
                digest.format(),
                digest.short()
            );
            return Err(Error::new(Code::Git, message));
        }
        Oid::from_bytes(digest.as_bytes()).map_err(libgit2)
    }

    /// The kind and the content of an object, compared with its id if it is of the wanted kind; `None` if this clone does
    /// not have it. Returns an error if git cannot read it.
    pub(super) fn object(
        &self,
        id: Oid,
        wanted: ObjectType,
    ) -> Result<Option<(ObjectType, Vec<u8>)>, Error> {
        if let Some((kind, content)) = self.loose(id)? {
            refuse_unlike(self.format, id, kind, &content)?;
            return Ok(Some((kind, content)));
        }
        let odb = self.repo.odb().map_err(libgit2)?;
        let Some(found) = self.found_or_missing((id, ObjectType::Any), odb.read(id))? else {
            return Ok(None);
        };
        if found.kind() == wanted {
            self.refuse_other(id, wanted, found.data())?;
        }
        Ok(Some((found.kind(), found.data().to_vec())))
    }

    /// Returns an error if an object that libgit2 has read is not the one that its id names, unless libgit2 sees to it.
    pub(super) fn refuse_other(
        &self,
        id: Oid,
        kind: ObjectType,
        content: &[u8],
    ) -> Result<(), Error> {
        if CHECKED_HERE.load(Relaxed) {
            refuse_unlike(self.format, id, kind, content)
        } else {
            Ok(())
        }
    }

    /// Whether this clone has an object. Returns an error if that cannot be determined.
    pub fn has(&self, object: Digest) -> Result<bool, Error> {
        let Ok(id) = self.oid(object) else {
            return Ok(false);
        };
        if self.repo.odb().map_err(libgit2)?.exists(id) {
            return Ok(true);
        }
        self.refuse_unread(id).map(|()| false)
    }

    /// What libgit2 found for the id of an object of a kind; `None` if this clone does not have the object, or it is of
    /// another kind, which libgit2 does not find either. Returns an error if the object is there and cannot be read.
    pub(super) fn unless_missing<T>(
        &self,
        (id, kind): (Oid, ObjectType),
        find: impl FnOnce() -> Result<T, git2::Error>,
    ) -> Result<Option<T>, Error> {
        self.refuse_torn(id)?;
        self.found_or_missing((id, kind), find())
    }

    /// The same for what libgit2 reads of an object without reading all of it.
    pub(super) fn found_or_missing<T>(
        &self,
        (id, kind): (Oid, ObjectType),
        found: Result<T, git2::Error>,
    ) -> Result<Option<T>, Error> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.code() == ErrorCode::NotFound => {
                let held = self
                    .repo
                    .odb()
                    .map_err(libgit2)?
                    .read_header(id)
                    .map(|(_, held)| held);
                let is_other = kind != ObjectType::Any && held.is_ok_and(|held| held != kind);
                if is_other {
                    Ok(None)
                } else {
                    self.refuse_unread(id).map(|()| None)
                }
            }
            Err(error) => self.refuse_torn(id).and(Err(libgit2(error))),
        }
    }

    /// The commit with this id; `None` if this clone does not have it. Returns an error if git cannot read it.
    pub(super) fn commit_if_held(&self, id: Oid) -> Result<Option<Commit<'_>>, Error> {
        self.costs.commits.fetch_add(1, Relaxed);
        let found = self.unless_missing((id, ObjectType::Commit), || self.repo.find_commit(id))?;
        if let Some(commit) = &found {
            if CHECKED_HERE.load(Relaxed) {
                self.refuse_other_commit(commit)?;
            }
            self.trees_of_commits
                .borrow_mut()
                .put(id, commit.tree_id(), 1);
        }
        Ok(found)
    }

    /// The same as [`Self::refuse_other`]. The object is read again only if libgit2 has cut something off, at a null
    /// byte.
    fn refuse_other_commit(&self, commit: &Commit<'_>) -> Result<(), Error> {
        let content = [commit.raw_header_bytes(), b"\n", commit.message_raw_bytes()].concat();
        if self.format.commit(&content) == digest(commit.id()) {
            return Ok(());
        }
        self.refuse_other(
            commit.id(),
            ObjectType::Commit,
            self.repo
                .odb()
                .map_err(libgit2)?
                .read(commit.id())
                .map_err(libgit2)?
                .data(),
        )
    }

    /// The tree with this id. Returns an error if git cannot read it, with a code of its own if this clone does not
    /// have it.
    pub(super) fn tree_with_id(&self, id: Oid) -> Result<Tree<'_>, Error> {
        self.unless_missing((id, ObjectType::Tree), || self.repo.find_tree(id))?
            .ok_or_else(|| not_in_clone("directory", id))
    }

    /// The commit with this id. Returns an error if git cannot read it, with a code of its own if this clone does
    /// not have it.
    pub(super) fn held_commit(&self, id: Oid) -> Result<Commit<'_>, Error> {
        self.commit_if_held(id)?
            .ok_or_else(|| not_in_clone("commit", id))
    }

    /// The commit with this id. Returns an error if git cannot read it.
    pub(super) fn find_commit(&self, id: Oid) -> Result<Commit<'_>, Error> {
        self.costs.commits.fetch_add(1, Relaxed);
        self.refuse_torn(id)?;
        self.repo.find_commit(id).map_err(libgit2)
    }

    /// The blob with this id. Returns an error if git cannot read it.
    pub(super) fn find_blob(&self, id: Oid) -> Result<Blob<'_>, Error> {
        self.refuse_torn(id)?;
        self.repo.find_blob(id).map_err(libgit2)
    }

    /// The parents of a commit that this clone has. Returns an error if git cannot read one.
    pub(super) fn parents<'s>(&'s self, commit: &Commit<'_>) -> Result<Vec<Commit<'s>>, Error> {
        commit
            .parent_ids()
            .filter_map(|id| self.commit_if_held(id).transpose())
            .collect()
    }

    /// Returns an error unless an object that libgit2 did not find is certainly missing.
    fn refuse_unread(&self, id: Oid) -> Result<(), Error> {
        let first = &id.to_string()[..2];
        let rest = &id.to_string()[2..];
        for directory in self.object_directories()? {
            let file = directory.join(first).join(rest);
            if is_there(&file)? {
                return Err(unread(id));
            }
            readable_packs(&directory.join("pack"))?;
        }
        // libgit2 does not tell if it failed to open a pack. A repository that is opened again tries again.
        if self.opened_anew()?.odb().map_err(libgit2)?.exists(id) {
            Err(unread(id))
        } else {
            Ok(())
        }
    }

    /// The directory of the objects of this repository.
    pub(super) fn directory(&self) -> PathBuf {
        self.repo.commondir().join("objects")
    }

    /// The directories of objects as they were when the first object was read. Returns an error as
    /// [`Self::object_directories`] does.
    pub(super) fn known_directories(&self) -> Result<&[PathBuf], Error> {
        if self.directories.get().is_none() {
            let _ = self.directories.set(self.object_directories()?);
        }
        Ok(self.directories.get().map_or(&[], Vec::as_slice))
    }

    /// The directories of objects: that of the repository and its alternates. Returns an error if a list of
    /// alternates cannot be read.
    pub fn object_directories(&self) -> Result<Vec<PathBuf>, Error> {
        let mut found = vec![self.directory()];
        let mut level = 0..1;
        for _ in 0..MOST_LEVELS {
            let end = found.len();
            for at in level.clone() {
                let listed = super::durable::text_of(&found[at].join("info/alternates"))?;
                let lines = listed
                    .lines()
                    .filter(|line| !line.is_empty() && !line.starts_with('#'));
                let others: Vec<PathBuf> = lines.map(|line| found[at].join(line)).collect();
                found.extend(others);
            }
            level = end..found.len();
        }
        Ok(found)
    }

    /// The same repository, opened once more: libgit2 remembers what it failed to open.
    pub(super) fn opened_anew(&self) -> Result<&Repository, Error> {
        if let Some(repo) = self.anew.get() {
            return Ok(repo);
        }
        let exactly = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let gone = || io_error(self.repo.path(), io::ErrorKind::NotFound.into());
        let repo = self
            .environment
            .opened(self.repo.path(), exactly)?
            .ok_or_else(gone)?;
        Ok(self.anew.get_or_init(|| repo))
    }
}

/// Returns an error if an object is not the one that its id names.
fn refuse_unlike(
    format: ObjectFormat,
    id: Oid,
    kind: ObjectType,
    content: &[u8],
) -> Result<(), Error> {
    match id_of(format, kind, content) {
        Some(held) if held != digest(id) => Err(damaged(
            id,
            &format!("what is stored under this id has the id {held}"),
        )),
        _ => Ok(()),
    }
}

/// The id of an object; `None` for kinds that are not read.
fn id_of(format: ObjectFormat, kind: ObjectType, content: &[u8]) -> Option<Digest> {
    match kind {
        ObjectType::Blob => Some(format.blob(content)),
        ObjectType::Tree => Some(format.tree(content)),
        ObjectType::Commit => Some(format.commit(content)),
        _ => None,
    }
}

/// Whether there is anything at a path. Returns an error if that is unknown.
fn is_there(path: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error(path, error)),
    }
}

/// Returns an error if the packs in a directory, or their indexes, cannot be opened.
fn readable_packs(directory: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| io_error(directory, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| io_error(directory, error))?.path();
        let is_index = path.extension().is_some_and(|extension| extension == "idx");
        // A pack may be replaced by another one at any moment.
        match if is_index {
            File::open(&path).map(drop)
        } else {
            Ok(())
        } {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error(&path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn unread(id: Oid) -> Error {
    Error::new(
        Code::Git,
        format!("git did not find the object {id}, although it is in this repository"),
    )
    .with_hint(Hint::from("try again; if it stays so: ").command(&["git", "fsck"]))
}

/// The error for an object whose content is another one.
pub(super) fn damaged(id: Oid, why: &str) -> Error {
    Error::new(Code::Git, format!("the object {id} is damaged: {why}"))
        .with_hint(Hint::run(&["git", "fsck"]))
}

pub(super) fn not_in_clone(what: &str, id: Oid) -> Error {
    let hint = Hint::run(&["git", "fetch", "--refetch", "--no-filter"])
        .text(", or ")
        .command(&["git", "fetch", "--unshallow"]);
    Error::new(
        Code::NotInClone,
        format!("the {what} {id} is not in this clone"),
    )
    .with_hint(hint)
}
