//! All output: answers go to stdout, status and hints to stderr. No other module prints.

use console::Term;
use orch_base::{Diagnostic, Hint, RepoPath, Severity, locked};
use orch_view::findings::snippet;
use orch_view::{JsonDocument, Paint, Style, enveloped, line, pretty};
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

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

/// The printer. It decides colour and width once, when it is created.
#[derive(Debug, Clone)]
pub struct Ui {
    quiet: bool,
    muted: bool,
    /// The style of answers.
    pub paint: Paint,
    /// The style of status lines and hints.
    pub paint_status: Paint,
    /// The width of the terminal on stdout, in columns; 0 if stdout is not a terminal.
    pub width: usize,
    /// The height of the terminal on stdout, in lines; 0 if stdout is not a terminal.
    pub height: usize,
    /// The width of the terminal on stderr, in columns; 0 if stderr is not a terminal.
    pub width_status: usize,
    /// Whether stderr is a terminal and not quiet, so that a status line can be overwritten.
    pub live: bool,
    /// Whether a person can be prompted: both stdin and stderr are terminals.
    pub interactive: bool,
    /// The directory in which commands are typed, if it is known and below the root of the repository.
    here: Arc<OnceLock<RepoPath>>,
    /// How many lines of progress are shown.
    passing: Arc<AtomicUsize>,
    /// Where answers are kept instead of printed.
    kept: Option<KeptAnswers>,
}

/// The answers of a printer that keeps them.
#[derive(Debug, Clone, Default)]
pub struct KeptAnswers(Arc<Mutex<String>>);

impl KeptAnswers {
    /// Takes what was answered so far.
    #[must_use]
    pub fn take(&self) -> String {
        std::mem::take(&mut locked(&self.0))
    }
}

