//! Waiting for the lock of another `orch` process.

use std::hash::{BuildHasher, RandomState};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait: dozens of processes that commit one after another finish in this time.
const LIMIT: Duration = Duration::from_secs(30);

/// Waits in short steps of random length. With equal or growing steps the same process would lose again and
/// again.
pub(crate) struct LockWait {
    begun: Instant,
    random: RandomState,
    steps: u64,
}

impl LockWait {
    /// Begins to wait.
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), random: RandomState::new(), steps: 0 }
    }

    /// Sleeps for the next step; `false` without sleeping if the time is over.
    pub(crate) fn again(&mut self) -> bool {
        if self.begun.elapsed() >= LIMIT {
            return false;
        }
        if self.steps == 0 {
            tracing::info!("waiting: another orch process holds the lock");
        }
        self.steps += 1;
        sleep(Duration::from_millis(2 + self.random.hash_one(self.steps) % 30));
        true
    }
}
