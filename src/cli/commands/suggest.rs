//! `orch suggest`: what to do next, and why.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::{Diagnostic, RepoPath};
use crate::decide::{ActorKind, is_order};
use crate::drive::{self, Waited};
use crate::survey::{TaskRef, Workspace};
use crate::view::layout::counted;
use crate::view::{self, Briefs, Suggestion, Suggestions, TaskOrder};
use crate::workflow::Owner;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many tasks are shown if none is named.
const LIMIT: usize = 10;

/// Show what to do next for each task, and why.
///
/// Prints which files to write, where, and which schema they must match; or which transition is due; or who
/// has to act. Without TASKS: the task of the current directory or of the branch, or else the ten most urgent
/// unfinished tasks. With `--json` the branch does not count. Writes nothing.
///
/// Exits with 1 if `--for` leaves nothing to do, or if `--timeout` expires.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// The tasks or patterns; default: the task of the current directory or of the branch, or else every
    /// unfinished task.
    tasks: Vec<String>,
    /// Show every unfinished task, wherever `orch` is started.
    #[arg(long, conflicts_with = "tasks")]
    all: bool,
    /// Print only what to do now, in a few lines per task; for agents.
    #[arg(long)]
    brief: bool,
    /// Show at most N tasks; default: all named TASKS, or 10 without TASKS and `--all`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Show only the tasks that this actor has to work on; exit with 1 if there are none.
    #[arg(long = "for", value_name = "WHO")]
    whom: Option<Whom>,
    /// Wait until the answer changes, then print it.
    #[arg(long)]
    wait: bool,
    /// With --wait: give up after this many seconds and exit with 1.
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    timeout: Option<u64>,
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV", conflicts_with = "wait")]
    at: Option<String>,
}

/// Who must act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Whom {
    /// A coding agent.
    Agent,
    /// A person.
    Human,
}

pub fn run(args: &SuggestArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    if args.wait {
        return wait(&workspace, args, context, ui);
    }
    context.show_looks(&workspace, None, ui);
    let around = args.task_around(&workspace, context, ui)?;
    let answer = answer(&workspace, args, around.as_ref())?;
    tell(&answer, args, context, ui)?;
    Ok(answer.exit(args))
}

/// The suggestions, and the text to print if there are none.
struct Answer {
    envelope: Suggestions,
    nothing: String,
    problems: Vec<Diagnostic>,
}

impl Answer {
    fn exit(&self, args: &SuggestArgs) -> ExitCode {
        let is_asked_for = args.whom.is_some() && self.envelope.suggestions.is_empty();
        report::exit_after(&self.problems, if is_asked_for { ExitCode::No } else { ExitCode::Fine })
    }
}

fn tell(answer: &Answer, args: &SuggestArgs, context: &Context, ui: &Ui) -> Result<(), Failure> {
    let mut shown = answer.envelope.clone();
    if context.caller.kind == ActorKind::Agent && !context.global.json {
        // An agent is offered no order against the rules. In JSON, `by` says that a person may give it.
        let options = shown.suggestions.iter_mut().map(|suggestion| &mut suggestion.options);
        options.for_each(|options| options.retain(|option| !is_order(&option.id)));
    }
    if !context.global.json {
        for suggestion in &mut shown.suggestions {
            suggestion.change_commands(&|hint| ui.hint_here(hint), &|argv| ui.argv_here(argv));
        }
    }
    match (args.brief, context.global.json) {
        (true, true) => ui.document(&Briefs::of(&shown))?,
        (true, false) => context.page(ui, &Briefs::of(&shown).text(&answer.nothing))?,
        (false, true) => ui.document(&shown)?,
        (false, false) => {
            context.page(ui, &view::suggestions(&shown, &answer.nothing, ui.paint, ui.width))?
        }
    }
    Ok(())
}

impl SuggestArgs {
    /// The only task that the answer is about if the command line names none.
    fn task_around(
        &self,
        workspace: &Workspace,
        context: &Context,
        ui: &Ui,
    ) -> Result<Option<TaskRef>, Failure> {
        if self.all || !self.tasks.is_empty() {
            return Ok(None);
        }
        report::around(workspace, context, ui, "orch suggest --all")
    }
}

