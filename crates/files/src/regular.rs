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
    Ok(open_with_size(path)?.map(|(file, _)| file))
}

/// The same, with the number of bytes that the file had when it was opened.
pub fn open_with_size(path: &Path) -> io::Result<Option<(File, u64)>> {
    match open(path) {
        Ok(file) => {
            let metadata = file.metadata()?;
            Ok(metadata.is_file().then_some((file, metadata.len())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        // A link or a socket cannot even be opened.
        Err(_) if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The same for a path that may be, or lie behind, a symbolic link.
pub fn open_linked(path: &Path) -> io::Result<Option<File>> {
    match File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
    {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        Err(_) if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of an opened file; `None` if there are more than `limit`.
pub fn read_up_to(file: &File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    read_sized(file, file.metadata()?.len(), limit)
}

/// The bytes of a file that had this size when it was opened; `None` if there are more than `limit`.
///
/// What is appended meanwhile is not read. A file without a size may contain bytes nevertheless, as those of the system
/// do, and is read to its end.
pub fn read_sized(file: &File, size: u64, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if size > limit {
        return Ok(None);
    }
    // Without room for one more byte, the reader would ask for it.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    let most = if size == 0 {
        limit.saturating_add(1)
    } else {
        size
    };
    file.take(most).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn open(path: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
        .open(path)
}
