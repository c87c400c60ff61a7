//! An object of a pack as what differs from another one; see "deltified representation" in gitformat-pack(5).

use super::listing::Listing;
use std::ops::Range;

/// No size has more bytes.
const LONGEST_SIZE: usize = 10;
/// The most bytes that one instruction inserts.
const MOST_INSERTED: usize = 0x7f;
/// The first bit of an instruction to copy.
const COPY: u8 = 0x80;
/// How many bytes an instruction copies that leaves out how many.
const COPIED: usize = 0x10000;

/// Encodes a size: seven bits in a byte, the lowest first.
pub(super) fn encode_size(mut size: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while size > 0x7f {
        bytes.push(0x80 | size.to_le_bytes()[0]);
        size >>= 7;
    }
    bytes.push(size.to_le_bytes()[0]);
    bytes
}

/// The size at the start of these bytes, and what follows it. `None` if it does not end, or is too large.
pub(super) fn decode_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let length = 1 + bytes
        .iter()
        .take(LONGEST_SIZE)
        .position(|byte| byte & 0x80 == 0)?;
    let (encoded, rest) = bytes.split_at(length);
    let fold = |size: usize, byte: &u8| Some(size.checked_mul(0x80)? | usize::from(byte & 0x7f));
    Some((encoded.iter().rev().try_fold(0, fold)?, rest))
}

/// How to make the content of `new` of that of `old`.
pub(super) fn between(old: &Listing, new: &Listing) -> Vec<u8> {
    let (from, to) = (old.bytes().len(), new.bytes().len());
    let mut delta = [encode_size(from), encode_size(to)].concat();
    let mut at = 0;
    for [gone, put] in Listing::unlike(old, new) {
        copy(&mut delta, at, old.place(gone.start) - at);
        for part in new.bytes_of(&put).chunks(MOST_INSERTED) {
            delta.push(part.len().to_le_bytes()[0]);
            delta.extend(part);
        }
        at = old.place(gone.end);
    }
    copy(&mut delta, at, from - at);
    delta
}

/// Instructions to copy so many bytes from an offset of the old content.
fn copy(delta: &mut Vec<u8>, mut from: usize, mut length: usize) {
    while length > 0 {
        let part = length.min(0xffff);
        let (offset, size) = (from.to_le_bytes(), part.to_le_bytes());
        // A byte that is zero is left out; the first byte says which follow.
        let bytes = offset[..4].iter().chain(&size[..2]).enumerate();
        let present: Vec<(usize, u8)> = bytes
            .filter(|(_, byte)| **byte != 0)
            .map(|(at, byte)| (at, *byte))
            .collect();
        delta.push(present.iter().fold(COPY, |flags, (at, _)| flags | 1 << at));
        delta.extend(present.iter().map(|(_, byte)| byte));
        from += part;
        length -= part;
    }
}

