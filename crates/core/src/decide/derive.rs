//! Derives the facts that guards see from observed bytes and recorded state: which files count, and whether
//! they are fresh and changed.
//!
//! Only content decides, never a modification time, so a fresh clone behaves like the original.
//!
//! Each file is judged by itself ([`super::standing`]). By the first version of the rules of recording, which events of
//! that version are replayed by, the files of an artifact are judged together, by their common digest.

use super::standing::{Present, Standings, WhyNot, is_spent, judged, outdated_because, used_up};
use super::{
    Derived, DerivedFile, Evidence, Facts, FileFact, FileWriter, NamedVersion, RecordVersion, State,
};
use crate::workflow::{Artifact, Workflow};
use orch_base::{ArtifactName, Code, Diagnostic, Digest, Patterns, PhaseId, TaskPlace};
use serde_json::Value;
use std::collections::BTreeMap;

/// A derived artifact, with the observed files behind it.
#[derive(Debug, Clone)]
pub(super) struct SeenArtifact<'f> {
    pub derived: Derived,
    /// All files, sorted by path.
    pub files: Vec<&'f FileFact>,
    /// Those that guards see: by the current version those that count, by the first all.
    pub counting: Vec<&'f FileFact>,
    /// Those that do not count, each with the reason.
    pub excluded: Vec<(&'f FileFact, WhyNot)>,
    /// The file that makes the artifact invalid or stale, if it has several files.
    pub culprit: Option<&'f FileFact>,
    /// Fresh files at paths of lower precedence; probably misplaced.
    pub elsewhere: Vec<&'f FileFact>,
}

/// Derives every artifact of the workflow, in document order.
#[must_use]
pub fn derive(workflow: &Workflow, state: &State, phase: &PhaseId, facts: &Facts) -> Vec<Derived> {
    let state = &*state.under_own_names(workflow);
    look(workflow, state, phase, facts)
        .into_iter()
        .map(|seen| seen.derived)
        .collect()
}

pub(super) fn look<'f>(
    workflow: &Workflow,
    state: &State,
    phase: &PhaseId,
    facts: &'f Facts,
) -> Vec<SeenArtifact<'f>> {
    let mut all: Vec<SeenArtifact<'f>> = workflow
        .artifacts
        .iter()
        .map(|artifact| select(workflow, state, artifact, facts))
        .collect();
    let present: Present<'_> = (workflow.artifacts.iter().zip(&all))
        .flat_map(|(artifact, seen)| {
            let tree = artifact
                .tree
                .as_ref()
                .filter(|_| seen.derived.tree.is_some() || !seen.derived.present);
            let names = std::iter::once(artifact.name.as_str())
                .chain(artifact.aliases.iter().map(String::as_str));
            names.map(move |name| (name, (seen.derived.digest, tree)))
        })
        .collect();
    for (seen, artifact) in all.iter_mut().zip(&workflow.artifacts) {
        match facts.version {
            RecordVersion::First => count_together(workflow, state, &present, seen),
            RecordVersion::Second | RecordVersion::Third | RecordVersion::Fourth => {
                let standings = Standings {
                    workflow,
                    state,
                    artifact,
                    present: &present,
                    verified: workflow
                        .phase(phase)
                        .and_then(|phase| facts.replaces(artifact, phase)),
                };
                count_each(&standings, seen);
            }
        }
        seen.derived.changed = match record_of(workflow, state, phase, &seen.derived) {
            Some(recorded) => recorded != seen.derived.digest,
            None => false,
        };
    }
    all
}

impl Derived {
    /// Whether the artifact is present, valid and fresh.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.present && self.valid && self.fresh
    }

    /// Whether the artifact satisfies a need: present and valid.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.present && self.valid
    }
}

impl<'f> SeenArtifact<'f> {
    /// Whether a person may confirm it as it is: nothing of it counts, because it is used up or early.
    pub(super) fn can_be_confirmed(&self) -> bool {
        !self.derived.fresh && self.excluded.iter().any(|(_, why)| why.can_be_confirmed())
    }

