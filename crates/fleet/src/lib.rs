//! Who works on which task: leases in a store, and the work trees of many tasks.
//!
//! A store is a compare-and-swap over one small document per task, no more. What may be written is decided by
//! `orch_core::lease`, so all stores keep the same promises, and one suite of tests runs over all of them.

pub mod store;
