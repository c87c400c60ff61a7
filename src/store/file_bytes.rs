//! The bytes of a file that is only ever replaced, never changed: a small one in memory, and a large one where the system
//! has it. Providing new memory for megabytes takes the system longer than everything else that a step does.

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

/// From how many bytes on a file is not copied.
const LARGE: usize = 1 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum FileBytes {
    Copied(Vec<u8>),
    Mapped(Mmap),
}

impl FileBytes {
    /// Reads a file of about this length from its beginning. Returns an error if it cannot be read.
    pub(super) fn of(mut file: &File, length: usize) -> io::Result<Self> {
        match (length >= LARGE).then(|| Self::map(file)).flatten() {
            Some(mapped) => Ok(Self::Mapped(mapped)),
            None => {
                let mut bytes = Vec::with_capacity(length);
                file.read_to_end(&mut bytes)?;
                Ok(Self::Copied(bytes))
            }
        }
    }

    /// `None` where the file system maps no files.
    #[expect(unsafe_code, reason = "nothing keeps other processes from changing the file")]
    fn map(file: &File) -> Option<Mmap> {
        // SAFETY: Whoever writes an index writes another file and renames it, as git does, which maps the index as well. If
        // one is changed in place all the same, readers get other bytes, of which they rely on none without looking; if it
        // is cut off, the system ends the process, which is like any other kill.
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
