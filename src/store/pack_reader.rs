//! Reads objects from packs; see gitformat-pack(5).
//!
//! libgit2 sets up a decompressor for each object, and again for each that it rests on, and compares an object with its id
//! by a hash function that also finds texts made to collide, which takes several times as long as the processor does. git
//! has looked for these when it received the object. Where a command reads many objects, both took half of its time.
//!
//! What is not found here, or is not whole, is left to libgit2, which looks in all places, and whose errors users see. So
//! nothing depends on whether an object was read here, but the time.

use super::deflate::Inflate;
use super::file_bytes::FileBytes;
use super::pack::{BLOB, COMMIT, DELTA, DELTA_OF_ID, TREE};
use super::recent::Recent;
use super::{delta, varint};
use crate::base::ObjectFormat;
use git2::ObjectType;
use std::cmp::{Ordering, Reverse};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// After how many objects that are not in the packs it knows a reader looks for packs: at first, so that a command about one
/// task opens none, and at most. Each time it takes twice as many, because they may have no pack.
const FIRST_MISSES: usize = 64;
const MOST_MISSES: usize = 4096;
/// After how many objects the memory into which packs are mapped is given back: each may have taken sixteen pages.
const MOST_MAPPED: usize = 1024;
/// How many packs are searched for each object, those with the most objects. git gathers packs when there are fifty.
const MOST_PACKS: usize = 64;
/// An object is left to libgit2 if it has more bytes, or what differs from those that it rests on.
const MOST_BYTES: usize = 16 << 20;
/// How many bytes a generation of the cache of bases holds, and at most, if they are large.
const RECENT_BASES: usize = 1 << 20;
const MOST_RECENT_BASES: usize = 8 << 20;
/// git rests no object on so many others.
const LONGEST_CHAIN: usize = 4096;
/// How many bytes the counts by first byte have, at the beginning of an index of a pack.
const COUNTS: usize = 256 * 4;
/// How an index of a pack begins.
const INDEX_BEGIN: &[u8] = b"\xfftOc\0\0\0\x02";
/// How a pack begins.
const PACK_BEGIN: &[u8] = b"PACK\0\0\0\x02";

/// The packs that a reader found last, for all stores of a repository.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownPacks(Arc<Mutex<Arc<Vec<OpenPack>>>>);

/// Reads objects from packs.
pub(super) struct PackReader {
    known: KnownPacks,
    packs: Arc<Vec<OpenPack>>,
    inflate: Inflate,
    /// Objects on which others rest, by the number of the pack and the offset.
    bases: Recent<(usize, usize), (ObjectType, Arc<Vec<u8>>)>,
    /// How many objects were not in the packs since these were looked for, and after how many they are again.
    missed: usize,
    most_missed: usize,
    /// How often they were looked for.
    looked: usize,
    /// How many objects were read since memory was given back.
    mapped: usize,
}

/// A pack and its index.
#[derive(Debug)]
struct OpenPack {
    bytes: FileBytes,
    index: FileBytes,
    /// How many objects it has.
    many: usize,
    format: ObjectFormat,
}

/// An object as a pack has it.
pub(super) struct PackedEntry<'p> {
    pub rests_on: Base<'p>,
    /// How many bytes the stream has when it is decompressed.
    pub size: usize,
    /// What begins with the compressed content, or delta.
    pub stream: &'p [u8],
}

/// What an object of a pack rests on.
pub(super) enum Base<'p> {
    /// It is an object of this kind as a whole.
    Nothing(ObjectType),
    /// It is what differs from the object at this offset.
    Offset(usize),
    /// It is what differs from the object with this id.
    Object(&'p [u8]),
}

impl KnownPacks {
    /// Packs that are newer than those of a reader: those that another one found, or else the ones in these directories of
    /// objects now.
    fn newer(
        &self,
        than: &Arc<Vec<OpenPack>>,
        directories: &[PathBuf],
        format: ObjectFormat,
    ) -> Arc<Vec<OpenPack>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&known, than) || known.is_empty() {
            *known = Arc::new(OpenPack::all_in(directories, format));
        }
        Arc::clone(&known)
    }
}

