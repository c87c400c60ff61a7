//! `orch take`: takes a task, so that nobody else works on it.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use crate::cli::lock_args::duration;
use orch_base::{Code, Period};
use orch_core::decide::{ActorKind, is_order};
use orch_engine::apply::{TakeWish, TakenTask};
use orch_engine::gather::{self, FreeFor};
use orch_engine::survey::{Sight, TaskRef, Workspace};
use orch_view::{LeaseView, Suggestion, TakeAnswer, TakenView};
use std::time::Duration;

/// Take a task, so that nobody else works on it, and show what to do about it.
///
/// Without TASK: the first of the tasks that `orch free` lists in this work tree, except those that are assigned to
/// somebody else. All processes of this work tree hold the task; in others, `orch` refuses its steps until the lease
/// ends. Each step that is recorded here renews the lease. A run takes its task by itself.
///
/// Taking a task that is held here renews the lease. A lease that has ended may be taken over by anybody; that is
/// recorded in the task. Exits with 1 if no task is free, and with 5 if another work tree holds TASK.
#[derive(Debug, Args)]
pub struct TakeArgs {
    /// The task; default: the first that is free.
    task: Option<String>,
    /// How long the lease lasts from each renewal; default: as before, or 30m.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    length: Option<Period>,
    /// The name under which this work tree holds tasks from here on; default: who you are, and the directory.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Without TASK: take also what is assigned to somebody else.
    #[arg(long, conflicts_with = "task")]
    any: bool,
    /// Take over what another holds, with the reason WHY, which is recorded. Needs a person.
    #[arg(long = "break", value_name = "WHY", requires = "task")]
    breaks: Option<String>,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &TakeArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut workspace = context.workspace(ui)?;
    if let Some(name) = &args.task {
        let task = report::meant(&workspace, context, Some(name))?;
        let answer = take(&workspace, &task, args, context, ui)?;
        print(&answer, context, ui)?;
        return Ok(ExitCode::Fine);
    }
    workspace.know_looks(gather::STATUS_CACHE);
    // If it cannot be asked, taking a task says why.
    let _ = context.writer(&workspace).taking().ask_store();
    let free = gather::free(&workspace)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => context.writer(&workspace).taking().owner_name()?,
    };
    let whom = if args.any {
        FreeFor::Anybody
    } else {
        FreeFor::One(&name)
    };
    for task in free.here(whom) {
        match take(&workspace, task, args, context, ui) {
            Ok(answer) => {
                print(&answer, context, ui)?;
                return Ok(ExitCode::Fine);
            }
            // Somebody else was faster.
            Err(Failure::Reported { error, .. }) if error.code() == Code::TaskHeld => {}
            Err(error) => return Err(error),
        }
    }
    print(&TakeAnswer::none(&free.problems), context, ui)?;
    Ok(report::exit_after(&free.problems, ExitCode::No))
}

fn take(
    workspace: &Workspace,
    task: &TaskRef,
    args: &TakeArgs,
    context: &Context,
    ui: &Ui,
) -> Result<TakeAnswer, Failure> {
    let wish = TakeWish {
        length: args
            .length
            .map(|length| Duration::from_millis(length.milliseconds())),
        name: args.name.as_deref(),
        breaks: args.breaks.as_deref(),
        ..TakeWish::default()
    };
    let sight = workspace.look(task)?;
    let taken = context.writer(workspace).taking().take(&sight, wish)?;
    // A take-over is a step.
    let sight = match taken.over {
        Some(_) => workspace.look(task)?,
        None => sight,
    };
    Ok(answer(workspace, &sight, &taken, context, ui))
}

fn answer(
    workspace: &Workspace,
    sight: &Sight,
    taken: &TakenTask,
    context: &Context,
    ui: &Ui,
) -> TakeAnswer {
    let mut suggestion = Suggestion::of(&workspace.reader().subject(sight));
    if !context.global.json {
        if context.caller.kind == ActorKind::Agent {
            suggestion.options.retain(|option| !is_order(&option.id));
        }
        suggestion.type_at(&ui.here());
    }
    let over = taken.over.as_ref();
    let taken = TakenView {
        lease: LeaseView::of(&taken.lease, true),
        renewed: taken.was_held,
        over: over.map(|over| LeaseView::of(over, false)),
    };
    TakeAnswer::of(&suggestion, &taken, &[])
}

fn print(answer: &TakeAnswer, context: &Context, ui: &Ui) -> Result<(), Failure> {
    if context.global.json {
        ui.document(answer)?;
    } else {
        context.page(ui, &answer.text())?;
    }
    Ok(())
}
