//! Hints from the file system about which paths to read again, after a quiet period.
//!
//! A hint proves nothing. Events may arrive late, twice or never, so the receiver of a [`WatchSignal`] reads
//! the files and compares. A periodic [`WatchSignal::Rescan`] catches what no event reported.

mod advice;
mod debounce;
mod limit;
mod noise;
mod watcher;

#[cfg(test)]
mod tests;

pub use limit::WatchLimit;
pub use watcher::{Stop, Watcher};

use orch_base::RepoPath;
use std::path::PathBuf;
use std::time::Duration;

/// Something to read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchSignal {
    /// This file or directory, or something below it, changed; it may be gone.
    Dirty(RepoPath),
    /// HEAD may point to another commit.
    Head,
    /// Anything may have changed; read everything again. Contains the reason.
    Rescan(&'static str),
    /// Listening failed and the watch continues by polling. Contains a message for the user.
    Failed(String),
}

/// How to watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// How long a task must be quiet before its paths are reported.
    pub settle: Duration,
    /// Whether to poll from the start and never listen.
    pub poll: bool,
    /// How often to request a rescan while listening.
    pub reconcile: Duration,
    /// How often to request a rescan while polling.
    pub poll_interval: Duration,
    /// The directories in which git stores HEAD and the refs, and whether changes below each of them also
    /// count.
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
