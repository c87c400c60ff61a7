//! Where checkouts are: below a directory for each repository, one for each task and table.
//!
//! ```text
//! CACHE/REPOSITORY/TASK/NAME            the checkout
//! CACHE/REPOSITORY/@base/NAME           that of the base of all tasks
//! CACHE/REPOSITORY/.store.git           the objects of all of them
//! CACHE/REPOSITORY/.state/TASK/NAME/    what orch keeps about one: lock, index, setup, log
//! ```

use super::{CouldNotRun, VerifyEvent, VerifyWatch};
use orch_base::{ObjectFormat, TaskId, VerificationName};
use orch_core::verification::NotRun;
use orch_files::FileLock;
use orch_git::Store;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};
use walkdir::WalkDir;

/// The name of the directory of the base's checkouts. No task has it.
pub(super) const BASE: &str = "@base";
/// What `orch` keeps about checkouts.
const STATE: &str = ".state";
/// The file that says by its time when a checkout was used.
const USED: &str = "used";
/// The pause between two tries to lock.
const PAUSE: Duration = Duration::from_millis(50);

/// The checkouts of a repository.
pub(super) struct CheckoutPlaces {
    directory: PathBuf,
}

/// A checkout that this process alone uses, as long as this value lives.
pub(super) struct CheckoutSlot {
    /// The root of the checkout, whether or not it is there.
    pub root: PathBuf,
    state: PathBuf,
    _lock: FileLock,
}

/// A checkout in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedCheckout {
    /// The directory with the task's name, and the name of the table: `TASK/NAME`.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// How many bytes its files have.
    pub bytes: u64,
    /// When it was last used.
    pub used: Option<SystemTime>,
    /// Whether a process uses it now.
    pub is_in_use: bool,
}

/// The checkouts of a repository in the cache, the longest unused first.
#[must_use]
pub fn cached_checkouts(store: &Store, cache: &Path) -> Vec<CachedCheckout> {
    let places = CheckoutPlaces::named(store, cache);
    let mut found = Vec::new();
    for (task, name) in places.known() {
        let state = places.directory.join(STATE).join(&task).join(&name);
        let path = places.directory.join(&task).join(&name);
        found.push(CachedCheckout {
            name: format!("{task}/{name}"),
            bytes: size(&path) + size(&state),
            used: used(&state),
            is_in_use: matches!(try_lock(&state.join("lock")), Ok(None)),
            path,
        });
    }
    found.sort_by_key(|one| one.used);
    found
}

/// Removes all checkouts of a repository that no process uses, and with the last one the objects. Returns those that are
/// left, and an error if one cannot be removed.
pub fn remove_cached_checkouts(store: &Store, cache: &Path) -> io::Result<Vec<CachedCheckout>> {
    let places = CheckoutPlaces::named(store, cache);
    for (task, name) in places.known() {
        places.remove_unused(&task, &name)?;
    }
    let left = cached_checkouts(store, cache);
    if left.is_empty() {
        remove_tree(&places.directory)?;
    }
    Ok(left)
}

/// The directory of all checkouts of a repository, whether or not it is there.
#[must_use]
pub fn checkouts_directory(store: &Store, cache: &Path) -> PathBuf {
    CheckoutPlaces::named(store, cache).directory
}

impl CheckoutPlaces {
    fn named(store: &Store, cache: &Path) -> Self {
        let common = store.layout().common_directory();
        let common = common.canonicalize().unwrap_or_else(|_| common.to_owned());
        // For people who look there; the digest tells repositories apart.
        let shown = match common.file_name().and_then(|name| name.to_str()) {
            Some(".git") => common.parent().and_then(Path::file_name),
            _ => common.file_name(),
        };
        let shown: String = shown
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
            .take(40)
            .collect();
        let text = common.to_string_lossy();
        let digest = ObjectFormat::Sha256.blob(text.as_bytes()).to_string();
        let name = format!("{shown}-{}", &digest[..16]);
        let cache = cache.canonicalize().unwrap_or_else(|_| cache.to_owned());
        Self {
            directory: cache.join(name),
        }
    }

    /// Those of a repository in a cache directory, which is made. It must not be below the repository.
    pub(super) fn of(store: &Store, cache: &Path) -> Result<Self, CouldNotRun> {
        let made = make(cache).and_then(|()| {
            let places = Self::named(store, cache);
            make(&places.directory.join(STATE))?;
            Ok(places)
        });
        let places = made.map_err(|error| system(cache, &error))?;
        let is_inside = |root: &Path| {
            let root = root.canonicalize();
            root.is_ok_and(|root| places.directory.starts_with(root))
        };
        let layout = store.layout();
        if is_inside(layout.root()) || is_inside(layout.common_directory()) {
            let message = format!(
                "the cache {} is inside the repository, whose files a checkout there would find",
                cache.display()
            );
            let mut why = CouldNotRun::new(NotRun::System, message);
            why.hint = Some("let XDG_CACHE_HOME name a directory outside the repository".into());
            return Err(why);
        }
        Ok(places)
    }

