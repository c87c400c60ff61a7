//! Executors: processes that perform actions, and the files by which a run is known and controlled.
//!
//! An executor is an argv, never a line for a shell. It has a process group of its own, which is ended
//! as a whole, with every child that outlives it. What a run has used lies in a record that is written
//! before an executor starts and after it ends, so that a killed run is taken up where it stood.

mod document;
mod executor;
mod files;
mod group;
mod lines;
mod output;
mod pipes;
mod process_tree;
mod program;
mod record;
mod trial;

pub use crate::decide::ControlRequest;
pub use executor::{Executor, Performed};
pub use files::{Control, Lock, RunFiles, Said};
pub use group::{RESULT, RunningExecutor, adopt_orphans, end_leftovers};
pub use program::unstartable;
pub use record::{Process, RunStanding, RunState, Turn, WorkState};
pub use trial::{Ended, Live};
