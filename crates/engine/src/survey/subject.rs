//! The input of the views, made of an evaluated task.

use super::reader::At;
use super::setting::Settings;
use super::{Error, HeldTasks, Reader, Sight};
use orch_base::{Digest, Place, RepoPath};
use orch_core::decide::QuotedIssue;
use orch_git::{Head, durable};
use orch_read::locate;
use orch_view::{Repository, Subject};
use std::path::PathBuf;

impl Reader {
    /// The repository as outputs describe it. Returns an error if HEAD cannot be read.
    pub fn repository(&self) -> Result<Repository, Error> {
        Ok(self.repository_under(self.present_head()?))
    }

    /// Like [`Reader::repository`], for a HEAD that cannot be read.
    #[must_use]
    pub fn repository_without_head(&self) -> Repository {
        self.repository_under(None)
    }

    /// Like [`Reader::repository`], with HEAD already read.
    pub(crate) fn repository_under(&self, head: Option<Head>) -> Repository {
        Repository {
            root: self.root.to_string_lossy().into_owned(),
            branch: head.as_ref().and_then(Head::branch_name).map(str::to_owned),
            head: head
                .and_then(|head| head.commit)
                .map(|commit| commit.to_string()),
            source: match self.at {
                At::WorkDir => "work-dir".to_owned(),
                At::Commit(commit) => format!("commit:{commit}"),
            },
        }
    }

    /// A path for a short-lived file of a command: in `.git/orch`, or outside git at the root.
    #[must_use]
    pub fn scratch(&self, name: &str) -> PathBuf {
        match &self.store {
            Some(store) => store.layout().own(name),
            None => self.root.join(format!("{}-{name}", durable::TEMPORARY)),
        }
    }

    /// The subject of a view.
    pub fn subject<'a>(&'a self, sight: &'a Sight) -> Subject<'a> {
        Subject {
            held: HeldTasks::of(self).held(&sight.task.id),
            ..self.settings.subject(sight)
        }
    }

    /// For each task, the commit that last changed its log, if the current log is committed; one walk for
    /// all. Returns an error if git cannot read the history.
    pub fn committed(&self, sights: &[Sight]) -> Result<Vec<Option<Digest>>, Error> {
        let Some(store) = self.store.as_ref().filter(|_| self.commits()) else {
            return Ok(vec![None; sights.len()]);
        };
        let logs: Vec<RepoPath> = sights
            .iter()
            .map(|one| one.task.transcript_path())
            .collect();
        let from = match self.at {
            At::WorkDir => store.refs().head()?.commit,
            At::Commit(commit) => Some(commit),
        };
        let Some(from) = from else {
            return Ok(vec![None; sights.len()]);
        };
        let found = sights
            .iter()
            .zip(store.history().last_changes(from, &logs)?);
        Ok(found
            .map(|(one, commit)| commit.filter(|_| one.is_committed))
            .collect())
    }
}

impl Settings {
    /// The subject of a view about a task that was evaluated with these settings.
    pub(super) fn subject<'a>(&'a self, sight: &'a Sight) -> Subject<'a> {
        Subject {
            decision: &sight.decision,
            workflow: sight.workflow(),
            system: &self.system,
            title: sight.title(),
            place: &sight.task.place,
            path: sight.observed.facts.shown(),
            unmoved_since: sight.state().and_then(|state| state.updated_at),
            system_dir: self.has_own_texts.then(|| self.config.system.as_str()),
            issue_places: issue_places(sight),
            runner: sight.runner.as_ref(),
            has_executors: self.config.executors.names().next().is_some(),
            held: None,
        }
    }
}

/// The place in its file of each issue that the decision quotes.
fn issue_places(sight: &Sight) -> Vec<Place> {
    let issues = sight
        .decision
        .sent_back
        .iter()
        .flat_map(|sent_back| &sent_back.issues);
    issues
        .map(|issue| issue_place(sight, issue).unwrap_or_default())
        .collect()
}

/// The place of an issue in the file that has it; `None` if it is not known.
pub(crate) fn issue_place(sight: &Sight, issue: &QuotedIssue) -> Option<Place> {
    let path = sight.task.place.path(&issue.path).ok()?;
    let file = sight.observed.files.iter().find(|file| file.path == path)?;
    let format = sight.workflow().artifact(&issue.artifact)?.format;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    Some(locate(format, &path, text, issue.pointer.as_deref()?, None))
}
