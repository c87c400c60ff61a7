//! What stands behind the evidence of audited steps that `orch` makes itself, or could have made.

use super::archive::Archive;
use super::replay::Audited;
use crate::survey::{Error, Settings};
use orch_base::{Digest, VerificationName};
use orch_core::decide::{Detail, ProvenStep, Standing};
use orch_core::verification::{Verification, Vouched, VouchedEvidence, result_of};
use orch_core::workflow::is_tree_name;
use orch_git::{Signature, Store};

/// Notes with each step the results of verifications that it records, and the files that a verification could have made
/// which the settings before the commit define. Returns an error if git cannot be read.
pub(super) fn vouch(
    store: &Store,
    archive: &Archive<'_>,
    changes: &mut [Audited],
) -> Result<(), Error> {
    for change in changes.iter_mut() {
        let Some(parent) = change.commit.parents.first() else {
            continue;
        };
        let setting = archive.setting(&store.objects().source_at(*parent))?;
        let is_forged = change.proof.standing == Standing::Forged;
        for step in &mut change.proof.steps {
            step.vouched = match step.entry.detail.as_deref() {
                Some(Detail::Verify(run)) => {
                    let is_defined = setting.config.verify.contains_key(run.name.table());
                    let is_doubtful =
                        is_forged || !is_defined || step.standing >= Standing::Unverifiable;
                    vec![result(run, is_doubtful)]
                }
                _ => replaceable(step, &setting, archive),
            };
        }
    }
    sign(store, changes)
}

/// The result that a step records. What is in doubt is worth no more than a file that somebody wrote.
fn result(run: &Verification, is_doubtful: bool) -> VouchedEvidence {
    VouchedEvidence {
        path: run.path(),
        digest: run.result.digest,
        verification: run.name.clone(),
        is_result: true,
        by: if is_doubtful {
            Vouched::None
        } else {
            Vouched::Run
        },
    }
}

/// The files of a step that a verification could have made: those of artifacts with `same_as`, where it is defined.
fn replaceable(
    step: &ProvenStep,
    setting: &Settings,
    archive: &Archive<'_>,
) -> Vec<VouchedEvidence> {
    let defined = &setting.config.verify;
    let mut found = Vec::new();
    let Some(named) = step.workflow.as_ref().filter(|_| !defined.is_empty()) else {
        return found;
    };
    let loaded = archive.workflow(setting, named.name.as_str(), named.digest);
    let Some(Ok(usable)) = loaded.as_ref().map(|loaded| loaded.usable()) else {
        return found;
    };
    let left = step.entry.from.as_ref();
    let left = left.and_then(|from| usable.workflow.phase_named(from.as_str()));
    for (path, digest) in &step.entry.evidence {
        if is_tree_name(path) || result_of(path).is_some() {
            continue;
        }
        let artifacts = usable.matcher.artifacts_of(path);
        let mut names = artifacts
            .filter_map(|(artifact, _)| usable.workflow.artifacts[artifact].same_as.as_ref());
        // Where its phase runs the verification, the file has moved nothing.
        let is_run =
            |name: &VerificationName| left.is_some_and(|left| left.verifies.contains(name));
        let name = names.find(|name| defined.contains_key(*name) && !is_run(name));
        if let (Some(name), Some(digest)) = (name, Digest::parse(digest)) {
            found.push(VouchedEvidence {
                path: path.clone(),
                digest,
                verification: name.clone(),
                is_result: false,
                by: Vouched::None,
            });
        }
    }
    found
}

/// Raises the results in commits that a signer has signed whom git trusts here.
fn sign(store: &Store, changes: &mut [Audited]) -> Result<(), Error> {
    let has_run = |change: &Audited| {
        let mut evidence = change.proof.steps.iter().flat_map(|step| &step.vouched);
        evidence.any(|one| one.by == Vouched::Run)
    };
    let mut asked: Vec<&mut Audited> = changes
        .iter_mut()
        .filter(|change| has_run(change))
        .collect();
    let commits: Vec<Digest> = asked.iter().map(|change| change.commit.id).collect();
    let signatures = store.identity().signatures(&commits)?;
    for (change, signature) in asked.iter_mut().zip(signatures) {
        if !matches!(signature, Signature::Good { .. }) {
            continue;
        }
        let steps = change.proof.steps.iter_mut();
        for one in steps.flat_map(|step| &mut step.vouched) {
            if one.by == Vouched::Run {
                one.by = Vouched::Signed;
            }
        }
    }
    Ok(())
}
