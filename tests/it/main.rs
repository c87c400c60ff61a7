//! The one integration test binary: whole rooms together, seen from outside.

mod cli;
mod core;
mod harness;
mod model;
mod readme;
mod setting;
mod tidy;
mod walk;
mod watch;
