//! git's lock for `git gc`, held by this process while a new commit has objects that no reference leads to.
//!
//! `git gc --prune=now` deletes such objects, and may begin and end between two looks at whether it is at work. It refuses
//! to begin while `gc.pid` names a process that lives. git locks that file (`gc.pid.lock`), reads it, and replaces it. So
//! this process creates the file and then waits until nobody locks it: either it sees the lock, or git sees the file.
//!
//! A `git gc` that is at work already and spares young objects, as it does unless somebody asks for less, is no reason to
//! wait: git's own commits go on beside it. Its file keeps other collectors from beginning, so a commit only has to see
//! that the file is still the same when the branch moves.
//!
//! Our file is locked by the kernel before it has its name, so other `orch` processes, such as one in a linked work
//! tree, know whether its owner lives.

use super::lock_wait::PATIENCE;
use super::new_pack::remove_unfinished;
use super::{Error, Transactions};
use orch_files::{Directory, io_error, open_regular};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

pub(super) const NAME: &str = "gc.pid";
/// The third word of our file, which git does not read.
const OWNER: &str = "orch";
/// git's lock of that file, which it holds for a moment.
const LOCK: &str = "gc.pid.lock";
/// For how many milliseconds git may hold it. One that stays is left of a killed git, and keeps `git gc` from
/// beginning.
const MOMENT: u32 = 200;
/// How often what is left is removed to take the lock.
const MOST_LEFT: u32 = 100;
/// The options of `git gc` that say nothing about when objects are deleted.
const HARMLESS: [&str; 8] = [
    "--aggressive",
    "--auto",
    "--cruft",
    "--detach",
    "--no-detach",
    "--no-quiet",
    "--quiet",
    "-q",
];
/// For how long git keeps unreachable objects unless somebody says otherwise.
const DEFAULT_EXPIRY: &str = "2.weeks.ago";
/// For how long the file is believed if it names another host, such as one outside a container: as long as git does.
const FOREIGN: Duration = Duration::from_secs(12 * 60 * 60);

/// Keeps `git gc` from beginning. Dropping it permits that again.
pub(super) struct GcLock {
    directory: PathBuf,
    file: File,
    /// Whether this process made the file, or a `git gc` that spares young objects.
    is_ours: bool,
}

/// What the file says.
pub(super) enum GcState {
    Free,
    /// A `git gc` works that spares young objects; its file.
    Sparing(File),
    /// A `git gc` works that may delete young objects, in words.
    Collecting(String),
    /// This `orch` process keeps `git gc` from beginning.
    Kept(String),
    /// A process that is dead left the file, or git cannot read it either.
    Left(Option<File>),
}

