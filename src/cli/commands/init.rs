//! `orch init`: sets up a repository and lists the files it created.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::apply::DRIVER;
use crate::base::{Code, Diagnostic, WorkflowName, shell_word};
use crate::config;
use crate::scan::{Directory, open_linked};
use crate::store::durable::{parent, write_atomic};
use crate::survey::Workspace;
use crate::view::InitAnswer;
use crate::workflow::Workflow;
use std::path::Path;

/// Set up a repository for orch.
///
/// Writes `orch.toml`, a directory for tasks with its `.gitignore` and `.gitattributes`, the workflow with
/// its schemas and agent instructions under `system/`, and a section for agents in `AGENTS.md`.
///
/// Existing files are kept, so running `orch init` again is safe. Nothing is committed: the output ends with
/// the `git add` and `git commit` to run.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// The workflow of the tasks; default: `global-state-machine`. The tasks of `openspec`, `spec-kit` and
    /// `backlog` live where the tools of these names keep them.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Do not write `system/`; use the workflow, schemas and agent instructions built into the binary.
    #[arg(long)]
    no_system: bool,
    /// Do not write to `AGENTS.md`.
    #[arg(long)]
    no_agents_md: bool,
    /// Also register orch as the merge driver for task records, in this clone's git configuration.
    #[arg(long)]
    merge_driver: bool,
    /// Also define `git log-code` in this clone's git configuration: the log without the commits of orch.
    #[arg(long)]
    log_alias: bool,
}

/// The alias that `--log-alias` defines. A commit of code may name its task, but only a transition has a kind.
const LOG_ALIAS: (&str, &str) = ("log-code", "log --invert-grep --grep=^Orch-Kind:");

const BLOCK_START: &str = "<!-- orch:begin -->";
const BLOCK_END: &str = "<!-- orch:end -->";

pub fn run(args: &InitArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut workspace = context.workspace(ui)?;
    let mut made = Made { root: workspace.root().to_owned(), paths: Vec::new() };
    match &args.workflow {
        None => made.file(config::FILE, config::template())?,
        Some(name) => {
            let name = chosen(&workspace, name)?;
            made.file(config::FILE, &config::template_for(&name))?;
            workspace = context.workspace(ui)?;
            has_root_for(&workspace, &name)?;
        }
    }
    let bases: Vec<String> = workspace.config().roots.bases().map(ToString::to_string).collect();
    for base in &bases {
        made.file(&join(base, ".gitignore"), IGNORED)?;
        let block = format!("{ATTRIBUTES_START}\n{ATTRIBUTES}{ATTRIBUTES_END}\n");
        made.block(&join(base, ".gitattributes"), &block, ATTRIBUTES_START, ATTRIBUTES_END)?;
    }
    if !args.no_system {
        write_system(&workspace, &mut made)?;
    }
    if !args.no_agents_md {
        let block = format!("{BLOCK_START}\n{}{BLOCK_END}\n", include_str!("agents_block.md"));
        made.block("AGENTS.md", &block, BLOCK_START, BLOCK_END)?;
    }
    let driver = merge_driver(args, &workspace)?;
    if args.log_alias {
        log_alias(&workspace)?;
    }
    if context.global.json {
        ui.document(&InitAnswer { made: made.paths.clone() })?;
    } else if made.paths.is_empty() {
        ui.answer("Everything is already set up.\n")?;
    } else {
        for path in &made.paths {
            ui.answer(&format!("created {path}\n"))?;
        }
    }
    if !made.paths.is_empty() {
        let paths = if args.no_system { "" } else { " system" };
        let agents = if args.no_agents_md { "" } else { " AGENTS.md" };
        let bases = bases.iter().map(|base| shell_word(base)).collect::<Vec<_>>().join(" ");
        ui.status(&format!("next: git add orch.toml {bases}{paths}{agents} && git commit -m 'Set up orch'"));
        // The name of a file can need a title.
        let has_title =
            args.workflow.is_some() && workspace.config().roots.iter().any(|root| root.path.has_title());
        let title = if has_title { " --title 'My first task'" } else { "" };
        ui.status(&format!("then: orch new my-first-task{title}"));
    }
    if !driver {
        ui.status("to merge task records without conflicts, run in each clone: orch init --merge-driver");
    }
    Ok(ExitCode::Fine)
}

/// The workflow that was chosen. Returns an error if there is none with this name, or it has errors.
fn chosen(workspace: &Workspace, name: &str) -> Result<WorkflowName, Failure> {
    let loaded = workspace.workflow(name)?;
    let workflow = loaded.workflow().ok_or_else(|| {
        Failure::new(Code::WorkflowFaulty, format!("workflow `{name}` has errors"))
            .hint(format!("orch workflow check {}", shell_word(name)))
    })?;
    Ok(workflow.name.clone())
}

/// Returns an error if the settings, which may have stood before, have no root for a workflow.
fn has_root_for(workspace: &Workspace, name: &WorkflowName) -> Result<(), Failure> {
    if workspace.config().roots.iter().any(|root| root.workflow == *name) {
        return Ok(());
    }
    let message = format!("{} is there already and has no root for the workflow `{name}`", config::FILE);
    let hint = format!("add a [[root]] with a path and workflow = \"{name}\", then: orch init");
    Err(Failure::new(Code::Usage, message).hint(hint))
}

/// The files of a task that git ignores: derived and temporary ones.
const IGNORED: &str = "# Derived by orch, rewritten at will.\nsuggestion.json\nstate.json.broken*\ntranscript.jsonl.broken*\nstate.json.original*\ntranscript.jsonl.original*\n.orch-tmp*\n";

