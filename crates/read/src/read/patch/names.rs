//! The names of files in the headers of a diff, without the prefixes of their sides.

/// The prefixes that git and hg write by themselves.
const PREFIXES: [&str; 8] = ["a/", "b/", "i/", "w/", "c/", "o/", "1/", "2/"];
/// How many components are left out of the two names of a change, so that they become one; in the order in which it
/// is tried. With more than one prefix each, `--src-prefix` was given.
const DROPPED: [(usize, usize); 6] = [(0, 0), (1, 1), (1, 0), (0, 1), (2, 2), (3, 3)];
/// How many of these there are for names with a prefix of git.
const DROPPED_OF_GIT: usize = 4;
/// The name of a file that does not exist.
const NOTHING: &str = "/dev/null";

/// The two names of a change as they stand in a header.
pub(super) struct Sides {
    old: String,
    new: String,
}

impl Sides {
    pub(super) fn of(old: String, new: String) -> Self {
        Self { old, new }
    }

    pub(super) fn is_added(&self) -> bool {
        self.old == NOTHING
    }

    pub(super) fn is_removed(&self) -> bool {
        self.new == NOTHING
    }

    /// Whether both are this name, with one component before it at most.
    pub(super) fn are_of(&self, name: &str) -> bool {
        let is_of = |side: &str| side == NOTHING || side == name || without(side, 1) == Some(name);
        is_of(&self.old) && is_of(&self.new)
    }

    /// The file, if both names are of one file.
    pub(super) fn one(&self) -> Option<String> {
        if self.old == NOTHING {
            return Some(without_prefix(&self.new).to_owned());
        }
        if self.new == NOTHING {
            return Some(without_prefix(&self.old).to_owned());
        }
        ways(&self.old).iter().find_map(|&(old_drops, new_drops)| {
            let old = without(&self.old, old_drops)?;
            let new = without(&self.new, new_drops)?;
            (old == new).then(|| old.to_owned())
        })
    }

    /// The files that the change names: one, or two that differ in more than their prefixes.
    pub(super) fn both(&self) -> Vec<String> {
        if let Some(name) = self.one() {
            return vec![name];
        }
        // Two names in one directory have no prefix.
        let top = |name: &str| name.split('/').next().map(str::to_owned);
        let (old, new) = if top(&self.old) == top(&self.new) {
            (self.old.as_str(), self.new.as_str())
        } else {
            (without_prefix(&self.old), without_prefix(&self.new))
        };
        vec![old.to_owned(), new.to_owned()]
    }

    /// The same for a diff of two files, of which one may be a copy under a longer name: `login.rs.orig`.
    pub(super) fn as_applied(&self) -> Vec<String> {
        let mut names = self.both();
        if let [old, new] = names.as_slice() {
            if old.starts_with(new.as_str()) {
                names.remove(0);
            } else if new.starts_with(old.as_str()) {
                names.pop();
            }
        }
        names
    }
}

/// How many components may be left out of the two names, of which the first is given.
fn ways(name: &str) -> &'static [(usize, usize)] {
    if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        &DROPPED[..DROPPED_OF_GIT]
    } else {
        &DROPPED
    }
}

/// The name without its first components; `None` if nothing is left.
fn without(name: &str, components: usize) -> Option<&str> {
    let mut rest = name;
    for _ in 0..components {
        rest = rest.split_once('/')?.1;
    }
    (!rest.is_empty()).then_some(rest)
}

