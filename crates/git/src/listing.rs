//! The directory that a tree object describes; see "tree objects" in git's documentation.
//!
//! The store reads each tree once for many paths. libgit2 would read, verify and parse a large one again for every
//! path that leads through it, so that a look at every task would cost the square of their number.

use super::objects::not_in_clone;
use super::{Error, Objects, digest};
use git2::{ObjectType, Oid};
use orch_base::{Code, Digest, ObjectFormat};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The content of a tree object.
pub(super) struct Listing {
    bytes: Vec<u8>,
    /// Where each entry begins.
    starts: Vec<u32>,
    format: ObjectFormat,
}

/// An entry of a tree.
#[derive(Clone, Copy)]
pub(super) struct ListingEntry<'t> {
    pub name: &'t [u8],
    pub id: Oid,
    /// The file mode, as git writes it today: older versions also knew others.
    pub mode: u32,
}

/// The file modes that git writes.
pub(super) const TREE: u32 = 0o040_000;
pub(super) const SUBMODULE: u32 = 0o160_000;
pub(super) const EXECUTABLE: u32 = 0o100_755;
/// The most digits of a mode: older programs wrote a zero first.
const MODE_DIGITS: usize = 7;
const LINK: u32 = 0o120_000;
const FILE: u32 = 0o100_644;

impl<'t> ListingEntry<'t> {
    /// Decodes the entry at the start of these bytes; also returns what follows it.
    pub(super) fn decode(bytes: &'t [u8], format: ObjectFormat) -> Option<(Self, &'t [u8])> {
        let EntryEnds { mode, name, after } = EntryEnds::of(bytes, format)?;
        let entry = Self {
            name: &bytes[mode + 1..name],
            id: Oid::from_bytes(&bytes[name + 1..after]).ok()?,
            mode: mode_of(&bytes[..mode]),
        };
        Some((entry, &bytes[after..]))
    }

    pub(super) fn is_tree(&self) -> bool {
        self.mode == TREE
    }

    /// The name, unless it is not UTF-8.
    pub(super) fn text(&self) -> Option<&'t str> {
        std::str::from_utf8(self.name).ok()
    }

    /// The order of git: a directory is sorted as if its name ended with a slash.
    fn in_order(&self, other: &Self) -> Ordering {
        ordered(self.name, self.is_tree(), other.name, other.is_tree())
    }
}

/// Where the parts of the entry at the start of some bytes end.
struct EntryEnds {
    /// The space after the mode.
    mode: usize,
    /// The null byte after the name.
    name: usize,
    /// What follows the entry.
    after: usize,
}

impl EntryEnds {
    /// `None` if there is no whole entry with an octal mode.
    fn of(bytes: &[u8], format: ObjectFormat) -> Option<Self> {
        let mode = match bytes {
            // Most entries are directories or files, and large directories have many of them.
            [b'4', b'0', b'0', b'0', b'0', b' ', ..] => 5,
            [b'1', b'0', b'0', b'6', b'4', b'4', b' ', ..] => 6,
            _ => {
                let mode = bytes
                    .iter()
                    .take(MODE_DIGITS + 1)
                    .position(|byte| *byte == b' ')?;
                let is_octal = bytes[..mode]
                    .iter()
                    .all(|digit| (b'0'..=b'7').contains(digit));
                Some(mode).filter(|mode| is_octal && *mode > 0)?
            }
        };
        let name = mode + bytes[mode..].iter().position(|byte| *byte == 0)?;
        let after = name + 1 + format.length();
        (after <= bytes.len()).then_some(Self { mode, name, after })
    }
}

/// Slices of this size are compared at once.
const STEP: usize = 256;

/// The number of bytes that are alike at the start of both.
fn alike_at_start(one: &[u8], other: &[u8]) -> usize {
    let steps = one.chunks_exact(STEP).zip(other.chunks_exact(STEP));
    let whole = STEP * steps.take_while(|(one, other)| one == other).count();
    whole
        + one[whole..]
            .iter()
            .zip(&other[whole..])
            .take_while(|(one, other)| one == other)
            .count()
}

/// Compares two entries by their names, and whether they are directories.
pub(super) fn ordered(one: &[u8], is_tree: bool, other: &[u8], is_other_tree: bool) -> Ordering {
    let end = |is_tree: bool| if is_tree { &b"/"[..] } else { b"" };
    let both = one.len().min(other.len());
    let rest = || {
        one[both..]
            .iter()
            .chain(end(is_tree))
            .cmp(other[both..].iter().chain(end(is_other_tree)))
    };
    one[..both].cmp(&other[..both]).then_with(rest)
}

