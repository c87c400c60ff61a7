//! The code of several tasks in one commit, as after a squash: what their plans name tells the changes apart.
//!
//! A step of one of them rests on code that had the changes of some of the others, and not yet those of the rest. Which
//! ones is tried; the recorded digest decides. A file that no plan of another task names belongs to each code, so no
//! change hides there that nobody judged.

use super::Error;
use super::snapshot::Snapshot;
use orch_base::{Digest, RepoPath};
use orch_core::decide::PlannedPaths;
use orch_core::workflow::TreeScope;
use orch_git::{CodePart, Since, Start, Store};

/// The maximum number of other tasks whose changes are told apart.
const MOST_TASKS: usize = 6;
/// The maximum number of commits that are tried as the one that the changes began with.
const MOST_COMMITS: usize = 64;

/// What the plans name of the tasks that one commit brings forward.
pub(crate) struct ApartNames {
    pub own: PlannedPaths,
    pub others: Vec<PlannedPaths>,
}

impl ApartNames {
    /// Whether a file is named by one of some other tasks, and not by the own plan. `tasks` has a bit for each.
    fn is_of(&self, tasks: usize, file: &RepoPath) -> bool {
        let mut others = self.others.iter().enumerate();
        !self.own.name(file)
            && others.any(|(number, other)| tasks & (1 << number) != 0 && other.name(file))
    }
}

/// A change of code that a commit makes, and the codes that a task had at its two ends.
pub(crate) struct CommittedChange<'a> {
    /// The id of the task.
    pub task: &'a str,
    /// The parent of the commit, and the commit.
    pub commits: [Digest; 2],
    /// The code with which the phase was entered.
    pub base: Digest,
    /// That on which the step rests; nothing for the step that entered the phase.
    pub wanted: Option<Digest>,
}

impl Snapshot<'_> {
    /// Whether some changes of other tasks in a commit make the first code, and those of the commit without some of other
    /// tasks the second. Returns an error if git cannot be read.
    pub(crate) fn is_change_apart(
        &self,
        store: &Store,
        scope: &TreeScope,
        change: &CommittedChange<'_>,
        names: &ApartNames,
    ) -> Result<bool, Error> {
        if names.others.is_empty() || names.others.len() > MOST_TASKS {
            return Ok(false);
        }
        let code = self.code_part(scope);
        let apart = Apart {
            store,
            code: &code,
            change,
            names,
        };
        let [from, _] = change.commits;
        let mut left = MOST_COMMITS;
        let mut failed = None;
        let found = store.history().ancestor(&[from], None, |source| {
            left = left.saturating_sub(1);
            let Some(onto) = source.commit().filter(|_| left > 0) else {
                return Ok(true);
            };
            Ok(apart.leads_from(onto).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                true
            }))
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(found.is_some() && left > 0),
        }
    }
}

struct Apart<'a> {
    store: &'a Store,
    code: &'a CodePart<'a>,
    change: &'a CommittedChange<'a>,
    names: &'a ApartNames,
}

impl Apart<'_> {
    /// Whether the change fits on a commit: some other tasks make the first code there, and the own changes with more
    /// of the others the second.
    fn leads_from(&self, onto: Digest) -> Result<bool, Error> {
        let CommittedChange { base, wanted, .. } = *self.change;
        let all = (1 << self.names.others.len()) - 1;
        for done in 0..=all {
            if self.code_of(onto, &|file| self.names.is_of(done, file))? != Some(base) {
                continue;
            }
            if done == 0 && self.was_changed_before(onto)? {
                return Ok(false);
            }
            let Some(wanted) = wanted else {
                return Ok(true);
            };
            for open in (0..=all).filter(|open| open & done == 0) {
                if self.code_of(onto, &|file| !self.names.is_of(open, file))? == Some(wanted) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn code_of(
        &self,
        onto: Digest,
        only: &dyn Fn(&RepoPath) -> bool,
    ) -> Result<Option<Digest>, Error> {
        let commits = self.change.commits.map(Some);
        self.store
            .code()
            .code_with_changes_of(Some(onto), commits, self.code, Some(only))
    }

    /// Whether the task changed the code between a commit and the change.
    fn was_changed_before(&self, onto: Digest) -> Result<bool, Error> {
        let [from, _] = self.change.commits;
        if onto == from {
            return Ok(false);
        }
        let start = Start::Was(vec![self.store.code().code_digest(Some(onto), self.code)?]);
        let since = self.store.code().code_since(from, &start, self.code)?;
        let names_task = |since: &Since| {
            since
                .commits
                .iter()
                .any(|commit| commit.tasks.iter().any(|task| task == self.change.task))
        };
        Ok(since.is_none_or(|since| names_task(&since)))
    }
}