    /// The directory of the objects.
    pub(super) fn store(&self) -> PathBuf {
        self.directory.join(".store.git")
    }

    /// The directory of the objects of a submodule, by the place that it comes from.
    pub(super) fn module(&self, source: &str) -> PathBuf {
        let digest = ObjectFormat::Sha256.blob(source.as_bytes()).to_string();
        self.directory.join(".modules").join(&digest[..24])
    }

    /// Waits until no other process changes the objects. Returns an error if they cannot be locked.
    pub(super) fn lock_store(&self, watch: &mut VerifyWatch<'_>) -> Result<FileLock, CouldNotRun> {
        lock(&self.directory.join(STATE).join("store.lock"), watch)
    }

    /// The checkout for a task and a table. Waits until no other process uses it.
    pub(super) fn take(
        &self,
        task: &str,
        name: &VerificationName,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<CheckoutSlot, CouldNotRun> {
        let state = self.directory.join(STATE).join(task).join(name.as_str());
        make(&state).map_err(|error| system(&state, &error))?;
        let lock = lock(&state.join("lock"), watch)?;
        let slot = CheckoutSlot {
            root: self.directory.join(task).join(name.as_str()),
            state,
            _lock: lock,
        };
        let used = slot.file(USED);
        fs::write(&used, "").map_err(|error| system(&used, &error))?;
        Ok(slot)
    }

    /// Whether there is a checkout for a task and a table.
    pub(super) fn is_there(&self, task: &str, name: &VerificationName) -> bool {
        self.directory.join(task).join(name.as_str()).is_dir()
    }

    /// Removes the checkouts that are unused for the longest, until there are at most so many. Those in use stay.
    pub(super) fn make_room(&self, most: usize) {
        let mut known: Vec<(Option<SystemTime>, String, String)> = self
            .known()
            .into_iter()
            .map(|(task, name)| {
                let state = self.directory.join(STATE).join(&task).join(&name);
                (used(&state), task, name)
            })
            .collect();
        known.sort();
        let mut surplus = known.len().saturating_sub(most.max(1));
        for (_, task, name) in known {
            if surplus == 0 {
                break;
            }
            match self.remove_unused(&task, &name) {
                Ok(true) => surplus -= 1,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, task, name, "cannot remove a checkout"),
            }
        }
    }

    /// Removes a checkout with all that is kept about it, unless a process uses it. Returns whether it is gone.
    fn remove_unused(&self, task: &str, name: &str) -> io::Result<bool> {
        let state = self.directory.join(STATE).join(task).join(name);
        let Some(_lock) = try_lock(&state.join("lock"))? else {
            return Ok(false);
        };
        remove_tree(&self.directory.join(task).join(name))?;
        remove_tree(&state)?;
        // They stay if there are others.
        let _ = fs::remove_dir(self.directory.join(task));
        let _ = fs::remove_dir(self.directory.join(STATE).join(task));
        Ok(true)
    }

    /// The directories of tasks and tables of all checkouts.
    fn known(&self) -> Vec<(String, String)> {
        let names = |directory: &Path| -> Vec<String> {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect()
        };
        let state = self.directory.join(STATE);
        let mut known = Vec::new();
        for task in names(&state) {
            for name in names(&state.join(&task)) {
                known.push((task.clone(), name));
            }
        }
        known
    }
}

impl CheckoutSlot {
    /// The path of a file that `orch` keeps about it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    /// The index of the checkout, or of a submodule in it.
    pub(super) fn index(&self, submodule: &str) -> PathBuf {
        if submodule.is_empty() {
            return self.file("index");
        }
        let digest = ObjectFormat::Sha256.blob(submodule.as_bytes()).to_string();
        self.file(&format!("index-{}", &digest[..24]))
    }

