//! `orch rollback`: sends a task back to an earlier phase.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::apply::Order;

/// Sends a task back to an earlier phase, by default the last consistent one.
///
/// What that phase and every later one made is used up: it has to be made anew, or confirmed. No
/// file is deleted.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// The task.
    task: String,
    /// The phase to go back to.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// Why; it is recorded.
    #[arg(long, value_name = "WHY")]
    reason: String,
    /// Only say what would happen.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &RollbackArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Rollback { to: args.to.clone(), reason: args.reason.clone() };
    report::carry_out(context, ui, &args.task, &order, args.dry_run)
}
