//! The diagnostic log: where `tracing` events go, and which of them.
//!
//! `-v`, `-vv` and `ORCH_LOG` show events on stderr. The watch and runs also write them to a file in the git
//! directory, so that a misbehaving daemon can be diagnosed afterwards. Otherwise no subscriber is installed,
//! and an event costs one integer comparison.

use super::Ui;
use orch_base::locked;
use orch_git::LogFile;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{FmtSpan, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::prelude::*;

/// The file name, in the directory of `orch` inside the git directory.
pub(super) const FILE: &str = "orch.log";

/// The level of the log file unless `ORCH_LOG` sets another.
const KEPT: LevelFilter = LevelFilter::INFO;

/// The maximum length of a line in bytes, so that no single event can fill the file.
const LINE: usize = 4096;

/// The maximum number of lines waiting to be written to stderr.
const WAITING: usize = 1000;

/// How long to wait for a blocked stderr at the end.
const STUCK: Duration = Duration::from_secs(1);

/// The diagnostic log of this process.
pub(super) struct Logging {
    /// The filter from `ORCH_LOG`.
    filter: Option<Targets>,
    /// The level from `-v` or `-vv`.
    level: LevelFilter,
    screen: Option<Arc<LogScreen>>,
    file: Arc<Kept>,
    set_up: Once,
}

impl Logging {
    /// Starts logging to stderr if `-v` or `ORCH_LOG` asks for it. An invalid filter is reported and ignored, and so is a
    /// thread that cannot be started: no command fails because of its log.
    pub(super) fn begin(verbose: u8, filter: Option<String>, ui: &Ui) -> Self {
        let filter = filter
            .filter(|text| !text.trim().is_empty())
            .and_then(|text| parse(&text, ui));
        let level = match verbose {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        let is_shown = level != LevelFilter::OFF || filter.is_some();
        let screen = is_shown.then(|| LogScreen::new(ui)).flatten().map(Arc::new);
        let logging = Self {
            filter,
            level,
            screen,
            file: Arc::default(),
            set_up: Once::new(),
        };
        if is_shown {
            logging.set_up();
        }
        logging
    }

    /// Also logs to the file at `path` from now on. If the file cannot be opened, the command continues
    /// without it.
    pub(super) fn keep(&self, path: &Path) {
        match LogFile::open(path) {
            Ok(file) => {
                *locked(&self.file.0) = Some(file);
                self.set_up();
                tracing::info!(version = env!("CARGO_PKG_VERSION"), "orch starts");
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot open the log file")
            }
        }
    }

    /// Waits until all lines are written, or until stderr has been blocked for [`STUCK`].
    pub(super) fn end(&self) {
        if let Some(screen) = &self.screen {
            screen.end();
        }
    }

    fn set_up(&self) {
        self.set_up.call_once(|| {
            let shown = self.screen.clone().map(|screen| {
                let layer = tracing_subscriber::fmt::layer()
                    .with_ansi(false)
                    .log_internal_errors(false)
                    .with_span_events(FmtSpan::CLOSE)
                    .with_timer(LogClock)
                    .with_writer(screen);
                layer.with_filter(self.targets(self.level))
            });
            let kept = tracing_subscriber::fmt::layer()
                .with_ansi(false)
                .log_internal_errors(false)
                .with_span_events(FmtSpan::CLOSE)
                .with_timer(LogClock)
                .with_writer(Arc::clone(&self.file))
                .with_filter(self.targets(KEPT));
            // This fails only if a subscriber exists already; then that one stays.
            let _ = tracing_subscriber::registry()
                .with(shown)
                .with(kept)
                .try_init();
        });
    }

    /// The level, overridden by what `ORCH_LOG` sets.
    fn targets(&self, level: LevelFilter) -> Targets {
        let targets = match &self.filter {
            None => Targets::new().with_default(level),
            Some(filter) => filter
                .clone()
                .with_default(filter.default_level().unwrap_or(level)),
        };
        // What the protocol of `orch mcp` logs contains messages.
        targets.with_target("rmcp", LevelFilter::OFF)
    }
}

/// Parses `ORCH_LOG`: a level, or levels for targets. Warns and returns `None` if it is invalid.
fn parse(text: &str, ui: &Ui) -> Option<Targets> {
    let warn = |why: String| {
        ui.problem(&format!("warning: ORCH_LOG is ignored: {why}"));
        ui.problem("hint: use a level such as `debug`, or targets such as `orch_git=trace`");
        None
    };
    let targets = match text.parse::<Targets>() {
        Ok(targets) => targets,
        Err(error) => return warn(error.to_string()),
    };
    // The parser accepts any word as a target, including a misspelled level.
    let is_ours = |target: &str| {
        target == "orch" || target.starts_with("orch::") || target.starts_with("orch_")
    };
    let other = targets
        .iter()
        .map(|(target, _)| target)
        .find(|target| !is_ours(target));
    match other {
        Some(other) => warn(format!("`{other}` is neither a level nor a part of orch")),
        None => Some(targets),
    }
}

/// The time of an event and the id of the process.
struct LogClock;

impl FormatTime for LogClock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        SystemTime.format_time(writer)?;
        write!(writer, " {}", std::process::id())
    }
}

