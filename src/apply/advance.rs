//! Applies transitions: evaluates under the lock, reads each file once, and makes one commit per transition.

use super::Writer;
use super::record_files::RecordFiles;
use crate::base::{Code, Diagnostic, Digest, RepoPath, TaskId, command, shell_word};
use crate::decide::{HistoryEntry, Recorded, Settled, Step, Transition, Verdict, settle, settle_from};
use crate::scan::{ObservedLog, io_error};
use crate::store::{Head, LockWait, PlannedCommit, Store, Write};
use crate::survey::evidence::{IGNORED_HINT, ignored};
use crate::survey::{Error, Sight, TaskRef};
use crate::view::Message;
use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

/// What to apply, and how far.
pub struct AdvancePlan<'a> {
    /// Which transitions to apply.
    pub may: &'a dyn Fn(&Transition) -> bool,
    /// Apply only the first one.
    pub once: bool,
    /// Record `orch` itself as the actor instead of the caller.
    pub own: bool,
    /// Decide, but write nothing.
    pub dry_run: bool,
    /// Which untracked tasks to adopt.
    pub adopt: &'a dyn Fn(&TaskId) -> bool,
}

/// The outcome for one task.
pub enum TaskOutcome {
    /// At least one transition was applied.
    Applied(Box<Applied>),
    /// There was nothing to apply.
    Nothing(Box<Sight>),
}

/// The transitions that were applied to one task.
#[derive(Clone)]
pub struct Applied {
    /// The task after the last transition.
    pub judged: Sight,
    /// The steps, in order.
    pub steps: Vec<AppliedStep>,
    /// Further findings for the user.
    pub notes: Vec<Diagnostic>,
}

/// A transition that was applied.
#[derive(Debug, Clone)]
pub struct AppliedStep {
    /// The transition.
    pub transition: Transition,
    /// The entry in the record; `None` if nothing was committed.
    pub entry: Option<HistoryEntry>,
    /// The commit; `None` if nothing was committed.
    pub commit: Option<Digest>,
}

impl AppliedStep {
    /// A step with its commit, if there is one.
    fn new(step: Step, commit: Option<Digest>) -> Self {
        let Step { transition, mut state } = step;
        // The entry is the last one here; the state after the last step may not contain it any more.
        Self { transition, entry: commit.and_then(|_| state.history.pop()), commit }
    }
}

impl Applied {
    /// Logs every transition.
    fn trace(&self) {
        for AppliedStep { transition, commit, .. } in &self.steps {
            let (from, rule) = (transition.from.as_ref(), transition.rule.as_ref());
            tracing::info!(
                task = %self.judged.task.id,
                from = from.map(|phase| phase.as_str()),
                to = %transition.to,
                rule = rule.map(|rule| rule.as_str()),
                commit = commit.map(tracing::field::display),
                "applied a transition"
            );
        }
    }
}

/// The steps that an evaluated task takes.
pub(crate) type Steps<'a> = dyn Fn(&Sight) -> Result<Settled, Error> + 'a;

/// A task to apply steps to, with the result of a look at it and the steps that follow, if there was one.
pub(crate) struct Wanted {
    pub task: TaskRef,
    pub seen: Option<(Sight, Settled)>,
}

impl Wanted {
    /// A task that is looked at under the lock.
    pub(crate) fn unseen(task: &TaskRef) -> Self {
        Self { task: task.clone(), seen: None }
    }

    /// Whether a step is due, according to the look.
    pub(crate) fn is_due(&self) -> bool {
        self.seen.as_ref().is_some_and(|(_, settled)| !settled.steps.is_empty())
    }

    /// A task with the result of a look.
    pub(crate) fn seen(sight: Sight, settled: Settled) -> Self {
        Self { task: sight.task.clone(), seen: Some((sight, settled)) }
    }
}

/// How often to decide again after the branch has moved.
const TRIES: u32 = 20;

