//! An object of a pack as what differs from another one; see "deltified representation" in gitformat-pack(5).

use super::listing::Listing;

/// The most bytes that one instruction inserts.
const MOST_INSERTED: usize = 0x7f;
/// The first bit of an instruction to copy.
const COPY: u8 = 0x80;

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

/// How to make the content of `new` of that of `old`.
pub(super) fn between(old: &Listing, new: &Listing) -> Vec<u8> {
    let from = old.bytes().len();
    let to = new.bytes().len();
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

/// Instructions to copy this many bytes from an offset of the old content.
fn copy(delta: &mut Vec<u8>, mut from: usize, mut length: usize) {
    while length > 0 {
        let part = length.min(0xffff);
        let offset = from.to_le_bytes();
        let size = part.to_le_bytes();
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
