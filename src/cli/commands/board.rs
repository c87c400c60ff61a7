//! `orch board`: all tasks on the terminal, or as one HTML file.

mod terminal;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_base::{Code, Hint};
use orch_engine::gather::{self, GatheredTasks, WantedPages};
use orch_engine::survey::Workspace;
use orch_files::open_regular;
use orch_git::durable;
use orch_view::html::{BoardFilter, TaskLinks, file_end, file_start, file_task};
use orch_view::layout::counted;
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Show the tasks on the terminal, column by column, or write them as one HTML file.
///
/// On a terminal, without --html, a column for each phase that has tasks; those with a task that needs a person come
/// first. Keys select a task, open it, approve or reject it and take the step that is due; `?` shows them. Approvals,
/// rejections and steps are `orch approve`, `orch reject` and `orch next`, with what they print.
///
/// With --html, one file, for example as an artifact of CI: a column per phase, and in it a card per task: who must act, and on what. Below, a page for each open task: the
/// reason, the rules with the values they saw, the artifacts, the findings, a diagram with the path that the task
/// took, and its timeline. The file refers to nothing outside it and contains no script. Writes nothing else.
///
/// Replaces an existing file only if it is an HTML page (its first bytes are `<!DOCTYPE html>`) or empty, and writes
/// nothing into a git directory; otherwise exits with 2.
#[derive(Debug, Args)]
pub struct BoardArgs {
    /// The tasks or patterns; default: every task that is not archived.
    tasks: Vec<String>,
    /// Write the page to FILE, or to stdout if FILE is `-`.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write the pages of finished tasks.
    #[arg(long, requires = "html")]
    details: bool,
}

/// What a page begins with.
const PAGE: &[u8] = b"<!DOCTYPE html>";

const ELSEWHERE: &str = "name another file; --html - writes to stdout";

pub fn run(args: &BoardArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    match &args.html {
        Some(html) => file(args, html, context, ui),
        None => terminal::run(args, context, ui),
    }
}

/// Writes the page.
fn file(args: &BoardArgs, html: &Path, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let target = match html == Path::new("-") {
        true => None,
        false => Some(target(html, &workspace, context)?),
    };
    let (tasks, misnamed) = gather::named_or_all(&workspace, &args.tasks)?;
    context.show_looks(&workspace, Some(tasks.len()), ui);
    let pages = if args.details {
        WantedPages::All
    } else {
        WantedPages::Open
    };
    let gathered = gather::board(&context.caller, &workspace, &tasks, misnamed, pages)?;
    let exit = report::exit_of(
        &gathered.problems,
        gathered.status.tasks.iter().map(|task| task.duty.kind),
    );
    // The page shows them, too; whoever reads only the exit code has to find the reason.
    gathered
        .problems
        .iter()
        .filter(|problem| problem.is_error())
        .for_each(|problem| ui.finding(problem));
    if target.is_none() && !context.global.json {
        write(&gathered, context, |part| Ok(ui.answer(part)?))?;
        return Ok(exit);
    }
    let mut whole = String::new();
    write(&gathered, context, |part| {
        whole.push_str(part);
        Ok(())
    })?;
    let Some(target) = target else {
        report::text(context, ui, &whole)?;
        return Ok(exit);
    };
    // Another process may have created a file there meanwhile.
    refuse_unlike_a_page(html, &target)?;
    durable::write_atomic(durable::parent(&target), &target, whole.as_bytes())?;
    let tasks = counted(gathered.status.tasks.len(), "task");
    report::text(
        context,
        ui,
        &format!("wrote {tasks} to {}\n", html.display()),
    )?;
    Ok(exit)
}

/// The file to write, without links. Returns an error if its directory is not there or belongs to git, or something other
/// than a page is there.
fn target(html: &Path, workspace: &Workspace, context: &Context) -> Result<PathBuf, Failure> {
    if html.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(refused(html, "it names a directory"));
    }
    let named = context.start.join(html);
    let above = durable::parent(&named);
    let name = named.file_name();
    let target = match (named.canonicalize(), name) {
        (Ok(there), _) => there,
        (Err(_), Some(name)) => {
            let above = above
                .canonicalize()
                .map_err(|error| no_directory(html, context, &error))?;
            if !above.is_dir() {
                return Err(no_directory(
                    html,
                    context,
                    &io::ErrorKind::NotADirectory.into(),
                ));
            }
            above.join(name)
        }
        (Err(_), None) => return Err(refused(html, "it names no file")),
    };
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let stores = workspace.reader().store().into_iter();
    let mut of_git = stores.flat_map(|store| {
        [
            store.layout().git_directory(),
            store.layout().common_directory(),
        ]
    });
    let is_git = |part: &OsStr| part.eq_ignore_ascii_case(".git");
    // The repository itself may be anywhere.
    let below = target
        .strip_prefix(resolved(workspace.reader().root()))
        .unwrap_or(&target);
    if below.iter().any(is_git) || of_git.any(|git| target.starts_with(resolved(git))) {
        return Err(refused(html, "it is in a git directory"));
    }
    refuse_unlike_a_page(html, &target)?;
    Ok(target)
}

/// Returns an error if something other than a page is there.
fn refuse_unlike_a_page(html: &Path, target: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| cannot_write(html, Code::Io, &error.to_string());
    if target
        .symlink_metadata()
        .is_ok_and(|there| !there.is_file())
    {
        let message = format!("{} is not a regular file", html.display());
        return Err(Failure::new(Code::Usage, message).hint(ELSEWHERE));
    }
    let mut begin = Vec::new();
    match open_regular(target) {
        Ok(Some(file)) => file
            .take(PAGE.len() as u64)
            .read_to_end(&mut begin)
            .map_err(failed)?,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(None) | Err(_) => 0,
    };
    if begin.is_empty() || begin == PAGE {
        return Ok(());
    }
    Err(refused(html, "the existing file is not an HTML page"))
}

fn no_directory(html: &Path, context: &Context, error: &io::Error) -> Failure {
    let above = durable::parent(html);
    let directory = above.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            let failure = cannot_write(
                html,
                Code::Usage,
                &format!("there is no directory {directory}"),
            );
            // A whole path: it works wherever the hint is followed.
            let start = context
                .start
                .canonicalize()
                .unwrap_or_else(|_| context.start.clone());
            let above = start.join(above);
            failure.hint(Hint::run(&["mkdir", "-p", &above.to_string_lossy()]))
        }
        io::ErrorKind::NotADirectory => refused(html, &format!("{directory} is not a directory")),
        _ => cannot_write(html, Code::Io, &error.to_string()),
    }
}

fn refused(html: &Path, why: &str) -> Failure {
    cannot_write(html, Code::Usage, why).hint(ELSEWHERE)
}

fn cannot_write(html: &Path, code: Code, why: &str) -> Failure {
    Failure::new(
        code,
        format!("cannot write the page to {}: {why}", html.display()),
    )
}

/// Writes the file part by part.
fn write(
    gathered: &GatheredTasks,
    context: &Context,
    mut part: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let now = context.caller.clock.now();
    let names = gathered
        .details
        .iter()
        .map(|detail| detail.explanation.suggestion.task.id.clone());
    let links = TaskLinks::InFile(names.collect());
    part(&file_start(&gathered.page(
        &links,
        &BoardFilter::default(),
        now,
    )))?;
    for page in gathered
        .details
        .iter()
        .filter_map(|detail| gathered.task_page(detail, now))
    {
        part(&file_task(&page))?;
    }
    part(&file_end())
}
