//! `orch approve`: a person lets a task continue.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report::{self, OrderGiven};
use super::verify::{self, WayVerified};
use orch_engine::apply::Order;
use orch_engine::drive;

/// Approve a task that waits for a verdict, so that it moves on.
///
/// Takes the due transition of a rule with `by = "human"`, or of one that rests on the verdict of the phase. If there
/// is no verdict, or it says something else, writes one from the schema of the phase's output: in the shipped
/// lifecycle the plan review, the code review or `accept/decision.json`, whoever owns the phase. The file, the
/// approval and the transition are one commit, with the transitions that are due before and after it.
///
/// With --to PHASE, approves every verdict that is asked for on the way to PHASE, in one commit. It runs the
/// verifications that are due on the way first. If one of them fails, or anything else is missing, nothing is approved.
///
/// Only a person can approve: see `[people]` in orch.toml. Exits with 6 if the caller may not approve, with 3 if
/// there is nothing to approve, and with 5 if the evidence for the approval has changed since it was judged.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// An objection for the verdict, as `SEVERITY: FILE:LINE: MESSAGE`; repeatable.
    #[arg(long, value_name = "ISSUE", conflicts_with = "to")]
    issue: Vec<String>,
    /// Approve although a verdict or report judged another version than the current one, and say why. The step is
    /// recorded as an override.
    #[arg(long = "override", value_name = "WHY", conflicts_with = "to")]
    reason: Option<String>,
    /// Approve each verdict on the way to this phase, such as `done`.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &ApproveArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let objections = report::objections(&args.issue)?;
    let order = Order::Approve {
        to: args.to.clone(),
        objections,
        although: args.reason.clone(),
    };
    let Some(to) = &args.to else {
        return report::carry_out(context, ui, args.task.as_deref(), &order, args.dry_run);
    };
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let writer = context.writer(&workspace);
    let ahead = drive::verifications_before(&writer, &task, to)?;
    let sight = workspace.look(&task)?;
    // What costs nothing is asked before any test runs.
    let until_tests = match &ahead.first {
        Some(first) if sight.decision.phase.as_ref() != Some(first) => Some(Order::Approve {
            to: Some(first.to_string()),
            objections: Vec::new(),
            although: args.reason.clone(),
        }),
        _ => None,
    };
    if args.dry_run {
        let given = OrderGiven {
            order: until_tests.as_ref().unwrap_or(&order),
            results: &[],
            dry_run: true,
        };
        let is_only_tests = until_tests.is_none() && !ahead.names.is_empty();
        let exit = if is_only_tests {
            ExitCode::Fine
        } else {
            report::carry_out_on(&workspace, &task, &given, context, ui)?
        };
        if !ahead.names.is_empty() {
            let names: Vec<&str> = ahead.names.iter().map(|name| name.as_str()).collect();
            ui.status(&format!(
                "then it would run {}, and go on to `{to}` if that passes",
                names.join(", ")
            ));
        }
        return Ok(exit);
    }
    writer.orders().refuse_caller(&task, &order)?;
    if let Some(order) = &until_tests
        && writer.orders().give(&task, order, true).is_err()
    {
        let given = OrderGiven {
            order,
            results: &[],
            dry_run: true,
        };
        return report::carry_out_on(&workspace, &task, &given, context, ui);
    }
    match verify::on_the_way(&writer, &task, &ahead.names, context, ui)? {
        WayVerified::Passed(results) => {
            let given = OrderGiven {
                order: &order,
                results: &results,
                dry_run: false,
            };
            report::carry_out_on(&workspace, &task, &given, context, ui)
        }
        WayVerified::Failed(exit) => {
            ui.status("nothing was approved");
            Ok(exit)
        }
    }
}
