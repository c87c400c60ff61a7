//! Replaying history: every change of a task's record is derived anew from its commit alone.

use super::archive::Archive;
use super::join::prove_any;
use super::setting::Setting;
use super::snapshot::Snapshot;
use super::{Engine, Error, TaskRef};
use crate::base::{Diagnostic, Digest, RepoPath};
use crate::decide::{Proof, Standing};
use crate::record::{STATE_FILE, TRANSCRIPT_FILE};
use crate::scan::Verdicts;
use crate::store::{Range, Store, TreeSource, Visited};
use std::rc::Rc;

/// A replayed range of history.
pub struct Audit {
    /// How many commits were walked.
    pub commits: usize,
    /// Every change of a task's record, oldest first.
    pub changes: Vec<Audited>,
}

/// One change of a task's record in one commit.
pub struct Audited {
    /// The commit.
    pub commit: Visited,
    /// The task.
    pub task: TaskRef,
    /// What replaying it came to.
    pub proof: Proof,
}

/// One side of a change: what a commit holds, and the settings in it.
pub(super) struct Side<'s> {
    pub source: TreeSource<'s>,
    pub setting: Rc<Setting>,
}

impl<'s> Side<'s> {
    pub(super) fn new(archive: &Archive<'_>, source: TreeSource<'s>) -> Result<Self, Error> {
        let setting = archive.setting(&source)?;
        Ok(Self { source, setting })
    }

    pub(super) fn snapshot<'a>(&'a self, verdicts: &'a Verdicts) -> Snapshot<'a> {
        Snapshot { setting: &self.setting, source: &self.source, verdicts }
    }
}

impl Engine {
    /// Replays a range of history, by default all of HEAD's.
    pub fn audit(&self, range: Option<&str>) -> Result<Audit, Error> {
        let store = self.repository_or_refuse()?;
        let range = match range {
            Some(text) => store.range(text)?,
            None => match store.head()?.commit {
                Some(to) => Range { from: None, to },
                None => return Ok(Audit { commits: 0, changes: Vec::new() }),
            },
        };
        let archive = Archive::new(store, range.from);
        self.replay(store, &archive, store.commits(&range)?)
    }

    pub(super) fn replay(
        &self,
        store: &Store,
        archive: &Archive<'_>,
        commits: Vec<Visited>,
    ) -> Result<Audit, Error> {
        // What is known to be valid is not taken from the clone's own notes: an audit trusts git alone.
        let verdicts = Verdicts::default();
        let mut audit = Audit { commits: commits.len(), changes: Vec::new() };
        for commit in commits {
            let after = Side::new(archive, store.tree_source(commit.id))?;
            let befores = befores(store, archive, &commit)?;
            for task in recorded_in(store, &befores, &after, &verdicts)? {
                let proof = if commit.is_boundary {
                    let why = "the history before it is not in this clone";
                    Some(Proof::bare(Standing::Unverifiable, why))
                } else {
                    best(&befores, &commit.parents, &after, &task, &verdicts, archive)?
                };
                archive.note(commit.id, &task, &after.source)?;
                if let Some(proof) = proof {
                    audit.changes.push(Audited { commit: commit.clone(), task, proof });
                }
            }
        }
        Ok(audit)
    }

    pub(super) fn repository_or_refuse(&self) -> Result<&Store, Error> {
        self.store.as_ref().ok_or_else(|| {
            let message = "there is no git repository here, so there is no history";
            Diagnostic::error("no-repository", message)
                .hint("git init, or name another directory with -C")
                .into()
        })
    }
}

/// What the parents of a commit hold; of the first commit, nothing.
pub(super) fn befores<'s>(
    store: &'s Store,
    archive: &Archive<'_>,
    commit: &Visited,
) -> Result<Vec<Side<'s>>, Error> {
    if commit.parents.is_empty() {
        return Ok(vec![Side::new(archive, store.empty_source())?]);
    }
    commit.parents.iter().map(|parent| Side::new(archive, store.tree_source(*parent))).collect()
}

/// The tasks whose record a commit holds otherwise than each of its parents.
fn recorded_in(
    store: &Store,
    befores: &[Side<'_>],
    after: &Side<'_>,
    verdicts: &Verdicts,
) -> Result<Vec<TaskRef>, Error> {
    let mut common: Option<Vec<TaskRef>> = None;
    for before in befores {
        let mut paths = changed_paths(store, before, after)?;
        // The transcripts of merged branches may be united without any step being taken.
        let is_record = |path: &RepoPath| {
            path.name() == STATE_FILE || (befores.len() == 1 && path.name() == TRANSCRIPT_FILE)
        };
        paths.retain(is_record);
        let tasks = tasks_of(&paths, &before.snapshot(verdicts), &after.snapshot(verdicts));
        common = Some(match common {
            None => tasks,
            Some(earlier) => earlier.into_iter().filter(|task| tasks.contains(task)).collect(),
        });
    }
    Ok(common.unwrap_or_default())
}

/// The files below the roots that two commits hold differently.
pub(super) fn changed_paths(
    store: &Store,
    before: &Side<'_>,
    after: &Side<'_>,
) -> Result<Vec<RepoPath>, Error> {
    let mut bases: Vec<&RepoPath> =
        before.setting.config.roots.bases().chain(after.setting.config.roots.bases()).collect();
    bases.sort();
    bases.dedup();
    let mut paths = Vec::new();
    for base in bases {
        paths.extend(store.changed(&before.source, &after.source, base)?);
    }
    Ok(paths)
}

/// The tasks that paths belong to, on either side, in the order of the paths.
pub(super) fn tasks_of(paths: &[RepoPath], before: &Snapshot<'_>, after: &Snapshot<'_>) -> Vec<TaskRef> {
    let mut tasks: Vec<TaskRef> = Vec::new();
    for path in paths {
        if tasks.iter().any(|task| path.below(&task.directory).is_some()) {
            continue;
        }
        tasks.extend(after.task_of_path(path).or_else(|| before.task_of_path(path)));
    }
    tasks
}

/// The best verdict against any of the parents: a merge may take over what one of them has.
fn best(
    befores: &[Side<'_>],
    parents: &[Digest],
    after: &Side<'_>,
    task: &TaskRef,
    verdicts: &Verdicts,
    archive: &Archive<'_>,
) -> Result<Option<Proof>, Error> {
    let befores: Vec<Snapshot<'_>> = befores.iter().map(|before| before.snapshot(verdicts)).collect();
    prove_any(task, &befores, parents, &after.snapshot(verdicts), archive)
}
