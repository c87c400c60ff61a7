//! Who wrote the files of a task, as far as known.
//!
//! A look says who wrote the current bytes. The event that first uses them notes it, and the state keeps it with their
//! blob ids, so that later steps, other clones and the audit need not see it again.

use super::{ActorKind, Facts, RecordVersion, State};
use crate::workflow::{Artifact, Workflow};
use orch_base::{ArtifactName, Digest, PhaseId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Who wrote the current bytes of a file, or made a commit of code.
///
/// The record only claims it; a signature proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWriter {
    /// A person, an agent, or `orch` itself.
    pub kind: ActorKind,
    /// The name: `Name <address>` of a person as far as both are known, or the name of an agent.
    pub name: String,
    /// Whether an order wrote it: approve or reject.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// The turn of a run in which it was written, for the executor of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<WriterTurn>,
}

/// A turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterTurn {
    /// The program of the executor, without its arguments.
    pub executor: String,
    /// The id of the run.
    pub run: String,
    /// The number of the turn in the run, from 1.
    pub number: u32,
}

impl FileWriter {
    /// A person or an agent that no order and no turn of a run tells more of.
    #[must_use]
    pub fn new(kind: ActorKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            ordered: false,
            turn: None,
        }
    }

    /// Whether both are the same person, or agents of one executor in one turn. Agents of which no turn is known are the
    /// same if they have one name, because nothing tells them apart.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.kind, other.kind) {
            (ActorKind::Human, ActorKind::Human) => is_same_person(&self.name, &other.name),
            (ActorKind::Agent, ActorKind::Agent) => match (&self.turn, &other.turn) {
                (Some(one), Some(other)) => one == other,
                (None, None) => self.name == other.name,
                _ => false,
            },
            _ => false,
        }
    }
}

/// Whether two names mean one person: by the addresses, or by the names where one has no address.
fn is_same_person(one: &str, other: &str) -> bool {
    match (address_in(one), address_in(other)) {
        (Some(one), Some(other)) => one == other,
        _ => plain(name_in(one)) == plain(name_in(other)),
    }
}

/// The address in `NAME <ADDRESS>`, or the text if it is one.
fn address_in(text: &str) -> Option<String> {
    match text.split_once('<') {
        Some((_, rest)) => Some(plain(rest.trim_end_matches('>'))),
        None if text.contains('@') => Some(plain(text)),
        None => None,
    }
}

/// The name in `NAME <ADDRESS>`.
fn name_in(text: &str) -> &str {
    text.split_once('<').map_or(text, |(name, _)| name)
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase()
}

impl fmt::Display for FileWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.turn {
            Some(turn) => {
                write!(
                    f,
                    "{} ({}, turn {} of run {})",
                    self.name, turn.executor, turn.number, turn.run
                )
            }
            None if self.kind == ActorKind::Agent => write!(f, "the agent {}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// What an event notes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotedFile {
    /// The path relative to the task directory; for committed code, the name that stands for it.
    pub path: String,
    /// Its blob id, or that of the code.
    pub digest: Digest,
    /// Whether it was there before what it judges was recorded, and that is noted by this event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
    /// Who wrote it; `None` if that was not seen, was noted before, or several did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<FileWriter>,
    /// Those who wrote it, if several did; of committed code, the writers that were not noted before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<FileWriter>,
}

/// What an event notes of the files of each artifact, sorted by path.
pub type NotedFiles = BTreeMap<ArtifactName, Vec<NotedFile>>;

/// Files of an artifact that a state knows to be from one writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The writer.
    pub by: FileWriter,
    /// The blob ids of the files; none for committed code, of which a state knows all who took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Digest>,
}

/// The most writers of some committed code that a state keeps.
const MOST_WRITERS: usize = 64;

/// What the state knows of the writers of an artifact.
fn known<'s>(
    workflow: &'s Workflow,
    state: &'s State,
    artifact: &'s ArtifactName,
) -> impl Iterator<Item = &'s Written> {
    let phases = workflow
        .producers(artifact)
        .filter_map(|phase| state.actor(&phase.id));
    phases
        .filter_map(|actor| actor.writers.get(artifact))
        .flatten()
}

impl Facts {
    /// Adds the writers that a state knows. For each file they replace those that were seen: who wrote some bytes
    /// first has written them.
    pub fn add_writers_of(&mut self, workflow: &Workflow, state: &State) {
        let state = &*state.under_own_names(workflow);
        for (artifact, files) in &mut self.artifacts {
            for file in files {
                let Some(digest) = file.digest else { continue };
                if file.is_tree {
                    let of_code =
                        known(workflow, state, artifact).filter(|one| one.files.is_empty());
                    let mut writers: Vec<FileWriter> = of_code.map(|one| one.by.clone()).collect();
                    for seen in std::mem::take(&mut file.writers) {
                        if !writers.contains(&seen) {
                            writers.push(seen);
                        }
                    }
                    file.writers = writers;
                } else {
                    let of_file =
                        known(workflow, state, artifact).filter(|one| one.files.contains(&digest));
                    let writers: Vec<FileWriter> = of_file.map(|one| one.by.clone()).collect();
                    if !writers.is_empty() {
                        file.writers = writers;
                    }
                }
            }
        }
    }
}

/// Whether a state knows who wrote a file of an artifact.
#[must_use]
pub fn is_writer_known(
    workflow: &Workflow,
    state: &State,
    artifact: &ArtifactName,
    digest: Digest,
) -> bool {
    let state = &*state.under_own_names(workflow);
    known(workflow, state, artifact).any(|one| one.files.contains(&digest))
}

