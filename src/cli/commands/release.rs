//! `orch release`: gives a task back that was taken.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_base::{Code, Hint};
use orch_engine::survey::{HeldTasks, TaskRef, Workspace};
use orch_view::{LeaseView, ReleaseAnswer};

/// Give a task back that this work tree has taken, so that others can take it.
///
/// Without TASK: the only task that this work tree holds. Writes nothing to the task. Exits with 3 if nobody holds it,
/// and with 5 if another work tree does.
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// The task; default: the only one that this work tree holds.
    task: Option<String>,
    /// Give back what another holds, with the reason WHY, which is recorded. Needs a person.
    #[arg(long = "break", value_name = "WHY", requires = "task")]
    breaks: Option<String>,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ReleaseArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = match &args.task {
        Some(name) => report::meant(&workspace, context, Some(name))?,
        None => held_here(&workspace)?,
    };
    let taking = context.writer(&workspace).taking();
    let released = taking.release(&task, args.breaks.as_deref())?;
    let answer = ReleaseAnswer {
        task: task.id.to_string(),
        lease: released.as_ref().map(|lease| LeaseView::of(lease, true)),
    };
    if context.global.json {
        ui.document(&answer)?;
    } else {
        let done = match &released {
            Some(_) => "is released",
            None => "was held by nobody",
        };
        ui.answer(&format!("{} {done}\n", task.id))?;
    }
    Ok(match released {
        Some(_) => ExitCode::Fine,
        None => ExitCode::Nothing,
    })
}

/// The only task that this work tree holds. Returns an error if it holds none or several.
fn held_here(workspace: &Workspace) -> Result<TaskRef, Failure> {
    let leases = HeldTasks::of(workspace.reader()).all()?;
    let held: Vec<_> = leases
        .iter()
        .filter(|(_, lease)| lease.is_own)
        .map(|(task, _)| task.as_str())
        .collect();
    match held.as_slice() {
        [only] => Ok(workspace.finder().task(only)?),
        [] => Err(
            Failure::new(Code::AmbiguousTask, "this work tree holds no task")
                .hint(Hint::from("see who holds what: ").command(&["orch", "status"])),
        ),
        [first, ..] => {
            let message = "this work tree holds several tasks; name one";
            Err(Failure::new(Code::AmbiguousTask, message).hint(
                Hint::from(format!("{}: ", held.join(", "))).command(&["orch", "release", first]),
            ))
        }
    }
}
