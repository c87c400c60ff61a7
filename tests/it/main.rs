//! The one integration test binary: whole rooms together, seen from outside.

mod audit;
mod bad_input;
mod cli;
mod code;
mod core;
mod data;
mod docs;
mod faults;
mod harness;
mod hook;
mod loops;
mod merge;
mod model;
mod odd;
mod outputs;
mod readme;
mod run;
mod schemas;
mod setting;
mod signing;
mod staged;
mod store;
mod tidy;
mod walk;
mod watch;
mod workflow_new;
