//! What a state says of the log that it was written with.

use crate::base::Digest;

/// How many bytes at the end of a log its state vouches for. Reading twice as many is always enough, also
/// where a checkout has converted line endings.
const END: usize = 32 << 10;

/// The size and the end of the log that a state was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogExtent {
    /// The number of lines.
    pub lines: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The digest of the last 32 KiB, or of the whole log if it is shorter.
    pub end: Digest,
}

impl Default for LogExtent {
    /// The extent of an empty log.
    fn default() -> Self {
        Self::of(&[])
    }
}

impl LogExtent {
    /// The extent of a log with these bytes.
    #[must_use]
    pub fn of(log: &[u8]) -> Self {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let lines = log.iter().filter(|byte| **byte == b'\n').count();
        Self { lines: count(lines), bytes: count(log.len()), end: end_of(log) }
    }

    /// Whether the end of a log vouches for all of it.
    #[must_use]
    pub fn is_whole(log: &[u8]) -> bool {
        log.len() <= END
    }
}

/// The digest of the end of a log, without the carriage returns of a checkout.
pub(super) fn end_of(log: &[u8]) -> Digest {
    let plain: Vec<u8>;
    let tail = &log[log.len().saturating_sub(2 * END)..];
    let tail = if tail.contains(&b'\r') {
        let pairs = tail.iter().zip(tail.iter().skip(1).map(Some).chain([None]));
        plain = pairs
            .filter(|(byte, next)| **byte != b'\r' || *next != Some(&b'\n'))
            .map(|(byte, _)| *byte)
            .collect();
        plain.as_slice()
    } else {
        tail
    };
    Digest::of_blob(&tail[tail.len().saturating_sub(END)..])
}
