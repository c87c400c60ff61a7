//! Applying transitions: under the lock, on bytes read once, one commit each.

use super::Writer;
use crate::base::{Code, Diagnostic, Digest, RepoPath, TaskId, command, shell_word};
use crate::decide::{Recorded, Step, Transition, settle};
use crate::store::{PlannedCommit, Store, Write};
use crate::survey::evidence::{IGNORED_HINT, ignored};
use crate::survey::{Error, Judged, TaskRef};
use crate::view::Message;
use std::fs::File;
use std::thread::sleep;
use std::time::Duration;

/// How far to go.
pub struct AdvancePlan<'a> {
    /// Which transitions may be applied.
    pub may: &'a dyn Fn(&Transition) -> bool,
    /// Only the first one.
    pub once: bool,
    /// By whom: `orch` itself, or the caller.
    pub own: bool,
    /// Decide, but write nothing.
    pub dry_run: bool,
    /// Which untracked tasks are adopted on the way.
    pub adopt: &'a dyn Fn(&TaskId) -> bool,
}

/// What came of one task.
pub enum TaskOutcome {
    /// Transitions were applied.
    Applied(Box<Applied>),
    /// There was nothing to apply.
    Nothing(Box<Judged>),
}

/// Transitions that were applied to one task.
pub struct Applied {
    /// The task as it stands afterwards.
    pub judged: Judged,
    /// Every transition with its commit; without one where nothing is committed.
    pub steps: Vec<(Transition, Option<Digest>)>,
    /// What the user should know beside it.
    pub notes: Vec<Diagnostic>,
}

impl Applied {
    /// Logs every transition.
    fn trace(&self) {
        for (transition, commit) in &self.steps {
            let (from, rule) = (transition.from.as_ref(), transition.rule.as_ref());
            tracing::info!(
                task = %self.judged.task.id,
                from = from.map(|phase| phase.as_str()),
                to = %transition.to,
                rule = rule.map(|rule| rule.as_str()),
                commit = commit.map(tracing::field::display),
                "moved"
            );
        }
    }
}

/// Which steps a judged task takes.
pub(crate) type Steps<'a> = dyn Fn(&Judged) -> Result<Vec<Step>, Error> + 'a;

/// How often a batch is decided anew after the branch moved under it.
const TRIES: u32 = 20;

