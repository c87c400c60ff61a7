//! `orch show`: the sheet of a task, which shows whoever decides about it all that is decided, on one page.
//!
//! Made from one look at the task, so it is about the same bytes as the decision. What is in doubt comes first; what a
//! file says stands in sections, whichever format it has; a hash stands behind the sentence it belongs to.

mod artifact;
mod change;
mod doubts;
mod grounds;
mod outline;
mod text;

pub(crate) use artifact::{ShownArtifact, ShownFile};
pub use change::{ChangedFile, JudgedStep, TaskChange, line_ranges, marked_lines};
pub(crate) use doubts::Doubt;
pub(crate) use grounds::GroundView;
pub(crate) use outline::{SheetLine, SheetSection};
pub use text::SheetForm;
pub(crate) use text::short;

use super::text::headline;
use super::{CommandView, DutyView, Repository, Subject, Suggestion, TaskView, VerificationLine};
use artifact::shown;
use doubts::doubts;
use grounds::grounds;
use orch_base::{Place, RepoPath, argv_at};
use orch_core::decide::{DutyKind, Facts, QuotedIssue, ResultFile, State, WayStop};
use orch_core::verification::result_path;
use serde::Serialize;
use std::collections::BTreeMap;

/// What the sheet of a task is made of.
pub struct SheetSource<'a> {
    /// The repository.
    pub repository: Repository,
    /// The task.
    pub subject: &'a Subject<'a>,
    /// Its recorded state, if it is usable.
    pub state: Option<&'a State>,
    /// What was observed of it.
    pub facts: &'a Facts,
    /// What its files object to, each with its place in the file.
    pub issues: Vec<(QuotedIssue, Option<Place>)>,
    /// The bytes of its files, by their paths relative to the root of the repository.
    pub contents: BTreeMap<&'a str, &'a [u8]>,
    /// The change of the code that it makes, if it makes one.
    pub change: Option<TaskChange>,
}

/// All that whoever decides about a task has to see.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskSheet {
    /// The repository that was read.
    pub repository: Repository,
    /// What is stale, missing or in doubt, the worst first.
    pub doubts: Vec<Doubt>,
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// Who must do what about it.
    pub duty: DutyView,
    /// What is asked, in a few words.
    pub asked: String,
    /// When the last step was recorded, in UTC; null if none was.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub at: Option<String>,
    /// The phases that the task passed, where it is, and those that lie ahead.
    #[cfg_attr(test, schemars(with = "Vec<super::way::WayStopSchema>"))]
    pub way: Vec<WayStop>,
    /// Commands to choose from.
    pub options: Vec<CommandView>,
    /// What its files say: the brief first, then documents, verdicts and reports, each in the order of the workflow.
    pub artifacts: Vec<ShownArtifact>,
    /// The verifications with a result.
    pub verifications: Vec<SheetVerification>,
    /// What an approval would rest on, or in a finished task did.
    pub rests_on: Vec<GroundView>,
    /// The change of the code; null if the workflow has no code, or there is none.
    pub code: Option<TaskChange>,
}

/// A verification with a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SheetVerification {
    /// What it gave.
    #[serde(flatten)]
    pub result: VerificationLine,
    /// The path of the file with the result.
    pub path: String,
    /// The digest of that file.
    pub digest: String,
    /// Whether the code is still the one that it judged; null if this is not known.
    pub same_code: Option<bool>,
}

super::json::documents! { TaskSheet = "sheet" }

impl TaskSheet {
    /// The sheet of a task.
    #[must_use]
    pub fn of(source: SheetSource<'_>) -> Self {
        let subject = source.subject;
        let suggestion = Suggestion::of(subject);
        let artifacts = shown(&source);
        let doubts = doubts(&source, &artifacts);
        let rests_on = grounds(&source);
        Self {
            doubts,
            asked: headline(&suggestion),
            at: subject.unmoved_since.map(|at| at.to_string()),
            way: suggestion.way,
            artifacts,
            verifications: verifications(&source),
            rests_on,
            task: suggestion.task,
            duty: suggestion.duty,
            options: suggestion.options,
            repository: source.repository,
            code: source.change,
        }
    }
}

impl TaskSheet {
    /// Whether nobody has to do anything any more.
    pub(crate) fn is_done(&self) -> bool {
        self.duty.kind == DutyKind::Done
    }

    /// Makes the commands in hints and options work for whoever types them in the directory `here`.
    pub fn type_at(&mut self, here: &RepoPath) {
        for doubt in &mut self.doubts {
            doubt.advice.type_at(here);
        }
        for option in &mut self.options {
            option.argv = argv_at(here, &option.argv);
        }
    }
}

/// The results of verifications that are there.
fn verifications(source: &SheetSource<'_>) -> Vec<SheetVerification> {
    let mut found = Vec::new();
    for (name, fact) in &source.facts.verified {
        if let ResultFile::Result { digest, result } = &fact.file {
            found.push(SheetVerification {
                result: VerificationLine::of(result),
                path: super::wire::in_repository(source.subject.place, &result_path(name)),
                digest: digest.to_string(),
                same_code: fact.code.map(|code| code == result.run.code.committed()),
            });
        }
    }
    found
}
