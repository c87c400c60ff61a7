//! `orch reject`: a person sends a task back.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Order;

/// Reject a task that waits for a verdict, and send it back.
///
/// The counterpart of `orch approve`: takes the due transition that rejects, or writes the verdict with the reason
/// and the objections. The file, the rejection and the transition are one commit. If the target phase lacks something
/// that it needs, the task goes to the nearest earlier phase that `--to` could name.
///
/// Only a person can reject: see `[people]` in orch.toml. Exits with 6 if the caller may not reject, and with
/// 3 if there is nothing to reject.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// The reason. It is recorded in the verdict and, if a rule asks for a person, also in the history and the
    /// commit.
    #[arg(long, value_name = "WHY")]
    reason: String,
    /// The target phase; default: the one that the workflow names first.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// An objection for the verdict, as `SEVERITY: FILE:LINE: MESSAGE`; repeatable. Without a
    /// severity it is blocking.
    #[arg(long, value_name = "ISSUE")]
    issue: Vec<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &RejectArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let objections = report::objections(&args.issue)?;
    let order = Order::Reject {
        to: args.to.clone(),
        reason: args.reason.clone(),
        objections,
    };
    report::carry_out(context, ui, args.task.as_deref(), &order, args.dry_run)
}
