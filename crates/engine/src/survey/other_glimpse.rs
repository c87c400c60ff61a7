//! What a series of looks has read of other tasks.

use super::{Error, TaskRef};
use orch_base::{Digest, TaskId};
use orch_core::decide::{GraphTask, OtherTask, OtherTasks, Recorded};
use orch_core::workflow::Workflow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A task, as others see it.
pub struct OtherGlimpse {
    /// What decisions about others see of it; `None` if its record cannot be read, or it has none.
    pub seen: Option<OtherTask>,
    /// Its place in the graph.
    pub node: GraphTask,
    /// Its title.
    pub title: Option<String>,
    /// Whether it ended otherwise than well, or was put into the archive before its end.
    pub is_given_up: bool,
}

/// What was read of other tasks in a series of looks.
#[derive(Default)]
pub(crate) struct KnownOthers {
    pub(super) named: RefCell<HashMap<TaskId, Option<Arc<OtherGlimpse>>>>,
    pub(super) parts: RefCell<Option<Vec<Arc<OtherGlimpse>>>>,
    /// Tasks from which relations lead to no cycle.
    pub(super) sound: RefCell<HashSet<TaskId>>,
    /// The HEAD under which a series of several looks has read them.
    head: Cell<Option<Digest>>,
}

impl KnownOthers {
    /// Forgets everything, unless a series of looks goes on under this HEAD.
    pub(crate) fn go_on(&self, head: Option<Digest>) {
        if self.head.get() != head {
            self.forget();
            self.head.set(head);
        }
    }

    /// Notes a task that the series itself has created, under what is HEAD now. Without commits nothing shows what others do
    /// meanwhile, so that everything is forgotten.
    pub(super) fn note_created(&self, task: OtherGlimpse, head: Option<Digest>) {
        if head.is_none() {
            return self.forget();
        }
        self.head.set(head);
        let task = Arc::new(task);
        if let Some(parts) = &mut *self.parts.borrow_mut()
            && task.node.relations.parent.is_some()
        {
            parts.push(Arc::clone(&task));
        }
        let id = task.node.id.clone();
        self.named.borrow_mut().insert(id, Some(task));
    }

    /// Forgets everything, because another series begins.
    pub(super) fn forget(&self) {
        self.head.set(None);
        self.named.borrow_mut().clear();
        self.parts.borrow_mut().take();
        self.sound.borrow_mut().clear();
    }
}

/// A source in which a look sees the tasks to which a task is related.
pub(super) trait SeesOthers {
    /// What a look at a task sees of others. Returns an error if the source cannot be read.
    fn look_at_others(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
    ) -> Result<OtherTasks, Error>;
}
