//! The tasks to which a task is related, read from the same source.
//!
//! Those that a task waits for are read by their names. Its parts have to be searched for among all tasks, which is done only
//! for a workflow that asks about them, and once for a series of looks.

use super::other_glimpse::{KnownOthers, OtherGlimpse, SeesOthers};
use super::snapshot::Snapshot;
use super::{CodeAt, Error, Finder, Look, TaskRef};
use orch_base::{Digest, TaskId};
use orch_core::decide::{
    DoneOnBase, GraphTask, OtherTask, OtherTasks, Recorded, RelationGraph, Relations,
};
use orch_core::record::{KnownLog, LogPeek, RecordReading, StateText, believed_state, read_record};
use orch_core::workflow::{Phase, Workflow};
use orch_files::Content;
use orch_git::{BaseBranch, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// How much of the end of a log is read.
const LOG_END: u64 = 64 << 10;

/// Whether a decision about a task with these relations may rest on other tasks.
pub(super) fn rests_on_others(workflow: &Workflow, relations: &Relations) -> bool {
    !relations.after.is_empty() || relations.parent.is_some() || workflow.reads_children()
}

/// What says which other tasks a look at a task reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Related {
    relations: Relations,
    /// Whether the workflow asks about the parts of the task.
    reads_children: bool,
}

impl Related {
    pub(super) fn of(workflow: &Workflow, relations: &Relations) -> Self {
        Self {
            relations: relations.clone(),
            reads_children: workflow.reads_children(),
        }
    }
}

/// Reads the tasks to which a task is related, in one source.
#[derive(Clone, Copy)]
pub(crate) struct OtherReader<'s> {
    snapshot: &'s Snapshot<'s>,
}

impl<'s> OtherReader<'s> {
    pub(crate) fn of(snapshot: &'s Snapshot<'s>) -> Self {
        Self { snapshot }
    }

    /// What a decision about a task sees of others, with what is wrong with its relations. Returns an error if the source
    /// cannot be read.
    pub(super) fn other_tasks(
        &self,
        task: &TaskRef,
        related: &Related,
        known: &KnownOthers,
    ) -> Result<OtherTasks, Error> {
        let Related {
            relations,
            reads_children,
        } = related;
        let mut others = OtherTasks::default();
        for id in &relations.after {
            let Some(found) = self.other(id, known)? else {
                continue;
            };
            if found.is_given_up {
                others.given_up.push(id.clone());
            }
            if let Some(seen) = &found.seen {
                others.seen.push(OtherTask {
                    id: id.clone(),
                    ..seen.clone()
                });
            }
        }
        if *reads_children {
            for part in self.parts_of(&task.id, known)? {
                others.seen.extend(
                    part.seen
                        .clone()
                        .map(|seen| OtherTask { part: true, ..seen }),
                );
            }
        }
        let own = GraphTask {
            id: task.id.clone(),
            relations: relations.clone(),
            done: false,
            waits_for_parts: *reads_children,
        };
        others.fault = self.graph_around(own, known)?.fault(&task.id);
        Ok(others)
    }

    /// The task with its relations, and those that it waits for one after the other, or is part of. What is behind those
    /// that lead to no cycle, as the series of looks has found out, is left out.
    fn graph_around(&self, own: GraphTask, known: &KnownOthers) -> Result<RelationGraph, Error> {
        let mut named_before: HashSet<TaskId> = HashSet::from([own.id.clone()]);
        let mut tasks = vec![own];
        let mut at = 0;
        while let Some(task) = tasks.get(at).cloned() {
            at += 1;
            if at > 1 && known.sound.borrow().contains(&task.id) {
                continue;
            }
            let named = task.relations.after.iter().filter(|_| !task.done);
            let mut found = Vec::new();
            for id in named.chain(&task.relations.parent) {
                found.extend(self.other(id, known)?);
            }
            if task.waits_for_parts && !task.done {
                found.extend(self.parts_of(&task.id, known)?);
            }
            for one in found {
                if named_before.insert(one.node.id.clone()) {
                    tasks.push(one.node.clone());
                }
            }
        }
        let graph = RelationGraph::new(tasks);
        if graph.is_without_cycles() {
            // Of the task itself, others may see less than its own look does.
            let others = graph.tasks().iter().skip(1).map(|task| task.id.clone());
            known.sound.borrow_mut().extend(others);
        }
        Ok(graph)
    }

    /// Whether a task with these relations is named by one that the series has read, or its parent waits for it.
    fn is_awaited(
        &self,
        id: &TaskId,
        relations: &Relations,
        known: &KnownOthers,
    ) -> Result<bool, Error> {
        if known.named.borrow().contains_key(id) {
            return Ok(true);
        }
        let parent = match &relations.parent {
            Some(parent) => self.other(parent, known)?,
            None => None,
        };
        Ok(parent.is_some_and(|parent| parent.node.waits_for_parts))
    }

