//! `orch next`: applies the transition that the rules decide, or an override.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_base::{Code, Diagnostic, Hint, PhaseId, nearest};
use orch_core::decide::{ActorKind, Decision, Kind, Transition, Verdict, WHY};
use orch_engine::apply::{AdvancePlan, Applied, Order, TaskOutcome};
use orch_engine::gather;
use orch_engine::survey::{LookDepth, Sight, TaskRef, Workspace};

/// Apply the transition that the rules decide, or override them with a reason.
///
/// Commits the transition with its evidence. With `--to`, succeeds only if the rules lead to that phase now,
/// and otherwise prints why not. With `--override`, moves the task to any phase that the rules can reach;
/// skipped outputs are waived, and the reason is recorded.
///
/// Records before it which deadlines of the task have passed.
///
/// Takes one transition, and says if another one is due then; --settle takes all of them. Without TASK, the one
/// open task with a due transition counts if there is no other way to tell.
///
/// Exits with 0 if a transition was applied, 1 if it was refused, 3 if there is nothing to apply. If one of several
/// tasks is in error, it is named, the others still move, and the exit code is 1.
#[derive(Debug, Args)]
pub struct NextArgs {
    /// The task, or a pattern of ids for several; optional if the current directory, the branch name, a single open
    /// task or a single task with a due transition identifies it.
    pub task: Option<String>,
    /// Override the rules for this reason. It is recorded in the history and the commit.
    #[arg(long = "override", value_name = "WHY")]
    reason: Option<String>,
    /// The target phase. With `--override`, the default is the phase that the work of the current one leads to.
    #[arg(long, value_name = "PHASE")]
    to: Option<String>,
    /// Like --to, but also succeed if the task is already in this phase.
    #[arg(long, value_name = "PHASE")]
    expect: Option<String>,
    /// Apply transitions until none is due.
    #[arg(long, conflicts_with_all = ["reason", "to", "expect"])]
    settle: bool,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &NextArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = match args
        .task
        .as_deref()
        .map(|name| workspace.finder().tasks_meant(name))
        .transpose()?
    {
        None => meant(&workspace, context)?,
        Some(tasks) => match <[TaskRef; 1]>::try_from(tasks) {
            Ok([task]) => task,
            Err(tasks) => return several(&workspace, &tasks, args, context, ui),
        },
    };
    // Only a named phase is resolved before the step, which looks at the task itself.
    let names_phase = args.expect.is_some() || (args.to.is_some() && args.reason.is_none());
    let sight = names_phase.then(|| workspace.look(&task)).transpose()?;
    let phase_of = |name: Option<&str>| {
        sight
            .as_ref()
            .zip(name)
            .map(|(sight, name)| phase(sight, name))
    };
    let expected = phase_of(args.expect.as_deref()).transpose()?;
    if let Some((sight, expected)) = sight.as_ref().zip(expected.as_ref())
        && is_in(sight, expected)
    {
        report::nothing(
            context,
            ui,
            &sight.decision,
            &format!("{} is already in {expected}", task.id),
        )?;
        return Ok(ExitCode::Fine);
    }
    if let Some(reason) = &args.reason {
        let order = Order::Override {
            to: args.to.clone(),
            reason: reason.clone(),
        };
        let applied = context
            .writer(&workspace)
            .orders()
            .give(&task, &order, args.dry_run)?;
        report::applied(&workspace, context, ui, &applied, args.dry_run)?;
        return Ok(ExitCode::Fine);
    }
    let wanted = phase_of(args.to.as_deref()).transpose()?.or(expected);
    decided(&workspace, &task, args, wanted.as_ref(), context, ui)
}

/// The task that is meant if none is named: as for every command, or else the only one with a due transition.
fn meant(workspace: &Workspace, context: &Context) -> Result<TaskRef, Failure> {
    match report::meant(workspace, context, None) {
        Err(Failure::Reported { error, .. }) if error.code() == Code::AmbiguousTask => {
            let tasks = workspace.finder().tasks()?;
            let looked = workspace
                .crew()
                .look_at_each(&tasks, LookDepth::Whole, |_, _, looked| looked);
            let mut due = Vec::new();
            for (task, sight) in tasks.into_iter().zip(looked) {
                let is_due = sight.is_ok_and(|sight| {
                    let transition = sight.decision.transition();
                    let has_lapsed = !sight.lapses(context.caller.clock.now()).is_empty();
                    !sight.untracked && (has_lapsed || transition.is_some_and(|due| !due.by_human))
                });
                if is_due && !task.id.is_archived() {
                    due.push(task);
                }
            }
            match <[TaskRef; 1]>::try_from(due) {
                Ok([task]) => Ok(task),
                Err(due) => Err(several_due(&due)),
            }
        }
        meant => meant,
    }
}

