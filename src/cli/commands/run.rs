//! `orch run`: the loop that drives a task.

mod ask;
mod live;
mod screen;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::decide::{Ending, Mode};
use crate::drive::{RunEnd, RunOptions, StopFlag};
use crate::survey::TaskRef;
use crate::survey::Workspace;
use crate::view::{RunReport, SCHEMA_VERSION, TransitionLine, pretty};
use live::RunDisplay;

/// Runs a task: performs what its rules ask for with an executor, records what comes of it, and again,
/// until the task is done, somebody else has to act, nothing changes any more, or a limit is reached.
///
/// The executor is the command after `--`, else `[executor.NAME]` of orch.toml. It reads its prompt on
/// standard input. Where the rules `run` actions, its result changes the state; where phases have
/// agents, the files that it writes decide. Ctrl-C ends the executor and keeps the state, twice ends at
/// once; `orch run` goes on from there.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The task; may be left out where the directory, the branch or a single open task names it.
    pub task: Option<String>,
    /// Ask a person where the rules wait for one; the default at first.
    #[arg(long, conflicts_with = "auto")]
    pub interactive: bool,
    /// Answer questions by their defaults.
    #[arg(long)]
    pub auto: bool,
    /// Start an executor at most N times.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Start nobody and write nothing; say what would be performed.
    #[arg(long)]
    pub dry_run: bool,
    /// The command that performs everything; no shell reads it.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

pub fn run(args: &RunArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let mode = match (args.auto, args.interactive) {
        (true, _) => Some(Mode::Auto),
        (_, true) => Some(Mode::Interactive),
        _ => None,
    };
    let options = RunOptions { mode, max_turns: args.max_turns, command: args.command.clone() };
    if args.dry_run {
        let end = crate::drive::foresee_run(&context.writer(&workspace), &task, &options)?;
        return finish(&workspace, context, ui, &end, Vec::new(), end.goes_on());
    }
    go(&workspace, &task, &options, context, ui)
}

/// Drives a task to its end, asking a person in between where there is one.
pub(super) fn go(
    workspace: &Workspace,
    task: &TaskRef,
    options: &RunOptions,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let mut live = RunDisplay::new(ui, context.global.json);
    loop {
        let stop = StopFlag::default();
        let (flag, tell) = (stop.clone(), live.voice());
        context.interrupts.instead(move || {
            flag.stop();
            tell("the run is brought to its end; Ctrl-C once more ends it at once".to_owned());
        });
        let ended = crate::drive::run(&context.writer(workspace), task, options, &stop, &mut |happened| {
            live.hear(happened)
        });
        live.end();
        let mut end = ended?;
        // Nothing runs now that an interrupt would have to wait for.
        context.interrupts.at_once();
        let asks = end.ending == Ending::Waiting && ui.interactive && !context.global.json;
        let answers = if asks && options.mode != Some(Mode::Auto) { ask::ask(&end.judged, ui) } else { None };
        if answers.is_some() && crate::drive::overrule(&context.writer(workspace), &mut end)? {
            // Whoever paused or stopped it meanwhile is heard, not the answer.
            return finish(workspace, context, ui, &end, live.transitions, false);
        }
        if let Some(answers) = answers {
            match crate::drive::answer(&context.writer(workspace), task, &answers, false) {
                Ok(applied) => live.applied(&applied),
                Err(error) => ui.problem(&error.to_string()),
            }
            continue;
        }
        return finish(workspace, context, ui, &end, live.transitions, false);
    }
}

/// Says how a run ended.
fn finish(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    end: &RunEnd,
    transitions: Vec<TransitionLine>,
    goes_on: bool,
) -> Result<ExitCode, Failure> {
    let options: Vec<Vec<String>> =
        end.judged.decision.options.iter().map(|option| option.argv.clone()).collect();
    let report = RunReport {
        schema_version: SCHEMA_VERSION,
        kind: "run",
        repository: workspace.repository(),
        task: end.judged.task.id.to_string(),
        run: Some(end.run.clone()).filter(|run| !run.is_empty()),
        ending: (!goes_on).then(|| end.ending.as_str()),
        reason: end.reason.clone(),
        current_phase: end.judged.decision.phase.as_ref().map(ToString::to_string),
        turns: end.turns.0,
        max_turns: end.turns.1,
        cost: end.cost,
        interrupted: end.interrupted,
        due: end.work().map(|work| work.name().to_owned()),
        transitions,
        options,
    };
    if context.global.json {
        ui.answer(&pretty(&report))?;
    } else {
        ui.answer(&report.text(ui.paint))?;
        if matches!(end.ending, Ending::Waiting | Ending::Stalled | Ending::Failed) && !goes_on {
            for option in &end.judged.decision.options {
                ui.status(&format!("  {}  ({})", crate::base::command(&option.argv), option.effect));
            }
        }
    }
    Ok(match end.ending {
        _ if end.interrupted => ExitCode::Interrupted,
        _ if goes_on => ExitCode::Fine,
        Ending::Completed => ExitCode::Fine,
        Ending::Waiting | Ending::Paused | Ending::Stopped => ExitCode::Nothing,
        Ending::Failed | Ending::Stalled | Ending::Exhausted | Ending::Error => ExitCode::No,
    })
}
