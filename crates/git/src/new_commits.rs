//! The commits of a batch, made in memory and written as loose objects, or as one pack if there are many.
//!
//! Each loose object is a file, and a sync. For a directory with many tasks, each commit in a pack after the first
//! adds only what differs from the tree of the one before. The cost depends on the depth of the paths and the size of
//! their directories, not on the repository.

use super::commit::{Built, IsEnough, NewObjects, PlannedCommit, Transaction, directory_taken};
use super::journal::MovedPath;
use super::layout::UNSHARED;
use super::listing::{Listing, TREE, ordered};
use super::loose::LooseObjects;
use super::new_pack::NewPack;
use super::pack::Pack;
use super::side_work::SideWork;
use super::{Error, Objects, digest};
use crate::error::libgit2;
use git2::{ObjectType, Oid};
use orch_base::Digest;
use orch_files::io_error;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// How many commits are written as a pack. For fewer, the files of a pack are not worth their place: git looks for an
/// object in every pack.
const FEWEST: usize = 10;

/// What becomes of the new objects of a batch.
enum Sink<'s> {
    Packed(Pack),
    Loose(LooseObjects<'s>),
}

/// The new objects of a batch.
struct BatchObjects<'s> {
    objects: &'s Objects,
    sink: Sink<'s>,
    /// The present content of each changed directory by its path, with its id.
    directories: HashMap<String, (Digest, Arc<Listing>)>,
}

/// What becomes of the entries of one directory, by their names.
#[derive(Default)]
struct Edits<'p> {
    /// Files: the mode and the blob, or `None` for one that is removed.
    files: BTreeMap<&'p str, Option<(u32, Digest)>>,
    /// What is moved, a file or a directory: its new entry, or `None` where it was.
    moved: BTreeMap<&'p str, Option<(u32, Digest)>>,
    below: BTreeMap<&'p str, Self>,
}

impl<'p> Edits<'p> {
    fn put(&mut self, path: &'p str, file: Option<(u32, Digest)>) {
        match path.split_once('/') {
            Some((first, rest)) => self.below.entry(first).or_default().put(rest, file),
            None => drop(self.files.insert(path, file)),
        }
    }

    fn place(&mut self, path: &'p str, entry: Option<(u32, Digest)>) {
        match path.split_once('/') {
            Some((first, rest)) => self.below.entry(first).or_default().place(rest, entry),
            None => drop(self.moved.insert(path, entry)),
        }
    }
}

impl Transaction<'_> {
    /// Whether these commits are written as a pack. git writes signed commits, the files of a pack get no permissions that
    /// a shared repository needs, and libgit2 knows where objects are if the environment says it.
    pub(super) fn packs(&self, planned: &[PlannedCommit], signs: bool) -> Result<bool, Error> {
        let is_large = planned.len() >= FEWEST && planned.iter().all(|one| one.moves.is_empty());
        let parts = self.parts;
        let has_head = self.head().commit.is_some();
        Ok(is_large
            && !signs
            && has_head
            && !parts.objects.environment.moves_objects
            && parts.layout.sharing()? == UNSHARED)
    }

    /// Builds the chain of commits on the tree of HEAD.
    pub(super) fn build(
        &self,
        planned: &[PlannedCommit],
        signs: bool,
        is_enough: &IsEnough<'_>,
    ) -> Result<Built, Error> {
        match self.packs(planned, signs)? {
            true => self.build_pack(planned, is_enough),
            false => self.build_loose(planned, signs, is_enough),
        }
    }

    /// Builds the commits as one pack, whose files are synced before they get their names.
    pub(super) fn build_pack(
        &self,
        planned: &[PlannedCommit],
        is_enough: &IsEnough<'_>,
    ) -> Result<Built, Error> {
        let pack = Sink::Packed(Pack::new(self.parts.objects.format()));
        self.build_into(
            BatchObjects::new(self.parts.objects, pack),
            planned,
            false,
            is_enough,
        )
    }

    /// Builds the commits as one file for each object.
    pub(super) fn build_loose(
        &self,
        planned: &[PlannedCommit],
        signs: bool,
        is_enough: &IsEnough<'_>,
    ) -> Result<Built, Error> {
        let loose = Sink::Loose(LooseObjects::new(self.parts.layout)?);
        self.build_into(
            BatchObjects::new(self.parts.objects, loose),
            planned,
            signs,
            is_enough,
        )
    }

    fn build_into(
        &self,
        mut objects: BatchObjects<'_>,
        planned: &[PlannedCommit],
        signs: bool,
        is_enough: &IsEnough<'_>,
    ) -> Result<Built, Error> {
        let parts = self.parts;
        let mut parent = self.head().commit;
        let mut tree = parent
            .map(|parent| parts.objects.tree_of(parent))
            .transpose()?
            .map(digest);
        let mut commits = Vec::new();
        for one in planned {
            if !commits.is_empty() && is_enough(commits.len()) {
                break;
            }
            for moved in &one.moves {
                tree = Some(objects.moved(tree.ok_or_else(Error::moved)?, moved)?);
            }
            let after = objects.edited(tree, one)?;
            let commit = match signs {
                true => self.signed(&mut objects, after, parent, &one.message)?,
                false => {
                    let text = self.text_of(after, parent, &one.message);
                    let commit = parts.objects.format().commit(&text);
                    objects.add(ObjectType::Commit, commit, &text)?;
                    parts.objects.oid(commit)?
                }
            };
            // Neither is read again.
            parts
                .objects
                .trees_of_commits
                .borrow_mut()
                .put(commit, parts.objects.oid(after)?, 1);
            commits.push(commit);
            (parent, tree) = (Some(digest(commit)), Some(after));
        }
        let objects = objects.finish()?;
        // Everyone else finds it, too; the library looks for a new pack when it misses an object.
        commits
            .last()
            .map(|last| parts.objects.repo.find_commit(*last))
            .transpose()
            .map_err(libgit2)?;
        Ok(Built { commits, objects })
    }

    /// A commit that git signs and writes.
    fn signed(
        &self,
        objects: &mut BatchObjects<'_>,
        tree: Digest,
        parent: Option<Digest>,
        message: &str,
    ) -> Result<Oid, Error> {
        let parts = self.parts;
        let mut commit = parts.identity.signed_commit(message, tree, parent)?;
        if parts.objects.remove_if_torn(commit)? {
            commit = parts.identity.signed_commit(message, tree, parent)?;
        }
        if let Sink::Loose(loose) = &mut objects.sink {
            loose.sync_other(commit);
        }
        Ok(commit)
    }

    /// The content of a commit object.
    fn text_of(&self, tree: Digest, parent: Option<Digest>, message: &str) -> Vec<u8> {
        let mut text = format!("tree {tree}\n").into_bytes();
        text.extend(
            parent
                .iter()
                .flat_map(|parent| format!("parent {parent}\n").into_bytes()),
        );
        for (role, person) in [("author", &self.author), ("committer", &self.committer)] {
            let when = person.when();
            let minutes = when.offset_minutes().unsigned_abs();
            let sign = when.sign();
            text.extend(format!("{role} ").bytes());
            text.extend([person.name_bytes(), b" <", person.email_bytes()].concat());
            text.extend(
                format!(
                    "> {} {sign}{:02}{:02}\n",
                    when.seconds(),
                    minutes / 60,
                    minutes % 60
                )
                .bytes(),
            );
        }
        text.push(b'\n');
        text.extend(message.bytes());
        text
    }
}