    /// The only file, whose data guards see: the one that counts, or, of an artifact that has one file at most, the one
    /// that does not. A used-up verdict remains readable; that it does not count is what `ready` says.
    pub(super) fn only_file(&self, artifact: &Artifact) -> Option<&'f FileFact> {
        match (self.counting.as_slice(), self.files.as_slice()) {
            ([only], _) => Some(only),
            ([], [only]) if !artifact.is_glob() => Some(only),
            _ => None,
        }
    }

    /// The artifact as evidence; `None` if it has no readable file.
    pub(super) fn evidence(&self, workflow: &Workflow) -> Option<Evidence> {
        Some(Evidence {
            artifact: self.derived.name.clone(),
            files: self
                .derived
                .files
                .iter()
                .filter_map(|file| Some((file.path.clone(), file.digest?)))
                .collect(),
            digest: self.derived.digest?,
            valid: self.derived.valid,
            committed: self.derived.tree.is_some()
                || workflow
                    .artifact(&self.derived.name)
                    .is_none_or(|artifact| artifact.commit),
        })
    }

    /// A finding for each file that does not count. A single file that is expected again is named there, unless it is
    /// only to be filled in.
    pub(super) fn not_counted(&self, place: &TaskPlace, is_expected: bool) -> Vec<Diagnostic> {
        let is_named = is_expected && self.files.len() == 1;
        let mut found = Vec::new();
        for (file, why) in &self.excluded {
            let (code, hint) = match why {
                WhyNot::Unfilled => (
                    Code::Unfilled,
                    "write real content; the example only shows the form",
                ),
                WhyNot::Verified(_) => (Code::NotCounted, "remove it: it moves nothing"),
                _ if is_named => continue,
                WhyNot::Early { .. } => (
                    Code::NotCounted,
                    "write it again, or name what it judged in `of`",
                ),
                _ => (Code::NotCounted, "write it again, or remove it"),
            };
            let at = place.place_of(&file.path);
            let message = format!("the file does not count: {why}");
            let finding = match why {
                WhyNot::Unfilled => Diagnostic::warning(code, message),
                _ => Diagnostic::note(code, message),
            };
            found.push(finding.at(at).hint(hint));
        }
        found
    }

    /// The problems of its files, and a finding for each file that another path takes precedence over.
    pub(super) fn diagnostics(&self, place: &TaskPlace) -> impl Iterator<Item = Diagnostic> {
        let used = self
            .derived
            .files
            .first()
            .map(|file| file.path.as_str())
            .unwrap_or_default();
        let elsewhere = self.elsewhere.iter().map(move |file| {
            let message = format!(
                "`{}` is read from {used}, so this file does not count",
                self.derived.name
            );
            let place = place.place_of(&file.path);
            Diagnostic::warning(Code::ArtifactElsewhere, message)
                .at(place)
                .hint("remove one of the two")
        });
        self.files
            .iter()
            .flat_map(|file| file.problems.iter().cloned())
            .chain(elsewhere)
    }
}

/// What was seen of an artifact.
pub(super) fn seen_of<'s, 'f>(
    seen: &'s [SeenArtifact<'f>],
    artifact: &ArtifactName,
) -> Option<&'s SeenArtifact<'f>> {
    seen.iter().find(|seen| seen.derived.name == *artifact)
}

