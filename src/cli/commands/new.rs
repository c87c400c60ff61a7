//! `orch new`: creates a task, or adopts an existing directory or file as one.

mod list;

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::relate::SaidRelations;
use super::report;
use orch_base::{Code, RepoPath, command};
use orch_engine::apply::{NewTask, PlaceWish};
use orch_engine::survey::Workspace;
use orch_git::durable;
use orch_view::Suggestion;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The file that a person edits.
const SCRATCH: &str = "BRIEF.md";

/// Create a task, or adopt an existing directory or file as a task.
///
/// Records the task in the initial phase of its workflow, in one commit with the steps forward that are due
/// then. Files that are already in the directory are kept and become part of the task. If the tasks of the
/// root are files, a missing file is written from the example in the workflow. An untracked task, such as
/// one that a branch switch left behind, is adopted in the same way.
///
/// A `state.json` of another tool that names a phase of the workflow is adopted there. The workflow is the one that
/// the file names, unless `--workflow` is given. If the workflow declares `[state.import]`, as `skill-tuning` and
/// `ccw-loop` do, the state of the older tool is imported. If the file contains something that the record has no
/// place for, it is committed as it is and then replaced, and orch lists what was left out.
///
/// The brief says what you want. It becomes a file of the task, `brief.md` in the shipped lifecycle, and the prompts
/// refer to it.
///
/// With `--from FILE`, tasks are made of the open entries of another program's task list, which orch knows by its
/// content: `tasks.json` of Task Master, `sprint-status.yaml` of BMAD, or `.beads/issues.jsonl` of beads. The whole file is
/// checked before the first task is created. Each task is one commit. Its description, if the list has one, becomes the
/// brief if the workflow has a place for it. Entries that are done or closed, epics and retrospectives of BMAD, and
/// entries whose task exists or is archived are skipped, so the same import can be repeated. Later changes of the list
/// do not reach the tasks.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The task id: its path below the root. Letters, digits, `-`, `_` and `.`, and `/` if the root in orch.toml
    /// allows it. Or the path of an existing directory or file, which may have any name.
    #[arg(required_unless_present = "from")]
    id: Option<String>,
    /// Create tasks from the task list of Task Master, BMAD or beads in FILE, or in stdin if FILE is `-`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "title", "brief", "brief_text", "edit", "after", "parent", "priority", "assignee"])]
    from: Option<PathBuf>,
    /// With `--from`: print what would be created, and write nothing.
    #[arg(long, requires = "from", conflicts_with = "id")]
    dry_run: bool,
    /// The root that the task belongs to, as orch.toml gives it, or the directory of its tasks; default: the
    /// root in which a directory of this name exists, otherwise one with the given workflow, otherwise the one around the
    /// current directory, otherwise the first.
    #[arg(long, value_name = "PATH")]
    root: Option<String>,
    /// The workflow that governs the task; default: the workflow of its root.
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// A human-readable title.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Use the text of FILE, or of stdin if FILE is `-`, as the brief of the task.
    #[arg(long, value_name = "FILE")]
    brief: Option<PathBuf>,
    /// Use this text as the brief of the task.
    #[arg(long, value_name = "TEXT", conflicts_with = "brief")]
    brief_text: Option<String>,
    /// Write the brief in the editor of git: `GIT_EDITOR`, `core.editor`, `VISUAL` or `EDITOR`.
    #[arg(long, conflicts_with_all = ["brief", "brief_text"])]
    edit: bool,
    #[command(flatten)]
    said: SaidRelations,
    #[command(flatten)]
    pub locks: LockArgs,
}

impl NewArgs {
    fn place<'a>(&'a self, here: Option<&'a RepoPath>) -> PlaceWish<'a> {
        PlaceWish {
            root: self.root.as_deref(),
            workflow: self.workflow.as_deref(),
            here,
        }
    }
}