    /// A task by the id that a relation names, also in the archive; `None` if there is none.
    fn other(&self, id: &TaskId, known: &KnownOthers) -> Result<Option<Arc<OtherGlimpse>>, Error> {
        if let Some(found) = known.named.borrow().get(id) {
            return Ok(found.clone());
        }
        let search = self.snapshot.search();
        let mut task = search.task_named(id)?;
        if let (None, Ok(archived)) = (&task, TaskId::new(id.archived())) {
            task = search.task_named(&archived)?;
        }
        let found = match task {
            Some(task) => Some(Arc::new(self.glimpse(&task)?)),
            None => None,
        };
        known.named.borrow_mut().insert(id.clone(), found.clone());
        Ok(found)
    }

    /// The tasks that are part of one.
    pub(crate) fn parts_of(
        &self,
        id: &TaskId,
        known: &KnownOthers,
    ) -> Result<Vec<Arc<OtherGlimpse>>, Error> {
        if known.parts.borrow().is_none() {
            let all = self.all_parts()?;
            known.parts.replace(Some(all));
        }
        let names = |parent: &TaskId| parent == id || id.unarchived() == Some(parent.as_str());
        let all = known.parts.borrow();
        let parts = all
            .iter()
            .flatten()
            .filter(|part| part.node.relations.parent.as_ref().is_some_and(names));
        Ok(parts.cloned().collect())
    }

    /// All tasks that are part of another one.
    fn all_parts(&self) -> Result<Vec<Arc<OtherGlimpse>>, Error> {
        let mut parts = Vec::new();
        for task in self.snapshot.search().tasks()? {
            if !self.may_have_parent(&task)? {
                continue;
            }
            let found = self.glimpse(&task)?;
            if found.node.relations.parent.is_some() {
                parts.push(Arc::new(found));
            }
        }
        Ok(parts)
    }

    /// Whether the text of the state of a task may name a parent.
    fn may_have_parent(&self, task: &TaskRef) -> Result<bool, Error> {
        let words = b"\"parent\"";
        let content = self
            .snapshot
            .source
            .read(&task.state_path(), self.snapshot.setting.config.limit_bytes)?;
        Ok(match content {
            Content::Bytes(bytes) => bytes.windows(words.len()).any(|part| part == words),
            _ => false,
        })
    }

    /// What others see of a task. Returns an error if the machine fails to read it.
    pub(crate) fn glimpse(&self, task: &TaskRef) -> Result<OtherGlimpse, Error> {
        self.snapshot.costs.inspect(|costs| costs.glimpsed());
        let mut found = OtherGlimpse {
            seen: None,
            node: GraphTask {
                id: task.id.clone(),
                relations: Relations::default(),
                done: false,
                waits_for_parts: false,
            },
            title: None,
            is_given_up: task.id.is_archived(),
        };
        let path = task.state_path();
        let content = self
            .snapshot
            .source
            .read(&path, self.snapshot.setting.config.limit_bytes)?;
        let bytes = match content {
            Content::Bytes(bytes) => bytes,
            _ => Vec::new(),
        };
        let text = String::from_utf8(bytes).unwrap_or_default();
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let named = value
            .as_ref()
            .and_then(|value| value.pointer("/workflow/name")?.as_str());
        let name = named.unwrap_or(task.workflow.as_str());
        let loaded = match self.snapshot.setting.workflow(name).and_then(|loaded| {
            loaded.usable()?;
            Ok(loaded)
        }) {
            Ok(loaded) => loaded,
            Err(error) => match self.snapshot.former_workflow(task, &error)? {
                Some((loaded, _)) => loaded,
                None => return Ok(found),
            },
        };
        let Some(workflow) = loaded.workflow() else {
            return Ok(found);
        };
        found.node.waits_for_parts = workflow.reads_children();
        let state = StateText {
            text: &text,
            value: value.as_ref(),
        };
        let log = self
            .snapshot
            .source
            .read_log(&task.transcript_path(), LOG_END)?;
        let believed = log
            .end()
            .and_then(|end| believed_state(workflow, state, LogPeek::new(end.length, &end.bytes)));
        let state = match believed {
            Some(state) => Some(state),
            None => {
                let whole = match log.end() {
                    Some(_) => self
                        .snapshot
                        .source
                        .read_log(&task.transcript_path(), u64::MAX)?,
                    None => log,
                };
                match read_record(
                    workflow,
                    Some(state),
                    whole.whole(),
                    &mut KnownLog::default(),
                ) {
                    RecordReading::Current(state) | RecordReading::Folded { state, .. } => {
                        Some(*state)
                    }
                    _ => None,
                }
            }
        };
        let Some(state) = state else {
            return Ok(found);
        };
        let phase = state
            .phase
            .as_deref()
            .and_then(|phase| workflow.phase_named(phase));
        let done = phase.is_some_and(Phase::is_good_end);
        let failed = phase.is_some_and(|phase| phase.terminal) && !done;
        found.is_given_up = !done && (failed || task.id.is_archived());
        found.node.done = done;
        found.node.relations = state.relations.clone();
        found.title.clone_from(&state.title);
        if let (Some(phase), Some(head)) = (phase, state.heads.last()) {
            found.seen = Some(OtherTask {
                id: task.id.clone(),
                phase: phase.id.clone(),
                done,
                failed,
                workflow: workflow.name.clone(),
                part: false,
                head: *head,
            });
        }
        Ok(found)
    }
}

