//! `orch run`: drives a task.

mod ask;
mod live;
pub(super) mod parallel;
mod screen;

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use super::report;
use live::RunDisplay;
use orch_base::{Diagnostic, Error, Reason, locked};
use orch_core::decide::{Ending, Mode};
use orch_engine::apply::{Applied, Writer};
use orch_engine::drive::{
    Asked, Attendant, FenceNews, Happened, RunEnd, RunOptions, StopFlag, TaskNotice, catch_up,
    last_end, run_attended,
};
use orch_engine::notices::{FaultSink, Notifier};
use orch_engine::run::end_with_parent;
use orch_engine::survey::{Sight, TaskRef, Workspace};
use orch_view::{AppliedView, FenceView, RunReport, TaskView, TransitionLine};
use parallel::ParallelRequest;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};

/// Run a task's agents and actions until the task is done, someone else must act, or a limit is reached.
///
/// Each turn starts one executor: the command after `--`, or `[executor.NAME]` in orch.toml. The executor
/// reads its prompt from standard input. If a rule runs an action, the executor's result changes the state;
/// if the phase has an agent, the files that the agent writes decide. orch commits each step before it starts
/// the next.
///
/// Ctrl-C ends the executor, keeps the state and pauses the run; pressing it twice ends everything at once.
/// `orch run` resumes after the last recorded step, within the remaining budget.
///
/// If an agent program reports a limit that passes by itself, the run waits for it, and says until when.
///
/// `--parallel N` works on several tasks at once, each in a work tree of its own on a branch of its own, made from the base
/// branch: the tasks that are named, or all that an agent can go on with, until none is left. Each has a log of its own.
/// `[worktrees]` in orch.toml says where, what prepares a work tree, and what becomes of the branch of a task that is done. Ctrl-C
/// ends all runs. Exits with 0 if all were done; 1 if one failed; 3 if one waits for somebody, or none was free.
///
/// Exits with 0 if the task is done; 1 if the run failed, stalled or exhausted a limit; 3 if it is waiting,
/// paused or stopped; 130 after Ctrl-C.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    pub task: Option<String>,
    /// With `--parallel`: more tasks, or patterns.
    #[arg(value_name = "TASK", requires = "parallel")]
    pub tasks: Vec<String>,
    /// Work on at most N tasks at once, each in a work tree of its own.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=64),
        conflicts_with_all = ["interactive", "dry_run"],
    )]
    pub parallel: Option<u16>,
    /// The process that started this one, and with which it ends; orch gives it itself.
    #[arg(long, hide = true, value_name = "PROCESS")]
    pub parent_process: Option<u32>,
    /// Push each step to this remote as it is recorded; orch gives it itself.
    #[arg(long, hide = true, value_name = "REMOTE", conflicts_with = "parallel")]
    pub publish: Option<String>,
    /// Prompt on the terminal when a rule asks a question. The default for a task's first run; later runs keep
    /// the mode.
    #[arg(long, conflicts_with = "auto")]
    pub interactive: bool,
    /// Answer questions with the defaults that the workflow declares.
    #[arg(long)]
    pub auto: bool,
    /// Start executors at most N times. Lowers the workflow's limit, never raises it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Start the next executor now, even if the last one met a limit that has not passed.
    #[arg(long)]
    pub no_wait: bool,
    /// Start no executor and write nothing; print what the run would do until it starts an executor or ends.
    #[arg(long)]
    pub dry_run: bool,
    /// Start what orch.toml names even if nobody has trusted it; in CI, you can set ORCH_TRUST_ONCE=1 instead.
    #[arg(long)]
    pub trust_once: bool,
    /// The executor for all work in this run: a program and its arguments, not passed through a shell.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

