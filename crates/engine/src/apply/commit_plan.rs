//! The commits that record steps: one for each step, for those of a task, or for those of several tasks.

use super::advance::{Advance, Foreseen};
use super::new_result::result_files;
use super::preflight::refuse_link;
use super::record_files::RecordFiles;
use crate::survey::evidence::{IGNORED_HINT, ignored};
use crate::survey::{Error, Settings, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint, RepoPath};
use orch_core::decide::Step;
use orch_files::{ObservedLog, Source};
use orch_git::{PlannedCommit, Store, Write};
use orch_view::{Message, kept_message};

/// The steps of one task, and what records them.
pub(super) struct TaskCommit<'s> {
    sight: &'s Sight,
    pub(super) steps: &'s [Step],
    /// The evidence that HEAD lacks.
    writes: Vec<Write>,
    /// The evidence that HEAD has and that no longer exists.
    removes: Vec<RepoPath>,
    /// The record after each step but the last.
    earlier: Vec<RecordFiles>,
    /// The record after the last step.
    pub(super) record: RecordFiles,
}

/// Which steps share a commit. A send-back shares none with what is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// None.
    Nothing,
    /// Those of a task.
    EachTask,
    /// Those of all tasks.
    AllTasks,
}

impl TaskCommit<'_> {
    /// Which commit contains each of the steps, after the commits that are `made`. With [`Sharing::AllTasks`], the first steps
    /// belong into the commit `joint`, if there is one.
    fn commits_of_steps(&self, sharing: Sharing, made: usize, joint: Option<usize>) -> Vec<usize> {
        let mut of_steps: Vec<usize> = Vec::new();
        let mut next = made;
        for index in 0..self.steps.len() {
            let shared = of_steps.last().copied().or(joint);
            // The revert of a send-back takes back nothing before it.
            let is_new = sharing == Sharing::Nothing || self.sends_back(index);
            let at = shared.filter(|_| !is_new).unwrap_or(next);
            next = next.max(at + 1);
            of_steps.push(at);
        }
        of_steps
    }

    fn sends_back(&self, index: usize) -> bool {
        let workflow = self.sight.workflow();
        let step = self.steps.get(index);
        step.is_some_and(|step| step.transition.sends_back(workflow))
    }
}

/// The commits that record the steps of several tasks.
pub(super) struct StepCommits {
    pub(super) commits: Vec<PlannedCommit>,
    /// For each task, which of the commits contains each of its steps.
    pub(super) of_tasks: Vec<Vec<usize>>,
}

/// A commit while steps are added to it.
#[derive(Default)]
struct CommitDraft<'m> {
    messages: Vec<Message<'m>>,
    writes: Vec<Write>,
    removes: Vec<RepoPath>,
}

impl Advance<'_> {
    /// What records the steps of a task; there must be a step. Returns an error if the task does not permit a
    /// commit now.
    pub(super) fn task_commit<'s>(
        &self,
        store: &Store,
        seen: &'s mut Foreseen,
    ) -> Result<TaskCommit<'s>, Error> {
        let sight = &seen.sight;
        refuse_link(self.reader, sight)?;
        self.records.make_directory(&sight.task)?;
        refuse_unread(sight)?;
        self.records
            .refuse_data(sight.workflow(), &seen.settled.steps)?;
        refuse_sparse(store, sight)?;
        refuse_ignored(store, sight, &sight.task.transcript_path())?;
        let mut earlier = seen.take_records(self.records)?;
        let sight = &seen.sight;
        let steps = seen.settled.steps.as_slice();
        let Some(record) = earlier.pop() else {
            return Err(Error::new(Code::StateInvalid, "there is no step to record"));
        };
        let (mut writes, removes) = evidence(store, sight)?;
        let root = &self.reader.root;
        writes.extend(result_files(store, root, &sight.task, self.results)?);
        Ok(TaskCommit {
            sight,
            steps,
            writes,
            removes,
            earlier,
            record,
        })
    }

    /// The commits that record all these steps. The first commit of a task contains its evidence. The files that are
    /// imported are committed before, in one commit. Returns an error if git has no identity for the sign-off.
    pub(super) fn planned(
        &self,
        store: &Store,
        tasks: &mut [TaskCommit<'_>],
        sharing: Sharing,
    ) -> Result<StepCommits, Error> {
        let sign_off = sign_off(&self.reader.settings, store)?;
        let originals = originals(store, tasks, sign_off.as_deref())?;
        let mut drafts: Vec<CommitDraft<'_>> = Vec::new();
        let mut of_tasks = Vec::new();
        // The commit that the first steps of several tasks share.
        let mut joint = None;
        for task in tasks {
            let sight = task.sight;
            let of_steps = task.commits_of_steps(sharing, drafts.len(), joint);
            if sharing == Sharing::AllTasks && !task.sends_back(0) {
                joint = of_steps.first().copied();
            }
            let records = task.earlier.iter().chain([&task.record]);
            for (index, (step, record)) in task.steps.iter().zip(records).enumerate() {
                let at = of_steps[index];
                if at == drafts.len() {
                    drafts.push(CommitDraft::default());
                }
                let draft = &mut drafts[at];
                draft.messages.push(message(
                    &self.reader.settings,
                    sight,
                    &sight.task,
                    step,
                    sign_off.as_deref(),
                ));
                // The first commit of the task takes the evidence, and leaves none for the next.
                draft.writes.append(&mut task.writes);
                draft.removes.append(&mut task.removes);
                if of_steps.get(index + 1) != Some(&at) {
                    let record = record_writes(store, sight, &sight.task, record);
                    draft.writes.extend(record);
                }
            }
            of_tasks.push(of_steps);
        }
        let number_kept = usize::from(originals.is_some());
        of_tasks
            .iter_mut()
            .flatten()
            .for_each(|at| *at += number_kept);
        let kept = originals.map(|(message, writes)| planned(message, writes, Vec::new()));
        let steps = drafts.into_iter().map(|draft| {
            planned(
                Message::text_of_all(&draft.messages),
                draft.writes,
                draft.removes,
            )
        });
        Ok(StepCommits {
            commits: kept.into_iter().chain(steps).collect(),
            of_tasks,
        })
    }
}