    /// Makes it as if it had never been used. What a base gave is kept elsewhere.
    pub(super) fn wipe(&self) -> io::Result<()> {
        remove_tree(&self.root)?;
        for entry in fs::read_dir(&self.state)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == "setup.json" || name.starts_with("index") {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// The name of a directory for a task, different for each.
pub(super) fn directory_of(task: &TaskId) -> String {
    let mut name = String::new();
    for letter in task.as_str().chars() {
        match letter {
            '/' => name.push_str("%2F"),
            '%' => name.push_str("%25"),
            '@' | '.' if name.is_empty() => {
                name.push_str(if letter == '@' { "%40" } else { "%2E" });
            }
            letter => name.push(letter),
        }
    }
    if name.len() <= 120 {
        return name;
    }
    let digest = ObjectFormat::Sha256.blob(name.as_bytes()).to_string();
    let end = name.floor_char_boundary(100);
    format!("{}%{}", &name[..end], &digest[..16])
}

/// Makes a directory that only this user can enter, and those above it.
pub(super) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes a file or a directory with all in it, also where a run has taken away its own permissions.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    if !found.is_dir() {
        return fs::remove_file(path);
    }
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    // A directory is changed before it is read.
    for entry in WalkDir::new(path).follow_root_links(false).into_iter() {
        let place = match &entry {
            Ok(entry) if entry.file_type().is_dir() => entry.path(),
            Ok(_) => continue,
            Err(error) => error.path().unwrap_or(path),
        };
        let _ = fs::set_permissions(place, Permissions::from_mode(0o700));
    }
    let mut rest = fs::remove_dir_all(path);
    // What could not be read is read now, one level more with each round.
    for _ in 0..100 {
        if rest.is_ok() {
            break;
        }
        for entry in WalkDir::new(path).follow_root_links(false).into_iter() {
            if let Err(error) = entry
                && let Some(place) = error.path()
            {
                let _ = fs::set_permissions(place, Permissions::from_mode(0o700));
            }
        }
        rest = fs::remove_dir_all(path);
    }
    rest
}

/// The reason that files of `orch` cannot be read or written.
pub(super) fn system(path: &Path, error: &io::Error) -> CouldNotRun {
    let mut why = CouldNotRun::new(NotRun::System, format!("{}: {error}", path.display()));
    why.hint = orch_files::refusal(error.kind());
    why
}

/// When a checkout was last used.
fn used(state: &Path) -> Option<SystemTime> {
    state.join(USED).metadata().ok()?.modified().ok()
}

/// How many bytes the files below a directory have.
fn size(directory: &Path) -> u64 {
    let entries = WalkDir::new(directory).into_iter().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok());
    files
        .filter(|found| found.is_file())
        .map(|found| found.len())
        .sum()
}

/// Locks a file; `None` if another process holds it.
fn try_lock(path: &Path) -> io::Result<Option<FileLock>> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let Some(lock) = FileLock::try_new(file)? else {
        return Ok(None);
    };
    // Whoever has removed the checkout meanwhile has removed its lock, too.
    let is_same = path.metadata().is_ok_and(|found| {
        lock.metadata()
            .is_ok_and(|locked| (locked.dev(), locked.ino()) == (found.dev(), found.ino()))
    });
    Ok(is_same.then_some(lock))
}

/// Locks a file, and waits for whoever holds it.
fn lock(path: &Path, watch: &mut VerifyWatch<'_>) -> Result<FileLock, CouldNotRun> {
    let mut has_told = false;
    loop {
        let above = path.parent().unwrap_or(path);
        let locked = make(above).and_then(|()| try_lock(path));
        if let Some(lock) = locked.map_err(|error| system(path, &error))? {
            return Ok(lock);
        }
        if (watch.wants_stop)() {
            return Err(CouldNotRun::new(
                NotRun::Stopped,
                "it was stopped while it waited for another process",
            ));
        }
        if !has_told {
            has_told = true;
            (watch.hear)(VerifyEvent::Waits);
        }
        sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_has_a_directory_of_its_own() {
        let long = "x".repeat(200);
        let ids = ["a/b", "a%2Fb", "@base", ".state", "a", "a/b/c", &long];
        let named = |id: &&str| directory_of(&TaskId::new(id).expect("an id"));
        let names: Vec<String> = ids.iter().map(named).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!name.contains('/') && name.len() <= 120, "{name}");
            assert!(!name.starts_with(['@', '.']), "{name}");
            assert!(!names[..at].contains(name), "{name}");
        }
    }

    #[test]
    fn a_tree_goes_whatever_a_run_has_forbidden() {
        let directory = tempfile::tempdir().expect("a directory");
        let tree = directory.path().join("tree");
        fs::create_dir_all(tree.join("a/b/c")).expect("made");
        fs::write(tree.join("a/b/c/file"), "x").expect("written");
        for below in ["a/b/c", "a/b", "a"] {
            fs::set_permissions(tree.join(below), Permissions::from_mode(0o0)).expect("set");
        }
        remove_tree(&tree).expect("removed");
        assert!(!tree.exists());
    }
}
