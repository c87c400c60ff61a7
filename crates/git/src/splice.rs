//! Inserts and removes a few entries of an index; all other bytes are copied, with everything that git knows about those
//! files.

use super::entries::IndexFile;
use super::extension::{content, cut, with_header};
use super::index_entry::encode;
use super::{cache_tree, varint};
use orch_base::{Digest, ObjectFormat, RepoPath};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;

/// The size of the times, the owner and the size of a file, as an index has them.
const STAT: usize = 36;

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
    /// Writes everything to a file, with the checksum.
    ///
    /// The checksum is there even if git leaves it out (`index.skipHash`): by it, `git status` finds that the index which
    /// it read was replaced, and does not write it back.
    pub(super) fn write(&self, file: &mut impl Write) -> io::Result<()> {
        for part in &self.parts {
            file.write_all(part)?;
        }
        let checksum = self.format.parts(self.parts.iter().map(AsRef::as_ref));
        file.write_all(checksum.as_bytes())
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
        count = count.checked_sub(present.len())?;
        count += usize::from(edit.entry.is_some());
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
            b"UNTR" => parts.extend(without_directories(bytes, index.format()).map(Cow::Owned)),
            // What a monitor said of single entries, and the offsets of entries: git looks again, and can do without.
            b"FSMN" | b"EOIE" | b"IEOT" => {}
            _ => return None,
        }
    }
    Some(SplicedIndex {
        parts,
        format: index.format(),
    })
}

/// An untracked cache without what it knows of directories, header included: which files are untracked depends on the
/// entries, and on what a file system monitor said. git fills it again, because it is there. `None` if it is malformed.
fn without_directories(extension: &[u8], format: ObjectFormat) -> Option<Vec<u8>> {
    let bytes = content(extension)?;
    let (place, rest) = varint::decode(bytes)?;
    // After the place of the work tree: the stamps of two files of patterns, flags, the ids of both files, and how such
    // files are called.
    let before_name = place.checked_add(2 * STAT + 4 + 2 * format.length())?;
    let (_, directories) = cut(rest.get(before_name..)?, 0)?;
    let kept = &bytes[..bytes.len() - directories.len()];
    let no_directories = varint::encode(0);
    with_header(b"UNTR", &[kept, &no_directories].concat())
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

    /// Puts an entry in place of those with its name, or removes them. Returns `None` if the index is malformed, or
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
