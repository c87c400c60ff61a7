//! Artifacts that are committed code: the part of a commit's tree that they consist of.
//!
//! A part consists of whole files and directories only, so its digest follows from the ids of a few objects,
//! without walking the tree.

use orch_base::RepoPath;
use std::fmt;

/// The suffix of the name that stands for an artifact's tree in place of a file's path.
const MARK: &str = " (tree)";

/// The files and directories of a commit's tree that make up an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeScope {
    texts: Vec<String>,
    /// `None` means everything.
    paths: Option<Vec<RepoPath>>,
}

/// How much of a file or directory belongs to a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreePart {
    /// Nothing.
    None,
    /// Possibly something below it.
    Within,
    /// It and everything below it.
    Whole,
}

impl TreeScope {
    /// Parses patterns: `DIRECTORY/**`, the path of a file, or `**` alone. Returns the index of the first
    /// invalid pattern, and what is wrong with it.
    pub fn new(texts: Vec<String>) -> Result<Self, (usize, &'static str)> {
        let mut paths = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            if text == "**" && texts.len() > 1 {
                return Err((index, "may not list other patterns beside `**`"));
            }
            if text != "**" {
                paths.push(path(text).map_err(|why| (index, why))?);
            }
        }
        let paths = if paths.is_empty() { None } else { Some(paths) };
        Ok(Self { texts, paths })
    }

    /// The patterns as written.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// How much of the file or directory at a path belongs to the scope.
    #[must_use]
    pub fn part(&self, path: &RepoPath) -> TreePart {
        let Some(paths) = &self.paths else {
            return TreePart::Whole;
        };
        if paths
            .iter()
            .any(|whole| whole == path || path.below(whole).is_some())
        {
            return TreePart::Whole;
        }
        if paths.iter().any(|whole| whole.below(path).is_some()) {
            TreePart::Within
        } else {
            TreePart::None
        }
    }
}

fn path(text: &str) -> Result<RepoPath, &'static str> {
    let plain = text.strip_suffix("/**").unwrap_or(text);
    if plain.contains(['*', '?', '[', ']', '{', '}']) {
        return Err("can name only whole directories and files");
    }
    if plain.is_empty() || plain.starts_with('/') || plain.contains('\\') {
        return Err("must be relative to the root of the repository, with `/` between its parts");
    }
    if plain
        .split('/')
        .any(|part| matches!(part, "" | "." | ".." | ".git"))
    {
        return Err("must not contain empty parts, `.`, `..` or `.git`");
    }
    RepoPath::new(plain).map_err(|error| error.reason)
}

/// The name that stands for an artifact's tree in place of a file's path.
#[must_use]
pub fn tree_name(artifact: &str) -> String {
    format!("{artifact}{MARK}")
}

/// Whether a name in place of a file's path means a tree.
#[must_use]
pub fn is_tree_name(path: &str) -> bool {
    path.strip_suffix(MARK)
        .is_some_and(|artifact| !artifact.contains('/'))
}

impl fmt::Display for TreeScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.paths {
            Some(_) => f.write_str(&self.texts.join(", ")),
            None => f.write_str("the code outside tasks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(texts: &[&str]) -> Result<TreeScope, (usize, &'static str)> {
        TreeScope::new(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn a_scope_names_whole_files_and_directories() {
        for (texts, path, expected) in [
            (&["**"][..], "src", TreePart::Whole),
            (&["src/**", "Cargo.toml"], "src", TreePart::Whole),
            (&["src/**", "Cargo.toml"], "src/a/b.rs", TreePart::Whole),
            (&["src/**", "Cargo.toml"], "Cargo.toml", TreePart::Whole),
            (&["src/**", "Cargo.toml"], "Cargo.lock", TreePart::None),
            (&["src/**", "Cargo.toml"], "src2", TreePart::None),
            (&["a/b/**"], "a", TreePart::Within),
            (&["a/b/**"], "a/c", TreePart::None),
            (&["a/b"], "a/b", TreePart::Whole),
        ] {
            let found = scope(texts)
                .expect("a scope")
                .part(&RepoPath::new(path).expect("a path"));
            assert_eq!(found, expected, "{texts:?} {path}");
        }
    }

    #[test]
    fn what_would_have_to_be_walked_is_refused() {
        for (texts, at) in [
            (&["src/*"][..], 0),
            (&["src/**", "**/*.rs"], 1),
            (&["src/**/a"], 0),
            (&["src/{a,b}/**"], 0),
            (&["src/**", "**"], 1),
            (&[""], 0),
            (&["/src/**"], 0),
            (&["src//a"], 0),
            (&["../src/**"], 0),
            (&[".git/**"], 0),
            (&["a\\b"], 0),
            (&["/**"], 0),
        ] {
            assert_eq!(
                scope(texts).map_err(|(index, _)| index),
                Err(at),
                "{texts:?}"
            );
        }
    }

    #[test]
    fn the_name_of_a_tree_is_distinguished_from_paths() {
        assert!(is_tree_name(&tree_name("change")));
        for path in ["change", " (tree)/a", "code/a (tree)", "(tree)"] {
            assert!(!is_tree_name(path), "{path}");
        }
    }
}
