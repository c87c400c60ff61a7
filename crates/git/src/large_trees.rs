//! Large trees, kept so that a command about few tasks finds their entries without reading all of them.
//!
//! git stores a directory as one compressed object, and only the whole of it can be compared with its id. A file in
//! `.git/orch` that is named by the id contains the same entries in blocks, and before them a head that says which entry
//! each block begins with. Both have checksums, and without the right ones count as missing. A command that asks for few
//! entries, and has read such a tree as a whole, writes the file, and so does a watch that has written the tree; it is
//! never changed. Only suggestions and explanations rest on such files, and no step that is recorded.

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

/// Smaller trees, in bytes, are read as quickly without such a file.
const SMALLEST: usize = 64 << 10;
/// About how many bytes a block has.
const BLOCK: usize = 4 << 10;
/// How many trees are kept.
const MOST_KEPT: usize = 4;
/// How many entries are asked for one by one. For more, the whole tree is read.
const MOST_ASKED: usize = 16;
/// How a file begins. Another layout would begin in another way.
const BEGIN: &[u8] = b"orch tree 1\n";
/// No head is longer, so that a damaged length takes no memory.
const LONGEST_HEAD: usize = 16 << 20;

/// The id and the mode of an entry; `None` if there is none.
type FoundEntry = Option<(Oid, u32)>;

/// What a store knows of the trees that are kept.
#[derive(Default)]
pub(super) struct LargeTrees {
    /// Whether few entries will be asked for.
    asks_for_few: Cell<bool>,
    /// The tree below which they are: the first one that is asked about, which is that of HEAD. Those of older commits are
    /// not asked for again.
    top: Cell<Option<Oid>>,
    /// The ids of the trees with a file.
    kept: OnceCell<RefCell<BTreeSet<Oid>>>,
    /// The files that are in use.
    open: RefCell<HashMap<Oid, KeptTree>>,
}

/// An open file with a tree.
struct KeptTree {
    file: File,
    format: ObjectFormat,
    /// The first entry of each block.
    firsts: Listing,
    blocks: Vec<KeptBlock>,
    /// The block that was read last, and its number.
    last_block: Option<(usize, Listing)>,
    /// The entry that was found last, by its name: all paths of a task lead through one.
    last_found: Option<(Vec<u8>, FoundEntry)>,
    /// How many other entries were asked for.
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

/// The content of the file for a tree: the beginning; the length and the checksum of the head; the head, which
/// consists of the id, the number of blocks, the length and the checksum of each, and their first entries; and the blocks.
/// `None` for a tree that is too large, or not sorted, so that a search would not find all of its entries.
fn encode(id: Oid, tree: &Listing) -> Option<Vec<u8>> {
    if !tree
        .iter()
        .is_sorted_by(|one, other| one.in_order(other).is_lt())
    {
        return None;
    }
    let number = |number: usize| u32::try_from(number).ok();
    let blocks = tree.blocks(BLOCK);
    let mut head = id.as_bytes().to_vec();
    head.extend(number(blocks.len())?.to_be_bytes());
    for block in &blocks {
        let bytes = tree.bytes_of(block);
        head.extend(number(bytes.len())?.to_be_bytes());
        head.extend(checksum(bytes).to_be_bytes());
    }
    blocks
        .iter()
        .for_each(|block| head.extend(tree.bytes_of(&(block.start..block.start + 1))));
    let length = number(Some(head.len()).filter(|length| *length <= LONGEST_HEAD)?)?.to_be_bytes();
    Some(
        [
            BEGIN,
            &length,
            &checksum(&head).to_be_bytes(),
            &head,
            tree.bytes(),
        ]
        .concat(),
    )
}

impl KeptTree {
    /// Reads the head of a file; `None` if it is not that of this tree.
    fn of(file: File, id: Oid, format: ObjectFormat) -> Option<Self> {
        let mut begin = [0; BEGIN.len() + 8];
        file.read_exact_at(&mut begin, 0).ok()?;
        let mut numbers = begin.strip_prefix(BEGIN)?.chunks_exact(4).map(number);
        let (length, sum) = (usize::try_from(numbers.next()?).ok()?, numbers.next()?);
        let mut head = vec![0; Some(length).filter(|length| *length <= LONGEST_HEAD)?];
        file.read_exact_at(&mut head, begin.len() as u64).ok()?;
        let rest = head
            .strip_prefix(id.as_bytes())
            .filter(|_| checksum(&head) == sum)?;
        let (count, rest) = rest.split_at_checked(4)?;
        let (blocks, firsts) = rest.split_at_checked(8 * usize::try_from(number(count)).ok()?)?;
        let mut at = (begin.len() + length) as u64;
        let mut block = |bytes: &[u8]| {
            let place = at..at + u64::from(number(&bytes[..4]));
            at = place.end;
            KeptBlock {
                place,
                checksum: number(&bytes[4..]),
            }
        };
        let blocks = blocks.chunks_exact(8).map(&mut block).collect();
        let firsts = Listing::parse(firsts.to_vec(), format)?;
        let is_whole = file.metadata().ok()?.len() == at;
        let (last_block, last_found) = (None, None);
        is_whole.then_some(Self {
            file,
            format,
            firsts,
            blocks,
            last_block,
            last_found,
            asked: 0,
        })
    }

    /// The entry with a name, if there is one.
    fn entry(&mut self, name: &[u8]) -> Answered {
        if let Some((_, found)) = self.last_found.as_ref().filter(|(last, _)| last == name) {
            return Answered::Entry(*found);
        }
        if self.asked == MOST_ASKED {
            return Answered::Unknown;
        }
        self.asked += 1;
        let Some(found) = self.find(name) else {
            return Answered::Damaged;
        };
        self.last_found = Some((name.to_owned(), found));
        Answered::Entry(found)
    }

