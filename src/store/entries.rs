//! A parser for the index file, because starting a git process to read a few entries costs as much as the
//! rest of a transition.
//!
//! See gitformat-index(5). Reads only sorted, unsplit indexes of version 2 or 3. For any other it returns
//! `None`, and the caller asks git.

use super::file_bytes::FileBytes;
use crate::base::{Digest, ObjectFormat, RepoPath};
use std::collections::HashMap;
use std::ops::Range;

/// An entry of the index at stage 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub blob: Digest,
    pub mode: i32,
    /// Whether it is intent-to-add only: nothing is staged yet.
    pub intended: bool,
}

/// The index entries of some paths.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Staged {
    /// The entries at stage 0.
    pub entries: HashMap<String, IndexEntry>,
    /// The unmerged ones of these paths.
    pub unmerged: Vec<String>,
}

/// The bytes of an index file, and the positions of its parts.
#[derive(Debug)]
pub(super) struct IndexFile {
    bytes: FileBytes,
    /// The format of the ids in the file.
    format: ObjectFormat,
    /// The offset of each entry, and finally that of the extensions.
    starts: Vec<usize>,
    /// The signature and range of each extension, header included.
    extensions: Vec<([u8; 4], Range<usize>)>,
    /// The latest modification time of the files in seconds, as recorded by git.
    newest: u32,
    /// The numbers of the unmerged entries.
    unmerged: Vec<usize>,
}

/// An entry as it is encoded in the file.
pub(super) struct RawEntry<'b> {
    /// All its bytes, padding included.
    bytes: &'b [u8],
    pub name: &'b [u8],
    id: &'b [u8],
    flags: u16,
    more: u16,
}

/// The size of the file header. At the end of the file is a checksum, which is as long as an id.
const HEADER: usize = 12;

impl IndexFile {
    /// Parses the bytes of an index file with ids of this format. Returns `None` if only git can read it.
    pub(super) fn parse(bytes: impl Into<FileBytes>, format: ObjectFormat) -> Option<Self> {
        let bytes = bytes.into();
        let version = number(&bytes, 4)?;
        if bytes.get(..4)? != b"DIRC" || !matches!(version, 2 | 3) {
            return None;
        }
        let end = bytes.len().checked_sub(format.length())?;
        let count = usize::try_from(number(&bytes, 8)?).ok()?;
        let mut starts = Vec::with_capacity(count.min(end / RawEntry::least(format)) + 1);
        let mut at = HEADER;
        let mut last: Option<(&[u8], u16)> = None;
        let mut newest = 0;
        let mut unmerged = Vec::new();
        for _ in 0..count {
            let entry = RawEntry::decode(bytes.get(at..end)?, format)?;
            let place = (entry.name, entry.stage());
            if last.is_some_and(|last| last >= place) || (version == 2 && entry.is_extended()) {
                return None;
            }
            last = Some(place);
            newest = newest.max(entry.modified());
            if entry.stage() > 0 {
                unmerged.push(starts.len());
            }
            starts.push(at);
            at += entry.bytes.len();
        }
        starts.push(at);
        let mut extensions = Vec::new();
        while at < end {
            let signature: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            // An extension whose signature starts with a small letter changes the meaning of entries.
            if signature[0].is_ascii_lowercase() {
                return None;
            }
            let next = at.checked_add(8)?.checked_add(usize::try_from(number(&bytes, at + 4)?).ok()?)?;
            extensions.push((signature, at..next));
            at = next;
        }
        (at == end).then_some(Self { bytes, format, starts, extensions, newest, unmerged })
    }

    /// The index of a repository without one.
    pub(super) fn empty(format: ObjectFormat) -> Self {
        let header = *b"DIRC\0\0\0\x02\0\0\0\0";
        let bytes = [&header[..], format.parts([&header[..]]).as_bytes()].concat();
        let bytes = bytes.into();
        Self { bytes, format, starts: vec![HEADER], extensions: Vec::new(), newest: 0, unmerged: Vec::new() }
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entry with this number.
    pub(super) fn entry(&self, number: usize) -> Option<RawEntry<'_>> {
        RawEntry::decode(
            self.bytes.get(*self.starts.get(number)?..*self.starts.get(number + 1)?)?,
            self.format,
        )
    }

    /// The unmerged entries, at the stages 1 to 3.
    pub(super) fn unmerged(&self) -> impl Iterator<Item = RawEntry<'_>> {
        self.unmerged.iter().filter_map(|number| self.entry(*number))
    }

    /// The bytes of a range of entries, unchanged.
    pub(super) fn raw(&self, entries: Range<usize>) -> Option<&[u8]> {
        self.bytes.get(*self.starts.get(entries.start)?..*self.starts.get(entries.end)?)
    }

    /// The number of the first entry whose name is not less than `name` in git's order.
    pub(super) fn position(&self, name: &[u8]) -> usize {
        let starts = &self.starts[..self.len()];
        let is_before = |at: &usize| {
            RawEntry::decode(&self.bytes[*at..], self.format).is_some_and(|entry| entry.name < name)
        };
        starts.partition_point(is_before)
    }

    /// The numbers of the entries with this name: one at stage 0, or several unmerged ones.
    pub(super) fn named(&self, name: &[u8]) -> Range<usize> {
        let first = self.position(name);
        let same = (first..self.len())
            .take_while(|number| self.entry(*number).is_some_and(|entry| entry.name == name));
        first..first + same.count()
    }

    /// The extensions: signature, and all bytes with the header.
    pub(super) fn extensions(&self) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
        self.extensions.iter().map(|(signature, place)| (signature, &self.bytes[place.clone()]))
    }

    /// The format of the ids in the file.
    pub(super) fn format(&self) -> ObjectFormat {
        self.format
    }

    /// The signature and the version of the file.
    pub(super) fn version(&self) -> &[u8] {
        &self.bytes[..8]
    }

    /// Whether the file has no checksum (`index.skipHash`).
    pub(super) fn skips_checksum(&self) -> bool {
        self.bytes[self.bytes.len() - self.format.length()..] == *self.format.null().as_bytes()
    }

    /// Whether an entry is racy: its file changed in the second in which the index was written, so another
    /// change might have the same time. See racy-git in git's technical documentation.
    pub(super) fn is_racy(&self, written: u32) -> bool {
        self.newest >= written
    }

    /// The entries of some paths.
    pub(super) fn staged<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> Staged {
        let mut found = Staged::default();
        for path in paths {
            for entry in self.named(path.as_str().as_bytes()).filter_map(|number| self.entry(number)) {
                if entry.stage() > 0 {
                    found.unmerged.push(path.to_string());
                } else if let Some(entry) = entry.staged() {
                    found.entries.insert(path.to_string(), entry);
                }
            }
        }
        found
    }
}