impl<'s> BatchObjects<'s> {
    fn new(objects: &'s Objects, sink: Sink<'s>) -> Self {
        Self {
            objects,
            sink,
            directories: HashMap::new(),
        }
    }

    /// Writes what is not written yet.
    fn finish(self) -> Result<NewObjects, Error> {
        let objects = self.objects;
        match self.sink {
            Sink::Loose(loose) => Ok(NewObjects {
                added: loose.added(),
                syncs: loose.finish(),
                pack: None,
            }),
            Sink::Packed(pack) => {
                let (objects, directory) = (objects.directory(), objects.directory().join("pack"));
                let written = pack
                    .finish()
                    .and_then(|files| NewPack::write(&objects, &directory, &files));
                let pack = Some(written.map_err(|source| unpacked(self.objects, source))?);
                let syncs = SideWork::default();
                syncs.add(directory);
                let added = Vec::new();
                Ok(NewObjects { syncs, added, pack })
            }
        }
    }

    fn add(&mut self, kind: ObjectType, id: Digest, content: &[u8]) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Packed(pack) => pack
                .add(kind, id, content)
                .map_err(|source| unpacked(self.objects, source)),
            Sink::Loose(loose) => loose.add(kind, id, content),
        }
    }

    /// Adds a directory, of which there may be a version before.
    fn add_tree(
        &mut self,
        id: Digest,
        tree: &Arc<Listing>,
        before: Option<Digest>,
    ) -> Result<(), Error> {
        match &mut self.sink {
            Sink::Packed(pack) => pack
                .add_tree(id, tree, before)
                .map_err(|source| unpacked(self.objects, source)),
            Sink::Loose(loose) => {
                loose.add(ObjectType::Tree, id, tree.bytes())?;
                self.objects.know_listing(self.objects.oid(id)?, tree);
                Ok(())
            }
        }
    }

    /// The tree with a file or a directory at another path.
    fn moved(&mut self, tree: Digest, moved: &MovedPath) -> Result<Digest, Error> {
        let mut held = None;
        let mut inner = Some(tree);
        let mut at = String::new();
        let mut rest = moved.from.as_str();
        while let Some(id) = inner.take() {
            let (name, below) = rest
                .split_once('/')
                .map_or((rest, None), |(name, below)| (name, Some(below)));
            let listing = self.listed(&at, Some(id))?;
            let entry = listing
                .get(name.as_bytes())
                .map(|entry| (entry.mode, digest(entry.id)));
            match below {
                None => held = entry,
                Some(below) => {
                    inner = entry.filter(|(mode, _)| *mode == TREE).map(|(_, id)| id);
                    at = if at.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{at}/{name}")
                    };
                    rest = below;
                }
            }
        }
        let mut edits = Edits::default();
        edits.place(moved.from.as_str(), None);
        edits.place(moved.to.as_str(), Some(held.ok_or_else(Error::moved)?));
        self.directory("", Some(tree), &edits)?
            .ok_or_else(Error::moved)
    }

    /// What a directory contains that has this id, or is new.
    fn listed(&self, path: &str, tree: Option<Digest>) -> Result<Arc<Listing>, Error> {
        match (self.directories.get(path), tree) {
            (Some((id, held)), tree) if Some(*id) == tree => Ok(Arc::clone(held)),
            (_, Some(tree)) => self.objects.listing(self.objects.oid(tree)?),
            (_, None) => Ok(Arc::new(
                Listing::parse(Vec::new(), self.objects.format()).ok_or_else(Error::moved)?,
            )),
        }
    }

    /// The tree after a commit.
    fn edited(&mut self, tree: Option<Digest>, planned: &PlannedCommit) -> Result<Digest, Error> {
        let mut edits = Edits::default();
        for path in &planned.removes {
            edits.put(path.as_str(), None);
        }
        for write in &planned.writes {
            let blob = self.objects.format().blob(write.bytes());
            self.add(ObjectType::Blob, blob, write.bytes())?;
            edits.put(write.path().as_str(), Some((write.mode().into(), blob)));
        }
        match self.directory("", tree, &edits)? {
            Some(tree) => Ok(tree),
            None => {
                let empty = self.objects.format().tree(b"");
                self.add(ObjectType::Tree, empty, b"")?;
                Ok(empty)
            }
        }
    }

    /// The directory at a path after these edits; `None` if nothing is in it.
    fn directory(
        &mut self,
        path: &str,
        tree: Option<Digest>,
        edits: &Edits<'_>,
    ) -> Result<Option<Digest>, Error> {
        let format = self.objects.format();
        let before = self.listed(path, tree)?;
        self.directories.remove(path);
        let mut changed: BTreeMap<&str, Option<(u32, Digest)>> = edits.moved.clone();
        for (name, file) in &edits.files {
            let is_tree = before
                .get(name.as_bytes())
                .is_some_and(|entry| entry.is_tree());
            match (file, is_tree) {
                (Some(_), true) => return Err(directory_taken()),
                // What is to be removed is a file.
                (None, true) => {}
                (file, false) => drop(changed.insert(name, *file)),
            }
        }
        for (name, below) in &edits.below {
            let held = before.get(name.as_bytes());
            if held.as_ref().is_some_and(|entry| !entry.is_tree()) {
                if below.adds() {
                    return Err(directory_taken());
                }
                continue;
            }
            let inner = held.map(|entry| digest(entry.id));
            let at = if path.is_empty() {
                (*name).to_owned()
            } else {
                format!("{path}/{name}")
            };
            let after = self.directory(&at, inner, below)?;
            changed.insert(name, after.map(|tree| (TREE, tree)));
        }
        let after = Arc::new(edited(&before, &changed).ok_or_else(Error::moved)?);
        let is_empty = after.bytes().is_empty();
        if is_empty && tree.is_none() {
            return Ok(None);
        }
        let id = format.tree(after.bytes());
        if !is_empty && Some(id) != tree {
            self.add_tree(id, &after, tree)?;
        }
        self.directories.insert(path.to_owned(), (id, after));
        Ok((!is_empty).then_some(id))
    }
}

