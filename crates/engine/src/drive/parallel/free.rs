//! Which tasks an agent can go on with now, and where each of them is.
//!
//! A task is looked at in its work tree, else on its branch, else on the base branch: never in the work tree of a person.

use super::next::TaskChoice;
use super::remote::{Furthest, RemoteTasks};
use super::task::TaskStage;
use super::{AGAIN, Parallel};
use crate::apply::Writer;
use crate::drive::foresee_run;
use crate::survey::{Error, HeldTasks, TaskLeases, TaskRef, Workspace};
use orch_base::{Digest, RepoPath, TaskId};
use orch_core::config::{self, BranchMerge, Config};
use orch_core::decide::{DutyKind, Ending, duty};
use orch_git::Store;
use std::collections::BTreeMap;
use std::time::Instant;

impl Parallel<'_> {
    /// Tasks that an agent can go on with and on which nothing works, those that come first, enough for this room. Notes tasks
    /// that are done and whose branch is not in the base branch. Returns an error if git cannot be read.
    pub(super) fn free_tasks(&mut self, room: usize) -> Result<Vec<TaskRef>, Error> {
        let ground = self.ground()?;
        let finder = ground.here.finder();
        let mut next = std::mem::take(&mut self.next);
        let taken = next.take(
            room,
            TaskChoice {
                all: &|| Ok(finder.tasks()?.into_iter().map(|task| task.id).collect()),
                order: self.order,
                is_free: &mut |id| match finder.task_of_id(id)? {
                    Some(task) => Ok(self.chance(&task, &ground)? == TaskChance::Free),
                    None => Ok(false),
                },
            },
        );
        self.next = next;
        let mut free = Vec::new();
        for id in taken? {
            free.extend(finder.task_of_id(&id)?);
        }
        Ok(free)
    }

    /// The task with this id, and whether an agent can go on with it; `None` if the base branch does not have it.
    pub(super) fn chance_of(
        &mut self,
        id: &TaskId,
    ) -> Result<Option<(TaskRef, TaskChance)>, Error> {
        let ground = self.ground()?;
        let Some(task) = ground.here.finder().task_of_id(id)? else {
            return Ok(None);
        };
        let chance = self.chance(&task, &ground)?;
        Ok(Some((task, chance)))
    }

    /// Whether an agent can go on with a task on which nothing works.
    fn chance(&mut self, task: &TaskRef, ground: &TaskGround) -> Result<TaskChance, Error> {
        let base = ground.base;
        let here = &ground.here;
        let is_meant = self.options.tasks.is_empty() || self.options.tasks.contains(&task.id);
        if !is_meant || self.is_in_work(task) {
            return Ok(TaskChance::Taken);
        }
        let log = task.transcript_path();
        let found = self.furthest(&task.id, Some(log.as_str()))?;
        let tip = found.map(|found| found.commit);
        if self.seen.get(&task.id) == Some(&tip.unwrap_or(base)) {
            return Ok(TaskChance::None);
        }
        // A work tree may hold the task itself.
        let has_tree = self.trees.place(&task.id)?.path.exists();
        if !has_tree && let Some(other) = ground.held.get(&task.id) {
            self.note_held(task, &other.lease.owner.name)?;
            return Ok(TaskChance::Taken);
        }
        // A branch says by its tip whether there is something new.
        let files = match tip {
            Some(_) => None,
            None => object(self.store, base, task.directory())?,
        };
        let has_ended_lease = |remote: &RemoteTasks<'_>| remote.has_ended(&task.id);
        if files.is_some()
            && self.finished.files_of(&task.id) == files
            && !self.remote.as_ref().is_some_and(has_ended_lease)
        {
            return Ok(TaskChance::Taken);
        }
        if let Some(tip) = tip
            && self.remote.is_none()
            && self.joined.contain(self.store.history(), tip)?
            && let Ok(Some(SightChance::Done(_))) = self.end_of(task, here)
        {
            // Whoever has done it has joined it, too.
            self.seen.insert(task.id.clone(), tip);
            return Ok(TaskChance::Taken);
        }
        let place = match found {
            None => None,
            Some(found) if found.is_here => Some(self.place(task, &found.commit.to_string())?),
            Some(found) => Some(self.open()?.at(&found.commit.to_string())?),
        };
        let place = place.as_ref().unwrap_or(here);
        // By a run in its place, or in the work tree of the caller.
        let places = [&self.writer.workspace.reader, &place.reader];
        if places
            .iter()
            .any(|reader| reader.run_files(task).is_driven())
        {
            return Ok(TaskChance::Taken);
        }
        if has_tree && let Some(holder) = self.holder(task, place)? {
            self.note_held(task, &holder)?;
            return Ok(TaskChance::Taken);
        }
        let phase = match self.end_of(task, place) {
            Ok(Some(SightChance::Free)) => return Ok(TaskChance::Free),
            Ok(Some(SightChance::Done(phase))) => phase,
            Ok(None) => return Ok(TaskChance::None),
            Err(error) => {
                let index = self.row(task)?;
                self.tasks[index].end(TaskStage::Failed, error.to_string());
                self.seen.insert(task.id.clone(), tip.unwrap_or(base));
                return Ok(TaskChance::Taken);
            }
        };
        if let Some(tip) = tip {
            let is_others = self.remote.is_none()
                && self.options.goes_on
                && !self.joined.contain(self.store.history(), tip)?;
            if is_others && self.waited.insert(task.id.clone(), tip) != Some(tip) {
                // Whoever has done it joins it, unless he was killed.
                self.again.insert(task.id.clone(), Instant::now() + AGAIN);
                return Ok(TaskChance::Taken);
            }
        }
        let is_joined = match tip {
            Some(tip) => {
                self.joined.contain(self.store.history(), tip)?
                    || has_changes(self.store, base, tip, &log)?
            }
            None => true,
        };
        let joins = joins(self.writer.workspace.reader.settings.config(), &self.base);
        if self.remote.is_some() && !is_joined && joins {
            // Its run has nothing to do but to take it. Without room for it now, it is found again.
            return Ok(TaskChance::Free);
        }
        if let Some(tip) = tip {
            self.seen.insert(task.id.clone(), tip);
        }
        if is_joined && let Some(files) = files {
            self.finished.note(&task.id, files);
        }
        let branch = self.trees.branch(&task.id);
        match &mut self.remote {
            Some(remote) if is_joined => {
                remote.clean(&task.id, &branch);
                match remote.left_behind(&branch, base)? {
                    Some(note) => {
                        let index = self.row(task)?;
                        self.tasks[index].end(TaskStage::Unmerged, note);
                        self.tasks[index].phase = phase;
                    }
                    None => remote.remove_unused(&self.trees, &task.id, &branch),
                }
            }
            None if !is_joined => {
                let index = self.row(task)?;
                self.tasks[index].end(TaskStage::Done, String::new());
                self.tasks[index].phase = phase;
                self.done.push(index);
            }
            _ => {}
        }
        Ok(TaskChance::Taken)
    }

    /// Tells of a task that was asked for by name that another holds it.
    fn note_held(&mut self, task: &TaskRef, holder: &str) -> Result<(), Error> {
        if !self.options.tasks.is_empty() {
            let index = self.row(task)?;
            self.tasks[index].end(TaskStage::Held, format!("{holder} holds it"));
        }
        Ok(())
    }

    /// What tasks are looked at on. What is known of tasks that are done is forgotten if the rules are others now.
    fn ground(&mut self) -> Result<TaskGround, Error> {
        let base = self.base_tip()?;
        let here = self.open()?.at(&base.to_string())?;
        let system = here.reader.settings.config().system.clone();
        let settings = RepoPath::new(config::FILE);
        let rules = [settings.ok(), Some(system)].into_iter().flatten();
        let rules = rules.map(|path| object(self.store, base, &path));
        let rules = rules.collect::<Result<Vec<_>, Error>>()?;
        self.finished.keep_under(rules);
        self.joined.follow(self.store.history(), base)?;
        let held = HeldTasks::of(&here.reader).all()?;
        Ok(TaskGround { base, here, held })
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
            let has_failed = row.stage == TaskStage::Failed
                && self.remote.is_none()
                && again.is_none()
                && !self.seen.contains_key(&row.task);
            row.is_active() || has_failed || self.done.contains(&index)
        })
    }

    /// The repository once more, to be read elsewhere.
    pub(super) fn open(&self) -> Result<Workspace, Error> {
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

    /// Where the branch of a task is furthest; `None` if there is none that goes on from the base branch.
    pub(super) fn furthest(
        &self,
        task: &TaskId,
        log: Option<&str>,
    ) -> Result<Option<Furthest>, Error> {
        let branch = self.trees.branch(task);
        match &self.remote {
            Some(remote) => remote.furthest(&branch, log),
            None => {
                let tip = self.store.work_trees().tip(&branch)?;
                Ok(tip.map(|commit| Furthest {
                    commit,
                    is_here: true,
                }))
            }
        }
    }

    /// Who else holds a task that is read in this place.
    fn holder(&self, task: &TaskRef, place: &Workspace) -> Result<Option<String>, Error> {
        if self.remote.is_some()
            && !place.reader.reads_work_dir()
            && let Some(tree) = self.trees.find(&task.id)?
        {
            let environment = self.writer.workspace.environment.elsewhere();
            return holder(task, &Workspace::open_to_look(&tree.path, environment)?);
        }
        holder(task, place)
    }

    /// How a task stands in its place; `None` if there is nothing to do for an agent. Returns an error if it cannot be read,
    /// or a run would refuse to begin.
    fn end_of(&self, task: &TaskRef, place: &Workspace) -> Result<Option<SightChance>, Error> {
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
        let is_done = duty(sight.workflow(), &sight.decision, None).kind == DutyKind::Done;
        let ends_well = end.ending == Ending::Completed;
        // The steps that lead to the end have to be recorded, even if no executor has to work for them.
        let is_work = end.goes_on() || (ends_well && !is_done);
        Ok(if is_work {
            if is_left_out {
                None
            } else {
                Some(SightChance::Free)
            }
        } else if ends_well {
            Some(SightChance::Done(phase))
        } else {
            None
        })
    }
}

