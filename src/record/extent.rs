//! The size of the log that a state was written with.

/// The size of the log that a state was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogExtent {
    /// The number of lines.
    pub lines: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl LogExtent {
    /// The size of a log with these bytes.
    #[must_use]
    pub fn of(log: &[u8]) -> Self {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let lines = log.iter().filter(|byte| **byte == b'\n').count();
        Self { lines: count(lines), bytes: count(log.len()) }
    }
}
