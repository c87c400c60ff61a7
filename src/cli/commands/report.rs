//! Shared by several commands: finding the tasks they name, and printing what was applied.

use super::prelude::{Context, ExitCode, Failure, Ui};
use orch_base::{Code, Diagnostic, command};
use orch_core::decide::{
    ActorKind, Choice, Decision, Do, DutyKind, Objection, WHY, duty, is_order,
};
use orch_engine::apply::{Applied, NewResult, Order};
use orch_engine::drive::{Controlled, wake_workers, work_tree_of_run};
use orch_engine::gather::transition_lines;
use orch_engine::survey::{NamedBy, Sight, TaskRef, Workspace};
use orch_view::{
    ControlReport, DutyView, Explanation, Explanations, NothingDue, TextAnswer, TransitionLine,
    Transitions,
};
use std::collections::HashSet;
use std::iter;

/// Whether somebody other than a person who reads this may do what agents do: an executor is configured, or the reader is
/// an agent.
pub(super) fn has_agents(workspace: &Workspace, context: &Context) -> bool {
    let mut executors = workspace.settings().config().executors.names();
    executors.next().is_some() || context.caller.kind == ActorKind::Agent
}

/// The named task, or the one in use, or the one that the directory, the branch or a single open task identifies.
/// Returns an error if no task, or more than one, matches.
pub(super) fn meant(
    workspace: &Workspace,
    context: &Context,
    name: Option<&str>,
) -> Result<TaskRef, Failure> {
    meant_of(workspace, context, name, ("open", false))
}

/// Like [`meant`], but without a name the only *finished* task.
pub(super) fn meant_finished(
    workspace: &Workspace,
    context: &Context,
    name: Option<&str>,
) -> Result<TaskRef, Failure> {
    meant_of(workspace, context, name, ("finished", true))
}

/// The task that is meant, among those of a kind if nothing names one: whether these are done.
fn meant_of(
    workspace: &Workspace,
    context: &Context,
    name: Option<&str>,
    (kind, done): (&str, bool),
) -> Result<TaskRef, Failure> {
    if let Some(name) = name.or(context.global.task_in_use.as_deref()) {
        return Ok(workspace.finder().task(name)?);
    }
    let is_meant = |task: &TaskRef| {
        workspace
            .look(task)
            .is_ok_and(|sight| sight.decision.is_done() == done)
    };
    Ok(workspace
        .finder()
        .task_meant(context.here(workspace).as_ref(), kind, is_meant)?)
}

/// The task that a command about several tasks is about if none is named: the one in use, or that of the current
/// directory, or of the branch. Prints a note with the command that asks for all.
///
/// In JSON the branch does not count, so that a script at the root gets the same answer on every branch.
pub(super) fn around(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    all: &str,
) -> Result<Option<TaskRef>, Failure> {
    if let Some(name) = &context.global.task_in_use {
        let task = workspace.finder().task(name)?;
        ui.status(&format!(
            "only `{}`, the task in use; for all tasks: {all}",
            task.id
        ));
        return Ok(Some(task));
    }
    let found = workspace
        .finder()
        .task_around(context.here(workspace).as_ref())?;
    let Some((task, by)) =
        found.filter(|(_, by)| !context.global.json || *by == NamedBy::Directory)
    else {
        return Ok(None);
    };
    let what = match by {
        NamedBy::Directory => "directory",
        NamedBy::Branch => "branch",
    };
    ui.status(&format!(
        "only `{}`, the task of this {what}; for all tasks: {all}",
        task.id
    ));
    Ok(Some(task))
}

/// The exit code of an answer: a failure of the machine if one of its problems is one, `Usage` if nothing is wrong but that
/// there was nothing to judge, `No` if something could not be evaluated, otherwise `otherwise`.
pub(super) fn exit_after(problems: &[Diagnostic], otherwise: ExitCode) -> ExitCode {
    let is_nothing = |one: &Diagnostic| one.code == Code::NothingToJudge;
    let mut errors = problems.iter().filter(|one| one.is_error()).peekable();
    if problems.iter().any(Diagnostic::is_fault) {
        ExitCode::Fault
    } else if errors.peek().is_some() && errors.clone().all(is_nothing) {
        ExitCode::Usage
    } else if errors
        .any(|one| is_nothing(one) || matches!(one.code, Code::Unjudged | Code::WorkflowFaulty))
    {
        ExitCode::No
    } else {
        otherwise
    }
}

/// Like [`exit_after`], and `No` if one of these tasks is in error: its record, its workflow or a guard cannot be read
/// or evaluated, so that nothing can be said of what comes next.
pub(super) fn exit_of(
    problems: &[Diagnostic],
    mut duties: impl Iterator<Item = DutyKind>,
) -> ExitCode {
    let is_in_error = duties.any(|duty| duty == DutyKind::Error);
    exit_after(
        problems,
        if is_in_error {
            ExitCode::No
        } else {
            ExitCode::Fine
        },
    )
}

