//! The one integration test binary: whole rooms together, seen from outside.

mod ahead;
mod alone;
mod approvals;
mod audit;
mod bad_input;
mod batch;
mod bench;
#[cfg(feature = "board")]
mod board;
mod bounds;
mod bugs;
mod cli;
mod code;
mod core;
mod data;
mod docs;
mod draft;
mod faces;
mod faults;
mod fence;
mod formats;
mod growth;
mod harness;
mod hints;
mod hook;
mod known;
mod leases;
mod looks;
mod loops;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
mod model;
mod mutated;
mod neighbours;
mod notify;
mod observed;
mod odd;
mod outputs;
mod packaging;
mod parallel;
mod patches;
mod people;
mod prepared;
mod protocol;
mod pull_requests;
mod readme;
mod reftable;
mod relations;
mod remote;
mod renamed;
#[cfg(feature = "repl")]
mod repl;
mod reports;
mod review;
mod run;
mod schemas;
#[cfg(all(feature = "api", feature = "board", feature = "mcp", feature = "repl"))]
mod screens;
#[cfg(feature = "api")]
mod serve;
mod setting;
mod several_approvals;
mod signing;
mod staged;
mod store;
mod terminal;
mod tidy;
mod told;
mod unseen;
mod verify;
mod walk;
mod watch;
#[cfg(feature = "webhook")]
mod webhook;
mod words;
mod workflow_new;
mod writers;
