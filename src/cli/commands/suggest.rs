//! `orch suggest`: what to do next, and why.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::cli::lock_args::duration;
use orch_base::{Diagnostic, Error, Period};
use orch_core::decide::{ActorKind, is_order};
use orch_core::workflow::Owner;
use orch_engine::drive::{self, Waited};
use orch_engine::gather;
use orch_engine::survey::{Reader, Sight, TaskRef, Workspace, unjudged};
use orch_view::layout::counted;
use orch_view::{Briefs, Suggestion, Suggestions, TaskRank};
use std::cell::OnceCell;
use std::time::{Duration, Instant};

/// How many tasks are shown if none is named.
const LIMIT: usize = 10;

/// Show what to do next for each task, and why.
///
/// Prints which files to write, where, and which schema they must match; or which transition is due; or who
/// has to act. Without TASKS: the task of the current directory or of the branch, or else the ten most urgent
/// unfinished tasks. With `--json` the branch does not count. Writes nothing but a
/// cache in `.git/orch`.
///
/// A task that cannot be evaluated, such as one whose record is damaged or whose workflow is missing, comes first,
/// because a person has to repair it. Exits with 1 if there is one, if `--for` leaves nothing to do, or if
/// `--timeout` expires; with 70 if the machine failed to read something.
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
    /// With --wait: give up after DURATION (`90s`, `5m`; a plain number counts seconds) and exit with 1.
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = timeout)]
    timeout: Option<Period>,
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV", conflicts_with = "wait")]
    at: Option<String>,
}

fn timeout(text: &str) -> Result<Period, String> {
    text.parse()
        .map(Period::from_seconds)
        .or_else(|_| duration(text))
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
    let mut workspace = context.workspace_at(ui, args.at.as_deref())?;
    if args.wait {
        return wait(&workspace, args, context, ui);
    }
    if args.tasks.is_empty() {
        // Tasks that are named are looked at again.
        workspace.know_looks(gather::STATUS_CACHE);
    }
    context.show_looks(&workspace, None, ui);
    let (around, fault) = match args.task_around(&workspace, context, ui) {
        // Without a branch that can be read, the tasks in error are listed all the same.
        Err(Failure::Reported {
            exit: ExitCode::Fault,
            error,
        }) => (None, Some(error)),
        around => (around?, None),
    };
    let mut answer = answer(&workspace, args, around.as_ref())?;
    if let Some(fault) = fault {
        answer.problems.push(unjudged(&fault));
    }
    print(&answer, args, context, ui)?;
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
        if args.whom.is_some() && self.envelope.suggestions.is_empty() {
            return report::exit_after(&self.problems, ExitCode::No);
        }
        report::exit_of(
            &self.problems,
            self.envelope
                .suggestions
                .iter()
                .map(|suggestion| suggestion.duty.kind),
        )
    }
}

fn print(answer: &Answer, args: &SuggestArgs, context: &Context, ui: &Ui) -> Result<(), Failure> {
    let mut shown = answer.envelope.clone();
    if context.caller.kind == ActorKind::Agent && !context.global.json {
        // An agent is offered no order against the rules. In JSON, `by` says that a person may give it.
        let options = shown
            .suggestions
            .iter_mut()
            .map(|suggestion| &mut suggestion.options);
        options.for_each(|options| options.retain(|option| !is_order(&option.id)));
    }
    if !context.global.json {
        for suggestion in &mut shown.suggestions {
            suggestion.type_at(&ui.here());
            suggestion.task.tell_time(context.caller.clock.now());
        }
    }
    match (args.brief, context.global.json) {
        (true, true) => ui.document(&Briefs::of(&shown))?,
        (true, false) => context.page(ui, &Briefs::of(&shown).text(&answer.nothing))?,
        (false, true) => ui.document(&shown)?,
        (false, false) => context.page(
            ui,
            &orch_view::suggestions(&shown, &answer.nothing, ui.paint, ui.width),
        )?,
    }
    Ok(())
}

