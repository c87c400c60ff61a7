//! `orch init`: sets up a repository and lists the files it created.

mod agents;
mod clash;
mod commit_hint;
mod files;
mod formatters;
mod programs;
mod seal;
mod section;
mod splice;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use commit_hint::commit_command;
use files::{SetupFiles, SetupOutcome};
use orch_base::{Code, Diagnostic, Hint, WorkflowName};
use orch_core::config::{self, USUAL_PLACES, UsualPlace};
use orch_core::workflow::Workflow;
use orch_engine::apply::DRIVER;
use orch_engine::survey::Workspace;
use orch_git::{Store, durable};
use orch_view::{Finding, InitAnswer};
pub use programs::{AgentProgram, is_guarded};
use section::{CommentStyle, TextSection};
use std::collections::BTreeSet;

/// Set up a repository for orch.
///
/// Writes `orch.toml`, a directory for tasks with its `.gitignore` and `.gitattributes`, the workflow with
/// its schemas and agent instructions under `system/`, and a section for agents in `AGENTS.md`. Where Prettier is
/// used, also a section in `.prettierignore`.
///
/// Existing files are kept, so running `orch init` again is safe. Nothing is committed: the output ends with
/// the `git add` and `git commit` to run.
///
/// With `--agent`, also writes what an agent's program reads in a project: the instructions, a command `/next`, the
/// registration of `orch mcp`, hooks where the program has them, and a status line for Claude Code. If the repository already has an
/// `orch.toml`, it writes only that, unless `--workflow` is given. Existing files keep their other contents, layout
/// and comments. A part that cannot be written safely, or that was edited since, is left alone, and the command says
/// what to do by hand and exits with 1.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// The workflow of the tasks; default: `global-state-machine`. The tasks of `openspec`, `spec-kit` and
    /// `backlog` live where the tools of these names keep them. Where these tools are in use, their roots are proposed
    /// in `orch.toml`.
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
    /// Write what this agent's program reads; repeat for several. Without NAME: each program whose files are in the
    /// repository.
    #[arg(long = "agent", value_name = "NAME", num_args = 0..=1, default_missing_value = "detected")]
    agents: Vec<AgentProgram>,
    /// With --agent: remove what orch wrote for these programs, and nothing else.
    #[arg(long, requires = "agents", conflicts_with_all = ["workflow", "merge_driver", "log_alias"])]
    remove: bool,
}

/// The alias that `--log-alias` defines. A commit of code may name its task, but only a transition has a kind.
const LOG_ALIAS: (&str, &str) = ("log-code", "log --invert-grep --grep=^Orch-Kind:");

/// The standing instructions for agents.
const INSTRUCTIONS: &str = include_str!("agents_block.md");

pub fn run(args: &InitArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let mut files = SetupFiles::new(workspace.reader().root());
    let known = known_directories(&workspace);
    files.own_directories.clone_from(&known);
    let programs = agents::chosen(&args.agents, workspace.reader().root())?;
    let is_set_up = files.has(config::FILE) && args.workflow.is_none();
    let setup = if programs.is_empty() || !(args.remove || is_set_up) {
        Some(set_up(args, workspace, &mut files, context, ui)?)
    } else {
        configure_clone(args, &workspace)?;
        None
    };
    for program in programs {
        if args.remove {
            agents::remove(program, &mut files)?
        } else {
            agents::install(program, &mut files)?
        }
    }
    if !args.remove {
        agents::import_shared(&mut files)?;
    }
    let workspace = context.bare_workspace()?;
    if files.own_directories != known {
        keep_directories(&workspace, &files)?;
    }
    report(&files, args, setup.as_ref(), (&workspace, context), ui)?;
    let is_refused = files.findings.iter().any(Diagnostic::is_error);
    Ok(if is_refused {
        ExitCode::No
    } else {
        ExitCode::Fine
    })
}

/// The list of the directories that this command made in this work tree. Git knows no empty directories, so nothing else
/// tells them from those that were there before.
const DIRECTORIES: &str = "made-directories.json";

