//! The cache tree extension of an index: the ids of its trees, so that `git commit` need not rebuild them and
//! comparisons need not descend into them. See gitformat-index(5).

use super::extension::{content, cut, with_header};
use orch_base::{Digest, ObjectFormat};
use std::collections::{HashMap, HashSet};

/// A directory in the extension.
struct Node<'b> {
    name: &'b [u8],
    /// The path from the root of the repository.
    path: Vec<u8>,
    /// The number of entries of its tree and the number of subdirectories that follow, as written in the
    /// file.
    numbers: &'b [u8],
    below: usize,
    /// The id of its tree, if the extension contains it.
    id: Option<&'b [u8]>,
}

/// The tree ids in the TREE extension, header included, by path; the root has the empty path. `None` if the
/// extension is malformed.
pub(super) fn read(extension: &[u8], format: ObjectFormat) -> Option<HashMap<Vec<u8>, Digest>> {
    let nodes = nodes(extension, format)?.into_iter();
    let known = nodes.filter_map(|node| Some((node.path, Digest::from_bytes(node.id?)?)));
    Some(known.collect())
}

/// The TREE extension, header included, with the trees of these directories invalidated. `None` if it is
/// malformed: git then rebuilds it.
pub(super) fn forget(
    extension: &[u8],
    format: ObjectFormat,
    directories: &HashSet<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut kept = Vec::with_capacity(extension.len());
    for node in nodes(extension, format)? {
        kept.extend(node.name);
        kept.push(0);
        match node.id.filter(|_| !directories.contains(&node.path)) {
            Some(id) => kept.extend([node.numbers, b"\n", id].concat()),
            None => kept.extend(format!("-1 {}\n", node.below).into_bytes()),
        }
    }
    with_header(b"TREE", &kept)
}

/// The directories of the extension, parents first; `None` if it is malformed.
fn nodes(extension: &[u8], format: ObjectFormat) -> Option<Vec<Node<'_>>> {
    let mut rest = content(extension)?;
    let mut nodes = Vec::new();
    let mut path: Vec<u8> = Vec::new();
    // For each open directory, the length of its path and how many subdirectories are still to come.
    let mut open: Vec<(usize, usize)> = Vec::new();
    loop {
        let (name, after) = cut(rest, 0)?;
        let (numbers, after) = cut(after, b'\n')?;
        let (entries, below) = std::str::from_utf8(numbers).ok()?.split_once(' ')?;
        let (entries, below): (i64, usize) = (entries.parse().ok()?, below.parse().ok()?);
        let id = if entries < 0 {
            None
        } else {
            Some(after.get(..format.length())?)
        };
        if name.is_empty() != open.is_empty() {
            return None;
        }
        if let Some((end, left)) = open.last_mut() {
            *left -= 1;
            path.truncate(*end);
            path.extend(name);
        }
        nodes.push(Node {
            name,
            path: path.clone(),
            numbers,
            below,
            id,
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an extension from nodes: name, numbers, and whether an object id follows.
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
        let directories = directories
            .iter()
            .map(|path| path.as_bytes().to_vec())
            .collect();
        forget(&extension(nodes), ObjectFormat::Sha1, &directories)
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
            assert_eq!(
                forgotten(directories, &tree),
                Some(extension(&expected)),
                "{directories:?}"
            );
        }
        let known = [("", "-1 1", false), ("a", "1 0", true)];
        assert_eq!(
            forgotten(&[""], &known),
            Some(extension(&known)),
            "an invalid tree stays invalid"
        );
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
        assert_eq!(forget(b"TREE", ObjectFormat::Sha1, &HashSet::new()), None);
    }
}
