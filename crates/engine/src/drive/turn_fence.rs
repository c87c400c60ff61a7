//! The fence around one turn: what its work may write, put together from the workflow, the repository and the settings.

use super::{FenceNews, Happened, Reporter};
use crate::apply::Writer;
use crate::run::{
    Access, Fence, FencePlaces, HookSource, NoFence, OwnPlaces, RunFiles, TurnPlaces, Unfenceable,
    fence_trial, fenced_hooks, foreign_places, is_output, program_places, refused_write,
    remove_dead_fences, turn_places,
};
use crate::survey::{Error, Sight};
use orch_base::{ArtifactName, Code, Diagnostic, Hint, RepoPath, TaskPlace, enumeration};
use orch_core::config::{ExecutorConfig, FILE, FenceWish};
use orch_core::decide::{Ending, Returned, Work};
use orch_core::workflow::{Phase, Workflow};
use orch_files::{Directory, io_error};
use orch_git::Store;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The variable by which a person asks for a fence in all runs, or for none.
const WISH: &str = "ORCH_FENCE";

/// The variable by which `orch` knows that it is inside a fence.
pub const FENCED_VARIABLE: &str = "ORCH_FENCED";

/// Variables that name files and directories which programs need, also if they lie among temporary files.
const NEEDED: [&str; 39] = [
    "HOME",
    "PATH",
    "SSH_AUTH_SOCK",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "XAUTHORITY",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GNUPGHOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NODE_PATH",
    "NPM_CONFIG_USERCONFIG",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "npm_config_cafile",
    "DENO_CERT",
    "CODEX_CA_CERTIFICATE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
];

/// What is closed in a git directory that is open for commits, as far as it is there.
const CLOSED_IN_GIT: [&str; 8] = [
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "info",
    "orch",
    "worktrees",
];
/// What is closed, too, in that of another work tree.
const CLOSED_ELSEWHERE: [&str; 2] = ["HEAD", "index"];

/// A fence around one turn.
#[derive(Debug, Clone)]
pub(super) struct TurnFence {
    pub fence: Fence,
    /// What may be written in the repository, for the agent and for people.
    pub writes: Vec<String>,
    /// Whether commits may be made.
    pub commits: bool,
    /// The directories of the outputs.
    outputs: BTreeSet<RepoPath>,
    /// What lay in them before the turn and was none.
    foreign: BTreeSet<RepoPath>,
    /// The root of the repository, without links.
    root: PathBuf,
    /// The rules, and the settings by which programs start.
    rules: BTreeSet<RepoPath>,
}

impl TurnFence {
    /// Whether a path of the repository may be written.
    pub(super) fn permits(&self, path: &RepoPath) -> bool {
        self.fence.plan().permits(&path.under(&self.root))
    }

    /// Whether a path holds rules or settings, for which nobody works on a task.
    pub(super) fn is_rule(&self, path: &RepoPath) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule == path || path.below(rule).is_some())
    }

    /// What the program has left in the directories of its outputs that is none: what did not exist could not be covered.
    pub(super) fn left(&self, sight: &Sight, root: &Path) -> Vec<RepoPath> {
        let workflow = sight.workflow();
        let phase = sight.decision.phase.as_ref();
        let Some(phase) = phase.and_then(|phase| workflow.phase(phase)) else {
            return Vec::new();
        };
        let now = foreign(sight, phase, &self.outputs, root);
        now.difference(&self.foreign).cloned().collect()
    }

    /// The variables of the program inside.
    pub(super) fn environment(&self) -> [(String, String); 2] {
        let temporary = self.fence.temporary().display().to_string();
        [
            ("TMPDIR".to_owned(), temporary),
            (FENCED_VARIABLE.to_owned(), "1".to_owned()),
        ]
    }
}

/// Whether a turn has a fence.
pub(super) enum Fencing {
    /// Nobody wants one.
    Off,
    /// There is none, and why.
    None(String),
    /// There is one.
    Fenced(Box<TurnFence>),
}

