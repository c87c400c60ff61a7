//! Where the leases of a clone are that was made for a task: in the repository that it was made from.

use orch_base::Error;
use orch_files::{Directory, io_error};
use orch_git::durable;
use std::path::{Path, PathBuf};

/// The file that names the git directory of that repository, below the git directory of the clone.
const FILE: &str = "orch/leases-of";

/// The git directory with the leases of a repository, given its own: another one for the clone of a task.
#[must_use]
pub fn lease_home(common: &Path) -> PathBuf {
    let named = durable::read_kept(&common.join(FILE)).ok().flatten();
    let named = named.and_then(|bytes| String::from_utf8(bytes).ok());
    let home = named.map(|named| PathBuf::from(named.trim_end_matches('\n')));
    // Where the repository was moved or removed, the clone is on its own.
    let home = home.filter(|home| home.is_absolute() && home.is_dir());
    home.unwrap_or_else(|| common.to_owned())
}

/// Says in the git directory of a clone whose leases it shares. Returns an error if that cannot be written.
pub(crate) fn share_leases(clone: &Path, home: &Path) -> Result<(), Error> {
    let path = clone.join("orch");
    let fail = |source| io_error(&path, source);
    let directory = Directory::make(clone, &path).map_err(fail)?;
    let text = format!("{}\n", home.display());
    durable::write_private(&directory, "leases-of", text.as_bytes()).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_clone_shares_the_leases_of_its_repository_as_long_as_that_is_there() {
        let base = tempfile::tempdir().expect("a directory");
        let [home, clone] = ["home", "clone"].map(|name| base.path().join(name));
        fs::create_dir(&home).expect("made");
        fs::create_dir(&clone).expect("made");
        assert_eq!(lease_home(&clone), clone);
        share_leases(&clone, &home).expect("written");
        assert_eq!(lease_home(&clone), home);
        assert_eq!(lease_home(&home), home);
        fs::remove_dir(&home).expect("removed");
        assert_eq!(lease_home(&clone), clone);
    }
}
