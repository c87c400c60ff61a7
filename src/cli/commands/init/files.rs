//! The files that `orch init` writes, changes and deletes. No link is followed.

use super::clash::Clash;
use super::section::{self, TextSection};
use crate::base::{Code, Diagnostic};
use crate::cli::Failure;
use crate::scan::{Directory, open_regular};
use crate::store::durable::{parent, write_atomic};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The root of a repository, and what was done there.
pub struct SetupFiles {
    root: PathBuf,
    /// The paths that were created or changed.
    pub made: Vec<String>,
    /// The paths that were deleted, or lost a part.
    pub removed: Vec<String>,
    /// What was left alone.
    pub findings: Vec<Diagnostic>,
    /// The directories that were not there before, without those below them.
    new_directories: Vec<String>,
}

impl SetupFiles {
    /// Nothing was done yet.
    pub fn new(root: &Path) -> Self {
        let (made, removed, findings) = (Vec::new(), Vec::new(), Vec::new());
        Self { root: root.to_owned(), made, removed, findings, new_directories: Vec::new() }
    }

    /// Whether something has this path.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// Whether nothing was done and nothing left alone.
    pub fn is_unchanged(&self) -> bool {
        self.made.is_empty() && self.removed.is_empty() && !self.findings.iter().any(Diagnostic::is_error)
    }

    /// The paths to commit: the files, or a directory that holds nothing but new ones of orch. Other directories may
    /// hold unfinished work of others.
    pub fn to_add(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for path in self.made.iter().chain(&self.removed) {
            let shown = self.new_directories.iter().find(|new| is_below(path, new)).unwrap_or(path);
            if !paths.contains(shown) {
                paths.push(shown.clone());
            }
        }
        paths
    }

    /// What a link at the path leads to, as it is written.
    pub fn link(&self, path: &str) -> Option<PathBuf> {
        std::fs::read_link(self.root.join(path)).ok()
    }

    /// What is wrong with a path that is a symbolic link, or has one above it; `None` if it is and has none.
    pub fn linked(&self, path: &str) -> Option<Diagnostic> {
        let above: Vec<&Path> = Path::new(path).ancestors().collect();
        let is_link = |part: &&&Path| !part.as_os_str().is_empty() && self.root.join(part).is_symlink();
        let link = above.iter().rev().find(is_link)?;
        let message = format!("{} is a symbolic link, which may lead out of the repository", link.display());
        Some(Diagnostic::error(Code::Symlink, message).hint("put the file or the directory itself there"))
    }

    fn refuse_link(&self, path: &str) -> Result<(), Failure> {
        self.linked(path).map_or(Ok(()), |finding| Err(finding.into()))
    }

    /// The text of a file; `None` if there is none. Returns an error if it cannot be read as text, or is a link.
    pub fn read(&self, path: &str) -> Result<Option<String>, Failure> {
        match open_regular(&self.root.join(path)) {
            Ok(Some(file)) => std::io::read_to_string(file)
                .map(Some)
                .map_err(|error| cannot_write(path, &error.to_string())),
            Ok(None) => Err(cannot_write(path, "it is not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot_write(path, &error.to_string())),
        }
    }

    /// Writes a file unless the path exists. Returns an error if it cannot be written.
    pub fn file(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        if self.has(path) { Ok(()) } else { self.write(path, text) }
    }

    /// Puts a part that only orch changes into a file. Returns an error if the file cannot be read or written.
    pub fn section(&mut self, path: &str, section: &TextSection<'_>) -> Result<(), Failure> {
        self.refuse_link(path)?;
        let before = self.read(path)?;
        let after = section::added(before.as_deref(), section)
            .map_err(|clash: Clash| cannot_write(path, &clash.to_string()))?;
        if before.as_ref() == Some(&after) { Ok(()) } else { self.write(path, &after) }
    }

    /// Writes a file and the directories above it. Returns an error if one of these is a link, or on failure.
    pub fn write(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        self.refuse_link(path)?;
        self.replace(path, text)?;
        self.made.push(path.to_owned());
        Ok(())
    }

    /// Writes what is left of a file after a part was removed. Returns an error as [`SetupFiles::write`] does.
    pub fn cut(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        self.replace(path, text)?;
        self.removed.push(path.to_owned());
        Ok(())
    }

    fn replace(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let target = self.root.join(path);
        // From the root down, the first directory that is missing.
        let missing = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let missing = missing.filter(|above| !above.is_empty() && !self.has(above)).last();
        self.new_directories.extend(missing.map(str::to_owned));
        Directory::make(&self.root, parent(&target))
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        write_atomic(&self.root, &target, text.as_bytes())
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        Ok(())
    }

    /// Deletes a file, and the directories above it that are empty then. Returns an error if it cannot be deleted.
    pub fn delete(&mut self, path: &str) -> Result<(), Failure> {
        let failed = |error: std::io::Error| cannot_write(path, &error.to_string());
        let target = self.root.join(path);
        let name = target.file_name().unwrap_or_default();
        Directory::open(&self.root, parent(&target))
            .and_then(|directory| directory.remove(name))
            .map_err(failed)?;
        for above in Path::new(path).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let (Some(name), Some(outer)) = (above.file_name(), above.parent()) else { break };
            let opened = Directory::open(&self.root, &self.root.join(outer));
            // A directory that is not empty stays, and so do those above it.
            if opened.and_then(|directory| directory.remove_directory(name)).is_err() {
                break;
            }
        }
        self.removed.push(path.to_owned());
        Ok(())
    }
}

/// Whether a path is below a directory.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

fn cannot_write(path: &str, error: &str) -> Failure {
    Failure::new(Code::Io, format!("cannot write {path}: {error}"))
}
