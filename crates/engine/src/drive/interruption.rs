//! What an interrupted command does, so that a server can interrupt the commands that it executes.

use orch_base::locked;
use std::sync::{Arc, Mutex};

type OnInterrupt = Box<dyn FnOnce() + Send>;

/// What a command does instead of ending when it is interrupted: by a signal, or by the server that executes it.
#[derive(Clone, Default)]
pub struct Interruption(Arc<Mutex<Option<OnInterrupt>>>);

impl Interruption {
    /// Does this at the next interruption.
    pub fn instead(&self, then: impl FnOnce() + Send + 'static) {
        *locked(&self.0) = Some(Box::new(then));
    }

    /// Does nothing instead from now on.
    pub fn clear(&self) {
        *locked(&self.0) = None;
    }

    /// Interrupts the command. Returns whether there was something to do instead of ending.
    pub fn interrupt(&self) -> bool {
        let then = locked(&self.0).take();
        let Some(then) = then else {
            return false;
        };
        then();
        true
    }
}
