//! `orch reopen`: reopens a finished task.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Order;

/// Reopen a finished task.
///
/// This is the only way out of a terminal phase. It uses up artifacts as `orch rollback` does, and is one
/// commit.
#[derive(Debug, Args)]
pub struct ReopenArgs {
    /// The task; optional if the current directory, the branch name or a single finished task identifies it.
    task: Option<String>,
    /// The phase to reopen the task in; default: the phase it finished from.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// The reason. It is recorded in the history and the commit.
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ReopenArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Reopen {
        to: args.to.clone(),
        reason: args.reason.clone(),
    };
    report::carry_out(context, ui, args.task.as_deref(), &order, false)
}
