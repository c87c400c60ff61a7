//! A pack with new objects, and its index; see gitformat-pack(5).

use super::deflate::Deflate;
use super::delta;
use super::listing::Listing;
use super::varint;
use flate2::Crc;
use git2::ObjectType;
use orch_base::{Digest, ObjectFormat};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// How a pack begins; the number of its objects follows.
const PACK_BEGIN: &[u8] = b"PACK\0\0\0\x02";
/// How an index of a pack begins.
const INDEX_BEGIN: &[u8] = b"\xfftOc\0\0\0\x02";
/// The kinds of objects that are written as a whole.
const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;
/// The kind of an object that is written as what differs from an object before it, of which the offset is known.
const DELTA: u8 = 6;
/// How many versions of one tree follow each other until one is written as a whole again.
const LONGEST: usize = 128;
/// Offsets from here on would need a table of their own in the index.
const LARGE: usize = 1 << 31;

/// A pack in memory, to which objects are added.
pub(super) struct Pack {
    format: ObjectFormat,
    bytes: Vec<u8>,
    objects: BTreeMap<Digest, Packed>,
    /// The last versions of trees, by the id of the newest. A version that comes back begins again.
    versions: HashMap<Digest, TreeVersions>,
    deflate: Deflate,
}

/// An object of the pack.
struct Packed {
    offset: usize,
    checksum: u32,
}

/// The versions of one tree on which later ones may rest.
///
/// The first of them is written as a whole, and the one with the number `n` as what differs from the one whose number is
/// `n` without its lowest bit. So to read the newest one takes as many others as its number has bits that are set. If
/// each rested on the one before, as many would be read as there are.
#[derive(Default)]
struct TreeVersions {
    /// The number of the newest.
    newest: usize,
    /// Those that the newest one rests on, and itself, with their numbers.
    read: Vec<(usize, TreeVersion)>,
}

/// A version of a tree: where it begins in the pack, and what it contains.
struct TreeVersion {
    offset: usize,
    content: Arc<Listing>,
}

impl TreeVersions {
    /// The version that the next one rests on; `None` if that is to be written as a whole.
    fn base(&mut self) -> Option<&TreeVersion> {
        let next = self.newest + 1;
        let number = next & (next - 1);
        self.read.retain(|(other, _)| *other <= number);
        self.read
            .last()
            .map(|(_, base)| base)
            .filter(|_| next < LONGEST)
    }

    /// Puts the next version after the others, or in place of all of them.
    fn push(&mut self, version: TreeVersion, is_whole: bool) {
        if is_whole {
            self.read.clear();
        }
        self.newest = if is_whole { 0 } else { self.newest + 1 };
        self.read.push((self.newest, version));
    }
}

/// The bytes of both files, and the checksum of the pack, which names them.
pub(super) struct PackFiles {
    pub name: Digest,
    pub pack: Vec<u8>,
    pub index: Vec<u8>,
}

impl Pack {
    /// A pack without objects, whose ids have this format.
    pub(super) fn new(format: ObjectFormat) -> Self {
        let bytes = [PACK_BEGIN, &[0; 4]].concat();
        let objects = BTreeMap::new();
        Self {
            format,
            bytes,
            objects,
            versions: HashMap::new(),
            deflate: Deflate::new(),
        }
    }

    /// Adds an object, unless the pack has it. Returns an error if the content cannot be compressed.
    pub(super) fn add(&mut self, kind: ObjectType, id: Digest, content: &[u8]) -> io::Result<()> {
        if self.objects.contains_key(&id) {
            return Ok(());
        }
        let kind = match kind {
            ObjectType::Commit => COMMIT,
            ObjectType::Tree => TREE,
            ObjectType::Blob => BLOB,
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let offset = self.bytes.len();
        self.bytes.extend(head(kind, content.len()));
        self.put(id, offset, content)
    }

    /// Adds a tree, unless the pack has it. If the pack has the one `before` it, only what differs is written. Returns an
    /// error if the content cannot be compressed.
    pub(super) fn add_tree(
        &mut self,
        id: Digest,
        tree: &Arc<Listing>,
        before: Option<Digest>,
    ) -> io::Result<()> {
        if self.objects.contains_key(&id) {
            return Ok(());
        }
        let offset = self.bytes.len();
        let mut versions = before
            .and_then(|before| self.versions.remove(&before))
            .unwrap_or_default();
        let difference = versions.base().and_then(|base| {
            let delta = delta::between(&base.content, tree);
            (delta.len() < tree.bytes().len() / 2).then_some((offset - base.offset, delta))
        });
        versions.push(
            TreeVersion {
                offset,
                content: Arc::clone(tree),
            },
            difference.is_none(),
        );
        self.versions.insert(id, versions);
        match difference {
            Some((distance, delta)) => {
                self.bytes.extend(head(DELTA, delta.len()));
                self.bytes.extend(varint::encode(distance));
                self.put(id, offset, &delta)
            }
            None => {
                self.bytes.extend(head(TREE, tree.bytes().len()));
                self.put(id, offset, tree.bytes())
            }
        }
    }

    /// Compresses what follows the beginning of an object, which is at this offset.
    fn put(&mut self, id: Digest, offset: usize, written: &[u8]) -> io::Result<()> {
        self.deflate.append(written, &mut self.bytes)?;
        let mut crc = Crc::new();
        crc.update(&self.bytes[offset..]);
        self.objects.insert(
            id,
            Packed {
                offset,
                checksum: crc.sum(),
            },
        );
        Ok(())
    }

    /// The files of the pack. Returns an error if it has too many objects, or too many bytes.
    pub(super) fn finish(mut self) -> io::Result<PackFiles> {
        let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
        let count = u32::try_from(self.objects.len()).map_err(|_| too_large())?;
        if self.bytes.len() >= LARGE {
            return Err(too_large());
        }
        self.bytes[8..12].copy_from_slice(&count.to_be_bytes());
        let name = self.format.parts([self.bytes.as_slice()]);
        self.bytes.extend(name.as_bytes());
        let mut index = INDEX_BEGIN.to_vec();
        let mut sorted = self.objects.keys().peekable();
        let mut so_far = 0_u32;
        for first in 0..=u8::MAX {
            while sorted.next_if(|id| id.as_bytes()[0] == first).is_some() {
                so_far += 1;
            }
            index.extend(so_far.to_be_bytes());
        }
        self.objects
            .keys()
            .for_each(|id| index.extend(id.as_bytes()));
        self.objects
            .values()
            .for_each(|object| index.extend(object.checksum.to_be_bytes()));
        for object in self.objects.values() {
            index.extend(
                u32::try_from(object.offset)
                    .map_err(|_| too_large())?
                    .to_be_bytes(),
            );
        }
        index.extend(name.as_bytes());
        let checksum = self.format.parts([index.as_slice()]);
        index.extend(checksum.as_bytes());
        Ok(PackFiles {
            name,
            pack: self.bytes,
            index,
        })
    }
}

/// The kind and the size before compression, as an object begins: four bits of the size, then the rest of it.
fn head(kind: u8, size: usize) -> Vec<u8> {
    let rest = size >> 4;
    let more = if rest > 0 { 0x80 } else { 0 };
    let mut bytes = vec![more | kind << 4 | size.to_le_bytes()[0] & 0x0f];
    if rest > 0 {
        bytes.extend(delta::encode_size(rest));
    }
    bytes
}
