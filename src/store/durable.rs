//! Crash-safe file writes: write a temporary file, sync it, rename it, and sync the directory.

use super::Error;
use crate::scan::{FileStamp, io_error, open_regular};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::iter;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The prefix of temporary file names; git and the watch ignore them.
pub const TEMPORARY: &str = ".orch-tmp";

/// Replaces a file atomically and keeps its permissions. Returns its stamp, or `None` if someone has changed
/// it since, and an error if it cannot be written.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<Option<FileStamp>, Error> {
    Ok(write_all(&[(path.to_owned(), bytes)])?.pop().flatten())
}

/// Replaces a derived file atomically, without syncing it: a power cut may lose the new content.
pub fn write_derived(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let file = beside(path, bytes)?;
    file.persist(path).map(drop).map_err(|error| io_error(path, error.error))
}

/// Replaces a file atomically and makes it executable for everyone. Returns an error if it cannot be written.
pub fn write_executable(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let file = beside(path, bytes)?;
    set_permissions(file.as_file(), 0o755).map_err(|source| io_error(path, source))?;
    sync_one(file.path())?;
    file.persist(path).map_err(|error| io_error(path, error.error))?;
    path.parent().map_or(Ok(()), sync_one)
}

/// Replaces several files, each atomically, and returns the stamp of each. Returns an error if one cannot be
/// written.
pub fn write_all(files: &[(PathBuf, &[u8])]) -> Result<Vec<Option<FileStamp>>, Error> {
    let prepared = Prepared::write(files)?;
    sync(&prepared.temporaries())?;
    let stamps = prepared.place(iter::repeat(true))?;
    sync(&directories_of(files.iter().map(|(path, _)| path.as_path())))?;
    Ok(stamps)
}

/// New contents of files, each written to a temporary file beside its target. Dropping it removes them.
pub struct Prepared(Vec<(PathBuf, NamedTempFile)>);

impl Prepared {
    /// Writes the temporary files, without syncing them. Returns an error if one cannot be written.
    pub fn write(files: &[(PathBuf, &[u8])]) -> Result<Self, Error> {
        let each = |(path, bytes): &(PathBuf, &[u8])| Ok((path.clone(), beside(path, bytes)?));
        files.iter().map(each).collect::<Result<_, Error>>().map(Self)
    }

    /// The paths of the temporary files.
    #[must_use]
    pub fn temporaries(&self) -> Vec<PathBuf> {
        self.0.iter().map(|(_, file)| file.path().to_owned()).collect()
    }

    /// Renames the temporary files that are still wanted to their targets, without syncing the directories.
    /// `wanted` yields one value for each file, in the order given to [`Self::write`]. Returns the stamp of
    /// each file, or `None` for one that is not wanted or that someone has changed since, and an error if a
    /// rename fails.
    pub fn place(self, wanted: impl IntoIterator<Item = bool>) -> Result<Vec<Option<FileStamp>>, Error> {
        let each = |((path, file), is_wanted): ((PathBuf, NamedTempFile), bool)| {
            if !is_wanted {
                return Ok(None);
            }
            // Taken before other processes can see the file, because afterwards it may be replaced.
            let ours = file.as_file().metadata().ok().as_ref().and_then(FileStamp::of);
            file.persist(&path).map_err(|error| io_error(&path, error.error))?;
            let is_ours = |now: &FileStamp| ours.is_some_and(|ours| now.is_same_file(&ours));
            Ok(FileStamp::at(&path).filter(is_ours))
        };
        self.0.into_iter().zip(wanted).map(each).collect()
    }
}

/// The parent directories of these files, without duplicates.
#[must_use]
pub fn directories_of<'p>(files: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    let directories: BTreeSet<&Path> = files.filter_map(Path::parent).collect();
    directories.into_iter().map(Path::to_owned).collect()
}

/// Writes the bytes to a temporary file beside `path`, without syncing it.
fn beside(path: &Path, bytes: &[u8]) -> Result<NamedTempFile, Error> {
    let fail = |source| io_error(path, source);
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
    match permissions {
        Ok(permissions) => file.as_file().set_permissions(permissions).map_err(fail)?,
        Err(_) => set_permissions(file.as_file(), 0o644).map_err(fail)?,
    }
    Ok(file)
}

/// The bytes of a regular file; `None` for anything else, such as a named pipe, and on failure.
#[must_use]
pub fn read_regular(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path).ok()??.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// How many threads sync at once; file systems combine concurrent requests.
const AT_ONCE: usize = 8;

/// Syncs these files and directories to the disk; missing ones are skipped. Returns an error if a sync fails.
pub fn sync(paths: &[PathBuf]) -> Result<(), Error> {
    let each = |paths: &[PathBuf]| paths.iter().try_for_each(|path| sync_one(path));
    let mut shares = paths.chunks(paths.len().div_ceil(AT_ONCE).max(1));
    let first = shares.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = shares.map(|share| scope.spawn(move || each(share))).collect();
        let lost = || io::Error::other("a thread that syncs files panicked");
        workers.into_iter().fold(each(first), |so_far, worker| {
            so_far.and(worker.join().unwrap_or_else(|_| Err(io_error(Path::new(""), lost()))))
        })
    })
}

fn sync_one(path: &Path) -> Result<(), Error> {
    match File::open(path) {
        Ok(file) => file.sync_all().map_err(|source| io_error(path, source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error(path, error)),
    }
}

/// Sets the mode, because temporary files are created private.
fn set_permissions(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}
