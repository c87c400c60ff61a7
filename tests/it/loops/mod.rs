//! Action workflows: what their loops do with every kind of executor, played without a process.

pub mod behaviour;
mod ccw;
mod generated;
pub mod matrix;
pub mod simulator;
mod tuning;
