//! Publishes the steps of a run: each is pushed to a remote as it is recorded, with the renewal of the lease.
//!
//! Before anything else, the work tree catches up with what the remote has of the task. Before the first executor starts,
//! the branch is pushed with the event that says who holds the task; so whoever held it before loses his next push. From
//! then on a remote that does not answer is asked again, until the lease of the run is about to end by the clock of the
//! boot. A lost lease ends the run, and nothing is recorded after that.

use super::run_lease::take_for_run;
use crate::apply::{Writer, held};
use crate::survey::{Error, TaskRef, Workspace};
use orch_base::{Code, Diagnostic, Digest, Hint};
use orch_core::decide::{DutyKind, Holder, State, duty};
use orch_fleet::publish::{BranchStep, StepPublished, StepPublisher};
use orch_git::{Follow, Joined, Store};
use std::fs;
use std::time::{Duration, Instant};

/// How often a run looks after its lease at most.
const LOOK: Duration = Duration::from_secs(2);
/// How often a branch that has moved is joined, one time after the other.
const JOINS: u32 = 5;
/// For how long the remote may be asked at least.
const SHORTEST: Duration = Duration::from_secs(2);
/// The longest pause before the remote is asked again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Why a run cannot go on.
#[derive(Debug, Clone)]
pub(super) enum PublishStop {
    /// Its lease is lost, or ends before the remote answers.
    Held(Error),
    /// What the remote has does not fit what is here, and why.
    Unfit(String),
    /// The remote has to answer first.
    Later(String),
    /// Something is broken.
    Broken(Error),
}

/// What a run does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It looks at the task.
    Look,
    /// It records a step.
    Step,
    /// It starts an executor.
    Executor,
    /// It ends.
    End,
}

/// Publishes the steps of the task of a work tree.
pub(super) struct Publishing<'a> {
    writer: &'a Writer<'a>,
    task: &'a TaskRef,
    store: &'a Store,
    remote: String,
    steps: StepPublisher<'a>,
    /// The branch of the work tree, without `refs/heads/`.
    branch: String,
    /// The branch from which tasks begin.
    base: String,
    /// What the remote has of the branch, as far as it is known; what is in it needs no push.
    published: Option<Digest>,
    /// Whether the work tree has caught up with the remote.
    is_synced: bool,
    /// Whether the branch was pushed with the event that says who holds the task.
    has_begun: bool,
    /// How large the log was when it was pushed last.
    size: u64,
    looked: Instant,
    silence: Option<Silence>,
    /// What ended it.
    stop: Option<PublishStop>,
    /// What was put aside, for people.
    notes: Vec<Diagnostic>,
}

/// A remote that did not answer.
struct Silence {
    why: String,
    again: Instant,
    pause: Duration,
}

impl<'a> Publishing<'a> {
    /// Publishes a task on a remote that this work tree holds. Returns an error if clones share no leases, the store of
    /// leases is not trusted, HEAD is on no branch, or there is no such remote.
    pub(super) fn open(
        writer: &'a Writer<'a>,
        task: &'a TaskRef,
        remote: &str,
    ) -> Result<Self, Error> {
        let reader = &writer.workspace.reader;
        let store = reader.repository_or_refuse()?;
        let config = reader.settings.config();
        let named = config.git.base.as_deref();
        let protected = config.git.protected.texts();
        let branch = reader.branch()?.ok_or_else(|| {
            let message = "HEAD is on no branch, so there is nothing to push";
            Error::new(Code::NoUpstream, message)
        })?;
        Ok(Self {
            writer,
            task,
            store,
            remote: remote.to_owned(),
            steps: writer.holding_of_tree().publisher(remote)?,
            branch,
            base: store.work_trees().base_branch(named, protected)?,
            published: None,
            is_synced: false,
            has_begun: false,
            size: 0,
            looked: Instant::now(),
            silence: None,
            stop: None,
            notes: Vec::new(),
        })
    }

