//! Reading a few entries out of the index file, because listing them by a process of git costs as
//! much as everything else a transition does.
//!
//! See gitformat-index(5). Only the plain formats are read here: versions 2 and 3 whose entries all
//! stand in this file. For any other, the answer is `None`, and git itself is asked.

use crate::base::Digest;
use std::collections::{HashMap, HashSet};

/// An entry of the index at stage 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexEntry {
    pub blob: Digest,
    pub mode: i32,
    /// Only intended to be added: there is nothing staged yet.
    pub intended: bool,
}

/// What an index says of some paths.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Staged {
    /// The entries at stage 0.
    pub entries: HashMap<String, IndexEntry>,
    /// Paths with entries of an unfinished merge.
    pub unmerged: Vec<String>,
}

/// The entries of these paths in the bytes of an index file.
pub(super) fn read_entries(bytes: &[u8], wanted: &HashSet<&str>) -> Option<Staged> {
    if bytes.get(..4)? != b"DIRC" || !matches!(number(bytes, 4)?, 2 | 3) {
        return None;
    }
    let mut found = Staged::default();
    let mut at = 12;
    for _ in 0..number(bytes, 8)? {
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        let extended = flags & 0x4000 != 0;
        let more =
            if extended { u16::from_be_bytes(bytes.get(at + 62..at + 64)?.try_into().ok()?) } else { 0 };
        let start = at + if extended { 64 } else { 62 };
        let length = match usize::from(flags & 0x0fff) {
            0x0fff => bytes.get(start..)?.iter().position(|byte| *byte == 0)?,
            short => short,
        };
        let name = bytes.get(start..start + length)?;
        let wanted_name = std::str::from_utf8(name).ok().filter(|name| wanted.contains(name));
        if let Some(name) = wanted_name.filter(|_| flags & 0x3000 != 0) {
            found.unmerged.push(name.to_owned());
        } else if let Some(name) = wanted_name {
            let blob = Digest::from_bytes(bytes.get(at + 40..at + 60)?.try_into().ok()?);
            let mode = i32::try_from(number(bytes, at + 24)?).ok()?;
            found.entries.insert(name.to_owned(), IndexEntry { blob, mode, intended: more & 0x2000 != 0 });
        }
        // One to eight NUL bytes follow, up to a multiple of eight.
        at += ((start - at) + length + 8) & !7;
    }
    // Extensions up to the checksum; one with a small first letter changes what entries mean.
    let end = bytes.len().checked_sub(20)?;
    while at + 8 <= end {
        if bytes.get(at)?.is_ascii_lowercase() {
            return None;
        }
        at = at.checked_add(8)?.checked_add(usize::try_from(number(bytes, at + 4)?).ok()?)?;
    }
    (at == end).then_some(found)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plain_index_is_left_to_git() {
        let wanted = HashSet::from(["a"]);
        for bytes in [&b""[..], b"DIRC", b"DIRC\0\0\0\x04\0\0\0\0", b"DIRC\0\0\0\x02\0\0\0\x05abc", &[0; 100]]
        {
            assert_eq!(read_entries(bytes, &wanted), None);
        }
        let mut split = b"DIRC\0\0\0\x02\0\0\0\0link\0\0\0\0".to_vec();
        split.extend([0; 20]);
        assert_eq!(read_entries(&split, &wanted), None);
        let mut empty = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
        empty.extend([0; 20]);
        assert_eq!(read_entries(&empty, &wanted), Some(Staged::default()));
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
        let wanted: HashSet<&str> =
            listed.lines().filter_map(|line| Some(line.split_once('\t')?.1)).collect();
        let found = read_entries(&bytes, &wanted).expect("a plain index").entries;
        assert_eq!(found.len(), 5);
        for line in listed.lines() {
            let (head, path) = line.split_once('\t').expect("a line");
            let entry = found[path];
            assert_eq!(head, format!("{:o} {} 0", entry.mode, entry.blob), "{path}");
            assert_eq!(entry.intended, path == "later", "{path}");
        }
        git(&["update-index", "--index-version", "4"]);
        let bytes = std::fs::read(home.path().join(".git/index")).expect("an index");
        assert_eq!(read_entries(&bytes, &wanted), None);
    }
}
