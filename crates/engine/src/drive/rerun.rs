//! Runs a recorded verification again, years later or elsewhere, and compares what it gives with what was recorded.

use super::trust::refuse_untrusted_verification;
use super::verification::{place, store};
use crate::apply::Writer;
use crate::survey::Error;
use crate::verify::{ClaimedCheckout, Judged, VerifyOutcome, VerifyRequest, VerifyWatch, verify};
use orch_base::{Digest, Patterns, RepoPath, TaskId};
use orch_core::verification::{
    RerunOutcome, TestedCode, Verification, VerificationResult, VerifiedCode, read_statement,
};
use std::collections::BTreeSet;

/// A recorded verification that is to run again.
pub struct RecordedVerification<'a> {
    /// The task.
    pub task: &'a TaskId,
    /// The path of the file with its result.
    pub path: RepoPath,
    /// The commit that records it.
    pub commit: Digest,
    /// The first parent of that commit, whose code and settings count.
    pub parent: Option<Digest>,
    /// What its event says.
    pub verification: &'a Verification,
}

/// What came of running a recorded verification again, and why.
pub struct Rerun {
    /// The kind.
    pub outcome: RerunOutcome,
    /// How both differ, or why it could not be run; empty if they are the same.
    pub why: String,
}

impl Rerun {
    fn not_available(why: impl Into<String>) -> Self {
        Self {
            outcome: RerunOutcome::NotAvailable,
            why: why.into(),
        }
    }
}

/// Runs a recorded verification again, without caches, on a commit that has the code which it judged. Returns an error if a
/// person has to trust it first, or git cannot be read.
pub fn rerun(
    writer: &Writer<'_>,
    recorded: &RecordedVerification<'_>,
    trusts_all: bool,
    watch: &mut VerifyWatch<'_>,
) -> Result<Rerun, Error> {
    let store = store(writer)?;
    let reader = &writer.workspace.reader;
    let event = recorded.verification;
    if event.name.is_protected() {
        return Ok(Rerun::not_available(
            "it is the run with protected tests of another verification",
        ));
    }
    let VerifiedCode::Commit(code) = event.code else {
        return Ok(Rerun::not_available("it judged a patch"));
    };
    let Some(bytes) = store
        .objects()
        .source_at(Some(recorded.commit))
        .blob_at(&recorded.path)?
        .filter(|blob| *blob == event.result.digest)
        .map(|blob| store.objects().blob(blob))
        .transpose()?
        .flatten()
    else {
        return Ok(Rerun::not_available(format!(
            "its result, {}, is not in git",
            recorded.path
        )));
    };
    let then = match read_statement(&String::from_utf8_lossy(&bytes)) {
        Ok(then) => then,
        Err(invalid) => {
            return Ok(Rerun::not_available(format!(
                "its result is none: {}",
                invalid.0
            )));
        }
    };
    let tested = match then.tested {
        TestedCode::Commit { commit, .. } => Some(commit),
        _ => None,
    };
    let mut why = "no commit of this clone has the code that it judged";
    for commit in [tested, recorded.parent].into_iter().flatten() {
        if !store.objects().has(commit)? {
            continue;
        }
        let config = reader.config_in(commit)?;
        let Some(table) = config.verify.get(&event.name) else {
            continue;
        };
        if table.digest(store.objects().format()) != event.table {
            why = "no commit of this clone has both the code and the table";
            continue;
        }
        if reader.verified_code_in(commit, table)? != code {
            continue;
        }
        refuse_untrusted_verification(writer, &event.name, table, trusts_all)?;
        let place = place(writer, table, &config)?;
        let request = VerifyRequest {
            store,
            task: recorded.task,
            name: &event.name,
            table,
            judged: Judged::Commit(commit),
            code: event.code,
            base: None,
            exempt: &Patterns::default(),
            uncommitted: 0,
            fresh: true,
        };
        let claim = ClaimedCheckout::of(store, &place, recorded.task, &event.name, watch);
        let ended = match claim {
            Ok(claim) => verify(&request, &place, &claim, watch),
            Err(why) => VerifyOutcome::CouldNotRun(why),
        };
        return Ok(match ended {
            VerifyOutcome::Ran(ran) => compared(&then, &ran.result),
            VerifyOutcome::CouldNotRun(why) => Rerun::not_available(why.message),
        });
    }
    Ok(Rerun::not_available(why))
}

/// How many names of tests are told.
const MOST_TOLD: usize = 3;

/// Compares two results by outcome and by test. Durations and output may differ.
fn compared(then: &VerificationResult, now: &VerificationResult) -> Rerun {
    let mut differences = Vec::new();
    let [before, after] = [then, now].map(|result| result.run.outcome);
    if before != after {
        differences.push(format!(
            "it {}, and now it {}",
            before.as_str(),
            after.as_str()
        ));
    }
    let [failed_then, failed_now] = [then, now].map(failed);
    let now_failed: Vec<&String> = failed_now.difference(&failed_then).copied().collect();
    let no_longer: Vec<&String> = failed_then.difference(&failed_now).copied().collect();
    differences.extend(told("now fails", &now_failed));
    differences.extend(told("fails no longer", &no_longer));
    let passed = |result: &VerificationResult| result.run.passed;
    if let (None, None) = (passed(then), passed(now)) {
        let [then, now] =
            [then, now].map(|result| result.tests.passed.iter().collect::<BTreeSet<_>>());
        let gone: Vec<&String> = then
            .difference(&now)
            .filter(|name| !failed_now.contains(**name))
            .copied()
            .collect();
        let new: Vec<&String> = now
            .difference(&then)
            .filter(|name| !failed_then.contains(**name))
            .copied()
            .collect();
        differences.extend(told("passed, and did not run now", &gone));
        differences.extend(told("did not run then", &new));
    } else if passed(then) != passed(now) {
        differences.push("other tests passed".to_owned());
    }
    if differences.is_empty() {
        return Rerun {
            outcome: RerunOutcome::Same,
            why: String::new(),
        };
    }
    Rerun {
        outcome: RerunOutcome::Other,
        why: differences.join("; "),
    }
}

fn failed(result: &VerificationResult) -> BTreeSet<&String> {
    result.tests.failed.iter().collect()
}

/// The names of tests with what became of them; `None` without any.
fn told(what: &str, names: &[&String]) -> Option<String> {
    let (first, others) = names.split_first()?;
    let mut shown = (*first).clone();
    for name in others.iter().take(MOST_TOLD - 1) {
        shown.push_str(&format!(", {name}"));
    }
    if names.len() > MOST_TOLD {
        shown.push_str(&format!(" and {} more", names.len() - MOST_TOLD));
    }
    Some(format!("{shown} {what}"))
}