/// Whether somebody wants a fence: the settings of the executor, and unless they require one the variable of whoever calls.
/// Returns an error if the variable is none of the words.
pub(super) fn fence_wish(writer: &Writer<'_>, config: &ExecutorConfig) -> Result<FenceWish, Error> {
    let Some(said) = writer.caller.variables.get(WISH) else {
        return Ok(config.fence);
    };
    let Some(wish) = FenceWish::named(&said) else {
        let message = format!("{WISH} is \"{said}\"");
        let hint = "it must be auto, required or off";
        return Err(Error::new(Code::Usage, message).with_hint(hint));
    };
    Ok(match config.fence {
        FenceWish::Required => FenceWish::Required,
        FenceWish::Auto | FenceWish::Off => wish,
    })
}

/// Begins the trial of a fence beside what a run has to do first, unless nobody wants one; and removes what killed runs have
/// left of theirs.
pub(super) fn begin_trial(writer: &Writer<'_>, config: &ExecutorConfig) {
    if !matches!(fence_wish(writer, config), Ok(FenceWish::Off)) {
        std::thread::spawn(|| {
            let _ = fence_trial();
            remove_dead_fences();
        });
    }
}

/// The fence for a turn in the phase of a task. Returns an error if one is required and there can be none, or if a directory
/// cannot be made.
pub(super) fn turn_fence(
    writer: &Writer<'_>,
    sight: &Sight,
    config: &ExecutorConfig,
    files: &RunFiles,
) -> Result<Fencing, Error> {
    let wish = fence_wish(writer, config)?;
    if wish == FenceWish::Off {
        return Ok(Fencing::Off);
    }
    let none = |why: String| match wish {
        FenceWish::Required => Err(no_fence(&why)),
        _ => Ok(Fencing::None(why)),
    };
    if let Err(NoFence(why)) = fence_trial() {
        return none(why);
    }
    let workflow = sight.workflow();
    let phase = sight.decision.phase.as_ref();
    let phase = phase.and_then(|phase| workflow.phase(phase));
    let Some(phase) = phase else {
        return none("the phase of the task is not known".to_owned());
    };
    let places = match turn_places(workflow, phase, &sight.task.place) {
        Ok(places) => places,
        Err(why) if wish == FenceWish::Required => {
            let error = no_fence(&unfenceable(&why, phase));
            return Err(match &why {
                Unfenceable::Beside(output) => error.with_hint(elsewhere(workflow, output)),
                Unfenceable::Unknown => error,
            });
        }
        Err(why) => return none(unfenceable(&why, phase)),
    };
    if !places.code.contains(&RepoPath::root())
        && let Some(why) = sandbox_that_fails(&config.command)
    {
        return none(why.to_owned());
    }
    let root = real(writer.workspace.reader.root())?;
    let foreign = foreign(sight, phase, &places.outputs, &root);
    let ground = TurnGround {
        writer,
        sight,
        places,
        foreign,
        root,
    };
    let (fence, writes) = ground.fence(config, files)?;
    Ok(Fencing::Fenced(Box::new(TurnFence {
        fence,
        writes,
        commits: ground.places.is_code(),
        rules: ground.rules(),
        root: ground.root,
        outputs: ground.places.outputs,
        foreign: ground.foreign,
    })))
}

/// The files in the directories of the outputs of a phase that are none of them, and such directories.
fn foreign(
    sight: &Sight,
    phase: &Phase,
    outputs: &BTreeSet<RepoPath>,
    root: &Path,
) -> BTreeSet<RepoPath> {
    let mut files = Vec::new();
    for hole in outputs {
        let walk = WalkDir::new(hole.under(root)).into_iter().flatten();
        for entry in walk.filter(|entry| !entry.file_type().is_dir()) {
            let path = entry.path().strip_prefix(root).ok();
            let path = path.and_then(Path::to_str).map(RepoPath::new);
            files.extend(path.and_then(Result::ok));
        }
    }
    foreign_places(sight.workflow(), phase, &sight.task.place, &files)
}