impl SeesOthers for Snapshot<'_> {
    fn look_at_others(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
    ) -> Result<OtherTasks, Error> {
        let Recorded::Known(state) = recorded else {
            return Ok(OtherTasks::default());
        };
        if !rests_on_others(workflow, &state.relations) {
            return Ok(OtherTasks::default());
        }
        let none = KnownOthers::default();
        let known = self.others.unwrap_or(&none);
        OtherReader::of(self).other_tasks(task, &Related::of(workflow, &state.relations), known)
    }
}

impl Look<'_> {
    /// What a look that is related so would see of other tasks now. Returns an error if one cannot be read.
    pub(super) fn others_of(&self, task: &TaskRef, related: &Related) -> Result<OtherTasks, Error> {
        self.reader.snapshot_at(self.commit(), |snapshot| {
            OtherReader::of(snapshot).other_tasks(task, related, &self.reader.others)
        })
    }

    /// Those of these tasks that are done on the base branch. Returns an error if git cannot be read.
    pub(super) fn done_on_base(&self, ids: &[TaskId]) -> Result<Option<DoneOnBase>, Error> {
        let Some(store) = self.reader.store.as_ref() else {
            return Ok(None);
        };
        let base = match self.base.get() {
            Some(base) => base,
            None => {
                let found = self.base_elsewhere(store)?;
                self.base.get_or_init(|| found)
            }
        };
        let Some(base) = base else {
            return Ok(None);
        };
        let source = store.objects().source_at(Some(base.tip));
        let code = CodeAt::Commit(store, Some(base.tip));
        let snapshot = Snapshot::new(
            &self.reader.settings,
            &source,
            &self.reader.validations,
            code,
        );
        let known = KnownOthers::default();
        let mut tasks = Vec::new();
        for id in ids {
            if OtherReader::of(&snapshot)
                .other(id, &known)?
                .is_some_and(|found| found.node.done)
            {
                tasks.push(id.clone());
            }
        }
        let branch = base.name.clone();
        Ok(Some(DoneOnBase { branch, tasks }).filter(|done| !done.tasks.is_empty()))
    }

    /// The base branch, unless it is where HEAD is. Returns an error if git cannot be read.
    fn base_elsewhere(&self, store: &Store) -> Result<Option<BaseBranch>, Error> {
        let git = &self.reader.settings.config.git;
        let refs = store.refs();
        let mut base = refs.base_branch(git.base.as_deref(), git.protected.texts())?;
        // Without a remote nothing says which branch it is, and nearly always it has one of these names.
        for usual in ["main", "master"] {
            if base.is_none() && git.base.is_none() {
                base = refs.base_branch(Some(usual), &[])?;
            }
        }
        Ok(base.filter(|base| Some(base.tip) != self.commit()))
    }
}

impl Finder<'_> {
    /// What others see of each of these tasks, in their order. Returns an error if one cannot be read.
    pub fn glimpses(&self, tasks: &[TaskRef]) -> Result<Vec<OtherGlimpse>, Error> {
        let glimpses = self.crew.map_each(tasks, |reader, task| {
            let head = reader.head()?;
            reader.snapshot_at(head, |snapshot| OtherReader::of(snapshot).glimpse(task))
        });
        glimpses.into_iter().collect()
    }

    /// What decisions about a task see of others if it has these relations, which are not recorded yet. Returns an error if one
    /// cannot be read.
    pub(crate) fn others_around(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        relations: &Relations,
        known: &KnownOthers,
    ) -> Result<OtherTasks, Error> {
        self.reader.snapshot(|snapshot| {
            let others = OtherReader::of(snapshot);
            if others.is_awaited(&task.id, relations, known)? {
                // What led to no cycle may do so by way of this task.
                known.sound.borrow_mut().clear();
            }
            others.other_tasks(task, &Related::of(workflow, relations), known)
        })
    }

    /// Lets a series know a task that it has created, under what is HEAD now. Returns an error if the task cannot be read.
    pub(crate) fn note_created(
        &self,
        task: &TaskRef,
        head: Option<Digest>,
        known: &KnownOthers,
    ) -> Result<(), Error> {
        let created = self
            .reader
            .snapshot(|snapshot| OtherReader::of(snapshot).glimpse(task))?;
        known.note_created(created, head);
        Ok(())
    }
}
