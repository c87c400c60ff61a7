//! Where git looks for the hooks of this repository, and who else may use that place.

use super::{Error, Store};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The directory that git runs hooks from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The directory; it need not be there yet.
    pub directory: PathBuf,
    /// Where it lies.
    pub location: HooksLocation,
}

/// Where a directory of hooks lies, all links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HooksLocation {
    /// In the git directory: for this repository and its work trees alone.
    Git,
    /// In the work tree: perhaps under version control, or kept by another hook manager.
    WorkTree,
    /// Elsewhere: other repositories may use it, too.
    Outside,
}

impl Store {
    /// Asks git where it looks for hooks: `core.hooksPath`, else a directory that all work trees share.
    pub fn hooks(&self) -> Result<Hooks, Error> {
        let (git, tree) = (self.repo.path().to_str(), self.root.to_str());
        // Given by the environment they may be relative to where `orch` was started.
        let places =
            git.zip(tree).map(|(git, tree)| [format!("--git-dir={git}"), format!("--work-tree={tree}")]);
        let mut arguments: Vec<&str> = places.iter().flatten().map(String::as_str).collect();
        arguments.extend(["rev-parse", "--git-path", "hooks"]);
        let answer = self.git(&arguments, &[])?;
        // Hooks run at the top of the work tree, and so does git here.
        let directory = self.root.join(path(answer.strip_suffix(b"\n").unwrap_or(&answer)));
        let real = resolved(&directory);
        let location = if real.starts_with(resolved(self.repo.commondir())) {
            HooksLocation::Git
        } else if real.starts_with(&self.root) {
            HooksLocation::WorkTree
        } else {
            HooksLocation::Outside
        };
        Ok(Hooks { directory, location })
    }
}

/// A path with every link followed, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else { return path.to_owned() };
    path.strip_prefix(above).map_or_else(|_| path.to_owned(), |rest| real.join(rest))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
