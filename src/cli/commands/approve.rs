//! `orch approve`: a person lets a task continue.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report::{self, OrderGiven};
use super::verify::{self, WayVerified};
use orch_engine::apply::{Order, Writer};
use orch_engine::drive;
use orch_engine::survey::TaskRef;

/// Approve a task that waits for a verdict, so that it moves on.
///
/// Takes the due transition of a rule with `by = "human"`, or of one that rests on the verdict of the phase. If there
/// is no verdict, or it says something else, writes one from the schema of the phase's output: in the shipped
/// lifecycle the plan review, the code review or `accept/decision.json`, whoever owns the phase. The file, the
/// approval and the transition are one commit, with the transitions that are due before and after it.
///
/// With --to PHASE, approves every verdict that is asked for on the way to PHASE, in one commit. It runs the
/// verifications that are due on the way first. If one of them fails, or anything else is missing, nothing is approved.
///
/// Only a person can approve: see `[people]` in orch.toml. Exits with 6 if the caller may not approve, with 3 if
/// there is nothing to approve, and with 5 if the evidence for the approval has changed since it was judged.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// An objection for the verdict, as `SEVERITY: FILE:LINE: MESSAGE`; repeatable.
    #[arg(long, value_name = "ISSUE", conflicts_with = "to")]
    issue: Vec<String>,
    /// Approve although a verdict or report judged another version than the current one, and say why. The step is
    /// recorded as an override.
    #[arg(long = "override", value_name = "WHY", conflicts_with = "to")]
    reason: Option<String>,
    /// Approve each verdict on the way to this phase, such as `done`.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ApproveArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let objections = report::objections(&args.issue)?;
    let order = Order::Approve {
        to: args.to.clone(),
        objections,
        although: args.reason.clone(),
    };
    let Some(to) = args.to.as_deref().filter(|_| !args.dry_run) else {
        return report::carry_out(context, ui, args.task.as_deref(), &order, args.dry_run);
    };
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let writer = context.writer(&workspace);
    writer
        .authority()
        .refuse_agent(&["orch", "approve", task.id.as_str(), "--to", to])?;
    refuse_closed_way(&writer, &task, args.reason.as_deref(), to)?;
    match verify::on_the_way(&writer, &task, to, context, ui)? {
        WayVerified::Passed(results) => {
            let given = OrderGiven {
                order: &order,
                results: &results,
                dry_run: false,
            };
            report::carry_out_on(&workspace, &task, &given, context, ui)
        }
        WayVerified::Failed(exit) => {
            ui.status("nothing was approved");
            Ok(exit)
        }
    }
}

/// Returns an error if the way to the first phase that asks for a verification is not open, so that no test runs in vain.
fn refuse_closed_way(
    writer: &Writer<'_>,
    task: &TaskRef,
    although: Option<&str>,
    to: &str,
) -> Result<(), Failure> {
    let ahead = drive::verifications_before(writer, task, to)?;
    let sight = writer.workspace.look(task)?;
    let Some(first) = ahead
        .first
        .filter(|first| sight.decision.phase.as_ref() != Some(first))
    else {
        return Ok(());
    };
    let until_tests = Order::Approve {
        to: Some(first.to_string()),
        objections: Vec::new(),
        although: although.map(str::to_owned),
    };
    writer.orders().give(task, &until_tests, true)?;
    Ok(())
}