/// The exit code of an answer about one task: `No` if it is in error.
pub(super) fn exit_for(sight: &Sight) -> ExitCode {
    exit_of(
        &[],
        iter::once(duty(sight.workflow(), &sight.decision, None).kind),
    )
}

/// The explanations of evaluated tasks. Returns an error if git cannot be read.
pub(super) fn explanations(
    workspace: &Workspace,
    sights: &[Sight],
) -> Result<Explanations, Failure> {
    let commits = workspace.reader().committed(sights)?.into_iter();
    let explained = sights.iter().zip(commits);
    Ok(Explanations {
        repository: workspace.reader().repository()?,
        explanations: explained
            .map(|(sight, commit)| Explanation::of(&workspace.reader().subject(sight), commit))
            .collect(),
    })
}

/// Prints what was applied to a task: its transitions, then what comes next.
pub(super) fn applied(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    applied: &Applied,
    dry_run: bool,
) -> Result<(), Failure> {
    applied_to_several(
        workspace,
        context,
        ui,
        std::slice::from_ref(applied),
        dry_run,
    )
}

/// Like [`applied`], for several tasks in one answer. Workers get word of what they could go on with.
pub(super) fn applied_to_several(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    applied: &[Applied],
    dry_run: bool,
) -> Result<(), Failure> {
    print_applied(workspace, context, ui, applied, dry_run)?;
    if !dry_run {
        wake_workers(&context.writer(workspace), applied);
    }
    Ok(())
}

fn print_applied(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    applied: &[Applied],
    dry_run: bool,
) -> Result<(), Failure> {
    for one in applied.iter().filter(|_| !dry_run) {
        context.writer(workspace).renew_suggestion(&one.sight)?;
    }
    let lines: Vec<TransitionLine> = applied.iter().flat_map(transition_lines).collect();
    let notes = applied.iter().flat_map(|one| one.notes.iter().cloned());
    let set_aside = workspace
        .reader()
        .store()
        .map(|store| store.transactions().take_set_aside())
        .unwrap_or_default();
    let mut notes: Vec<Diagnostic> = notes
        .chain(workspace.reader().outside_git())
        .chain(set_aside)
        .collect();
    let mut workflows = HashSet::new();
    for one in applied.iter().filter(|one| !one.steps.is_empty()) {
        if workflows.insert(&one.sight.workflow().name) {
            notes.extend(workspace.reader().uncommitted_workflow(&one.sight)?);
        }
    }
    notes.iter().for_each(|note| ui.finding(note));
    if context.global.json {
        ui.document(&Transitions::new(
            workspace.reader().repository()?,
            !dry_run,
            lines,
            &notes,
        ))?;
        return Ok(());
    }
    for line in &lines {
        ui.answer(&line.text(ui.paint, ui.width))?;
    }
    if dry_run {
        ui.status("nothing was written (--dry-run)");
        return Ok(());
    }
    for one in applied {
        let subject = workspace.reader().subject(&one.sight);
        let next = DutyView::of(&subject);
        let id = one.sight.task.id.as_str();
        ui.status(&format!("{id}: {}", next.reason));
        let due = one.sight.decision.transition();
        if let Some(due) = due.filter(|due| !due.by_human && next.r#do == Do::Apply) {
            let next = command(&["orch", "next", id]);
            let to = &due.to;
            ui.status(&format!(
                "another step is due, to {to}: {next}, or all that are due: {next} --settle"
            ));
        }
    }
    if applied.is_empty() {
        ui.status("nothing is due");
    }
    Ok(())
}