/// The file mode that these octal digits mean, as git writes it today.
fn mode_of(digits: &[u8]) -> u32 {
    let mode = digits
        .iter()
        .fold(0, |mode, digit| mode << 3 | u32::from(digit - b'0'));
    match mode & 0o170_000 {
        TREE => TREE,
        LINK => LINK,
        SUBMODULE => SUBMODULE,
        _ if mode & 0o100 != 0 => EXECUTABLE,
        _ => FILE,
    }
}

impl Listing {
    /// The content of a tree with ids of this format; `None` if it is malformed.
    pub(super) fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Option<Self> {
        let mut starts = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            starts.push(u32::try_from(start).ok()?);
            start += EntryEnds::of(&bytes[start..], format)?.after;
        }
        Some(Self {
            bytes,
            starts,
            format,
        })
    }

    /// The entries, in git's order.
    pub(super) fn iter(&self) -> impl Iterator<Item = ListingEntry<'_>> {
        self.range(0..self.starts.len())
    }

    /// Some of the entries, by their numbers.
    pub(super) fn range(&self, numbers: Range<usize>) -> impl Iterator<Item = ListingEntry<'_>> {
        self.starts[numbers]
            .iter()
            .filter_map(|start| self.at(*start))
    }

    /// The entries in which two directories differ, in their order. For each side it is the number of one entry, or
    /// the place where it would be. Most of two versions of a large directory is alike, which is skipped without
    /// reading it entry by entry.
    pub(super) fn unlike(before: &Self, after: &Self) -> Vec<[Range<usize>; 2]> {
        let mut found = Vec::new();
        let mut old = 0;
        let mut new = 0;
        loop {
            let begin = before.place(old);
            let other = after.place(new);
            let end = begin + alike_at_start(&before.bytes[begin..], &after.bytes[other..]);
            let begun = before.starts[old..].partition_point(|start| *start as usize <= end);
            // The entry with the first byte that differs differs as a whole.
            let alike = if end == before.bytes.len() {
                begun
            } else {
                begun - 1
            };
            (old, new) = (old + alike, new + alike);
            let order = match (before.numbered(old), after.numbered(new)) {
                (None, None) => return found,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.in_order(&other),
            };
            let ends = [
                old + usize::from(order.is_le()),
                new + usize::from(order.is_ge()),
            ];
            found.push([old..ends[0], new..ends[1]]);
            [old, new] = ends;
        }
    }

    fn numbered(&self, number: usize) -> Option<ListingEntry<'_>> {
        self.at(*self.starts.get(number)?)
    }

    /// The bytes of some of the entries, by their numbers.
    pub(super) fn bytes_of(&self, numbers: &Range<usize>) -> &[u8] {
        &self.bytes[self.place(numbers.start)..self.place(numbers.end)]
    }

    /// Where an entry begins in the bytes, or where they end.
    pub(super) fn place(&self, number: usize) -> usize {
        self.starts
            .get(number)
            .map_or(self.bytes.len(), |start| *start as usize)
    }

    fn at(&self, start: u32) -> Option<ListingEntry<'_>> {
        let bytes = self.bytes.get(usize::try_from(start).ok()?..)?;
        Some(ListingEntry::decode(bytes, self.format)?.0)
    }

    /// The entry with this name.
    pub(super) fn get(&self, name: &[u8]) -> Option<ListingEntry<'_>> {
        self.numbered(self.number(name)?)
    }

    /// The place of the entry with this name in the bytes.
    pub(super) fn place_of(&self, name: &[u8]) -> Option<Range<usize>> {
        self.number(name)
            .map(|number| self.place(number)..self.place(number + 1))
    }

    /// Where in the bytes a new file, or directory, of this name belongs.
    pub(super) fn place_for(&self, name: &[u8], is_tree: bool) -> usize {
        let number = self.search(name, is_tree).unwrap_or_else(|number| number);
        self.place(number)
    }

    /// The index of the entry with this name.
    fn number(&self, name: &[u8]) -> Option<usize> {
        // A directory comes after the files of the same name with an ending that sorts before a slash, usually none.
        let next = match self.search(name, false) {
            Ok(number) => return Some(number),
            Err(next) => next,
        };
        let is_next = self.numbered(next).is_some_and(|entry| entry.name == name);
        if is_next {
            Some(next)
        } else {
            self.search(name, true).ok()
        }
    }

    /// The number of the file, or directory, with this name, or else the one that it would have.
    fn search(&self, name: &[u8], is_tree: bool) -> Result<usize, usize> {
        self.starts.binary_search_by(|start| {
            // The ids are not decoded: only names are compared.
            let entry = &self.bytes[*start as usize..];
            EntryEnds::of(entry, self.format).map_or(Ordering::Less, |ends| {
                let is_found_tree = mode_of(&entry[..ends.mode]) == TREE;
                ordered(
                    &entry[ends.mode + 1..ends.name],
                    is_found_tree,
                    name,
                    is_tree,
                )
            })
        })
    }

    /// The listing with other entries in some places, each of which begins and ends where an entry does; they are in
    /// order. What stays is copied, not decoded. `None` unless what is put there consists of whole entries.
    pub(super) fn spliced(&self, cuts: Vec<(Range<usize>, Vec<u8>)>) -> Option<Self> {
        let most = self.bytes.len() + cuts.iter().map(|(_, put)| put.len()).sum::<usize>();
        // So every place in it is a number of that size.
        u32::try_from(most).ok()?;
        let mut bytes = Vec::with_capacity(most);
        let mut starts = Vec::with_capacity(self.starts.len() + cuts.len());
        let mut copied = 0;
        let end = (self.bytes.len()..self.bytes.len(), Vec::new());
        for (place, put) in cuts.into_iter().chain([end]) {
            let numbers = [copied, place.start]
                .map(|at| self.starts.partition_point(|start| (*start as usize) < at));
            let kept = &self.starts[numbers[0]..numbers[1]];
            let now = u32::try_from(bytes.len()).ok()?;
            let then = u32::try_from(copied).ok()?;
            starts.extend(kept.iter().map(|start| start - then + now));
            bytes.extend(&self.bytes[copied..place.start]);
            let put = Self::parse(put, self.format)?;
            let now = u32::try_from(bytes.len()).ok()?;
            starts.extend(put.starts.iter().map(|start| start + now));
            bytes.extend(put.bytes);
            copied = place.end;
        }
        Some(Self {
            bytes,
            starts,
            format: self.format,
        })
    }

    /// The content as it was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn size(&self) -> usize {
        self.bytes.len() + 4 * self.starts.len()
    }
}

