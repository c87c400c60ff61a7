//! What wakes the process that works on many tasks: the end of a process or of a thread, and news of the queue.

use orch_fleet::queue::QueueNews;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Why it is woken.
pub(super) enum Ring {
    /// A process or a thread has ended.
    Ended,
    /// The queue tells something.
    Queue(QueueNews),
}

/// Wakes the process that waits, from any thread.
#[derive(Clone)]
pub(super) struct Bell(Sender<Ring>);

impl Bell {
    /// Wakes it. Nothing happens if it does not wait any more.
    pub(super) fn ring(&self, why: Ring) {
        let _ = self.0.send(why);
    }
}

/// Waits for the bell.
pub(super) struct Rings {
    bell: Bell,
    rings: Receiver<Ring>,
}

impl Default for Rings {
    fn default() -> Self {
        let (send, rings) = channel();
        Self {
            bell: Bell(send),
            rings,
        }
    }
}

impl Rings {
    /// The bell that is waited for.
    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Waits until the bell rings, at most so long. Returns why it has rung since the last time.
    pub(super) fn wait(&self, time: Duration) -> Vec<Ring> {
        let first = self.rings.recv_timeout(time).ok();
        first.into_iter().chain(self.rings.try_iter()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn whoever_waits_is_woken_at_once() {
        let rings = Rings::default();
        let bell = rings.bell();
        let thread = std::thread::spawn(move || bell.ring(Ring::Ended));
        let begun = Instant::now();
        let long = Duration::from_secs(60);
        assert!(matches!(rings.wait(long)[..], [Ring::Ended]));
        assert!(begun.elapsed() < long);
        thread.join().expect("it rang");
        assert!(rings.wait(Duration::ZERO).is_empty());
    }
}