    /// Catches up with the remote, and pushes what was recorded since the last time. Returns whether the branch of the work
    /// tree has moved, and an error if the run cannot go on.
    pub(super) fn before(&mut self, next: Next) -> Result<bool, PublishStop> {
        if let Some(stop) = &self.stop {
            return Err(stop.clone());
        }
        self.refuse_end()?;
        let mut has_moved = false;
        if !self.is_synced {
            has_moved = self.catch_up()?;
            self.is_synced = true;
        }
        let begins = match next {
            Next::Look => self.is_open()?,
            Next::Executor => true,
            Next::Step | Next::End => false,
        };
        if begins && !self.has_begun {
            self.record_holder()?;
            has_moved |= self.push(true)?;
            return Ok(has_moved);
        }
        if next == Next::End {
            self.silence = None;
        }
        // Nothing is recorded between the look that decided on an executor and its start.
        if next != Next::Executor {
            has_moved |= self.push(false)?;
        }
        Ok(has_moved)
    }

    /// Whether something is left to be done about the task.
    fn is_open(&self) -> Result<bool, PublishStop> {
        let sight = self.writer.workspace.look(self.task)?;
        Ok(duty(sight.workflow(), &sight.decision, None).kind != DutyKind::Done)
    }

    /// Renews the lease in time while an executor works or the run waits, and pushes what was recorded meanwhile. Returns why
    /// the run has to end.
    pub(super) fn watch(&mut self) -> Option<String> {
        if self.looked.elapsed() < LOOK.min(self.length() / 6) {
            return None;
        }
        self.looked = Instant::now();
        let is_due = match self.steps.held_for(&self.task.id) {
            Ok(held) => held.left <= held.length * 3 / 5 || self.log_size() != self.size,
            Err(_) => true,
        };
        let pushed = if is_due && self.stop.is_none() && self.may_ask() {
            self.push_once()
        } else {
            Ok(Pushed::There)
        };
        if let Ok(Pushed::Moved) = pushed {
            // The push has renewed nothing. Whatever is wrong with the store shows at the next step.
            let _ = self.writer.holding_of_tree().keep(self.task, 0);
        }
        // A branch that has moved is joined when nothing works in the work tree.
        let ended = pushed.and_then(|_| self.refuse_end());
        match self.stop.clone().map_or(ended, Err) {
            Err(PublishStop::Held(error)) => Some(error.message().to_owned()),
            _ => None,
        }
    }

