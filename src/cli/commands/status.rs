//! `orch status`: one line per task.

mod everywhere;
mod live;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use clap::builder::PossibleValuesParser;
use orch_base::{Code, Diagnostic};
use orch_core::workflow::Owner;
use orch_engine::gather::{self, TaskFilter};
use orch_engine::survey::Workspace;
use orch_view::{Status, StatusForm, TaskStatus};
use std::collections::BTreeSet;

/// Show how many tasks are in each phase, and one line per open task, by who must act.
///
/// The most urgent tasks come first. A terminal shows as many as fit; the last line counts the others. With `--json`,
/// lists every task that passes the filters. `orch` without a command does the same. Writes nothing but a cache in
/// `.git/orch`.
///
/// A task that cannot be evaluated, such as one whose record is damaged or whose workflow is missing, is listed
/// first, as an error. The command then exits with 1, or with 70 if the machine failed to read something.
///
/// `--everywhere` reads branches from their commits, without a checkout. A work tree with its uncommitted files
/// stands for the branch that is checked out in it. Each task is shown once, where its record is furthest along: a
/// record that continues another one is further along. `main +3` means that three more places have the same record.
/// If no record continues all the others, the task is shown as it is in the first place, and the places with other
/// steps are listed.
#[derive(Debug, Default, Args)]
pub struct StatusArgs {
    /// The tasks or patterns; default: every task that is not archived.
    tasks: Vec<String>,
    /// Show only the tasks in PHASE; repeatable.
    #[arg(long, value_name = "PHASE")]
    phase: Vec<String>,
    /// Show only the tasks for which OWNER must act; repeatable.
    #[arg(long, value_name = "OWNER", value_parser = PossibleValuesParser::new(Owner::ALL.map(Owner::as_str)))]
    owner: Vec<String>,
    /// Show only the tasks of WORKFLOW; repeatable.
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Vec<String>,
    /// List every task, including finished and archived ones and those that do not fit on the
    /// terminal.
    #[arg(long)]
    all: bool,
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
    /// Show the tasks of all branches, remote-tracking branches and work trees, each where it is furthest, and the
    /// open runs of all work trees.
    #[arg(long, conflicts_with = "at")]
    everywhere: bool,
    /// Show the status until Ctrl-C, and refresh it whenever it changes. Needs a terminal. Files in other work trees
    /// are read again when something changes here, and every `reconcile_seconds`.
    #[arg(long, conflicts_with_all = ["at", "json"])]
    watch: bool,
}

pub fn run(args: &StatusArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    if args.watch {
        return live::run(args, context, ui);
    }
    if args.everywhere {
        return everywhere::run(args, context, ui);
    }
    let mut workspace = context.workspace_at(ui, args.at.as_deref())?;
    workspace.know_looks(gather::STATUS_CACHE);
    let StatusAnswer {
        status,
        problems,
        is_empty,
    } = answer(args, &workspace, |tasks| {
        context.show_looks(&workspace, Some(tasks), ui)
    })?;
    if context.global.json {
        ui.document(&status)?;
    } else if is_empty {
        let has_archived = workspace
            .finder()
            .survey()
            .is_ok_and(|(tasks, _)| !tasks.is_empty());
        let none = if has_archived {
            "All tasks are archived."
        } else {
            "There are no tasks yet."
        };
        ui.answer(&format!("{none}\n"))?;
        let ready = workspace
            .reader()
            .root()
            .join(orch_core::config::FILE)
            .is_file();
        ui.status(if ready {
            "next: orch new ID"
        } else {
            "next: orch init"
        });
        if let Some(note) = workspace.reader().outside_git() {
            ui.status(&note.to_string());
        }
    } else {
        context.page(
            ui,
            &status.text(
                ui.paint,
                &args.form(&workspace, context, (ui.width, ui.height)),
            ),
        )?;
    }
    Ok(report::exit_of(
        &problems,
        status.tasks.iter().map(|task| task.duty.kind),
    ))
}

/// The number of tasks that are listed on a terminal that can be scrolled, however low it is.
const FEWEST: usize = 5;

/// The status, and the problems in it.
struct StatusAnswer {
    status: Status,
    problems: Vec<Diagnostic>,
    /// Whether there is neither a task nor a problem of one.
    is_empty: bool,
}

/// Calls `begin` with the number of tasks before these are looked at.
fn answer(
    args: &StatusArgs,
    workspace: &Workspace,
    begin: impl FnOnce(usize),
) -> Result<StatusAnswer, Failure> {
    let found = match args.all && args.tasks.is_empty() {
        true => workspace.finder().survey(),
        false => gather::named_or_all(workspace, &args.tasks),
    };
    let (tasks, misnamed) = match found {
        // The answer says so itself, with the note that there is no repository.
        Err(nowhere) if args.tasks.is_empty() && nowhere.code() == Code::NothingToJudge => {
            Default::default()
        }
        found => found?,
    };
    begin(tasks.len());
    let (mut rows, mut problems) = gather::statuses(workspace, &tasks);
    problems.extend(misnamed);
    let is_empty = tasks.is_empty() && problems.is_empty();
    problems.extend(workspace.reader().outside_git());
    let names: BTreeSet<&str> = rows.iter().map(|row| row.task.workflow.as_str()).collect();
    let loaded: Vec<_> = names
        .into_iter()
        .filter_map(|name| workspace.settings().workflow(name).ok())
        .collect();
    let filter = args.filter();
    filter.are_known(loaded.iter().filter_map(|loaded| loaded.workflow()))?;
    rows.retain(|row| {
        let TaskStatus { task, duty, .. } = &**row;
        filter.selects(task.current_phase.as_deref(), duty.owner, &task.workflow)
    });
    let repository = gather::repository(workspace, &mut problems);
    let status = Status::of_tasks(repository, rows, &problems);
    Ok(StatusAnswer {
        status,
        problems,
        is_empty,
    })
}

/// The status of the named tasks, or of all that are not archived.
#[cfg(feature = "board")]
pub(super) fn of_tasks(tasks: &[String], workspace: &Workspace) -> Result<Status, Failure> {
    let args = StatusArgs {
        tasks: tasks.to_vec(),
        ..StatusArgs::default()
    };
    Ok(answer(&args, workspace, |_| ())?.status)
}

impl StatusArgs {
    /// Which tasks are wanted.
    fn filter(&self) -> TaskFilter<'_> {
        TaskFilter {
            tasks: &self.tasks,
            phases: &self.phase,
            owners: &self.owner,
            workflows: &self.workflow,
            all: self.all,
        }
    }

    /// The form of the text. Finished tasks are listed if a filter asks for them, too.
    fn form(
        &self,
        workspace: &Workspace,
        context: &Context,
        (width, height): (usize, usize),
    ) -> StatusForm {
        let finished = self.all
            || !self.tasks.is_empty()
            || !self.phase.is_empty()
            || self.owner.iter().any(|owner| owner == "none");
        let height = if self.all { 0 } else { height };
        StatusForm {
            width,
            height,
            fewest: FEWEST,
            finished,
            has_agents: report::has_agents(workspace, context),
            now: context.caller.clock.now(),
        }
    }
}
