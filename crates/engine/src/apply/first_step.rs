//! The first step of a task.

use crate::survey::{Error, Sight, has_own_remedy};
use orch_base::{Code, Diagnostic, Hint};
use orch_core::decide::{self, Recorded, Stamp, State, Step, initial_state};

/// The first step of an untracked task, in the phase that a foreign state names or else the initial one.
/// Returns an error if its state cannot be used.
pub(super) fn creation(
    sight: &Sight,
    adopted: bool,
    title: Option<&str>,
    stamp: &Stamp,
) -> Result<Step, Error> {
    let workflow = sight.workflow();
    let unusable = |finding: &&Diagnostic| finding.code == Code::OtherObjectFormat;
    if let Some(finding) = sight.decision.diagnostics.iter().find(unusable) {
        return Err(finding.clone().into());
    }
    let mut state = match &sight.recorded {
        Recorded::Known(foreign) => (**foreign).clone(),
        Recorded::New => initial_state(workflow),
        Recorded::Broken(faults)
            if let Some(fault) = faults.iter().find(|fault| has_own_remedy(fault)) =>
        {
            return Err(fault.clone().into());
        }
        Recorded::Lost | Recorded::Broken(_) => {
            let own = sight
                .decision
                .diagnostics
                .iter()
                .find(|finding| finding.is_error());
            let recover = || Hint::run(&["orch", "recover", sight.task.id.as_str()]);
            let hint = own
                .and_then(|finding| finding.hint.clone())
                .unwrap_or_else(recover);
            return Err(sight.unusable(hint));
        }
    };
    if let Some(title) = title {
        state.title = Some(title.to_owned());
    }
    refuse_unknown_phase(sight, &state)?;
    let reason = match (&state.original, adopted) {
        (Some(original), _) if original.is_mapped => "the state of an older tool was imported",
        (_, true) => "the task was adopted",
        (_, false) => "the task was created",
    };
    let transition = decide::adopt(workflow, &state, reason);
    let state = decide::apply(workflow, &state, &sight.observed.facts, &transition, stamp);
    Ok(Step { transition, state })
}

/// Returns an error if a state names a phase that its workflow does not have: adopting a task never moves it.
pub(super) fn refuse_unknown_phase(sight: &Sight, state: &State) -> Result<(), Error> {
    let workflow = sight.workflow();
    let unknown = state
        .phase
        .as_deref()
        .filter(|name| workflow.phase_named(name).is_none());
    let Some(name) = unknown else { return Ok(()) };
    let phases: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.as_str())
        .collect();
    let message = format!("{} names the phase `{name}`", sight.task.state_path());
    let message = format!(
        "{message}, which workflow `{}` does not have",
        workflow.name
    );
    let hint = format!(
        "name one of {} there, or add `{name}` to the `aliases` of one of them; another workflow is chosen with --workflow",
        phases.join(", ")
    );
    Err(Error::new(Code::UnknownPhase, message).with_hint(hint))
}