/// Whether executors can work inside a fence here, in words, and the findings about it. Returns an error if the variable
/// that asks for it is none of the words.
pub fn examine_fence(writer: &Writer<'_>) -> Result<(String, Vec<Diagnostic>), Error> {
    let wish = fence_wish(writer, &ExecutorConfig::default())?;
    if wish == FenceWish::Off {
        return Ok((format!("{WISH} is off: executors have none"), Vec::new()));
    }
    let Err(NoFence(why)) = fence_trial() else {
        let summary = "executors can write only what their phase writes";
        return Ok((summary.to_owned(), unfenced_phases(writer)));
    };
    let executors = &writer.workspace.settings().config.executors;
    let requires = |name: &&str| {
        let found = executors.named(name);
        found.is_some_and(|executor| executor.fence == FenceWish::Required)
    };
    let mut requiring: Vec<&str> = executors.names().filter(requires).collect();
    if wish == FenceWish::Required {
        requiring = vec!["executors"];
    }
    let finding = if requiring.is_empty() {
        Diagnostic::note(
            Code::NoFence,
            format!("executors work without a fence: {why}"),
        )
    } else {
        let names = requiring.join(", ");
        let message = format!("{names} cannot start, because a fence is required: {why}");
        Diagnostic::warning(Code::NoFence, message)
    };
    Ok(("there is none".to_owned(), vec![finding]))
}

/// Warnings about phases whose executor requires a fence, and whose outputs leave no place for one. Only workflows in use count:
/// those of roots, and those whose document is in the repository.
fn unfenced_phases(writer: &Writer<'_>) -> Vec<Diagnostic> {
    let settings = writer.workspace.settings();
    let root = writer.workspace.reader.root();
    let place = TaskPlace::of_directory(RepoPath::root());
    let mut found = Vec::new();
    for name in settings.workflow_names() {
        let mut roots = settings.config.roots.iter();
        let is_used = roots.any(|one| one.workflow.as_str() == name)
            || root.join(settings.path_of_workflow(&name)).is_file();
        let Some(loaded) = settings.workflow(&name).ok().filter(|_| is_used) else {
            continue;
        };
        let Some(workflow) = loaded.workflow() else {
            continue;
        };
        for phase in &workflow.phases {
            let Some(agent) = &phase.agent else { continue };
            let executor = settings.config.executors.find([agent.as_str()]);
            let is_required = executor.is_some_and(|one| one.fence == FenceWish::Required);
            let why = turn_places(workflow, phase, &place).err();
            if let Some(why @ Unfenceable::Beside(output)) = why.as_ref().filter(|_| is_required) {
                let message = format!(
                    "{agent} cannot start, because a fence is required: {}",
                    unfenceable(why, phase)
                );
                let hint = elsewhere(workflow, output);
                found.push(Diagnostic::warning(Code::NoFence, message).hint(hint));
            }
        }
    }
    found
}

/// Where an output has to lie so that there can be a fence around whoever writes it.
fn elsewhere(workflow: &Workflow, output: &ArtifactName) -> String {
    let path = workflow.artifact(output);
    let path = path.and_then(|artifact| artifact.paths.first());
    let path = path.map_or("", String::as_str);
    format!(
        "let it lie in a directory of its own: `path = \"{output}/{path}\"` in [artifact.{output}] of {}",
        workflow.path
    )
}

fn no_fence(why: &str) -> Error {
    let hint = Hint::from(
        "let the system permit it, or ask for `auto` with `fence` in [executor.*] of orch.toml, or with ORCH_FENCE: then it works without a fence where there is none",
    );
    Error::new(
        Code::NoFence,
        format!("the executor must work inside a fence, and there is none: {why}"),
    )
    .with_hint(hint)
}

/// Why a program cannot work in a work tree that is read-only, if its own sandbox writes there.
fn sandbox_that_fails(command: &[String]) -> Option<&'static str> {
    let program = Path::new(command.first()?).file_name()?;
    let has_none = command.iter().any(|word| {
        word.contains("danger-full-access") || word == "--dangerously-bypass-approvals-and-sandbox"
    });
    (program == "codex" && !has_none).then_some(
        "the sandbox of Codex does not start where the work tree is read-only; with `--sandbox danger-full-access` it works inside, for which `fence = \"required\"` makes sure that there is one",
    )
}

