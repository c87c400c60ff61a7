//! Which tasks a name on the command line means: an id, a path, a unique beginning of an id, or a pattern.

use super::{Crew, Error, Reader, TaskRef};
use orch_base::{Code, Diagnostic, Hint, Patterns, RepoPath, TaskId, nearest};

/// How many candidates an error lists.
const MOST_LISTED: usize = 10;

/// Finds tasks: which there are, and where.
#[derive(Clone, Copy)]
pub struct Finder<'w> {
    pub(super) reader: &'w Reader,
    pub(super) crew: Crew<'w>,
    /// Whether a task is named by its whole id alone.
    pub(super) whole_ids: bool,
}

impl Finder<'_> {
    /// The task with this id, or containing this path, or else the only one whose id begins so. Archived
    /// tasks are considered last, with and without `archive/`.
    ///
    /// # Errors
    ///
    /// No task or more than one is meant, or the name is a pattern; the hint lists the candidates.
    pub fn task(&self, name: &str) -> Result<TaskRef, Error> {
        if let Some(task) = self.task_exactly(name)? {
            return Ok(task);
        }
        let tasks = self.tasks()?;
        if self.whole_ids {
            return Err(self.unknown(name, &tasks));
        }
        let meant = meant_by(&tasks, name);
        match meant.as_slice() {
            [] => Err(self.unknown(name, &tasks)),
            [only] if !is_pattern(name) => Ok((*only).clone()),
            several => {
                let message = if is_pattern(name) {
                    format!("`{name}` is a pattern, and this command takes one task")
                } else {
                    format!("`{name}` is the beginning of several ids")
                };
                let hint = format!("name one of them: {}", listed(several));
                Err(Diagnostic::error(Code::AmbiguousTask, message)
                    .hint(hint)
                    .into())
            }
        }
    }

    /// Every task that a name means: as [`Finder::task`] says, or those whose ids match a pattern with
    /// `*`, `?`, `[…]` or `{…}`.
    ///
    /// # Errors
    ///
    /// No task is meant, or the name is the beginning of several ids.
    pub fn tasks_meant(&self, name: &str) -> Result<Vec<TaskRef>, Error> {
        if self.whole_ids || !is_pattern(name) {
            return Ok(vec![self.task(name)?]);
        }
        if let Some(task) = self.task_exactly(name)? {
            return Ok(vec![task]);
        }
        let tasks = self.tasks()?;
        let meant = meant_by(&tasks, name);
        if meant.is_empty() {
            Err(self.unknown(name, &tasks))
        } else {
            Ok(meant.into_iter().cloned().collect())
        }
    }

    /// The task with this id, if there is one. Returns an error if the source cannot be read.
    pub(crate) fn task_of_id(&self, id: &TaskId) -> Result<Option<TaskRef>, Error> {
        self.reader
            .snapshot(|snapshot| snapshot.search().task_named(id))
    }

    /// The task with this id, or containing this path.
    fn task_exactly(&self, name: &str) -> Result<Option<TaskRef>, Error> {
        let trimmed = name.trim_end_matches('/');
        let id = TaskId::new(trimmed).ok();
        let by_id = id
            .map(|id| {
                self.reader
                    .snapshot(|snapshot| snapshot.search().task_named(&id))
            })
            .transpose()?
            .flatten();
        if self.whole_ids {
            return Ok(by_id.filter(|task| task.id.as_str() == name));
        }
        if by_id.is_some() {
            return Ok(by_id);
        }
        let by_path = RepoPath::new(trimmed)
            .ok()
            .map(|path| self.task_of_path(&path))
            .transpose()?
            .flatten();
        if by_path.is_some() {
            return Ok(by_path);
        }
        for place in [
            TaskId::new(trimmed)
                .ok()
                .and_then(|id| Some(self.place_for(&id)?.directory().clone())),
            RepoPath::new(trimmed).ok(),
        ] {
            place.map_or(Ok(()), |place| self.refuse_elsewhere(&place))?;
        }
        Ok(None)
    }

    fn unknown(&self, name: &str, tasks: &[TaskRef]) -> Error {
        let is_pattern = is_pattern(name) && !self.whole_ids;
        let message = if is_pattern {
            "no task matches"
        } else {
            "there is no task"
        };
        let mut diagnostic = Diagnostic::error(Code::UnknownTask, format!("{message} `{name}`"));
        let near = nearest(name, tasks.iter().map(|task| task.id.as_str()));
        diagnostic.hint = Some(match (self.only_in_head(name), near) {
            (Some(lost), _) => Hint::from("HEAD holds its record: ").command(&lost),
            (None, Some(near)) => format!("did you mean `{near}`?").into(),
            (None, None) if tasks.is_empty() => {
                Hint::from("there are no tasks yet: ").command(&["orch", "new", "ID"])
            }
            (None, None) => Hint::from("list them: ").command(&["orch", "status", "--all"]),
        });
        diagnostic.into()
    }

    /// The command that brings back the record of an id if HEAD has it and the work tree has not.
    fn only_in_head(&self, name: &str) -> Option<Vec<String>> {
        let place = self.place_for(&TaskId::new(name).ok()?)?;
        let store = self
            .reader
            .store
            .as_ref()
            .filter(|_| self.reader.reads_work_dir())?;
        let held = store
            .objects()
            .source_at(store.refs().head().ok()?.commit)
            .blob_at(&place.transcript_path());
        held.ok().flatten()?;
        let record = [place.state_path(), place.transcript_path()];
        let stands = place.directory().under(&self.reader.root).is_dir();
        let lost = if stands {
            record.to_vec()
        } else {
            vec![place.directory().clone()]
        };
        let paths = lost.iter().map(RepoPath::as_str);
        // The index may lack them too, as after `git mv`.
        let restore = ["git", "restore", "--source=HEAD", "--"];
        Some(
            restore
                .into_iter()
                .chain(paths)
                .map(str::to_owned)
                .collect(),
        )
    }
}

fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{'])
}

/// The tasks that a pattern, an id in other letters (`BACK-7` for `back-7`) or the beginning of an id means. Open tasks come before archived ones: those
/// count only if no other is meant, or the name begins with `archive`.
fn meant_by<'t>(tasks: &'t [TaskRef], name: &str) -> Vec<&'t TaskRef> {
    let patterns = if is_pattern(name) {
        Patterns::new([name]).ok()
    } else {
        None
    };
    let in_other_letters = tasks
        .iter()
        .filter(|task| task.id.as_str().eq_ignore_ascii_case(name))
        .collect::<Vec<_>>();
    if let [only] = in_other_letters.as_slice() {
        return vec![only];
    }
    let fits = |id: &str| match &patterns {
        Some(patterns) => patterns.matches(id),
        None => !name.is_empty() && id.starts_with(name),
    };
    let open: Vec<&TaskRef> = tasks
        .iter()
        .filter(|task| !task.id.is_archived() && fits(task.id.as_str()))
        .collect();
    if !open.is_empty() {
        return open;
    }
    let archived = tasks.iter().filter(|task| task.id.is_archived());
    let exactly = archived
        .clone()
        .find(|task| task.id.unarchived() == Some(name));
    if let Some(task) = exactly {
        return vec![task];
    }
    archived
        .filter(|task| fits(task.id.as_str()) || task.id.unarchived().is_some_and(&fits))
        .collect()
}

fn listed(tasks: &[&TaskRef]) -> String {
    let mut ids: Vec<&str> = tasks
        .iter()
        .take(MOST_LISTED)
        .map(|task| task.id.as_str())
        .collect();
    if tasks.len() > MOST_LISTED {
        ids.push("…");
    }
    ids.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::{TaskPlace, WorkflowName};

    #[test]
    fn a_name_means_the_ids_that_begin_so_and_a_pattern_those_that_match() {
        let ids = [
            "fix-login",
            "fix-logout",
            "fix",
            "team/fix-x",
            "archive/old",
            "archive/fix-old",
            "old-news",
        ];
        let tasks: Vec<TaskRef> = ids
            .iter()
            .map(|id| {
                let directory = RepoPath::new(format!("tasks/{id}")).expect("valid");
                let place = TaskPlace::of_directory(directory);
                let workflow = WorkflowName::new("w").expect("valid");
                TaskRef::new(TaskId::new(id).expect("valid"), place, workflow).expect("valid")
            })
            .collect();
        for (name, expected) in [
            ("FIX", "fix"),
            ("Team/Fix-X", "team/fix-x"),
            ("Fix-logi", ""),
            ("fix-logi", "fix-login"),
            ("fix-lo", "fix-login fix-logout"),
            ("team", "team/fix-x"),
            ("login", ""),
            ("", ""),
            ("fix-*", "fix-login fix-logout"),
            ("*", "fix-login fix-logout fix old-news"),
            ("**", "fix-login fix-logout fix team/fix-x old-news"),
            ("{fix,old-news}", "fix old-news"),
            ("fix-?????", "fix-login"),
            ("old", "old-news"),
            ("archive/o", "archive/old"),
            ("archive/*", "archive/old archive/fix-old"),
            ("fix-old", "archive/fix-old"),
            ("fix-o", "archive/fix-old"),
            ("[", ""),
        ] {
            let meant: Vec<&str> = meant_by(&tasks, name)
                .iter()
                .map(|task| task.id.as_str())
                .collect();
            assert_eq!(meant.join(" "), expected, "{name}");
        }
    }
}