/// The object that a commit has at a path.
fn object(store: &Store, commit: Digest, path: &RepoPath) -> Result<Option<Digest>, Error> {
    let found = store.objects().source_at(commit).object(path)?;
    Ok(found.map(|(object, _)| object))
}

/// Whether the base branch has all changes of the branch of a task that is done, by whatever commits. Logs only grow, and git
/// takes long to compare everything.
fn has_changes(store: &Store, base: Digest, tip: Digest, log: &RepoPath) -> Result<bool, Error> {
    let sizes = (log_size(store, base, log)?, log_size(store, tip, log)?);
    let has_less = matches!(sizes, (Some(base), Some(tip)) if base < tip);
    Ok(!has_less && store.work_trees().is_contained(tip, base)?)
}

/// How many bytes a commit has of a log; `None` if this clone does not have it.
fn log_size(store: &Store, commit: Digest, log: &RepoPath) -> Result<Option<u64>, Error> {
    match object(store, commit, log)? {
        Some(blob) => store.objects().blob_size(blob),
        None => Ok(Some(0)),
    }
}

/// The tasks that are done and joined: they are not looked at again as long as the base branch has the same of them.
#[derive(Debug, Default)]
pub(super) struct FinishedTasks {
    /// The rules that said so.
    rules: Vec<Option<Digest>>,
    /// The tree of the directory of each.
    files: BTreeMap<TaskId, Digest>,
}

