//! `orch log`: the timeline of tasks, from git and the log of each task.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::cli::lock_args::duration;
use orch_base::{Code, Diagnostic, Error, Period, Timestamp};
use orch_engine::gather;
use orch_engine::history::{Story, TimedStep};
use orch_engine::survey::{Look, Reader, TaskRef};
use orch_view::{Log, StepView};

/// Show the timeline of tasks: every recorded step with its reason, evidence and commit.
///
/// The newest step comes first; in JSON, it comes last. Without TASKS: the timeline of the task of the current directory or of the branch, or else of all tasks. With
/// `--json` the branch does not count. Writes nothing.
///
/// Exits with 1 if a line of a log is not an event, so that steps may be missing. If the log of one of several tasks
/// cannot be read, shows the timelines of the others and exits with 70.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// The tasks or patterns; default: the task of the current directory or of the branch, or else all tasks.
    tasks: Vec<String>,
    /// Show all tasks, wherever `orch` is started.
    #[arg(long, conflicts_with = "tasks")]
    all: bool,
    /// Show only the newest N steps.
    #[arg(short = 'n', long = "number", value_name = "N")]
    newest: Option<usize>,
    /// Show only the steps since TIME: a date, a time as in the log, or how long ago (`90m`, `2d`, `1w`).
    #[arg(long, value_name = "TIME", value_parser = LogStart::parse)]
    since: Option<LogStart>,
    /// Show the oldest step first.
    #[arg(long)]
    reverse: bool,
}

/// The time from which on steps are shown.
#[derive(Debug, Clone, Copy)]
enum LogStart {
    At(Timestamp),
    Ago(Period),
}

impl LogStart {
    fn parse(text: &str) -> Result<Self, String> {
        for (unit, days) in [('d', 1), ('w', 7)] {
            let count = text.strip_suffix(unit).map(str::parse::<u64>);
            if let Some(Ok(count)) = count {
                let seconds = count.saturating_mul(days).saturating_mul(DAY);
                return Ok(Self::Ago(Period::from_seconds(seconds)));
            }
        }
        if let Ok(ago) = duration(text) {
            return Ok(Self::Ago(ago));
        }
        let whole = if text.len() == DATE {
            format!("{text}T00:00:00Z")
        } else {
            text.to_owned()
        };
        let parsed = Timestamp::parse(&whole);
        parsed.map(Self::At).ok_or_else(|| {
            "expected a date such as 2026-11-21, a time such as 2026-11-21T04:50:00Z, or how long ago, such as 90m, 2d or 1w"
                .to_owned()
        })
    }

    fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(ago) => {
                let seconds = i64::try_from(ago.milliseconds() / 1000).unwrap_or(i64::MAX);
                Timestamp::from_seconds(now.seconds().saturating_sub(seconds))
            }
        }
    }
}

/// A day in seconds.
const DAY: u64 = 86_400;
/// The length of a date.
const DATE: usize = "2026-11-21".len();

