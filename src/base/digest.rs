//! Content digests: git blob ids, computed without git.

use sha1::{Digest as _, Sha1};
use std::fmt::{self, Write};

/// A git blob id, or a hash over several of them, in SHA-1 (20 bytes).
///
/// As in `git hash-object`: the SHA-1 of `blob <length>\0<bytes>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 20]);

impl Digest {
    /// The blob id of `bytes` as they are, without filters.
    #[must_use]
    pub fn of_blob(bytes: &[u8]) -> Self {
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {}\0", bytes.len()).as_bytes());
        hasher.update(bytes);
        Self(hasher.finalize().into())
    }

    /// The plain SHA-1 of the concatenated parts.
    #[must_use]
    pub fn of_parts<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> Self {
        let mut hasher = Sha1::new();
        parts.into_iter().for_each(|part| hasher.update(part));
        Self(hasher.finalize().into())
    }

    /// One digest for several files: the blob id of the lines `path\0blob id\n`, sorted by path.
    ///
    /// A single file keeps its own blob id, so adding a wildcard to a path changes no digest.
    #[must_use]
    pub fn of_files(files: &[(&str, Self)]) -> Self {
        if let [(_, only)] = files {
            return *only;
        }
        let mut files = files.to_vec();
        files.sort_unstable();
        let lines: String = files.iter().map(|(path, digest)| format!("{path}\0{digest}\n")).collect();
        Self::of_blob(lines.as_bytes())
    }

    /// Parses 40 hexadecimal digits; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.as_bytes();
        if hex.len() != 40 {
            return None;
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(bytes))
    }

    /// Whether all bytes are zero, which is how git writes "no object".
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == [0; 20]
    }

    /// The raw 20 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// A digest with these raw bytes, as stored in git objects.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The first ten hexadecimal digits, for display.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()[..10].to_owned()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        self.0.iter().try_for_each(|byte| {
            f.write_char(HEX[usize::from(byte >> 4)].into())?;
            f.write_char(HEX[usize::from(byte & 15)].into())
        })
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_ids_are_those_of_git() {
        assert_eq!(Digest::of_blob(b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(Digest::of_blob(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn parts_are_one_text() {
        let whole = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(Digest::of_parts([&b"abc"[..]]).to_string(), whole);
        assert_eq!(Digest::of_parts([&b"a"[..], b"", b"bc"]).to_string(), whole);
    }

    #[test]
    fn text_and_digest_round_trip() {
        let digest = Digest::of_blob(b"x");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("abc"), None);
        assert_eq!(Digest::parse(&"g".repeat(40)), None);
    }

    #[test]
    fn several_files_do_not_depend_on_order() {
        let (a, b) = (Digest::of_blob(b"a"), Digest::of_blob(b"b"));
        assert_eq!(Digest::of_files(&[("x", a), ("y", b)]), Digest::of_files(&[("y", b), ("x", a)]));
        assert_ne!(Digest::of_files(&[("x", a), ("y", b)]), Digest::of_files(&[("x", b), ("y", a)]));
    }
}
