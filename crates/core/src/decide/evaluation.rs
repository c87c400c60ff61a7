//! Everything that evaluating one task reads, and the questions about it.

use super::derive::{SeenArtifact, last_recorded, look, recorded_files, seen_of};
use super::standing::is_spent;
use super::{BrokenNeed, Choice, Evidence, Facts, RecordVersion, State, WHY};
use crate::workflow::{Artifact, Owner, Phase, Workflow, tree_name};
use orch_base::{ArtifactName, Digest, Patterns, PhaseId, TaskId};

/// Everything that evaluating one task reads.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'a> {
    pub workflow: &'a Workflow,
    pub state: &'a State,
    pub facts: &'a Facts,
    pub phase: &'a Phase,
    pub seen: &'a [SeenArtifact<'a>],
}

/// A task in one of its phases, with what was seen of its artifacts.
pub(super) struct SeenTask<'a> {
    workflow: &'a Workflow,
    state: &'a State,
    facts: &'a Facts,
    phase: &'a Phase,
    pub seen: Vec<SeenArtifact<'a>>,
}

impl<'a> SeenTask<'a> {
    /// Looks at the artifacts of a task as if it were in this phase.
    pub(super) fn of(
        workflow: &'a Workflow,
        state: &'a State,
        facts: &'a Facts,
        phase: &'a Phase,
    ) -> Self {
        Self {
            workflow,
            state,
            facts,
            phase,
            seen: look(workflow, state, &phase.id, facts),
        }
    }

    /// What evaluating the task reads.
    pub(super) fn evaluation(&self) -> Evaluation<'_> {
        Evaluation {
            workflow: self.workflow,
            state: self.state,
            facts: self.facts,
            phase: self.phase,
            seen: &self.seen,
        }
    }
}

impl Evaluation<'_> {
    /// What was seen of an artifact.
    pub(super) fn seen_of(&self, artifact: &ArtifactName) -> Option<&SeenArtifact<'_>> {
        seen_of(self.seen, artifact)
    }
    /// The needs that are not present and valid, except waived ones.
    pub(super) fn broken_needs(
        &self,
        needs: &[ArtifactName],
        waived: &[ArtifactName],
    ) -> Vec<BrokenNeed> {
        needs
            .iter()
            .filter(|need| !self.state.waived.contains_key(*need) && !waived.contains(need))
            .filter_map(|need| self.seen_of(need))
            .filter(|seen| !seen.derived.holds())
            .flat_map(|seen| self.broken(seen))
            .collect()
    }

    /// An artifact that does not hold, for each of its files: of one that is gone, the files that the record names. If
    /// it names none, a wildcard stands for itself, because no such file may ever have existed.
    fn broken(&self, seen: &SeenArtifact<'_>) -> Vec<BrokenNeed> {
        let missing = !seen.derived.present;
        let mut broken = Vec::new();
        for (path, recorded) in broken_files(self, &seen.derived.name, missing) {
            broken.push(BrokenNeed {
                artifact: seen.derived.name.clone(),
                path,
                missing,
                recorded,
                outdated: None,
            });
        }
        broken
    }

    /// The outputs that earlier phases were left with and that are gone or invalid now, each with its phase.
    /// Left out are waived outputs, those that a phase may do without if they were used up, and those that
    /// transitions do not commit.
    pub(super) fn lost_evidence(&self) -> Vec<(PhaseId, BrokenNeed)> {
        let before = self.workflow.position(&self.phase.id).unwrap_or_default();
        let mut lost: Vec<(PhaseId, BrokenNeed)> = Vec::new();
        for phase in &self.workflow.phases[..before] {
            let records = self
                .state
                .actor(&phase.id)
                .into_iter()
                .flat_map(|actor| &actor.left_with);
            for (name, recorded) in records {
                let counts = recorded.is_some_and(|digest| {
                    !phase.optional.contains(name)
                        || !is_spent(self.workflow, self.state, name, digest)
                });
                let artifact = self.workflow.artifact(name);
                let is_committed = artifact.is_some_and(|artifact| artifact.commit);
                // Where the work is undone, no code is left.
                let is_undone = self.facts.version != RecordVersion::First
                    && artifact.is_some_and(|artifact| artifact.tree.is_some())
                    && !self.phase.is_held_to(name);
                let is_replaced =
                    artifact.is_some_and(|artifact| self.facts.replaces(artifact, phase).is_some());
                if is_committed
                    && !is_replaced
                    && !is_undone
                    && counts
                    && lost.iter().all(|(_, one)| one.artifact != *name)
                {
                    let broken = self.broken_needs(std::slice::from_ref(name), &[]);
                    lost.extend(broken.into_iter().map(|one| (phase.id.clone(), one)));
                }
            }
        }
        lost
    }

    /// What keeps a task from entering a phase: needs that do not hold, and at a successful end also the
    /// evidence of earlier phases that is gone, or no longer about what is there.
    pub(super) fn hinders(&self, target: &Phase) -> Vec<BrokenNeed> {
        let mut broken = self.broken_needs(&target.needs, &[]);
        if target.is_good_end() {
            let lost = self.lost_evidence().into_iter().map(|(_, lost)| lost);
            broken.extend(lost.filter(|lost| !target.needs.contains(&lost.artifact)));
            broken.extend(self.grounds().fallen(target));
        }
        broken
    }

    /// Whether nothing of an artifact counts until it is written again or a person confirms it.
    pub(super) fn can_be_confirmed(&self, artifact: &ArtifactName) -> bool {
        let seen = self.seen_of(artifact);
        seen.is_some_and(SeenArtifact::can_be_confirmed)
    }

    /// The path of an artifact, or where it would be written. If it has several files, the path of the faulty
    /// one.
    pub(super) fn path_of(&self, artifact: &ArtifactName) -> String {
        let seen = self.seen_of(artifact);
        match seen.and_then(|seen| seen.culprit.or(seen.files.first().copied())) {
            Some(file) => file.path.clone(),
            None => self
                .workflow
                .artifact(artifact)
                .map(|one| self.new_path(one))
                .unwrap_or_default(),
        }
    }

    /// Where an artifact would be written: in the file that is the task, if it may have such a name.
    fn new_path(&self, artifact: &Artifact) -> String {
        if let Some(file) = self.facts.place.file() {
            let name = file.named(artifact.name.as_str());
            if Patterns::new(&artifact.paths).is_ok_and(|paths| paths.matches(&name)) {
                return name;
            }
        }
        match &artifact.new_path {
            Some(path) => path.clone(),
            None => concrete_path(artifact),
        }
    }

    pub(super) fn evidence(&self, artifacts: &[ArtifactName]) -> Vec<Evidence> {
        self.seen
            .iter()
            .filter(|seen| artifacts.contains(&seen.derived.name))
            .filter_map(|seen| seen.evidence(self.workflow))
            .collect()
    }

    /// The latest earlier phase that has been entered and whose own needs hold.
    ///
    /// The record of an adopted task begins in the phase that its foreign state named. Which of the phases
    /// before that it passed is unknown, so any of them counts.
    pub(super) fn last_consistent(&self) -> Option<PhaseId> {
        let position = self.workflow.position(&self.phase.id)?;
        let earlier = &self.workflow.phases[..position];
        let begin = earlier.iter().position(|phase| {
            self.state
                .actor(&phase.id)
                .is_some_and(|actor| !actor.left_with.is_empty())
        });
        let begin = begin.unwrap_or(position);
        for (at, phase) in earlier.iter().enumerate().rev() {
            let is_known = at < begin || self.state.attempt(&phase.id) > 0;
            if is_known && !phase.terminal && self.broken_needs(&phase.needs, &[]).is_empty() {
                return Some(phase.id.clone());
            }
        }
        None
    }
}