/// The content that a delta makes of an old one. `None` if the delta is malformed or made for another content, or if the
/// new content has more than `most` bytes.
pub(super) fn applied(old: &[u8], delta: &[u8], most: usize) -> Option<Vec<u8>> {
    let (from, rest) = decode_size(delta)?;
    let (to, mut rest) = decode_size(rest)?;
    if from != old.len() || to > most {
        return None;
    }
    let mut new = Vec::with_capacity(to);
    while let Some((&instruction, after)) = rest.split_first() {
        rest = after;
        let part = if instruction & COPY == 0 {
            let (inserted, after) = rest.split_at_checked(instruction.into())?;
            rest = after;
            inserted
        } else {
            let mut operand = |bits: Range<u32>| {
                let begin = bits.start;
                bits.filter(|bit| instruction & 1 << bit != 0)
                    .try_fold(0, |value, bit| {
                        let (&byte, after) = rest.split_first()?;
                        rest = after;
                        Some(value | usize::from(byte) << (8 * (bit - begin)))
                    })
            };
            let (offset, size) = (operand(0..4)?, operand(4..7)?);
            let size = if size == 0 { COPIED } else { size };
            old.get(offset..offset.checked_add(size)?)?
        };
        // An instruction that inserts nothing is reserved.
        if part.is_empty() || part.len() > to - new.len() {
            return None;
        }
        new.extend_from_slice(part);
    }
    (new.len() == to).then_some(new)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A directory with these files: the name of each, and a byte of which its id consists.
    pub fn tree(files: &BTreeMap<String, u8>) -> Listing {
        Listing::of_files(files.iter().map(|(name, id)| (name.as_str(), *id)))
    }

    /// So many files.
    pub fn files(many: usize) -> BTreeMap<String, u8> {
        (0..many)
            .map(|number| (format!("t-{number:05}"), 7))
            .collect()
    }

    #[test]
    fn what_differs_makes_the_new_of_the_old() {
        let long = files(20_000);
        let edited = |edit: &dyn Fn(&mut BTreeMap<String, u8>)| {
            let mut new = long.clone();
            edit(&mut new);
            new
        };
        let some = |number: &str| number.ends_with('4');
        let cases = [
            (BTreeMap::new(), BTreeMap::new()),
            (BTreeMap::new(), files(1)),
            (files(1), BTreeMap::new()),
            (long.clone(), long.clone()),
            (
                long.clone(),
                edited(&|new| new.extend([("t-00000".to_owned(), 8)])),
            ),
            (
                long.clone(),
                edited(&|new| new.extend([("t-".repeat(200), 8)])),
            ),
            (long.clone(), edited(&|new| drop(new.pop_last()))),
            (
                long.clone(),
                edited(&|new| {
                    new.iter_mut()
                        .filter(|(name, _)| some(name))
                        .for_each(|(_, id)| *id = 9)
                }),
            ),
            (
                long.clone(),
                edited(&|new| new.retain(|name, _| !some(name))),
            ),
            (
                edited(&|new| new.retain(|name, _| !some(name))),
                long.clone(),
            ),
        ];
        for (old, new) in cases {
            let (old, new) = (tree(&old), tree(&new));
            let delta = between(&old, &new);
            let made = applied(old.bytes(), &delta, new.bytes().len());
            assert!(
                made.as_deref() == Some(new.bytes()),
                "{} bytes",
                delta.len()
            );
        }
    }

    #[test]
    fn a_delta_is_carried_out_as_the_format_says() {
        let old: Vec<u8> = (0..COPIED + 2).map(|at| at.to_le_bytes()[0]).collect();
        let delta = |to: usize, instructions: &[u8]| {
            [&encode_size(old.len()), &encode_size(to), instructions].concat()
        };
        let made = |to, instructions: &[u8]| applied(&old, &delta(to, instructions), old.len());
        assert_eq!(made(0, &[]).as_deref(), Some(&[][..]));
        assert_eq!(
            made(3, &[1, b'a', 0x91, 4, 2]).as_deref(),
            Some(&[b'a', 4, 5][..])
        );
        assert_eq!(
            made(COPIED, &[0x81, 1]).as_deref(),
            Some(&old[1..=COPIED]),
            "no size is that of a block"
        );
        assert_eq!(
            made(COPIED, &[0xc1, 1, 1]).as_deref(),
            Some(&old[1..=COPIED]),
            "its third byte"
        );
        let malformed = [
            (1, &[][..], "it makes less than it says"),
            (1, &[2, b'a', b'b'], "it makes more"),
            (1, &[0, 1, b'a'], "a reserved instruction"),
            (2, &[2, b'a'], "it is cut short within what it inserts"),
            (1, &[0x91, 4], "within an instruction to copy"),
            (COPIED, &[0x81, 3], "it copies from beyond the old content"),
            (1, &[0xff; 8], "from far beyond"),
        ];
        for (to, instructions, what) in malformed {
            assert_eq!(made(to, instructions), None, "{what}");
        }
        assert_eq!(
            applied(&old[1..], &delta(0, &[]), 9),
            None,
            "it is for another content"
        );
        assert_eq!(
            applied(&old, &delta(3, &[3, 1, 2, 3]), 2),
            None,
            "it makes too much"
        );
        assert_eq!(applied(&old, &[0x80; 20], 9), None, "its sizes do not end");
    }

    #[test]
    fn a_size_is_read_as_it_was_written() {
        assert_eq!(
            [0, 0x7f, 0x80].map(encode_size),
            [vec![0], vec![0x7f], vec![0x80, 1]]
        );
        let edges = (0..64).flat_map(|bit| [(1_usize << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for size in (0..70_000).chain(edges) {
            let bytes = [&encode_size(size), &b"x"[..]].concat();
            assert_eq!(decode_size(&bytes), Some((size, &b"x"[..])));
        }
        let beyond = [&[0xff; 9][..], &[2]].concat();
        let endless = [&[0x80; 10][..], &[0]].concat();
        for malformed in [&[][..], &[0x80], &[0xff; 20], &beyond, &endless] {
            assert_eq!(decode_size(malformed), None, "{malformed:x?}");
        }
    }
}
