//! New objects as files, one for each, as git writes them; see "object storage format" in git's documentation.

use super::deflate::Deflate;
use super::layout::UNSHARED;
use super::new_pack::own_name;
use super::objects::damaged;
use super::side_work::SideWork;
use super::{Error, Layout, Objects, digest, durable};
use crate::error::libgit2;
use git2::{ObjectType, OdbLookupFlags, Oid};
use orch_base::Digest;
use orch_files::{Directory, io_error};
use std::collections::{BTreeSet, HashSet};
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// How the names of the files begin while they are written: `git gc` removes those that a killed process left.
const NEW_OBJECT: &str = "tmp_obj_orch";

/// New objects, of which the files are synced while others are made.
pub(super) struct LooseObjects<'s> {
    objects: &'s Objects,
    directory: Directory,
    deflate: Deflate,
    syncs: SideWork,
    /// Those that were added.
    added: HashSet<Digest>,
    /// The directories of the files.
    parents: BTreeSet<PathBuf>,
    /// The permissions of directories that users share; `None` if the process decides.
    shared: Option<u32>,
}

impl<'s> LooseObjects<'s> {
    pub(super) fn new(layout: Layout<'s>) -> Result<Self, Error> {
        let objects = layout.objects;
        let path = objects.directory();
        Ok(Self {
            objects,
            directory: Directory::open(&path, &path).map_err(|source| io_error(&path, source))?,
            deflate: Deflate::new(),
            syncs: SideWork::default(),
            added: HashSet::new(),
            parents: BTreeSet::new(),
            shared: Some(layout.sharing()?).filter(|mode| *mode != UNSHARED),
        })
    }

    /// Writes an object, unless the repository has it. A file of it that a power failure tore is replaced. Returns an
    /// error if it cannot be written, or is torn where objects are borrowed from.
    pub(super) fn add(
        &mut self,
        kind: ObjectType,
        id: Digest,
        content: &[u8],
    ) -> Result<(), Error> {
        let oid = self.objects.oid(id)?;
        if !self.added.insert(id) {
            return Ok(());
        }
        self.objects.remove_if_torn(oid)?;
        self.objects.refuse_torn(oid)?;
        let objects = self.objects.repo.odb().map_err(libgit2)?;
        let is_there = objects.exists_ext(oid, OdbLookupFlags::NO_REFRESH);
        if is_there {
            let held = objects
                .read(oid)
                .map_err(|error| damaged(oid, error.message()))?;
            if (held.kind(), held.data()) != (kind, content) {
                return Err(damaged(oid, "it does not have the bytes that its id names"));
            }
        }
        if is_there || self.objects.environment.moves_objects {
            // It also renews the time of an object that is there, so that `git gc` does not take it for an old one.
            objects.write(kind, content).map_err(libgit2)?;
        } else {
            let path = self.objects.loose_file(oid);
            match self.write(&path, kind, content) {
                // The directory of the file is a link, which someone put there.
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    objects.write(kind, content).map_err(libgit2)?;
                }
                written => written.map_err(|source| io_error(&path, source))?,
            }
        }
        self.sync(oid);
        Ok(())
    }

    /// The objects that were added.
    pub(super) fn added(&self) -> Vec<Digest> {
        self.added.iter().copied().collect()
    }

    /// The same of an object that git has written.
    pub(super) fn sync_other(&mut self, object: Oid) {
        self.added.insert(digest(object));
        self.sync(object);
    }

    /// Begins to sync the file of an object that is written. One that has no file is in a pack, which git has synced.
    fn sync(&mut self, object: Oid) {
        let path = self.objects.loose_file(object);
        self.parents.insert(durable::parent(&path).to_owned());
        self.syncs.add(path);
    }

    /// What remains to be waited for, when all objects are written. git does not sync loose objects, but a power cut must
    /// not lose a reported transition.
    pub(super) fn finish(self) -> SideWork {
        let last = self.directory.path().to_owned();
        self.parents
            .into_iter()
            .chain([last])
            .for_each(|place| self.syncs.add(place));
        self.syncs
    }

    /// Writes the file of an object. It is made beside the directories of the files: file systems keep what is made in one
    /// directory together, and a disk writes that together.
    fn write(&mut self, path: &Path, kind: ObjectType, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let head = format!("{} {}\0", kind.str(), content.len());
        self.deflate
            .append(&[head.as_bytes(), content].concat(), &mut bytes)?;
        let new = own_name(NEW_OBJECT);
        self.directory.remove_if_there(&new)?;
        let placed = self
            .create(&new, &bytes)
            .and_then(|()| match self.place(&new, path) {
                // git may have removed the directory, because it was empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound => self.place(&new, path),
                placed => placed,
            });
        placed.inspect_err(|_| {
            // `git gc` removes one that stays.
            let _ = self.directory.remove(&new);
        })
    }

    /// Gives a new file its name, in a directory that may be new.
    fn place(&self, new: &str, path: &Path) -> io::Result<()> {
        let parent = self
            .directory
            .make_child(durable::parent(path).file_name().unwrap_or_default())?;
        if let Some(mode) = self.shared {
            // It may be that of another user.
            let _ = parent.permit(mode);
        }
        self.directory
            .rename(new, &parent, path.file_name().unwrap_or_default())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.directory.create_unchanging(name)?;
        if let Some(mode) = self.shared {
            file.set_permissions(Permissions::from_mode(mode & 0o444))?;
        }
        file.write_all(bytes)
    }
}