/// A command that a person or an agent may choose, argument by argument.
pub(super) fn choice<'s>(
    id: &'static str,
    argv: impl IntoIterator<Item = &'s str>,
    by: Owner,
    effect: impl Into<String>,
) -> Choice {
    Choice {
        id,
        argv: argv.into_iter().map(str::to_owned).collect(),
        by,
        effect: effect.into(),
    }
}

/// The command by which a person confirms an artifact.
pub(super) fn confirming(task: &TaskId, artifact: &ArtifactName) -> Choice {
    let argv = [
        "orch",
        "confirm",
        task.as_str(),
        artifact.as_str(),
        "--reason",
        WHY,
    ];
    let effect = format!("confirm that the unchanged {artifact} is still correct");
    choice("confirm", argv, Owner::Human, effect)
}

/// One path for an artifact, even if its first path is a glob; for pure code, the name that stands for it. A
/// file gets the name of the artifact. What a directory is called only the writer knows: `<name>` stands for it.
#[must_use]
pub fn concrete_path(artifact: &Artifact) -> String {
    let Some(pattern) = artifact.paths.first() else {
        return tree_name(artifact.name.as_str());
    };
    let parts: Vec<&str> = pattern.split('/').filter(|part| *part != "**").collect();
    let mut filled = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let name = if at + 1 == parts.len() {
            artifact.name.as_str()
        } else {
            "<name>"
        };
        filled.push(concrete_part(part, name));
    }
    filled.join("/")
}

fn concrete_part(part: &str, wildcard: &str) -> String {
    let mut text = String::new();
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' => text.push_str(wildcard),
            '?' => text.push('1'),
            '[' => {
                let inner: String = chars.by_ref().take_while(|inner| *inner != ']').collect();
                text.extend(inner.chars().next());
            }
            '{' => {
                let inner: String = chars.by_ref().take_while(|inner| *inner != '}').collect();
                text.push_str(inner.split(',').next().unwrap_or_default());
            }
            plain => text.push(plain),
        }
    }
    text
}

/// The paths of an artifact that does not hold, each with the digest that the record has of it.
fn broken_files(
    evaluation: &Evaluation<'_>,
    artifact: &ArtifactName,
    missing: bool,
) -> Vec<(String, Option<Digest>)> {
    let recorded = last_recorded(
        evaluation.workflow,
        evaluation.state,
        &evaluation.phase.id,
        artifact,
    );
    let declared = evaluation.workflow.artifact(artifact).filter(|_| missing);
    let (Some(recorded), Some(declared)) = (recorded, declared) else {
        return vec![(evaluation.path_of(artifact), recorded)];
    };
    let files = recorded_files(evaluation.state, declared, recorded);
    if files.is_empty() {
        let pattern = declared.paths.first().filter(|_| declared.is_glob());
        let path = pattern
            .cloned()
            .unwrap_or_else(|| evaluation.path_of(artifact));
        return vec![(path, Some(recorded))];
    }
    files
        .into_iter()
        .map(|(path, digest)| (path, Some(digest)))
        .collect()
}
