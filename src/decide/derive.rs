//! Derives the facts that guards see from observed bytes and recorded state: which files count, and whether
//! they are fresh and changed.
//!
//! Only content decides, never a modification time, so a fresh clone behaves like the original.

use super::{Derived, DerivedFile, Evidence, Facts, FileFact, NamedVersion, State};
use crate::base::{ArtifactName, Code, Diagnostic, Digest, PhaseId, Place, TaskPlace};
use crate::workflow::{Artifact, TreeScope, Workflow};
use serde_json::Value;
use std::collections::BTreeMap;

/// A derived artifact, with the observed files behind it.
#[derive(Debug, Clone)]
pub(super) struct SeenArtifact<'f> {
    pub derived: Derived,
    pub files: Vec<&'f FileFact>,
    /// The file that makes the artifact invalid or stale, if it has several files.
    pub culprit: Option<&'f FileFact>,
    /// Fresh files at paths of lower precedence; probably misplaced.
    pub elsewhere: Vec<&'f FileFact>,
}

/// The present digest of every artifact, and its scope if it is committed code.
type Present<'w> = BTreeMap<ArtifactName, (Option<Digest>, Option<&'w TreeScope>)>;

/// Derives every artifact of the workflow, in document order.
#[must_use]
pub fn derive(workflow: &Workflow, state: &State, phase: &PhaseId, facts: &Facts) -> Vec<Derived> {
    let state = &*state.under_own_names(workflow);
    look(workflow, state, phase, facts).into_iter().map(|seen| seen.derived).collect()
}

pub(super) fn look<'f>(
    workflow: &Workflow,
    state: &State,
    phase: &PhaseId,
    facts: &'f Facts,
) -> Vec<SeenArtifact<'f>> {
    let mut all: Vec<SeenArtifact<'f>> =
        workflow.artifacts.iter().map(|artifact| select(workflow, state, artifact, facts)).collect();
    let present: Present<'_> = (workflow.artifacts.iter().zip(&all))
        .map(|(artifact, seen)| {
            let tree =
                artifact.tree.as_ref().filter(|_| seen.derived.tree.is_some() || !seen.derived.present);
            (seen.derived.name.clone(), (seen.derived.digest, tree))
        })
        .collect();
    for seen in &mut all {
        derive_freshness(workflow, state, &present, &mut seen.derived);
        seen.culprit = if seen.derived.ready() { None } else { culprit(seen, &present) };
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

impl SeenArtifact<'_> {
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
                || workflow.artifact(&self.derived.name).is_none_or(|artifact| artifact.commit),
        })
    }

    /// The problems of its files, and a finding for each file that does not count.
    pub(super) fn diagnostics(&self, place: &TaskPlace) -> impl Iterator<Item = Diagnostic> {
        let used = self.derived.files.first().map(|file| file.path.as_str()).unwrap_or_default();
        let elsewhere = self.elsewhere.iter().map(move |file| {
            let message = format!("`{}` is read from {used}, so this file does not count", self.derived.name);
            let place = place.path(&file.path).map_or_else(|_| Place::default(), |path| Place::file(&path));
            Diagnostic::warning(Code::ArtifactElsewhere, message).at(place).hint("remove one of the two")
        });
        self.files.iter().flat_map(|file| file.problems.iter().cloned()).chain(elsewhere)
    }
}

/// The files that count: those of the first path with a file that is not used up, or else of the first path
/// that matches.
fn select<'f>(workflow: &Workflow, state: &State, artifact: &Artifact, facts: &'f Facts) -> SeenArtifact<'f> {
    let observed = facts.artifacts.get(&artifact.name).map(Vec::as_slice).unwrap_or_default();
    let counts = |file: &FileFact| !file.is_tree || is_change(workflow, state, &artifact.name, file.digest);
    let mut groups: Vec<Vec<&FileFact>> = (0..=artifact.paths.len())
        .map(|pattern| observed.iter().filter(|file| file.pattern == pattern && counts(file)).collect())
        .filter(|group: &Vec<&FileFact>| !group.is_empty())
        .collect();
    groups.iter_mut().for_each(|group| group.sort_by(|a, b| a.path.cmp(&b.path)));
    let unspent = |group: &Vec<&FileFact>| {
        digest_of(group).is_none_or(|digest| !is_spent(workflow, state, &artifact.name, digest))
    };
    let chosen = groups.iter().position(&unspent).unwrap_or(0);
    let elsewhere = groups
        .iter()
        .enumerate()
        .filter(|(index, group)| *index != chosen && unspent(group))
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
        of: judged_by(&files),
        tree: files.iter().find(|file| file.is_tree).map(|file| file.data.clone().unwrap_or_default()),
        files: files
            .iter()
            .map(|file| DerivedFile { path: file.path.clone(), digest: file.digest, valid: file.is_valid() })
            .collect(),
    };
    SeenArtifact { derived, files, culprit: None, elsewhere }
}

/// Whether the code is a change: it differs from the code with which the phase that makes it was entered, or
/// it is used up and so a change of an earlier attempt. If the former code is unknown, any code is a change.
fn is_change(workflow: &Workflow, state: &State, artifact: &ArtifactName, digest: Option<Digest>) -> bool {
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
    let digests: Option<Vec<(&str, Digest)>> =
        files.iter().map(|file| Some((file.path.as_str(), file.digest?))).collect();
    digests.map(|digests| Digest::of_files(&digests))
}

