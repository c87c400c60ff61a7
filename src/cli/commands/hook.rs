//! `orch hook`: installs, removes and shows the git hooks that check commits and pushes and name their task.

mod agent;
mod script;
mod slot;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
pub use agent::WritingTools;
use clap::Subcommand;
use orch_base::{Code, Diagnostic, Error, Hint, trailer};
use orch_engine::survey::{Workspace, without_repository};
use orch_git::{ConfiguredHook, Hooks, HooksLocation};
use orch_view::layout::one_line;
use orch_view::{ConfiguredHookLine, HookDone, HookLine, HookName, HookState, HooksAnswer};
use slot::{Slot, is_disturbed};
use std::path::{Path, PathBuf};

/// The subcommands of `orch hook`.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Install git hooks that check a commit or a push before it is made.
    ///
    /// An existing hook is kept and runs first. Running the command again updates the hooks to `[hook]` in
    /// orch.toml. Exits with 5 if git takes its hooks from a directory outside the repository, or from one that husky
    /// writes; then the hint names the line for husky's own hook.
    Install(InstallArgs),
    /// Remove the installed hooks and restore the previous ones.
    ///
    /// Leaves a hook alone that was edited or replaced since. Exits with 1 if it left one alone, and with 3
    /// if there is nothing to remove.
    Uninstall,
    /// Show which hooks are installed, and those that the configuration of git names.
    ///
    /// Exits with 0 if at least one is installed or configured and all are up to date, and with 1 otherwise.
    Status,
    /// Name the task of the branch in a commit message: the work of the prepare-commit-msg hook.
    ///
    /// Adds the trailer `Orch-Task: ID` if the branch name identifies an open task (`task_branch` in
    /// orch.toml; default: `task/ID`), and `Orch-Writer: NAME` if the environment has the mark of an agent
    /// program. Leaves the message alone if it has the trailer, and if git took it
    /// from another commit: a merge, a squash, an amended or reused message. For hook managers; `orch hook
    /// install --prepare-commit-msg` installs a hook that calls it. Always exits with 0, because a missing
    /// trailer is no reason to reject a commit; problems are reported on stderr.
    ///
    /// If the message is yet to be written in the editor, it stays as it is, so that git still aborts if nobody
    /// writes one. The commit-msg hook then adds the trailer: `orch hook commit-msg`.
    PrepareCommitMsg(MessageArgs),
    /// Name the task of the branch in a message that was written in the editor.
    ///
    /// Part of the commit-msg hook. Adds the trailer that `orch hook prepare-commit-msg` has left to it, unless the
    /// message is empty or as it was before the editor. Always exits with 0.
    CommitMsg(EditedArgs),
    /// The hooks of an agent's program: `orch init --agent` registers them.
    #[command(hide = true)]
    Agent(agent::AgentHookArgs),
}

/// The arguments that git passes to a commit-msg hook.
#[derive(Debug, Args)]
pub struct EditedArgs {
    /// The file with the commit message.
    file: PathBuf,
}

/// The arguments that git passes to a prepare-commit-msg hook.
#[derive(Debug, Args)]
pub struct MessageArgs {
    /// The file with the commit message.
    file: PathBuf,
    /// Where git took the message from.
    source: Option<String>,
    /// The commit whose message is reused; ignored.
    commit: Option<String>,
}

/// The hooks to install; the default is --pre-commit.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Check the staged files before each commit: `orch check --staged`. The default.
    #[arg(long)]
    pre_commit: bool,
    /// Check the staged files and the commit message: `orch check --staged --message FILE`.
    #[arg(long)]
    commit_msg: bool,
    /// Check the commits before each push: `orch check --stdin-refs`.
    #[arg(long)]
    pre_push: bool,
    /// Add the trailer `Orch-Task: ID` to the messages of commits on the branch of an open task, and
    /// `Orch-Writer: NAME` to those of agents.
    #[arg(long)]
    prepare_commit_msg: bool,
}

impl InstallArgs {
    /// The hooks to install. The hook that names tasks needs a commit-msg hook, which need not check anything.
    fn names(&self) -> Vec<HookName> {
        let chosen = [
            self.pre_commit,
            self.commit_msg,
            self.pre_push,
            self.prepare_commit_msg,
        ];
        let mut names: Vec<HookName> = HookName::ALL
            .into_iter()
            .zip(chosen)
            .filter_map(|(name, is_chosen)| is_chosen.then_some(name))
            .collect();
        if self.prepare_commit_msg && !self.commit_msg {
            names.push(HookName::CommitMsg);
        }
        if names.is_empty() {
            vec![HookName::PreCommit]
        } else {
            names
        }
    }
}