pub fn run(args: &NewArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let Some(id) = args.id.as_deref() else {
        return list::run(args, &workspace, context, ui);
    };
    let limit = workspace.settings().config().limit_bytes;
    let brief = match (&args.brief, &args.brief_text) {
        (Some(path), _) => Some(read_brief(path, limit, context)?),
        (None, Some(text)) => Some(not_blank(text.clone())?),
        (None, None) if args.edit => Some(write_in_editor(args, &workspace, context, ui)?),
        (None, None) => None,
    };
    let here = context.here(&workspace);
    let relations = args.said.wish();
    let new = NewTask {
        place: args.place(here.as_ref()),
        title: args.title.as_deref(),
        brief: brief.as_deref(),
        relations: Some(&relations),
    };
    let created = context.writer(&workspace).create().task(id, &new);
    if args.edit {
        let file = workspace.reader().scratch(SCRATCH);
        match &created {
            Ok(_) => drop(std::fs::remove_file(file)),
            Err(_) => ui.problem(&format!("the brief is kept in {}", file.display())),
        }
    }
    let created = created?;
    report::applied(&workspace, context, ui, &created.applied, false)?;
    if !context.global.json {
        let typed = |word: &str| command(&["orch", word, created.task.id.as_str()]);
        let subject = workspace.reader().subject(&created.applied.sight);
        let is_own_work = !report::has_agents(&workspace, context);
        let (first, second) = if is_own_work && Suggestion::of(&subject).can_be_drafted() {
            ("draft", "prompt")
        } else {
            ("prompt", "suggest")
        };
        ui.status(&format!("next: {}, or: {}", typed(first), typed(second)));
    }
    Ok(ExitCode::Fine)
}

/// The text of a brief. Returns an error if it cannot be read, is larger than the limit, or is blank.
fn read_brief(path: &Path, limit: u64, context: &Context) -> Result<String, Failure> {
    let bytes = read(path, "brief", limit, context)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let message = format!(
            "cannot read the brief from {}: {}",
            shown(path),
            error.utf8_error()
        );
        Failure::new(Code::BadPath, message)
    })?;
    not_blank(text)
}

fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The bytes of the file, which may be a pipe, or of stdin. Returns an error if it cannot be read or is larger than the
/// limit.
fn read(path: &Path, what: &str, limit: u64, context: &Context) -> Result<Vec<u8>, Failure> {
    let is_stdin = path == Path::new("-");
    let shown = shown(path);
    let failed = |error: io::Error| {
        Failure::new(
            Code::BadPath,
            format!("cannot read the {what} from {shown}: {error}"),
        )
    };
    let file = if is_stdin {
        None
    } else {
        Some(File::open(context.start.join(path)).map_err(failed)?)
    };
    // The size of a pipe or a device is not known before the end.
    let size = file
        .as_ref()
        .and_then(|file| file.metadata().ok())
        .filter(Metadata::is_file);
    let input: Box<dyn Read> =
        file.map_or_else(|| Box::new(io::stdin()) as _, |file| Box::new(file) as _);
    let mut bytes = Vec::new();
    input
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        let size = size.map_or_else(String::new, |metadata| {
            format!("{} bytes, ", metadata.len())
        });
        let message = format!(
            "the {what} in {shown} is too large: {size}more than the {limit} that are allowed"
        );
        let hint = "shorten it, or raise `limit_bytes` in orch.toml";
        return Err(Failure::new(Code::BadPath, message).hint(hint));
    }
    Ok(bytes)
}

fn not_blank(text: String) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new(
            Code::EmptyBrief,
            "the brief is empty, so no task was created",
        ));
    }
    Ok(text)
}

/// The text that a person writes in an editor. Returns an error without a terminal, if the editor fails, or if
/// it leaves the text as it was.
fn write_in_editor(
    args: &NewArgs,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<String, Failure> {
    if !ui.interactive {
        let message = "cannot open an editor: stdin or stderr is not a terminal";
        return Err(Failure::new(Code::NoTerminal, message)
            .hint("give the brief with --brief FILE, or --brief -"));
    }
    let file = workspace.reader().scratch(SCRATCH);
    let title = args.title.as_deref().or(args.id.as_deref());
    let begun = format!("# {}\n\n", title.unwrap_or_default());
    workspace
        .reader()
        .store()
        .map(|store| store.layout().own_directory())
        .transpose()?;
    durable::write_derived(durable::parent(&file), &file, begun.as_bytes())?;
    let text = context.edited(&file)?;
    not_blank(if text.trim() == begun.trim() {
        String::new()
    } else {
        text
    })
}
