//! What answers show of several tasks, runs and places, gathered for the command line and for servers. Changes nothing.

#[cfg(feature = "board")]
mod board;
mod everywhere;
mod free;
mod happenings;
mod parallel;
mod pull_request;
mod runs;
mod sheet;
mod tasks;
mod versions;

#[cfg(feature = "board")]
pub use board::{GatheredTasks, TaskDetail, WantedPages, board, waiting};
pub use everywhere::{TaskFilter, everywhere};
pub use free::{Free, FreeFor, free};
pub use happenings::{happenings, transition_lines};
pub use parallel::{parallel_line, work_tree_line};
pub use pull_request::{described_tasks, tasks_of_range};
pub use runs::run_line;
pub use sheet::{sheet, sheet_of};
pub use tasks::{
    STATUS_CACHE, answers_of_each, duplicates, lease_problem, named, named_or_all, repository,
    sorted, statuses, unread_status, unread_suggestion, unread_task,
};
pub use versions::{OtherwiseDecided, SaidOfTask, decided_otherwise};