/// Prints the outcome of a control request.
pub(super) fn controlled(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    (task, request): (&TaskRef, &'static str),
    controlled: &Controlled,
) -> Result<ExitCode, Failure> {
    let (effect, transitions) = match controlled {
        Controlled::Sent(_) => ("sent", Vec::new()),
        Controlled::Done(applied) => {
            if let Some(applied) = applied {
                context.writer(workspace).renew_suggestion(&applied.sight)?;
            }
            (
                "done",
                applied.as_deref().map(transition_lines).unwrap_or_default(),
            )
        }
        Controlled::Nothing => {
            let sight = workspace.look(task)?;
            nothing(
                context,
                ui,
                &sight.decision,
                &nothing_to_control(workspace, &sight, request),
            )?;
            return Ok(ExitCode::Nothing);
        }
    };
    if context.global.json {
        let task = task.id.to_string();
        ui.document(&ControlReport {
            task,
            request,
            effect,
            transitions,
        })?;
        return Ok(ExitCode::Fine);
    }
    for line in &transitions {
        ui.answer(&line.text(ui.paint, ui.width))?;
    }
    if let Controlled::Sent(run) = controlled {
        ui.answer(&format!(
            "{}: sent the {request} request to process {}, which drives the run\n",
            task.id, run.pid
        ))?;
    } else if transitions.is_empty() {
        ui.answer(&format!(
            "{}: no process drives the task; executed the {request} request at once\n",
            task.id
        ))?;
    }
    Ok(ExitCode::Fine)
}

/// Prints an answer that is plain text: unchanged, or as the `text` of one JSON document.
pub(super) fn text(context: &Context, ui: &Ui, text: &str) -> Result<(), Failure> {
    if context.global.json {
        return Ok(ui.document(&TextAnswer {
            text: text.to_owned(),
        })?);
    }
    Ok(context.page(ui, text)?)
}

/// Why a request about a run was not sent, and where it can be.
fn nothing_to_control(workspace: &Workspace, sight: &Sight, request: &str) -> String {
    let task = sight.task.id.as_str();
    if let Some(root) = work_tree_of_run(workspace, &sight.task.id) {
        let there = command(&["orch", "-C", &root.to_string_lossy(), request, task]);
        return format!("the run of `{task}` is in another work tree: {there}");
    }
    let phase = sight
        .decision
        .phase
        .as_ref()
        .and_then(|phase| sight.workflow().phase(phase));
    let next = match phase {
        Some(phase) if phase.terminal => {
            format!(
                "; to leave `{}`: {}",
                phase.id,
                command(&["orch", "reopen", task, "--reason", WHY])
            )
        }
        _ if request == "resume" => format!("; to start one: {}", command(&["orch", "run", task])),
        _ => String::new(),
    };
    format!("`{task}` has no active or interrupted run, so there is nothing to {request}{next}")
}

/// Prints that there was nothing to apply, and why.
pub(super) fn nothing(
    context: &Context,
    ui: &Ui,
    decision: &Decision,
    text: &str,
) -> Result<(), Failure> {
    if context.global.json {
        ui.document(&NothingDue {
            task: decision.task.to_string(),
            current_phase: decision.phase.as_ref().map(ToString::to_string),
            reason: text.to_owned(),
        })?;
    } else {
        ui.answer(&format!("{text}\n"))?;
    }
    Ok(())
}

/// The commands to print for a decision: to an agent, none against the rules.
pub(super) fn offered<'d>(
    context: &Context,
    decision: &'d Decision,
) -> impl Iterator<Item = &'d Choice> {
    let is_agent = context.caller.kind == ActorKind::Agent;
    decision
        .options
        .iter()
        .filter(move |option| !(is_agent && is_order(option.id)))
}

/// The objections that a person typed. Returns an error if one of them says nothing.
pub(super) fn objections(typed: &[String]) -> Result<Vec<Objection>, Failure> {
    typed
        .iter()
        .map(|text| Objection::parse(text).map_err(Failure::from))
        .collect()
}

/// Executes a person's order or decision, and prints what was applied, or why there is nothing to decide.
pub(super) fn carry_out(
    context: &Context,
    ui: &Ui,
    task: Option<&str>,
    order: &Order,
    dry_run: bool,
) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = match order {
        Order::Reopen { .. } => meant_finished(&workspace, context, task)?,
        _ => meant(&workspace, context, task)?,
    };
    let given = OrderGiven {
        order,
        results: &[],
        dry_run,
    };
    carry_out_on(&workspace, &task, &given, context, ui)
}

/// An order, and how it is given.
pub(super) struct OrderGiven<'a> {
    pub order: &'a Order,
    /// What verifications gave that an approval takes along.
    pub results: &'a [NewResult],
    pub dry_run: bool,
}

/// Like [`carry_out`], for a task that was found.
pub(super) fn carry_out_on(
    workspace: &Workspace,
    task: &TaskRef,
    given: &OrderGiven<'_>,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let OrderGiven {
        order,
        results,
        dry_run,
    } = *given;
    let orders = context.writer(workspace).orders();
    match orders.with_results(results).give(task, order, dry_run) {
        Ok(done) => {
            applied(workspace, context, ui, &done, dry_run)?;
            Ok(ExitCode::Fine)
        }
        Err(error)
            if matches!(order, Order::Approve { .. } | Order::Reject { .. })
                && error.code() == Code::NothingToApply =>
        {
            let sight = workspace.look(task)?;
            nothing(context, ui, &sight.decision, &error.to_string())?;
            error.hint().iter().for_each(|hint| ui.hint(hint));
            Ok(ExitCode::Nothing)
        }
        Err(error) => Err(error.into()),
    }
}
