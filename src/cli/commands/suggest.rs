//! `orch suggest`: what comes next, and why.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::Code;
use crate::store::Store;
use crate::survey::Workspace;
use crate::view::layout::counted;
use crate::view::{self, Suggestions, pretty};
use crate::watch::{WatchOptions, WatchSignal, Watcher};
use crate::workflow::Owner;
use std::time::{Duration, Instant};

/// Show what to do next for each task, and why.
///
/// Prints which files to write, where, and which schema they must match; or which transition is due; or who
/// has to act. Without TASKS: every unfinished task, most urgent first. Writes nothing.
///
/// Exits with 1 if `--for` leaves nothing to do, or if `--timeout` expires.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// The tasks; default: every unfinished task.
    tasks: Vec<String>,
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
    let answer = answer(&workspace, args)?;
    tell(&answer, context, ui)?;
    Ok(answer.exit(args))
}

/// What is suggested, or why nothing is.
struct Answer {
    envelope: Suggestions,
    nothing: String,
}

impl Answer {
    fn exit(&self, args: &SuggestArgs) -> ExitCode {
        let is_asked_for = args.whom.is_some() && self.envelope.suggestions.is_empty();
        if is_asked_for { ExitCode::No } else { ExitCode::Fine }
    }
}

fn tell(answer: &Answer, context: &Context, ui: &Ui) -> Result<(), Failure> {
    if context.global.json {
        ui.answer(&pretty(&answer.envelope))?;
    } else {
        ui.answer(&view::suggestions(&answer.envelope, &answer.nothing, ui.paint, ui.width))?;
    }
    Ok(())
}

fn answer(workspace: &Workspace, args: &SuggestArgs) -> Result<Answer, Failure> {
    let named = !args.tasks.is_empty();
    let (tasks, misnamed) = report::named_or_all(workspace, &args.tasks)?;
    let (mut judged, mut problems) = report::judge_all(workspace, &tasks);
    problems.extend(misnamed);
    let all_done = judged.len() == tasks.len() && judged.iter().all(|one| one.decision.is_done());
    let nothing = match (tasks.is_empty(), all_done, args.whom) {
        (true, ..) => "There are no tasks yet.".to_owned(),
        (_, true, _) => format!("{}, nothing to do: all done.", counted(judged.len(), "task")),
        (_, _, Some(Whom::Agent)) => "Nothing waits for an agent.".to_owned(),
        (_, _, Some(Whom::Human)) => "Nothing waits for a person.".to_owned(),
        (_, _, None) => "Nothing is suggested.".to_owned(),
    };
    judged.retain(|one| named || !one.decision.is_done());
    let subjects = report::subjects(workspace, &judged)?;
    let wanted = |subject: &view::Subject<'_>| match args.whom {
        None => true,
        Some(Whom::Agent) => view::next(subject).owner == Owner::Agent,
        Some(Whom::Human) => view::next(subject).owner == Owner::Human,
    };
    let kept: Vec<view::Subject<'_>> = subjects.into_iter().filter(wanted).collect();
    Ok(Answer { envelope: Suggestions::new(workspace.repository(), &kept, None, &problems), nothing })
}

/// Returns when the suggestions differ from what they are now.
fn wait(workspace: &Workspace, args: &SuggestArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let options = WatchOptions {
        settle: Duration::from_millis(workspace.config().settle_ms),
        heads: workspace.store().map(Store::head_places).unwrap_or_default(),
        ..WatchOptions::default()
    };
    let mut watcher = Watcher::new(workspace.root(), &workspace.watched(), options)
        .map_err(|error| Failure::new(Code::WatchFailed, error.to_string()))?;
    let mut head = workspace.head();
    let before = answer(workspace, args)?;
    let until = args.timeout.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    loop {
        let left =
            until.map_or(Duration::from_secs(3600), |until| until.saturating_duration_since(Instant::now()));
        let Some(signals) = watcher.next(left) else { return Ok(ExitCode::Interrupted) };
        let moved = std::mem::replace(&mut head, workspace.head()) != head;
        let is_news = |signal: &WatchSignal| match signal {
            WatchSignal::Failed(_) => false,
            WatchSignal::Head => moved,
            WatchSignal::Dirty(_) | WatchSignal::Rescan(_) => true,
        };
        if signals.iter().any(is_news) {
            // The settings may have changed too, so everything is opened anew.
            let workspace = context.workspace(ui)?;
            let now = answer(&workspace, args)?;
            if now.envelope.suggestions != before.envelope.suggestions {
                tell(&now, context, ui)?;
                return Ok(now.exit(args));
            }
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            tell(&before, context, ui)?;
            return Ok(ExitCode::No);
        }
    }
}
