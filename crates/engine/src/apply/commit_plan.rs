//! The commits that record steps: one for each step, or one for all of them.

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
use std::mem::take;

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

    /// The commits that record all these steps: a single one if `is_one`, otherwise one for each step, of which the
    /// first of a task contains its evidence. The files that are imported are committed first, in one commit;
    /// also returns whether there is one. Returns an error if git has no identity for the sign-off.
    pub(super) fn planned(
        &self,
        store: &Store,
        tasks: &mut [TaskCommit<'_>],
        is_one: bool,
    ) -> Result<(Vec<PlannedCommit>, bool), Error> {
        let sign_off = sign_off(&self.reader.settings, store)?;
        let originals = originals(store, tasks, sign_off.as_deref())?;
        // With one commit for all, there are more messages than changes.
        let mut messages = Vec::new();
        let mut changes = Vec::new();
        for task in tasks {
            let sight = task.sight;
            let mut writes = take(&mut task.writes);
            let mut removes = take(&mut task.removes);
            let records = task.earlier.iter().chain([&task.record]);
            for (index, (step, record)) in task.steps.iter().zip(records).enumerate() {
                messages.push(message(
                    &self.reader.settings,
                    sight,
                    &sight.task,
                    step,
                    sign_off.as_deref(),
                ));
                if is_one && index + 1 < task.steps.len() {
                    continue;
                }
                // The first commit of the task takes the evidence, and leaves none for the next.
                let mut writes = take(&mut writes);
                let removes = take(&mut removes);
                writes.extend(record_writes(store, sight, &sight.task, record));
                changes.push((writes, removes));
            }
        }
        let planned = |message, (writes, removes)| PlannedCommit {
            message,
            writes,
            removes,
            moves: Vec::new(),
        };
        let kept = originals.map(|(message, writes)| planned(message, (writes, Vec::new())));
        let has_kept = kept.is_some();
        let mut all: Vec<PlannedCommit> = kept.into_iter().collect();
        if !is_one {
            let each = messages.iter().zip(changes);
            all.extend(each.map(|(message, change)| planned(message.text(), change)));
        } else if !changes.is_empty() {
            let (writes, removes): (Vec<Vec<Write>>, Vec<Vec<RepoPath>>) =
                changes.into_iter().unzip();
            all.push(planned(
                Message::text_of_all(&messages),
                (writes.concat(), removes.concat()),
            ));
        }
        Ok((all, has_kept))
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
