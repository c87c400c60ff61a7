//! How far long work has come, in a line on stderr that the next output overwrites.

use super::Ui;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long work takes before it shows its progress.
const AFTER: Duration = Duration::from_millis(500);
/// How often the line changes.
const EVERY: Duration = Duration::from_millis(100);

/// The progress of one piece of work. Shows nothing unless stderr is a terminal and not quiet.
pub(super) struct WorkProgress {
    ui: Ui,
    begun: Instant,
    shown: Cell<Option<Instant>>,
}

impl WorkProgress {
    /// The work begins now.
    pub(super) fn new(ui: &Ui) -> Self {
        Self {
            ui: ui.clone(),
            begun: Instant::now(),
            shown: Cell::new(None),
        }
    }

    /// Shows how far the work is, if it is time to.
    pub(super) fn show(&self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        let is_early = now - self.begun < AFTER;
        if !self.ui.live || is_early || self.shown.get().is_some_and(|shown| now - shown < EVERY) {
            return;
        }
        self.shown.set(Some(now));
        self.ui.passing(&text());
    }
}

/// `done` of `total` things, or only what is done if the total is not known.
pub(super) fn of_total(done: u64, total: Option<usize>, things: &str) -> String {
    total.map_or_else(
        || format!("{done} {things}"),
        |total| format!("{done} of {total} {things}"),
    )
}