/// The files that count: those of the first path with a file that is not used up, or else of the first path
/// that matches.
fn select<'f>(
    workflow: &Workflow,
    state: &State,
    artifact: &Artifact,
    facts: &'f Facts,
) -> SeenArtifact<'f> {
    let observed = facts
        .artifacts
        .get(&artifact.name)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut groups = Vec::new();
    for pattern in 0..=artifact.pattern_count() {
        let mut group: Vec<&FileFact> = observed
            .iter()
            .filter(|file| file.pattern == pattern)
            .filter(|file| !file.is_tree || is_change(workflow, state, &artifact.name, file.digest))
            .collect();
        group.sort_by(|a, b| a.path.cmp(&b.path));
        if !group.is_empty() {
            groups.push(group);
        }
    }
    let unspent: Vec<bool> = groups
        .iter()
        .map(|group| is_unspent(workflow, state, artifact, facts.version, group))
        .collect();
    let chosen = unspent.iter().position(|is_unspent| *is_unspent);
    let chosen = chosen.unwrap_or(0);
    let elsewhere = groups
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != chosen && unspent[*index])
        .flat_map(|(_, group)| group.iter().copied())
        .filter(|file| !file.is_tree)
        .collect();
    let files = groups.get(chosen).cloned().unwrap_or_default();
    let derived = Derived {
        name: artifact.name.clone(),
        present: !files.is_empty(),
        valid: !files.is_empty() && files.iter().all(|file| file.is_valid()),
        fresh: false,
        changed: false,
        digest: digest_of(&files),
        stale_because: None,
        writers: written_by(&files),
        of: judged_by(&files),
        tree: files
            .iter()
            .find(|file| file.is_tree)
            .map(|file| file.data.clone().unwrap_or_default()),
        files: files
            .iter()
            .map(|file| DerivedFile {
                path: file.path.clone(),
                digest: file.digest,
                valid: file.is_valid(),
                not_counted: None,
            })
            .collect(),
    };
    SeenArtifact {
        derived,
        counting: files.clone(),
        files,
        excluded: Vec::new(),
        culprit: None,
        elsewhere,
    }
}

/// Whether an event of the first version used up just this set of files. It used up the set, and no file of it alone.
pub(super) fn is_set_spent(
    workflow: &Workflow,
    state: &State,
    artifact: &ArtifactName,
    files: &[&FileFact],
) -> bool {
    files.len() > 1
        && digest_of(files).is_some_and(|digest| is_spent(workflow, state, artifact, digest))
}

/// Counts each file by itself. Those that count are valid if each is; if none counts, all are asked whether they are
/// valid, because a need may be used up.
fn count_each(standings: &Standings<'_>, seen: &mut SeenArtifact<'_>) {
    let is_set_spent = is_set_spent(
        standings.workflow,
        standings.state,
        &standings.artifact.name,
        &seen.files,
    );
    seen.counting.clear();
    for (file, derived) in seen.files.iter().zip(&mut seen.derived.files) {
        match standings.why_not(file, is_set_spent) {
            Some(why) => {
                derived.not_counted = Some(why.to_string());
                seen.excluded.push((file, why));
            }
            None => seen.counting.push(file),
        }
    }
    let asked = if seen.counting.is_empty() {
        &seen.files
    } else {
        &seen.counting
    };
    seen.derived.valid = !asked.is_empty() && asked.iter().all(|file| file.is_valid());
    seen.derived.of = judged_by(asked);
    seen.derived.fresh = !seen.counting.is_empty();
    let first = seen.excluded.first().filter(|_| seen.counting.is_empty());
    seen.derived.stale_because = first.map(|(_, why)| why.to_string());
    if !seen.derived.ready() {
        let broken = seen.counting.iter().find(|file| !file.is_valid());
        seen.culprit = broken.copied().or_else(|| first.map(|(file, _)| *file));
    }
}

/// Counts all files by their common digest.
fn count_together<'f>(
    workflow: &Workflow,
    state: &State,
    present: &Present<'_>,
    seen: &mut SeenArtifact<'f>,
) {
    derive_freshness(workflow, state, present, &mut seen.derived);
    seen.culprit = if seen.derived.ready() {
        None
    } else {
        culprit(seen, present)
    };
    let is_used_up = seen
        .derived
        .digest
        .is_some_and(|digest| is_spent(workflow, state, &seen.derived.name, digest));
    if is_used_up {
        let when = used_up(workflow, state, &seen.derived.name);
        let why = WhyNot::UsedUp {
            when,
            is_only_reason: true,
        };
        seen.excluded = seen.files.iter().map(|file| (*file, why.clone())).collect();
    }
}

