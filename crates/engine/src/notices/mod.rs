//! Word of events: the programs of `[[notify]]`, started once per event and task, and its webhooks.
//!
//! Whoever hears of an event asks the [`Notifier`], which decides what is started and returns at once. The programs run
//! in a few threads of their own, within their time limits. None starts that a person has not trusted.

mod claims;
mod queue;
#[cfg(feature = "webhook")]
mod webhook;
#[cfg(not(feature = "webhook"))]
#[path = "no_webhook.rs"]
mod webhook;

use crate::apply::Writer;
use crate::drive::{NotificationLeave, RunEnd, TaskNotice, WatchEffect};
use crate::run::{Ended, LimitedProgram};
use crate::survey::{Sight, Workspace};
use claims::NoticeClaims;
use orch_base::{Code, Diagnostic, Error, Period, command};
use orch_core::config::NotifyAction;
use orch_core::decide::{Ending, NoticeKind, Runner, run_notices};
use orch_core::workflow::Times;
use orch_view::{EndedRun, Notice, Suggestion, line};
use queue::NoticeQueue;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The variable that tells the processes of one program from all others.
const MARK: &str = "ORCH_NOTICE";
/// The time between SIGTERM and SIGKILL.
const GRACE: Period = Period::from_seconds(1);
/// How many characters of the last line that a failed program printed are reported.
const MOST_SAID: usize = 200;

/// Does what an entry says. Returns what failed, and how.
type NotifyJob = Box<dyn FnOnce() -> Result<(), (String, String)> + Send>;

/// Receives what is wrong with a program, in any thread.
pub type FaultSink = Arc<dyn Fn(Diagnostic) + Send + Sync>;

/// Gives word of events. When it is dropped, it waits for the programs that were started.
pub struct Notifier {
    /// Absent until something is configured.
    claims: Option<NoticeClaims>,
    queue: NoticeQueue,
    report: FaultSink,
    /// Whether to start what nobody has trusted.
    trusts: bool,
    /// Whether this is the first watch of this work tree that tells events.
    is_first_watch: bool,
    /// The entries that were refused since they were trusted last.
    refused: BTreeSet<String>,
    /// Whether a problem with claims was reported since they worked last.
    has_reported: bool,
    /// How many programs were started.
    count: u64,
}

impl Notifier {
    /// A notifier of this process. `trusts` starts what nobody has trusted.
    #[must_use]
    pub fn new(trusts: bool, report: FaultSink) -> Self {
        let queue = NoticeQueue::new(Arc::clone(&report));
        Self {
            claims: None,
            queue,
            report,
            trusts,
            is_first_watch: false,
            refused: BTreeSet::new(),
            has_reported: false,
            count: 0,
        }
    }

    /// Hears of an effect of a watch. Returns whether to ring the bell.
    pub fn hear(&mut self, writer: &Writer<'_>, effect: &WatchEffect) -> bool {
        match effect {
            WatchEffect::Watching { .. } => {
                self.begin_watch(writer.workspace);
                self.with_claims(writer.workspace, |claims| claims.remove_gone(writer));
            }
            // `[[notify]]` may be new.
            WatchEffect::Reloaded => self.begin_watch(writer.workspace),
            WatchEffect::CameTo {
                task, notice: None, ..
            } => {
                self.with_claims(writer.workspace, |claims| claims.forget(task));
            }
            WatchEffect::CameTo {
                notice: Some((notice, sight)),
                at_start,
                ..
            } => {
                let is_known = *at_start && self.is_first_watch;
                return self.claim(writer.workspace, sight, *notice)
                    && !is_known
                    && self.notify(writer, notice.kind, sight, None);
            }
            _ => {}
        }
        false
    }

    /// A watch begins to look at events. What is so when the first one of the work tree does is no event.
    fn begin_watch(&mut self, workspace: &Workspace) {
        if !self.is_first_watch && !workspace.settings().config().notify.is_empty() {
            let is_first = self.with_claims(workspace, NoticeClaims::claim_first_watch);
            self.is_first_watch = is_first.unwrap_or(true);
        }
    }

