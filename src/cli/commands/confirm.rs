//! `orch confirm`: a person confirms that an unchanged artifact is still correct.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Order;

/// Confirm that an unchanged artifact is still correct.
///
/// A send-back uses up the artifacts of later phases; `confirm` makes one of them count again unchanged. Use it if a
/// corrected plan needs no new patch, if a blocking review was a mistake, or if a repeated report has the same bytes.
/// The confirmation is one commit, which `orch audit` reports as claimed.
#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// The name of the artifact in the workflow, after the task. The task is optional if the current
    /// directory, the branch name or a single open task identifies it.
    #[arg(required = true, num_args = 1..=2, value_name = "[TASK] ARTIFACT")]
    names: Vec<String>,
    /// The reason. It is recorded in the history and the commit.
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ConfirmArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let (task, artifact) = match args.names.as_slice() {
        [task, artifact] => (Some(task.as_str()), artifact.clone()),
        names => (None, names.concat()),
    };
    let order = Order::Confirm {
        artifact,
        reason: args.reason.clone(),
    };
    report::carry_out(context, ui, task, &order, false)
}
