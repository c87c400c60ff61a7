//! `orch approve`: a person lets a task go on.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use crate::apply::Order;

/// Let a task go on where a person decides.
///
/// Takes the due transition of a rule with `by = "human"`. In a phase that a person owns, also writes the
/// file of the decision if it is missing or says otherwise, from the schema of the phase's output: in the
/// shipped lifecycle `accept/decision.json`. File, approval and transition are one commit.
///
/// Only a person can approve: see `[people]` in orch.toml. Exits with 6 if the caller may not approve, and
/// with 3 if there is nothing to approve.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ApproveArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    report::carry_out(context, ui, args.task.as_deref(), &Order::Approve, args.dry_run)
}
