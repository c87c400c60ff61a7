//! Parses the output of `git ls-files --stage -z`: `MODE BLOB STAGE<TAB>PATH`, terminated by NUL.

use orch_base::{Digest, RepoPath};

/// One line of the output.
pub(super) struct Listed<'a> {
    /// The file mode, such as `0o100644`.
    pub mode: u32,
    /// The id of the blob, or of the commit of a submodule.
    pub blob: Digest,
    /// 0, or of an unmerged path 1 for the common ancestor, 2 for ours and 3 for theirs.
    pub stage: u8,
    /// The path, which may not be UTF-8.
    pub path: &'a [u8],
}

impl<'a> Listed<'a> {
    /// Parses an entry without its NUL; `None` if it is malformed.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let head = std::str::from_utf8(&line[..tab]).ok()?;
        let path = &line[tab + 1..];
        let mut words = head.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let blob = Digest::parse(words.next()?)?;
        let stage = words.next()?.parse().ok()?;
        Some(Self {
            mode,
            blob,
            stage,
            path,
        })
    }

    /// Parses the whole output.
    pub(super) fn all(listed: &'a [u8]) -> impl Iterator<Item = Self> {
        listed.split(|byte| *byte == 0).filter_map(Self::read)
    }
}

/// A path of the index as a repository path, unless it is not UTF-8 or not valid.
pub(super) fn path_of(name: &[u8]) -> Option<RepoPath> {
    RepoPath::new(std::str::from_utf8(name).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let blob = Digest::of_blob(b"");
        let text = format!("100644 {blob} 0\ta\tb\0160000 {blob} 2\tc\0\0no line\0");
        let found: Vec<_> = Listed::all(text.as_bytes())
            .map(|one| (one.mode, one.stage, one.path))
            .collect();
        assert_eq!(
            found,
            [(0o100_644, 0, &b"a\tb"[..]), (0o160_000, 2, &b"c"[..])]
        );
    }
}