impl SuggestArgs {
    /// Whether the answer is only about tasks for which this one must act.
    fn concerns(&self, owner: Owner) -> bool {
        match self.whom {
            None => true,
            Some(Whom::Agent) => owner == Owner::Agent,
            Some(Whom::Human) => owner == Owner::Human,
        }
    }

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

fn answer(
    workspace: &Workspace,
    args: &SuggestArgs,
    around: Option<&TaskRef>,
) -> Result<Answer, Failure> {
    let named = around.is_some() || !args.tasks.is_empty();
    let (tasks, misnamed) = match around {
        Some(task) => (vec![task.clone()], Vec::new()),
        None => gather::named_or_all(workspace, &args.tasks)?,
    };
    let default = (!named && !args.all).then_some(LIMIT);
    let limit = args
        .limit
        .and_then(|limit| usize::try_from(limit).ok())
        .or(default);
    let is_wanted = |owner: Owner, is_done: bool| (named || !is_done) && args.concerns(owner);
    let free = match args.whom {
        Some(Whom::Agent) if !named => Some(gather::free(workspace)?),
        _ => None,
    };
    let chosen = match limit.filter(|limit| tasks.len() > *limit) {
        limit if let Some(free) = &free => MostUrgent::of_free(free, limit),
        Some(limit) => MostUrgent::of(workspace, &tasks, limit, is_wanted),
        None => MostUrgent {
            tasks: tasks.clone(),
            ..MostUrgent::default()
        },
    };
    let suggested = |reader: &Reader, sight: &Sight| {
        let subject = reader.subject(sight);
        let is_done = sight.decision.is_done();
        let is_wanted = is_wanted(subject.duty().owner, is_done);
        (
            is_wanted.then(|| (TaskRank::of(&subject), Suggestion::of(&subject))),
            is_done,
            None,
        )
    };
    let failed = |task: &TaskRef, error: &Error| {
        let suggestion = gather::unread_suggestion(task, error);
        let is_wanted = is_wanted(suggestion.duty.owner, false);
        let own = is_wanted.then(|| gather::unread_task(task, error));
        (
            is_wanted.then(|| (TaskRank::of_unread(&task.id), suggestion)),
            false,
            own,
        )
    };
    let (answers, found) = gather::answers_of_each(workspace, &chosen.tasks, suggested, failed);
    let done = chosen.done + answers.iter().filter(|(_, is_done, _)| *is_done).count();
    let mut problems = chosen.problems;
    let leases = chosen.tasks.iter();
    let leases = leases.filter_map(|task| gather::lease_problem(workspace, task));
    let is_new = |found: &Diagnostic| !problems.contains(found);
    let new: Vec<Diagnostic> = found.into_iter().chain(leases).filter(is_new).collect();
    problems.extend(new.into_iter().chain(misnamed));
    let repository = gather::repository(workspace, &mut problems);
    // The finding about a task that is shown is with its suggestion.
    let own: Vec<Diagnostic> = answers.iter().filter_map(|(.., own)| own.clone()).collect();
    let mut wanted: Vec<_> = answers.into_iter().filter_map(|(one, ..)| one).collect();
    if free.is_none() {
        wanted.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    let suggestions = wanted
        .into_iter()
        .map(|(_, suggestion)| suggestion)
        .collect();
    let omitted = chosen.omitted;
    let nothing = match (tasks.is_empty(), done == tasks.len(), args.whom) {
        (true, ..) if problems.iter().any(Diagnostic::is_fault) => {
            "No task could be read.".to_owned()
        }
        (true, ..) => "There are no tasks yet.".to_owned(),
        (_, true, _) => format!("{}, nothing to do: all done.", counted(done, "task")),
        (_, _, Some(Whom::Agent)) => "No task waits for an agent.".to_owned(),
        (_, _, Some(Whom::Human)) => "No task waits for a person.".to_owned(),
        (_, _, None) => "There is nothing to suggest.".to_owned(),
    };
    let others: Vec<Diagnostic> = problems
        .iter()
        .filter(|found| !own.contains(found))
        .cloned()
        .collect();
    let envelope = Suggestions::of(repository, suggestions, omitted, &others);
    Ok(Answer {
        envelope,
        nothing,
        problems,
    })
}

/// The most urgent tasks, and what is known of the others.
#[derive(Default)]
struct MostUrgent {
    tasks: Vec<TaskRef>,
    /// How many of the others could be shown too.
    omitted: usize,
    /// How many of the others are done.
    done: usize,
    /// The problems of the others.
    problems: Vec<Diagnostic>,
}

impl MostUrgent {
    /// The tasks to work on, in the order in which they are to be taken; what another holds is left out.
    fn of_free(free: &gather::Free, limit: Option<usize>) -> Self {
        let mut tasks: Vec<TaskRef> = free.work().into_iter().cloned().collect();
        let omitted = tasks.len().saturating_sub(limit.unwrap_or(usize::MAX));
        tasks.truncate(tasks.len() - omitted);
        Self {
            tasks,
            omitted,
            done: free.done,
            problems: free.problems.clone(),
        }
    }

    /// The most urgent tasks by their status, which may be known from earlier looks.
    fn of(
        workspace: &Workspace,
        tasks: &[TaskRef],
        limit: usize,
        is_wanted: impl Fn(Owner, bool) -> bool,
    ) -> Self {
        let (rows, problems) = gather::statuses(workspace, tasks);
        let rows: Vec<_> = tasks.iter().zip(rows).collect();
        let all_done = rows.iter().filter(|(_, status)| status.is_done()).count();
        let mut wanted: Vec<_> = rows
            .iter()
            .filter(|(_, status)| is_wanted(status.duty.owner, status.is_done()))
            .collect();
        wanted.sort_by(|(_, one), (_, other)| one.in_order(other));
        let omitted = wanted.len().saturating_sub(limit);
        wanted.truncate(limit);
        let done = all_done - wanted.iter().filter(|(_, status)| status.is_done()).count();
        let tasks = wanted
            .into_iter()
            .map(|(task, _)| (*task).clone())
            .collect();
        Self {
            tasks,
            omitted,
            done,
            problems,
        }
    }
}

/// Waits until the suggestions change, and prints them.
fn wait(
    workspace: &Workspace,
    args: &SuggestArgs,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let timeout = args
        .timeout
        .map(|timeout| Duration::from_millis(timeout.milliseconds()));
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
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
            print(&now, args, context, ui)?;
            Ok(now.exit(args))
        }
        Waited::TimedOut => {
            before
                .get()
                .map_or(Ok(()), |before| print(before, args, context, ui))?;
            Ok(ExitCode::No)
        }
        Waited::Stopped => Ok(ExitCode::Interrupted),
    }
}
