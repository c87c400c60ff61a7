//! The bytes of an index file. A large one is read into large pages of memory: to get thousands of small ones takes longer
//! than the rest of a step.

use memmap2::{MmapMut, MmapOptions};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

/// From how many bytes on an index is large: an update works on it in more than one thread.
pub(super) const LARGE: u64 = 1 << 20;
/// The size of a large page.
const PAGE: usize = 2 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum FileBytes {
    Small(Vec<u8>),
    /// Memory that is not a part of the file, and how much of it is used.
    Large(MmapMut, usize),
}

impl FileBytes {
    /// Reads a file of about this length from its beginning. Returns an error if it cannot be read.
    pub(super) fn read(file: &File, length: u64) -> io::Result<Self> {
        match usize::try_from(length) {
            Ok(expected) if length >= LARGE => Self::read_large(file, expected),
            expected => Self::read_all(file, expected.unwrap_or_default()),
        }
    }

    fn read_all(mut file: &File, expected: usize) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(expected);
        file.read_to_end(&mut bytes)?;
        Ok(Self::Small(bytes))
    }

    fn read_large(mut file: &File, expected: usize) -> io::Result<Self> {
        let memory = MmapOptions::new()
            .len(expected.next_multiple_of(PAGE))
            .map_anon();
        let Ok(mut memory) = memory else {
            return Self::read_all(file, expected);
        };
        // Without them it takes longer.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        file.read_exact(&mut memory[..expected])?;
        Ok(Self::Large(memory, expected))
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Small(bytes) => bytes,
            Self::Large(memory, length) => &memory[..*length],
        }
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Small(bytes)
    }
}
