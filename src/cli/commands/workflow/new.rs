//! `orch workflow new`: creates a workflow from a pattern, from a skill's configuration, or from a person's answers.

use super::super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::interview::{Words, interview};
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath, WorkflowName, shell_word};
use orch_engine::survey::Workspace;
use orch_files::{open_regular, read_up_to};
use orch_git::durable::{parent, write_atomic};
use orch_read::{inside, parse_json, span};
use orch_scaffold::{GeneratedFiles, Skill, SkillFault, Strategy, WorkflowPattern};
use orch_view::{NewWorkflow, findings};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Create a workflow from a pattern, from a skill's configuration, or by answering questions.
///
/// With `--pattern`, writes a plain workflow with its schemas, instructions and tests under `system/`, to be changed.
///
/// Otherwise writes a loop of actions: a workflow document, a schema of its state, a prompt for each action, and a README.
/// With `--from`, translates the conditions of a `skill-config.json` to CEL and rejects those that it cannot
/// translate, with their positions. Without, asks a person at the terminal.
///
/// Nothing is committed. If a file with other content exists, writes nothing and exits with 1, unless
/// `--force` is given.
#[derive(Debug, Args)]
pub struct WorkflowNewArgs {
    /// The name of the workflow.
    name: String,
    /// The pattern.
    #[arg(long, conflicts_with_all = ["from", "strategy"])]
    pattern: Option<PatternArg>,
    /// The skill's configuration.
    #[arg(long, value_name = "CONFIG.json")]
    from: Option<PathBuf>,
    /// How the next action is chosen; default: `priority`.
    #[arg(long)]
    strategy: Option<StrategyArg>,
    /// Overwrite existing files and print which ones.
    #[arg(long)]
    force: bool,
}

/// A plain workflow to begin with.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum PatternArg {
    /// A text that three readers review.
    Article,
    /// A proposal that two people approve.
    Rfc,
    /// A release with tests, coverage and a linter, which a person signs off.
    Release,
    /// Reports that are sorted and answered in time.
    Triage,
    /// A task that is done when its parts are.
    Epic,
}

impl From<PatternArg> for WorkflowPattern {
    fn from(choice: PatternArg) -> Self {
        match choice {
            PatternArg::Article => Self::Article,
            PatternArg::Rfc => Self::Rfc,
            PatternArg::Release => Self::Release,
            PatternArg::Triage => Self::Triage,
            PatternArg::Epic => Self::Epic,
        }
    }
}

/// How the next action is chosen.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum StrategyArg {
    /// The first action that can run, by priority; it repeats only if it changes what its preconditions read.
    Priority,
    /// A person picks.
    User,
    /// The first action that can run; it repeats for as long as the state asks for it.
    State,
}

impl From<StrategyArg> for Strategy {
    fn from(choice: StrategyArg) -> Self {
        match choice {
            StrategyArg::Priority => Self::Priority,
            StrategyArg::User => Self::User,
            StrategyArg::State => Self::State,
        }
    }
}

/// What a workflow was made from.
#[derive(Clone, Copy)]
enum NewFrom {
    Pattern(WorkflowPattern),
    Skill(Strategy),
}

/// A configuration, and the file it came from.
struct SkillConfig {
    path: String,
    text: String,
    value: Value,
    strategy: Strategy,
}

pub(super) fn run(args: &WorkflowNewArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let name = WorkflowName::new(&args.name)
        .map_err(|error| Failure::new(Code::WorkflowName, error.to_string()))?;
    let workspace = opened(&name, context, ui)?;
    if let Some(pattern) = args.pattern {
        let pattern = WorkflowPattern::from(pattern);
        let files = pattern.files(name.as_str());
        return write(
            args,
            &workspace,
            context,
            ui,
            &files,
            NewFrom::Pattern(pattern),
        );
    }
    let config = match &args.from {
        Some(path) => from_file(args, path, &workspace, context, ui)?,
        None => from_answers(args, &workspace, ui)?,
    };
    let (skill, mut faults) = orch_scaffold::read(&config.value);
    faults.extend(orch_scaffold::missing_specs(&skill, |path| {
        workspace.reader().root().join(path).is_file()
    }));
    let files = made_of(name.as_str(), &skill, faults, &config, context, ui)?;
    write(
        args,
        &workspace,
        context,
        ui,
        &files,
        NewFrom::Skill(config.strategy),
    )
}

