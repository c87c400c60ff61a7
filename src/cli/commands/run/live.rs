//! The progress of a run, printed to stderr. The answer follows at the end.

use super::screen::Screen;
use crate::cli::Ui;
use orch_base::{Period, command};
use orch_engine::apply::Applied;
use orch_engine::drive::{FenceNews, Happened};
use orch_engine::gather::transition_lines;
use orch_view::layout::one_line;
use orch_view::{Style, TransitionLine};

/// The frames of the spinner that is shown while an executor works.
const FACES: [char; 4] = ['|', '/', '-', '\\'];

/// Prints progress and collects the recorded transitions.
pub(super) struct RunDisplay<'u> {
    ui: &'u Ui,
    screen: Screen,
    /// Whether the answer is one JSON document, which then contains the transitions.
    json: bool,
    /// The work in progress, as the spinner shows it.
    work: String,
    ticks: usize,
    /// All recorded transitions, in order.
    pub transitions: Vec<TransitionLine>,
}

impl<'u> RunDisplay<'u> {
    pub(super) fn new(ui: &'u Ui, json: bool) -> Self {
        let screen = Screen::new(ui);
        Self {
            ui,
            screen,
            json,
            work: String::new(),
            ticks: 0,
            transitions: Vec::new(),
        }
    }

    pub(super) fn hear(&mut self, happened: &Happened<'_>) {
        let ui = self.ui;
        let paint = |style, text: &str| ui.paint_status.paint(style, text);
        match happened {
            Happened::Begun { run, resumed: true } => self.say(format!("run {run} continues")),
            Happened::Begun { .. } => {}
            Happened::Turn {
                work,
                turn,
                turns,
                log,
            } => {
                self.work = format!("{} (turn {turn} of {turns})", work.name());
                let again = if work.attempt > 1 {
                    format!(", try {}", work.attempt)
                } else {
                    String::new()
                };
                let name = paint(Style::Strong, work.name());
                self.say(format!("{name} turn {turn} of {turns}{again}; log {log}"));
            }
            Happened::Verifies { name, argv } => {
                self.work = format!("{name} (verification)");
                let name = paint(Style::Strong, name);
                self.say(format!("{name} is verified: {}", command(argv)));
            }
            Happened::Fence(FenceNews::Up(writes)) => {
                self.say(format!(
                    "inside a fence; it may write {}",
                    writes.join(", ")
                ));
            }
            Happened::Fence(FenceNews::None(why)) => self.say(format!("no fence: {why}")),
            Happened::Line(line) => self.screen.line(format!("  {}", paint(Style::Dim, line))),
            Happened::Tick(time) => {
                self.ticks += 1;
                let face = FACES[(self.ticks / 2) % FACES.len()];
                let seconds = Period::from_seconds(time.milliseconds() / 1000);
                self.screen
                    .passing(format!("{face} {} {seconds}", self.work));
            }
            Happened::Applied(applied) => self.applied(applied),
            Happened::Done {
                work,
                message: Some(message),
            } => {
                self.say(format!("{}: {}", work.name(), one_line(message)));
            }
            Happened::Done { .. } => {}
            Happened::Failed { work, why, wait } => {
                let next = match wait {
                    Some(wait) if wait.milliseconds() > 0 => format!("; retrying in {wait}"),
                    Some(_) => "; retrying".to_owned(),
                    None => String::new(),
                };
                self.say(format!(
                    "{} failed: {}{next}",
                    paint(Style::Bad, work.name()),
                    one_line(why)
                ));
            }
            Happened::Limited { work, limit } => {
                let until = paint(Style::Strong, &limit.until.to_string());
                self.say(format!(
                    "{} waits until {until}: {}",
                    paint(Style::Warn, work.name()),
                    one_line(&limit.why)
                ));
            }
            Happened::Held(error) => {
                self.say(format!("cannot record the step yet: {error}"));
                if let Some(hint) = error.hint() {
                    self.say(format!("hint: {hint}"));
                }
            }
            Happened::Note(note) => self.screen.problem(format!("{note}")),
        }
    }

    /// Prints and collects the recorded transitions.
    pub(super) fn applied(&mut self, applied: &Applied) {
        for line in transition_lines(applied) {
            if !self.json {
                self.say(
                    line.text(self.ui.paint_status, self.ui.width_status)
                        .trim_end()
                        .to_owned(),
                );
            }
            self.transitions.push(line);
        }
        for note in &applied.notes {
            self.screen.problem(format!("{note}"));
        }
    }

    /// Returns a function that prints a status line from another thread.
    pub(super) fn voice(&self) -> impl FnOnce(String) + Send + use<> {
        self.screen.voice()
    }

    /// Waits until everything is printed, and clears the progress line.
    pub(super) fn end(&mut self) {
        self.screen.end();
    }

    fn say(&mut self, text: String) {
        self.screen.status(text);
    }
}
