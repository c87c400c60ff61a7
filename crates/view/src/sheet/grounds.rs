//! What an approval would rest on, or did: each verdict, verification and the code, by digest.

use super::{SheetSource, ShownArtifact};
use orch_base::ArtifactName;
use orch_core::decide::{Ground, RestsOn, ResultFile};
use orch_core::verification::VerifiedOutcome;
use orch_core::workflow::Role;
use serde::Serialize;
use std::collections::BTreeSet;

/// Something that an approval rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroundView {
    /// The artifact, or the name of a verification.
    pub artifact: String,
    /// What it judged.
    pub judged: Vec<String>,
    /// Why it does not stand, as what follows its name in a sentence; null if it does.
    pub why_not: Option<String>,
    /// Who wrote it, as far as known.
    pub writers: Vec<String>,
    /// Whether `orch` made it by running something.
    pub ran: bool,
    /// Its digest; null if it is not known.
    pub digest: Option<String>,
}

/// What an approval would rest on: the verdicts and reports of earlier phases, the verdict of the present one, what they
/// judged, and the results of verifications. Of a finished task, what the step did that ended it.
pub(super) fn grounds(source: &SheetSource<'_>, shown: &[ShownArtifact]) -> Vec<GroundView> {
    if source.subject.decision.is_done() {
        return recorded(source);
    }
    let decision = source.subject.decision;
    let mut grounds: Vec<GroundView> = Vec::new();
    let mut judged: BTreeSet<&ArtifactName> = BTreeSet::new();
    for ground in &decision.grounds {
        judged.extend(&ground.judged);
        grounds.push(of_ground(source, ground));
    }
    for artifact in shown {
        let is_new = !grounds
            .iter()
            .any(|ground| ground.artifact == artifact.artifact);
        if artifact.role == Role::Verdict && artifact.standing == "ready" && is_new {
            let declared = source
                .subject
                .workflow
                .artifacts
                .iter()
                .find(|declared| declared.name.as_str() == artifact.artifact);
            let of = declared
                .map(|declared| declared.judges.as_slice())
                .unwrap_or_default();
            judged.extend(of);
            grounds.push(GroundView {
                artifact: artifact.artifact.clone(),
                judged: of.iter().map(ToString::to_string).collect(),
                why_not: None,
                writers: artifact.writers.clone(),
                ran: false,
                digest: artifact.digest.clone(),
            });
        }
    }
    grounds.extend(of_verifications(source));
    judged.extend(judged_now(source));
    for name in judged {
        let is_new = !grounds
            .iter()
            .any(|ground| ground.artifact == name.as_str());
        grounds.extend(of_artifact(source, name).filter(|_| is_new));
    }
    grounds
}

/// What the verdict of the present phase is about, whether it is there or not.
fn judged_now<'s>(source: &SheetSource<'s>) -> Vec<&'s ArtifactName> {
    let workflow = source.subject.workflow;
    let phase = &source.subject.decision.phase;
    let phase = phase.as_ref().and_then(|phase| workflow.phase(phase));
    let produced = phase.into_iter().flat_map(|phase| &phase.produces);
    let verdicts = produced
        .filter_map(|name| workflow.artifact(name))
        .filter(|artifact| artifact.is_verdict());
    verdicts.flat_map(|verdict| &verdict.judges).collect()
}

fn of_ground(source: &SheetSource<'_>, ground: &Ground) -> GroundView {
    let seen = of_artifact(source, &ground.artifact);
    GroundView {
        artifact: ground.artifact.to_string(),
        judged: ground.judged.iter().map(ToString::to_string).collect(),
        why_not: ground.why_not.clone(),
        writers: seen.map(|seen| seen.writers).unwrap_or_default(),
        ran: false,
        digest: Some(ground.digest.to_string()),
    }
}

/// An artifact that is there.
fn of_artifact(source: &SheetSource<'_>, name: &ArtifactName) -> Option<GroundView> {
    let artifacts = &source.subject.decision.artifacts;
    let derived = artifacts
        .iter()
        .find(|derived| derived.name == *name && derived.present)?;
    Some(GroundView {
        artifact: name.to_string(),
        judged: Vec::new(),
        why_not: None,
        writers: derived.writers.iter().map(ToString::to_string).collect(),
        ran: false,
        digest: derived.digest.map(|digest| digest.to_string()),
    })
}

fn of_verifications(source: &SheetSource<'_>) -> Vec<GroundView> {
    let due = &source.subject.decision.verifications;
    let mut grounds = Vec::new();
    for (name, fact) in &source.facts.verified {
        let ResultFile::Result { digest, result } = &fact.file else {
            continue;
        };
        let due = due.iter().find(|due| due.name == *name);
        let failed = match result.run.outcome {
            VerifiedOutcome::Passed => None,
            VerifiedOutcome::Failed => Some("failed".to_owned()),
        };
        grounds.push(GroundView {
            artifact: name.to_string(),
            judged: Vec::new(),
            why_not: due.map(|due| due.because.clone()).or(failed),
            writers: Vec::new(),
            ran: true,
            digest: Some(digest.to_string()),
        });
    }
    grounds
}

/// What the step rested on that ended the task, as far as the state still has it.
fn recorded(source: &SheetSource<'_>) -> Vec<GroundView> {
    let steps = source
        .state
        .into_iter()
        .flat_map(|state| state.newest_first());
    let mut steps = steps.filter(|entry| !entry.kind.stays());
    let rests_on = steps.next().map(|entry| entry.rests_on.as_slice());
    let view = |on: &RestsOn| GroundView {
        judged: Vec::new(),
        why_not: None,
        writers: of_artifact(source, &on.artifact)
            .filter(|_| !on.ran)
            .map(|seen| seen.writers)
            .unwrap_or_default(),
        ran: on.ran,
        digest: Some(on.digest.to_string()),
        artifact: on.artifact.to_string(),
    };
    rests_on.unwrap_or_default().iter().map(view).collect()
}
