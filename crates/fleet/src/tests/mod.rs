//! Tests of the stores: one suite over all of them, and what is particular to each.

pub(crate) mod conformance;
mod git_server;
mod git_store;
mod local_store;
#[cfg(feature = "nats")]
mod nats_server;
#[cfg(feature = "nats")]
mod nats_store;
mod worktrees;
