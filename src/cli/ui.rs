//! The one door out: answers go to stdout, status and hints to stderr, and only from here.

use crate::view::Paint;
use console::Term;
use std::io::{self, Write};

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The printer. Colour and width are decided once, when it is made.
#[derive(Debug, Clone)]
pub struct Ui {
    quiet: bool,
    muted: bool,
    /// How the answer is painted.
    pub paint: Paint,
    /// How status and hints are painted.
    pub paint_status: Paint,
    /// Columns of the terminal the answer goes to; 0 where it is none.
    pub width: usize,
    /// Whether status goes to a terminal, so that a line of it may be written over.
    pub live: bool,
    /// Whether a person can be asked: both input and status are terminals.
    pub interactive: bool,
}

impl Ui {
    /// Decides colour and width for the two streams.
    #[must_use]
    pub fn new(colour: Colour, quiet: bool, no_color: bool) -> Self {
        let (out, err) = (Term::stdout(), Term::stderr());
        let coloured = |term: &Term| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => term.features().colors_supported() && !no_color,
        };
        let width = if out.is_term() { usize::from(out.size().1) } else { 0 };
        let interactive = err.is_term() && io::IsTerminal::is_terminal(&io::stdin());
        Self {
            quiet,
            muted: false,
            paint: Paint { colour: coloured(&out) && (out.is_term() || colour == Colour::Always) },
            paint_status: Paint { colour: coloured(&err) && (err.is_term() || colour == Colour::Always) },
            width,
            live: err.is_term() && !quiet,
            interactive,
        }
    }

    /// The same printer with its mouth shut: answers are dropped.
    #[must_use]
    pub fn muted(&self) -> Self {
        Self { quiet: true, muted: true, ..self.clone() }
    }

    /// Prints a part of the answer as it is. A closed pipe is reported, so that the caller can end.
    pub fn answer(&self, text: &str) -> io::Result<()> {
        if self.muted {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Shows what goes on, in a line that the next one is written over; nothing where it could not be.
    pub fn passing(&self, text: &str) {
        if self.live {
            let width = usize::from(Term::stderr().size().1).saturating_sub(1);
            let shown: String = text.chars().take(width).collect();
            let _ = write!(io::stderr().lock(), "\r\u{1b}[2K{shown}");
        }
    }

    /// Takes that line away.
    pub fn passed(&self) {
        if self.live {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[2K");
        }
    }

    /// Asks a person for a line; `None` where nothing more is typed.
    #[must_use]
    pub fn ask(&self, prompt: &str) -> Option<String> {
        let mut err = io::stderr().lock();
        let _ = write!(err, "{prompt}").and_then(|()| err.flush());
        drop(err);
        let mut line = String::new();
        match io::stdin().read_line(&mut line) {
            Ok(count) if count > 0 => Some(line.trim().to_owned()),
            _ => {
                // The prompt is left behind.
                self.problem("");
                None
            }
        }
    }

    /// Prints one line of status, unless the user wants quiet.
    pub fn status(&self, text: &str) {
        if !self.quiet {
            self.problem(text);
        }
    }

    /// Prints one line that the user must see, quiet or not.
    pub fn problem(&self, text: &str) {
        // There is nobody left to tell if stderr is closed.
        // In one write, so that lines of several threads and processes do not mix.
        let line = format!("{}\n", text.trim_end_matches('\n'));
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }
}
