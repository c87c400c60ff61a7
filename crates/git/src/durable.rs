//! Crash-safe file writes: write a temporary file, sync it, rename it, and sync the directory.

use super::Error;
use super::side_work::{self, SideWork, sync_one};
use orch_files::{Directory, FileStamp, io_error, open_regular, read_up_to};
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::iter;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The prefix of temporary file names; git and the watch ignore them.
pub const TEMPORARY: &str = ".orch-tmp";

/// Replaces a file below `base` atomically and keeps its permissions. Follows no link below `base`. Returns its
/// stamp, or `None` if someone has changed it since, and an error if it cannot be written.
pub fn write_atomic(base: &Path, path: &Path, bytes: &[u8]) -> Result<Option<FileStamp>, Error> {
    let stamp = write_all(base, &[(path.to_owned(), bytes)])?
        .pop()
        .flatten();
    remove_abandoned(parent(path));
    Ok(stamp)
}

/// Like [`write_atomic`], without syncing the file: a power cut may lose the new content.
pub fn write_derived(base: &Path, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    TemporaryFile::write(base, path, bytes, None)?
        .place()
        .map(drop)
}

/// Replaces a file atomically and makes it executable for everyone. Returns an error if it cannot be written.
pub fn write_executable(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let draft = TemporaryFile::write(
        parent(path),
        path,
        bytes,
        Some(Permissions::from_mode(0o755)),
    )?;
    sync_one(&draft.path())?;
    draft.place()?;
    remove_abandoned(parent(path));
    sync_one(parent(path))
}

/// Removes the temporary files in a directory that killed processes left.
pub fn remove_abandoned(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let own = name
            .to_str()
            .and_then(|name| name.strip_prefix(TEMPORARY)?.strip_prefix('-'));
        let process = own
            .and_then(|own| own.split_once('-'))
            .map(|(process, _)| process);
        if process.is_some_and(is_dead) {
            remove(directory, &entry.path());
        }
    }
}

/// Whether this is the number of a process that is gone. Without `/proc` nobody knows.
pub(super) fn is_dead(process: &str) -> bool {
    process.parse::<u32>().is_ok()
        && Path::new("/proc/self").exists()
        && !Path::new("/proc").join(process).exists()
}

/// Replaces several files below `base`, each atomically, and returns the stamp of each. Returns an error if one
/// cannot be written.
pub fn write_all(base: &Path, files: &[(PathBuf, &[u8])]) -> Result<Vec<Option<FileStamp>>, Error> {
    let prepared = Prepared::write(base, files)?;
    sync(&prepared.temporaries())?;
    let stamps = prepared.place(iter::repeat(true))?;
    sync(&directories_of(
        files.iter().map(|(path, _)| path.as_path()),
    ))?;
    Ok(stamps)
}

/// The directory of a file, as the place below which no link is followed: the user chose its path.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."))
}

/// New contents of files, each written to a temporary file beside its target. Dropping it removes them.
pub struct Prepared(Vec<TemporaryFile>);

