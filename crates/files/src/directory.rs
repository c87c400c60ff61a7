//! A directory by its handle: what is created, replaced or removed through it is in this very directory, even
//! if someone replaces the directories of its path by links meanwhile. No link is followed.

use super::FileStamp;
use rustix::fs::{
    Access, AtFlags, Dir, Mode, OFlags, access, linkat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// The mode of a new file, of which the process masks a part.
const PUBLIC: Mode = Mode::from_raw_mode(0o666);
/// The mode of a file that nobody is to change.
const UNCHANGING: Mode = Mode::from_raw_mode(0o444);
/// The mode of a file that only its owner may read.
const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
    /// The path by which it was opened.
    path: PathBuf,
}

/// Asks whether this process may read a file, or list and enter a directory, without opening it. Returns an error
/// if it may not.
pub fn permitted(path: &Path) -> io::Result<()> {
    let wanted = if path.is_dir() {
        Access::READ_OK | Access::EXEC_OK
    } else {
        Access::READ_OK
    };
    Ok(access(path, wanted)?)
}

/// Asks whether this process may create files in a directory, and whether its disk has room, without writing. Returns
/// an error if not.
pub fn writable(directory: &Path) -> io::Result<()> {
    access(directory, Access::WRITE_OK | Access::EXEC_OK)?;
    let disk = rustix::fs::statvfs(directory)?;
    // Some file systems do not tell the number of files.
    let is_full = disk.f_bavail == 0 || (disk.f_files > 0 && disk.f_favail == 0);
    if is_full {
        Err(io::ErrorKind::StorageFull.into())
    } else {
        Ok(())
    }
}

/// Gives the disk back what a file has in a range; it reads as zeros then, and the file is as long as before. Returns an
/// error where the system cannot do so.
pub fn forget_range(file: &File, range: std::ops::Range<u64>) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let length = range.end.saturating_sub(range.start);
        Ok(fallocate(file, flags, range.start, length)?)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, range);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A file in memory that has no name; `None` if the system has none.
#[must_use]
pub fn unnamed_file() -> Option<File> {
    #[cfg(target_os = "linux")]
    return rustix::fs::memfd_create("orch", rustix::fs::MemfdFlags::CLOEXEC)
        .ok()
        .map(File::from);
    #[cfg(not(target_os = "linux"))]
    None
}

impl Directory {
    /// Opens the directory at `path`, which is `base` or below it. Follows no link below `base`. Returns an
    /// error if there is no such directory or something else is in its place.
    pub fn open(base: &Path, path: &Path) -> io::Result<Self> {
        Self::walk(base, path, |at, name| at.child(name))
    }

    /// Opens the directory at `path`, which is not a link itself. Returns an error if something else is there.
    pub fn open_itself(path: &Path) -> io::Result<Self> {
        let handle = rustix::fs::open(path, directory_flags() | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self {
            handle,
            path: path.to_owned(),
        })
    }

    /// The stamp of what has this path below the directory, or of itself for `.`, without following a link at its end;
    /// `None` if there is nothing.
    #[must_use]
    pub fn stamp(&self, path: &str) -> Option<FileStamp> {
        FileStamp::below(self.handle.as_fd(), path)
    }

    /// Like [`Directory::open`], but creates what is missing below `base`.
    pub fn make(base: &Path, path: &Path) -> io::Result<Self> {
        Self::walk(base, path, |at, name| at.make_child(name))
    }

    fn walk(
        base: &Path,
        path: &Path,
        step: fn(&Self, &OsStr) -> io::Result<Self>,
    ) -> io::Result<Self> {
        let below = path
            .strip_prefix(base)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let handle = rustix::fs::open(base, directory_flags(), Mode::empty())?;
        let start = Self {
            handle,
            path: base.to_owned(),
        };
        below.components().try_fold(start, |at, part| match part {
            Component::Normal(name) => step(&at, name),
            Component::CurDir => Ok(at),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        })
    }

