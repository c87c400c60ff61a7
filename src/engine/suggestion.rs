//! What the outside is told of a judged task: the subject of a view, and `suggestion.json`.

use super::{At, Engine, Error, Judged, Runner, TaskRef};
use crate::base::{Diagnostic, Digest};
use crate::record::SUGGESTION_FILE;
use crate::store::durable;
use crate::view::{self, Repository, Subject, Suggestions, pretty};

impl Engine {
    /// The repository as outputs name it.
    #[must_use]
    pub fn repository(&self) -> Repository {
        let head = self.store.as_ref().and_then(|store| store.head().ok());
        Repository {
            root: self.root.to_string_lossy().into_owned(),
            branch: self.branch(),
            head: head.and_then(|head| head.commit).map(|commit| commit.to_string()),
            source: match self.at {
                At::WorkDir => "work-dir".to_owned(),
                At::Commit(commit) => format!("commit:{commit}"),
            },
        }
    }

    /// The subject of a view. `committed` is the commit that last changed the state.
    pub fn subject<'a>(&'a self, judged: &'a Judged, committed: Option<Digest>) -> Option<Subject<'a>> {
        Some(Subject {
            decision: &judged.decision,
            workflow: judged.workflow()?,
            system: &self.setting.system,
            title: judged.title(),
            directory: &judged.task.directory,
            committed: committed.map(|commit| commit.to_string()),
            unmoved_since: judged.state().and_then(|state| state.updated_at),
            system_dir: self.system_directory(),
            runner: judged.runner.as_ref().and_then(|runner| match runner {
                Runner::Running => Some(view::RunnerView::Running),
                Runner::Stalled(why) => Some(view::RunnerView::Stalled(why)),
                Runner::Interrupted => None,
            }),
            extra_options: Vec::new(),
            extra_diagnostics: Vec::new(),
        })
    }

    /// For each task, the commit that last changed its state as it is now; one walk for all.
    pub fn committed(&self, judged: &[Judged]) -> Result<Vec<Option<Digest>>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.commits()) else {
            return Ok(vec![None; judged.len()]);
        };
        let mut paths = Vec::new();
        let mut owners = Vec::new();
        for (index, one) in judged.iter().enumerate().filter(|(_, one)| one.is_committed) {
            paths.push(one.task.state_path()?);
            owners.push(index);
        }
        let changes = match self.at {
            At::WorkDir => store.last_changes(&paths)?,
            At::Commit(commit) => store.last_changes_before(commit, &paths)?,
        };
        let mut commits = vec![None; judged.len()];
        for (owner, commit) in owners.into_iter().zip(changes) {
            commits[owner] = commit;
        }
        Ok(commits)
    }

    /// Finds out which commits last changed the states of many tasks, so that it is known when one is
    /// asked about. Where that fails, it is found out then.
    pub(super) fn find_commits(&self, tasks: &[TaskRef]) {
        let paths: Vec<_> = tasks.iter().filter_map(|task| task.state_path().ok()).collect();
        if let Some(store) = self.store.as_ref().filter(|_| self.commits() && paths.len() > 1) {
            let _ = store.last_changes(&paths);
        }
    }

    /// Writes a task's `suggestion.json` anew where one lies, so that none tells of an earlier phase.
    pub fn renew_suggestion(&self, judged: &Judged) -> Result<(), Error> {
        let lies = judged.task.file(SUGGESTION_FILE)?.under(&self.root).is_file();
        if lies { self.write_suggestion(judged) } else { Ok(()) }
    }

    /// Writes a task's `suggestion.json`, if its content changes and git ignores it.
    pub fn write_suggestion(&self, judged: &Judged) -> Result<(), Error> {
        if judged.untracked {
            return Ok(());
        }
        let path = judged
            .task
            .directory
            .join(SUGGESTION_FILE)
            .map_err(|error| Error::from(Diagnostic::error("path", error.to_string())))?;
        if let Some(store) = &self.store
            && !store.is_ignored(&path)?
        {
            return Ok(());
        }
        let commit = self.committed(std::slice::from_ref(judged))?.into_iter().next().flatten();
        let Some(subject) = self.subject(judged, commit) else { return Ok(()) };
        // The commit of HEAD changes without the task; a copy that lies around must not.
        let repository = Repository { head: None, ..self.repository() };
        let text = pretty(&Suggestions::new(repository, &[subject], None, &[]));
        let target = path.under(&self.root);
        if durable::read_regular(&target).is_some_and(|present| present == text.as_bytes()) {
            return Ok(());
        }
        Ok(durable::write_atomic(&target, text.as_bytes())?)
    }
}
