//! The HTTP API, for programs and browsers.
//!
//! A route is a command of `orch` with `--json`: `routes` says which; its arguments and what they mean are those of the command. It is
//! executed in this process for the caller that the token of the request means, so answers, checks, rights and codes
//! are those of the command line. `gate` decides which requests are answered. HTTP is that of the crates `axum` and
//! `hyper`. Their runtime exists only while a server runs.

mod board;
mod body;
mod events;
mod face;
mod gate;
mod listening;
mod live;
mod openapi;
mod orders;
mod output;
mod pages;
mod paging;
mod problem;
mod request;
mod rights;
mod router;
mod routes;
mod server;
mod service;
mod sessions;
mod started;
mod tokens;

pub use events::{Events, HEARTBEAT};
pub use face::{RouteFace, faces, paths_without_command};
pub use gate::{Asker, host_name, named};
pub use listening::{HttpServer, ServerOptions};
pub use openapi::openapi;
pub use orders::order_of;
pub use problem::{problem, refusal, status_of};
pub use request::{body, query, wrong};
pub use routes::{Route, routes};
pub use service::{OtherApi, Service};
pub use started::{DrivingCommand, StartOutcome, StartedRuns, run_files};
