//! The forged changes that people acknowledged in `orch.toml`.

use super::archive::Archive;
use crate::base::{Digest, RepoPath, TaskId};
use crate::config::{self, Acknowledged};
use crate::decide::OrdersBy;
use crate::store::{Signature, Store};
use crate::survey::Error;

/// What the settings in one commit acknowledge.
#[derive(Default)]
pub(super) struct Acknowledgements(Vec<Acknowledged>);

impl Acknowledgements {
    /// The entries in the settings of a commit. Every change of `orch.toml` whose parent requires that people
    /// sign must be signed by someone whom git trusts here; otherwise there are none. So nobody can loosen the
    /// settings first and acknowledge afterwards.
    ///
    /// # Errors
    ///
    /// git cannot read a commit.
    pub(super) fn of(store: &Store, archive: &Archive<'_>, tip: Digest) -> Result<Self, Error> {
        let setting = archive.setting(&store.tree_source(tip))?;
        let entries = &setting.config.acknowledged;
        let Ok(file) = RepoPath::new(config::FILE) else { return Ok(Self::default()) };
        if entries.is_empty() {
            return Ok(Self::default());
        }
        for changed in store.changes_of(tip, &file)? {
            for parent in store.visit(changed)?.parents {
                let before = archive.setting(&store.tree_source(parent))?;
                let must_be_signed = before.config.people.orders == OrdersBy::Signed;
                let is_signed = || -> Result<bool, Error> {
                    let signatures = store.signatures(&[changed])?;
                    Ok(matches!(signatures.first(), Some(Signature::Good { .. })))
                };
                if must_be_signed && !is_signed()? {
                    return Ok(Self::default());
                }
            }
        }
        Ok(Self(entries.clone()))
    }

    /// Why the forged change of a task's record in a commit is acceptable, if someone acknowledged it.
    pub(super) fn reason(&self, commit: Digest, task: &TaskId) -> Option<&str> {
        let entry = self.0.iter().find(|entry| entry.commit == commit && entry.task == *task);
        entry.map(|entry| entry.reason.as_str())
    }
}
