//! Where the task in use stands, as the prompt shows it. The watch and the prompt share it.

use orch_base::{TaskId, locked};
use orch_engine::survey::{Sight, Workspace};
use orch_view::{Paint, Suggestion, standing};
use std::sync::{Arc, Mutex};

/// What the prompt shows.
#[derive(Debug, Clone, Default)]
pub(super) struct Board(Arc<Mutex<BoardText>>);

#[derive(Debug, Default)]
struct BoardText {
    task: Option<TaskId>,
    text: String,
}

impl Board {
    /// The text to show.
    pub(super) fn text(&self) -> String {
        locked(&self.0).text.clone()
    }

    /// Shows a task, with the text about it, or that there is none.
    pub(super) fn show(&self, task: Option<TaskId>, text: String) {
        *locked(&self.0) = BoardText { task, text };
    }

    /// Shows where a task stands now. Returns whether it is the one that is shown.
    pub(super) fn stands(&self, workspace: &Workspace, sight: &Sight, paint: Paint) -> bool {
        let mut shown = locked(&self.0);
        let is_shown = shown.task.as_ref() == Some(&sight.task.id);
        if is_shown {
            shown.text = line(workspace, sight, paint);
        }
        is_shown
    }

    /// Shows that a task is gone. Returns whether it is the one that is shown.
    pub(super) fn is_gone(&self, task: &TaskId) -> bool {
        let mut shown = locked(&self.0);
        let is_shown = shown.task.as_ref() == Some(task);
        if is_shown {
            shown.text = gone(task);
        }
        is_shown
    }
}

/// Where a task stands.
pub(super) fn line(workspace: &Workspace, sight: &Sight, paint: Paint) -> String {
    standing(&Suggestion::of(&workspace.reader().subject(sight)), paint)
}

/// What is shown of a task that does not exist.
pub(super) fn gone(task: &TaskId) -> String {
    format!("{task}  gone")
}