    /// The same; the outer `None` if the file is damaged.
    fn find(&mut self, name: &[u8]) -> Option<FoundEntry> {
        for is_tree in [false, true] {
            let Some(number) = self.firsts.last_until(name, is_tree) else {
                continue;
            };
            if let Some(ListingEntry { id, mode, .. }) = self.block(number)?.entry(name, is_tree) {
                return Some(Some((id, mode)));
            }
        }
        Some(None)
    }

    fn block(&mut self, number: usize) -> Option<&Listing> {
        if self
            .last_block
            .as_ref()
            .is_none_or(|(last, _)| *last != number)
        {
            let KeptBlock {
                place,
                checksum: sum,
            } = self.blocks.get(number)?;
            let mut bytes = vec![0; usize::try_from(place.end - place.start).ok()?];
            self.file.read_exact_at(&mut bytes, place.start).ok()?;
            let listing = Some(bytes).filter(|bytes| checksum(bytes) == *sum);
            self.last_block = Some((number, Listing::parse(listing?, self.format)?));
        }
        self.last_block.as_ref().map(|(_, listing)| listing)
    }
}

/// What the file of a tree says about a name.
enum Answered {
    Entry(FoundEntry),
    /// Nothing, because many entries were asked for.
    Unknown,
    /// Nothing, because it is damaged.
    Damaged,
}

/// Four bytes as a number.
fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

impl Store {
    /// Finds entries of large trees of HEAD in files in the git directory, and keeps such files: few entries will be asked
    /// for.
    pub fn ask_for_few(&self) {
        self.large_trees.asks_for_few.set(true);
    }

    /// Whether few entries will be asked for.
    pub(super) fn asks_for_few(&self) -> bool {
        self.large_trees.asks_for_few.get()
    }

    /// The entry with this name in a tree below `top`.
    pub(super) fn entry_of(&self, top: Oid, id: Oid, name: &[u8]) -> Result<FoundEntry, Error> {
        let is_of_few = self.asks_for_few()
            && self.large_trees.top.get().is_none_or(|known| known == top)
            && self.trees.borrow_mut().get(&id).is_none();
        if is_of_few {
            self.large_trees.top.set(Some(top));
            if let Answered::Entry(found) = self.kept_entry(id, name) {
                return Ok(found);
            }
        }
        let tree = self.listing(id)?;
        if is_of_few {
            self.keep_tree(id, &tree);
        }
        Ok(tree.get(name).map(|entry| (entry.id, entry.mode)))
    }

    fn kept_entry(&self, id: Oid, name: &[u8]) -> Answered {
        if !self.kept_trees().borrow().contains(&id) {
            return Answered::Unknown;
        }
        let mut open = self.large_trees.open.borrow_mut();
        if !open.contains_key(&id) {
            let file = open_regular(&self.file_of_tree(id)).ok().flatten();
            open.extend(file.and_then(|file| Some((id, KeptTree::of(file, id, self.format)?))));
        }
        let answered = open
            .get_mut(&id)
            .map_or(Answered::Damaged, |tree| tree.entry(name));
        if matches!(answered, Answered::Damaged) {
            // So it is written again.
            open.remove(&id);
            self.kept_trees().borrow_mut().remove(&id);
        }
        answered
    }

    /// Keeps a tree that was read, if it is large. A failure is ignored: the tree is read again next time.
    fn keep_tree(&self, id: Oid, tree: &Listing) {
        if tree.bytes().len() >= SMALLEST && self.kept_trees().borrow_mut().insert(id) {
            let kept = self.write_tree(id, tree);
            kept.unwrap_or_else(|error| tracing::debug!(%error, "cannot keep a large tree"));
        }
    }

    fn write_tree(&self, id: Oid, tree: &Listing) -> Result<(), Error> {
        let Some(bytes) = encode(id, tree) else {
            return Ok(());
        };
        let git = self.repo.path();
        let place = self.own(caches::LARGE_TREES);
        let fail = |source: io::Error| io_error(&place, source);
        let directory = Directory::make(git, &place).map_err(fail)?;
        durable::remove_abandoned(&place);
        durable::write_derived(git, &self.file_of_tree(id), &bytes)?;
        let mut others = directory.names().map_err(fail)?;
        // Another process may be writing.
        others.retain(|name| !name.to_string_lossy().starts_with(durable::TEMPORARY));
        others.sort_by_key(|name| {
            fs::metadata(place.join(name))
                .and_then(|it| it.modified())
                .ok()
        });
        let many = others.len().saturating_sub(MOST_KEPT);
        let mut kept = self.kept_trees().borrow_mut();
        for name in others.iter().take(many) {
            // What cannot be removed is no file of a tree.
            let _ = directory.remove_if_there(name);
            if let Some(id) = name
                .to_str()
                .and_then(Digest::parse)
                .and_then(|id| self.oid(id).ok())
            {
                kept.remove(&id);
            }
        }
        Ok(())
    }

    fn file_of_tree(&self, id: Oid) -> PathBuf {
        self.own(caches::LARGE_TREES).join(digest(id).to_string())
    }

    fn kept_trees(&self) -> &RefCell<BTreeSet<Oid>> {
        self.large_trees.kept.get_or_init(|| {
            let entries = fs::read_dir(self.own(caches::LARGE_TREES))
                .into_iter()
                .flatten()
                .flatten();
            let id = |name: &str| self.oid(Digest::parse(name)?).ok();
            RefCell::new(
                entries
                    .filter_map(|entry| id(entry.file_name().to_str()?))
                    .collect(),
            )
        })
    }
}
