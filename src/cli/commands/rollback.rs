//! `orch rollback`: sends a task back to an earlier phase.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Order;

/// Send a task back to an earlier phase.
///
/// Uses up the artifacts of the target phase and of every later phase: each must be renewed, or confirmed
/// with `orch confirm`. No file is deleted. The rollback is one commit.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// The target phase; default: the last consistent phase before the current one.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// The reason. It is recorded in the history and the commit.
    #[arg(long, value_name = "WHY")]
    reason: String,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &RollbackArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Rollback {
        to: args.to.clone(),
        reason: args.reason.clone(),
    };
    report::carry_out(context, ui, args.task.as_deref(), &order, args.dry_run)
}
