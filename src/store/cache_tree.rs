//! The trees that an index remembers, so that the next `git commit` need not build them anew.

use std::collections::HashSet;

/// The TREE extension, its header included, without the trees of these directories. Of a malformed
/// one nothing remains: git builds it anew.
pub(super) fn forget(extension: &[u8], directories: &HashSet<Vec<u8>>) -> Option<Vec<u8>> {
    let mut rest = extension.get(8..)?;
    let mut kept = Vec::with_capacity(rest.len());
    let mut path = Vec::new();
    // Of each directory that is open: where its path ends, and how many are still to come below it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    loop {
        let (name, after) = cut(rest, 0)?;
        let (numbers, after) = cut(after, b'\n')?;
        let (entries, below) = std::str::from_utf8(numbers).ok()?.split_once(' ')?;
        let (entries, below): (i64, usize) = (entries.parse().ok()?, below.parse().ok()?);
        let id = after.get(..if entries < 0 { 0 } else { 20 })?;
        match open.last_mut() {
            Some((end, left)) => {
                *left -= 1;
                path.truncate(*end);
                path.extend(name);
            }
            None => path.extend(name),
        }
        if name.is_empty() != open.is_empty() {
            return None;
        }
        kept.extend(name);
        if entries >= 0 && directories.contains(&path) {
            kept.extend(format!("\0-1 {below}\n").into_bytes());
        } else {
            kept.push(0);
            kept.extend(numbers);
            kept.push(b'\n');
            kept.extend(id);
        }
        if !path.is_empty() {
            path.push(b'/');
        }
        open.push((path.len(), below));
        while open.last().is_some_and(|(_, left)| *left == 0) {
            open.pop();
        }
        rest = after.get(id.len()..)?;
        if open.is_empty() {
            break;
        }
    }
    let length = u32::try_from(kept.len()).ok()?.to_be_bytes();
    rest.is_empty().then(|| [b"TREE", &length[..], &kept].concat())
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
