//! One look at one task: what was read, and what the rules decide.

use super::basis::LookBasis;
use super::costs::Counted;
use super::held_record::HeldReading;
use super::listed::{ListedTask, those_that_matter};
use super::misplaced::other_task;
use super::others::rests_on_others;
use super::snapshot::{Reading, Snapshot};
use super::{Error, Reader, TaskRef, UsableWorkflow};
use crate::run::RunFiles;
use crate::verify::{AttemptStanding, VerifyAttempt};
use orch_base::{Code, Diagnostic, Digest, Hint, RepoPath, TaskId, Timestamp};
use orch_core::decide::{
    Circumstances, CompleteDecision, Decision, DueVerification, Ending, Lapse, LastRun, OwnFile,
    PersonOrder, Recorded, Remembered, Runner, STALE_STATE, Settled, State, Step, Verdict,
    VerificationAttempt, complete, evaluate, evaluate_here, lapses, person_orders,
};
use orch_core::workflow::Workflow;
use orch_files::{Entry, FileStamp, ObservedLog};
use orch_git::{BaseBranch, Head, Store, StoreCounts};
use orch_read::{Observed, StateFile};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

/// What one look at a task has read, and what the rules decide.
///
/// Made by a [`Look`]. After a transition the writer derives the next one from it, without reading
/// again.
#[derive(Clone)]
pub struct Sight {
    /// The task that was looked at.
    pub task: TaskRef,
    /// The workflow that evaluated it.
    pub compiled: Arc<UsableWorkflow>,
    /// The recorded state, or why there is none.
    pub recorded: Recorded,
    /// The bytes and facts that were evaluated.
    pub observed: Observed,
    /// What the rules decide, and the commands that are possible now.
    pub decision: Decision,
    /// Whether the current branch has no log of it: evaluated, but never written or committed.
    pub untracked: bool,
    /// Whether the current branch contains exactly this log.
    pub is_committed: bool,
    /// What is known about the process that runs it.
    pub runner: Option<Runner>,
    /// What the look depends on.
    pub(crate) key: SightKey,
    /// What else it depends on.
    pub(crate) basis: LookBasis,
    pub(crate) last_run: LastRun,
}

/// What a look depends on: HEAD, and the stamps of the task's files before they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SightKey {
    /// HEAD at that time; `None` outside git, and for a look at a commit or at the index.
    pub(crate) head: Option<Head>,
    /// The stamps of the task's files, by path.
    entries: BTreeMap<String, Option<FileStamp>>,
    /// Whether a file changed so recently that another change might not alter its stamp.
    is_recent: bool,
}

