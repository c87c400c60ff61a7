//! Runs: how one ended, what was ordered of one, and who runs what.

use super::layout::{Cell, columns, one_line, plain, styled};
use super::{Paint, Repository, Style, TaskView, TransitionLine};
use crate::decide::{Ending, Mode};
use serde::Serialize;

/// The words for how a run is.
#[cfg(test)]
const RUN_STATES: [&str; 10] = [
    "running",
    "interrupted",
    "completed",
    "failed",
    "waiting",
    "stalled",
    "exhausted",
    "paused",
    "stopped",
    "error",
];

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// What was looked at.
    pub repository: Repository,
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// The id of the run; null for a dry run.
    pub run: Option<String>,
    /// How it ended; null for a dry run that would go on.
    pub ending: Option<Ending>,
    /// Why.
    pub reason: String,
    /// How many turns it has used.
    pub turns: u32,
    /// How many it may use.
    pub max_turns: u32,
    /// What results have reported as their cost.
    #[cfg_attr(test, schemars(extend("minimum" = 0)))]
    pub cost: f64,
    /// Whether it was interrupted from the keyboard.
    pub interrupted: bool,
    /// What would be performed now: for a dry run.
    pub due: Option<String>,
    /// What was recorded, in order.
    pub transitions: Vec<TransitionLine>,
    /// Commands by which it goes on.
    pub options: Vec<Vec<String>>,
}

/// What came of an order about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControlReport {
    /// The task.
    pub task: String,
    /// What was ordered.
    #[cfg_attr(test, schemars(extend("enum" = ["pause", "resume", "stop"])))]
    pub order: &'static str,
    /// `told` where a process drives the task and was told, `done` where it was carried out at once.
    #[cfg_attr(test, schemars(extend("enum" = ["told", "done"])))]
    pub effect: &'static str,
    /// What was recorded.
    pub transitions: Vec<TransitionLine>,
}

/// The envelope of the runs that are known.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs {
    /// What was looked at.
    pub repository: Repository,
    /// The runs, in the order of their tasks.
    pub runs: Vec<RunLine>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunLine {
    /// The task.
    pub task: String,
    /// Its id.
    pub run: String,
    /// `running`, `interrupted`, or how it ended.
    #[cfg_attr(test, schemars(extend("enum" = RUN_STATES)))]
    pub state: &'static str,
    /// Since when, in UTC.
    pub since: String,
    /// The process that drives it, or did.
    pub pid: u32,
    /// Whether people are asked.
    pub mode: Mode,
    /// What is performed now, or was when it was interrupted.
    pub work: Option<String>,
    /// How many turns it has used.
    pub turns: u32,
    /// How many it may use.
    pub max_turns: u32,
    /// What results have reported as their cost.
    #[cfg_attr(test, schemars(extend("minimum" = 0)))]
    pub cost: f64,
    /// How long it has taken, in seconds.
    pub seconds: u64,
    /// Why it ended.
    pub reason: Option<String>,
}

super::json::documents! { RunReport = "run", ControlReport = "control", Runs = "runs" }

impl Runs {
    /// The envelope of these runs.
    #[must_use]
    pub fn new(repository: Repository, runs: Vec<RunLine>) -> Self {
        Self { repository, runs }
    }

    /// The runs as text, a line each, then why it ended.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.runs.is_empty() {
            return "nothing has been run\n".to_owned();
        }
        let rows: Vec<Vec<Cell>> = self.runs.iter().map(RunLine::row).collect();
        columns(&rows, 0, paint, width)
    }
}

impl RunLine {
    fn row(&self) -> Vec<Cell> {
        let style = match self.state {
            "running" | "completed" => Style::Good,
            "waiting" | "paused" => Style::Strong,
            _ => Style::Warn,
        };
        let cost = if self.cost > 0.0 { format!("cost {:.2}", self.cost) } else { String::new() };
        vec![
            styled(one_line(&self.task), Style::Strong),
            styled(self.state, style),
            plain(format!("turn {} of {}", self.turns, self.max_turns)),
            plain(cost),
            plain(self.work.as_deref().map(one_line).unwrap_or_default()),
            styled(format!("since {}", self.since), Style::Dim),
            styled(self.reason.as_deref().map(one_line).unwrap_or_default(), Style::Dim),
        ]
    }
}

impl RunReport {
    /// The last line of a run.
    #[must_use]
    pub fn text(&self, paint: Paint) -> String {
        let style = match self.ending {
            Some(Ending::Completed) => Style::Good,
            Some(Ending::Waiting | Ending::Paused) | None => Style::Strong,
            Some(Ending::Failed | Ending::Stalled | Ending::Exhausted | Ending::Stopped | Ending::Error) => {
                Style::Bad
            }
        };
        let word = paint.paint(style, self.ending.map_or("due", Ending::as_str));
        let turns = if self.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", self.turns) };
        let cost = if self.cost > 0.0 { format!(", cost {:.2}", self.cost) } else { String::new() };
        format!("{}: {word} after {turns}{cost}: {}\n", one_line(&self.task.id), one_line(&self.reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::samples;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn runs_are_shown_a_line_each() {
        let line = |task: &str, state, work: Option<&str>, reason: Option<&str>| RunLine {
            task: task.to_owned(),
            run: "1".to_owned(),
            state,
            since: "2026-11-21T04:50:00Z".to_owned(),
            pid: 1,
            mode: Mode::Auto,
            work: work.map(str::to_owned),
            turns: 3,
            max_turns: 50,
            cost: 0.0,
            seconds: 9,
            reason: reason.map(str::to_owned),
        };
        let runs = vec![
            line("t-1", "running", Some("lint"), None),
            line("t-22", "stalled", None, Some("nothing has changed")),
        ];
        assert_data_eq!(
            Runs::new(samples::repository(), runs).text(Paint::PLAIN, 0),
            str![[r#"
t-1   running  turn 3 of 50    lint  since 2026-11-21T04:50:00Z
t-22  stalled  turn 3 of 50          since 2026-11-21T04:50:00Z  nothing has changed

"#]]
        );
        assert_eq!(
            Runs::new(samples::repository(), Vec::new()).text(Paint::PLAIN, 0),
            "nothing has been run\n"
        );
    }
}
