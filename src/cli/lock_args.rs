//! The option of commands that record something: how long to wait for what another process holds.

use clap::Args;
use orch_base::Period;

/// How long to wait for locks.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct LockArgs {
    /// Wait up to DURATION (`90s`, `5m`) for other orch processes, for git's locks and for an open
    /// `git commit`; `0s` does not wait. The default is up to half a minute for orch, and briefly
    /// for git.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<Period>,
}

/// Parses a duration. Returns an error, to be shown, if it is none.
pub fn duration(text: &str) -> Result<Period, String> {
    Period::parse(text).ok_or_else(|| "not a duration; for example 90s, 5m or 1h30m".to_owned())
}
