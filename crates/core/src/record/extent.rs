//! What a state says of the log that it was written with.

use orch_base::{Digest, ObjectFormat};
use serde::Serialize;

/// Up to how many bytes a state vouches for every line of its log.
const SHORT: usize = 32 << 10;

/// The size of the log that a state was written with, and the digest of a short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LogExtent {
    /// The number of lines.
    pub lines: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The digest of the sorted lines, because merges may order them differently; `None` of a log that is
    /// longer than 32 KiB.
    pub digest: Option<Digest>,
}

impl Default for LogExtent {
    /// The extent of an empty log.
    fn default() -> Self {
        Self::of(&[], ObjectFormat::default())
    }
}

impl LogExtent {
    /// The extent of a log with these bytes, with a digest of this format.
    #[must_use]
    pub fn of(log: &[u8], format: ObjectFormat) -> Self {
        let lines = log.iter().filter(|byte| **byte == b'\n').count();
        Self {
            lines: u64::try_from(lines).unwrap_or(u64::MAX),
            bytes: u64::try_from(log.len()).unwrap_or(u64::MAX),
            digest: digest_of(log, format),
        }
    }
}

/// The digest of the sorted lines of a short log, without the carriage returns of a checkout.
pub(super) fn digest_of(log: &[u8], format: ObjectFormat) -> Option<Digest> {
    if log.len() > 2 * SHORT {
        return None;
    }
    let ends = log.split_inclusive(|byte| *byte == b'\n');
    let mut lines: Vec<&[u8]> = ends
        .map(|line| match line {
            [text @ .., b'\r', b'\n'] | [text @ .., b'\n'] => text,
            text => text,
        })
        .collect();
    lines.sort_unstable();
    let length = lines.iter().map(|line| line.len() + 1).sum::<usize>();
    if length > SHORT {
        return None;
    }
    Some(format.blob(&lines.join(&b'\n')))
}
