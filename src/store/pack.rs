//! A pack with new objects, and its index; see gitformat-pack(5).

use super::listing::{alike_at_end, alike_at_start};
use crate::base::{Digest, ObjectFormat};
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use std::collections::BTreeMap;
use std::io;

/// What an object is. The values are those of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackedKind {
    Commit = 1,
    Tree = 2,
    Blob = 3,
}

/// The kind of an object that is written as what differs from an earlier object of the pack.
const DELTA: u8 = 6;
/// The maximum number of objects to read before one that is written as a difference; git's own limit.
const DEPTH: usize = 50;
/// Offsets from here on need a table of their own in the index.
const LARGE: usize = 1 << 31;

/// A pack in memory, to which objects are added.
pub(super) struct Pack {
    format: ObjectFormat,
    bytes: Vec<u8>,
    objects: BTreeMap<Digest, Packed>,
    /// One for all objects: to set up another one takes longer than to compress a small object.
    compress: Compress,
}

/// An object of the pack.
struct Packed {
    offset: usize,
    checksum: u32,
    depth: usize,
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
        let compress = Compress::new(Compression::fast(), true);
        Self { format, bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(), objects: BTreeMap::new(), compress }
    }

    /// Adds an object, unless the pack has it. `base` is the id and the content of one like it: if the pack has that,
    /// only the difference is written. Returns an error if the content cannot be compressed.
    pub(super) fn add(
        &mut self,
        kind: PackedKind,
        id: Digest,
        content: &[u8],
        base: Option<(Digest, &[u8])>,
    ) -> io::Result<()> {
        if self.objects.contains_key(&id) {
            return Ok(());
        }
        let offset = self.bytes.len();
        let known = base.and_then(|(base, held)| Some((self.objects.get(&base)?, held)));
        let difference = known.filter(|(base, _)| base.depth < DEPTH).and_then(|(base, held)| {
            let delta = delta(held, content);
            (delta.len() < content.len() / 2).then_some((base.depth + 1, offset - base.offset, delta))
        });
        let (depth, written) = match &difference {
            Some((depth, distance, delta)) => {
                self.bytes.extend(head(DELTA, delta.len()));
                self.bytes.extend(distance_back(*distance));
                (*depth, delta.as_slice())
            }
            None => {
                self.bytes.extend(head(kind as u8, content.len()));
                (0, content)
            }
        };
        self.compress.reset();
        loop {
            let done = usize::try_from(self.compress.total_in()).map_err(io::Error::other)?;
            let rest = &written[done..];
            self.bytes.reserve(64 + rest.len() / 2);
            let status = self.compress.compress_vec(rest, &mut self.bytes, FlushCompress::Finish)?;
            if status == Status::StreamEnd {
                break;
            }
        }
        let mut crc = Crc::new();
        crc.update(&self.bytes[offset..]);
        self.objects.insert(id, Packed { offset, checksum: crc.sum(), depth });
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
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for first in 0..=u8::MAX {
            let so_far = self.objects.keys().filter(|id| id.as_bytes()[0] <= first).count();
            index.extend(u32::try_from(so_far).map_err(|_| too_large())?.to_be_bytes());
        }
        self.objects.keys().for_each(|id| index.extend(id.as_bytes()));
        self.objects.values().for_each(|object| index.extend(object.checksum.to_be_bytes()));
        for object in self.objects.values() {
            index.extend(u32::try_from(object.offset).map_err(|_| too_large())?.to_be_bytes());
        }
        index.extend(name.as_bytes());
        let checksum = self.format.parts([index.as_slice()]);
        index.extend(checksum.as_bytes());
        Ok(PackFiles { name, pack: self.bytes, index })
    }
}

/// The kind and the size before compression, as an object begins: four bits of the size, then seven in each byte.
fn head(kind: u8, size: usize) -> Vec<u8> {
    let rest = size >> 4;
    let more = if rest > 0 { 0x80 } else { 0 };
    let mut bytes = vec![more | kind << 4 | low(size, 0x0f)];
    if rest > 0 {
        bytes.extend(varint(rest));
    }
    bytes
}

/// The lowest bits of a number.
fn low(number: usize, mask: u8) -> u8 {
    number.to_le_bytes()[0] & mask
}

/// A number, seven bits in a byte, the lowest first.
fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(0x80 | low(number, 0x7f));
        number >>= 7;
    }
    bytes.push(low(number, 0x7f));
    bytes
}

/// How far before an object the one begins that it differs from: the highest bits first, and no two encodings of one
/// number.
fn distance_back(mut distance: usize) -> Vec<u8> {
    let mut bytes = vec![low(distance, 0x7f)];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        bytes.push(0x80 | low(distance, 0x7f));
    }
    bytes.reverse();
    bytes
}