fn unfenceable(why: &Unfenceable, phase: &Phase) -> String {
    let phase = &phase.id;
    match why {
        Unfenceable::Beside(artifact) => format!(
            "in `{phase}` the output `{artifact}` lies directly in the directory of the task, beside its record"
        ),
        Unfenceable::Unknown => {
            format!("the workflow does not say what the work in `{phase}` writes")
        }
    }
}

/// What a fence is made of.
struct TurnGround<'a> {
    writer: &'a Writer<'a>,
    sight: &'a Sight,
    places: TurnPlaces,
    /// What lies in the directories of its outputs and is none.
    foreign: BTreeSet<RepoPath>,
    /// The root of the repository, without links.
    root: PathBuf,
}

impl TurnGround<'_> {
    fn fence(
        &self,
        config: &ExecutorConfig,
        files: &RunFiles,
    ) -> Result<(Fence, Vec<String>), Error> {
        self.make_directories()?;
        let mut places = FencePlaces::default();
        places.needed.insert(self.root.clone());
        let mut writes = self.open_outputs(&mut places);
        self.cover_tasks(&mut places)?;
        places.holes.insert(real(&files.results())?);
        self.cover_settings(&mut places);
        self.open_programs(config, &mut places, &mut writes);
        let store = self.writer.workspace.reader.store();
        let hooks = store.and_then(|store| self.open_git(store, &mut places));
        let built = Fence::new(&self.root, |own| {
            let home = self.writer.caller.variables.get("HOME");
            let home = home.as_deref().map(Path::new);
            places.instead = own.instead();
            places.instead.retain(|path, _| home != Some(path));
            let mut hidden = places.instead.keys();
            if !hidden.any(|path| own.all().starts_with(path)) {
                places.covers.insert(own.all().to_owned());
            }
            places.holes.extend(own.further_temporary(&places.instead));
            self.need(config, &mut places);
            if let Some(hooks) = &hooks {
                self.show_hooks(hooks, own, &mut places)?;
            }
            Ok(places.access())
        });
        let fence = built.map_err(|source| io_error(&std::env::temp_dir(), source))?;
        Ok((fence, writes))
    }

    /// Makes the directories of outputs, because only what exists can be opened or covered.
    fn make_directories(&self) -> Result<(), Error> {
        let places = &self.places;
        let closed = places.closed.iter().filter(|path| {
            let mut outputs = places.outputs.iter();
            outputs.any(|hole| path.below(hole).is_some())
        });
        for path in places.outputs.iter().chain(&places.code).chain(closed) {
            let place = path.under(&self.root);
            Directory::make(&self.root, &place).map_err(|source| io_error(&place, source))?;
        }
        Ok(())
    }

    /// Opens the outputs and the code. Returns what that is, for people.
    fn open_outputs(&self, places: &mut FencePlaces) -> Vec<String> {
        let mut writes = Vec::new();
        for path in &self.places.code {
            places.holes.insert(path.under(&self.root));
            writes.push(if *path == RepoPath::root() {
                "the work tree outside of tasks".to_owned()
            } else {
                format!("{path}/")
            });
        }
        for path in &self.places.outputs {
            places.holes.insert(path.under(&self.root));
            writes.push(format!("{path}/"));
        }
        writes
    }

    /// Covers the records, the outputs of other phases and the other tasks.
    fn cover_tasks(&self, places: &mut FencePlaces) -> Result<(), Error> {
        let place = &self.sight.task.place;
        self.cover(place.directory(), places);
        if let Some(path) = place.file().and_then(|file| file.path()) {
            self.cover(&path, places);
        }
        for path in &self.places.closed {
            self.cover(path, places);
        }
        for path in &self.foreign {
            self.cover(path, places);
        }
        let mut reserves_all = true;
        for root in self.writer.workspace.settings().config.roots.iter() {
            let base = root.path.base();
            let rest = &root.path.as_str()[base.as_str().len()..];
            let is_reserved =
                root.path.is_of_files() || rest.chars().all(|sign| "*/".contains(sign));
            if is_reserved && *base != RepoPath::root() {
                self.cover(base, places);
            } else {
                reserves_all = false;
            }
        }
        if !reserves_all {
            for task in self.writer.workspace.finder().tasks()? {
                self.cover(task.place.directory(), places);
            }
        }
        Ok(())
    }

    /// Covers what `orch` and agent programs start programs by.
    fn cover_settings(&self, places: &mut FencePlaces) {
        for path in self.rules() {
            self.cover(&path, places);
        }
    }

    /// What `orch` and agent programs start programs by, and the rules.
    fn rules(&self) -> BTreeSet<RepoPath> {
        let known = super::program_settings::settings_places(&self.root);
        let own = [FILE.to_owned()].into_iter();
        let mut rules: BTreeSet<RepoPath> = own
            .chain(known)
            .filter_map(|path| RepoPath::new(path).ok())
            .collect();
        rules.insert(self.writer.workspace.settings().config.system.clone());
        rules
    }

    /// Covers a path of the repository, if it is there: that which it leads to, if it is a link.
    fn cover(&self, path: &RepoPath, places: &mut FencePlaces) {
        if *path == RepoPath::root() {
            return;
        }
        places.covers.extend(real_if_there(path.under(&self.root)));
    }

    /// Opens the directories of programs; those of the executor itself are made, because it could not make them.
    fn open_programs(
        &self,
        config: &ExecutorConfig,
        places: &mut FencePlaces,
        writes: &mut Vec<String>,
    ) {
        let caller = self.writer.caller;
        let further = &self.writer.workspace.settings().config.fence.writes;
        let variable = |name: &str| caller.variables.get(name);
        let is_relative = |path: &&String| !path.starts_with(['/', '~']);
        for path in further.iter().filter(is_relative) {
            let place = self.root.join(path);
            if let Err(error) = Directory::make(&self.root, &place) {
                tracing::warn!(path, %error, "cannot make a directory that may be written");
            }
        }
        let program = config.command.first().map(Path::new);
        let program = program.and_then(Path::file_name).unwrap_or_default();
        let programs = program_places(&variable, &program.to_string_lossy(), further, &self.root);
        if program == "opencode" {
            self.open_opencode(places);
        }
        for path in &programs.own {
            if let Err(error) = std::fs::create_dir_all(path) {
                tracing::warn!(path = %path.display(), %error, "cannot make a directory of a program");
            }
        }
        places
            .holes
            .extend(programs.holes.iter().filter_map(real_if_there));
        places
            .covers
            .extend(programs.covers.iter().filter_map(real_if_there));
        writes.extend(further.iter().cloned());
        let trusted = caller.state_home.as_ref();
        let trusted = trusted.and_then(|state| state.join("orch").canonicalize().ok());
        places.covers.extend(trusted);
    }

    /// Opens the directory in which opencode writes which files git ignores before it starts, and covers the directories in it.
    fn open_opencode(&self, places: &mut FencePlaces) {
        let directory = self.root.join(".opencode");
        let Ok(entries) = std::fs::read_dir(&directory) else {
            return;
        };
        if directory.canonicalize().ok().as_ref() != Some(&directory) {
            return;
        }
        for entry in entries.flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory && entry.file_name() != "node_modules" {
                places.covers.insert(entry.path());
            }
        }
        places.holes.insert(directory);
    }

    /// Keeps what the program needs, also below directories that something else takes the place of.
    fn need(&self, config: &ExecutorConfig, places: &mut FencePlaces) {
        let mut named: Vec<PathBuf> = Vec::new();
        for variable in NEEDED {
            let value = self.writer.caller.variables.get(variable);
            named.extend(value.iter().flat_map(std::env::split_paths));
        }
        // A program, or a script that it reads, may be named from the root of the repository.
        let words = config.command.iter().filter(|word| word.contains('/'));
        named.extend(words.map(|word| self.root.join(word)));
        named.push(PathBuf::from("/tmp/.X11-unix"));
        if let Some(store) = self.writer.workspace.reader.store() {
            named.extend(store.objects().object_directories().unwrap_or_default());
        }
        for path in named.into_iter().filter(|path| path.is_absolute()) {
            let Ok(found) = path.canonicalize() else {
                continue;
            };
            // There, what is named may need what lies beside it or above.
            let mut hidden = places.instead.keys();
            let first = hidden.find_map(|hidden| {
                let first = found.strip_prefix(hidden).ok()?.components().next()?;
                Some(hidden.join(first))
            });
            places.needed.extend(first);
        }
        // They keep what the system has: terminals and processes.
        for path in ["/proc", "/dev/pts", "/dev/mqueue"] {
            places.holes.extend(Path::new(path).canonicalize().ok());
        }
    }

    /// Opens the git directory for commits, if the work is code. Returns the directory of the hooks then.
    fn open_git(&self, store: &Store, places: &mut FencePlaces) -> Option<PathBuf> {
        let layout = store.layout();
        let own = layout.git_directory().canonicalize().ok()?;
        let common = layout.common_directory().canonicalize().ok()?;
        places.needed.extend([own.clone(), common.clone()]);
        if !self.places.is_code() {
            places.covers.extend([own, common]);
            return None;
        }
        // Git locks files beside those that it replaces, such as the packed references of all work trees.
        places.holes.extend([own.clone(), common.clone()]);
        let mut closed = Vec::new();
        for directory in [&own, &common] {
            closed.extend(CLOSED_IN_GIT.map(|name| directory.join(name)));
        }
        if own != common {
            closed.extend(CLOSED_ELSEWHERE.map(|name| common.join(name)));
        }
        if matches!(self.writer.workspace.reader.branch(), Ok(Some(_))) {
            closed.push(own.join("HEAD"));
        }
        let there = closed.into_iter().filter(|path| path.exists());
        places.covers.extend(there);
        let link = self.root.join(".git");
        let link = Some(link).filter(|link| link.is_file());
        places.covers.extend(link);
        let modules = store.settings().module_settings().into_iter();
        places.covers.extend(modules.filter(|path| path.exists()));
        let hooks = store.settings().hooks_directory();
        if hooks == common.join("hooks") {
            let _ = Directory::make(&common, &hooks);
        }
        let hooks = hooks.canonicalize().ok().filter(|path| path.is_dir())?;
        // Hooks that are shown in the work tree would be committed.
        if hooks.starts_with(&self.root) && !hooks.starts_with(&common) {
            places.covers.insert(hooks);
            return None;
        }
        Some(hooks)
    }

    /// Shows the hooks with those that keep the branch where it is.
    fn show_hooks(
        &self,
        hooks: &Path,
        own: &OwnPlaces<'_>,
        places: &mut FencePlaces,
    ) -> io::Result<()> {
        let reader = &self.writer.workspace.reader;
        let branch = reader.branch().ok().flatten();
        let branch = branch.map(|name| format!("refs/heads/{name}"));
        let head = reader.head().ok().flatten().map(|head| head.to_string());
        let source = HookSource {
            directory: hooks,
            branch: branch.as_deref(),
            head: head.as_deref(),
        };
        let shown = own.hooks()?;
        match fenced_hooks(&source, &shown) {
            Ok(()) => {
                places
                    .instead
                    .insert(hooks.to_owned(), Access::Shown(shown));
            }
            // Then they are as they are outside, and only HEAD is compared after the turn.
            Err(error) => {
                tracing::warn!(%error, "no hook of the fence refuses to switch branches");
                places.covers.insert(hooks.to_owned());
            }
        }
        Ok(())
    }
}

