//! What executors write in phases that a person owns: a proposal, and not the person's word.

use super::EvaluatedTask;
use crate::decide::{Facts, Transition};
use crate::workflow::{Owner, Workflow};
use orch_base::{ArtifactName, Digest};
use std::collections::BTreeMap;

/// The files of each output of a phase that a person owns.
pub(super) type PersonsFiles = BTreeMap<ArtifactName, Vec<(String, Option<Digest>)>>;

/// These files as they are.
pub(super) fn persons_files(workflow: &Workflow, facts: &Facts) -> PersonsFiles {
    let mut owned = PersonsFiles::new();
    for phase in &workflow.phases {
        if phase.owner != Owner::Human {
            continue;
        }
        for name in &phase.produces {
            let files = facts.artifacts.get(name).into_iter().flatten();
            let files = files.filter(|file| !file.is_tree);
            let files = files.map(|file| (file.path.clone(), file.digest)).collect();
            owned.insert(name.clone(), files);
        }
    }
    owned
}

/// Whether a transition takes a proposal of an executor for a person's word: it leaves a phase that a person
/// owns with an output that an executor wrote.
pub(super) fn rests_on_proposal(
    workflow: &Workflow,
    transition: &Transition,
    proposed: &[ArtifactName],
) -> bool {
    let from = transition
        .from
        .as_ref()
        .and_then(|from| workflow.phase(from));
    from.is_some_and(|from| {
        from.owner == Owner::Human && from.produces.iter().any(|output| proposed.contains(output))
    })
}

/// The proposal that a person has to take or to refuse before the due transition, in words.
pub(super) fn awaited(case: &EvaluatedTask<'_>, proposed: &[ArtifactName]) -> Option<String> {
    let due = case
        .decision
        .transition()
        .filter(|due| rests_on_proposal(case.workflow, due, proposed))?;
    let from = due.from.as_ref()?;
    Some(format!(
        "an executor wrote the decision of `{from}`, which a person owns: {}",
        case.decision.reason
    ))
}