impl Writer<'_> {
    /// Applies what the rules decide for each task, in one batch: the index is written once.
    pub fn advance(&self, tasks: &[TaskRef], plan: &AdvancePlan<'_>) -> Result<Vec<TaskOutcome>, Error> {
        self.apply(tasks, plan.dry_run, &|judged| self.due(judged, plan))
    }

    /// What [`Workspace::advance`] would do with a task now; nothing is written.
    pub(crate) fn foresee(&self, task: &TaskRef, plan: &AdvancePlan<'_>) -> Result<TaskOutcome, Error> {
        let judged = self.workspace.judge(task)?;
        let steps = self.due(&judged, plan)?;
        Ok(uncommitted(judged, steps))
    }

    /// The steps that the rules yield for a judged task, as far as the plan allows.
    fn due(&self, judged: &Judged, plan: &AdvancePlan<'_>) -> Result<Vec<Step>, Error> {
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let mut steps = Vec::new();
        let mut recorded = judged.recorded.clone();
        let stamp = if plan.own { self.caller.own_stamp() } else { self.stamp() };
        if judged.untracked {
            let usable = matches!(recorded, Recorded::New | Recorded::Known(_));
            if !usable || !(plan.adopt)(&judged.task.id) {
                return Ok(steps);
            }
            let created = self.creation(judged, true, None, &stamp)?;
            recorded = Recorded::Known(Box::new(created.state.clone()));
            steps.push(created);
        }
        let taken = std::cell::Cell::new(false);
        let may = |transition: &Transition| (plan.may)(transition) && !(plan.once && taken.replace(true));
        steps.extend(settle(workflow, &recorded, &judged.observed.facts, &stamp, &may).steps);
        Ok(steps)
    }

    /// Applies the steps that `steps_of` yields for each task; decides anew if the branch moved.
    pub(crate) fn apply(
        &self,
        tasks: &[TaskRef],
        dry_run: bool,
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        let mut wanted = Vec::new();
        for task in tasks {
            let judged = self.workspace.judge(task)?;
            let steps = steps_of(&judged)?;
            wanted.push((judged, steps));
        }
        if dry_run || wanted.iter().all(|(_, steps)| steps.is_empty()) {
            return Ok(wanted.into_iter().map(|(judged, steps)| uncommitted(judged, steps)).collect());
        }
        self.carry_out(tasks, steps_of)
    }

    /// Applies what the rules decide for tasks of which something is known to be due.
    pub(crate) fn advance_due(
        &self,
        tasks: &[TaskRef],
        plan: &AdvancePlan<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        self.carry_out(tasks, &|judged| self.due(judged, plan))
    }

    pub(crate) fn carry_out(
        &self,
        tasks: &[TaskRef],
        steps_of: &Steps<'_>,
    ) -> Result<Vec<TaskOutcome>, Error> {
        if !self.workspace.commits() {
            return self.apply_without_git(tasks, steps_of);
        }
        for attempt in 0..TRIES {
            match self.apply_once(tasks, steps_of) {
                Err(error) if error.is_moved() && attempt + 1 < TRIES => {
                    tracing::info!(attempt, "the branch moved: the tasks are judged again");
                    // Uneven, so that two that collided do not collide again.
                    let uneven = (std::process::id() + 7 * attempt) % 11;
                    sleep(Duration::from_millis(u64::from((4 << attempt.min(4)) + uneven)));
                }
                other => return other,
            }
        }
        Err(Error::moved())
    }

    fn apply_once(&self, tasks: &[TaskRef], steps_of: &Steps<'_>) -> Result<Vec<TaskOutcome>, Error> {
        let Some(store) = &self.workspace.store else { return Ok(Vec::new()) };
        let mut transaction = store.begin()?;
        // Read after the transaction has noted which commit HEAD names: the verdict is about that.
        let mut planned = Vec::new();
        let mut decided = Vec::new();
        for task in tasks {
            let judged = self.workspace.judge(task)?;
            let steps = steps_of(&judged)?;
            if !steps.is_empty() {
                planned.extend(self.commits_for(store, &judged, &steps)?);
            }
            decided.push((judged, steps));
        }
        let committed = transaction.commit(&planned)?;
        drop(transaction);
        let mut ids = committed.commits.iter().copied();
        let mut outcomes = Vec::new();
        for (judged, steps) in decided {
            if steps.is_empty() {
                outcomes.push(TaskOutcome::Nothing(Box::new(judged)));
                continue;
            }
            let steps = steps.into_iter().map(|step| (step.transition, ids.next())).collect();
            let task = judged.task.clone();
            let mut notes = left_staged(&committed.left_staged, &task.directory);
            // The commits are made, so nothing that goes wrong from here on may say that they are not.
            let judged = self.workspace.judge(&task).unwrap_or_else(|error| {
                let message =
                    format!("the commit is made, but where the task stands now cannot be told: {error}");
                notes.push(Diagnostic::warning(Code::Unjudged, message));
                judged
            });
            notes.extend(self.workspace.filtered(&judged).unwrap_or_default());
            notes.extend(committed.unfinished.iter().map(|problem| unfinished_note(problem)));
            let applied = Applied { judged, steps, notes };
            applied.trace();
            outcomes.push(TaskOutcome::Applied(Box::new(applied)));
        }
        Ok(outcomes)
    }

    fn commits_for(
        &self,
        store: &Store,
        judged: &Judged,
        steps: &[Step],
    ) -> Result<Vec<PlannedCommit>, Error> {
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let state_path = judged.task.state_path()?;
        let transcript_path = judged.task.transcript_path()?;
        self.refuse_link(judged)?;
        refuse_unread(judged)?;
        self.refuse_data(workflow, steps)?;
        refuse_sparse(store, judged)?;
        refuse_ignored(store, judged, &transcript_path)?;
        let records = self.record_files(judged, steps)?;
        let mut commits = Vec::new();
        for (index, (step, record)) in steps.iter().zip(records).enumerate() {
            let (mut writes, removes) =
                if index == 0 { evidence(store, judged)? } else { (Vec::new(), Vec::new()) };
            let before = judged.observed.state.as_ref().map(|file| file.bytes.as_slice());
            writes.push(Write::own(state_path.clone(), record.state, before));
            let before = judged.observed.transcript.as_deref();
            writes.push(Write::own(transcript_path.clone(), record.log, before));
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
        Ok(commits)
    }

    fn apply_without_git(&self, tasks: &[TaskRef], steps_of: &Steps<'_>) -> Result<Vec<TaskOutcome>, Error> {
        let _lock = self.lock_directory()?;
        let mut outcomes = Vec::new();
        for task in tasks {
            let judged = self.workspace.judge(task)?;
            let steps = steps_of(&judged)?;
            let Some(last) = self.record_files(&judged, &steps)?.pop() else {
                outcomes.push(TaskOutcome::Nothing(Box::new(judged)));
                continue;
            };
            let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
            self.refuse_data(workflow, &steps)?;
            self.write_record(task, &last)?;
            let steps = steps.into_iter().map(|step| (step.transition, None)).collect();
            let judged = self.workspace.judge(task)?;
            let applied = Applied { judged, steps, notes: Vec::new() };
            applied.trace();
            outcomes.push(TaskOutcome::Applied(Box::new(applied)));
        }
        Ok(outcomes)
    }

    /// One writer at a time, also outside git: a kernel lock on the root directory itself.
    fn lock_directory(&self) -> Result<File, Error> {
        let refused = |source| Error::io(&self.workspace.root, source);
        let directory = File::open(&self.workspace.root).map_err(refused)?;
        for attempt in 0..10 {
            if directory.try_lock().is_ok() {
                return Ok(directory);
            }
            tracing::info!(attempt, "waiting: another orch process holds the lock");
            sleep(Duration::from_millis(5 << attempt));
        }
        Err(Error::busy("another orch is writing here".to_owned()))
    }
}

