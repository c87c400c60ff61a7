//! Ctrl-C and termination, as a flag and a call.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Calls `then` at the first interrupt, from another thread; a second one ends the process at once.
pub(super) fn on_interrupt(then: impl Fn() + Send + 'static) {
    let handler = move || {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            #[expect(
                clippy::exit,
                reason = "the user asked twice; nothing here holds what a kill could lose"
            )]
            std::process::exit(super::ExitCode::Interrupted as i32);
        }
        then();
    };
    // Without a handler Ctrl-C still ends the process, only less politely.
    let _ = ctrlc::set_handler(handler);
}