impl Prepared {
    /// Writes the temporary files, without syncing them. All targets are below `base`, and no link below it is
    /// followed. Returns an error if a file cannot be written.
    pub fn write(base: &Path, files: &[(PathBuf, &[u8])]) -> Result<Self, Error> {
        files
            .iter()
            .map(|(path, bytes)| TemporaryFile::write(base, path, bytes, None))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The paths of the temporary files.
    #[must_use]
    pub fn temporaries(&self) -> Vec<PathBuf> {
        self.0.iter().map(TemporaryFile::path).collect()
    }

    /// Renames the temporary files that are still wanted to their targets, without syncing the directories.
    /// `wanted` yields one value for each file, in the order given to [`Self::write`]. Returns the stamp of
    /// each file, or `None` for one that is not wanted or that someone has changed since, and an error if a
    /// rename fails.
    pub fn place(
        self,
        wanted: impl IntoIterator<Item = bool>,
    ) -> Result<Vec<Option<FileStamp>>, Error> {
        let each = |(draft, is_wanted): (TemporaryFile, bool)| {
            if is_wanted { draft.place() } else { Ok(None) }
        };
        self.0.into_iter().zip(wanted).map(each).collect()
    }
}

/// A temporary file beside its target. Dropping it removes it, unless it was renamed. It holds nothing open: a batch
/// has two for each of its tasks, and a process may open only so many files.
struct TemporaryFile {
    base: PathBuf,
    name: String,
    target: PathBuf,
    stamp: Option<FileStamp>,
    is_placed: bool,
}

impl TemporaryFile {
    /// Writes the bytes to a temporary file beside `target`, without syncing it. Without `permissions` it gets those of
    /// the target.
    fn write(
        base: &Path,
        target: &Path,
        bytes: &[u8],
        permissions: Option<Permissions>,
    ) -> Result<Self, Error> {
        let fail = |source| io_error(target, source);
        let directory = Directory::open(base, parent(target)).map_err(fail)?;
        let mut number = 0;
        let (name, mut file) = loop {
            let name = format!("{TEMPORARY}-{}-{number}", std::process::id());
            match directory.create_new(&name) {
                // Another write of this process, or of a killed one with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                created => break (name, created.map_err(fail)?),
            }
        };
        let mut draft = Self {
            base: base.to_owned(),
            name,
            target: target.to_owned(),
            stamp: None,
            is_placed: false,
        };
        file.write_all(bytes).map_err(fail)?;
        let known = || directory.permissions(target.file_name().unwrap_or_default());
        // Whatever the process masks.
        let permissions = permissions
            .or_else(known)
            .unwrap_or_else(|| Permissions::from_mode(0o644));
        file.set_permissions(permissions).map_err(fail)?;
        // Taken before other processes can see the file, because afterwards it may be replaced.
        draft.stamp = file.metadata().ok().as_ref().and_then(FileStamp::of);
        Ok(draft)
    }

    fn directory(&self) -> io::Result<Directory> {
        Directory::open(&self.base, parent(&self.target))
    }

    fn path(&self) -> PathBuf {
        parent(&self.target).join(&self.name)
    }

    /// Renames the file to its target. Returns its stamp, or `None` if someone has changed it since.
    fn place(mut self) -> Result<Option<FileStamp>, Error> {
        let name = self.target.file_name().unwrap_or_default();
        let renamed = self
            .directory()
            .and_then(|at| rename_over(&at, &self.name, &at, name));
        renamed.map_err(|error| io_error(&self.target, error))?;
        self.is_placed = true;
        let is_ours = |now: &FileStamp| self.stamp.is_some_and(|ours| now.is_same_file(&ours));
        Ok(FileStamp::at(&self.target).filter(is_ours))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_placed {
            // git ignores one that stays.
            let _ = self
                .directory()
                .and_then(|directory| directory.remove(&self.name));
        }
    }
}

/// Moves a file to a name in another directory, or in the same one, like [`Directory::rename`], without waiting until the
/// file that had the name is freed.
pub fn rename_over(
    from: &Directory,
    name: &str,
    to: &Directory,
    new: impl AsRef<OsStr>,
) -> io::Result<()> {
    let replaced = to.held(&new);
    from.rename(name, to, new)?;
    replaced.into_iter().for_each(side_work::close);
    Ok(())
}

/// Moves a file or a directory to a path where nothing is, and creates the directories above it, all below `base` and
/// without following links. Returns an error if something is there, or a directory cannot be written.
pub fn move_path(base: &Path, from: &Path, to: &Path) -> Result<(), Error> {
    let fail = |source| io_error(to, source);
    let above = Directory::make(base, parent(to)).map_err(fail)?;
    let below = Directory::open(base, parent(from)).map_err(fail)?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    below.rename(name(from), &above, name(to)).map_err(fail)?;
    let mut changed = directories_above(base, to);
    changed.push(parent(from).to_owned());
    sync(&changed)
}

/// The directories above a path, as far as `base`.
#[must_use]
pub fn directories_above(base: &Path, path: &Path) -> Vec<PathBuf> {
    let above = path
        .ancestors()
        .skip(1)
        .take_while(|directory| directory.starts_with(base));
    above.map(Path::to_owned).collect()
}

/// The parent directories of these files, without duplicates.
#[must_use]
pub fn directories_of<'p>(files: impl Iterator<Item = &'p Path>) -> Vec<PathBuf> {
    let directories: BTreeSet<&Path> = files.filter_map(Path::parent).collect();
    directories.into_iter().map(Path::to_owned).collect()
}

