//! Relates tasks to others: each change is one event, in one commit.

use super::advance::{Advance, Applied};
use super::authority::Authority;
use super::orders::{first_applied, usable_state};
use crate::survey::other_glimpse::KnownOthers;
use crate::survey::{Error, Finder, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint, TaskId};
use orch_core::decide::{
    self, Detail, DetailStep, OtherTasks, Priority, RelationFault, Relations, Settled, Stamp,
    State, Step,
};

/// What somebody wants of the relations of a task. Tasks are named as on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RelationWish {
    /// Tasks that have to be done before.
    pub after: Vec<String>,
    /// Tasks that it waits for no longer.
    pub not_after: Vec<String>,
    /// The task of which it is a part; `Some(None)` for none.
    pub parent: Option<Option<String>>,
    /// How urgent it is; `Some(None)` to say nothing.
    pub priority: Option<Option<Priority>>,
    /// Who is to do it; `Some(None)` for nobody in particular.
    pub assignee: Option<Option<String>>,
}

impl RelationWish {
    /// Whether nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Relates tasks to others.
#[derive(Clone, Copy)]
pub struct Relate<'w> {
    pub(super) reader: &'w Reader,
    pub(super) finder: Finder<'w>,
    pub(super) authority: Authority<'w>,
    pub(super) advance: Advance<'w>,
}

impl Relate<'_> {
    /// Changes the relations of a task. With `dry_run` nothing is written.
    ///
    /// Returns an error if a task that is named does not exist, the change would close a circle, nothing would change, the
    /// record of the task cannot be used, or nothing can be committed now.
    pub fn task(
        &self,
        task: &TaskRef,
        wish: &RelationWish,
        dry_run: bool,
    ) -> Result<Applied, Error> {
        let stamp = self.authority.stamp();
        let outcomes = self
            .advance
            .apply(std::slice::from_ref(task), dry_run, &|sight| {
                let state = usable_state(sight)?;
                let relations = self.wanted(&task.id, &state.relations, wish)?;
                if relations == state.relations {
                    let message = format!("`{}` is already related so", task.id);
                    return Err(Error::new(Code::NothingToApply, message));
                }
                let others = self.others(sight, &relations, &KnownOthers::default())?;
                refuse_circle(&relations, &others)?;
                self.step(sight, &state, relations, others, &stamp)
            });
        outcomes.and_then(first_applied)
    }

    /// The relations that somebody wants, given those that a task has. Returns an error if a task that is named does not
    /// exist, or is not among those that it names.
    pub(super) fn wanted(
        &self,
        task: &TaskId,
        known: &Relations,
        wish: &RelationWish,
    ) -> Result<Relations, Error> {
        let mut relations = known.clone();
        for name in &wish.not_after {
            let at = relations.after.iter().position(|id| id.as_str() == name);
            match at {
                Some(at) => drop(relations.after.remove(at)),
                None => return Err(not_awaited(task, name, known)),
            }
        }
        for name in &wish.after {
            let id = self.named(task, name)?;
            if !relations.after.contains(&id) {
                relations.after.push(id);
            }
        }
        match &wish.parent {
            Some(Some(name)) => relations.parent = Some(self.named(task, name)?),
            Some(None) => relations.parent = None,
            None => {}
        }
        if let Some(priority) = wish.priority {
            relations.priority = priority;
        }
        if let Some(assignee) = &wish.assignee {
            relations.assignee.clone_from(assignee);
        }
        Ok(relations)
    }

    /// The id by which a relation names a task: an archived one by the id that it had before.
    fn named(&self, task: &TaskId, name: &str) -> Result<TaskId, Error> {
        if name == task.as_str() {
            return Ok(task.clone());
        }
        let id = self.finder.task(name)?.id;
        let before = id.unarchived().and_then(|before| TaskId::new(before).ok());
        Ok(before.unwrap_or(id))
    }

    /// The step by which a task gets these relations, and what is decided after it.
    fn step(
        &self,
        sight: &Sight,
        state: &State,
        relations: Relations,
        others: OtherTasks,
        stamp: &Stamp,
    ) -> Result<Settled, Error> {
        let step = related(sight, state, relations, stamp)?;
        Ok(self.reader.settled(&among(sight, others), vec![step]))
    }

    /// What decisions about a task with these relations see of others.
    pub(super) fn others(
        &self,
        sight: &Sight,
        relations: &Relations,
        known: &KnownOthers,
    ) -> Result<OtherTasks, Error> {
        self.finder
            .others_around(&sight.task, sight.workflow(), relations, known)
    }

    /// Gives the new id of a task to all that name the former one. Returns what was applied. Returns an error if the record
    /// of one cannot be used, or nothing can be committed now.
    pub(super) fn rename(&self, from: &TaskId, to: &TaskId) -> Result<Vec<Applied>, Error> {
        let before = from.unarchived().unwrap_or(from.as_str());
        let after = match to.unarchived() {
            Some(after) => {
                TaskId::new(after).map_err(|fault| Error::new(Code::BadPath, fault.to_string()))?
            }
            None => to.clone(),
        };
        if before == after.as_str() {
            return Ok(Vec::new());
        }
        let is_meant = |id: &TaskId| id.as_str() == before;
        let names = |relations: &Relations| {
            relations.after.iter().any(is_meant) || relations.parent.as_ref().is_some_and(is_meant)
        };
        let tasks = self.finder.tasks()?;
        let glimpses = self.finder.glimpses(&tasks)?;
        let named: Vec<TaskRef> = tasks
            .into_iter()
            .zip(&glimpses)
            .filter(|(_, glimpse)| names(&glimpse.node.relations))
            .map(|(task, _)| task)
            .collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let stamp = self.authority.stamp();
        let known = KnownOthers::default();
        let outcomes = self.advance.apply(&named, false, &|sight| {
            known.go_on(sight.head_commit());
            let state = usable_state(sight)?;
            let mut relations = state.relations.clone();
            for id in relations.after.iter_mut().chain(&mut relations.parent) {
                if is_meant(id) {
                    *id = after.clone();
                }
            }
            let others = self.others(sight, &relations, &known)?;
            self.step(sight, &state, relations, others, &stamp)
        })?;
        let applied = outcomes.into_iter().filter_map(|outcome| match outcome {
            super::TaskOutcome::Applied(applied) => Some(*applied),
            super::TaskOutcome::Nothing(_) => None,
        });
        Ok(applied.collect())
    }
}

