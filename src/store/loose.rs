//! New objects as files, one for each, as git writes them; see "object storage format" in git's documentation.

use super::deflate::Deflate;
use super::syncs::Syncs;
use super::{Error, Store, durable};
use crate::base::Digest;
use crate::scan::{Directory, io_error};
use git2::{ObjectType, OdbLookupFlags, Oid};
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// How the names of the files begin while they are written: `git gc` removes those that a killed process left.
const NEW_OBJECT: &str = "tmp_obj_orch";

/// New objects, of which the files are synced while others are made.
pub(super) struct LooseObjects<'s> {
    store: &'s Store,
    /// The directory of the objects.
    directory: PathBuf,
    deflate: Deflate,
    syncs: Syncs,
    /// The directories of the files.
    parents: BTreeSet<PathBuf>,
    /// Whether libgit2 writes them, because it knows what a shared repository permits.
    is_shared: bool,
}

impl<'s> LooseObjects<'s> {
    pub(super) fn new(store: &'s Store) -> Result<Self, Error> {
        Ok(Self {
            store,
            directory: store.repo.commondir().join("objects"),
            deflate: Deflate::new(),
            syncs: Syncs::default(),
            parents: BTreeSet::new(),
            is_shared: store.sharing()? != 0o700,
        })
    }

    /// Writes an object, unless the repository has it. A file of it that a power failure tore is replaced. Returns an
    /// error if it cannot be written.
    pub(super) fn add(&mut self, kind: ObjectType, id: Digest, content: &[u8]) -> Result<(), Error> {
        let oid = self.store.oid(id)?;
        self.store.remove_if_torn(oid)?;
        let objects = self.store.repo.odb()?;
        if self.is_shared || objects.exists_ext(oid, OdbLookupFlags::NO_REFRESH) {
            // It also renews the time of an object that is there, so that `git gc` does not take it for an old one.
            objects.write(kind, content)?;
        } else {
            let path = self.store.loose_file(oid);
            self.write(&path, kind, content).map_err(|source| io_error(&path, source))?;
        }
        self.sync(oid);
        Ok(())
    }

    /// Begins to sync the file of an object that is written. One that has no file is in a pack, which git has synced.
    pub(super) fn sync(&mut self, object: Oid) {
        let path = self.store.loose_file(object);
        self.parents.insert(durable::parent(&path).to_owned());
        self.syncs.add(path);
    }

    /// What remains to be waited for, when all objects are written. git does not sync loose objects, but a power cut must
    /// not lose a reported transition.
    pub(super) fn finish(self) -> Syncs {
        self.parents.into_iter().chain([self.directory]).for_each(|place| self.syncs.add(place));
        self.syncs
    }

    fn write(&mut self, path: &Path, kind: ObjectType, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let head = format!("{} {}\0", kind.str(), content.len());
        self.deflate.append(&[head.as_bytes(), content].concat(), &mut bytes)?;
        // File systems keep what is made in one directory together, so that a disk writes it together.
        let objects = Directory::open(&self.directory, &self.directory)?;
        let parent = objects.make_child(durable::parent(path).file_name().unwrap_or_default())?;
        let new = format!("{NEW_OBJECT}-{}", std::process::id());
        objects.remove_if_there(&new)?;
        let written = objects.create_unchanging(&new).and_then(|mut file| file.write_all(&bytes));
        let placed =
            written.and_then(|()| objects.rename(&new, &parent, path.file_name().unwrap_or_default()));
        placed.inspect_err(|_| {
            // `git gc` removes one that stays.
            let _ = objects.remove(&new);
        })
    }
}