impl Writer<'_> {
    /// Applies what the rules decide for each task, as one batch with one update of the index. Returns an
    /// error if a task cannot be read or a commit is not possible now.
    pub fn advance(&self, tasks: &[TaskRef], plan: &AdvancePlan<'_>) -> Result<Vec<TaskOutcome>, Error> {
        self.apply(tasks, plan.dry_run, &|judged| self.due(judged, plan))
    }

    /// What [`Writer::advance`] would do with a task now; writes nothing. `head` is HEAD now. Returns an
    /// error if the task cannot be read.
    pub(crate) fn foresee(
        &self,
        task: &TaskRef,
        head: Option<Head>,
        plan: &AdvancePlan<'_>,
    ) -> Result<Wanted, Error> {
        let judged = self.workspace.look_under(task, head)?;
        let settled = self.due(&judged, plan)?;
        Ok(Wanted::seen(judged, settled))
    }

    /// The steps that the rules yield for an evaluated task, as far as the plan permits.
    fn due(&self, judged: &Sight, plan: &AdvancePlan<'_>) -> Result<Settled, Error> {
        let (workflow, facts) = (judged.workflow(), &judged.observed.facts);
        let stamp = if plan.own { self.caller.own_stamp() } else { self.stamp() };
        let taken = std::cell::Cell::new(false);
        let may = |transition: &Transition| (plan.may)(transition) && !(plan.once && taken.replace(true));
        if !judged.untracked {
            let first = judged.decision.clone();
            let settled = settle_from(first, workflow, &judged.recorded, facts, &stamp, &may);
            self.workspace.costs.evaluated(settled.steps.len());
            return Ok(settled);
        }
        // A foreign state that names an unknown phase waits for a person, and keeps no other task from moving.
        let is_unknown = matches!(judged.decision.verdict, Verdict::Error { code: Code::UnknownPhase });
        let usable = matches!(judged.recorded, Recorded::New | Recorded::Known(_));
        if !usable || is_unknown || !(plan.adopt)(&judged.task.id) {
            return Ok(self.workspace.after(judged, Vec::new()));
        }
        let created = self.creation(judged, true, None, &stamp)?;
        let recorded = Recorded::Known(Box::new(created.state.clone()));
        let mut settled = settle(workflow, &recorded, facts, &stamp, &may);
        self.workspace.costs.evaluated(1 + settled.steps.len());
        settled.steps.insert(0, created);
        Ok(settled)
    }

    /// Applies the steps that `steps_of` yields for each task, and decides again if the branch moves
    /// meanwhile. Returns an error if a task cannot be read or a commit is not possible now.
    pub(crate) fn apply(
        &self,
        tasks: &[TaskRef],
        dry_run: bool,
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let mut wanted = Vec::new();
        for task in tasks {
            let judged = self.workspace.look(task)?;
            let settled = steps_of(&judged)?;
            wanted.push(Wanted::seen(judged, settled));
        }
        if dry_run || !wanted.iter().any(Wanted::is_due) {
            return Ok(wanted.into_iter().filter_map(Wanted::uncommitted).collect());
        }
        self.carry_out(&mut wanted, steps_of)
    }

    /// Applies what the rules decide for tasks with a step due; see [`Writer::advance`].
    pub(crate) fn advance_due(
        &self,
        wanted: &mut [Wanted],
        plan: &AdvancePlan<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        self.carry_out(wanted, &|judged| self.due(judged, plan))
    }

    /// Applies the steps of each task under the lock. An earlier look is used if it is still current; after
    /// an error, the last look stays in `wanted`. Returns an error if a task cannot be read or a commit is
    /// not possible now.
    pub(crate) fn carry_out(
        &self,
        wanted: &mut [Wanted],
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        if !self.workspace.commits() {
            return self.apply_without_git(wanted, steps_of);
        }
        for attempt in 0..TRIES {
            match self.apply_once(wanted, steps_of) {
                Err(error) if error.is_moved() && attempt + 1 < TRIES => {
                    tracing::info!(attempt, "the branch moved: evaluating the tasks again");
                    // The stamps of files do not show what other processes have committed.
                    wanted.iter_mut().for_each(|one| one.seen = None);
                    // Different delays, so that two processes that collided do not collide again.
                    let uneven = (std::process::id() + 7 * attempt) % 11;
                    sleep(Duration::from_millis(u64::from((4 << attempt.min(4)) + uneven)));
                }
                other => return other,
            }
        }
        Err(Error::moved())
    }

    /// Looks at a task, unless the earlier look is still current. `head` is HEAD now.
    fn renew(&self, wanted: &mut Wanted, head: Option<&Head>, steps_of: &Steps<'_>) -> Result<(), Error> {
        // A step follows from all of a log, and a look may have read no more than its end.
        let is_enough =
            |judged: &Sight, to: &Settled| to.steps.is_empty() || judged.observed.log.end().is_none();
        let stands = |(judged, to): &(Sight, Settled)| {
            is_enough(judged, to) && self.workspace.still_stands(judged, head)
        };
        if !wanted.seen.as_ref().is_some_and(stands) {
            let judged = self.workspace.look_whole(&wanted.task, head.cloned())?;
            let settled = steps_of(&judged)?;
            wanted.seen = Some((judged, settled));
        }
        Ok(())
    }

    fn apply_once(&self, wanted: &mut [Wanted], steps_of: &Steps<'_>) -> Result<Vec<TaskOutcome>, Error> {
        let Some(store) = &self.workspace.store else { return Ok(Vec::new()) };
        let mut transaction = store.begin()?;
        // Read after the transaction has read HEAD, because the decision is about that commit.
        let head = transaction.head().clone();
        let mut planned = Vec::new();
        let mut records = Vec::new();
        for one in wanted.iter_mut() {
            self.renew(one, Some(&head), steps_of)?;
            let due = one.seen.as_ref().filter(|(_, to)| !to.steps.is_empty());
            let commits = due.map(|(judged, to)| self.commits_for(store, judged, &to.steps)).transpose()?;
            let (commits, record) = commits.unwrap_or_default();
            planned.extend(commits);
            records.push(record);
        }
        let committed = transaction.commit(&planned)?;
        let head = transaction.head().clone();
        drop(transaction);
        let mut ids = committed.commits.iter().copied();
        let mut outcomes = Vec::new();
        for (one, record) in wanted.iter_mut().zip(records) {
            let Some((judged, Settled { steps, decision })) = one.seen.take() else { continue };
            let Some(record) = record else {
                outcomes.push(TaskOutcome::Nothing(Box::new(judged)));
                continue;
            };
            let mut notes = left_staged(&committed.left_staged, &judged.task.directory);
            let made: Vec<_> = steps.into_iter().map(|step| AppliedStep::new(step, ids.next())).collect();
            let commit = made.last().and_then(|step| step.commit);
            let placed = record.placed(decision, commit, Some(head.clone()), &committed.placed);
            notes.extend(committed.unfinished.iter().map(|problem| unfinished_note(problem)));
            let judged = self.workspace.sight_after(judged, placed);
            notes.extend(self.workspace.filtered(&judged).unwrap_or_default());
            let applied = Applied { judged, steps: made, notes };
            applied.trace();
            outcomes.push(TaskOutcome::Applied(Box::new(applied)));
        }
        Ok(outcomes)
    }

    /// A commit for each step, and the record after the last step.
    fn commits_for(
        &self,
        store: &Store,
        judged: &Sight,
        steps: &[Step],
    ) -> Result<(Vec<PlannedCommit>, Option<RecordFiles>), Error> {
        let workflow = judged.workflow();
        let state_path = judged.task.state_path();
        let transcript_path = judged.task.transcript_path();
        self.refuse_link(judged)?;
        refuse_unread(judged)?;
        self.refuse_data(workflow, steps)?;
        refuse_sparse(store, judged)?;
        refuse_ignored(store, judged, &transcript_path)?;
        let mut records = self.record_files(judged, steps)?;
        let mut commits = Vec::new();
        for (index, (step, record)) in steps.iter().zip(&records).enumerate() {
            let (mut writes, removes) =
                if index == 0 { evidence(store, judged)? } else { (Vec::new(), Vec::new()) };
            let before = judged.observed.state.as_ref().map(|file| file.bytes.as_slice());
            writes.push(Write::own(state_path.clone(), record.state.clone(), before));
            let before = judged.observed.log.whole();
            writes.push(Write::own(transcript_path.clone(), record.log.clone(), before));
            let signed_off =
                self.workspace.setting.config.git.sign_off.then(|| store.identity_line()).transpose()?;
            let message = Message {
                task: &judged.task.id,
                transition: &step.transition,
                workflow: &workflow.name,
                workflow_digest: workflow.digest,
                subject: &self.workspace.setting.config.git.subject,
                sign_off: signed_off.as_deref(),
            };
            commits.push(PlannedCommit { message: message.text(), writes, removes });
        }
        Ok((commits, records.pop()))
    }

    fn apply_without_git(
        &self,
        wanted: &mut [Wanted],
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let _lock = self.lock_directory()?;
        let head = self.workspace.store.as_ref().map(Store::head).transpose()?;
        let mut outcomes = Vec::new();
        for one in wanted {
            self.renew(one, head.as_ref(), steps_of)?;
            let Some((judged, settled)) = one.seen.take() else { continue };
            let Settled { steps, decision } = settled;
            let Some(last) = self.record_files(&judged, &steps)?.pop() else {
                outcomes.push(TaskOutcome::Nothing(Box::new(judged)));
                continue;
            };
            let workflow = judged.workflow();
            self.refuse_data(workflow, &steps)?;
            let stamps = self.write_record(&judged.task, &last)?;
            let (commit, head) = (None, head.clone());
            let judged = self.workspace.sight_after(judged, last.placed(decision, commit, head, &stamps));
            let steps = steps.into_iter().map(|step| AppliedStep::new(step, None)).collect();
            let applied = Applied { judged, steps, notes: Vec::new() };
            applied.trace();
            outcomes.push(TaskOutcome::Applied(Box::new(applied)));
        }
        Ok(outcomes)
    }

    /// Takes the lock among writers outside git: a kernel lock on the root directory.
    fn lock_directory(&self) -> Result<File, Error> {
        let refused = |source| io_error(&self.workspace.root, source);
        let directory = File::open(&self.workspace.root).map_err(refused)?;
        let mut wait = LockWait::new();
        while directory.try_lock().is_err() {
            if !wait.again() {
                return Err(Error::busy("another orch process is writing in this directory".to_owned()));
            }
        }
        Ok(directory)
    }
}