/// A path without links; `None` if nothing is there, as for most known places of programs, which one question shows.
fn real_if_there(path: impl AsRef<Path>) -> Option<PathBuf> {
    let path = path.as_ref();
    path.exists().then(|| path.canonicalize().ok())?
}

fn real(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|source| io_error(path, source))
}

/// What an agent is told about its fence.
pub(super) fn fence_words(fence: &TurnFence) -> String {
    let mut text = String::from(
        "\n## What you may write\n\nYou work inside a fence: everything is read-only, except for these places and the directory for temporary files (`TMPDIR`).\n\n",
    );
    let seen: BTreeSet<&String> = fence.writes.iter().collect();
    for place in seen {
        text += &format!("- {place}\n");
    }
    text += "\nThe system refuses a write anywhere else: the file system is read-only there, and a file that is covered cannot be replaced. Do not try to get round that, and say in your last message what you could not write. ";
    text += if fence.commits {
        "You may commit on this branch; you cannot switch it, rebase or pull. "
    } else {
        "You cannot commit here. "
    };
    text += "The run records the steps: `orch` reads here, and records nothing.\n";
    text
}

/// What became of the fences of a run.
#[derive(Debug, Default)]
pub(super) struct FencedTurns {
    /// What was said last.
    pub said: Option<FenceNews>,
    /// All that was said.
    told: BTreeSet<FenceNews>,
    /// The paths that were refused in the last turn, as far as its output says: the first [`MOST_COUNTED`].
    refused: Vec<String>,
    /// A line that says so and names no path.
    vague: Option<String>,
    /// The fence of this turn, or of the last one.
    pub last: Option<TurnFence>,
}