/// How git merges the files of orch: the log as the union of both sides, the state by orch's driver. A clone
/// without `orch init --merge-driver` does not know that driver and merges the state as text.
const ATTRIBUTES: &str = "state.json merge=orch\ntranscript.jsonl merge=union\n";
const ATTRIBUTES_START: &str = "# orch:begin";
const ATTRIBUTES_END: &str = "# orch:end";

struct Made {
    root: std::path::PathBuf,
    paths: Vec<String>,
}

impl Made {
    /// Writes a file unless the path exists. Returns an error if it cannot be written.
    fn file(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        if self.root.join(path).symlink_metadata().is_ok() {
            return Ok(());
        }
        self.write(path, text)
    }

    /// Puts a block between two markers into a file, or updates the existing block. Returns an error if the
    /// file cannot be read or written.
    fn block(&mut self, path: &str, block: &str, start: &str, end: &str) -> Result<(), Failure> {
        let before = match open_linked(&self.root.join(path)) {
            Ok(Some(file)) => {
                std::io::read_to_string(file).map_err(|error| cannot_write(path, &error.to_string()))?
            }
            Ok(None) => return Err(cannot_write(path, "it is not a regular file")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(cannot_write(path, &error.to_string())),
        };
        let after = match (before.find(start), before.find(end)) {
            (Some(from), Some(to)) if from < to => {
                let to = to + end.len();
                let rest = before[to..].strip_prefix('\n').unwrap_or(&before[to..]);
                format!("{}{block}{rest}", &before[..from])
            }
            _ if before.is_empty() => block.to_owned(),
            _ => format!("{}\n\n{block}", before.trim_end()),
        };
        if after == before { Ok(()) } else { self.write(path, &after) }
    }

    /// Writes a file and the directories above it. Returns an error if one of these is a link, or on failure.
    fn write(&mut self, path: &str, text: &str) -> Result<(), Failure> {
        let target = self.root.join(path);
        let above: Vec<&Path> = Path::new(path).ancestors().skip(1).collect();
        let is_link = |directory: &&&Path| self.root.join(directory).is_symlink();
        if let Some(link) = above.iter().rev().skip(1).find(is_link) {
            let message =
                format!("{} is a symbolic link, which may lead out of the repository", link.display());
            return Err(Failure::from(Diagnostic::error(Code::Symlink, message))
                .hint("put the directory itself there"));
        }
        Directory::make(&self.root, parent(&target))
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        write_atomic(&self.root, &target, text.as_bytes())
            .map_err(|error| cannot_write(path, &error.to_string()))?;
        self.paths.push(path.to_owned());
        Ok(())
    }
}

fn cannot_write(path: &str, error: &str) -> Failure {
    Failure::new(Code::Io, format!("cannot write {path}: {error}"))
}

fn join(base: &str, name: &str) -> String {
    if base.is_empty() { name.to_owned() } else { format!("{base}/{name}") }
}

/// Writes the workflow of every root, with the schemas and agent instructions it refers to.
fn write_system(workspace: &Workspace, made: &mut Made) -> Result<(), Failure> {
    let directory = workspace.config().system.to_string();
    let mut names: Vec<String> =
        workspace.config().roots.iter().map(|root| root.workflow.to_string()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let loaded = workspace.workflow(&name).map_err(Failure::from)?;
        let workflow = loaded.workflow().ok_or_else(|| {
            Failure::from(Diagnostic::error(Code::WorkflowFaulty, format!("workflow `{name}` has errors")))
                .hint(format!("orch workflow check {}", shell_word(&name)))
        })?;
        for path in texts_of(workflow) {
            if let Some(text) = workspace.system().text(&path) {
                made.file(&join(&directory, &path), text)?;
            }
        }
    }
    Ok(())
}

/// The paths below `system/` that a workflow refers to.
fn texts_of(workflow: &Workflow) -> Vec<String> {
    let mut paths = vec![format!("workflows/{}.md", workflow.name)];
    let schemas = workflow
        .artifacts
        .iter()
        .filter_map(|artifact| artifact.schema.as_ref())
        .chain(&workflow.state.schema);
    paths.extend(schemas.map(|schema| format!("schemas/{}.schema.json", schema.name)));
    let agents = workflow.phases.iter().filter_map(|phase| phase.agent.as_ref());
    let prompts = workflow.actions.iter().filter_map(|action| action.prompt.as_ref());
    paths.extend(agents.chain(prompts).map(|agent| format!("agents/{agent}.md")));
    paths.push("schemas/state.schema.json".to_owned());
    paths.sort();
    paths.dedup();
    paths
}

/// Defines the alias. Returns an error if there is no repository, or the alias has another meaning.
fn log_alias(workspace: &Workspace) -> Result<(), Failure> {
    let (name, meaning) = LOG_ALIAS;
    if workspace.repository_or_refuse()?.set_alias(name, meaning)? {
        return Ok(());
    }
    let hint = format!("choose another name: git config alias.NAME '{meaning}'");
    Err(Failure::new(Code::AliasTaken, format!("the git alias `{name}` has another meaning here")).hint(hint))
}

/// Registers this program as the merge driver for task states if asked to. Returns whether one is registered
/// now.
///
/// Git itself merges transcripts, as a union of lines.
fn merge_driver(args: &InitArgs, workspace: &Workspace) -> Result<bool, Failure> {
    let Some(store) = workspace.store() else { return Ok(true) };
    if args.merge_driver {
        let orch = std::env::current_exe()?.to_string_lossy().replace('\'', r"'\''");
        // Git passes the command to the shell, after replacing `%O` and the like with file names.
        let command = format!("'{}' merge-driver %O %A %B %P", orch.replace('%', "%%"));
        store.set_merge_driver(DRIVER, &command)?;
    }
    Ok(store.has_merge_driver(DRIVER))
}