/// Whether the code is a change: it differs from the code with which the phase that makes it was entered, or
/// it is used up and so a change of an earlier attempt. If the former code is unknown, any code is a change.
fn is_change(
    workflow: &Workflow,
    state: &State,
    artifact: &ArtifactName,
    digest: Option<Digest>,
) -> bool {
    let mut baselines = workflow
        .producers(artifact)
        .filter_map(|phase| state.actor(&phase.id)?.entered_with.get(artifact).copied());
    digest.is_some_and(|now| {
        baselines.any(|baseline| baseline != Some(now)) || is_spent(workflow, state, artifact, now)
    })
}

fn digest_of(files: &[&FileFact]) -> Option<Digest> {
    if files.is_empty() {
        return None;
    }
    let digests: Option<Vec<(&str, Digest)>> = files
        .iter()
        .map(|file| Some((file.path.as_str(), file.digest?)))
        .collect();
    digests.map(|digests| Digest::of_files(&digests))
}

/// The writers of all files, each once.
fn written_by(files: &[&FileFact]) -> Vec<FileWriter> {
    let mut writers: Vec<FileWriter> = Vec::new();
    for writer in files.iter().flat_map(|file| &file.writers) {
        if !writers.contains(writer) {
            writers.push(writer.clone());
        }
    }
    writers
}

/// Whether the files of one path are not used up: they as a set, and at least one of them.
fn is_unspent(
    workflow: &Workflow,
    state: &State,
    artifact: &Artifact,
    version: RecordVersion,
    files: &[&FileFact],
) -> bool {
    let name = &artifact.name;
    match version {
        RecordVersion::First => {
            digest_of(files).is_none_or(|digest| !is_spent(workflow, state, name, digest))
        }
        RecordVersion::Second | RecordVersion::Third | RecordVersion::Fourth => {
            let is_one_unspent = files.iter().any(|file| {
                file.digest
                    .is_none_or(|digest| !is_spent(workflow, state, name, digest))
            });
            is_one_unspent && !is_set_spent(workflow, state, name, files)
        }
    }
}

/// The `of` maps of all files. If two files name different digests for one artifact, none of them counts.
fn judged_by(files: &[&FileFact]) -> BTreeMap<String, NamedVersion> {
    let mut all: BTreeMap<String, NamedVersion> = BTreeMap::new();
    for (name, version) in files.iter().filter_map(|file| judged(file)).flatten() {
        let known = all.entry(name).or_insert(version);
        if *known != version {
            *known = NamedVersion::Unreadable;
        }
    }
    all
}

fn derive_freshness(
    workflow: &Workflow,
    state: &State,
    present: &Present<'_>,
    derived: &mut Derived,
) {
    if !derived.present {
        return;
    }
    derived.stale_because = match derived.digest {
        Some(digest) if is_spent(workflow, state, &derived.name, digest) => {
            Some(used_up(workflow, state, &derived.name))
        }
        _ => derived
            .of
            .iter()
            .find_map(|(name, judged)| outdated_because(present, name, *judged)),
    };
    derived.fresh = derived.stale_because.is_none();
}

/// The file that makes an artifact invalid or stale. Rewriting any other file would not help.
fn culprit<'f>(seen: &SeenArtifact<'f>, present: &Present<'_>) -> Option<&'f FileFact> {
    seen.files.iter().copied().find(|file| {
        let of = judged(file).unwrap_or_default();
        !file.is_valid()
            || of
                .iter()
                .any(|(name, digest)| outdated_because(present, name, *digest).is_some())
    })
}

