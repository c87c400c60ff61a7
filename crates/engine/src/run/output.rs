//! The output of an executor: written to a log up to a limit, with its end kept for the result.

use std::fs::File;
use std::io::{self, Write};

/// The maximum size of a log, in bytes.
const LOG_CAP: u64 = 8 << 20;
/// How many of the last bytes of the standard error are kept.
const ERRORS_CAP: usize = 64 << 10;
/// How many of the last bytes are kept, in which the result is searched.
pub(super) const RESULT_CAP: usize = 1 << 20;

/// The log of one try, and the ends of its standard output and its standard error.
pub(super) struct Output {
    log: Option<File>,
    written: u64,
    tail: Vec<u8>,
    errors: Vec<u8>,
    /// The first error of writing the log.
    pub fault: Option<io::Error>,
}

impl Output {
    /// Output that is written to a log, if there is one.
    pub(super) fn new(log: Option<File>) -> Self {
        Self {
            log,
            written: 0,
            tail: Vec::new(),
            errors: Vec::new(),
            fault: None,
        }
    }

    /// Adds output. `is_answer` if it came from standard output, which may contain the result.
    pub(super) fn take(&mut self, bytes: &[u8], is_answer: bool) {
        let (end, cap) = if is_answer {
            (&mut self.tail, RESULT_CAP)
        } else {
            (&mut self.errors, ERRORS_CAP)
        };
        end.extend_from_slice(bytes);
        if end.len() > 2 * cap {
            end.drain(..end.len() - cap);
        }
        let Some(log) = &mut self.log else { return };
        let room = usize::try_from(LOG_CAP.saturating_sub(self.written)).unwrap_or(usize::MAX);
        if room == 0 || self.fault.is_some() {
            return;
        }
        let kept = &bytes[..bytes.len().min(room)];
        self.written += kept.len() as u64;
        let mut written = log.write_all(kept);
        if kept.len() < bytes.len() || self.written == LOG_CAP {
            let note = format!("\n[orch: output beyond {LOG_CAP} bytes is not logged]\n");
            written = written.and_then(|()| log.write_all(note.as_bytes()));
            self.written = LOG_CAP;
        }
        self.fault = written.err();
    }

    /// The end of standard output, as text.
    pub(super) fn tail(&self) -> String {
        let from = self.tail.len().saturating_sub(RESULT_CAP);
        String::from_utf8_lossy(&self.tail[from..]).into_owned()
    }

    /// The end of the standard error, as text.
    pub(super) fn errors(&self) -> String {
        let from = self.errors.len().saturating_sub(ERRORS_CAP);
        String::from_utf8_lossy(&self.errors[from..]).into_owned()
    }
}