fn answer(workspace: &Workspace, args: &SuggestArgs, around: Option<&TaskRef>) -> Result<Answer, Failure> {
    let named = around.is_some() || !args.tasks.is_empty();
    let (tasks, misnamed) = match around {
        Some(task) => (vec![task.clone()], Vec::new()),
        None => report::named_or_all(workspace, &args.tasks)?,
    };
    let default = (!named && !args.all).then_some(LIMIT);
    let limit = args.limit.and_then(|limit| usize::try_from(limit).ok()).or(default);
    let urgent = MostUrgent::new(limit);
    let (done, _, mut problems) = report::told_of_each(workspace, &tasks, |workspace, sight| {
        let subject = workspace.subject(sight, None);
        let is_wanted = match args.whom {
            None => true,
            Some(Whom::Agent) => subject.duty().owner == Owner::Agent,
            Some(Whom::Human) => subject.duty().owner == Owner::Human,
        };
        let is_done = sight.decision.is_done();
        if is_wanted && (named || !is_done) {
            urgent.add(&subject, sight.log_to_find());
        }
        is_done
    });
    problems.extend(misnamed);
    let all_done = done.len() == tasks.len() && done.iter().all(|is_done| *is_done);
    let nothing = match (tasks.is_empty(), all_done, args.whom) {
        (true, ..) => "There are no tasks yet.".to_owned(),
        (_, true, _) => format!("{}, nothing to do: all done.", counted(done.len(), "task")),
        (_, _, Some(Whom::Agent)) => "No task waits for an agent.".to_owned(),
        (_, _, Some(Whom::Human)) => "No task waits for a person.".to_owned(),
        (_, _, None) => "There is nothing to suggest.".to_owned(),
    };
    let (mut suggestions, logs, omitted) = urgent.into_kept();
    for (suggestion, commit) in suggestions.iter_mut().zip(workspace.commits_of(&logs)?) {
        suggestion.committed = commit.map(|commit| commit.to_string());
    }
    let envelope = Suggestions::of(workspace.repository()?, suggestions, omitted, &problems);
    Ok(Answer { envelope, nothing, problems })
}

/// The suggestions for the most urgent tasks, gathered from several threads. Those of other tasks are never made, or
/// dropped: a suggestion takes some kilobytes.
struct MostUrgent {
    limit: usize,
    gathered: Mutex<Gathered>,
}

/// The suggestions so far, the most urgent first, each with the log whose commit is to be found.
#[derive(Default)]
struct Gathered {
    kept: BTreeMap<(TaskOrder, String), (Suggestion, Option<RepoPath>)>,
    omitted: usize,
}

impl MostUrgent {
    fn new(limit: Option<usize>) -> Self {
        Self { limit: limit.unwrap_or(usize::MAX), gathered: Mutex::default() }
    }

    fn add(&self, subject: &view::Subject<'_>, log: Option<RepoPath>) {
        let place = (TaskOrder::of(subject), subject.place.directory().to_string());
        let is_full = |gathered: &Gathered| gathered.kept.len() >= self.limit;
        let is_less =
            |gathered: &Gathered| gathered.kept.keys().next_back().is_some_and(|last| *last < place);
        let mut gathered = self.gathered();
        if is_full(&gathered) && is_less(&gathered) {
            gathered.omitted += 1;
            return;
        }
        drop(gathered);
        let suggestion = Suggestion::of(subject);
        let mut gathered = self.gathered();
        gathered.kept.insert(place, (suggestion, log));
        while gathered.kept.len() > self.limit {
            gathered.kept.pop_last();
            gathered.omitted += 1;
        }
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The suggestions, their logs, and how many more there would be.
    fn into_kept(self) -> (Vec<Suggestion>, Vec<Option<RepoPath>>, usize) {
        let Gathered { kept, omitted } = self.gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (suggestions, logs) = kept.into_values().unzip();
        (suggestions, logs, omitted)
    }
}

/// Waits until the suggestions change, and prints them.
fn wait(workspace: &Workspace, args: &SuggestArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let until = args.timeout.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    let around = args.task_around(workspace, context, ui)?;
    let before: OnceCell<Answer> = OnceCell::new();
    let begin = || answer(workspace, args, around.as_ref()).map(|now| drop(before.set(now)));
    let news = || {
        // The settings may have changed too, so the workspace is opened again.
        let now = answer(&context.workspace(ui)?, args, around.as_ref())?;
        let is_same = |before: &Answer| before.envelope.suggestions == now.envelope.suggestions;
        Ok((!before.get().is_some_and(is_same)).then_some(now))
    };
    match drive::wait_for(workspace, until, begin, news)? {
        Waited::News(now) => {
            tell(&now, args, context, ui)?;
            Ok(now.exit(args))
        }
        Waited::TimedOut => {
            before.get().map_or(Ok(()), |before| tell(before, args, context, ui))?;
            Ok(ExitCode::No)
        }
        Waited::Stopped => Ok(ExitCode::Interrupted),
    }
}