/// The `of` maps of all files. If two files name different digests for one artifact, none of them counts.
fn judged_by(files: &[&FileFact]) -> BTreeMap<String, NamedVersion> {
    let mut all: BTreeMap<String, NamedVersion> = BTreeMap::new();
    for (name, version) in files.iter().filter_map(|file| judged(file)).flatten() {
        let disagrees = |known: &mut NamedVersion| {
            if *known != version {
                *known = NamedVersion::Unreadable;
            }
        };
        all.entry(name).and_modify(disagrees).or_insert(version);
    }
    all
}

/// The `of` map of a report: what it says it judged. Null stands for an absent artifact; any other value that
/// is not a digest never matches.
fn judged(file: &FileFact) -> Option<Vec<(String, NamedVersion)>> {
    let data = file.data.as_deref()?;
    let of = data.get("of").or_else(|| data.get("front_matter")?.get("of"))?.as_object()?;
    let version = |value: &Value| match value {
        Value::Null => NamedVersion::Absent,
        Value::String(text) => Digest::parse(text).map_or(NamedVersion::Unreadable, NamedVersion::Digest),
        _ => NamedVersion::Unreadable,
    };
    Some(of.iter().map(|(name, value)| (name.clone(), version(value))).collect())
}

fn derive_freshness(workflow: &Workflow, state: &State, present: &Present<'_>, derived: &mut Derived) {
    if !derived.present {
        return;
    }
    derived.stale_because = match derived.digest {
        Some(digest) if is_spent(workflow, state, &derived.name, digest) => {
            Some(used_up(workflow, state, derived))
        }
        _ => derived.of.iter().find_map(|(name, judged)| outdated_because(present, name, *judged)),
    };
    derived.fresh = derived.stale_because.is_none();
}

/// Why an entry of an `of` map is outdated; `None` if it matches what is present.
fn outdated_because(present: &Present<'_>, name: &str, judged: NamedVersion) -> Option<String> {
    let Some((present, tree)) = present.get(name) else {
        return Some(format!("`of` names `{name}`, which is not in the workflow"));
    };
    match judged {
        NamedVersion::Digest(digest) if *present == Some(digest) => None,
        NamedVersion::Absent if present.is_none() => None,
        NamedVersion::Absent => Some(format!("there was no `{name}` when it judged, and now there is one")),
        NamedVersion::Unreadable => Some(format!("`of` does not name one version of `{name}`")),
        NamedVersion::Digest(_) => Some(match tree {
            Some(scope) => format!("it judged an earlier version of `{name}`: {scope} changed since"),
            None => format!("it judged another version of `{name}`"),
        }),
    }
}

/// The file that makes an artifact invalid or stale. Rewriting any other file would not help.
fn culprit<'f>(seen: &SeenArtifact<'f>, present: &Present<'_>) -> Option<&'f FileFact> {
    let is_faulty = |file: &&FileFact| {
        let of = judged(file).unwrap_or_default();
        !file.is_valid() || of.iter().any(|(name, digest)| outdated_because(present, name, *digest).is_some())
    };
    seen.files.iter().copied().find(is_faulty)
}

fn used_up(workflow: &Workflow, state: &State, derived: &Derived) -> String {
    let attempt = workflow.producers(&derived.name).map(|phase| state.attempt(&phase.id)).max().unwrap_or(0);
    match attempt {
        0 | 1 => "unchanged since it was used up".to_owned(),
        attempt => format!("unchanged since attempt {} was sent back", attempt - 1),
    }
}

/// Whether a send-back has used up a digest of an artifact.
pub(super) fn is_spent(workflow: &Workflow, state: &State, artifact: &ArtifactName, digest: Digest) -> bool {
    workflow
        .producers(artifact)
        .filter_map(|phase| state.actor(&phase.id)?.spent.get(artifact))
        .any(|spent| spent.contains(&digest))
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
    let artifact = &derived.name;
    // The recorded code of a phase says nothing about a file that takes its place.
    let is_of_code = |phase: &PhaseId| {
        derived.tree.is_none()
            && workflow.artifact(artifact).is_some_and(|artifact| artifact.tree.is_some())
            && workflow.producers(artifact).any(|producer| producer.id == *phase)
    };
    let entered_with = |phase: &PhaseId| {
        state.actor(phase).and_then(|actor| actor.entered_with.get(artifact)).filter(|_| !is_of_code(phase))
    };
    if let Some(entered) = entered_with(phase) {
        return Some(*entered);
    }
    let position = workflow.position(phase)?;
    workflow.phases[..position].iter().rev().find_map(|earlier| {
        let left_with = state.actor(&earlier.id)?.left_with.get(artifact);
        left_with.or_else(|| entered_with(&earlier.id)).copied()
    })
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
    let phases = workflow.phases[..=from].iter().rev().chain(&workflow.phases);
    phases
        .filter_map(|phase| state.actor(&phase.id))
        .flat_map(|actor| [actor.left_with.get(artifact), actor.entered_with.get(artifact)])
        .find_map(|record| record.copied().flatten())
}

/// A file as guards see it in `all`.
pub(super) fn file_value(file: &FileFact) -> Value {
    serde_json::json!({
        "path": file.path,
        "valid": file.is_valid(),
        "data": file.data.as_deref().cloned().unwrap_or(Value::Null),
    })
}