impl Sight {
    /// The recorded state, if it is usable.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        match &self.recorded {
            Recorded::Known(state) => Some(state),
            _ => None,
        }
    }

    /// The human-readable title of the task.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.state()?.title.as_deref()
    }

    /// What a person may order in any case; nothing if no step can follow the record.
    #[must_use]
    pub fn person_orders(&self) -> Vec<PersonOrder> {
        let state = self.state().filter(|_| !self.untracked);
        let orders = state.map(|state| {
            person_orders(
                self.workflow(),
                state,
                &self.observed.facts,
                &self.decision,
                self.runner.as_ref(),
            )
        });
        orders.unwrap_or_default()
    }

    /// Returns an error if there is no workflow now by which the task could take a step.
    pub fn require_workflow(&self) -> Result<(), Error> {
        if !lacks_workflow(&self.decision) {
            return Ok(());
        }
        let name = &self.workflow().name;
        let message = format!(
            "workflow `{name}`, by which `{}` would continue, no longer exists",
            self.task.id
        );
        let hint = format!(
            "put its document back, or add aliases = [\"{name}\"] to `[workflow]` of the one that replaced it"
        );
        Err(Error::new(Code::WorkflowMissing, message).with_hint(hint))
    }

    /// Returns an error if the record of the task is damaged or lost.
    pub fn require_whole_record(&self) -> Result<(), Error> {
        let faults = self.recorded.faults(&self.task.id);
        faults
            .into_iter()
            .find(Diagnostic::is_error)
            .map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The error that no step can follow the record of the task, at the place of what is wrong with it.
    pub(crate) fn unusable(&self, hint: Hint) -> Error {
        let mut found = Diagnostic::error(Code::StateUnusable, self.decision.reason.clone());
        found.place = self.decision.error_place().cloned();
        Error::from(found).with_hint(hint)
    }

    /// Returns an error if the current branch has no record of the task that a step could follow.
    pub fn require_tracked(&self) -> Result<(), Error> {
        if !self.untracked {
            return Ok(());
        }
        self.require_whole_record()?;
        let id = &self.task.id;
        let message = format!("task `{id}` is untracked: its record is not on this branch");
        let hint = Hint::run(&["orch", "new", id.as_str()]);
        Err(Diagnostic::error(Code::Untracked, message)
            .hint(hint)
            .into())
    }

    /// The deadlines that have passed by a time, and of which the record does not say so yet.
    #[must_use]
    pub fn lapses(&self, now: Timestamp) -> Vec<Lapse> {
        let is_error = matches!(self.decision.verdict, Verdict::Error { .. });
        match self.state() {
            Some(state) if !self.untracked && !is_error => lapses(self.workflow(), state, now),
            _ => Vec::new(),
        }
    }

    /// When the next deadline passes of which the record does not say so; `None` if none runs.
    #[must_use]
    pub fn next_lapse(&self) -> Option<Timestamp> {
        let running = self.decision.deadlines.iter();
        let running = running.filter(|deadline| !deadline.has_lapsed && !self.untracked);
        running.map(|deadline| deadline.ends).min()
    }

    /// Whether `state.json` is not the fold of the log.
    #[must_use]
    pub fn is_state_stale(&self) -> bool {
        self.decision
            .diagnostics
            .iter()
            .any(|found| STALE_STATE.contains(&found.code))
    }

    /// Whether committed code can change the decision.
    #[must_use]
    pub fn rests_on_code(&self) -> bool {
        let has_tree = self
            .workflow()
            .artifacts
            .iter()
            .any(|artifact| artifact.tree.is_some() || artifact.repository.is_some());
        let mut verified = self.observed.facts.verified.values();
        let is_verified = verified.any(|fact| fact.code.is_some());
        (has_tree || is_verified) && !self.decision.is_done()
    }

    /// Whether it rests on more of the history than its own record and committed code, or on what cannot be compared
    /// later.
    #[must_use]
    pub fn rests_on_more(&self) -> bool {
        let basis = &self.basis;
        basis.reads_history() || basis.is_unknown() || basis.rests_on_others()
    }

    /// The same under a HEAD that has moved by steps of other tasks, which change no code; `None` if the look was made under
    /// a third one, or rests on more of the history.
    pub(crate) fn under(mut self, before: &Option<Head>, now: &Option<Head>) -> Option<Self> {
        if self.key.head != *now {
            if self.key.head != *before || self.rests_on_more() {
                return None;
            }
            self.key.head.clone_from(now);
        }
        Some(self)
    }

    /// The workflow that evaluated it.
    #[must_use]
    pub fn workflow(&self) -> &Workflow {
        &self.compiled.workflow
    }

    /// Logs the decision.
    fn trace(&self) {
        let Decision {
            phase,
            rule,
            verdict,
            ..
        } = &self.decision;
        let phase = phase.as_ref();
        let rule = rule.as_ref();
        tracing::debug!(
            phase = phase.map(|phase| phase.as_str()),
            verdict = verdict.name(),
            rule = rule.map(|rule| rule.as_str()),
            "evaluated"
        );
    }

    /// The commit of HEAD at the time of the look.
    pub(crate) fn head_commit(&self) -> Option<Digest> {
        self.key.head.as_ref().and_then(|head| head.commit)
    }
}

