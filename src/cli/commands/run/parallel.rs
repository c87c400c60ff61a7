//! `orch run --parallel` and `orch work`: many tasks side by side, and how they stand.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use orch_base::{Error, TaskId};
use orch_core::config::QueueAddress;
use orch_engine::drive::{
    ParallelNews, ParallelOptions, QueueNews, RunOptions, StopFlag, run_parallel,
};
use orch_engine::gather::{free, named, parallel_line};
use orch_engine::survey::Workspace;
use orch_view::{ParallelForm, ParallelLine, ParallelReport, parallel_picture};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How often the picture is renewed although nothing has changed but the time.
const RENEWED: Duration = Duration::from_secs(1);

/// What is worked on, as the command line says it.
pub struct ParallelRequest<'a> {
    pub most: usize,
    /// The tasks or patterns; none stands for all.
    pub tasks: Vec<&'a str>,
    pub phases: &'a [String],
    pub goes_on: bool,
    /// Whether to be woken by a queue, and at which address.
    pub queue: Option<Option<QueueAddress>>,
    pub run: RunOptions,
    /// The arguments of each run, before the command.
    pub arguments: Vec<OsString>,
    /// The remote on whose tasks several clones work.
    pub remote: Option<String>,
}

/// Works on many tasks until none is free, or a signal stops it, and prints how they stand meanwhile and in the end.
pub fn run(
    request: ParallelRequest<'_>,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let options = options(request, workspace)?;
    let writer = context.writer(workspace);
    let stop = StopFlag::default();
    let stopped = stop.clone();
    let told = ui.clone();
    context.interrupts.instead(move || {
        stopped.stop();
        told.status("ending all runs; press Ctrl-C again to end them at once");
    });
    let reader = workspace.reader();
    let mut shown = ParallelDisplay::new(context, ui);
    let order = || free_order(workspace);
    let ended = run_parallel(&writer, &options, &order, &stop, &mut |news| match news {
        ParallelNews::Tasks(tasks) => {
            let lines: Vec<ParallelLine> = tasks
                .iter()
                .map(|task| parallel_line(reader, task))
                .collect();
            shown.show(&lines);
        }
        ParallelNews::Queue(QueueNews::Gone(error)) => {
            ui.problem(&format!(
                "{error}; it is tried again until it can be reached"
            ));
        }
        ParallelNews::Queue(QueueNews::Back) => ui.status("the queue can be reached"),
        ParallelNews::Queue(QueueNews::Woken(_)) => {}
    });
    ui.passed();
    context.interrupts.at_once();
    let ended = ended?;
    let report = ParallelReport {
        repository: reader.repository()?,
        interrupted: stop.is_set(),
        tasks: ended
            .iter()
            .map(|task| parallel_line(reader, task))
            .collect(),
    };
    if context.global.json {
        ui.document(&report)?;
    } else {
        ui.answer(&report.text(ui.paint, ui.width))?;
    }
    Ok(exit_of(&report, options.goes_on))
}

/// The tasks in the order of `orch free`.
fn free_order(workspace: &Workspace) -> Result<Vec<TaskId>, Error> {
    let rows = free(workspace)?.list(workspace).0.tasks;
    Ok(rows
        .iter()
        .filter_map(|row| TaskId::new(&row.task).ok())
        .collect())
}

fn options(
    request: ParallelRequest<'_>,
    workspace: &Workspace,
) -> Result<ParallelOptions, Failure> {
    let mut tasks: Vec<TaskId> = Vec::new();
    if !request.tasks.is_empty() {
        let names: Vec<String> = request
            .tasks
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        tasks.extend(named(workspace, &names)?.into_iter().map(|task| task.id));
    }
    let mut arguments = request.arguments;
    if !request.run.command.is_empty() {
        arguments.push("--".into());
        arguments.extend(request.run.command.iter().map(OsString::from));
    }
    Ok(ParallelOptions {
        most: request.most,
        tasks,
        phases: request.phases.to_vec(),
        goes_on: request.goes_on,
        queue: request.queue,
        run: request.run,
        arguments,
        remote: request.remote,
    })
}

/// The exit code: 1 if something has failed or does not fit, 3 if something waits for somebody, or nothing was free.
fn exit_of(report: &ParallelReport, goes_on: bool) -> ExitCode {
    let has = |states: &[&str]| report.tasks.iter().any(|task| states.contains(&task.state));
    if report.interrupted && goes_on {
        ExitCode::Fine
    } else if report.interrupted {
        ExitCode::Interrupted
    } else if has(&["failed", "conflict"]) {
        ExitCode::No
    } else if report.tasks.is_empty()
        || has(&["unmerged", "sent-back", "waiting", "held", "stopped"])
    {
        ExitCode::Nothing
    } else {
        ExitCode::Fine
    }
}

/// What a person sees of the tasks: on a terminal a picture that is renewed, otherwise a line for each change.
struct ParallelDisplay<'a> {
    context: &'a Context,
    ui: &'a Ui,
    last: Vec<ParallelLine>,
    /// The last line about each task.
    told: BTreeMap<String, String>,
    drawn: Option<Instant>,
}

impl<'a> ParallelDisplay<'a> {
    fn new(context: &'a Context, ui: &'a Ui) -> Self {
        Self {
            context,
            ui,
            last: Vec::new(),
            told: BTreeMap::new(),
            drawn: None,
        }
    }

    fn show(&mut self, tasks: &[ParallelLine]) {
        if self.ui.live {
            let is_old = self.drawn.is_none_or(|drawn| drawn.elapsed() >= RENEWED);
            if is_old || self.last != tasks {
                self.draw(tasks);
            }
            return;
        }
        for task in tasks {
            let line = task.change();
            if self.told.get(&task.task) != Some(&line) {
                self.ui.status(&line);
                self.told.insert(task.task.clone(), line);
            }
        }
    }

    fn draw(&mut self, tasks: &[ParallelLine]) {
        self.drawn = Some(Instant::now());
        self.last = tasks.to_vec();
        let (width, height) = self.ui.size_status();
        let form = ParallelForm {
            width,
            height,
            paint: self.ui.paint_status,
            now: self.context.caller.clock.now(),
        };
        let lines = if tasks.is_empty() {
            vec!["no task is free yet; Ctrl-C ends".to_owned()]
        } else {
            parallel_picture(tasks, &form)
        };
        self.ui.passing_lines(&lines);
    }
}
