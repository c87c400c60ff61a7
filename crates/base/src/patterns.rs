//! Sets of globs, compiled once. `*` matches within one part of a path, `**` across parts.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Serialize, Serializer};
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::{Arc, OnceLock};

/// A set of globs that matches if any of its globs does. An empty set matches nothing.
#[derive(Clone, Default)]
pub struct Patterns {
    texts: Vec<String>,
    /// Built when it is first asked: that takes longer than all else that compiles a workflow.
    set: Arc<OnceLock<GlobSet>>,
}

/// Sets whose globs have more bytes than this may be too large to be built, which shows only when they are.
const SURELY_BUILT: usize = 1_000;

impl Patterns {
    /// Reads globs. Returns an error that names the first invalid one.
    pub fn new(texts: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, globset::Error> {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        for text in &texts {
            glob(text)?;
        }
        let set = Arc::<OnceLock<GlobSet>>::default();
        if texts.iter().map(String::len).sum::<usize>() > SURELY_BUILT {
            let _ = set.set(built(&texts)?);
        }
        Ok(Self { set, texts })
    }

    /// Whether at least one glob matches all of `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let set = self
            .set
            .get_or_init(|| built(&self.texts).unwrap_or_default());
        set.is_match(text)
    }

    /// Whether one glob matches all of `text`; an invalid one matches nothing. What begins otherwise than the glob does is
    /// known without compiling it.
    #[must_use]
    pub fn one_matches(glob: &str, text: &str) -> bool {
        let wildcard = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
        text.starts_with(&glob[..wildcard]) && Self::new([glob]).is_ok_and(|one| one.matches(text))
    }

    /// Whether the set contains no glob.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The globs as written.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

fn built(globs: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for text in globs {
        set.add(glob(text)?);
    }
    set.build()
}

/// The globs as written.
impl Serialize for Patterns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts.serialize(serializer)
    }
}

/// A glob as a shell knows it: no wildcard and no class matches `/`, `{,x}` has an empty alternative, and classes may
/// have names, as in `[[:digit:]]`.
pub fn glob(text: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(&plain(text))
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
}

/// The named classes, with what each consists of.
const CLASSES: [(&str, &str); 7] = [
    ("alnum", "0-9A-Za-z"),
    ("alpha", "A-Za-z"),
    ("blank", " \t"),
    ("digit", "0-9"),
    ("lower", "a-z"),
    ("upper", "A-Z"),
    ("xdigit", "0-9A-Fa-f"),
];

/// The glob without named classes, and with `/` in each negated class, which otherwise matches it.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        plain.push(c);
        match c {
            '\\' => plain.extend(rest.next()),
            '[' => plain_class(&mut rest, &mut plain),
            _ => {}
        }
    }
    plain
}

/// Takes a class behind its `[`.
fn plain_class(rest: &mut Peekable<Chars<'_>>, plain: &mut String) {
    let is_negated = matches!(rest.peek(), Some('!' | '^'));
    plain.extend(rest.next_if(|c| matches!(c, '!' | '^')));
    // At the start, these stand for themselves.
    plain.extend(rest.next_if(|c| matches!(c, ']' | '-')));
    if is_negated {
        plain.push('/');
    }
    while let Some(c) = rest.next() {
        let class = match c {
            '[' => class_named(rest.clone()),
            _ => None,
        };
        match class {
            Some((length, characters)) => {
                plain.push_str(characters);
                rest.by_ref().take(length).for_each(drop);
            }
            None => plain.push(c),
        }
        if c == ']' {
            return;
        }
    }
}

/// The characters of a class `[:NAME:]` whose `[` was taken, and how many characters follow that.
fn class_named(rest: Peekable<Chars<'_>>) -> Option<(usize, &'static str)> {
    let longest = "xdigit".len() + "::]".len();
    let text: String = rest.take(longest).collect();
    let (name, _) = text.strip_prefix(':')?.split_once(":]")?;
    let (_, characters) = CLASSES.iter().find(|(known, _)| *known == name)?;
    Some((name.len() + "::]".len(), characters))
}

impl PartialEq for Patterns {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts
    }
}

impl Eq for Patterns {}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_glob_matches_as_a_set_of_one_does() {
        for (glob, text) in [
            ("a/*.json", "a/b.json"),
            ("a/*.json", "b/b.json"),
            ("a/b.json", "a/b.json"),
            ("a/b.json", "a/b.jsonl"),
            ("a\\*", "a*"),
            ("{a,b}/c", "b/c"),
            ("[ab]", "b"),
            ("a/?", "a/"),
            ("a[", "a["),
            ("", ""),
        ] {
            let set = Patterns::new([glob]);
            let expected = set.is_ok_and(|set| set.matches(text));
            assert_eq!(Patterns::one_matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn a_large_set_is_built_at_once() {
        let globs: Vec<String> = (0..200).map(|nth| format!("directory/{nth}/**")).collect();
        let patterns = Patterns::new(&globs).expect("valid");
        assert!(patterns.matches("directory/199/a") && !patterns.matches("directory/200/a"));
    }

    #[test]
    fn a_star_stays_within_a_part() {
        let patterns = Patterns::new(["release/*", "main"]).expect("valid");
        for (text, expected) in [
            ("main", true),
            ("release/1", true),
            ("release/1/2", false),
            ("release", false),
            ("maine", false),
        ] {
            assert_eq!(patterns.matches(text), expected, "{text}");
        }
        assert!(!Patterns::default().matches(""));
        assert!(Patterns::new(["[a"]).is_err());
    }

    #[test]
    fn a_glob_means_what_a_shell_means() {
        for (glob, text, expected) in [
            ("plan{,.draft}.md", "plan.md", true),
            ("plan{,.draft}.md", "plan.draft.md", true),
            ("{,old/}plan.md", "plan.md", true),
            ("run[[:digit:]].log", "run7.log", true),
            ("run[[:digit:]].log", "run:.log", false),
            ("run[![:digit:]_].log", "runx.log", true),
            ("run[![:digit:]_].log", "run_.log", false),
            ("run[[:nothing:]", "runn", true),
            ("a[!y]b", "a/b", false),
            ("a[^y]b", "a/b", false),
            ("a[!y]b", "axb", true),
            ("a[!]y]b", "a]b", false),
            ("a[!]y]b", "a/b", false),
            ("a[!-y]b", "a-b", false),
            ("a[!-y]b", "a/b", false),
            ("a[]y]b", "a]b", true),
            ("a\\[!y]b", "a[!y]b", true),
        ] {
            let patterns = Patterns::new([glob]).expect("valid");
            assert_eq!(patterns.matches(text), expected, "{glob} {text}");
        }
    }
}
