//! What a run leaves in its checkout beside reports and kept directories. It is told, and no reason to fail.

use super::CouldNotRun;
use super::checkout::{CheckoutMaker, PlacedCode, kept_places};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// So many are listed.
const MOST: usize = 50;

/// The files and directories that a run has made.
#[derive(Debug, Clone, Default)]
pub(super) struct CreatedFiles {
    /// Their paths, in order; a directory of which the code has nothing is one, with `/` behind.
    pub listed: Vec<String>,
    /// How many more there are.
    pub more: u64,
}

/// What is in a checkout beside the code.
pub(super) struct BesideCode<'b> {
    pub maker: &'b CheckoutMaker<'b>,
    pub placed: &'b PlacedCode,
    pub root: &'b Path,
}

impl BesideCode<'_> {
    /// The files, and the directories of which the code has nothing.
    pub(super) fn all(&self) -> Result<BTreeSet<String>, CouldNotRun> {
        self.placed.others(&self.maker.clone)
    }

    /// What is there now and was not `before`, except reports and what is kept.
    pub(super) fn since(&self, before: &BTreeSet<String>) -> Result<CreatedFiles, CouldNotRun> {
        let table = self.maker.request.table;
        let kept: Vec<PathBuf> = table
            .keep
            .iter()
            .flat_map(|kept| {
                let depth = kept.split('/').filter(|part| !part.is_empty()).count();
                let is_whole = move |place: &PathBuf| {
                    let below = place.strip_prefix(self.root).unwrap_or(place);
                    below.components().count() == depth
                };
                kept_places(self.root, kept).into_iter().filter(is_whole)
            })
            .collect();
        let counts = |place: &Path| {
            let below = place.strip_prefix(self.root).unwrap_or(place);
            !table.report.matches(&below.to_string_lossy())
        };
        let mut found = CreatedFiles::default();
        for path in self.all()?.difference(before) {
            // Only one file in a directory has to count.
            let entries = WalkDir::new(self.root.join(path))
                .into_iter()
                .filter_entry(|entry| !kept.iter().any(|kept| kept == entry.path()));
            let mut files = entries
                .flatten()
                .filter(|entry| !entry.file_type().is_dir());
            if !files.any(|entry| counts(entry.path())) {
                continue;
            }
            if found.listed.len() < MOST {
                found.listed.push(path.clone());
            } else {
                found.more += 1;
            }
        }
        Ok(found)
    }
}