/// How many refused writes are named.
const MOST_NAMED: usize = 5;
/// How many refused writes are counted: a program may try any number of paths.
const MOST_COUNTED: usize = 1000;

impl FencedTurns {
    /// Begins a turn. Returns what has not been said yet.
    pub(super) fn begin(&mut self, fencing: &Fencing) -> Option<FenceNews> {
        self.refused.clear();
        self.vague = None;
        self.last = None;
        let news = match fencing {
            Fencing::Off => None,
            Fencing::None(why) => Some(FenceNews::None(why.clone())),
            Fencing::Fenced(fence) => Some(FenceNews::Up(fence.writes.clone())),
        };
        self.said = news.clone();
        news.filter(|news| self.told.insert(news.clone()))
    }

    /// Why the last turn had no fence; `None` if it had one, or nobody wants one.
    pub(super) fn unfenced(&self) -> Option<String> {
        match &self.said {
            Some(FenceNews::None(why)) => Some(why.clone()),
            Some(FenceNews::Up(_)) | None => None,
        }
    }

    /// Takes a line that a program inside has printed.
    pub(super) fn hear(&mut self, line: &str) {
        let Some(what) = refused_write(line) else {
            return;
        };
        if !what.is_path {
            self.vague.get_or_insert(what.text);
        } else if self.refused.len() < MOST_COUNTED && !self.refused.contains(&what.text) {
            self.refused.push(what.text);
        }
    }

