//! The state machine of `orch watch`: takes events and returns effects.
//!
//! The watcher, timers and signals only send events, so a test can drive it event by event.

use super::TaskNotice;
use super::complete::{Incomplete, incomplete_now};
use super::known_task::{KeptTask, KnownTask, fingerprint};
use super::looks_ahead::{Looked, LooksAhead, Mandate};
use super::watch_events::{OrderRequest, WatchEffect, WatchEvent, WatchMode};
use crate::apply::{Applied, TaskOutcome, Wanted, Writer};
use crate::survey::{Caller, Error, Look, Sight, TaskRef, Workspace};
use orch_base::{Class, Code, Diagnostic, Digest, RepoPath};
use orch_core::config;
use orch_core::decide::{self, Runner};
use orch_core::record::STATE_FILE;
use orch_git::Head;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The name of the cache of what an earlier watch has seen.
const CACHE: &str = "watch";
/// How many tasks are looked at before what is due for them is committed and reported.
const PART: usize = 100;

/// The watch over one repository.
pub struct Watching {
    workspace: Workspace,
    mandate: Mandate,
    begun: bool,
    /// The last reported result of each task.
    known: BTreeMap<RepoPath, KnownTask>,
    /// The commit whose code was last evaluated.
    head: Option<Digest>,
    /// Tasks whose transitions are held back.
    held: BTreeMap<RepoPath, TaskRef>,
    /// Those of them that another work tree holds, which was told.
    elsewhere: BTreeSet<RepoPath>,
    /// Tasks whose transitions wait to be committed with others.
    waiting: BTreeMap<RepoPath, TaskRef>,
    /// Tasks with a transition due that waits for more files of the same run.
    incomplete: BTreeMap<RepoPath, (TaskRef, Incomplete)>,
    /// How often a task has begun to wait, or has changed while it waited.
    waits: u64,
    /// Whether each retry may ask a person for a passphrase or a touch.
    asks: bool,
    /// The last reported reason for holding back.
    held_why: Option<String>,
    /// The problems that were already reported.
    troubles: BTreeSet<String>,
    /// The tasks that are still to be looked at.
    left: VecDeque<TaskRef>,
    /// During a look at everything, the problems that it has met so far.
    met: Option<BTreeSet<String>>,
    /// The looks at the next of the tasks that are left, if nothing has happened since but steps of others.
    ahead: Option<LooksAhead>,
}

impl Watching {
    /// A watch that has not looked at anything yet.
    #[must_use]
    pub fn new(workspace: Workspace, caller: Caller, mode: WatchMode) -> Self {
        Self {
            workspace,
            mandate: Mandate {
                caller,
                mode,
                stops: Arc::new(|| false),
                complete: None,
            },
            begun: false,
            known: BTreeMap::new(),
            head: None,
            held: BTreeMap::new(),
            elsewhere: BTreeSet::new(),
            waiting: BTreeMap::new(),
            incomplete: BTreeMap::new(),
            waits: 0,
            asks: false,
            held_why: None,
            troubles: BTreeSet::new(),
            left: VecDeque::new(),
            met: None,
            ahead: None,
        }
    }

    /// The same watch, which leaves the tasks that it has not begun with as soon as `stops` says so.
    #[must_use]
    pub fn until(self, stops: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let mandate = Mandate {
            stops: Arc::new(stops),
            ..self.mandate
        };
        Self { mandate, ..self }
    }

    /// The same watch, which waits until the files of one run are complete. It needs a clock beside it, which sends
    /// [`WatchEvent::Complete`].
    #[must_use]
    pub fn with_quiet(mut self) -> Self {
        self.mandate.complete = (!self.mandate.only_reads()).then(Arc::default);
        self
    }

    /// What waits for more files of the same run, by the directories of the tasks.
    pub(super) fn incomplete(&self) -> impl Iterator<Item = (&RepoPath, &Incomplete)> {
        self.incomplete
            .iter()
            .map(|(directory, (_, incomplete))| (directory, incomplete))
    }

