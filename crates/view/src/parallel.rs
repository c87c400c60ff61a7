//! Tasks that are worked on side by side, and their work trees.

use super::layout::{Cell, counted, id_cell, one_line, paragraph, plain, shorten, styled, table};
use super::{Paint, Repository, Style};
use orch_base::{Period, Timestamp};
use serde::Serialize;

/// The words for how a task stands that is worked on beside others.
#[cfg(test)]
const STATES: [&str; 13] = [
    "preparing",
    "running",
    "done",
    "unmerged",
    "merging",
    "merged",
    "pushed",
    "sent-back",
    "conflict",
    "waiting",
    "held",
    "stopped",
    "failed",
];

/// What came of tasks that were worked on side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ParallelReport {
    /// The repository that was read.
    pub repository: Repository,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// The tasks, in the order in which they were begun.
    pub tasks: Vec<ParallelLine>,
}

/// A task that is worked on beside others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ParallelLine {
    /// The id of the task.
    pub task: String,
    /// How it stands.
    #[cfg_attr(test, schemars(extend("enum" = STATES)))]
    pub state: &'static str,
    /// Its phase; null if it is not known.
    pub phase: Option<String>,
    /// The work in progress; null if there is none.
    pub work: Option<String>,
    /// The number of turns that its last run has used; null if there is none.
    pub turns: Option<u32>,
    /// The number of turns that the run may use; null if there is none.
    pub max_turns: Option<u32>,
    /// Why its last executor worked without a fence; null if it worked inside one, nobody wants one, or none was started.
    pub unfenced: Option<String>,
    /// The branch with its work.
    pub branch: String,
    /// The root of its work tree, relative to the root of the repository.
    pub work_tree: String,
    /// What its processes have printed.
    pub log: String,
    /// Why it stands so, or what is next.
    pub note: Option<String>,
    /// Since when it is worked on, for people.
    #[serde(skip)]
    pub since: Timestamp,
}

/// The work trees of tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkTreesReport {
    /// The repository that was read.
    pub repository: Repository,
    /// The branch that work is merged into.
    pub base: String,
    /// The work trees, by task.
    pub work_trees: Vec<WorkTreeLine>,
}

/// The work tree of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkTreeLine {
    /// The id of the task.
    pub task: String,
    /// Its root, relative to the root of the repository.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The phase of the task in it; null if it cannot be read.
    pub phase: Option<String>,
    /// Whether it holds anything that is in no commit.
    pub dirty: bool,
    /// Whether the base branch has all that is on its branch.
    pub merged: bool,
    /// Whether it was removed.
    pub removed: bool,
    /// Why it has to stay; null if it may be removed, or was.
    pub stays: Option<String>,
}

super::json::documents! { ParallelReport = "parallel", WorkTreesReport = "work-trees" }

impl ParallelLine {
    /// Whether something works on it.
    fn is_active(&self) -> bool {
        matches!(self.state, "preparing" | "running" | "merging")
    }

    fn style(&self) -> Style {
        match self.state {
            "done" | "merged" | "pushed" => Style::Good,
            "preparing" | "running" | "merging" => Style::Strong,
            "waiting" | "held" => Style::Warn,
            _ => Style::Bad,
        }
    }

    /// What it does, in a few words.
    fn doing(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.work.clone());
        if let (true, Some(turns), Some(most)) = (self.is_active(), self.turns, self.max_turns) {
            parts.push(format!("turn {turns} of {most}"));
        }
        if self.is_active() && self.unfenced.is_some() {
            parts.push("no fence".to_owned());
        }
        parts.extend(self.note.as_deref().map(one_line));
        parts.join(", ")
    }

    /// One line about a change, for a log.
    #[must_use]
    pub fn change(&self) -> String {
        let phase = self
            .phase
            .as_ref()
            .map_or(String::new(), |phase| format!(" in {}", one_line(phase)));
        let doing = self.doing();
        let doing = if doing.is_empty() {
            doing
        } else {
            format!(": {doing}")
        };
        format!("{}: {}{phase}{doing}", one_line(&self.task), self.state)
    }

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let phase = self.phase.as_deref().map(one_line).unwrap_or_default();
        let time = if self.is_active() {
            Period::from_seconds(now.seconds().abs_diff(self.since.seconds())).to_string()
        } else {
            String::new()
        };
        vec![
            id_cell(&self.task),
            styled(self.state, self.style()),
            plain(phase),
            styled(time, Style::Dim),
            plain(self.doing()),
        ]
    }
}

/// How large the picture of tasks may be.
#[derive(Debug, Clone, Copy)]
pub struct ParallelForm {
    /// The columns of the terminal.
    pub width: usize,
    /// The lines of the terminal.
    pub height: usize,
    /// The style.
    pub paint: Paint,
    /// The time.
    pub now: Timestamp,
}

/// The tasks as they stand now, a line each, as a picture that fits a terminal: those that are worked on first, then those that
/// need somebody. What has no room is counted.
#[must_use]
pub fn parallel_picture(tasks: &[ParallelLine], form: &ParallelForm) -> Vec<String> {
    let mut shown: Vec<&ParallelLine> = tasks.iter().collect();
    shown.sort_by_key(|task| match task.state {
        "preparing" | "running" | "merging" => 0,
        "done" | "merged" | "pushed" => 2,
        _ => 1,
    });
    // One line is that about all, one that of the cursor.
    let room = form.height.saturating_sub(2).max(1);
    let is_cut = shown.len() > room;
    if is_cut {
        shown.truncate(room.saturating_sub(1));
    }
    let width = form.width.saturating_sub(1);
    let mut lines = Vec::new();
    let rows: Vec<Vec<Cell>> = shown.iter().map(|task| task.cells(form.now)).collect();
    for line in table(&rows, &[], 0, form.paint, width) {
        // A row that is too wide even with narrow columns goes on below; its beginning says most.
        lines.extend(line.lines().next().map(str::to_owned));
    }
    if is_cut {
        lines.push(format!("… and {} more", tasks.len() - shown.len()));
    }
    lines.push(
        form.paint
            .paint(Style::Dim, &shorten(&summary(tasks), width)),
    );
    lines
}

