//! `orch reject`: a person sends a task back.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use crate::apply::Order;

/// Send a task back where a verdict is asked for.
///
/// The counterpart of `orch approve`: takes the due transition that rejects, or writes the verdict with the reason
/// and the objections. File, rejection and transition are one commit. Where the phase to which the verdict would
/// lead lacks a need, the task goes to the nearest phase before it that `--to` could name.
///
/// Only a person can reject: see `[people]` in orch.toml. Exits with 6 if the caller may not reject, and with
/// 3 if there is nothing to reject.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// The reason. It is recorded in the verdict; where a rule asks for a person, in history and commit, too.
    #[arg(long, value_name = "WHY")]
    reason: String,
    /// The target phase; default: the one that the workflow names first.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// An objection that the verdict names, as `SEVERITY: FILE:LINE: MESSAGE`; may be given several times. Without a
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
