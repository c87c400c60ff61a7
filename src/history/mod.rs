//! What git's history says of tasks: replayed, proven, checked. Nothing here writes.

mod archive;
mod audit;
mod check;
mod compared;
mod gates;
mod join;
mod merged;
mod parallel;
mod proof;
mod reconstruction;
mod records;
mod timeline;

pub use audit::{Audit, Audited, audit};
pub use check::{Checked, Checker};
pub use timeline::{Story, stories};
