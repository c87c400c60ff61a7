//! Compression as git's object files and packs have it: a stream of zlib (RFC 1950) for each object.

use flate2::{Compress, Compression, FlushCompress, Status};
use libdeflater::Decompressor;
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

/// A decompressor, set up when it is first used. One serves many objects.
#[derive(Default)]
pub(super) struct Inflate(Option<Decompressor>);

impl Inflate {
    /// What a stream at the start of these bytes contains; `None` unless that is exactly so many bytes.
    pub(super) fn whole(&mut self, stream: &[u8], size: usize) -> Option<Vec<u8>> {
        let decompressor = self.0.get_or_insert_with(Decompressor::new);
        let mut content = vec![0; size];
        let made = decompressor.zlib_decompress(stream, &mut content).ok()?;
        (made == size).then_some(content)
    }
}
