//! The extension of a file system monitor: which entries git has to look at, because their files may have changed. See
//! gitformat-index(5).

use super::extension::{content, cut, with_header};
use super::{ewah, index_entry};
use std::ops::Range;

/// Entries of the old index in the place of which the new one has one entry, or none.
pub(super) type ReplacedEntries = (Range<usize>, bool);

/// The extension, header included, of an index that had this number of entries, after some were replaced. git has to look
/// at the new ones. `None` if it is malformed: git then looks at all.
pub(super) fn follow(
    extension: &[u8],
    count: usize,
    replaced: &[ReplacedEntries],
) -> Option<Vec<u8>> {
    let bytes = content(extension)?;
    // When git asked the monitor: a time, or what the monitor called that moment.
    let about = match index_entry::number(bytes, 0)? {
        1 => 4 + 8,
        2 => bytes.len() - cut(bytes.get(4..)?, 0)?.1.len(),
        _ => return None,
    };
    let length = usize::try_from(index_entry::number(bytes, about)?).ok()?;
    let bitmap = bytes.get(about + 4..)?;
    let (old, rest) = ewah::decode(bitmap, count)?;
    if bitmap.len() != length || !rest.is_empty() {
        return None;
    }
    let mut new = Vec::with_capacity(count + replaced.len());
    let mut passed = 0;
    for (entries, has_new) in replaced {
        new.extend_from_slice(old.get(passed..entries.start)?);
        new.extend(has_new.then_some(true));
        passed = entries.end;
    }
    new.extend_from_slice(old.get(passed..)?);
    let bitmap = ewah::encode(&new)?;
    let length = u32::try_from(bitmap.len()).ok()?.to_be_bytes();
    let bytes = [&bytes[..about], &length, &bitmap].concat();
    with_header(b"FSMN", &bytes)
}
