//! The trees that an index remembers, so that the next `git commit` need not build them anew, and
//! whoever compares it need not look into them.

use crate::base::Digest;
use std::collections::{HashMap, HashSet};

/// A directory as the extension remembers it.
struct Node<'b> {
    name: &'b [u8],
    /// Its path, from the top.
    path: Vec<u8>,
    /// How many entries its tree has and how many directories follow below it, as they stand there.
    numbers: &'b [u8],
    below: usize,
    /// The tree, if it is known.
    id: Option<&'b [u8]>,
}

/// The trees that the TREE extension, its header included, knows: by path, the top being the empty one.
pub(super) fn read(extension: &[u8]) -> Option<HashMap<Vec<u8>, Digest>> {
    let known = nodes(extension)?.into_iter().filter_map(|node| {
        let id: [u8; 20] = node.id?.try_into().ok()?;
        Some((node.path, Digest::from_bytes(id)))
    });
    Some(known.collect())
}

/// The TREE extension, its header included, without the trees of these directories. Of a malformed
/// one nothing remains: git builds it anew.
pub(super) fn forget(extension: &[u8], directories: &HashSet<Vec<u8>>) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(extension.len());
    for node in nodes(extension)? {
        kept.extend(node.name);
        kept.push(0);
        match node.id.filter(|_| !directories.contains(&node.path)) {
            Some(id) => kept.extend([node.numbers, b"\n", id].concat()),
            None => kept.extend(format!("-1 {}\n", node.below).into_bytes()),
        }
    }
    let length = u32::try_from(kept.len()).ok()?.to_be_bytes();
    Some([b"TREE", &length[..], &kept].concat())
}

/// The directories of the extension, each before those below it; `None` if it is malformed.
fn nodes(extension: &[u8]) -> Option<Vec<Node<'_>>> {
    let mut rest = extension.get(8..)?;
    let mut nodes = Vec::new();
    let mut path: Vec<u8> = Vec::new();
    // Of each directory that is open: where its path ends, and how many are still to come below it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    loop {
        let (name, after) = cut(rest, 0)?;
        let (numbers, after) = cut(after, b'\n')?;
        let (entries, below) = std::str::from_utf8(numbers).ok()?.split_once(' ')?;
        let (entries, below): (i64, usize) = (entries.parse().ok()?, below.parse().ok()?);
        let id = if entries < 0 { None } else { Some(after.get(..20)?) };
        if name.is_empty() != open.is_empty() {
            return None;
        }
        if let Some((end, left)) = open.last_mut() {
            *left -= 1;
            path.truncate(*end);
            path.extend(name);
        }
        nodes.push(Node { name, path: path.clone(), numbers, below, id });
        if !path.is_empty() {
            path.push(b'/');
        }
        open.push((path.len(), below));
        while open.last().is_some_and(|(_, left)| *left == 0) {
            open.pop();
        }
        rest = &after[id.map_or(0, <[u8]>::len)..];
        if open.is_empty() {
            break;
        }
    }
    rest.is_empty().then_some(nodes)
}

/// What stands before a byte, and what after it.
fn cut(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache tree of nodes: name, numbers, and whether an object id follows.
    fn extension(nodes: &[(&str, &str, bool)]) -> Vec<u8> {
        let mut content = Vec::new();
        for (name, numbers, id) in nodes {
            content.extend(format!("{name}\0{numbers}\n").into_bytes());
            content.extend([b'\n'; 20].iter().filter(|_| *id));
        }
        let length = u32::try_from(content.len()).expect("short").to_be_bytes();
        [b"TREE", &length[..], &content].concat()
    }

    fn forgotten(directories: &[&str], nodes: &[(&str, &str, bool)]) -> Option<Vec<u8>> {
        forget(&extension(nodes), &directories.iter().map(|path| path.as_bytes().to_vec()).collect())
    }

    #[test]
    fn only_the_named_directories_are_forgotten() {
        let tree = [
            ("", "9 2", true),
            ("a", "4 1", true),
            ("b", "2 0", true),
            ("c", "5 1", true),
            ("b", "3 0", true),
        ];
        let cases: [(&[&str], [&str; 5]); 5] = [
            (&[], ["9 2", "4 1", "2 0", "5 1", "3 0"]),
            (&[""], ["-1 2", "4 1", "2 0", "5 1", "3 0"]),
            (&["", "a", "a/b"], ["-1 2", "-1 1", "-1 0", "5 1", "3 0"]),
            (&["", "c", "c/b"], ["-1 2", "4 1", "2 0", "-1 1", "-1 0"]),
            (&["", "d", "b"], ["-1 2", "4 1", "2 0", "5 1", "3 0"]),
        ];
        for (directories, numbers) in cases {
            let expected: Vec<_> = tree
                .iter()
                .zip(numbers)
                .map(|((name, ..), numbers)| (*name, numbers, !numbers.starts_with('-')))
                .collect();
            assert_eq!(forgotten(directories, &tree), Some(extension(&expected)), "{directories:?}");
        }
        let known = [("", "-1 1", false), ("a", "1 0", true)];
        assert_eq!(forgotten(&[""], &known), Some(extension(&known)), "what is forgotten stays so");
    }

    #[test]
    fn a_malformed_one_is_dropped() {
        let faulty: [&[(&str, &str, bool)]; 9] = [
            &[],
            &[("", "1 0", false)],
            &[("", "1 1", true)],
            &[("", "1 0", true), ("a", "1 0", true)],
            &[("a", "1 0", true)],
            &[("", "1 1", true), ("", "1 0", true)],
            &[("", "one 0", true)],
            &[("", "1 -1", true)],
            &[("", "1", true)],
        ];
        for nodes in faulty {
            assert_eq!(forgotten(&[""], nodes), None, "{nodes:?}");
        }
        assert_eq!(forget(b"TREE", &HashSet::new()), None);
    }
}
