//! How many directories the system lets a user watch; see inotify(7).

use super::advice::MORE_WATCHES;
use super::watcher::outermost;
use orch_base::{Hint, RepoPath};
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The directories to watch, and how many there may be.
pub struct WatchLimit {
    /// How many directories would be watched.
    pub needed: usize,
    /// How many watches all programs of the user may have.
    pub allowed: usize,
}

impl WatchLimit {
    /// Counts the directories at and below these paths of a root; `None` if the system has no such limit.
    #[must_use]
    pub fn of(root: &Path, watched: &[RepoPath]) -> Option<Self> {
        let directories = outermost(watched).into_iter().map(|path| path.under(root));
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
        let below = |directory: PathBuf| WalkDir::new(directory).into_iter().flatten();
        let needed = directories
            .flat_map(below)
            .filter(|entry| entry.file_type().is_dir())
            .count();
        Some(Self {
            needed,
            allowed: limit.trim().parse().ok()?,
        })
    }

    /// Whether the limit is in the way. Other programs need watches, too.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.needed > self.allowed / 2
    }

    /// The command that raises the limit.
    #[must_use]
    pub fn remedy(&self) -> Hint {
        Hint::run(&["sudo", "sysctl", MORE_WATCHES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_short_if_the_directories_take_more_than_half_of_it() {
        let home = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(home.path().join("a/b")).expect("made");
        fs::write(home.path().join("a/file"), "").expect("written");
        let path = |text| RepoPath::new(text).expect("a path");
        if let Some(limit) = WatchLimit::of(home.path(), &[path("a"), path("a/b"), path("gone")]) {
            assert_eq!(limit.needed, 2);
        }
        for (allowed, is_short) in [(6, false), (5, true)] {
            assert_eq!(
                WatchLimit { needed: 3, allowed }.is_short(),
                is_short,
                "{allowed}"
            );
        }
    }
}
