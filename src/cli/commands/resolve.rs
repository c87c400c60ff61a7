//! `orch resolve`: resolves the records of tasks that two branches moved.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use orch_base::{Code, command};
use orch_core::decide::{Conflict, HistoryEntry, WHY, rename_side};
use orch_core::workflow::Owner;
use orch_engine::apply::{
    Chosen, Dispute, MergeSide, NewIdFor, Resolved, ResolvedBy, Settlement, SplitRecord, Writer,
};
use orch_engine::gather;
use orch_engine::survey::{Error, Sight, TaskRef};
use orch_view::{CommandView, Finding, Resolution, Resolutions, StepView};

/// Resolve the records of tasks that two branches moved.
///
/// Run it after a merge, rebase, cherry-pick, revert or stash, or after merging the target branch of a pull
/// request that the host could not merge.
///
/// Unites the events of both sides and folds the state from them: if one side moved the task, its state
/// stands; if both did, the task returns to the earlier of the two phases, everything that either side used up
/// stays used up, and the rules evaluate the merged artifacts. During a merge, `orch resolve` stages
/// `state.json` and `transcript.jsonl` and nothing else; otherwise it writes them, and commits only the choice
/// of a side. Resolve conflicts in other files yourself.
///
/// Two branches may have created two tasks under one id. Then nothing moves before you give one of them another id:
/// `--rename-theirs` moves the events and the files of the task that was merged to a task of their own, and
/// `--rename-ours` those of the task in HEAD; the other task is as it was. During a merge both are staged; if the merge
/// is committed already, this is one commit. If they are one task, choose a side.
///
/// Exits with 1 if a task needs you to choose a side or an id, and with 3 if there is nothing to resolve.
#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// The tasks or patterns; default: every task whose record is conflicted.
    tasks: Vec<String>,
    /// If both sides finished on different evidence: keep the side in HEAD.
    #[arg(long, group = "side", requires = "reason", requires = "tasks")]
    ours: bool,
    /// If both sides finished on different evidence: keep the side being merged.
    #[arg(long, group = "side", requires = "reason", requires = "tasks")]
    theirs: bool,
    /// The reason for choosing that side. It is recorded, and `orch audit` reports the choice as overridden.
    #[arg(long, value_name = "WHY", requires = "side")]
    reason: Option<String>,
    /// If two tasks were created under this id: give the one being merged another id.
    #[arg(
        long,
        group = "side",
        requires = "tasks",
        conflicts_with = "reason",
        value_name = "ID"
    )]
    rename_theirs: Option<String>,
    /// If two tasks were created under this id: give the one in HEAD another id.
    #[arg(
        long,
        group = "side",
        requires = "tasks",
        conflicts_with = "reason",
        value_name = "ID"
    )]
    rename_ours: Option<String>,
    #[command(flatten)]
    pub locks: LockArgs,
}

impl ResolveArgs {
    /// Which of two tasks gets another id, if one does.
    fn new_id(&self) -> Option<NewIdFor<'_>> {
        match (&self.rename_theirs, &self.rename_ours) {
            (Some(id), _) => Some(NewIdFor {
                side: MergeSide::Theirs,
                id,
            }),
            (None, Some(id)) => Some(NewIdFor {
                side: MergeSide::Ours,
                id,
            }),
            (None, None) => None,
        }
    }

    fn chosen(&self) -> Option<Chosen> {
        let side = if self.ours {
            MergeSide::Ours
        } else {
            MergeSide::Theirs
        };
        self.reason
            .clone()
            .filter(|_| self.ours || self.theirs)
            .map(|reason| Chosen { side, reason })
    }
}

