//! Reads blobs and trees from packs, where a command reads many.
//!
//! libgit2 sets up a decompressor for each object, and again for each that it rests on. It compares each with its id by a
//! hash function that also finds texts made to collide, and takes several times as long as the processor does; git, which
//! looks for these when it receives objects, compares none that it reads. What is read here is compared by the processor.
//!
//! What is not found here, or is not whole, is left to libgit2, which looks in all places, and whose errors users see.

use super::deflate::Inflate;
use super::delta;
use super::open_pack::OpenPack;
use super::pack_entry::{Base, PackEntry};
use super::recent::Recent;
use crate::base::{ObjectFormat, locked};
use git2::ObjectType;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// After how many misses a reader looks for packs. A command about one task has fewer, so that it opens none.
const FIRST_MISSES: usize = 64;
/// The number doubles up to this one while the looks are in vain: the objects may have no pack.
const MOST_MISSES: usize = 4096;
/// An object is left to libgit2 if it has more bytes, or what differs from those that it rests on.
const MOST_BYTES: usize = 16 << 20;
/// Likewise, if all versions that have to be made for it have more.
const MOST_MADE: usize = 16 * MOST_BYTES;
/// Likewise, if it rests on more others. git lets it rest on fifty, unless it is told otherwise.
const LONGEST_CHAIN: usize = 256;
/// How many bytes a generation of the cache of bases holds, and at most, if they are large.
const RECENT_BASES: usize = 1 << 20;
const MOST_RECENT_BASES: usize = 8 << 20;
/// Linux maps so many bytes around one that is read.
const AROUND: usize = 64 << 10;
/// After how many mapped bytes the memory is given back.
const MOST_MAPPED: usize = 64 << 20;

/// The packs that a reader found last, for all stores of a repository: what each of them mapped would count as often as
/// memory in use.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedPacks(Arc<Mutex<Arc<Vec<OpenPack>>>>);

/// The kind and the content of an object on which others rest.
type KnownBase = (ObjectType, Arc<Vec<u8>>);

/// Reads objects from packs.
pub(super) struct PackReader {
    shared: SharedPacks,
    format: ObjectFormat,
    packs: Arc<Vec<OpenPack>>,
    /// The number of the pack in which an object was found last.
    last: usize,
    inflate: Inflate,
    /// Objects on which others rest, by the number of the pack and the offset.
    bases: Recent<(usize, usize), KnownBase>,
    /// How many objects were not in the packs since these were looked for, and after how many they are again.
    missed: usize,
    look_after: usize,
    /// At most how many bytes were mapped since memory was given back.
    mapped: usize,
}

impl SharedPacks {
    /// The packs that were found last.
    fn found(&self) -> Arc<Vec<OpenPack>> {
        Arc::clone(&locked(&self.0))
    }

    /// Packs that are newer than those of a reader: those that another one found, or else the ones in these directories of
    /// objects now.
    fn newer(
        &self,
        than: &Arc<Vec<OpenPack>>,
        directories: &[PathBuf],
        format: ObjectFormat,
    ) -> Arc<Vec<OpenPack>> {
        let mut found = locked(&self.0);
        if Arc::ptr_eq(&found, than) {
            *found = Arc::new(OpenPack::all_in(directories, format));
        }
        Arc::clone(&found)
    }
}

impl PackReader {
    /// A reader of objects with ids of this format, which knows the packs that another one has found.
    pub(super) fn new(shared: SharedPacks, format: ObjectFormat) -> Self {
        Self {
            packs: shared.found(),
            shared,
            format,
            last: 0,
            inflate: Inflate::default(),
            bases: Recent::between(RECENT_BASES, MOST_RECENT_BASES),
            missed: 0,
            look_after: FIRST_MISSES,
            mapped: 0,
        }
    }

    /// The packs that were found last, for another reader.
    pub(super) fn shared(&self) -> SharedPacks {
        self.shared.clone()
    }

    /// The kind and the content of the object with this id; `None` if it is not in a pack, or cannot be read. It has not been
    /// compared with the id. The directories of objects are asked for when packs are looked for; `None` if they are unknown.
    pub(super) fn read(
        &mut self,
        id: &[u8],
        directories: impl FnOnce() -> Option<Vec<PathBuf>>,
    ) -> Option<(ObjectType, Vec<u8>)> {
        let found = self.find(id).or_else(|| {
            self.missed += 1;
            if self.missed < self.look_after {
                return None;
            }
            self.missed = 0;
            self.look_after = (2 * self.look_after).min(MOST_MISSES);
            self.packs = self.shared.newer(&self.packs, &directories()?, self.format);
            self.bases = Recent::between(RECENT_BASES, MOST_RECENT_BASES);
            let found = self.find(id)?;
            self.look_after = FIRST_MISSES;
            Some(found)
        });
        let (pack, offset) = found?;
        self.last = pack;
        self.read_at(pack, offset)
    }

    /// The number of the pack that has the object with this id, and where it begins there.
    fn find(&self, id: &[u8]) -> Option<(usize, usize)> {
        let in_pack = |pack: usize| Some((pack, self.packs.get(pack)?.offset_of(id)?));
        in_pack(self.last).or_else(|| (0..self.packs.len()).find_map(in_pack))
    }

    fn read_at(&mut self, number: usize, mut offset: usize) -> Option<(ObjectType, Vec<u8>)> {
        if self.mapped > MOST_MAPPED {
            self.mapped = 0;
            self.packs.iter().for_each(OpenPack::give_back);
        }
        let pack = &self.packs[number];
        let (mut deltas, mut left) = (Vec::new(), MOST_BYTES);
        let (kind, mut content) = loop {
            if let Some(known) = self.bases.get(&(number, offset)) {
                break known;
            }
            let entry = PackEntry::decode(pack.bytes_from(offset)?, offset, self.format)?;
            left = left
                .checked_sub(entry.size)
                .filter(|_| deltas.len() < LONGEST_CHAIN)?;
            self.mapped += AROUND + entry.size;
            let stream = self.inflate.whole(entry.stream, entry.size)?;
            let base = match entry.base {
                Base::Nothing(kind) => {
                    let whole = (kind, Arc::new(stream));
                    if !deltas.is_empty() {
                        self.bases
                            .put((number, offset), whole.clone(), whole.1.len());
                    }
                    break whole;
                }
                Base::Offset(base) => base,
                Base::Object(id) => pack.offset_of(id)?,
            };
            deltas.push((offset, stream));
            offset = base;
        };
        let mut left = MOST_MADE;
        while let Some((offset, delta)) = deltas.pop() {
            content = Arc::new(delta::applied(&content, &delta, left.min(MOST_BYTES))?);
            left -= content.len();
            if !deltas.is_empty() {
                self.bases.put(
                    (number, offset),
                    (kind, Arc::clone(&content)),
                    content.len(),
                );
            }
        }
        Some((kind, Arc::unwrap_or_clone(content)))
    }
}
