//! The steps that follow from the record alone: what `orch` ran, how a task relates to others, who took it, which deadline
//! passed, and to which workflow it moved. Each says so in a [`Detail`].

use super::order::{current, why_after, with_why};
use super::{Detail, Evidence, HistoryEntry, Kind, Lapse, Migration, Standing, State, Transition};
use crate::verification::Verification;
use crate::workflow::Workflow;
use orch_base::{ArtifactName, PhaseId, TaskId, Timestamp};

/// What a step says of a task.
pub struct DetailStep<'a> {
    /// What it says.
    pub detail: Detail,
    /// Its time.
    pub at: Timestamp,
    /// The phase to which a migration leads; any other step stays in its phase.
    pub to: Option<&'a PhaseId>,
    /// The version of the workflow that a migration leaves, as far as it is known.
    pub former: Option<&'a Workflow>,
    /// The reason of whoever orders it.
    pub why: Option<&'a str>,
}

/// The transition of a step that says something of the task `task`. Returns why it is impossible, in words.
///
/// # Errors
///
/// What is said cannot be true of the task as it stands.
pub fn detailed(
    workflow: &Workflow,
    state: &State,
    task: &TaskId,
    step: DetailStep<'_>,
) -> Result<Transition, String> {
    let detail = step.detail;
    // What a migration leaves may be unknown by now.
    let from = state
        .phase
        .as_deref()
        .and_then(|phase| PhaseId::new(phase).ok());
    let from = match &detail {
        Detail::Migrate(_) => from.ok_or("the state names no phase")?,
        _ => match current(workflow, state) {
            Ok(phase) => phase.id.clone(),
            Err(error) => return Err(error.to_string()),
        },
    };
    let former = step.former;
    refuse(
        workflow,
        state,
        task,
        &detail,
        step.at,
        (&from, step.to),
        former,
    )?;
    let reason = with_why(detail.words(), step.why).map_err(|error| error.to_string())?;
    let to = step
        .to
        .filter(|_| detail.kind() == Kind::Migrate)
        .unwrap_or(&from)
        .clone();
    let evidence = match &detail {
        Detail::Verify(run) => vec![result_of(run)?],
        _ => Vec::new(),
    };
    let transition = Transition::new(Some(from), to, detail.kind(), &reason);
    Ok(Transition {
        evidence,
        detail: Some(Box::new(detail)),
        ..transition
    })
}

/// The reason of a person in such a recorded step, if it has one.
pub(super) fn why_detailed<'e>(entry: &'e HistoryEntry, detail: &Detail) -> Option<&'e str> {
    why_after(&entry.reason, &detail.words())
}

/// Why the task cannot be related like that, in words.
fn refuse(
    workflow: &Workflow,
    state: &State,
    task: &TaskId,
    detail: &Detail,
    at: Timestamp,
    (from, to): (&PhaseId, Option<&PhaseId>),
    former: Option<&Workflow>,
) -> Result<(), String> {
    match detail {
        Detail::Relate(relations) => relations.fault(task).map_or(Ok(()), Err),
        Detail::Take(holder) => {
            let taken = state.holder.as_ref().map_or(0, |holder| holder.generation);
            // A generation that recorded nothing is not in the record.
            if holder.generation > taken {
                return Ok(());
            }
            Err(format!(
                "the task was held in generation {taken}, so generation {} is over",
                holder.generation
            ))
        }
        Detail::Lapse(lapse) => refuse_lapse(workflow, state, lapse, at),
        Detail::Migrate(moved) => refuse_migration(workflow, state, moved, (from, to), former),
        Detail::Verify(_) => Ok(()),
        Detail::Approve(_) => Err("it rests on files".to_owned()),
    }
}

