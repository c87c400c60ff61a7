//! Opens files only if they are regular, without blocking, and unless asked to without following links.

use std::fs::{self, File};
use std::io::{self, Read as _};
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

/// The same for a path that may be, or lie behind, a symbolic link.
pub fn open_linked(path: &Path) -> io::Result<Option<File>> {
    match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        Err(_) if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of an opened file; `None` if there are more than `limit`, even if it has grown since it was opened.
pub fn read_up_to(file: &File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let size = file.metadata()?.len().min(limit);
    // Without room for all of it, a reader that is limited begins with 32 bytes and doubles them.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)
}
