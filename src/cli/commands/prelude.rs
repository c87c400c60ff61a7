//! Imports that every command file needs.

pub(super) use super::super::lock_args::LockArgs;
pub(super) use super::super::threads;
pub(super) use super::super::ui::Ui;
pub(super) use super::super::{Context, ExitCode, Failure};
pub(super) use clap::Args;