impl FinishedTasks {
    /// Forgets all of them if these rules are others.
    fn keep_under(&mut self, rules: Vec<Option<Digest>>) {
        if self.rules != rules {
            self.files.clear();
            self.rules = rules;
        }
    }

    fn note(&mut self, task: &TaskId, files: Digest) {
        self.files.insert(task.clone(), files);
    }

    fn files_of(&self, task: &TaskId) -> Option<Digest> {
        self.files.get(task).copied()
    }

    /// Something has come of the task since.
    pub(super) fn forget(&mut self, task: &TaskId) {
        self.files.remove(task);
    }
}

/// Whether branches of tasks that are done are joined with the base branch.
fn joins(config: &Config, base: &str) -> bool {
    matches!(
        config.worktrees.merge,
        BranchMerge::Merge | BranchMerge::Rebase
    ) && !config.git.protected.matches(base)
}

/// The name of whoever holds a task, unless it is the work tree of the task itself.
pub(super) fn holder(task: &TaskRef, place: &Workspace) -> Result<Option<String>, Error> {
    let is_there = place.reader.reads_work_dir();
    let lease = HeldTasks::of(&place.reader).lease_of(&task.id)?;
    let other = lease.filter(|lease| !is_there || !lease.is_own);
    Ok(other.map(|other| other.lease.owner.name))
}

/// What tasks are looked at on.
struct TaskGround {
    /// Where the base branch is.
    base: Digest,
    /// Its files.
    here: Workspace,
    /// Who holds which task.
    held: TaskLeases,
}

/// Whether an agent can go on with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskChance {
    /// One can.
    Free,
    /// Somebody works on it, or will, or cannot.
    Taken,
    /// There is nothing to do for one, as far as this clone knows.
    None,
}

/// How a task stands that somebody can do something about.
enum SightChance {
    /// An agent can go on.
    Free,
    /// It is done, in this phase.
    Done(Option<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_tasks_are_known_by_their_files_and_under_the_same_rules() {
        let task = TaskId::new("login").expect("valid");
        let [files, rules, other] =
            ["a", "b", "c"].map(|digit| Digest::parse(&digit.repeat(40)).expect("40 digits"));
        let mut finished = FinishedTasks::default();
        finished.keep_under(vec![Some(rules), None]);
        finished.note(&task, files);
        finished.keep_under(vec![Some(rules), None]);
        assert_eq!(finished.files_of(&task), Some(files));
        finished.keep_under(vec![Some(other), None]);
        assert_eq!(finished.files_of(&task), None);
        finished.note(&task, files);
        finished.forget(&task);
        assert_eq!(finished.files_of(&task), None);
    }
}
