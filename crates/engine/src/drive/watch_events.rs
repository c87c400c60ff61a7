//! The events that a watch takes and the effects that it returns.

use super::TaskNotice;
use crate::apply::{Applied, Order};
use crate::survey::{Caller, Error, Sight, TaskRef};
use orch_base::{Diagnostic, Hint, RepoPath, TaskId};
use std::sync::mpsc::Sender;

/// An event of the watch.
#[derive(Debug)]
pub enum WatchEvent {
    /// The watch starts: look at all tasks but those of which nothing has changed since an earlier watch.
    Start,
    /// Something changed at or below these paths.
    Changed(Vec<RepoPath>),
    /// HEAD may have moved.
    Head,
    /// Anything may have changed, for this reason.
    Rescan(&'static str),
    /// Try held-back transitions again.
    Retry,
    /// No further transition became due for a while: apply those that wait for that.
    Quiet,
    /// The files that a due transition of these tasks rests on have not changed for the time that they have to be
    /// quiet. Tasks are named by their directories.
    Complete(Vec<RepoPath>),
    /// Deadlines of these tasks have passed. Tasks are named by their directories.
    Lapsed(Vec<RepoPath>),
    /// A caller orders a transition.
    Order(Box<OrderRequest>),
    /// The watch has a problem, described by the text.
    Trouble(String),
}

impl WatchEvent {
    /// The tracing span of the event. Recurring events are logged at debug level, so that an idle watch logs
    /// nothing.
    pub(super) fn span(&self) -> tracing::Span {
        match self {
            Self::Start => tracing::info_span!("start"),
            Self::Changed(paths) => {
                tracing::info!(?paths, "files changed");
                tracing::info_span!("changed")
            }
            Self::Head => tracing::debug_span!("head"),
            Self::Rescan(why) => tracing::debug_span!("rescan", why),
            Self::Retry => tracing::debug_span!("retry"),
            Self::Quiet => tracing::info_span!("quiet"),
            Self::Complete(tasks) => tracing::info_span!("complete", ?tasks),
            Self::Lapsed(tasks) => tracing::info_span!("lapsed", ?tasks),
            Self::Order(request) => tracing::info_span!("order", task = %request.task.id),
            Self::Trouble(_) => tracing::debug_span!("trouble"),
        }
    }
}

/// An order, and where to send the answer.
#[derive(Debug)]
pub struct OrderRequest {
    /// The caller, who is recorded as the actor.
    pub caller: Caller,
    /// The task to move.
    pub task: TaskRef,
    /// The order to execute.
    pub order: Order,
    /// The channel for the answer.
    pub reply: Sender<Result<Applied, Error>>,
}

/// What a watch does with a transition that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// It commits the transition.
    Apply,
    /// It reports the transition, and writes nothing.
    DryRun,
    /// It leaves the transition to others, writes nothing, and reports how the task stands.
    Look,
}

/// An effect of the watch.
pub enum WatchEffect {
    /// The watch has started.
    Watching {
        /// The number of tasks.
        tasks: usize,
    },
    /// The watch knows how each task stands: what changes from now on is told.
    Ready,
    /// Transitions were applied to a task, or would be in a dry run.
    Moved(Box<Applied>),
    /// The decision about a task has changed.
    Stands(Box<Sight>),
    /// A task has come to an event that someone may want word of, or has left the last one. The process that runs a
    /// task gives word of it itself.
    CameTo {
        /// The task.
        task: TaskId,
        /// The event, with the task as it is now; `None` if others than people continue with the task.
        notice: Option<(TaskNotice, Box<Sight>)>,
        /// Whether it was so when the watch began to look at events.
        at_start: bool,
    },
    /// The settings were read again, so the watched paths may have changed.
    Reloaded,
    /// A task no longer exists.
    Gone(TaskId),
    /// Transitions are due but cannot be committed now.
    Held {
        /// The tasks that wait.
        tasks: Vec<TaskId>,
        /// The reason, as a message for people.
        message: String,
        /// What to do about it.
        hint: Option<Hint>,
    },
    /// Something is wrong; the watch continues.
    Trouble(Diagnostic),
}