/// Returns an error if a task that names others waits for itself, or is part of itself.
pub(super) fn refuse_circle(relations: &Relations, others: &OtherTasks) -> Result<(), Error> {
    if relations.after.is_empty() && relations.parent.is_none() {
        return Ok(());
    }
    match &others.fault {
        Some(fault @ (RelationFault::Waits(_) | RelationFault::Parts(_))) => {
            let message = format!("this would close a circle: {fault}");
            let hint = Hint::from("see who waits for whom: ").command(&["orch", "graph"]);
            Err(Diagnostic::error(fault.code(), message).hint(hint).into())
        }
        Some(RelationFault::Unknown(_)) | None => Ok(()),
    }
}

/// The step by which a task gets these relations.
pub(super) fn related(
    sight: &Sight,
    state: &State,
    relations: Relations,
    stamp: &Stamp,
) -> Result<Step, Error> {
    let workflow = sight.workflow();
    let step = DetailStep {
        detail: Detail::Relate(relations),
        at: stamp.at,
        to: None,
        former: None,
        why: None,
    };
    let transition = decide::detailed(workflow, state, &sight.task.id, step)
        .map_err(|why| Error::new(Code::RelationCycle, why))?;
    let state = decide::apply(workflow, state, &sight.observed.facts, &transition, stamp);
    Ok(Step { transition, state })
}

/// The same sight, among these other tasks.
pub(super) fn among(sight: &Sight, others: OtherTasks) -> Sight {
    let mut sight = sight.clone();
    sight.observed.facts.others = others;
    sight
}

/// The error about a task that is to be awaited no longer, and is not.
fn not_awaited(task: &TaskId, name: &str, known: &Relations) -> Error {
    let message = format!("`{task}` does not wait for `{name}`");
    let named: Vec<&str> = known.after.iter().map(TaskId::as_str).collect();
    let hint = if named.is_empty() {
        "it waits for no task".to_owned()
    } else {
        format!("it waits for {}", named.join(", "))
    };
    Error::new(Code::RelationUnknown, message).with_hint(hint)
}
