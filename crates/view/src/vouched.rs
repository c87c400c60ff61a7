//! What stands behind the evidence of audited steps: counted, and held against the level that somebody requires.

use super::AuditedChange;
use orch_base::{Code, Diagnostic, Hint};
use orch_core::decide::{ProvenStep, Standing};
use orch_core::verification::{Vouched, VouchedEvidence, result_of};
use orch_core::workflow::is_tree_name;
use serde::Serialize;
use std::collections::BTreeMap;

/// A piece of evidence of a recorded step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AuditEvidence {
    /// The path of the file, relative to the directory of the task.
    pub path: String,
    /// Its digest.
    pub digest: String,
    /// The verification that made it or could have made it; null for all other files.
    pub verification: Option<String>,
    /// What stands behind it.
    pub by: Vouched,
}

/// How many pieces of evidence have each level. Committed code is no file that anybody vouches for.
pub(super) type VouchedCounts = BTreeMap<&'static str, usize>;

/// The evidence of a step, apart from committed code. The result of a verification belongs to the step that records it.
pub(super) fn evidence_of(step: &ProvenStep) -> Vec<AuditEvidence> {
    let mut found: Vec<AuditEvidence> = step.vouched.iter().map(AuditEvidence::of).collect();
    for (path, digest) in &step.entry.evidence {
        let is_known = found.iter().any(|one| one.path == *path);
        if is_known || is_tree_name(path) || result_of(path).is_some() {
            continue;
        }
        found.push(AuditEvidence {
            path: path.clone(),
            digest: digest.clone(),
            verification: None,
            by: Vouched::None,
        });
    }
    found
}

/// Counts the evidence of these changes. What several steps of a task rest on counts once.
pub(super) fn counts(changes: &[AuditedChange]) -> VouchedCounts {
    let mut levels: BTreeMap<(&str, String, String), Vouched> = BTreeMap::new();
    for change in changes {
        for one in change.proof.steps.iter().flat_map(evidence_of) {
            let key = (change.task.as_str(), one.path, one.digest);
            let level = levels.entry(key).or_insert(Vouched::None);
            *level = one.by.max(*level);
        }
    }
    let mut counts = VouchedCounts::new();
    for level in levels.values() {
        *counts.entry(level.as_str()).or_insert(0) += 1;
    }
    counts
}

/// The evidence of these changes that a verification made or could have made, and that does not reach a level.
pub(super) fn unvouched(changes: &[AuditedChange], required: Vouched) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for change in changes
        .iter()
        .filter(|change| change.acknowledged.is_none())
    {
        for step in &change.proof.steps {
            let wanting = step.vouched.iter().filter(|one| one.by < required);
            found.extend(wanting.map(|one| finding(change, step, one)));
        }
    }
    found
}

fn finding(change: &AuditedChange, step: &ProvenStep, evidence: &VouchedEvidence) -> Diagnostic {
    let task = change.task.as_str();
    let name = &evidence.verification;
    let commit = change.commit.id.short();
    let confirm = ["orch", "audit", "--rerun", "--task", task];
    let (why, hint) = if !evidence.is_result {
        let way =
            format!("let its phase say `verifies = [\"{name}\"]`; to audit only what is newer: ");
        (
            format!("somebody wrote it, and `[verify.{name}]` could have made it"),
            Hint::from(way).command(&["orch", "audit", "--since", &commit]),
        )
    } else if evidence.by == Vouched::Run {
        (
            format!("orch ran `{name}`, and nobody whom git trusts here has signed the commit"),
            Hint::from("sign the next ones: ")
                .command(&["git", "config", "commit.gpgSign", "true"])
                .text("; confirm this one: ")
                .command(&confirm),
        )
    } else {
        let doubt = match step.standing {
            _ if change.proof.standing == Standing::Forged => "is forged",
            Standing::Unverifiable => "is unverifiable",
            _ => "was recorded where the settings define none",
        };
        let hint = Hint::from("if the branch that it came from is here: ")
            .command(&["orch", "audit", "--also", "REV"])
            .text("; confirm it: ")
            .command(&confirm);
        (format!("the result of `{name}` {doubt}"), hint)
    };
    let message = format!("commit {commit}, task `{task}`: {why}");
    Diagnostic::error(Code::Unvouched, message)
        .at(change.place.place_of(&evidence.path))
        .hint(hint)
}

impl AuditEvidence {
    fn of(evidence: &VouchedEvidence) -> Self {
        Self {
            path: evidence.path.clone(),
            digest: evidence.digest.to_string(),
            verification: Some(evidence.verification.to_string()),
            by: evidence.by,
        }
    }
}
