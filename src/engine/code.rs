//! Code as evidence: what was committed outside of tasks, as facts of the artifacts that it is.

use super::snapshot::Snapshot;
use super::{Error, TaskRef};
use crate::base::{Diagnostic, Digest};
use crate::config::Roots;
use crate::decide::{Facts, FileFact, Recorded, State};
use crate::scan::Observed;
use crate::store::{Code, Since, Start, Store};
use crate::workflow::{Artifact, Part, TreeScope, Workflow, tree_name};
use serde_json::{Value, json};
use std::sync::Arc;

/// Which commit's tree is the code.
#[derive(Clone, Copy)]
pub(super) enum CodeAt<'a> {
    /// None: there is no repository.
    Nowhere,
    /// That of HEAD.
    Head(&'a Store),
    /// That of a commit; of none, nothing.
    Commit(&'a Store, Option<Digest>),
}

/// The code that a history does not reach back to.
pub(super) const TOO_SHALLOW: &str = "not-in-clone";

impl Snapshot<'_> {
    /// Adds to the facts what the code is, of each artifact that may be code, and what happened to it
    /// since the last step that was recorded.
    pub(super) fn look_at_code(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        recorded: &Recorded,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        if workflow.artifacts.iter().all(|artifact| artifact.tree.is_none()) {
            return Ok(());
        }
        let (store, head, is_now) = match self.code {
            CodeAt::Nowhere => return Ok(()),
            CodeAt::Head(store) => (store, store.head()?.commit, true),
            CodeAt::Commit(store, commit) => (store, commit, false),
        };
        let state = match recorded {
            Recorded::Known(state) => Some(&**state),
            _ => None,
        };
        for (artifact, scope) in trees(workflow) {
            let part = |path: &_, is_directory| part_of(scope, &self.setting.config.roots, path, is_directory);
            let code = Code { name: self.name_of(scope), part: &part };
            let digest = store.code_digest(head, &code)?;
            let mut fact = tree_fact(artifact, digest);
            let changed = state.and_then(|state| Some((head?, since(workflow, state, artifact, digest)?)));
            if let Some((head, baselines)) = changed {
                let record = task.state_path()?;
                let is_committed = store.read_at(head, &record)?.is_some_and(|held| {
                    observed.state.as_ref().is_some_and(|state| is_same(&held, &state.bytes))
                });
                let start = if is_committed { Start::Changed(record) } else { Start::Was(baselines) };
                match store.code_since(head, &start, &code, is_now && is_committed)? {
                    Some(since) => fact.data = Some(Arc::new(value(&since))),
                    None => unknown(&mut fact),
                }
            }
            put(&mut observed.facts, artifact, fact);
        }
        Ok(())
    }

    /// What tells a part of the tree from all others that one repository knows.
    fn name_of(&self, scope: &TreeScope) -> String {
        let roots = self.setting.config.roots.iter();
        let roots: Vec<String> =
            roots.map(|root| format!("{}\n{}", root.path, root.exclude.texts().join("\n"))).collect();
        format!("{}\n\n{}", scope.texts().join("\n"), roots.join("\n\n"))
    }

    /// The digest of the code that an artifact may be, in a commit or in none.
    pub(super) fn has_code(
        &self,
        store: &Store,
        from: &[Digest],
        scope: &TreeScope,
        wanted: Digest,
    ) -> Result<bool, Error> {
        let part = |path: &_, is_directory| part_of(scope, &self.setting.config.roots, path, is_directory);
        let code = Code { name: self.name_of(scope), part: &part };
        if store.code_digest(None, &code)? == wanted {
            return Ok(true);
        }
        for commit in from {
            if store.commit_with_code(*commit, wanted, &code)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The artifacts that may be code, and which.
pub(super) fn trees(workflow: &Workflow) -> impl Iterator<Item = (&Artifact, &TreeScope)> {
    workflow.artifacts.iter().filter_map(|artifact| Some((artifact, artifact.tree.as_ref()?)))
}

/// Code of which nothing more is known than what it is.
pub(super) fn tree_fact(artifact: &Artifact, digest: Digest) -> FileFact {
    FileFact {
        pattern: artifact.paths.len(),
        is_tree: true,
        path: tree_name(artifact.name.as_str()),
        digest: Some(digest),
        data: Some(Arc::new(FileFact::no_commits())),
        problems: Vec::new(),
    }
}

/// Notes that nobody can know here what happened to the code.
pub(super) fn unknown(fact: &mut FileFact) {
    let message = "the history here does not reach back to the task's last step, so nobody knows what was committed since";
    fact.data = None;
    fact.problems = vec![Diagnostic::error(TOO_SHALLOW, message).hint("git fetch --unshallow")];
}

/// Puts what is known of an artifact's code in the place of what was known.
pub(super) fn put(facts: &mut Facts, artifact: &Artifact, fact: FileFact) {
    let files = facts.artifacts.entry(artifact.name.clone()).or_default();
    files.retain(|file| !file.is_tree);
    files.push(fact);
}

/// How much of what lies at a path is this part of the code: what lies where tasks do is none.
fn part_of(scope: &TreeScope, roots: &Roots, path: &crate::base::RepoPath, is_directory: bool) -> Part {
    match (scope.part(path), roots.part(path, is_directory)) {
        (Part::None, _) | (_, Part::Whole) => Part::None,
        (Part::Whole, Part::None) => Part::Whole,
        _ => Part::Within,
    }
}

/// What the code was when the phases that change it were entered, unless it is that still.
fn since(workflow: &Workflow, state: &State, artifact: &Artifact, digest: Digest) -> Option<Vec<Digest>> {
    let current = state.phase.as_deref().and_then(|name| workflow.phase_named(name));
    if current.is_some_and(|phase| phase.terminal) {
        return None;
    }
    let records: Vec<Option<Digest>> = workflow
        .producers(&artifact.name)
        .filter_map(|phase| state.actor(&phase.id)?.entered_with.get(&artifact.name).copied())
        .collect();
    let is_changed = records.iter().any(|record| *record != Some(digest));
    is_changed.then(|| records.into_iter().flatten().collect())
}

/// Whether a record is the one that was committed; a checkout may have converted its line endings.
fn is_same(committed: &[u8], present: &[u8]) -> bool {
    let plain = |bytes: &[u8]| -> Vec<u8> { bytes.iter().copied().filter(|byte| *byte != b'\r').collect() };
    committed == present || plain(committed) == plain(present)
}

fn value(since: &Since) -> Value {
    let commits: Vec<Value> = since
        .commits
        .iter()
        .map(|commit| json!({"id": commit.id.to_string(), "subject": commit.subject, "tasks": commit.tasks}))
        .collect();
    let files: Vec<&str> = since.files.iter().map(|path| path.as_str()).collect();
    json!({"commits": commits, "files": files})
}
