//! The tasks that somebody could go on with now.
//!
//! This work tree is read with what is known of earlier looks. Of the other places, only tasks are looked at whose record is
//! further there: one that is done elsewhere is not offered.

use super::tasks::{repository, statuses};
use crate::survey::{OverviewTask, TaskRef, Workspace};
use orch_base::{Diagnostic, Error, TaskId};
use orch_core::decide::{GraphTask, Priority, RelationGraph};
use orch_core::workflow::Owner;
use orch_view::{FreeTask, FreeTasks, TaskStatus};
use std::collections::{BTreeMap, BTreeSet};

/// A task somewhere in the repository.
struct Candidate {
    status: Box<TaskStatus>,
    /// The task in this work tree; `None` if it is further elsewhere.
    here: Option<TaskRef>,
    /// Where it is further.
    place: Option<String>,
}

/// Whom the tasks are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreeFor<'a> {
    /// Anybody.
    Anybody,
    /// One with this name: not what is assigned to another.
    One(&'a str),
}

/// The free tasks, in the order in which they are to be taken.
pub struct Free {
    candidates: Vec<Candidate>,
    /// The tasks that this work tree holds.
    own: Vec<TaskRef>,
    graph: RelationGraph,
    held: usize,
    /// The number of tasks that are finished.
    pub done: usize,
    /// What is wrong with tasks and places.
    pub problems: Vec<Diagnostic>,
}

/// Finds the free tasks. Returns an error if there is no repository, or git cannot list its branches.
pub fn free(workspace: &Workspace) -> Result<Free, Error> {
    let (all, misnamed) = workspace.finder().survey()?;
    let (archived, tasks): (Vec<TaskRef>, Vec<TaskRef>) =
        all.into_iter().partition(|task| task.id.is_archived());
    let (rows, mut problems) = statuses(workspace, &tasks);
    problems.extend(misnamed);
    // Of archived tasks, only those that others wait for matter.
    let awaited: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| &row.task.relations.after)
        .map(TaskId::as_str)
        .collect();
    let is_awaited = |task: &TaskRef| {
        let before = task.id.unarchived();
        awaited.contains(task.id.as_str()) || before.is_some_and(|id| awaited.contains(id))
    };
    let finished: Vec<TaskRef> = archived.into_iter().filter(is_awaited).collect();
    let finished_rows = match finished.is_empty() {
        true => Vec::new(),
        false => statuses(workspace, &finished).0,
    };
    let mut known: BTreeMap<String, Candidate> = BTreeMap::new();
    let all = tasks.into_iter().zip(rows);
    for (task, status) in all.chain(finished.into_iter().zip(finished_rows)) {
        let here = Some(task);
        let place = None;
        let id = status.task.id.clone();
        let candidate = Candidate {
            status,
            here,
            place,
        };
        known.insert(id, candidate);
    }
    if workspace.reader().store().is_some() && workspace.has_other_places()? {
        further_elsewhere(workspace, &mut known, &mut problems)?;
    }
    Ok(Free::of(known.into_values().collect(), problems))
}

/// Puts the tasks in the place of those of this work tree whose record is further in another place.
fn further_elsewhere(
    workspace: &Workspace,
    known: &mut BTreeMap<String, Candidate>,
    problems: &mut Vec<Diagnostic>,
) -> Result<(), Error> {
    let overview = workspace.overview_elsewhere()?;
    problems.extend(overview.problems.iter().cloned());
    let is_open = |task: &&OverviewTask| !task.sight.task.id.is_archived();
    for task in overview.tasks.iter().filter(is_open) {
        let subject = overview.subject(task);
        let status: Box<TaskStatus> = TaskStatus::of(&subject).into();
        let place = Some(overview.places[task.place].name.clone());
        let here = None;
        let candidate = Candidate {
            status,
            here,
            place,
        };
        known.insert(task.sight.task.id.to_string(), candidate);
    }
    Ok(())
}

