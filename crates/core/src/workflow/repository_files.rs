//! Artifacts that are files of the repository outside of tasks, such as the settings of another program. They are read
//! from HEAD, as code is: a decision about a recorded step reads them from the commit before it.

use super::is_pattern;
use super::place::bad_path;
use super::tree::TreeScope;
use orch_base::Patterns;

/// The mark of a name that stands for a file of the repository and not of the task.
const MARK: char = '/';

/// Which files of the repository make up an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFiles {
    patterns: Vec<String>,
    scope: TreeScope,
}

impl RepositoryFiles {
    /// Parses paths and globs that are relative to the root of the repository, in order of precedence. Returns the index
    /// of the first that is invalid, and what is wrong with it. A glob begins with the name of a directory, so that
    /// nobody has to walk the repository.
    pub fn new(patterns: Vec<String>) -> Result<Self, (usize, &'static str)> {
        let mut parts = Vec::new();
        for (index, pattern) in patterns.iter().enumerate() {
            if let Some(why) = bad_path(pattern) {
                return Err((index, why));
            }
            let fixed = Self::fixed_part(pattern);
            if fixed.is_empty() {
                return Err((index, "must begin with the name of a file or a directory"));
            }
            let part = if fixed == pattern {
                fixed.to_owned()
            } else {
                format!("{fixed}/**")
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        match TreeScope::new(parts) {
            Ok(scope) => Ok(Self { patterns, scope }),
            Err((index, why)) => Err((index.min(patterns.len().saturating_sub(1)), why)),
        }
    }

    /// The patterns as written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// The index of the first pattern that a path matches.
    #[must_use]
    pub fn pattern_of(&self, path: &str) -> Option<usize> {
        self.patterns
            .iter()
            .position(|pattern| pattern == path || Patterns::one_matches(pattern, path))
    }

    /// What comes before the first part of a pattern with a wildcard, without the slash.
    #[must_use]
    pub fn fixed_part(pattern: &str) -> &str {
        let mut end = 0;
        for part in pattern.split_inclusive('/') {
            if is_pattern(part) {
                return pattern[..end].trim_end_matches('/');
            }
            end += part.len();
        }
        pattern
    }

    /// The files and directories in which they are.
    #[must_use]
    pub fn scope(&self) -> &TreeScope {
        &self.scope
    }
}

/// The name under which a file of the repository stands among those of a task: its path from the root, after a slash.
#[must_use]
pub fn repository_name(path: &str) -> String {
    format!("{MARK}{path}")
}

/// Whether a name among those of a task stands for a file of the repository.
#[must_use]
pub fn is_repository_name(name: &str) -> bool {
    name.starts_with(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_repository_are_where_their_patterns_begin() {
        for (patterns, scope) in [
            (&["backlog/config.yml"][..], "backlog/config.yml"),
            (
                &["openspec/schemas/*/schema.yaml", "openspec/config.yaml"],
                "openspec/schemas/**, openspec/config.yaml",
            ),
            (&["a/*.md", "a/*.txt"], "a/**"),
        ] {
            let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
            let found = RepositoryFiles::new(patterns).expect("valid");
            assert_eq!(found.scope().to_string(), scope);
        }
        for (pattern, index) in [("*.md", 1), ("../a", 1), ("/a", 1), ("", 1), ("**", 1)] {
            let patterns = vec!["a".to_owned(), pattern.to_owned()];
            let found = RepositoryFiles::new(patterns).map_err(|(index, _)| index);
            assert_eq!(found, Err(index), "{pattern}");
        }
    }
}
