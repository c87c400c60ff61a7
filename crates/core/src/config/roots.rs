//! Where tasks live: maps directories to tasks, and back.

use super::{Patterns, RootPath};
use crate::workflow::TreePart;
use orch_base::{ARCHIVE, InvalidName, RepoPath, TaskId, TaskPlace, WorkflowName};

/// One `[[root]]` of `orch.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// Which directories or files are tasks. The part that the wildcards match is the id of the task.
    pub path: RootPath,
    /// The workflow that governs these tasks.
    pub workflow: WorkflowName,
    /// Globs, relative to the repository, of files that are not tasks, and of directories that are not tasks
    /// and contain none.
    pub exclude: Patterns,
}

impl Root {
    /// Whether a path or one of its parents is excluded from this root.
    #[must_use]
    pub fn excludes(&self, path: &RepoPath) -> bool {
        let mut upwards = std::iter::successors(Some(path.clone()), RepoPath::parent);
        !self.exclude.is_empty() && upwards.any(|path| self.exclude.matches(path.as_str()))
    }

    /// Where the files of the task with this directory are.
    #[must_use]
    pub fn place(&self, directory: &RepoPath) -> TaskPlace {
        self.path.place(directory)
    }

    /// Whether the directory of a task, or the file that the task is, is excluded.
    fn excludes_task(&self, directory: &RepoPath) -> bool {
        let place = self.place(directory);
        let file = place.file().and_then(|file| file.path());
        self.excludes(directory) || file.is_some_and(|file| self.excludes(&file))
    }
}

impl Root {
    /// The directory of the archived tasks.
    fn archive(&self) -> Option<RepoPath> {
        self.path.base().join(ARCHIVE).ok()
    }

    /// The directory that an archived one had before.
    fn unarchived(&self, directory: &RepoPath) -> Option<RepoPath> {
        self.path
            .base()
            .join(directory.below(&self.archive()?)?)
            .ok()
    }

    fn archived_id(&self, directory: &RepoPath) -> Option<TaskId> {
        let id = self.path.id_of(&self.unarchived(directory)?)?.ok()?;
        TaskId::new(id.archived()).ok()
    }

    /// The directory of a task with the id of an archived one.
    fn archive_of(&self, task: &TaskId) -> Option<RepoPath> {
        let before = self
            .path
            .directory_of(&TaskId::new(task.unarchived()?).ok()?)?;
        let base = self.path.base();
        self.archive()?.join(before.below(base)?).ok()
    }

    /// How much of a directory of archived tasks is reserved for them.
    fn archive_part(&self, path: &RepoPath) -> TreePart {
        match self.unarchived(path) {
            Some(before) => self.path.part(&before),
            None if self.archive().as_ref() == Some(path) => TreePart::Within,
            None => TreePart::None,
        }
    }
}

/// All roots of a repository, in file order. A directory belongs to the first root that matches it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Roots(Vec<Root>);

impl Roots {
    /// The roots, in order of precedence.
    #[must_use]
    pub fn new(roots: Vec<Root>) -> Self {
        Self(roots)
    }

    /// The root with an index that [`Roots::match_directory`] returned.
    #[must_use]
    pub fn get(&self, root: usize) -> Option<&Root> {
        self.0.get(root)
    }

