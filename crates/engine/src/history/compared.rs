//! Compares a set of files with those that it follows: the index with HEAD, or a commit with its parents. The
//! hook and the audit both use this comparison, so they cannot disagree about it. What depends on the rest of the
//! history, records that were removed and rules that came back, only the audit judges.

use super::archive::{Archive, has_record};
use super::proof::RecordChange;
use super::side::Side;
use super::trailers::{MessageSteps, NamedTask};
use crate::survey::snapshot::{Snapshot, first};
use crate::survey::{Error, TaskRef};
use orch_base::{Class, Digest, RepoPath, TaskId, TaskPlace};
use orch_core::decide::{Proof, Standing};
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use orch_core::verification::result_of;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The id that stands for the task of trailers that name none.
const UNNAMED: &str = "unnamed";

/// Returns the files below a directory that differ between the compared set and one side.
pub(super) type Differing<'a, 's> =
    dyn Fn(&Side<'s>, &RepoPath) -> Result<Vec<RepoPath>, Error> + 'a;

/// A set of files and the sides that it follows.
pub(super) struct Compared<'a, 's> {
    /// HEAD or the parents. A merge has several.
    pub befores: &'a [Rc<Side<'s>>],
    /// The index or commit that is compared with `befores`.
    pub after: Snapshot<'a>,
    /// Lists the files below a directory that differ from one side.
    pub differing: &'a Differing<'a, 's>,
    /// The steps that the commit message states.
    pub message_steps: MessageSteps,
    /// The commit that it takes the place of, if that is amended.
    pub replaced: Option<&'a Rc<Side<'s>>>,
}

/// What a change concerns.
pub(super) struct ChangedTasks {
    /// The tasks with changed files.
    pub files: Vec<TaskRef>,
    /// The tasks whose record changed. In a merge, a record counts as changed if it differs from any side.
    pub records: Vec<TaskRef>,
    /// The changed files that look like results of verifications.
    pub results: Vec<RepoPath>,
}