    /// What was refused, as part of a sentence; `None` if nothing was.
    pub(super) fn refused(&self) -> Option<String> {
        if self.refused.is_empty() {
            let line = self.vague.as_ref()?;
            return Some(format!("the fence refused a write: {line}"));
        }
        let named = enumeration(&self.refused, MOST_NAMED);
        Some(format!("the fence refused to write {named}"))
    }

    /// Warns of files that a program inside a fence has made beside its outputs. Returns an error if one of them is an output of
    /// another phase, or lies at a later path of one of its own.
    pub(super) fn say_left(
        &self,
        (sight, root): (&Sight, &Path),
        work: &Work,
        report: &mut Reporter<'_>,
    ) -> Option<Error> {
        let fence = self.last.as_ref();
        let left = fence.map_or_else(Vec::new, |fence| fence.left(sight, root));
        let work = work.name();
        let is_made = |path: &&RepoPath| is_output(sight.workflow(), &sight.task.place, path);
        let made: Vec<&str> = left.iter().filter(is_made).map(RepoPath::as_str).collect();
        if !made.is_empty() {
            let message = format!("`{work}` made what is not its to make: {}", made.join(", "));
            let hint = Hint::from("look at it, and remove it before the task goes on: ")
                .command(&[&["rm"], &made[..]].concat());
            return Some(Error::new(Code::FenceLeft, message).with_hint(hint));
        }
        if left.is_empty() {
            return None;
        }
        let left: Vec<&str> = left.iter().map(RepoPath::as_str).collect();
        let left = left.join(", ");
        let message = format!("`{work}` made files that are no outputs of its phase: {left}");
        report(&Happened::Note(&Diagnostic::warning(
            Code::FenceLeft,
            message,
        )));
        None
    }

