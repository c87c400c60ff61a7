//! Sets of globs, compiled once. `*` matches within one part of a path, `**` across parts.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::fmt;

/// A set of globs that matches if any of its globs does. An empty set matches nothing.
#[derive(Clone, Default)]
pub struct Patterns {
    texts: Vec<String>,
    set: GlobSet,
}

impl Patterns {
    /// Compiles globs. Returns an error that names the first invalid one.
    pub fn new(texts: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, globset::Error> {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        let mut set = GlobSetBuilder::new();
        for text in &texts {
            set.add(
                GlobBuilder::new(text)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build()?,
            );
        }
        Ok(Self {
            set: set.build()?,
            texts,
        })
    }

    /// Whether at least one glob matches all of `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.set.is_match(text)
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
}
