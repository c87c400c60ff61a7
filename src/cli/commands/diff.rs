//! `orch diff`: what has changed in an artifact since it was judged.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_view::{ArtifactDiff, FileDiff, StepView};

/// Show what has changed in an artifact since it was judged.
///
/// Compares the files of the artifact with those that the last step rests on. A file that no step rests on is shown
/// as new. Writes nothing.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The name of the artifact in the workflow, after the task. The task is optional if the current
    /// directory, the branch name or a single open task identifies it.
    #[arg(required = true, num_args = 1..=2, value_name = "[TASK] ARTIFACT")]
    names: Vec<String>,
}

pub fn run(args: &DiffArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let (task, artifact) = match args.names.as_slice() {
        [task, artifact] => (Some(task.as_str()), artifact.clone()),
        names => (None, names.concat()),
    };
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, task)?;
    let sight = workspace.look(&task)?;
    let found = orch_engine::history::judged(&workspace, &sight, &artifact)?;
    let diff = ArtifactDiff {
        repository: workspace.reader().repository()?,
        task: task.id.to_string(),
        artifact,
        judged: found.step.map(|(entry, commit)| {
            let commit = commit.map(|commit| commit.to_string());
            StepView::recorded(task.id.as_str(), &task.place, &entry, commit.as_deref())
        }),
        files: found
            .files
            .into_iter()
            .map(|file| FileDiff {
                path: task
                    .place
                    .path(&file.name)
                    .map_or(file.name, |path| path.to_string()),
                before: file.before.map(|digest| digest.to_string()),
                after: file.after.map(|digest| digest.to_string()),
                patch: file.patch,
            })
            .collect(),
    };
    if context.global.json {
        ui.document(&diff)?;
    } else {
        context.page(ui, &diff.text(ui.paint))?;
    }
    Ok(ExitCode::Fine)
}