/// Formats an event as one line: control characters are escaped, and the length is limited to [`LINE`].
fn line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut line = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if line.len() >= LINE {
            line.push('…');
            break;
        }
        if c.is_control() {
            line.extend(c.escape_default())
        } else {
            line.push(c)
        }
    }
    line
}

/// The log file, once its path is known.
#[derive(Default)]
struct Kept(Mutex<Option<LogFile>>);

impl Write for &Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut *locked(&self.0) {
            let mut text = line(bytes);
            text.push('\n');
            // A full disk must not stop the command.
            let _ = file.append(text.as_bytes());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log on stderr. A separate thread writes it, so that a blocked terminal blocks nothing else.
struct LogScreen {
    send: SyncSender<LogShown>,
    /// The number of lines dropped because the queue was full.
    missed: Arc<AtomicUsize>,
}

enum LogShown {
    Line(String),
    /// Sent back when everything before it has been written.
    End(Sender<()>),
}

impl LogScreen {
    /// Returns `None` after a warning if the thread cannot be started.
    fn new(ui: &Ui) -> Option<Self> {
        let (send, receive) = sync_channel(WAITING);
        let missed = Arc::new(AtomicUsize::new(0));
        let shown = ui.clone();
        let lost = Arc::clone(&missed);
        match thread::Builder::new().spawn(move || show(&shown, &receive, &lost)) {
            Ok(_) => Some(Self { send, missed }),
            Err(error) => {
                ui.problem(&format!(
                    "warning: nothing is logged to stderr: cannot start a thread: {error}"
                ));
                None
            }
        }
    }

    fn end(&self) {
        let (ended, shown) = channel();
        let until = Instant::now() + STUCK;
        let mut end = LogShown::End(ended);
        while let Err(TrySendError::Full(back)) = self.send.try_send(end) {
            if Instant::now() > until {
                return;
            }
            end = back;
            thread::sleep(Duration::from_millis(1));
        }
        // An error means a timeout, or that the thread has exited.
        let _ = shown.recv_timeout(STUCK);
    }
}

impl Write for &LogScreen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.send.try_send(LogShown::Line(line(bytes))).is_err() {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn show(ui: &Ui, receive: &Receiver<LogShown>, missed: &AtomicUsize) {
    for shown in receive {
        match shown {
            LogShown::Line(text) => ui.problem(&text),
            LogShown::End(ended) => drop(ended.send(())),
        }
        let missed = missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            ui.problem(&format!(
                "[{missed} log lines were dropped because stderr was blocked]"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_of_bounded_length() {
        assert_eq!(line(b"one\n"), "one");
        assert_eq!(line(b"one\ntwo\x1b[2J\n"), "one\\ntwo\\u{1b}[2J");
        assert_eq!(line("é\n".as_bytes()), "é");
        let long = line(&[b'x'; 3 * LINE]);
        assert!(
            long.len() < LINE + 8 && long.ends_with('…'),
            "{}",
            long.len()
        );
    }

    #[test]
    fn the_filter_changes_what_the_flags_say() {
        let ui = Ui::new(super::super::Colour::Never, true, true);
        let targets = |filter: &str, level| {
            let filter = parse(filter, &ui);
            let logging = Logging {
                filter,
                level,
                screen: None,
                file: Arc::default(),
                set_up: Once::new(),
            };
            logging.targets(level)
        };
        let store = targets("orch_git=trace", LevelFilter::INFO);
        assert!(store.would_enable("orch_git::commit", &tracing::Level::TRACE));
        assert!(store.would_enable("orch_engine::survey", &tracing::Level::INFO));
        assert!(!store.would_enable("orch_engine::survey", &tracing::Level::DEBUG));
        let whole = targets("debug", LevelFilter::INFO);
        assert!(whole.would_enable("orch_engine::survey", &tracing::Level::DEBUG));
        let none = targets("off", LevelFilter::INFO);
        assert!(!none.would_enable("orch_engine::survey", &tracing::Level::ERROR));
        for wrong in ["debgu", "orch=loud", "other=debug"] {
            assert_eq!(parse(wrong, &ui), None, "{wrong}");
        }
    }
}
