//! The files with the results of verifications, as they are written with the events that name them.

use crate::survey::{Error, Sight, TaskRef};
use orch_core::decide::{FreshResult, ResultFile, State, VerifiedFact};
use orch_core::verification::{RULES, Verification, read_statement};
use orch_files::{Directory, io_error};
use orch_git::{Store, Write, durable};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A result to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    /// What the event says.
    pub verification: Verification,
    /// The text of the file with the result, whose digest the event has.
    pub text: String,
    /// The names of the tests that ran.
    pub ran: BTreeSet<String>,
}

impl NewResult {
    /// What the event says that follows this state.
    pub(super) fn after(&self, state: &State) -> Verification {
        let confirmed = state.run.confirmed_lost.get(&self.verification.name);
        let confirmed = confirmed.map(Vec::as_slice).unwrap_or_default();
        let returned = confirmed.iter().filter(|test| self.ran.contains(*test));
        Verification {
            returned: returned.cloned().collect(),
            ..self.verification.clone()
        }
    }
}

/// The results as a decision sees them. One whose text cannot be read is left out: its event would not be accepted either.
pub(super) fn fresh_results(results: &[NewResult]) -> Vec<FreshResult> {
    let read = |new: &NewResult| {
        Some(FreshResult {
            verification: new.verification.clone(),
            result: Arc::new(read_statement(&new.text).ok()?),
        })
    };
    results.iter().filter_map(read).collect()
}

/// A sight in which the files of these results are there.
pub(super) fn with_results(sight: &Sight, results: &[NewResult]) -> Sight {
    let mut sight = sight.clone();
    for NewResult {
        verification, text, ..
    } in results
    {
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

/// The files of results of a task, as they are committed below `root`. Each replaces whatever is in its place.
pub(super) fn result_files(
    store: &Store,
    root: &Path,
    task: &TaskRef,
    results: &[NewResult],
) -> Result<Vec<Write>, Error> {
    let mut files = Vec::new();
    for result in results {
        let path = task.file(&result.verification.path())?;
        let place = path.under(root);
        make_directory(root, &place)?;
        let before = durable::read_if_there(&place).map_err(|error| io_error(&place, error))?;
        let before = before.map(|bytes| store.objects().format().blob(&bytes));
        let text = result.text.clone().into_bytes();
        files.push(Write::own(path.clone(), path, text, before));
    }
    Ok(files)
}

/// Writes the same files without git.
pub(super) fn write_results(
    root: &Path,
    task: &TaskRef,
    results: &[NewResult],
) -> Result<(), Error> {
    for result in results {
        let place = task.file(&result.verification.path())?.under(root);
        make_directory(root, &place)?;
        durable::write_atomic(root, &place, result.text.as_bytes())?;
    }
    Ok(())
}

fn make_directory(root: &Path, place: &Path) -> Result<(), Error> {
    let directory = durable::parent(place);
    Directory::make(root, directory).map_err(|error| io_error(directory, error))?;
    Ok(())
}
