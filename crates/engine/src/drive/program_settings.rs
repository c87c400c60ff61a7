//! The settings of agent programs at the root of a repository: an executor that is such a program starts what they name.

use orch_base::{Error, ObjectFormat, PROGRAM_SETTINGS, ProgramSettings};
use orch_files::io_error;
use orch_git::durable;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The files that are there, by their paths, each with what it is: its content, and where it leads if it is a link.
pub(super) type FoundSettings = BTreeMap<String, String>;

/// The paths at which settings of agent programs are, or whole directories of them.
pub(super) fn settings_places(root: &Path) -> Vec<String> {
    let whole = PROGRAM_SETTINGS
        .iter()
        .filter_map(|kind| kind.begin.strip_suffix('/'))
        .map(str::to_owned);
    let single = settings_paths(root).unwrap_or_default();
    whole.chain(single).collect()
}

/// The settings of agent programs at the root. Returns an error if one cannot be read.
pub(super) fn program_settings(root: &Path) -> Result<FoundSettings, Error> {
    let mut found = FoundSettings::new();
    for path in settings_paths(root)? {
        let what = what_is_named(root, &path)?;
        found.insert(path, what);
    }
    Ok(found)
}

/// The paths of the settings of agent programs at the root. Returns an error if a directory cannot be read.
fn settings_paths(root: &Path) -> Result<BTreeSet<String>, Error> {
    let mut paths = BTreeSet::new();
    for ProgramSettings { begin, end } in PROGRAM_SETTINGS {
        if let Some(directory) = begin.strip_suffix('/') {
            collect(root, directory, &mut paths)?;
        } else if end.is_empty() {
            paths.extend(is_there(root, begin).then(|| begin.to_owned()));
        } else {
            let (directory, start) = begin.rsplit_once('/').unwrap_or((".", begin));
            let names = names(root, directory)?.into_iter();
            let meant = names.filter(|name| name.starts_with(start) && name.ends_with(end));
            paths.extend(meant.map(|name| format!("{directory}/{name}")));
        }
    }
    Ok(paths)
}

fn is_there(root: &Path, path: &str) -> bool {
    root.join(path).symlink_metadata().is_ok()
}

/// The names in a directory; none if there is no such directory.
fn names(root: &Path, directory: &str) -> Result<Vec<String>, Error> {
    let path = root.join(directory);
    let failed = |error| io_error(&path, error);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Collects all files below a directory. A link is one, wherever it leads.
fn collect(root: &Path, directory: &str, paths: &mut BTreeSet<String>) -> Result<(), Error> {
    for name in names(root, directory)? {
        let path = format!("{directory}/{name}");
        let is_directory = root
            .join(&path)
            .symlink_metadata()
            .is_ok_and(|entry| entry.is_dir());
        if is_directory {
            collect(root, &path, paths)?;
        } else {
            paths.insert(path);
        }
    }
    Ok(())
}

/// What a word of a command names in the repository, as text: the links on the way, and the content of the file that
/// they lead to, wherever it is. Empty if it names nothing there: a program of the system is the person's own.
pub(super) fn what_is_named(root: &Path, word: &str) -> Result<String, Error> {
    let path = root.join(word);
    let Ok(below) = path.strip_prefix(root) else {
        return Ok(String::new());
    };
    let mut text = String::new();
    let mut at = root.to_owned();
    for part in below.components() {
        at.push(part);
        if let Ok(target) = fs::read_link(&at) {
            text += &format!("link {}\n", target.to_string_lossy());
        }
    }
    let is_named = |real: &PathBuf| (!text.is_empty() || real.starts_with(root)) && real.is_file();
    if let Some(real) = path.canonicalize().ok().filter(is_named) {
        let bytes = durable::read_if_regular(&real).map_err(|source| io_error(&real, source))?;
        text += &format!(
            "{}\n",
            ObjectFormat::Sha256.blob(&bytes.unwrap_or_default())
        );
    }
    Ok(text)
}