/// What was written for the last step of a task.
pub(crate) struct Placed<'p> {
    /// The state after the step, and its text.
    pub state: (State, Vec<u8>),
    /// The log after the step.
    pub transcript: Vec<u8>,
    /// The decision after the step.
    pub decision: Decision,
    /// The commit that contains the step; `None` if it was not committed.
    pub commit: Option<Digest>,
    /// HEAD after the step.
    pub head: Option<Head>,
    /// The stamps of the written files; without files that someone has changed since.
    pub stamps: &'p [(RepoPath, FileStamp)],
}

/// How much of a log a look reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookDepth {
    /// Only the end of a long log, if that is enough.
    End,
    /// The whole log.
    Whole,
}

/// How many bytes of the end of a log a look reads. A shorter log is read whole.
const LOG_END: u64 = 64 << 10;

/// Lets the next look read git's attribute files anew.
fn forget_attributes(reader: &Reader) {
    let store = reader.store.iter();
    store.for_each(|store| store.filters().forget_attributes());
}

/// One look at tasks: under one HEAD, and one state of what lies around them.
///
/// Which HEAD that is, is settled before any file of a task is listed. A file outside the tasks is asked for once.
pub struct Look<'w> {
    pub(super) reader: &'w Reader,
    /// HEAD; `None` outside git, and if another source than the work tree is read.
    pub(crate) head: Option<Head>,
    depth: LookDepth,
    /// Which files outside the tasks are there.
    files_outside: RefCell<HashMap<RepoPath, bool>>,
    /// The base branch, if it is not where HEAD is, as soon as somebody has asked for it.
    pub(super) base: OnceCell<Option<BaseBranch>>,
}

impl<'w> Look<'w> {
    /// A look under HEAD as it is now. Returns an error if that cannot be read.
    pub fn begin(reader: &'w Reader) -> Result<Self, Error> {
        Ok(Self::under(reader, Self::head_now(reader)?))
    }

    fn head_now(reader: &Reader) -> Result<Option<Head>, Error> {
        let store = reader.store.as_ref().filter(|_| reader.reads_work_dir());
        store.map(|store| store.refs().head()).transpose()
    }

    /// The next look of a series under HEAD as it is now. What the series has read of other tasks counts as long as HEAD is
    /// the same. Returns an error if HEAD cannot be read.
    pub(super) fn go_on(reader: &'w Reader) -> Result<Self, Error> {
        let head = Self::head_now(reader)?;
        reader
            .others
            .go_on(head.as_ref().and_then(|head| head.commit));
        forget_attributes(reader);
        Ok(Self::among(reader, head))
    }

    /// A look under a HEAD that was read before.
    pub(crate) fn under(reader: &'w Reader, head: Option<Head>) -> Self {
        forget_attributes(reader);
        // A commit stays as it is.
        if reader.reads_work_dir() {
            reader.others.forget();
        }
        Self::among(reader, head)
    }

    /// A look under a HEAD, among what git's attribute files said before.
    fn among(reader: &'w Reader, head: Option<Head>) -> Self {
        Self {
            reader,
            head,
            depth: LookDepth::End,
            files_outside: RefCell::default(),
            base: OnceCell::new(),
        }
    }

    /// The same, but it reads the whole of each log, as recording a step requires.
    #[must_use]
    pub fn whole(self) -> Self {
        self.to(LookDepth::Whole)
    }

    /// The same, but it reads that much of each log.
    #[must_use]
    pub(super) fn to(self, depth: LookDepth) -> Self {
        Self { depth, ..self }
    }
}