    /// A task has come to an event. Returns whether to ring the bell.
    pub fn came_to(&mut self, writer: &Writer<'_>, sight: &Sight, notice: TaskNotice) -> bool {
        self.claim(writer.workspace, sight, notice) && self.notify(writer, notice.kind, sight, None)
    }

    /// A run has ended. Returns whether to ring the bell.
    pub fn run_ended(&mut self, writer: &Writer<'_>, end: &RunEnd) -> bool {
        if writer.workspace.settings().config().notify.is_empty() {
            return false;
        }
        let of_task = TaskNotice::of(&end.sight);
        let run = EndedRun {
            id: end.run.clone(),
            ending: end.ending,
            reason: end.reason.clone(),
            turns: end.turns.0,
            max_turns: end.turns.1,
            cost: end.cost,
        };
        let mut sight = end.sight.clone();
        if end.ending == Ending::Stalled {
            sight.runner = Some(Runner::Stalled(end.reason.clone()));
        }
        // A watch that looks at the task from now on knows of this.
        let is_new = TaskNotice::of(&sight)
            .is_none_or(|notice| self.claim(writer.workspace, &sight, notice));
        let mut rings = false;
        for kind in run_notices(end.ending, of_task.map(|notice| notice.kind)) {
            let is_of_task = of_task.is_some_and(|notice| notice.kind == kind);
            if is_new || !is_of_task {
                rings |= self.notify(writer, kind, &sight, Some(&run));
            }
        }
        rings
    }

    /// Claims an event of a task. Returns whether it is new; what cannot be found out is not.
    fn claim(&mut self, workspace: &Workspace, sight: &Sight, notice: TaskNotice) -> bool {
        self.with_claims(workspace, |claims| claims.claim(&sight.task.id, notice))
            .unwrap_or(false)
    }

    /// Calls `act` with the claims if anything is configured. Reports each problem once.
    fn with_claims<T>(
        &mut self,
        workspace: &Workspace,
        act: impl FnOnce(&NoticeClaims) -> Result<T, Error>,
    ) -> Option<T> {
        if workspace.settings().config().notify.is_empty() {
            return None;
        }
        let opened = self
            .claims
            .take()
            .map_or_else(|| NoticeClaims::of(workspace), Ok);
        let done = opened.and_then(|claims| act(self.claims.insert(claims)));
        let had_reported = std::mem::replace(&mut self.has_reported, done.is_err());
        match done {
            Ok(done) => Some(done),
            Err(error) => {
                if !had_reported {
                    (self.report)(error.into_warning());
                }
                None
            }
        }
    }

    /// Starts what is configured for an event. Returns whether to ring the bell.
    fn notify(
        &mut self,
        writer: &Writer<'_>,
        kind: NoticeKind,
        sight: &Sight,
        run: Option<&EndedRun>,
    ) -> bool {
        let workspace = writer.workspace;
        let config = workspace.settings().config();
        tracing::info!(task = %sight.task.id, event = kind.as_str(), "notice");
        let mut text = None;
        for (name, entry, action) in config
            .notify_actions()
            .filter(|(_, entry, _)| entry.on.contains(&kind))
        {
            let Some(leave) = self.leave(writer, &name, action) else {
                continue;
            };
            let input = match text
                .take()
                .map_or_else(|| word(writer, kind, sight, run), Ok)
            {
                Ok(input) => input,
                Err(error) => {
                    (self.report)(error.into_warning());
                    break;
                }
            };
            text = Some(input.clone());
            let job = self.job(writer, action, input, entry.time_limit);
            let report = Arc::clone(&self.report);
            self.queue.push(Box::new(move || {
                // While it waited, somebody may have written another program in its place.
                let problem = match leave.require_unchanged() {
                    Err(error) => Some(error.into_warning()),
                    Ok(()) => job().err().map(|(what, how)| {
                        let message = format!("`{what}` of [{name}] in orch.toml failed: {how}");
                        Diagnostic::warning(Code::NotifyFailed, message)
                    }),
                };
                problem.into_iter().for_each(|problem| report(problem));
            }));
        }
        config
            .notify
            .iter()
            .any(|entry| entry.bell && entry.on.contains(&kind))
    }

