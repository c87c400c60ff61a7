//! What is known of a text.

use super::super::functions::pattern;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is known of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextType {
    /// It is one of these.
    pub only: Option<Arc<BTreeSet<String>>>,
    /// It matches these patterns, which a schema names.
    pub patterns: Vec<Arc<str>>,
    /// It has at least so many characters.
    pub shortest: usize,
    /// It has at most so many.
    pub longest: Option<usize>,
    /// It has no letter from A to Z.
    pub is_lower: bool,
}

impl TextType {
    /// One of these texts.
    #[must_use]
    pub fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let only = texts.into_iter().map(str::to_owned).collect();
        Self {
            only: Some(Arc::new(only)),
            ..Self::default()
        }
    }

    /// Whether it can be this text.
    #[must_use]
    pub fn allows(&self, text: &str) -> bool {
        let length = text.chars().count();
        let is_listed = self.only.as_ref().is_none_or(|only| only.contains(text));
        let mut patterns = self.patterns.iter();
        is_listed
            && length >= self.shortest
            && self.longest.is_none_or(|longest| length <= longest)
            && (!self.is_lower || !text.contains(|c: char| c.is_ascii_uppercase()))
            // A pattern that only the validator knows excludes nothing here.
            && patterns.all(|one| pattern(one).map_or(true, |one| one.is_match(text)))
    }

    /// The same text in small letters.
    #[must_use]
    pub fn lower(&self) -> Self {
        let only = self.only.as_ref().map(|only| {
            let lower = only.iter().map(|text| text.to_ascii_lowercase());
            Arc::new(lower.collect())
        });
        Self {
            only,
            patterns: Vec::new(),
            is_lower: true,
            ..self.clone()
        }
    }

    pub(super) fn join(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let only = match (&self.only, &other.only) {
            (Some(one), Some(two)) => Some(Arc::new(one.union(two).cloned().collect())),
            _ => None,
        };
        let longest = self.longest.zip(other.longest);
        Self {
            only,
            patterns: Vec::new(),
            shortest: self.shortest.min(other.shortest),
            longest: longest.map(|(one, two)| one.max(two)),
            is_lower: self.is_lower && other.is_lower,
        }
    }

    pub(super) fn meet(&self, other: &Self) -> Self {
        let only = match (&self.only, &other.only) {
            (Some(one), Some(two)) => Some(Arc::new(one.intersection(two).cloned().collect())),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let mut patterns = self.patterns.clone();
        patterns.extend(other.patterns.iter().cloned());
        patterns.dedup();
        let longest = match (self.longest, other.longest) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            only,
            patterns,
            shortest: self.shortest.max(other.shortest),
            longest,
            is_lower: self.is_lower || other.is_lower,
        }
    }
}
