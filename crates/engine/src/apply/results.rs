//! Records the results of verifications: for each an event and a file, all in one commit.

use super::advance::{Advance, Applied};
use super::authority::Authority;
use super::orders::{first_applied, usable_state};
use crate::survey::{Error, Reader, Sight, TaskRef};
use orch_core::decide::{self, Detail, DetailStep, ResultFile, Step, VerifiedFact};
use orch_core::verification::{RULES, Verification, read_statement};
use orch_files::{Directory, io_error};
use orch_git::{Store, Write, durable};
use std::path::Path;
use std::sync::Arc;

/// A result to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    /// What the event says.
    pub verification: Verification,
    /// The text of the file with the result, whose digest the event has.
    pub text: String,
}

/// Records the results of verifications.
#[derive(Clone, Copy)]
pub struct Results<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) advance: Advance<'w>,
}

impl Results<'_> {
    /// Records what verifications of a task gave. `stands` says whether a task is still what they are about, when it is
    /// looked at under the lock. Returns an error if it is not, if the record of the task cannot be used, or if nothing can
    /// be committed now.
    pub fn record(
        &self,
        task: &TaskRef,
        results: &[NewResult],
        stands: &dyn Fn(&Sight) -> Result<(), Error>,
    ) -> Result<Applied, Error> {
        let stamp = self.authority.caller.own_stamp();
        let advance = Advance {
            results,
            ..self.advance
        };
        let outcomes = advance.apply(std::slice::from_ref(task), false, &|sight| {
            stands(sight)?;
            let mut state = usable_state(sight)?.into_owned();
            let mut steps = Vec::new();
            for result in results {
                let step = DetailStep {
                    detail: Detail::Verify(result.verification.clone()),
                    at: stamp.at,
                    to: None,
                    why: None,
                };
                let workflow = sight.workflow();
                let transition = decide::detailed(workflow, &state, &task.id, step)
                    .map_err(|why| Error::new(orch_base::Code::StateInvalid, why))?;
                let facts = &sight.observed.facts;
                state = decide::apply(workflow, &state, facts, &transition, &stamp);
                steps.push(Step {
                    transition,
                    state: state.clone(),
                });
            }
            Ok(self.reader.settled(&with_results(sight, results), steps))
        });
        outcomes.and_then(first_applied)
    }
}

/// A sight in which the files of these results are there.
fn with_results(sight: &Sight, results: &[NewResult]) -> Sight {
    let mut sight = sight.clone();
    for NewResult { verification, text } in results {
        let Ok(result) = read_statement(text) else {
            continue;
        };
        let facts = &mut sight.observed.facts.verified;
        let fact = facts
            .entry(verification.name.clone())
            .or_insert_with(|| VerifiedFact {
                code: None,
                rules: RULES,
                file: ResultFile::Missing,
            });
        fact.file = ResultFile::Result {
            digest: verification.result.digest,
            result: Arc::new(result),
        };
    }
    sight
}

impl Advance<'_> {
    /// The files of the results that are recorded. Each replaces whatever is in its place.
    pub(super) fn result_files(&self, store: &Store, task: &TaskRef) -> Result<Vec<Write>, Error> {
        let mut files = Vec::new();
        for result in self.results {
            let path = task.file(&result.verification.path())?;
            let place = path.under(&self.reader.root);
            self.make_result_directory(&place)?;
            let before = durable::read_if_there(&place).map_err(|error| io_error(&place, error))?;
            let before = before.map(|bytes| store.objects().format().blob(&bytes));
            let text = result.text.clone().into_bytes();
            files.push(Write::own(path.clone(), path, text, before));
        }
        Ok(files)
    }

    fn make_result_directory(&self, place: &Path) -> Result<(), Error> {
        let directory = durable::parent(place);
        Directory::make(&self.reader.root, directory)
            .map_err(|error| io_error(directory, error))?;
        Ok(())
    }

    /// The same without git.
    pub(super) fn write_results(&self, task: &TaskRef) -> Result<(), Error> {
        let root = &self.reader.root;
        for result in self.results {
            let place = task.file(&result.verification.path())?.under(root);
            self.make_result_directory(&place)?;
            durable::write_atomic(root, &place, result.text.as_bytes())?;
        }
        Ok(())
    }
}
