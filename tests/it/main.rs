//! The one integration test binary: whole rooms together, seen from outside.

mod core;
mod model;
mod setting;