pub fn run(args: &ResolveArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let tasks: Vec<TaskRef> = if args.tasks.is_empty() {
        context.writer(&workspace).conflicts().conflicted_tasks()?
    } else {
        gather::named(&workspace, &args.tasks)?
    };
    let chosen = args.chosen();
    let new_id = args.new_id();
    if let (Some(_), [_, another, ..]) = (new_id, tasks.as_slice()) {
        let message = format!("an id is for one task, and `{}` is another", another.id);
        return Err(Error::new(Code::Usage, message).into());
    }
    let mut rows = Vec::new();
    for task in &tasks {
        if let Some(which) = new_id {
            let split = context.writer(&workspace).separate().task(task, which)?;
            rows.extend(split.map(|split| split_row(task, which, &split)));
            continue;
        }
        match context
            .writer(&workspace)
            .resolve()
            .task(task, chosen.as_ref())
        {
            Ok(Some(Resolved::Settled(settlement))) => rows.push(settled(task, &settlement)),
            Ok(Some(Resolved::Disputed(dispute))) => rows.push(disputed(&dispute)),
            Ok(None) => {}
            // A failure in one task does not prevent the others from being resolved.
            Err(error) if tasks.len() > 1 => rows.push(failed(task, &error)),
            Err(error) => return Err(error.into()),
        }
    }
    let is_whole = rows.is_empty();
    let mut answer = Resolutions::new(workspace.reader().repository()?, rows);
    let operation = context.writer(&workspace).conflicts().operation()?;
    answer.next = operation.map(|operation| operation.next.map(str::to_owned).to_vec());
    answer.blocked |= context.writer(&workspace).conflicts().is_unmerged()?;
    if context.global.json {
        ui.document(&answer)?;
    } else if is_whole {
        ui.answer("There is nothing to resolve.\n")?;
    } else {
        ui.answer(&answer.text(ui.paint, ui.width))?;
        advise(
            &answer,
            operation.map(|operation| operation.next),
            &context.writer(&workspace),
            ui,
        )?;
    }
    Ok(match answer.tasks.iter().all(|task| task.settled) {
        true if is_whole => ExitCode::Nothing,
        true => ExitCode::Fine,
        false => ExitCode::No,
    })
}

/// Prints what to do next.
fn advise(
    answer: &Resolutions,
    next: Option<[&str; 3]>,
    writer: &Writer<'_>,
    ui: &Ui,
) -> Result<(), Failure> {
    for option in answer.tasks.iter().flat_map(|task| &task.options) {
        ui.status(&format!("hint: {}", command(&option.argv)));
    }
    if answer
        .tasks
        .iter()
        .any(|task| !task.settled && !task.staged)
    {
        return Ok(());
    }
    match next.map(|next| command(&next)) {
        Some(next) if writer.conflicts().is_unmerged()? => {
            ui.status(&format!(
                "next: resolve the other conflicts (git status), git add them, then: {next}"
            ));
        }
        Some(next) => ui.status(&format!("next: {next}")),
        None => ui.status("next: orch status"),
    }
    Ok(())
}

fn settled(task: &TaskRef, settlement: &Settlement) -> Resolution {
    let reason = match settlement.how {
        ResolvedBy::Moved(side) => format!("only {} had moved the task", name(side)),
        ResolvedBy::Merged => {
            "both sides had moved the task; the rules continue from the earlier phase with the merged files"
                .to_owned()
        }
        ResolvedBy::Chosen(side) => {
            format!("{} was chosen; everything that the other side used up stays used up", name(side))
        }
        ResolvedBy::Renewed => "the log was intact; folded state.json from it".to_owned(),
    };
    Resolution {
        task: task.id.to_string(),
        path: task.shown().to_string(),
        settled: true,
        how: match settlement.how {
            ResolvedBy::Moved(side) => name(side),
            ResolvedBy::Merged => "merged",
            ResolvedBy::Chosen(MergeSide::Ours) => "chosen-ours",
            ResolvedBy::Chosen(MergeSide::Theirs) => "chosen-theirs",
            ResolvedBy::Renewed => "renewed",
        },
        sides: settlement.phases.to_vec(),
        current_phase: settlement
            .sight
            .decision
            .phase
            .as_ref()
            .map(ToString::to_string),
        reason,
        staged: settlement.staged,
        commit: settlement.commit.map(|commit| commit.to_string()),
        left: settlement.left.iter().map(Finding::of).collect(),
        ours: Vec::new(),
        theirs: Vec::new(),
        options: Vec::new(),
    }
}

