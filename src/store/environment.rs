//! Finds the repository: the one around a directory, or the one that the environment names.

use super::{Error, IndexGate};
use crate::scan::{io_error, permitted};
use git2::{ErrorCode, Repository, RepositoryOpenFlags};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The git environment variables, read once at the start of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `GIT_DIR`: the git directory.
    pub git_dir: Option<PathBuf>,
    /// `GIT_WORK_TREE`: the root of the work tree.
    pub work_tree: Option<PathBuf>,
    /// `GIT_INDEX_FILE`: the index that a hook has to check.
    pub index_file: Option<PathBuf>,
    /// Whether the environment contains settings, as `git -c` passes them.
    pub has_settings: bool,
    /// The gate that the stores opened with it pass to lock an index.
    pub index_gate: IndexGate,
}

impl Environment {
    /// Reads the environment variables through a function.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        Self {
            git_dir: given("GIT_DIR").map(PathBuf::from),
            work_tree: given("GIT_WORK_TREE").map(PathBuf::from),
            index_file: given("GIT_INDEX_FILE").map(PathBuf::from),
            has_settings: given("GIT_CONFIG_COUNT").or_else(|| given("GIT_CONFIG_PARAMETERS")).is_some(),
            index_gate: IndexGate::default(),
        }
    }

    /// Makes relative paths absolute, as seen from `start`, like git does after `-C`.
    #[must_use]
    pub fn seen_from(self, start: &Path) -> Self {
        let absolute = |path: Option<PathBuf>| path.map(|path| start.join(path));
        Self { git_dir: absolute(self.git_dir), work_tree: absolute(self.work_tree), ..self }
    }

    /// Opens the repository for the directory `start`; `None` outside git.
    ///
    /// Returns an error if `GIT_DIR` and `start` belong to two different repositories.
    pub(super) fn open(&self, start: &Path) -> Result<Option<Repository>, Error> {
        let around = self.opened(start, RepositoryOpenFlags::empty())?;
        // git passes its hooks a path relative to the root; from a subdirectory that path does not exist.
        let Some(named) = self.git_dir.as_deref().filter(|named| around.is_none() || named.exists()) else {
            return Ok(around);
        };
        let exactly = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let Some(repo) = self.opened(named, exactly)? else {
            return Err(refused(format!("GIT_DIR names {}, which is not a git repository", named.display())));
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
                let has_place = self.work_tree.is_some() || repo.config()?.get_path("core.worktree").is_ok();
                if !has_place && !repo.is_bare() {
                    repo.set_workdir(start, false)?;
                }
                refuse_outside(&repo, start)?;
                Ok(Some(repo))
            }
        }
    }

    fn opened(&self, path: &Path, flags: RepositoryOpenFlags) -> Result<Option<Repository>, Error> {
        // libgit2 resolves a relative work tree against the git directory, so it must not read the variable.
        let bare =
            self.work_tree.as_ref().map_or(RepositoryOpenFlags::empty(), |_| RepositoryOpenFlags::BARE);
        let flags = flags | bare | RepositoryOpenFlags::FROM_ENV;
        allow_reftable();
        let repo = match Repository::open_ext(path, flags, std::iter::empty::<&OsStr>()) {
            Ok(repo) => repo,
            // libgit2 takes a `.git` that it may not read for none.
            Err(error) if error.code() == ErrorCode::NotFound => {
                return unreadable(path).map_or(Ok(None), |(place, source)| Err(io_error(&place, source)));
            }
            Err(error) => return Err(super::error::opening(path, error)),
        };
        if let Some(place) = &self.work_tree {
            let place = place.canonicalize().map_err(|source| io_error(place, source))?;
            repo.set_workdir(&place, false)?;
        }
        Ok(Some(repo))
    }
}

/// Lets libgit2 open a repository whose references are in a reftable. It cannot read them, so `orch` asks git; see
/// `references`. To be called before a repository is opened or created.
#[expect(unsafe_code, reason = "libgit2 keeps the extensions that it accepts in a static variable")]
pub(super) fn allow_reftable() {
    static ALLOWED: Once = Once::new();
    ALLOWED.call_once(|| {
        // SAFETY: libgit2 reads the variable only while it opens or creates a repository. Only this room uses
        // libgit2, and it calls this function before each of both. `Once` lets a single thread write, and the
        // others wait until it has written.
        let allowed = unsafe { git2::opts::set_extensions(&["refstorage"]) };
        if let Err(error) = allowed {
            tracing::warn!(%error, "cannot allow repositories with a reftable");
        }
    });
}

/// The nearest `.git` around a directory, if permissions forbid to read it. Opens nothing, because it may be a FIFO.
fn unreadable(start: &Path) -> Option<(PathBuf, io::Error)> {
    let git = start.ancestors().map(|above| above.join(".git")).find(|git| git.symlink_metadata().is_ok())?;
    let error = permitted(&git).err().filter(|error| error.kind() == io::ErrorKind::PermissionDenied)?;
    Some((git, error))
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
