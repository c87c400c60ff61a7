//! How the code of a commit came from code that was judged: the commits of the task, and those that came later.

use super::code::{CodeCommit, CodePart, changed_in_part};
use super::references::RefStorage;
use super::{CodeParts, Error, History, Refs, TreeSource, digest};
use crate::error::libgit2;
use git2::{Commit as GitCommit, ErrorCode, Oid, Reference};
use orch_base::{Digest, RepoPath};
use orch_core::decide::{ChangeCommit, CodeHistory, MovedFile, UnknownCode};
use std::collections::BTreeSet;

/// The maximum number of commits that are searched.
const MOST_COMMITS: usize = 10_000;
/// The maximum number of commits of others that are named.
const MOST_NAMED: usize = 100;

/// The task whose commits are looked for, under its id and its former ones.
pub struct CommitsOf {
    /// Where it is now.
    pub present: NamedLog,
    /// Where it was.
    pub former: Vec<NamedLog>,
}

/// The id of a task, and its log.
pub struct NamedLog {
    /// The id.
    pub id: String,
    /// The path of the log; `None` if a task with this id has no place any more.
    pub log: Option<RepoPath>,
}

impl NamedLog {
    fn is_in(&self, history: History<'_>, commit: &GitCommit<'_>) -> Result<bool, Error> {
        match &self.log {
            Some(log) => Ok(history.blob_of(commit, log)?.is_some()),
            None => Ok(false),
        }
    }
}

impl CommitsOf {
    /// Whether a commit has the log of the task.
    fn is_logged_in(&self, history: History<'_>, commit: &GitCommit<'_>) -> Result<bool, Error> {
        for place in std::iter::once(&self.present).chain(&self.former) {
            if place.is_in(history, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The places that mean the task in a commit: a former id may be that of another task since.
    fn places_in(
        &self,
        history: History<'_>,
        commit: &GitCommit<'_>,
    ) -> Result<Vec<&NamedLog>, Error> {
        let mut places = vec![&self.present];
        for former in &self.former {
            let is_taken = former.is_in(history, commit)? && self.present.is_in(history, commit)?;
            if !is_taken {
                places.push(former);
            }
        }
        Ok(places)
    }

    /// Whether one of these names means the task in a commit.
    fn is_among(
        &self,
        named: &[String],
        history: History<'_>,
        commit: &GitCommit<'_>,
    ) -> Result<bool, Error> {
        if named.is_empty() {
            return Ok(false);
        }
        Ok(self
            .places_in(history, commit)?
            .iter()
            .any(|place| named.contains(&place.id)))
    }
}

/// What is asked of the history of some code.
pub struct CodeQuestion<'a> {
    /// The commit whose code is there now.
    pub head: Digest,
    /// The code with which the phase was entered that makes it; `None` if that is unknown.
    pub entered: Option<Digest>,
    /// The code that was judged.
    pub judged: Digest,
    /// The base of the task's branch; `None` if the task is worked on in the base branch itself.
    pub base: Option<Digest>,
    /// The task.
    pub task: &'a CommitsOf,
}

/// Why a walk through the history does not end.
enum Failed {
    /// What is asked for cannot be known here.
    Unknown(UnknownCode),
    Git(Error),
}

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Git(error.into())
    }
}

/// Where some code was judged.
struct JudgedAt {
    /// The commit that has it, or makes it again after a rebase.
    commit: Digest,
    /// After a rebase, the files that are not as they were for whoever judged.
    of_others: BTreeSet<RepoPath>,
}

/// A walk through the history of some code.
struct CodeWalk<'a> {
    parts: CodeParts<'a>,
    asked: &'a CodeQuestion<'a>,
    code: &'a CodePart<'a>,
    /// Where the history of a shallow clone ends.
    boundary: Vec<Digest>,
    /// Whether the log of the task is committed.
    has_log: bool,
    /// The commit with which the task begins, if the branch has it.
    first: Option<Oid>,
}

impl<'s> CodeParts<'s> {
    /// The commits and files that changed since some code was judged, or why that cannot be known. After a rebase, the
    /// code was judged where the commits of the branch make the same change of the code with which the phase was
    /// entered. Returns an error if git cannot read the history.
    pub fn code_changes(
        &self,
        asked: &CodeQuestion<'_>,
        code: &CodePart<'_>,
    ) -> Result<Result<CodeHistory, UnknownCode>, Error> {
        split_unknown(CodeWalk::new(*self, asked, code).and_then(|walk| walk.history()))
    }

