//! The one integration test binary: whole rooms together, seen from outside.

mod cli;
mod core;
mod data;
mod docs;
mod faults;
mod harness;
mod model;
mod odd;
mod outputs;
mod readme;
mod schemas;
mod setting;
mod signing;
mod store;
mod tidy;
mod walk;
mod watch;
