//! Large directories of HEAD, kept so that a command about one task finds its entry without reading all of them.
//!
//! git stores a directory as one compressed object, and only the whole of it can be compared with its id. A file in
//! `.git/orch` that is named by the id contains the same entries in blocks, and before them a head that says which entry
//! each block begins with. Both have checksums, and without the right ones count as missing. A command that asks for few
//! entries, and has read such a directory as a whole, writes the file; it is never changed.

use super::listing::{Listing, ListingEntry};
use super::{Error, Store, caches, digest, durable};
use crate::base::{Digest, ObjectFormat};
use crate::scan::{Directory, io_error, open_regular};
use flate2::Crc;
use git2::Oid;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// Smaller directories, in bytes, are read as quickly without such a file.
const SMALLEST: usize = 64 << 10;
/// About how many bytes a block has.
const BLOCK: usize = 4 << 10;
/// How many directories are kept.
const MOST_KEPT: usize = 4;
/// For more entries than this the whole directory is read.
const MOST_ASKED: usize = 16;
/// How many directories a process keeps. The first are those of HEAD; those of its history are not asked for again.
const MOST_WRITTEN: usize = 2;
/// How a file begins. Another layout would begin in another way.
const BEGIN: &[u8] = b"orch tree 1\n";
/// No head is longer, so that a damaged length takes no memory.
const LONGEST_HEAD: usize = 16 << 20;

/// What a store knows of the directories that are kept.
#[derive(Default)]
pub(super) struct LargeTrees {
    /// Whether files may be written.
    is_permitted: Cell<bool>,
    /// Whether few entries will be asked for.
    is_wanted: Cell<bool>,
    written: Cell<usize>,
    kept: OnceCell<RefCell<BTreeSet<Oid>>>,
    open: RefCell<HashMap<Oid, KeptTree>>,
}

/// An open file with a directory.
struct KeptTree {
    file: File,
    format: ObjectFormat,
    /// The first entry of each block.
    firsts: Listing,
    blocks: Vec<KeptBlock>,
    /// The block that was read last, and its number.
    last: Option<(usize, Listing)>,
    /// How many entries were asked for.
    asked: usize,
}

/// Where a block is in the file, and the checksum of its bytes.
struct KeptBlock {
    place: Range<u64>,
    checksum: u32,
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The content of the file for a directory: the beginning; the length and the checksum of the head; the head, which
/// consists of the id, the number of blocks, the length and the checksum of each, and their first entries; and the blocks.
fn encode(id: Oid, tree: &Listing) -> Option<Vec<u8>> {
    let number = |number: usize| u32::try_from(number).ok();
    let blocks = tree.blocks(BLOCK);
    let mut head = id.as_bytes().to_vec();
    head.extend(number(blocks.len())?.to_be_bytes());
    for block in &blocks {
        let bytes = tree.bytes_of(block);
        head.extend(number(bytes.len())?.to_be_bytes());
        head.extend(checksum(bytes).to_be_bytes());
    }
    blocks.iter().for_each(|block| head.extend(tree.bytes_of(&(block.start..block.start + 1))));
    let length = number(head.len())?.to_be_bytes();
    Some([BEGIN, &length, &checksum(&head).to_be_bytes(), &head, tree.bytes()].concat())
}

impl KeptTree {
    /// Reads the head of a file; `None` if it is not that of this directory.
    fn of(file: File, id: Oid, format: ObjectFormat) -> Option<Self> {
        let mut begin = [0; BEGIN.len() + 8];
        file.read_exact_at(&mut begin, 0).ok()?;
        let mut numbers = begin.strip_prefix(BEGIN)?.chunks_exact(4).map(number);
        let (length, sum) = (usize::try_from(numbers.next()?).ok()?, numbers.next()?);
        let mut head = vec![0; Some(length).filter(|length| *length <= LONGEST_HEAD)?];
        file.read_exact_at(&mut head, begin.len() as u64).ok()?;
        let rest = head.strip_prefix(id.as_bytes()).filter(|_| checksum(&head) == sum)?;
        let (count, rest) = rest.split_at_checked(4)?;
        let (blocks, firsts) = rest.split_at_checked(8 * usize::try_from(number(count)).ok()?)?;
        let mut at = (begin.len() + length) as u64;
        let mut block = |bytes: &[u8]| {
            let place = at..at + u64::from(number(&bytes[..4]));
            at = place.end;
            KeptBlock { place, checksum: number(&bytes[4..]) }
        };
        let blocks = blocks.chunks_exact(8).map(&mut block).collect();
        let firsts = Listing::parse(firsts.to_vec(), format)?;
        Some(Self { file, format, firsts, blocks, last: None, asked: 0 })
    }

