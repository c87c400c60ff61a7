//! The log of programs that write to a file: tailed while they write, and kept to its head and its tail.

use super::lines::Lines;
use orch_files::forget_range;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// How many bytes of the beginning are kept.
const HEAD: u64 = 2 << 20;
/// How many bytes of the end are kept.
const TAIL: u64 = 2 << 20;
/// How many bytes between them may be on the disk while programs write.
const MOST: u64 = 32 << 20;

/// The log of several programs, one after the other.
pub struct SessionLog {
    path: PathBuf,
    file: File,
    /// How many bytes of the file have been read.
    read: u64,
    /// Up to where the disk has been given back what is between head and tail.
    forgotten: u64,
    lines: Lines,
}

impl SessionLog {
    /// A new log at a path, in place of what is there. Returns an error if it cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        // Who wrote there before may still do so.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = File::options()
            .read(true)
            .append(true)
            .create_new(true)
            .open(path)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            read: 0,
            forgotten: HEAD,
            lines: Lines::default(),
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a program writes to. Each write goes to the end, wherever that is by then.
    pub(super) fn output(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Adds a line. Returns an error if it cannot be written.
    pub fn note(&mut self, line: &str) -> io::Result<()> {
        self.file.write_all(format!("{line}\n").as_bytes())
    }

    /// Reads what was written since, and gives the disk back what lies between head and tail if it is much.
    pub(super) fn listen(&mut self, hear: &mut dyn FnMut(&str)) {
        let size = self.file.metadata().map_or(0, |found| found.len());
        // Nobody reads so many lines.
        if size.saturating_sub(self.read) > TAIL {
            self.read = size - TAIL;
        }
        let lines = &mut self.lines;
        self.read += each_part(&self.file, self.read, size, &mut |bytes| {
            lines.take(bytes, &mut *hear);
        });
        let end = size.saturating_sub(TAIL);
        if end > self.forgotten.saturating_add(MOST) {
            if let Err(error) = forget_range(&self.file, self.forgotten..end) {
                tracing::debug!(%error, "a log cannot be cut while it is written");
            }
            self.forgotten = end;
        }
    }

    /// The same after the last program that writes has ended: its last line may have no end.
    pub(super) fn listen_to_the_end(&mut self, hear: &mut dyn FnMut(&str)) {
        self.listen(hear);
        self.lines.flush(hear);
    }

    /// Leaves the head and the tail in the file. Returns the file's bytes, and an error if they cannot be read or written.
    pub fn finish(&mut self) -> io::Result<Vec<u8>> {
        let size = self.file.metadata()?.len();
        let is_whole = size <= HEAD + TAIL;
        let mut all = Vec::new();
        let end = if is_whole { size } else { HEAD };
        each_part(&self.file, 0, end, &mut |bytes| {
            all.extend_from_slice(bytes)
        });
        if !is_whole {
            all.extend_from_slice(b"\n[orch: here the output is cut]\n");
            each_part(&self.file, size - TAIL, size, &mut |bytes| {
                all.extend_from_slice(bytes);
            });
            self.file.set_len(0)?;
            self.file.write_all(&all)?;
        }
        Ok(all)
    }
}

/// Reads a file from one offset to another, in parts. Returns how many bytes there were.
fn each_part(file: &File, from: u64, to: u64, take: &mut dyn FnMut(&[u8])) -> u64 {
    let mut buffer = vec![0; 64 << 10];
    let mut at = from;
    while at < to {
        let room = usize::try_from(to - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        match file.read_at(&mut buffer[..room], at) {
            Ok(0) => break,
            Ok(count) => {
                take(&buffer[..count]);
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    at - from
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_log_keeps_its_head_and_its_tail() {
        let directory = tempfile::tempdir().expect("a directory");
        for (size, expected) in [
            (10, 10),
            (HEAD + TAIL, HEAD + TAIL),
            (HEAD + TAIL + 1, HEAD + TAIL + 32),
            (HEAD + TAIL + MOST + 9, HEAD + TAIL + 32),
        ] {
            let mut log = SessionLog::create(&directory.path().join("log")).expect("a log");
            let mut output = log.output().expect("a file");
            let mut heard = 0;
            output.write_all(b"first\n").expect("written");
            log.listen(&mut |line| heard += usize::from(line == "first"));
            let rest = usize::try_from(size).expect("small") - 6 - 4;
            output.write_all(&vec![b'x'; rest]).expect("written");
            log.listen(&mut |_| {});
            let blocks = log.file.metadata().expect("a file").blocks() * 512;
            assert!(blocks <= 2 * (HEAD + TAIL) || size <= HEAD + TAIL + MOST);
            output.write_all(b"\nend").expect("written");
            log.listen(&mut |_| {});
            let all = log.finish().expect("read");
            assert_eq!(all.len() as u64, expected, "{size}");
            assert_eq!(std::fs::read(log.path()).expect("read"), all);
            assert!(all.starts_with(b"first\nx") || size == 10);
            assert!(all.ends_with(b"\nend") && heard == 1);
        }
    }
}
