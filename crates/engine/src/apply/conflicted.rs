//! Conflicted records: those with conflict markers, and those with heads that cannot be joined by rule.

use super::record_files::bytes_at;
use crate::survey::{Error, Finder, Reader, TaskRef};
use orch_base::{Code, Digest, Hint, RepoPath};
use orch_core::record::{EventLog, sides, united_lines};
use orch_git::{Operation, Unmerged};

/// Both sides of a log in conflict.
pub(super) struct LogSides {
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
}

impl LogSides {
    /// The two sides between conflict markers; `None` without markers.
    fn in_text(bytes: &[u8]) -> Option<Self> {
        let sides = sides(std::str::from_utf8(bytes).ok()?)?;
        Some(Self {
            ours: sides.ours.into_bytes(),
            theirs: sides.theirs.into_bytes(),
        })
    }

    /// The lines of both sides, without repetitions.
    pub(super) fn united(&self) -> Vec<u8> {
        united(&self.ours, &self.theirs)
    }
}

/// What git has of records that two branches have changed.
#[derive(Clone, Copy)]
pub struct Conflicts<'w> {
    pub(super) reader: &'w Reader,
    pub(super) finder: Finder<'w>,
}

impl Conflicts<'_> {
    /// The tasks whose record is conflicted. Returns an error if git or a task cannot be read.
    pub fn conflicted_tasks(&self) -> Result<Vec<TaskRef>, Error> {
        let unmerged = self.unmerged()?;
        let mut tasks = self.finder.tasks()?;
        // One side may have deleted a task that the other moved.
        for task in unmerged
            .iter()
            .filter_map(|one| self.task_of_record(&one.path))
        {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        tasks.sort_by(|a, b| (&a.id, a.directory()).cmp(&(&b.id, b.directory())));
        let mut conflicted = Vec::new();
        for task in tasks {
            if self.is_conflicted(&task, &unmerged)? || self.has_several_heads(&task)? {
                conflicted.push(task);
            }
        }
        Ok(conflicted)
    }

    /// Whether a file of the task's record is unmerged or contains conflict markers.
    pub(super) fn is_conflicted(
        &self,
        task: &TaskRef,
        unmerged: &[Unmerged],
    ) -> Result<bool, Error> {
        let own = [task.state_path(), task.transcript_path()];
        let is_unmerged = unmerged.iter().any(|one| own.contains(&one.path));
        let mut is_conflicted = is_unmerged;
        for path in &own {
            is_conflicted =
                is_conflicted || LogSides::in_text(&bytes_at(&self.reader.root, path)?).is_some();
        }
        Ok(is_conflicted)
    }

    /// Whether the log is readable and has several heads, because it was merged and no event follows both
    /// sides.
    pub(super) fn has_several_heads(&self, task: &TaskRef) -> Result<bool, Error> {
        let (log, faults) = EventLog::parse(&bytes_at(&self.reader.root, &task.transcript_path())?);
        Ok(faults.is_empty() && log.heads().len() > 1)
    }

    pub(super) fn unmerged(&self) -> Result<Vec<Unmerged>, Error> {
        self.reader
            .store
            .as_ref()
            .map_or(Ok(Vec::new()), |store| store.index().unmerged())
    }

    /// The task whose record contains this path, whether or not its files exist.
    pub(super) fn task_of_record(&self, path: &RepoPath) -> Option<TaskRef> {
        let task = self.reader.settings.named_so(&path.parent()?)?;
        let own = [task.state_path(), task.transcript_path()];
        own.contains(path).then_some(task)
    }

    /// Both sides of a log in conflict: from the index, or else from its conflict markers.
    ///
    /// Returns an error if one side deleted the log, because a person must decide whether to keep it.
    pub(super) fn log_sides(
        &self,
        task: &TaskRef,
        unmerged: &[Unmerged],
    ) -> Result<Option<LogSides>, Error> {
        let path = task.transcript_path();
        let (Some(store), Some(one)) = (
            &self.reader.store,
            unmerged.iter().find(|one| one.path == path),
        ) else {
            return Ok(LogSides::in_text(&bytes_at(&self.reader.root, &path)?));
        };
        let blob = |stage: usize| -> Result<Option<Vec<u8>>, Error> {
            Ok(one.stages[stage]
                .map(|blob| store.objects().blob(blob))
                .transpose()?
                .flatten())
        };
        let (Some(ours), Some(theirs)) = (blob(1)?, blob(2)?) else {
            let message = format!("one side deleted {path}, and the other changed it");
            let hint = Hint::run(&["git", "add", path.as_str()])
                .text(" to keep it, or ")
                .command(&["git", "rm", path.as_str()]);
            return Err(Error::new(Code::RemovedAndMoved, message).with_hint(hint));
        };
        Ok(Some(LogSides { ours, theirs }))
    }

    /// The heads of our side of a log that is already united: those of the log in HEAD or, if HEAD is the
    /// merge itself, in its first parent.
    pub(super) fn heads_of_ours(
        &self,
        task: &TaskRef,
        log: &EventLog,
    ) -> Result<Vec<Digest>, Error> {
        let Some(store) = &self.reader.store else {
            return Ok(Vec::new());
        };
        let path = task.transcript_path();
        let all = log.heads();
        let mut commit = store.refs().head()?.commit;
        while let Some(now) = commit {
            let held = store.objects().read_at(now, &path)?.unwrap_or_default();
            let heads = EventLog::parse(&held).0.heads();
            if heads != all {
                return Ok(heads);
            }
            let changed = store
                .history()
                .last_changes(now, std::slice::from_ref(&path))?;
            let Some(changed) = changed.first().copied().flatten() else {
                break;
            };
            commit = store.history().visit(changed)?.parents.first().copied();
        }
        Ok(Vec::new())
    }

    /// The git operation in progress, if there is one. Returns an error if git fails.
    pub fn operation(&self) -> Result<Option<Operation>, Error> {
        self.reader
            .store
            .as_ref()
            .map_or(Ok(None), |store| store.refs().operation())
    }

    /// Whether any path of the repository is unmerged. Returns an error if git fails.
    pub fn is_unmerged(&self) -> Result<bool, Error> {
        Ok(!self.unmerged()?.is_empty())
    }
}

/// The lines of both sides of a log, without repetitions.
pub(super) fn united(ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    match (std::str::from_utf8(ours), std::str::from_utf8(theirs)) {
        (Ok(ours), Ok(theirs)) => united_lines(ours, theirs).into_bytes(),
        _ => [ours, b"\n", theirs].concat(),
    }
}