fn uncommitted(judged: Judged, steps: Vec<Step>) -> TaskOutcome {
    if steps.is_empty() {
        return TaskOutcome::Nothing(Box::new(judged));
    }
    let steps = steps.into_iter().map(|step| (step.transition, None)).collect();
    TaskOutcome::Applied(Box::new(Applied { judged, steps, notes: Vec::new() }))
}

/// Every declared file of the task as judged, and the deletion of those gone.
fn evidence(store: &Store, judged: &Judged) -> Result<(Vec<Write>, Vec<RepoPath>), Error> {
    let mut writes = Vec::new();
    for file in judged.observed.files.iter().filter(|file| file.commit) {
        if !store.holds_at_head(&file.path, file.digest, file.executable)? {
            let blob = store.clean(&file.path, &file.bytes)?.into_owned();
            if Digest::of_blob(&blob) != file.digest {
                // The filter gives other bytes now than when the file was judged.
                return Err(Error::moved());
            }
            let executable = store.mode_for(&file.path, file.executable)?;
            writes.push(Write::evidence(file.path.clone(), blob, executable));
        }
    }
    let mut removes = Vec::new();
    if let Some(matcher) = &judged.loaded.matcher {
        for path in store.files_at_head(&judged.task.directory)? {
            let Some(below) = path.below(&judged.task.directory) else { continue };
            if matcher.matches_committed(below) && !judged.observed.files.iter().any(|file| file.path == path)
            {
                removes.push(path);
            }
        }
    }
    if let Some(file) = if removes.is_empty() { None } else { store.left_out(&removes)?.into_iter().next() } {
        // It is not gone: git was told to leave it out of the work tree.
        return Err(left_out(store, &file.path, &judged.task.directory));
    }
    Ok((writes, removes))
}

/// The state and the transcript are written where they lie, so they must be checked out.
fn refuse_sparse(store: &Store, judged: &Judged) -> Result<(), Error> {
    let (state, transcript) = (judged.task.state_path()?, judged.task.transcript_path()?);
    let known = [(state, judged.observed.state.is_some()), (transcript, judged.observed.has_transcript)];
    match known.iter().find(|(path, known)| *known && path.under(store.root()).symlink_metadata().is_err()) {
        Some((path, _)) => Err(left_out(store, path, &judged.task.directory)),
        None => Ok(()),
    }
}

fn left_out(store: &Store, path: &RepoPath, directory: &RepoPath) -> Error {
    let message = format!("{path} is not checked out, so the transition could not carry it");
    let hint = if store.is_sparse() {
        format!("git sparse-checkout add {directory}")
    } else {
        format!("git update-index --no-skip-worktree {path}, then git restore {path}")
    };
    Error::new(Code::EvidenceSparse, message).with_hint(hint)
}

/// What is there and cannot be read can be no proof, and must not be committed as deleted either.
fn refuse_unread(judged: &Judged) -> Result<(), Error> {
    let refuse = |code, path: &RepoPath| {
        let message =
            format!("{path} is there but cannot be read, so the transition could not carry its proof");
        let hint = command(&["orch", "check", judged.task.id.as_str()]);
        Err(Error::new(code, message).with_hint(hint))
    };
    if let Some(path) = judged.observed.nested.first() {
        let message =
            format!("{path} is a repository of its own, so the transition could not carry what is in it");
        let hint = "move it out of the task, or remove its .git".to_owned();
        return Err(Error::new(Code::RepositoryInsideTask, message).with_hint(hint));
    }
    if let Some(path) = judged.observed.unread.first() {
        return refuse(Code::EvidenceUnreadable, path);
    }
    if judged.observed.has_transcript && judged.observed.transcript.is_none() {
        return refuse(Code::TranscriptUnreadable, &judged.task.transcript_path()?);
    }
    Ok(())
}

/// A transition whose proof git ignores could not be proven; it is refused, never forced.
fn refuse_ignored(store: &Store, judged: &Judged, log: &RepoPath) -> Result<(), Error> {
    match ignored(store, judged, log)?.first() {
        None => Ok(()),
        Some(path) => {
            let message = format!("git ignores {path}, so the transition could not carry its proof");
            Err(Error::new(Code::EvidenceIgnored, message).with_hint(IGNORED_HINT.to_owned()))
        }
    }
}

fn left_staged(paths: &[RepoPath], directory: &RepoPath) -> Vec<Diagnostic> {
    let ours = paths.iter().filter(|path| path.below(directory).is_some());
    ours.map(|path| {
        let message = format!("{path}: you have staged another version; it is left as you staged it");
        let path = shell_word(path.as_str());
        Diagnostic::warning(Code::StagedOther, message)
            .hint(format!("git add {path}, or git restore --staged {path}"))
    })
    .collect()
}

fn unfinished_note(problem: &str) -> Diagnostic {
    let message =
        format!("the commit is made, but files or index could not be brought up to date: {problem}");
    Diagnostic::warning(Code::Unfinished, message).hint("the next run of orch finishes it")
}