    /// Opens a directory in this one. Returns an error if there is none or something else is in its place.
    pub fn child(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = single(name.as_ref())?;
        match openat(
            &self.handle,
            name,
            directory_flags() | OFlags::NOFOLLOW,
            Mode::empty(),
        ) {
            Ok(handle) => Ok(Self {
                handle,
                path: self.path.join(name),
            }),
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let what =
                    "it is a link or a file instead of a directory, and orch writes nothing there";
                Err(io::Error::new(io::ErrorKind::NotADirectory, what))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a directory in this one, and creates it if it is missing. Returns an error if that fails or
    /// something else is in its place.
    pub fn make_child(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        match self.child(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match mkdirat(&self.handle, single(name)?, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => self.child(name),
                    Err(error) => Err(error.into()),
                }
            }
            opened => opened,
        }
    }

    /// Gives it these permissions, whatever the process masks. Returns an error if that fails.
    pub fn permit(&self, mode: u32) -> io::Result<()> {
        let known = rustix::fs::fstat(&self.handle)?.st_mode & 0o7777;
        if known & 0o777 == mode {
            return Ok(());
        }
        Ok(rustix::fs::fchmod(
            &self.handle,
            Mode::from_raw_mode(known & 0o7000 | mode),
        )?)
    }

    /// The path by which the directory was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file. Returns an error if the name is taken.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.file(
            name.as_ref(),
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            PUBLIC,
        )
    }

    /// The same, for one that nobody is to change when it is written.
    pub fn create_unchanging(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.file(
            name.as_ref(),
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            UNCHANGING,
        )
    }

    /// Creates a file in place of whatever file or link has the name.
    pub fn create_anew(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = name.as_ref();
        self.remove_if_there(name)?;
        self.create_new(name)
    }

    /// Opens a file for writing, as it is, and creates it if it is missing. Returns an error if it is a link.
    pub fn touch(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.file(name.as_ref(), OFlags::WRONLY | OFlags::CREATE, PUBLIC)
    }

    /// Opens a regular file for reading and writing, as it is, and creates it if it is missing. Returns an error if it
    /// is something else, such as a link or a pipe.
    pub fn edit(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        regular(self.file(name.as_ref(), OFlags::RDWR | OFlags::CREATE, PUBLIC)?)
    }

    /// Opens a regular file for appending and creates it if it is missing. Returns an error if it is something
    /// else, such as a link or a pipe.
    pub fn append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let file = self.file(
            name.as_ref(),
            OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
            PUBLIC,
        )?;
        regular(file)
    }

    /// Like [`Directory::append`], and removes all permissions except those of its owner.
    pub fn append_private(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        use std::os::unix::fs::PermissionsExt;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let file = regular(self.file(name.as_ref(), flags, PRIVATE)?)?;
        if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
            file.set_permissions(PermissionsExt::from_mode(0o600))?;
        }
        Ok(file)
    }

    fn file(&self, name: &OsStr, flags: OFlags, mode: Mode) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(openat(
            &self.handle,
            single(name)?,
            flags,
            mode,
        )?))
    }

    /// The permissions of a regular file; `None` if there is none that can be opened.
    #[must_use]
    pub fn permissions(&self, name: impl AsRef<OsStr>) -> Option<Permissions> {
        let file = self
            .file(name.as_ref(), OFlags::RDONLY, Mode::empty())
            .ok()?;
        let metadata = file.metadata().ok()?;
        metadata.is_file().then(|| metadata.permissions())
    }

    /// Removes a file or a link.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(
            &self.handle,
            single(name.as_ref())?,
            AtFlags::empty(),
        )?)
    }

    /// Removes a file or a link, if there is one.
    pub fn remove_if_there(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        match self.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes an empty directory.
    pub fn remove_directory(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(
            &self.handle,
            single(name.as_ref())?,
            AtFlags::REMOVEDIR,
        )?)
    }

    /// Moves a file to a name in another directory, or in this one, where it replaces the file or link with
    /// that name.
    pub fn rename(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        new: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        Ok(renameat(
            &self.handle,
            single(name.as_ref())?,
            &to.handle,
            single(new.as_ref())?,
        )?)
    }

    /// A handle of a file, which lives while it is open, also without a name; `None` if there is none. It is not read.
    #[must_use]
    pub fn held(&self, name: impl AsRef<OsStr>) -> Option<OwnedFd> {
        #[cfg(target_os = "linux")]
        let flags = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let flags = OFlags::RDONLY;
        self.file(name.as_ref(), flags, Mode::empty())
            .ok()
            .map(OwnedFd::from)
    }

    /// Gives a file a second name in another directory. Returns an error if that name is taken.
    pub fn link(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        new: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        let name = single(name.as_ref())?;
        let new = single(new.as_ref())?;
        Ok(linkat(
            &self.handle,
            name,
            &to.handle,
            new,
            AtFlags::empty(),
        )?)
    }

    /// The names of what is in the directory.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// The name, if it is a single one: a path with several would follow links.
fn single(name: &OsStr) -> io::Result<&Path> {
    let name = Path::new(name);
    let mut parts = name.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) => Ok(name),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_written_through_a_handle_never_lands_behind_a_link() {
        let home = tempfile::tempdir().expect("a directory");
        let [base, aside, outside] =
            ["base", "aside", "outside"].map(|name| home.path().join(name));
        fs::create_dir(&base).expect("made");
        fs::create_dir(&outside).expect("made");
        let own = base.join("task/.orch");
        let directory = Directory::make(&base, &own).expect("made");
        // The directory is replaced by a link after it was opened.
        fs::rename(base.join("task"), &aside).expect("moved");
        symlink(&outside, base.join("task")).expect("linked");
        fs::create_dir(outside.join(".orch")).expect("made");
        directory
            .create_new("a")
            .and_then(|mut file| file.write_all(b"x"))
            .expect("written");
        directory.rename("a", &directory, "b").expect("renamed");
        assert_eq!(fs::read(aside.join(".orch/b")).expect("there"), b"x");
        assert_eq!(
            fs::read_dir(outside.join(".orch")).expect("listed").count(),
            0
        );
        // And it is not opened through the link.
        for opened in [Directory::open(&base, &own), Directory::make(&base, &own)] {
            assert_eq!(
                opened.expect_err("refused").kind(),
                io::ErrorKind::NotADirectory
            );
        }
        // What leaves the base, or is no single name, is refused.
        assert!(Directory::open(&base, &outside).is_err());
        assert!(Directory::make(&base, &base.join("../outside/x")).is_err());
        for name in ["", ".", "..", "a/b", "/etc/x"] {
            assert!(directory.create_new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_replaced_or_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let outside = home.path().join("outside");
        fs::write(&outside, "mine").expect("written");
        let directory = Directory::make(home.path(), &home.path().join("own")).expect("made");
        let link = home.path().join("own/x");
        symlink(&outside, &link).expect("linked");
        for opened in [
            directory.touch("x"),
            directory.append("x"),
            directory.create_new("x"),
        ] {
            assert!(opened.is_err());
        }
        assert!(directory.permissions("x").is_none());
        directory.create_anew("x").expect("replaced");
        assert!(link.symlink_metadata().expect("there").is_file());
        assert_eq!(fs::read_to_string(&outside).expect("text"), "mine");
        assert_eq!(directory.names().expect("listed"), ["x"]);
    }
}
