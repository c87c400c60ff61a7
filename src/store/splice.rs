//! Inserts and removes a few entries of an index; all other bytes are copied.
//!
//! In versions 2 and 3 the bytes of an entry depend on no other entry, so long ranges stay unchanged, with
//! everything that git knows about those files.

use super::cache_tree;
use super::entries::IndexFile;
use super::file_bytes::LARGE;
use crate::base::{Digest, ObjectFormat, RepoPath};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::thread;

/// An edit of the index: the new blob and mode of a path, or `None` to remove it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit<'c> {
    pub path: &'c RepoPath,
    pub entry: Option<(Digest, i32)>,
}

/// The content of a new index.
pub(super) struct SplicedIndex<'f> {
    /// What to concatenate, most of it borrowed from the old file.
    parts: Vec<Cow<'f, [u8]>>,
    format: ObjectFormat,
    skips_checksum: bool,
}

impl SplicedIndex<'_> {
    /// The parts, without the checksum.
    fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(AsRef::as_ref)
    }

    /// How many bytes it is long, with the checksum.
    pub(super) fn length(&self) -> u64 {
        let parts: usize = self.bytes().map(<[u8]>::len).sum();
        (parts + self.format.length()) as u64
    }

    /// Whether it is written in more than one thread.
    pub(super) fn is_large(&self) -> bool {
        self.length() >= LARGE
    }

    fn checksum(&self) -> Digest {
        if self.skips_checksum { self.format.null() } else { self.format.parts(self.bytes()) }
    }

    /// Writes everything, with the checksum, to what `create` returns.
    pub(super) fn write<W: Write + Send>(&self, create: impl Fn() -> io::Result<W> + Sync) -> io::Result<W> {
        let write_parts = || {
            let mut file = create()?;
            self.bytes().try_for_each(|part| file.write_all(part)).map(|()| file)
        };
        let (checksum, written) = thread::scope(|scope| {
            // The checksum takes longest, and another thread may have to wait for a core.
            let begin = || thread::Builder::new().spawn_scoped(scope, write_parts).ok();
            let writer = self.is_large().then(begin).flatten();
            let lost = |_| Err(io::Error::other("a thread that writes the index panicked"));
            (self.checksum(), writer.map(|writer| writer.join().unwrap_or_else(lost)))
        });
        // Without a thread it is written here.
        let mut file = written.unwrap_or_else(write_parts)?;
        file.write_all(checksum.as_bytes())?;
        Ok(file)
    }
}

/// The new index.
///
/// Returns `None` if only git can do the edit: an extension that describes single entries, an unmerged path,
/// or a file in place of a directory.
pub(super) fn splice<'f>(index: &'f IndexFile, edits: &[Edit<'_>]) -> Option<SplicedIndex<'f>> {
    let mut edits = edits.to_vec();
    edits.sort_unstable_by_key(|edit| edit.path);
    let mut entries = Vec::new();
    let mut count = index.len();
    let mut copied = 0;
    for edit in &edits {
        let name = edit.path.as_str().as_bytes();
        let present = index.named(name);
        if present.clone().any(|number| index.entry(number).is_none_or(|entry| entry.stage() > 0)) {
            return None;
        }
        entries.push(Cow::Borrowed(index.raw(copied..present.start)?));
        if let Some((blob, mode)) = edit.entry {
            if present.is_empty() && stands_in_the_way(index, edit.path) {
                return None;
            }
            entries.push(Cow::Owned(entry(name, blob, mode)?));
            count += 1;
        }
        count = count.checked_sub(present.len())?;
        copied = present.end;
    }
    entries.push(Cow::Borrowed(index.raw(copied..index.len())?));
    let mut parts = vec![Cow::Owned([index.version(), &u32::try_from(count).ok()?.to_be_bytes()].concat())];
    parts.append(&mut entries);
    for (signature, bytes) in index.extensions() {
        match signature {
            b"TREE" => {
                parts.extend(cache_tree::forget(bytes, index.format(), &directories(&edits)).map(Cow::Owned))
            }
            b"REUC" => parts.push(Cow::Borrowed(bytes)),
            // The offsets of entries, for parallel readers, which can do without.
            b"EOIE" | b"IEOT" => {}
            _ => return None,
        }
    }
    Some(SplicedIndex { parts, format: index.format(), skips_checksum: index.skips_checksum() })
}

/// Whether [`splice`] supports every extension of an index.
pub(super) fn is_plain(index: &IndexFile) -> bool {
    index.extensions().all(|(signature, _)| matches!(signature, b"TREE" | b"REUC" | b"EOIE" | b"IEOT"))
}

/// Encodes an entry without times and size, so that git compares the bytes once and then records them.
fn entry(name: &[u8], blob: Digest, mode: i32) -> Option<Vec<u8>> {
    if name.is_empty() || !matches!(mode, 0o100_644 | 0o100_755) {
        return None;
    }
    let length = u16::try_from(name.len()).unwrap_or(u16::MAX).min(0x0fff);
    let mut bytes = vec![0; 24];
    bytes.extend(mode.to_be_bytes());
    bytes.extend([0; 12]);
    bytes.extend(blob.as_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(name);
    bytes.resize((bytes.len() + 8) & !7, 0);
    Some(bytes)
}

/// Whether the index has a file above a new path, or files below it.
fn stands_in_the_way(index: &IndexFile, path: &RepoPath) -> bool {
    let above = std::iter::successors(path.parent(), RepoPath::parent)
        .any(|directory| !index.named(directory.as_str().as_bytes()).is_empty());
    let below = format!("{path}/").into_bytes();
    above || index.entry(index.position(&below)).is_some_and(|entry| entry.name.starts_with(&below))
}

/// The directories above the edited paths, including the root.
fn directories(edits: &[Edit<'_>]) -> HashSet<Vec<u8>> {
    let above = edits.iter().flat_map(|edit| std::iter::successors(edit.path.parent(), RepoPath::parent));
    above.map(|directory| directory.as_str().as_bytes().to_vec()).collect()
}
