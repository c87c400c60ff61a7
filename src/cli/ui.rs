//! The one door out: answers go to stdout, status and hints to stderr, and only from here.

use crate::view::Paint;
use console::Term;
use std::io::{self, BufRead, Write};

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

    /// Asks the person at the terminal; `None` when the input has ended.
    pub fn ask(&self, question: &str) -> io::Result<Option<String>> {
        let mut err = io::stderr().lock();
        write!(err, "{question} ")?;
        err.flush()?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
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
        let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
    }
}
