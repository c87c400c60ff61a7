//! From bytes to facts: reads and validates the artifacts of a task, with the place of each value.

mod agent;
mod matcher;
mod observe;
mod read;
mod schema;
mod span;
mod task_list;
mod validation_cache;
mod written;

pub use agent::{AgentFailure, AgentOutput, AgentStop, ReportedCost, Reset, unmarked};
pub use matcher::Matcher;
pub use observe::{Observed, ObservedFile, ReadLimits, RepositoryFile, StateFile, observe};
pub use read::{
    JsonText, ReadResult, ReportedFailure, ReportedTest, ReportedTestEnd, TestReport, conflict,
    locate, parse_json, parse_text, read, read_by, tests_of,
};
pub use schema::{Problem, Schema, Schemas, example, lint};
pub use span::{inside, span};
pub use task_list::{ListEntry, TaskList, TaskProgram, task_list};
pub use validation_cache::ValidationCache;
pub use written::written;