pub fn run(command: &HookCommand, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    match command {
        HookCommand::Install(args) => install(args, context, ui),
        HookCommand::Uninstall => uninstall(context, ui),
        HookCommand::Status => status(context, ui),
        HookCommand::PrepareCommitMsg(args) => Ok(named(prepare_message(args, context), ui)),
        HookCommand::CommitMsg(args) => Ok(named(complete_message(args, context), ui)),
        HookCommand::Agent(hook) => agent::run(hook, context, ui),
    }
}

/// Reports why a task could not be named, which is not a reason to reject a commit.
fn named(done: Result<(), Error>, ui: &Ui) -> ExitCode {
    if let Err(error) = done {
        ui.problem(&format!("cannot name the task in the message: {error}"));
    }
    ExitCode::Fine
}

/// Adds the trailer that names the task of the branch to a new message, or keeps the message if it is yet to be
/// written. Returns an error if the task or the file cannot be read, or git fails.
fn prepare_message(args: &MessageArgs, context: &Context) -> Result<(), Error> {
    let workspace = Workspace::open_to_look(&context.start, context.caller.environment.clone())?;
    let store = workspace.reader().repository_or_refuse()?;
    store.messages().forget_message();
    let source = args.source.as_deref();
    // git names no source for the message of a commit that it picks, reverts or rebases.
    if matches!(source, Some("merge" | "squash" | "commit")) || store.refs().operation()?.is_some()
    {
        return Ok(());
    }
    let trailers = trailers_of(&workspace, context)?;
    if trailers.is_empty() {
        return Ok(());
    }
    let file = context.start.join(&args.file);
    let is_final = context.caller.edits_no_message;
    if source == Some("message")
        && store
            .messages()
            .add_trailers_to_text(&file, &trailers, is_final)?
    {
        return Ok(());
    }
    store.messages().keep_message(&file)
}

/// Adds the trailer that names the task of the branch to a message that was written in the editor. Returns an error
/// as [`prepare_message`] does.
fn complete_message(args: &EditedArgs, context: &Context) -> Result<(), Error> {
    let workspace = Workspace::open_to_look(&context.start, context.caller.environment.clone())?;
    let store = workspace.reader().repository_or_refuse()?;
    let file = context.start.join(&args.file);
    let is_edited = store.messages().is_edited(&file);
    store.messages().forget_message();
    let trailers = trailers_of(&workspace, context)?;
    match is_edited {
        Ok(true) if !trailers.is_empty() => store.messages().add_trailers(&file, &trailers),
        other => other.map(drop),
    }
}

/// What a new commit says: the task of the branch, and the agent that makes it, if the environment marks one. Returns an
/// error if the task cannot be read.
fn trailers_of(workspace: &Workspace, context: &Context) -> Result<Vec<String>, Error> {
    let task = workspace
        .finder()
        .open_task_of_branch()?
        .map(|task| trailer::names_task(&task.id));
    let agent = context.caller.marked_agent().map(trailer::names_writer);
    Ok(task.into_iter().chain(agent).collect())
}

/// Whether husky (9) writes a directory of hooks: each of them runs `h`, which runs the hook of the same name above.
fn is_of_husky(directory: &Path) -> bool {
    directory.file_name().is_some_and(|name| name == "_") && directory.join("h").is_file()
}

/// The command that a hook of somebody else runs for `orch`.
fn line_of(name: HookName, checks_message: bool) -> &'static str {
    match name {
        HookName::PreCommit => "orch check --staged",
        HookName::CommitMsg if checks_message => {
            "orch hook commit-msg \"$1\" && orch check --staged --message \"$1\""
        }
        HookName::CommitMsg => "orch hook commit-msg \"$1\"",
        HookName::PrePush => "orch check --stdin-refs",
        HookName::PrepareCommitMsg => "orch hook prepare-commit-msg \"$@\"",
    }
}

/// The command that gives a repository hooks of its own. What a work tree says for itself counts more than what the
/// repository says.
fn own_hooks(hooks: &Hooks) -> [&'static str; 5] {
    let scope = if hooks.is_of_work_tree {
        "--worktree"
    } else {
        "--local"
    };
    ["git", "config", scope, "core.hooksPath", ".githooks"]
}

