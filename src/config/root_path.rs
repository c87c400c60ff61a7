//! The path of a root: an invertible glob.
//!
//! Only `*` and `**` are wildcards here, and only where a path has exactly one reading. So an id determines
//! its directory as surely as a directory determines its id.

use crate::base::{InvalidName, RepoPath, TaskId};
use crate::workflow::TreePart as Belongs;
use std::fmt;

/// The path of a root: literal parts, parts with one `*`, and at most one part `**`.
#[derive(Clone, PartialEq, Eq)]
pub struct RootPath {
    text: String,
    base: RepoPath,
    /// The parts below the base.
    parts: Vec<PathPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPart {
    Literal(String),
    /// `before*after`.
    One {
        before: String,
        after: String,
    },
    /// `**`.
    Any,
}

impl PathPart {
    /// Whether the part matches every name.
    fn is_any_name(&self) -> bool {
        matches!(self, Self::One { before, after } if before.is_empty() && after.is_empty())
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == name,
            Self::One { before, after } => name
                .strip_prefix(before.as_str())
                .and_then(|rest| rest.strip_suffix(after.as_str()))
                .is_some_and(|matched| !matched.is_empty()),
            Self::Any => true,
        }
    }
}

/// Why a text is not a [`RootPath`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a path of tasks: {reason}")]
pub struct InvalidRoot {
    /// The offending text.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl RootPath {
    /// Parses a path such as `tasks/*`, `work/**` or `teams/*/task-*`. Returns [`InvalidRoot`] if the text
    /// has no wildcard, is ambiguous, or is not a path inside the repository.
    pub fn new(text: &str) -> Result<Self, InvalidRoot> {
        let invalid = |reason| InvalidRoot { text: text.to_owned(), reason };
        let path = RepoPath::new(text).map_err(|error| invalid(error.reason))?;
        if path.as_str().contains(['?', '[', ']', '{', '}', '\\']) {
            return Err(invalid("only `*` and `**` are allowed as wildcards"));
        }
        let mut parts = Vec::new();
        let mut base = Vec::new();
        for part in path.as_str().split('/') {
            match part.split_once('*') {
                None if parts.is_empty() => base.push(part),
                None => parts.push(PathPart::Literal(part.to_owned())),
                Some(("", "*")) => parts.push(PathPart::Any),
                Some((_, after)) if after.contains('*') => {
                    return Err(invalid("one part has several `*`, so an id would be ambiguous"));
                }
                Some((before, after)) => {
                    parts.push(PathPart::One { before: before.to_owned(), after: after.to_owned() });
                }
            }
        }
        if parts.is_empty() {
            return Err(invalid("it has no wildcard, so no task would have an id"));
        }
        if parts.iter().filter(|part| **part == PathPart::Any).count() > 1 {
            return Err(invalid("it has several `**`, so an id would be ambiguous"));
        }
        let base = RepoPath::new(base.join("/")).map_err(|error| invalid(error.reason))?;
        Ok(Self { text: path.to_string(), base, parts })
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The directory before the first wildcard.
    #[must_use]
    pub fn base(&self) -> &RepoPath {
        &self.base
    }

    /// How much of a directory is reserved for tasks: all of it from the last name that the path fixes,
    /// because below that any name may be a task; and all of it below a `**`.
    pub(super) fn part(&self, directory: &RepoPath) -> Belongs {
        let base = self.base.as_str().split('/').filter(|name| !name.is_empty());
        let mut places: Vec<PathPart> = base.map(|name| PathPart::Literal(name.to_owned())).collect();
        places.extend(self.parts.iter().take_while(|part| **part != PathPart::Any).cloned());
        let fixed = places.iter().rposition(|place| !place.is_any_name()).map_or(1, |last| last + 1);
        let names: Vec<&str> = directory.as_str().split('/').collect();
        let fits = places.iter().take(fixed).zip(&names).all(|(place, name)| place.fits(name));
        match names.len() {
            _ if !fits => Belongs::None,
            depth if depth < fixed => Belongs::Within,
            _ => Belongs::Whole,
        }
    }

    /// The id of the task at `directory` under this path, or why its name is not a valid id; `None` if the
    /// path does not match.
    pub(super) fn id_of(&self, directory: &RepoPath) -> Option<Result<TaskId, InvalidName>> {
        let names: Vec<&str> = directory.below(&self.base)?.split('/').collect();
        let spare = self.spare(names.len(), self.parts.len())?;
        let mut names = names.into_iter();
        let mut id = Vec::new();
        for part in &self.parts {
            match part {
                PathPart::Any => id.extend(names.by_ref().take(spare)),
                PathPart::Literal(literal) if names.next()? == literal => {}
                PathPart::Literal(_) => return None,
                PathPart::One { before, after } => {
                    let matched =
                        names.next()?.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?;
                    if matched.is_empty() {
                        return None;
                    }
                    id.push(matched);
                }
            }
        }
        Some(TaskId::new(id.join("/")))
    }

    /// The directory of a task: the path with the wildcards replaced by the id.
    pub(super) fn directory_of(&self, task: &TaskId) -> Option<RepoPath> {
        let names: Vec<&str> = task.as_str().split('/').collect();
        let wildcards = self.parts.iter().filter(|part| !matches!(part, PathPart::Literal(_))).count();
        let spare = self.spare(names.len(), wildcards)?;
        let mut names = names.into_iter();
        let mut parts = Vec::new();
        for part in &self.parts {
            match part {
                PathPart::Any => parts.extend(names.by_ref().take(spare).map(str::to_owned)),
                PathPart::Literal(literal) => parts.push(literal.clone()),
                PathPart::One { before, after } => parts.push(format!("{before}{}{after}", names.next()?)),
            }
        }
        self.base.join(&parts.join("/")).ok()
    }

    /// How many of `names` the `**` matches, if the other parts need `places` names; `None` if there are too
    /// few or too many. As in other globs, a final `**` matches at least one name, any other any number.
    fn spare(&self, names: usize, places: usize) -> Option<usize> {
        if !self.parts.contains(&PathPart::Any) {
            return (names == places).then_some(0);
        }
        let least = usize::from(self.parts.last() == Some(&PathPart::Any));
        (names + 1).checked_sub(places).filter(|spare| *spare >= least)
    }
}

impl Default for RootPath {
    /// `tasks/**`.
    fn default() -> Self {
        let base = RepoPath::new("tasks").unwrap_or_else(|_| RepoPath::root());
        Self { text: "tasks/**".to_owned(), base, parts: vec![PathPart::Any] }
    }
}

impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_its_id_lead_to_each_other() {
        for (path, directory, id) in [
            ("tasks/*", "tasks/t-1", Some("t-1")),
            ("tasks/*", "tasks/team/t-1", None),
            ("tasks/*", "tasks", None),
            ("tasks/*", "tasks2/t", None),
            ("tasks/**", "tasks/t-1", Some("t-1")),
            ("tasks/**", "tasks/team/t-1", Some("team/t-1")),
            ("tasks/**", "tasks", None),
            ("./tasks//*/", "tasks/a", Some("a")),
            ("teams/*/task-*", "teams/blue/task-7", Some("blue/7")),
            ("teams/*/task-*", "teams/blue/task-", None),
            ("teams/*/task-*", "teams/blue/job-7", None),
            ("*.task", "fix.task", Some("fix")),
            ("*.task", ".task", None),
            ("**/tasks/*", "tasks/t", Some("t")),
            ("**/tasks/*", "crates/a/tasks/t", Some("crates/a/t")),
            ("**/tasks/*", "crates/a/tests/t", None),
            ("*/x/**", "a/x/b/c", Some("a/b/c")),
            ("*/x/**", "a/x", None),
            ("tasks/**/item", "tasks/item", None),
            ("tasks/**/item", "tasks/a/b/item", Some("a/b")),
            ("**", "a/b", Some("a/b")),
            ("tasks/*", "tasks/.git", None),
        ] {
            let path = RootPath::new(path).expect("valid");
            let directory = RepoPath::new(directory).expect("valid");
            let found = path.id_of(&directory).and_then(Result::ok);
            assert_eq!(found.as_ref().map(TaskId::as_str), id, "{path} {directory}");
            if let Some(id) = found {
                assert_eq!(path.directory_of(&id), Some(directory), "{path} {id}");
            }
        }
    }

    #[test]
    fn an_id_of_the_wrong_depth_has_no_directory() {
        for (path, id) in [("tasks/*", "a/b"), ("*/*", "a"), ("*/**", "a"), ("*/**/x", "")] {
            let path = RootPath::new(path).expect("valid");
            let directory = TaskId::new(id).ok().and_then(|id| path.directory_of(&id));
            assert_eq!(directory, None, "{path} {id}");
        }
    }

    #[test]
    fn the_base_ends_before_the_first_wildcard() {
        for (path, base) in [("a/b/*", "a/b"), ("a/b-*/c", "a"), ("**/x", ""), ("tasks/**", "tasks")] {
            assert_eq!(RootPath::new(path).expect("valid").base().as_str(), base, "{path}");
        }
        assert_eq!(RootPath::new("tasks/**"), Ok(RootPath::default()));
    }

    #[test]
    fn paths_that_cannot_be_undone_are_refused() {
        for path in
            ["", "tasks", "/tasks/*", "../*", "a/?", "a/{b,c}/*", "a/[bc]", "a/*-*", "a/***", "**/a/**"]
        {
            assert!(RootPath::new(path).is_err(), "{path:?}");
        }
    }
}