impl Objects {
    /// The directory with this tree id; cached. Returns an error if git cannot read it, with a code of its own if
    /// this clone does not have it.
    pub(super) fn listing(&self, id: Oid) -> Result<Arc<Listing>, Error> {
        let known = self.trees.borrow_mut().get(&id);
        let listing = known.map_or_else(|| self.read_listing(id), Ok)?;
        self.listed
            .set(self.listed.get() + listing.starts.len() as u64);
        Ok(listing)
    }

    fn read_listing(&self, id: Oid) -> Result<Arc<Listing>, Error> {
        let malformed = || Error::new(Code::Git, format!("{id} is not a tree that can be read"));
        let object = self.object(id, ObjectType::Tree)?;
        let (kind, bytes) = object.ok_or_else(|| not_in_clone("directory", id))?;
        if kind != ObjectType::Tree {
            return Err(malformed());
        }
        let listing = Listing::parse(bytes, self.format).ok_or_else(malformed)?;
        self.costs.trees.fetch_add(1, Relaxed);
        self.costs
            .tree_entries
            .fetch_add(listing.starts.len() as u64, Relaxed);
        let listing = Arc::new(listing);
        self.know_listing(id, &listing);
        Ok(listing)
    }

    /// Keeps the directory with this tree id for the next that asks.
    pub(super) fn know_listing(&self, id: Oid, listing: &Arc<Listing>) {
        self.trees
            .borrow_mut()
            .put(id, Arc::clone(listing), listing.size());
    }

    /// The object id and mode at a path below a tree; `None` if there is none. Returns an error if git cannot
    /// read a tree.
    pub(super) fn object_below<'p>(
        &self,
        tree: Oid,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Option<(Digest, u32)>, Error> {
        let mut id = tree;
        let mut mode = TREE;
        for name in names {
            if mode != TREE {
                return Ok(None);
            }
            let tree = self.listing(id)?;
            let Some(entry) = tree.get(name.as_bytes()) else {
                return Ok(None);
            };
            id = entry.id;
            mode = entry.mode;
        }
        Ok(Some((digest(id), mode)))
    }
}

