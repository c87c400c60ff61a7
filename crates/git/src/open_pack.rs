//! A pack and its index, mapped into memory; see "pack index" in gitformat-pack(5).

use super::index_entry::number;
use super::mapped_file::MappedFile;
use super::pack::{INDEX_BEGIN, LARGE, PACK_BEGIN};
use crate::base::ObjectFormat;
use crate::scan::open_linked;
use std::cmp::{Ordering, Reverse};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many packs are opened, those with the largest indexes. git gathers packs when there are fifty.
const MOST_PACKS: usize = 64;
/// How many bytes the counts of objects have: for each first byte, of those up to it.
const COUNTS: usize = 256 * 4;

/// A pack and its index.
#[derive(Debug)]
pub(super) struct OpenPack {
    bytes: MappedFile,
    index: MappedFile,
    /// How many objects it has.
    many: usize,
    format: ObjectFormat,
}

impl OpenPack {
    /// The packs in directories of objects, without those that cannot be opened.
    pub(super) fn all_in(directories: &[PathBuf], format: ObjectFormat) -> Vec<Self> {
        let files = directories
            .iter()
            .filter_map(|directory| fs::read_dir(directory.join("pack")).ok());
        let paths = files.flatten().filter_map(|file| Some(file.ok()?.path()));
        let is_index =
            |path: &PathBuf| path.extension().is_some_and(|extension| extension == "idx");
        let sized = |path: PathBuf| Some((path.metadata().ok()?.len(), path));
        let mut indexes: Vec<(u64, PathBuf)> = paths.filter(is_index).filter_map(sized).collect();
        indexes.sort_by_key(|(length, _)| Reverse(*length));
        indexes.truncate(MOST_PACKS);
        indexes
            .into_iter()
            .filter_map(|(_, path)| Self::open(&path, format).ok()?)
            .collect()
    }

    /// Opens the pack with this index; `None` if one of them is no file of a version that is known here, or they do not
    /// belong together. Returns an error if one cannot be opened.
    fn open(path: &Path, format: ObjectFormat) -> io::Result<Option<Self>> {
        let (Some(index), Some(bytes)) = (
            open_linked(path)?,
            open_linked(&path.with_extension("pack"))?,
        ) else {
            return Ok(None);
        };
        let (index, bytes) = (MappedFile::new(&index)?, MappedFile::new(&bytes)?);
        let opened = count(&index, u8::MAX).map(|many| Self {
            bytes,
            index,
            many,
            format,
        });
        Ok(opened.filter(|opened| opened.is_whole().unwrap_or_default()))
    }

    /// Whether both have the bytes that they must have: the checksum of the pack is also in the index.
    fn is_whole(&self) -> Option<bool> {
        let length = self.format.length();
        let least = INDEX_BEGIN.len() + COUNTS + self.many * (length + 8) + 2 * length;
        // Each object may have an offset of eight bytes.
        let most = least + 8 * self.many;
        let counts: Option<Vec<usize>> = (0..=u8::MAX)
            .map(|first| count(&self.index, first))
            .collect();
        let named = self.index.len().checked_sub(2 * length)?;
        let checksum = self.index.get(named..named + length)?;
        Some(
            self.index.starts_with(INDEX_BEGIN)
                && (least..=most).contains(&self.index.len())
                && counts.is_some_and(|counts| counts.is_sorted())
                && self.bytes.starts_with(PACK_BEGIN)
                && number(&self.bytes, PACK_BEGIN.len()) == u32::try_from(self.many).ok()
                && self.bytes.ends_with(checksum),
        )
    }

    /// Its bytes from an offset on.
    pub(super) fn bytes_from(&self, offset: usize) -> Option<&[u8]> {
        self.bytes.get(offset..)
    }

    /// Where the object with this id begins.
    pub(super) fn offset_of(&self, id: &[u8]) -> Option<usize> {
        let length = self.format.length();
        let first = *id.first()?;
        let begin = first
            .checked_sub(1)
            .map_or(Some(0), |before| count(&self.index, before))?;
        let (mut begin, mut end) = (begin, count(&self.index, first)?);
        let ids = INDEX_BEGIN.len() + COUNTS;
        let found = loop {
            let middle = begin.midpoint(end);
            let place = ids + middle * length;
            match self
                .index
                .get(place..place + length)
                .filter(|_| begin < end)?
                .cmp(id)
            {
                Ordering::Less => begin = middle + 1,
                Ordering::Greater => end = middle,
                Ordering::Equal => break middle,
            }
        };
        let offsets = ids + self.many * (length + 4);
        let offset = usize::try_from(number(&self.index, offsets + 4 * found)?).ok()?;
        match offset.checked_sub(LARGE) {
            None => Some(offset),
            Some(at) => {
                let place = offsets + 4 * self.many + 8 * at;
                usize::try_from(u64::from_be_bytes(*self.index.get(place..)?.first_chunk()?)).ok()
            }
        }
    }

    /// Gives back the memory that it takes, until it is read again.
    pub(super) fn give_back(&self) {
        self.bytes.give_back();
        self.index.give_back();
    }
}

/// How many objects have an id that begins with this byte or a lower one.
fn count(index: &[u8], first: u8) -> Option<usize> {
    usize::try_from(number(index, INDEX_BEGIN.len() + 4 * usize::from(first))?).ok()
}
