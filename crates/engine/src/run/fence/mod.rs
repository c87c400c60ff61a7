//! The fence of an executor: a private mount namespace in which everything is read-only, except for what its work may write.
//!
//! [`turn_places`] says by the workflow what the work of a phase may write; [`FencePlaces`] puts that together with the
//! directories of agent programs, and [`FencePlan`] is what a process does with it, as data. A [`Fence`] starts this program
//! once more, which reads its plan, has no other thread, puts up the fence around itself and becomes the program that was
//! asked for: its process group, its pipes and its environment stay as they were. [`fence_trial`] does the same with a small
//! plan, because only that shows whether the system permits it.
//!
//! An ordinary user needs a user namespace for it, with the same user in it, which takes all capabilities away when the program
//! begins. The user `root` needs none, and loses the capabilities by which a process leaves a mount namespace or changes it. A
//! process outside keeps the view that it has; what it asks of servers outside, such a server does outside.

mod git_hooks;
mod inside;
mod mounts;
mod own_directory;
mod places;
mod plan;
mod program_places;
mod refused;
mod report;
mod start;
mod trial;

pub use git_hooks::{HookSource, fenced_hooks};
pub use inside::put_up_fence;
pub use places::{TurnPlaces, Unfenceable, foreign_places, is_output, turn_places};
pub use plan::{Access, FencePlaces, FencePlan};
pub use program_places::{ProgramPlaces, program_places};
pub use refused::{RefusedWrite, refused_write};
pub use report::{FENCED, FenceReport, FenceStep};
pub use start::{Fence, OwnPlaces, remove_dead_fences};
pub use trial::{NoFence, fence_trial};