#[cfg(test)]
impl Listing {
    /// A directory with these files, each with an id of one repeated byte.
    pub(super) fn of_files<'n>(files: impl IntoIterator<Item = (&'n str, u8)>) -> Self {
        let entry = |(name, id)| [format!("100644 {name}\0").as_bytes(), &[id; 20]].concat();
        let bytes: Vec<u8> = files.into_iter().flat_map(entry).collect();
        Self::parse(bytes, ObjectFormat::Sha1).expect("well-formed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(entries: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(mode, name): &(&str, &str)| {
            [mode.as_bytes(), b" ", name.as_bytes(), &[0; 21]].concat()
        };
        entries.iter().flat_map(entry).collect()
    }

    #[test]
    fn every_name_is_found_in_the_order_of_git() {
        let entries = [
            ("100644", "a"),
            ("100755", "a-b"),
            ("100664", "a.b.c"),
            ("40000", "a.b"),
            ("120000", "b"),
            ("160000", "c"),
        ];
        let listing = Listing::parse(bytes(&entries), ObjectFormat::Sha1).expect("a tree");
        let modes: Vec<u32> = entries
            .iter()
            .map(|(_, name)| {
                listing
                    .get(name.as_bytes())
                    .unwrap_or_else(|| panic!("{name}"))
                    .mode
            })
            .collect();
        assert_eq!(modes, [FILE, EXECUTABLE, FILE, TREE, LINK, SUBMODULE]);
        assert!(
            ["", "a.", "a.b.", "0", "d"]
                .iter()
                .all(|name| listing.get(name.as_bytes()).is_none())
        );
        assert!(
            listing
                .iter()
                .is_sorted_by(|one, other| one.in_order(other).is_lt())
        );
    }

    #[test]
    fn a_malformed_tree_is_refused() {
        let whole = bytes(&[("100644", "a")]);
        for length in 1..whole.len() {
            assert!(
                Listing::parse(whole[..length].to_vec(), ObjectFormat::Sha1).is_none(),
                "{length}"
            );
        }
        for mode in ["x", "", "100648", "00100644"] {
            assert!(
                Listing::parse(bytes(&[(mode, "a")]), ObjectFormat::Sha1).is_none(),
                "{mode}"
            );
        }
        assert!(
            Listing::parse(Vec::new(), ObjectFormat::Sha1).is_some(),
            "an empty tree"
        );
    }

    fn listing(files: &[(&str, u8)]) -> Listing {
        Listing::of_files(files.iter().copied())
    }

    #[test]
    fn a_listing_with_other_entries_is_that_of_the_new_bytes() {
        let names: Vec<String> = (0..9).map(|number| format!("t-{number}")).collect();
        let whole = listing(
            &names
                .iter()
                .map(|name| (name.as_str(), 7))
                .collect::<Vec<_>>(),
        );
        let put = |names: &[&str]| {
            bytes(
                &names
                    .iter()
                    .map(|name| ("40000", *name))
                    .collect::<Vec<_>>(),
            )
        };
        let at = |number: usize| whole.place(number);
        for cuts in [
            Vec::new(),
            vec![(at(0)..at(0), put(&["a"]))],
            vec![(at(9)..at(9), put(&["z", "zz"]))],
            vec![(at(0)..at(9), Vec::new())],
            vec![
                (at(3)..at(4), put(&["t-3-long"])),
                (at(4)..at(6), Vec::new()),
                (at(8)..at(9), put(&["t-8"])),
            ],
            vec![
                (at(2)..at(2), put(&["t-1.a"])),
                (at(2)..at(3), put(&["t-2"])),
            ],
        ] {
            let after = whole.spliced(cuts.clone()).expect("whole entries");
            let mut expected = whole.bytes.clone();
            cuts.into_iter()
                .rev()
                .for_each(|(place, put)| drop(expected.splice(place, put)));
            let expected = Listing::parse(expected, ObjectFormat::Sha1).expect("well-formed");
            assert_eq!(
                (after.bytes, after.starts),
                (expected.bytes, expected.starts)
            );
        }
        assert!(
            whole
                .spliced(vec![(at(1)..at(1), put(&["cut"])[..20].to_vec())])
                .is_none()
        );
    }

    #[test]
    fn the_bytes_alike_at_the_start_are_counted() {
        let long: Vec<u8> = (0..2000u32).flat_map(u32::to_be_bytes).collect();
        for at in [0, 1, 255, 256, 257, 4000, 7743, 7744, 7745, 7999] {
            let mut other = long.clone();
            other[at] ^= 0x80;
            assert_eq!(alike_at_start(&long, &other), at);
        }
        assert_eq!(
            (alike_at_start(&long, &long), alike_at_start(b"", &long)),
            (long.len(), 0)
        );
    }

    #[test]
    fn what_two_directories_have_alike_is_skipped() {
        let names: Vec<String> = (0..40).map(|number| format!("t-{number:02}")).collect();
        let all: Vec<(&str, u8)> = names.iter().map(|name| (name.as_str(), 7)).collect();
        let changed = |at: &[usize], id: u8| {
            let mut all = all.clone();
            at.iter().for_each(|at| all[*at].1 = id);
            all
        };
        let without =
            |gone: std::ops::Range<usize>| [&all[..gone.start], &all[gone.end..]].concat();
        for (one, other, unlike) in [
            (all.clone(), all.clone(), vec![]),
            (all.clone(), changed(&[0], 8), vec![[0..1, 0..1]]),
            (all.clone(), changed(&[39], 8), vec![[39..40, 39..40]]),
            (
                changed(&[3], 1),
                changed(&[30, 31], 2),
                vec![[3..4, 3..4], [30..31, 30..31], [31..32, 31..32]],
            ),
            (all.clone(), without(0..1), vec![[0..1, 0..0]]),
            (all.clone(), without(5..7), vec![[5..6, 5..5], [6..7, 5..5]]),
            (
                without(4..5),
                without(20..21),
                vec![[4..4, 4..5], [19..20, 20..20]],
            ),
            (without(39..40), all.clone(), vec![[39..39, 39..40]]),
            (
                Vec::new(),
                all[..2].to_vec(),
                vec![[0..0, 0..1], [0..0, 1..2]],
            ),
            // The bytes of an id look like an entry.
            (
                vec![("a", b'1')],
                vec![("a", b'1'), ("b", b'1')],
                vec![[1..1, 1..2]],
            ),
            (
                vec![("a", b'1'), ("b", b'1')],
                vec![("b", b'1')],
                vec![[0..1, 0..0]],
            ),
        ] {
            let one = listing(&one);
            let other = listing(&other);
            assert_eq!(Listing::unlike(&one, &other), unlike);
            let back: Vec<_> = unlike.into_iter().map(|[old, new]| [new, old]).collect();
            assert_eq!(Listing::unlike(&other, &one), back);
        }
    }

    #[test]
    fn a_directory_in_the_place_of_a_file_is_another_entry() {
        let parse = |entries: &[(&str, &str)]| {
            Listing::parse(bytes(entries), ObjectFormat::Sha1).expect("a tree")
        };
        let file = parse(&[("100644", "a"), ("100644", "a.b"), ("100644", "b")]);
        let directory = parse(&[("100644", "a.b"), ("40000", "a"), ("100644", "b")]);
        assert_eq!(
            Listing::unlike(&file, &directory),
            [[0..1, 0..0], [2..2, 1..2]]
        );
        // git once wrote this mode. The bytes differ, and so do the entries; whether that counts is not decided here.
        let group = parse(&[("100664", "a"), ("100644", "a.b"), ("100644", "b")]);
        assert_eq!(Listing::unlike(&file, &group), [[0..1, 0..1]]);
        // Trees that git would not write.
        let unsorted = parse(&[("100644", "b"), ("100644", "a"), ("100644", "a")]);
        let twice = parse(&[("100644", "a"), ("100644", "a"), ("100644", "b")]);
        for (one, other) in [(&file, &unsorted), (&unsorted, &twice), (&twice, &file)] {
            let unlike = Listing::unlike(one, other);
            let mut old = 0;
            let mut new = 0;
            for [gone, put] in &unlike {
                assert_eq!(
                    one.bytes_of(&(old..gone.start)),
                    other.bytes_of(&(new..put.start))
                );
                (old, new) = (gone.end, put.end);
            }
            assert_eq!(one.bytes_of(&(old..3)), other.bytes_of(&(new..3)));
        }
    }
}
