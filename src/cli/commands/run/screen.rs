//! The terminal of a run. A separate thread writes to it, so that a blocked terminal (a pager, a full pipe,
//! Ctrl-S) stalls neither the run nor its limits.

use crate::cli::Ui;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of lines waiting to be printed.
const WAITING: usize = 1000;

/// How long a run waits for a full queue while an executor prints. After that, lines go only to the
/// executor's log until the queue has room again.
const FULL: Duration = Duration::from_millis(100);

/// How long to wait for a blocked terminal at the end.
const STUCK: Duration = Duration::from_secs(1);

/// Something to print.
enum Shown {
    /// A progress line, which the next output overwrites.
    Passing(String),
    /// A line of status.
    Status(String),
    /// A line that is printed even with `--quiet`.
    Problem(String),
    /// Sent back when everything before it has been printed.
    End(Sender<()>),
}

/// The queue of the thread that prints.
pub(super) struct Screen {
    send: Sender<Shown>,
    waiting: Arc<AtomicUsize>,
    /// The number of executor lines dropped because the queue was full.
    missed: usize,
}

impl Screen {
    pub(super) fn new(ui: &Ui) -> Self {
        let (send, receive) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let ui = ui.clone();
        let left = Arc::clone(&waiting);
        thread::spawn(move || write(&ui, &receive, &left));
        Self {
            send,
            waiting,
            missed: 0,
        }
    }

    /// Shows progress, unless other lines are waiting.
    pub(super) fn passing(&self, text: String) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            self.send(Shown::Passing(text));
        }
    }

    /// Prints a line of an executor, or drops it if the queue is full.
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

    /// Prints a line of status.
    pub(super) fn status(&mut self, text: String) {
        self.report_missed();
        self.send(Shown::Status(text));
    }

    /// Prints a line that the user must see.
    pub(super) fn problem(&mut self, text: String) {
        self.report_missed();
        self.send(Shown::Problem(text));
    }

    /// Returns a function that prints a status line from another thread.
    pub(super) fn voice(&self) -> impl FnOnce(String) + Send + use<> {
        let send = self.send.clone();
        let waiting = Arc::clone(&self.waiting);
        move |text| say(&send, &waiting, Shown::Status(text))
    }

    /// Waits until everything is printed, unless the terminal is blocked.
    pub(super) fn end(&mut self) {
        self.report_missed();
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

    fn report_missed(&mut self) {
        let missed = std::mem::take(&mut self.missed);
        if missed > 0 {
            self.send(Shown::Status(format!(
                "  [{missed} lines were not shown; they are in the log]"
            )));
        }
    }

    fn send(&self, shown: Shown) {
        say(&self.send, &self.waiting, shown);
    }
}

fn say(send: &Sender<Shown>, waiting: &AtomicUsize, shown: Shown) {
    waiting.fetch_add(1, Ordering::SeqCst);
    // The receiving thread lives as long as any sender.
    let _ = send.send(shown);
}

/// Prints until every sender is gone.
fn write(ui: &Ui, receive: &Receiver<Shown>, waiting: &AtomicUsize) {
    for shown in receive {
        match shown {
            Shown::Passing(text) => ui.passing(&text),
            Shown::Status(text) => ui.status(&text),
            Shown::Problem(text) => ui.problem(&text),
            Shown::End(ended) => {
                ui.passed();
                let _ = ended.send(());
            }
        }
        waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
