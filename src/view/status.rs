//! `orch status`: one line per task, and the number of tasks in each phase.

use super::explain::substate_text;
use super::layout::{columns, counted, one_line, plain, styled};
use super::text::{headline, mood};
use super::wire::{Finding, Suggestion};
use super::{DutyView, Paint, Repository, Style, Subject, TaskView, sort};
use crate::base::{Diagnostic, Severity};
use crate::decide::{Do, ExpectState};
use crate::workflow::{Owner, Workflow};
use serde::Serialize;

/// The status of every task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Status {
    /// The repository that was read.
    pub repository: Repository,
    /// The tasks, most urgent first.
    pub tasks: Vec<TaskStatus>,
    /// The number of tasks in each phase, by workflow and in document order.
    pub phases: Vec<PhaseCount>,
    /// Findings that do not belong to a single task.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { Status = "status" }

/// The status of one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskStatus {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// Who must do what about it.
    #[serde(flatten)]
    pub duty: DutyView,
    /// The file that needs attention first; null if no file does.
    pub at: Option<Spot>,
    /// The commit that contains the present state; null if none does.
    pub committed: Option<String>,
    /// The line for people.
    #[serde(skip)]
    headline: (String, Style),
}

/// A file, and the position of its first problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spot {
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// The line, from 1.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub line: Option<u32>,
    /// The column in characters, from 1.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub column: Option<u32>,
}

/// The number of tasks in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseCount {
    /// The name of the workflow.
    pub workflow: String,
    /// The phase; null if the state names none.
    pub phase: Option<String>,
    /// The number of tasks.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub count: usize,
}

impl Status {
    /// The status of these tasks.
    #[must_use]
    pub fn new(repository: Repository, subjects: &[Subject<'_>], diagnostics: &[Diagnostic]) -> Self {
        let mut ordered: Vec<&Subject<'_>> = subjects.iter().collect();
        sort(&mut ordered);
        Self {
            repository,
            tasks: ordered.iter().map(|subject| TaskStatus::of(subject)).collect(),
            phases: count(subjects),
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }

    /// The status as text: aligned columns, then the counts.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let rows: Vec<_> = self.tasks.iter().map(TaskStatus::row).collect();
        let mut out = columns(&rows, 0, paint, width);
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&self.summary());
        for finding in &self.diagnostics {
            let place = finding.place();
            let place = if place.is_empty() { place } else { format!("{place}: ") };
            let text = format!("{place}{}[{}]: {}", finding.severity, finding.code, finding.message);
            out.push_str(&one_line(&text));
            out.push('\n');
        }
        out
    }

    /// A summary such as `4 tasks: 2 codegen, 1 test, 1 done`.
    fn summary(&self) -> String {
        let workflows = self.phases.iter().map(|count| &count.workflow);
        let several = workflows.clone().any(|name| Some(name) != workflows.clone().next());
        let parts: Vec<String> = self
            .phases
            .iter()
            .map(|count| {
                let phase = count.phase.as_deref().unwrap_or("in no phase");
                let workflow = if several { format!(" ({})", count.workflow) } else { String::new() };
                format!("{} {phase}{workflow}", count.count)
            })
            .collect();
        let colon = if parts.is_empty() { "" } else { ": " };
        format!("{}{colon}{}\n", counted(self.tasks.len(), "task"), parts.join(", "))
    }
}

impl TaskStatus {
    /// The status of one task.
    #[must_use]
    pub fn of(subject: &Subject<'_>) -> Self {
        let suggestion = Suggestion::of(subject);
        let headline = (headline(&suggestion), mood(&suggestion));
        Self {
            at: spot(&suggestion),
            task: suggestion.task,
            duty: suggestion.duty,
            committed: suggestion.committed,
            headline,
        }
    }

    fn row(&self) -> Vec<super::layout::Cell> {
        let phase = self.task.phase();
        let substate = substate_text(self.task.substate.as_ref());
        let owner = if self.duty.owner == Owner::None { "-" } else { self.duty.owner.as_str() };
        let problem = self.at.as_ref().filter(|spot| spot.line.is_some()).map_or(String::new(), |spot| {
            let column = spot.column.map_or(String::new(), |column| format!(":{column}"));
            format!("{}:{}{column}", spot.path, spot.line.unwrap_or_default())
        });
        let (what, style) = &self.headline;
        vec![
            styled(&self.task.id, Style::Strong),
            plain(format!("{phase}{substate}")),
            plain(format!("#{}", self.task.attempt)),
            plain(owner),
            styled(what, *style),
            styled(problem, Style::Dim),
        ]
    }
}

/// The place that needs attention first: that of the first problem, else the first expected path.
fn spot(suggestion: &Suggestion) -> Option<Spot> {
    let wanted: &[ExpectState] = match suggestion.duty.r#do {
        Do::Fix => &[ExpectState::Invalid, ExpectState::Unmet],
        Do::Renew => &[ExpectState::Stale],
        Do::Write => &[ExpectState::Missing],
        Do::Repair => &[ExpectState::Missing, ExpectState::Invalid, ExpectState::Stale, ExpectState::Unmet],
        _ => &[],
    };
    let expected = suggestion.expects.iter().find(|expected| wanted.contains(&expected.state));
    let problems = expected.map_or(suggestion.diagnostics.as_slice(), |expected| &expected.problems);
    let problem =
        problems.iter().find(|finding| finding.severity == Severity::Error && finding.path.is_some());
    match (problem, expected) {
        (Some(finding), _) if expected.is_some() || suggestion.duty.r#do == Do::Repair => {
            Some(Spot { path: finding.path.clone()?, line: finding.line, column: finding.column })
        }
        (_, Some(expected)) => Some(Spot { path: expected.path.clone(), line: None, column: None }),
        _ => None,
    }
}

/// The phases that contain tasks, by workflow and in document order.
fn count(subjects: &[Subject<'_>]) -> Vec<PhaseCount> {
    let mut workflows: Vec<&Workflow> = Vec::new();
    for subject in subjects {
        if !workflows.iter().any(|known| known.name == subject.workflow.name) {
            workflows.push(subject.workflow);
        }
    }
    workflows.sort_by(|a, b| a.name.cmp(&b.name));
    let mut counts = Vec::new();
    for workflow in workflows {
        let phases = workflow.phases.iter().map(|phase| Some(&phase.id)).chain([None]);
        for phase in phases {
            let here = |subject: &&Subject<'_>| {
                subject.workflow.name == workflow.name && subject.decision.phase.as_ref() == phase
            };
            let count = subjects.iter().filter(here).count();
            if count > 0 {
                counts.push(PhaseCount {
                    workflow: workflow.name.to_string(),
                    phase: phase.map(ToString::to_string),
                    count,
                });
            }
        }
    }
    counts
}
