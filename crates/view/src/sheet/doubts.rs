//! What is stale, missing or in doubt about a task: what a decider has to see before anything else.

use super::{SheetSource, ShownArtifact};
use crate::{Advice, Finding};
use orch_base::Severity;
use orch_core::decide::{Decision, VerificationAttempt};
use serde::Serialize;

/// Something that is stale, missing or in doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Doubt {
    /// How serious it is.
    pub severity: Severity,
    /// The sentence.
    pub message: String,
    /// The place in a file, as `path:line`; null if it has none.
    pub place: Option<String>,
    /// What to do about it.
    #[serde(flatten)]
    pub advice: Advice,
}

impl Doubt {
    fn warning(message: String) -> Self {
        Self {
            severity: Severity::Warning,
            message,
            place: None,
            advice: Advice::default(),
        }
    }

    fn of(finding: &Finding) -> Self {
        let place = finding.place();
        Self {
            severity: finding.severity,
            message: finding.message.clone(),
            place: (!place.is_empty()).then_some(place),
            advice: finding.advice.clone(),
        }
    }
}

/// All that is in doubt, the worst first, each once.
pub(super) fn doubts(source: &SheetSource<'_>, artifacts: &[ShownArtifact]) -> Vec<Doubt> {
    let decision = source.subject.decision;
    let mut doubts: Vec<Doubt> = Vec::new();
    for found in decision
        .diagnostics
        .iter()
        .filter(|found| !found.is_detail())
    {
        doubts.push(Doubt::of(&Finding::of(found)));
    }
    for artifact in artifacts {
        let problems = artifact.files.iter().flat_map(|file| &file.problems);
        doubts.extend(problems.filter(|one| !one.is_detail()).map(Doubt::of));
        if let Some(why) = artifact.because.as_ref().filter(|_| !decision.is_done()) {
            doubts.push(Doubt::warning(format!(
                "`{}` is stale: {why}",
                artifact.artifact
            )));
        }
    }
    doubts.extend(of_verifications(decision));
    for waived in &decision.waived {
        let message = format!("`{waived}` was skipped: a person accepted that it is not there");
        doubts.push(Doubt::warning(message));
    }
    for remark in &decision.remarks {
        doubts.push(Doubt::warning(remark.clone()));
    }
    if let Some(why) = source
        .change
        .as_ref()
        .and_then(|change| change.unknown.as_ref())
    {
        doubts.push(Doubt::warning(why.clone()));
    }
    let mut seen: Vec<String> = Vec::new();
    doubts.retain(|doubt| {
        let is_new = !seen.contains(&doubt.message);
        seen.push(doubt.message.clone());
        is_new
    });
    doubts.sort_by_key(|doubt| match doubt.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    });
    doubts
}

/// The verifications that have to run.
fn of_verifications(decision: &Decision) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for due in &decision.verifications {
        let why = match &due.attempt {
            Some(VerificationAttempt::Running) => "is running".to_owned(),
            Some(VerificationAttempt::CouldNotRun(why)) => format!("could not run: {why}"),
            None => due.because.clone(),
        };
        doubts.push(Doubt::warning(format!(
            "the verification `{}` {why}",
            due.name
        )));
    }
    doubts
}
