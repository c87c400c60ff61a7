//! Ctrl-C and termination: an end at once, but for the moment in which we hold a lock of git's.

use crate::{run, store};
use std::sync::{Mutex, PoisonError};

type Wish = Box<dyn FnOnce() + Send>;

/// What to do at the next interrupt instead of ending the process.
static INSTEAD: Mutex<Option<Wish>> = Mutex::new(None);

/// From here on an interrupt ends the process with a documented code and never leaves a lock behind.
pub(super) fn listen() {
    let handler = || {
        let wish = INSTEAD.lock().unwrap_or_else(PoisonError::into_inner).take();
        wish.map_or_else(end, |then| then());
    };
    // Without a handler Ctrl-C still ends the process, only less politely. One that is there stays.
    let _ = ctrlc::set_handler(handler);
}

/// Calls `then` at the next interrupt, from another thread; one after that ends the process at once.
pub(super) fn on_interrupt(then: impl FnOnce() + Send + 'static) {
    *INSTEAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(then));
    listen();
}

fn end() {
    run::kill_now();
    let _quiet = store::let_go();
    #[expect(clippy::exit, reason = "the user asked for it; nothing here holds what a kill could lose")]
    std::process::exit(super::ExitCode::Interrupted as i32);
}
