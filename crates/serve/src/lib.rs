//! The servers of `orch`: the HTTP API with the live board, and the Model Context Protocol.
//!
//! Each answers with what a command of `orch` prints, and the command is executed in the process of the server. So its
//! answers, checks, rights and codes are those of the command line. This crate does not know the command line: the binary
//! implements [`CommandRunner`], and everything else that both need is in `orch_engine` ([`orch_engine::gather`] for what
//! answers show of several tasks, [`orch_engine::drive::Interruption`] for how a command is interrupted).
//!
//! | module | what lives here |
//! | --- | --- |
//! | `runner` | what the binary implements: how a command line is executed |
//! | `argument` | the arguments of a call, and how they are written on a command line |
//! | `description` | the commands as the command line defines them: their arguments and help are said only there |
//! | `queue` | what waits and what is executed, for all clients |
//! | `mcp` | tools and resources of the Model Context Protocol, on stdin and stdout or over HTTP |
//! | `http` | the routes, who may ask, events, pages of the board; other crates add APIs of their own |

mod argument;
mod description;
#[cfg(feature = "api")]
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
mod queue;
mod runner;

pub use argument::{Argument, ArgumentForm, command_line};
pub use description::{
    CallArgument, CommandDescription, CommandDescriptions, OwnArgument, OwnForm,
};
pub use queue::{Excluded, QueueLimits, WorkQueue, WorkTerms};
pub use runner::{CallTerms, CommandRunner, Executed};
