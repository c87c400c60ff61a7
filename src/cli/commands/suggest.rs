//! `orch suggest`: what to do next, and why.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::Diagnostic;
use crate::decide::{ActorKind, is_order};
use crate::drive::{self, Waited};
use crate::survey::{TaskRef, Workspace};
use crate::view::layout::counted;
use crate::view::{self, Briefs, Suggestions};
use crate::workflow::Owner;
use std::cell::OnceCell;
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
    let (mut judged, mut problems) = report::judge_all(workspace, &tasks);
    problems.extend(misnamed);
    let all_done = judged.len() == tasks.len() && judged.iter().all(|one| one.decision.is_done());
    let nothing = match (tasks.is_empty(), all_done, args.whom) {
        (true, ..) => "There are no tasks yet.".to_owned(),
        (_, true, _) => format!("{}, nothing to do: all done.", counted(judged.len(), "task")),
        (_, _, Some(Whom::Agent)) => "No task waits for an agent.".to_owned(),
        (_, _, Some(Whom::Human)) => "No task waits for a person.".to_owned(),
        (_, _, None) => "There is nothing to suggest.".to_owned(),
    };
    judged.retain(|one| named || !one.decision.is_done());
    let subjects = report::subjects(workspace, &judged)?;
    let wanted = |subject: &view::Subject<'_>| match args.whom {
        None => true,
        Some(Whom::Agent) => subject.duty().owner == Owner::Agent,
        Some(Whom::Human) => subject.duty().owner == Owner::Human,
    };
    let kept: Vec<view::Subject<'_>> = subjects.into_iter().filter(wanted).collect();
    let default = (!named && !args.all).then_some(LIMIT);
    let limit = args.limit.and_then(|limit| usize::try_from(limit).ok()).or(default);
    let envelope = Suggestions::new(workspace.repository()?, &kept, limit, &problems);
    Ok(Answer { envelope, nothing, problems })
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
