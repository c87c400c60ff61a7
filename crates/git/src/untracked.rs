//! The untracked cache extension of an index: which untracked files git has found in which directory, so that `git status`
//! need not list a directory that has not changed. See gitformat-index(5).

use super::extension::{content, cut, with_header};
use super::index_entry::number;
use super::{ewah, varint};
use crate::base::ObjectFormat;
use std::collections::HashSet;

/// The size of the times, the owner and the size of a file, as the index has them.
const STAT: usize = 36;

/// What the extension says.
struct Untracked<'b> {
    /// What decides which files are untracked: where the work tree is, and the ignored patterns.
    about: &'b [u8],
    /// The directories, parents first.
    directories: Vec<Cached<'b>>,
    /// Which directories have the stamp of their ignored patterns.
    patterns: &'b [u8],
    /// These stamps, and the last byte.
    rest: &'b [u8],
}

/// A directory in the extension.
struct Cached<'b> {
    name: &'b [u8],
    /// The number of subdirectories that follow.
    below: usize,
    /// The number of untracked files, and their names.
    files: (usize, &'b [u8]),
    /// Its stamp, if these are its files.
    stamp: Option<&'b [u8]>,
    /// Whether git only looked whether it has any.
    is_probed: bool,
    /// Whether git has to list it again.
    is_forgotten: bool,
}

/// The extension, header included, without what it says about these directories and, as the set has them too, those above:
/// git lists them again. `None` if it is malformed: git then lists all.
pub(super) fn forget(
    extension: &[u8],
    format: ObjectFormat,
    directories: &HashSet<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut untracked = Untracked::read(extension, format, directories)?;
    for directory in untracked
        .directories
        .iter_mut()
        .filter(|directory| directory.is_forgotten)
    {
        directory.files = (0, &[]);
        (directory.stamp, directory.is_probed) = (None, false);
    }
    untracked.write()
}

/// The latest time of a directory in seconds. A directory that changed in the second in which the index was written may
/// have changed again. `None` if there is none, or the extension is malformed.
pub(super) fn newest(extension: &[u8], format: ObjectFormat) -> Option<u32> {
    let untracked = Untracked::read(extension, format, &HashSet::new())?;
    untracked
        .directories
        .iter()
        .filter_map(|directory| number(directory.stamp?, 8))
        .max()
}

impl<'b> Untracked<'b> {
    fn read(
        extension: &'b [u8],
        format: ObjectFormat,
        forgotten: &HashSet<Vec<u8>>,
    ) -> Option<Self> {
        let bytes = content(extension)?;
        let (length, rest) = varint::decode(bytes)?;
        // The stamps of two files of patterns, flags, the ids of both, and the name of such files.
        let rest = rest.get(length.checked_add(2 * STAT + 4 + 2 * format.length())?..)?;
        let (_, rest) = cut(rest, 0)?;
        let about = &bytes[..bytes.len() - rest.len()];
        let (count, mut rest) = varint::decode(rest)?;
        if count == 0 {
            return Some(Self {
                about,
                directories: Vec::new(),
                patterns: &[],
                rest,
            });
        }
        let mut directories: Vec<Cached<'_>> = Vec::new();
        // For each open directory, the length of its path, how many subdirectories are still to come, and whether one of
        // them may be forgotten.
        let mut open: Vec<(usize, usize, bool)> = Vec::new();
        let mut path: Vec<u8> = Vec::new();
        loop {
            let mut directory;
            (directory, rest) = Cached::read(rest)?;
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(directory.name);
            directory.is_forgotten =
                open.last().is_none_or(|above| above.2) && forgotten.contains(&path);
            open.push((path.len(), directory.below, directory.is_forgotten));
            directories.push(directory);
            while let Some((length, below, _)) = open.last_mut() {
                path.truncate(*length);
                match below.checked_sub(1) {
                    Some(left) => {
                        *below = left;
                        break;
                    }
                    None => drop(open.pop()),
                }
            }
            if open.is_empty() {
                break;
            }
        }
        if directories.len() != count {
            return None;
        }
        let (valid, rest) = ewah::decode(rest, count)?;
        let (probed, rest) = ewah::decode(rest, count)?;
        let (known, after) = ewah::decode(rest, count)?;
        let (patterns, mut rest) = rest.split_at(rest.len() - after.len());
        for (number, directory) in directories.iter_mut().enumerate() {
            directory.is_probed = probed[number];
            if valid[number] {
                let stamp;
                (stamp, rest) = rest.split_at_checked(STAT)?;
                directory.stamp = Some(stamp);
            }
        }
        let ids = known.iter().filter(|is_known| **is_known).count() * format.length();
        (rest.len() == ids + 1).then_some(Self {
            about,
            directories,
            patterns,
            rest,
        })
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut bytes = [self.about, &varint::encode(self.directories.len())].concat();
        for Cached {
            name,
            below,
            files: (count, names),
            ..
        } in &self.directories
        {
            bytes.extend([varint::encode(*count), varint::encode(*below)].concat());
            bytes.extend([*name, b"\0", *names].concat());
        }
        if !self.directories.is_empty() {
            let told = |tells: fn(&Cached<'_>) -> bool| {
                ewah::encode(&self.directories.iter().map(tells).collect::<Vec<_>>())
            };
            bytes.extend(told(|directory| directory.stamp.is_some())?);
            bytes.extend(told(|directory| directory.is_probed)?);
        }
        bytes.extend(self.patterns);
        self.directories
            .iter()
            .filter_map(|directory| directory.stamp)
            .for_each(|stamp| bytes.extend(stamp));
        bytes.extend(self.rest);
        with_header(b"UNTR", &bytes)
    }
}

impl<'b> Cached<'b> {
    /// Reads a directory. Also returns what follows it.
    fn read(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (count, rest) = varint::decode(bytes)?;
        let (below, rest) = varint::decode(rest)?;
        let (name, names) = cut(rest, 0)?;
        let mut rest = names;
        for _ in 0..count {
            (_, rest) = cut(rest, 0)?;
        }
        let files = (count, &names[..names.len() - rest.len()]);
        Some((
            Self {
                name,
                below,
                files,
                stamp: None,
                is_probed: false,
                is_forgotten: false,
            },
            rest,
        ))
    }
}
