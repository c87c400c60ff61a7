//! A model of a file system that may lose what was not synced.
//!
//! Each change of a directory (a name is added, removed, or moved) and the bytes of each file reach the disk on their
//! own. A sync of a directory brings all earlier changes of its names to the disk, and a sync of a file the bytes that it
//! had. What is not synced may be there or not, one change without the other and in any order, which is more than a
//! file system with a journal permits. A rename is there as a whole or not at all. Of the bytes that a file got since its
//! last sync none may be there, or all; or it has a part of them, in whole sectors, or its size without its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The place of a name: the number of a directory, and the name in it.
pub type Name = (usize, String);

/// A file or a directory, whatever its names.
pub struct Node {
    pub is_directory: bool,
    pub mode: u32,
    /// What it contains, as a program sees it.
    pub bytes: Vec<u8>,
    /// What it contained when the disk was read.
    start: Vec<u8>,
}

/// What happened, in order.
pub enum Change {
    /// Names lead to other nodes, or to none.
    Names(Vec<(Name, Option<usize>)>),
    /// A file has these bytes now.
    Bytes(usize, Vec<u8>),
    /// The changes of a node before this one are on the disk.
    Synced { node: usize, before: usize },
    /// A text was written to one of the files that are watched.
    Mark(usize, String),
}

/// A tree of files, and what has happened to it.
pub struct Disk {
    pub nodes: Vec<Node>,
    names: BTreeMap<Name, usize>,
    start: BTreeMap<Name, usize>,
    pub changes: Vec<Change>,
}

/// What may be on the disk or not when the power fails.
pub struct Open {
    /// Changes of names, by their place among all changes.
    pub names: Vec<usize>,
    /// The contents that a file may have, by its number. The first is that of the last sync, the last the newest.
    pub bytes: BTreeMap<usize, Vec<Vec<u8>>>,
}

/// What a power failure leaves of what is open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    pub names: BTreeSet<usize>,
    /// Which of its contents a file has.
    pub bytes: BTreeMap<usize, usize>,
}

/// The modes and the contents of all files, and the modes of all directories, by their paths below the root.
pub type Image = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

impl Node {
    pub fn file(mode: u32) -> Self {
        Self {
            is_directory: false,
            mode,
            bytes: Vec::new(),
            start: Vec::new(),
        }
    }

    pub fn directory(mode: u32) -> Self {
        Self {
            is_directory: true,
            ..Self::file(mode)
        }
    }
}

impl Disk {
    /// The files below a directory, all of them synced.
    pub fn of(root: &Path) -> Self {
        let mut disk = Self {
            nodes: vec![Node::directory(0o755)],
            names: BTreeMap::new(),
            start: BTreeMap::new(),
            changes: Vec::new(),
        };
        let mut open = vec![(0, root.to_owned())];
        while let Some((number, directory)) = open.pop() {
            for entry in fs::read_dir(directory)
                .expect("listed")
                .map(|entry| entry.expect("an entry"))
            {
                let metadata = entry.metadata().expect("there");
                let mode = metadata.mode() & 0o7777;
                let mut node = if metadata.is_dir() {
                    Node::directory(mode)
                } else {
                    Node::file(mode)
                };
                if !metadata.is_dir() {
                    node.bytes = fs::read(entry.path()).expect("read");
                    node.start = node.bytes.clone();
                }
                let added = disk.add(node);
                disk.start.insert(
                    (number, entry.file_name().to_string_lossy().into_owned()),
                    added,
                );
                open.extend(metadata.is_dir().then(|| (added, entry.path())));
            }
        }
        disk.names = disk.start.clone();
        disk
    }

