//! The mounts of a process; see proc_pid_mountinfo(5).

use rustix::mount::MountFlags;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// Its id.
    pub id: u64,
    /// Where it is.
    pub path: PathBuf,
    /// The flags that a change has to keep, and whether it is read-only.
    pub flags: MountFlags,
}

impl Mount {
    pub(super) fn is_read_only(&self) -> bool {
        self.flags.contains(MountFlags::RDONLY)
    }
}

/// The mounts that the text of `mountinfo` lists, in its order: of several at one path the last is the one that is seen.
pub(super) fn mounts(text: &[u8]) -> Vec<Mount> {
    text.split(|byte| *byte == b'\n')
        .filter_map(mount)
        .collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = fields.nth(3)?;
    let options = fields.next()?;
    let mut flags = MountFlags::empty();
    for option in options.split(|byte| *byte == b',') {
        flags |= match option {
            b"ro" => MountFlags::RDONLY,
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            _ => MountFlags::empty(),
        };
    }
    Some(Mount {
        id,
        path: unescaped(path),
        flags,
    })
}

/// A path in which `\040` and the like stand for signs.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let octal = digits.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        match octal {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Whether something is mounted at a path, in the text of `mountinfo`.
pub(super) fn is_mounted(text: &[u8], path: &std::path::Path) -> bool {
    let path = path.as_os_str().as_bytes();
    text.split(|byte| *byte == b'\n').any(|line| {
        let found = line.split(|byte| *byte == b' ').nth(4);
        found.is_some_and(|found| {
            found == path
                || (found.contains(&b'\\') && unescaped(found).as_os_str().as_bytes() == path)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = "\
22 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
30 25 0:27 / /a\\040b ro,relatime shared:1 - tmpfs tmpfs rw,size=24684084k
31 25 0:27 /x//deleted /gone\\\\ rw - tmpfs tmpfs rw
";

    #[test]
    fn mounts_are_read_with_the_flags_that_a_change_has_to_keep() {
        let found = mounts(TEXT.as_bytes());
        let kept = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let expected = [
            (22, "/proc", kept),
            (30, "/a b", MountFlags::RDONLY),
            (31, "/gone\\\\", MountFlags::empty()),
        ];
        let expected = expected.map(|(id, path, flags)| Mount {
            id,
            path: PathBuf::from(path),
            flags,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_mount_is_found_by_its_path() {
        for (path, expected) in [("/proc", true), ("/a b", true), ("/a", false)] {
            let found = is_mounted(TEXT.as_bytes(), Path::new(path));
            assert_eq!(found, expected, "{path}");
        }
    }
}
