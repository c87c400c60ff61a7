//! What the work of a phase may write in the repository, by its workflow.

use orch_base::{ArtifactName, Patterns, RepoPath, TaskPlace};
use orch_core::workflow::{Artifact, Phase, Workflow};
use std::collections::BTreeSet;

/// What the work of a phase may write, relative to the root of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnPlaces {
    /// The directories of its outputs. They are made before the turn.
    pub outputs: BTreeSet<RepoPath>,
    /// The directories of the code that it may change; the root stands for the whole work tree.
    pub code: BTreeSet<RepoPath>,
    /// Directories of the task that stay as they are, although they may lie in those of its outputs.
    pub closed: BTreeSet<RepoPath>,
}

impl TurnPlaces {
    /// Whether its work is code, which is committed.
    #[must_use]
    pub fn is_code(&self) -> bool {
        !self.code.is_empty()
    }
}

/// Why there can be no fence around the work of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfenceable {
    /// This output is written directly in the directory of the task, beside the record, or at the root.
    Beside(ArtifactName),
    /// The workflow does not say what the work writes.
    Unknown,
}

/// Directories of a task in which a person decides and `orch` records.
const KEPT: [&str; 2] = ["accept", "eval/verify"];

/// What the work of a phase may write. Returns why there can be no fence.
pub fn turn_places(
    workflow: &Workflow,
    phase: &Phase,
    place: &TaskPlace,
) -> Result<TurnPlaces, Unfenceable> {
    let mut places = TurnPlaces::default();
    let mut makes_code = !phase.touches.is_empty() || !phase.undoes.is_empty();
    for name in &phase.produces {
        let Some(artifact) = workflow.artifact(name) else {
            continue;
        };
        let is_code = artifact.tree.is_some() || artifact.repository.is_some();
        makes_code |= is_code;
        match output_directory(artifact, place) {
            Some(directory) => {
                places.outputs.insert(directory);
            }
            None if is_code || phase.optional.contains(name) => {}
            None => return Err(Unfenceable::Beside(name.clone())),
        }
    }
    let is_unsaid = !says_where_code_is_made(workflow) && !phase.produces.is_empty();
    if makes_code || is_unsaid {
        places.code = code(phase);
    }
    if places.outputs.is_empty() && places.code.is_empty() {
        return Err(Unfenceable::Unknown);
    }
    let kept = KEPT.iter().filter_map(|name| place.path(name).ok());
    places.closed = kept
        .filter(|path| !places.outputs.iter().any(|hole| is_within(hole, path)))
        .collect();
    Ok(places)
}

/// Whether some phase of the workflow says that its work is code.
fn says_where_code_is_made(workflow: &Workflow) -> bool {
    let mut artifacts = workflow.artifacts.iter();
    let mut phases = workflow.phases.iter();
    artifacts.any(|artifact| artifact.tree.is_some() || artifact.repository.is_some())
        || phases.any(|phase| !phase.touches.is_empty())
}

/// The directories of the code that a phase may change. A file is replaced by renaming another one to it, so its directory
/// counts.
fn code(phase: &Phase) -> BTreeSet<RepoPath> {
    if phase.touches.is_empty() {
        return [RepoPath::root()].into();
    }
    let texts = phase.touches.texts().iter();
    texts
        .map(|text| RepoPath::new(fixed_directory(text)).unwrap_or_else(|_| RepoPath::root()))
        .collect()
}

/// The directory in which a new file of an artifact is written; `None` if that is the directory of the task itself, or the
/// root.
fn output_directory(artifact: &Artifact, place: &TaskPlace) -> Option<RepoPath> {
    let path = artifact.new_path.as_deref();
    let path = path.or_else(|| artifact.paths.first().map(String::as_str))?;
    if let Some(below) = path.strip_prefix('/') {
        let directory = RepoPath::new(fixed_directory(below)).ok()?;
        return Some(directory).filter(|directory| *directory != RepoPath::root());
    }
    let directory = fixed_directory(path);
    if directory.is_empty() {
        return None;
    }
    place.path(directory).ok()
}

/// The directory before the last name of a path, or before the first that a wildcard or a blank stands for.
fn fixed_directory(path: &str) -> &str {
    let open = path.find(['*', '?', '[', '{', '<']).unwrap_or(path.len());
    path[..open].rfind('/').map_or("", |at| &path[..at])
}

fn is_within(path: &RepoPath, directory: &RepoPath) -> bool {
    path == directory || path.below(directory).is_some()
}

/// Which of these files belong to other phases, and must not change; and the directories of their outputs that lie in those
/// of this phase.
#[must_use]
pub fn foreign_places(
    workflow: &Workflow,
    phase: &Phase,
    place: &TaskPlace,
    files: &[RepoPath],
) -> BTreeSet<RepoPath> {
    let patterns = |own: bool| {
        let is_meant = |artifact: &&Artifact| phase.produces.contains(&artifact.name) == own;
        let meant = workflow.artifacts.iter().filter(is_meant);
        Patterns::new(meant.flat_map(|artifact| artifact.paths.iter().cloned())).unwrap_or_default()
    };
    let own = patterns(true);
    let others = patterns(false);
    let mut found: BTreeSet<RepoPath> = files
        .iter()
        .filter(|path| {
            let absolute = format!("/{path}");
            let name = place.name(path).unwrap_or(&absolute);
            others.matches(name) && !own.matches(name)
        })
        .cloned()
        .collect();
    let mine: BTreeSet<RepoPath> = phase
        .produces
        .iter()
        .filter_map(|name| output_directory(workflow.artifact(name)?, place))
        .collect();
    for artifact in &workflow.artifacts {
        let Some(directory) = output_directory(artifact, place) else {
            continue;
        };
        let lies_within = mine.iter().any(|hole| directory.below(hole).is_some());
        let holds_own = mine.iter().any(|hole| is_within(hole, &directory));
        if lies_within && !holds_own && !phase.produces.contains(&artifact.name) {
            found.insert(directory);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_path_ends_before_what_is_open() {
        for (path, expected) in [
            ("review/code/verdict.json", "review/code"),
            ("eval/*.xml", "eval"),
            ("specs/<capability>/spec.md", "specs"),
            ("src/**", "src"),
            ("a/b*/c", "a"),
            ("review.json", ""),
            ("*.md", ""),
        ] {
            assert_eq!(fixed_directory(path), expected, "{path}");
        }
    }
}
