//! Hints from the file system: which paths to look at again, after a quiet moment.
//!
//! What is reported here proves nothing. Events come late, twice or not at all, so whoever receives
//! a [`WatchSignal`] reads the files and compares; a slow [`WatchSignal::Rescan`] catches what no event told.

mod advice;
mod debounce;
mod noise;
mod watcher;

#[cfg(test)]
mod tests;

pub use watcher::{Stop, Watcher};

use crate::base::RepoPath;
use std::path::PathBuf;
use std::time::Duration;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchSignal {
    /// Something changed at this file or directory, or below it; it may be gone.
    Dirty(RepoPath),
    /// The commit that is checked out may be another.
    Head,
    /// Anything may have changed: read everything again. Says why.
    Rescan(&'static str),
    /// Listening failed and the watch goes on by looking at intervals. A text for the user.
    Failed(String),
}

/// How to watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// How long a task must be quiet before its paths are reported.
    pub settle: Duration,
    /// Whether to look at intervals from the start and never listen.
    pub poll: bool,
    /// How often to ask for a rescan while listening.
    pub reconcile: Duration,
    /// How often to ask for a rescan while not listening.
    pub poll_interval: Duration,
    /// The directories in which git keeps what it has checked out, wherever they lie; of some also what
    /// lies below them counts.
    pub heads: Vec<(PathBuf, bool)>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            settle: Duration::from_millis(50),
            poll: false,
            reconcile: Duration::from_secs(45),
            poll_interval: Duration::from_secs(2),
            heads: Vec::new(),
        }
    }
}
