//! The loop API of an older tool: its routes below `/api/loops/v2`, its WebSocket, and the list of tasks that a loop keeps.
//!
//! A loop is a task of the workflow `ccw-loop`. Each route is written with commands of `orch`, which the server executes
//! that serves the API (`orch-agent-serve`); only the form of requests and answers is the older one. `orch generate` needs
//! the list of tasks alone, without the feature `api`.

#[cfg(feature = "api")]
mod api;
#[cfg(feature = "api")]
mod changes;
#[cfg(feature = "api")]
mod generate;
#[cfg(feature = "api")]
mod generations;
#[cfg(feature = "api")]
mod issues;
#[cfg(feature = "api")]
mod list;
#[cfg(feature = "api")]
mod router;
#[cfg(feature = "api")]
mod socket;
#[cfg(feature = "api")]
mod state;
mod tasks;

#[cfg(feature = "api")]
pub use router::api;
pub use tasks::{LIST, MOST_GENERATED, TOOL, WORKFLOW, members, new_task};
