//! Content digests: git object ids, computed without git.

use sha1::Sha1;
use sha2::{Digest as Hasher, Sha256};
use std::fmt;

/// The hash function of a repository, which makes the ids of its objects: `extensions.objectFormat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectFormat {
    /// Ids of 20 bytes; also where there is no repository.
    #[default]
    Sha1,
    /// Ids of 32 bytes.
    Sha256,
}

impl ObjectFormat {
    /// The blob id of `bytes` as they are, without filters.
    ///
    /// As in `git hash-object`: the hash of `blob <length>\0<bytes>`.
    #[must_use]
    pub fn blob(self, bytes: &[u8]) -> Digest {
        self.object("blob", bytes)
    }

    /// The id of a tree with this content.
    #[must_use]
    pub fn tree(self, bytes: &[u8]) -> Digest {
        self.object("tree", bytes)
    }

    /// The id of a commit with this content.
    #[must_use]
    pub fn commit(self, bytes: &[u8]) -> Digest {
        self.object("commit", bytes)
    }

    fn object(self, kind: &str, bytes: &[u8]) -> Digest {
        self.parts([format!("{kind} {}\0", bytes.len()).as_bytes(), bytes])
    }

    /// The plain hash of the concatenated parts.
    #[must_use]
    pub fn parts<'b>(self, parts: impl IntoIterator<Item = &'b [u8]>) -> Digest {
        match self {
            Self::Sha1 => Digest::Sha1(hash::<Sha1>(parts).into()),
            Self::Sha256 => Digest::Sha256(hash::<Sha256>(parts).into()),
        }
    }

    /// The id of no object, which git writes as zeros.
    #[must_use]
    pub fn null(self) -> Digest {
        match self {
            Self::Sha1 => Digest::Sha1([0; 20]),
            Self::Sha256 => Digest::Sha256([0; 32]),
        }
    }

    /// The length of an id in bytes.
    #[must_use]
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

impl fmt::Display for ObjectFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
        })
    }
}

fn hash<'b, H: Hasher>(parts: impl IntoIterator<Item = &'b [u8]>) -> sha2::digest::Output<H> {
    let mut hasher = H::new();
    parts.into_iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

/// A git object id, or a hash over several of them. It says which hash function made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Digest {
    /// 20 bytes, written as 40 hexadecimal digits.
    Sha1([u8; 20]),
    /// 32 bytes, written as 64 hexadecimal digits.
    Sha256([u8; 32]),
}

impl Digest {
    /// The SHA-1 blob id of `bytes`: for fingerprints that name nothing in a repository, and for tests. The id
    /// of something in a repository is [`ObjectFormat::blob`].
    #[must_use]
    pub fn of_blob(bytes: &[u8]) -> Self {
        ObjectFormat::Sha1.blob(bytes)
    }

    /// One digest for several files: the blob id of the lines `path\0blob id\n`, sorted by path, in the format
    /// of the files.
    ///
    /// A single file keeps its own blob id, so adding a wildcard to a path changes no digest.
    #[must_use]
    pub fn of_files(files: &[(&str, Self)]) -> Self {
        if let [(_, only)] = files {
            return *only;
        }
        let format = files
            .first()
            .map(|(_, first)| first.format())
            .unwrap_or_default();
        let mut files = files.to_vec();
        files.sort_unstable();
        let lines: String = files
            .iter()
            .map(|(path, digest)| format!("{path}\0{digest}\n"))
            .collect();
        format.blob(lines.as_bytes())
    }

