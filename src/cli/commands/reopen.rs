//! `orch reopen`: opens a finished task again.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::apply::Order;

/// Opens a finished task again, by default in the phase that was left; the only way out of a
/// terminal phase.
#[derive(Debug, Args)]
pub struct ReopenArgs {
    /// The task.
    task: String,
    /// The phase to open it in.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// Why; it is recorded.
    #[arg(long, value_name = "WHY")]
    reason: String,
}

pub fn run(args: &ReopenArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Reopen { to: args.to.clone(), reason: args.reason.clone() };
    report::carry_out(context, ui, &args.task, &order, false)
}
