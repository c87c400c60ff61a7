//! Finds the repository: the one around a directory, or the one that the environment names.

use super::git::git_opens;
use super::pipe::refuse_pipes_of;
use super::{Error, IndexGate, durable};
use crate::error::libgit2;
use git2::{ErrorCode, Repository, RepositoryOpenFlags};
use orch_base::Code;
use orch_files::{io_error, permitted};
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// The git environment variables, read once at the start of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `GIT_DIR`: the git directory.
    pub git_dir: Option<PathBuf>,
    /// `GIT_WORK_TREE`: the root of the work tree.
    pub work_tree: Option<PathBuf>,
    /// `GIT_CEILING_DIRECTORIES`: the directories that the search for a repository does not reach.
    pub ceilings: Vec<PathBuf>,
    /// `GIT_DISCOVERY_ACROSS_FILESYSTEM`: whether the search leaves the file system where it began.
    pub crosses_devices: bool,
    /// `GIT_INDEX_FILE`: the index that a hook has to check.
    pub index_file: Option<PathBuf>,
    /// Whether the environment contains settings, as `git -c` passes them, other than those of
    /// [`Environment::for_executors`].
    pub has_settings: bool,
    /// Whether `GIT_CONFIG_GLOBAL` names no file, so that the settings of the user do not count. Agent programs do so.
    pub hides_settings: bool,
    /// `GIT_CONFIG_COUNT`: how many settings other variables contain; the largest number if it is none.
    settings: u32,
    /// Whether the environment says where objects are (`GIT_OBJECT_DIRECTORY`).
    pub moves_objects: bool,
    /// The gate that the stores opened with it pass to lock an index.
    pub index_gate: IndexGate,
}

/// The settings of git as they are now. The answers of [`Repository::config`] itself are not safe to ask for: it reads a
/// file that has changed again, and if that fails libgit2 1.9 frees an entry that it never had.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads settings"
)]
pub(super) fn settings(repo: &Repository) -> Result<git2::Config, git2::Error> {
    repo.config()?.snapshot()
}

/// The settings of git in this clone, to write to. They are not to be read.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that writes settings"
)]
pub(super) fn settings_of_clone(repo: &Repository) -> Result<git2::Config, git2::Error> {
    repo.config()?.open_level(git2::ConfigLevel::Local)
}

/// The file that holds nothing.
const NO_FILE: &str = "/dev/null";

/// The settings that keep git from leaving a process behind after a commit.
const IN_FOREGROUND: [&str; 2] = ["maintenance.autoDetach", "gc.autoDetach"];

