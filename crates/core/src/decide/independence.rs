//! Whether the verdict of a phase is by somebody else than those who wrote what it judges.

use super::evaluation::Evaluation;
use super::grounds::Grounds;
use super::{ActorKind, FileFact, FileWriter, Inputs, Transition};
use crate::workflow::{Artifact, Independence, Owner, Phase};
use orch_base::{ArtifactName, Code, Diagnostic, Hint};

/// A verdict that is not known to be by somebody else.
pub(super) struct Dependence {
    pub verdict: ArtifactName,
    /// The file of the verdict.
    pub path: String,
    /// The explanation to show.
    pub why: String,
    /// Whether its writer is unknown, and not one of those who wrote what it judges.
    pub is_unknown: bool,
    /// Who may give another verdict.
    pub owner: Owner,
}

impl Grounds<'_> {
    /// What is wrong with the writers of the verdicts that lie there, in this phase and in earlier ones: what people
    /// are told whatever the settings require. That a writer is unknown is told only where it matters.
    pub(super) fn remarks_on_writers(&self) -> Vec<String> {
        let is_required = self.evaluation.facts.inputs.require.independent;
        let end = self
            .evaluation
            .workflow
            .position(&self.evaluation.phase.id)
            .unwrap_or_default();
        let phases = self.evaluation.workflow.phases.iter().take(end + 1);
        let found = phases
            .filter(|phase| !phase.not_by.is_empty())
            .flat_map(|phase| self.dependences(phase));
        found
            .filter(|one| !one.is_unknown || is_required)
            .map(|one| one.why)
            .collect()
    }

    /// What keeps a task from leaving its phase by a transition that rests on a verdict; `None` if nothing does. The way
    /// back is always open.
    pub(super) fn dependence_of(&self, due: &Transition) -> Option<Dependence> {
        let is_forward = self.evaluation.workflow.position(&due.to)
            > self.evaluation.workflow.position(&self.evaluation.phase.id);
        if !self.evaluation.facts.inputs.require.independent
            || !is_forward
            || self.evaluation.phase.not_by.is_empty()
        {
            return None;
        }
        self.dependences(self.evaluation.phase)
            .into_iter()
            .find(|one| {
                due.evidence
                    .iter()
                    .any(|named| named.artifact == one.verdict)
            })
    }

    /// The verdicts of a phase that count, each with what is wrong with its writer.
    fn dependences(&self, phase: &Phase) -> Vec<Dependence> {
        let produced: Vec<&Artifact> = phase
            .produces
            .iter()
            .filter_map(|name| self.evaluation.workflow.artifact(name))
            .collect();
        let has_verdict = produced.iter().any(|artifact| artifact.is_verdict());
        let mut found = Vec::new();
        for artifact in produced {
            if has_verdict && !artifact.is_verdict() {
                continue;
            }
            let Some(seen) = self.evaluation.seen_of(&artifact.name) else {
                continue;
            };
            if seen.derived.ready() {
                let files = seen.counting.iter();
                found.extend(
                    files.filter_map(|file| of_verdict(&self.evaluation, phase, artifact, file)),
                );
            }
        }
        found
    }

    /// The known writers of an artifact.
    fn writers(&self, artifact: &ArtifactName) -> impl Iterator<Item = &FileWriter> {
        let seen = self
            .evaluation
            .seen
            .iter()
            .filter(move |seen| seen.derived.name == *artifact);
        seen.flat_map(|seen| &seen.derived.writers)
    }
}

impl Dependence {
    /// The reason why the task stays where it is.
    pub(super) fn reason(&self, inputs: &Inputs) -> String {
        match &inputs.fault {
            Some(fault) => format!(
                "{}; {fault}, so a verdict by somebody else is required",
                self.why
            ),
            None => format!(
                "{}; orch.toml requires a verdict by somebody else",
                self.why
            ),
        }
    }

    /// What would be right.
    pub(super) fn what(&self) -> String {
        format!("a verdict by somebody else in {}", self.path)
    }

    /// The finding, with what to do.
    pub(super) fn finding(&self, evaluation: &Evaluation<'_>) -> Diagnostic {
        let task = evaluation.facts.task.as_str();
        let approve = ["orch", "approve", task];
        let hint = if self.is_unknown {
            Hint::from("give it by ")
                .command(&approve)
                .text(", let a run write it, or commit it by hand: then its writer is known; or continue against the rules: ")
                .command(&["orch", "next", task, "--override", super::WHY])
        } else if self.owner == Owner::Human {
            Hint::from("let another person decide: ").command(&approve)
        } else {
            Hint::from("let another turn write it: ")
                .command(&["orch", "run", task])
                .text("; or a person decide: ")
                .command(&approve)
        };
        let place = evaluation.facts.place.place_of(&self.path);
        Diagnostic::error(Code::NotIndependent, self.reason(&evaluation.facts.inputs))
            .at(place)
            .hint(hint)
    }
}

/// What is wrong with the writers of a file of a verdict.
fn of_verdict(
    evaluation: &Evaluation<'_>,
    phase: &Phase,
    artifact: &Artifact,
    file: &FileFact,
) -> Option<Dependence> {
    let path = &file.path;
    let mut found = Dependence {
        verdict: artifact.name.clone(),
        path: path.clone(),
        why: format!("who wrote {path} is unknown"),
        is_unknown: true,
        owner: phase.owner,
    };
    if file.writers.is_empty() {
        return Some(found);
    }
    found.is_unknown = false;
    for writer in &file.writers {
        if phase.independent == Independence::People && writer.kind != ActorKind::Human {
            found.why = format!(
                "{path} is by {writer}, and `{}` asks for a person",
                phase.id
            );
            found.owner = Owner::Human;
            return Some(found);
        }
    }
    for judged in &phase.not_by {
        for writer in &file.writers {
            if !evaluation
                .grounds()
                .writers(judged)
                .any(|other| other.is_same(writer))
            {
                continue;
            }
            let turn = if writer.turn.is_some() {
                " in the same turn"
            } else {
                ""
            };
            found.why = format!("{path} is by {writer}, who also wrote `{judged}`{turn}");
            if writer.kind == ActorKind::Human {
                found.owner = Owner::Human;
            }
            return Some(found);
        }
    }
    None
}