/// Why a task cannot have moved so to this version of its workflow, in words.
fn refuse_migration(
    workflow: &Workflow,
    state: &State,
    moved: &Migration,
    (from, to): (&PhaseId, Option<&PhaseId>),
    former: Option<&Workflow>,
) -> Result<(), String> {
    if state.workflow.as_ref() != Some(&moved.from) {
        return Err(format!("the task did not follow {}", moved.from));
    }
    if moved.to.name != workflow.name || !workflow.has_digest(moved.to.digest) {
        return Err(format!("it names another workflow than {}", moved.to));
    }
    if moved.map != workflow.map() {
        return Err(format!(
            "it names another map than that of workflow `{}`",
            workflow.name
        ));
    }
    let to = to.unwrap_or(from);
    let Some(target) = workflow.goes_on_in(from.as_str()) else {
        return Err(format!(
            "workflow `{}` has no phase `{from}`, and its map does not say where its tasks go on",
            workflow.name
        ));
    };
    if target != to {
        return Err(format!(
            "the map leads from `{from}` to `{target}`, and not to `{to}`"
        ));
    }
    if workflow.phase_named(from.as_str()).is_some() {
        return Ok(());
    }
    let forward = former.and_then(|former| workflow.leads_forward(former, from, to));
    forward.map_or(Ok(()), |why| {
        Err(format!("it leads forward, from `{from}` to `{to}`: {why}"))
    })
}

/// Why a deadline cannot have passed so, in words.
fn refuse_lapse(
    workflow: &Workflow,
    state: &State,
    lapse: &Lapse,
    at: Timestamp,
) -> Result<(), String> {
    let phase = match current(workflow, state) {
        Ok(phase) => &phase.id,
        Err(error) => return Err(error.to_string()),
    };
    let name = &lapse.deadline;
    let Some(deadline) = workflow.deadline(name) else {
        return Err(format!(
            "workflow `{}` has no deadline `{name}`",
            workflow.name
        ));
    };
    if deadline.phase != *phase {
        let other = &deadline.phase;
        return Err(format!(
            "`{name}` is a deadline of `{other}`, and the task was in `{phase}`"
        ));
    }
    let attempt = state.attempt(phase).max(1);
    if lapse.attempt != attempt {
        return Err(format!(
            "it is of attempt {}, and this is attempt {attempt}",
            lapse.attempt
        ));
    }
    let entered = state.last_entry_into(phase).map(|entry| entry.at);
    if let Some(why) = entered.and_then(|entered| lapse.entered_otherwise(phase, entered)) {
        return Err(why);
    }
    if lapse.at < lapse.entered || at < lapse.at {
        return Err("its times contradict each other".to_owned());
    }
    let ends = deadline.ends(lapse.entered);
    if lapse.at < ends {
        let after = deadline.after;
        return Err(format!(
            "`{name}` passes {after} after `{phase}` was entered: at {ends}, and not at {}",
            lapse.at
        ));
    }
    match state.lapse_of(deadline) {
        Some(_) => Err(format!("`{name}` has passed already in attempt {attempt}")),
        None => Ok(()),
    }
}

/// The file with the result of a verification, as evidence.
fn result_of(run: &Verification) -> Result<Evidence, String> {
    let artifact = ArtifactName::new("verified").map_err(|fault| fault.to_string())?;
    let digest = run.result.digest;
    let files = vec![(run.path(), digest)];
    Ok(Evidence {
        artifact,
        files,
        digest,
        valid: true,
        committed: true,
    })
}

/// Whose word a step rests on that follows from the record alone, and why it is in doubt, if it is.
pub(super) fn standing_of(
    kind: Kind,
    by_human: bool,
    lacks_former: bool,
) -> (Standing, Option<&'static str>) {
    match kind {
        Kind::Undo => (Standing::Overridden, None),
        _ if by_human => (Standing::Overridden, None),
        // Nothing in git says that a program ran, that a lease was had, or which time it was.
        Kind::Verify | Kind::Take | Kind::Lapse => (Standing::Claimed, None),
        Kind::Migrate if lacks_former => (
            Standing::Unverifiable,
            Some("the version of the workflow that it leaves is not in this history"),
        ),
        _ => (Standing::Proven, None),
    }
}