fn install(args: &InstallArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let hooks = hooks(&workspace)?;
    let directory = hooks.directory.display();
    if hooks.location == HooksLocation::Outside {
        let real = hooks
            .directory
            .canonicalize()
            .unwrap_or_else(|_| hooks.directory.clone());
        let directory = real.display();
        let message = format!(
            "git takes hooks from {directory}, which is outside this repository and may serve others"
        );
        return Err(Failure::new(Code::HooksShared, message).hint(
            Hint::from("give this repository its own hooks: ")
                .command(&own_hooks(&hooks))
                .text("; or call `orch check --staged` from the shared hook"),
        ));
    }
    if is_of_husky(&hooks.directory) {
        let lines = args.names().into_iter().map(|name| {
            let file = hooks.directory.with_file_name(name.as_str());
            format!(
                "`{}` into {}",
                line_of(name, args.commit_msg),
                file.display()
            )
        });
        let is_ours = HookName::ALL
            .into_iter()
            .any(|name| slot::checks(&hooks.directory, name).unwrap_or_default());
        let first = if is_ours {
            Hint::run(&["orch", "hook", "uninstall"]).text("; then ")
        } else {
            Hint::default()
        };
        let hint = first.text(format!("put {}", lines.collect::<Vec<_>>().join(", and ")));
        let message = format!(
            "husky manages and rewrites {directory}, and its hooks run nothing under another name"
        );
        return Err(Failure::new(Code::HooksManaged, message).hint(hint));
    }
    let slots = slots(&workspace, &hooks, &args.names(), args.commit_msg)?;
    // All or nothing: if one hook cannot be installed, none is.
    slots.iter().try_for_each(Slot::require_free)?;
    std::fs::create_dir_all(&hooks.directory)
        .map_err(|error| Failure::new(Code::Io, format!("{directory}: {error}")))?;
    let mut rows = Vec::new();
    for slot in &slots {
        rows.push(Row::of(slot, &workspace, Some(slot.install()?))?);
    }
    answer(&workspace, &hooks, &rows, true, context, ui)?;
    if hooks.location == HooksLocation::WorkTree {
        ui.status(&format!(
            "note: {} is in the work tree: it may be under version control or rewritten by a hook manager; \
             the hook contains the path of orch on this machine",
            shown(&workspace, &hooks.directory)
        ));
    }
    Ok(ExitCode::Fine)
}

fn uninstall(context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = Workspace::open(&context.start, context.caller.environment.clone())?;
    let hooks = hooks(&workspace)?;
    let mut rows = Vec::new();
    for slot in slots(&workspace, &hooks, &HookName::ALL, false)? {
        let did = slot.uninstall()?;
        rows.push(Row::of(&slot, &workspace, did)?);
    }
    if rows.iter().all(|row| row.before.is_none()) {
        slot::clear(&hooks.directory)?;
    }
    answer(&workspace, &hooks, &rows, true, context, ui)?;
    let did = |wanted: HookDone| rows.iter().any(|row| row.did == Some(wanted));
    Ok(if did(HookDone::Left) {
        ExitCode::No
    } else if did(HookDone::Removed) || did(HookDone::Restored) {
        ExitCode::Fine
    } else {
        ExitCode::Nothing
    })
}

fn status(context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = Workspace::open(&context.start, context.caller.environment.clone())?;
    let hooks = hooks(&workspace)?;
    let slots = slots(&workspace, &hooks, &HookName::ALL, false)?;
    let rows = slots
        .iter()
        .map(|slot| Row::of(slot, &workspace, None))
        .collect::<Result<Vec<_>, _>>()?;
    answer(&workspace, &hooks, &rows, false, context, ui)?;
    let any = |wanted: fn(HookState) -> bool| rows.iter().any(|row| wanted(row.state));
    let is_fine = (any(|state| state == HookState::Installed)
        || hooks
            .configured
            .iter()
            .any(|hook| is_ours(hook) && runs(hook, &hooks)))
        && !any(|state| state == HookState::Outdated || is_disturbed(state));
    Ok(if is_fine {
        ExitCode::Fine
    } else {
        ExitCode::No
    })
}

