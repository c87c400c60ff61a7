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
    /// This output is written directly in the directory of the task, beside the record.
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

/// The directory in which a new file of an artifact is written; `None` if that is the directory of the task itself.
fn output_directory(artifact: &Artifact, place: &TaskPlace) -> Option<RepoPath> {
    let path = artifact.new_path.as_deref();
    let path = path.or_else(|| artifact.paths.first().map(String::as_str))?;
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

/// Which of these files are no outputs of this phase: those of others, and those at later paths of its own, which count for
/// nothing. With them, the directories of outputs of other phases that lie in those of this one.
#[must_use]
pub fn foreign_places(
    workflow: &Workflow,
    phase: &Phase,
    place: &TaskPlace,
    files: &[RepoPath],
) -> BTreeSet<RepoPath> {
    let mut own = Vec::new();
    let mut all = Vec::new();
    for artifact in &workflow.artifacts {
        all.extend(artifact.paths.iter().cloned());
        if phase.produces.contains(&artifact.name) {
            own.extend(artifact.paths.first().cloned());
        }
    }
    let own = Patterns::new(own).unwrap_or_default();
    let all = Patterns::new(all).unwrap_or_default();
    let mut found: BTreeSet<RepoPath> = files
        .iter()
        .filter(|path| {
            let name = place.name(path);
            name.is_some_and(|name| all.matches(name) && !own.matches(name))
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

/// Whether a file is an output of some phase.
#[must_use]
pub fn is_output(workflow: &Workflow, place: &TaskPlace, path: &RepoPath) -> bool {
    let mut made = Vec::new();
    for artifact in &workflow.artifacts {
        if workflow.producers(&artifact.name).next().is_some() {
            made.extend(artifact.paths.iter().cloned());
        }
    }
    let made = Patterns::new(made).unwrap_or_default();
    place.name(path).is_some_and(|name| made.matches(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    use orch_core::workflow::{Document, System, compile};

    const MACHINE: &str = r#"
```toml orch
[artifact.plan]
path = "planning/plan.json"
[artifact.patch]
path = "code/diff.patch"
tree = ["**"]
[artifact.blocked]
path = "blocked.json"
[artifact.verdict]
path = ["review/code/verdict.json", "review/code-review.json"]
[artifact.advice]
path = "review/code/advice/a.md"
[artifact.report]
path = ["eval/*.xml", "eval/report.json"]
[artifact.note]
path = "note.md"
[artifact.decision]
path = "accept/decision.json"
[phase.plan]
produces = ["plan"]
[phase.code]
produces = ["patch"]
may_produce = ["blocked"]
[phase.style]
produces = ["plan"]
may_produce = ["note"]
touches = ["src/**", "docs/a*.md", "Cargo.toml"]
[phase.review]
produces = ["verdict"]
[phase.advise]
produces = ["advice"]
[phase.test]
produces = ["report"]
[phase.notes]
produces = ["note"]
[phase.decide]
produces = ["decision"]
[phase.idle]
owner = "human"
[phase.end]
terminal = true
[[rule]]
id = "on"
from = "*"
when = "plan.ready"
to = "end"
because = "it is planned"
```
"#;

    fn workflow(text: &str) -> Workflow {
        let document = Document::new("w", "w.md", text);
        let (workflow, problems) = compile(&document, &System::empty());
        workflow.unwrap_or_else(|| panic!("{problems:#?}"))
    }

    fn phase<'w>(workflow: &'w Workflow, name: &str) -> &'w Phase {
        let mut phases = workflow.phases.iter();
        let found = phases.find(|phase| phase.id.as_str() == name);
        found.expect("the phase is declared")
    }

    fn task() -> TaskPlace {
        TaskPlace::of_directory(path("tasks/t"))
    }

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).expect("valid")
    }

    fn shown(paths: &BTreeSet<RepoPath>) -> Vec<&str> {
        paths.iter().map(RepoPath::as_str).collect()
    }

    #[test]
    fn a_phase_may_write_the_directories_of_its_outputs_and_only_coders_the_code() {
        let workflow = workflow(MACHINE);
        let both = ["tasks/t/accept", "tasks/t/eval/verify"].as_slice();
        for (name, outputs, code, closed) in [
            ("plan", ["tasks/t/planning"].as_slice(), [].as_slice(), both),
            ("code", &["tasks/t/code"], &[""], both),
            ("style", &["tasks/t/planning"], &["", "docs", "src"], both),
            ("review", &["tasks/t/review/code"], &[], both),
            ("test", &["tasks/t/eval"], &[], both),
            ("decide", &["tasks/t/accept"], &[], &both[1..]),
        ] {
            let places = turn_places(&workflow, phase(&workflow, name), &task()).expect(name);
            assert_eq!(shown(&places.outputs), outputs, "{name}");
            assert_eq!(shown(&places.code), code, "{name}");
            assert_eq!(shown(&places.closed), closed, "{name}");
        }
    }

    #[test]
    fn a_phase_that_writes_beside_the_record_or_says_nothing_has_no_fence() {
        let workflow = workflow(MACHINE);
        let note = ArtifactName::new("note").expect("valid");
        for (name, expected) in [
            ("notes", Unfenceable::Beside(note)),
            ("idle", Unfenceable::Unknown),
        ] {
            let places = turn_places(&workflow, phase(&workflow, name), &task());
            assert_eq!(places, Err(expected), "{name}");
        }
    }

    #[test]
    fn where_no_phase_says_that_it_makes_code_each_that_says_what_it_writes_may() {
        let text = MACHINE
            .replace("tree = [\"**\"]\n", "")
            .replace("touches", "# touches");
        let workflow = workflow(&text);
        let places = turn_places(&workflow, phase(&workflow, "plan"), &task()).expect("a fence");
        assert_eq!(shown(&places.code), [""]);
        let idle = turn_places(&workflow, phase(&workflow, "idle"), &task());
        assert_eq!(idle, Err(Unfenceable::Unknown));
    }

    #[test]
    fn files_of_other_phases_and_later_paths_are_none_of_its_outputs() {
        let workflow = workflow(MACHINE);
        let files = [
            "tasks/t/review/code/verdict.json",
            "tasks/t/review/code-review.json",
            "tasks/t/review/code/advice/a.md",
            "tasks/t/review/code/note",
            "tasks/t/eval/junit.xml",
            "tasks/t/eval/report.json",
        ]
        .map(path);
        for (name, expected) in [
            (
                "review",
                [
                    "tasks/t/eval/junit.xml",
                    "tasks/t/eval/report.json",
                    "tasks/t/review/code-review.json",
                    "tasks/t/review/code/advice",
                    "tasks/t/review/code/advice/a.md",
                ]
                .as_slice(),
            ),
            (
                "test",
                &[
                    "tasks/t/eval/report.json",
                    "tasks/t/review/code-review.json",
                    "tasks/t/review/code/advice/a.md",
                    "tasks/t/review/code/verdict.json",
                ],
            ),
        ] {
            let found = foreign_places(&workflow, phase(&workflow, name), &task(), &files);
            assert_eq!(shown(&found), expected, "{name}");
        }
    }

    #[test]
    fn every_phase_of_the_lifecycle_that_has_work_can_have_a_fence() {
        let system = System::shipped();
        let name = "global-state-machine";
        let text = system.workflow(name).expect("it ships");
        let document = Document::new(name, "w.md", text);
        let workflow = compile(&document, &system).0.expect("it is valid");
        for phase in workflow.phases.iter().filter(|phase| !phase.terminal) {
            let places = turn_places(&workflow, phase, &task());
            let makes_code = ["codegen", "revert"].contains(&phase.id.as_str());
            let is_code = places.map(|places| places.is_code());
            assert_eq!(is_code, Ok(makes_code), "{}", phase.id);
        }
    }

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
