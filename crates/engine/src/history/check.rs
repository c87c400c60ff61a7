//! Finds problems with tasks: in the work directory, in the index and in commits.

use super::acknowledged::Acknowledgements;
use super::amended::{added_evidence, amended};
use super::archive::{Archive, ReadOnce};
use super::behind::index_behind;
use super::compared::{ChangedTasks, Compared};
use super::cut::cut;
use super::gates::{ChangeOwner, gate};
use super::hidden::{HiddenChange, hidden_changes};
use super::loosened::loosened;
use super::other_rules::StepPlace;
use super::range_rules::RangeRules;
use super::record_finding::{record_finding, within};
use super::side::{Side, SideCache};
use super::trailers::MessageSteps;
use crate::survey::setting::{InSource, Settings};
use crate::survey::snapshot::Snapshot;
use crate::survey::{
    Caller, CodeAt, Error, Look, LookDepth, Reader, Sight, TaskRef, Workspace, unread,
};
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath, Severity, TaskId};
use orch_core::config;
use orch_core::decide::{Proof, Standing, trouble};
use orch_core::record::has_later_version;
use orch_files::{Content, Source};
use orch_git::{IndexSource, KnownRefs, Range, Store, Visited, resolving};
use orch_read::ValidationCache;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// The result of a check.
#[derive(Default)]
pub struct Checked {
    /// The tasks that were checked.
    pub tasks: BTreeSet<TaskId>,
    /// The findings, without duplicates.
    pub findings: Vec<Diagnostic>,
    /// The findings again, to tell duplicates.
    pub known: HashSet<Diagnostic>,
}

impl Checked {
    fn note(&mut self, task: &TaskRef) {
        self.tasks.insert(task.id.clone());
    }

    fn add(&mut self, found: impl IntoIterator<Item = Diagnostic>) {
        for finding in found {
            let is_shown = finding.severity != Severity::Note
                || finding.code == Code::StateLayout
                || finding.is_detail();
            if is_shown && self.known.insert(finding.clone()) {
                self.findings.push(finding);
            }
        }
    }
}

/// What the verdicts on commits rest on besides the commits.
struct Basis<'a> {
    /// The forged changes that people acknowledged.
    known: Acknowledgements<'a>,
    /// The rules at the ends of the range; `None` for commits that are not a range.
    rules: Option<RangeRules<'a>>,
}

/// Checks tasks in the work directory, in the index and in commits.
pub struct Checker<'w> {
    workspace: &'w Workspace,
    /// The task in `ORCH_TASK`.
    caller: Option<&'w TaskId>,
    read: ReadOnce,
}

impl<'w> Checker<'w> {
    /// Creates a checker that belongs to a caller.
    #[must_use]
    pub fn new(workspace: &'w Workspace, caller: &'w Caller) -> Self {
        Self {
            workspace,
            caller: caller.task.as_ref(),
            read: ReadOnce::default(),
        }
    }

    /// Checks these tasks in the source of the workspace.
    ///
    /// # Errors
    ///
    /// git cannot be asked about ignored or filtered files. A task that cannot be read is a finding.
    pub fn tasks(&self, tasks: &[TaskRef]) -> Result<Checked, Error> {
        let mut checked = Checked {
            tasks: tasks.iter().map(|task| task.id.clone()).collect(),
            ..Checked::default()
        };
        let found = |reader: &Reader, task: &TaskRef, looked: Result<Sight, Error>| {
            let mut may_be_cut = false;
            let found = match looked {
                Ok(sight) => {
                    let log = sight.observed.log.whole();
                    may_be_cut = log.is_some_and(|log| !has_later_version(log));
                    let mut found = findings_of(&sight);
                    if reader.reads_work_dir() {
                        found.extend(reader.ignored_evidence(&sight)?);
                        found.extend(reader.filtered(&sight)?);
                    }
                    found
                }
                Err(error) => vec![unread(&format!("task `{}`", task.id), &error)],
            };
            let mut own = Checked::default();
            own.add(found);
            Ok::<_, Error>((own, may_be_cut.then(|| task.clone())))
        };
        let mut may_be_cut = Vec::new();
        for own in self
            .workspace
            .crew()
            .look_at_each(tasks, LookDepth::Whole, found)
        {
            let (own, task) = own?;
            may_be_cut.extend(task);
            checked.findings.extend(
                own.findings
                    .into_iter()
                    .filter(|one| checked.known.insert(one.clone())),
            );
        }
        if let Some(store) = self
            .workspace
            .reader
            .store()
            .filter(|_| self.workspace.reader.reads_work_dir())
        {
            checked
                .findings
                .extend(cut(store, &self.read, &may_be_cut)?);
        }
        Ok(checked)
    }