fn planned(message: String, writes: Vec<Write>, removes: Vec<RepoPath>) -> PlannedCommit {
    PlannedCommit {
        message,
        writes,
        removes,
        moves: Vec::new(),
    }
}

/// Who signs a commit off, if the settings ask for it. Returns an error if git has no identity.
pub(super) fn sign_off(settings: &Settings, store: &Store) -> Result<Option<String>, Error> {
    settings
        .config
        .git
        .sign_off
        .then(|| store.identity().line())
        .transpose()
}

/// The message of the commit that records a step; `place` is the task after the step.
pub(super) fn message<'m>(
    settings: &'m Settings,
    sight: &'m Sight,
    place: &'m TaskRef,
    step: &'m Step,
    sign_off: Option<&'m str>,
) -> Message<'m> {
    Message {
        task: &place.id,
        transition: &step.transition,
        workflow: &sight.workflow().name,
        workflow_digest: sight.workflow().digest,
        subject: &settings.config.git.subject,
        sign_off,
    }
}

/// The two files of a record, as they are written; `place` is the task after the commit.
pub(super) fn record_writes(
    store: &Store,
    sight: &Sight,
    place: &TaskRef,
    record: &RecordFiles,
) -> [Write; 2] {
    let task = &sight.task;
    let observed = &sight.observed;
    let state = observed
        .state
        .as_ref()
        .map(|file| store.objects().format().blob(&file.bytes));
    let log = observed
        .log
        .whole()
        .map(|log| store.objects().format().blob(log));
    [
        Write::own(
            place.state_path(),
            task.state_path(),
            record.state.clone(),
            state,
        ),
        Write::own(
            place.transcript_path(),
            task.transcript_path(),
            record.log.clone(),
            log,
        ),
    ]
}