    /// What an entry does with a document. It returns what failed, and how.
    fn job(
        &mut self,
        writer: &Writer<'_>,
        action: &NotifyAction,
        input: String,
        limit: Period,
    ) -> NotifyJob {
        match action.clone() {
            NotifyAction::Webhook(webhook) => {
                let key = webhook
                    .secret
                    .as_deref()
                    .map(|name| writer.caller.variables.get(name));
                let limit = Duration::from_millis(limit.milliseconds());
                Box::new(move || {
                    let sent = match &key {
                        Some(None) => Err(format!(
                            "the variable {} is not set, so the document cannot be signed and was not sent",
                            webhook.secret.as_deref().unwrap_or_default()
                        )),
                        key => webhook::post(
                            &webhook,
                            key.as_ref().and_then(Option::as_deref),
                            &input,
                            limit,
                        ),
                    };
                    sent.map_err(|how| (webhook.url.clone(), how))
                })
            }
            NotifyAction::Command(argv) => {
                let program = LimitedProgram {
                    argv,
                    directory: writer.workspace.reader.root().to_owned(),
                    environment: Vec::new(),
                    input,
                    times: Times {
                        hard: Some(limit),
                        ..Times::default()
                    },
                    grace: GRACE,
                    fence: None,
                };
                self.count += 1;
                let mark = (
                    MARK.to_owned(),
                    format!("{}-{}", std::process::id(), self.count),
                );
                Box::new(move || {
                    perform(&program, &mark).map_err(|how| (command(&program.argv), how))
                })
            }
        }
    }

    /// The leave to start an entry, if there is one. Reports once that there is none, until it is trusted.
    fn leave(
        &mut self,
        writer: &Writer<'_>,
        name: &str,
        action: &NotifyAction,
    ) -> Option<NotificationLeave> {
        let entry = format!("{name} {action:?}");
        // The trust is read each time, since it may be given or taken back at any time.
        match NotificationLeave::of(writer, name, action, self.trusts) {
            Ok(leave) => {
                self.refused.remove(&entry);
                return Some(leave);
            }
            Err(error) if self.refused.insert(entry) => (self.report)(error.into_warning()),
            Err(_) => {}
        }
        None
    }
}

/// The document that the programs read.
fn word(
    writer: &Writer<'_>,
    kind: NoticeKind,
    sight: &Sight,
    run: Option<&EndedRun>,
) -> Result<String, Error> {
    let workspace = writer.workspace;
    let suggestion = Suggestion::of(&workspace.reader.subject(sight));
    Ok(line(&Notice::new(
        writer.now(),
        kind,
        workspace.reader.repository()?,
        suggestion,
        run.cloned(),
    )))
}

/// Runs a program to its end. Returns what went wrong.
fn perform(program: &LimitedProgram, mark: &(String, String)) -> Result<(), String> {
    let (ended, last) = match program.run(mark) {
        Ok((Ended::Well, _)) => return Ok(()),
        Ok(ended) => ended,
        Err(error) => (Ended::NotStarted(error.to_string()), None),
    };
    let how = match ended {
        Ended::Well | Ended::Stopped => "it was stopped".to_owned(),
        Ended::Code(code) => format!("it exited with code {code}"),
        Ended::Signal(signal) => format!("it was killed by signal {signal}"),
        Ended::TooLong(limit) | Ended::Silent(limit) => format!("it took longer than {limit}"),
        Ended::NotStarted(why) => why,
    };
    let last = last.map(|last| format!(": {}", last.chars().take(MOST_SAID).collect::<String>()));
    Err(format!("{how}{}", last.unwrap_or_default()))
}
