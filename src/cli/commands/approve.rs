//! `orch approve`: a person approves a transition that requires one.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::apply::{AdvancePlan, TaskOutcome};
use crate::base::{Code, command, shell_word};
use crate::decide::{ActorKind, Decision, Transition};

/// Approve a transition that requires a human.
///
/// Applies the due transition of a rule with `by = "human"` and commits it with its evidence. Only a person
/// at an interactive terminal, or one whose commits are signed, can approve; a script, a watch or an agent
/// cannot.
///
/// Exits with 1 if the caller may not approve, and with 3 if there is nothing to approve.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ApproveArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let judged = workspace.look(&task)?;
    if !judged.decision.transition().is_some_and(|due| due.by_human) {
        let text = nothing_to_approve(&judged.decision);
        report::nothing(context, ui, &judged.decision, &text)?;
        return Ok(ExitCode::Nothing);
    }
    let at_terminal = context.caller.kind == ActorKind::Human && ui.interactive;
    let signs = context.caller.kind == ActorKind::Human && workspace.signs_commits()?;
    if !at_terminal && !signs && !args.dry_run {
        let message =
            "approval requires a person at an interactive terminal, or one whose commits are signed";
        let hint = format!("ask a person to run: orch approve {}", shell_word(task.id.as_str()));
        return Err(Failure::new(Code::ByHuman, message).hint(hint));
    }
    let may = |due: &Transition| due.by_human;
    let plan = AdvancePlan { may: &may, once: true, own: false, dry_run: args.dry_run, adopt: &|_| false };
    match context.writer(&workspace).advance(std::slice::from_ref(&task), &plan)?.into_iter().next() {
        Some(TaskOutcome::Applied(applied)) => {
            report::applied(&workspace, context, ui, &applied, args.dry_run)?;
            Ok(ExitCode::Fine)
        }
        Some(TaskOutcome::Nothing(judged)) => {
            report::nothing(context, ui, &judged.decision, &nothing_to_approve(&judged.decision))?;
            Ok(ExitCode::Nothing)
        }
        None => Ok(ExitCode::Nothing),
    }
}

fn nothing_to_approve(decision: &Decision) -> String {
    match decision.transition() {
        Some(_) => format!(
            "nothing to approve: the due transition requires no person; {}",
            command(&["orch", "next", decision.task.as_str()])
        ),
        None => format!("nothing to approve: {}", decision.reason),
    }
}
