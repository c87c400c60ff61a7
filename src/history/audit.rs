//! Replays the whole history or a range of it.

use super::parallel::replay_all;
use super::replay::Audited;
use crate::base::Digest;
use crate::decide::{Approval, Proof, ProvenStep, Standing};
use crate::store::{Range, Signature, Store};
use crate::survey::{Error, Workspace};
use std::collections::HashSet;

/// A replayed range of history.
pub struct Audit {
    /// The number of commits in the range.
    pub commits: usize,
    /// Every change of a task's record, oldest first.
    pub changes: Vec<Audited>,
}

/// Replays a range of commits: `A..B`, everything reachable from a revision, or by default the history of
/// HEAD.
///
/// # Errors
///
/// There is no repository, the range names an unknown commit, or a commit cannot be read.
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
    // A commit that hid a task is reported once, although several commits may show the task again.
    let mut reported = HashSet::new();
    changes.retain(|change| reported.insert((change.commit.id, change.task.directory.clone())));
    verify(store, &mut changes)?;
    Ok(Audit { commits: commits.len(), changes })
}

/// Verifies the signatures of the commits with steps that need a person.
fn verify(store: &Store, changes: &mut [Audited]) -> Result<(), Error> {
    let ordered = |change: &Audited| change.proof.steps.iter().any(|step| step.approval.is_some());
    let mut asked: Vec<&mut Audited> = changes.iter_mut().filter(|change| ordered(change)).collect();
    let commits: Vec<Digest> = asked.iter().map(|change| change.commit.id).collect();
    for (change, signature) in asked.iter_mut().zip(store.signatures(&commits)?) {
        for step in change.proof.steps.iter_mut().filter(|step| step.approval.is_some()) {
            signed(step, &signature);
        }
        let steps = std::mem::take(&mut change.proof.steps);
        let worst = Proof::of(steps);
        let is_worse = worst.standing > change.proof.standing;
        change.proof = if is_worse { worst } else { Proof { steps: worst.steps, ..change.proof.clone() } };
    }
    Ok(())
}

/// Completes the verdict about a step that needs a person by the signature of its commit.
fn signed(step: &mut ProvenStep, signature: &Signature) {
    let refused = match signature {
        Signature::Good { signer } => {
            step.approval = Some(Approval::Verified { signer: signer.clone() });
            None
        }
        Signature::Bad => Some((Standing::Forged, "its signature does not match its contents")),
        Signature::None if step.needs_signature => {
            Some((Standing::Forged, "the settings require that a person signs it, and it is not signed"))
        }
        Signature::Unknown if step.needs_signature => Some((
            Standing::Unverifiable,
            "the settings require that a person signs it, and git does not trust the signer here",
        )),
        Signature::None | Signature::Unknown => None,
    };
    if let Some((standing, why)) = refused.filter(|(standing, _)| *standing > step.standing) {
        (step.standing, step.why) = (standing, Some(why.to_owned()));
    }
}
