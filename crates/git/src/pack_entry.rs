//! How an object begins in a pack; see "pack entries" in gitformat-pack(5).

use super::{delta, varint};
use crate::base::ObjectFormat;
use git2::ObjectType;

/// The kinds of objects that are written as a whole.
pub(super) const COMMIT: u8 = 1;
pub(super) const TREE: u8 = 2;
pub(super) const BLOB: u8 = 3;
/// The kind of an object that is written as what differs from an object before it, of which the offset is known.
pub(super) const DELTA: u8 = 6;
/// The kind of one that is written as what differs from an object with an id.
pub(super) const DELTA_OF_ID: u8 = 7;

/// An object as a pack has it.
pub(super) struct PackEntry<'p> {
    pub base: Base<'p>,
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

/// The kind and the size before compression, as an object begins: four bits of the size, then the rest of it.
pub(super) fn head(kind: u8, size: usize) -> Vec<u8> {
    let rest = size >> 4;
    let more = if rest > 0 { 0x80 } else { 0 };
    let mut bytes = vec![more | kind << 4 | size.to_le_bytes()[0] & 0x0f];
    if rest > 0 {
        bytes.extend(delta::encode_size(rest));
    }
    bytes
}

impl<'p> PackEntry<'p> {
    /// Decodes the object that begins with these bytes, at an offset of a pack. `None` if none can begin so, or it is of a
    /// kind that `orch` does not read, such as a tag.
    pub(super) fn decode(bytes: &'p [u8], offset: usize, format: ObjectFormat) -> Option<Self> {
        let (first, mut stream) = bytes.split_first()?;
        let mut size = usize::from(first & 0x0f);
        if first & 0x80 != 0 {
            let (rest, after) = delta::decode_size(stream)?;
            size |= rest.checked_mul(0x10)?;
            stream = after;
        }
        let base = match first >> 4 & 7 {
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
        Some(Self { base, size, stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_begins_as_the_format_says() {
        assert_eq!(
            (head(BLOB, 15), head(TREE, 16)),
            (vec![0x3f], vec![0xa0, 1])
        );
        for size in [0, 15, 16, 0x7ff, 0x800, 1 << 31, usize::MAX] {
            let bytes = [&head(BLOB, size), &b"stream"[..]].concat();
            let entry = PackEntry::decode(&bytes, 7, ObjectFormat::Sha1).expect("an object");
            assert_eq!((entry.size, entry.stream), (size, &b"stream"[..]));
        }
        for kind in [0, 4, 5] {
            assert!(
                PackEntry::decode(&head(kind, 1), 7, ObjectFormat::Sha1).is_none(),
                "kind {kind}"
            );
        }
        let beyond = [head(DELTA, 1), varint::encode(8)].concat();
        assert!(
            PackEntry::decode(&beyond, 7, ObjectFormat::Sha1).is_none(),
            "before the pack"
        );
        assert!(
            PackEntry::decode(&[0xff; 30], 7, ObjectFormat::Sha1).is_none(),
            "no end of a size"
        );
        assert!(PackEntry::decode(&[], 7, ObjectFormat::Sha1).is_none());
    }
}
