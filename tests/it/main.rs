//! The one integration test binary: whole rooms together, seen from outside.

mod bad_input;
mod cli;
mod core;
mod data;
mod faults;
mod harness;
mod model;
mod outputs;
mod readme;
mod schemas;
mod setting;
mod store;
mod tidy;
mod walk;
mod watch;