impl Look<'_> {
    /// Looks at a task. Returns an error if the source cannot be read or the workflow cannot be used.
    pub fn at(&self, task: &TaskRef) -> Result<Sight, Error> {
        self.at_listed(task, self.list(task)?)
    }

    /// The commit of HEAD.
    pub(super) fn commit(&self) -> Option<Digest> {
        self.head.as_ref().and_then(|head| head.commit)
    }

    /// Whether a file outside the task that is looked at is there. A series of looks asks once for each.
    pub(super) fn is_file_outside(&self, path: &RepoPath) -> bool {
        let ask = || path.under(&self.reader.root).is_file();
        *self
            .files_outside
            .borrow_mut()
            .entry(path.clone())
            .or_insert_with(ask)
    }

    /// Like [`Self::is_file_outside`], and notes the answer in the basis of the look.
    fn notes_file(&self, path: &RepoPath, basis: &LookBasis) -> bool {
        let is_file = self.is_file_outside(path);
        basis.note_file(path, is_file);
        is_file
    }

    /// Lists the files of a task, as a look begins. Returns an error if they cannot be listed.
    pub(super) fn list(&self, task: &TaskRef) -> Result<ListedTask, Error> {
        let now = super::caller::present();
        let entries = self.reader.snapshot(|snapshot| snapshot.list(task))?;
        Ok(ListedTask { entries, now })
    }

    /// Looks at a task whose files are listed.
    pub(super) fn at_listed(&self, task: &TaskRef, listed: ListedTask) -> Result<Sight, Error> {
        let ListedTask { entries, now } = listed;
        let _span = tracing::debug_span!("look", task = %task.id).entered();
        let log_end = if self.depth == LookDepth::End {
            LOG_END
        } else {
            u64::MAX
        };
        let reading = self.reader.snapshot_at(self.commit(), |snapshot| {
            snapshot.observe_listed(task, entries, log_end)
        })?;
        let sight = self.evaluate(task, reading, now, self.reader.reads_work_dir())?;
        sight.trace();
        Ok(sight)
    }

    /// Looks at a task in another source: the index, or a commit.
    pub(crate) fn back(
        reader: &Reader,
        task: &TaskRef,
        snapshot: &Snapshot<'_>,
    ) -> Result<Sight, Error> {
        let now = super::caller::present();
        let reading = snapshot.observe(task, u64::MAX)?;
        Look::among(reader, None).evaluate(task, reading, now, false)
    }

    /// Evaluates what was read.
    fn evaluate(
        &self,
        task: &TaskRef,
        reading: Reading,
        now: SystemTime,
        is_present: bool,
    ) -> Result<Sight, Error> {
        let held = self.hold_against_history(task, reading, is_present)?;
        let HeldReading {
            reading,
            untracked,
            is_committed,
            basis,
        } = held;
        let Reading {
            compiled,
            recorded,
            mut observed,
            entries,
        } = reading;
        if self.reader.reads_work_dir() {
            let required = compiled.workflow.required_files();
            observed.facts.missing = required
                .filter(|path| !self.notes_file(path, &basis))
                .cloned()
                .collect();
        }
        if let Recorded::Known(state) = &recorded
            && rests_on_others(&compiled.workflow, &state.relations)
        {
            basis.note_others();
        }
        self.reader.costs.looked();
        let last_run = if is_present {
            self.last_run(task)
        } else {
            LastRun::default()
        };
        // Whether a process drives the task cannot be seen in a stamp, and a faulty record is a matter of more files.
        // Neither are the directories to which the file of a task was moved.
        let is_plain = matches!(recorded, Recorded::New | Recorded::Known(_))
            && observed.facts.own_file == OwnFile::AsRecorded;
        if !is_plain
            || other_task(task, &recorded).is_some()
            || !matches!(last_run, LastRun::Settled)
        {
            basis.note_unknown();
        }
        self.reader.costs.evaluated(1);
        let ignored = || {
            self.reader
                .ignored_files((task, &observed), self.commit(), &basis)
        };
        let (CompleteDecision { decision, runner }, fault) = self.under_circumstances(
            (untracked, !is_present),
            (task, &recorded),
            (&last_run, &basis),
            ignored,
            |circumstances| {
                evaluate_here(
                    &compiled.workflow,
                    &recorded,
                    &observed.facts,
                    circumstances,
                )
            },
        );
        fault.map_or(Ok(()), Err)?;
        let mut decision = decision;
        if lacks_workflow(&decision) {
            decision.options.retain(|option| option.id != "reopen");
        }
        let key = SightKey::of(self.head.clone(), &entries, now);
        Ok(Sight {
            task: task.clone(),
            compiled,
            recorded,
            observed,
            decision,
            untracked,
            is_committed,
            runner,
            key,
            basis,
            last_run,
        })
    }

    /// What a look would return after a step was written, derived from the previous look and the written
    /// files.
    ///
    /// Does not fail, because the step is done: information that git cannot provide now is left out.
    pub(crate) fn after(reader: &Reader, before: Sight, placed: Placed<'_>) -> Sight {
        let _span = tracing::debug_span!("evaluate", task = %before.task.id).entered();
        // The look may be long ago.
        let look = Look::among(reader, placed.head.clone());
        let (state, text) = placed.state;
        reader.forget_noted(&before, &state);
        let facts = super::code::facts_after(before.workflow(), &before.observed.facts, &state);
        let recorded = Recorded::Known(Box::new(state));
        let basis = LookBasis::unknown();
        let ignored =
            || reader.ignored_files((&before.task, &before.observed), look.commit(), &basis);
        let around = (&before.last_run, &basis);
        let (CompleteDecision { decision, runner }, _) = look.under_circumstances(
            (false, false),
            (&before.task, &recorded),
            around,
            ignored,
            |circumstances| {
                complete(
                    before.workflow(),
                    &recorded,
                    &facts,
                    placed.decision,
                    circumstances,
                )
            },
        );
        let path = before.task.transcript_path();
        let is_committed = match (&reader.store, placed.commit) {
            (Some(store), Some(_)) => !store
                .filters()
                .alters(&path, &placed.transcript)
                .unwrap_or(true),
            _ => false,
        };
        let own = [before.task.state_path(), path];
        let key = before.key.after(placed.head, &own, placed.stamps);
        let observed = Observed {
            facts: facts.into_owned(),
            state: Some(StateFile {
                bytes: text,
                problems: Vec::new(),
            }),
            log: ObservedLog::Whole(placed.transcript),
            ..before.observed
        };
        let after = Sight {
            recorded,
            observed,
            decision,
            untracked: false,
            is_committed,
            runner,
            key,
            basis,
            ..before
        };
        after.trace();
        after
    }

    /// Whether the result of a look is still current: HEAD has not moved, every file is the one that was read, and the
    /// files outside the task are there or missing as they were.
    pub(crate) fn still_stands(&self, sight: &Sight) -> bool {
        self.is_still(&sight.task, &sight.key) && sight.basis.stands(&self.reader.root)
    }

    /// Like [`Self::still_stands`], for the key of a look alone.
    fn is_still(&self, task: &TaskRef, key: &SightKey) -> bool {
        let is_comparable = !key.is_recent && key.head == self.head;
        is_comparable
            && self
                .stamps_now(task)
                .is_some_and(|stamps| stamps == key.entries)
    }

    /// Like [`Self::is_still`], for what is kept of the key.
    pub(crate) fn is_as_kept(&self, task: &TaskRef, key: &KeptKey) -> bool {
        let is_comparable = !key.is_recent && key.head == self.head;
        is_comparable
            && self
                .stamps_now(task)
                .is_some_and(|stamps| stamps_digest(&stamps) == key.entries)
    }

    /// The stamps of the files of a task in the work tree; `None` if they cannot be compared.
    fn stamps_now(&self, task: &TaskRef) -> Option<BTreeMap<String, Option<FileStamp>>> {
        if !self.reader.reads_work_dir() {
            return None;
        }
        let entries = self
            .reader
            .snapshot(|snapshot| snapshot.source.list_task(&task.place));
        entries.ok().map(|entries| stamps(&entries))
    }

    fn under_circumstances(
        &self,
        (untracked, past): (bool, bool),
        (task, recorded): (&TaskRef, &Recorded),
        (last_run, basis): (&LastRun, &LookBasis),
        ignored: impl Fn() -> Result<Vec<Diagnostic>, Error>,
        sight: impl FnOnce(&Circumstances<'_>) -> CompleteDecision,
    ) -> (CompleteDecision, Option<Error>) {
        let fault: RefCell<Option<Error>> = RefCell::default();
        let remembered = |path: &RepoPath, blob: Digest| {
            basis.note_history();
            let store = self.reader.store.as_ref()?;
            let state = if let Recorded::Known(state) = recorded {
                Some(state)
            } else {
                None
            };
            let former = state.into_iter().flat_map(|state| state.former_ids());
            let places = self
                .reader
                .snapshot(|snapshot| snapshot.places_of(task, former));
            let name = task.place.name(path)?;
            // A task that was renamed had it at the path under its former id.
            let paths = places
                .iter()
                .filter_map(|place| place.place.path(name).ok());
            let find = |at: RepoPath| {
                let head = store.refs().head().map(|head| head.commit);
                let found = head.and_then(|head| match head {
                    Some(head) => store.history().commit_holding(head, &at, blob),
                    None => Ok(None),
                });
                let found = found
                    .map_err(|error| fault.replace(Some(error)))
                    .ok()
                    .flatten();
                found.map(|commit| Remembered {
                    commit: commit.short(),
                    at,
                })
            };
            paths.into_iter().find_map(find)
        };
        let is_file = |path: &RepoPath| self.notes_file(path, basis);
        let head = || {
            basis.note_history();
            self.reader
                .head()
                .map_err(|error| fault.replace(Some(error)))
                .ok()
                .flatten()
        };
        let ignored = || {
            ignored()
                .map_err(|error| fault.replace(Some(error)))
                .unwrap_or_default()
        };
        let verification = |due: &DueVerification| {
            // An attempt leaves no trace among the files of the task.
            basis.note_unknown();
            attempt_of(self.reader.store.as_ref()?, &task.id, due)
        };
        let done_on_base = |ids: &[TaskId]| {
            basis.note_on_base(ids);
            let done = if past {
                Ok(None)
            } else {
                self.done_on_base(ids)
            };
            done.map_err(|error| fault.replace(Some(error))).ok()?
        };
        let circumstances = Circumstances {
            done_on_base: &done_on_base,
            untracked,
            past,
            verification: &verification,
            last_run,
            remembered: &remembered,
            is_file: &is_file,
            head: &head,
            ignored: &ignored,
        };
        let found = sight(&circumstances);
        (found, fault.into_inner())
    }

    /// The state of the task's last run.
    fn last_run(&self, task: &TaskRef) -> LastRun {
        let files = self.reader.run_files(task);
        let Ok(Some(run)) = files.read() else {
            return LastRun::Settled;
        };
        match run.ended() {
            None if files.is_driven() => match run.limit() {
                Some(limit) => LastRun::Limited {
                    until: limit.until,
                    why: limit.why.clone(),
                },
                None => LastRun::Driven,
            },
            None => LastRun::Interrupted,
            Some((Ending::Stalled, why)) => {
                let seen = run.usage.seen.iter().map(|(_, seen)| *seen).collect();
                LastRun::Stalled {
                    why: why.to_owned(),
                    seen,
                }
            }
            Some(_) => LastRun::Settled,
        }
    }
}

