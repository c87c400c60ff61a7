//! A program to start, where the system looks for it, and whether it can be started, before a turn is counted for it.

use super::fence::Fence;
use orch_base::Period;
use orch_core::workflow::Times;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program to start, its input, and its limits.
#[derive(Debug, Clone)]
pub struct LimitedProgram {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The working directory of the process.
    pub directory: PathBuf,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
    /// The text on its standard input.
    pub input: String,
    /// Its soft, hard and idle time limits.
    pub times: Times,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Period,
    /// The fence inside which it works.
    pub fence: Option<Fence>,
}

/// A program to start, with the whole of its environment.
#[derive(Debug, Clone)]
pub struct SessionProgram<'p> {
    /// The program and its arguments.
    pub argv: &'p [String],
    /// The working directory.
    pub directory: &'p Path,
    /// Its environment; nothing else is passed on.
    pub environment: &'p BTreeMap<String, String>,
    /// A text in its environment by which all that it starts is recognised. No two programs have it at the same time.
    pub mark: &'p str,
    /// How long it may take.
    pub limit: Period,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Period,
}

/// Why a program cannot be started in a directory; `None` if it seems possible. `path` is the `PATH` to
/// search. Other obstacles show up when it is started.
#[must_use]
pub fn unstartable(program: &str, directory: &Path, path: Option<&OsStr>) -> Option<String> {
    let is_program = |place: &Path| {
        fs::metadata(place)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let why = if program.contains('/') {
        let place = directory.join(program);
        match place.metadata() {
            _ if is_program(&place) => return None,
            Err(error) => error.to_string(),
            Ok(_) => "it is not an executable file".to_owned(),
        }
    } else {
        if places(program, Some(path?))
            .iter()
            .any(|place| is_program(&directory.join(place)))
        {
            return None;
        }
        "it is not on the PATH".to_owned()
    };
    Some(format!("cannot start `{program}`: {why}"))
}

/// Where the system looks for a program without a `PATH`; see execvp(3).
const USUAL_PATH: &str = "/bin:/usr/bin";

/// The files that a program may be, in the order in which the system tries them. Relative ones are seen from its working
/// directory.
fn places(program: &str, path: Option<&OsStr>) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![PathBuf::from(program)];
    }
    let path = path.unwrap_or(OsStr::new(USUAL_PATH));
    std::env::split_paths(path)
        .map(|directory| directory.join(program))
        .collect()
}
