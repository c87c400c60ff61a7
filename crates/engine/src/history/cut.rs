//! Logs in the work tree from which the newest commit that changed them dropped the events of a later version.

use super::archive::{Archive, ReadOnce};
use super::compared::Compared;
use super::record_finding::{record_finding, within};
use super::side::SideCache;
use super::trailers::MessageSteps;
use crate::survey::{Error, TaskRef};
use orch_base::{Diagnostic, RepoPath};
use orch_core::record::{has_later_version, has_lost_events};
use orch_git::{Store, Visited};
use orch_read::ValidationCache;

/// The findings about these tasks, whose logs have no event of a later version: an older `orch recover` drops those, and
/// continues as if they had never been.
///
/// # Errors
///
/// git cannot read a commit or the history.
pub(super) fn cut(
    store: &Store,
    read: &ReadOnce,
    tasks: &[TaskRef],
) -> Result<Vec<Diagnostic>, Error> {
    let Some(head) = store.refs().head()?.commit else {
        return Ok(Vec::new());
    };
    let logs: Vec<RepoPath> = tasks.iter().map(TaskRef::transcript_path).collect();
    let mut cutting = Vec::new();
    for (task, commit) in tasks.iter().zip(store.history().last_changes(head, &logs)?) {
        let Some(commit) = commit else { continue };
        let commit = store.history().visit(commit)?;
        if !commit.is_boundary && is_cut_by(store, &commit, &task.transcript_path())? {
            cutting.push((task, commit));
        }
    }
    let archive = Archive::new(store, read, false);
    let mut sides = SideCache::new(store, &archive);
    let validations = ValidationCache::default();
    let mut findings = Vec::new();
    for (task, commit) in cutting {
        let befores = sides.before(&commit)?;
        let side = sides.of(commit.id)?;
        let differing = side.differing(store);
        let after = side.snapshot(&validations);
        let message_steps = MessageSteps::default();
        let compared = Compared {
            befores: &befores,
            after,
            differing: &differing,
            message_steps,
            replaced: None,
        };
        if let Some(proof) = compared
            .prove(task, &archive)?
            .filter(|proof| proof.is_loss)
        {
            let found = record_finding(task, &proof, &compared, Some(commit.id));
            findings.extend(within(Some(commit.id), vec![found]));
        }
    }
    Ok(findings)
}

/// Whether a commit dropped events of a later version from a log.
fn is_cut_by(store: &Store, commit: &Visited, log: &RepoPath) -> Result<bool, Error> {
    let now = store.objects().read_at(commit.id, log)?.unwrap_or_default();
    for parent in &commit.parents {
        let held = store.objects().read_at(*parent, log)?.unwrap_or_default();
        if has_later_version(&held) && has_lost_events(&held, &now) {
            return Ok(true);
        }
    }
    Ok(false)
}
