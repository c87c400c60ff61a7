//! How the code of a commit came from code that was judged: the commits of the task, and those that came later.

use super::code::{CodePart, changed_in_part};
use super::references::RefStorage;
use super::{Error, Store, digest};
use crate::base::{Digest, RepoPath};
use crate::decide::ChangeCommit;
use git2::{Commit as GitCommit, ErrorCode, Oid, Reference};
use std::collections::{BTreeSet, HashSet};

/// The maximum number of commits that are searched.
const MOST_COMMITS: usize = 1000;

/// What is asked of the history of some code.
pub struct CodeQuestion<'a> {
    /// The commit whose code is there now.
    pub head: Digest,
    /// The code with which the phase was entered that makes it; `None` if that is unknown.
    pub entered: Option<Digest>,
    /// The code that was judged.
    pub judged: Digest,
    /// The base of the task's branch, if it has one.
    pub base: Option<Digest>,
    /// The id of the task, and its former ones.
    pub task: &'a [&'a str],
}

/// The commits that changed some code, before and after it was judged.
#[derive(Debug, Default)]
pub struct CodeChanges {
    /// Those from the entry of the phase to the code that was judged.
    pub before: Vec<ChangeCommit>,
    /// Those after it, newest first.
    pub later: Vec<ChangeCommit>,
}

impl CodeQuestion<'_> {
    /// Whether the task is among those that a commit names.
    fn names(&self, tasks: &[String]) -> bool {
        tasks.iter().any(|task| self.task.contains(&task.as_str()))
    }
}

impl Store {
    /// The commits that changed some code before and after it was judged; `None` if the history of this clone does not
    /// have that code. After a rebase, the code was judged where the commits of the branch make the same change of the
    /// code with which the phase was entered. Returns an error if git cannot read the history.
    pub fn code_changes(
        &self,
        asked: &CodeQuestion<'_>,
        code: &CodePart<'_>,
    ) -> Result<Option<CodeChanges>, Error> {
        let boundary = self.boundary()?;
        let entry = match asked.entered {
            Some(entered) => self.commit_with(asked.head, entered, code)?,
            None => None,
        };
        let hidden: Vec<Digest> = entry.into_iter().collect();
        let mut judged = None;
        let mut walked = 0;
        for id in self.revwalk(&[asked.head], &hidden)?.take(MOST_COMMITS) {
            let id = id?;
            walked += 1;
            if boundary.contains(&digest(id)) {
                break;
            }
            if self.digest_of_part(self.find_commit(id)?.tree_id(), code)? == asked.judged {
                judged = Some(digest(id));
                break;
            }
        }
        if judged.is_none() && walked < MOST_COMMITS {
            judged = self.rebased(asked, entry, code)?;
        }
        let Some(judged) = judged else { return Ok(None) };
        let outside = match asked.base {
            Some(base) => self.between(asked.head, &[base])?,
            None => HashSet::new(),
        };
        let is_in_base = |id: Oid| asked.base.is_some() && !outside.contains(&id);
        let mut changes = CodeChanges::default();
        let hidden_before: Vec<Digest> = entry.or(asked.base).into_iter().collect();
        for (from, hidden, found) in
            [(judged, hidden_before, &mut changes.before), (asked.head, vec![judged], &mut changes.later)]
        {
            for id in self.revwalk(&[from], &hidden)?.take(MOST_COMMITS) {
                let id = id?;
                if boundary.contains(&digest(id)) {
                    break;
                }
                let Some(told) = self.told_of(id, code)? else { continue };
                let names_task = asked.names(&told.tasks);
                let files = self.files_changed(&self.find_commit(id)?, code)?;
                let is_in_base = is_in_base(id);
                let (id, subject) = (told.id, told.subject);
                found.push(ChangeCommit { id, subject, files, names_task, is_in_base });
            }
        }
        Ok(Some(changes))
    }

    /// The commit of a rebased branch up to which its change, put on the code with which the phase was entered, makes the
    /// code that was judged.
    fn rebased(
        &self,
        asked: &CodeQuestion<'_>,
        entry: Option<Digest>,
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        let Some(entry) = entry else { return Ok(None) };
        let base = match asked.base {
            Some(base) => Some(base),
            None => self.before_named(asked, entry, code)?,
        };
        let Some(base) = base else { return Ok(None) };
        let mut at = asked.head;
        for _ in 0..MOST_COMMITS {
            if at == base {
                break;
            }
            let made = self.code_with_change(Some(entry), [Some(base), Some(at)], code)?;
            if made == Some(asked.judged) {
                return Ok(Some(at));
            }
            let commit = self.find_commit(self.oid(at)?)?;
            let Some(parent) = self.parents(&commit)?.into_iter().next() else { break };
            at = digest(parent.id());
        }
        Ok(None)
    }

