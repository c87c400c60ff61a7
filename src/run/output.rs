//! What an executor prints: all of it to a log up to a cap, the end of it kept for its result.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How many bytes of output a log keeps.
const LOG_CAP: u64 = 8 << 20;
/// How many of the last bytes are kept, in which the result is looked for.
pub(super) const RESULT_CAP: usize = 1 << 20;

/// The log of one try, and the end of what was printed.
pub(super) struct Output {
    log: File,
    written: u64,
    tail: Vec<u8>,
    /// Why the log could not be written, once.
    pub fault: Option<io::Error>,
}

impl Output {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { log: File::create(path)?, written: 0, tail: Vec::new(), fault: None })
    }

    /// Takes what was printed; `is_answer` where it came by the stream that may hold the result.
    pub(super) fn take(&mut self, bytes: &[u8], is_answer: bool) {
        if is_answer {
            self.tail.extend_from_slice(bytes);
            if self.tail.len() > 2 * RESULT_CAP {
                self.tail.drain(..self.tail.len() - RESULT_CAP);
            }
        }
        let room = usize::try_from(LOG_CAP.saturating_sub(self.written)).unwrap_or(usize::MAX);
        if room == 0 || self.fault.is_some() {
            return;
        }
        let kept = &bytes[..bytes.len().min(room)];
        self.written += kept.len() as u64;
        let mut written = self.log.write_all(kept);
        if kept.len() < bytes.len() || self.written == LOG_CAP {
            let note = format!("\n[orch: what is printed beyond {LOG_CAP} bytes is not kept]\n");
            written = written.and_then(|()| self.log.write_all(note.as_bytes()));
            self.written = LOG_CAP;
        }
        self.fault = written.err();
    }

    /// The end of what was printed, as text.
    pub(super) fn tail(&self) -> String {
        let from = self.tail.len().saturating_sub(RESULT_CAP);
        String::from_utf8_lossy(&self.tail[from..]).into_owned()
    }
}
