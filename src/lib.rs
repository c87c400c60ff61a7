//! `orch`: a file-watching state machine agent for repositories.
//!
//! A task is a directory; a workflow is a Markdown document with rules; the files say which phase
//! the task is in. The rooms of this library import in one direction only, lowest first:
//! `base`, `workflow`, `scaffold`, `decide`, `record`, `config`, `view` compute; `scan`, `store`, `watch`,
//! `survey`, `history`, `apply`, `drive`, `notices` and `cli` move bytes. See `ARCHITECTURE.md`.

#[cfg(not(unix))]
compile_error!("orch supports Unix only: it needs process groups, file modes and advisory locks");

pub mod cli;
