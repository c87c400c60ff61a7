//! Runs: how one ended, what was ordered, and which exist.

use super::layout::{Cell, one_line, paragraph, plain, styled, table};
use super::{Paint, Repository, Style, TaskView, TransitionLine};
use orch_core::decide::{Ending, Mode};
use serde::Serialize;

/// The words for the state of a run.
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
    /// The repository that was read.
    pub repository: Repository,
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// The id of the run; null for a dry run.
    pub run: Option<String>,
    /// How the run ended; null for a dry run that would continue.
    pub ending: Option<Ending>,
    /// The reason.
    pub reason: String,
    /// The number of turns that the run has used.
    pub turns: u32,
    /// The number of turns that the run may use.
    pub max_turns: u32,
    /// The sum of the costs that results reported.
    #[cfg_attr(test, schemars(extend("minimum" = 0)))]
    pub cost: f64,
    /// The number of turns that were killed before they could report their costs.
    pub unpriced_turns: u32,
    /// Whether it was interrupted from the keyboard.
    pub interrupted: bool,
    /// For a dry run: the work that would be performed now.
    pub due: Option<String>,
    /// The recorded steps, in order.
    pub transitions: Vec<TransitionLine>,
    /// The commands that continue the task.
    pub options: Vec<Vec<String>>,
    /// Whether the last executor worked inside a fence; null if nobody wanted one or no executor was started.
    pub fence: Option<FenceView>,
}

/// The result of a control request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControlReport {
    /// The id of the task.
    pub task: String,
    /// The request.
    #[cfg_attr(test, schemars(extend("enum" = ["pause", "resume", "stop"])))]
    pub request: &'static str,
    /// `sent` if a process runs the task and received the request, `done` if it was executed at once.
    #[cfg_attr(test, schemars(extend("enum" = ["sent", "done"])))]
    pub effect: &'static str,
    /// The recorded steps.
    pub transitions: Vec<TransitionLine>,
}

/// The envelope of the known runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Runs {
    /// The repository that was read.
    pub repository: Repository,
    /// The runs, by work tree and task.
    pub runs: Vec<RunLine>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RunLine {
    /// The id of the task.
    pub task: String,
    /// The root of the work tree in which it runs, relative to the root of the repository; `.` for the root itself.
    pub work_tree: String,
    /// The id of the run.
    pub run: String,
    /// `running`, `interrupted`, or how the run ended.
    #[cfg_attr(test, schemars(extend("enum" = RUN_STATES)))]
    pub state: &'static str,
    /// When it reached this state, in UTC.
    pub since: String,
    /// The id of the process that runs the task, or did.
    pub pid: u32,
    /// Whether the run asks people.
    pub mode: Mode,
    /// The current work, or that at the time of the interruption.
    pub work: Option<String>,
    /// The number of turns that the run has used.
    pub turns: u32,
    /// The number of turns that the run may use.
    pub max_turns: u32,
    /// The sum of the costs that results reported.
    #[cfg_attr(test, schemars(extend("minimum" = 0)))]
    pub cost: f64,
    /// The number of turns that were killed before they could report their costs.
    pub unpriced_turns: u32,
    /// How long the run has taken, in seconds.
    pub seconds: u64,
    /// Until when the run waits for a limit of an executor, in UTC; null if it does not.
    pub waits_until: Option<String>,
    /// Why the run ended, or what it waits for.
    pub reason: Option<String>,
}

/// Whether an executor works inside a fence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FenceView {
    /// Whether there is a fence around it.
    pub holds: bool,
    /// Why there is none.
    pub reason: Option<String>,
    /// What it may write in the repository.
    pub writes: Vec<String>,
}

super::json::documents! { RunReport = "run", ControlReport = "control", Runs = "runs" }

impl Runs {
    /// The envelope of these runs.
    #[must_use]
    pub fn new(repository: Repository, runs: Vec<RunLine>) -> Self {
        Self { repository, runs }
    }

    /// The runs as text: one line each, followed by the reason for the ending.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.runs.is_empty() {
            return "no runs\n".to_owned();
        }
        run_rows(&self.runs, 0, paint, width)
    }
}