/// The error about several open tasks of which none or several have a due transition.
fn several_due(due: &[TaskRef]) -> Failure {
    if due.is_empty() {
        let message = "several tasks are open, and no transition is due";
        let hint = Hint::from("what each waits for: ").command(&["orch", "status"]);
        return Failure::new(Code::AmbiguousTask, message).hint(hint);
    }
    let names: Vec<&str> = due.iter().map(|task| task.id.as_str()).collect();
    let message = "transitions of several tasks are due; name one";
    let mut argv = vec!["orch", "next"];
    argv.extend(names.first());
    Failure::new(Code::AmbiguousTask, message)
        .hint(Hint::from(format!("{}: ", names.join(", "))).command(&argv))
}

/// Applies the first transition that is due for each of several tasks, or all of them, as one batch.
fn several(
    workspace: &Workspace,
    tasks: &[TaskRef],
    args: &NextArgs,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    if args.reason.is_some() || args.to.is_some() || args.expect.is_some() {
        let message = "--override, --to and --expect take one task";
        return Err(Failure::new(Code::AmbiguousTask, message).hint("name one task"));
    }
    let may = |transition: &Transition| !transition.by_human;
    let plan = AdvancePlan {
        may: &may,
        lapses: true,
        once: !args.settle,
        own: false,
        dry_run: args.dry_run,
        adopt: &|_| false,
    };
    context.show_looks(workspace, None, ui);
    let writer = context.writer(workspace);
    let mut due = Vec::new();
    let mut outcomes = Vec::new();
    let mut problems = Vec::new();
    let looked = workspace
        .crew()
        .look_at_each(tasks, LookDepth::Whole, |_, _, looked| looked);
    for (task, sight) in tasks.iter().zip(looked) {
        match sight.and_then(|sight| writer.advance().foresee(sight, &plan)) {
            Ok(wanted) if wanted.is_due() && !args.dry_run => {
                match writer.advance().refuse_held(task) {
                    Ok(()) => due.push(wanted),
                    Err(error) => problems.push(error.into()),
                }
            }
            Ok(wanted) => outcomes.extend(wanted.uncommitted()),
            // What is wrong with one task keeps no other from moving.
            Err(error) => problems.push(gather::unread_task(task, &error)),
        }
    }
    if !due.is_empty() {
        outcomes.extend(writer.advance().due(&mut due, &plan)?);
    }
    let mut done: Vec<Applied> = Vec::new();
    for outcome in outcomes {
        match outcome {
            TaskOutcome::Applied(applied) => done.push(*applied),
            TaskOutcome::Nothing(sight) => problems.extend(in_error(&sight.decision)),
        }
    }
    problems.iter().for_each(|problem| ui.finding(problem));
    report::applied_to_several(workspace, context, ui, &done, args.dry_run)?;
    let otherwise = if done.is_empty() {
        ExitCode::Nothing
    } else {
        ExitCode::Fine
    };
    let otherwise = if problems.is_empty() {
        otherwise
    } else {
        ExitCode::No
    };
    Ok(report::exit_after(&problems, otherwise))
}

/// The finding about a task in error, which nothing moves.
fn in_error(decision: &Decision) -> Option<Diagnostic> {
    let Verdict::Error { code } = decision.verdict else {
        return None;
    };
    let task = &decision.task;
    let mut found = Diagnostic::error(code, format!("task `{task}`: {}", decision.reason));
    found.place = decision.error_place().cloned();
    Some(found.hint(Hint::run(&["orch", "explain", task.as_str()])))
}

/// The phase with this name or alias. Returns an error that lists the phases if there is none.
fn phase(sight: &Sight, name: &str) -> Result<PhaseId, Failure> {
    let workflow = sight.workflow();
    if let Some(phase) = workflow.phase_named(name) {
        return Ok(phase.id.clone());
    }
    let known: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.as_str())
        .collect();
    let message = format!(
        "workflow `{}` has no phase `{name}`",
        sight.decision.workflow
    );
    let meant = nearest(name, known.iter().copied());
    let meant = meant
        .map(|near| format!("did you mean `{near}`? "))
        .unwrap_or_default();
    let hint = format!("{meant}the phases are {}", known.join(", "));
    Err(Failure::new(Code::UnknownPhase, message).hint(hint))
}

