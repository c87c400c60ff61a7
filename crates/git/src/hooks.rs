//! The directory of git hooks, and whether other repositories may share it.

use super::{Error, GitSettings};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The directory that git runs hooks from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The directory, which may not exist yet.
    pub directory: PathBuf,
    /// Where the directory is.
    pub location: HooksLocation,
}

/// Where a hooks directory is, after following all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksLocation {
    /// In the git directory: used by this repository and its work trees only.
    Git,
    /// In the work tree: perhaps under version control, or written by another hook manager.
    WorkTree,
    /// Elsewhere: other repositories may use it, too.
    Outside,
}

impl GitSettings<'_> {
    /// The hooks directory that git uses: `core.hooksPath`, otherwise the one that all work trees share. Returns
    /// an error if git fails.
    pub fn hooks(&self) -> Result<Hooks, Error> {
        let git = self.objects.repo.path().to_str();
        let tree = self.layout.root.to_str();
        // The environment may name them relative to the start directory of `orch`.
        let places = git
            .zip(tree)
            .map(|(git, tree)| [format!("--git-dir={git}"), format!("--work-tree={tree}")]);
        let mut arguments: Vec<&str> = places.iter().flatten().map(String::as_str).collect();
        arguments.extend(["rev-parse", "--git-path", "hooks"]);
        let answer = self.git.git(&arguments, &[])?;
        // git runs hooks at the root of the work tree, so its answer is relative to that.
        let directory = self
            .layout
            .root
            .join(path(answer.strip_suffix(b"\n").unwrap_or(&answer)));
        let real = resolved(&directory);
        let location = if real.starts_with(resolved(self.objects.repo.commondir())) {
            HooksLocation::Git
        } else if real.starts_with(self.layout.root) {
            HooksLocation::WorkTree
        } else {
            HooksLocation::Outside
        };
        Ok(Hooks {
            directory,
            location,
        })
    }
}

/// Follows every link in the existing part of a path.
fn resolved(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else {
        return path.to_owned();
    };
    path.strip_prefix(above)
        .map_or_else(|_| path.to_owned(), |rest| real.join(rest))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