impl Wanted {
    /// The outcome without applying anything; `None` for a task without a look.
    pub(crate) fn uncommitted(self) -> Option<TaskOutcome> {
        let (judged, Settled { steps, .. }) = self.seen?;
        if steps.is_empty() {
            return Some(TaskOutcome::Nothing(Box::new(judged)));
        }
        let steps = steps.into_iter().map(|step| AppliedStep::new(step, None)).collect();
        Some(TaskOutcome::Applied(Box::new(Applied { judged, steps, notes: Vec::new() })))
    }
}

/// Every declared file of the task as evaluated, and the deletion of those that no longer exist.
fn evidence(store: &Store, judged: &Sight) -> Result<(Vec<Write>, Vec<RepoPath>), Error> {
    let head = store.source_at(judged.head_commit());
    let mut writes = Vec::new();
    for file in judged.observed.files.iter().filter(|file| file.commit) {
        if !head.holds(&file.path, file.digest, file.executable)? {
            let blob = store.clean(&file.path, &file.bytes)?.into_owned();
            if Digest::of_blob(&blob) != file.digest {
                // The filter yields other bytes now than when the file was evaluated.
                return Err(Error::moved());
            }
            let executable = head.mode_for(&file.path, file.executable)?;
            writes.push(Write::evidence(file.path.clone(), blob, executable));
        }
    }
    let mut removes = Vec::new();
    for path in head.paths_below(&judged.task.directory)? {
        let Some(below) = path.below(&judged.task.directory) else { continue };
        let is_there = judged.observed.files.iter().any(|file| file.path == path);
        if judged.compiled.matcher.matches_committed(below) && !is_there {
            removes.push(path);
        }
    }
    if let Some(file) = if removes.is_empty() { None } else { store.left_out(&removes)?.into_iter().next() } {
        // The file was not deleted: git left it out of the work tree.
        return Err(left_out(store, &file.path, &judged.task.directory));
    }
    Ok((writes, removes))
}

