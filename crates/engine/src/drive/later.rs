//! Work of a command that a server does after it has answered.

use orch_base::locked;
use std::sync::{Arc, Mutex};

type LaterJob = Box<dyn FnOnce() + Send>;

/// What the command leaves to whoever executes it.
#[derive(Clone, Default)]
pub struct LaterWork(Arc<Mutex<Vec<LaterJob>>>);

impl LaterWork {
    /// Adds work that does not belong to the answer.
    pub fn add(&self, job: LaterJob) {
        locked(&self.0).push(job);
    }

    /// Does the work, and waits for its end.
    pub fn finish(&self) {
        let jobs = std::mem::take(&mut *locked(&self.0));
        jobs.into_iter().for_each(|job| job());
    }
}
