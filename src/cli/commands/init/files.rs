//! The files that `orch init` writes, changes and deletes. No link is followed.

use super::clash::Clash;
use super::section::{self, TextSection};
use crate::cli::Failure;
use orch_base::{Code, Diagnostic};
use orch_core::config::ProjectFiles;
use orch_files::{Directory, open_regular};
use orch_git::durable::{parent, read_if_there, write_atomic};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The root of a repository, and what was done there.
pub struct SetupFiles {
    root: PathBuf,
    /// The paths that were created, changed or deleted, each once, with whether it was there before.
    touched: Vec<(String, bool)>,
    /// What was left alone.
    pub findings: Vec<Diagnostic>,
    /// The directories that were not there before, without those below them.
    new_directories: Vec<String>,
    /// The directories that an earlier command made, as far as they are known.
    pub own_directories: BTreeSet<String>,
}

/// What happened to the files.
#[derive(Debug, Default)]
pub struct SetupOutcome {
    /// The paths that are new.
    pub made: Vec<String>,
    /// The paths that were changed.
    pub changed: Vec<String>,
    /// The paths that are gone.
    pub removed: Vec<String>,
}

impl SetupFiles {
    /// Nothing was done yet.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            touched: Vec::new(),
            findings: Vec::new(),
            new_directories: Vec::new(),
            own_directories: BTreeSet::new(),
        }
    }

    /// What happened to each path, compared with what was there at the start.
    pub fn outcome(&self) -> SetupOutcome {
        let mut found = SetupOutcome::default();
        for (path, was_there) in &self.touched {
            let list = match (was_there, self.has(path)) {
                (false, true) => &mut found.made,
                (true, true) => &mut found.changed,
                (true, false) => &mut found.removed,
                (false, false) => continue,
            };
            list.push(path.clone());
        }
        found
    }

    fn touch(&mut self, path: &str) {
        if !self.touched.iter().any(|(known, _)| known == path) {
            self.touched.push((path.to_owned(), self.has(path)));
        }
    }

    /// Whether something has this path.
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// What tells which tools the project has. What cannot be read tells nothing.
    pub fn project(&self) -> ProjectFiles {
        let names = self.root.read_dir().into_iter().flatten().flatten();
        let text = |path: &str| {
            let bytes = read_if_there(&self.root.join(path));
            let bytes = bytes.ok().flatten().unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        ProjectFiles {
            names: names
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect(),
            package: text("package.json"),
            nextest: text(".config/nextest.toml"),
            makefile: text("Makefile"),
        }
    }

    /// The paths to commit: the files, or a directory that holds nothing but new ones of orch. Other directories may
    /// hold unfinished work of others. `is_known` says whether `git add` accepts a path.
    pub fn to_add(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let SetupOutcome {
            made,
            changed,
            removed,
        } = self.outcome();
        let mut paths: Vec<String> = Vec::new();
        for path in made
            .iter()
            .chain(&changed)
            .chain(&removed)
            .filter(|path| is_known(path))
        {
            let shown = self
                .new_directories
                .iter()
                .find(|new| is_below(path, new))
                .unwrap_or(path);
            if !paths.contains(shown) {
                paths.push(shown.clone());
            }
        }
        paths
    }

    /// The names of what lies at the root. Returns an error if they cannot be listed.
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Code::Io, format!("cannot list the root: {error}"))
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.root).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string());
        }
        Ok(names)
    }

    /// What a link at the path leads to, as it is written.
    pub fn link(&self, path: &str) -> Option<PathBuf> {
        std::fs::read_link(self.root.join(path)).ok()
    }

    /// What is wrong with a path that is a symbolic link, or has one above it; `None` if it is and has none.
    pub fn linked(&self, path: &str) -> Option<Diagnostic> {
        let above: Vec<&Path> = Path::new(path).ancestors().collect();
        let is_link =
            |part: &&&Path| !part.as_os_str().is_empty() && self.root.join(part).is_symlink();
        let link = above.iter().rev().find(is_link)?;
        let message = format!(
            "{} is a symbolic link, which may lead out of the repository",
            link.display()
        );
        Some(
            Diagnostic::error(Code::Symlink, message)
                .hint("put the file or the directory itself there"),
        )
    }

    fn refuse_link(&self, path: &str) -> Result<(), Failure> {
        self.linked(path)
            .map_or(Ok(()), |finding| Err(finding.into()))
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
        if self.has(path) {
            Ok(())
        } else {
            self.write(path, text)
        }
    }

    /// Puts a part that only orch changes into a file. Returns an error if the file cannot be read or written.
    pub fn section(&mut self, path: &str, section: &TextSection<'_>) -> Result<(), Failure> {
        self.refuse_link(path)?;
        let before = self.read(path)?;
        let after = section::added(before.as_deref(), section)
            .map_err(|clash: Clash| cannot_write(path, &clash.to_string()))?;
        if before.as_ref() == Some(&after) {
            Ok(())
        } else {
            self.write(path, &after)
        }
    }

    /// Writes a file and the directories above it. Returns an error if one of these is a link, or on failure.
    pub fn write(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        self.refuse_link(path)?;
        self.touch(path);
        let target = self.root.join(path);
        // From the root down, the first directory that is missing.
        let missing = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let missing: Vec<&str> = missing
            .filter(|above| !above.is_empty() && !self.has(above))
            .collect();
        self.own_directories
            .extend(missing.iter().map(|above| (*above).to_owned()));
        self.new_directories
            .extend(missing.last().map(|above| (*above).to_owned()));
        Directory::make(&self.root, parent(&target))
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        write_atomic(&self.root, &target, text.as_bytes())
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        Ok(())
    }

    /// Deletes a file, and the directories above it that orch made and that are empty then. Returns an error if it
    /// cannot be deleted.
    pub fn delete(&mut self, path: &str) -> Result<(), Failure> {
        self.touch(path);
        let failed = |error: std::io::Error| cannot_write(path, &error.to_string());
        let target = self.root.join(path);
        let name = target.file_name().unwrap_or_default();
        Directory::open(&self.root, parent(&target))
            .and_then(|directory| directory.remove(name))
            .map_err(failed)?;
        for above in Path::new(path)
            .ancestors()
            .skip(1)
            .filter(|above| !above.as_os_str().is_empty())
        {
            let (Some(name), Some(outer), Some(path)) =
                (above.file_name(), above.parent(), above.to_str())
            else {
                break;
            };
            if !self.own_directories.contains(path) {
                break;
            }
            let opened = Directory::open(&self.root, &self.root.join(outer));
            // A directory that is not empty stays, and so do those above it.
            if opened
                .and_then(|directory| directory.remove_directory(name))
                .is_err()
            {
                break;
            }
            self.own_directories.remove(path);
        }
        Ok(())
    }
}

/// Whether a path is below a directory.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn cannot_write(path: &str, error: &str) -> Failure {
    Failure::new(Code::Io, format!("cannot write {path}: {error}"))
}
