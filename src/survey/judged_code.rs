//! How committed code came from code that was judged, for approvals: which commits are the task's, and which came later.

use super::snapshot::Snapshot;
use super::{BaseOf, Error, TaskRef};
use crate::base::{Digest, RepoPath};
use crate::decide::{ChangeCommit, CodeBase, CodeFacts, CodeHistory, CodeSince, FoundBy, State, former_id};
use crate::store::{CodeChanges, CodePart, CodeQuestion, Store};
use crate::workflow::{Artifact, Workflow};
use std::collections::BTreeSet;

/// The code of an artifact in a commit.
#[derive(Clone, Copy)]
pub(super) struct JudgedCode<'a> {
    pub store: &'a Store,
    pub head: Digest,
    pub artifact: &'a Artifact,
    pub code: &'a CodePart<'a>,
    pub present: Digest,
}

impl Snapshot<'_> {
    /// How the present code came from each other code that was judged by what the task rests on.
    pub(super) fn code_since_judged(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        state: &State,
        base: BaseOf<'_>,
        asked: &JudgedCode<'_>,
    ) -> Result<CodeFacts, Error> {
        let JudgedCode { store, head, artifact, code, present } = *asked;
        let judged = judged_before(workflow, state, artifact, present);
        if judged.is_empty() {
            return Ok(CodeFacts::default());
        }
        let found = match base {
            BaseOf::Branch => self.base_here(store, head, code)?,
            BaseOf::Recorded(base) => base.cloned(),
        };
        let commit = found.as_ref().filter(|base| base.by == FoundBy::Branch).and_then(|base| base.commit);
        let state = &*state.under_own_names(workflow);
        let entered = workflow
            .producers(&artifact.name)
            .find_map(|phase| state.actor(&phase.id)?.entered_with.get(&artifact.name).copied().flatten());
        let former = state.history.iter().filter_map(|entry| former_id(entry));
        let ids: Vec<&str> = std::iter::once(task.id.as_str()).chain(former).collect();
        let is_here = match commit {
            Some(commit) => store.has(commit)? && (commit == head || store.is_ancestor(commit, head)?),
            None => true,
        };
        let mut facts = CodeFacts { base: found, since: Vec::new() };
        for judged in judged {
            let question = CodeQuestion { head, entered, judged, base: commit, task: &ids };
            let changes = if is_here { store.code_changes(&question, code)? } else { None };
            let mut by_branch = commit.is_some_and(|commit| commit != head);
            let all = changes.iter().flat_map(|changes| changes.before.iter().chain(&changes.later));
            // The branch of the task is merged, or the task is worked on in the base branch.
            by_branch &= !all.clone().any(|commit| commit.is_in_base && commit.names_task);
            if !by_branch && facts.base.as_ref().is_none_or(|base| base.by == FoundBy::Branch) {
                facts.base = match base {
                    BaseOf::Branch => Some(CodeBase { commit: None, code: None, by: FoundBy::Create }),
                    BaseOf::Recorded(_) => None,
                };
            }
            let history = changes.map(|changes| history_of(changes, by_branch));
            facts.since.push(CodeSince { artifact: artifact.name.clone(), judged, history });
        }
        if let BaseOf::Recorded(Some(CodeBase { commit: Some(commit), code: Some(recorded), .. })) = base
            && is_here
            && store.code_digest(Some(*commit), code)? != *recorded
        {
            facts.base = None;
        }
        Ok(facts)
    }

    /// What the branch of a commit and the base branch have in common last; `None` if there is no base branch.
    fn base_here(&self, store: &Store, head: Digest, code: &CodePart<'_>) -> Result<Option<CodeBase>, Error> {
        let git = &self.setting.config.git;
        let mut newest: Option<Digest> = None;
        for tip in store.base_tips(git.base.as_deref(), git.protected.texts())? {
            for base in store.merge_bases(head, tip)? {
                let is_newer = match newest {
                    Some(known) => known != base && store.is_ancestor(known, base)?,
                    None => true,
                };
                if is_newer {
                    newest = Some(base);
                }
            }
        }
        let Some(commit) = newest else { return Ok(None) };
        let code = store.code_digest(Some(commit), code)?;
        Ok(Some(CodeBase { commit: Some(commit), code: Some(code), by: FoundBy::Branch }))
    }
}

/// Code other than the present one that was judged by what earlier phases were left with, where the present phase needs
/// it.
fn judged_before(
    workflow: &Workflow,
    state: &State,
    artifact: &Artifact,
    present: Digest,
) -> BTreeSet<Digest> {
    let current = state.phase.as_deref().and_then(|name| workflow.phase_named(name));
    if current.is_none_or(|phase| phase.terminal || !phase.is_held_to(&artifact.name)) {
        return BTreeSet::new();
    }
    let state = state.under_own_names(workflow);
    let judged = state.actors.values().flat_map(|actor| actor.judged.values());
    let versions = judged.filter_map(|judged| judged.get(&artifact.name).copied());
    versions.filter(|version| *version != present).collect()
}

/// The change of a task, and the commits after it. In the base branch itself the commits of the task are those that name
/// it, else those that the base does not contain.
fn history_of(changes: CodeChanges, by_branch: bool) -> CodeHistory {
    let is_own = |commit: &&ChangeCommit| if by_branch { !commit.is_in_base } else { commit.names_task };
    let own = changes.before.iter().filter(is_own);
    let files: BTreeSet<RepoPath> = own.flat_map(|commit| commit.files.iter().cloned()).collect();
    CodeHistory { files: files.into_iter().collect(), later: changes.later }
}
