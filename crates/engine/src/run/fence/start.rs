//! Starts a program inside a fence, and hears how that went.

use super::mounts::is_mounted;
use super::own_directory::{OwnDirectory, remove_dead};
use super::plan::{Access, FencePlan};
use super::report::{FENCED, FenceReport};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A fence for one program: its plan, and a directory of its own that is removed with the last copy of this value.
#[derive(Debug, Clone)]
pub struct Fence {
    files: Arc<FenceFiles>,
    plan: Arc<FencePlan>,
}

#[derive(Debug)]
struct FenceFiles(OwnDirectory);

impl FenceFiles {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The file whose first line is the plan; each further one is what the process says.
const PLAN: &str = "plan.jsonl";
/// The directory that a program inside has for its temporary files.
const TEMPORARY: &str = "tmp";
/// The directory of the hooks that git runs inside.
const HOOKS: &str = "hooks";

/// The directory for temporary files of all users.
const TEMPORARY_OF_ALL: &str = "/tmp";
/// The directories for temporary files of all users. Inside, one directory is in the place of all.
const SHARED: [&str; 2] = [TEMPORARY_OF_ALL, "/var/tmp"];

impl Fence {
    /// Writes the plan of a fence. `access` is made from the places of this fence's own directory. Returns an error if that
    /// directory or a file in it cannot be made.
    pub fn new(
        directory: &Path,
        access: impl FnOnce(&OwnPlaces<'_>) -> io::Result<BTreeMap<PathBuf, Access>>,
    ) -> io::Result<Self> {
        // What lies in the repository could be committed.
        let temporary = std::env::temp_dir();
        let temporary = if temporary.starts_with(directory) {
            PathBuf::from(TEMPORARY_OF_ALL)
        } else {
            temporary
        };
        let named = |error: io::Error| {
            let place = temporary.display();
            io::Error::new(error.kind(), format!("{place}: {error}"))
        };
        let made = OwnDirectory::make(&temporary).map_err(named)?;
        let real = made.path().canonicalize()?;
        let files = Arc::new(FenceFiles(made));
        let own = OwnPlaces { directory: &real };
        let path = own.temporary();
        fs::create_dir(&path)?;
        // A program of another user that is started inside writes there, too.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777))?;
        let plan = FencePlan {
            access: access(&own)?,
            directory: directory.to_owned(),
        };
        let mut text = serde_json::to_vec(&plan)?;
        text.push(b'\n');
        fs::write(real.join(PLAN), text)?;
        Ok(Self {
            files,
            plan: Arc::new(plan),
        })
    }

    /// The arguments that start a program inside: this program once more, which becomes the other one.
    #[must_use]
    pub fn around(&self, argv: &[String]) -> Vec<String> {
        let plan = self.files.path(PLAN).display().to_string();
        let own = ["/proc/self/exe".to_owned(), FENCED.to_owned(), plan];
        own.into_iter().chain(argv.iter().cloned()).collect()
    }

    /// The directory for temporary files, as the program sees it.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        let shared = Path::new(TEMPORARY_OF_ALL);
        if self.plan.access.contains_key(shared) {
            shared.to_owned()
        } else {
            self.files.path(TEMPORARY)
        }
    }

    /// What the process has said; `None` if it has not come so far.
    #[must_use]
    pub fn report(&self) -> Option<FenceReport> {
        let text = fs::read_to_string(self.files.path(PLAN)).ok()?;
        serde_json::from_str(text.lines().skip(1).last()?).ok()
    }

    /// What it permits.
    #[must_use]
    pub fn plan(&self) -> &FencePlan {
        &self.plan
    }

    /// A path whose mount the process has lost, because somebody outside has replaced what was there.
    #[must_use]
    pub fn lost(&self, process: i32) -> Option<&Path> {
        if self.report() != Some(FenceReport::Up) {
            return None;
        }
        // The process may have ended.
        let text = fs::read(format!("/proc/{process}/mountinfo")).ok()?;
        if text.is_empty() {
            return None;
        }
        self.plan.watched().find(|path| !is_mounted(&text, path))
    }
}

/// Removes what killed processes of this user have left of their fences.
pub fn remove_dead_fences() {
    let places = BTreeSet::from([std::env::temp_dir(), PathBuf::from(TEMPORARY_OF_ALL)]);
    places.iter().for_each(|place| remove_dead(place));
}

/// The directories of a fence itself.
#[derive(Debug)]
pub struct OwnPlaces<'a> {
    directory: &'a Path,
}

impl OwnPlaces<'_> {
    /// What is inside in the place of directories that all users share.
    #[must_use]
    pub fn instead(&self) -> BTreeMap<PathBuf, Access> {
        let mut instead = BTreeMap::new();
        for path in SHARED {
            if is_directory(Path::new(path)) {
                instead.insert(path.into(), Access::Own(self.temporary()));
            }
        }
        let memory = Path::new("/dev/shm");
        if is_directory(memory) {
            instead.insert(memory.to_owned(), Access::Memory);
        }
        instead
    }

    /// All of them, which nobody inside may write except for temporary files.
    #[must_use]
    pub fn all(&self) -> &Path {
        self.directory
    }

    /// The directory for temporary files, as it is outside.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.directory.join(TEMPORARY)
    }

    /// That directory, if it has to be opened where it is: unless it is in the place of that of all users.
    #[must_use]
    pub fn further_temporary(&self, instead: &BTreeMap<PathBuf, Access>) -> Option<PathBuf> {
        let is_there = instead.contains_key(Path::new(TEMPORARY_OF_ALL));
        (!is_there).then(|| self.temporary())
    }

    /// The directory of the hooks, which is made. Returns an error if it cannot be.
    pub fn hooks(&self) -> io::Result<PathBuf> {
        let path = self.directory.join(HOOKS);
        fs::create_dir(&path)?;
        Ok(path)
    }
}

/// Whether it is a directory itself, and no link.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_are_opened_where_they_are_unless_they_are_in_the_place_of_those_of_all() {
        let own = OwnPlaces {
            directory: Path::new("/var/tmp/orch-1"),
        };
        let opened = PathBuf::from("/var/tmp/orch-1/tmp");
        for (hidden, expected) in [
            (["/tmp", "/var/tmp"].as_slice(), None),
            (&["/var/tmp"], Some(&opened)),
            (&[], Some(&opened)),
        ] {
            let instead = hidden
                .iter()
                .map(|path| (PathBuf::from(path), Access::Memory));
            let instead = BTreeMap::from_iter(instead);
            assert_eq!(own.further_temporary(&instead).as_ref(), expected);
        }
    }
}