/// How to make `new` of `old`, which have a beginning and an end in common.
fn delta(old: &[u8], new: &[u8]) -> Vec<u8> {
    let begin = alike_at_start(old, new);
    let new_rest = &new[begin..];
    let end = alike_at_end(&old[begin..], new_rest);
    let mut delta = [varint(old.len()), varint(new.len())].concat();
    copy(&mut delta, 0, begin);
    for part in new_rest[..new_rest.len() - end].chunks(0x7f) {
        delta.push(low(part.len(), 0x7f));
        delta.extend(part);
    }
    copy(&mut delta, old.len() - end, end);
    delta
}

/// Instructions to copy so many bytes from an offset of the old content.
fn copy(delta: &mut Vec<u8>, mut from: usize, mut length: usize) {
    while length > 0 {
        let part = length.min(0xffff);
        let (offset, size) = (from.to_le_bytes(), part.to_le_bytes());
        // A byte that is zero is left out; the first byte says which follow.
        let bytes = offset[..4].iter().chain(&size[..2]).enumerate();
        let present: Vec<(usize, u8)> =
            bytes.filter(|(_, byte)| **byte != 0).map(|(at, byte)| (at, *byte)).collect();
        delta.push(present.iter().fold(0x80, |flags, (at, _)| flags | 1 << at));
        delta.extend(present.iter().map(|(_, byte)| byte));
        from += part;
        length -= part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries out a difference, as a reader does.
    fn patched(old: &[u8], delta: &[u8]) -> Vec<u8> {
        let mut rest = delta.iter().copied();
        let mut number = || {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = rest.next().expect("a byte");
                value |= usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        };
        let (from, to) = (number(), number());
        assert_eq!(from, old.len());
        let mut new = Vec::new();
        while let Some(first) = rest.next() {
            if first & 0x80 == 0 {
                assert_ne!(first, 0);
                new.extend(rest.by_ref().take(first.into()));
                continue;
            }
            let mut part = [0; 7];
            for (at, byte) in part.iter_mut().enumerate().filter(|(at, _)| first & 1 << at != 0) {
                *byte = rest.next().unwrap_or_else(|| panic!("byte {at}"));
            }
            let [a, b, c, d, e, f, g] = part.map(usize::from);
            let (offset, size) = (a | b << 8 | c << 16 | d << 24, e | f << 8 | g << 16);
            let size = if size == 0 { 0x10000 } else { size };
            new.extend(&old[offset..offset + size]);
        }
        assert_eq!(new.len(), to);
        new
    }

    #[test]
    fn what_differs_makes_the_new_of_the_old() {
        let long: Vec<u8> = (0..200_000u32).flat_map(|number| number.to_be_bytes()).collect();
        let edited = |at: usize, removed: usize, put: &[u8]| {
            let mut new = long.clone();
            new.splice(at..at + removed, put.iter().copied());
            new
        };
        let cases = [
            (Vec::new(), Vec::new()),
            (Vec::new(), b"new".to_vec()),
            (b"old".to_vec(), Vec::new()),
            (b"aaaa".to_vec(), b"aaaaa".to_vec()),
            (b"aaaaa".to_vec(), b"aaaa".to_vec()),
            (long.clone(), long.clone()),
            (long.clone(), edited(0, 1, b"x")),
            (long.clone(), edited(0x10000, 20, &[7; 300])),
            (long.clone(), edited(799_999, 1, b"")),
            (long[..0x10000].to_vec(), long[..0x1ffff].to_vec()),
        ];
        for (old, new) in cases {
            assert!(patched(&old, &delta(&old, &new)) == new, "{} to {} bytes", old.len(), new.len());
        }
    }

    #[test]
    fn an_object_is_as_it_was_after_it_is_compressed() {
        let mut seed = 1u32;
        let noise: Vec<u8> = (0..1 << 20)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed.to_be_bytes()[0]
            })
            .collect();
        let mut pack = Pack::new(ObjectFormat::Sha1);
        for content in [&noise[..], b"", b"a", &noise[7..], &[0; 1 << 20]] {
            let begin = pack.bytes.len();
            let id = ObjectFormat::Sha1.blob(content);
            pack.add(PackedKind::Blob, id, content, None).expect("compressed");
            let stream = &pack.bytes[begin + head(PackedKind::Blob as u8, content.len()).len()..];
            let mut read = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(stream);
            std::io::Read::read_to_end(&mut decoder, &mut read).expect("whole");
            assert!(read == content && decoder.total_in() == stream.len() as u64, "{} bytes", content.len());
        }
    }

    #[test]
    fn numbers_are_written_as_the_format_says() {
        assert_eq!((varint(0), varint(0x7f), varint(0x80)), (vec![0], vec![0x7f], vec![0x80, 1]));
        assert_eq!((head(3, 15), head(2, 16)), (vec![0x3f], vec![0xa0, 1]));
        let distances = [0x7f, 0x80, 0x407f, 0x4080].map(distance_back);
        assert_eq!(distances, [vec![0x7f], vec![0x80, 0], vec![0xff, 0x7f], vec![0x80, 0x80, 0]]);
    }
}
