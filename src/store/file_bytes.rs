//! The bytes of an index file. Of a large one, an update maps the file: to allocate megabytes costs more than the rest of a
//! step.

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

/// From how many bytes on an update maps an index, and works on it in more than one thread.
pub(super) const LARGE: u64 = 1 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum FileBytes {
    Copied(Vec<u8>),
    Mapped(Mmap),
}

impl FileBytes {
    /// Copies a file of about this length. Returns an error if it cannot be read.
    pub(super) fn copied(mut file: &File, length: u64) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.read_to_end(&mut bytes)?;
        Ok(Self::Copied(bytes))
    }

    /// The same, but maps a large file where the file system can. Whoever uses the bytes expects them to change.
    pub(super) fn mapped(file: &File, length: u64) -> io::Result<Self> {
        match (length >= LARGE).then(|| Self::map(file)).flatten() {
            Some(mapped) => Ok(Self::Mapped(mapped)),
            None => Self::copied(file, length),
        }
    }

    /// Returns `None` if the file cannot be mapped.
    #[expect(unsafe_code, reason = "nothing keeps other processes from changing the file")]
    fn map(file: &File) -> Option<Mmap> {
        // SAFETY: git and orch replace an index by renaming another file over it, and git maps it as well. A program that
        // overwrites it in place changes what is read here: the bytes are compared and copied, never taken for text or for
        // offsets without a check, and what comes of them is not used. A program that cuts the file off, or a disk that
        // cannot read it, ends the process with SIGBUS; a step that is cut short is completed or taken back, see
        // ARCHITECTURE.md.
        unsafe { MmapOptions::new().populate().map(file).ok() }
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Copied(bytes) => bytes,
            Self::Mapped(mapped) => mapped,
        }
    }
}

impl From<Vec<u8>> for FileBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Copied(bytes)
    }
}
