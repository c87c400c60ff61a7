//! The path of a root: an invertible glob.
//!
//! Only `*` and `**` are wildcards here, and only where a path has exactly one reading. So an id determines
//! its directory as surely as a directory determines its id.
//!
//! Where the path ends in a wildcard and the extension of a format, as `docs/adr/*.md` does, the tasks are
//! files. The directory of such a task is `docs/adr/.tasks/ID`.

use crate::workflow::{Format, TreePart as Belongs};
use orch_base::{FILE_TASKS, InvalidName, RepoPath, SingleFile, TaskId, TaskPlace};
use std::fmt;

/// The path of a root: literal parts, parts with one `*`, and at most one part `**`.
#[derive(Clone, PartialEq, Eq)]
pub struct RootPath {
    text: String,
    base: RepoPath,
    /// The parts below the base that lead to the directory of a task.
    parts: Vec<PathPart>,
    /// How the name of a task's file continues that of its directory, if the tasks are files.
    file: Option<FileEnd>,
}

/// The end of the name of a file that is a task, after the part that its directory has in common with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileEnd {
    /// What separates the common part from the title, if the name contains one.
    title: Option<String>,
    /// The extension, with its dot.
    extension: String,
}

/// What stands for the title in the path of a root of files.
const TITLE: &str = "{title}";

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPart {
    Literal(String),
    /// `before*after`: one name, of which the `*` is part of the id.
    One {
        before: String,
        after: String,
    },
    /// `**`: any number of directories.
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
    /// Whether the names of the tasks, which are files, contain a title.
    #[must_use]
    pub fn has_title(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.title.is_some())
    }

    /// Parses a path such as `tasks/*`, `work/**`, `teams/*/task-*` or `docs/adr/*.md`. Returns
    /// [`InvalidRoot`] if the text has no wildcard, is ambiguous, or is not a path inside the repository.
    pub fn new(text: &str) -> Result<Self, InvalidRoot> {
        let invalid = |reason| InvalidRoot {
            text: text.to_owned(),
            reason,
        };
        let path = RepoPath::new(text).map_err(|error| invalid(error.reason))?;
        let (above, name) = path
            .as_str()
            .rsplit_once('/')
            .unwrap_or(("", path.as_str()));
        let file = FileEnd::of(name).map_err(invalid)?;
        let directory = file
            .as_ref()
            .map(|(common, _)| format!("{above}/{FILE_TASKS}/{common}"));
        let to_task = directory
            .as_deref()
            .unwrap_or(path.as_str())
            .trim_start_matches('/');
        if to_task.contains(['?', '[', ']', '{', '}', '\\']) {
            return Err(invalid("only `*` and `**` are allowed as wildcards"));
        }
        let mut parts = Vec::new();
        let mut base = Vec::new();
        for part in to_task.split('/') {
            match part.split_once('*') {
                None if parts.is_empty() && (file.is_none() || part != FILE_TASKS) => {
                    base.push(part)
                }
                None => parts.push(PathPart::Literal(part.to_owned())),
                Some(("", "*")) => parts.push(PathPart::Any),
                Some((_, after)) if after.contains('*') => {
                    return Err(invalid(
                        "one part has several `*`, so an id would be ambiguous",
                    ));
                }
                Some((before, after)) => {
                    parts.push(PathPart::One {
                        before: before.to_owned(),
                        after: after.to_owned(),
                    });
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
        Ok(Self {
            text: path.to_string(),
            base,
            parts,
            file: file.map(|(_, file)| file),
        })
    }

    /// Whether the tasks are files.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        self.file.is_some()
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
        let base = self
            .base
            .as_str()
            .split('/')
            .filter(|name| !name.is_empty());
        let mut places: Vec<PathPart> = base
            .map(|name| PathPart::Literal(name.to_owned()))
            .collect();
        places.extend(
            self.parts
                .iter()
                .take_while(|part| **part != PathPart::Any)
                .cloned(),
        );
        let fixed = places
            .iter()
            .rposition(|place| !place.is_any_name())
            .map_or(1, |last| last + 1);
        let names: Vec<&str> = directory.as_str().split('/').collect();
        let fits = places
            .iter()
            .take(fixed)
            .zip(&names)
            .all(|(place, name)| place.fits(name));
        match names.len() {
            _ if !fits => Belongs::None,
            depth if depth < fixed => Belongs::Within,
            _ => Belongs::Whole,
        }
    }

    /// Whether a directory contains a directory or a file that may be a task, or that leads to one.
    pub(super) fn leads_on(&self, directory: &RepoPath) -> bool {
        let base = self.base.as_str().split('/');
        let mut places: Vec<PathPart> = base
            .filter(|name| !name.is_empty())
            .map(|name| PathPart::Literal(name.to_owned()))
            .collect();
        places.extend_from_slice(&self.parts);
        let fixed = places.iter().position(|place| *place == PathPart::Any);
        let names: Vec<&str> = directory
            .as_str()
            .split('/')
            .filter(|name| !name.is_empty())
            .collect();
        let until = fixed.unwrap_or(places.len());
        let fits = places
            .iter()
            .take(until)
            .zip(&names)
            .all(|(place, name)| place.fits(name));
        fits && (fixed.is_some() || names.len() < places.len())
    }

    /// The id of the task at `directory` under this path, or why its name is not a valid id; `None` if the
    /// path does not match.
    pub(super) fn id_of(&self, directory: &RepoPath) -> Option<Result<TaskId, InvalidName>> {
        let below = directory
            .below(&self.base)
            .filter(|below| !below.is_empty())?;
        let names: Vec<&str> = below.split('/').collect();
        let spare = self.spare(names.len(), self.parts.len())?;
        let mut names = names.into_iter();
        let mut id = Vec::new();
        for part in &self.parts {
            match part {
                PathPart::Any => id.extend(names.by_ref().take(spare)),
                PathPart::Literal(literal) if names.next()? == literal => {}
                PathPart::Literal(_) => return None,
                PathPart::One { before, after } => {
                    let matched = names
                        .next()?
                        .strip_prefix(before.as_str())?
                        .strip_suffix(after.as_str())?;
                    if matched.is_empty() {
                        return None;
                    }
                    id.push(matched);
                }
            }
        }
        Some(TaskId::new(id.join("/")))
    }

    /// The directory of the task that a file is, if the tasks are files and this one may be one.
    pub(super) fn directory_of_file(&self, file: &RepoPath) -> Option<RepoPath> {
        let common = self.file.as_ref()?.common(file.name())?;
        file.parent()?.join(FILE_TASKS).ok()?.join(common).ok()
    }

    /// Where the files of the task with this directory are.
    pub(super) fn place(&self, directory: &RepoPath) -> TaskPlace {
        let beside = directory.parent().and_then(|parent| parent.parent());
        match (&self.file, beside) {
            (Some(end), Some(beside)) => {
                TaskPlace::of_file(directory.clone(), end.file(beside, directory.name()))
            }
            _ => TaskPlace::of_directory(directory.clone()),
        }
    }

    /// The directory of a task: the path with the wildcards replaced by the id.
    pub(super) fn directory_of(&self, task: &TaskId) -> Option<RepoPath> {
        let names: Vec<&str> = task.as_str().split('/').collect();
        let wildcards = self
            .parts
            .iter()
            .filter(|part| !matches!(part, PathPart::Literal(_)))
            .count();
        let spare = self.spare(names.len(), wildcards)?;
        let mut names = names.into_iter();
        let mut parts = Vec::new();
        for part in &self.parts {
            match part {
                PathPart::Any => parts.extend(names.by_ref().take(spare).map(str::to_owned)),
                PathPart::Literal(literal) => parts.push(literal.clone()),
                PathPart::One { before, after } => {
                    parts.push(format!("{before}{}{after}", names.next()?))
                }
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
        (names + 1)
            .checked_sub(places)
            .filter(|spare| *spare >= least)
    }
}

impl FileEnd {
    /// Splits the last part of a path into what names the directory of a task, and how the name of its file
    /// continues; `None` if the tasks are directories. Returns an error that says what is wrong with the part.
    fn of(name: &str) -> Result<Option<(&str, Self)>, &'static str> {
        let Some(dot) = name.rfind('.') else {
            return Ok(None);
        };
        let (stem, extension) = name.split_at(dot);
        if Format::of_extension(&extension[1..]).is_none() || !stem.contains('*') || stem == "**" {
            return Ok(None);
        }
        let extension = extension.to_owned();
        let Some((common, rest)) = stem.split_once(TITLE) else {
            return Ok(Some((
                stem,
                Self {
                    title: None,
                    extension,
                },
            )));
        };
        let (Some(star), true) = (common.rfind('*'), rest.is_empty()) else {
            return Err("`{title}` comes after the `*`, and right before the extension");
        };
        let (common, separator) = common.split_at(star + 1);
        if separator.is_empty() {
            return Err(
                "some text must separate `{title}` from the `*`, for example `* - {title}.md`",
            );
        }
        Ok(Some((
            common,
            Self {
                title: Some(separator.to_owned()),
                extension,
            },
        )))
    }

    /// The part of a file's name that its directory has too. A title begins at the first separator.
    fn common<'n>(&self, name: &'n str) -> Option<&'n str> {
        let stem = name.strip_suffix(self.extension.as_str())?;
        match &self.title {
            None => Some(stem),
            Some(separator) => {
                let (common, title) = stem.split_once(separator.as_str())?;
                (!title.is_empty()).then_some(common)
            }
        }
    }

    /// The file of the task whose directory has the name `common`.
    fn file(&self, directory: RepoPath, common: &str) -> SingleFile {
        match &self.title {
            None => SingleFile {
                directory,
                before: format!("{common}{}", self.extension),
                after: None,
            },
            Some(separator) => SingleFile {
                directory,
                before: format!("{common}{separator}"),
                after: Some(self.extension.clone()),
            },
        }
    }
}

