//! Steps on code that a rebase or a squash put on other code: the history here must make the recorded change.
//!
//! A record names two digests of code: with which the phase was entered that makes it, and on which the step rests.
//! What was accepted is the change between them. It counts only if everything that the commits here change, from the
//! one that brings the entry of that phase, is this change: so no code that came in meanwhile can hide behind it.

use super::new_steps::{NewStep, NewSteps};
use crate::base::{ArtifactName, Digest, PhaseId};
use crate::record::{LogEvent, TRANSCRIPT_FILE};
use crate::survey::snapshot::Snapshot;
use crate::survey::{CodeAt, Error};
use crate::workflow::Workflow;

impl NewSteps<'_> {
    /// Whether the commit with the steps changes code, as a squash does. A merge does not count. Returns an error
    /// if git cannot be read.
    pub(super) fn changes_code(&self, workflow: &Workflow) -> Result<bool, Error> {
        let CodeAt::Commit(store, Some(own)) = self.own_code else { return Ok(false) };
        if store.visit(own)?.parents.len() != 1 {
            return Ok(false);
        }
        let own = Snapshot { code: self.own_code, ..self.after };
        Ok(own.code_here(workflow)? != self.after.code_here(workflow)?)
    }

    /// Why the history does not make the change that leads to the code `wanted` of a step; `None` if it does, up to
    /// the commit whose code the snapshot has. Returns an error if git cannot be read.
    pub(super) fn moved_code(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        snapshot: &Snapshot<'_>,
        artifact: &ArtifactName,
        wanted: Digest,
    ) -> Result<Option<String>, Error> {
        let unknown =
            || Some(", and no single commit shows when the phase that makes it was entered".to_owned());
        let CodeAt::Commit(store, Some(to)) = snapshot.code else { return Ok(unknown()) };
        let Some(artifact) = workflow.artifact(artifact) else { return Ok(unknown()) };
        let Some((base, entry)) = self.entry_of(step, workflow, &artifact.name) else { return Ok(unknown()) };
        let last = match self.own_code {
            CodeAt::Commit(_, Some(own)) => own,
            _ => to,
        };
        let brought = store.commit_bringing(last, TRANSCRIPT_FILE, &LogEvent::line_start(&entry))?;
        let Some(brought) = brought else { return Ok(unknown()) };
        let [from] = store.visit(brought)?.parents[..] else { return Ok(unknown()) };
        snapshot.other_change(self.task, artifact, [base, wanted], [from, to])
    }

    /// The code with which the phase that makes an artifact was last entered before a step, and the event that
    /// entered it. `None` if the record names none, or several, or joins branches in between.
    fn entry_of(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        artifact: &ArtifactName,
    ) -> Option<(Digest, Digest)> {
        let before = step.before.as_ref()?;
        let mut entered = workflow.producers(artifact).filter_map(|phase| {
            let actor = before.actor(&phase.id)?;
            Some((&phase.id, actor.attempt, (*actor.entered_with.get(artifact)?)?))
        });
        let (Some((phase, attempt, base)), None) = (entered.next(), entered.next()) else { return None };
        let pool = self.archive.logs();
        let is_entered = |event: &Digest, phase: &PhaseId| {
            let state = pool.state_at(event).ok();
            let actor = state.as_ref().and_then(|state| state.actor(phase));
            actor.is_some_and(|actor| {
                actor.attempt == attempt && actor.entered_with.get(artifact) == Some(&Some(base))
            })
        };
        let only = |after: &[Digest]| if let [one] = after { Some(*one) } else { None };
        let mut entry = only(&step.event.after).filter(|event| is_entered(event, phase))?;
        loop {
            let after = pool.event(&entry)?.after.clone();
            match after.as_slice() {
                [] => return Some((base, entry)),
                [one] if is_entered(one, phase) => entry = *one,
                [_] => return Some((base, entry)),
                _ => return None,
            }
        }
    }
}
