//! Whether the verdict of a phase, or its several approvals, are by somebody else than those who wrote what they judge.
//!
//! `[require] independent` asks for knowledge: whoever judges has to be known, and so do those who wrote what is judged,
//! because a writer whom nobody saw may be the one who judges.

use super::evaluation::Evaluation;
use super::grounds::Grounds;
use super::{ActorKind, FileFact, FileWriter, Inputs, Transition};
use crate::workflow::{Artifact, Independence, Owner, Phase};
use orch_base::{ArtifactName, Code, Diagnostic, Hint};

/// A verdict, or several approvals, not known to be by somebody else.
pub(super) struct Dependence {
    /// The verdict; `None` if people approve.
    pub verdict: Option<ArtifactName>,
    /// The file whose writer is wrong or unknown.
    path: String,
    /// The explanation to show.
    pub why: String,
    fault: WriterFault,
    /// Who may give another verdict.
    pub owner: Owner,
}

/// What is wrong with the writers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriterFault {
    /// Whoever judges wrote what is judged, or is none who may judge it.
    NoOther,
    /// Nobody saw who wrote the verdict.
    VerdictUnseen,
    /// Nobody saw who wrote what is judged.
    JudgedUnseen,
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
            .filter(|one| one.fault == WriterFault::NoOther || is_required)
            .map(|one| match one.fault {
                WriterFault::JudgedUnseen => {
                    format!("{}: change it and commit it yourself", one.why)
                }
                _ => one.why,
            })
            .collect()
    }

    /// The files of the phase of which nobody saw who wrote them, where a later phase asks for that: while they can be committed
    /// by whoever wrote them. Nothing in a phase of an agent, whose run makes it known.
    pub(super) fn remarks_on_unseen(&self) -> Vec<String> {
        let Evaluation {
            workflow, phase, ..
        } = self.evaluation;
        let position = workflow.position(&phase.id).unwrap_or_default();
        let later = workflow.phases.iter().skip(position + 1);
        let mut found = Vec::new();
        for judging in later.filter(|_| phase.agent.is_none()) {
            let mut made = judging.not_by.clone();
            made.retain(|name| phase.produces.contains(name));
            for path in self.unseen(&made) {
                found.push(format!(
                    "who wrote {path} is unknown, and `{}` wants it judged by somebody else: commit it yourself before \
                     the next step",
                    judging.id
                ));
            }
        }
        found
    }

    /// The files of these artifacts of which nobody saw who wrote them, if `orch.toml` requires that it is known.
    pub(super) fn unseen(&self, judged: &[ArtifactName]) -> Vec<&str> {
        if !self.evaluation.facts.inputs.require.independent {
            return Vec::new();
        }
        self.of_unknown_writer(judged)
    }

    fn of_unknown_writer(&self, judged: &[ArtifactName]) -> Vec<&str> {
        let mut found = Vec::new();
        for name in judged {
            let Some(seen) = self.evaluation.seen_of(name) else {
                continue;
            };
            for file in &seen.counting {
                if file.digest.is_some() && file.writers.is_empty() {
                    found.push(file.path.as_str());
                }
            }
        }
        found
    }

    /// What keeps a task from leaving its phase by a transition that rests on a verdict or on approvals; `None` if nothing
    /// does. The way back is always open.
    pub(super) fn dependence_of(&self, due: &Transition) -> Option<Dependence> {
        let is_forward = self.evaluation.workflow.position(&due.to)
            > self.evaluation.workflow.position(&self.evaluation.phase.id);
        if !self.evaluation.facts.inputs.require.independent
            || !is_forward
            || self.evaluation.phase.not_by.is_empty()
        {
            return None;
        }
        let rests_on = |verdict: &ArtifactName| {
            let mut evidence = due.evidence.iter();
            evidence.any(|named| named.artifact == *verdict)
        };
        let mut found = self.dependences(self.evaluation.phase).into_iter();
        // No transition leads on from a phase with approvals but by them.
        found.find(|one| one.verdict.as_ref().is_none_or(rests_on))
    }

    /// The verdicts of a phase that count, each with what is wrong with its writer, and what is wrong with its approvals.
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
        let unseen = self.of_unknown_writer(&phase.not_by);
        if let Some(path) = unseen.first().filter(|_| phase.approvals.is_some()) {
            found.push(Dependence::on_unseen(None, path, "approves it"));
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
    /// Nobody saw who wrote the file at `path`, which is judged.
    fn on_unseen(verdict: Option<ArtifactName>, path: &str, judges: &str) -> Self {
        Self {
            verdict,
            path: path.to_owned(),
            why: format!(
                "who wrote {path} is unknown, so nobody can tell whether somebody else {judges}"
            ),
            fault: WriterFault::JudgedUnseen,
            owner: Owner::Human,
        }
    }

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
        match self.fault {
            WriterFault::JudgedUnseen => format!("{} by a writer who is known", self.path),
            _ => format!("a verdict by somebody else in {}", self.path),
        }
    }

    /// The finding, with what to do.
    pub(super) fn finding(&self, evaluation: &Evaluation<'_>) -> Diagnostic {
        let task = evaluation.facts.task.as_str();
        let approve = ["orch", "approve", task];
        let hint = if self.fault == WriterFault::JudgedUnseen {
            let change = format!(
                "change {} and commit it yourself before the next step, or let a run write it: then its writer is \
                 known; or continue against the rules: ",
                self.path
            );
            Hint::from(change.as_str()).command(&["orch", "next", task, "--override", super::WHY])
        } else if self.fault == WriterFault::VerdictUnseen {
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
        verdict: Some(artifact.name.clone()),
        path: path.clone(),
        why: format!("who wrote {path} is unknown"),
        fault: WriterFault::VerdictUnseen,
        owner: phase.owner,
    };
    if file.writers.is_empty() {
        return Some(found);
    }
    found.fault = WriterFault::NoOther;
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
    let grounds = evaluation.grounds();
    let unseen = grounds.of_unknown_writer(&phase.not_by);
    let path = unseen.first()?;
    Some(Dependence::on_unseen(found.verdict, path, "judges it"))
}
