//! Paths inside a repository: relative, UTF-8, with `/` between parts, and never outside the repository.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path relative to the root of the repository (outside git: of the work directory).
///
/// The empty path is the root itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Arc<str>);

/// Why a text is not a [`RepoPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not a path inside the repository: {reason}")]
pub struct InvalidPath {
    /// The offending path, with unprintable parts replaced.
    pub path: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl RepoPath {
    /// The root of the repository.
    #[must_use]
    pub fn root() -> Self {
        Self("".into())
    }

    /// Parses a relative path with `/` between its parts and drops `.` parts and trailing slashes. Returns
    /// [`InvalidPath`] if the path is absolute, contains a NUL byte or leaves the repository.
    pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidPath> {
        let text = text.as_ref();
        if is_normal(text) {
            return Ok(Self(text.into()));
        }
        let invalid = |reason| InvalidPath {
            path: text.to_owned(),
            reason,
        };
        if text.starts_with('/') {
            return Err(invalid("it is absolute"));
        }
        if text.contains('\0') {
            return Err(invalid("it contains a NUL byte"));
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(invalid("it leaves the repository through `..`")),
                part => parts.push(part),
            }
        }
        Ok(Self(parts.join("/").into()))
    }

    /// The path as text, without a leading or trailing slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This path followed by `relative`. Returns [`InvalidPath`] if `relative` is not a valid path.
    pub fn join(&self, relative: &str) -> Result<Self, InvalidPath> {
        if self.0.is_empty() {
            Self::new(relative)
        } else {
            Self::new(format!("{}/{relative}", self.0))
        }
    }

    /// The part of this path below `directory`, or `None` if the path is not inside it.
    #[must_use]
    pub fn below<'a>(&'a self, directory: &Self) -> Option<&'a str> {
        if directory.0.is_empty() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&*directory.0)?.strip_prefix('/')
    }

    /// The directory that contains this path; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        match self.0.rsplit_once('/') {
            Some((parent, _)) => Some(Self(parent.into())),
            None if self.0.is_empty() => None,
            None => Some(Self::root()),
        }
    }

    /// The last part of the path; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// This path on the file system, below the directory `root`.
    #[must_use]
    pub fn under(&self, root: &Path) -> PathBuf {
        if self.0.is_empty() {
            root.to_owned()
        } else {
            root.join(&*self.0)
        }
    }
}

/// Whether a text has the form of a [`RepoPath`]. Nearly every one has, and needs no list of its parts.
fn is_normal(text: &str) -> bool {
    !text.contains('\0') && text.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normal_and_stay_inside() {
        assert_eq!(
            RepoPath::new("./a//b/").map(|path| path.to_string()),
            Ok("a/b".to_owned())
        );
        for (text, path) in [
            ("", ""),
            (".", ""),
            ("a/", "a"),
            ("a/./b", "a/b"),
            ("a.b/..c", "a.b/..c"),
        ] {
            assert_eq!(
                RepoPath::new(text).map(|path| path.to_string()),
                Ok(path.to_owned()),
                "{text}"
            );
        }
        for text in ["/a", "a/../../b", "..", "../b", "a/..", "a\0", "a/b\0c"] {
            assert!(RepoPath::new(text).is_err(), "{text:?}");
        }
        let directory = RepoPath::new("d").expect("valid");
        assert_eq!(
            directory.join("./a//b").map(|path| path.to_string()),
            Ok("d/a/b".to_owned())
        );
        assert!(directory.join("../b").is_err() && directory.join("a\0").is_err());
    }

    #[test]
    fn below_takes_whole_parts() {
        let tasks = RepoPath::new("tasks").expect("valid");
        assert_eq!(
            RepoPath::new("tasks/t1/a").expect("valid").below(&tasks),
            Some("t1/a")
        );
        assert_eq!(
            RepoPath::new("tasks2/t1").expect("valid").below(&tasks),
            None
        );
    }
}