    pub fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The node at a path, as programs see it.
    pub fn find(&self, path: &Path) -> Option<usize> {
        let mut names = path
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned());
        names.try_fold(0, |at, name| self.names.get(&(at, name)).copied())
    }

    pub fn rename(&mut self, names: Vec<(Name, Option<usize>)>) {
        apply(&mut self.names, &names);
        self.changes.push(Change::Names(names));
    }

    pub fn write(&mut self, node: usize, at: usize, written: &[u8]) {
        let bytes = &mut self.nodes[node].bytes;
        bytes.resize(bytes.len().max(at + written.len()), 0);
        bytes[at..at + written.len()].copy_from_slice(written);
        self.has_changed(node);
    }

    pub fn resize(&mut self, node: usize, length: usize) {
        self.nodes[node].bytes.resize(length, 0);
        self.has_changed(node);
    }

    fn has_changed(&mut self, node: usize) {
        // Of one write after the other, the last says all.
        if matches!(self.changes.last(), Some(Change::Bytes(last, _)) if *last == node) {
            self.changes.pop();
        }
        self.changes
            .push(Change::Bytes(node, self.nodes[node].bytes.clone()));
    }

    /// What may be on the disk or not when the power fails after so many changes.
    pub fn open(&self, until: usize) -> Open {
        let mut synced: BTreeMap<usize, usize> = BTreeMap::new();
        for change in &self.changes[..until] {
            if let Change::Synced { node, before } = change {
                let known = synced.entry(*node).or_default();
                *known = (*known).max(*before);
            }
        }
        let is_open = |node: &usize, at: usize| synced.get(node).is_none_or(|before| at >= *before);
        let mut open = Open {
            names: Vec::new(),
            bytes: BTreeMap::new(),
        };
        for (at, change) in self.changes[..until].iter().enumerate() {
            match change {
                // One directory is enough for a rename from one to another.
                Change::Names(names)
                    if names
                        .iter()
                        .all(|((directory, _), _)| is_open(directory, at)) =>
                {
                    open.names.push(at);
                }
                Change::Bytes(node, bytes) => {
                    let contents = open
                        .bytes
                        .entry(*node)
                        .or_insert_with(|| vec![self.nodes[*node].start.clone()]);
                    if is_open(node, at) {
                        contents.push(bytes.clone());
                    } else {
                        *contents = vec![bytes.clone()];
                    }
                }
                _ => {}
            }
        }
        open.bytes.values_mut().for_each(torn);
        open
    }

    /// The files after a power failure that comes after so many changes.
    pub fn image(&self, until: usize, open: &Open, left: &Left) -> Image {
        let mut names = self.start.clone();
        for (at, change) in self.changes[..until].iter().enumerate() {
            if let Change::Names(changed) = change
                && (!open.names.contains(&at) || left.names.contains(&at))
            {
                apply(&mut names, changed);
            }
        }
        let mut image = Image::new();
        let mut directories = vec![(0, PathBuf::new())];
        while let Some((number, path)) = directories.pop() {
            for ((_, name), node) in
                names.range((number, String::new())..(number + 1, String::new()))
            {
                let (path, held) = (path.join(name), &self.nodes[*node]);
                let bytes = match open.bytes.get(node) {
                    Some(contents) => {
                        &contents[left.bytes.get(node).copied().unwrap_or(contents.len() - 1)]
                    }
                    None => &held.start,
                };
                directories.extend(held.is_directory.then(|| (*node, path.clone())));
                image.insert(
                    path,
                    (held.mode, (!held.is_directory).then(|| bytes.clone())),
                );
            }
        }
        image
    }
}

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// Of what a file had since its last sync: nothing new, the newest, half of what is new, and its size without its bytes.
fn torn(contents: &mut Vec<Vec<u8>>) {
    let (Some(old), Some(new)) = (contents.first().cloned(), contents.last().cloned()) else {
        return;
    };
    let kept = if new.starts_with(&old) { old.len() } else { 0 };
    let half = new[..kept + (new.len() - kept) / 2 / SECTOR * SECTOR].to_vec();
    let mut blank = new[..kept].to_vec();
    blank.resize(new.len(), 0);
    let empty = new[..kept].to_vec();
    *contents = vec![old];
    for content in [empty, half, blank, new] {
        if !contents.contains(&content) {
            contents.push(content);
        }
    }
}

