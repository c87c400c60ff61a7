//! `orch`: a file-watching state machine agent for repositories.
//!
//! A task is a directory; a workflow is a Markdown document with rules; the files say which phase
//! the task is in. The rooms of this library import in one direction only, lowest first:
//! `base`, `workflow`, `scaffold`, `decide`, `record`, `config`, `view` compute; `scan`, `store`, `watch`,
//! `survey`, `history`, `apply`, `drive`, `notices` and `cli` move bytes. See `ARCHITECTURE.md`.

#[cfg(not(unix))]
compile_error!("orch supports Unix only: it needs process groups, file modes and advisory locks");

pub mod cli;

pub use orch_base as base;
pub use orch_core::{config, decide, record, workflow};
pub use orch_engine::{apply, drive, history, notices, run, survey, watch};
pub use orch_git as store;
pub use orch_scaffold as scaffold;
pub use orch_view as view;

/// Files and artifacts: from bytes to facts.
pub mod scan {
    pub use orch_files::*;
    pub use orch_read::*;
}
