//! Runs a recorded verification again, years later or elsewhere, and compares what it gives with what was recorded.

use super::trust::refuse_untrusted_verification;
use super::verification::{place, store};
use crate::apply::Writer;
use crate::survey::{Error, TaskRef};
use crate::verify::{ClaimedCheckout, Judged, VerifyOutcome, VerifyRequest, VerifyWatch, verify};
use orch_base::{Digest, Patterns, VerificationName, enumeration};
use orch_core::config::Config;
use orch_core::verification::{
    RerunOutcome, TestedCode, Verification, VerificationResult, VerifiedCode, VerifyTable,
    read_statement, result_path,
};
use orch_git::Store;
use std::collections::BTreeSet;

/// A recorded verification that is to run again.
pub struct RecordedVerification<'a> {
    /// The task.
    pub task: &'a TaskRef,
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

/// A commit with the code and the table of a recorded verification.
struct SameCode {
    commit: Digest,
    config: Config,
    table: VerifyTable,
    /// The name of the table.
    name: VerificationName,
}

/// Runs a recorded verification again, without caches, on a commit that has the code which it judged: with the recorded
/// patch if it judged one, and with the protected files of the recorded base if these are what was run. Returns an error if
/// a person has to trust it first, or git cannot be read.
pub fn rerun(
    writer: &Writer<'_>,
    recorded: &RecordedVerification<'_>,
    trusts_all: bool,
    watch: &mut VerifyWatch<'_>,
) -> Result<Rerun, Error> {
    let store = store(writer)?;
    let event = recorded.verification;
    let then = match recorded.result(store)? {
        Ok(then) => then,
        Err(why) => return Ok(Rerun::not_available(why)),
    };
    let found = match recorded.same_code(writer, &then, store)? {
        Ok(found) => found,
        Err(why) => return Ok(Rerun::not_available(why)),
    };
    let patch = match event.code {
        VerifiedCode::Commit(_) => None,
        VerifiedCode::Patch(patched) => match store.objects().blob(patched.patch)? {
            Some(bytes) => Some((patched.patch, bytes)),
            None => {
                let why = format!("the patch that it judged, {}, is not in git", patched.patch);
                return Ok(Rerun::not_available(why));
            }
        },
    };
    let judged = match &patch {
        None => Judged::Commit(found.commit),
        Some((blob, bytes)) => Judged::Patch {
            on: found.commit,
            blob: *blob,
            bytes,
        },
    };
    let only = match then.tested {
        TestedCode::Tree { tree } if event.name.is_protected() => Some(tree),
        _ => None,
    };
    let mut exempt = Patterns::default();
    if only.is_some() {
        exempt = writer
            .workspace
            .reader
            .planned_in(found.commit, recorded.task)?;
    }
    refuse_untrusted_verification(writer, &found.name, &found.table, trusts_all)?;
    let place = place(writer, &found.table, &found.config)?;
    let request = VerifyRequest {
        store,
        task: &recorded.task.id,
        name: &found.name,
        table: &found.table,
        judged,
        code: event.code,
        // The names of its tests tell nothing more: which of them are lost follows from both results.
        base: event.base.clone().filter(|_| only.is_some()),
        exempt: &exempt,
        uncommitted: 0,
        fresh: true,
        only,
    };
    let claim = ClaimedCheckout::of(store, &place, &recorded.task.id, &found.name, watch);
    let ended = match claim {
        Ok(claim) => verify(&request, &place, &claim, watch),
        Err(why) => VerifyOutcome::CouldNotRun(why),
    };
    Ok(match ended {
        VerifyOutcome::Ran(ran) => compared(&then, &ran.result),
        VerifyOutcome::CouldNotRun(why) => Rerun::not_available(why.message),
    })
}

impl RecordedVerification<'_> {
    /// The result that the event names, or why there is none.
    fn result(&self, store: &Store) -> Result<Result<VerificationResult, String>, Error> {
        let event = self.verification;
        let path = event.path();
        let Some(bytes) = store.objects().blob(event.result.digest)? else {
            return Ok(Err(format!("its result, {path}, is not in git")));
        };
        let read = read_statement(&String::from_utf8_lossy(&bytes));
        Ok(read.map_err(|invalid| format!("its result is none: {invalid}")))
    }

    /// A commit that has the code and the table, or why there is none: the one that the result names, that which the result
    /// without protected tests beside it names, or the parent commit.
    fn same_code(
        &self,
        writer: &Writer<'_>,
        then: &VerificationResult,
        store: &Store,
    ) -> Result<Result<SameCode, &'static str>, Error> {
        let reader = &writer.workspace.reader;
        let event = self.verification;
        let mut why = "no commit of this clone has the code that it judged";
        let named = [commit_of(then), self.commit_beside(store)?, self.parent];
        for commit in named.into_iter().flatten() {
            if store.history().tree_if_held(commit)?.is_none() {
                continue;
            }
            let config = reader.config_in(commit)?;
            let defined = config.verify.get_key_value(event.name.table());
            let Some((name, table)) = defined.map(|(name, table)| (name.clone(), table.clone()))
            else {
                continue;
            };
            if table.digest(store.objects().format()) != event.table {
                why = "no commit of this clone has both the code and the table";
                continue;
            }
            if reader.verified_code_in(commit, &config, &table)? == event.code.committed() {
                return Ok(Ok(SameCode {
                    commit,
                    config,
                    table,
                    name,
                }));
            }
        }
        Ok(Err(why))
    }

    /// The commit that the result of the same table without protected tests names, which was recorded with this one.
    fn commit_beside(&self, store: &Store) -> Result<Option<Digest>, Error> {
        let event = self.verification;
        let plain = VerificationName::new(event.name.table());
        let Some(path) = plain
            .ok()
            .filter(|_| event.name.is_protected())
            .and_then(|plain| self.task.place.path(&result_path(&plain)).ok())
        else {
            return Ok(None);
        };
        let blob = store.objects().source_at(self.commit).blob_at(&path)?;
        let bytes = blob.map(|blob| store.objects().blob(blob)).transpose()?;
        let text = bytes
            .flatten()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let result = text.and_then(|text| read_statement(&text).ok());
        Ok(result.as_ref().and_then(commit_of))
    }
}

/// The commit that a result names.
fn commit_of(result: &VerificationResult) -> Option<Digest> {
    match result.tested {
        TestedCode::Commit { commit, .. } => Some(commit),
        _ => None,
    }
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
    if names.is_empty() {
        return None;
    }
    Some(format!("{} {what}", enumeration(names, MOST_TOLD)))
}
