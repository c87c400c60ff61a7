//! Whether rules that did not decide a step would have made or permitted it.

use super::archive::Archive;
use super::record::TaskRecord;
use crate::survey::setting::Settings;
use crate::survey::snapshot::Snapshot;
use crate::survey::verified_code::VerifiedLook;
use crate::survey::{CodeAt, Error, TaskRef};
use orch_base::{Digest, PhaseId, WorkflowName};
use orch_core::decide::{
    Approval, Kind, People, ProvenStep, Recorded, Transition, WorkflowRef, evaluate, noted,
    permits_activity,
};
use orch_core::workflow::{Artifact, Phase, Workflow};
use orch_git::Store;
use orch_read::ValidationCache;
use std::rc::Rc;
use std::sync::Arc;

/// Where a step is: its task, its commit, and the first parent of that.
#[derive(Clone, Copy)]
pub(super) struct StepPlace<'a> {
    pub task: &'a TaskRef,
    pub commit: Digest,
    pub parent: Option<Digest>,
}

/// Whether these settings about people permit a step.
pub(super) fn permits(people: &People, step: &ProvenStep) -> bool {
    // The settings that decided asked for a person exactly if there is an approval.
    let kind = step.entry.kind;
    let by_human = step.approval.is_some();
    let is_signed = matches!(step.approval, Some(Approval::Verified { .. }));
    people
        .refuses_record(kind, by_human, step.entry.actor.kind)
        .is_none()
        && (is_signed || !people.asks_for_signature(kind, by_human))
}

/// The workflow that decided a step, if rules decided it and not an order.
pub(super) fn decided_by(step: &ProvenStep) -> Option<&WorkflowRef> {
    step.workflow
        .as_ref()
        .filter(|_| matches!(step.entry.kind, Kind::Advance | Kind::Regress))
}

/// The workflow that decided a step, or permitted it within a phase, such as the result of an action.
pub(super) fn ruled_by(step: &ProvenStep) -> Option<&WorkflowRef> {
    use Kind::{Advance, Answer, End, Regress, Run, Signal, Skip, Start};
    let is_ruled = matches!(
        step.entry.kind,
        Advance | Regress | Run | Skip | Answer | Signal | Start | End
    );
    step.workflow.as_ref().filter(|_| is_ruled)
}

/// Whether the workflow of these settings makes the move of a step, or permits it within a phase, on the files of its
/// commit. A rule that only a person takes makes only the move of a person. Returns an error if git cannot be read.
pub(super) fn yields(
    store: &Store,
    archive: &Archive<'_>,
    (rules, name): (&Rc<Settings>, &WorkflowName),
    StepPlace {
        task,
        commit,
        parent,
    }: StepPlace<'_>,
    step: &ProvenStep,
) -> Result<bool, Error> {
    let pool = archive.logs();
    let source = store.objects().source_at(commit);
    // Reading the log makes its events known to the pool.
    TaskRecord::of(task, &source)?.read(pool, None);
    let Some(event) = step.event.and_then(|id| Some(pool.event(&id)?.clone())) else {
        return Ok(false);
    };
    let Ok(loaded) = rules.workflow(name.as_str()) else {
        return Ok(false);
    };
    // A workflow with errors decides nothing.
    if loaded.workflow().is_none() {
        return Ok(false);
    }
    let decided = match (parent, ruled_by(step)) {
        (Some(parent), Some(by)) => archive
            .setting(&store.objects().source_at(parent))?
            .workflow(by.name.as_str())
            .ok(),
        _ => None,
    };
    let decided = decided.as_ref().and_then(|loaded| loaded.workflow());
    let named = loaded
        .workflow()
        .map(|workflow| with_names_of(workflow, decided));
    let Some(before) = pool.fold(named.as_ref(), &event.after).ok().flatten() else {
        return Ok(false);
    };
    let before = Recorded::Known(Box::new(Arc::unwrap_or_clone(before)));
    let validations = ValidationCache::default();
    let code = CodeAt::Commit(store, parent);
    let snapshot = Snapshot::new(rules, &source, &validations, code);
    let (workflow, mut observed, _) =
        snapshot.observe_step(false, task, &loaded, (&before, &step.entry), &[])?;
    let workflow = named.as_ref().unwrap_or(workflow);
    if decided_by(step).is_none() {
        let (Recorded::Known(before), Ok(after)) = (&before, pool.state_at(&event.id)) else {
            return Ok(false);
        };
        return Ok(rules.refused_data(workflow, &after).is_none()
            && permits_activity(workflow, before, &observed.facts, &step.entry, &after));
    }
    observed.facts.inputs = rules.config.inputs(rules.system.format());
    let verified = VerifiedLook {
        snapshot,
        config: &rules.config,
    };
    verified.add_to(task, workflow, &before, &mut observed)?;
    let facts = noted(workflow, &before, &observed.facts, &step.entry);
    let decision = evaluate(workflow, &before, &facts);
    let is_target = |to: &PhaseId| {
        *to == step.entry.to
            || workflow
                .phase_named(step.entry.to.as_str())
                .is_some_and(|phase| phase.id == *to)
    };
    let is_due =
        |due: &Transition| is_target(&due.to) && (!due.by_human || step.approval.is_some());
    Ok(decision.transition().is_some_and(is_due))
}

/// A workflow that also knows the names which another one has given to its artifacts and phases since, as the aliases of
/// that one say.
fn with_names_of(workflow: &Workflow, later: Option<&Workflow>) -> Workflow {
    let mut workflow = workflow.clone();
    let Some(later) = later else { return workflow };
    for artifact in &later.artifacts {
        let is_former = |own: &&mut Artifact| {
            artifact
                .aliases
                .iter()
                .any(|alias| *alias == own.name.as_str())
        };
        if workflow.artifact_named(artifact.name.as_str()).is_none()
            && let Some(own) = workflow.artifacts.iter_mut().find(is_former)
        {
            own.aliases.push(artifact.name.to_string());
        }
    }
    for phase in &later.phases {
        let is_former =
            |own: &&mut Phase| phase.aliases.iter().any(|alias| *alias == own.id.as_str());
        if workflow.phase_named(phase.id.as_str()).is_none()
            && let Some(own) = workflow.phases.iter_mut().find(is_former)
        {
            own.aliases.push(phase.id.to_string());
        }
    }
    workflow
}

/// What of a workflow decides, as text: its digest, and what the settings ask. `None` if it cannot be used.
pub(super) fn rules_in(setting: &Settings, name: &str) -> Option<String> {
    let loaded = setting.workflow(name).ok()?;
    let workflow = loaded.workflow()?;
    Some(format!(
        "{}{}",
        workflow.digest,
        asked_in(setting, workflow)
    ))
}

/// What the settings ask of decisions by a workflow, as text.
fn asked_in(setting: &Settings, workflow: &Workflow) -> String {
    let has_judges = workflow.phases.iter().any(|phase| !phase.not_by.is_empty());
    if has_judges {
        format!("{:?}", setting.config.require)
    } else {
        String::new()
    }
}

/// Whether the same decides by a workflow of these settings. Rules with errors decide nothing.
pub(super) fn are_rules_alike(one: &Settings, other: &Settings, name: &str) -> bool {
    let own = rules_in(one, name);
    own.is_some() && own == rules_in(other, name)
}
