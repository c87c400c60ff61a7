//! One entry of an index file, as it is encoded there; see gitformat-index(5).
//!
//! In versions 2 and 3 an entry depends on no other. In version 4 its name is written as what differs from the name
//! before it: how many bytes to drop from the end of that one, and what to append.

use super::varint;
use orch_base::{Digest, ObjectFormat};
use std::borrow::Cow;
use std::cmp::Ordering;

/// An entry of the index at stage 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub blob: Digest,
    pub mode: i32,
    /// Whether it is intent-to-add only: nothing is staged yet.
    pub intended: bool,
}

/// An entry without its name, as it is encoded in the file.
#[derive(Clone, Copy)]
pub(super) struct EntryHead<'b> {
    bytes: &'b [u8],
    id: &'b [u8],
    flags: u16,
    more: u16,
}

pub(super) struct RawEntry<'b> {
    pub head: EntryHead<'b>,
    pub name: Cow<'b, [u8]>,
}

impl<'b> EntryHead<'b> {
    /// The offset of the id: after the times, the owner and the size of the file.
    const ID: usize = 40;
    /// The bits of the flags with the length of the name, which are all set for a longer one.
    const LENGTH: u16 = 0x0fff;

    /// The minimum size of an entry in bytes, in each version.
    pub(super) fn least(format: ObjectFormat) -> usize {
        Self::ID + format.length() + 4
    }

    /// Decodes what comes before the name of the entry at the start of these bytes.
    pub(super) fn decode(bytes: &'b [u8], format: ObjectFormat) -> Option<Self> {
        let end = Self::ID + format.length();
        let id = bytes.get(Self::ID..end)?;
        let flags = short(bytes, end)?;
        let (more, start) = if flags & 0x4000 == 0 {
            (0, end + 2)
        } else {
            (short(bytes, end + 2)?, end + 4)
        };
        Some(Self {
            bytes: &bytes[..start],
            id,
            flags,
            more,
        })
    }

    pub(super) fn stage(&self) -> u16 {
        (self.flags >> 12) & 3
    }

    pub(super) fn is_extended(&self) -> bool {
        self.flags & 0x4000 != 0
    }

    /// The modification time of the file in seconds; 0 if git has not recorded it.
    pub(super) fn modified(&self) -> u32 {
        number(self.bytes, 8).unwrap_or_default()
    }

    pub(super) fn staged(&self) -> Option<IndexEntry> {
        let blob = Digest::from_bytes(self.id)?;
        let mode = i32::try_from(number(self.bytes, 24)?).ok()?;
        Some(IndexEntry {
            blob,
            mode,
            intended: self.more & 0x2000 != 0,
        })
    }
}

/// Decodes an entry of version 2 or 3 at the start of these bytes: the entry, its name, and how many bytes it has.
pub(super) fn decode(bytes: &[u8], format: ObjectFormat) -> Option<(EntryHead<'_>, &[u8], usize)> {
    let head = EntryHead::decode(bytes, format)?;
    let start = head.bytes.len();
    let length = match head.flags & EntryHead::LENGTH {
        EntryHead::LENGTH => bytes.get(start..)?.iter().position(|byte| *byte == 0)?,
        short => short.into(),
    };
    let end = padded(start + length);
    let (name, padding) = bytes.get(start..end)?.split_at_checked(length)?;
    padding
        .iter()
        .all(|byte| *byte == 0)
        .then_some((head, name, end))
}

/// With one to eight NUL bytes, to a multiple of eight.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

impl RawEntry<'_> {
    /// The bytes of this entry in version 4, after one with the name `before`.
    pub(super) fn after(&self, before: &[u8]) -> Vec<u8> {
        after(self.head.bytes, &self.name, before)
    }
}

/// Decodes an entry of version 4 at the start of these bytes. `name` is the name before it, and is turned into its name.
/// Returns the entry, how the name before it compares with its own, and how many bytes it has.
pub(super) fn decode_next<'b>(
    bytes: &'b [u8],
    format: ObjectFormat,
    name: &mut Vec<u8>,
) -> Option<(EntryHead<'b>, Ordering, usize)> {
    let head = EntryHead::decode(bytes, format)?;
    let (dropped, rest) = varint::decode(bytes.get(head.bytes.len()..)?)?;
    let common = name.len().checked_sub(dropped)?;
    let length = match head.flags & EntryHead::LENGTH {
        EntryHead::LENGTH => rest.iter().position(|byte| *byte == 0)?,
        whole => usize::from(whole).checked_sub(common)?,
    };
    let (end, after) = rest.split_at_checked(length)?;
    if after.first() != Some(&0) {
        return None;
    }
    let before = &name[common..];
    // What both have in common is usually all of that.
    let order = match (before.first(), end.first()) {
        (Some(one), Some(other)) if one != other => one.cmp(other),
        _ => before.cmp(end),
    };
    name.truncate(common);
    name.extend_from_slice(end);
    Some((head, order, bytes.len() - after.len() + 1))
}

/// Encodes an entry without times and size, so that git compares the bytes once and then records them. `before` is the
/// name before it in version 4, and `None` in another one. Returns `None` if it is not the entry of a file.
pub(super) fn encode(
    name: &[u8],
    (blob, mode): (Digest, i32),
    before: Option<&[u8]>,
) -> Option<Vec<u8>> {
    if name.is_empty() || !matches!(mode, 0o100_644 | 0o100_755) {
        return None;
    }
    let length = u16::try_from(name.len())
        .unwrap_or(u16::MAX)
        .min(EntryHead::LENGTH);
    let mut bytes = vec![0; 24];
    bytes.extend(mode.to_be_bytes());
    bytes.extend([0; 12]);
    bytes.extend(blob.as_bytes());
    bytes.extend(length.to_be_bytes());
    if let Some(before) = before {
        return Some(after(&bytes, name, before));
    }
    bytes.extend(name);
    bytes.resize(padded(bytes.len()), 0);
    Some(bytes)
}

/// The bytes of an entry of version 4.
fn after(head: &[u8], name: &[u8], before: &[u8]) -> Vec<u8> {
    let common = name
        .iter()
        .zip(before)
        .take_while(|(one, other)| one == other)
        .count();
    [
        head,
        &varint::encode(before.len() - common),
        &name[common..],
        b"\0",
    ]
    .concat()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