    /// The tasks of which a deadline has passed, and how many seconds are left until the next one does.
    pub(super) fn next_lapse(&self) -> (Vec<RepoPath>, Option<u64>) {
        let now = self.mandate.caller.clock.now().seconds();
        let mut over = Vec::new();
        let mut next: Option<u64> = None;
        if self.mandate.only_reads() {
            return (over, next);
        }
        for (directory, known) in &self.known {
            let Some(ends) = known.next_lapse else {
                continue;
            };
            match u64::try_from(ends.seconds().saturating_sub(now)) {
                Ok(left) if left > 0 => next = Some(next.map_or(left, |next| next.min(left))),
                _ => over.push(directory.clone()),
            }
        }
        (over, next)
    }

    /// Whether transitions are held back and should be retried soon.
    #[must_use]
    pub fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// While transitions wait to be committed with others, a number that changes whenever another one joins
    /// them.
    #[must_use]
    pub fn waits(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.waits)
    }

    /// Whether a retry may ask a person for something, so that it should be rare.
    #[must_use]
    pub fn asks_for_a_person(&self) -> bool {
        self.asks
    }

    /// The watched workspace.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Handles a batch of events, reading HEAD once. A look at many tasks is left to [`Self::go_on`], so that
    /// what is settled can be reported before the rest is.
    pub fn begin(&mut self, events: Vec<WatchEvent>) -> Vec<WatchEffect> {
        let looks = |event: &WatchEvent| !matches!(event, WatchEvent::Trouble(_));
        let is_needed = events.iter().any(looks);
        let head = if is_needed {
            self.workspace.reader.present_head()
        } else {
            Ok(None)
        };
        let (head, unread) =
            head.map_or_else(|error| (None, Some(trouble(&error))), |head| (head, None));
        let taken = events
            .into_iter()
            .flat_map(|event| self.take_one(event, &head));
        unread.into_iter().chain(taken).collect()
    }

    /// Looks at the next of the tasks that are left, and applies what is due for them. `None` if none is left and the
    /// watch has said that it is ready, and once it is stopped.
    pub fn go_on(&mut self) -> Option<Vec<WatchEffect>> {
        if (self.mandate.stops)() {
            self.workspace.end_known();
            return None;
        }
        if self.left.is_empty() {
            self.ahead = None;
            self.workspace.end_known();
            let is_first = !std::mem::replace(&mut self.begun, true);
            return is_first.then(|| vec![WatchEffect::Ready]);
        }
        let _span = tracing::debug_span!("part", left = self.left.len()).entered();
        let mut effects = Vec::new();
        // What settles together is one commit.
        let most = if self.workspace.settings().joins_tasks() {
            usize::MAX
        } else {
            PART
        };
        let tasks: Vec<TaskRef> = self.left.drain(..most.min(self.left.len())).collect();
        match self.workspace.reader.present_head() {
            Ok(head) => self.look(tasks, &head, &mut effects),
            Err(error) => effects.push(trouble(&error)),
        }
        self.report_troubles_once(&mut effects, false);
        Some(effects)
    }

    fn take_one(&mut self, event: WatchEvent, head: &Option<Head>) -> Vec<WatchEffect> {
        let _span = event.span().entered();
        // What happened may be that a task, HEAD or the settings have changed.
        self.ahead = None;
        let is_whole = matches!(event, WatchEvent::Start | WatchEvent::Rescan(_));
        let mut effects = Vec::new();
        if is_whole {
            self.head = head.as_ref().and_then(|head| head.commit);
        }
        match event {
            WatchEvent::Trouble(message) => {
                effects.push(WatchEffect::Trouble(Diagnostic::error(
                    Code::WatchFailed,
                    message,
                )));
            }
            WatchEvent::Start => {
                if self.recalls() {
                    self.workspace.know_looks(CACHE);
                }
                let mut tasks = self.survey(&mut effects);
                effects.insert(0, WatchEffect::Watching { tasks: tasks.len() });
                self.recall(&mut tasks, head);
                self.leave(tasks);
            }
            WatchEvent::Rescan(_) => self.rescan(&mut effects),
            WatchEvent::Changed(paths) => self.changed(&paths, head, &mut effects),
            WatchEvent::Head => self.head_moved(head, &mut effects),
            WatchEvent::Order(request) => self.ordered(*request, &mut effects),
            WatchEvent::Retry => {
                let held = std::mem::take(&mut self.held);
                self.look_now(held, head, &mut effects);
            }
            WatchEvent::Complete(tasks) => self.completed(&tasks, head, &mut effects),
            WatchEvent::Lapsed(tasks) => {
                let lapsed = lapsed(&mut self.known, &tasks);
                self.look_now(lapsed, head, &mut effects);
            }
            WatchEvent::Quiet => {
                let waiting = std::mem::take(&mut self.waiting);
                self.look_now(waiting, head, &mut effects);
            }
        }
        self.report_troubles_once(&mut effects, is_whole);
        effects
    }

    /// Reports each problem once, until the settings are read again. After a look at everything, a problem
    /// that did not recur is over and would be reported again.
    fn report_troubles_once(&mut self, effects: &mut Vec<WatchEffect>, is_whole: bool) {
        if effects
            .iter()
            .any(|effect| matches!(effect, WatchEffect::Reloaded))
        {
            self.troubles.clear();
        }
        let mut met = BTreeSet::new();
        effects.retain(|effect| match effect {
            WatchEffect::Trouble(finding) => {
                let text = finding.to_string();
                let is_new = self
                    .met
                    .as_ref()
                    .is_none_or(|all| is_whole || !all.contains(&text));
                let is_unknown = is_new && !self.troubles.contains(&text);
                met.insert(text) && is_unknown
            }
            _ => true,
        });
        match &mut self.met {
            _ if is_whole => self
                .troubles
                .extend(self.met.replace(met).into_iter().flatten()),
            Some(all) => all.extend(met),
            None => self.troubles.extend(met),
        }
        if self.left.is_empty()
            && let Some(all) = self.met.take()
        {
            self.troubles = all;
        }
    }

    fn changed(&mut self, paths: &[RepoPath], head: &Option<Head>, effects: &mut Vec<WatchEffect>) {
        let system = self.workspace.settings().config().system.clone();
        let settings = |path: &RepoPath| {
            path.as_str() == config::FILE || *path == system || path.below(&system).is_some()
        };
        if paths.iter().any(settings) {
            self.reload(effects);
            return self.rescan(effects);
        }
        let mut tasks: Vec<TaskRef> = Vec::new();
        for path in paths {
            let found = match self.workspace.finder().task_of_path(path) {
                Ok(None) => self.workspace.finder().tasks_below(path),
                found => found.map(|task| task.into_iter().collect()),
            };
            match found {
                Ok(found) => tasks.extend(found),
                Err(error) => effects.push(trouble(&error)),
            }
        }
        sort_unique(&mut tasks);
        self.forget_gone(|task| paths.iter().any(|path| touches(path, task)), effects);
        let is_record = |path: &RepoPath| path.name() == STATE_FILE;
        let moved = match paths.iter().any(is_record) {
            true => tasks.clone(),
            false => Vec::new(),
        };
        // Skips what `orch` itself wrote, and files that changed back.
        tasks.retain(|task| !self.is_known(task, head));
        let concerns = |required: &RepoPath| {
            paths
                .iter()
                .any(|path| path == required || required.below(path).is_some())
        };
        let requiring = self
            .known
            .values()
            .filter(|known| known.required.iter().any(concerns));
        tasks.extend(requiring.map(|known| known.task.clone()));
        let waiting = self
            .known
            .values()
            .filter(|known| moved.iter().any(|other| known.rests_on(other)));
        tasks.extend(waiting.map(|known| known.task.clone()));
        sort_unique(&mut tasks);
        self.look_in_parts(tasks, head, effects);
    }

    /// Notes that the files of these tasks are complete, and looks at the tasks again.
    fn completed(
        &mut self,
        tasks: &[RepoPath],
        head: &Option<Head>,
        effects: &mut Vec<WatchEffect>,
    ) {
        let mut again = BTreeMap::new();
        for directory in tasks {
            let Some((task, found)) = self.incomplete.get(directory) else {
                continue;
            };
            self.mandate.note_complete(directory, &found.sets);
            again.insert(directory.clone(), task.clone());
        }
        self.look_now(again, head, effects);
    }

    /// Notes whether the transition that is due for a task waits for more files, and tells it once.
    fn note_incomplete(&mut self, sight: &Sight, effects: &mut Vec<WatchEffect>) {
        let directory = sight.task.directory();
        let before = self.incomplete.remove(directory);
        if self.mandate.complete.is_none() {
            return;
        }
        let known = self.mandate.complete_of(&sight.task);
        let Some(found) = incomplete_now(&self.workspace, sight, &known) else {
            return;
        };
        if before.is_none_or(|(_, before)| before.why != found.why) {
            let tasks = vec![sight.task.id.clone()];
            let message = found.why.clone();
            effects.push(WatchEffect::Held {
                tasks,
                message,
                hint: None,
            });
        }
        self.incomplete
            .insert(directory.clone(), (sight.task.clone(), found));
    }

    /// Whether nothing of a task has changed since the last look.
    fn is_known(&self, task: &TaskRef, head: &Option<Head>) -> bool {
        let known = self.known.get(task.directory());
        known.is_some_and(|known| {
            Look::under(&self.workspace.reader, head.clone()).is_as_kept(task, &known.key)
        })
    }

    /// If HEAD has moved, looks at the tasks of which the commits change a file, and at those that depend on committed
    /// code if the commits may tell of it.
    fn head_moved(&mut self, head: &Option<Head>, effects: &mut Vec<WatchEffect>) {
        let commit = head.as_ref().and_then(|head| head.commit);
        if commit == self.head {
            return;
        }
        let moved = self.workspace.reader.head_move(self.head, commit);
        self.head = commit;
        let concerns = |known: &KnownTask| match (&moved, &known.on_code) {
            (None, on_code) => on_code.is_some(),
            (Some(moved), Some(workflow))
                if known.on_more || moved.names_code(&workflow.workflow) =>
            {
                true
            }
            // The commit holds what was looked at, unless the files say so themselves.
            (Some(moved), _) => moved.touches(&known.task) && !self.is_known(&known.task, head),
        };
        let tasks = self
            .known
            .values()
            .filter(|known| concerns(known))
            .map(|known| known.task.clone());
        self.look_in_parts(tasks.collect(), head, effects);
    }

    /// Looks at a few tasks now, and leaves many to [`Self::go_on`].
    fn look_in_parts(
        &mut self,
        tasks: Vec<TaskRef>,
        head: &Option<Head>,
        effects: &mut Vec<WatchEffect>,
    ) {
        match tasks.len() > PART {
            true => self.leave(tasks),
            false => self.look(tasks, head, effects),
        }
    }

    /// Executes an order, answers its sender, and reports the transition.
    fn ordered(&mut self, request: OrderRequest, effects: &mut Vec<WatchEffect>) {
        let OrderRequest {
            caller,
            task,
            order,
            reply,
        } = request;
        let done = Writer::new(&self.workspace, &caller).orders().give(
            &task,
            &order,
            self.mandate.only_reads(),
        );
        // The order is executed even if its sender no longer waits.
        match done {
            Ok(applied) => {
                self.report(TaskOutcome::Applied(Box::new(applied.clone())), effects);
                drop(reply.send(Ok(applied)));
            }
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    fn rescan(&mut self, effects: &mut Vec<WatchEffect>) {
        self.forget_gone(|_| true, effects);
        self.left.clear();
        let tasks = self.survey(effects);
        self.leave(tasks);
    }

    /// Leaves tasks to [`Self::go_on`].
    fn leave(&mut self, tasks: Vec<TaskRef>) {
        self.left.extend(tasks);
    }

    /// All tasks. Reports directories that only look like tasks.
    fn survey(&self, effects: &mut Vec<WatchEffect>) -> Vec<TaskRef> {
        let (mut tasks, misnamed) = match self.workspace.finder().survey() {
            Ok(found) => found,
            Err(error) => {
                effects.push(trouble(&error));
                return Vec::new();
            }
        };
        effects.extend(misnamed.into_iter().map(WatchEffect::Trouble));
        // What is archived stays as it is.
        tasks.retain(|task| !task.id.is_archived());
        tasks
    }

    /// Reads the settings again. If that fails, the old ones stay and the error is reported.
    fn reload(&mut self, effects: &mut Vec<WatchEffect>) {
        match self.workspace.reload() {
            Ok(()) => {
                tracing::info!("settings reloaded");
                effects.push(WatchEffect::Reloaded);
                let findings = self
                    .workspace
                    .settings()
                    .findings()
                    .iter()
                    .filter(|finding| finding.is_error());
                effects.extend(findings.cloned().map(WatchEffect::Trouble));
            }
            Err(error) => effects.push(trouble(&error)),
        }
    }

    fn forget_gone(
        &mut self,
        concerned: impl Fn(&TaskRef) -> bool,
        effects: &mut Vec<WatchEffect>,
    ) {
        let gone: Vec<TaskRef> = self
            .known
            .values()
            .map(|known| &known.task)
            .filter(|task| concerned(task))
            .filter(|task| matches!(self.workspace.finder().task_at(task.directory()), Ok(None)))
            .cloned()
            .collect();
        for task in gone {
            self.known.remove(task.directory());
            self.held.remove(task.directory());
            self.waiting.remove(task.directory());
            self.incomplete.remove(task.directory());
            effects.push(WatchEffect::Gone(task.id));
        }
    }

    /// Looks at each task, and applies what is due in one batch, now or when no more becomes due.
    fn look(&mut self, tasks: Vec<TaskRef>, head: &Option<Head>, effects: &mut Vec<WatchEffect>) {
        let due = self.due(tasks, head, effects);
        self.apply_due(due, head, effects);
    }

    /// Applies what is due in one batch, now or when no more becomes due. If there is much of it, another thread looks at the
    /// next of the tasks that are left meanwhile.
    fn apply_due(&mut self, due: Vec<Wanted>, head: &Option<Head>, effects: &mut Vec<WatchEffect>) {
        if self.begun && self.workspace.reader.quiet_seconds() > 0 {
            return self.wait(due, effects);
        }
        let is_little =
            self.left.is_empty() || due.len() < PART / 2 || self.workspace.settings().joins_tasks();
        if is_little || !self.has_followed(head) {
            return self.settle(due, effects);
        }
        let next: Vec<TaskRef> = self.left.iter().take(PART).cloned().collect();
        let with = (self.workspace.opener(), self.mandate.clone());
        let (_, ahead) =
            LooksAhead::during(with, (next, head.clone()), || self.settle(due, effects));
        self.ahead = ahead;
    }

    /// The looks at these tasks that were made while steps of others were committed, if nobody else has moved HEAD.
    fn looked_ahead(&mut self, tasks: &[TaskRef], head: &Option<Head>) -> Option<Vec<Looked>> {
        let ahead = self.ahead.take().filter(|_| self.has_followed(head))?;
        ahead.under(head, tasks, |rest| {
            self.mandate.look(&self.workspace, rest, head)
        })
    }

    /// Whether this HEAD is the one whose code was evaluated, or was moved from there by the watch alone.
    fn has_followed(&self, head: &Option<Head>) -> bool {
        self.head == head.as_ref().and_then(|head| head.commit)
    }

    /// Looks at each task, and applies what is due in one batch now.
    fn look_now(
        &mut self,
        tasks: BTreeMap<RepoPath, TaskRef>,
        head: &Option<Head>,
        effects: &mut Vec<WatchEffect>,
    ) {
        let due = self.due(tasks.into_values().collect(), head, effects);
        self.settle(due, effects);
    }

    /// Keeps tasks for the next batch, and reports their current state.
    fn wait(&mut self, due: Vec<Wanted>, effects: &mut Vec<WatchEffect>) {
        for Wanted { task, seen } in due {
            let Some(sight) = seen.map(|seen| seen.sight) else {
                continue;
            };
            let known = self.known.get(task.directory());
            let is_same = known.is_some_and(|known| known.print == fingerprint(&sight));
            if !is_same || !self.waiting.contains_key(task.directory()) {
                self.waits += 1;
            }
            self.report(TaskOutcome::Nothing(Box::new(sight)), effects);
            self.waiting.insert(task.directory().clone(), task);
        }
    }

    /// Looks at each task. Reports those with nothing due, and returns the others.
    fn due(
        &mut self,
        mut tasks: Vec<TaskRef>,
        head: &Option<Head>,
        effects: &mut Vec<WatchEffect>,
    ) -> Vec<Wanted> {
        tasks.retain(|task| !task.id.is_archived());
        let looked = match self.looked_ahead(&tasks, head) {
            Some(looked) => looked,
            None => self.mandate.look(&self.workspace, &tasks, head),
        };
        let mut due = Vec::new();
        for (task, foreseen) in tasks.iter().zip(looked) {
            let Some(foreseen) = foreseen else { continue };
            match foreseen {
                Ok(wanted) if wanted.is_due() && !self.mandate.only_reads() => due.push(wanted),
                Ok(wanted) => wanted
                    .uncommitted()
                    .into_iter()
                    .for_each(|outcome| self.report(outcome, effects)),
                Err(error) => {
                    // Whatever commit comes next, the look is repeated after it.
                    self.head = None;
                    effects.push(trouble_with(task, &error));
                }
            }
        }
        due
    }

    /// Takes over what an earlier watch has seen of tasks that are at rest, and leaves the others. Of few tasks each is
    /// looked at, which takes no time.
    fn recall(&mut self, tasks: &mut Vec<TaskRef>, head: &Option<Head>) {
        if tasks.len() <= PART {
            return self.workspace.drop_known();
        }
        let workspace = &self.workspace;
        let commit = head.as_ref().and_then(|head| head.commit);
        let mut asked = BTreeMap::new();
        let is_ancestor = |older| {
            workspace
                .reader
                .store()?
                .history()
                .is_ancestor(older, commit?)
                .ok()
        };
        let mut contains = |older: Digest| {
            commit == Some(older)
                || *asked
                    .entry(older)
                    .or_insert_with(|| is_ancestor(older) == Some(true))
        };
        let mut recalled = workspace
            .crew()
            .recall_each(tasks, KeptTask::of_text)
            .into_iter();
        tasks.retain(|task| {
            let kept: Option<KeptTask> = recalled.next().flatten();
            let known =
                kept.and_then(|kept| kept.known(workspace, (task, head.as_ref()), &mut contains));
            let Some(known) = known else { return true };
            self.known.insert(task.directory().clone(), known);
            false
        });
    }

    /// Whether the start relies on what an earlier watch has seen: one that writes down what it sees, and of which nobody
    /// wants word of events.
    fn recalls(&self) -> bool {
        self.mandate.mode == WatchMode::Apply
            && self.workspace.settings().config().notify.is_empty()
    }

    /// Applies what is due for some tasks in one batch; if one of them prevents that, for each task alone.
    fn settle(&mut self, mut due: Vec<Wanted>, effects: &mut Vec<WatchEffect>) {
        self.leave_held(&mut due, effects);
        if due.is_empty() || (self.mandate.stops)() {
            return;
        }
        match self.mandate.plan(&self.workspace, |writer, plan| {
            writer.advance().due(&mut due, plan)
        }) {
            Ok(outcomes) => outcomes
                .into_iter()
                .for_each(|outcome| self.report(outcome, effects)),
            Err(error) if passes(&error, due.len() == 1) => {
                if error.class() != Class::NotNow {
                    self.due_left(&mut due, effects);
                }
                self.hold(due, &error, effects);
            }
            Err(error) if due.len() == 1 => {
                effects.extend(due.first().map(|one| trouble_with(&one.task, &error)));
            }
            Err(_) => due
                .into_iter()
                .for_each(|one| self.settle(vec![one], effects)),
        }
    }

    /// Leaves the tasks alone that another work tree holds, and tells it once of each; they are tried again later.
    fn leave_held(&mut self, due: &mut Vec<Wanted>, effects: &mut Vec<WatchEffect>) {
        let mut free = Vec::new();
        for one in std::mem::take(due) {
            let checked = self
                .mandate
                .writer(&self.workspace)
                .holding_of_tree()
                .refuse_held(&one.task);
            let Err(error) = checked else {
                free.push(one);
                continue;
            };
            let task = one.task;
            let directory = task.directory().clone();
            let is_known = self.elsewhere.contains(&directory);
            if let Some(seen) = one.seen {
                self.report(TaskOutcome::Nothing(Box::new(seen.sight)), effects);
            }
            if !is_known {
                effects.push(WatchEffect::Held {
                    tasks: vec![task.id.clone()],
                    message: error.to_string(),
                    hint: error.hint().cloned(),
                });
            }
            self.elsewhere.insert(directory.clone());
            self.held.insert(directory, task);
        }
        *due = free;
    }

    /// Adds the tasks with something due among those that are left: what is held back is reported once, with all
    /// tasks that wait for it.
    fn due_left(&mut self, due: &mut Vec<Wanted>, effects: &mut Vec<WatchEffect>) {
        let left = std::mem::take(&mut self.left);
        match self.workspace.reader.present_head() {
            _ if left.is_empty() => {}
            Ok(head) => due.extend(self.due(left.into(), &head, effects)),
            Err(error) => effects.push(trouble(&error)),
        }
    }

    /// Holds back tasks whose transitions cannot be committed now, and reports their current state.
    fn hold(&mut self, due: Vec<Wanted>, error: &Error, effects: &mut Vec<WatchEffect>) {
        self.asks = error.code() == Code::SigningFailed;
        let message = error.to_string();
        if self.held_why.as_ref() != Some(&message) {
            tracing::warn!(
                tasks = due.len(),
                error = error.logged(),
                "transitions are held back"
            );
            let tasks = due.iter().map(|one| one.task.id.clone()).collect();
            effects.push(WatchEffect::Held {
                tasks,
                message: message.clone(),
                hint: error.hint().cloned(),
            });
        }
        for Wanted { task, seen } in due {
            if let Some(sight) = seen.map(|seen| seen.sight) {
                self.report(TaskOutcome::Nothing(Box::new(sight)), effects);
            }
            self.held.insert(task.directory().clone(), task);
        }
        self.held_why = Some(message);
    }

    /// The commit whose code was last evaluated, after a commit of the watch, which changes none. If it follows another
    /// commit, that one is still to be asked for code.
    fn head_after(&self, applied: &Applied) -> Option<Digest> {
        let mut commits = applied.steps.iter().filter_map(|step| step.commit);
        let Some(first) = commits.next() else {
            return self.head;
        };
        let last = commits.next_back().unwrap_or(first);
        let parent = |commit| {
            self.workspace
                .reader
                .store()
                .and_then(|store| store.history().visit(commit).ok())
        };
        let follows =
            || parent(first).is_some_and(|commit| commit.parents.first().copied() == self.head);
        if self.head == Some(first) || follows() {
            Some(last)
        } else {
            self.head
        }
    }

    fn report(&mut self, outcome: TaskOutcome, effects: &mut Vec<WatchEffect>) {
        let sight = match &outcome {
            TaskOutcome::Applied(applied) => &applied.sight,
            TaskOutcome::Nothing(sight) => sight,
        };
        self.held.remove(sight.task.directory());
        self.elsewhere.remove(sight.task.directory());
        self.waiting.remove(sight.task.directory());
        self.note_incomplete(sight, effects);
        if self.held.is_empty() {
            self.held_why = None;
        }
        let before = self.known.get(sight.task.directory());
        let last = before.and_then(|known| known.notice);
        // Without `[[notify]]` nobody wants to know.
        let is_wanted =
            !self.mandate.only_reads() && !self.workspace.settings().config().notify.is_empty();
        // The process that runs the task tells its events itself.
        let is_running = sight.runner.as_ref().is_some_and(Runner::is_running);
        let now = if is_running {
            last.flatten()
        } else {
            TaskNotice::of(sight)
        };
        let notice = is_wanted.then_some(now);
        let came_to = notice.filter(|_| notice != last && !is_running);
        let at_start = last.is_none() && (!self.begun || before.is_some());
        let known = KnownTask::of(sight, notice);
        let print = known.print;
        let before = self.known.insert(sight.task.directory().clone(), known);
        let is_new = before.as_ref().is_none_or(|known| known.print != print);
        if let TaskOutcome::Applied(applied) = &outcome {
            self.head = self.head_after(applied);
        }
        if is_new && self.begun {
            let task = &sight.task.id;
            let phase = sight.decision.phase.as_ref();
            let verdict = sight.decision.verdict.name();
            tracing::info!(%task, phase = phase.map(|phase| phase.as_str()), verdict, "the decision changed");
        }
        // Nothing is written for an untracked task.
        if is_new
            && !self.mandate.only_reads()
            && !sight.untracked
            && let Err(error) = self.mandate.writer(&self.workspace).write_suggestion(sight)
        {
            // The next watch tries again.
            self.workspace.drop_known();
            effects.push(trouble(&error));
        }
        let id = came_to.map(|_| sight.task.id.clone());
        let event = came_to.flatten();
        let noticed = match outcome {
            TaskOutcome::Applied(applied) => {
                let noticed = event.map(|_| Box::new(applied.sight.clone()));
                effects.push(WatchEffect::Moved(applied));
                noticed
            }
            TaskOutcome::Nothing(sight) if is_new && (self.begun || is_trouble(&sight)) => {
                let noticed = event.map(|_| sight.clone());
                effects.push(WatchEffect::Stands(sight));
                noticed
            }
            TaskOutcome::Nothing(sight) => Some(sight),
        };
        effects.extend(id.map(|task| WatchEffect::CameTo {
            task,
            notice: event.zip(noticed),
            at_start,
        }));
    }
}

/// The tasks in these directories, of which a deadline has passed. Each is looked at once for each deadline: if that cannot
/// be recorded, whatever happens next to the task tries it again.
fn lapsed(
    known: &mut BTreeMap<RepoPath, KnownTask>,
    directories: &[RepoPath],
) -> BTreeMap<RepoPath, TaskRef> {
    let mut lapsed = BTreeMap::new();
    for directory in directories {
        if let Some(known) = known.get_mut(directory) {
            known.next_lapse = None;
            lapsed.insert(directory.clone(), known.task.clone());
        }
    }
    lapsed
}

/// Sorts tasks by their ids, and removes those that appear twice.
fn sort_unique(tasks: &mut Vec<TaskRef>) {
    tasks.sort_by(|a, b| a.id.cmp(&b.id));
    tasks.dedup();
}

/// Whether someone must repair the task, so that it is reported even at the start.
fn is_trouble(sight: &Sight) -> bool {
    decide::trouble(&sight.decision.verdict).is_some()
}

/// Whether a change at `path` can create or remove a task in `directory`.
fn touches(path: &RepoPath, task: &TaskRef) -> bool {
    let directory = task.directory();
    let holds_file = || {
        task.place
            .file()
            .is_some_and(|file| file.directory == *path)
    };
    path == directory || task.place.owns(path) || directory.below(path).is_some() || holds_file()
}

/// Whether an error is temporary, so that the tasks are tried again later. An error caused by one task must
/// not hold back the others.
fn passes(error: &Error, is_alone: bool) -> bool {
    match error.class() {
        Class::Busy | Class::Moved | Class::Held => true,
        Class::NotNow => is_alone,
        _ => false,
    }
}

/// What is wrong with one task.
fn trouble_with(task: &TaskRef, error: &Error) -> WatchEffect {
    tracing::warn!(task = %task.id, error = error.logged(), "the watch continues after an error");
    let mut found = Diagnostic::from(error.clone());
    found.message = format!("task `{}`: {}", task.id, found.message);
    WatchEffect::Trouble(found)
}

fn trouble(error: &Error) -> WatchEffect {
    tracing::warn!(error = error.logged(), "the watch continues after an error");
    WatchEffect::Trouble(error.clone().into())
}
