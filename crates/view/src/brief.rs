//! `orch suggest --brief`: what to do now about each task, and nothing else, for agents.

use super::LeaseView;
use super::layout::{one_line, shorten};
use super::wire::{Expected, Finding, Suggestion, Suggestions};
use orch_base::command;
use orch_core::decide::{Do, ExpectState};
use orch_core::workflow::Owner;
use serde::Serialize;

/// How many characters of a reason or an issue are shown.
const LONGEST: usize = 160;
/// How many files or issues of each kind are shown.
const MOST: usize = 4;
/// How many fields of a question are shown.
const MOST_ANSWERS: usize = 8;

/// What to do now, most urgent task first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Briefs {
    /// One entry per task.
    pub tasks: Vec<Brief>,
    /// The number of tasks that were left out.
    pub omitted: usize,
    /// Findings that do not belong to a single task.
    pub diagnostics: Vec<Finding>,
}

/// What to do now about one task. At most four files and issues of each kind are listed; `orch prompt` and
/// `orch suggest --json` list all.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    /// The id of the task.
    pub task: String,
    /// The current phase; null if the state names none.
    pub current_phase: Option<String>,
    /// Who must act.
    pub owner: Owner,
    /// What has to be done.
    pub r#do: Do,
    /// The reason, in one sentence.
    pub reason: String,
    /// What a verdict that sent the task back objects to, each with its place in the verdict.
    pub issues: Vec<String>,
    /// The files to read first, relative to the root of the repository.
    pub read: Vec<String>,
    /// The files to write, correct or rewrite.
    pub write: Vec<BriefFile>,
    /// What may be answered, if a person is asked: a line per field.
    pub answers: Vec<String>,
    /// The command to type next; null if there is none.
    pub command: Option<String>,
    /// Who holds the task, and until when; null if nobody does.
    pub held: Option<String>,
}

/// A file to write, correct or rewrite.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BriefFile {
    /// The path, relative to the root of the repository.
    pub path: String,
    /// Why it does not suffice.
    pub state: ExpectState,
    /// What is wrong with the present file; null if there is none.
    pub problem: Option<String>,
    /// The name of its schema; null if it has none.
    pub schema: Option<String>,
}

super::json::documents! { Briefs = "briefs" }

impl Briefs {
    /// The brief form of suggestions.
    #[must_use]
    pub fn of(envelope: &Suggestions) -> Self {
        Self {
            tasks: envelope.suggestions.iter().map(Brief::of).collect(),
            omitted: envelope.omitted,
            diagnostics: envelope.diagnostics.clone(),
        }
    }

    /// The same as text: a few lines per task; `nothing` if there is none.
    #[must_use]
    pub fn text(&self, nothing: &str) -> String {
        let mut out: String = self.tasks.iter().map(Brief::text).collect();
        if self.tasks.is_empty() && self.omitted == 0 {
            out.push_str(&format!("{nothing}\n"));
        }
        if self.omitted > 0 {
            out.push_str(&format!("{} more\n", self.omitted));
        }
        for finding in &self.diagnostics {
            out.push_str(&format!(
                "{}[{}]: {}\n",
                finding.severity,
                finding.code,
                one_line(&finding.message)
            ));
        }
        out
    }
}

impl Brief {
    pub(super) fn of(suggestion: &Suggestion) -> Self {
        let mut issues = Vec::new();
        for input in &suggestion.inputs {
            for issue in &input.issues {
                let issue = format!("{}: {}", issue.place(&input.file.path), issue.text());
                issues.push(shorten(&issue, LONGEST));
            }
        }
        issues.truncate(MOST);
        let question = suggestion
            .question
            .iter()
            .flat_map(|question| &question.fields);
        Self {
            task: suggestion.task.id.clone(),
            current_phase: suggestion.task.current_phase.clone(),
            owner: suggestion.duty.owner,
            r#do: suggestion.duty.r#do,
            reason: shorten(&one_line(&suggestion.duty.reason), LONGEST),
            issues,
            read: suggestion
                .inputs
                .iter()
                .take(MOST)
                .map(|input| input.file.path.clone())
                .collect(),
            write: suggestion
                .expects
                .iter()
                .take(MOST)
                .map(BriefFile::of)
                .collect(),
            answers: question
                .take(MOST_ANSWERS)
                .map(|field| shorten(&field.text(), LONGEST))
                .collect(),
            command: next_command(suggestion),
            held: suggestion.task.held.as_ref().map(LeaseView::words),
        }
    }

    pub(super) fn text(&self) -> String {
        let phase = self.current_phase.as_deref().unwrap_or("(no phase)");
        let owner = self.owner.as_str();
        let task = self.r#do.as_str();
        let mut out = format!(
            "{} ({phase}): {owner}: {task}: {}\n",
            self.task, self.reason
        );
        for file in &self.write {
            let problem = file
                .problem
                .as_ref()
                .map_or(String::new(), |problem| format!(": {problem}"));
            out.push_str(&format!(
                "  {} {}{problem}\n",
                file.state.as_str(),
                one_line(&file.path)
            ));
        }
        self.issues
            .iter()
            .for_each(|issue| out.push_str(&format!("  issue {issue}\n")));
        self.answers
            .iter()
            .for_each(|answer| out.push_str(&format!("  {answer}\n")));
        self.command
            .iter()
            .for_each(|command| out.push_str(&format!("  $ {command}\n")));
        out
    }
}

impl BriefFile {
    fn of(expected: &Expected) -> Self {
        let problem = expected.problems.first().map(|finding| {
            let place = finding.place();
            let hint = finding
                .advice
                .hint()
                .map_or(String::new(), |hint| format!("; {hint}"));
            shorten(
                &one_line(&format!("{place}: {}{hint}", finding.message)),
                LONGEST,
            )
        });
        Self {
            path: expected.path.clone(),
            state: expected.state,
            problem,
            schema: expected.schema.clone(),
        }
    }
}

/// The command that comes next: the complete instructions for work, otherwise the first option.
fn next_command(suggestion: &Suggestion) -> Option<String> {
    let is_work = matches!(suggestion.duty.r#do, Do::Write | Do::Fix | Do::Renew);
    if is_work && suggestion.duty.owner == Owner::Agent {
        return Some(command(&["orch", "prompt", &suggestion.task.id]));
    }
    suggestion
        .options
        .first()
        .map(|option| command(&option.argv))
}