/// The message and the files of the commit that keeps the files to be imported; `None` if HEAD has them all.
fn originals(
    store: &Store,
    tasks: &[TaskCommit<'_>],
    sign_off: Option<&str>,
) -> Result<Option<(String, Vec<Write>)>, Error> {
    let mut writes = Vec::new();
    let mut ids = Vec::new();
    for TaskCommit { sight, .. } in tasks {
        let Some(original) = sight.state().and_then(|state| state.original.as_ref()) else {
            continue;
        };
        let path = sight.task.state_path();
        let file = sight.observed.state.as_ref();
        let is_held =
            store
                .objects()
                .source_at(sight.head_commit())
                .holds(&path, original.digest, false)?;
        if let Some(file) = file.filter(|_| !is_held) {
            writes.push(Write::evidence(path, file.bytes.clone(), false));
            ids.push(&sight.task.id);
        }
    }
    Ok((!writes.is_empty()).then(|| (kept_message(&ids, sign_off), writes)))
}

/// Every declared file of the task as evaluated, and the deletion of those that no longer exist.
fn evidence(store: &Store, sight: &Sight) -> Result<(Vec<Write>, Vec<RepoPath>), Error> {
    let head = store.objects().source_at(sight.head_commit());
    let mut writes = Vec::new();
    for file in sight.observed.files.iter().filter(|file| file.commit) {
        if !head.holds(&file.path, file.digest, file.executable)? {
            let blob = store.filters().clean(&file.path, &file.bytes)?.into_owned();
            if store.objects().format().blob(&blob) != file.digest {
                // The filter yields other bytes now than when the file was evaluated.
                return Err(Error::moved());
            }
            let executable = head.mode_for(&file.path, file.executable)?;
            writes.push(Write::evidence(file.path.clone(), blob, executable));
        }
    }
    let mut removes = Vec::new();
    for entry in head.list_task(&sight.task.place)? {
        let Ok(path) = RepoPath::new(&entry.path) else {
            continue;
        };
        let Some(below) = sight.task.place.name(&path) else {
            continue;
        };
        let is_there = sight.observed.files.iter().any(|file| file.path == path);
        if sight.compiled.matcher.matches_committed(below) && !is_there {
            removes.push(path);
        }
    }
    if let Some(file) = if removes.is_empty() {
        None
    } else {
        store.index().left_out(&removes)?.into_iter().next()
    } {
        // The file was not deleted: git left it out of the work tree.
        return Err(left_out(store, &file.path, sight.task.directory()));
    }
    Ok((writes, removes))
}

/// Refuses a task whose state or log is not checked out, because both are written in place.
fn refuse_sparse(store: &Store, sight: &Sight) -> Result<(), Error> {
    let state = sight.task.state_path();
    let transcript = sight.task.transcript_path();
    let known = [
        (state, sight.observed.state.is_some()),
        (transcript, sight.observed.log.is_there()),
    ];
    match known.iter().find(|(path, known)| {
        *known
            && path
                .under(store.layout().root())
                .symlink_metadata()
                .is_err()
    }) {
        Some((path, _)) => Err(left_out(store, path, sight.task.directory())),
        None => Ok(()),
    }
}

fn left_out(store: &Store, path: &RepoPath, directory: &RepoPath) -> Error {
    let message = format!("{path} is not checked out, so the transition cannot commit it");
    let hint = if store.index().is_sparse() {
        Hint::run(&["git", "sparse-checkout", "add", directory.as_str()])
    } else {
        Hint::run(&[
            "git",
            "update-index",
            "--no-skip-worktree",
            "--",
            path.as_str(),
        ])
        .text(", then ")
        .command(&["git", "restore", "--", path.as_str()])
    };
    Error::new(Code::EvidenceSparse, message).with_hint(hint)
}

/// Refuses an unreadable file: it cannot be evidence, and must not be committed as deleted either.
pub(super) fn refuse_unread(sight: &Sight) -> Result<(), Error> {
    let refuse = |code, path: &RepoPath| {
        let message = format!("cannot read {path}, so the transition cannot commit it as evidence");
        let hint = Hint::run(&["orch", "check", sight.task.id.as_str()]);
        Err(Error::new(code, message).with_hint(hint))
    };
    if let Some(path) = sight.observed.nested.first() {
        let message =
            format!("{path} is a separate repository, so the transition cannot commit its files");
        let hint = "move it out of the task, or remove its .git";
        return Err(Error::new(Code::RepositoryInsideTask, message).with_hint(hint));
    }
    if let Some(path) = sight.observed.unread.first() {
        return refuse(Code::EvidenceUnreadable, path);
    }
    if let Some(problem) = sight
        .observed
        .state
        .as_ref()
        .and_then(|state| state.problems.first())
    {
        // The state is written in place, and only a regular file can be replaced.
        let refused = Diagnostic {
            code: Code::StateUnusable,
            ..problem.clone()
        };
        let hint = "remove it, and run the command again; orch writes it from the log";
        return Err(Error::from(refused).with_hint(hint));
    }
    if sight.observed.log == ObservedLog::Unreadable {
        return refuse(Code::TranscriptUnreadable, &sight.task.transcript_path());
    }
    Ok(())
}

/// Refuses a transition whose evidence git ignores. It is never added by force.
fn refuse_ignored(store: &Store, sight: &Sight, log: &RepoPath) -> Result<(), Error> {
    match ignored((store, sight.head_commit()), &sight.observed, log, |path| {
        store.filters().is_ignored(path)
    })?
    .first()
    {
        None => Ok(()),
        Some(path) => {
            let message =
                format!("git ignores {path}, so the transition cannot commit it as evidence");
            Err(Error::new(Code::EvidenceIgnored, message).with_hint(IGNORED_HINT))
        }
    }
}