/// Opens the repository. That its settings already name the new workflow is not an error.
fn opened(name: &WorkflowName, context: &Context, ui: &Ui) -> Result<Workspace, Failure> {
    context.interrupts.listen();
    let workspace = Workspace::open(&context.start, context.caller.environment.clone())?;
    for finding in workspace.settings().findings_before(name) {
        if finding.is_error() {
            return Err(Failure::from(finding.clone()));
        }
        ui.finding(finding);
    }
    Ok(workspace)
}

/// The files generated from a skill. If there are faults, prints all of them and returns an error.
fn made_of(
    name: &str,
    skill: &Skill,
    mut faults: Vec<SkillFault>,
    config: &SkillConfig,
    context: &Context,
    ui: &Ui,
) -> Result<GeneratedFiles, Failure> {
    let mut files = None;
    if !faults.iter().any(|fault| fault.diagnostic.is_error()) {
        match orch_scaffold::scaffold(name, skill, config.strategy) {
            Ok((made, warnings)) => {
                files = Some(made);
                faults.extend(warnings);
            }
            Err(found) => faults.extend(found),
        }
    }
    let mut problems: Vec<Diagnostic> = faults
        .into_iter()
        .map(|fault| placed(fault, config))
        .collect();
    problems.sort_by_key(|problem| {
        problem
            .place
            .as_ref()
            .map(|place| (place.line, place.column))
    });
    match files {
        Some(files) => {
            if !problems.is_empty() {
                ui.status(findings::snippets(&problems, ui.paint_status, ui.width).trim_end());
            }
            Ok(files)
        }
        None => {
            if context.global.json {
                ui.document(&findings::Findings::new(&problems))?;
            } else {
                ui.answer(&findings::snippets(&problems, ui.paint, ui.width))?;
            }
            Err(Failure::Quiet(ExitCode::Usage))
        }
    }
}

/// Converts a fault to a diagnostic with line and column.
fn placed(fault: SkillFault, config: &SkillConfig) -> Diagnostic {
    if fault.diagnostic.place.is_some() {
        return fault.diagnostic;
    }
    let (start, length) = span(&config.text, &fault.pointer).unwrap_or_default();
    let (start, length) = match fault.span {
        Some(part) => {
            let source = &config.text[start..start + length];
            let from = inside(source, part.start);
            let to = inside(source, part.end);
            (start + from, (to - from).max(1))
        }
        None => (
            start,
            length.min(config.text[start..].lines().next().map_or(0, str::len)),
        ),
    };
    let mut place = Place::at(&config.path, &config.text, start, length);
    place.pointer = Some(fault.pointer).filter(|pointer| !pointer.is_empty());
    fault.diagnostic.at(place)
}

fn from_file(
    args: &WorkflowNewArgs,
    path: &Path,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<SkillConfig, Failure> {
    let shown = path.display().to_string();
    let cannot = |why: &str| {
        Failure::new(
            Code::ConfigUnreadable,
            format!("cannot read {shown}: {why}"),
        )
    };
    let limit = workspace.settings().config().limit_bytes;
    let target = context.start.join(path);
    let target = target
        .canonicalize()
        .map_err(|error| cannot(&error.to_string()))?;
    let opened = open_regular(&target).map_err(|error| cannot(&error.to_string()))?;
    let file = opened.ok_or_else(|| cannot("it is not a regular file"))?;
    let bytes = read_up_to(&file, limit).map_err(|error| cannot(&error.to_string()))?;
    let bytes = bytes.ok_or_else(|| cannot(&format!("it is larger than {limit} bytes")))?;
    // The parser expects a path inside the repository, but this file may be anywhere.
    let label = RepoPath::new("skill-config.json").map_err(|error| cannot(&error.to_string()))?;
    let (value, problems) = parse_json(&label, &bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let strategy = args.strategy.map(Strategy::from).unwrap_or_default();
    match value {
        Some(value) => Ok(SkillConfig {
            path: shown,
            text,
            value,
            strategy,
        }),
        None => {
            let problems: Vec<Diagnostic> = problems
                .into_iter()
                .map(|problem| {
                    let place = problem.place.clone().unwrap_or_default();
                    problem.at(Place {
                        path: shown.clone(),
                        ..place
                    })
                })
                .collect();
            if context.global.json {
                ui.document(&findings::Findings::new(&problems))?;
            } else {
                ui.answer(&findings::snippets(&problems, ui.paint, ui.width))?;
            }
            Err(Failure::Quiet(ExitCode::Usage))
        }
    }
}

fn from_answers(
    args: &WorkflowNewArgs,
    workspace: &Workspace,
    ui: &Ui,
) -> Result<SkillConfig, Failure> {
    if !ui.interactive {
        let message = "cannot ask questions: stdin or stderr is not a terminal";
        let new = ["orch", "workflow", "new", &args.name];
        let from = ["--from", "skill-config.json"];
        let pattern = ["--pattern", WorkflowPattern::Article.as_str()];
        let hint = Hint::run(&[&new[..], &from].concat()).or(&[&new[..], &pattern].concat());
        return Err(Failure::new(Code::NoTerminal, message).hint(hint));
    }
    // Check this before asking a dozen questions.
    let document = format!("workflows/{}.md", args.name);
    if workspace.settings().system().text(&document).is_some() && !args.force {
        return Err(taken(&[format!(
            "{}/{document}",
            workspace.settings().config().system
        )]));
    }
    let answers = interview(
        &args.name,
        args.strategy.map(Strategy::from),
        &mut Terminal(ui),
    );
    let Some((value, strategy)) = answers else {
        return Err(Failure::new(
            Code::Interrupted,
            "the input ended before the last question; nothing was written",
        ));
    };
    Ok(SkillConfig {
        path: "your answers".to_owned(),
        text: format!("{value:#}\n"),
        value,
        strategy,
    })
}

/// A person at the terminal.
struct Terminal<'a>(&'a Ui);

impl Words for Terminal<'_> {
    fn ask(&mut self, question: &str) -> Option<String> {
        self.0.ask(&format!("{question} "))
    }

    fn say(&mut self, text: &str) {
        self.0.problem(text);
    }
}

