//! `orch workflow`: lists, shows, checks, formats, draws, compares and creates workflows.

mod diff;
mod interview;
mod new;
mod play;
mod test;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use clap::Subcommand;
use orch_base::{Code, Diagnostic, Severity};
use orch_core::workflow::{DiagramFormat, diagram, format};
use orch_engine::survey::Workspace;
use orch_engine::trial::{TrialWorkflow, examples};
use orch_git::durable;
use orch_view::layout::counted;
use orch_view::{FormattedAnswer, OverlapLine, OverlapList, WorkflowLine, WorkflowList, findings};
use std::path::{Path, PathBuf};

/// The subcommands of `orch workflow`.
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    /// List the workflows with their source and their numbers of phases and rules.
    List,
    /// Print a workflow document.
    Show(OneArgs),
    /// Check workflow documents and report all problems, each with line and column.
    ///
    /// Writes nothing. Exits with 1 if there are problems.
    Check(WorkflowCheckArgs),
    /// Redraw the diagram in workflow documents from their rules.
    ///
    /// Writes only between the diagram markers.
    Fmt(FmtArgs),
    /// Print a diagram of a workflow.
    Diagram(DiagramArgs),
    Diff(diff::WorkflowDiffArgs),
    New(new::WorkflowNewArgs),
    Play(play::WorkflowPlayArgs),
    Test(test::WorkflowTestArgs),
}

/// One workflow.
#[derive(Debug, Args)]
pub struct OneArgs {
    /// The name of the workflow.
    #[arg(default_value = "global-state-machine")]
    workflow: String,
}

/// What to check.
#[derive(Debug, Args)]
pub struct WorkflowCheckArgs {
    /// The workflows; default: all workflows.
    workflows: Vec<String>,
    /// List each two rules that may hold together, with a case, in place of the problems.
    ///
    /// The first of them decides. Findings name only those of one `group`.
    #[arg(long)]
    overlaps: bool,
    /// Write a task for each overlap within a group and each gap into this new or empty directory, with its example.
    ///
    /// With `--overlaps`, for each overlap whose outcomes differ.
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
}

/// What to format.
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// The workflows; default: all workflows in the repository.
    workflows: Vec<String>,
    /// Write nothing; exit with 1 if a diagram is out of date.
    #[arg(long)]
    check: bool,
}

/// What to draw.
#[derive(Debug, Args)]
pub struct DiagramArgs {
    /// The name of the workflow.
    #[arg(default_value = "global-state-machine")]
    workflow: String,
    /// The diagram language.
    #[arg(long, default_value = "mermaid")]
    format: Language,
}

/// A language of diagrams.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Language {
    /// A Mermaid state diagram.
    Mermaid,
    /// Graphviz DOT.
    Dot,
}

pub fn run(command: &WorkflowCommand, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = || context.workspace(ui);
    match command {
        WorkflowCommand::List => list(&workspace()?, context, ui),
        WorkflowCommand::Show(args) => {
            let loaded = workspace()?.settings().workflow(&args.workflow)?;
            report::text(
                context,
                ui,
                &format!("{}\n", loaded.document.text.trim_end()),
            )?;
            Ok(ExitCode::Fine)
        }
        WorkflowCommand::Check(args) => check(&workspace()?, context, ui, args),
        WorkflowCommand::Fmt(args) => fmt(&workspace()?, context, ui, args),
        WorkflowCommand::Diff(args) => diff::run(args, context, ui),
        WorkflowCommand::New(args) => new::run(args, context, ui),
        WorkflowCommand::Play(args) => play::run(args, &workspace()?, context, ui),
        WorkflowCommand::Test(args) => test::run(args, &workspace()?, context, ui),
        WorkflowCommand::Diagram(args) => {
            let loaded = workspace()?.settings().workflow(&args.workflow)?;
            let language = match args.format {
                Language::Mermaid => DiagramFormat::Mermaid,
                Language::Dot => DiagramFormat::Dot,
            };
            report::text(context, ui, &diagram(&loaded.usable()?.workflow, language))?;
            Ok(ExitCode::Fine)
        }
    }
}

fn list(workspace: &Workspace, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    for name in workspace.settings().workflow_names() {
        let loaded = workspace.settings().workflow(&name)?;
        let path = workspace.settings().path_of_workflow(&name);
        let origin = if workspace.reader().root().join(&path).is_file() {
            path
        } else {
            "shipped".to_owned()
        };
        let counts = loaded
            .workflow()
            .map(|workflow| (workflow.phases.len(), workflow.rules.len()));
        let title = loaded
            .workflow()
            .map(|workflow| workflow.title.clone())
            .unwrap_or_default();
        rows.push((name, title, counts, origin));
    }
    if context.global.json {
        let line =
            |(name, title, counts, origin): (String, String, Option<(usize, usize)>, String)| {
                let valid = counts.is_some();
                let phases = counts.map(|counts| counts.0);
                let rules = counts.map(|counts| counts.1);
                WorkflowLine {
                    name,
                    title,
                    valid,
                    phases,
                    rules,
                    origin,
                }
            };
        ui.document(&WorkflowList {
            workflows: rows.into_iter().map(line).collect(),
        })?;
        return Ok(ExitCode::Fine);
    }
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, title, counts, origin) in rows {
        let counts = counts.map_or_else(
            || "has errors".to_owned(),
            |(phases, rules)| format!("{phases} phases, {rules} rules"),
        );
        ui.answer(&format!("{name:width$}  {title}  ({counts}; {origin})\n"))?;
    }
    Ok(ExitCode::Fine)
}