fn split_row(task: &TaskRef, which: NewIdFor<'_>, split: &SplitRecord) -> Resolution {
    let phase = |sight: &Sight| sight.decision.phase.as_ref().map(ToString::to_string);
    let sides = [&split.kept, &split.moved].map(|sight| phase(sight).unwrap_or_default());
    let id = &task.id;
    let moved = &split.moved.task.id;
    let [kept_as, moved_as] = &split.created_as;
    Resolution {
        settled: split.kept.require_whole_record().is_ok(),
        how: match which.side {
            MergeSide::Ours => "renamed-ours",
            MergeSide::Theirs => "renamed-theirs",
        },
        sides: match which.side {
            MergeSide::Ours => sides.iter().rev().cloned().collect(),
            MergeSide::Theirs => sides.to_vec(),
        },
        current_phase: phase(&split.kept),
        staged: split.staged,
        commit: split.commit.map(|commit| commit.to_string()),
        left: split.left.iter().map(Finding::of).collect(),
        ..unsettled(
            task,
            format!("`{id}` is {kept_as}; `{moved}` is {moved_as}"),
        )
    }
}

fn failed(task: &TaskRef, error: &Error) -> Resolution {
    let hint = error
        .hint()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    Resolution {
        how: "failed",
        ..unsettled(task, format!("{error}{hint}"))
    }
}

fn unsettled(task: &TaskRef, reason: String) -> Resolution {
    Resolution {
        task: task.id.to_string(),
        path: task.shown().to_string(),
        settled: false,
        how: "disputed",
        sides: Vec::new(),
        current_phase: None,
        reason,
        staged: false,
        commit: None,
        left: Vec::new(),
        ours: Vec::new(),
        theirs: Vec::new(),
        options: Vec::new(),
    }
}

fn disputed(dispute: &Dispute) -> Resolution {
    let task = dispute.task.id.as_str();
    let step = |entry: &HistoryEntry| StepView::recorded(task, &dispute.task.place, entry, None);
    let timeline = |entries: &[HistoryEntry]| entries.iter().map(step).collect();
    let option = |side: MergeSide, effect: &str| CommandView {
        id: name(side).to_owned(),
        argv: [
            "orch",
            "resolve",
            task,
            &format!("--{}", name(side)),
            "--reason",
            WHY,
        ]
        .map(str::to_owned)
        .to_vec(),
        by: Owner::Human,
        effect: effect.to_owned(),
    };
    let mut reason = dispute.conflict.to_string();
    if dispute.staged {
        reason.push_str(
            "; their events are staged as they are, and wait until the operation of git is over",
        );
    }
    let mut options = Vec::new();
    if matches!(dispute.conflict, Conflict::SeveralTasks { .. }) && !dispute.staged {
        let rename = |side: MergeSide, effect: &str| {
            let id = format!("rename-{}", name(side));
            let argv = rename_side(&dispute.task.id, &format!("--{id}")).to_vec();
            CommandView {
                id,
                argv,
                by: Owner::Human,
                effect: effect.to_owned(),
            }
        };
        options.push(rename(
            MergeSide::Theirs,
            "give the task being merged another id",
        ));
        options.push(rename(MergeSide::Ours, "give the task in HEAD another id"));
    }
    if !dispute.staged {
        options.push(option(MergeSide::Ours, "keep the side in HEAD"));
        options.push(option(MergeSide::Theirs, "keep the side being merged"));
    }
    Resolution {
        sides: dispute.phases.to_vec(),
        ours: timeline(&dispute.ours),
        theirs: timeline(&dispute.theirs),
        options,
        staged: dispute.staged,
        ..unsettled(&dispute.task, reason)
    }
}

fn name(side: MergeSide) -> &'static str {
    match side {
        MergeSide::Ours => "ours",
        MergeSide::Theirs => "theirs",
    }
}