impl Environment {
    /// Reads the environment variables through a function.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        let settings =
            given("GIT_CONFIG_COUNT").map_or(0, |count| count.trim().parse().unwrap_or(u32::MAX));
        let is_own = |number| {
            given(&format!("GIT_CONFIG_KEY_{number}"))
                .is_some_and(|key| IN_FOREGROUND.contains(&key.as_str()))
        };
        let has_others = !(0..settings).all(is_own);
        Self {
            git_dir: given("GIT_DIR").map(PathBuf::from),
            work_tree: given("GIT_WORK_TREE").map(PathBuf::from),
            ceilings: given("GIT_CEILING_DIRECTORIES")
                .map(|list| ceilings(&list))
                .unwrap_or_default(),
            crosses_devices: given("GIT_DISCOVERY_ACROSS_FILESYSTEM")
                .is_some_and(|value| is_true(&value)),
            index_file: given("GIT_INDEX_FILE").map(PathBuf::from),
            has_settings: has_others || given("GIT_CONFIG_PARAMETERS").is_some(),
            hides_settings: variable("GIT_CONFIG_GLOBAL")
                .is_some_and(|path| path.is_empty() || path == NO_FILE),
            settings,
            moves_objects: given("GIT_OBJECT_DIRECTORY").is_some(),
            index_gate: IndexGate::default(),
        }
    }

    /// The variables by which the git of an executor does its maintenance before it ends: what an executor leaves
    /// behind is ended, and would leave unfinished files. See git-config(1).
    #[must_use]
    pub fn for_executors(&self) -> Vec<(String, String)> {
        // Such an environment git refuses, and it need not be mended.
        let Some(count) = self.settings.checked_add(2) else {
            return Vec::new();
        };
        let each = (self.settings..count)
            .zip(IN_FOREGROUND)
            .flat_map(|(number, key)| {
                [
                    (format!("GIT_CONFIG_KEY_{number}"), key.to_owned()),
                    (format!("GIT_CONFIG_VALUE_{number}"), "false".to_owned()),
                ]
            });
        each.chain([("GIT_CONFIG_COUNT".to_owned(), count.to_string())])
            .collect()
    }

    /// Makes relative paths absolute, as seen from `start`, like git does after `-C`.
    #[must_use]
    pub fn seen_from(self, start: &Path) -> Self {
        let absolute = |path: Option<PathBuf>| path.map(|path| start.join(path));
        Self {
            git_dir: absolute(self.git_dir),
            work_tree: absolute(self.work_tree),
            ..self
        }
    }

    /// The same for another work tree of the repository: the variables that name this one do not count.
    #[must_use]
    pub fn elsewhere(&self) -> Self {
        Self {
            git_dir: None,
            work_tree: None,
            index_file: None,
            ..self.clone()
        }
    }

    /// Opens the repository for the directory `start`; `None` outside git.
    ///
    /// Returns an error if `GIT_DIR` and `start` belong to two different repositories, or if the nearest `.git`
    /// cannot be opened.
    pub(super) fn open(&self, start: &Path) -> Result<Option<Repository>, Error> {
        let nearest = self.nearest_git(start)?.map(|(_, git)| git);
        for git in nearest.iter().chain(&self.git_dir) {
            refuse_pipes_of(git)?;
        }
        let around = self.opened(start, RepositoryOpenFlags::empty())?;
        // git passes its hooks a path relative to the root; from a subdirectory that path does not exist.
        let Some(named) = self
            .git_dir
            .as_deref()
            .filter(|named| around.is_none() || named.exists())
        else {
            return self.nearest(start, around);
        };
        let exactly = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let Some(repo) = self.opened(named, exactly)? else {
            return Err(refused(format!(
                "GIT_DIR names {}, which is not a git repository",
                named.display()
            )));
        };
        match around {
            Some(around) if around.path() == repo.path() => Ok(Some(around)),
            Some(around) if self.work_tree.is_none() => Err(refused(format!(
                "GIT_DIR names {}, but {} is in another repository, {}",
                repo.path().display(),
                start.display(),
                around.path().display()
            ))),
            _ => {
                let has_place = self.work_tree.is_some()
                    || settings(&repo)
                        .map_err(libgit2)?
                        .get_path("core.worktree")
                        .is_ok();
                if !has_place && !repo.is_bare() {
                    repo.set_workdir(start, false).map_err(libgit2)?;
                }
                refuse_outside(&repo, start)?;
                Ok(Some(repo))
            }
        }
    }

    /// The repository of the nearest `.git` at or above `start`, or `found` if there is none or `found` is nearer.
    ///
    /// libgit2 passes by a `.git` that is damaged or that it cannot read, and takes an outer repository or none.
    /// Returns an error in its place, because a move would be recorded elsewhere or nowhere.
    fn nearest(
        &self,
        start: &Path,
        found: Option<Repository>,
    ) -> Result<Option<Repository>, Error> {
        let Some((directory, git)) = self.nearest_git(start)? else {
            return Ok(found);
        };
        if found
            .as_ref()
            .is_some_and(|found| found.path().starts_with(directory))
        {
            return Ok(found);
        }
        // With a work tree of its own, libgit2 takes only the git directory itself.
        let (place, flags) = match self.work_tree {
            Some(_) => (
                &*git,
                RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT,
            ),
            None => (directory, RepositoryOpenFlags::NO_SEARCH),
        };
        self.opened(place, flags)?
            .map(Some)
            .ok_or_else(|| unopened(&git))
    }

    /// The nearest `.git` at or above `start`, with its directory, as far as git searches. Returns an error if it
    /// is unknown whether there is one.
    fn nearest_git<'p>(&self, start: &'p Path) -> Result<Option<(&'p Path, PathBuf)>, Error> {
        let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
        let is_within = |above: &&Path| {
            *above == start
                || (!self.ceilings.iter().any(|ceiling| ceiling == above)
                    && (self.crosses_devices || device(above) == device(start)))
        };
        for above in start.ancestors().take_while(is_within) {
            let git = above.join(".git");
            match git.symlink_metadata() {
                Ok(_) => return Ok(Some((above, git))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(io_error(&git, source)),
            }
        }
        Ok(None)
    }

    pub(super) fn opened(
        &self,
        path: &Path,
        flags: RepositoryOpenFlags,
    ) -> Result<Option<Repository>, Error> {
        // libgit2 resolves a relative work tree against the git directory, so it must not read the variable.
        let bare = self
            .work_tree
            .as_ref()
            .map_or(RepositoryOpenFlags::empty(), |_| RepositoryOpenFlags::BARE);
        let flags = flags | bare | RepositoryOpenFlags::FROM_ENV;
        prepare_library();
        let open = || Repository::open_ext(path, flags, std::iter::empty::<&OsStr>());
        let opened = match open() {
            Err(error) if error.code() == ErrorCode::Owner && git_opens(path) => {
                without_owners(open)
            }
            opened => opened,
        };
        let repo = match opened {
            Ok(repo) => repo,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(super::error::opening(path, error)),
        };
        if let Some(place) = &self.work_tree {
            let place = place
                .canonicalize()
                .map_err(|source| io_error(place, source))?;
            repo.set_workdir(&place, false).map_err(libgit2)?;
        }
        Ok(Some(repo))
    }
}