    /// The parent of the first commit after `entry` that names the task.
    fn before_named(
        &self,
        asked: &CodeQuestion<'_>,
        entry: Digest,
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        let mut first = None;
        for id in self.revwalk(&[asked.head], &[entry])?.take(MOST_COMMITS) {
            let id = id?;
            let told = self.told_of(id, code)?;
            if told.is_some_and(|told| asked.names(&told.tasks)) {
                first = Some(id);
            }
        }
        let Some(first) = first else { return Ok(None) };
        let parents = self.parents(&self.find_commit(first)?)?;
        Ok(parents.first().map(|parent| digest(parent.id())))
    }

    /// The newest commit in which some code has a digest.
    fn commit_with(
        &self,
        from: Digest,
        wanted: Digest,
        code: &CodePart<'_>,
    ) -> Result<Option<Digest>, Error> {
        self.find(from, |commit| Ok(self.digest_of_part(commit.tree_id(), code)? == wanted))
    }

    /// The commits that the first has and the others lack; at most 1,000.
    fn between(&self, head: Digest, hidden: &[Digest]) -> Result<HashSet<Oid>, Error> {
        let walk = self.revwalk(&[head], hidden)?;
        let mut found = HashSet::new();
        for id in walk.take(MOST_COMMITS) {
            found.insert(id?);
        }
        Ok(found)
    }

    /// The files of some code that a commit changes; of a merge, those that are as in none of its parents.
    fn files_changed(&self, commit: &GitCommit<'_>, code: &CodePart<'_>) -> Result<Vec<RepoPath>, Error> {
        let after = self.tree_source(digest(commit.id()));
        let mut common: Option<BTreeSet<RepoPath>> = None;
        let mut befores: Vec<_> =
            self.parents(commit)?.iter().map(|parent| self.tree_source(digest(parent.id()))).collect();
        if commit.parent_count() == 0 {
            befores.push(self.empty_source());
        }
        for before in befores {
            let (one, other) = (before.tree()?, after.tree()?);
            let mut files = Vec::new();
            changed_in_part((&before, one), (&after, other), &RepoPath::root(), code, &mut files)?;
            let files: BTreeSet<RepoPath> = files.into_iter().collect();
            common = Some(match common {
                Some(known) => known.intersection(&files).cloned().collect(),
                None => files,
            });
        }
        Ok(common.unwrap_or_default().into_iter().collect())
    }

    /// The commits at which the base branch is: the one that the settings name, or else that of the remote, or else the
    /// first protected one that is no pattern. Several if the remote and this clone have it. Empty if there is none. Returns an error if git
    /// cannot read a reference.
    pub fn base_tips(&self, named: Option<&str>, protected: &[String]) -> Result<Vec<Digest>, Error> {
        let remotes = self.repo.remotes()?;
        let names: Vec<&str> =
            remotes.iter_bytes().filter_map(|name| std::str::from_utf8(name).ok()).collect();
        let remote = match names.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(|remote| *remote == "origin"),
        };
        let mut branches: Vec<String> = named.map(str::to_owned).into_iter().collect();
        if named.is_none() {
            if let Some(remote) = remote {
                let head = self.symbolic(&format!("refs/remotes/{remote}/HEAD"))?.unwrap_or_default();
                branches.extend(head.strip_prefix(&format!("refs/remotes/{remote}/")).map(str::to_owned));
            }
            branches.extend_from_slice(protected);
        }
        for branch in branches {
            let own = format!("refs/heads/{branch}");
            let tracked = remote.map(|remote| format!("refs/remotes/{remote}/{branch}"));
            let with_remote = format!("refs/remotes/{branch}");
            for names in [[Some(own), tracked], [Some(with_remote), None]] {
                let mut tips = Vec::new();
                // A pattern is no name.
                for name in names.into_iter().flatten().filter(|name| Reference::is_valid_name(name)) {
                    tips.extend(self.target(&name)?);
                }
                if !tips.is_empty() {
                    return Ok(tips);
                }
            }
        }
        Ok(Vec::new())
    }

    /// The reference that a symbolic reference names.
    fn symbolic(&self, name: &str) -> Result<Option<String>, Error> {
        if let RefStorage::Tables(_) = &self.references {
            let told = self.git(&["symbolic-ref", "-q", name], &[]).unwrap_or_default();
            let target = String::from_utf8_lossy(&told).trim().to_owned();
            return Ok(Some(target).filter(|target| !target.is_empty()));
        }
        match self.repo.find_reference(name) {
            Ok(reference) => {
                let target = reference.symbolic_target_bytes();
                Ok(target.map(|target| String::from_utf8_lossy(target).into_owned()))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
