//! Turns decisions into text, JSON, annotations, commit messages and prompts.
//!
//! Everything here turns values into text and decides nothing. It knows no terminal, clock or environment:
//! colour and width are arguments, and the same values yield the same bytes. The JSON structs are the public
//! wire format; their schemas are in `system/schemas/output/`. All paths in JSON are relative to the root of
//! the repository; text shows the path of an artifact relative to its task.

mod action_prompt;
mod advice;
mod answer;
mod audit;
mod brief;
mod ci;
mod code;
mod deadline;
mod diff;
mod doctor;
mod error;
mod event;
mod everywhere;
mod explain;
pub mod findings;
mod generation_prompt;
#[cfg(feature = "board")]
pub mod html;
mod instructions;
mod issue;
mod json;
pub mod layout;
mod lease;
mod log;
mod message;
mod migration;
mod notice;
mod paint;
mod parallel;
mod prompt;
mod pull_request;
mod question;
mod rank;
mod relations;
mod resolution;
mod run;
#[cfg(test)]
mod samples;
mod schema_outline;
mod sheet;
mod source_place;
mod status;
mod step;
mod suggestion;
mod task;
mod terminal_board;
#[cfg(test)]
mod tests;
mod text;
mod transition;
pub mod uri;
mod verdict;
mod verify;
mod vouched;
mod way;
mod wire;
mod workflow_diff;

pub use action_prompt::action_prompt;
pub use advice::Advice;
pub use answer::{
    ConfiguredHookLine, DemoAnswer, DraftAnswer, FormattedAnswer, GenerationAnswer, HookDone,
    HookLine, HookName, HookState, HooksAnswer, ImportAnswer, ImportLine, InitAnswer, NewWorkflow,
    NothingDue, OverlapLine, OverlapList, PlayedStep, PlayedWorkflow, PromptAnswer, RecoveryAnswer,
    SkippedLine, TestedWorkflow, TextAnswer, TrustAnswer, TrustLine, UncoveredCase, WorkflowLine,
    WorkflowList, WorkflowTests,
};
pub use audit::{
    AuditChange, AuditCommit, AuditIncremental, AuditReport, AuditedChange, RerunLine,
};
pub use brief::{Brief, BriefFile, Briefs};
pub use ci::{CiPart, CiReport};
pub use code::CodeView;
pub use deadline::DeadlineView;
pub use diff::{ArtifactDiff, FileDiff};
pub use doctor::{DoctorCheck, DoctorReport, Versions};
pub use error::ErrorView;
pub use event::{EventView, Happening};
pub use everywhere::{Everywhere, PlaceView, TaskEverywhere, Whereabouts};
pub use explain::{Explanation, Explanations};
pub use generation_prompt::generation_prompt;
pub use json::{JsonDocument, SCHEMA_VERSION, enveloped, indented, line, pretty};
pub use lease::{FreeTask, FreeTasks, LeaseView, ReleaseAnswer, TakeAnswer, TakenView};
pub use log::Log;
pub use message::{Message, StepTrailers, kept_message, quoted};
pub use migration::{MigrationLine, MigrationList};
pub use notice::{EndedRun, Notice};
pub use paint::{Paint, Style};
pub use parallel::{
    ParallelForm, ParallelLine, ParallelReport, WorkTreeLine, WorkTreesReport, parallel_picture,
};
pub use prompt::{SchemaForm, prompt};
pub use pull_request::{DescribedTask, GITHUB_CHARACTERS, PullRequest, PullRequestText};
pub use question::question;
pub use rank::{TaskRank, sort};
pub use relations::{GraphLabel, GraphNode, RelationsView, TaskGraph};
pub use resolution::{Resolution, Resolutions};
pub use run::{ControlReport, FenceView, RunLine, RunReport, Runs};
pub use sheet::{
    ChangedFile, JudgedStep, SheetForm, SheetSource, TaskChange, TaskSheet, line_ranges,
    marked_lines,
};
pub use source_place::SourcePlace;
pub use status::{PhaseCount, Status, StatusForm, TaskFlags, TaskStatus};
pub use step::{ActorView, StepEvidence, StepView};
pub use task::{DutyView, TaskView};
pub use terminal_board::{BoardForm, BoardKey, BoardWish, TerminalBoard};
pub use text::{next_step, standing, suggestions};
pub use transition::{AppliedView, TransitionLine, Transitions};
pub use verify::{FailedTestView, PushLine, VerificationLine, Verifications};
pub use vouched::AuditEvidence;
pub use way::way_text;
pub use wire::{
    CommandView, EvidenceView, Expected, FieldView, Finding, InputView, IssueView, Possible,
    QuestionView, SendBackView, Suggestion, Suggestions,
};
pub use workflow_diff::{
    DecisionDiff, SaidDecision, TableChangeLine, TaskDiff, WorkflowDiff, WorkflowDiffs,
};

use orch_base::{Place, RepoPath, TaskPlace, Timestamp};
use orch_core::decide::{Decision, Runner};
use orch_core::workflow::{System, Workflow};
use serde::Serialize;

/// One task to show: its decision and its circumstances.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// The decision.
    pub decision: &'a Decision,
    /// The workflow that decided.
    pub workflow: &'a Workflow,
    /// The source of schemas and instructions.
    pub system: &'a System,
    /// A title for people.
    pub title: Option<&'a str>,
    /// Where the files of the task are.
    pub place: &'a TaskPlace,
    /// The path that stands for the task: that of its directory, or of the file that it is.
    pub path: RepoPath,
    /// The time of the task's last step; for sorting and, on a terminal, as an age; never in JSON.
    pub unmoved_since: Option<Timestamp>,
    /// The path of `system/` in the repository; `None` if its texts are only in the binary.
    pub system_dir: Option<&'a str>,
    /// The place in its file of each issue that [`Decision::sent_back`] quotes, in the same order.
    pub issue_places: Vec<Place>,
    /// What is known about a run of this task, if any.
    pub runner: Option<&'a Runner>,
    /// Whether the settings name an executor, which does what agents have to do.
    pub has_executors: bool,
    /// Who holds the task, if somebody does.
    pub held: Option<LeaseView>,
}

/// The repository, or the directory outside git, that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repository {
    /// The root: the only absolute path in any output.
    pub root: String,
    /// The branch; null if HEAD is detached, or outside git.
    pub branch: Option<String>,
    /// The commit of HEAD; null on a branch without commits, or outside git.
    pub head: Option<String>,
    /// The source of the files: `work-dir` or `commit:<id>`.
    #[cfg_attr(test, schemars(extend("pattern" = "^(work-dir|commit:.+)$")))]
    pub source: String,
}
