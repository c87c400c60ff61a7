//! Executors: the processes that perform actions, and the files that record and control a run.
//!
//! An executor is a list of arguments, never a shell command line. It runs in its own process group, which is
//! ended as a whole, together with every descendant that outlives it. The usage of a run is recorded before
//! an executor starts and after it ends, so that a killed run continues after its last recorded step.

mod announced;
mod child_process;
mod control_group;
mod document;
mod executor;
mod fence;
mod files;
mod group;
mod janitor;
mod limited_program;
mod lineage;
mod lines;
mod output;
mod own_program;
mod person_programs;
mod pipes;
mod process_tree;
mod program;
mod record;
mod session;
mod session_log;
mod side_process;
mod trial;

pub use announced::{AnnouncedAgent, AnnouncedAgents};
pub use executor::{Executor, Performed};
pub use fence::{
    Access, FENCED, Fence, FencePlaces, FencePlan, FenceReport, FenceStep, HookSource, NoFence,
    OwnPlaces, ProgramPlaces, RefusedWrite, TurnPlaces, Unfenceable, fence_trial, fenced_hooks,
    foreign_places, is_output, program_places, put_up_fence, refused_write, remove_dead_fences,
    turn_places,
};
pub use files::{Control, ControlOutcome, Lock, RunControl, RunFiles};
pub use group::{RESULT, RunningExecutor, adopt_orphans, end_leftovers, kill_all};
pub use janitor::start_janitor;
pub use lineage::Lineage;
pub use orch_core::decide::ControlRequest;
pub use own_program::{OwnProgram, wait_for_hang_up};
pub use person_programs::{RunningPager, edit, open_url};
pub use program::{LimitedProgram, SessionProgram, unstartable};
pub use record::{Process, RunStanding, RunState, Turn, WorkState};
pub use session::{NetworkFence, SessionEnd, end_marked, serve_as_janitor};
pub use session_log::SessionLog;
pub use side_process::{SideProcess, end_with_parent};
pub use trial::{Ended, Live};
