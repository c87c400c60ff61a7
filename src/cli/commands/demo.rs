//! `orch demo`: a whole lifecycle in a sample repository, told as it happens.

mod script;
mod stage;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::view::{DemoAnswer, pretty};
use std::path::PathBuf;

/// Builds a sample repository and plays a whole task lifecycle in it, telling what happens and why:
/// a blocked review, a refused skip, a failing test sent back, an edited plan that makes the review
/// stale, an override with its reason, acceptance. It leaves real commits to look at.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where; by default a new directory under the system's temporary one. It must be empty.
    // Not `directory`: that is the name of the global `-C`, which would take the value too.
    #[arg(value_name = "DIRECTORY")]
    place: Option<PathBuf>,
}

pub fn run(args: &DemoArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let directory = match &args.place {
        Some(place) => context.start.join(place),
        None => tempfile::Builder::new()
            .prefix("orch-demo-")
            .tempdir()
            .map_err(|error| Failure::new(ExitCode::Fault, "io", error.to_string()))?
            .keep(),
    };
    std::fs::create_dir_all(&directory)
        .map_err(|error| Failure::new(ExitCode::Fault, "io", format!("{}: {error}", directory.display())))?;
    let occupied = std::fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        let message = format!("{} is not empty", directory.display());
        return Err(Failure::new(ExitCode::Usage, "not-empty", message)
            .hint("name a directory that is not there yet"));
    }
    // The story ends with a `cd` that works from everywhere.
    let directory = directory.canonicalize().unwrap_or(directory);
    script::play(&directory, context, ui)?;
    if context.global.json {
        ui.answer(&pretty(&DemoAnswer { directory: directory.display().to_string() }))?;
    }
    Ok(ExitCode::Fine)
}