impl<'b> RawEntry<'b> {
    /// The offset of the id: after the times, the owner and the size of the file.
    const ID: usize = 40;

    /// The minimum size of an entry in bytes.
    fn least(format: ObjectFormat) -> usize {
        (Self::ID + format.length() + 2 + 8) & !7
    }

    /// Decodes the entry at the start of these bytes.
    fn decode(bytes: &'b [u8], format: ObjectFormat) -> Option<Self> {
        let end = Self::ID + format.length();
        let id = bytes.get(Self::ID..end)?;
        let flags = short(bytes, end)?;
        let (more, start) =
            if flags & 0x4000 == 0 { (0, end + 2) } else { (short(bytes, end + 2)?, end + 4) };
        let length = match usize::from(flags & 0x0fff) {
            0x0fff => bytes.get(start..)?.iter().position(|byte| *byte == 0)?,
            short => short,
        };
        // One to eight NUL bytes pad the entry to a multiple of eight.
        let bytes = bytes.get(..(start + length + 8) & !7)?;
        let (name, padding) = bytes.get(start..)?.split_at_checked(length)?;
        padding.iter().all(|byte| *byte == 0).then_some(Self { bytes, name, id, flags, more })
    }

    pub(super) fn stage(&self) -> u16 {
        (self.flags >> 12) & 3
    }

    fn is_extended(&self) -> bool {
        self.flags & 0x4000 != 0
    }

    /// The modification time of the file in seconds; 0 if git has not recorded it.
    fn modified(&self) -> u32 {
        number(self.bytes, 8).unwrap_or_default()
    }

    pub(super) fn staged(&self) -> Option<IndexEntry> {
        let blob = Digest::from_bytes(self.id)?;
        let mode = i32::try_from(number(self.bytes, 24)?).ok()?;
        Some(IndexEntry { blob, mode, intended: self.more & 0x2000 != 0 })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Option<IndexFile> {
        IndexFile::parse(bytes.to_vec(), ObjectFormat::Sha1)
    }

    #[test]
    fn what_is_no_plain_index_is_left_to_git() {
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x04\0\0\0\0", b"DIRC\0\0\0\x02\0\0\0\x05abc", &[0; 100]]
        {
            assert!(parse(bytes).is_none());
        }
        let mut split = b"DIRC\0\0\0\x02\0\0\0\0link\0\0\0\0".to_vec();
        split.extend([0; 20]);
        assert!(parse(&split).is_none());
        let mut empty = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        empty.extend([0; 20]);
        let empty = parse(&empty).expect("a plain index");
        assert_eq!(empty.len(), 0);
        assert_eq!(empty.staged([RepoPath::new("a").expect("valid")].iter()), Staged::default());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the index is what git itself writes")]
    fn reads_what_git_writes() {
        let home = tempfile::tempdir().expect("a directory");
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            let output = command.current_dir(home.path()).args(arguments).output().expect("git runs");
            assert!(output.status.success(), "git {arguments:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        git(&["init", "-q"]);
        let long = format!("d/{}", "n".repeat(200));
        for path in ["a", "later", long.as_str(), "d/run.sh", "a b"] {
            std::fs::create_dir_all(home.path().join("d")).expect("made");
            std::fs::write(home.path().join(path), path).expect("written");
        }
        git(&["add", "a", "d", "a b"]);
        git(&["update-index", "--chmod=+x", "d/run.sh"]);
        git(&["add", "-N", "later"]);
        let bytes = std::fs::read(home.path().join(".git/index")).expect("an index");
        let listed = git(&["ls-files", "-s"]);
        let wanted: Vec<RepoPath> = listed
            .lines()
            .filter_map(|line| RepoPath::new(line.split_once('\t')?.1).ok())
            .chain(RepoPath::new("d/absent").ok())
            .collect();
        let found = parse(&bytes).expect("a plain index").staged(wanted.iter()).entries;
        assert_eq!(found.len(), 5);
        for line in listed.lines() {
            let (head, path) = line.split_once('\t').expect("a line");
            let entry = found[path];
            assert_eq!(head, format!("{:o} {} 0", entry.mode, entry.blob), "{path}");
            assert_eq!(entry.intended, path == "later", "{path}");
        }
        // No truncated or corrupted file makes it panic.
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_none(), "cut off after {length}");
        }
        for at in 0..bytes.len() {
            for byte in [0, 0x7f, 0xff] {
                let mut hostile = bytes.clone();
                hostile[at] = byte;
                if let Some(file) = parse(&hostile) {
                    file.staged(wanted.iter());
                }
            }
        }
        git(&["update-index", "--index-version", "4"]);
        let bytes = std::fs::read(home.path().join(".git/index")).expect("an index");
        assert!(parse(&bytes).is_none());
    }
}
