//! Replays commits: derives every change of a task's record again, from its commit alone.

use super::archive::Archive;
use super::compared::{ChangedTasks, Compared};
use super::hidden::{HiddenChange, hidden_changes};
use super::side::SideCache;
use super::trailers::MessageSteps;
use super::unknown_results::with_unknown_result;
use crate::survey::{Error, TaskRef};
use orch_base::{Digest, RepoPath};
use orch_core::decide::{Proof, Standing};
use orch_core::record::TRANSCRIPT_FILE;
use orch_git::{Removal, Store, Visited};
use orch_read::ValidationCache;
use std::collections::HashSet;
use std::sync::Arc;

/// One change of a task's record in one commit.
pub struct Audited {
    /// The commit that contains the change.
    pub commit: Arc<Visited>,
    /// The task whose record changed.
    pub task: Arc<TaskRef>,
    /// The verdict of the replay.
    pub proof: Proof,
    /// The commit whose replay has found the change: a later one that shows the task again, if `commit` hides it.
    pub found_in: Digest,
    /// Whether the verdict rests on a signature.
    pub is_by_signature: bool,
    /// Whether a step of it holds only by rules that stand at neither end of the audited range.
    pub is_doubted: bool,
    /// Why the change is acceptable although it is wrong, if the settings say so.
    pub acknowledged: Option<String>,
}

impl Audited {
    fn new(commit: Arc<Visited>, task: Arc<TaskRef>, mut proof: Proof) -> Self {
        let found_in = commit.id;
        // Nearly every change has one step, and the changes of a whole history are kept.
        proof.steps.shrink_to_fit();
        Self {
            commit,
            task,
            proof,
            found_in,
            is_by_signature: false,
            is_doubted: false,
            acknowledged: None,
        }
    }

    /// Whether people may acknowledge the change: the audit fails because of it, with `--strict` at least.
    pub(super) fn is_acceptable(&self) -> bool {
        self.proof.standing >= Standing::Unverifiable
    }
}

/// What replaying commits yields.
pub(super) struct ReplayedCommits {
    /// The verdicts about all changes of records, in the order of the commits.
    pub changes: Vec<Audited>,
    /// The logs that the commits of a whole history remove; `None` if they are not known.
    pub removed: Option<Vec<Removal>>,
    /// The commits whose settings or workflows differ from those of a parent.
    pub ruled: HashSet<Digest>,
}

impl ReplayedCommits {
    /// Adds what later commits yield.
    pub(super) fn append(&mut self, later: Self) {
        self.changes.extend(later.changes);
        self.ruled.extend(later.ruled);
        let removed = self.removed.take().zip(later.removed);
        self.removed = removed.map(|(mut removed, later)| {
            removed.extend(later);
            removed
        });
    }
}

/// Replays `commits`, which list parents before their children.
///
/// # Errors
///
/// A commit cannot be read.
pub(super) fn replay(
    store: &Store,
    archive: &Archive<'_>,
    validations: &ValidationCache,
    commits: &[Arc<Visited>],
) -> Result<ReplayedCommits, Error> {
    let mut sides = SideCache::new(store, archive);
    let mut changes = Vec::new();
    let mut ruled = HashSet::new();
    let everywhere = [RepoPath::root()];
    let mut removed = archive.is_from_the_first().then(Vec::new);
    for commit in commits {
        // Its directories are being read anyway.
        removed = removed.and_then(|mut removed: Vec<Removal>| {
            removed.extend(
                store
                    .removals()
                    .of_commit(commit.id, &everywhere, TRANSCRIPT_FILE)
                    .ok()?,
            );
            Some(removed)
        });
        let after = sides.of(commit.id)?;
        let befores = sides.before(commit)?;
        if !commit.parents.is_empty()
            && befores.iter().any(|before| !before.has_settings_of(&after))
        {
            ruled.insert(commit.id);
        }
        let differing = after.differing(store);
        let message = store.history().message(commit.id)?;
        let snapshot = after.snapshot(validations);
        let message_steps = MessageSteps::of(&message, befores.len() > 1);
        let compared = Compared {
            befores: &befores,
            after: snapshot,
            differing: &differing,
            message_steps,
            replaced: None,
        };
        let ChangedTasks {
            records: recorded,
            results,
            ..
        } = compared.tasks()?;
        let mut unknown = compared.unknown_results(&results, archive)?;
        for (task, proof) in compared.named_without_record(&recorded)? {
            changes.push(Audited::new(commit.clone(), archive.shared(task), proof));
        }
        for task in compared.uncovered(&recorded)? {
            archive.note(&task, &after.source)?;
            for HiddenChange {
                commit: hiding,
                proof,
            } in hidden_changes(&mut sides, &compared, &task)?
            {
                let change = Audited::new(hiding.into(), archive.shared(task.clone()), proof);
                changes.push(Audited {
                    found_in: commit.id,
                    ..change
                });
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
            let proof = match unknown.remove(task.directory()) {
                Some((_, why)) => Some(with_unknown_result(proof, why)),
                None => proof,
            };
            if let Some(proof) = proof {
                changes.push(Audited::new(commit.clone(), archive.shared(task), proof));
            }
        }
        for (task, why) in unknown.into_values() {
            let proof = with_unknown_result(None, why);
            changes.push(Audited::new(commit.clone(), archive.shared(task), proof));
        }
    }
    Ok(ReplayedCommits {
        changes,
        removed,
        ruled,
    })
}