    /// Whether a commit that the base contains changed the code and names the task, so that the base says nothing about
    /// which commits are the task's. `None` if that cannot be known. Returns an error if git cannot read the history.
    pub fn is_worked_on_in(
        &self,
        base: Digest,
        asked: &CodeQuestion<'_>,
        code: &CodePart<'_>,
    ) -> Result<Option<bool>, Error> {
        let asked = CodeQuestion {
            head: base,
            base: None,
            ..*asked
        };
        let has_log = asked.task.is_logged_in(
            self.history,
            &self.objects.find_commit(self.objects.oid(base)?)?,
        )?;
        if !has_log {
            return Ok(Some(false));
        }
        let found = CodeWalk::new(*self, &asked, code).and_then(|walk| {
            for id in walk.commits(base)? {
                if walk.changes_code(id)? && walk.names_task(id)? {
                    return Ok(true);
                }
            }
            Ok(false)
        });
        Ok(split_unknown(found)?.ok())
    }

    /// Whether a commit that changed code names the task. Returns an error if git cannot read the commit.
    pub fn is_commit_of(&self, commit: &CodeCommit, task: &CommitsOf) -> Result<bool, Error> {
        task.is_among(
            &commit.tasks,
            self.history,
            &self.objects.find_commit(self.objects.oid(commit.id)?)?,
        )
    }

    /// The files of some code in which a commit takes back what its base has changed since a log changed last. Returns an
    /// error if git cannot read the history.
    pub fn taken_back_since(
        &self,
        log: &RepoPath,
        commits: [Digest; 2],
        code: &CodePart<'_>,
    ) -> Result<BTreeSet<RepoPath>, Error> {
        let [_, head] = commits;
        if self.objects.read_at(head, log)?.is_none() {
            return Ok(BTreeSet::new());
        }
        match self.last_change_of(head, log)? {
            Some(step) => self.taken_back(step, commits, code),
            None => Ok(BTreeSet::new()),
        }
    }

    /// The files of some code that the base has changed since a commit, and that are not as in the base.
    fn taken_back(
        &self,
        since: Digest,
        [base, head]: [Digest; 2],
        code: &CodePart<'_>,
    ) -> Result<BTreeSet<RepoPath>, Error> {
        match self.history.merge_bases(since, base)?.first() {
            Some(old) if *old != base => {
                let of_base = self.code_files_changed([*old, base], code)?;
                let of_branch = self.code_files_changed([base, head], code)?;
                Ok(of_base.intersection(&of_branch).cloned().collect())
            }
            _ => Ok(BTreeSet::new()),
        }
    }

    /// The files of some code that differ between two commits. Returns an error if git cannot read a tree.
    pub fn code_files_changed(
        &self,
        commits: [Digest; 2],
        code: &CodePart<'_>,
    ) -> Result<BTreeSet<RepoPath>, Error> {
        let [one, other] = commits.map(|commit| self.objects.source_at(commit));
        changed_files(&one, &other, code)
    }

    /// The files of some code in a commit. Returns an error if git cannot read a tree.
    pub fn code_files(
        &self,
        commit: Digest,
        code: &CodePart<'_>,
    ) -> Result<BTreeSet<RepoPath>, Error> {
        let nothing = self.objects.source_at(None);
        changed_files(&nothing, &self.objects.source_at(commit), code)
    }

    /// The files of some code that a commit changes; of a merge, those that are as in none of its parents.
    fn files_changed(
        &self,
        commit: &GitCommit<'_>,
        code: &CodePart<'_>,
    ) -> Result<Vec<RepoPath>, Error> {
        let after = self.objects.source_at(digest(commit.id()));
        let mut common: Option<BTreeSet<RepoPath>> = None;
        let mut befores: Vec<_> = self
            .objects
            .parents(commit)?
            .iter()
            .map(|parent| self.objects.source_at(digest(parent.id())))
            .collect();
        if commit.parent_count() == 0 {
            befores.push(self.objects.source_at(None));
        }
        for before in befores {
            let files = changed_files(&before, &after, code)?;
            common = Some(match common {
                Some(known) => known.intersection(&files).cloned().collect(),
                None => files,
            });
        }
        Ok(common.unwrap_or_default().into_iter().collect())
    }
}

/// The branch against which the work of others is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseBranch {
    /// Its name, as `git merge` takes it: `main`, or `origin/main`.
    pub name: String,
    /// The commit at which it is.
    pub tip: Digest,
}

