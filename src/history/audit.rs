//! Replaying history: every change of a task's record is derived anew from its commit alone.

use super::archive::Archive;
use super::compared::Compared;
use super::parallel::replay_all;
use crate::base::{Digest, RepoPath};
use crate::decide::{Approval, Proof, Standing};
use crate::scan::ValidationCache;
use crate::store::{Range, Signature, Store, TreeSource, Visited};
use crate::survey::Workspace;
use crate::survey::code::CodeAt;
use crate::survey::setting::Setting;
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, TaskRef};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many sides are kept: a parent is mostly looked at shortly before its child.
const SIDES_KEPT: usize = 8;

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
    pub setting: Arc<Setting>,
}

impl<'s> Side<'s> {
    pub(super) fn new(archive: &Archive<'_>, source: TreeSource<'s>) -> Result<Self, Error> {
        let setting = archive.setting(&source)?;
        Ok(Self { source, setting })
    }

    /// The files below a directory that it holds otherwise than another side.
    pub(super) fn differing<'a>(
        &'a self,
        store: &'a Store,
    ) -> impl Fn(&Self, &RepoPath) -> Result<Vec<RepoPath>, Error> + 'a {
        |before, directory| store.changed(&before.source, &self.source, directory)
    }

    pub(super) fn snapshot<'a>(&'a self, validations: &'a ValidationCache) -> Snapshot<'a> {
        let code = CodeAt::Commit(self.source.store(), self.source.commit());
        Snapshot { setting: &self.setting, source: &self.source, validations, code }
    }
}

/// The sides of changes, of which the last are kept: what follows in one change is followed in the next.
pub(super) struct SideCache<'a, 's> {
    pub store: &'s Store,
    pub archive: &'a Archive<'s>,
    recent: VecDeque<Arc<Side<'s>>>,
}

impl<'a, 's> SideCache<'a, 's> {
    pub(super) fn new(store: &'s Store, archive: &'a Archive<'s>) -> Self {
        Self { store, archive, recent: VecDeque::new() }
    }

    /// What a commit holds.
    pub(super) fn of(&mut self, commit: Digest) -> Result<Arc<Side<'s>>, Error> {
        if let Some(known) = self.recent.iter().find(|side| side.source.commit() == Some(commit)) {
            return Ok(Arc::clone(known));
        }
        let side = Arc::new(Side::new(self.archive, self.store.tree_source(commit))?);
        self.recent.push_front(Arc::clone(&side));
        self.recent.truncate(SIDES_KEPT);
        Ok(side)
    }

    /// What the parents of a commit hold; of the first commit, nothing.
    pub(super) fn before(&mut self, commit: &Visited) -> Result<Vec<Arc<Side<'s>>>, Error> {
        if commit.parents.is_empty() {
            return Ok(vec![Arc::new(Side::new(self.archive, self.store.empty_source())?)]);
        }
        commit.parents.iter().map(|parent| self.of(*parent)).collect()
    }
}

/// Replays a range of history, by default all of HEAD's.
pub fn audit(workspace: &Workspace, range: Option<&str>) -> Result<Audit, Error> {
    let store = workspace.repository_or_refuse()?;
    let range = match range {
        Some(text) => store.range(text)?,
        None => match store.head()?.commit {
            Some(to) => Range { from: None, to },
            None => return Ok(Audit { commits: 0, changes: Vec::new() }),
        },
    };
    let commits = store.commits(&range)?;
    let is_whole = range.from.is_none() && !commits.iter().any(|commit| commit.is_boundary);
    let mut changes = replay_all(store, &commits, is_whole)?;
    verify(store, &mut changes)?;
    Ok(Audit { commits: commits.len(), changes })
}

/// What became of the records of tasks in these commits, parents before their children.
pub(super) fn replay(
    store: &Store,
    archive: &Archive<'_>,
    validations: &ValidationCache,
    commits: &[Visited],
) -> Result<Vec<Audited>, Error> {
    let mut sides = SideCache::new(store, archive);
    let mut changes = Vec::new();
    for commit in commits {
        let after = sides.of(commit.id)?;
        let befores = sides.before(commit)?;
        let differing = after.differing(store);
        let compared = Compared {
            befores: &befores,
            after: after.snapshot(validations),
            differing: &differing,
            validations,
        };
        let (_, recorded) = compared.tasks()?;
        for task in compared.uncovered() {
            if !archive.knows(&task, &after.source)? {
                let why = "its record was out of sight, and changed since it was last looked at";
                let proof = Proof::bare(Standing::Unverifiable, why);
                changes.push(Audited { commit: commit.clone(), task, proof });
            }
        }
        for task in recorded {
            let proof = if commit.is_boundary {
                let why = "the history before it is not in this clone";
                Some(Proof::bare(Standing::Unverifiable, why))
            } else {
                compared.prove(&task, archive)?
            };
            archive.note(&task, &after.source)?;
            if let Some(proof) = proof {
                changes.push(Audited { commit: commit.clone(), task, proof });
            }
        }
    }
    Ok(changes)
}

/// Asks git about the signatures of the commits in which a person agreed to something.
fn verify(store: &Store, changes: &mut [Audited]) -> Result<(), Error> {
    let agreed = |change: &Audited| change.proof.steps.iter().any(|step| step.approval.is_some());
    let mut asked: Vec<&mut Audited> = changes.iter_mut().filter(|change| agreed(change)).collect();
    let commits: Vec<Digest> = asked.iter().map(|change| change.commit.id).collect();
    for (change, signature) in asked.iter_mut().zip(store.signatures(&commits)?) {
        let approval = match signature {
            Signature::Good { signer } => Approval::Verified { signer },
            Signature::None | Signature::Unknown => Approval::Claimed,
            Signature::Bad => {
                change.proof.standing = Standing::Forged;
                change.proof.why = Some("its signature is not of these bytes".to_owned());
                continue;
            }
        };
        for step in change.proof.steps.iter_mut().filter(|step| step.approval.is_some()) {
            step.approval = Some(approval.clone());
        }
    }
    Ok(())
}
