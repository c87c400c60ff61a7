//! The record of one task in the directory of another: someone moved or copied the directory by hand.
//!
//! No step gave the task its new id, so to adopt the record would forge it. A task that was moved goes back and is
//! renamed; a copy loses the record and begins again.

use super::{Error, Look, TaskRef};
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath, TaskId};
use orch_core::decide::{Recorded, State, WHY};
use orch_files::Entry;
use orch_git::Store;

impl Look<'_> {
    /// The finding about the record in the directory of a task, if that record is of another task. `entries` are the
    /// files of the task, `head` is the commit that is checked out, and `held` the log of the task there. A log that
    /// was committed is that of another task only if that task is there too: otherwise somebody moved the task and
    /// committed that. Returns an error if git cannot read a commit or the index.
    pub(super) fn record_of_another(
        &self,
        (task, recorded): (&TaskRef, &Recorded),
        entries: &[Entry],
        (store, head): (&Store, Option<Digest>),
        held: Option<Digest>,
    ) -> Result<Option<Diagnostic>, Error> {
        let (Recorded::Known(state), Some(other)) = (recorded, other_task(task, recorded)) else {
            return Ok(None);
        };
        let message = format!("{} holds the record of task `{other}`", task.directory());
        let found =
            Diagnostic::error(Code::RecordElsewhere, message).at(Place::file(&task.state_path()));
        let home = TaskId::new(other)
            .ok()
            .and_then(|id| self.home_of(task, &id));
        let original = match &home {
            Some(home) => store
                .objects()
                .source_at(head)
                .blob_at(&home.transcript_path())?,
            None => None,
        };
        if let Some(held) = held {
            let is_copy = match original {
                Some(original) => begins(store, held)? == begins(store, original)?,
                None => false,
            };
            return Ok(if is_copy {
                Some(found.hint(take_out(task, entries)?))
            } else {
                None
            });
        }
        let moves = match home.filter(|home| !self.is_taken(home)) {
            Some(home) => Some(task.moves_to(&home, &task.own_files(entries))?),
            None => None,
        };
        let Some(moves) = moves else {
            let hint = Hint::from("for a copy, begin again without that record: ");
            return Ok(Some(found.hint(remove_record(hint, task))));
        };
        let mut way = Hint::default();
        let index = store.index().index_source()?;
        if index.file(&task.transcript_path()).is_some() {
            let paths = moves
                .iter()
                .flat_map(|one| [one.to.as_str(), one.from.as_str()]);
            way = way.and(
                &["git", "reset", "-q", "--"]
                    .into_iter()
                    .chain(paths)
                    .collect::<Vec<_>>(),
            );
        }
        for one in &moves {
            let above = one.to.parent().unwrap_or_else(RepoPath::root);
            if !above.under(&self.reader.root).is_dir() {
                way = way.and(&["mkdir", "-p", above.as_str()]);
            }
            way = way.and(&["mv", one.from.as_str(), one.to.as_str()]);
        }
        if self.reader.commits() && original.is_none() {
            way = way.and(&["orch", "new", other]);
        }
        let way = self.relocations(way, state, other, &task.id);
        let hint = Hint::from(format!("move `{other}` back, then let orch move it: "));
        Ok(Some(found.hint(hint.followed_by(way))))
    }

    /// The commands that give a task with this state another id. Only `orch archive` moves a task to the archive.
    fn relocations(&self, mut way: Hint, state: &State, from: &str, to: &TaskId) -> Hint {
        let name = to.unarchived().unwrap_or(to.as_str());
        let is_renamed = from != name;
        if is_renamed {
            way = way.and(&["orch", "rename", from, name]);
        }
        if to.is_archived() {
            let named = state
                .workflow
                .as_ref()
                .map(|named| self.reader.settings.workflow(named.name.as_str()).ok());
            let loaded = named.flatten();
            let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
            let phase = state
                .phase
                .as_deref()
                .and_then(|phase| workflow?.phase_named(phase));
            let force: &[&str] = if phase.is_some_and(|phase| phase.terminal) {
                &[]
            } else {
                &["--force", WHY]
            };
            way = way.and(&[&["orch", "archive", name], force].concat());
        }
        way
    }

    /// Where a task with this id would be in the root of another task.
    fn home_of(&self, task: &TaskRef, id: &TaskId) -> Option<TaskRef> {
        let roots = &self.reader.settings.config.roots;
        let (root, _) = roots.match_directory(task.directory())?;
        TaskRef::in_root(roots.get(root)?, id.clone(), &roots.directory_of(root, id)?).ok()
    }

    /// Whether something is where a task would be.
    fn is_taken(&self, task: &TaskRef) -> bool {
        let paths = [
            Some(task.directory().clone()),
            task.place.file().and_then(|file| file.path()),
        ];
        paths
            .into_iter()
            .flatten()
            .any(|path| path.under(&self.reader.root).symlink_metadata().is_ok())
    }
}

/// The task that a record names, if it is not the one in whose directory it is.
pub(super) fn other_task<'r>(task: &TaskRef, recorded: &'r Recorded) -> Option<&'r str> {
    let Recorded::Known(state) = recorded else {
        return None;
    };
    state
        .task
        .as_deref()
        .filter(|id| !state.heads.is_empty() && *id != task.id.as_str())
}

/// The first line of a log. Two logs that begin alike are of the same task. Returns an error if git cannot read it.
fn begins(store: &Store, log: Digest) -> Result<Option<Vec<u8>>, Error> {
    let bytes = store.objects().blob(log)?;
    Ok(bytes.and_then(|bytes| {
        bytes
            .split(|byte| *byte == b'\n')
            .next()
            .map(<[u8]>::to_vec)
    }))
}

/// What takes a copy out of the branch, with all its files, so that it can begin again. The files stand aside meanwhile:
/// `git commit` would add them again, and without paths it would take other staged work along.
fn take_out(task: &TaskRef, entries: &[Entry]) -> Result<Hint, Error> {
    let mut paths = vec![task.directory().clone()];
    for name in task.own_files(entries) {
        paths.push(task.file(&name)?);
    }
    let paths: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
    let aside: Vec<String> = paths.iter().map(|path| format!("{path}.aside")).collect();
    let both = || paths.iter().copied().zip(aside.iter().map(String::as_str));
    let mut way = Hint::default();
    for (path, aside) in both() {
        way = way.and(&["mv", path, aside]);
    }
    let message = format!("take out the copy {}", task.id);
    way = way.and(&[&["git", "commit", "-m", &message, "--"], paths.as_slice()].concat());
    for (path, aside) in both() {
        way = way.and(&["mv", aside, path]);
    }
    let hint = Hint::from("take out the copy, and begin again without that record: ");
    Ok(hint.followed_by(remove_record(way.text(" && "), task)))
}

fn remove_record(way: Hint, task: &TaskRef) -> Hint {
    let [state, log] = [task.state_path(), task.transcript_path()];
    way.command(&["rm", "-f", state.as_str(), log.as_str()])
}