    /// What was put aside since this was asked last.
    pub(super) fn notes(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.notes)
    }

    /// Whether the remote lacks something that is recorded here, and why; `None` if it has all.
    pub(super) fn unpublished(&self) -> Option<String> {
        let head = self.head().ok()?;
        let published = self.published?;
        let count = self.follow().ahead(published, head).unwrap_or_default();
        if count == 0 {
            return None;
        }
        let commits = if count == 1 { "commit" } else { "commits" };
        let root = self.writer.workspace.reader.root().display();
        let range = format!("{:.9}..{}", published.to_string(), self.branch);
        let show = orch_base::command(&["git", "-C", &root.to_string(), "log", &range]);
        let why = self
            .silence
            .as_ref()
            .map(|silence| format!(" ({})", silence.why));
        Some(format!(
            "{count} {commits} could not be pushed to {}{}: {show}",
            self.remote,
            why.unwrap_or_default()
        ))
    }

    /// Brings the work tree to what the remote has of the task. Returns whether its branch has moved.
    fn catch_up(&mut self) -> Result<bool, PublishStop> {
        let names = [&self.branch, &self.base].map(|branch| format!("refs/heads/{branch}"));
        let patience = self.patience();
        let refs = self.steps.refs(patience);
        let place = self.steps.place();
        let listed = refs.list(place, &[&names[0], &names[1]]);
        let fetched = listed.and_then(|listed| refs.fetch(place, &listed).map(|()| listed));
        let listed = fetched.map_err(|error| PublishStop::Later(error.to_string()))?;
        let own = listed.get(&names[0]).copied();
        let Some(target) = own.or_else(|| listed.get(&names[1]).copied()) else {
            return Ok(false);
        };
        let before = self.generation_here()?;
        let has_moved = self.follow_to(target, own.is_some())?;
        if has_moved && self.generation_here()? > before {
            self.outnumber()?;
        }
        Ok(has_moved)
    }

    /// Raises the generation of the lease above that of whoever held the task meanwhile: it was taken by what was known here.
    fn outnumber(&self) -> Result<(), PublishStop> {
        let holding = self.writer.holding_of_tree();
        let recorded = self.generation_here()?;
        let kept = holding.keep(self.task, 0).and_then(|lease| match lease {
            Some(lease) if lease.generation <= recorded => {
                holding.keep(self.task, recorded + 1).map(drop)
            }
            _ => Ok(()),
        });
        match kept {
            Err(error) if is_silence(&error) => Err(PublishStop::Later(error.to_string())),
            Err(error) => Err(PublishStop::Held(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Joins the branch of the work tree with a commit of the remote: that of the same branch, or else of the base branch.
    fn follow_to(&mut self, target: Digest, is_branch: bool) -> Result<bool, PublishStop> {
        let head = self.head()?;
        let follow = self.follow();
        self.published = Some(target);
        if follow.is_behind(target, head)? {
            return Ok(false);
        }
        let is_behind = follow.is_behind(head, target)?;
        if !is_branch && !is_behind {
            let log = self.task.transcript_path();
            if !follow.changes(head, target, log.as_str())? {
                // The base branch has moved on for other reasons.
                self.published = Some(self.fork(head, target));
                return Ok(false);
            }
        }
        let is_fork = is_branch && !is_behind;
        if is_fork && self.generation_at(target)? <= self.generation_here()? {
            return self.merge(target);
        }
        let root = self.writer.workspace.reader.root();
        let aside = follow.set_aside(root, &self.branch, target)?;
        follow.move_to(root, target)?;
        if let Some(aside) = aside {
            let message = format!(
                "others have gone on with `{}` on {}; what this work tree held is in {aside}",
                self.task.id, self.remote
            );
            let hint = Hint::run(&["git", "log", "-p", &aside]);
            self.notes
                .push(Diagnostic::warning(Code::WorkSetAside, message).hint(hint));
        }
        Ok(true)
    }

    /// What a branch without a counterpart on the remote has to be pushed from: where it has left the base branch.
    fn fork(&self, head: Digest, base: Digest) -> Digest {
        let forks = self.store.history().merge_bases(head, base);
        forks.unwrap_or_default().first().copied().unwrap_or(base)
    }

    fn merge(&mut self, target: Digest) -> Result<bool, PublishStop> {
        let root = self.writer.workspace.reader.root();
        let message = format!(
            "Merge {}/{}\n\nTask: {}\n",
            self.remote, self.branch, self.task.id
        );
        match self.follow().merge_here(root, target, &message) {
            Ok(Joined::Commit(_)) => Ok(true),
            Ok(Joined::Conflict(files)) => Err(self.unfit(&format!(
                "conflicts with what is here in {}",
                files.join(", ")
            ))),
            Err(error) => Err(self.unfit(&format!("cannot be merged: {}", error.message()))),
        }
    }

    fn unfit(&self, what: &str) -> PublishStop {
        let root = self.writer.workspace.reader.root().display().to_string();
        let pull = orch_base::command(&["git", "-C", &root, "pull", &self.remote, &self.branch]);
        PublishStop::Unfit(format!(
            "{}/{} has moved, and {what}: {pull}, and commit",
            self.remote, self.branch
        ))
    }

    /// Records who holds the task, unless the record says so already.
    fn record_holder(&mut self) -> Result<(), PublishStop> {
        match self.writer.taking().record_holder(self.task) {
            Ok(()) => Ok(()),
            Err(error) if error.code() == Code::TaskHeld => Err(self.lost(error)),
            Err(error) if is_silence(&error) => Err(PublishStop::Later(error.to_string())),
            Err(error) => Err(PublishStop::Broken(error)),
        }
    }

    /// Pushes what was recorded, and joins a branch that has moved. Returns whether the branch of the work tree has moved.
    /// With `must`, it is an error if the remote does not answer.
    fn push(&mut self, must: bool) -> Result<bool, PublishStop> {
        let mut has_moved = false;
        for _ in 0..JOINS {
            let is_there = self.published == Some(self.head()?);
            if !must && (is_there || !self.may_ask()) {
                return Ok(has_moved);
            }
            match self.push_once()? {
                Pushed::There => {
                    self.has_begun |= must;
                    return Ok(has_moved);
                }
                Pushed::Silent if must => {
                    let why = self.silence.as_ref().map(|silence| silence.why.clone());
                    return Err(PublishStop::Later(why.unwrap_or_default()));
                }
                Pushed::Silent => return Ok(has_moved),
                Pushed::Moved => has_moved |= self.catch_up()?,
            }
        }
        let what = "moves again and again";
        Err(PublishStop::Later(format!(
            "{}/{} {what}",
            self.remote, self.branch
        )))
    }

    /// Pushes the branch and renews the lease, once.
    fn push_once(&mut self) -> Result<Pushed, PublishStop> {
        let head = self.head()?;
        let size = self.log_size();
        let branch = format!("refs/heads/{}", self.branch);
        let terms = self.writer.holding_of_tree().terms(None);
        let step = BranchStep {
            task: &self.task.id,
            branch: &branch,
            commit: head,
            terms: &terms,
            patience: self.patience(),
        };
        let begun = Instant::now();
        match self.steps.push(&step) {
            Ok(StepPublished::Done) => {
                tracing::info!(task = %self.task.id, commit = %head, "pushed a step");
                self.published = Some(head);
                self.size = size;
                self.silence = None;
                Ok(Pushed::There)
            }
            Ok(StepPublished::BranchMoved(tip)) => {
                tracing::info!(task = %self.task.id, tip = %tip, "the branch has moved");
                Ok(Pushed::Moved)
            }
            Ok(StepPublished::Lost(there)) => {
                let error = match there {
                    Some(other) => held(self.task, &other),
                    None => self.gone("somebody has released it"),
                };
                Err(self.lost(error))
            }
            Err(error) => {
                tracing::warn!(error = error.logged(), "a step could not be pushed");
                let last = self.silence.as_ref().map(|silence| silence.pause);
                let pause = last.map_or(begun.elapsed() + LOOK.min(self.length() / 6), |last| {
                    last * 2
                });
                let pause = pause.min(LONGEST_PAUSE);
                self.silence = Some(Silence {
                    why: error.message().to_owned(),
                    again: Instant::now() + pause,
                    pause,
                });
                Ok(Pushed::Silent)
            }
        }
    }

    /// Returns an error if the lease of the run is about to end: its executors have to be ended by then.
    fn refuse_end(&mut self) -> Result<(), PublishStop> {
        let held = self.steps.held_for(&self.task.id)?;
        let config = self.writer.workspace.reader.settings.config();
        let grace = Duration::from_millis(config.executors.longest_grace().milliseconds());
        if held.left > grace.min(held.length / 4) {
            return Ok(());
        }
        let why = match &self.silence {
            Some(silence) => format!("{} does not answer: {}", self.remote, silence.why),
            None => "it was not renewed in time".to_owned(),
        };
        let error = self.gone(&why);
        Err(self.lost(error))
    }

    /// The error about a lease that this work tree has no more.
    fn gone(&self, why: &str) -> Error {
        let message = format!("the lease of `{}` is over: {why}", self.task.id);
        let hint = Hint::from("it is worked on again when ")
            .command(&["orch", "work", "--remote", &self.remote])
            .text(" takes it");
        Error::new(Code::TaskHeld, message).with_hint(hint)
    }

    /// Ends it: nothing is recorded or pushed any more.
    fn lost(&mut self, error: Error) -> PublishStop {
        let error = match self.unpublished() {
            Some(unpublished) => {
                let message = format!("{}; {unpublished}", error.message());
                Error::new(error.code(), message).with_hint_of(error.hint().cloned())
            }
            None => error,
        };
        tracing::warn!(error = error.logged(), "the lease of the run is lost");
        let stop = PublishStop::Held(error);
        self.stop = Some(stop.clone());
        stop
    }

    fn may_ask(&self) -> bool {
        self.silence
            .as_ref()
            .is_none_or(|silence| silence.again <= Instant::now())
    }

    /// For how long the remote may be asked: not beyond the end of the lease.
    fn patience(&mut self) -> Duration {
        let held = self.steps.held_for(&self.task.id);
        held.map_or(SHORTEST, |held| (held.left / 2).max(SHORTEST))
    }

    fn length(&self) -> Duration {
        self.writer.holding_of_tree().terms(None).usual
    }

    fn log_size(&self) -> u64 {
        let root = self.writer.workspace.reader.root();
        fs::metadata(self.task.transcript_path().under(root)).map_or(0, |data| data.len())
    }

    fn head(&self) -> Result<Digest, Error> {
        let head = self.store.refs().head()?;
        head.commit.ok_or_else(Error::moved)
    }

    fn follow(&self) -> Follow<'a> {
        self.store.follow()
    }

    fn generation_here(&self) -> Result<u64, Error> {
        let sight = self.writer.workspace.look(self.task)?;
        Ok(generation(sight.state()))
    }

    fn generation_at(&self, commit: Digest) -> Result<u64, Error> {
        let workspace = self.writer.workspace;
        let there =
            Workspace::open_to_look(workspace.reader.root(), workspace.environment.clone())?;
        let there = there.at(&commit.to_string())?;
        let sight = there.look(self.task)?;
        Ok(generation(sight.state()))
    }
}

/// What came of one push.
enum Pushed {
    There,
    Moved,
    Silent,
}

impl From<Error> for PublishStop {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

fn generation(state: Option<&State>) -> u64 {
    let holder: Option<&Holder> = state.and_then(|state| state.holder.as_ref());
    holder.map_or(0, |holder| holder.generation)
}

/// Whether an error says that nothing was heard of a store.
fn is_silence(error: &Error) -> bool {
    matches!(error.code(), Code::LeaseStore | Code::Busy)
}

/// Takes a task for a run whose steps are published, and brings its work tree to what the remote has of it. Returns whether
/// the branch has moved, so that whatever was read of the repository has to be read again; what does not fit is left for the
/// run to tell. Returns an error if another holds the task, or clones share no leases.
pub fn catch_up(
    writer: &Writer<'_>,
    task: &TaskRef,
    remote: &str,
) -> Result<(bool, Vec<Diagnostic>), Error> {
    let files = writer.workspace.reader.run_files(task);
    if files.is_driven() {
        return Ok((false, Vec::new()));
    }
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    let run = format!("{}-{}", writer.now().seconds(), std::process::id());
    take_for_run(writer, &sight, &files, &run, true)?;
    let mut publishing = Publishing::open(writer, task, remote)?;
    // After an error it may have moved, too.
    let has_moved = publishing.catch_up().unwrap_or(true);
    Ok((has_moved, publishing.notes()))
}

/// Pushes what was recorded of a task that this work tree holds. Returns an error if the lease is lost, or the remote does not
/// answer.
pub(super) fn push_steps(writer: &Writer<'_>, task: &TaskRef, remote: &str) -> Result<(), Error> {
    let mut publishing = Publishing::open(writer, task, remote)?;
    match publishing.before(Next::Step) {
        Ok(_) => match publishing.unpublished() {
            Some(why) => Err(Error::new(Code::LeaseStore, why)),
            None => Ok(()),
        },
        Err(PublishStop::Held(error) | PublishStop::Broken(error)) => Err(error),
        Err(PublishStop::Later(why) | PublishStop::Unfit(why)) => {
            Err(Error::new(Code::LeaseStore, why))
        }
    }
}