/// What became of the last attempt of a verification on the code that it has to judge, unless it had a result.
fn attempt_of(store: &Store, task: &TaskId, due: &DueVerification) -> Option<VerificationAttempt> {
    let attempt = VerifyAttempt::last(store, task, &due.name)?;
    if attempt.code != due.code || attempt.table != due.table {
        return None;
    }
    Some(match attempt.standing {
        AttemptStanding::Running(_) => VerificationAttempt::Running,
        AttemptStanding::CouldNotRun { message, .. } => VerificationAttempt::CouldNotRun(message),
    })
}

impl Reader {
    /// The steps of an evaluated task, with the decision after the last of them.
    pub(crate) fn settled(&self, sight: &Sight, steps: Vec<Step>) -> Settled {
        let decision = match steps.last() {
            None => sight.decision.clone(),
            Some(last) => {
                let facts =
                    super::code::facts_after(sight.workflow(), &sight.observed.facts, &last.state);
                let recorded = Recorded::Known(Box::new(last.state.clone()));
                self.costs.evaluated(1);
                evaluate(sight.workflow(), &recorded, &facts)
            }
        };
        Settled { steps, decision }
    }

    /// How often expensive work was done since the workspace was opened.
    #[must_use]
    pub fn counted(&self) -> Counted {
        let store = self.store.as_ref().map(Store::counted).unwrap_or_default();
        let own = self.costs.counted();
        let bytes = own.bytes + store.blob_bytes;
        let StoreCounts {
            heads,
            locks,
            attributes,
            commits,
            trees,
            tree_entries,
            ..
        } = store;
        let log_lines = self.known_log.borrow().lines_read();
        Counted {
            heads,
            locks,
            attributes,
            bytes,
            commits,
            trees,
            tree_entries,
            log_lines,
            ..own
        }
    }