pub fn run(args: &LogArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let around = match args.all || !args.tasks.is_empty() {
        true => None,
        false => report::around(&workspace, context, ui, "orch log --all")?,
    };
    let (tasks, mut findings): (Vec<TaskRef>, Vec<Diagnostic>) = match around {
        Some(task) => (vec![task], Vec::new()),
        None if args.tasks.is_empty() => {
            let (tasks, mut findings) = workspace.finder().survey()?;
            let hides = [Code::NothingToJudge, Code::WorkflowFaulty];
            findings.retain(|finding| finding.is_fault() || hides.contains(&finding.code));
            (tasks, findings)
        }
        None => (gather::named(&workspace, &args.tasks)?, Vec::new()),
    };
    let mut read = Vec::new();
    let mut faults = Vec::new();
    for (task, story) in tasks
        .iter()
        .zip(orch_engine::history::stories(&workspace, &tasks)?)
    {
        match story {
            Ok(story) => read.push((task, story)),
            Err(error) => faults.push((task, error)),
        }
    }
    let exit = match read.iter().any(|(_, story)| story.is_damaged) {
        true => ExitCode::No,
        false => ExitCode::Fine,
    };
    let short: Vec<&(&TaskRef, Story)> = read
        .iter()
        .filter(|(_, story)| story.is_damaged || story.steps.is_empty())
        .collect();
    let reasons = workspace
        .crew()
        .map_each(&short, |workspace, (task, story)| {
            why_short(workspace, task, story)
        });
    let mut lost = Vec::new();
    for ((task, _), reasons) in short.into_iter().zip(reasons) {
        match reasons {
            Ok(reasons) => lost.extend(reasons),
            Err(error) => faults.push((task, error)),
        }
    }
    let entries = in_order(
        workspace
            .crew()
            .map_each(&read, |_, (task, story)| views(task, story)),
    );
    // Without any step, the first reason is the answer.
    let answer = match entries.is_empty() {
        true if !faults.is_empty() => Some(faults.remove(0).1),
        true if !lost.is_empty() => Some(lost.remove(0)),
        _ => None,
    };
    findings.extend(
        faults
            .iter()
            .map(|(task, error)| gather::unread_task(task, error)),
    );
    findings.extend(lost.into_iter().map(Error::into_warning));
    findings.iter().for_each(|finding| ui.finding(finding));
    if let Some(answer) = answer {
        return Err(Failure::from(answer));
    }
    let entries = args.chosen(entries, context.caller.clock.now());
    let mut log = Log::new(workspace.reader().repository()?, entries, &findings);
    if context.global.json {
        ui.document(&log)?;
    } else {
        if !args.reverse {
            log.entries.reverse();
        }
        context.page(ui, &log.text(ui.paint, ui.width))?;
    }
    Ok(report::exit_after(&findings, exit))
}

impl LogArgs {
    /// The steps that are wanted, of steps in the order of time.
    fn chosen(&self, mut steps: Vec<StepView>, now: Timestamp) -> Vec<StepView> {
        if let Some(since) = self.since {
            let since = since.time(now);
            // A step without a time is never left out.
            steps.retain(|step| {
                let at = step.at.as_deref().and_then(Timestamp::parse);
                at.is_none_or(|at| at >= since)
            });
        }
        let left_out = match self.newest {
            Some(newest) => steps.len().saturating_sub(newest),
            None => 0,
        };
        steps.split_off(left_out)
    }
}

/// The steps of a task, each with the time at which it stands.
fn views(task: &TaskRef, story: &Story) -> Vec<(Timestamp, StepView)> {
    let mut latest = None;
    let view = |(entry, commit): &TimedStep| {
        // A clock may have been set back between two steps; what follows a step stands after it.
        let at = latest.map_or(entry.at, |latest: Timestamp| latest.max(entry.at));
        latest = Some(at);
        let commit = commit.map(|commit| commit.to_string());
        (
            at,
            StepView::recorded(task.id.as_str(), &task.place, entry, commit.as_deref()),
        )
    };
    story.steps.iter().map(view).collect()
}

/// The steps of all tasks by time, those of one time by task.
fn in_order(tasks: Vec<Vec<(Timestamp, StepView)>>) -> Vec<StepView> {
    let mut order: Vec<(Timestamp, &str, usize)> = Vec::new();
    for (number, steps) in tasks.iter().enumerate() {
        order.extend(
            steps
                .iter()
                .map(|(at, step)| (*at, step.task.as_str(), number)),
        );
    }
    order.sort();
    let order: Vec<usize> = order.into_iter().map(|(_, _, number)| number).collect();
    // Those of one task are in order already.
    let mut tasks: Vec<_> = tasks.into_iter().map(Vec::into_iter).collect();
    order
        .into_iter()
        .filter_map(|number| tasks[number].next())
        .map(|(_, step)| step)
        .collect()
}

/// Why the timeline of a task lacks steps: a line of its log is damaged, or there is no step.
fn why_short(reader: &Reader, task: &TaskRef, story: &Story) -> Result<Vec<Error>, Error> {
    let faults = Look::begin(reader)?.record_faults(task)?.into_iter();
    let log = task.transcript_path();
    let is_of_log = |fault: &Diagnostic| {
        fault
            .place
            .as_ref()
            .is_some_and(|place| place.path == log.as_str())
    };
    Ok(match story.is_damaged {
        true => faults
            .filter(Diagnostic::is_error)
            .take(1)
            .map(Error::from)
            .collect(),
        // A task that was never recorded has no step either, whatever else is wrong with it.
        false => faults
            .filter(|one| one.code == Code::RecordLost || is_of_log(one))
            .map(Error::from)
            .collect(),
    })
}