fn without_prefix(name: &str) -> &str {
    let rest = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// The file that `diff --git X Y` names; `None` if X and Y are two files.
pub(super) fn header_name(names: &str) -> Option<String> {
    if names.starts_with('"') {
        let (old, rest) = quoted(names)?;
        let new = one_side(rest.strip_prefix(' ')?);
        return Sides::of(old, new).one();
    }
    if names.ends_with('"') {
        let (start, _) = names.match_indices(" \"").find(|(start, _)| {
            quoted(&names[start + 1..]).is_some_and(|(_, rest)| rest.is_empty())
        })?;
        return Sides::of(names[..start].to_owned(), one_side(&names[start + 1..])).one();
    }
    let slashes: Vec<usize> = names.match_indices('/').map(|(at, _)| at).collect();
    let found = ways(names)
        .iter()
        .find_map(|&(old_drops, new_drops)| split(names, &slashes, old_drops, new_drops));
    found.map(str::to_owned)
}

/// The name that stands twice in a text, with so many components before it and before its repetition. At most one
/// space can lie between the two, because their lengths must agree.
fn split<'n>(
    names: &'n str,
    slashes: &[usize],
    old_drops: usize,
    new_drops: usize,
) -> Option<&'n str> {
    let after = |start: usize, drops: usize| match drops {
        0 => Some(start),
        _ => {
            let first = slashes.partition_point(|slash| *slash < start);
            Some(slashes.get(first + drops - 1)? + 1)
        }
    };
    let old_start = after(0, old_drops)?;
    for (space, _) in names.match_indices(' ') {
        let new_start = after(space + 1, new_drops)?;
        let is_between = old_start < space && space - old_start == names.len() - new_start;
        if is_between && names[old_start..space] == names[new_start..] {
            return Some(&names[new_start..]);
        }
    }
    None
}

/// The name in what follows `--- ` or `+++ `: a tab or the closing quote ends it.
pub(super) fn side(text: &str) -> String {
    match text.split_once('\t') {
        Some((name, _)) => one_side(name),
        None => one_side(text.trim_end()),
    }
}

/// A name, in quotes or as it is.
pub(super) fn one_side(text: &str) -> String {
    match quoted(text) {
        Some((name, _)) => name,
        None => text.to_owned(),
    }
}

/// A name without the quotes and escapes that git adds to unusual names.
pub(super) fn unquoted(text: &str) -> String {
    match quoted(text) {
        Some((name, "")) => name,
        _ => text.to_owned(),
    }
}

/// The name in quotes with which a text begins, and what follows it. The escapes are those of C.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    let mut at = 0;
    loop {
        let byte = *inner.as_bytes().get(at)?;
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => {
                let escape = *inner.as_bytes().get(at)?;
                if (b'0'..=b'3').contains(&escape) {
                    let digits = inner.get(at..at + 3)?;
                    bytes.push(u8::from_str_radix(digits, 8).ok()?);
                    at += 3;
                    continue;
                }
                at += 1;
                bytes.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    _ => return None,
                });
            }
            _ => bytes.push(byte),
        }
    }
    let name = String::from_utf8_lossy(&bytes).into_owned();
    Some((name, &inner[at..]))
}

/// The name in `-r REVISION -r REVISION NAME`, which hg writes after `diff `.
pub(super) fn hg_name(words: &str) -> Option<&str> {
    let mut rest = words;
    while let Some(after) = rest.strip_prefix("-r ") {
        let (revision, name) = after.split_once(' ')?;
        let is_revision =
            revision.len() >= 12 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_revision {
            return None;
        }
        rest = name;
    }
    (rest.len() < words.len() && !rest.is_empty()).then_some(rest)
}

/// The submodule in a line `Submodule NAME OLD..NEW:`, or that it contains what is not committed.
pub(super) fn submodule(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Submodule ")?;
    for state in [" contains untracked content", " contains modified content"] {
        if let Some(name) = rest.strip_suffix(state) {
            return Some(name);
        }
    }
    let (range_start, _) = rest.rmatch_indices(' ').find(|(at, _)| {
        let word = rest[at + 1..].split([' ', ':']).next().unwrap_or_default();
        word.split_once("..")
            .is_some_and(|(old, new)| is_id(old) && is_id(new.trim_start_matches('.')))
    })?;
    Some(&rest[..range_start])
}

/// Whether the text is an abbreviated id of git.
fn is_id(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
