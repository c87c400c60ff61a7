//! Attempts of verifications that left no result: one that runs, and one that could not run. Each is a file in the git
//! directory, of this clone alone; nothing that is recorded rests on it.

use crate::run::Process;
use orch_base::{Digest, Error, TaskId, Timestamp, VerificationName};
use orch_core::verification::{NotRun, VerifiedCode};
use orch_files::io_error;
use orch_git::{Store, durable};
use serde::{Deserialize, Serialize};

/// Where the files are, in the directory of `orch` of a work tree.
const PLACE: &str = "verify";

/// An attempt that has no result, or none yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifyAttempt {
    /// The task.
    pub task: TaskId,
    /// The name of the table.
    pub name: VerificationName,
    /// The code that it judges.
    pub code: VerifiedCode,
    /// The digest of the table.
    pub table: Digest,
    /// When it began.
    pub at: Timestamp,
    /// Who began it.
    pub by: String,
    /// What became of it.
    pub standing: AttemptStanding,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStanding {
    /// The process runs it, if it is alive.
    Running(Process),
    /// It could not run.
    CouldNotRun {
        /// The kind of reason.
        reason: NotRun,
        /// What happened, in words.
        message: String,
    },
}

impl VerifyAttempt {
    /// The last attempt of a verification of a task, unless it had a result or its process is gone. What cannot be read
    /// is none.
    #[must_use]
    pub fn last(store: &Store, task: &TaskId, name: &VerificationName) -> Option<Self> {
        let path = store.layout().own(PLACE).join(file_name(task, name));
        let bytes = durable::read_kept(&path).ok()??;
        let attempt: Self = serde_json::from_slice(&bytes).ok()?;
        let is_this = attempt.task == *task && attempt.name == *name;
        let stands = match &attempt.standing {
            AttemptStanding::Running(process) => process.is_alive(),
            AttemptStanding::CouldNotRun { .. } => true,
        };
        (is_this && stands).then_some(attempt)
    }

    /// Keeps it in the place of the last attempt. Returns an error if it cannot be written.
    pub fn keep(&self, store: &Store) -> Result<(), Error> {
        let own = store.layout().own_directory()?;
        let path = store.layout().own(PLACE);
        let unwritten = |source| io_error(&path, source);
        let directory = own.make_child(PLACE).map_err(unwritten)?;
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        durable::write_private(&directory, &file_name(&self.task, &self.name), &bytes)
            .map_err(unwritten)
    }

    /// Forgets the last attempt of a verification: it has a result.
    pub fn forget(store: &Store, task: &TaskId, name: &VerificationName) {
        let path = store.layout().own(PLACE).join(file_name(task, name));
        durable::remove(&store.layout().own(""), &path);
    }
}

/// The name of the file of a verification. Ids of tasks are no names of files.
fn file_name(task: &TaskId, name: &VerificationName) -> String {
    let both = format!("{task}\0{name}");
    format!("{}.json", Digest::of_blob(both.as_bytes()))
}
