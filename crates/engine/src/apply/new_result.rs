//! The files with the results of verifications, as they are written with the events that name them.

use crate::survey::{Error, Sight, TaskRef};
use orch_core::decide::FreshResult;
use orch_files::{Directory, io_error};
use orch_git::{Store, Write, durable};
use std::path::Path;

/// A result to record.
#[derive(Debug, Clone, PartialEq)]
pub struct NewResult {
    /// What the event and the file say.
    pub fresh: FreshResult,
    /// The text of the file with the result, whose digest the event has.
    pub text: String,
}

/// A sight in which the files of these results are there.
pub(super) fn with_results(sight: &Sight, results: &[NewResult]) -> Sight {
    let mut sight = sight.clone();
    for new in results {
        new.fresh.note(&mut sight.observed.facts);
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
        let path = task.file(&result.fresh.verification.path())?;
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
        let place = task.file(&result.fresh.verification.path())?.under(root);
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