impl Default for RootPath {
    /// `tasks/**`.
    fn default() -> Self {
        let base = RepoPath::new("tasks").unwrap_or_else(|_| RepoPath::root());
        Self {
            text: "tasks/**".to_owned(),
            base,
            parts: vec![PathPart::Any],
            file: None,
        }
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
    fn a_file_and_its_id_lead_to_each_other() {
        for (path, file, directory, id) in [
            (
                "docs/adr/*.md",
                "docs/adr/0001-use-x.md",
                "docs/adr/.tasks/0001-use-x",
                "0001-use-x",
            ),
            (
                "docs/adr/*.md",
                "docs/adr/v1.2.md",
                "docs/adr/.tasks/v1.2",
                "v1.2",
            ),
            (
                "docs/adr/adr-*.md",
                "docs/adr/adr-7.md",
                "docs/adr/.tasks/adr-7",
                "7",
            ),
            ("docs/**/*.md", "docs/a.md", "docs/.tasks/a", "a"),
            (
                "docs/**/*.md",
                "docs/x/y/a.md",
                "docs/x/y/.tasks/a",
                "x/y/a",
            ),
            (
                "teams/*/adr/*.yaml",
                "teams/blue/adr/a.yaml",
                "teams/blue/adr/.tasks/a",
                "blue/a",
            ),
            ("*.md", "README.md", ".tasks/README", "README"),
            (
                "t/* - {title}.md",
                "t/task-1.2 - Fix it - now.md",
                "t/.tasks/task-1.2",
                "task-1.2",
            ),
            (
                "t/task-* - {title}.md",
                "t/task-3 - Fix it.md",
                "t/.tasks/task-3",
                "3",
            ),
        ] {
            let path = RootPath::new(path).expect("valid");
            let [file, directory] =
                [file, directory].map(|text| RepoPath::new(text).expect("valid"));
            assert_eq!(
                path.directory_of_file(&file),
                Some(directory.clone()),
                "{path}"
            );
            let found = path.id_of(&directory).expect("matches").expect("an id");
            assert_eq!(found.as_str(), id, "{path}");
            assert_eq!(path.directory_of(&found), Some(directory.clone()), "{path}");
            let place = path.place(&directory);
            assert_eq!(place.name(&file), Some(file.name()), "{path}");
            assert_eq!(place.path(file.name()), Ok(file), "{path}");
        }
    }

    #[test]
    fn other_names_are_no_files_of_the_root() {
        for (path, file) in [
            ("docs/adr/*.md", "docs/adr/0001.txt"),
            ("docs/adr/*.md", "docs/adr/sub/0001.md"),
            ("docs/adr/*.md", "docs/other/0001.md"),
            ("docs/adr/*.md", "docs/adr/.md"),
            ("docs/adr/adr-*.md", "docs/adr/0001.md"),
            ("t/* - {title}.md", "t/task-1.md"),
            ("t/* - {title}.md", "t/task-1 - .md"),
            ("t/* - {title}.md", "t/ - Fix it.md"),
            ("tasks/*", "tasks/a.md"),
            ("*.task", "a.task"),
        ] {
            let path = RootPath::new(path).expect("valid");
            let directory = path.directory_of_file(&RepoPath::new(file).expect("valid"));
            assert!(
                directory
                    .and_then(|directory| path.id_of(&directory))
                    .is_none(),
                "{path} {file}"
            );
        }
    }

    #[test]
    fn an_id_of_the_wrong_depth_has_no_directory() {
        for (path, id) in [
            ("tasks/*", "a/b"),
            ("*/*", "a"),
            ("*/**", "a"),
            ("*/**/x", ""),
        ] {
            let path = RootPath::new(path).expect("valid");
            let directory = TaskId::new(id).ok().and_then(|id| path.directory_of(&id));
            assert_eq!(directory, None, "{path} {id}");
        }
    }

    #[test]
    fn the_base_ends_before_the_first_wildcard() {
        for (path, base) in [
            ("a/b/*", "a/b"),
            ("a/b-*/c", "a"),
            ("**/x", ""),
            ("tasks/**", "tasks"),
            ("a/*.md", "a"),
            ("*.md", ""),
        ] {
            assert_eq!(
                RootPath::new(path).expect("valid").base().as_str(),
                base,
                "{path}"
            );
        }
        assert_eq!(RootPath::new("tasks/**"), Ok(RootPath::default()));
    }

    #[test]
    fn paths_that_cannot_be_undone_are_refused() {
        for path in [
            "",
            "tasks",
            "/tasks/*",
            "../*",
            "a/?",
            "a/{b,c}/*",
            "a/[bc]",
            "a/*-*",
            "a/***",
            "**/a/**",
            "a/*-*.md",
            "a/{title} - *.md",
            "a/*{title}.md",
            "a/* - {title} x.md",
            "a/* - {title}",
            "a/* - {name}.md",
            "a/* - {title}.task",
        ] {
            assert!(RootPath::new(path).is_err(), "{path:?}");
        }
    }
}