/// Removes a file or link below `base`, if it is there and can be removed. Follows no link below `base`.
pub fn remove(base: &Path, path: &Path) {
    if let (Ok(directory), Some(name)) = (Directory::open(base, parent(path)), path.file_name()) {
        // A file that stays is one that its directory does not let go.
        let _ = directory.remove(name);
    }
}

/// Removes a directory below `base` if it is empty. Follows no link below `base`.
pub fn remove_empty(base: &Path, path: &Path) {
    if let (Ok(directory), Some(name)) = (Directory::open(base, parent(path)), path.file_name()) {
        // Only an empty directory can be removed.
        let _ = directory.remove_directory(name);
    }
}

/// The bytes of a regular file; `None` for anything else, such as a named pipe, and on failure.
#[must_use]
pub fn read_regular(path: &Path) -> Option<Vec<u8>> {
    read_if_regular(path).ok().flatten()
}

/// A file of a user that others may not change.
pub enum PrivateFile {
    /// There is none.
    Missing,
    /// It is no regular file, or belongs to another user, or others may read or change it.
    Foreign,
    /// What it contains.
    Own(Vec<u8>),
}

/// What a file contains that only this user can read and change. Returns an error if the machine fails to read it.
pub fn read_private(path: &Path) -> io::Result<PrivateFile> {
    read_private_of(path, geteuid().as_raw())
}

fn read_private_of(path: &Path, user: u32) -> io::Result<PrivateFile> {
    let file = match open_regular(path) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(PrivateFile::Foreign),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PrivateFile::Missing),
        // Another user's file can often not even be opened.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(PrivateFile::Foreign);
        }
        Err(error) => return Err(error),
    };
    // The opened file is looked at, so nothing can be put in its place meanwhile.
    let metadata = file.metadata()?;
    if metadata.uid() != user || metadata.mode() & 0o077 != 0 {
        return Ok(PrivateFile::Foreign);
    }
    within(&file, MOST_KEPT).map(PrivateFile::Own)
}

/// Replaces a file in a directory atomically by one that only this user can read and change, without syncing it.
pub fn write_private(directory: &Directory, name: &str, bytes: &[u8]) -> io::Result<()> {
    let written = format!("{name}.{}", std::process::id());
    directory.remove_if_there(&written)?;
    directory.append_private(&written)?.write_all(bytes)?;
    directory.rename(&written, directory, name)
}

/// The most bytes of a file that this program keeps for itself, or git for a repository: a list of commits, or the
/// record of a run. The largest are caches: a part of the looks has 8 MiB and what one command adds. Whatever is longer
/// comes from neither.
const MOST_KEPT: u64 = 64 << 20;

