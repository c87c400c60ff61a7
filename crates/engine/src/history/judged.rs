//! What has changed in an artifact since it was judged: the files that the last step rests on, and those that are here.

use super::stories;
use crate::survey::{Sight, Workspace};
use orch_base::{Code, Digest, Error, Hint};
use orch_core::decide::{HistoryEntry, unknown_artifact};
use orch_core::workflow::tree_name;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// An artifact, as it was judged and as it is.
#[derive(Debug, Clone)]
pub struct JudgedArtifact {
    /// The last step that rests on it, with its commit; `None` if none does.
    pub step: Option<(Arc<HistoryEntry>, Option<Digest>)>,
    /// Its files, then and now, by their paths.
    pub files: Vec<JudgedFile>,
}

/// A file of an artifact, as it was judged and as it is.
#[derive(Debug, Clone)]
pub struct JudgedFile {
    /// Its path in the task.
    pub name: String,
    /// What it was; `None` if there was none.
    pub before: Option<Digest>,
    /// What it is; `None` if there is none.
    pub after: Option<Digest>,
    /// How it differs, as `git diff` shows it; `None` if it is binary, or if this clone does not have what it was.
    pub patch: Option<String>,
}

/// How an artifact of a task differs from what the last step that rests on it has judged.
///
/// # Errors
///
/// There is no such artifact, it is committed code, the log cannot be read, or git cannot read what it was.
pub fn judged(
    workspace: &Workspace,
    judged: &Sight,
    artifact: &str,
) -> Result<JudgedArtifact, Error> {
    let workflow = judged.workflow();
    let matcher = &judged.compiled.matcher;
    let index = workflow
        .artifacts
        .iter()
        .position(|declared| declared.name.as_str() == artifact);
    let index = index.ok_or_else(|| unknown_artifact(workflow, artifact))?;
    if workflow.artifacts[index].paths.is_empty() {
        return Err(is_code(artifact, None));
    }
    // What cannot be read is neither unchanged nor deleted, and a damaged record does not say what was judged.
    judged.require_whole_record()?;
    let facts = judged
        .observed
        .facts
        .artifacts
        .get(&workflow.artifacts[index].name);
    let unread = facts
        .into_iter()
        .flatten()
        .filter(|file| file.digest.is_none());
    if let Some(fault) = unread
        .flat_map(|file| &file.problems)
        .find(|problem| problem.is_error())
    {
        return Err(fault.clone().into());
    }
    let is_its = |name: &str| matcher.artifacts_of(name).any(|(found, _)| found == index);
    let mut stories = stories(workspace, std::slice::from_ref(&judged.task))?;
    let mut steps = stories.pop().transpose()?.unwrap_or_default().steps;
    let tree = tree_name(artifact);
    steps.retain(|(entry, _)| {
        entry
            .evidence
            .iter()
            .any(|(name, _)| is_its(name) || *name == tree)
    });
    let step = steps.pop();
    if let Some((entry, commit)) = &step
        && entry.evidence.iter().any(|(name, _)| *name == tree)
    {
        return Err(is_code(artifact, *commit));
    }
    let evidence = step.iter().flat_map(|(entry, _)| &entry.evidence);
    let before: BTreeMap<&str, Digest> = evidence
        .filter(|(name, _)| is_its(name))
        .filter_map(|(name, digest)| Some((name.as_str(), Digest::parse(digest)?)))
        .collect();
    let observed = judged.observed.files.iter().filter_map(|file| {
        let name = judged
            .task
            .place
            .name(&file.path)
            .filter(|name| is_its(name))?;
        Some((name, file))
    });
    let after: BTreeMap<&str, _> = observed.collect();
    let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let store = workspace.reader.repository_or_refuse()?;
    let files = names.into_iter().map(|name| {
        let old = before.get(name).copied();
        let new = after.get(name);
        let path = judged
            .task
            .place
            .path(name)
            .map_err(|why| Error::new(Code::BadPath, why.to_string()))?;
        let held = old.map(|old| store.objects().blob(old)).transpose()?;
        let now = new
            .map(|file| store.filters().clean(&path, &file.bytes))
            .transpose()?;
        let patch = match &held {
            // This clone does not have it.
            Some(None) => None,
            held => orch_git::patch(
                &path,
                held.as_ref().and_then(Option::as_deref),
                now.as_deref(),
            )?,
        };
        Ok(JudgedFile {
            name: name.to_owned(),
            before: old,
            after: new.map(|file| file.digest),
            patch,
        })
    });
    let files = files.collect::<Result<_, Error>>()?;
    Ok(JudgedArtifact { step, files })
}

/// The error about an artifact that is committed code, which was judged by the step that `judged` recorded, if any.
fn is_code(artifact: &str, judged: Option<Digest>) -> Error {
    let message = format!("`{artifact}` is committed code, and no file of the task");
    let hint = match judged {
        // The commit of a step contains no code, so it has that of its parent.
        Some(commit) => Hint::from("to see what changed since it was judged: ").command(&[
            "git",
            "diff",
            &commit.short(),
        ]),
        None => Hint::from("compare the commits that `orch log` names: ")
            .command(&["git", "diff", "COMMIT"]),
    };
    Error::new(Code::UnknownArtifact, message).with_hint(hint)
}