impl Compared<'_, '_> {
    /// The snapshot of a side. It shares the validation cache of `after`.
    pub(super) fn before<'b>(&'b self, side: &'b Side<'_>) -> Snapshot<'b> {
        side.snapshot(self.after.validations)
    }

    /// The files below a directory that differ from every side.
    pub(super) fn changed(&self, directory: &RepoPath) -> Result<BTreeSet<RepoPath>, Error> {
        let mut common: Option<BTreeSet<RepoPath>> = None;
        for before in self.befores {
            let differing: BTreeSet<RepoPath> =
                (self.differing)(before, directory)?.into_iter().collect();
            common = Some(match common {
                None => differing,
                Some(earlier) => earlier.intersection(&differing).cloned().collect(),
            });
        }
        Ok(common.unwrap_or_default())
    }

    /// The directories that contain tasks, on any side.
    pub(super) fn bases(&self) -> BTreeSet<RepoPath> {
        let earlier = self
            .befores
            .iter()
            .flat_map(|before| before.setting.config.roots.bases());
        earlier
            .chain(self.after.setting.config.roots.bases())
            .cloned()
            .collect()
    }

    /// The tasks that the change concerns.
    pub(super) fn tasks(&self) -> Result<ChangedTasks, Error> {
        let mut paths = BTreeSet::new();
        let mut records = BTreeSet::new();
        let is_record = |path: &RepoPath| [STATE_FILE, TRANSCRIPT_FILE].contains(&path.name());
        for base in self.bases() {
            paths.extend(self.changed(&base)?);
            // A merge that takes the record of one side may drop events of another side.
            for before in self.befores.iter().filter(|_| self.befores.len() > 1) {
                records.extend(
                    (self.differing)(before, &base)?
                        .into_iter()
                        .filter(is_record),
                );
            }
        }
        records.extend(paths.iter().filter(|path| is_record(path)).cloned());
        Ok(ChangedTasks {
            files: self.tasks_of(paths.iter())?,
            records: self.tasks_of(records.iter())?,
            results: paths.into_iter().filter(may_be_result).collect(),
        })
    }

    /// The tasks that this change shows and that a side hides although it holds a record of them. Other roots
    /// hide a task, and so does a task in a directory above it; of those, only `changed` ones are considered.
    ///
    /// # Errors
    ///
    /// A side cannot be listed.
    pub(super) fn uncovered(&self, changed: &[TaskRef]) -> Result<Vec<TaskRef>, Error> {
        let roots = &self.after.setting.config.roots;
        let has_other_roots = self
            .befores
            .iter()
            .any(|before| before.setting.config.roots != *roots);
        let mut shown = if has_other_roots {
            self.after.search().tasks()?
        } else {
            Vec::new()
        };
        for task in changed {
            if self.after.search().task_at(task.directory())?.is_none() {
                shown.extend(self.after.search().tasks_below(task.directory())?);
            }
        }
        let mut uncovered: Vec<TaskRef> = Vec::new();
        for task in shown {
            let hides = |before: &Rc<Side<'_>>| -> Result<Option<()>, Error> {
                let is_hidden = has_record(&before.source, &task)?
                    && !self.before(before).search().shows(&task)?;
                Ok(is_hidden.then_some(()))
            };
            if !uncovered.contains(&task) && first(self.befores.iter(), hides)?.is_some() {
                uncovered.push(task);
            }
        }
        Ok(uncovered)
    }

    /// Whether checking this change proves the record of a task, if that changes.
    pub(super) fn covers(&self, task: &TaskRef) -> Result<bool, Error> {
        let owner = self.owner(&task.transcript_path())?;
        Ok(owner.is_some_and(|owner| owner.directory() == task.directory()))
    }

    /// The task that a path belongs to: after the change, or else on the first side that has one.
    fn owner(&self, path: &RepoPath) -> Result<Option<TaskRef>, Error> {
        match self.after.search().task_of_path(path)? {
            None => first(self.befores.iter(), |before| {
                self.before(before).search().task_of_path(path)
            }),
            task => Ok(task),
        }
    }

    /// The tasks that own these paths, on any side, in the order of the paths.
    fn tasks_of<'p>(
        &self,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Vec<TaskRef>, Error> {
        let mut tasks: Vec<TaskRef> = Vec::new();
        for path in paths {
            // Mostly the last one: the paths are sorted.
            if tasks.iter().rev().any(|task| task.place.owns(path)) {
                continue;
            }
            tasks.extend(self.owner(path)?);
        }
        Ok(tasks)
    }

    /// Each task of which the commit message states a step while the commit changes no log of such a task, and
    /// why that is wrong. `recorded` are the tasks whose record changed. A subject or an item of a list may have
    /// the form of a move and mean something else, so it counts only for a task of a side or after the change.
    /// A step of no named task is one of the task [`UNNAMED`] in the first root.
    ///
    /// # Errors
    ///
    /// A side cannot be listed.
    pub(super) fn named_without_record(
        &self,
        recorded: &[TaskRef],
    ) -> Result<Vec<(TaskRef, Proof)>, Error> {
        let roots = &self.after.setting.config.roots;
        // The name may not be one that the first root matches.
        let made_up = |name: &str| {
            let root = roots.iter().next()?;
            let id = TaskId::new(name).ok()?;
            let place = TaskPlace::of_directory(root.path.base().join(name).ok()?);
            TaskRef::new(id, place, root.workflow.clone()).ok()
        };
        let mut found = Vec::new();
        if let Some(why) = self
            .message_steps
            .unnamed_step()
            .filter(|_| recorded.is_empty())
        {
            found.extend(made_up(UNNAMED).map(|task| (task, Proof::forged(why))));
        }
        for NamedTask {
            name,
            is_by_trailers,
            why,
        } in self.message_steps.tasks()
        {
            if recorded.iter().any(|task| task.id.as_str() == name) {
                continue;
            }
            let named = roots.bases().filter_map(|base| base.join(name).ok());
            let id = TaskId::new(name).ok();
            let by_id =
                (0..roots.iter().count()).filter_map(|root| roots.directory_of(root, id.as_ref()?));
            let directories: Vec<RepoPath> = named.chain(by_id).collect();
            // The id of a task is the last part of its directory, at least.
            let log = format!("{name}/{TRANSCRIPT_FILE}");
            let is_log = |path: &RepoPath| {
                let is_named_so =
                    path.as_str() == log || path.as_str().ends_with(&format!("/{log}"));
                is_named_so
                    || directories
                        .iter()
                        .any(|one| path.below(one) == Some(TRANSCRIPT_FILE))
            };
            if self.changed(&RepoPath::root())?.iter().any(is_log) {
                continue;
            }
            let mut known = first(directories.iter(), |directory| {
                self.after.search().task_at(directory)
            })?;
            if known.is_none() && !is_by_trailers {
                let places = || directories.iter();
                let on_side = |before: &Rc<Side<'_>>| {
                    first(places(), |directory| {
                        self.before(before).search().task_at(directory)
                    })
                };
                known = first(self.befores.iter(), on_side)?;
            }
            let known = known.or_else(|| made_up(name).filter(|_| is_by_trailers));
            found.extend(known.map(|task| (task, Proof::forged(why))));
        }
        Ok(found)
    }

    /// The verdict about the change of a task's record. `None` if the record is unchanged or `orch` did not
    /// write it.
    ///
    /// # Errors
    ///
    /// The machine failed to read what the verdict rests on.
    pub(super) fn prove(
        &self,
        task: &TaskRef,
        archive: &Archive<'_>,
    ) -> Result<Option<Proof>, Error> {
        let befores: Vec<Snapshot<'_>> = self
            .befores
            .iter()
            .map(|before| self.before(before))
            .collect();
        let parents: Vec<Digest> = self
            .befores
            .iter()
            .filter_map(|before| before.source.commit())
            .collect();
        let after = &self.after;
        let message_steps = &self.message_steps;
        let prove = || {
            // Only such a subject needs the other tasks.
            let is_only = message_steps.has_unnamed_move() && self.tasks()?.records.len() == 1;
            RecordChange {
                task,
                befores: &befores,
                parents: &parents,
                after,
                archive,
                message_steps,
                is_only,
            }
            .prove()
        };
        // A task whose files are not in this clone, or are damaged, must not hide the findings of the others.
        prove().or_else(|error| match error.class() {
            Class::Fault => Err(error),
            _ => Ok(Some(Proof::bare(Standing::Unverifiable, error.to_string()))),
        })
    }
}

/// Whether a path looks like that of a result, before anybody asks whose it is.
fn may_be_result(path: &RepoPath) -> bool {
    let text = path.as_str();
    let result = text.rfind("eval/verify/").map(|start| &text[start..]);
    result.and_then(result_of).is_some()
}
