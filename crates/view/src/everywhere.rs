//! `orch status --everywhere`: every task of every branch and work tree, each where it is furthest.

use super::run::run_rows;
use super::status::{Status, StatusForm, TaskStatus};
use super::wire::{QuestionView, Suggestion};
use super::{Finding, Paint, PhaseCount, Repository, RunLine, Style, Subject, TaskRank};
use orch_base::Diagnostic;
use serde::Serialize;

/// The tasks of all places of a repository.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Everywhere {
    /// The repository that was read.
    pub repository: Repository,
    /// The places that were read: this work tree, the others, then branches and remote-tracking branches.
    pub places: Vec<PlaceView>,
    /// The tasks, each where it is furthest; the most urgent first.
    pub tasks: Vec<TaskEverywhere>,
    /// The number of tasks in each phase, by workflow and in document order.
    pub phases: Vec<PhaseCount>,
    /// The active and interrupted runs of all work trees.
    pub runs: Vec<RunLine>,
    /// Findings that do not belong to a single task.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { Everywhere = "everywhere" }

/// A place that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlaceView {
    /// The branch, such as `feature/x` or `origin/main`; of a detached HEAD, its abbreviated commit.
    pub place: String,
    /// `work-tree` for a branch with the uncommitted changes of its work tree, `branch`, or `remote`.
    #[cfg_attr(test, schemars(extend("enum" = ["work-tree", "branch", "remote"])))]
    pub kind: &'static str,
    /// Its newest commit; null on a branch without commits.
    pub commit: Option<String>,
    /// The root of the work tree, relative to the root of the repository; null for a branch.
    pub work_tree: Option<String>,
}

/// A task, where it is furthest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskEverywhere {
    /// Its status there.
    #[serde(flatten)]
    pub status: TaskStatus,
    /// The question that a person is asked; null if there is none.
    pub question: Option<QuestionView>,
    /// Where it is furthest.
    #[serde(flatten)]
    pub whereabouts: Whereabouts,
}

/// Where a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Whereabouts {
    /// The place where it was evaluated.
    pub place: String,
    /// How many places have the same record, this one included.
    #[cfg_attr(test, schemars(extend("minimum" = 1)))]
    pub same: usize,
    /// How many places have an older record.
    pub behind: usize,
    /// The places whose record has other steps: neither record contains the other.
    pub disagreeing: Vec<String>,
}

/// How many of the places that disagree are named in text.
const NAMED: usize = 5;

impl Everywhere {
    /// The overview of these tasks.
    #[must_use]
    pub fn new(
        repository: Repository,
        places: Vec<PlaceView>,
        mut tasks: Vec<(Subject<'_>, Whereabouts)>,
        runs: Vec<RunLine>,
        diagnostics: &[Diagnostic],
    ) -> Self {
        tasks.sort_by_cached_key(|(subject, _)| TaskRank::of(subject));
        let mut views = Vec::new();
        for (subject, whereabouts) in tasks {
            let mut suggestion = Suggestion::of(&subject);
            let question = suggestion.question.take();
            let mut status = TaskStatus::suggested(suggestion, &subject);
            status.whereabouts = Some(whereabouts.in_words());
            views.push(TaskEverywhere {
                status,
                question,
                whereabouts,
            });
        }
        Self {
            repository,
            places,
            phases: super::status::count(views.iter().map(|task| &task.status)),
            tasks: views,
            runs,
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }

    /// The overview as text: like [`Status::text`], with the place of each task, and the runs.
    #[must_use]
    pub fn text(&self, paint: Paint, form: &StatusForm) -> String {
        let status = Status {
            repository: self.repository.clone(),
            tasks: self
                .tasks
                .iter()
                .map(|task| task.status.clone().into())
                .collect(),
            phases: self.phases.clone(),
            diagnostics: self.diagnostics.clone(),
            places: Some(self.places.len()),
        };
        if self.runs.is_empty() {
            return status.text(paint, form);
        }
        let rows = run_rows(&self.runs, 2, paint, form.width);
        let heading = paint.paint(Style::Strong, &format!("runs: {}", self.runs.len()));
        let height = match form.height {
            0 => 0,
            height => height.saturating_sub(rows.lines().count() + 2).max(1),
        };
        format!(
            "{}\n{heading}\n{rows}",
            status.text(paint, &StatusForm { height, ..*form })
        )
    }
}

impl Whereabouts {
    /// The place, and the places that disagree, for people.
    fn in_words(&self) -> (String, Option<String>) {
        let several = match self.same {
            1 => String::new(),
            same => format!(" +{}", same - 1),
        };
        let mut named: Vec<&str> = self
            .disagreeing
            .iter()
            .take(NAMED)
            .map(String::as_str)
            .collect();
        let more = format!("{} more", self.disagreeing.len().saturating_sub(NAMED));
        if self.disagreeing.len() > NAMED {
            named.push(&more);
        }
        let disagreement =
            (!named.is_empty()).then(|| format!("other steps in: {}", named.join(", ")));
        (format!("{}{several}", self.place), disagreement)
    }
}