/// The bytes of such a file; `None` if there is no file. Returns an error if it cannot be read, is no regular file, or is
/// longer than any that is kept.
pub fn read_kept(path: &Path) -> io::Result<Option<Vec<u8>>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match open_regular(path) {
        Ok(Some(file)) => within(&file, MOST_KEPT).map(Some),
        Ok(None) => Err(io::Error::other("it is not a regular file")),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn within(file: &File, most: u64) -> io::Result<Vec<u8>> {
    // If the file is longer, nothing is read, however little of it is on the disk.
    read_up_to(file, most)?
        .ok_or_else(|| io::Error::other(format!("it is longer than {} MiB", most >> 20)))
}

/// The text of such a file, which is empty if there is no file. Returns an error as [`read_kept`] does, and if it is no
/// text.
pub fn text_of(path: &Path) -> Result<String, Error> {
    let text = read_kept(path).and_then(|bytes| {
        String::from_utf8(bytes.unwrap_or_default())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    });
    text.map_err(|error| io_error(path, error))
}

/// The bytes of a regular file; `None` for anything else and for a file that permissions forbid to read. Returns an
/// error if the machine fails to read it.
pub fn read_if_regular(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match read_if_there(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        read => read,
    }
}

/// The most bytes of any file that is read as a whole: those of the longest log that is read.
const MOST: u64 = 256 << 20;

/// The bytes of a regular file; `None` for anything else. Returns an error if it cannot be read, or has more than 256 MiB.
pub fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match open_regular(path) {
        Ok(Some(file)) => within(&file, MOST).map(Some),
        Ok(None) => Ok(None),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Syncs these files and directories to the disk; missing ones are skipped. Returns an error if a sync fails.
pub fn sync(paths: &[PathBuf]) -> Result<(), Error> {
    if let [path] = paths {
        return sync_one(path);
    }
    let syncs = SideWork::default();
    paths.iter().for_each(|path| syncs.add(path.clone()));
    syncs.wait()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_that_is_kept_is_regular_and_not_too_long() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("kept");
        assert_eq!(text_of(&path).expect("there is none"), "");
        assert_eq!(read_kept(&path.join("below")).expect("there is none"), None);
        fs::write(&path, "text").expect("written");
        assert_eq!(text_of(&path).expect("read"), "text");
        let refused = |why: &str| {
            for error in [
                text_of(&path).map(drop).map_err(|error| error.to_string()),
                {
                    read_kept(&path)
                        .map(drop)
                        .map_err(|error| error.to_string())
                },
            ] {
                assert!(
                    error.as_ref().is_err_and(|error| error.contains(why)),
                    "{why}: {error:?}"
                );
            }
        };
        // Nothing of it is on the disk.
        let file = File::options().write(true).open(&path).expect("opened");
        file.set_len(MOST_KEPT + 1).expect("grown");
        refused("it is longer than 64 MiB");
        let private = |path: &Path| read_private_of(path, geteuid().as_raw()).map(drop);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
        assert!(
            private(&path)
                .expect_err("too long")
                .to_string()
                .contains("longer")
        );
        file.set_len(MOST + 1).expect("grown");
        assert!(
            read_if_there(&path)
                .expect_err("too long")
                .to_string()
                .contains("256 MiB")
        );
        file.set_len(4).expect("cut");
        assert_eq!(read_if_there(&path).expect("read").expect("there"), b"text");
        assert_eq!(read_kept(&path).expect("read").expect("there"), b"text");
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        refused("it is not a regular file");
    }

    #[test]
    fn a_private_file_is_this_users_and_nobody_else_may_open_it() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("kept");
        let read = |path: &Path, user| match read_private_of(path, user).expect("read") {
            PrivateFile::Missing => "missing".to_owned(),
            PrivateFile::Foreign => "foreign".to_owned(),
            PrivateFile::Own(bytes) => String::from_utf8(bytes).expect("text"),
        };
        let user = geteuid().as_raw();
        assert_eq!(read(&path, user), "missing");
        let directory = Directory::open(home.path(), home.path()).expect("opened");
        for text in ["first", "second"] {
            write_private(&directory, "kept", text.as_bytes()).expect("written");
            assert_eq!(read(&path, user), text);
        }
        assert_eq!(read(&path, user + 1), "foreign");
        for mode in [0o640, 0o620, 0o604] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
            assert_eq!(read(&path, user), "foreign", "{mode:o}");
        }
        let link = home.path().join("link");
        symlink(&path, &link).expect("linked");
        assert_eq!(read(&link, user), "foreign");
        assert_eq!(read(home.path(), user), "foreign");
    }
}
