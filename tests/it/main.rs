//! The one integration test binary: whole rooms together, seen from outside.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make worlds: they read the environment and start programs"
)]

mod cli;
mod core;
mod harness;
mod model;
mod tidy;
