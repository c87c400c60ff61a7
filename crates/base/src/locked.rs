//! Access to what threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the mutex and returns what it holds, even if a thread panicked while it held the mutex. What is locked with this
/// must not be left half changed by a panic.
pub fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
