//! A parser for the index file, because starting a git process to read a few entries costs as much as the
//! rest of a transition.
//!
//! See gitformat-index(5). Reads only sorted, unsplit indexes. For any other it returns `None`, and the caller asks git.

use super::index_entry::{EntryHead, IndexEntry, RawEntry, decode, decode_next, number};
use orch_base::{ObjectFormat, RepoPath};
use std::collections::HashMap;
use std::ops::Range;

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
    bytes: Vec<u8>,
    /// The format of the ids in the file.
    format: ObjectFormat,
    /// The offset of each entry, and finally that of the extensions.
    starts: Vec<u32>,
    /// In version 4, which has each name as what differs from the one before it, that of each [`SPAN`]-th entry.
    names: Option<Vec<Box<[u8]>>>,
    /// The signature and range of each extension, header included.
    extensions: Vec<([u8; 4], Range<usize>)>,
    /// The latest modification time of the files in seconds, as recorded by git.
    newest: u32,
    /// The numbers of the unmerged entries.
    unmerged: Vec<usize>,
}

/// The size of the file header. At the end of the file is a checksum, which is as long as an id.
const HEADER: u32 = 12;
/// So many entries of version 4 are decoded one after another to get at one of them.
const SPAN: usize = 16;
/// The longest name that is read in version 4: a short entry can have a long one, of which a copy is kept.
const LONGEST: usize = 1 << 14;

impl IndexFile {
    /// Parses the bytes of an index file with ids of this format. Returns `None` if only git can read it.
    pub(super) fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Option<Self> {
        let version = number(&bytes, 4)?;
        if bytes.get(..4)? != b"DIRC" || !matches!(version, 2..=4) {
            return None;
        }
        let end = bytes.len().checked_sub(format.length())?;
        let count = usize::try_from(number(&bytes, 8)?).ok()?;
        let mut starts = Vec::with_capacity(count.min(end / EntryHead::least(format)) + 1);
        let mut names = (version == 4).then(Vec::new);
        let mut at = HEADER as usize;
        // The last name, in version 4 as it was put together.
        let mut name = &[][..];
        let mut built = Vec::new();
        let mut stage = 0;
        let mut newest = 0;
        let mut unmerged = Vec::new();
        for _ in 0..count {
            let rest = bytes.get(at..end)?;
            let (head, order, length) = match &mut names {
                None => {
                    let (head, next, length) = decode(rest, format)?;
                    (head, std::mem::replace(&mut name, next).cmp(next), length)
                }
                Some(names) => {
                    let (head, order, length) = decode_next(rest, format, &mut built)?;
                    if built.len() > LONGEST {
                        return None;
                    }
                    if starts.len() % SPAN == 0 {
                        names.push(built.as_slice().into());
                    }
                    (head, order, length)
                }
            };
            let is_next = order.is_lt() || order.is_eq() && stage < head.stage();
            if !is_next || (version == 2 && head.is_extended()) {
                return None;
            }
            stage = head.stage();
            newest = newest.max(head.modified());
            if stage > 0 {
                unmerged.push(starts.len());
            }
            starts.push(u32::try_from(at).ok()?);
            at += length;
        }
        starts.push(u32::try_from(at).ok()?);
        let mut extensions = Vec::new();
        while at < end {
            let signature: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            // An extension whose signature starts with a small letter changes the meaning of entries.
            if signature[0].is_ascii_lowercase() {
                return None;
            }
            let next = at
                .checked_add(8)?
                .checked_add(usize::try_from(number(&bytes, at + 4)?).ok()?)?;
            extensions.push((signature, at..next));
            at = next;
        }
        (at == end).then_some(Self {
            bytes,
            format,
            starts,
            names,
            extensions,
            newest,
            unmerged,
        })
    }

    /// The index of a repository without one.
    pub(super) fn empty(format: ObjectFormat) -> Self {
        let header = *b"DIRC\0\0\0\x02\0\0\0\0";
        let bytes = [&header[..], format.parts([&header[..]]).as_bytes()].concat();
        Self {
            bytes,
            format,
            starts: vec![HEADER],
            names: None,
            extensions: Vec::new(),
            newest: 0,
            unmerged: Vec::new(),
        }
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entry with this number.
    pub(super) fn entry(&self, number: usize) -> Option<RawEntry<'_>> {
        match &self.names {
            None => {
                let (head, name, _) = decode(self.raw(number..number + 1)?, self.format)?;
                Some(RawEntry {
                    head,
                    name: name.into(),
                })
            }
            Some(names) => self.span(names, number / SPAN).nth(number % SPAN),
        }
    }