/// Runs as text, a line each, and below it the reason for the ending.
pub(super) fn run_rows(runs: &[RunLine], indent: usize, paint: Paint, width: usize) -> String {
    let rows: Vec<Vec<Cell>> = runs.iter().map(RunLine::row).collect();
    let whole: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).collect();
    let mut out = String::new();
    for (line, run) in table(&rows, &whole, indent, paint, width).iter().zip(runs) {
        out.push_str(line);
        run.reason
            .iter()
            .for_each(|reason| paragraph(&mut out, reason, indent + 4, 0, width));
    }
    out
}

impl RunLine {
    fn row(&self) -> Vec<Cell> {
        let style = match self.state {
            "running" | "completed" => Style::Good,
            "waiting" | "paused" => Style::Strong,
            _ => Style::Warn,
        };
        let cost = cost_text(self.cost, self.unpriced_turns);
        let until = self.waits_until.as_ref();
        vec![
            styled(one_line(&self.task), Style::Strong),
            styled(self.state, style),
            plain(format!("turn {} of {}", self.turns, self.max_turns)),
            plain(cost),
            plain(self.work.as_deref().map(one_line).unwrap_or_default()),
            plain(until.map_or(String::new(), |until| format!("waits until {until}"))),
            plain(if self.work_tree == "." {
                String::new()
            } else {
                format!("in {}", self.work_tree)
            }),
            plain(if self.state == "running" {
                format!("process {}", self.pid)
            } else {
                String::new()
            }),
            styled(format!("since {}", self.since), Style::Dim),
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
            Some(
                Ending::Failed
                | Ending::Stalled
                | Ending::Exhausted
                | Ending::Stopped
                | Ending::Error,
            ) => Style::Bad,
        };
        let word = paint.paint(style, self.ending.map_or("due", Ending::as_str));
        let turns = if self.turns == 1 {
            "1 turn".to_owned()
        } else {
            format!("{} turns", self.turns)
        };
        let cost = cost_text(self.cost, self.unpriced_turns);
        let cost = if cost.is_empty() {
            cost
        } else {
            format!(", {cost}")
        };
        format!(
            "{}: {word} after {turns}{cost}: {}\n",
            one_line(&self.task.id),
            one_line(&self.reason)
        )
    }
}

/// A cost in words, and how many turns it leaves out; empty if there is nothing to say.
pub(super) fn cost_text(cost: f64, unpriced: u32) -> String {
    let known = (cost > 0.0).then(|| format!("cost {cost:.2}"));
    let turns = if unpriced == 1 { "turn" } else { "turns" };
    let unknown = (unpriced > 0).then(|| format!("{unpriced} killed {turns} of unknown cost"));
    let parts: Vec<String> = known.into_iter().chain(unknown).collect();
    parts.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use snapbox::{assert_data_eq, str};

    #[test]
    fn runs_are_shown_a_line_each() {
        let line = |task: &str, state, work: Option<&str>, reason: Option<&str>| RunLine {
            task: task.to_owned(),
            work_tree: if work.is_some() { "." } else { "../wt" }.to_owned(),
            run: "1".to_owned(),
            state,
            since: "2026-11-21T04:50:00Z".to_owned(),
            pid: 1,
            mode: Mode::Auto,
            work: work.map(str::to_owned),
            turns: 3,
            max_turns: 50,
            cost: 0.0,
            unpriced_turns: 0,
            seconds: 9,
            waits_until: None,
            reason: reason.map(str::to_owned),
        };
        let runs = vec![
            line("t-1", "running", Some("lint"), None),
            line("t-22", "stalled", None, Some("nothing has changed")),
        ];
        assert_data_eq!(
            Runs::new(samples::repository(), runs).text(Paint::PLAIN, 0),
            str![[r#"
t-1   running  turn 3 of 50  lint            process 1  since 2026-11-21T04:50:00Z
t-22  stalled  turn 3 of 50        in ../wt             since 2026-11-21T04:50:00Z
    nothing has changed

"#]]
        );
        assert_eq!(
            Runs::new(samples::repository(), Vec::new()).text(Paint::PLAIN, 0),
            "no runs\n"
        );
    }
}
