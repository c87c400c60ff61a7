//! `orch check`: validates artifacts and records.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_base::{Code, Diagnostic, Hint, Severity};
use orch_engine::gather;
use orch_engine::history::{Checked, Checker};
use orch_view::layout::counted;
use orch_view::{findings, indented};
use std::io::Read;
use std::path::PathBuf;

/// Validate artifacts and state.
///
/// Each finding has a file, a line, a stable code and a hint. A task that is merely waiting is not a finding. Writes
/// nothing. Exits with 1 if there are findings; with 2 if there is nothing to judge although something says that
/// there should be, such as records that no root shows; and with 70 if the machine failed to read something, so that
/// the findings may be incomplete.
///
/// `--staged`, `--commit`, `--range` and `--stdin-refs` also verify the record: a changed state must be what the
/// rules yield or what a person legitimately ordered. If a commit or a range loosens rules, settings or schemas, or
/// changes what agent programs run, the lines are reported; only with `--strict` does that make the exit code 1.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").multiple(false))]
pub struct CheckArgs {
    /// The tasks or patterns; default: all tasks.
    #[arg(group = "what")]
    tasks: Vec<String>,
    /// Check what the next commit would contain: the index against HEAD.
    #[arg(long, group = "what")]
    staged: bool,
    /// The file with the commit message, as git passes it to a commit-msg hook.
    #[arg(long, value_name = "FILE", requires = "staged")]
    message: Option<PathBuf>,
    /// Check one commit against its parents.
    #[arg(long, value_name = "REV", group = "what")]
    commit: Option<String>,
    /// Check every commit in a range, `A..B`.
    #[arg(long, value_name = "RANGE", group = "what")]
    range: Option<String>,
    /// Check the commits of a push; reads from stdin the lines that git passes to a pre-receive or pre-push
    /// hook.
    #[arg(long, group = "what")]
    stdin_refs: bool,
    /// Read the tasks and the settings from commit REV instead of the work tree.
    #[arg(long, value_name = "REV", conflicts_with_all = ["staged", "commit", "range", "stdin_refs"])]
    at: Option<String>,
    /// Also exit with 1 if commits loosen the rules, or may loosen them, and with 2 if there is no task.
    #[arg(long)]
    strict: bool,
    /// The output format of the findings.
    #[arg(long, default_value = "text")]
    format: Form,
}

/// An output format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Source excerpts, for people.
    Text,
    /// One JSON document.
    Json,
    /// Annotations for GitHub Actions.
    Github,
    /// A code quality report for GitLab.
    Gitlab,
    /// SARIF 2.1.0.
    Sarif,
}

pub fn run(args: &CheckArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let form = form(args.format, context)?;
    let checked = check(args, context, ui)?;
    // Hooks run these, and a commit without a fault is nothing to read about.
    let is_quiet = args.staged || args.stdin_refs;
    print(&checked, form, is_quiet, ui)?;
    let found = if is_fine(&checked.findings, args.strict) {
        ExitCode::Fine
    } else {
        ExitCode::No
    };
    Ok(report::exit_after(&checked.findings, found))
}

/// Whether findings only tell something. What is looser is for people to judge, unless the caller is strict.
pub(super) fn is_fine(findings: &[Diagnostic], is_strict: bool) -> bool {
    let only_reports =
        |finding: &Diagnostic| matches!(finding.code, Code::Loosened | Code::RulesChanged);
    findings
        .iter()
        .all(|finding| finding.severity == Severity::Note || (only_reports(finding) && !is_strict))
}

fn check(args: &CheckArgs, context: &Context, ui: &Ui) -> Result<Checked, Failure> {
    if args.staged {
        let message = args.message.as_deref().map(|path| {
            std::fs::read(path).map_err(|error| {
                Failure::new(
                    Code::MessageUnreadable,
                    format!("cannot read {}: {error}", path.display()),
                )
            })
        });
        let message = message
            .transpose()?
            .map(|bytes| without_comments(&String::from_utf8_lossy(&bytes)));
        return Ok(
            Checker::new(&context.bare_workspace()?, &context.caller).staged(message.as_deref())?
        );
    }
    if let Some(revision) = &args.commit {
        return Ok(Checker::new(&context.bare_workspace()?, &context.caller).revision(revision)?);
    }
    if let Some(range) = &args.range {
        return Ok(Checker::new(&context.bare_workspace()?, &context.caller).range(range)?);
    }
    if args.stdin_refs {
        let mut lines = String::new();
        std::io::stdin()
            .read_to_string(&mut lines)
            .map_err(|error| {
                Failure::new(
                    Code::RefsUnreadable,
                    format!("cannot read refs from stdin: {error}"),
                )
            })?;
        return Ok(Checker::new(&context.bare_workspace()?, &context.caller).pushed(&lines)?);
    }
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    let (tasks, misnamed) = match args.tasks.as_slice() {
        [] => workspace.finder().survey()?,
        names => (gather::named(&workspace, names)?, Vec::new()),
    };
    context.show_looks(&workspace, Some(tasks.len()), ui);
    let mut checked = Checker::new(&workspace, &context.caller).tasks(&tasks)?;
    checked.findings.splice(0..0, gather::duplicates(&tasks));
    checked.findings.extend(misnamed);
    if args.strict && tasks.is_empty() && checked.findings.is_empty() {
        return Err(Failure::new(Code::NothingToJudge, "there is no task")
            .hint(Hint::run(&["orch", "new", "ID"])));
    }
    Ok(checked)
}

/// The output format. Returns an error if `--json` contradicts `--format`.
pub(super) fn form(asked: Form, context: &Context) -> Result<Form, Failure> {
    match asked {
        Form::Github | Form::Gitlab | Form::Sarif if context.global.json => {
            let message = "`--json` contradicts `--format`";
            Err(Failure::new(Code::Usage, message).hint("remove one of the two options"))
        }
        _ if context.global.json => Ok(Form::Json),
        form => Ok(form),
    }
}

/// The message as git stores it: without comments and without everything below the scissors line.
fn without_comments(message: &str) -> String {
    let kept = message
        .lines()
        .take_while(|line| !line.ends_with("------------------------ >8 ------------------------"));
    kept.filter(|line| !line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Prints findings in the given format; as text, nothing if there are none and it is to be quiet.
pub(super) fn print(checked: &Checked, form: Form, is_quiet: bool, ui: &Ui) -> Result<(), Failure> {
    let found = &checked.findings;
    match form {
        Form::Json => ui.document(&findings::Findings::new(found))?,
        Form::Github => ui.answer(&findings::github(found))?,
        Form::Gitlab => ui.answer(&indented(&findings::gitlab(found)))?,
        Form::Sarif => ui.answer(&indented(&findings::sarif(
            found,
            env!("CARGO_PKG_VERSION"),
        )))?,
        Form::Text => {
            let mut shown = found.clone();
            shown.retain(|finding| !finding.is_detail());
            for finding in &mut shown {
                finding.hint = finding.hint.as_ref().map(|hint| hint.at(&ui.here()));
            }
            ui.answer(&findings::snippets(&shown, ui.paint, ui.width))?;
            if !(is_quiet && found.is_empty()) {
                ui.status(&format!(
                    "{}: {}",
                    counted(checked.tasks.len(), "task"),
                    findings::summary(found)
                ));
            }
        }
    }
    Ok(())
}