fn decided(
    workspace: &Workspace,
    task: &TaskRef,
    args: &NextArgs,
    wanted: Option<&PhaseId>,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let may = |transition: &Transition| {
        !transition.by_human && wanted.is_none_or(|phase| transition.to == *phase)
    };
    let plan = AdvancePlan {
        may: &may,
        lapses: true,
        once: !args.settle,
        own: false,
        dry_run: args.dry_run,
        adopt: &|_| false,
    };
    let outcome = context
        .writer(workspace)
        .advance()
        .tasks(std::slice::from_ref(task), &plan)?
        .into_iter()
        .next();
    match outcome {
        Some(TaskOutcome::Applied(applied)) => {
            report::applied(workspace, context, ui, &applied, args.dry_run)?;
            let mut kinds = applied.steps.iter().map(|step| step.transition.kind);
            // That a deadline has passed is not the move that was asked for.
            if wanted.is_some() && kinds.all(|kind| kind == Kind::Lapse) {
                return refused(&applied.sight.decision, wanted, context, ui);
            }
            Ok(ExitCode::Fine)
        }
        Some(TaskOutcome::Nothing(sight)) => {
            sight.require_tracked()?;
            // Another process, such as a watch, was faster.
            if let Some(wanted) =
                wanted.filter(|wanted| args.expect.is_some() && is_in(&sight, wanted))
            {
                let text = format!("{} is already in {wanted}", task.id);
                report::nothing(context, ui, &sight.decision, &text)?;
                return Ok(ExitCode::Fine);
            }
            refused(&sight.decision, wanted, context, ui)
        }
        None => Ok(ExitCode::Nothing),
    }
}

/// Whether the record of the task says that it is in this phase.
fn is_in(sight: &Sight, phase: &PhaseId) -> bool {
    !sight.untracked && sight.decision.phase.as_ref() == Some(phase)
}

/// Returns the error, or prints the reason, why no transition was applied.
fn refused(
    decision: &Decision,
    wanted: Option<&PhaseId>,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let asks_a_person = decision
        .transition()
        .filter(|due| due.by_human && wanted.is_none_or(|phase| due.to == *phase));
    if asks_a_person.is_some() {
        let rule = decision.rule.as_ref().map_or("?", |rule| rule.as_str());
        let message = format!("rule `{rule}` requires a person");
        let ruling = decision
            .options
            .iter()
            .find(|option| matches!(option.id, "approve" | "reject"));
        let hint = ruling.map_or_else(
            || Hint::run(&["orch", "approve", decision.task.as_str()]),
            |ruling| Hint::run(&ruling.argv),
        );
        return Err(Failure::new(Code::ByHuman, message).hint(hint));
    }
    if let Some(phase) = wanted {
        // A move that is allowed is not taken for the reason that the decision gives, such as a livelock.
        let moves = decision
            .moves
            .iter()
            .filter(|candidate| candidate.to == *phase && !candidate.unmet.is_empty());
        let unmet: Vec<String> = moves
            .map(|candidate| format!("{}: {}", candidate.rule, candidate.unmet.join("; ")))
            .collect();
        let because = if unmet.is_empty() {
            decision.reason.clone()
        } else {
            unmet.join(" / ")
        };
        let message = format!("the rules do not move the task to `{phase}` now: {because}");
        let task = decision.task.as_str();
        let explain = Hint::run(&["orch", "explain", task]);
        let hint = if context.caller.kind == ActorKind::Agent {
            explain
        } else {
            explain.or(&[
                "orch",
                "next",
                task,
                "--override",
                WHY,
                "--to",
                phase.as_str(),
            ])
        };
        return Err(Failure::new(Code::NotEnabled, message).hint(hint));
    }
    match &decision.verdict {
        Verdict::Error { code } => {
            let hint = decision
                .diagnostics
                .iter()
                .find_map(|diagnostic| diagnostic.hint.clone());
            let hint =
                hint.unwrap_or_else(|| Hint::run(&["orch", "explain", decision.task.as_str()]));
            let mut error = Diagnostic::error(*code, decision.reason.clone()).hint(hint);
            error.place = decision.error_place().cloned();
            Err(Failure::from(error).finding_as_no())
        }
        _ => {
            report::nothing(
                context,
                ui,
                decision,
                &format!("nothing to apply: {}", decision.reason),
            )?;
            Ok(ExitCode::Nothing)
        }
    }
}