/// The latest record of an artifact, as seen from a phase; the outer `None` means that there is no record.
///
/// If a task was sent back to a phase and has passed it since, the digests with which the phase was entered
/// count. Otherwise an edited plan would stay `changed` after its new review has been passed.
pub(super) fn record_of(
    workflow: &Workflow,
    state: &State,
    phase: &PhaseId,
    derived: &Derived,
) -> Option<Option<Digest>> {
    if let Some(entered) = entered_with(workflow, state, phase, derived) {
        return Some(*entered);
    }
    let position = workflow.position(phase)?;
    for earlier in workflow.phases[..position].iter().rev() {
        let Some(actor) = state.actor(&earlier.id) else {
            continue;
        };
        let left_with = actor.left_with.get(&derived.name);
        let recorded = left_with.or_else(|| entered_with(workflow, state, &earlier.id, derived));
        if recorded.is_some() {
            return recorded.copied();
        }
    }
    None
}

/// The digest of an artifact with which a phase was entered.
fn entered_with<'s>(
    workflow: &Workflow,
    state: &'s State,
    phase: &PhaseId,
    derived: &Derived,
) -> Option<&'s Option<Digest>> {
    let name = &derived.name;
    let entered = state.actor(phase)?.entered_with.get(name)?;
    // The recorded code of a phase says nothing about a file that takes its place.
    let is_of_code = derived.tree.is_none()
        && workflow
            .artifact(name)
            .is_some_and(|artifact| artifact.tree.is_some())
        && workflow
            .producers(name)
            .any(|producer| producer.id == *phase);
    if is_of_code { None } else { Some(entered) }
}

/// The digest last recorded of an artifact, by which git may find it again.
pub(super) fn last_recorded(
    workflow: &Workflow,
    state: &State,
    phase: &PhaseId,
    artifact: &ArtifactName,
) -> Option<Digest> {
    let from = workflow.position(phase)?;
    // Then all phases, of which only the later ones can still have a record.
    let phases = workflow.phases[..=from]
        .iter()
        .rev()
        .chain(&workflow.phases);
    phases
        .filter_map(|phase| state.actor(&phase.id))
        .flat_map(|actor| {
            [
                actor.left_with.get(artifact),
                actor.entered_with.get(artifact),
            ]
        })
        .find_map(|record| record.copied().flatten())
}

/// The files whose digest as a set is the recorded one, as the record of a phase or the evidence of a step names them;
/// empty if nothing that the state holds does.
pub(super) fn recorded_files(
    state: &State,
    artifact: &Artifact,
    recorded: Digest,
) -> Vec<(String, Digest)> {
    for actor in state.actors.values() {
        let Some(files) = actor.left_files.get(&artifact.name) else {
            continue;
        };
        let mut kept = Vec::new();
        for (path, digest) in files {
            kept.push((path.clone(), *digest));
        }
        if is_set(&kept, recorded) {
            return kept;
        }
    }
    let patterns: Vec<Patterns> = artifact
        .paths
        .iter()
        .filter_map(|pattern| Patterns::new([pattern]).ok())
        .collect();
    for entry in state.newest_first() {
        for pattern in &patterns {
            let mut named = Vec::new();
            for (path, digest) in &entry.evidence {
                if pattern.matches(path)
                    && let Some(digest) = Digest::parse(digest)
                {
                    named.push((path.clone(), digest));
                }
            }
            if is_set(&named, recorded) {
                return named;
            }
        }
    }
    Vec::new()
}

/// Whether these files have this digest as a set.
fn is_set(files: &[(String, Digest)], digest: Digest) -> bool {
    let files: Vec<(&str, Digest)> = files
        .iter()
        .map(|(path, digest)| (path.as_str(), *digest))
        .collect();
    !files.is_empty() && Digest::of_files(&files) == digest
}

/// A file that counts, as guards see it in `all`.
pub(super) fn file_value(file: &FileFact) -> Value {
    serde_json::json!({
        "path": file.path,
        "valid": file.is_valid(),
        "fresh": true,
        "ready": file.is_valid(),
        "author": file.writers.first().map(|writer| writer.name.as_str()),
        "data": file.data.as_deref().cloned().unwrap_or(Value::Null),
    })
}
