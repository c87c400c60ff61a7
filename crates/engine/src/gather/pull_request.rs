//! What the description of a pull request says: which tasks a range changes, and what there is of each.

use super::tasks::unread_task;
use crate::survey::{LookDepth, Reader, Sight, TaskRef, Workspace, issue_place};
use orch_base::{Diagnostic, Error, RepoPath};
use orch_core::decide::{QuotedIssue, ResultFile, issues};
use orch_core::record::EventLog;
use orch_core::workflow::{Artifact, Format};
use orch_view::{
    DescribedTask, DescribedVerification, ReadFile, TaskDescription, VerificationLine,
};
use serde_json::Value;

/// The workspace at the end of a range, and the tasks there that the range changes, by id.
///
/// What others changed meanwhile, where the range begins, is no change of the range.
///
/// # Errors
///
/// There is no repository, or the range names an unknown commit or one that cannot be read.
pub fn tasks_of_range(
    workspace: Workspace,
    range: &str,
) -> Result<(Workspace, Vec<TaskRef>), Error> {
    let store = workspace.reader().repository_or_refuse()?;
    let ends = store.history().range(range)?;
    let begin = match ends.from {
        Some(from) => Some(
            store
                .history()
                .merge_bases(from, ends.to)?
                .first()
                .copied()
                .unwrap_or(from),
        ),
        None => None,
    };
    let changed = store.history().changed(
        &store.objects().source_at(begin),
        &store.objects().source_at(ends.to),
        &RepoPath::root(),
    )?;
    let workspace = workspace.at(&ends.to.to_string())?;
    let (mut tasks, _) = workspace.finder().survey()?;
    let is_changed = |task: &TaskRef| {
        let log = task.transcript_path();
        let directory = task.directory();
        let is_own = |path: &&RepoPath| match task.place.file() {
            Some(_) => **path == log || **path == task.shown(),
            None => path.below(directory).is_some(),
        };
        changed.iter().any(|path| is_own(&path))
    };
    tasks.retain(is_changed);
    tasks.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    Ok((workspace, tasks))
}

/// The descriptions of these tasks, and a diagnostic for each that cannot be read.
pub fn described_tasks(
    workspace: &Workspace,
    tasks: &[TaskRef],
) -> (Vec<TaskDescription>, Vec<Diagnostic>) {
    let looked = workspace
        .crew()
        .look_at_each(tasks, LookDepth::Whole, |reader, _, looked| {
            looked.map(|sight| described(reader, &sight))
        });
    let mut descriptions = Vec::new();
    let mut problems = Vec::new();
    for (task, looked) in tasks.iter().zip(looked) {
        match looked {
            Ok(description) => descriptions.push(description),
            Err(error) => problems.push(unread_task(task, &error)),
        }
    }
    (descriptions, problems)
}

fn described(reader: &Reader, sight: &Sight) -> TaskDescription {
    let workflow = sight.workflow();
    let facts = &sight.observed.facts;
    let found = match sight.state() {
        Some(state) => issues(workflow, state, facts),
        None => Vec::new(),
    };
    let placed = |issue: QuotedIssue| {
        let place = issue_place(sight, &issue).unwrap_or_default();
        (issue, place)
    };
    let log = sight.observed.log.whole().unwrap_or_default();
    let (log, _) = EventLog::parse(log);
    let entries = log.in_order().into_iter().map(|event| event.entry.clone());
    TaskDescription::of(&DescribedTask {
        subject: reader.subject(sight),
        files: workflow
            .artifacts
            .iter()
            .flat_map(|artifact| files_of(artifact, sight))
            .collect(),
        issues: found.into_iter().map(placed).collect(),
        verifications: verifications(sight),
        entries: entries.collect(),
    })
}

/// The files of an artifact, with what a reviewer reads of them. The code is in the pull request itself.
fn files_of<'s>(artifact: &'s Artifact, sight: &'s Sight) -> Vec<ReadFile<'s>> {
    let files = sight.observed.facts.artifacts.get(&artifact.name);
    let mut read = Vec::new();
    for file in files.into_iter().flatten().filter(|file| !file.is_tree) {
        let is_data = !matches!(
            artifact.format,
            Format::Markdown | Format::Text | Format::Patch
        );
        let content = match &file.data {
            Some(data) if is_data => Value::clone(data),
            _ if artifact.format == Format::Patch => Value::Null,
            _ => Value::String(text_of(sight, &file.path)),
        };
        read.push(ReadFile {
            artifact,
            name: &file.path,
            digest: file.digest,
            content,
        });
    }
    read
}

/// The text of a file of a task; empty if it cannot be read.
fn text_of(sight: &Sight, name: &str) -> String {
    let path = sight.task.place.path(name).ok();
    let mut files = sight.observed.files.iter();
    let file = files.find(|file| Some(&file.path) == path.as_ref());
    file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
        .unwrap_or_default()
}

fn verifications(sight: &Sight) -> Vec<DescribedVerification> {
    let mut lines = Vec::new();
    for fact in sight.observed.facts.verified.values() {
        if let ResultFile::Result { result, .. } = &fact.file {
            let judged = result.run.code.committed();
            lines.push(DescribedVerification {
                line: VerificationLine::of(result),
                same_code: fact.code.map(|code| code == judged),
            });
        }
    }
    lines
}