impl Transactions<'_> {
    /// Waits, by default five seconds, while a `git gc` works that may delete young objects. Returns an error of
    /// [`Class::Busy`](orch_base::Class) if it still does.
    pub(super) fn wait_for_gc(&self) -> Result<(), Error> {
        let mut wait = self.index.patience(Duration::from_secs(5));
        while let GcState::Collecting(who) = self.gc_state() {
            if !wait.again() {
                return Err(gc_is_busy(&who));
            }
        }
        Ok(())
    }

    /// Takes the lock. Waits for `git gc` as [`Self::wait_for_gc`] does, and for another `orch` as long as for its lock.
    /// Returns the same error, and one if the lock cannot be written.
    pub(super) fn lock_gc(&self) -> Result<GcLock, Error> {
        let mut wait = self.index.patience(Duration::from_secs(5));
        let mut wait_for_orch = self.index.patience(PATIENCE);
        let path = self.objects.repo.commondir().join(NAME);
        let mut was_left = false;
        for _ in 0..MOST_LEFT {
            match GcLock::create(&self.layout.own_directory()?, self.objects.repo.commondir()) {
                Ok(created) if created.is_alone() => {
                    if was_left {
                        remove_unfinished(&self.objects.directory());
                    }
                    return Ok(created);
                }
                // Taken over by a `git gc` that had read the file before.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error(&path, error)),
            }
            loop {
                match self.gc_state() {
                    GcState::Collecting(_) if wait.again() => {}
                    GcState::Collecting(who) => return Err(gc_is_busy(&who)),
                    GcState::Kept(_) if wait_for_orch.again() => {}
                    GcState::Kept(process) => {
                        return Err(Error::busy(format!(
                            "another orch (process {process}) is committing"
                        )));
                    }
                    GcState::Left(file) => {
                        clear(&path, file.as_ref()).map_err(|error| io_error(&path, error))?;
                        was_left = true;
                        break;
                    }
                    GcState::Sparing(file) => {
                        return Ok(GcLock {
                            directory: self.objects.repo.commondir().to_owned(),
                            file,
                            is_ours: false,
                        });
                    }
                    GcState::Free => break,
                }
            }
        }
        Err(gc_is_busy(
            "other processes keep taking the lock of `git gc`",
        ))
    }

    /// What the file says now. Writes nothing.
    pub(super) fn gc_state(&self) -> GcState {
        let path = self.objects.repo.commondir().join(NAME);
        let mut file = match open_regular(&path) {
            Ok(Some(file)) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return GcState::Free,
            _ => return GcState::Left(None),
        };
        let mut text = String::new();
        let _ = file.read_to_string(&mut text);
        let mut words = text.split_whitespace();
        let process = words.next().unwrap_or_default();
        let host = words.next();
        let owner = words.next();
        if owner == Some(OWNER) {
            return match file.try_lock() {
                Err(TryLockError::WouldBlock) => GcState::Kept(process.to_owned()),
                _ => GcState::Left(Some(file)),
            };
        }
        let written = file.metadata().and_then(|metadata| metadata.modified());
        let is_young =
            written.is_ok_and(|written| written.elapsed().map_or(true, |age| age < FOREIGN));
        match (process.parse().ok(), host) {
            (Some(id), _) if collects(id) && self.spares_young(id, &file) => GcState::Sparing(file),
            (Some(id), _) if collects(id) => {
                GcState::Collecting(format!("`git gc` (process {process}) is running"))
            }
            (Some(_), Some(host)) if is_young && *host != own_host() => {
                let place = path.display();
                GcState::Collecting(format!(
                    "`git gc` on `{host}` may be running, as {place} says (remove it if none is)"
                ))
            }
            _ => GcState::Left(Some(file)),
        }
    }

    /// Whether a `git gc` with this process number deletes only objects that are older than any commit in the making.
    /// One of which nobody can tell does not.
    fn spares_young(&self, id: u32, gc_file: &File) -> bool {
        let of_gc = |what: &str| fs::read(format!("/proc/{id}/{what}")).ok();
        let own = fs::read("/proc/self/environ").ok();
        let (Some(arguments), Some(environment), Some(own)) =
            (of_gc("cmdline"), of_gc("environ"), own)
        else {
            return false;
        };
        // What decides about its settings has to be the same here: its variables, its work tree, and the files as they
        // were when it began.
        let works_here = fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|at| {
            at.starts_with(self.layout.root) || at.starts_with(self.objects.repo.path())
        });
        if !works_here
            || variables_of_settings(&environment) != variables_of_settings(&own)
            || self.has_newer_settings(gc_file)
        {
            return false;
        }
        // git fails if there is none.
        let expiry = self.git.git(&["config", "--get", "gc.pruneExpire"], &[]);
        let expiry = match expiry {
            Ok(expiry) => Some(String::from_utf8_lossy(&expiry).trim().to_owned()),
            Err(_) if self.git.git(&["config", "--list", "-z"], &[]).is_ok() => None,
            Err(_) => return false,
        };
        keeps_days(&arguments, expiry.as_deref())
    }

    /// Whether the settings of the repository may have been changed since a `git gc` wrote its file.
    fn has_newer_settings(&self, gc_file: &File) -> bool {
        let begun = gc_file.metadata().and_then(|file| file.modified());
        let Ok(begun) = begun else {
            return true;
        };
        let own = self.objects.repo.path().join("config.worktree");
        let files = [self.objects.repo.commondir().join("config"), own];
        files.iter().any(|file| match file.metadata() {
            Ok(file) => file.modified().map_or(true, |changed| changed >= begun),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        })
    }
}

/// The variables in an environment, as `/proc` shows it, that decide which settings git reads.
fn variables_of_settings(environment: &[u8]) -> BTreeSet<&[u8]> {
    let variables = environment.split(|byte| *byte == 0);
    let is_meant = |variable: &&[u8]| {
        [
            "HOME=",
            "XDG_CONFIG_HOME=",
            "GIT_CONFIG",
            "GIT_DIR=",
            "GIT_WORK_TREE=",
        ]
        .iter()
        .any(|name| variable.starts_with(name.as_bytes()))
    };
    variables.filter(is_meant).collect()
}

/// Whether a command line, with a null byte after each word, is one of `git gc` that keeps unreachable objects for a day or
/// longer, where `expiry` is the setting `gc.pruneExpire`. See git-gc(1) for the default, two weeks. git takes an option by
/// the beginning of its name, so every word that is not known as it stands may be a dangerous one.
fn keeps_days(command_line: &[u8], expiry: Option<&str>) -> bool {
    let line = String::from_utf8_lossy(command_line);
    let mut words = line.trim_end_matches('\0').split('\0').skip(1);
    let mut expiry = expiry.unwrap_or(DEFAULT_EXPIRY);
    if words.next() != Some("gc") {
        return false;
    }
    for word in words {
        match word.strip_prefix("--prune=") {
            Some(given) => expiry = given,
            None if HARMLESS.contains(&word) => {}
            None => return false,
        }
    }
    let words: Vec<&str> = expiry.split(['.', ' ']).collect();
    match words.as_slice() {
        ["never"] => true,
        [number, unit, "ago"] => {
            let unit = unit.trim_end_matches('s');
            ["day", "week", "month", "year"].contains(&unit)
                && number.parse().is_ok_and(|number: u32| number > 0)
        }
        _ => false,
    }
}