    /// The entries of version 4 from the one with this name in `names` on, up to the next of them.
    fn span<'s>(
        &'s self,
        names: &'s [Box<[u8]>],
        number: usize,
    ) -> impl Iterator<Item = RawEntry<'s>> {
        let mut name = Vec::new();
        let first = number * SPAN;
        (first..self.len().min(first + SPAN)).map_while(move |at| {
            let bytes = &self.bytes[self.start(at)?..];
            let head = if at == first {
                name.extend_from_slice(names.get(number)?);
                EntryHead::decode(bytes, self.format)?
            } else {
                decode_next(bytes, self.format, &mut name)?.0
            };
            Some(RawEntry {
                head,
                name: name.clone().into(),
            })
        })
    }

    /// Whether the bytes of an entry depend on the name before it (version 4).
    pub(super) fn is_compressed(&self) -> bool {
        self.names.is_some()
    }

    /// The unmerged entries, at the stages 1 to 3.
    pub(super) fn unmerged(&self) -> impl Iterator<Item = RawEntry<'_>> {
        self.unmerged
            .iter()
            .filter_map(|number| self.entry(*number))
    }

    /// The bytes of a range of entries, unchanged. In version 4 the first depends on the name before it.
    pub(super) fn raw(&self, entries: Range<usize>) -> Option<&[u8]> {
        self.bytes
            .get(self.start(entries.start)?..self.start(entries.end)?)
    }

    /// The offset of the entry with this number.
    fn start(&self, number: usize) -> Option<usize> {
        self.starts.get(number).map(|start| *start as usize)
    }

    /// The number of the first entry whose name is not less than `name` in git's order.
    pub(super) fn position(&self, name: &[u8]) -> usize {
        let Some(names) = &self.names else {
            let is_before = |at: &u32| {
                decode(&self.bytes[*at as usize..], self.format)
                    .is_some_and(|(_, before, _)| before < name)
            };
            return self.starts[..self.len()].partition_point(is_before);
        };
        let later = names.partition_point(|first| **first < *name);
        let Some(span) = later.checked_sub(1) else {
            return 0;
        };
        let is_before = |entry: &RawEntry<'_>| *entry.name < *name;
        span * SPAN + self.span(names, span).take_while(is_before).count()
    }

    /// The numbers of the entries with this name: one at stage 0, or several unmerged ones.
    pub(super) fn named(&self, name: &[u8]) -> Range<usize> {
        let first = self.position(name);
        first
            ..first
                + self
                    .entries(first)
                    .take_while(|entry| *entry.name == *name)
                    .count()
    }

    /// The entries from this one on.
    pub(super) fn entries(&self, first: usize) -> Box<dyn Iterator<Item = RawEntry<'_>> + '_> {
        match &self.names {
            None => Box::new((first..self.len()).map_while(|number| self.entry(number))),
            Some(names) => {
                let spans = first / SPAN..names.len();
                Box::new(
                    spans
                        .flat_map(|span| self.span(names, span))
                        .skip(first % SPAN),
                )
            }
        }
    }

    /// The extensions: signature, and all bytes with the header.
    pub(super) fn extensions(&self) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
        self.extensions
            .iter()
            .map(|(signature, place)| (signature, &self.bytes[place.clone()]))
    }

    /// The format of the ids in the file.
    pub(super) fn format(&self) -> ObjectFormat {
        self.format
    }

    /// The signature and the version of the file.
    pub(super) fn version(&self) -> &[u8] {
        &self.bytes[..8]
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
            for entry in self
                .named(path.as_str().as_bytes())
                .filter_map(|number| self.entry(number))
            {
                if entry.head.stage() > 0 {
                    found.unmerged.push(path.to_string());
                } else if let Some(entry) = entry.head.staged() {
                    found.entries.insert(path.to_string(), entry);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &[u8]) -> Option<IndexFile> {
        IndexFile::parse(bytes.to_vec(), ObjectFormat::Sha1)
    }

    #[test]
    fn what_is_no_plain_index_is_left_to_git() {
        for bytes in [
            &b""[..],
            b"DIRC",
            b"DIRC\0\0\0\x05\0\0\0\0",
            b"DIRC\0\0\0\x02\0\0\0\x05abc",
            &[0; 100],
        ] {
            assert!(parse(bytes).is_none());
        }
        let mut split = b"DIRC\0\0\0\x02\0\0\0\0link\0\0\0\0".to_vec();
        split.extend([0; 20]);
        assert!(parse(&split).is_none());
        let mut empty = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        empty.extend([0; 20]);
        let empty = parse(&empty).expect("a plain index");
        assert_eq!(empty.len(), 0);
        assert_eq!(
            empty.staged([RepoPath::new("a").expect("valid")].iter()),
            Staged::default()
        );
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the index is what git itself writes"
    )]
    fn reads_what_git_writes() {
        let home = tempfile::tempdir().expect("a directory");
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            let output = command
                .current_dir(home.path())
                .args(arguments)
                .output()
                .expect("git runs");
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
        for version in ["3", "4"] {
            git(&["update-index", "--index-version", version]);
            let bytes = std::fs::read(home.path().join(".git/index")).expect("an index");
            let listed = git(&["ls-files", "-s"]);
            let wanted: Vec<RepoPath> = listed
                .lines()
                .filter_map(|line| RepoPath::new(line.split_once('\t')?.1).ok())
                .chain(RepoPath::new("d/absent").ok())
                .collect();
            let found = parse(&bytes)
                .expect("a plain index")
                .staged(wanted.iter())
                .entries;
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
        }
    }
}
