//! `orch reject`: a person sends a task back.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use crate::apply::Order;

/// Send a task back where a person decides.
///
/// The counterpart of `orch approve`: takes the due transition of a rule with `by = "human"` that rejects, or
/// writes the file of the decision with the reason. File, rejection and transition are one commit.
///
/// Only a person can reject: see `[people]` in orch.toml. Exits with 6 if the caller may not reject, and with
/// 3 if there is nothing to reject.
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// The reason. It is recorded in the decision, the history and the commit.
    #[arg(long, value_name = "WHY")]
    reason: String,
    /// The target phase; default: the one that the workflow names first.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &RejectArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Reject { to: args.to.clone(), reason: args.reason.clone() };
    report::carry_out(context, ui, args.task.as_deref(), &order, args.dry_run)
}