    /// Parses 40 or 64 hexadecimal digits in lower case, as [`Display`](fmt::Display) writes them; `None` for any
    /// other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.as_bytes();
        match hex.len() {
            40 => bytes_of(hex).map(Self::Sha1),
            64 => bytes_of(hex).map(Self::Sha256),
            _ => None,
        }
    }

    /// The hash function that made it.
    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        match self {
            Self::Sha1(_) => ObjectFormat::Sha1,
            Self::Sha256(_) => ObjectFormat::Sha256,
        }
    }

    /// Whether all bytes are zero, which is how git writes "no object".
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self == self.format().null()
    }

    /// The raw 20 or 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }

    /// A digest with these raw bytes, as stored in git objects; `None` if there are not 20 or 32.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let sha256 = || bytes.try_into().ok().map(Self::Sha256);
        bytes.try_into().ok().map(Self::Sha1).or_else(sha256)
    }

    /// The first ten hexadecimal digits, for display.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()[..10].to_owned()
    }
}

/// The bytes that these hexadecimal digits name; there are twice as many.
fn bytes_of<const N: usize>(hex: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    // If capitals were digits too, two texts would be the same id, and a log could be changed unnoticed.
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .filter(|_| !byte.is_ascii_uppercase())
    };
    for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
        let (high, low) = (digit(pair[0])?, digit(pair[1])?);
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hexadecimal(self.as_bytes(), f)
    }
}

/// These bytes in hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    // A string takes whatever is written.
    let _ = write_hexadecimal(bytes, &mut text);
    text
}

fn write_hexadecimal(bytes: &[u8], to: &mut impl fmt::Write) -> fmt::Result {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    // An id of any format is written at once.
    bytes.chunks(32).try_for_each(|part| {
        let mut text = [0; 64];
        for (digits, byte) in text.chunks_exact_mut(2).zip(part) {
            digits.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        to.write_str(std::str::from_utf8(&text[..2 * part.len()]).map_err(|_| fmt::Error)?)
    })
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ObjectFormat::{Sha1, Sha256};

    #[test]
    fn object_ids_are_those_of_git() {
        let cases = [
            (Sha1.blob(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (
                Sha1.blob(b"hello\n"),
                "ce013625030ba8dba906f756967f9e9ca394464a",
            ),
            (Sha1.tree(b""), "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
            (
                Sha256.blob(b""),
                "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
            ),
            (
                Sha256.blob(b"hello\n"),
                "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4",
            ),
            (
                Sha256.tree(b""),
                "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
            ),
        ];
        for (digest, text) in cases {
            assert_eq!(digest.to_string(), text);
        }
    }

    #[test]
    fn parts_are_one_text() {
        let whole = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(Sha1.parts([&b"abc"[..]]).to_string(), whole);
        assert_eq!(Sha1.parts([&b"a"[..], b"", b"bc"]).to_string(), whole);
    }

    #[test]
    fn text_bytes_and_digest_round_trip() {
        for format in [Sha1, Sha256] {
            let digest = format.blob(b"x");
            assert_eq!(digest.format(), format);
            assert_eq!(digest.as_bytes().len(), format.length());
            assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
            assert_eq!(Digest::from_bytes(digest.as_bytes()), Some(digest));
            assert!(format.null().is_null() && !digest.is_null());
        }
        assert_eq!(Digest::parse("abc"), None);
        for length in [40, 64] {
            assert_eq!(Digest::parse(&"g".repeat(length)), None);
            assert_eq!(
                Digest::parse(&"A".repeat(length)),
                None,
                "another text of the same id"
            );
            assert_eq!(Digest::parse(&"a".repeat(length - 1)), None);
        }
        assert_eq!(Digest::from_bytes(&[0; 21]), None);
    }

    #[test]
    fn several_files_do_not_depend_on_order() {
        for format in [Sha1, Sha256] {
            let (a, b) = (format.blob(b"a"), format.blob(b"b"));
            assert_eq!(
                Digest::of_files(&[("x", a), ("y", b)]),
                Digest::of_files(&[("y", b), ("x", a)])
            );
            assert_ne!(
                Digest::of_files(&[("x", a), ("y", b)]),
                Digest::of_files(&[("x", b), ("y", a)])
            );
            assert_eq!(Digest::of_files(&[("x", a), ("y", b)]).format(), format);
        }
    }
}
