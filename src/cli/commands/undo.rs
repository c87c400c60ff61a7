//! `orch undo`: takes back the last order of a person.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_engine::apply::Order;

/// Undo the last order that a person gave on a task.
///
/// Orders are override, rollback, reopen, confirm, approve and reject. The task returns to where it was before the
/// order; the steps that the rules took after it go too. `--dry-run` shows exactly which. Nothing is deleted: the log
/// keeps the order and records that it was undone, in one commit. Run it again to undo the order before that.
///
/// Files stay as they are, including the decision that `orch approve` or `orch reject` wrote. Exits with 5 if there
/// is no such order, or if results or answers have been recorded or branches joined since then.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// The reason. It is recorded in the history and the commit.
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &UndoArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let order = Order::Undo {
        reason: args.reason.clone(),
    };
    report::carry_out(context, ui, args.task.as_deref(), &order, args.dry_run)
}
