//! The directory that a tree object describes; see "tree objects" in git's documentation.
//!
//! The store reads each tree once for many paths. libgit2 would read, verify and parse a large one again for every
//! path that leads through it, so that a look at every task would cost the square of their number.

use super::objects::not_in_clone;
use super::{Error, Store, digest};
use crate::base::{Code, Digest, ObjectFormat};
use git2::{ObjectType, Oid};
use std::cmp::Ordering;
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
const LINK: u32 = 0o120_000;
const FILE: u32 = 0o100_644;

impl<'t> ListingEntry<'t> {
    /// Decodes the entry at the start of these bytes; also returns what follows it.
    pub(super) fn decode(bytes: &'t [u8], format: ObjectFormat) -> Option<(Self, &'t [u8])> {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let (mode, rest) = (std::str::from_utf8(&bytes[..space]).ok()?, &bytes[space + 1..]);
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (id, after) = rest.get(end + 1..)?.split_at_checked(format.length())?;
        let mode = usual(u32::from_str_radix(mode, 8).ok()?);
        Some((Self { name: &rest[..end], id: Oid::from_bytes(id).ok()?, mode }, after))
    }

    pub(super) fn is_tree(&self) -> bool {
        self.mode == TREE
    }

    /// The name, unless it is not UTF-8.
    pub(super) fn text(&self) -> Option<&'t str> {
        std::str::from_utf8(self.name).ok()
    }

    /// The order of git: a directory is sorted as if its name ended with a slash.
    pub(super) fn in_order(&self, other: &Self) -> Ordering {
        ordered(self.name, self.is_tree(), other.name, other.is_tree())
    }
}

/// Compares two entries by their names, and whether they are directories.
pub(super) fn ordered(one: &[u8], is_tree: bool, other: &[u8], is_other_tree: bool) -> Ordering {
    let end = |is_tree: bool| if is_tree { &b"/"[..] } else { b"" };
    one.iter().chain(end(is_tree)).cmp(other.iter().chain(end(is_other_tree)))
}

fn usual(mode: u32) -> u32 {
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
    fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Option<Self> {
        let mut starts = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            starts.push(u32::try_from(bytes.len() - rest.len()).ok()?);
            rest = ListingEntry::decode(rest, format)?.1;
        }
        Some(Self { bytes, starts, format })
    }

    /// The entries, in git's order.
    pub(super) fn iter(&self) -> impl Iterator<Item = ListingEntry<'_>> {
        self.starts.iter().filter_map(|start| self.at(*start))
    }

    fn at(&self, start: u32) -> Option<ListingEntry<'_>> {
        let bytes = self.bytes.get(usize::try_from(start).ok()?..)?;
        Some(ListingEntry::decode(bytes, self.format)?.0)
    }

    /// The entry with this name.
    pub(super) fn get(&self, name: &[u8]) -> Option<ListingEntry<'_>> {
        // A file and a directory of one name would not be beside each other.
        [false, true].into_iter().find_map(|is_tree| {
            let order = |start: &u32| {
                let found = self.at(*start);
                found.map_or(Ordering::Less, |entry| ordered(entry.name, entry.is_tree(), name, is_tree))
            };
            let number = self.starts.binary_search_by(order).ok()?;
            self.at(*self.starts.get(number)?)
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

impl Store {
    /// The directory with this tree id; cached. Returns an error if git cannot read it, with a code of its own if
    /// this clone does not have it.
    pub(super) fn listing(&self, id: Oid) -> Result<Arc<Listing>, Error> {
        if let Some(known) = self.trees.borrow_mut().get(id) {
            return Ok(known);
        }
        let odb = self.repo.odb()?;
        let object = self
            .unless_missing((id, ObjectType::Any), odb.read(id))?
            .ok_or_else(|| not_in_clone("directory", id))?;
        let malformed = || Error::new(Code::Git, format!("{id} is not a tree that can be read"));
        if object.kind() != ObjectType::Tree {
            return Err(malformed());
        }
        let listing = Listing::parse(object.data().to_vec(), self.format).ok_or_else(malformed)?;
        self.costs.trees.fetch_add(1, Relaxed);
        self.costs.tree_entries.fetch_add(listing.starts.len() as u64, Relaxed);
        let (size, listing) = (listing.size(), Arc::new(listing));
        self.trees.borrow_mut().put(id, Arc::clone(&listing), size);
        Ok(listing)
    }

    /// The object id and mode at a path below a tree; `None` if there is none. Returns an error if git cannot
    /// read a tree.
    pub(super) fn object_below<'p>(
        &self,
        tree: Oid,
        names: impl Iterator<Item = &'p str>,
    ) -> Result<Option<(Digest, u32)>, Error> {
        let (mut id, mut mode) = (tree, TREE);
        for name in names {
            if mode != TREE {
                return Ok(None);
            }
            let listing = self.listing(id)?;
            let Some(entry) = listing.get(name.as_bytes()) else { return Ok(None) };
            (id, mode) = (entry.id, entry.mode);
        }
        Ok(Some((digest(id), mode)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(entries: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(mode, name): &(&str, &str)| [mode.as_bytes(), b" ", name.as_bytes(), &[0; 21]].concat();
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
            .map(|(_, name)| listing.get(name.as_bytes()).unwrap_or_else(|| panic!("{name}")).mode)
            .collect();
        assert_eq!(modes, [FILE, EXECUTABLE, FILE, TREE, LINK, SUBMODULE]);
        assert!(["", "a.", "a.b.", "0", "d"].iter().all(|name| listing.get(name.as_bytes()).is_none()));
        assert!(listing.iter().is_sorted_by(|one, other| one.in_order(other).is_lt()));
    }

    #[test]
    fn a_malformed_tree_is_refused() {
        let whole = bytes(&[("100644", "a")]);
        for length in 1..whole.len() {
            assert!(Listing::parse(whole[..length].to_vec(), ObjectFormat::Sha1).is_none(), "{length}");
        }
        assert!(Listing::parse(bytes(&[("x", "a")]), ObjectFormat::Sha1).is_none());
        assert!(Listing::parse(Vec::new(), ObjectFormat::Sha1).is_some(), "an empty tree");
    }
}
