//! Whether the system grants the threads that a command needs.

use super::Failure;
use orch_base::{Code, locked};
use std::io;
use std::sync::Mutex;
use std::thread;

/// How many threads a command needs that watches, or talks with a program.
pub(super) const FEW: usize = 6;
/// How many threads a server needs.
#[cfg(feature = "api")]
pub(super) const MANY: usize = 16;

/// The bytes of the stack of a thread that only shows that it can be started.
const STACK: usize = 64 << 10;

/// Returns an error unless the system grants this many threads at once.
///
/// Without one of its threads, a library that listens or waits ends the process where it stands. So a command asks
/// before it has begun anything.
pub(super) fn require(many: usize) -> Result<(), Failure> {
    start(many, STACK).map_err(|error| {
        let message = format!("cannot start {many} threads: {error}");
        Failure::new(Code::Io, message)
            .hint("raise the limit of processes: ulimit -u, or that of the container")
    })
}

/// Starts this many threads at once, with stacks of this many bytes, and ends them.
fn start(many: usize, stack: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = locked(&gate);
        let wait = || drop(gate.lock());
        let start = |_| {
            thread::Builder::new()
                .stack_size(stack)
                .spawn_scoped(scope, wait)
                .map(drop)
        };
        (0..many).try_for_each(start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_the_system_does_not_grant_is_an_error() {
        assert!(start(FEW, STACK).is_ok());
        // No machine has so large an address space.
        assert!(start(1, 1 << 54).is_err());
    }
}
