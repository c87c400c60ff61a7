//! Which files an agent may not write.

use super::agent_task::AgentTask;
use crate::cli::Context;
use crate::cli::commands::init::is_guarded;
use orch_base::{Error, RepoPath};
use orch_core::config;
use orch_core::decide::Runner;
use orch_core::record::{STATE_FILE, SUGGESTION_FILE, TRANSCRIPT_FILE};
use orch_core::workflow::{Owner, Phase};
use orch_engine::survey::{Sight, TaskRef, Workspace};
use orch_files::OWN_DIRECTORY;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The files of a record, and its derived copy.
const RECORD: [&str; 3] = [STATE_FILE, TRANSCRIPT_FILE, SUGGESTION_FILE];

/// Why a file may not be written by an agent; `None` if it may. Returns an error if its repository or a task there
/// cannot be read.
pub fn refusal(
    path: &Path,
    cwd: Option<&Path>,
    context: &Context,
) -> Result<Option<String>, Error> {
    // The file as it is named, and the one that a link leads to.
    let named = plain(path);
    let real = resolved(&named);
    let beside = named
        .file_name()
        .zip(named.parent())
        .map(|(name, above)| resolved(above).join(name));
    let Some(start) = real.ancestors().skip(1).find(|above| above.is_dir()) else {
        return Ok(None);
    };
    let workspace = Workspace::open_to_look(start, context.caller.environment.clone())?;
    for path in beside.iter().chain([&real]) {
        if let Some(reason) = refused(&workspace, path, cwd, context)? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

fn refused(
    workspace: &Workspace,
    path: &Path,
    cwd: Option<&Path>,
    context: &Context,
) -> Result<Option<String>, Error> {
    let is_own = |directory: PathBuf| path.starts_with(resolved(&directory));
    let own = workspace.reader().store().map(|store| {
        [
            store.layout().own(""),
            store.layout().common_directory().join("orch"),
        ]
    });
    if own.into_iter().flatten().any(is_own) {
        return Ok(Some(
            "orch keeps its own files there, and nothing else may write them".to_owned(),
        ));
    }
    let root = workspace.reader().root();
    // Another repository, or a plain directory, may have nothing to do with orch.
    let is_home = || {
        workspace.reader().store().is_some()
            && resolved(cwd.unwrap_or(&context.start)).starts_with(root)
    };
    if !root.join(config::FILE).exists() && !is_home() {
        return Ok(None);
    }
    let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
    let Some(path) = inside.and_then(|path| RepoPath::new(path).ok()) else {
        return Ok(None);
    };
    let system = &workspace.settings().config().system;
    if path.as_str() == config::FILE || path.below(system).is_some() {
        return Ok(Some(format!(
            "{path} says what the rules are, and a person changes the rules"
        )));
    }
    if is_guarded(path.as_str()) {
        return Ok(Some(format!(
            "{path} registers the hooks that keep the rules, and a person changes it"
        )));
    }
    let task = workspace.finder().task_of_path(&path)?;
    if let Some(reason) = of_record(workspace, &path, task.as_ref()) {
        return Ok(Some(reason));
    }
    if let Some(task) = task {
        return Ok(of_person(&workspace.look(&task)?, &path));
    }
    let Some(task) = AgentTask::named(workspace, cwd, context)? else {
        return Ok(None);
    };
    Ok(out_of_phase(&workspace.look(&task)?, &path))
}

/// Why a file of a record or of a run is left to orch.
fn of_record(workspace: &Workspace, path: &RepoPath, task: Option<&TaskRef>) -> Option<String> {
    let roots = &workspace.settings().config().roots;
    let above = path.parent()?;
    let is_record = RECORD.contains(&path.name())
        && task.map_or_else(
            || roots.match_directory(&above).is_some(),
            |task| *task.directory() == above,
        );
    let ancestors: Vec<RepoPath> =
        std::iter::successors(Some(path.clone()), RepoPath::parent).collect();
    let is_control = ancestors.windows(2).any(|pair| {
        pair[0].name() == OWN_DIRECTORY
            && task.map_or_else(
                || roots.match_directory(&pair[1]).is_some(),
                |task| *task.directory() == pair[1],
            )
    });
    (is_record || is_control).then(|| {
        let id = task.map_or("TASK", |task| task.id.as_str());
        format!(
            "{path} is the record of a task, which only orch writes: it moves the task when the files justify it. \
             `orch prompt {id}` says what to write"
        )
    })
}

/// Why an artifact of a phase that a person owns is left to a person. While a run drives the task, what its executor
/// writes is a proposal, which the run leaves to a person by itself.
fn of_person(sight: &Sight, path: &RepoPath) -> Option<String> {
    if sight.runner.as_ref().is_some_and(Runner::is_running) {
        return None;
    }
    let workflow = sight.workflow();
    let name = sight.task.place.name(path)?;
    let (index, _) = sight.compiled.matcher.artifacts_of(name).next()?;
    let artifact = workflow.artifacts.get(index)?;
    let makers: Vec<&Phase> = workflow
        .phases
        .iter()
        .filter(|phase| phase.produces.contains(&artifact.name))
        .collect();
    let person = makers.iter().find(|phase| phase.owner == Owner::Human)?;
    makers.iter().all(|phase| phase.owner == Owner::Human).then(|| {
        format!(
            "{path} is the `{}` of phase `{}`, in which a person decides; say what you propose instead",
            artifact.name, person.id
        )
    })
}

/// Why a file outside the tasks may not change in the current phase of the task in use.
fn out_of_phase(sight: &Sight, path: &RepoPath) -> Option<String> {
    let phases = &sight.workflow().phases;
    let naming: Vec<&Phase> = phases
        .iter()
        .filter(|phase| phase.touches.matches(path.as_str()))
        .collect();
    let now = sight.decision.phase.as_ref()?;
    if naming.is_empty() || naming.iter().any(|phase| phase.id == *now) {
        return None;
    }
    let allowed: Vec<&str> = naming.iter().map(|phase| phase.id.as_str()).collect();
    let id = &sight.task.id;
    Some(format!(
        "{path} may change in {}; task {id} is in {now}",
        allowed.join(", ")
    ))
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

/// The path without links: what exists of it, and the rest as it is.
fn resolved(path: &Path) -> PathBuf {
    let mut rest: Vec<&OsStr> = Vec::new();
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            return rest.iter().rev().fold(real, |path, name| path.join(name));
        }
        rest.extend(above.file_name());
    }
    path.to_owned()
}