fn apply(names: &mut BTreeMap<Name, usize>, changed: &[(Name, Option<usize>)]) {
    for (name, node) in changed {
        match node {
            Some(node) => drop(names.insert(name.clone(), *node)),
            None => drop(names.remove(name)),
        }
    }
}

impl Open {
    /// Everything that is open reached the disk.
    pub fn all(&self) -> Left {
        let newest = |contents: &Vec<Vec<u8>>| contents.len() - 1;
        Left {
            names: self.names.iter().copied().collect(),
            bytes: self
                .bytes
                .iter()
                .map(|(node, contents)| (*node, newest(contents)))
                .collect(),
        }
    }

    /// Nothing did.
    pub fn none(&self) -> Left {
        Left {
            names: BTreeSet::new(),
            bytes: self.bytes.keys().map(|node| (*node, 0)).collect(),
        }
    }

    /// The number of combinations, or the largest number.
    pub fn combinations(&self) -> usize {
        let names = u32::try_from(self.names.len())
            .ok()
            .and_then(|count| 2_usize.checked_pow(count));
        let contents = self.bytes.values().map(Vec::len);
        contents
            .fold(names, |product, count| product?.checked_mul(count))
            .unwrap_or(usize::MAX)
    }

    /// A combination. `pick` chooses a number below another one, for each change and each content that is open.
    pub fn some(&self, mut pick: impl FnMut(usize) -> usize) -> Left {
        let names = self
            .names
            .iter()
            .copied()
            .filter(|_| pick(2) == 1)
            .collect();
        let bytes = self
            .bytes
            .iter()
            .map(|(node, contents)| (*node, pick(contents.len())))
            .collect();
        Left { names, bytes }
    }

    /// Each combination.
    pub fn each(&self) -> impl Iterator<Item = Left> {
        (0..self.combinations()).map(|number| {
            let mut rest = number;
            self.some(|base| {
                let digit = rest % base;
                rest /= base;
                digit
            })
        })
    }

    /// Everything but one, and nothing but one; and what a file system leaves that keeps the order of its changes of
    /// names, with none of the new bytes, with all of them, and with blanks in their place.
    pub fn extremes(&self) -> Vec<Left> {
        let (all, none) = (self.all(), self.none());
        let mut found = vec![all.clone(), none.clone()];
        for name in &self.names {
            let (mut without, mut only) = (all.clone(), none.clone());
            without.names.remove(name);
            only.names.insert(*name);
            found.extend([without, only]);
        }
        for (node, contents) in &self.bytes {
            for content in 0..contents.len() {
                for mut left in [all.clone(), none.clone()] {
                    left.bytes.insert(*node, content);
                    found.push(left);
                }
            }
        }
        for count in 0..=self.names.len() {
            let names: BTreeSet<usize> = self.names[..count].iter().copied().collect();
            let blank = |contents: &Vec<Vec<u8>>| contents.len().saturating_sub(2);
            let blanks = self
                .bytes
                .iter()
                .map(|(node, contents)| (*node, blank(contents)))
                .collect();
            for bytes in [none.bytes.clone(), all.bytes.clone(), blanks] {
                found.push(Left {
                    names: names.clone(),
                    bytes,
                });
            }
        }
        found
    }
}

/// Makes a copy of the files from which the disk was read into those of an image.
pub fn materialise(root: &Path, start: &Image, image: &Image) {
    // A file may be where a directory was.
    for (path, _) in start
        .iter()
        .rev()
        .filter(|(path, held)| image.get(*path) != Some(held))
    {
        let path = root.join(path);
        match path.is_dir() {
            true => drop(fs::remove_dir(path)),
            false => fs::remove_file(path).expect("removed"),
        }
    }
    for (path, (mode, bytes)) in image
        .iter()
        .filter(|(path, held)| start.get(*path) != Some(held))
    {
        let path = root.join(path);
        match bytes {
            Some(bytes) => fs::write(&path, bytes).expect("written"),
            None => fs::create_dir_all(&path).expect("made"),
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("set");
    }
}