/// How many bytes of a pack libgit2 maps at once, and of all packs together, unless it needs more. It would map each
/// pack as a whole, so that the memory of a process grew with the history. Larger parts are mapped again and again.
const PACK_WINDOW: usize = 1 << 20;
const MOST_MAPPED: usize = 64 << 20;

/// Lets libgit2 open a repository whose references are in a reftable, and map only parts of packs. It cannot read a
/// reftable, so `orch` asks git; see `references`. To be called before a repository is opened or created.
#[expect(
    unsafe_code,
    reason = "libgit2 keeps these options in static variables"
)]
pub(super) fn prepare_library() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        // SAFETY: libgit2 reads the variables only while it opens or creates a repository, or reads one. Only this
        // room uses libgit2, and it calls this function before it opens or creates any. `Once` lets a single thread
        // write, and the others wait until it has written.
        let prepared = unsafe {
            git2::opts::set_extensions(&["refstorage"])
                .and_then(|()| git2::opts::set_mwindow_size(PACK_WINDOW))
                .and_then(|()| git2::opts::set_mwindow_mapped_limit(MOST_MAPPED))
        };
        if let Err(error) = prepared {
            tracing::warn!(%error, "cannot set the options of libgit2");
        }
    });
}

/// Opens a repository of another user that git trusts. libgit2 reads less of `safe.directory` than git: no `DIR/*`, and
/// nothing that the command line says.
#[expect(unsafe_code, reason = "libgit2 keeps this option in a static variable")]
pub(super) fn without_owners(
    open: impl Fn() -> Result<Repository, git2::Error>,
) -> Result<Repository, git2::Error> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: libgit2 reads the variable, an integer, only while it opens a repository. Another thread that opens one
    // meanwhile opens this one again.
    unsafe {
        git2::opts::set_verify_owner_validation(false)?;
        let opened = open();
        git2::opts::set_verify_owner_validation(true)?;
        opened
    }
}

