//! `orch resolve`: the results of joining conflicted records.

use super::layout::{one_line, paragraph};
use super::{CommandView, Finding, Log, Paint, Repository, StepView, Style};
use serde::Serialize;

/// The words for the result of resolving a record.
#[cfg(test)]
const HOW: [&str; 10] = [
    "ours",
    "theirs",
    "merged",
    "chosen-ours",
    "chosen-theirs",
    "renamed-ours",
    "renamed-theirs",
    "renewed",
    "disputed",
    "failed",
];

/// The envelope of an `orch resolve`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Resolutions {
    /// The repository that was read.
    pub repository: Repository,
    /// Every task with a conflicted record.
    pub tasks: Vec<Resolution>,
    /// The command that continues the operation of git; null if none is in progress.
    pub next: Option<Vec<String>>,
    /// Whether something blocks that operation: a record, or any other unmerged path.
    pub blocked: bool,
}

super::json::documents! { Resolutions = "resolution" }

/// The result of resolving one record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// The id of the task.
    pub task: String,
    /// The directory of the task, or its file if it is one.
    pub path: String,
    /// Whether the record is resolved.
    pub settled: bool,
    /// `ours` or `theirs` if only one side had moved, `merged`, `chosen-ours`, `chosen-theirs`, `renamed-ours` or
    /// `renamed-theirs` if one of two tasks got another id, `renewed`, `disputed`, or `failed`.
    #[cfg_attr(test, schemars(extend("enum" = HOW)))]
    pub how: &'static str,
    /// The phases of the two sides, ours first.
    #[cfg_attr(test, schemars(extend("maxItems" = 2)))]
    pub sides: Vec<String>,
    /// The resulting phase of the task; null if it is not resolved.
    pub current_phase: Option<String>,
    /// The reason for the result.
    pub reason: String,
    /// Whether its two files were marked as resolved in the index.
    pub staged: bool,
    /// The commit that records the choice of a side, if no operation of git is in progress.
    pub commit: Option<String>,
    /// Other files of the task that people have to resolve.
    pub left: Vec<Finding>,
    /// The steps that only our side has, if the sides are disputed.
    pub ours: Vec<StepView>,
    /// The steps that only the other side has.
    pub theirs: Vec<StepView>,
    /// The ways out of a dispute.
    pub options: Vec<CommandView>,
}

impl Resolutions {
    /// The envelope of these results.
    #[must_use]
    pub fn new(repository: Repository, tasks: Vec<Resolution>) -> Self {
        let next = None;
        let blocked = tasks.iter().any(|task| !task.settled);
        Self {
            repository,
            tasks,
            next,
            blocked,
        }
    }

    /// One line per record and, below it, what people have to resolve.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        self.tasks
            .iter()
            .map(|task| task.text(&self.repository, paint, width))
            .collect()
    }
}

impl Resolution {
    fn text(&self, repository: &Repository, paint: Paint, width: usize) -> String {
        let style = if self.settled {
            Style::Good
        } else {
            Style::Bad
        };
        let phase = self
            .current_phase
            .as_deref()
            .map(|phase| format!(" -> {phase}"))
            .unwrap_or_default();
        let sides = self.sides.join(" + ");
        let head = format!("{}: {sides}{phase}", one_line(&self.task));
        let commit: String = self
            .commit
            .iter()
            .flat_map(|commit| commit.chars().take(10))
            .collect();
        let tail = if commit.is_empty() {
            String::new()
        } else {
            format!("  {commit}")
        };
        let mut out = format!(
            "{}  ({}){}\n",
            paint.paint(style, &head),
            self.how,
            paint.paint(Style::Dim, &tail)
        );
        paragraph(&mut out, &self.reason, 4, 0, width);
        for (name, story) in [("ours", &self.ours), ("theirs", &self.theirs)] {
            if !story.is_empty() {
                out.push_str(&format!("    {name}:\n"));
                let log = Log::new(repository.clone(), story.clone(), &[])
                    .text(paint, width.saturating_sub(6));
                log.lines()
                    .for_each(|line| out.push_str(&format!("      {line}\n")));
            }
        }
        for finding in &self.left {
            let place = paint.paint(Style::Strong, &one_line(&finding.place()));
            out.push_str(&format!("    {place}: {}\n", one_line(&finding.message)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use snapbox::{assert_data_eq, str};

    fn settled() -> Resolution {
        Resolution {
            task: "t-42".to_owned(),
            path: "tasks/t-42".to_owned(),
            settled: true,
            how: "merged",
            sides: vec!["codegen".to_owned(), "review".to_owned()],
            current_phase: Some("codegen".to_owned()),
            reason: "both sides had moved".to_owned(),
            staged: true,
            commit: None,
            left: Vec::new(),
            ours: Vec::new(),
            theirs: Vec::new(),
            options: Vec::new(),
        }
    }

    #[test]
    fn a_resolved_record_is_a_line_and_a_dispute_shows_both_sides() {
        let disputed = Resolution {
            settled: false,
            how: "disputed",
            current_phase: None,
            reason: "both sides are finished".to_owned(),
            ours: samples::log()[..1].to_vec(),
            ..settled()
        };
        let all = Resolutions::new(samples::repository(), vec![settled(), disputed]);
        assert!(all.blocked);
        assert_data_eq!(
            all.text(Paint::PLAIN, 80),
            str![[r#"
t-42: codegen + review -> codegen  (merged)
    both sides had moved
t-42: codegen + review  (disputed)
    both sides are finished
    ours:
      2026-11-21T04:50:00Z  new -> planning  create
          the task is new
          by Ada (human)

"#]]
        );
    }
}