fn known_directories(workspace: &Workspace) -> BTreeSet<String> {
    let text = workspace
        .reader()
        .store()
        .and_then(|store| durable::text_of(&store.layout().own(DIRECTORIES)).ok());
    text.and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Returns an error if the list cannot be written.
fn keep_directories(workspace: &Workspace, files: &SetupFiles) -> Result<(), Failure> {
    let Some(store) = workspace.reader().store() else {
        return Ok(());
    };
    let text = serde_json::to_string(&files.own_directories).unwrap_or_default();
    Ok(store.layout().keep_private(DIRECTORIES, text.as_bytes())?)
}

/// What is said after the repository was set up.
struct SetupHints {
    /// What the first task needs besides its id.
    title: &'static str,
    /// Whether this clone has the merge driver.
    has_driver: bool,
}

/// Writes what every repository needs. Returns an error if a file cannot be written or the settings are wrong.
fn set_up(
    args: &InitArgs,
    mut workspace: Workspace,
    made: &mut SetupFiles,
    context: &Context,
    ui: &Ui,
) -> Result<SetupHints, Failure> {
    let found: Vec<UsualPlace> = USUAL_PLACES
        .into_iter()
        .filter(|place| made.has(place.directory))
        .collect();
    let project = made.project();
    match &args.workflow {
        None => {
            let text = config::with_proposals(config::template(), &found);
            made.file(config::FILE, &config::with_verifications(&text, &project))?;
        }
        Some(name) => {
            let name = chosen(&workspace, name)?;
            let text = config::template_for(&name, &found);
            made.file(config::FILE, &config::with_verifications(&text, &project))?;
            workspace = context.workspace(ui)?;
            has_root_for(&workspace, &name)?;
        }
    }
    propose_roots(&workspace, &found, made);
    let bases: Vec<String> = workspace
        .settings()
        .config()
        .roots
        .bases()
        .map(ToString::to_string)
        .collect();
    for base in &bases {
        made.file(&join(base, ".gitignore"), IGNORED)?;
        let section = TextSection {
            style: CommentStyle::Hash,
            text: ATTRIBUTES,
            who: None,
        };
        made.section(&join(base, ".gitattributes"), &section)?;
    }
    formatters::except_records(&bases, made)?;
    if !args.no_system {
        write_system(&workspace, made)?;
    }
    if !args.no_agents_md {
        agents::instruct("AGENTS.md", "init", made)?;
    }
    let has_driver = configure_clone(args, &workspace)?;
    // The name of a file can need a title.
    let has_title = args.workflow.is_some()
        && workspace
            .settings()
            .config()
            .roots
            .iter()
            .any(|root| root.path.has_title());
    Ok(SetupHints {
        title: if has_title {
            " --title 'My first task'"
        } else {
            ""
        },
        has_driver,
    })
}

/// Notes the places of other tools' tasks that no root names.
fn propose_roots(workspace: &Workspace, found: &[UsualPlace], made: &mut SetupFiles) {
    let roots = &workspace.settings().config().roots;
    for place in found {
        let is_root = roots.iter().any(|root| {
            root.path.to_string() == place.path || root.workflow.as_str() == place.workflow
        });
        if is_root {
            continue;
        }
        let message = format!(
            "{}/ is here, and no root of {} names its tasks",
            place.directory,
            config::FILE
        );
        let hint = format!("to have them in orch too, add: {}", place.root().join("; "));
        made.findings
            .push(Diagnostic::note(Code::RootProposed, message).hint(hint));
    }
}

/// Changes the git configuration of this clone as far as asked to. Returns whether it has the merge driver now.
fn configure_clone(args: &InitArgs, workspace: &Workspace) -> Result<bool, Failure> {
    let has_driver = merge_driver(args, workspace)?;
    if args.log_alias {
        log_alias(workspace)?;
    }
    Ok(has_driver)
}

/// Prints what was done, what was left alone, and what to type next.
fn report(
    files: &SetupFiles,
    args: &InitArgs,
    setup: Option<&SetupHints>,
    (workspace, context): (&Workspace, &Context),
    ui: &Ui,
) -> Result<(), Failure> {
    let removes = args.remove;
    let SetupOutcome {
        made,
        changed,
        removed,
    } = files.outcome();
    let is_new = !made.is_empty();
    if context.global.json {
        let findings = files.findings.iter().map(Finding::of).collect();
        ui.document(&InitAnswer {
            made,
            changed,
            removed,
            findings,
        })?;
    } else {
        let is_refused = files.findings.iter().any(Diagnostic::is_error);
        let is_unchanged =
            made.is_empty() && changed.is_empty() && removed.is_empty() && !is_refused;
        for (what, paths) in [
            ("created", made),
            ("changed", changed),
            ("removed", removed),
        ] {
            for path in paths {
                ui.done(&format!("{what} {path}\n"))?;
            }
        }
        let driver = args.merge_driver.then_some("the merge driver");
        let alias = args.log_alias.then_some("the alias `git log-code`");
        for what in [driver, alias].into_iter().flatten() {
            ui.done(&format!(
                "set {what} in the git configuration of this clone\n"
            ))?;
        }
        if is_unchanged && driver.is_none() && alias.is_none() {
            let nothing = if removes {
                "There is nothing to remove."
            } else {
                "Everything is already set up."
            };
            ui.done(&format!("{nothing}\n"))?;
        }
        files.findings.iter().for_each(|finding| ui.noted(finding));
    }
    let message = match setup {
        Some(_) => "Set up orch",
        None if removes => "Remove what orch wrote for agents",
        None => "Set up agents",
    };
    if let Some(command) = commit_command(workspace.reader().store(), files, message, ui) {
        ui.status(&format!("next: {command}"));
    }
    if let Some(setup) = setup {
        if is_new {
            ui.status(&format!("then: orch new my-first-task{}", setup.title));
        }
        if !setup.has_driver {
            ui.status("to merge task records without conflicts, run in each clone: orch init --merge-driver");
        }
    }
    Ok(())
}

/// The workflow that was chosen. Returns an error if there is none with this name, or it has errors.
fn chosen(workspace: &Workspace, name: &str) -> Result<WorkflowName, Failure> {
    Ok(workspace
        .settings()
        .workflow(name)?
        .usable()?
        .workflow
        .name
        .clone())
}

/// Returns an error if the settings, which may have stood before, have no root for a workflow.
fn has_root_for(workspace: &Workspace, name: &WorkflowName) -> Result<(), Failure> {
    if workspace
        .settings()
        .config()
        .roots
        .iter()
        .any(|root| root.workflow == *name)
    {
        return Ok(());
    }
    let message = format!(
        "{} already exists and has no root for the workflow `{name}`",
        config::FILE
    );
    let hint = Hint::from(format!(
        "add a [[root]] with a path and workflow = \"{name}\", then: "
    ))
    .command(&["orch", "init"]);
    Err(Failure::new(Code::Usage, message).hint(hint))
}

/// The files of a task that git ignores: derived and temporary ones.
const IGNORED: &str = "# Derived by orch, rewritten at will.\nsuggestion.json\nstate.json.broken*\ntranscript.jsonl.broken*\nstate.json.original*\ntranscript.jsonl.original*\n.orch-tmp*\n";

/// How git merges the files of orch: the log as the union of both sides, the state by orch's driver. A clone
/// without `orch init --merge-driver` does not know that driver and merges the state as text. Hosts fold the
/// changes of both in a review. The log counts as binary in a diff, so scanners of diffs take no digest in it for a
/// secret. git stores what lies in the work tree, so that both are judged alike.
const ATTRIBUTES: &str = "* -working-tree-encoding\n\
                          state.json merge=orch linguist-generated\n\
                          transcript.jsonl merge=union linguist-generated -diff\n\
                          **/eval/verify/*.json linguist-generated\n";

fn join(base: &str, name: &str) -> String {
    if base.is_empty() {
        name.to_owned()
    } else {
        format!("{base}/{name}")
    }
}

/// Writes the workflow of every root, with the schemas and agent instructions it refers to.
fn write_system(workspace: &Workspace, made: &mut SetupFiles) -> Result<(), Failure> {
    let directory = workspace.settings().config().system.to_string();
    let mut names: Vec<String> = workspace
        .settings()
        .config()
        .roots
        .iter()
        .map(|root| root.workflow.to_string())
        .collect();
    names.sort();
    names.dedup();
    for name in names {
        for path in texts_of(&workspace.settings().workflow(&name)?.usable()?.workflow) {
            if let Some(text) = workspace.settings().system().text(&path) {
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
    let agents = workflow
        .phases
        .iter()
        .filter_map(|phase| phase.agent.as_ref());
    let prompts = workflow
        .actions
        .iter()
        .filter_map(|action| action.prompt.as_ref());
    paths.extend(
        agents
            .chain(prompts)
            .map(|agent| format!("agents/{agent}.md")),
    );
    paths.push("schemas/state.schema.json".to_owned());
    paths.sort();
    paths.dedup();
    paths
}

/// Defines the alias. Returns an error if there is no repository, or the alias has another meaning.
fn log_alias(workspace: &Workspace) -> Result<(), Failure> {
    let (name, meaning) = LOG_ALIAS;
    if workspace
        .reader()
        .repository_or_refuse()?
        .settings()
        .set_alias(name, meaning)?
    {
        return Ok(());
    }
    let hint =
        Hint::from("choose another name: ").command(&["git", "config", "alias.NAME", meaning]);
    Err(Failure::new(
        Code::AliasTaken,
        format!("the git alias `{name}` has another meaning here"),
    )
    .hint(hint))
}

/// Registers this program as the merge driver for task states if asked to. Returns whether one is registered
/// now.
///
/// Git itself merges transcripts, as a union of lines.
fn merge_driver(args: &InitArgs, workspace: &Workspace) -> Result<bool, Failure> {
    let Some(store) = workspace.reader().store() else {
        return Ok(true);
    };
    if args.merge_driver {
        register_driver(store)?;
    }
    Ok(store.settings().merge_driver(DRIVER)?.is_some())
}

/// Registers this program as the merge driver for task states in this clone.
pub(super) fn register_driver(store: &Store) -> Result<(), Failure> {
    let orch = std::env::current_exe()?
        .to_string_lossy()
        .replace('\'', r"'\''");
    // Git passes the command to the shell, after replacing `%O` and the like with file names.
    let command = format!("'{}' merge-driver %O %A %B %P", orch.replace('%', "%%"));
    Ok(store.settings().set_merge_driver(DRIVER, &command)?)
}