    /// Checks the next commit: the artifacts and the record of every task that differs between HEAD and the
    /// index, and whether the phase of the commit's task permits the other changes. `message` is the commit
    /// message, if known. Reads only the index and the history of HEAD; writes nothing.
    ///
    /// # Errors
    ///
    /// There is no repository with a work tree, or git cannot read the index or HEAD.
    pub fn staged(&self, message: Option<&str>) -> Result<Checked, Error> {
        let store = self.workspace.reader.repository_or_refuse()?;
        store.layout().refuse_bare()?;
        let archive = Archive::new(store, &self.read, false);
        let index = store.index().index_source()?;
        let mut sides = SideCache::new(store, &archive);
        let head = Rc::new(Side::new(&archive, store.refs().head_source()?)?);
        let setting = staged_setting(store, &head, &index)?;
        let snapshot = |befores: &[Rc<Side<'_>>]| {
            let code = CodeAt::Commit(
                store,
                befores.first().and_then(|before| before.source.commit()),
            );
            Snapshot::new(&setting, &index, &self.workspace.reader.validations, code)
        };
        let differing = |before: &Side<'_>, directory: &RepoPath| {
            store
                .history()
                .staged_changes(&before.source, &index, directory)
        };
        let message_steps = |befores: &[Rc<Side<'_>>]| {
            message
                .map(|message| MessageSteps::of(message, befores.len() > 1))
                .unwrap_or_default()
        };
        let mut checked = Checked::default();
        // Only a commit that records steps says more in its place than as a change of HEAD.
        let mut replaced = Vec::new();
        if let Some(commit) = amended(store, message)? {
            replaced = sides.before(&commit)?;
            let after = snapshot(&replaced);
            let message_steps = message_steps(&replaced);
            let compared = Compared {
                befores: &replaced,
                after,
                differing: &differing,
                message_steps,
                replaced: Some(&head),
            };
            let recorded = compared.tasks()?.records;
            checked.add(added_evidence(&head, &recorded, &after, &differing)?);
            if recorded.is_empty() {
                replaced.clear();
            }
        }
        let is_amended = !replaced.is_empty();
        let mut befores = replaced;
        if !is_amended {
            befores.push(Rc::clone(&head));
            for merged in store.refs().merge_heads()? {
                befores.push(Rc::new(Side::new(
                    &archive,
                    store.objects().source_at(merged),
                )?));
            }
        }
        let after = snapshot(&befores);
        let message_steps = message_steps(&befores);
        let replaced = is_amended.then_some(&head);
        let compared = Compared {
            befores: &befores,
            after,
            differing: &differing,
            message_steps,
            replaced,
        };
        checked.add(setting.findings.iter().cloned());
        let is_ours = |path: &&RepoPath| {
            compared
                .bases()
                .iter()
                .any(|base| path.below(base).is_some())
        };
        checked.add(
            index
                .unmerged()
                .iter()
                .filter(is_ours)
                .map(unmerged_finding),
        );
        let branch = self.workspace.reader.branch()?;
        let owner = ChangeOwner {
            message,
            branch: branch.as_deref(),
            caller: self.caller,
        };
        let touched = self.check_compared(&compared, &owner, None, &mut sides, &mut checked)?;
        let before: Vec<Snapshot<'_>> = befores
            .iter()
            .map(|before| compared.before(before))
            .collect();
        checked.add(self.hiding(store, &after, &before, &touched)?);
        Ok(checked)
    }

    /// What keeps the tasks of these files from being judged: roots of which nothing is seen, workflows with errors, and that
    /// nothing is set up at all. Returns an error if git cannot be read.
    fn hiding(
        &self,
        store: &Store,
        after: &Snapshot<'_>,
        befores: &[Snapshot<'_>],
        touched: &[TaskRef],
    ) -> Result<Vec<Diagnostic>, Error> {
        let mut shown = Vec::new();
        for task in touched {
            shown.extend(after.search().task_at(task.directory())?);
        }
        let mut found = after.search().hiding(&shown)?;
        found.extend(
            after
                .search()
                .unusable_workflows(befores, !touched.is_empty())?,
        );
        if found.is_empty() && touched.is_empty() {
            let mut is_set_up = after.search().is_set_up()?;
            for before in befores {
                is_set_up = is_set_up || before.search().is_set_up()?;
            }
            if !is_set_up && !is_set_up_elsewhere(store)? {
                let message = format!(
                    "nothing is set up: there is neither {} nor a task",
                    config::FILE
                );
                let hint = Hint::run(&["orch", "init"])
                    .text("; where orch is not wanted, remove the call: ")
                    .command(&["orch", "hook", "uninstall"]);
                found.push(Diagnostic::error(Code::NothingToJudge, message).hint(hint));
            }
        }
        Ok(found)
    }

    /// Checks one commit against its parents, like [`Checker::staged`] does before the commit exists.
    ///
    /// # Errors
    ///
    /// There is no repository, or the revision is unknown or cannot be read.
    pub fn revision(&self, revision: &str) -> Result<Checked, Error> {
        let store = self.workspace.reader.repository_or_refuse()?;
        let commit = store.history().visit(store.refs().resolve(revision)?)?;
        self.check_commits(
            store,
            &[commit.into()],
            self.workspace.reader.branch()?.as_deref(),
            None,
        )
    }

    /// Checks every commit of a range against its parents.
    ///
    /// # Errors
    ///
    /// There is no repository, or the range names an unknown commit or one that cannot be read.
    pub fn range(&self, range: &str) -> Result<Checked, Error> {
        let store = self.workspace.reader.repository_or_refuse()?;
        let text = range;
        let range = store.history().range(text)?;
        let commits = store.history().commits(&range)?;
        if commits.is_empty() {
            let message = format!("the range {text} has no commit");
            let hint = "write it as A..B: the commits of B that A does not have";
            return Err(Diagnostic::error(Code::NothingToJudge, message)
                .hint(hint)
                .into());
        }
        self.check_commits(
            store,
            &commits,
            self.workspace.reader.branch()?.as_deref(),
            Some(&range),
        )
    }

    /// Checks the new commits of a push. `lines` is the standard input of a pre-receive hook (old, new, ref)
    /// or of a pre-push hook (local ref, new, remote ref, old); see githooks(5).
    ///
    /// # Errors
    ///
    /// There is no repository, a line has another form, or a commit cannot be read.
    pub fn pushed(&self, lines: &str) -> Result<Checked, Error> {
        let store = self.workspace.reader.repository_or_refuse()?;
        let mut checked = Checked::default();
        for (number, line) in lines
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ends = match words.as_slice() {
                [old, new, _] => Digest::parse(old).zip(Digest::parse(new)),
                [_, new, _, old] => Digest::parse(old).zip(Digest::parse(new)),
                _ => None,
            };
            let Some((old, new)) = ends else {
                let message = format!("line {} on stdin is not `OLD NEW REF`: {line}", number + 1);
                return Err(Diagnostic::error(Code::BadRefs, message)
                    .hint("see githooks(5), pre-receive")
                    .into());
            };
            // A tag may point to something other than a commit.
            let Some(new) = (if new.is_null() {
                None
            } else {
                store.refs().commit_of(new)?
            }) else {
                continue;
            };
            let known = !old.is_null() && store.objects().has(old)?;
            let range = Range {
                from: Some(old),
                to: new,
            };
            let commits = match words.as_slice() {
                _ if known => store.history().commits(&range)?,
                [_, _, name] => store
                    .history()
                    .commits_new_to(new, KnownRefs::AllBut(name))?,
                _ => store.history().commits_new_to(new, KnownRefs::Remotes)?,
            };
            let branch = words
                .iter()
                .find_map(|word| word.strip_prefix("refs/heads/"));
            let found =
                self.check_commits(store, &commits, branch, Some(&range).filter(|_| known))?;
            checked.tasks.extend(found.tasks);
            checked.findings.extend(found.findings);
        }
        Ok(checked)
    }

    fn check_commits(
        &self,
        store: &Store,
        commits: &[Arc<Visited>],
        branch: Option<&str>,
        range: Option<&Range>,
    ) -> Result<Checked, Error> {
        let from_the_first = range.is_some_and(|range| range.from.is_none());
        let is_whole = from_the_first && !commits.iter().any(|commit| commit.is_boundary);
        let archive = Archive::new(store, &self.read, is_whole);
        let validations = ValidationCache::default();
        let mut sides = SideCache::new(store, &archive);
        let mut checked = Checked::default();
        // The newest commit is last, because parents come before their children.
        let Some(tip) = commits.last() else {
            return Ok(checked);
        };
        let known = Acknowledgements::of(store, &archive, tip.id)?;
        let ends = range.and_then(|range| Some([range.from?, range.to]));
        let rules = ends
            .map(|ends| RangeRules::between(store, &archive, ends))
            .transpose()?;
        let basis = Basis { known, rules };
        let mut touched = Vec::new();
        for commit in commits {
            touched.extend(self.check_commit(
                &mut sides,
                commit,
                (branch, &basis),
                &validations,
                &mut checked,
            )?);
        }
        let before = match range.and_then(|range| range.from) {
            Some(from) => vec![sides.of(from)?],
            None => sides.before(tip)?,
        };
        let after = sides.of(tip.id)?;
        let snapshot = after.snapshot(&validations);
        let befores: Vec<Snapshot<'_>> = before
            .iter()
            .map(|before| before.snapshot(&validations))
            .collect();
        checked.add(self.hiding(store, &snapshot, &befores, &touched)?);
        checked.add(new_faults(&snapshot, &befores));
        let from = match (&basis.rules, commits) {
            (Some(rules), _) => Some(rules.parted()),
            (None, [only]) if range.is_none() => only.parents.first().copied(),
            (None, _) => None,
        };
        if let Some(from) = from {
            checked.add(loosened(store, &archive, [from, tip.id])?);
        }
        Ok(checked)
    }

    fn check_commit(
        &self,
        sides: &mut SideCache<'_, '_>,
        commit: &Visited,
        (branch, basis): (Option<&str>, &Basis<'_>),
        validations: &ValidationCache,
        checked: &mut Checked,
    ) -> Result<Vec<TaskRef>, Error> {
        let SideCache { store, archive, .. } = *sides;
        let after = sides.of(commit.id)?;
        if commit.is_boundary {
            let message =
                "this clone is shallow and ends here: what the commit changes cannot be seen";
            let finding = Diagnostic::error(Code::NotInClone, message).hint(Hint::run(&[
                "git",
                "fetch",
                "--unshallow",
            ]));
            checked.add(within(Some(commit.id), vec![finding]));
            return Ok(Vec::new());
        }
        let befores = sides.before(commit)?;
        let differing = after.differing(store);
        let message = store.history().message(commit.id)?;
        let snapshot = after.snapshot(validations);
        let message_steps = MessageSteps::of(&message, befores.len() > 1);
        let compared = Compared {
            befores: &befores,
            after: snapshot,
            differing: &differing,
            message_steps,
            replaced: None,
        };
        let owner = ChangeOwner {
            message: Some(&message),
            branch,
            caller: self.caller,
        };
        let touched =
            self.check_compared(&compared, &owner, Some((commit.id, basis)), sides, checked)?;
        for task in &touched {
            archive.note(task, &after.source)?;
        }
        Ok(touched)
    }

    /// Checks every changed task and the gates on paths outside tasks. Returns the tasks that changed or that
    /// became visible again.
    fn check_compared(
        &self,
        compared: &Compared<'_, '_>,
        owner: &ChangeOwner<'_>,
        commit: Option<(Digest, &Basis<'_>)>,
        sides: &mut SideCache<'_, '_>,
        checked: &mut Checked,
    ) -> Result<Vec<TaskRef>, Error> {
        let (commit, basis) = commit.unzip();
        let rules = basis.and_then(|basis| basis.rules.as_ref());
        let ChangedTasks {
            files: mut touched,
            records: recorded,
            ..
        } = compared.tasks()?;
        let is_accepted = |commit: Digest, task: &TaskRef, proof: &mut Proof| {
            basis.is_some_and(|basis| basis.known.accept(commit, task, proof).is_some())
        };
        let only_recorded = recorded.iter().filter(|task| !touched.contains(task));
        for task in touched.iter().chain(only_recorded) {
            let is_recorded = recorded.contains(task);
            let mut found = if touched.contains(task) {
                // The state of another tool is no step.
                let log = compared
                    .after
                    .source
                    .read(&task.transcript_path(), u64::MAX - 1)?;
                self.new_findings(task, compared, is_recorded && log != Content::Missing)
            } else {
                Vec::new()
            };
            let proof = if is_recorded {
                compared.prove(task, sides.archive)?
            } else {
                None
            };
            if let Some(mut proof) = proof {
                let before = compared.befores.first().map(|before| &*before.setting);
                let is_doubted = match rules.zip(commit) {
                    Some((rules, commit)) => {
                        let parent = compared
                            .befores
                            .first()
                            .and_then(|before| before.source.commit());
                        rules.doubt(
                            StepPlace {
                                task,
                                commit,
                                parent,
                            },
                            before,
                            &mut proof,
                        )?
                    }
                    None => false,
                };
                let counts = match (proof.standing, commit) {
                    // What is amended says what it said before.
                    (Standing::Unverifiable, None) if compared.replaced.is_some() => false,
                    // A staged step can still be corrected.
                    (Standing::Unverifiable, None) => {
                        proof.is_loss || !proof.steps.is_empty() || compared.befores.len() > 1
                    }
                    _ => is_wrong(&proof) || is_doubted,
                };
                let known = commit
                    .filter(|_| counts)
                    .map(|commit| is_accepted(commit, task, &mut proof));
                if known.unwrap_or_default() {
                    let record = [task.state_path(), task.transcript_path()];
                    let is_of_record =
                        |place: &Place| record.iter().any(|path| path.as_str() == place.path);
                    // A record that nobody could make may also lack the needs of its phase. Without the workflow, neither
                    // the step nor the task can be judged.
                    let lacks_workflow = proof.steps.iter().any(|step| !step.is_judged);
                    found.retain(|finding| {
                        finding.code != Code::Inconsistent
                            && !(lacks_workflow && finding.code == Code::Unjudged)
                            && !finding.place.as_ref().is_some_and(is_of_record)
                    });
                } else if counts {
                    found.push(record_finding(task, &proof, compared, commit));
                }
            }
            if is_recorded && commit.is_none() {
                found.extend(index_behind((sides.store, sides.archive), task, compared)?);
            }
            checked.note(task);
            checked.add(within(commit, found));
        }
        for (task, mut proof) in compared.named_without_record(&recorded)? {
            checked.note(&task);
            let known = commit.map(|commit| is_accepted(commit, &task, &mut proof));
            let is_new = !known.unwrap_or_default();
            let mut found = is_new.then(|| record_finding(&task, &proof, compared, commit));
            if let Some(finding) = found.as_mut().filter(|_| commit.is_none()) {
                finding.hint = Some(
                    "remove these lines from the message; a commit describes its own steps".into(),
                );
            }
            checked.add(within(commit, found.into_iter().collect()));
        }
        let changed: Vec<TaskRef> = touched.iter().chain(&recorded).cloned().collect();
        for task in compared.uncovered(&changed)? {
            checked.note(&task);
            for HiddenChange { commit, mut proof } in hidden_changes(sides, compared, &task)? {
                let is_new = is_wrong(&proof) && !is_accepted(commit.id, &task, &mut proof);
                let found =
                    is_new.then(|| record_finding(&task, &proof, compared, Some(commit.id)));
                checked.add(within(Some(commit.id), found.into_iter().collect()));
            }
            touched.push(task);
        }
        let (gated, owners) = gate(owner, compared)?;
        owners.iter().for_each(|task| checked.note(task));
        checked.add(within(commit, gated));
        Ok(touched)
    }

    /// The findings about a task that no side has. If its record is unchanged, missing needs of its phase are
    /// no finding, because people may add and remove files while they work.
    fn new_findings(
        &self,
        task: &TaskRef,
        compared: &Compared<'_, '_>,
        is_recorded: bool,
    ) -> Vec<Diagnostic> {
        let findings_in = |snapshot: &Snapshot<'_>| {
            let sight = snapshot
                .search()
                .task_at(task.directory())
                .and_then(|present| {
                    present
                        .map(|_| Look::back(&self.workspace.reader, task, snapshot))
                        .transpose()
                });
            match sight {
                Ok(sight) => sight.map_or_else(Vec::new, |sight| findings_of(&sight)),
                Err(error) => vec![unread(&format!("task `{}`", task.id), &error)],
            }
        };
        let mut found = findings_in(&compared.after);
        found.retain(|finding| is_recorded || finding.code != Code::Inconsistent);
        let befores = compared.befores.iter().chain(compared.replaced);
        for before in befores.filter(|_| !found.is_empty()).collect::<Vec<_>>() {
            let known = findings_in(&compared.before(before));
            let where_it_is =
                |finding: &Diagnostic| finding.place.as_ref().map(|place| place.path.clone());
            found.retain(|finding| {
                !known.iter().any(|known| {
                    (known.code, &known.message) == (finding.code, &finding.message)
                        && where_it_is(known) == where_it_is(finding)
                })
            });
        }
        found
    }
}