impl PackReader {
    /// A reader that has not looked for packs.
    pub(super) fn new(known: KnownPacks) -> Self {
        Self {
            known,
            packs: Arc::default(),
            inflate: Inflate::new(),
            bases: Recent::between(RECENT_BASES, MOST_RECENT_BASES),
            missed: 0,
            most_missed: FIRST_MISSES,
            looked: 0,
            mapped: 0,
        }
    }

    /// The packs that were found last, for another reader.
    pub(super) fn known(&self) -> KnownPacks {
        self.known.clone()
    }

    /// The kind and the content of the object with this id; `None` if it is not in a pack, or cannot be read. It has not been
    /// compared with the id. `directories` are asked for when packs are looked for.
    pub(super) fn read(
        &mut self,
        id: &[u8],
        format: ObjectFormat,
        directories: impl FnOnce() -> Vec<PathBuf>,
    ) -> Option<(ObjectType, Vec<u8>)> {
        let found = self.find(id).or_else(|| {
            self.missed += 1;
            if self.missed < self.most_missed {
                return None;
            }
            self.missed = 0;
            self.looked += 1;
            self.most_missed = (2 * self.most_missed).min(MOST_MISSES);
            self.packs = self.known.newer(&self.packs, &directories(), format);
            self.bases = Recent::between(RECENT_BASES, MOST_RECENT_BASES);
            self.find(id)
        });
        let (number, offset) = found?;
        self.mapped += 1;
        if self.mapped == MOST_MAPPED {
            self.mapped = 0;
            self.packs.iter().for_each(|pack| pack.bytes.give_back());
        }
        self.read_at(number, offset)
    }

    /// The number of the pack that has the object with this id, and where it begins there.
    fn find(&self, id: &[u8]) -> Option<(usize, usize)> {
        let mut packs = self.packs.iter().enumerate();
        packs.find_map(|(number, pack)| Some((number, pack.offset_of(id)?)))
    }

    fn read_at(&mut self, number: usize, mut offset: usize) -> Option<(ObjectType, Vec<u8>)> {
        let pack = &self.packs[number];
        let (mut deltas, mut left) = (Vec::new(), MOST_BYTES);
        let (kind, mut content) = loop {
            if let Some(known) = self.bases.get(&(number, offset)) {
                break known;
            }
            let entry = PackedEntry::decode(pack.bytes.get(offset..)?, offset, pack.format)?;
            left = left.checked_sub(entry.size).filter(|_| deltas.len() < LONGEST_CHAIN)?;
            let stream = self.inflate.whole(entry.stream, entry.size).ok()?;
            let base = match entry.rests_on {
                Base::Nothing(kind) => {
                    let whole = (kind, Arc::new(stream));
                    if !deltas.is_empty() {
                        self.bases.put((number, offset), whole.clone(), whole.1.len());
                    }
                    break whole;
                }
                Base::Offset(base) => base,
                Base::Object(id) => pack.offset_of(id)?,
            };
            deltas.push((offset, stream));
            offset = base;
        };
        while let Some((offset, delta)) = deltas.pop() {
            content = Arc::new(delta::applied(&content, &delta, MOST_BYTES)?);
            if !deltas.is_empty() {
                self.bases.put((number, offset), (kind, Arc::clone(&content)), content.len());
            }
        }
        Some((kind, Arc::unwrap_or_clone(content)))
    }
}

#[cfg(test)]
impl PackReader {
    /// How often this reader has looked for packs.
    pub(super) fn looked(&self) -> usize {
        self.looked
    }
}

