//! Files that are whole after a crash: written beside, synced, renamed, and the directory synced.

use super::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The beginning of the names of half-written files; git ignores them and the watch passes them over.
pub const TEMPORARY: &str = ".orch-tmp";

/// Replaces a file by these bytes, or leaves it as it was. Its permissions stay.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let fail = |source| Error::io(path, source);
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
    match permissions {
        Ok(permissions) => file.as_file().set_permissions(permissions).map_err(fail)?,
        Err(_) => set_default_permissions(file.as_file()).map_err(fail)?,
    }
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    sync_directory(directory)
}

/// Makes sure that a file's bytes are on the disk; a file that is not there is passed over.
pub fn sync_file(path: &Path) -> Result<(), Error> {
    match File::open(path) {
        Ok(file) => file.sync_all().map_err(|source| Error::io(path, source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// Makes sure that a directory's entries are on the disk.
pub fn sync_directory(path: &Path) -> Result<(), Error> {
    let directory = File::open(path).map_err(|source| Error::io(path, source))?;
    directory.sync_all().map_err(|source| Error::io(path, source))
}

/// A new file gets the permissions that the process would give it, not those of a private one.
#[cfg(unix)]
fn set_default_permissions(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_default_permissions(_file: &File) -> io::Result<()> {
    Ok(())
}
