//! `orch merge-driver`: what git calls to merge the record of a task, see gitattributes(5).

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::base::RepoPath;
use std::path::PathBuf;

/// Merges three versions of a `state.json` or `transcript.jsonl` as `orch resolve` does. Git calls it, see `orch init
/// --merge-driver`: the result takes the place of OURS; exit code 1 leaves a conflict.
#[derive(Debug, Args)]
pub struct MergeDriverArgs {
    /// What both sides come from (%O).
    base: PathBuf,
    /// Our side, which the result takes the place of (%A).
    ours: PathBuf,
    /// The other side (%B).
    theirs: PathBuf,
    /// Where the file lies in the repository (%P).
    path: String,
}

pub fn run(args: &MergeDriverArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.bare_workspace()?;
    // Git names its temporary files relative to where it starts the driver.
    let file = |path: &PathBuf| context.start.join(path);
    let path = RepoPath::new(&args.path)
        .map_err(|error| Failure::new(ExitCode::Usage, "path", error.to_string()))?;
    if context.writer(&workspace).merge_files(
        &path,
        &file(&args.base),
        &file(&args.ours),
        &file(&args.theirs),
    )? {
        return Ok(ExitCode::Fine);
    }
    ui.problem(&format!("{path}: left in conflict; for the state of a task: orch resolve"));
    Ok(ExitCode::No)
}
