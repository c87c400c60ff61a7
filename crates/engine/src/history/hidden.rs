//! Changes of a record that no check saw, because the settings or a task above hid the task. They are
//! proven as soon as the task is visible again.

use super::archive::{has_record, objects_of};
use super::compared::Compared;
use super::record::TaskRecord;
use super::side::SideCache;
use super::trailers::MessageSteps;
use crate::survey::{Error, TaskRef};
use orch_base::Digest;
use orch_core::decide::{Proof, Standing};
use orch_git::Visited;
use std::collections::HashSet;

/// What is appended to the reason of a verdict.
const HIDDEN: &str = "this commit hides the task";

/// A change of a task's record in a commit that hid the task.
pub(super) struct HiddenChange {
    pub commit: Visited,
    pub proof: Proof,
}

/// Proves what the commits that hid a task did to its record, parents before children. `uncovering` is the
/// change that shows the task again. Empty if it shows a record that was there when the task was last
/// visible.
///
/// # Errors
///
/// A commit cannot be read.
pub(super) fn hidden_changes(
    sides: &mut SideCache<'_, '_>,
    uncovering: &Compared<'_, '_>,
    task: &TaskRef,
) -> Result<Vec<HiddenChange>, Error> {
    let Some(commits) = hidden_commits(sides, uncovering, task)? else {
        return Ok(Vec::new());
    };
    let store = sides.store;
    let archive = sides.archive;
    let mut changes = Vec::new();
    let mut objects = HashSet::new();
    for commit in commits {
        let after = sides.of(commit.id)?;
        let befores = sides.before(&commit)?;
        // A commit that restores already proven files needs no second proof, except a merge, which may drop
        // events of one side.
        let is_new =
            objects.insert(objects_of(&after.source, &task.place)?) || commit.parents.len() > 1;
        // Another tool's state proves nothing, so its history is irrelevant.
        let mut has_log = false;
        for side in befores.iter().chain([&after]) {
            has_log |= side.source.object(&task.transcript_path())?.is_some();
        }
        let after = after.as_ref();
        let differing = after.differing(store);
        let snapshot = after.snapshot(uncovering.after.validations);
        let message_steps =
            MessageSteps::of(&store.history().message(commit.id)?, befores.len() > 1);
        let compared = Compared {
            befores: &befores,
            after: snapshot,
            differing: &differing,
            message_steps,
            replaced: None,
        };
        if !is_new || !has_log || compared.covers(task)? {
            continue;
        }
        let proof = if commit.is_boundary {
            Some(Proof::bare(
                Standing::Unverifiable,
                "the history before it is not in this clone",
            ))
        } else {
            compared.prove(task, archive)?
        };
        changes.extend(proof.map(|proof| HiddenChange {
            commit,
            proof: explained(proof),
        }));
    }
    Ok(changes)
}

/// The commits since the task was last visible, parents before children. `None` if one in which it was
/// visible holds the same record as the change that shows it again.
fn hidden_commits(
    sides: &mut SideCache<'_, '_>,
    uncovering: &Compared<'_, '_>,
    task: &TaskRef,
) -> Result<Option<Vec<Visited>>, Error> {
    enum Visit {
        Begin(Digest),
        End(Visited),
    }
    let now = TaskRecord::of(task, uncovering.after.source).ok();
    let mut hidden = Vec::new();
    let mut seen = HashSet::new();
    let befores = uncovering
        .befores
        .iter()
        .filter_map(|before| before.source.commit());
    let mut open: Vec<Visit> = befores.map(Visit::Begin).collect();
    while let Some(visit) = open.pop() {
        let id = match visit {
            Visit::Begin(id) => id,
            Visit::End(commit) => {
                hidden.push(commit);
                continue;
            }
        };
        if !seen.insert(id) {
            continue;
        }
        let side = sides.of(id)?;
        if uncovering.before(&side).search().shows(task)? {
            if now.is_some() && TaskRecord::of(task, &side.source).ok() == now {
                return Ok(None);
            }
        } else if has_record(&side.source, task)? {
            let commit = sides.store.history().visit(id)?;
            let parents: Vec<Visit> = commit.parents.iter().copied().map(Visit::Begin).collect();
            open.push(Visit::End(commit));
            open.extend(parents);
        }
    }
    Ok(Some(hidden))
}

/// Adds to a bad verdict that the commit hid the task.
fn explained(proof: Proof) -> Proof {
    if proof.standing < Standing::Unverifiable {
        return proof;
    }
    let why = proof
        .why
        .as_deref()
        .map_or(HIDDEN.to_owned(), |why| format!("{why}; {HIDDEN}"));
    Proof {
        why: Some(why),
        ..proof
    }
}
