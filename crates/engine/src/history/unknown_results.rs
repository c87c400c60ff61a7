//! Results of verifications that no event recorded: they count for nothing, and only look as if `orch` had made them.

use super::archive::Archive;
use super::compared::Compared;
use super::record::TaskRecord;
use crate::survey::{Error, TaskRef};
use orch_base::{RepoPath, VerificationName};
use orch_core::decide::{Detail, Proof, Standing};
use orch_core::verification::{result_of, result_path};
use orch_files::Content;
use std::collections::BTreeMap;

/// The directory of each task by path, with why its results are in doubt.
pub(super) type UnknownResults = BTreeMap<RepoPath, (TaskRef, String)>;

impl Compared<'_, '_> {
    /// The tasks in which one of these changed files is a result that no event of their log recorded. Returns an error if
    /// git cannot be read.
    pub(super) fn unknown_results(
        &self,
        changed: &[RepoPath],
        archive: &Archive<'_>,
    ) -> Result<UnknownResults, Error> {
        let mut found = UnknownResults::new();
        for path in changed {
            let Some(task) = self.after.search().task_of_path(path)? else {
                continue;
            };
            let Some(name) = task.place.name(path).and_then(result_of) else {
                continue;
            };
            let result = self.after.source.read(path, u64::MAX - 1)?;
            if self.is_unknown(&task, &name, &result, archive)? {
                let why = format!(
                    "{} is a result that no event of the task recorded",
                    result_path(&name)
                );
                found.insert(task.directory().clone(), (task, why));
            }
        }
        Ok(found)
    }

    /// Whether a task has a log, and no event in it recorded this result, which is there.
    fn is_unknown(
        &self,
        task: &TaskRef,
        name: &VerificationName,
        result: &Content,
        archive: &Archive<'_>,
    ) -> Result<bool, Error> {
        let record = TaskRecord::in_source(task, self.after.source)?;
        if record.log.is_none() || !matches!(result, Content::Bytes(_)) {
            return Ok(false);
        }
        let pool = archive.logs();
        for id in pool.ids(&record.read(pool, None)) {
            let Some(event) = pool.event(&id) else {
                continue;
            };
            if let Some(Detail::Verify(run)) = event.entry.detail.as_deref()
                && run.name == *name
                && result.is_blob(run.result.digest)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The verdict on a change of a record that also puts an unknown result beside it.
pub(super) fn with_unknown_result(proof: Option<Proof>, why: String) -> Proof {
    match proof {
        Some(proof) if proof.standing >= Standing::Unverifiable => proof,
        Some(proof) => Proof {
            steps: proof.steps,
            ..Proof::bare(Standing::Unverifiable, why)
        },
        None => Proof::bare(Standing::Unverifiable, why),
    }
}