/// The writers of a file that a step sees and the state before it does not know.
pub(super) struct NewWriters {
    pub artifact: ArtifactName,
    pub path: String,
    pub digest: Digest,
    pub writers: Vec<FileWriter>,
    /// Whether it is committed code.
    pub is_tree: bool,
    /// The phase that keeps them.
    phase: PhaseId,
}

/// The writers that are seen and that a state does not know yet, in document order.
pub(super) fn new_writers(workflow: &Workflow, facts: &Facts, state: &State) -> Vec<NewWriters> {
    let mut found = Vec::new();
    if facts.version == RecordVersion::First {
        return found;
    }
    for artifact in &workflow.artifacts {
        let Some(phase) = workflow.producers(&artifact.name).next() else {
            continue;
        };
        for file in facts.artifacts.get(&artifact.name).into_iter().flatten() {
            let Some(digest) = file.digest else { continue };
            let mut writers = Vec::new();
            for writer in &file.writers {
                let mut known = known(workflow, state, &artifact.name);
                let is_known = known.any(|one| match file.is_tree {
                    true => one.files.is_empty() && one.by == *writer,
                    false => one.files.contains(&digest),
                });
                if !is_known {
                    writers.push(writer.clone());
                }
            }
            if !writers.is_empty() {
                found.push(NewWriters {
                    artifact: artifact.name.clone(),
                    path: file.path.clone(),
                    digest,
                    writers,
                    is_tree: file.is_tree,
                    phase: phase.id.clone(),
                });
            }
        }
    }
    found
}

/// Keeps these writers in a state, and forgets those of files that are neither there nor recorded any more.
pub(super) fn keep_writers(
    workflow: &Workflow,
    facts: &Facts,
    new: &[NewWriters],
    next: &mut State,
) {
    for one in new {
        let mut stays = left_with(workflow, next, &one.artifact);
        let there = facts.artifacts.get(&one.artifact).into_iter().flatten();
        stays.extend(there.filter_map(|file| file.digest));
        let actor = next.actors.entry(one.phase.to_string()).or_default();
        let kept = actor.writers.entry(one.artifact.clone()).or_default();
        kept.retain_mut(|written| {
            let is_code = written.files.is_empty();
            written.files.retain(|digest| stays.contains(digest));
            is_code || !written.files.is_empty()
        });
        for writer in &one.writers {
            let files = if one.is_tree {
                Vec::new()
            } else {
                vec![one.digest]
            };
            let same = kept
                .iter_mut()
                .find(|known| known.by == *writer && known.files.is_empty() == one.is_tree);
            match same {
                Some(known) => known.files.extend(files),
                None => kept.push(Written {
                    by: writer.clone(),
                    files,
                }),
            }
        }
        let code = kept
            .iter()
            .filter(|written| written.files.is_empty())
            .count();
        let mut surplus = code.saturating_sub(MOST_WRITERS);
        kept.retain(|written| {
            let is_dropped = written.files.is_empty() && surplus > 0;
            surplus -= usize::from(is_dropped);
            !is_dropped
        });
    }
}

/// The digests with which phases were left, of the files of an artifact.
fn left_with(workflow: &Workflow, state: &State, artifact: &ArtifactName) -> Vec<Digest> {
    let mut digests = Vec::new();
    for phase in workflow.producers(artifact) {
        let Some(actor) = state.actor(&phase.id) else {
            continue;
        };
        digests.extend(actor.left_with.get(artifact).copied().flatten());
        let files = actor.left_files.get(artifact).into_iter().flatten();
        digests.extend(files.map(|(_, digest)| *digest));
    }
    digests
}

/// Whether an artifact is judged by somebody else, or holds such a verdict, so that its writers matter.
#[must_use]
pub fn needs_writers(workflow: &Workflow, artifact: &Artifact) -> bool {
    workflow
        .phases
        .iter()
        .filter(|phase| !phase.not_by.is_empty())
        .any(|phase| {
            phase.not_by.contains(&artifact.name) || phase.produces.contains(&artifact.name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_are_told_apart_by_address_and_agents_by_turn() {
        let person = |name: &str| FileWriter::new(ActorKind::Human, name);
        for (one, other, same) in [
            ("Ann <ann@example.org>", "Ann B. <ANN@example.org>", true),
            ("Ann <ann@example.org>", "Ann <ann@other.org>", false),
            ("Ann <ann@example.org>", "ann", true),
            ("ann@example.org", "Ann <ann@example.org>", true),
            ("Ann", "Bob", false),
        ] {
            assert_eq!(person(one).is_same(&person(other)), same, "{one}, {other}");
            assert_eq!(person(other).is_same(&person(one)), same, "{other}, {one}");
        }
        let agent = |name: &str, turn: Option<(&str, u32)>| FileWriter {
            turn: turn.map(|(run, number)| WriterTurn {
                executor: "a".to_owned(),
                run: run.to_owned(),
                number,
            }),
            ..FileWriter::new(ActorKind::Agent, name)
        };
        for (one, other, same) in [
            (
                agent("coder", Some(("1", 2))),
                agent("reviewer", Some(("1", 2))),
                true,
            ),
            (
                agent("coder", Some(("1", 2))),
                agent("coder", Some(("1", 3))),
                false,
            ),
            (
                agent("coder", Some(("1", 2))),
                agent("coder", Some(("2", 2))),
                false,
            ),
            (agent("coder", None), agent("coder", None), true),
            (agent("coder", None), agent("reviewer", None), false),
            (agent("coder", None), agent("coder", Some(("1", 2))), false),
            (agent("Ann", None), person("Ann"), false),
        ] {
            assert_eq!(one.is_same(&other), same, "{one}, {other}");
        }
    }
}
