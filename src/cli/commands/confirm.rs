//! `orch confirm`: a person confirms that an unchanged artifact is still correct, or that tests are gone on purpose.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_base::Code;
use orch_engine::apply::Order;

/// Confirm that an unchanged artifact is still correct, or that tests are gone on purpose.
///
/// A send-back uses up the artifacts of later phases; `confirm` makes one of them count again unchanged. Use it if a
/// corrected plan needs no new patch, if a blocking review was a mistake, or if a repeated report has the same bytes.
/// The confirmation is one commit, which `orch audit` reports as claimed.
///
/// With `--lost`, it is about tests that passed at the base and are missing or skipped in the last result of a verification:
/// removed, or renamed. They are no longer lost until a later run sees them again. A test that the plan names, by the `names`
/// of the workflow, is not lost in the first place.
#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// The name of the artifact in the workflow, after the task. The task is optional if the current
    /// directory, the branch name or a single open task identifies it.
    #[arg(required_unless_present = "lost", num_args = 1..=2, value_name = "[TASK] ARTIFACT")]
    names: Vec<String>,
    /// In place of an artifact, the name of a lost test, in which `*` stands for any text.
    #[arg(long, value_name = "TEST", allow_hyphen_values = true)]
    lost: Option<String>,
    /// The reason. It is recorded in the history and the commit.
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ConfirmArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let reason = args.reason.clone();
    let (task, order) = match (args.names.as_slice(), &args.lost) {
        ([_, artifact], Some(test)) => {
            let message = format!("`{artifact}` and `--lost {test}` are two confirmations");
            return Err(Failure::new(Code::Usage, message));
        }
        (names, Some(test)) => {
            let test = test.clone();
            (names.first(), Order::ConfirmLost { test, reason })
        }
        ([task, artifact], None) => {
            let artifact = artifact.clone();
            (Some(task), Order::Confirm { artifact, reason })
        }
        (names, None) => {
            let artifact = names.concat();
            (None, Order::Confirm { artifact, reason })
        }
    };
    report::carry_out(context, ui, task.map(String::as_str), &order, false)
}
