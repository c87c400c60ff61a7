//! File metadata that shows, without reading a file, that it is unchanged.

use rustix::fs::{AtFlags, statat};
use std::fs::Metadata;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The identity of a file and of its present content, as the file system records it.
///
/// Two equal stamps mean equal bytes, unless the file was changed twice within one tick of the file system's
/// clock: see [`FileStamp::is_recent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Device and inode.
    place: (u64, u64),
    length: u64,
    mode: u32,
    modified: SystemTime,
    /// When anything about the file changed, including its name and its permissions.
    changed: SystemTime,
}

/// The assumed precision of the file system's clock, and its assumed offset from the system clock.
const TICK: Duration = Duration::from_millis(20);
/// The same where the file system records whole seconds, or pairs of them as FAT does.
const COARSE_TICK: Duration = Duration::from_secs(3);

impl FileStamp {
    /// The stamp for these metadata; `None` if the system does not record times.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?;
        let (place, mode, changed) = details(metadata);
        Some(Self {
            place,
            length: metadata.len(),
            mode,
            modified,
            changed,
        })
    }

    /// The stamp of the file at a path, without following a link; `None` if there is none.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        Self::of(&path.symlink_metadata().ok()?)
    }

    /// The stamp of what has this path below an open directory, without following a link; `None` if there is nothing.
    #[must_use]
    pub(super) fn below(directory: BorrowedFd<'_>, path: &str) -> Option<Self> {
        let found = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self {
            place: (number(found.st_dev)?, number(found.st_ino)?),
            length: number(found.st_size)?,
            mode: number(found.st_mode)?,
            modified: time(number(found.st_mtime)?, number(found.st_mtime_nsec)?),
            changed: time(number(found.st_ctime)?, number(found.st_ctime_nsec)?),
        })
    }

    /// The stamp as bytes: equal stamps, and only these, have equal bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 60] {
        let mut bytes = [0; 60];
        bytes[..8].copy_from_slice(&self.place.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.place.1.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.mode.to_le_bytes());
        bytes[28..44].copy_from_slice(&nanoseconds(self.modified));
        bytes[44..].copy_from_slice(&nanoseconds(self.changed));
        bytes
    }

    /// Whether the file changed so shortly before `now` that another change could yield the same stamp.
    #[must_use]
    pub fn is_recent(&self, now: SystemTime) -> bool {
        let tick = match self.changed.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) if since.subsec_nanos() == 0 => COARSE_TICK,
            _ => TICK,
        };
        now.duration_since(self.changed)
            .map_or(true, |age| age < tick)
    }

    /// Whether it is the stamp of a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        const KIND: u32 = 0o170_000;
        const LINK: u32 = 0o120_000;
        self.mode & KIND == LINK
    }

    /// Whether both stamps mean one file with the same bytes, under whichever name.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.place, self.length, self.modified) == (other.place, other.length, other.modified)
    }
}

/// The place of the file, its mode, and when anything about it changed.
fn details(metadata: &Metadata) -> ((u64, u64), u32, SystemTime) {
    let changed = time(
        metadata.ctime(),
        u32::try_from(metadata.ctime_nsec()).unwrap_or_default(),
    );
    ((metadata.dev(), metadata.ino()), metadata.mode(), changed)
}

/// A time, given in seconds since 1970 and the nanoseconds after them.
fn time(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let begin = SystemTime::UNIX_EPOCH;
    let time = if seconds < 0 {
        begin - whole
    } else {
        begin + whole
    };
    time + Duration::from_nanos(nanoseconds.into())
}

/// A field of a system's structure, whose type differs between systems.
fn number<T, N: TryFrom<T>>(field: T) -> Option<N> {
    N::try_from(field).ok()
}

/// The nanoseconds since 1970, which are negative before it.
fn nanoseconds(time: SystemTime) -> [u8; 16] {
    let since = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => after.as_nanos().cast_signed(),
        Err(before) => -before.duration().as_nanos().cast_signed(),
    };
    since.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Directory;
    use std::fs;

    #[test]
    fn a_file_is_the_same_until_it_is_written_or_replaced() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a");
        fs::write(&path, "one").expect("written");
        let first = FileStamp::at(&path).expect("there");
        assert_eq!(FileStamp::at(&path), Some(first));
        std::thread::sleep(Duration::from_millis(15));
        fs::write(&path, "two").expect("written");
        let second = FileStamp::at(&path).expect("there");
        assert_ne!(first, second);
        fs::rename(&path, directory.path().join("b")).expect("renamed");
        let moved = FileStamp::at(&directory.path().join("b")).expect("there");
        assert!(moved.is_same_file(&second) && !moved.is_same_file(&first));
        assert_eq!(FileStamp::at(&path), None);
    }

    #[test]
    fn both_ways_to_ask_yield_the_same_stamp() {
        let place = tempfile::tempdir().expect("a directory");
        fs::create_dir(place.path().join("below")).expect("made");
        fs::write(place.path().join("below/a"), "one").expect("written");
        fs::write(place.path().join("old"), "one").expect("written");
        std::os::unix::fs::symlink("old", place.path().join("link")).expect("a link");
        let before_1970 = SystemTime::UNIX_EPOCH - Duration::from_millis(1500);
        let old = fs::File::options()
            .write(true)
            .open(place.path().join("old"))
            .expect("a file");
        old.set_times(fs::FileTimes::new().set_modified(before_1970))
            .expect("set");
        let directory = Directory::open_itself(place.path()).expect("a directory");
        assert_eq!(directory.stamp("."), FileStamp::at(place.path()));
        for path in ["below", "below/a", "old", "link", "none", "none/a"] {
            assert_eq!(
                directory.stamp(path),
                FileStamp::at(&place.path().join(path)),
                "{path}"
            );
        }
        assert_eq!(
            directory.stamp("old").map(|stamp| stamp.modified),
            Some(before_1970)
        );
        assert!(Directory::open_itself(&place.path().join("old")).is_err());
        std::os::unix::fs::symlink("below", place.path().join("to")).expect("a link");
        assert!(
            Directory::open_itself(&place.path().join("to")).is_err(),
            "a link is not followed"
        );
    }

    #[test]
    fn what_changed_just_now_may_change_again_unseen() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let stamp = FileStamp::at(file.path()).expect("there");
        assert!(stamp.is_recent(stamp.changed + Duration::from_millis(1)));
        assert!(
            stamp.is_recent(stamp.changed - Duration::from_secs(1)),
            "the clocks may differ"
        );
        assert!(!stamp.is_recent(stamp.changed + Duration::from_secs(1)));
    }
}