    /// Adds what the fence refused to what is said of a turn, and says it.
    pub(super) fn say_refused(&self, returned: &mut Returned, report: &mut Reporter<'_>) {
        let Some(refused) = self.refused() else {
            return;
        };
        report(&Happened::Note(&Diagnostic::note(
            Code::FenceRefused,
            refused.as_str(),
        )));
        returned.said = Some(match returned.said.take() {
            Some(said) => format!("{refused}; {said}"),
            None => refused,
        });
    }

    /// The error in place of an ending that says nothing of what was refused.
    pub(super) fn instead_of(&self, ending: Ending) -> Option<Error> {
        if ending != Ending::Stalled {
            return None;
        }
        let message = format!("the run came no further: {}", self.refused()?);
        let hint = Hint::from(
            "name it in `produces` or `touches` of the workflow, or in `writes` under [fence] of orch.toml",
        );
        Some(Error::new(Code::FenceRefused, message).with_hint(hint))
    }
}

/// The error for a mount that a process inside has lost.
pub(super) fn lost_cover(root: &Path, path: &Path) -> Error {
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    let message = format!(
        "{shown} was replaced from outside while the executor worked, so the fence no longer held and the turn was ended"
    );
    Error::new(Code::FenceBroken, message)
        .with_hint("leave the work tree of a run alone, or work in another one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_core::workflow::{Document, System, compile};

    #[test]
    fn only_codex_with_its_own_sandbox_fails_in_a_read_only_work_tree() {
        for (command, expected) in [
            ("codex exec --sandbox workspace-write -", true),
            ("/opt/bin/codex exec -", true),
            ("codex exec --sandbox danger-full-access -", false),
            ("codex exec -c sandbox_mode=danger-full-access -", false),
            ("claude -p", false),
            ("", false),
        ] {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            assert_eq!(sandbox_that_fails(&words).is_some(), expected, "{command}");
        }
    }

    #[test]
    fn an_output_beside_the_record_is_told_where_to_lie() {
        let text = "# w\n\n```toml orch\n[artifact.rfc]\npath = \"rfc.md\"\n[phase.draft]\nproduces = [\"rfc\"]\n```\n";
        let (workflow, _) = compile(&Document::new("w", "w.md", text), &System::empty());
        let workflow = workflow.expect("it compiles");
        let place = TaskPlace::of_directory(RepoPath::root());
        let phase = &workflow.phases[0];
        let Err(why @ Unfenceable::Beside(output)) = &turn_places(&workflow, phase, &place) else {
            panic!("it lies beside the record");
        };
        assert!(unfenceable(why, phase).contains("`rfc` lies directly"));
        assert!(
            elsewhere(&workflow, output)
                .contains("`path = \"rfc/rfc.md\"` in [artifact.rfc] of w.md")
        );
    }

    #[test]
    fn what_was_refused_is_said_in_place_of_a_stalled_run_alone() {
        let mut turns = FencedTurns::default();
        assert_eq!(turns.refused(), None);
        for line in ["sh: cannot create src/a: Read-only file system"; 2] {
            turns.hear(line);
        }
        turns.hear("all is well");
        assert_eq!(
            turns.refused().as_deref(),
            Some("the fence refused to write src/a")
        );
        let code = turns.instead_of(Ending::Stalled).map(|error| error.code());
        assert_eq!(code, Some(Code::FenceRefused));
        assert!(turns.instead_of(Ending::Completed).is_none());
        let none = Fencing::None("containers".to_owned());
        assert!(turns.begin(&none).is_some());
        assert_eq!(turns.begin(&none), None, "it is said once");
        assert!(turns.instead_of(Ending::Stalled).is_none());
    }

    #[test]
    fn five_refused_writes_are_named_and_the_others_counted() {
        let mut turns = FencedTurns::default();
        for _ in 0..2 {
            for nth in 1..=7 {
                turns.hear(&format!(
                    "sh: cannot create src/{nth}: Read-only file system"
                ));
            }
        }
        assert_eq!(
            turns.refused().as_deref(),
            Some("the fence refused to write src/1, src/2, src/3, src/4, src/5 and 2 more")
        );
    }
}