/// Why a `.git` cannot be opened. Opens no file whose kind is not known, because it may be a FIFO.
fn unopened(git: &Path) -> Error {
    let parts = ["HEAD", "objects", "refs"].map(|part| git.join(part));
    let kind = match git.metadata() {
        Err(source) => return io_error(git, source),
        Ok(metadata) => metadata.file_type(),
    };
    let places =
        std::iter::once(git).chain(parts.iter().map(PathBuf::as_path).filter(|_| kind.is_dir()));
    for place in places {
        if let Err(source) = place.metadata().and_then(|_| permitted(place)) {
            let is_missing = source.kind() == io::ErrorKind::NotFound;
            let error = io_error(place, source);
            let hint = format!(
                "restore it, or remove {} if it is not a repository",
                git.display()
            );
            return if is_missing {
                error.with_hint(hint)
            } else {
                error
            };
        }
    }
    let why = match durable::read_regular(git) {
        Some(text) => {
            format!(
                "cannot open the repository that it names: {}",
                String::from_utf8_lossy(&text).trim()
            )
        }
        None if kind.is_dir() => "cannot open this repository".to_owned(),
        None => "neither a directory nor a file".to_owned(),
    };
    Error::new(Code::Git, format!("{}: {why}", git.display()))
}

/// Whether git takes this value of a setting for true.
pub(super) fn is_true(value: &str) -> bool {
    !["false", "no", "off", "0"].contains(&value.to_ascii_lowercase().as_str())
}

/// The absolute paths of a list as in `PATH`, without links.
fn ceilings(list: &str) -> Vec<PathBuf> {
    let absolute = std::env::split_paths(list).filter(|path| path.is_absolute());
    absolute
        .map(|path| path.canonicalize().unwrap_or(path))
        .collect()
}

/// Refuses a start directory outside the work tree, as git does.
fn refuse_outside(repo: &Repository, start: &Path) -> Result<(), Error> {
    let root = repo.workdir().and_then(|root| root.canonicalize().ok());
    match root {
        Some(root) if !start.starts_with(&root) => Err(refused(format!(
            "GIT_DIR names a repository whose work tree is {}, but {} is outside it",
            root.display(),
            start.display()
        ))),
        _ => Ok(()),
    }
}

fn refused(why: String) -> Error {
    super::error::environment(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(String, String)]) -> Environment {
        Environment::read(|wanted| {
            variables
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value.clone())
        })
    }

    #[test]
    fn executors_get_two_settings_beside_those_that_were_given() {
        let named = |variables: &[(&str, &str)]| -> Vec<(String, String)> {
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let alone = Environment::default().for_executors();
        assert_eq!(alone, environment(&[]).for_executors());
        assert!(
            !environment(&alone).has_settings,
            "a step of an executor needs no git to read settings"
        );
        let given = named(&[
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "commit.gpgSign"),
            ("GIT_CONFIG_VALUE_0", "true"),
        ]);
        assert!(environment(&given).has_settings);
        let mut both = environment(&given).for_executors();
        both.extend(given);
        assert!(environment(&both).has_settings);
        assert_eq!(environment(&both).settings, 3);
        assert!(both.contains(&("GIT_CONFIG_KEY_2".to_owned(), "gc.autoDetach".to_owned())));
        let spaced = named(&[("GIT_CONFIG_COUNT", " 1")]);
        assert_eq!(environment(&spaced).settings, 1, "git skips white space");
        let odd = environment(&named(&[("GIT_CONFIG_COUNT", "many")]));
        assert_eq!((odd.has_settings, odd.for_executors()), (true, Vec::new()));
        assert!(environment(&named(&[("GIT_CONFIG_PARAMETERS", "'a.b=c'")])).has_settings);
    }
}
