//! Command lines for the clients of a server: how the arguments of a call are written, and how a command is executed in
//! the process of the server, by a printer that keeps its answers.
//!
//! So the answers, checks, rights and codes of a server are those of the command line.

mod argument;
mod queue;
mod runner;

pub use argument::{Argument, ArgumentForm, command_line};
pub use queue::{Excluded, QueueLimits, WorkQueue, WorkTerms};
#[cfg(feature = "api")]
pub use runner::Executed;
pub use runner::{CallTerms, CommandRunner};
