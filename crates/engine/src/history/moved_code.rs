//! Steps on code that a rebase or a squash put on other code: the history here must make the recorded change.
//!
//! A record names two digests of code: with which the phase was entered that makes it, and on which the step rests.
//! What was accepted is the change between them. It counts only if everything that the commits here change, from the
//! one that brings the entry of that phase, is this change: so no code that came in meanwhile can hide behind it.
//!
//! If code was sent back, the phase was entered again with code that only the branch had before the rebase. The
//! history here must then make that code too, from an earlier entry of the phase whose code is in git.

use super::new_steps::{NewStep, NewSteps};
use crate::survey::apart::{ApartNames, CommittedChange};
use crate::survey::code::{CodeChange, PhaseEntry};
use crate::survey::snapshot::Snapshot;
use crate::survey::{CodeAt, Error, TaskRef};
use orch_base::{ArtifactName, Class, Digest, RepoPath};
use orch_core::decide::{PlannedPaths, planned_paths};
use orch_core::record::{LogEvent, TRANSCRIPT_FILE};
use orch_core::workflow::Workflow;
use orch_git::Store;

/// The code with which a phase was entered, and that on which a step in it rests.
struct CodesOfStep {
    base: Digest,
    wanted: Option<Digest>,
}

impl NewSteps<'_> {
    /// Whether the commit with the steps changes code, as a squash does. A merge does not count. Returns an error
    /// if git cannot be read.
    pub(super) fn changes_code(&self, workflow: &Workflow) -> Result<bool, Error> {
        let CodeAt::Commit(store, Some(own)) = self.own_code else {
            return Ok(false);
        };
        if store.history().visit(own)?.parents.len() != 1 {
            return Ok(false);
        }
        let own = Snapshot {
            code: self.own_code,
            ..self.after
        };
        Ok(own.code_here(workflow)? != self.after.code_here(workflow)?)
    }

    /// Why the history does not make the change that leads to the code `wanted` of a step; `None` if it does, up to
    /// the commit whose code the snapshot has, or if the commit with the step does, apart from what it changes for other
    /// tasks. Returns an error if git cannot be read.
    pub(super) fn moved_code(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        snapshot: &Snapshot<'_>,
        artifact: &ArtifactName,
        wanted: Digest,
    ) -> Result<Option<String>, Error> {
        let why = self.moved_alone(step, workflow, snapshot, artifact, wanted)?;
        if why.is_some() && self.moved_apart(step, workflow, artifact, wanted)? {
            return Ok(None);
        }
        Ok(why)
    }

    /// Whether the commit with the steps brings several tasks forward, and makes the change without what it changes for
    /// the others.
    fn moved_apart(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        artifact: &ArtifactName,
        wanted: Digest,
    ) -> Result<bool, Error> {
        match self.entries_of(step, workflow, artifact).next() {
            Some((base, entry)) => self.is_apart(
                &entry,
                workflow,
                artifact,
                CodesOfStep {
                    base,
                    wanted: Some(wanted),
                },
            ),
            None => Ok(false),
        }
    }

    /// Whether the commit with the steps brings several tasks forward, and what it changes for others makes the code with
    /// which a step entered a phase. Returns an error if git cannot be read.
    pub(super) fn entered_apart(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        artifact: &ArtifactName,
        base: Digest,
    ) -> Result<bool, Error> {
        self.is_apart(
            &step.event.id,
            workflow,
            artifact,
            CodesOfStep { base, wanted: None },
        )
    }

    /// Whether the commit with the steps makes these codes, apart from what it changes for other tasks. `entry` is the
    /// event that entered the phase.
    fn is_apart(
        &self,
        entry: &Digest,
        workflow: &Workflow,
        artifact: &ArtifactName,
        codes: CodesOfStep,
    ) -> Result<bool, Error> {
        let CodeAt::Commit(store, Some(own)) = self.own_code else {
            return Ok(false);
        };
        let [parent] = store.history().visit(own)?.parents[..] else {
            return Ok(false);
        };
        let scope = workflow
            .artifact(artifact)
            .and_then(|artifact| artifact.tree.as_ref());
        let Some(scope) = scope else { return Ok(false) };
        let line = LogEvent::line_start(entry);
        if store
            .history()
            .commit_bringing(own, TRANSCRIPT_FILE, &line)?
            != Some(own)
        {
            return Ok(false);
        }
        let Some(names) = self.names_apart(store, [parent, own])? else {
            return Ok(false);
        };
        let task = self.task.id.as_str();
        let CodesOfStep { base, wanted } = codes;
        let change = CommittedChange {
            task,
            commits: [parent, own],
            base,
            wanted,
        };
        self.after.is_change_apart(store, scope, &change, &names)
    }

    /// What the plans of the tasks name whose records a commit changes, as they are there; `None` if it changes no other
    /// record.
    fn names_apart(
        &self,
        store: &Store,
        [parent, own]: [Digest; 2],
    ) -> Result<Option<ApartNames>, Error> {
        let changed = store.history().changed(
            &store.objects().source_at(parent),
            &store.objects().source_at(own),
            &RepoPath::root(),
        )?;
        let mut others = Vec::new();
        for log in changed.iter().filter(|path| path.name() == TRANSCRIPT_FILE) {
            let task = self.after.search().task_of_path(log)?;
            let Some(task) = task.filter(|task| task.directory() != self.task.directory()) else {
                continue;
            };
            others.push(self.planned(&task)?);
        }
        if others.is_empty() {
            return Ok(None);
        }
        Ok(Some(ApartNames {
            own: self.planned(self.task)?,
            others,
        }))
    }

    fn planned(&self, task: &TaskRef) -> Result<PlannedPaths, Error> {
        match self.after.observe(task, u64::MAX) {
            Ok(read) => Ok(planned_paths(
                &read.compiled.workflow,
                &read.recorded,
                &read.observed.facts,
            )),
            // A task that cannot be read names nothing.
            Err(error) if error.class() != Class::Fault => Ok(PlannedPaths::default()),
            Err(error) => Err(error),
        }
    }

    fn moved_alone(
        &self,
        step: &NewStep,
        workflow: &Workflow,
        snapshot: &Snapshot<'_>,
        artifact: &ArtifactName,
        wanted: Digest,
    ) -> Result<Option<String>, Error> {
        let unknown = || {
            Some(", and no single commit shows when the phase that makes it was entered".to_owned())
        };
        let CodeAt::Commit(store, Some(to)) = snapshot.code else {
            return Ok(unknown());
        };
        let Some(artifact) = workflow.artifact(artifact) else {
            return Ok(unknown());
        };
        let last = match self.own_code {
            CodeAt::Commit(_, Some(own)) => own,
            _ => to,
        };
        let mut entries = Vec::new();
        let mut nowhere = None;
        for (code, event) in self.entries_of(step, workflow, &artifact.name) {
            let brought = store.history().commit_bringing(
                last,
                TRANSCRIPT_FILE,
                &LogEvent::line_start(&event),
            )?;
            let Some(brought) = brought else { break };
            let [before] = store.history().visit(brought)?.parents[..] else {
                break;
            };
            entries.push(PhaseEntry { code, before });
            match snapshot.other_change(self.task, artifact, &entries, (wanted, to))? {
                CodeChange::Same => return Ok(None),
                // What a squash brings at once does not show the code in between.
                CodeChange::Other(_) if brought == last && nowhere.is_some() => return Ok(nowhere),
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
        let maker = makers
            .next()
            .filter(|_| makers.next().is_none())
            .map(|phase| phase.id.clone());
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
