//! The record of a task that a commit removed, although it left the other files of the task.
//!
//! Whoever began again there would have a record in which nothing is used up, so nothing is recorded before the record
//! is back or people acknowledged its removal.

use super::basis::LookBasis;
use super::{Error, Look, TaskRef};
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath};
use orch_core::config::Acknowledged;
use orch_core::decide::Recorded;
use orch_core::record::TRANSCRIPT_FILE;
use orch_files::Source as _;
use orch_git::{Removal, Store};

impl Look<'_> {
    /// The finding about a task without a log in the commit that is checked out, if an earlier commit removed that
    /// log and left other files of the task. Returns an error if git cannot read the history.
    pub(super) fn removed_record(
        &self,
        task: &TaskRef,
        recorded: &Recorded,
        (store, head): (&Store, Digest),
        basis: &LookBasis,
    ) -> Result<Option<Diagnostic>, Error> {
        basis.note_history();
        let is_here = match recorded {
            Recorded::New => false,
            Recorded::Known(state) if !state.heads.is_empty() => true,
            _ => return Ok(None),
        };
        if !self.reader.commits() || self.committed_files(store, head, task)?.is_empty() {
            return Ok(None);
        }
        let config = &self.reader.settings.config;
        let bases: Vec<RepoPath> = config.roots.bases().cloned().collect();
        let question = format!("{:?}", config.roots);
        let commits = store
            .removals()
            .newest(head, (&bases, TRANSCRIPT_FILE), &question, |one| {
                self.leaves_task(store, one)
            });
        let commits = match commits {
            // A clone without the directories of earlier commits cannot tell; a complete one, and the audit, can.
            Err(error) if error.code() == Code::NotInClone => {
                basis.note_unknown();
                return Ok(None);
            }
            commits => commits?,
        };
        let Some(commit) = commits.get(&task.transcript_path()).copied() else {
            return Ok(None);
        };
        let is_it = |known: &Acknowledged| known.commit == commit && known.task == task.id;
        if config.acknowledged.iter().any(is_it) {
            return Ok(None);
        }
        let short = commit.short();
        let message = format!(
            "commit {short} removed the record of `{}` and left its other files",
            task.id
        );
        let found =
            Diagnostic::error(Code::RecordLost, message).at(Place::file(&task.transcript_path()));
        let [state, log] = [task.state_path(), task.transcript_path()];
        let files = [state.as_str(), log.as_str()];
        let restore = match is_here {
            true => Hint::run(&[&["git", "add", "--"], files.as_slice()].concat()),
            false => {
                let source = format!("--source={short}^");
                Hint::run(
                    &[
                        &["git", "restore", &source, "--staged", "--worktree", "--"],
                        files.as_slice(),
                    ]
                    .concat(),
                )
            }
        };
        let message = format!("put back the record of {}", task.id);
        let commit = [&["git", "commit", "-m", &message, "--"], files.as_slice()].concat();
        Ok(Some(found.hint(restore.and(&commit))))
    }

    /// Whether a commit that removes a log leaves other files of its task, unless it takes the task back to what it
    /// was before that log was added. If an earlier removal had left those files, that one decides.
    fn leaves_task(&self, store: &Store, removal: &Removal) -> Result<bool, Error> {
        let task = removal
            .path
            .parent()
            .and_then(|directory| self.reader.settings.named_so(&directory));
        let Some(task) = task else { return Ok(false) };
        let mut left = self.committed_files(store, removal.commit, &task)?;
        if left.is_empty() {
            return Ok(false);
        }
        let removed = store.objects().blob(removal.blob)?.unwrap_or_default();
        let after = store.objects().source_at(Some(removal.commit));
        if self
            .reader
            .settings
            .has_other_task_left(&task, &removed, &after)?
        {
            return Ok(false);
        }
        let log = |commit: Digest| {
            store
                .objects()
                .source_at(Some(commit))
                .blob_at(&removal.path)
        };
        let mut is_removal_next = false;
        for commit in store
            .history()
            .changes_of(removal.commit, &removal.path)?
            .into_iter()
            .skip(1)
        {
            let is_here = log(commit)?.is_some();
            if is_removal_next && !is_here {
                left = self.committed_files(store, commit, &task)?;
                if left.is_empty() {
                    return Ok(false);
                }
                is_removal_next = false;
                continue;
            }
            let parents = store.history().visit(commit)?.parents;
            let mut is_added = is_here;
            for parent in &parents {
                is_added &= log(*parent)?.is_none();
            }
            if is_removal_next || !is_added {
                continue;
            }
            let mut is_as_before = false;
            for parent in parents {
                is_as_before |= self.committed_files(store, parent, &task)? == left;
            }
            if !is_as_before {
                return Ok(true);
            }
            is_removal_next = true;
        }
        Ok(!is_removal_next)
    }

    /// The files of a task in a commit, with their blobs.
    fn committed_files(
        &self,
        store: &Store,
        commit: Digest,
        task: &TaskRef,
    ) -> Result<Vec<(String, Option<Digest>)>, Error> {
        let source = store.objects().source_at(Some(commit));
        let entries = source.list_task(&task.place)?;
        let paths = entries
            .into_iter()
            .filter_map(|entry| RepoPath::new(&entry.path).ok());
        let mut files = Vec::new();
        for path in paths {
            files.push((path.to_string(), source.blob_at(&path)?));
        }
        Ok(files)
    }
}