impl Ui {
    /// Decides colour and width for stdout and stderr.
    #[must_use]
    pub fn new(colour: Colour, quiet: bool, no_color: bool) -> Self {
        let out = Term::stdout();
        let err = Term::stderr();
        let coloured = |term: &Term| match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => term.features().colors_supported() && !no_color,
        };
        let (height, width) = if out.is_term() { out.size() } else { (0, 0) };
        let interactive = err.is_term() && io::IsTerminal::is_terminal(&io::stdin());
        Self {
            quiet,
            muted: false,
            paint: Paint {
                colour: coloured(&out) && (out.is_term() || colour == Colour::Always),
            },
            paint_status: Paint {
                colour: coloured(&err) && (err.is_term() || colour == Colour::Always),
            },
            width: width.into(),
            height: height.into(),
            width_status: if err.is_term() {
                err.size().1.into()
            } else {
                0
            },
            live: err.is_term() && !quiet,
            interactive,
            here: Arc::default(),
            passing: Arc::default(),
            kept: None,
        }
    }

    /// A printer that keeps its answers: no terminal, no colour, and no status. Problems go to stderr.
    #[must_use]
    pub fn keeping() -> (Self, KeptAnswers) {
        let kept = KeptAnswers::default();
        let plain = Self::new(Colour::Never, true, true);
        let ui = Self {
            width: 0,
            height: 0,
            width_status: 0,
            live: false,
            interactive: false,
            kept: Some(kept.clone()),
            ..plain
        };
        (ui, kept)
    }

    /// The same printer, but quiet and without answers.
    #[must_use]
    pub fn muted(&self) -> Self {
        Self {
            quiet: true,
            muted: true,
            ..self.clone()
        }
    }

    /// Says in which directory of the repository commands are typed; by default in its root.
    pub fn begin_at(&self, here: RepoPath) {
        // Later commands of the process are typed there, too.
        let _ = self.here.set(here);
    }

    /// The directory of the repository in which commands are typed.
    #[must_use]
    pub fn here(&self) -> RepoPath {
        self.here.get().cloned().unwrap_or_else(RepoPath::root)
    }

    /// Prints a hint as a problem, with commands that work where they are typed.
    pub fn hint(&self, hint: &Hint) {
        let label = self.paint_status.paint(Style::Command, "hint:");
        self.problem(&format!("{label} {}", hint.at(&self.here())));
    }

    /// Prints a finding as [`Ui::finding`] does, but a mere note only as status.
    pub fn noted(&self, finding: &Diagnostic) {
        if finding.severity != Severity::Note || !self.quiet {
            self.finding(finding);
        }
    }

    /// Prints a finding and its hint as problems, with the source line if it is known.
    pub fn finding(&self, finding: &Diagnostic) {
        if finding
            .place
            .as_ref()
            .is_some_and(|place| place.excerpt.is_some())
        {
            let bare = Diagnostic {
                hint: None,
                ..finding.clone()
            };
            self.problem(&snippet(&bare, self.paint_status, self.width));
            finding.hint.iter().for_each(|hint| self.hint(hint));
            return;
        }
        let style = match finding.severity {
            Severity::Error => Style::Bad,
            Severity::Warning => Style::Warn,
            Severity::Note => Style::Dim,
        };
        let kind = format!("{}[{}]:", finding.severity, finding.code);
        self.problem(&finding.to_string().replacen(
            &kind,
            &self.paint_status.paint(style, &kind),
            1,
        ));
        finding.hint.iter().for_each(|hint| self.hint(hint));
    }

    /// Prints a part of the answer unchanged. Returns an error if stdout cannot be written, for example a
    /// closed pipe.
    pub fn answer(&self, text: &str) -> io::Result<()> {
        if self.muted {
            return Ok(());
        }
        if let Some(kept) = &self.kept {
            locked(&kept.0).push_str(text);
            return Ok(());
        }
        self.passed();
        write_out(text)
    }

    /// Prints a line that says what was done, which is no answer to a question: nothing with `--quiet`. Returns an error
    /// as [`Ui::answer`] does.
    pub fn done(&self, text: &str) -> io::Result<()> {
        if self.quiet {
            Ok(())
        } else {
            self.answer(text)
        }
    }

    /// Prints a JSON document as the answer: indented on a terminal, otherwise on one line. Returns an error as
    /// [`Ui::answer`] does.
    pub fn document(&self, document: &impl JsonDocument) -> io::Result<()> {
        if self.width > 0 || self.muted || self.kept.is_some() {
            return self.answer(&if self.width > 0 {
                pretty(document)
            } else {
                line(document)
            });
        }
        // The text of a document about very many tasks is larger than the document.
        self.passed();
        let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
        serde_json::to_writer(&mut out, &enveloped(document))?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Takes the whole terminal on stdout, until the screen is dropped. Returns an error if stdout cannot be written.
    pub fn screen(&self) -> io::Result<WholeScreen> {
        self.passed();
        write_out(TAKE)?;
        Ok(WholeScreen {
            term: Term::stdout(),
        })
    }

    /// Shows progress in a line that the next output overwrites. Does nothing unless stderr is a terminal.
    pub fn passing(&self, text: &str) {
        let width = self.size_status().0.saturating_sub(1);
        let shown: String = text.chars().take(width).collect();
        self.passing_lines(&[shown]);
    }

    /// Shows progress in several lines, each of which fits the terminal, in the same way.
    pub fn passing_lines(&self, lines: &[String]) {
        if self.live {
            let before = self.passing.swap(lines.len(), Ordering::Relaxed);
            // All is written at once, so nothing flickers.
            let text = format!("{}{}", cleared(before), lines.join("\r\n"));
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
    }

    /// Clears the progress, if it is shown. All output does so first.
    pub fn passed(&self) {
        let before = self.passing.swap(0, Ordering::Relaxed);
        if before > 0 {
            let _ = io::stderr().lock().write_all(cleared(before).as_bytes());
        }
    }

    /// The width and the height of the terminal on stderr now; the usual ones if it does not say.
    #[must_use]
    pub fn size_status(&self) -> (usize, usize) {
        let (height, width) = Term::stderr().size();
        (width.into(), height.into())
    }

    /// Prompts for a line and returns it trimmed; `None` at the end of input.
    #[must_use]
    pub fn ask(&self, prompt: &str) -> Option<String> {
        self.passed();
        let mut err = io::stderr().lock();
        let _ = write!(err, "{prompt}").and_then(|()| err.flush());
        drop(err);
        let mut line = String::new();
        match io::stdin().read_line(&mut line) {
            Ok(count) if count > 0 => Some(line.trim().to_owned()),
            _ => {
                // Ends the line of the prompt.
                self.problem("");
                None
            }
        }
    }

    /// Reads a line from stdin without its end, which may be no text; `None` at the end of input. Returns an error if
    /// stdin cannot be read.
    pub fn read_line(&self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let count = io::stdin().lock().read_until(b'\n', &mut line)?;
        let end = line
            .iter()
            .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
            .map_or(0, |last| last + 1);
        line.truncate(end);
        Ok((count > 0).then_some(line))
    }

    /// Rings the bell of the terminal on stderr, if there is one.
    pub fn bell(&self) {
        if self.live {
            let _ = io::stderr().lock().write_all(b"\x07");
        }
    }

    /// Prints one line of status, unless `--quiet` is given.
    pub fn status(&self, text: &str) {
        if !self.quiet {
            self.problem(text);
        }
    }

    /// Prints one line on stderr, even with `--quiet`.
    pub fn problem(&self, text: &str) {
        self.passed();
        // If stderr is closed, there is nowhere to report that. One write per line keeps the lines of several
        // threads and processes apart.
        let line = format!("{}\n", text.trim_end_matches('\n'));
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }
}

/// What clears so many lines, of which the cursor is on the last.
fn cleared(lines: usize) -> String {
    match lines {
        0 | 1 => "\r\u{1b}[2K".to_owned(),
        several => format!("\r\u{1b}[{}A\u{1b}[J", several - 1),
    }
}

/// Switches to the other screen of the terminal, hides the cursor, and cuts lines that are too long.
const TAKE: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l";
/// Takes back what [`TAKE`] does.
const GIVE_BACK: &str = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l";

/// The whole terminal. Dropping it restores what was shown before.
pub struct WholeScreen {
    term: Term,
}

impl WholeScreen {
    /// The width and the height of the terminal now.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        let (height, width) = self.term.size();
        (width.into(), height.into())
    }

    /// Shows a text in place of the one before, as far as there is room. Returns an error if stdout cannot be
    /// written.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        // Each row is cleared before it is written: after a full row the cursor is still on its last character. All is
        // written at once, so nothing flickers.
        let lines: Vec<String> = text
            .lines()
            .take(self.size().1)
            .map(|line| format!("\u{1b}[K{line}"))
            .collect();
        write_out(&format!("\u{1b}[H{}\u{1b}[J", lines.join("\r\n")))
    }
}

impl Drop for WholeScreen {
    fn drop(&mut self) {
        give_back_screen();
    }
}

/// Shows what the terminal showed before the whole of it was taken.
pub(super) fn give_back_screen() {
    // If stdout is closed, the terminal is gone.
    let _ = write_out(GIVE_BACK);
}

fn write_out(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
