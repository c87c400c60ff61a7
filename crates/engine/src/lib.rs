//! What moves bytes for orch: runs of programs, the watch, looks at tasks, their history, writes and notices.

pub mod apply;
pub mod drive;
pub mod history;
pub mod notices;
pub mod run;
pub mod survey;
pub mod watch;

use orch_base as base;
use orch_core::{config, decide, record, workflow};
use orch_git as store;
use orch_view as view;

mod scan {
    pub use orch_files::*;
    pub use orch_read::*;
}
