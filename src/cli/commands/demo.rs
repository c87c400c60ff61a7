//! `orch demo`: plays a whole lifecycle in a sample repository.

mod script;
mod stage;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_base::Code;
use orch_view::DemoAnswer;
use std::path::PathBuf;

/// Create a sample repository and play the whole life of a task in it.
///
/// Prints what happens and why: a blocked review, a refused shortcut, a failing test that sends the task
/// back, a false test report that orch catches by running the tests itself, an edited plan that makes its review stale, an override with its reason, and acceptance. The
/// repository and its commits remain for inspection.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// An empty or new directory; default: a new directory in the system's temporary directory.
    // Not named `directory`: that is the name of the global `-C`, which would take this value too.
    #[arg(value_name = "DIRECTORY")]
    place: Option<PathBuf>,
}

pub fn run(args: &DemoArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let directory = match &args.place {
        Some(place) => context.start.join(place),
        None => tempfile::Builder::new()
            .prefix("orch-demo-")
            .tempdir()
            .map_err(|error| Failure::new(Code::Io, error.to_string()))?
            .keep(),
    };
    std::fs::create_dir_all(&directory)
        .map_err(|error| Failure::new(Code::Io, format!("{}: {error}", directory.display())))?;
    let occupied = std::fs::read_dir(&directory).is_ok_and(|mut entries| entries.next().is_some());
    if occupied {
        let message = format!("{} is not empty", directory.display());
        return Err(Failure::new(Code::NotEmpty, message).hint("name a new or empty directory"));
    }
    // The demo ends with a `cd` to this path, which must work from everywhere.
    let directory = directory.canonicalize().unwrap_or(directory);
    script::play(&directory, context, ui)?;
    if context.global.json {
        ui.document(&DemoAnswer {
            directory: directory.display().to_string(),
        })?;
    }
    Ok(ExitCode::Fine)
}