pub fn run(args: &RunArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::FEW)?;
    if args
        .parent_process
        .is_some_and(|parent| !end_with_parent(parent))
    {
        return Ok(ExitCode::Interrupted);
    }
    let workspace = context.workspace(ui)?;
    if let Some(most) = args.parallel {
        return side_by_side(args, most, &workspace, context, ui);
    }
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let mode = match (args.auto, args.interactive) {
        (true, _) => Some(Mode::Auto),
        (_, true) => Some(Mode::Interactive),
        _ => None,
    };
    let options = RunOptions {
        mode,
        max_turns: args.max_turns,
        command: args.command.clone(),
        trust: args.trust_once,
        no_wait: args.no_wait,
        publish: args.publish.clone(),
    };
    if args.trust_once {
        context.writer(&workspace).authority().refuse_agent(&[
            "orch",
            "run",
            task.id.as_str(),
            "--trust-once",
        ])?;
    }
    if args.dry_run {
        let end = orch_engine::drive::foresee_run(&context.writer(&workspace), &task, &options)?;
        let foreseen = foreseen_lines(&end);
        if !context.global.json {
            foreseen
                .iter()
                .try_for_each(|line| ui.answer(&line.text(ui.paint, ui.width)))?;
        }
        return finish(&workspace, context, ui, &end, foreseen, end.goes_on());
    }
    context.keep_log(&workspace);
    if let Some(remote) = &args.publish {
        let (has_moved, notes) = catch_up(&context.writer(&workspace), &task, remote)?;
        notes.iter().for_each(|note| ui.finding(note));
        if has_moved {
            // The settings and the workflows may be others now.
            let workspace = context.workspace(ui)?;
            let task = report::meant(&workspace, context, args.task.as_deref())?;
            return go(&workspace, &task, &options, context, ui);
        }
    }
    go(&workspace, &task, &options, context, ui)
}

/// Works on many tasks at once.
fn side_by_side(
    args: &RunArgs,
    most: u16,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    if args.trust_once {
        let parallel = format!("--parallel={most}");
        let words = ["orch", "run", &parallel, "--trust-once"];
        context.writer(workspace).authority().refuse_agent(&words)?;
    }
    context.keep_log(workspace);
    let mut arguments: Vec<OsString> = Vec::new();
    for (is_given, word) in [
        (args.auto, "--auto"),
        (args.no_wait, "--no-wait"),
        (args.trust_once, "--trust-once"),
    ] {
        arguments.extend(is_given.then(|| word.into()));
    }
    arguments.extend(
        args.max_turns
            .map(|turns| format!("--max-turns={turns}").into()),
    );
    let request = ParallelRequest {
        most: most.into(),
        tasks: args
            .task
            .iter()
            .chain(&args.tasks)
            .map(String::as_str)
            .collect(),
        phases: &[],
        goes_on: false,
        queue: None,
        run: RunOptions {
            mode: args.auto.then_some(Mode::Auto),
            max_turns: args.max_turns,
            command: args.command.clone(),
            trust: args.trust_once,
            no_wait: args.no_wait,
            publish: None,
        },
        arguments,
        remote: None,
    };
    parallel::run(request, workspace, context, ui)
}

/// The lines of the steps that a run would record.
fn foreseen_lines(end: &RunEnd) -> Vec<TransitionLine> {
    let task = &end.sight.task;
    let workflow = end.sight.workflow();
    let id = &task.id;
    let place = &task.place;
    let line = |transition| {
        let entry = None;
        let commit = None;
        let view = AppliedView {
            task: id,
            place,
            workflow,
            transition,
            entry,
            commit,
        };
        TransitionLine::of(&view)
    };
    end.foreseen.iter().map(line).collect()
}

/// Drives a task until the run ends, and prompts for answers in between if the terminal is interactive.
pub(super) fn go(
    workspace: &Workspace,
    task: &TaskRef,
    options: &RunOptions,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let writer = context.writer(workspace);
    let problems: Arc<Mutex<Vec<Diagnostic>>> = Arc::default();
    let notifier = Notifier::new(options.trust, collecting(&problems));
    let live = RunDisplay::new(ui, context.global.json);
    let mut terminal = RunTerminal {
        live,
        notifier,
        begun: None,
        writer: &writer,
        context,
        ui,
    };
    let ended = run_attended(&writer, task, options, &mut terminal);
    let RunTerminal {
        live,
        mut notifier,
        begun,
        ..
    } = terminal;
    let rings = match (&ended, begun) {
        (Ok(end), _) => notifier.run_ended(&writer, end),
        // A run that an error ended has ended too.
        (Err(_), Some(run)) => match last_end(&writer, task, &run) {
            Ok(Some(end)) => notifier.run_ended(&writer, &end),
            _ => false,
        },
        (Err(_), None) => false,
    };
    if rings {
        ui.bell();
    }
    let finished = ended.map_err(Failure::from);
    let finished =
        finished.and_then(|end| finish(workspace, context, ui, &end, live.transitions, false));
    let ui = ui.clone();
    context.after_answer(move || {
        // Waits for the programs, which a signal ends at once.
        drop(notifier);
        locked(&problems)
            .iter()
            .for_each(|problem| ui.finding(problem));
    });
    finished
}

