//! The finding about a change of a record that is not what it should be.

use super::compared::Compared;
use crate::survey::TaskRef;
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath};
use orch_core::config;
use orch_core::decide::{Proof, Standing};
use orch_files::{Content, Source};

/// Puts the commit id before the messages of findings about a commit.
pub(super) fn within(commit: Option<Digest>, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let Some(commit) = commit {
        for finding in &mut found {
            finding.message = format!("commit {}: {}", commit.short(), finding.message);
        }
    }
    found
}

/// The finding about a change of a record, with what to do about it.
pub(super) fn record_finding(
    task: &TaskRef,
    proof: &Proof,
    compared: &Compared<'_, '_>,
    commit: Option<Digest>,
) -> Diagnostic {
    let why = proof.why.as_deref().unwrap_or_default();
    let (code, what) = match proof.standing {
        Standing::Forged => (Code::Forged, "is not what the rules yield"),
        _ if proof.is_loss => (Code::TranscriptCut, "lacks events that were recorded"),
        _ => (
            Code::Unverifiable,
            "cannot be derived from the commits and blobs in this clone",
        ),
    };
    let message = format!("the record of `{}` {what}: {why}", task.id);
    let record = [task.state_path(), task.transcript_path()];
    let is_there = |source: &dyn Source, path: &RepoPath| {
        source
            .read(path, u64::MAX - 1)
            .is_ok_and(|content| content != Content::Missing)
    };
    let before = compared.befores.first();
    let held = |path: &&RepoPath| before.is_some_and(|before| is_there(&before.source, path));
    let put_back: Vec<&str> = record.iter().filter(held).map(RepoPath::as_str).collect();
    let staged: Vec<&str> = record
        .iter()
        .filter(|path| is_there(compared.after.source, path))
        .map(RepoPath::as_str)
        .collect();
    // The hint restores only the record, because all other files may be work in progress.
    let short = commit.map(|commit| commit.short());
    let take_back = match &short {
        Some(commit) => vec!["git", "revert", commit],
        None if put_back.is_empty() => {
            [&["git", "rm", "--cached", "--"], staged.as_slice()].concat()
        }
        None => {
            let restore = [
                "git",
                "restore",
                "--source=HEAD",
                "--staged",
                "--worktree",
                "--",
            ];
            [&restore, put_back.as_slice()].concat()
        }
    };
    // A record that lost events says nothing about how the task moved.
    let way = if proof.is_loss {
        ""
    } else {
        "let orch move the task; "
    };
    let hint = match &short {
        // To revert a merge takes back the other branch as a whole.
        Some(_) if compared.befores.len() > 1 => Hint::from("merge again and join both records: ")
            .command(&["orch", "resolve", task.id.as_str()])
            .text(format!("; or acknowledge the commit in {}", config::FILE)),
        // A revert takes the step back, but the commit stays what it is.
        Some(commit) => {
            let parent = format!("{commit}^");
            Hint::from(format!("{way}before the commit is published, drop it: "))
                .command(&["git", "rebase", "--onto", &parent, commit])
                .text("; after that: ")
                .command(&take_back)
                .text(format!(", and acknowledge it in {}", config::FILE))
        }
        None => Hint::from(format!("{way}to put its record back: ")).command(&take_back),
    };
    let place = record.first().map(Place::file).unwrap_or_default();
    Diagnostic::error(code, message).at(place).hint(hint)
}
