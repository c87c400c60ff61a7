//! Control groups of version 2, which no process leaves by a fork or a session of its own; see cgroups(7).
//!
//! A program gets a group below the one of this process, where the system permits that: below the user's manager of
//! systemd, in a container that owns its groups, or as root. Elsewhere its processes are found in other ways.

use super::process_tree;
use rustix::process::Pid;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use walkdir::WalkDir;

/// How the names of the groups begin; the number of this process and that of the program follow.
const PREFIX: &str = "orch-";

/// What a process writes to the entrance of a group to enter it.
pub(super) const ENTERS_ITSELF: &[u8] = b"0";

/// How many groups this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A control group that this process has made. Dropping it removes it, if nothing lives in it any more.
#[derive(Debug)]
pub(super) struct ControlGroup {
    directory: PathBuf,
}

impl ControlGroup {
    /// A new group; `None` where the system permits none.
    pub(super) fn new() -> Option<Self> {
        let own = own_directory()?;
        remove_left(&own);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let directory = own.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&directory).ok()?;
        Some(Self { directory })
    }

    /// The file to which a process writes [`ENTERS_ITSELF`] to enter the group. Returns an error if it cannot be opened.
    pub(super) fn entrance(&self) -> io::Result<File> {
        File::options()
            .write(true)
            .open(self.directory.join("cgroup.procs"))
    }

    /// Whether a process lives in it or below it. Unlike [`Self::members`] this also notices those that come and go.
    pub(super) fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.directory.join("cgroup.events"));
        events.is_ok_and(|events| events.lines().any(|line| line == "populated 1"))
    }

    /// The processes in it, also in groups that they have made below it. None of them is a dead one.
    pub(super) fn members(&self) -> Vec<Pid> {
        let lists = self
            .groups()
            .filter_map(|group| fs::read_to_string(group.join("cgroup.procs")).ok());
        let parsed = |list: String| -> Vec<Pid> {
            list.lines()
                .filter_map(|line| Pid::from_raw(line.parse().ok()?))
                .collect()
        };
        lists.flat_map(parsed).collect()
    }

    /// Sends SIGKILL to all of them at once, so that none can start another one meanwhile. Does nothing on Linux before
    /// 5.14.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.directory.join("cgroup.kill"), "1");
    }

    /// Removes this group and its subgroups once no process is left in them.
    pub(super) fn remove(&self) {
        self.groups().for_each(|group| drop(fs::remove_dir(group)));
    }

    /// The directories of the group and of those below it, those below first.
    fn groups(&self) -> impl Iterator<Item = PathBuf> {
        let below = WalkDir::new(&self.directory)
            .contents_first(true)
            .into_iter()
            .flatten();
        below
            .filter(|entry| entry.file_type().is_dir())
            .map(walkdir::DirEntry::into_path)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes the groups of processes that are gone, unless something lives in them.
fn remove_left(own: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let made_by = || {
            let (process, number) = name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
            number.parse::<u32>().ok()?;
            process.parse().ok()
        };
        if made_by().is_some_and(|process| process_tree::started(process).is_none()) {
            drop(ControlGroup {
                directory: entry.path(),
            });
        }
    }
}

/// The directory of the group of this process.
fn own_directory() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    directory_in(&groups, &mounts)
}

/// The directory of a group, given the groups of a process and the places where file systems are mounted, as proc(5)
/// describes both.
fn directory_in(groups: &str, mounts: &str) -> Option<PathBuf> {
    // Other lines are those of version 1.
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let root = fields.next()?;
        let place = fields.next()?;
        // A group outside what is mounted begins with `/..`.
        let below = group
            .strip_prefix(root)
            .ok()
            .filter(|below| !below.starts_with(".."))?;
        kind.starts_with("cgroup2 ")
            .then(|| Path::new(place).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::directory_in;

    #[test]
    fn the_group_of_a_process_is_found_where_it_is_mounted() {
        let v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
        let v1 = "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let hybrid = "32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let part = "33 23 0:26 /user.slice /mnt rw - cgroup2 cgroup2 rw";
        let session = "0::/user.slice/a.scope";
        let cases = [
            (
                session,
                v2.to_owned(),
                Some("/sys/fs/cgroup/user.slice/a.scope"),
            ),
            ("0::/", v2.to_owned(), Some("/sys/fs/cgroup")),
            (
                "4:memory:/x\n0::/y",
                format!("{v1}\n{hybrid}"),
                Some("/sys/fs/cgroup/unified/y"),
            ),
            (session, part.to_owned(), Some("/mnt/a.scope")),
            ("0::/other", part.to_owned(), None),
            ("0::/../x", v2.to_owned(), None),
            ("1:cpu:/x", v2.to_owned(), None),
            (session, v1.to_owned(), None),
            (session, "no mount".to_owned(), None),
            ("", String::new(), None),
        ];
        for (groups, mounts, expected) in cases {
            let found = directory_in(groups, &mounts);
            assert_eq!(
                found.as_deref(),
                expected.map(std::path::Path::new),
                "{groups} in {mounts}"
            );
        }
    }
}