fn unpacked(objects: &Objects, source: io::Error) -> Error {
    io_error(&objects.directory().join("pack"), source)
}

impl Edits<'_> {
    /// Whether a file is written here or below.
    fn adds(&self) -> bool {
        let own = self
            .files
            .values()
            .chain(self.moved.values())
            .any(Option::is_some);
        own || self.below.values().any(Edits::adds)
    }
}

/// A directory after these changes. What stays is copied, so that it keeps modes that git no longer writes. `None` if a
/// name cannot be that of an entry.
fn edited(before: &Listing, changed: &BTreeMap<&str, Option<(u32, Digest)>>) -> Option<Listing> {
    let mut put = Vec::new();
    for (name, held) in changed {
        let Some((mode, id)) = held else { continue };
        let name = name.as_bytes();
        let is_tree = *mode == TREE;
        let at = before.place_for(name, is_tree);
        let bytes = [format!("{mode:o} ").as_bytes(), name, b"\0", id.as_bytes()].concat();
        put.push((at..at, (name, is_tree), bytes));
    }
    // git does not sort several new entries in one place by name.
    put.sort_by(|(_, one, _), (_, other, _)| ordered(one.0, one.1, other.0, other.1));
    let gone = changed
        .keys()
        .filter_map(|name| before.place_of(name.as_bytes()));
    let mut cuts: Vec<(Range<usize>, Vec<u8>)> =
        put.into_iter().map(|(at, _, bytes)| (at, bytes)).collect();
    cuts.extend(gone.map(|place| (place, Vec::new())));
    cuts.sort_by_key(|(place, _)| place.start);
    before.spliced(cuts)
}
