//! Runs what is to be verified beside a watch, one after the other in a thread of its own: a watch that waits for the tests
//! of one task would see nothing of the others.

use super::verification::{VerifyEnd, VerifyOptions, plan_verifications, verify_wanted};
use super::watch_events::WatchEffect;
use crate::apply::Writer;
use crate::survey::{Caller, Error, Purpose, Sight, TaskRef, Workspace};
use crate::verify::VerifyWatch;
use orch_base::{Code, Diagnostic, Hint, RepoPath, locked};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Verifies what is due beside a watch, if the settings say so. Dropping it stops what runs.
pub struct WatchVerifier {
    jobs: Option<Sender<TaskRef>>,
    /// The tasks that wait or are verified.
    taken: Arc<Mutex<BTreeSet<RepoPath>>>,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Receives what could not be verified, and why.
pub type VerifierReport = dyn Fn(Diagnostic) + Send + Sync;

impl WatchVerifier {
    /// A verifier for the repository around a directory, which acts for the caller. Where no thread can be started,
    /// nothing is verified, and that is reported.
    #[must_use]
    pub fn new(start: PathBuf, caller: Caller, report: Arc<VerifierReport>) -> Self {
        let (jobs, waiting) = channel::<TaskRef>();
        let taken = Arc::new(Mutex::new(BTreeSet::new()));
        let stops = Arc::new(AtomicBool::new(false));
        let (tasks, is_over) = (Arc::clone(&taken), Arc::clone(&stops));
        let told = Arc::clone(&report);
        let started = thread::Builder::new()
            .name("verify".to_owned())
            .spawn(move || {
                for task in waiting {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    if let Err(error) = verify_due(&start, &caller, &task, &is_over, &*told) {
                        told(error.into());
                    }
                    locked(&tasks).remove(task.directory());
                }
            });
        let thread = match started {
            Ok(thread) => Some(thread),
            Err(error) => {
                let message = format!("nothing is verified: {error}");
                report(Diagnostic::warning(Code::VerificationNotRun, message));
                None
            }
        };
        Self {
            jobs: Some(jobs),
            taken,
            stops,
            thread,
        }
    }

    /// Verifies the task of an effect if something is due for it.
    pub fn hear(&mut self, workspace: &Workspace, effect: &WatchEffect) {
        let sight: &Sight = match effect {
            WatchEffect::Stands(sight) => sight,
            WatchEffect::Moved(applied) => &applied.sight,
            _ => return,
        };
        let mut due = sight.decision.verifications.iter();
        let is_due = due.any(|due| due.attempt.is_none()) && !sight.untracked;
        if !is_due || !workspace.settings().config.watch.verify {
            return;
        }
        let is_new = locked(&self.taken).insert(sight.task.directory().clone());
        if let (true, Some(jobs)) = (is_new, &self.jobs) {
            // Without a thread there is nobody to take it.
            let _ = jobs.send(sight.task.clone());
        }
    }
}

impl Drop for WatchVerifier {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs what is due for a task. Returns an error if it cannot be looked at, or its results cannot be recorded.
fn verify_due(
    start: &std::path::Path,
    caller: &Caller,
    task: &TaskRef,
    is_over: &AtomicBool,
    report: &VerifierReport,
) -> Result<(), Error> {
    let environment = caller.environment.clone();
    let workspace = Workspace::open_for(Purpose::Work, start, environment, None)?;
    let writer = Writer::new(&workspace, caller);
    let plan = plan_verifications(&writer, Some(task), &[], false)?;
    for wanted in &plan.wanted {
        let mut watch = VerifyWatch {
            wants_stop: &|| is_over.load(Ordering::Relaxed),
            hear: &mut |_| {},
        };
        let options = VerifyOptions::default();
        match verify_wanted(&writer, &plan, wanted, &options, &mut watch)? {
            VerifyEnd::Ran(_, Some(applied)) => writer.renew_suggestion(&applied.sight)?,
            VerifyEnd::Ran(_, None) | VerifyEnd::Stands => {}
            VerifyEnd::CouldNotRun(why) => {
                let message = format!(
                    "`{}` of `{}` could not run: {}",
                    wanted.name, task.id, why.message
                );
                let hint = Hint::run(&["orch", "verify", task.id.as_str(), "--again"]);
                report(Diagnostic::warning(Code::VerificationNotRun, message).hint(hint));
            }
        }
    }
    Ok(())
}