    /// The files of the runs of a task.
    #[must_use]
    pub fn run_files(&self, task: &TaskRef) -> RunFiles {
        let files = RunFiles::of(&self.root, task.directory());
        match &self.store {
            Some(store) => files.with_copy(store.layout().git_directory()),
            None => files,
        }
    }
}

/// Whether the task is read by a former version of its workflow, because there is none now: no step can follow.
fn lacks_workflow(decision: &Decision) -> bool {
    decision
        .diagnostics
        .iter()
        .any(|found| found.code == Code::WorkflowMissing)
}

/// What is kept of a [`SightKey`] of each of many tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptKey {
    head: Option<Head>,
    entries: Digest,
    is_recent: bool,
}

impl KeptKey {
    /// The key of a look under this HEAD at files whose stamps have this digest.
    pub(crate) fn of(head: Option<Head>, entries: Digest) -> Self {
        Self {
            head,
            entries,
            is_recent: false,
        }
    }

    /// The digest of the stamps of the files.
    pub(crate) fn entries(&self) -> Digest {
        self.entries
    }
}

impl SightKey {
    /// What tells whether a later look can differ.
    pub(crate) fn kept(&self) -> KeptKey {
        KeptKey {
            head: self.head.clone(),
            entries: stamps_digest(&self.entries),
            is_recent: self.is_recent,
        }
    }

