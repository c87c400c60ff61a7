//! Opens files only if they are regular, without blocking and without following links.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a regular file for reading; `None` if the path is something else.
///
/// The opened file itself is checked, not the path: a pipe or a link that replaces the file in between
/// neither blocks nor is followed. Returns an error if opening fails.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    match open(path) {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        // A link or a socket cannot even be opened.
        Err(_) if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a regular file for appending and creates it if it is missing. Removes all permissions except those
/// of its owner.
///
/// Returns an error if the path is something else, such as a link or a pipe.
pub fn append_regular(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    const PRIVATE: u32 = 0o600;
    let mut options = File::options();
    options.append(true).create(true).mode(PRIVATE).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    if metadata.permissions().mode() & 0o777 != PRIVATE {
        file.set_permissions(fs::Permissions::from_mode(PRIVATE))?;
    }
    Ok(file)
}

/// Opens a file for writing, as it is, and creates it if it is missing. Returns an error if the path is a
/// link.
pub fn touch_regular(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    File::options().create(true).truncate(false).write(true).custom_flags(flags).open(path)
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}
