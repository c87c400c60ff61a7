//! `orch confirm`: redone, the same bytes, and right.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::apply::Order;

/// Says that an artifact which was used up by a send-back is right as it is.
///
/// For a plan typo whose patch needs no change, a block that was a mistake, or a report without a
/// clock. It is recorded with its reason and audits as claimed.
#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// The task.
    task: String,
    /// The artifact, by its name in the workflow.
    artifact: String,
    /// Why; it is recorded.
    #[arg(long, value_name = "WHY")]
    reason: String,
}

pub fn run(args: &ConfirmArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Confirm { artifact: args.artifact.clone(), reason: args.reason.clone() };
    report::carry_out(context, ui, &args.task, &order, false)
}