impl Refs<'_> {
    /// The commit at which the base branch is: the one that the settings name, or else that of the remote's HEAD, the first
    /// protected one, or the remote's `main` or `master`. What the remote has comes before a branch of this clone, which
    /// anyone here can move. Returns `None` if there is none, and an error if git cannot read a reference.
    pub fn base_tip(
        &self,
        named: Option<&str>,
        protected: &[String],
    ) -> Result<Option<Digest>, Error> {
        let base = self.base_branch(named, protected)?;
        Ok(base.map(|base| base.tip))
    }

    /// The base branch, found as [`Self::base_tip`] does. Returns an error if git cannot read a reference.
    pub fn base_branch(
        &self,
        named: Option<&str>,
        protected: &[String],
    ) -> Result<Option<BaseBranch>, Error> {
        let remotes = self.objects.repo.remotes().map_err(libgit2)?;
        let names: Vec<&str> = remotes
            .iter_bytes()
            .filter_map(|name| std::str::from_utf8(name).ok())
            .collect();
        let remote = match names.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(|remote| *remote == "origin"),
        };
        let mut places = Vec::new();
        let mut add_branch = |branch: &str| {
            places.extend(remote.map(|remote| format!("refs/remotes/{remote}/{branch}")));
            places.push(format!("refs/remotes/{branch}"));
            places.push(format!("refs/heads/{branch}"));
        };
        match (named, remote) {
            (Some(named), _) => add_branch(named),
            (None, Some(remote)) => {
                let head = self.symbolic(&format!("refs/remotes/{remote}/HEAD"))?;
                protected.iter().for_each(|branch| add_branch(branch));
                places.extend(
                    ["main", "master"].map(|branch| format!("refs/remotes/{remote}/{branch}")),
                );
                places.splice(0..0, head);
            }
            (None, None) => protected.iter().for_each(|branch| add_branch(branch)),
        }
        // A pattern is no name.
        for name in places.iter().filter(|name| Reference::is_valid_name(name)) {
            if let Some(tip) = self.target(name)? {
                let full = name.strip_prefix("refs/").unwrap_or(name);
                let short = full.split_once('/').map_or(full, |(_, short)| short);
                let name = short.to_owned();
                return Ok(Some(BaseBranch { name, tip }));
            }
        }
        Ok(None)
    }

    /// The reference that a symbolic reference names.
    pub(super) fn symbolic(&self, name: &str) -> Result<Option<String>, Error> {
        if let RefStorage::Tables(_) = &self.references {
            let printed = self
                .git
                .git(&["symbolic-ref", "-q", name], &[])
                .unwrap_or_default();
            let target = String::from_utf8_lossy(&printed).trim().to_owned();
            return Ok(Some(target).filter(|target| !target.is_empty()));
        }
        match self.objects.repo.find_reference(name) {
            Ok(reference) => {
                let target = reference.symbolic_target_bytes();
                Ok(target.map(|target| String::from_utf8_lossy(target).into_owned()))
            }
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(libgit2(error)),
        }
    }
}

/// What was found, or why it cannot be known.
fn split_unknown<T>(found: Result<T, Failed>) -> Result<Result<T, UnknownCode>, Error> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Failed::Unknown(why)) => Ok(Err(why)),
        Err(Failed::Git(error)) => Err(error),
    }
}

impl<'a> CodeWalk<'a> {
    fn new(
        parts: CodeParts<'a>,
        asked: &'a CodeQuestion<'a>,
        code: &'a CodePart<'a>,
    ) -> Result<Self, Failed> {
        let boundary = parts.history.refs.boundary()?;
        let mut walk = Self {
            parts,
            asked,
            code,
            boundary,
            has_log: false,
            first: None,
        };
        walk.has_log = asked.task.is_logged_in(
            parts.history,
            &parts.objects.find_commit(parts.objects.oid(asked.head)?)?,
        )?;
        walk.first = walk.find_first()?;
        Ok(walk)
    }

    fn history(&self) -> Result<CodeHistory, Failed> {
        let CodeQuestion {
            head, judged, base, ..
        } = *self.asked;
        let all = self.commits(head)?;
        let mut found = None;
        for id in all.iter().copied().map(digest).chain(base) {
            if self.parts.code_digest(Some(id), self.code)? == judged {
                found = Some(JudgedAt {
                    commit: id,
                    of_others: BTreeSet::new(),
                });
                break;
            }
        }
        if found.is_none() {
            found = self.rebased(&all)?;
        }
        let Some(found) = found else {
            return Err(Failed::Unknown(UnknownCode::NotHere));
        };
        let at = found.commit;
        let mut history = CodeHistory::default();
        let mut files = BTreeSet::new();
        let mut first = None;
        for id in self.commits(at)? {
            if self.is_own(id)? {
                files.extend(self.files_of(id)?);
                first = Some(id);
            }
        }
        history.files = files.into_iter().collect();
        history.later = self.later(at)?;
        let before = match (base, first) {
            (Some(base), _) => Some(base),
            (None, Some(first)) => self.parent(digest(first))?,
            (None, None) => None,
        };
        history.moved = self.moved(&found, before)?;
        Ok(history)
    }

