//! The paths of artifacts, also of a document with errors.

use super::place::bad_path;
use super::{Document, raw};

/// The paths of one artifact, as its document names them.
pub struct ArtifactPaths {
    /// The globs, relative to the directory of a task.
    pub globs: Vec<String>,
    /// Whether transitions commit the files.
    pub commit: bool,
}

/// The paths of the artifacts of a document that may have errors, as far as they can be read.
#[must_use]
pub fn artifact_paths(document: &Document) -> Vec<ArtifactPaths> {
    let (raw, _) = raw::read(document);
    let mut found = Vec::new();
    for artifact in raw.artifacts {
        let paths = artifact.paths.into_iter().map(|path| path.value);
        found.push(ArtifactPaths {
            globs: paths.filter(|path| bad_path(path).is_none()).collect(),
            commit: artifact.commit,
        });
    }
    found
}
