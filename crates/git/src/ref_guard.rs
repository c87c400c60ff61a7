//! References that an executor has no business to move: compared before and after its turn.
//!
//! They cannot be covered like files. Git puts a new file in the place of each that it moves, and of the one in which others
//! are packed, so the directories have to stay open. Who moved one cannot be known either, because others work in the
//! repository meanwhile. But whoever works on a branch that a work tree has checked out writes the index of that work tree, and
//! `orch` notes the others that it moves; a fence closes both.

use super::error::libgit2;
use super::references::{RefStorage, Refs};
use super::{Error, LogFile, digest, durable};
use orch_base::Digest;
use orch_files::FileStamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The references that matter. Those of remotes move with each fetch.
const KINDS: [&str; 3] = ["refs/heads/", "refs/tags/", "refs/orch/"];

/// Those that other clones move at any time, if this repository is the store of their leases.
const OF_OTHERS: &str = "refs/orch/leases/";

/// The file in the directory of `orch` with the references that it has moved, a line each.
const NOTED: &str = "orch/moved-refs";

/// The index of a work tree, and what it was.
type SeenIndex = (PathBuf, Option<FileStamp>);

/// Where the references were.
pub struct RefGuard {
    /// By their names, what they point to.
    targets: BTreeMap<String, Digest>,
    /// The other work trees, by the references that they have checked out.
    checked_out: BTreeMap<String, SeenIndex>,
    /// What `orch` had noted.
    noted: String,
}

impl Refs<'_> {
    /// Where the references are now. Returns an error if git cannot list them.
    pub fn guard(&self) -> Result<RefGuard, Error> {
        Ok(RefGuard {
            targets: self.targets()?,
            checked_out: self.checked_out(),
            noted: durable::text_of(&self.noted())?,
        })
    }

    /// Notes that `orch` is about to move a reference that no work tree has checked out. Without the note, an executor at work
    /// would be said to have moved it, or somebody else.
    pub(super) fn note_move(&self, name: &str) {
        let noted = LogFile::open(&self.noted())
            .and_then(|mut log| log.append(format!("{name}\n").as_bytes()));
        if let Err(error) = noted {
            tracing::debug!(%error, name, "cannot note that a reference moves");
        }
    }

    fn noted(&self) -> PathBuf {
        self.layout.common_directory().join(NOTED)
    }

    /// The references that have moved, come or gone since, sorted, without that which this work tree has checked out, those
    /// on which somebody has worked in another one, and those that `orch` has moved. Returns an error if git cannot list them.
    pub fn moved_since(&self, before: &RefGuard) -> Result<Vec<String>, Error> {
        let now = self.guard()?;
        let own = self.head()?.branch;
        let names: BTreeSet<&String> = now.targets.keys().chain(before.targets.keys()).collect();
        let is_moved = |name: &&String| now.targets.get(*name) != before.targets.get(*name);
        let is_told =
            |name: &&String| own.as_ref() != Some(*name) && !now.is_explained(name, before);
        let moved = names.into_iter().filter(is_moved).filter(is_told);
        Ok(moved.cloned().collect())
    }

    fn targets(&self) -> Result<BTreeMap<String, Digest>, Error> {
        let mut found = BTreeMap::new();
        for kind in KINDS {
            match &self.references {
                RefStorage::Files => {
                    let listed = self.objects.repo.references_glob(&format!("{kind}*"));
                    for reference in listed.map_err(libgit2)? {
                        let reference = reference.map_err(libgit2)?;
                        if let (Ok(name), Some(target)) = (reference.name(), reference.target()) {
                            found.insert(name.to_owned(), digest(target));
                        }
                    }
                }
                RefStorage::Tables(tables) => found.extend(tables.below(*self, kind)?),
            }
        }
        found.retain(|name, _| !name.starts_with(OF_OTHERS));
        Ok(found)
    }

    /// What cannot be read is checked out nowhere: then more is told.
    fn checked_out(&self) -> BTreeMap<String, SeenIndex> {
        let common = self.layout.common_directory();
        let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten();
        let linked = linked.flatten().map(|entry| entry.path());
        let mut found = BTreeMap::new();
        for directory in linked.chain([common.to_owned()]) {
            if directory == self.layout.git_directory() {
                continue;
            }
            let head = durable::text_of(&directory.join("HEAD")).unwrap_or_default();
            if let Some(name) = head.trim().strip_prefix("ref: ") {
                let index = directory.join("index");
                let stamp = FileStamp::at(&index);
                found.insert(name.to_owned(), (index, stamp));
            }
        }
        found
    }
}

impl RefGuard {
    /// Whether `orch` has moved a reference since, or somebody has worked on it in another work tree: its index is another one,
    /// or the work tree has come or gone.
    fn is_explained(&self, name: &str, before: &Self) -> bool {
        let new = self.noted.strip_prefix(&before.noted);
        let mut new = new.unwrap_or(&self.noted).lines();
        if new.any(|line| line == name) {
            return true;
        }
        match (before.checked_out.get(name), self.checked_out.get(name)) {
            (None, None) => false,
            (before, now) => before != now,
        }
    }
}
