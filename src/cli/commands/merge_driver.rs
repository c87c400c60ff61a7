//! `orch merge-driver`: the command that git runs to merge the record of a task; see gitattributes(5).

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_base::{Code, RepoPath};
use std::path::PathBuf;

/// Merge three versions of a task's record for git.
///
/// `orch init --merge-driver` registers this command. The result replaces OURS. Exits with 1 if the merge
/// leaves a conflict.
#[derive(Debug, Args)]
pub struct MergeDriverArgs {
    /// The common ancestor (%O).
    base: PathBuf,
    /// Our version, which the result replaces (%A).
    ours: PathBuf,
    /// Their version (%B).
    theirs: PathBuf,
    /// The path of the file in the repository (%P).
    path: String,
}

pub fn run(args: &MergeDriverArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.bare_workspace()?;
    // Git passes temporary files relative to the directory in which it starts the driver.
    let file = |path: &PathBuf| context.start.join(path);
    let path = RepoPath::new(&args.path)
        .map_err(|error| Failure::new(Code::BadPath, error.to_string()))?;
    if context.writer(&workspace).conflicts().merge_files(
        &path,
        &file(&args.base),
        &file(&args.ours),
        &file(&args.theirs),
    )? {
        return Ok(ExitCode::Fine);
    }
    ui.problem(&format!(
        "cannot merge {path}; for the state of a task: orch resolve"
    ));
    Ok(ExitCode::No)
}
