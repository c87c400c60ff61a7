//! What an approval rests on, or would, for whoever decides: each verdict, report, verification and the code, by digest.
//!
//! It is computed from the decision, so every face shows the same. What the event of a step names is computed by
//! [`super::grounds`].

use super::{Decision, Derived, Facts, FileWriter, Ground, RestsOn, ResultFile, State};
use crate::verification::VerifiedOutcome;
use crate::workflow::{Artifact, Workflow};
use orch_base::{ArtifactName, Digest};
use std::collections::BTreeSet;

/// Something that an approval rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The name of the artifact, or of a verification.
    pub name: String,
    /// What it judged.
    pub judged: Vec<ArtifactName>,
    /// Why it does not stand, as what follows its name in a sentence; `None` if it does.
    pub why_not: Option<String>,
    /// Who wrote it, as far as known.
    pub writers: Vec<FileWriter>,
    /// Whether `orch` made it by running something.
    pub ran: bool,
    /// Its digest, if that is known.
    pub digest: Option<Digest>,
}

/// What the supports of an approval are computed from.
#[derive(Clone, Copy)]
struct Supported<'a> {
    workflow: &'a Workflow,
    facts: &'a Facts,
    decision: &'a Decision,
}

/// What an approval would rest on: the verdicts and reports of earlier phases, the verdict of the present one, the results of
/// verifications, and what all these judged. Of a finished task, what the step did that ended it, as far as the state still
/// has it.
#[must_use]
pub fn supports(
    workflow: &Workflow,
    state: Option<&State>,
    facts: &Facts,
    decision: &Decision,
) -> Vec<Support> {
    let supported = Supported {
        workflow,
        facts,
        decision,
    };
    if !decision.is_done() {
        return supported.expected();
    }
    let mut steps = state.into_iter().flat_map(State::newest_first);
    let last = steps.find(|entry| !entry.kind.stays());
    let named = last.map(|entry| entry.rests_on.as_slice());
    let named = named.unwrap_or_default().iter();
    named.map(|on| supported.recorded(on)).collect()
}

impl<'a> Supported<'a> {
    fn expected(self) -> Vec<Support> {
        let mut found: Vec<Support> = Vec::new();
        let mut judged: BTreeSet<&ArtifactName> = self.judged_now();
        for ground in &self.decision.grounds {
            judged.extend(&ground.judged);
            found.push(self.ground(ground));
        }
        for verdict in self.verdicts() {
            if !is_named(&found, verdict.name.as_str()) {
                judged.extend(&verdict.judges);
                let seen = self.present(&verdict.name).map(Support::of);
                found.extend(seen.map(|seen| Support {
                    judged: verdict.judges.clone(),
                    ..seen
                }));
            }
        }
        found.extend(self.verifications());
        for name in judged {
            if !is_named(&found, name.as_str()) {
                found.extend(self.present(name).map(Support::of));
            }
        }
        found
    }

    fn ground(self, ground: &Ground) -> Support {
        let seen = self.present(&ground.artifact);
        Support {
            name: ground.artifact.to_string(),
            judged: ground.judged.iter().cloned().collect(),
            why_not: ground.why_not.clone().or_else(|| seen.and_then(why_broken)),
            writers: seen.map(|seen| seen.writers.clone()).unwrap_or_default(),
            ran: false,
            digest: Some(ground.digest),
        }
    }

    /// The verdicts that count.
    fn verdicts(self) -> impl Iterator<Item = &'a Artifact> {
        let ready = self.decision.artifacts.iter().filter(|one| one.ready());
        ready
            .filter_map(move |derived| self.workflow.artifact(&derived.name))
            .filter(|artifact| artifact.is_verdict())
    }

    /// What the verdict of the present phase is about, whether it is there or not.
    fn judged_now(self) -> BTreeSet<&'a ArtifactName> {
        let phase = self.decision.phase.as_ref();
        let phase = phase.and_then(|phase| self.workflow.phase(phase));
        let produced = phase.into_iter().flat_map(|phase| &phase.produces);
        produced
            .filter_map(|name| self.workflow.artifact(name))
            .filter(|artifact| artifact.is_verdict())
            .flat_map(|verdict| &verdict.judges)
            .collect()
    }

    /// An artifact that is there.
    fn present(self, name: &ArtifactName) -> Option<&'a Derived> {
        let mut artifacts = self.decision.artifacts.iter();
        artifacts.find(|derived| derived.name == *name && derived.present)
    }

    fn verifications(self) -> Vec<Support> {
        let mut found = Vec::new();
        for (name, fact) in &self.facts.verified {
            let ResultFile::Result { digest, result } = &fact.file else {
                continue;
            };
            let mut due = self.decision.verifications.iter();
            let due = due.find(|due| due.name == *name);
            let failed = match result.run.outcome {
                VerifiedOutcome::Passed => None,
                VerifiedOutcome::Failed => Some("failed".to_owned()),
            };
            found.push(Support {
                name: name.to_string(),
                judged: Vec::new(),
                why_not: due.map(|due| due.because.clone()).or(failed),
                writers: Vec::new(),
                ran: true,
                digest: Some(*digest),
            });
        }
        found
    }

    fn recorded(self, on: &RestsOn) -> Support {
        let seen = self.present(&on.artifact).filter(|_| !on.ran);
        Support {
            name: on.artifact.to_string(),
            judged: Vec::new(),
            why_not: None,
            writers: seen.map(|seen| seen.writers.clone()).unwrap_or_default(),
            ran: on.ran,
            digest: Some(on.digest),
        }
    }
}

/// Why an artifact does not stand whatever judged it: it cannot be read, or its schema refuses it.
fn why_broken(derived: &Derived) -> Option<String> {
    (!derived.valid).then(|| "is invalid".to_owned())
}

impl Support {
    /// An artifact as it is.
    fn of(derived: &Derived) -> Self {
        Self {
            name: derived.name.to_string(),
            judged: Vec::new(),
            why_not: why_broken(derived),
            writers: derived.writers.clone(),
            ran: false,
            digest: derived.digest,
        }
    }
}

fn is_named(found: &[Support], name: &str) -> bool {
    found.iter().any(|one| one.name == name)
}
