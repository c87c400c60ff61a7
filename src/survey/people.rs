//! Who gives an order: what the settings require, and whether the caller works for a run.

use super::{Caller, Error, TaskRef, Workspace};
use crate::base::{Code, Diagnostic, RepoPath};
use crate::config;
use crate::decide::{ActorKind, People};
use crate::run::{Lineage, RunState};

impl Workspace {
    /// Who may order what, as `orch.toml` in HEAD says, so that nobody grants a right to oneself without a
    /// commit; outside git, as the file says. Returns an error if git cannot be read.
    pub(crate) fn people(&self) -> Result<People, Error> {
        let Some(store) = &self.store else { return Ok(self.setting.config.people.clone()) };
        let path = RepoPath::new(config::FILE)
            .map_err(|error| Diagnostic::error(Code::BadPath, error.to_string()))?;
        let blob = store.head_source()?.blob_at(&path)?;
        let text = blob.map(|blob| store.blob(blob)).transpose()?.flatten().unwrap_or_default();
        Ok(config::parse(&String::from_utf8_lossy(&text), config::FILE).0.people)
    }

    /// Whether `orch.toml` in the work tree says the same about people.
    pub(crate) fn states_people(&self, people: &People) -> bool {
        self.setting.config.people == *people
    }

    /// Whether a signer that git trusts signs the caller's commits. Returns an error if git fails.
    pub(crate) fn signs_verifiably(&self) -> Result<bool, Error> {
        match self.store.as_ref().filter(|_| self.commits()) {
            Some(store) => Ok(store.signs()? && store.trusts_own_signature()?),
            None => Ok(false),
        }
    }

    /// Whether the caller descends from a process that runs some task, here or in another clone.
    pub(crate) fn is_below_a_run(&self, caller: &Caller) -> bool {
        caller.process.is_some_and(|process| Lineage::of(process).is_below_a_run())
    }

    /// The run that the caller works for, and its task: the caller descends from the executor, or is an agent
    /// whose environment names the task. Returns an error if the tasks cannot be listed.
    pub(crate) fn run_above(&self, caller: &Caller) -> Result<Option<(TaskRef, RunState)>, Error> {
        let lineage = caller.process.map(Lineage::of);
        for task in self.tasks()? {
            let files = self.run_files(&task);
            if let Some(run) = lineage.as_ref().and_then(|lineage| lineage.run_in(&files)) {
                return Ok(Some((task, run)));
            }
            let is_named = caller.kind == ActorKind::Agent && caller.task.as_ref() == Some(&task.id);
            if let Some(run) = if is_named && files.is_driven() { files.read()? } else { None } {
                return Ok(Some((task, run)));
            }
        }
        Ok(None)
    }
}