/// Removes what is left, if it is still there. git replaces it, too.
fn clear(path: &Path, file: Option<&File>) -> io::Result<()> {
    match file
        .is_none_or(|file| is_at(file, path))
        .then(|| fs::remove_file(path))
    {
        Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a process with this number lives and is a git, as far as the system tells. Numbers are used again.
fn collects(id: u32) -> bool {
    match fs::read(format!("/proc/{id}/comm")) {
        Ok(name) => name.starts_with(b"git"),
        // Without `/proc` nobody knows.
        Err(error) => error.kind() != io::ErrorKind::NotFound || !Path::new("/proc/self").exists(),
    }
}

/// Whether this open file is what has the path.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |metadata: io::Result<fs::Metadata>| metadata.map(|at| (at.dev(), at.ino())).ok();
    let own = place(file.metadata());
    own.is_some() && own == place(path.symlink_metadata())
}

impl GcLock {
    /// Creates the file in `directory`, by a link from our own, so that it is complete when others see it.
    fn create(own: &Directory, directory: &Path) -> io::Result<Self> {
        let mut file = own.create_anew(NAME)?;
        let written = file.try_lock().map_err(io::Error::from).and_then(|()| {
            file.write_all(format!("{} {} {OWNER}\n", std::process::id(), own_host()).as_bytes())
        });
        let linked =
            written.and_then(|()| own.link(NAME, &Directory::open(directory, directory)?, NAME));
        // One that stays is replaced by the next.
        let _ = own.remove(NAME);
        linked.map(|()| Self {
            directory: directory.to_owned(),
            file,
            is_ours: true,
        })
    }

    /// Waits until no `git gc` can have read the file before this process created it. Returns whether it is still ours.
    fn is_alone(&self) -> bool {
        for _ in 0..MOMENT {
            if self.directory.join(LOCK).symlink_metadata().is_err() {
                break;
            }
            sleep(Duration::from_millis(1));
        }
        self.is_held()
    }

    /// Returns an error of [`Class::Busy`](orch_base::Class) if a `git gc` has taken the lock, which it does with
    /// `--force`, and [`Error::moved`] if the one that spares young objects has ended: another may have come since.
    pub(super) fn require(&self) -> Result<(), Error> {
        if self.is_held() {
            Ok(())
        } else if self.is_ours {
            Err(gc_is_busy("`git gc` is running"))
        } else {
            Err(Error::moved())
        }
    }

    fn is_held(&self) -> bool {
        is_at(&self.file, &self.directory.join(NAME))
    }
}

impl Drop for GcLock {
    fn drop(&mut self) {
        if self.is_ours && self.is_held() {
            // One that stays is locked by nobody, so the next `orch` replaces it.
            let _ = fs::remove_file(self.directory.join(NAME));
        }
    }
}

/// The name of this machine, as git writes it.
pub(super) fn own_host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn gc_is_busy(holder: &str) -> Error {
    Error::busy(format!(
        "{holder}, and `git gc` deletes objects that no reference leads to yet"
    ))
}

#[cfg(test)]
mod tests {
    use super::{keeps_days, variables_of_settings};

    #[test]
    fn only_a_collector_that_keeps_objects_for_days_is_no_danger() {
        for (arguments, expiry, expected) in [
            ("git gc", None, true),
            ("git gc --auto --quiet", None, true),
            ("git gc", Some("3.days.ago"), true),
            ("git gc", Some("1 month ago"), true),
            ("git gc", Some("never"), true),
            ("git gc --prune=2.weeks.ago", Some("now"), true),
            ("git gc --prune=now", None, false),
            ("git gc --prune=all", None, false),
            ("git gc --pru=now", None, false),
            ("git gc --prun now", None, false),
            ("git gc --prune=1.hour.ago", None, false),
            ("git gc --prune=0.days.ago", None, false),
            ("git gc --prune=2026-01-01", None, false),
            ("git gc --expire-to=x", None, false),
            ("git gc", Some("now"), false),
            ("git -c gc.pruneExpire=now gc", None, false),
            ("git -C elsewhere gc", None, false),
            ("git maintenance run", None, false),
        ] {
            let line = format!("{}\0", arguments.replace(' ', "\0"));
            let held = keeps_days(line.as_bytes(), expiry);
            assert_eq!(held, expected, "{arguments} {expiry:?}");
        }
    }

    #[test]
    fn other_variables_of_settings_are_other_settings() {
        let own = b"HOME=/a\0PATH=/b\0GIT_CONFIG_COUNT=1\0";
        for (other, is_same) in [
            (&b"GIT_CONFIG_COUNT=1\0PATH=/c\0HOME=/a\0"[..], true),
            (b"HOME=/b\0GIT_CONFIG_COUNT=1\0", false),
            (b"HOME=/a\0", false),
            (b"HOME=/a\0GIT_CONFIG_COUNT=1\0XDG_CONFIG_HOME=/x\0", false),
        ] {
            let is_equal = variables_of_settings(other) == variables_of_settings(own);
            assert_eq!(is_equal, is_same, "{}", String::from_utf8_lossy(other));
        }
    }
}