fn check(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    args: &WorkflowCheckArgs,
) -> Result<ExitCode, Failure> {
    let names = if args.workflows.is_empty() {
        workspace.settings().workflow_names()
    } else {
        args.workflows.clone()
    };
    if let Some(directory) = &args.emit {
        emit(workspace, context, ui, (&names, args.overlaps), directory)?;
    }
    if args.overlaps {
        return overlaps(workspace, context, ui, &names);
    }
    let mut problems: Vec<Diagnostic> = Vec::new();
    for name in &names {
        problems.extend(workspace.settings().check_workflow(name)?);
    }
    let is_fine = problems
        .iter()
        .all(|problem| problem.severity == Severity::Note);
    if context.global.json {
        ui.document(&findings::Findings::new(&problems))?;
    } else {
        ui.answer(&findings::snippets(&problems, ui.paint, ui.width))?;
        if is_fine {
            ui.status(&format!("{}, no problem", counted(names.len(), "workflow")));
        }
    }
    Ok(if is_fine {
        ExitCode::Fine
    } else {
        ExitCode::No
    })
}

/// Writes the examples of findings as directories of tasks.
fn emit(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    (names, all): (&[String], bool),
    directory: &Path,
) -> Result<(), Failure> {
    let directory = context.start.join(directory);
    let occupied = std::fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
    if occupied || directory.is_file() {
        let message = format!("{} is not an empty directory", directory.display());
        return Err(Failure::new(Code::NotEmpty, message).hint("name a new or empty directory"));
    }
    for name in names {
        let loaded = workspace.settings().workflow(name)?;
        let Ok(usable) = loaded.usable() else {
            continue;
        };
        let schemas = workspace.settings().schemas();
        let trial = TrialWorkflow::of(&loaded.document, &usable.workflow, schemas);
        for example in examples(&trial, all) {
            if example.files.is_empty() {
                ui.status(&format!("{name}: no example was found: {}", example.shows));
                continue;
            }
            let task = directory.join(&example.name);
            for (path, bytes) in &example.files {
                let path = task.join(path);
                let above = durable::parent(&path);
                let failed =
                    |why: String| Failure::new(Code::Io, format!("{}: {why}", path.display()));
                std::fs::create_dir_all(above).map_err(|error| failed(error.to_string()))?;
                durable::write_atomic(above, &path, bytes)
                    .map_err(|error| failed(error.to_string()))?;
            }
            ui.status(&format!("{}: {}", task.display(), example.shows));
        }
    }
    Ok(())
}

/// Lists the rules that may hold together.
fn overlaps(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    names: &[String],
) -> Result<ExitCode, Failure> {
    let mut lines = Vec::new();
    for name in names {
        let loaded = workspace.settings().workflow(name)?;
        lines.extend(OverlapLine::of_workflow(&loaded.usable()?.workflow));
    }
    if context.global.json {
        ui.document(&OverlapList { overlaps: lines })?;
        return Ok(ExitCode::Fine);
    }
    let of_phases =
        lines.chunk_by(|one, other| one.workflow == other.workflow && one.phase == other.phase);
    for pairs in of_phases {
        let differ = pairs.iter().filter(|line| line.differs).count();
        ui.answer(&format!(
            "{} {}: {} of rules, {differ} with different outcomes\n",
            pairs[0].workflow,
            pairs[0].phase,
            counted(pairs.len(), "pair"),
        ))?;
        for line in pairs {
            let word = if line.differs { "before" } else { "like" };
            let case = match line.case.as_slice() {
                [] => "always".to_owned(),
                case => case.join(", "),
            };
            ui.answer(&format!("  {} {word} {}\n", line.first, line.second))?;
            ui.answer(&format!("    {case}\n"))?;
        }
    }
    if lines.is_empty() {
        ui.status("no two rules hold together");
    }
    Ok(ExitCode::Fine)
}

fn fmt(
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    args: &FmtArgs,
) -> Result<ExitCode, Failure> {
    let all = workspace.settings().workflow_names();
    let names = if args.workflows.is_empty() {
        &all
    } else {
        &args.workflows
    };
    let mut stale = Vec::new();
    for name in names {
        let loaded = workspace.settings().workflow(name)?;
        let path = workspace
            .reader()
            .root()
            .join(workspace.settings().path_of_workflow(name));
        if !path.is_file() {
            if !args.workflows.is_empty() {
                let message =
                    format!("workflow `{name}` is built into orch; there is no file to format");
                return Err(Failure::new(Code::NotAFile, message));
            }
            continue;
        }
        let text = format(&loaded.document, &loaded.usable()?.workflow);
        if text == loaded.document.text {
            continue;
        }
        if !args.check {
            durable::write_atomic(durable::parent(&path), &path, text.as_bytes())
                .map_err(|error| Failure::new(Code::Io, error.to_string()))?;
        }
        stale.push(loaded.document.path.clone());
    }
    if context.global.json {
        let answer = FormattedAnswer {
            written: !args.check,
            paths: stale.clone(),
        };
        ui.document(&answer)?;
    } else {
        for path in &stale {
            if args.check {
                ui.answer(&format!("{path}: the diagram is out of date\n"))?;
            } else {
                ui.done(&format!("{path}: redrew the diagram\n"))?;
            }
        }
    }
    Ok(if args.check && !stale.is_empty() {
        ExitCode::No
    } else {
        ExitCode::Fine
    })
}
