//! Inserts and removes a few entries of an index; all other bytes are copied, with everything that git knows about those
//! files.

use super::entries::IndexFile;
use super::file_bytes::LARGE;
use super::index_entry::encode;
use super::{cache_tree, fsmonitor, untracked};
use crate::base::{Digest, ObjectFormat, RepoPath};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;
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

    /// The checksum, also where git leaves it out (`index.skipHash`): by it, `git status` finds that the index which it read
    /// was replaced, and does not write it back.
    fn checksum(&self) -> Digest {
        self.format.parts(self.bytes())
    }

    /// Writes everything, with the checksum, to what `create` returns.
    pub(super) fn write<W: Write + Send>(
        &self,
        create: impl Fn() -> io::Result<W> + Sync,
    ) -> io::Result<W> {
        let write_parts = || {
            let mut file = create()?;
            self.bytes()
                .try_for_each(|part| file.write_all(part))
                .map(|()| file)
        };
        let (checksum, written) = thread::scope(|scope| {
            // The checksum takes longest, and another thread may have to wait for a core.
            let begin = || thread::Builder::new().spawn_scoped(scope, write_parts).ok();
            let writer = self.is_large().then(begin).flatten();
            let lost = |_| Err(io::Error::other("a thread that writes the index panicked"));
            (
                self.checksum(),
                writer.map(|writer| writer.join().unwrap_or_else(lost)),
            )
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
    let mut entries = NewEntries {
        index,
        parts: Vec::new(),
        passed: 0,
        last: None,
    };
    let mut count = index.len();
    // The paths that come or go: what is untracked depends on them.
    let mut moved = Vec::new();
    let mut replaced = Vec::new();
    for edit in &edits {
        let name = edit.path.as_str().as_bytes();
        let present = index.named(name);
        if present.clone().any(|number| {
            index
                .entry(number)
                .is_none_or(|entry| entry.head.stage() > 0)
        }) {
            return None;
        }
        if present.is_empty() && edit.entry.is_some() && stands_in_the_way(index, edit.path) {
            return None;
        }
        if present.is_empty() == edit.entry.is_some() {
            moved.push(edit.path);
        }
        count = count.checked_sub(present.len())?;
        count += usize::from(edit.entry.is_some());
        replaced.push((present.clone(), edit.entry.is_some()));
        entries.put(present, name, edit.entry)?;
    }
    entries.copy_to(index.len())?;
    let mut parts = vec![Cow::Owned(
        [index.version(), &u32::try_from(count).ok()?.to_be_bytes()].concat(),
    )];
    parts.append(&mut entries.parts);
    for (signature, bytes) in index.extensions() {
        match signature {
            b"TREE" => {
                let edited = directories(edits.iter().map(|edit| edit.path));
                parts.extend(cache_tree::forget(bytes, index.format(), &edited).map(Cow::Owned));
            }
            b"REUC" => parts.push(Cow::Borrowed(bytes)),
            b"UNTR" if moved.is_empty() => parts.push(Cow::Borrowed(bytes)),
            b"UNTR" => {
                let moved = directories(moved.iter().copied());
                parts.extend(untracked::forget(bytes, index.format(), &moved).map(Cow::Owned));
            }
            b"FSMN" => {
                parts.extend(fsmonitor::follow(bytes, index.len(), &replaced).map(Cow::Owned))
            }
            // The offsets of entries, for parallel readers, which can do without.
            b"EOIE" | b"IEOT" => {}
            _ => return None,
        }
    }
    Some(SplicedIndex {
        parts,
        format: index.format(),
    })
}

/// Whether [`splice`] supports every extension of an index.
pub(super) fn is_plain(index: &IndexFile) -> bool {
    index.extensions().all(|(signature, _)| {
        matches!(
            signature,
            b"TREE" | b"REUC" | b"UNTR" | b"FSMN" | b"EOIE" | b"IEOT"
        )
    })
}

/// The entries of the new index.
struct NewEntries<'f> {
    index: &'f IndexFile,
    parts: Vec<Cow<'f, [u8]>>,
    /// How many entries of the old index are copied or left out.
    passed: usize,
    /// In version 4, the name of the last entry, if another one comes before the next in the old index.
    last: Option<Vec<u8>>,
}

impl NewEntries<'_> {
    /// Copies the entries up to this number. Returns `None` if the index is malformed.
    fn copy_to(&mut self, end: usize) -> Option<()> {
        if self.passed < end
            && let Some(last) = self.last.take()
        {
            self.parts
                .push(Cow::Owned(self.index.entry(self.passed)?.after(&last)));
            self.passed += 1;
        }
        self.parts
            .push(Cow::Borrowed(self.index.raw(self.passed..end)?));
        self.passed = end;
        Some(())
    }

    /// Puts an entry in the place of those with its name, or removes them. Returns `None` if the index is malformed, or
    /// it is not the entry of a file.
    fn put(
        &mut self,
        present: Range<usize>,
        name: &[u8],
        entry: Option<(Digest, i32)>,
    ) -> Option<()> {
        self.copy_to(present.start)?;
        let before = self.index.is_compressed().then(|| self.last_name());
        if let Some(entry) = entry {
            self.parts
                .push(Cow::Owned(encode(name, entry, before.as_deref())?));
        }
        self.passed = present.end;
        self.last = before.map(|before| {
            if entry.is_some() {
                name.to_vec()
            } else {
                before
            }
        });
        Some(())
    }

    /// The name of the last entry, empty if there is none.
    fn last_name(&mut self) -> Vec<u8> {
        let copied = || self.index.entry(self.passed.checked_sub(1)?);
        self.last
            .take()
            .or_else(|| copied().map(|entry| entry.name.into_owned()))
            .unwrap_or_default()
    }
}

/// Whether the index has a file above a new path, or files below it.
fn stands_in_the_way(index: &IndexFile, path: &RepoPath) -> bool {
    let above = std::iter::successors(path.parent(), RepoPath::parent)
        .any(|directory| !index.named(directory.as_str().as_bytes()).is_empty());
    let below = format!("{path}/").into_bytes();
    above
        || index
            .entry(index.position(&below))
            .is_some_and(|entry| entry.name.starts_with(&below))
}

/// The directories above these paths, including the root.
fn directories<'p>(paths: impl Iterator<Item = &'p RepoPath>) -> HashSet<Vec<u8>> {
    let above = paths.flat_map(|path| std::iter::successors(path.parent(), RepoPath::parent));
    above
        .map(|directory| directory.as_str().as_bytes().to_vec())
        .collect()
}
