//! Who works on which task: leases in a store, and the work trees of many tasks.
//!
//! A store is a compare-and-swap over one small document per task, no more. What may be written is decided by
//! `orch_core::lease`, so all stores keep the same promises, and one suite of tests runs over all of them.

mod boot;
pub mod copied;
mod document;
pub mod forward;
pub mod git;
pub mod home;
pub mod leases;
pub mod local;
#[cfg(feature = "nats")]
pub mod nats;
pub mod open;
pub mod owner;
pub mod publish;
pub mod queue;
mod random;
pub mod seen;
pub mod spent;
pub mod store;
mod trail;
mod watch;
pub mod worktrees;

#[cfg(test)]
mod tests;

pub use random::random;

/// The name of this machine, for people; `None` if it has none.
#[must_use]
pub fn machine() -> Option<String> {
    let known = rustix::system::uname();
    let name = known.nodename().to_string_lossy();
    (!name.is_empty()).then(|| name.into_owned())
}
