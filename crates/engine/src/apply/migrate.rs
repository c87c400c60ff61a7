//! Moves tasks to the present version of their workflow, by the map in its document: for each one event.

use super::advance::{Advance, TaskOutcome};
use super::authority::Authority;
use super::orders::usable_state;
use crate::survey::former::workflow_then;
use crate::survey::{Error, Loaded, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint, PhaseId};
use orch_core::decide::{
    self, Detail, DetailStep, Migration, Stamp, State, Step, WorkflowRef, counts_no_more,
};
use std::sync::Arc;

/// Moves tasks to the present version of their workflow.
#[derive(Clone, Copy)]
pub struct Migrate<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) advance: Advance<'w>,
}

/// What a migration would do with a task.
pub enum PlannedMigration {
    /// Nothing: it follows the present version, or one that is the same machine, or it is finished.
    Nothing,
    /// It moves.
    Moves(Box<TaskMigration>),
    /// It cannot move.
    Refused(Diagnostic),
}

/// The step by which a task moves.
pub struct TaskMigration {
    /// The phase in which the task is, by its former name.
    pub from: String,
    /// The phase in which it goes on.
    pub to: PhaseId,
    /// What it says of the versions.
    pub migration: Migration,
    /// What counts no more, in words.
    pub dropped: Vec<String>,
    /// Why no audit could verify the move: HEAD does not have the document.
    pub unverifiable: Option<Diagnostic>,
    step: Step,
}

impl Migrate<'_> {
    /// What a migration would do with a task. Returns an error if the task or git cannot be read.
    pub fn plan(&self, task: &TaskRef) -> Result<PlannedMigration, Error> {
        let sight = self.reader.look(task)?;
        let mut planned = self.planned(&sight, &self.authority.stamp())?;
        if let PlannedMigration::Moves(moved) = &mut planned {
            moved.unverifiable = self.reader.uncommitted_workflow(&sight)?;
        }
        Ok(planned)
    }

    /// Moves tasks; those that cannot or need not move stay as they are. Returns an error if one cannot be read, or nothing
    /// can be committed now.
    pub fn tasks(&self, tasks: &[TaskRef]) -> Result<Vec<TaskOutcome>, Error> {
        let stamp = self.authority.stamp();
        self.advance.apply(tasks, false, &|sight| {
            let steps = match self.planned(sight, &stamp)? {
                PlannedMigration::Moves(moved) => vec![moved.step],
                PlannedMigration::Nothing | PlannedMigration::Refused(_) => Vec::new(),
            };
            Ok(self.reader.settled(sight, steps))
        })
    }

    fn planned(&self, sight: &Sight, stamp: &Stamp) -> Result<PlannedMigration, Error> {
        let workflow = sight.workflow();
        let Some(state) = sight.state().filter(|_| !sight.untracked) else {
            return Ok(PlannedMigration::Nothing);
        };
        let (Some(follows), Some(from)) = (&state.workflow, &state.phase) else {
            return Ok(PlannedMigration::Nothing);
        };
        let known = workflow.phase_named(from);
        let is_over = known.is_some_and(|phase| phase.terminal);
        if is_over || workflow.has_digest(follows.digest) {
            return Ok(PlannedMigration::Nothing);
        }
        let former = self.former(sight, follows)?;
        let former_workflow = former.as_ref().and_then(|former| former.workflow());
        // Records from before the digest was that of the machine name the bytes.
        let is_same = former_workflow.is_some_and(|former| former.digest == workflow.digest);
        if known.is_some() && is_same && follows.name == workflow.name {
            return Ok(PlannedMigration::Nothing);
        }
        if let Err(error) = usable_state(sight) {
            return Ok(PlannedMigration::Refused(error.into()));
        }
        let follows = (state, follows, from.as_str());
        Ok(step(sight, follows, former.as_deref(), stamp))
    }

    /// The version of the workflow that a task follows, if this history has it.
    fn former(&self, sight: &Sight, follows: &WorkflowRef) -> Result<Option<Arc<Loaded>>, Error> {
        let (Some(store), Some(head)) = (self.reader.store(), sight.head_commit()) else {
            return Ok(None);
        };
        workflow_then(store, head, &self.reader.settings.config.system, follows)
    }
}

/// The step by which a task moves, or why it cannot.
fn step(
    sight: &Sight,
    (state, follows, from): (&State, &WorkflowRef, &str),
    former: Option<&Loaded>,
    stamp: &Stamp,
) -> PlannedMigration {
    let workflow = sight.workflow();
    let task = &sight.task.id;
    let Some(to) = workflow.goes_on_in(from) else {
        let message = format!(
            "`{task}` is in `{from}`, which workflow `{}` has no more, and nothing says where it goes on",
            workflow.name
        );
        let hint = format!(
            "say so in {}: `{from}` under `phases` of `[migrate]`, or in the `aliases` of its new name",
            workflow.path
        );
        return PlannedMigration::Refused(
            Diagnostic::error(Code::UnknownPhase, message).hint(hint),
        );
    };
    let former = former.and_then(Loaded::workflow);
    if former.is_none() && workflow.phase_named(from).is_none() {
        let message = format!(
            "`{task}` follows {follows}, which is not in this history, so nobody can say whether `{to}` came after `{from}`"
        );
        let hint = Hint::from("fetch the whole history, or as a person: ").command(&[
            "orch",
            "rollback",
            task.as_str(),
            "--to",
            to.as_str(),
            "--reason",
            decide::WHY,
        ]);
        return PlannedMigration::Refused(
            Diagnostic::error(Code::WorkflowMissing, message).hint(hint),
        );
    }
    let migration = Migration {
        map: workflow.map(),
        from: follows.clone(),
        to: WorkflowRef {
            name: workflow.name.clone(),
            digest: workflow.digest,
        },
    };
    let wanted = DetailStep {
        detail: Detail::Migrate(migration.clone()),
        at: stamp.at,
        to: Some(to),
        former,
        why: None,
    };
    let transition = match decide::detailed(workflow, state, task, wanted) {
        Ok(transition) => transition,
        Err(why) => {
            let message = format!("`{task}` cannot move: {why}");
            let hint = format!(
                "let `[migrate]` of {} name a phase that does not come later",
                workflow.path
            );
            let found = Diagnostic::error(Code::MigrationRefused, message).hint(hint);
            return PlannedMigration::Refused(found);
        }
    };
    let facts = &sight.observed.facts;
    let after = decide::apply(workflow, state, facts, &transition, stamp);
    let dropped = counts_no_more(workflow, state, &after);
    let step = Step {
        transition,
        state: after,
    };
    PlannedMigration::Moves(Box::new(TaskMigration {
        from: from.to_owned(),
        to: to.clone(),
        migration,
        dropped,
        unverifiable: None,
        step,
    }))
}
