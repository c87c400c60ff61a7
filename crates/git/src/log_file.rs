//! A log file that several processes append to. Its size is bounded: the oldest lines are dropped.

use super::durable::parent;
use orch_files::Directory;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The maximum size of one file in bytes.
const LIMIT: u64 = 1024 * 1024;
/// How many older files are kept; `orch.log.1` is the newest of them.
const OLDER: u32 = 4;

/// An open log. Each line is one write, so the lines of several processes do not mix.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    directory: Directory,
    file: File,
    limit: u64,
}

impl LogFile {
    /// Opens the log, or creates it together with its directory. Returns an error if it cannot be opened or
    /// is not a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (directory, file) = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            directory,
            file,
            limit: LIMIT,
        })
    }

    /// Appends one line, including its line ending. Returns an error if it cannot be written.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if !self.is_current() {
            // Another process has rotated the log, or someone has removed it.
            (self.directory, self.file) = open(&self.path)?;
        }
        if self.file.metadata()?.len() + line.len() as u64 > self.limit {
            self.rotate()?;
        }
        (&self.file).write_all(line)
    }

    /// Whether the open file is still the one at the path.
    fn is_current(&self) -> bool {
        let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        match (self.file.metadata(), fs::symlink_metadata(&self.path)) {
            (Ok(open), Ok(there)) => id(open) == id(there),
            _ => false,
        }
    }

    /// Renames every file to the next number and starts a new one. Only one process does so at a time; the
    /// others continue with the open file, so it may exceed the limit by a few lines.
    fn rotate(&mut self) -> io::Result<()> {
        if self.file.try_lock().is_err() {
            return Ok(());
        }
        if self.is_current() {
            for number in (1..OLDER).rev() {
                // Some of them may not exist yet.
                let _ = self.rename(&self.older(number), number + 1);
            }
            if self
                .rename(self.path.file_name().unwrap_or_default(), 1)
                .is_err()
            {
                // Without permission to rename, truncate the file instead.
                self.file.set_len(0)?;
                return self.file.unlock();
            }
        }
        (self.directory, self.file) = open(&self.path)?;
        Ok(())
    }

    fn rename(&self, name: &OsStr, number: u32) -> io::Result<()> {
        self.directory
            .rename(name, &self.directory, self.older(number))
    }

    fn older(&self, number: u32) -> OsString {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{number}"));
        name
    }
}

/// The directory of the log, created if it is missing, and the log.
fn open(path: &Path) -> io::Result<(Directory, File)> {
    let place = parent(path);
    let directory = Directory::make(parent(place), place)?;
    let file = directory.append_private(path.file_name().unwrap_or_default())?;
    Ok((directory, file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn place() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("orch/orch.log");
        (directory, path)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn several_writers_lose_no_line_and_mix_none() {
        let (_directory, path) = place();
        let threads: Vec<_> = (0..4)
            .map(|writer| {
                let mut log = LogFile {
                    limit: 64 * 1024,
                    ..LogFile::open(&path).expect("opened")
                };
                std::thread::spawn(move || {
                    for number in 0..1000 {
                        let line = format!("{writer} {number} {}\n", "x".repeat(20));
                        log.append(line.as_bytes()).expect("written");
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panic"));
        let names = ["orch.log", "orch.log.1", "orch.log.2", "orch.log.3"];
        let texts =
            names.map(|name| fs::read_to_string(path.with_file_name(name)).unwrap_or_default());
        assert!(!texts[1].is_empty(), "it was never rotated");
        let mut seen: Vec<(u32, u32)> = Vec::new();
        for line in texts.iter().flat_map(|text| text.lines()) {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(words.len() == 3 && words[2] == "x".repeat(20), "{line:?}");
            seen.push((
                words[0].parse().expect("a writer"),
                words[1].parse().expect("a number"),
            ));
        }
        seen.sort_unstable();
        let all: Vec<(u32, u32)> = (0..4)
            .flat_map(|writer| (0..1000).map(move |n| (writer, n)))
            .collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn the_size_is_bounded_and_the_youngest_lines_are_kept() {
        let (_directory, path) = place();
        let mut log = LogFile {
            limit: 1000,
            ..LogFile::open(&path).expect("opened")
        };
        for number in 0..1000 {
            log.append(format!("{number:09}\n").as_bytes())
                .expect("written");
        }
        let older = |number| path.with_file_name(format!("orch.log.{number}"));
        let files: Vec<PathBuf> = (1..=4).rev().map(older).chain([path.clone()]).collect();
        let text: String = files
            .iter()
            .map(|file| fs::read_to_string(file).expect("text"))
            .collect();
        let kept: Vec<String> = (500..1000).map(|number| format!("{number:09}")).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), kept);
        assert!(!older(5).exists());
        assert!(files.iter().all(|file| mode(file) == 0o600));
    }

    #[test]
    fn a_removed_log_is_made_again() {
        let (_directory, path) = place();
        let mut log = LogFile::open(&path).expect("opened");
        log.append(b"one\n").expect("written");
        fs::remove_dir_all(path.parent().expect("a directory")).expect("removed");
        log.append(b"two\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("text"), "two\n");
    }

    #[test]
    fn links_are_not_followed_and_wide_permissions_are_narrowed() {
        let (directory, path) = place();
        fs::create_dir(path.parent().expect("a directory")).expect("created");
        let other = directory.path().join("other");
        fs::write(&other, "mine\n").expect("written");
        symlink(&other, &path).expect("linked");
        assert!(LogFile::open(&path).is_err());
        assert_eq!(fs::read_to_string(&other).expect("text"), "mine\n");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        LogFile::open(&path).expect("opened");
        assert_eq!(mode(&path), 0o600);
    }
}