    /// All roots, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Root> {
        self.0.iter()
    }

    /// The index of the root that a directory belongs to, and the id of the task there.
    ///
    /// Whether there *is* a task depends on the contents of the directory.
    #[must_use]
    pub fn match_directory(&self, directory: &RepoPath) -> Option<(usize, TaskId)> {
        self.0.iter().enumerate().find_map(|(index, root)| {
            let id = match root.path.id_of(directory) {
                Some(id) => id.ok()?,
                None => root.archived_id(directory)?,
            };
            (!root.excludes_task(directory)).then_some((index, id))
        })
    }

    /// The index of the root that a file belongs to as a task, and the directory and the id of that task.
    ///
    /// Whether the file *is* a task depends on whether it is an artifact of the workflow.
    #[must_use]
    pub fn match_file(&self, file: &RepoPath) -> Option<(usize, RepoPath, TaskId)> {
        self.0.iter().enumerate().find_map(|(index, root)| {
            let directory = root
                .path
                .directory_of_file(file)
                .filter(|_| !root.excludes(file))?;
            let (found, id) = self.match_directory(&directory)?;
            (found == index).then_some((index, directory, id))
        })
    }

    /// For a file that a root matches but whose name yields no valid task id: the index of the root, and what
    /// is wrong with the name.
    #[must_use]
    pub fn misnamed_file(&self, file: &RepoPath) -> Option<(usize, InvalidName)> {
        self.0.iter().enumerate().find_map(|(index, root)| {
            let directory = root
                .path
                .directory_of_file(file)
                .filter(|_| !root.excludes(file))?;
            let (found, error) = self.misnamed(&directory)?;
            (found == index).then_some((index, error))
        })
    }

    /// For a directory that a root matches but whose name is not a valid task id: the index of the root, and
    /// what is wrong with the name.
    #[must_use]
    pub fn misnamed(&self, directory: &RepoPath) -> Option<(usize, InvalidName)> {
        if self.match_directory(directory).is_some() {
            return None;
        }
        self.0.iter().enumerate().find_map(|(index, root)| {
            let error = root.path.id_of(directory)?.err()?;
            (!root.excludes_task(directory)).then_some((index, error))
        })
    }

    /// The directory of a task in a root: the inverse of [`Roots::match_directory`].
    ///
    /// `None` if the id has too few or too many parts for the path of the root, or if the directory is
    /// excluded or belongs to an earlier root.
    #[must_use]
    pub fn directory_of(&self, root: usize, task: &TaskId) -> Option<RepoPath> {
        let own = self.0.get(root)?;
        let directory = own
            .path
            .directory_of(task)
            .or_else(|| own.archive_of(task))?;
        let (found, id) = self.match_directory(&directory)?;
        if found == root && id == *task {
            Some(directory)
        } else {
            None
        }
    }

    /// Whether the archived tasks of a root are below this directory.
    #[must_use]
    pub fn is_archive(&self, directory: &RepoPath) -> bool {
        directory.name() == ARCHIVE
            && self
                .0
                .iter()
                .any(|root| root.archive().as_ref() == Some(directory))
    }

    /// Whether a directory contains a directory or a file that may be a task, or that leads to one.
    #[must_use]
    pub fn lead_on(&self, directory: &RepoPath) -> bool {
        self.0.iter().any(|root| {
            let is_archive = root.archive().as_ref() == Some(directory);
            let before = root.unarchived(directory);
            !root.excludes(directory)
                && (is_archive
                    || root.path.leads_on(directory)
                    || before.is_some_and(|before| root.path.leads_on(&before)))
        })
    }

    /// How much of a path is reserved for tasks and so is not code. Does not look for tasks there.
    #[must_use]
    pub fn part(&self, path: &RepoPath, is_directory: bool) -> TreePart {
        if !is_directory {
            return if self.match_file(path).is_some() {
                TreePart::Whole
            } else {
                TreePart::None
            };
        }
        let parts = self.0.iter().filter(|root| !root.excludes(path));
        let parts: Vec<TreePart> = parts
            .flat_map(|root| [root.path.part(path), root.archive_part(path)])
            .collect();
        [TreePart::Whole, TreePart::Within]
            .into_iter()
            .find(|part| parts.contains(part))
            .unwrap_or(TreePart::None)
    }

    /// The directory that contains the tasks of each root, where a scan starts, in the order of the roots.
    pub fn bases(&self) -> impl Iterator<Item = &RepoPath> {
        self.0.iter().map(|root| root.path.base())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(paths: &[(&str, &[&str])]) -> Roots {
        let root = |(path, exclude): &(&str, &[&str])| Root {
            path: RootPath::new(path).expect("valid"),
            workflow: WorkflowName::new("w").expect("valid"),
            exclude: Patterns::new(exclude.iter().copied()).expect("valid"),
        };
        Roots::new(paths.iter().map(root).collect())
    }

    fn found(roots: &Roots, directory: &str) -> Option<(usize, String)> {
        let (root, id) = roots.match_directory(&RepoPath::new(directory).expect("valid"))?;
        Some((root, id.to_string()))
    }

    #[test]
    fn the_first_root_that_matches_has_the_directory() {
        let roots = roots(&[("work/urgent-*", &[]), ("work/*", &[])]);
        assert_eq!(found(&roots, "work/urgent-1"), Some((0, "1".to_owned())));
        assert_eq!(found(&roots, "work/plain"), Some((1, "plain".to_owned())));
        assert_eq!(found(&roots, "other"), None);
        let task = TaskId::new("urgent-1").expect("valid");
        assert_eq!(
            roots.directory_of(1, &task),
            None,
            "it would be task 1 of the first root"
        );
        assert_eq!(roots.directory_of(2, &task), None);
        assert_eq!(
            roots.bases().map(RepoPath::as_str).collect::<Vec<_>>(),
            ["work", "work"]
        );
    }

    #[test]
    fn an_invalid_id_is_distinguished_from_a_path_outside_the_roots() {
        let roots = roots(&[
            ("work/*", &["work/-old"]),
            ("jobs/job*", &[]),
            ("jobs/*", &[]),
        ]);
        for (directory, expected) in [
            ("work/a\\b", Some((0, "use `/`, not `\\`"))),
            ("work/-rf", Some((0, "a part must not start with `-`"))),
            ("work/fine", None),
            ("work/-old", None),
            ("work/-x/deep", None),
            ("elsewhere/-x", None),
            ("jobs/job-x", None),
        ] {
            let found = roots.misnamed(&RepoPath::new(directory).expect("valid"));
            assert_eq!(
                found.map(|(root, error)| (root, error.reason)),
                expected,
                "{directory}"
            );
        }
    }

    #[test]
    fn a_search_opens_only_what_may_lead_to_a_task() {
        for (root, exclude, path, expected) in [
            ("tasks/*", &[][..], "tasks", true),
            ("tasks/*", &[], "tasks/t", false),
            ("tasks/*", &[], "tasks/archive", true),
            ("tasks/*", &[], "tasks/archive/t", false),
            ("tasks/*", &[], "src", false),
            ("tasks/**", &[], "tasks/a/b/c/d/e/f/g/h/i/j", true),
            ("tasks/**", &["tasks/a"], "tasks/a/b", false),
            ("work/tasks/*", &[], "", true),
            ("work/tasks/*", &[], "work", true),
            ("*/tasks/*", &[], "", true),
            ("*/tasks/*", &[], "src", true),
            ("*/tasks/*", &[], "src/lib", false),
            ("**/tasks/*", &[], "src/lib/deep", true),
            ("teams/*/task-*", &[], "teams/blue", true),
            ("teams/*/task-*", &[], "teams/blue/src", false),
            ("docs/adr/*.md", &[], "docs/adr", true),
            ("docs/adr/*.md", &[], "docs/adr/.tasks", true),
            ("docs/adr/*.md", &[], "docs/adr/images", false),
        ] {
            let path = RepoPath::new(path).expect("valid");
            assert_eq!(
                roots(&[(root, exclude)]).lead_on(&path),
                expected,
                "{root} {path}"
            );
        }
    }

    #[test]
    fn places_for_tasks_are_distinguished_from_code() {
        for (root, exclude, path, expected) in [
            ("tasks/**", &[][..], "tasks", TreePart::Whole),
            ("tasks/*", &[], "tasks", TreePart::Whole),
            ("tasks/*", &[], "tasks2", TreePart::None),
            ("tasks/*/*", &[], "tasks", TreePart::Whole),
            ("work/tasks/*", &[], "work", TreePart::Within),
            ("work/tasks/*", &[], "work/tasks", TreePart::Whole),
            ("work/tasks/*", &[], "work/src", TreePart::None),
            ("teams/*/task-*", &[], "teams", TreePart::Within),
            ("teams/*/task-*", &[], "teams/blue", TreePart::Within),
            ("teams/*/task-*", &[], "teams/blue/task-7", TreePart::Whole),
            ("teams/*/task-*", &[], "teams/blue/src", TreePart::None),
            (
                "packages/*/tasks/*",
                &[],
                "packages/a/tasks",
                TreePart::Whole,
            ),
            ("packages/*/tasks/*", &[], "packages/a/src", TreePart::None),
            ("work/**/task-*", &[], "work", TreePart::Whole),
            ("*.task", &[], "fix.task", TreePart::Whole),
            ("*.task", &[], "src", TreePart::None),
            ("*", &["src"], "docs", TreePart::Whole),
            ("*", &["src"], "src", TreePart::None),
            ("docs/adr/*.md", &[], "docs/adr", TreePart::Within),
            ("docs/adr/*.md", &[], "docs/adr/.tasks", TreePart::Whole),
            ("docs/adr/*.md", &[], "docs/adr/images", TreePart::None),
        ] {
            let roots = roots(&[(root, exclude)]);
            let path = RepoPath::new(path).expect("valid");
            assert_eq!(roots.part(&path, true), expected, "{root} {path}");
            assert_eq!(
                roots.part(&path, false),
                TreePart::None,
                "a file cannot contain tasks: {root} {path}"
            );
        }
    }

    #[test]
    fn archived_tasks_have_the_ids_and_the_places_that_lead_to_each_other() {
        for (path, directory, id) in [
            ("tasks/*", "tasks/archive/t", "archive/t"),
            ("tasks/**", "tasks/archive/team/t", "archive/team/t"),
            (
                "teams/*/task-*",
                "teams/archive/blue/task-7",
                "archive/blue/7",
            ),
            ("*.task", "archive/fix.task", "archive/fix"),
        ] {
            let roots = roots(&[(path, &[])]);
            assert_eq!(found(&roots, directory), Some((0, id.to_owned())), "{path}");
            let id = TaskId::new(id).expect("valid");
            let directory = RepoPath::new(directory).expect("valid");
            assert_eq!(
                roots.directory_of(0, &id),
                Some(directory.clone()),
                "{path}"
            );
            assert_eq!(roots.part(&directory, true), TreePart::Whole, "{path}");
        }
        let excluded = roots(&[("tasks/*", &["tasks/archive"])]);
        assert_eq!(
            excluded.directory_of(0, &TaskId::new("archive/t").expect("valid")),
            None
        );
        let packages = roots(&[("packages/*/tasks/*", &[])]);
        let source = RepoPath::new("packages/archive/src/lib").expect("valid");
        assert_eq!(packages.part(&source, true), TreePart::None);
    }

    #[test]
    fn a_file_is_a_task_of_the_first_root_that_matches_it_unless_it_is_excluded() {
        let roots = roots(&[
            ("tasks/**", &[]),
            ("docs/adr/*.md", &["docs/adr/README.md"]),
            ("backlog/* - {title}.md", &["backlog/drafts"]),
        ]);
        let found = |file: &str| {
            let (root, directory, id) = roots.match_file(&RepoPath::new(file).expect("valid"))?;
            Some((root, directory.to_string(), id.to_string()))
        };
        for (file, expected) in [
            (
                "docs/adr/0001.md",
                Some((1, "docs/adr/.tasks/0001", "0001")),
            ),
            (
                "docs/adr/archive/0001.md",
                Some((1, "docs/adr/archive/.tasks/0001", "archive/0001")),
            ),
            ("docs/adr/README.md", None),
            ("docs/adr/-x.md", None),
            ("docs/adr/0001.txt", None),
            ("tasks/t/plan.md", None),
            (
                "backlog/task-1 - Fix it.md",
                Some((2, "backlog/.tasks/task-1", "task-1")),
            ),
            ("backlog/drafts/task-1 - Fix it.md", None),
        ] {
            let expected =
                expected.map(|(root, directory, id)| (root, directory.to_owned(), id.to_owned()));
            assert_eq!(found(file), expected, "{file}");
            let path = RepoPath::new(file).expect("valid");
            assert_eq!(
                roots.part(&path, false) == TreePart::Whole,
                expected.is_some(),
                "{file} is code"
            );
        }
        let misnamed = roots.misnamed_file(&RepoPath::new("docs/adr/-x.md").expect("valid"));
        assert_eq!(
            misnamed.map(|(root, error)| (root, error.reason)),
            Some((1, "a part must not start with `-`"))
        );
    }

    #[test]
    fn what_lies_in_an_excluded_directory_is_excluded() {
        let roots = roots(&[("tasks/**", &["tasks/archive", "**/node_modules"])]);
        for (directory, expected) in [
            ("tasks/t", true),
            ("tasks/archive", false),
            ("tasks/archive/2026/t", false),
            ("tasks/archived", true),
            ("tasks/a/node_modules/b", false),
        ] {
            assert_eq!(found(&roots, directory).is_some(), expected, "{directory}");
        }
        assert_eq!(
            roots.directory_of(0, &TaskId::new("archive/x").expect("valid")),
            None
        );
    }
}
