//! Steps on code that a rebase or a squash put on other code: the history here must make the recorded change.
//!
//! A record names two digests of code: with which the phase was entered that makes it, and on which the step rests.
//! What was accepted is the change between them. It counts only if everything that the commits here change, from the
//! one that brings the entry of that phase, is this change: so no code that came in meanwhile can hide behind it.
//!
//! If code was sent back, the phase was entered again with code that only the branch had before the rebase. The
//! history here must then make that code too, from an earlier entry of the phase whose code is in git.

use super::new_steps::{NewStep, NewSteps};
use crate::base::{ArtifactName, Digest};
use crate::record::{LogEvent, TRANSCRIPT_FILE};
use crate::survey::code::{CodeChange, PhaseEntry};
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
        let last = match self.own_code {
            CodeAt::Commit(_, Some(own)) => own,
            _ => to,
        };
        let (mut entries, mut nowhere) = (Vec::new(), None);
        for (code, event) in self.entries_of(step, workflow, &artifact.name) {
            let brought = store.commit_bringing(last, TRANSCRIPT_FILE, &LogEvent::line_start(&event))?;
            let Some(brought) = brought else { break };
            let [before] = store.visit(brought)?.parents[..] else { break };
            entries.push(PhaseEntry { code, before });
            match snapshot.other_change(self.task, artifact, &entries, (wanted, to))? {
                CodeChange::Same => return Ok(None),
                CodeChange::Other(why) => return Ok(Some(why)),
                CodeChange::FromNowhere(why) => nowhere = nowhere.or(Some(why)),
            }
        }
        Ok(nowhere.or_else(unknown))
    }

    /// The code with which the phase that makes an artifact was entered before a step, the last time first, each with
    /// the event that entered it. Ends where the record names no such code, or joins branches, and is empty if
    /// several phases make the artifact.
    fn entries_of(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        artifact: &ArtifactName,
    ) -> impl Iterator<Item = (Digest, Digest)> {
        let pool = self.archive.logs();
        let only = |after: &[Digest]| if let [one] = after { Some(*one) } else { None };
        let mut makers = workflow.producers(artifact);
        let maker = makers.next().filter(|_| makers.next().is_none()).map(|phase| phase.id.clone());
        let entered = move |event: &Digest| {
            let state = pool.state_at(event).ok()?;
            let state = state.under_own_names(workflow);
            let actor = state.actor(maker.as_ref()?)?;
            Some((actor.attempt, (*actor.entered_with.get(artifact)?)?))
        };
        let mut next = only(&step.event.after);
        std::iter::from_fn(move || {
            // A step back to an earlier phase has dropped what the phase was entered with.
            let (mut entry, found) = loop {
                let event = next?;
                match entered(&event) {
                    Some(found) => break (event, found),
                    None => next = only(&pool.event(&event)?.after),
                }
            };
            loop {
                let after = pool.event(&entry)?.after.clone();
                match (only(&after), after.len()) {
                    (Some(before), _) if entered(&before) == Some(found) => entry = before,
                    (before, 0 | 1) => {
                        next = before;
                        return Some((found.1, entry));
                    }
                    _ => return None,
                }
            }
        })
    }
}