fn taken(paths: &[String]) -> Failure {
    let message = format!(
        "these files already exist, so nothing was written: {}",
        paths.join(", ")
    );
    Failure::new(Code::FilesExist, message)
        .hint("choose another name, or overwrite them with --force")
}

fn write(
    args: &WorkflowNewArgs,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
    files: &GeneratedFiles,
    made_from: NewFrom,
) -> Result<ExitCode, Failure> {
    let directory = workspace.settings().config().system.to_string();
    let place = |path: &str| {
        if directory.is_empty() {
            path.to_owned()
        } else {
            format!("{directory}/{path}")
        }
    };
    let mut made = Vec::new();
    let mut replaced = Vec::new();
    let mut write = Vec::new();
    for (path, text) in files {
        let target = workspace.reader().root().join(place(path));
        let is_there = target.symlink_metadata().is_ok();
        // A built-in text of the same name would be shadowed silently.
        let ships = !is_there && workspace.settings().system().text(path).is_some();
        if is_there && std::fs::read(&target).is_ok_and(|present| present == text.as_bytes()) {
            continue;
        }
        if is_there || ships {
            replaced.push(place(path))
        } else {
            made.push(place(path))
        }
        write.push((place(path), target, text));
    }
    if !replaced.is_empty() && !args.force {
        return Err(taken(&replaced));
    }
    for (path, target, text) in write {
        let cannot = |error: &dyn std::fmt::Display| {
            Failure::new(Code::Io, format!("cannot write {path}: {error}"))
        };
        if let Some(directory) = target.parent() {
            std::fs::create_dir_all(directory).map_err(|error| cannot(&error))?;
        }
        write_atomic(parent(&target), &target, text.as_bytes()).map_err(|error| cannot(&error))?;
    }
    if context.global.json {
        let workflow = args.name.to_string();
        let (pattern, strategy) = match made_from {
            NewFrom::Pattern(pattern) => (Some(pattern.as_str()), None),
            NewFrom::Skill(strategy) => (None, Some(strategy.as_str())),
        };
        let answer = NewWorkflow {
            workflow,
            pattern,
            strategy,
            made,
            replaced,
        };
        ui.document(&answer)?;
        return Ok(ExitCode::Fine);
    }
    for (paths, what) in [(&made, "made"), (&replaced, "replaced")] {
        for path in paths {
            ui.done(&format!("{what} {path}\n"))?;
        }
    }
    if made.is_empty() && replaced.is_empty() {
        ui.done("Everything is up to date.\n")?;
    }
    let name = shell_word(&args.name);
    // An uncommitted workflow proves nothing in the audit, so commit it first.
    let place = if directory.is_empty() {
        "."
    } else {
        &directory
    };
    let add = workspace
        .reader()
        .store()
        .map(|_| format!("git add {} && git commit, then ", shell_word(place)));
    let add = add.unwrap_or_default();
    let next = match made_from {
        NewFrom::Pattern(_) => {
            format!("orch workflow play {name}, then {add}orch new my-task --workflow {name}")
        }
        NewFrom::Skill(_) => {
            format!("{add}orch new my-task --workflow {name} && orch run my-task")
        }
    };
    ui.status(&format!("next: {next}"));
    Ok(ExitCode::Fine)
}