/// Whether any branch has settings of orch: then a branch without them, such as that of a site, has nothing to judge.
fn is_set_up_elsewhere(store: &Store) -> Result<bool, Error> {
    let Ok(file) = RepoPath::new(config::FILE) else {
        return Ok(false);
    };
    let (tips, _) = store.refs().branches()?;
    for tip in tips {
        if store
            .objects()
            .source_at(tip.commit)
            .blob_at(&file)?
            .is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The staged settings. Usually they equal those of HEAD, whose workflows are already compiled.
fn staged_setting(
    store: &Store,
    head: &Side<'_>,
    index: &IndexSource<'_>,
) -> Result<Rc<Settings>, Error> {
    let file = RepoPath::new(config::FILE)
        .map_err(|error| Diagnostic::error(Code::BadPath, error.to_string()))?;
    let staged = index.file(&file).map(|file| (file.blob, file.mode));
    let same = head.source.object(&file)? == staged
        && store
            .history()
            .staged_changes(&head.source, index, &head.setting.config.system)?
            .is_empty();
    if same {
        return Ok(Rc::clone(&head.setting));
    }
    Ok(Rc::new(
        Settings::read(&InSource(index), index.format()).in_full()?,
    ))
}

/// Whether the verdict about a committed change is a finding.
fn is_wrong(proof: &Proof) -> bool {
    match proof.standing {
        Standing::Forged => true,
        Standing::Unverifiable => proof.is_loss || proof.steps.iter().any(|step| !step.is_judged),
        _ => false,
    }
}

/// The faults of the settings that none of the settings before has.
fn new_faults(after: &Snapshot<'_>, befores: &[Snapshot<'_>]) -> Vec<Diagnostic> {
    let is_known = |found: &Diagnostic| {
        let mut known = befores.iter().flat_map(|before| &before.setting.findings);
        known.any(|known| (known.code, &known.message) == (found.code, &found.message))
    };
    after
        .setting
        .findings
        .iter()
        .filter(|found| !is_known(found))
        .cloned()
        .collect()
}

fn unmerged_finding(path: &RepoPath) -> Diagnostic {
    Diagnostic::error(Code::Unmerged, "the path is unmerged")
        .at(Place::file(path))
        .hint(resolving(path.as_str()))
}

/// The findings about one task: its diagnostics, and its verdict if that is a problem. Waiting is no problem.
fn findings_of(sight: &Sight) -> Vec<Diagnostic> {
    let mut found = sight.decision.diagnostics.clone();
    let decision = &sight.decision;
    let code = trouble(&decision.verdict)
        .filter(|code| !found.iter().any(|finding| finding.code == *code));
    if let Some(code) = code {
        let mut finding = Diagnostic::error(
            code,
            format!("task `{}`: {}", decision.task, decision.reason),
        );
        let place = match &decision.rule {
            Some(rule) if code == Code::GuardError => sight
                .workflow()
                .rules
                .iter()
                .find(|candidate| candidate.id == *rule)
                .map(|rule| rule.place.clone()),
            _ => None,
        };
        finding.place = place.or_else(|| {
            Some(Place {
                path: sight.observed.facts.shown().to_string(),
                ..Place::default()
            })
        });
        finding.hint = decision
            .options
            .first()
            .map(|choice| Hint::run(&choice.argv));
        found.push(finding);
    }
    found
}