    /// The commits since the task was created, newest first: of its branch, or of all.
    fn commits(&self, from: Digest) -> Result<Vec<Oid>, Failed> {
        let mut hidden: Vec<Digest> = self.asked.base.into_iter().collect();
        if let Some(first) = self.first {
            hidden.extend(
                self.parts
                    .objects
                    .find_commit(first)?
                    .parent_ids()
                    .map(digest),
            );
        }
        let mut found = Vec::new();
        for id in self.parts.history.walk_from(&[from], &hidden)? {
            let id = id?;
            self.reach(id, found.len())?;
            found.push(id);
        }
        Ok(found)
    }

    /// The commit with which the task begins; `None` if the branch does not have it.
    fn find_first(&self) -> Result<Option<Oid>, Failed> {
        let hidden: Vec<Digest> = self.asked.base.into_iter().collect();
        for (walked, id) in self
            .parts
            .history
            .walk_from(&[self.asked.head], &hidden)?
            .enumerate()
        {
            let id = id?;
            self.reach(id, walked)?;
            if self.is_first(id)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns an error if the history ends with a commit, or so many were walked that it is too long.
    fn reach(&self, id: Oid, walked: usize) -> Result<(), Failed> {
        if walked == MOST_COMMITS {
            return Err(Failed::Unknown(UnknownCode::TooFar));
        }
        if self.boundary.contains(&digest(id)) {
            return Err(Failed::Unknown(UnknownCode::Shallow));
        }
        Ok(())
    }

    /// Whether the history of the task begins with a commit: it creates the task, or brings its log together with code. If
    /// the log is not committed, the task begins with the code with which the phase was entered.
    fn is_first(&self, id: Oid) -> Result<bool, Failed> {
        if !self.has_log {
            let code = self.parts.code_digest(Some(digest(id)), self.code)?;
            return Ok(self.asked.base.is_none() && Some(code) == self.asked.entered);
        }
        let commit = self.parts.objects.find_commit(id)?;
        if !(self.is_named_by(&commit)? || self.changes_code(id)?)
            || !self.asked.task.is_logged_in(self.parts.history, &commit)?
        {
            return Ok(false);
        }
        for parent in self.parts.objects.parents(&commit)? {
            if self.asked.task.is_logged_in(self.parts.history, &parent)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn changes_code(&self, id: Oid) -> Result<bool, Failed> {
        Ok(self.parts.code_commit(id, self.code)?.is_some())
    }

    fn is_named_by(&self, commit: &GitCommit<'_>) -> Result<bool, Failed> {
        Ok(self
            .asked
            .task
            .is_among(&CodeCommit::of(commit).tasks, self.parts.history, commit)?)
    }

    /// Whether a commit names the task, or brings steps of it, as a squash does.
    fn names_task(&self, id: Oid) -> Result<bool, Failed> {
        let commit = self.parts.objects.find_commit(id)?;
        if self.is_named_by(&commit)? {
            return Ok(true);
        }
        for place in self.asked.task.places_in(self.parts.history, &commit)? {
            if let Some(log) = &place.log
                && self.parts.is_changed_by(&commit, log)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a commit, which the base does not contain, changes the code for the task.
    fn is_own(&self, id: Oid) -> Result<bool, Failed> {
        Ok(self.changes_code(id)? && (self.asked.base.is_some() || self.names_task(id)?))
    }

    fn files_of(&self, id: Oid) -> Result<Vec<RepoPath>, Failed> {
        Ok(self
            .parts
            .files_changed(&self.parts.objects.find_commit(id)?, self.code)?)
    }

    fn parent(&self, commit: Digest) -> Result<Option<Digest>, Failed> {
        let commit = self
            .parts
            .objects
            .find_commit(self.parts.objects.oid(commit)?)?;
        let parents = self.parts.objects.parents(&commit)?;
        Ok(parents.first().map(|parent| digest(parent.id())))
    }

    /// The commits that changed the code after a commit, newest first: all of the task, and the newest of others.
    fn later(&self, judged: Digest) -> Result<Vec<ChangeCommit>, Failed> {
        let CodeQuestion { head, base, .. } = *self.asked;
        let mut found = Vec::new();
        let mut others = 0;
        let own_hidden: Vec<Digest> = base.into_iter().chain([judged]).collect();
        for (walked, id) in self
            .parts
            .history
            .walk_from(&[head], &own_hidden)?
            .enumerate()
        {
            let id = id?;
            self.reach(id, walked)?;
            let is_own = self.is_own(id)?;
            others += usize::from(!is_own);
            if is_own || others <= MOST_NAMED {
                found.extend(self.change(id, is_own)?);
            }
        }
        if let Some(base) = base {
            for id in self
                .parts
                .history
                .walk_from(&[base], &[judged])?
                .take(MOST_NAMED)
            {
                found.extend(self.change(id?, false)?);
            }
        }
        Ok(found)
    }

    fn change(&self, id: Oid, is_own: bool) -> Result<Option<ChangeCommit>, Failed> {
        let Some(changing) = self.parts.code_commit(id, self.code)? else {
            return Ok(None);
        };
        let files = self.files_of(id)?;
        Ok(Some(ChangeCommit {
            id: changing.id,
            subject: changing.subject,
            files,
            is_own,
        }))
    }

    /// The files that are not as they were when the code was judged, or that take back what the base branch has changed
    /// since.
    fn moved(&self, judged: &JudgedAt, before: Option<Digest>) -> Result<Vec<MovedFile>, Failed> {
        let CodeQuestion { head, base, .. } = *self.asked;
        let not_undone = match before {
            Some(before) => Some(self.differing(before, head)?),
            None => None,
        };
        let mut moved = self.differing(judged.commit, head)?;
        moved.extend(judged.of_others.iter().cloned());
        let mut of_branch = BTreeSet::new();
        if let Some(base) = base {
            of_branch = self.differing(base, head)?;
            moved.extend(
                self.parts
                    .taken_back(judged.commit, [base, head], self.code)?,
            );
        }
        let moved = moved.into_iter().map(|path| {
            let is_own = of_branch.contains(&path) && !judged.of_others.contains(&path);
            let is_undone = not_undone
                .as_ref()
                .is_some_and(|files| !files.contains(&path));
            MovedFile {
                path,
                is_own,
                is_undone,
            }
        });
        Ok(moved.collect())
    }

    /// The files of the code that differ between two commits.
    fn differing(&self, one: Digest, other: Digest) -> Result<BTreeSet<RepoPath>, Failed> {
        Ok(self.parts.code_files_changed([one, other], self.code)?)
    }

    /// The commit of a rebased branch up to which its change, put on the code with which the phase was entered, makes the
    /// code that was judged.
    fn rebased(&self, all: &[Oid]) -> Result<Option<JudgedAt>, Failed> {
        let CodeQuestion {
            head,
            entered,
            judged,
            base,
            ..
        } = *self.asked;
        let entry = match entered {
            Some(entered) => {
                let is_entry = |commit: &GitCommit<'_>| {
                    Ok(self.parts.digest_of_part(commit.tree_id(), self.code)? == entered)
                };
                self.parts.find(head, is_entry)?
            }
            None => None,
        };
        let Some(entry) = entry else { return Ok(None) };
        let base = match base {
            Some(base) => Some(base),
            None => self.before_own(all)?,
        };
        let Some(base) = base else { return Ok(None) };
        let mut at = head;
        for _ in 0..all.len() {
            if at == base {
                break;
            }
            let made =
                self.parts
                    .code_with_change(Some(entry), [Some(base), Some(at)], self.code)?;
            if made == Some(judged) {
                return Ok(Some(JudgedAt {
                    commit: at,
                    of_others: self.differing(entry, base)?,
                }));
            }
            let Some(parent) = self.parent(at)? else {
                break;
            };
            at = parent;
        }
        Ok(None)
    }

    /// The parent of the first of some commits that is the task's.
    fn before_own(&self, commits: &[Oid]) -> Result<Option<Digest>, Failed> {
        for id in commits.iter().rev() {
            if self.is_own(*id)? {
                return self.parent(digest(*id));
            }
        }
        Ok(None)
    }
}

/// The files of some code that differ between two trees.
fn changed_files(
    one: &TreeSource<'_>,
    other: &TreeSource<'_>,
    code: &CodePart<'_>,
) -> Result<BTreeSet<RepoPath>, Error> {
    let mut files = Vec::new();
    changed_in_part(
        (one, one.tree()?),
        (other, other.tree()?),
        &RepoPath::root(),
        code,
        &mut files,
    )?;
    Ok(files.into_iter().collect())
}