/// What is wrong with the hooks, for `orch doctor`, and what there is, in words.
pub(super) fn examined(workspace: &Workspace) -> Result<(String, Vec<Diagnostic>), Failure> {
    let hooks = hooks(workspace)?;
    let slots = slots(workspace, &hooks, &HookName::ALL, false)?;
    let rows = slots
        .iter()
        .map(|slot| Row::of(slot, workspace, None))
        .collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    if hooks.location == HooksLocation::Outside {
        let message = format!(
            "git takes hooks from {}, outside this repository, so those of orch may be bypassed",
            hooks.directory.display()
        );
        let hint = Hint::run(&own_hooks(&hooks)).then(&["orch", "hook", "install"]);
        found.push(Diagnostic::warning(Code::HooksShared, message).hint(hint));
        return Ok(("not those of this repository".to_owned(), found));
    }
    if hooks.is_missing {
        let message = format!(
            "git takes hooks from {}, which is not there: no hook runs in this work tree, and git does not say so",
            hooks.directory.display()
        );
        let hint = Hint::run(&["orch", "help", "hooks-missing"]);
        found.push(Diagnostic::warning(Code::HooksMissing, message).hint(hint));
    }
    for row in &rows {
        let name = row.name.as_str();
        let words = || format!("the {name} hook: {}", row.words());
        let outdated = || format!("the {name} hook is out of date, or not executable");
        let (code, message, [name, argument]) = match row.state {
            HookState::Outdated => (Code::HookOutdated, outdated(), ["doctor", "--fix"]),
            HookState::Edited => (Code::HookEdited, words(), ["help", "hook-edited"]),
            HookState::Replaced => (Code::HookReplaced, words(), ["help", "hook-replaced"]),
            HookState::Absent | HookState::Installed | HookState::Other => continue,
        };
        let hint = Hint::run(&["orch", name, argument]);
        found.push(Diagnostic::warning(code, message).hint(hint));
    }
    let ours = rows
        .iter()
        .filter(|row| matches!(row.state, HookState::Installed | HookState::Outdated));
    let mut ours: Vec<String> = ours.map(|row| row.name.as_str().to_owned()).collect();
    let configured = hooks.configured.iter().filter(|hook| is_ours(hook));
    let runs = configured.clone().filter(|hook| runs(hook, &hooks));
    ours.extend(runs.map(|hook| format!("{} (hook.{})", hook.event, hook.name)));
    if found.is_empty() && ours.is_empty() {
        let idle = configured.map(|hook| format!("; {}", configured_words(hook, &hooks)));
        let message = format!(
            "no hook of orch checks what is committed{}",
            idle.collect::<String>()
        );
        found.push(
            Diagnostic::note(Code::HooksAbsent, message)
                .hint(Hint::run(&["orch", "hook", "install"])),
        );
    }
    Ok((
        if ours.is_empty() {
            "none of orch".to_owned()
        } else {
            ours.join(", ")
        },
        found,
    ))
}

/// Whether a hook of the configuration calls `orch`.
fn is_ours(hook: &ConfiguredHook) -> bool {
    let mut words = hook.command.split_whitespace();
    words.any(|word| Path::new(word).file_name() == Some("orch".as_ref()))
}

/// Whether git runs a hook of the configuration.
fn runs(hook: &ConfiguredHook, hooks: &Hooks) -> bool {
    hook.is_enabled && hooks.runs_configured
}

fn configured_words(hook: &ConfiguredHook, hooks: &Hooks) -> String {
    let words = format!("hook.{}.command = {}", hook.name, hook.command);
    let why_not = if !hook.is_enabled {
        "; switched off"
    } else if !hooks.runs_configured {
        "; only git 2.54 and newer runs it"
    } else {
        ""
    };
    format!("{}{why_not}", one_line(&words))
}

/// Updates the hooks that are out of date. Returns the names of those.
pub(super) fn update(workspace: &Workspace) -> Result<Vec<&'static str>, Failure> {
    let hooks = hooks(workspace)?;
    let mut updated = Vec::new();
    if hooks.location == HooksLocation::Outside {
        return Ok(updated);
    }
    for slot in slots(workspace, &hooks, &HookName::ALL, false)? {
        if slot.state()? == HookState::Outdated {
            slot.install()?;
            updated.push(slot.name.as_str());
        }
    }
    Ok(updated)
}

fn hooks(workspace: &Workspace) -> Result<Hooks, Failure> {
    let store = workspace.reader().store().ok_or_else(|| {
        Failure::new(Code::NoRepository, "not a git repository")
            .hint(without_repository(workspace.reader().root()))
    })?;
    store.settings().hooks().map_err(Failure::from)
}

