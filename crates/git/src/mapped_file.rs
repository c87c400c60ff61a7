//! A file that is mapped into memory: a pack, or the index of one, which git and `orch` write under another name, and then
//! only remove.

use memmap2::{Mmap, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a file.
#[derive(Debug)]
pub(super) struct MappedFile(Mmap);

impl MappedFile {
    /// Maps a file. Returns an error if the system refuses to.
    #[expect(unsafe_code, reason = "another process could change the file")]
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: nobody changes such a file. Who shortens one ends each process that reads it, as with libgit2, which
        // maps it too. Who changes bytes of it changes what is read, which is compared with an id.
        Ok(Self(unsafe { Mmap::map(file)? }))
    }

    /// Gives back the memory that it takes, until it is read again.
    #[expect(unsafe_code, reason = "what was written to the memory would be lost")]
    pub(super) fn give_back(&self) {
        // SAFETY: nobody writes to it, so that the same bytes are read from the file again. If the system refuses, the
        // memory stays in use.
        let _ = unsafe { self.0.unchecked_advise(UncheckedAdvice::DontNeed) };
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
