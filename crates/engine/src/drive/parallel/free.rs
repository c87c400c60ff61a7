//! Which tasks an agent can go on with now, and where each of them is.
//!
//! A task is looked at in its work tree, else on its branch, else on the base branch: never in the work tree of a person.

use super::Parallel;
use super::task::TaskStage;
use crate::apply::Writer;
use crate::drive::foresee_run;
use crate::survey::{Error, HeldTasks, TaskRef, Workspace};
use orch_core::decide::Ending;
use std::time::Instant;

impl Parallel<'_> {
    /// The tasks that an agent can go on with and on which nothing works, in the order of the task list. Notes tasks that are
    /// done and whose branch is not in the base branch. Returns an error if git cannot be read.
    pub(super) fn free_tasks(&mut self) -> Result<Vec<TaskRef>, Error> {
        let base = self.base_tip()?;
        let here = self.open()?.at(&base.to_string())?;
        let mut free = Vec::new();
        for task in here.finder().tasks()? {
            let is_meant = self.options.tasks.is_empty() || self.options.tasks.contains(&task.id);
            if !is_meant || self.is_in_work(&task) {
                continue;
            }
            let tip = self.store.work_trees().tip(&self.trees.branch(&task.id))?;
            if self.seen.get(&task.id) == Some(&tip.unwrap_or(base)) {
                continue;
            }
            let place = match tip {
                None => None,
                Some(tip) => Some(self.place(&task, &tip.to_string())?),
            };
            let place = place.as_ref().unwrap_or(&here);
            if self.is_driven(&task, place) {
                continue;
            }
            if let Some(holder) = holder(&task, place)? {
                if !self.options.tasks.is_empty() {
                    let index = self.row(&task)?;
                    self.tasks[index].end(TaskStage::Held, format!("{holder} holds it"));
                }
                continue;
            }
            match self.end_of(&task, place) {
                Ok(None) => {}
                Ok(Some(TaskChance::Free)) => free.push(task),
                Ok(Some(TaskChance::Done(phase))) => {
                    if let Some(tip) = tip {
                        self.seen.insert(task.id.clone(), tip);
                        if !self.store.work_trees().is_contained(tip, base)? {
                            let index = self.row(&task)?;
                            self.tasks[index].end(TaskStage::Done, String::new());
                            self.tasks[index].phase = phase;
                            self.done.push(index);
                        }
                    }
                }
                Err(error) => {
                    let index = self.row(&task)?;
                    self.tasks[index].end(TaskStage::Failed, error.to_string());
                    self.seen.insert(task.id.clone(), tip.unwrap_or(base));
                }
            }
        }
        Ok(free)
    }

    /// Whether this process works on a task or its branch, waits before it tries again, or has tried in vain before there was a
    /// branch.
    fn is_in_work(&self, task: &TaskRef) -> bool {
        let again = self.again.get(&task.id);
        if again.is_some_and(|again| *again > Instant::now()) {
            return true;
        }
        let row = self.tasks.iter().position(|row| row.task == task.id);
        row.is_some_and(|index| {
            let row = &self.tasks[index];
            let has_failed = row.stage == TaskStage::Failed && !self.seen.contains_key(&row.task);
            row.is_active() || has_failed || self.done.contains(&index)
        })
    }

    /// The repository once more, to be read elsewhere.
    fn open(&self) -> Result<Workspace, Error> {
        let workspace = self.writer.workspace;
        Workspace::open_to_look(workspace.reader.root(), workspace.environment.clone())
    }

    /// Where a task with a branch is: in its work tree, or on the branch.
    fn place(&self, task: &TaskRef, tip: &str) -> Result<Workspace, Error> {
        match self.trees.find(&task.id)? {
            Some(tree) => {
                let environment = self.writer.workspace.environment.elsewhere();
                Workspace::open_to_look(&tree.path, environment)
            }
            None => self.open()?.at(tip),
        }
    }

    /// Whether a process runs the task, in its place or in the work tree of the caller.
    fn is_driven(&self, task: &TaskRef, place: &Workspace) -> bool {
        let here = &self.writer.workspace.reader;
        [here, &place.reader]
            .iter()
            .any(|reader| reader.run_files(task).is_driven())
    }

    /// How a task stands in its place; `None` if there is nothing to do for an agent. Returns an error if it cannot be read,
    /// or a run would refuse to begin.
    fn end_of(&self, task: &TaskRef, place: &Workspace) -> Result<Option<TaskChance>, Error> {
        let sight = place.look(task)?;
        let phase = sight.decision.phase.as_ref().map(ToString::to_string);
        let phases = &self.options.phases;
        let is_left_out = phase
            .as_ref()
            .is_some_and(|phase| !phases.is_empty() && !phases.contains(phase));
        if sight.untracked {
            return Ok(None);
        }
        let writer = Writer::new(place, self.writer.caller);
        let end = foresee_run(&writer, task, &self.options.run)?;
        Ok(if end.goes_on() {
            if is_left_out {
                None
            } else {
                Some(TaskChance::Free)
            }
        } else if end.ending == Ending::Completed {
            Some(TaskChance::Done(phase))
        } else {
            None
        })
    }
}

/// The name of whoever holds a task, unless it is the work tree of the task itself.
pub(super) fn holder(task: &TaskRef, place: &Workspace) -> Result<Option<String>, Error> {
    let is_there = place.reader.reads_work_dir();
    let lease = HeldTasks::of(&place.reader).lease_of(&task.id)?;
    let other = lease.filter(|lease| !is_there || !lease.is_own);
    Ok(other.map(|other| other.lease.owner.name))
}

/// How a task stands that somebody can do something about.
enum TaskChance {
    /// An agent can go on.
    Free,
    /// It is done, in this phase.
    Done(Option<String>),
}