/// How many tasks stand how, in words.
fn summary(tasks: &[ParallelLine]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for task in tasks {
        match counts.iter_mut().find(|(state, _)| *state == task.state) {
            Some((_, count)) => *count += 1,
            None => counts.push((task.state, 1)),
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    format!(
        "{}: {}; Ctrl-C stops all",
        counted(tasks.len(), "task"),
        counts.join(", ")
    )
}

impl ParallelReport {
    /// The tasks as text, a line each, with the branch, and below it why it stands so, and the log where that helps.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.tasks.is_empty() {
            return "no task is free that an agent can go on with\n".to_owned();
        }
        let mut rows = Vec::new();
        for task in &self.tasks {
            let turns = task.turns.unwrap_or_default();
            let phase = task.phase.as_deref().map(one_line).unwrap_or_default();
            rows.push(vec![
                id_cell(&task.task),
                styled(task.state, task.style()),
                plain(phase),
                plain(if turns > 0 {
                    counted(turns as usize, "turn")
                } else {
                    String::new()
                }),
                plain(format!("branch {}", one_line(&task.branch))),
            ]);
        }
        let mut out = String::new();
        for (line, task) in table(&rows, &[0, 4], 0, paint, width)
            .iter()
            .zip(&self.tasks)
        {
            out.push_str(line);
            let note = task.note.iter();
            note.for_each(|note| paragraph(&mut out, note, 4, 0, width));
            if let Some(why) = &task.unfenced {
                paragraph(&mut out, &format!("no fence: {why}"), 4, 0, width);
            }
            if !matches!(task.state, "done" | "merged" | "pushed") {
                out.push_str(&format!("    log {}\n", one_line(&task.log)));
            }
        }
        out
    }
}

impl WorkTreesReport {
    /// The work trees as text, a line each, and below it why one stays.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        if self.work_trees.is_empty() {
            return "no task has a work tree\n".to_owned();
        }
        let mut rows = Vec::new();
        for tree in &self.work_trees {
            let state = match (tree.removed, tree.dirty, tree.merged) {
                (true, _, _) => styled("removed", Style::Good),
                (_, true, _) => styled("uncommitted", Style::Warn),
                (_, _, true) => styled("nothing to merge", Style::Good),
                _ => plain("unmerged"),
            };
            rows.push(vec![
                id_cell(&tree.task),
                plain(tree.phase.as_deref().map(one_line).unwrap_or_default()),
                state,
                plain(format!("branch {}", one_line(&tree.branch))),
                plain(format!("in {}", one_line(&tree.path))),
            ]);
        }
        let mut out = String::new();
        for (line, tree) in table(&rows, &[0, 3, 4], 0, paint, width)
            .iter()
            .zip(&self.work_trees)
        {
            out.push_str(line);
            if let Some(why) = &tree.stays {
                paragraph(&mut out, &format!("stays: {why}"), 4, 0, width);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn task(name: &str, state: &'static str, note: Option<&str>) -> ParallelLine {
        ParallelLine {
            task: name.to_owned(),
            state,
            phase: Some("plan".to_owned()),
            work: (state == "running").then(|| "planner".to_owned()),
            turns: Some(2),
            max_turns: Some(50),
            unfenced: None,
            branch: format!("task/{name}"),
            work_tree: format!("../repo.orch/{name}"),
            log: format!(".git/orch/logs/{name}.log"),
            note: note.map(str::to_owned),
            since: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn a_picture_fits_the_terminal() {
        let mut tasks = vec![task("a", "merged", None)];
        let note = "it conflicts with main in src/lib.rs, which is a long story";
        tasks.push(task("b", "conflict", Some(note)));
        for number in 0..20 {
            tasks.push(task(&format!("t-{number}"), "running", None));
        }
        for (width, height) in [(80, 24), (30, 8), (20, 3), (200, 100)] {
            let form = ParallelForm {
                width,
                height,
                paint: Paint::PLAIN,
                now: Timestamp::from_seconds(90),
            };
            let lines = parallel_picture(&tasks, &form);
            assert!(lines.len() < height, "{width} {height}: {lines:#?}");
            assert!(
                lines
                    .iter()
                    .all(|line| super::super::layout::columns_of(line) < width.max(40)),
                "{width} {height}: {lines:#?}"
            );
            let is_tiny = height == 3;
            assert!(is_tiny || lines[0].starts_with("t-0"), "{lines:#?}");
        }
    }

    #[test]
    fn the_end_says_where_to_look() {
        let mut failed = task("b", "failed", Some("`sh` ended with 1"));
        failed.unfenced = Some("the system permits none".to_owned());
        let report = ParallelReport {
            repository: samples::repository(),
            interrupted: false,
            tasks: vec![task("a", "merged", Some("main is 123456789")), failed],
        };
        let text = report.text(Paint::PLAIN, 0);
        assert_eq!(
            text,
            "a  merged  plan  2 turns  branch task/a\n    main is 123456789\n\
             b  failed  plan  2 turns  branch task/b\n    `sh` ended with 1\n    no fence: the system permits none\n    log .git/orch/logs/b.log\n"
        );
    }
}
