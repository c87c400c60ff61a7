//! Work of a command that a server does after it has answered.

use std::sync::{Arc, Mutex, PoisonError};

type LaterJob = Box<dyn FnOnce() + Send>;

/// What the command leaves to whoever executes it.
#[derive(Clone, Default)]
pub struct LaterWork(Arc<Mutex<Vec<LaterJob>>>);

impl LaterWork {
    /// Adds work that does not belong to the answer.
    pub(super) fn add(&self, job: LaterJob) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(job);
    }

    /// Does the work, and waits for its end.
    #[cfg(feature = "api")]
    pub(super) fn finish(&self) {
        let jobs = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        jobs.into_iter().for_each(|job| job());
    }
}