    /// The entry with a name, if there is one; the outer `None` if the file is damaged.
    #[expect(clippy::option_option, reason = "what is not known is not what is not there")]
    fn entry(&mut self, name: &[u8]) -> Option<Option<(Oid, u32)>> {
        for is_tree in [false, true] {
            let Some(number) = self.firsts.last_until(name, is_tree) else { continue };
            if let Some(ListingEntry { id, mode, .. }) = self.block(number)?.entry(name, is_tree) {
                return Some(Some((id, mode)));
            }
        }
        Some(None)
    }

    fn block(&mut self, number: usize) -> Option<&Listing> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let KeptBlock { place, checksum: sum } = self.blocks.get(number)?;
            let mut bytes = vec![0; usize::try_from(place.end - place.start).ok()?];
            self.file.read_exact_at(&mut bytes, place.start).ok()?;
            let listing = Some(bytes).filter(|bytes| checksum(bytes) == *sum);
            self.last = Some((number, Listing::parse(listing?, self.format)?));
        }
        self.last.as_ref().map(|(_, listing)| listing)
    }
}

/// Four bytes as a number.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

impl Store {
    /// Permits commands about single tasks to keep large directories of HEAD in the git directory.
    pub fn permit_large_trees(&self) {
        self.large_trees.is_permitted.set(true);
    }

    /// Finds the entries of large directories in files that are kept, and keeps them: few will be asked for. Does nothing
    /// unless that is permitted.
    pub fn ask_for_few(&self) {
        self.large_trees.is_wanted.set(self.large_trees.is_permitted.get());
    }

    /// The entry with this name in a directory that is kept; the outer `None` if it is not, or is not to be used.
    #[expect(clippy::option_option, reason = "what is not known is not what is not there")]
    pub(super) fn kept_entry(&self, id: Oid, name: &[u8]) -> Option<Option<(Oid, u32)>> {
        if !self.large_trees.is_wanted.get() || !self.kept_trees().borrow().contains(&id) {
            return None;
        }
        let mut open = self.large_trees.open.borrow_mut();
        if !open.contains_key(&id) {
            let file = open_regular(&self.file_of_tree(id)).ok().flatten();
            open.extend(file.and_then(|file| Some((id, KeptTree::of(file, id, self.format)?))));
        }
        let found = open.get_mut(&id).filter(|tree| tree.asked < MOST_ASKED).and_then(|tree| {
            tree.asked += 1;
            tree.entry(name)
        });
        if found.is_none() {
            // The file is damaged, or the whole directory is to be read; one that is read is kept again.
            open.remove(&id);
            self.kept_trees().borrow_mut().remove(&id);
        }
        found
    }

    /// Keeps a directory that was read, if it is large and few entries will be asked for. A failure is ignored: the
    /// directory is read again next time.
    pub(super) fn keep_tree(&self, id: Oid, tree: &Listing) {
        let LargeTrees { is_wanted, written, .. } = &self.large_trees;
        if tree.bytes().len() < SMALLEST || !is_wanted.get() || written.get() == MOST_WRITTEN {
            return;
        }
        if !self.kept_trees().borrow_mut().insert(id) {
            return;
        }
        written.set(written.get() + 1);
        let kept = self.write_tree(id, tree);
        kept.unwrap_or_else(|error| tracing::debug!(%error, "cannot keep a large directory"));
    }

    fn write_tree(&self, id: Oid, tree: &Listing) -> Result<(), Error> {
        let git = self.repo.path();
        let place = self.own(caches::LARGE_TREES);
        let fail = |source: io::Error| io_error(&place, source);
        let directory = Directory::make(git, &place).map_err(fail)?;
        durable::remove_abandoned(&place);
        let Some(bytes) = encode(id, tree) else { return Ok(()) };
        durable::write_derived(git, &self.file_of_tree(id), &bytes)?;
        let mut others = directory.names().map_err(fail)?;
        others.sort_by_key(|name| fs::metadata(place.join(name)).and_then(|it| it.modified()).ok());
        let many = others.len().saturating_sub(MOST_KEPT);
        others.iter().take(many).try_for_each(|name| directory.remove_if_there(name)).map_err(fail)
    }

    fn file_of_tree(&self, id: Oid) -> PathBuf {
        self.own(caches::LARGE_TREES).join(digest(id).to_string())
    }

    /// The ids of the directories that are kept.
    fn kept_trees(&self) -> &RefCell<BTreeSet<Oid>> {
        self.large_trees.kept.get_or_init(|| {
            let entries = fs::read_dir(self.own(caches::LARGE_TREES)).into_iter().flatten().flatten();
            let id = |name: &str| self.oid(Digest::parse(name)?).ok();
            RefCell::new(entries.filter_map(|entry| id(entry.file_name().to_str()?)).collect())
        })
    }
}
