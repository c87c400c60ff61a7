//! Where the files of a task are: the one place that turns the names of a task's files into paths, and back.

use super::{InvalidPath, Place, RepoPath};

/// The directory, beside the files that are tasks, that contains the directory of each of them.
pub const FILE_TASKS: &str = ".tasks";

/// Where the files of a task are: in its directory, and if the task is a single file, also that file, which
/// counts as if it were in the directory under its own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlace {
    directory: RepoPath,
    file: Option<SingleFile>,
}

/// The file that is a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleFile {
    /// The directory that contains it.
    pub directory: RepoPath,
    /// The whole name, or what comes before the title.
    pub before: String,
    /// What comes after the title; `None` if the name has no title.
    pub after: Option<String>,
}

impl SingleFile {
    /// Whether the file of the task may have this name.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.title(name).is_some()
    }

    /// The title in a name of the file, empty if names have none; `None` if the file cannot have this name.
    #[must_use]
    pub fn title<'n>(&self, name: &'n str) -> Option<&'n str> {
        let rest = name.strip_prefix(self.before.as_str())?;
        let Some(after) = &self.after else {
            return rest.is_empty().then_some(rest);
        };
        rest.strip_suffix(after.as_str())
            .filter(|title| !title.is_empty() && !title.contains('/'))
    }

    /// The name of the file with this title.
    #[must_use]
    pub fn named(&self, title: &str) -> String {
        let after = self.after.as_ref().map(|after| format!("{title}{after}"));
        format!("{}{}", self.before, after.unwrap_or_default())
    }

    /// The path of the file; `None` if the name has a title, which the id does not determine.
    #[must_use]
    pub fn path(&self) -> Option<RepoPath> {
        if self.after.is_some() {
            None
        } else {
            self.directory.join(&self.before).ok()
        }
    }
}

impl TaskPlace {
    /// The place of a task that is a directory.
    #[must_use]
    pub fn of_directory(directory: RepoPath) -> Self {
        Self {
            directory,
            file: None,
        }
    }

    /// The place of a task that is a file; `directory` contains its other files.
    #[must_use]
    pub fn of_file(directory: RepoPath, file: SingleFile) -> Self {
        Self {
            directory,
            file: Some(file),
        }
    }

    /// The directory of the task. It identifies the task, and contains its record.
    #[must_use]
    pub fn directory(&self) -> &RepoPath {
        &self.directory
    }

    /// The file that is the task, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&SingleFile> {
        self.file.as_ref()
    }

    /// Whether this is the name of the file that is the task.
    #[must_use]
    pub fn is_own_file(&self, name: &str) -> bool {
        self.file.as_ref().is_some_and(|file| file.has_name(name))
    }

    /// The path of a file of the task. Returns [`InvalidPath`] if the name is not a relative path.
    ///
    /// A name that begins with `/` stands for a file of the repository.
    pub fn path(&self, name: &str) -> Result<RepoPath, InvalidPath> {
        if let Some(path) = name.strip_prefix('/') {
            return RepoPath::new(path);
        }
        match &self.file {
            Some(file) if file.has_name(name) => file.directory.join(name),
            _ => self.directory.join(name),
        }
    }

    /// The place of a file of the task for a finding; none if the name is not a relative path.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Place {
        match self.path(name) {
            Ok(path) => Place::file(&path),
            Err(_) => Place::default(),
        }
    }

    /// The name of a file of the task: the inverse of [`TaskPlace::path`]. `None` if the path is not one of
    /// the task.
    #[must_use]
    pub fn name<'p>(&self, path: &'p RepoPath) -> Option<&'p str> {
        if let Some(file) = &self.file
            && let Some(name) = path
                .below(&file.directory)
                .filter(|name| file.has_name(name))
        {
            return Some(name);
        }
        path.below(&self.directory)
            .filter(|name| !self.is_own_file(name))
    }

    /// Whether a path belongs to the task.
    #[must_use]
    pub fn owns(&self, path: &RepoPath) -> bool {
        path.below(&self.directory).is_some() || self.name(path).is_some()
    }

    /// The path that stands for the task: that of its file, or else of its directory. `present` are the names
    /// of the files that it has.
    pub fn shown<'n>(&self, present: impl IntoIterator<Item = &'n str>) -> RepoPath {
        let Some(file) = &self.file else {
            return self.directory.clone();
        };
        let name = present.into_iter().find(|name| file.has_name(name));
        let present = name.and_then(|name| file.directory.join(name).ok());
        present
            .or_else(|| file.path())
            .unwrap_or_else(|| self.directory.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).expect("valid")
    }

    fn file(before: &str, after: Option<&str>) -> TaskPlace {
        let after = after.map(str::to_owned);
        let file = SingleFile {
            directory: path("adr"),
            before: before.to_owned(),
            after,
        };
        TaskPlace::of_file(path("adr/.tasks/7"), file)
    }

    #[test]
    fn the_names_and_the_paths_of_a_tasks_files_lead_to_each_other() {
        let directory = TaskPlace::of_directory(path("tasks/t"));
        let plain = file("7.md", None);
        let titled = file("7 - ", Some(".md"));
        for (place, at, name) in [
            (&directory, "tasks/t/plan.md", Some("plan.md")),
            (&directory, "tasks/t/a/b.md", Some("a/b.md")),
            (&directory, "tasks/t", None),
            (&directory, "tasks/t2/plan.md", None),
            (&directory, "settings.yaml", None),
            (&plain, "adr/7.md", Some("7.md")),
            (&plain, "adr/8.md", None),
            (&plain, "adr/sub/7.md", None),
            (&plain, "adr/.tasks/7/state.json", Some("state.json")),
            (&plain, "adr/.tasks/7/sub/7.md", Some("sub/7.md")),
            (&plain, "adr/.tasks/8/state.json", None),
            // The name means the file beside the directory.
            (&plain, "adr/.tasks/7/7.md", None),
            (&titled, "adr/7 - A title.md", Some("7 - A title.md")),
            (&titled, "adr/7 - .md", None),
            (&titled, "adr/7.md", None),
            (&titled, "adr/70 - A title.md", None),
            (&titled, "adr/7 - a/b.md", None),
        ] {
            let at = path(at);
            assert_eq!(place.name(&at), name, "{at}");
            if let Some(name) = name {
                assert_eq!(place.path(name), Ok(at), "{name}");
            }
        }
        assert_eq!(plain.path("/a/b.yaml"), Ok(path("a/b.yaml")));
        assert!(plain.path("/../b.yaml").is_err());
        assert!(plain.owns(&path("adr/.tasks/7/7.md")));
    }

    #[test]
    fn a_task_is_shown_by_its_file() {
        assert_eq!(file("7.md", None).shown([]).as_str(), "adr/7.md");
        assert_eq!(
            file("7 - ", Some(".md")).shown(["state.json"]).as_str(),
            "adr/.tasks/7"
        );
        assert_eq!(
            file("7 - ", Some(".md")).shown(["7 - A.md"]).as_str(),
            "adr/7 - A.md"
        );
        assert_eq!(TaskPlace::of_directory(path("t")).shown([]).as_str(), "t");
    }
}
