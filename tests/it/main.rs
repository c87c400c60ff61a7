//! The one integration test binary: whole rooms together, seen from outside.

mod cli;
mod core;
mod harness;
mod model;
mod schemas;
mod store;
mod tidy;
