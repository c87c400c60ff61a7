//! Shows long answers page by page on a terminal, with the pager that git would use.

use super::interrupt::Interrupts;
use super::ui::Ui;
use console::measure_text_width;
use orch_engine::run::RunningPager;
use orch_git::git_pager;
use std::io;
use std::path::PathBuf;

/// The pager of git if nothing names another.
const DEFAULT: &str = "less";
/// The exit codes of a shell that cannot start a program.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What the environment says about the pager; by default there is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Pager {
    is_wanted: bool,
    own: Option<String>,
    general: Option<String>,
    /// The variables that pagers read, with what git sets if they are unset.
    options: Vec<(&'static str, &'static str)>,
    start: PathBuf,
}

impl Pager {
    /// Reads `ORCH_PAGER`, `PAGER`, `TERM`, `LESS` and `LV`. `start` is the directory whose repository may
    /// configure a pager.
    pub(super) fn of(
        is_wanted: bool,
        start: PathBuf,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let is_dumb = variable("TERM").is_none_or(|terminal| terminal == "dumb");
        let options = [("LESS", "FRX"), ("LV", "-c")];
        Self {
            is_wanted: is_wanted && !is_dumb,
            own: variable("ORCH_PAGER"),
            general: variable("PAGER"),
            options: options
                .into_iter()
                .filter(|(name, _)| variable(name).is_none())
                .collect(),
            start,
        }
    }

    /// Prints an answer: through the pager if stdout is a terminal that is too low for it. Returns an error if stdout
    /// cannot be written. A pager that cannot be started is none, and one that is quit early has shown enough.
    pub(super) fn print(&self, text: &str, ui: &Ui, interrupts: &Interrupts) -> io::Result<()> {
        if !self.is_wanted || !exceeds(text, ui) {
            return ui.answer(text);
        }
        let Some(command) = self.command() else {
            return ui.answer(text);
        };
        let shown = interrupts.left_to_child(|| {
            let pager = RunningPager::start(&command, &self.options).ok()?;
            ui.passed();
            Some(pager.show(text))
        });
        match shown.transpose()?.map(|status| status.code()) {
            None => ui.answer(text),
            Some(Some(code)) if NOT_STARTED.contains(&code) => ui.answer(text),
            Some(_) => Ok(()),
        }
    }

    /// The command line of the pager; `None` if there shall be none.
    fn command(&self) -> Option<String> {
        let command = self
            .own
            .clone()
            .or_else(|| git_pager(&self.start))
            .or_else(|| self.general.clone());
        let command = command.unwrap_or_else(|| DEFAULT.to_owned());
        let command = command.trim();
        (!command.is_empty() && command != "cat").then(|| command.to_owned())
    }
}

/// Whether a text has more rows than the terminal, one of which the prompt needs. Stdout may be no terminal.
fn exceeds(text: &str, ui: &Ui) -> bool {
    ui.height > 0 && text.lines().map(|line| rows(line, ui.width)).sum::<usize>() >= ui.height
}

/// How many rows a line takes. The codes of colours take no room.
fn rows(line: &str, width: usize) -> usize {
    measure_text_width(line).div_ceil(width.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_take_no_room() {
        let line = "x".repeat(80);
        for (line, expected) in [
            (String::new(), 1),
            (line.clone(), 1),
            (format!("\u{1b}[1m{line}\u{1b}[0m"), 1),
            (format!("{line}y"), 2),
            ("漢".repeat(41), 2),
        ] {
            assert_eq!(rows(&line, 80), expected, "{line}");
        }
    }
}
