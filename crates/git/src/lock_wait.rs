//! Waiting for the lock of another `orch` process.

use std::hash::{BuildHasher, RandomState};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait unless the caller says: dozens of processes that commit one after another finish in this
/// time.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits in short steps of random length. With equal or growing steps the same process would lose again and
/// again.
pub struct LockWait {
    begun: Instant,
    limit: Duration,
    random: RandomState,
    steps: u64,
}

impl LockWait {
    /// Begins to wait, at most this long.
    pub fn at_most(limit: Duration) -> Self {
        Self {
            begun: Instant::now(),
            limit,
            random: RandomState::new(),
            steps: 0,
        }
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.begun.elapsed())
    }

    /// Sleeps for the next step; `false` without sleeping if the time is over.
    pub fn again(&mut self) -> bool {
        if self.left().is_zero() {
            return false;
        }
        if self.steps == 0 {
            tracing::info!("waiting for a lock of another process");
        }
        self.steps += 1;
        sleep(Duration::from_millis(
            2 + self.random.hash_one(self.steps) % 30,
        ));
        true
    }
}