impl Free {
    /// Chooses among all tasks.
    fn of(candidates: Vec<Candidate>, problems: Vec<Diagnostic>) -> Self {
        let in_graph = candidates.iter().filter_map(|candidate| {
            let status = &candidate.status;
            Some(GraphTask {
                id: TaskId::new(&status.task.id).ok()?,
                relations: status.task.relations.relations(),
                done: status.is_done(),
                waits_for_parts: status.waits_for_parts,
            })
        });
        let graph = RelationGraph::new(in_graph);
        let mut candidates = candidates;
        let is_done = |candidate: &&Candidate| {
            let is_archived = |task: &TaskRef| task.id.is_archived();
            candidate.status.is_done() && !candidate.here.as_ref().is_some_and(is_archived)
        };
        let done = candidates.iter().filter(is_done).count();
        candidates.retain(|candidate| is_work(&candidate.status, &graph));
        let is_held = |candidate: &mut Candidate| candidate.status.task.held.is_some();
        let taken: Vec<Candidate> = candidates.extract_if(.., is_held).collect();
        let held = taken.len();
        let is_own = |candidate: &Candidate| {
            let held = candidate.status.task.held.as_ref();
            held.is_some_and(|held| held.own)
        };
        let own = taken
            .into_iter()
            .filter(is_own)
            .filter_map(|candidate| candidate.here)
            .collect();
        candidates.sort_by_cached_key(|candidate| {
            let status = &candidate.status;
            let first = TaskId::new(&status.task.id).map(|id| graph.precedence(&id));
            (first.ok(), status.waits_since(), status.task.id.clone())
        });
        Self {
            candidates,
            own,
            graph,
            held,
            done,
            problems,
        }
    }

    /// The tasks of this work tree that can be taken, the first to be taken first.
    pub fn here(&self, whom: FreeFor<'_>) -> Vec<&TaskRef> {
        let is_for =
            |candidate: &&Candidate| match (whom, &candidate.status.task.relations.assignee) {
                (FreeFor::Anybody, _) | (_, None) => true,
                (FreeFor::One(name), Some(assignee)) => is_same_person(name, assignee),
            };
        self.candidates
            .iter()
            .filter(is_for)
            .filter_map(|candidate| candidate.here.as_ref())
            .collect()
    }

    /// The tasks of this work tree to work on: those that it holds, then those that are free.
    pub fn work(&self) -> Vec<&TaskRef> {
        let mut work: Vec<&TaskRef> = self.own.iter().collect();
        work.extend(self.here(FreeFor::Anybody));
        work
    }

    /// The list for people and programs.
    pub fn list(mut self, workspace: &Workspace) -> (FreeTasks, Vec<Diagnostic>) {
        let repository = repository(workspace, &mut self.problems);
        let tasks = self.candidates.iter().map(|candidate| self.row(candidate));
        let tasks = tasks.collect();
        let diagnostics = self.problems.iter().map(orch_view::Finding::of).collect();
        let list = FreeTasks {
            repository,
            tasks,
            held: self.held,
            diagnostics,
        };
        (list, self.problems)
    }

    fn row(&self, candidate: &Candidate) -> FreeTask {
        let status = &candidate.status;
        let behind = TaskId::new(&status.task.id).map(|id| self.graph.chain_behind(&id));
        let priority = status.task.relations.priority.unwrap_or(Priority::Normal);
        FreeTask {
            task: status.task.id.clone(),
            title: status.task.title.clone(),
            current_phase: status.task.current_phase.clone(),
            what: status.what().to_owned(),
            priority: priority.as_str(),
            behind: behind.unwrap_or_default(),
            assignee: status.task.relations.assignee.clone(),
            place: candidate.place.clone(),
        }
    }
}

/// Whether somebody could go on with a task if nobody held it: an agent has to work on it, or a step is due, and it waits
/// for no other.
fn is_work(status: &TaskStatus, graph: &RelationGraph) -> bool {
    let is_owned = matches!(status.duty.owner, Owner::Agent | Owner::Orch);
    let blocked = TaskId::new(&status.task.id).map(|id| graph.blocked_by(&id));
    is_owned && blocked.is_ok_and(|blocked| blocked.is_empty())
}

/// Whether a name of an owner or a caller is that of whom a task is assigned to.
fn is_same_person(name: &str, assignee: &str) -> bool {
    let name = name.split(" in ").next().unwrap_or(name);
    name.eq_ignore_ascii_case(assignee.trim_start_matches('@'))
}