/// Refuses a task whose state or log is not checked out, because both are written in place.
fn refuse_sparse(store: &Store, judged: &Sight) -> Result<(), Error> {
    let (state, transcript) = (judged.task.state_path(), judged.task.transcript_path());
    let known = [(state, judged.observed.state.is_some()), (transcript, judged.observed.log.is_there())];
    match known.iter().find(|(path, known)| *known && path.under(store.root()).symlink_metadata().is_err()) {
        Some((path, _)) => Err(left_out(store, path, &judged.task.directory)),
        None => Ok(()),
    }
}

fn left_out(store: &Store, path: &RepoPath, directory: &RepoPath) -> Error {
    let message = format!("{path} is not checked out, so the transition cannot commit it");
    let hint = if store.is_sparse() {
        format!("git sparse-checkout add {directory}")
    } else {
        format!("git update-index --no-skip-worktree {path}, then git restore {path}")
    };
    Error::new(Code::EvidenceSparse, message).with_hint(hint)
}

/// Refuses an unreadable file: it cannot be evidence, and must not be committed as deleted either.
fn refuse_unread(judged: &Sight) -> Result<(), Error> {
    let refuse = |code, path: &RepoPath| {
        let message = format!("cannot read {path}, so the transition cannot commit it as evidence");
        let hint = command(&["orch", "check", judged.task.id.as_str()]);
        Err(Error::new(code, message).with_hint(hint))
    };
    if let Some(path) = judged.observed.nested.first() {
        let message = format!("{path} is a separate repository, so the transition cannot commit its files");
        let hint = "move it out of the task, or remove its .git".to_owned();
        return Err(Error::new(Code::RepositoryInsideTask, message).with_hint(hint));
    }
    if let Some(path) = judged.observed.unread.first() {
        return refuse(Code::EvidenceUnreadable, path);
    }
    if let Some(problem) = judged.observed.state.as_ref().and_then(|state| state.problems.first()) {
        // The state is written in place, and only a regular file can be replaced.
        let message = format!("{}: {}", judged.task.state_path(), problem.message);
        let hint = "remove it, and run the command again; orch writes it from the log".to_owned();
        return Err(Error::new(Code::StateUnusable, message).with_hint(hint));
    }
    if judged.observed.log == ObservedLog::Unreadable {
        return refuse(Code::TranscriptUnreadable, &judged.task.transcript_path());
    }
    Ok(())
}

/// Refuses a transition whose evidence git ignores. It is never added by force.
fn refuse_ignored(store: &Store, judged: &Sight, log: &RepoPath) -> Result<(), Error> {
    match ignored(store, judged, log)?.first() {
        None => Ok(()),
        Some(path) => {
            let message = format!("git ignores {path}, so the transition cannot commit it as evidence");
            Err(Error::new(Code::EvidenceIgnored, message).with_hint(IGNORED_HINT.to_owned()))
        }
    }
}

fn left_staged(paths: &[RepoPath], directory: &RepoPath) -> Vec<Diagnostic> {
    let ours = paths.iter().filter(|path| path.below(directory).is_some());
    ours.map(|path| {
        let message = format!("{path}: you have staged another version, which orch leaves staged");
        let path = shell_word(path.as_str());
        Diagnostic::warning(Code::StagedOther, message)
            .hint(format!("git add {path}, or git restore --staged {path}"))
    })
    .collect()
}

fn unfinished_note(problem: &str) -> Diagnostic {
    let message = format!("committed, but could not update files or index: {problem}");
    Diagnostic::warning(Code::Unfinished, message).hint("the next orch command completes it")
}