/// Keeps what is wrong with notifications until the run has ended, because the terminal may take nothing now.
fn collecting(problems: &Arc<Mutex<Vec<Diagnostic>>>) -> FaultSink {
    let problems = Arc::clone(problems);
    Arc::new(move |problem| locked(&problems).push(problem))
}

/// Who attends a run at a terminal, if there is one.
struct RunTerminal<'a> {
    live: RunDisplay<'a>,
    notifier: Notifier,
    /// The run that was begun last.
    begun: Option<String>,
    writer: &'a Writer<'a>,
    context: &'a Context,
    ui: &'a Ui,
}

impl Attendant for RunTerminal<'_> {
    fn begins(&mut self, stop: &StopFlag) {
        let flag = stop.clone();
        let say = self.live.voice();
        self.context.interrupts.drives(stop.clone());
        self.context.interrupts.instead(move || {
            flag.stop();
            say("ending the run; press Ctrl-C again to end it at once".to_owned());
        });
    }

    fn hears(&mut self, happened: &Happened<'_>) {
        if let Happened::Begun { run, .. } = happened {
            self.begun = Some((*run).to_owned());
        }
        self.live.hear(happened);
    }

    fn rests(&mut self) {
        self.live.end();
        // Nothing runs now that an interrupt would have to wait for.
        self.context.interrupts.at_once();
    }

    fn answers(
        &mut self,
        sight: &Sight,
        fits: &dyn Fn(&[Asked]) -> Result<(), Reason>,
    ) -> Option<Vec<Asked>> {
        let is_here = self.ui.interactive && !self.context.global.json;
        if let Some(notice) = TaskNotice::of(sight).filter(|_| is_here)
            && self.notifier.came_to(self.writer, sight, notice)
        {
            self.ui.bell();
        }
        if is_here {
            ask::ask(sight, fits, self.ui)
        } else {
            None
        }
    }

    fn answered(&mut self, outcome: &Result<Applied, Error>) {
        match outcome {
            Ok(applied) => self.live.applied(applied),
            Err(error) => self.ui.problem(&error.to_string()),
        }
    }
}

fn fence_view(news: &FenceNews) -> FenceView {
    match news {
        FenceNews::Up(writes) => FenceView {
            holds: true,
            reason: None,
            writes: writes.clone(),
        },
        FenceNews::None(why) => FenceView {
            holds: false,
            reason: Some(why.clone()),
            writes: Vec::new(),
        },
    }
}

/// Prints how a run ended.
fn finish(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    end: &RunEnd,
    transitions: Vec<TransitionLine>,
    goes_on: bool,
) -> Result<ExitCode, Failure> {
    let options: Vec<Vec<String>> = end
        .sight
        .decision
        .options
        .iter()
        .map(|option| option.argv.clone())
        .collect();
    let report = RunReport {
        repository: workspace.reader().repository()?,
        task: TaskView::of(&workspace.reader().subject(&end.sight)),
        run: Some(end.run.clone()).filter(|run| !run.is_empty()),
        ending: (!goes_on).then_some(end.ending),
        reason: end.reason.clone(),
        turns: end.turns.0,
        max_turns: end.turns.1,
        cost: end.cost,
        unpriced_turns: end.unpriced,
        interrupted: end.interrupted,
        due: end.work().map(|work| work.name().to_owned()),
        transitions,
        options,
        fence: end.fence.as_ref().map(fence_view),
    };
    if context.global.json {
        ui.document(&report)?;
    } else {
        ui.answer(&report.text(ui.paint))?;
        if end.ending == Ending::Paused && !goes_on {
            let resume = orch_base::command(&["orch", "resume", end.sight.task.id.as_str()]);
            ui.status(&format!("  {resume}  (continue the run)"));
        }
        if matches!(
            end.ending,
            Ending::Waiting | Ending::Stalled | Ending::Failed
        ) && !goes_on
        {
            for option in report::offered(context, &end.sight.decision) {
                ui.status(&format!(
                    "  {}  ({})",
                    orch_base::command(&option.argv),
                    option.effect
                ));
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
