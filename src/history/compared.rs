//! One set of files against those that it follows: the index against HEAD, or a commit against its
//! parents. Hook and audit look through this, so that they cannot differ.

use super::archive::Archive;
use super::proof::RecordChange;
use super::side::Side;
use crate::base::{Digest, RepoPath};
use crate::decide::{Proof, Standing};
use crate::record::{STATE_FILE, TRANSCRIPT_FILE};
use crate::survey::snapshot::{Snapshot, first};
use crate::survey::{Error, TaskRef};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The files below a directory that something holds otherwise than a side.
pub(super) type Differing<'a, 's> = dyn Fn(&Side<'s>, &RepoPath) -> Result<Vec<RepoPath>, Error> + 'a;

/// A set of files, and those that it follows.
pub(super) struct Compared<'a, 's> {
    /// HEAD, or the parents; of a merge, several.
    pub befores: &'a [Rc<Side<'s>>],
    /// What follows.
    pub after: Snapshot<'a>,
    /// The files below a directory that it holds otherwise than one of them.
    pub differing: &'a Differing<'a, 's>,
}

impl Compared<'_, '_> {
    /// What a side holds, read with the same known contents as what follows.
    pub(super) fn before<'b>(&'b self, side: &'b Side<'_>) -> Snapshot<'b> {
        side.snapshot(self.after.validations)
    }

    /// The files below a directory that it holds otherwise than each of them.
    pub(super) fn changed(&self, directory: &RepoPath) -> Result<BTreeSet<RepoPath>, Error> {
        let mut common: Option<BTreeSet<RepoPath>> = None;
        for before in self.befores {
            let differing: BTreeSet<RepoPath> = (self.differing)(before, directory)?.into_iter().collect();
            common = Some(match common {
                None => differing,
                Some(earlier) => earlier.intersection(&differing).cloned().collect(),
            });
        }
        Ok(common.unwrap_or_default())
    }

    /// The directories below which tasks lie, on any side.
    pub(super) fn bases(&self) -> BTreeSet<RepoPath> {
        let earlier = self.befores.iter().flat_map(|before| before.setting.config.roots.bases());
        earlier.chain(self.after.setting.config.roots.bases()).cloned().collect()
    }

    /// The tasks of which any file changed, and those whose record did, be it against one of several.
    pub(super) fn tasks(&self) -> Result<(Vec<TaskRef>, Vec<TaskRef>), Error> {
        let (mut paths, mut records) = (BTreeSet::new(), BTreeSet::new());
        let is_record = |path: &RepoPath| [STATE_FILE, TRANSCRIPT_FILE].contains(&path.name());
        for base in self.bases() {
            paths.extend(self.changed(&base)?);
            // A merge that takes the record of one side may drop what another one recorded.
            for before in self.befores.iter().filter(|_| self.befores.len() > 1) {
                records.extend((self.differing)(before, &base)?.into_iter().filter(is_record));
            }
        }
        records.extend(paths.iter().filter(|path| is_record(path)).cloned());
        Ok((self.tasks_of(paths.iter())?, self.tasks_of(records.iter())?))
    }

    /// The tasks that are seen as such only now, although their record was there before: other settings
    /// hid them, or a file above them did.
    pub(super) fn uncovered(&self) -> Result<Vec<TaskRef>, Error> {
        let hid = |before: &Side<'_>, task: &TaskRef| {
            let snapshot = self.before(before);
            let is_there = |path: RepoPath| matches!(before.source.object(&path), Ok(Some(_)));
            let mut record = [task.state_path(), task.transcript_path()].into_iter();
            let was_there = record.any(is_there);
            Ok(was_there && snapshot.task_at(&task.directory)?.is_none())
        };
        let other_settings =
            self.befores.iter().all(|before| before.setting.config.roots != self.after.setting.config.roots);
        let mut uncovered = Vec::new();
        for task in if other_settings { self.after.tasks()? } else { Vec::new() } {
            let hidden: Result<Vec<bool>, Error> =
                self.befores.iter().map(|before| hid(before, &task)).collect();
            if hidden?.into_iter().all(|is_hidden| is_hidden) {
                uncovered.push(task);
            }
        }
        Ok(uncovered)
    }

    /// The tasks that paths belong to, on any side, in the order of the paths.
    fn tasks_of<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> Result<Vec<TaskRef>, Error> {
        let mut tasks: Vec<TaskRef> = Vec::new();
        for path in paths {
            if tasks.iter().any(|task| path.below(&task.directory).is_some()) {
                continue;
            }
            tasks.extend(match self.after.task_of_path(path)? {
                None => first(self.befores.iter(), |before| self.before(before).task_of_path(path))?,
                task => task,
            });
        }
        Ok(tasks)
    }

    /// What became of a task's record. `None` where the record is the same, or none of `orch`.
    pub(super) fn prove(&self, task: &TaskRef, archive: &Archive<'_>) -> Option<Proof> {
        let befores: Vec<Snapshot<'_>> = self.befores.iter().map(|before| self.before(before)).collect();
        let parents: Vec<Digest> = self.befores.iter().filter_map(|before| before.source.commit()).collect();
        let change = RecordChange { task, befores: &befores, parents: &parents, after: &self.after, archive };
        // An unreadable task must not hide the findings of the others.
        change.prove().unwrap_or_else(|error| Some(Proof::bare(Standing::Unverifiable, error.to_string())))
    }
}
