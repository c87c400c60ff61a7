//! The one place that puts the rooms together: source, facts, decision, transition, commit.
//!
//! Watch, command line and every later face go through [`Engine`], so they cannot disagree.

mod advance;
mod caller;
mod create;
mod error;
mod judge;
mod orders;
mod recover;
mod setup;
mod story;
mod suggestion;
mod tasks;
mod watching;
mod workflows;

pub use advance::{Applied, Outcome, Plan};
pub use caller::{Caller, Clock};
pub use create::Created;
pub use error::{Error, ErrorKind};
pub use judge::Judged;
pub use orders::Order;
pub use recover::Recovered;
pub use tasks::TaskRef;
pub use watching::{Effect, Event, Watching};
pub use workflows::Loaded;

use crate::base::{Diagnostic, Timestamp};
use crate::config::{Commit as CommitMode, Config};
use crate::scan::{Schemas, Verdicts};
use crate::store::Store;
use crate::workflow::System;
use std::path::{Path, PathBuf};

/// A repository (or a plain directory) with everything needed to judge its tasks.
pub struct Engine {
    root: PathBuf,
    config: Config,
    store: Option<Store>,
    system: System,
    system_on_disk: bool,
    schemas: Schemas,
    verdicts: Verdicts,
    workflows: workflows::Cache,
    caller: Caller,
    findings: Vec<Diagnostic>,
}

impl Engine {
    /// The work directory that every path is relative to.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The repository, if there is one.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Commits everything in the work directory; only for repositories that `orch` made itself.
    pub fn commit_everything(&self, message: &str) -> Result<(), Error> {
        self.store.as_ref().map_or(Ok(()), |store| Ok(store.commit_everything(message)?))
    }

    /// The texts in force: what ships, with the repository's own laid over it.
    #[must_use]
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Where the repository keeps its own texts, if it does.
    #[must_use]
    pub fn system_directory(&self) -> Option<&str> {
        self.system_on_disk.then(|| self.config.system.as_str())
    }

    /// Findings about `orch.toml` and the system directory.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The present time, as the caller has it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.caller.clock.now()
    }

    /// Whether transitions are committed to git.
    #[must_use]
    pub fn commits(&self) -> bool {
        self.store.is_some() && self.config.git.commit == CommitMode::Each
    }
}