impl OpenPack {
    /// The packs in directories of objects, without those that cannot be opened.
    fn all_in(directories: &[PathBuf], format: ObjectFormat) -> Vec<Self> {
        let files = directories.iter().filter_map(|directory| fs::read_dir(directory.join("pack")).ok());
        let opened = |file: io::Result<fs::DirEntry>| Self::open(&file.ok()?.path(), format).ok()?;
        let mut packs: Vec<Self> = files.flatten().filter_map(opened).collect();
        packs.sort_by_key(|pack| Reverse(pack.many));
        packs.truncate(MOST_PACKS);
        packs
    }

    /// Opens the pack with this index; `None` if the file is no such index, or the pack is not what it says. Returns an
    /// error if either cannot be opened.
    fn open(path: &Path, format: ObjectFormat) -> io::Result<Option<Self>> {
        if path.extension().is_none_or(|extension| extension != "idx") {
            return Ok(None);
        }
        let index = FileBytes::map_unchanging(&File::open(path)?)?;
        let bytes = FileBytes::map_unchanging(&File::open(path.with_extension("pack"))?)?;
        let many = number(&index, INDEX_BEGIN.len() + COUNTS - 4).filter(|_| index.starts_with(INDEX_BEGIN));
        let is_of = |many: usize| {
            let least = INDEX_BEGIN.len() + COUNTS + many * (format.length() + 8) + 2 * format.length();
            index.len() >= least && bytes.starts_with(PACK_BEGIN) && number(&bytes, 8) == Some(many)
        };
        Ok(many.filter(|many| is_of(*many)).map(|many| Self { bytes, index, many, format }))
    }

    /// Where the object with this id begins.
    fn offset_of(&self, id: &[u8]) -> Option<usize> {
        let length = self.format.length();
        let count = |first: u8| number(&self.index, INDEX_BEGIN.len() + 4 * usize::from(first));
        let first = *id.first()?;
        let (mut begin, mut end) = (first.checked_sub(1).map_or(Some(0), count)?, count(first)?);
        let ids = INDEX_BEGIN.len() + COUNTS;
        let at = loop {
            let middle = begin.midpoint(end);
            let place = ids + middle * length;
            match self.index.get(place..place + length).filter(|_| begin < end)?.cmp(id) {
                Ordering::Less => begin = middle + 1,
                Ordering::Greater => end = middle,
                Ordering::Equal => break middle,
            }
        };
        let offsets = ids + self.many * (length + 4);
        let offset = number(&self.index, offsets + 4 * at)?;
        // Those beyond two gigabytes are in a table of their own.
        match offset.checked_sub(1 << 31) {
            None => Some(offset),
            Some(at) => {
                let place = offsets + 4 * self.many + 8 * at;
                let bytes = self.index.get(place..)?.first_chunk()?;
                usize::try_from(u64::from_be_bytes(*bytes)).ok()
            }
        }
    }
}

/// The number of four bytes at a place.
fn number(bytes: &[u8], place: usize) -> Option<usize> {
    let bytes = bytes.get(place..)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*bytes)).ok()
}

impl<'p> PackedEntry<'p> {
    /// Decodes the object that begins with these bytes, at an offset of a pack; `None` if none can begin so.
    pub(super) fn decode(bytes: &'p [u8], offset: usize, format: ObjectFormat) -> Option<Self> {
        let (first, mut stream) = bytes.split_first()?;
        let mut size = usize::from(first & 0x0f);
        if first & 0x80 != 0 {
            let (rest, after) = delta::decode_size(stream)?;
            size |= rest.checked_mul(0x10)?;
            stream = after;
        }
        let rests_on = match first >> 4 & 7 {
            COMMIT => Base::Nothing(ObjectType::Commit),
            TREE => Base::Nothing(ObjectType::Tree),
            BLOB => Base::Nothing(ObjectType::Blob),
            DELTA => {
                let (distance, after) = varint::decode(stream)?;
                stream = after;
                Base::Offset(offset.checked_sub(distance)?)
            }
            DELTA_OF_ID => {
                let (id, after) = stream.split_at_checked(format.length())?;
                stream = after;
                Base::Object(id)
            }
            _ => return None,
        };
        Some(Self { rests_on, size, stream })
    }
}
