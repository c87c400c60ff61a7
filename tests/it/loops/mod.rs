//! Action workflows: what their loops do with every kind of executor, played without a process.

pub mod behaviour;
pub mod matrix;
pub mod simulator;
mod tuning;
