//! `orch merge-driver`: what git calls to merge a `state.json`, see gitattributes(5).

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use std::path::PathBuf;

/// Merges three versions of a `state.json` as `orch resolve` does. Git calls it, see `orch init
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
    let engine = context.bare_engine()?;
    // Git names its temporary files relative to where it starts the driver.
    let file = |path: &PathBuf| context.start.join(path);
    let merged = engine.merge_files(&file(&args.base), &file(&args.ours), &file(&args.theirs))?;
    if merged {
        return Ok(ExitCode::Fine);
    }
    ui.problem(&format!("{}: it is left in conflict; see `orch resolve`", args.path));
    Ok(ExitCode::No)
}
