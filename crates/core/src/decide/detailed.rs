//! The steps that follow from the record alone: what `orch` ran, how a task relates to others, who took it, which deadline
//! passed, and to which workflow it moved. Each says so in a [`Detail`].

use super::order::{current, why_after, with_why};
use super::{Detail, Evidence, HistoryEntry, Kind, Lapse, Standing, State, Transition};
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
    refuse(workflow, state, task, &detail, step.at, &from, step.to)?;
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
    from: &PhaseId,
    to: Option<&PhaseId>,
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
        Detail::Lapse(lapse) => refuse_lapse(state, from, lapse, at),
        Detail::Migrate(moved) => {
            if state.workflow.as_ref() != Some(&moved.from) {
                return Err(format!("the task did not follow {}", moved.from));
            }
            if moved.to.name != workflow.name || moved.to.digest != workflow.digest {
                return Err(format!("it names another workflow than {}", moved.to));
            }
            let to = to.unwrap_or(from);
            let Some(target) = workflow.position(to) else {
                return Err(format!("workflow `{}` has no phase `{to}`", workflow.name));
            };
            let before = workflow
                .phase_named(from.as_str())
                .and_then(|phase| workflow.position(&phase.id));
            match before {
                Some(before) if target > before => {
                    Err(format!("it leads forward, from `{from}` to `{to}`"))
                }
                _ => Ok(()),
            }
        }
        Detail::Verify(_) => Ok(()),
        Detail::Approve(_) => Err("it rests on files".to_owned()),
    }
}

/// Why a deadline cannot have passed so, in words.
fn refuse_lapse(
    state: &State,
    phase: &PhaseId,
    lapse: &Lapse,
    at: Timestamp,
) -> Result<(), String> {
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
    let known = state
        .actor(phase)
        .and_then(|actor| actor.lapsed.get(&lapse.deadline));
    match known.filter(|known| known.attempt == attempt) {
        Some(_) => Err(format!(
            "`{}` has passed already in attempt {attempt}",
            lapse.deadline
        )),
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
pub(super) fn standing_of(kind: Kind, by_human: bool) -> (Standing, Option<&'static str>) {
    match kind {
        Kind::Undo => (Standing::Overridden, None),
        _ if by_human => (Standing::Overridden, None),
        // Nothing in git says that a program ran, that a lease was had, or which time it was.
        Kind::Verify | Kind::Take | Kind::Lapse => (Standing::Claimed, None),
        Kind::Migrate => (
            Standing::Unverifiable,
            Some("the document has no map that says how tasks move to it"),
        ),
        _ => (Standing::Proven, None),
    }
}
