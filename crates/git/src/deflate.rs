//! Compression as git's object files and packs have it: a stream of zlib (RFC 1950) for each object.

use flate2::{Compress, Compression, FlushCompress, Status};
use std::io;

/// A compressor. One serves many objects: to set up another one takes longer than to compress a small object.
pub(super) struct Deflate(Compress);

impl Deflate {
    pub(super) fn new() -> Self {
        Self(Compress::new(Compression::fast(), true))
    }

    /// Appends the compressed content. Returns an error if it cannot be compressed.
    pub(super) fn append(&mut self, content: &[u8], to: &mut Vec<u8>) -> io::Result<()> {
        self.0.reset();
        loop {
            let done = usize::try_from(self.0.total_in()).map_err(io::Error::other)?;
            let rest = &content[done..];
            to.reserve(64 + rest.len() / 2);
            if self.0.compress_vec(rest, to, FlushCompress::Finish)? == Status::StreamEnd {
                return Ok(());
            }
        }
    }
}