/// The slots of these hooks, each with the text that would be installed now. The commit-msg hook checks if `checks`
/// says so, or if the installed one does.
fn slots(
    workspace: &Workspace,
    hooks: &Hooks,
    names: &[HookName],
    checks: bool,
) -> Result<Vec<Slot>, Failure> {
    let orch = std::env::current_exe()?;
    let slot = |name: &HookName| {
        let checks =
            checks || *name != HookName::CommitMsg || slot::checks(&hooks.directory, *name)?;
        let text = script::text(
            *name,
            workspace.settings().config().hook,
            (&orch.to_string_lossy(), checks),
        );
        Ok(Slot::new(&hooks.directory, *name, text))
    };
    names.iter().map(slot).collect()
}

/// The current state of a hook, and what was done to it.
struct Row {
    name: HookName,
    state: HookState,
    /// The previous hook, which is kept.
    before: Option<String>,
    /// Whether git, and so our hook, would run it.
    is_executable: bool,
    did: Option<HookDone>,
}

impl Row {
    fn of(slot: &Slot, workspace: &Workspace, did: Option<HookDone>) -> Result<Self, Failure> {
        let before = slot.before()?;
        Ok(Self {
            name: slot.name,
            state: slot.state()?,
            before: before.map(|path| shown(workspace, path)),
            is_executable: before.is_some_and(slot::is_executable),
            did,
        })
    }

    fn words(&self) -> String {
        let words = match (self.did, self.state) {
            (Some(HookDone::Removed), _) => "removed",
            (Some(HookDone::Restored), _) => "removed; the previous hook is restored",
            (_, HookState::Edited) => "edited since orch installed it; left alone",
            (_, HookState::Replaced) => {
                "replaced by another hook since orch installed it; left alone"
            }
            (_, HookState::Other) => "another hook, not installed by orch",
            (_, HookState::Absent) => "not installed",
            (_, HookState::Outdated) => "installed, but out of date: orch hook install",
            (Some(HookDone::Updated), HookState::Installed) => "updated",
            (Some(HookDone::Unchanged), HookState::Installed) => "unchanged",
            (_, HookState::Installed) => "installed",
        };
        let is_ours = matches!(self.state, HookState::Installed | HookState::Outdated);
        match &self.before {
            Some(before) if is_ours && self.is_executable => {
                format!("{words}; {before} runs first")
            }
            Some(before) if is_ours => format!("{words}; {before} is kept, but not executable"),
            _ => words.to_owned(),
        }
    }
}

/// A path, relative to the root of the repository if it is inside.
fn shown(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.reader().root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Prints the hooks. A report says what was done, and with `--quiet` only what was left alone.
fn answer(
    workspace: &Workspace,
    hooks: &Hooks,
    rows: &[Row],
    is_report: bool,
    context: &Context,
    ui: &Ui,
) -> Result<(), Failure> {
    if context.global.json {
        let location = match hooks.location {
            HooksLocation::Git => "git",
            HooksLocation::WorkTree => "work-tree",
            HooksLocation::Outside => "outside",
        };
        let line = |row: &Row| HookLine {
            hook: row.name,
            state: row.state,
            chained: row.before.is_some(),
            did: row.did,
        };
        let hooks_shown = rows.iter().map(line).collect();
        let configured = hooks.configured.iter().map(|hook| ConfiguredHookLine {
            name: hook.name.clone(),
            hook: hook.event.clone(),
            command: hook.command.clone(),
            runs: runs(hook, hooks),
        });
        let answer = HooksAnswer {
            directory: shown(workspace, &hooks.directory),
            location,
            hooks: hooks_shown,
            configured: configured.collect(),
        };
        ui.document(&answer)?;
        return Ok(());
    }
    let mut lines = Vec::new();
    for row in rows {
        let is_done = is_report && row.did != Some(HookDone::Left);
        lines.push((row.name.as_str().to_owned(), row.words(), is_done));
    }
    for hook in &hooks.configured {
        let words = configured_words(hook, hooks);
        lines.push((one_line(&hook.event), words, is_report));
    }
    let wide = lines.iter().map(|(name, ..)| name.len()).max();
    let wide = wide.unwrap_or_default();
    for (name, words, is_done) in lines {
        let line = format!("{name:wide$}  {words}\n");
        if is_done {
            ui.done(&line)?;
        } else {
            ui.answer(&line)?;
        }
    }
    ui.status(&format!("in {}", shown(workspace, &hooks.directory)));
    Ok(())
}