    fn of(head: Option<Head>, entries: &[Entry], now: SystemTime) -> Self {
        let entries = stamps(entries);
        let is_recent = entries.values().flatten().any(|stamp| stamp.is_recent(now));
        Self {
            head,
            entries,
            is_recent,
        }
    }

    /// The key after `orch` replaced files of its own. A file without a stamp may have been changed since, so
    /// the next look must read again.
    fn after(
        mut self,
        head: Option<Head>,
        own: &[RepoPath],
        placed: &[(RepoPath, FileStamp)],
    ) -> Self {
        for path in own {
            match placed.iter().find(|(other, _)| other == path) {
                Some((_, stamp)) => drop(self.entries.insert(path.to_string(), Some(*stamp))),
                None => self.is_recent = true,
            }
        }
        Self { head, ..self }
    }
}

/// A digest of stamps: equal only for equal ones.
fn stamps_digest(stamps: &BTreeMap<String, Option<FileStamp>>) -> Digest {
    let mut text = Vec::new();
    for (path, stamp) in stamps {
        text.extend(path.as_bytes());
        text.push(0);
        text.extend(stamp.iter().flat_map(FileStamp::bytes));
        text.push(u8::from(stamp.is_some()));
    }
    Digest::of_blob(&text)
}

fn stamps(entries: &[Entry]) -> BTreeMap<String, Option<FileStamp>> {
    those_that_matter(entries)
        .map(|entry| (entry.path.clone(), entry.stamp))
        .collect()
}
