//! The terminal of a run, written to by a thread of its own: one that is held up (by a pager, a pipe that
//! nobody reads, Ctrl-S) holds up neither the run nor its limits.

use crate::cli::Ui;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many lines may wait to be shown.
const WAITING: usize = 1000;

/// How long a terminal that is full is waited for while an executor runs; what it prints after that is in
/// its log alone, until there is room again.
const FULL: Duration = Duration::from_millis(100);

/// How long one that takes nothing is waited for in the end.
const STUCK: Duration = Duration::from_secs(1);

/// What is to be shown.
enum Shown {
    /// A line that the next one is written over.
    Passing(String),
    /// A line of status.
    Status(String),
    /// A line that the user must see.
    Problem(String),
    /// That everything before it was shown.
    End(Sender<()>),
}

/// Where a run is shown.
pub(super) struct Screen {
    send: Sender<Shown>,
    waiting: Arc<AtomicUsize>,
    /// How many lines there was no room for.
    missed: usize,
}

impl Screen {
    pub(super) fn new(ui: &Ui) -> Self {
        let (send, receive) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (ui, left) = (ui.clone(), Arc::clone(&waiting));
        thread::spawn(move || write(&ui, &receive, &left));
        Self { send, waiting, missed: 0 }
    }

    /// Shows what goes on, where nothing else waits to be shown.
    pub(super) fn passing(&self, text: String) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            self.send(Shown::Passing(text));
        }
    }

    /// Shows a line that an executor has printed, if there is room.
    pub(super) fn line(&mut self, text: String) {
        let until = Instant::now() + FULL;
        while self.missed == 0 && !self.has_room() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        if self.has_room() {
            self.status(text);
        } else {
            self.missed += 1;
        }
    }

    fn has_room(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) < WAITING
    }

    /// Shows a line of status.
    pub(super) fn status(&mut self, text: String) {
        self.tell_missed();
        self.send(Shown::Status(text));
    }

    /// Shows a line that the user must see.
    pub(super) fn problem(&mut self, text: String) {
        self.tell_missed();
        self.send(Shown::Problem(text));
    }

    /// Shows a line of status from another thread.
    pub(super) fn voice(&self) -> impl FnOnce(String) + Send + use<> {
        let (send, waiting) = (self.send.clone(), Arc::clone(&self.waiting));
        move |text| say(&send, &waiting, Shown::Status(text))
    }

    /// Waits until everything is shown, unless the terminal takes nothing any more.
    pub(super) fn end(&mut self) {
        self.tell_missed();
        let (send, shown) = channel();
        self.send(Shown::End(send));
        let mut left = self.waiting.load(Ordering::SeqCst);
        while let Err(RecvTimeoutError::Timeout) = shown.recv_timeout(STUCK) {
            let now = self.waiting.load(Ordering::SeqCst);
            if now >= left {
                break;
            }
            left = now;
        }
    }

    fn tell_missed(&mut self) {
        let missed = std::mem::take(&mut self.missed);
        if missed > 0 {
            self.send(Shown::Status(format!("  [{missed} lines are in the log alone]")));
        }
    }

    fn send(&self, shown: Shown) {
        say(&self.send, &self.waiting, shown);
    }
}

fn say(send: &Sender<Shown>, waiting: &AtomicUsize, shown: Shown) {
    waiting.fetch_add(1, Ordering::SeqCst);
    // Who shows it is there as long as somebody has something to show.
    let _ = send.send(shown);
}

/// Writes what is to be shown, until nobody is left who could show anything.
fn write(ui: &Ui, receive: &Receiver<Shown>, waiting: &AtomicUsize) {
    for shown in receive {
        if !matches!(shown, Shown::Passing(_)) {
            ui.passed();
        }
        match shown {
            Shown::Passing(text) => ui.passing(&text),
            Shown::Status(text) => ui.status(&text),
            Shown::Problem(text) => ui.problem(&text),
            Shown::End(told) => drop(told.send(())),
        }
        waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
