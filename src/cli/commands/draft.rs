//! `orch draft`: the file that is expected next, to be filled in.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_view::DraftAnswer;

/// Write a draft of the file that is expected next, for you to fill in.
///
/// The draft is the example of the schema, with the author, the time and what is judged filled in. Every text, number
/// and verdict begins with TODO. The shipped schemas reject that, so a draft moves nothing until you have replaced
/// each TODO; a finding lists those that are left. Remove what the file does not need. Markdown keeps its headings
/// and labels. An existing file is not overwritten. With `--force`, a file that does not count is replaced, and kept
/// beside the draft as `….old` unless HEAD has it.
#[derive(Debug, Args)]
pub struct DraftArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// The name of the artifact in the workflow; default: the first that is expected and missing, otherwise used up.
    artifact: Option<String>,
    /// Print the draft instead of writing it.
    #[arg(long, visible_alias = "print")]
    stdout: bool,
    /// Replace a file that does not count, such as a used-up verdict.
    #[arg(long, conflicts_with = "stdout")]
    force: bool,
}

pub fn run(args: &DraftArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let writer = context.writer(&workspace);
    let artifact = args.artifact.as_deref();
    let draft = if args.stdout {
        writer.drafts().of(&task, artifact)?
    } else {
        writer.drafts().write(&task, artifact, args.force)?
    };
    let kept = draft.kept.as_ref().map(ToString::to_string);
    if context.global.json {
        ui.document(&DraftAnswer {
            task: draft.task.to_string(),
            artifact: draft.artifact.to_string(),
            path: draft.path.to_string(),
            text: draft.text,
            written: !args.stdout,
            kept,
        })?;
    } else if args.stdout {
        ui.answer(&draft.text)?;
    } else {
        ui.answer(&format!("{}\n", draft.path))?;
        if let Some(kept) = &kept {
            ui.status(&format!("the file that was there is kept as {kept}"));
        }
        ui.status("fill in each TODO; remove what is not needed");
    }
    Ok(ExitCode::Fine)
}
