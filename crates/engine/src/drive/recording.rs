//! Records the steps of a run, if the repository allows it.

use super::driver::{Drive, case, own};
use super::{Happened, Reporter};
use crate::apply::{Applied, TaskOutcome, Wanted, Writer, refuse_link};
use crate::survey::{Error, Sight};
use orch_base::{Code, Diagnostic, Digest, Reason, RepoPath, Timestamp};
use orch_core::decide::{
    Blocker, HistoryEntry, RecordOutcome, Recorder, RunCommand, RunEffect, RunEvent, Settled, Step,
};
use orch_core::record::EventLog;
use orch_git::durable;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Why a step was not recorded.
enum Unmade {
    /// The workflow does not permit it.
    Refused(Reason),
    /// The task is not on this branch, or cannot be read.
    Blocked(Blocker),
}

impl Drive<'_> {
    /// Records a command for the task in its current state.
    pub(super) fn record(&mut self, command: RunCommand, report: &mut Reporter<'_>) -> RunEffect {
        if let RunCommand::Verify(names) = command {
            return self.verify(names, report);
        }
        if !command.may_record(&self.compiled.workflow) {
            return self.step(RunEvent::Recorded(command, RecordOutcome::Nothing), report);
        }
        let writer = self.writer;
        let started = self.performing.clone();
        let unmade: RefCell<Option<Unmade>> = RefCell::new(None);
        let steps_of = |sight: &Sight| -> Result<Settled, Error> {
            // Files behind a symbolic link belong to no task.
            refuse_link(&writer.workspace.reader, sight)?;
            let made = match case(sight, &|_| false) {
                Ok(_) => {
                    steps_for(writer, &command, sight, started.as_ref()).map_err(Unmade::Refused)
                }
                Err(blocker) => Err(Unmade::Blocked(blocker)),
            };
            let (steps, why) =
                made.map_or_else(|why| (Vec::new(), Some(why)), |steps| (steps, None));
            unmade.replace(why);
            Ok(writer.workspace.reader.settled(sight, steps))
        };
        let mut wanted = Wanted::unseen(self.task);
        // The last evaluation counts if nothing has changed by the time the lock is held.
        if let Some(sight) = self.sight.take()
            && let Ok(settled) = steps_of(&sight)
        {
            wanted = Wanted::seen(sight, settled);
        }
        let outcomes = writer
            .advance()
            .carry_out(std::slice::from_mut(&mut wanted), &steps_of);
        let why = unmade.into_inner();
        match (outcomes, why) {
            (Err(error), _) => {
                self.keep_durably(&command, report);
                self.block(RunEffect::Record(command), error, report)
            }
            (Ok(_), Some(Unmade::Blocked(blocker))) => {
                self.keep_durably(&command, report);
                self.step(
                    RunEvent::Blocked(RunEffect::Record(command), blocker),
                    report,
                )
            }
            (Ok(_), Some(Unmade::Refused(why))) => {
                self.is_held = false;
                self.step(
                    RunEvent::Recorded(command, RecordOutcome::Refused(why)),
                    report,
                )
            }
            (Ok(outcomes), None) => {
                self.is_held = false;
                if matches!(command, RunCommand::Result { .. } | RunCommand::GiveUp(_)) {
                    self.performing = None;
                }
                let noted = self.report_outcomes(outcomes, report);
                self.step(RunEvent::Recorded(command, noted), report)
            }
        }
    }

    /// Reports what was applied, and keeps the evaluation after it.
    fn report_outcomes(
        &mut self,
        outcomes: Vec<TaskOutcome>,
        report: &mut Reporter<'_>,
    ) -> RecordOutcome {
        let mut noted = RecordOutcome::Nothing;
        for outcome in outcomes {
            if let TaskOutcome::Applied(applied) = outcome {
                let applied = Applied {
                    sight: own(applied.sight),
                    ..*applied
                };
                report(&Happened::Applied(&applied));
                if let Err(error) = self.writer.renew_suggestion(&applied.sight) {
                    let message = format!("cannot update suggestion.json: {error}");
                    report(&Happened::Note(&Diagnostic::warning(
                        Code::SuggestionUnwritten,
                        message,
                    )));
                }
                noted = RecordOutcome::Done;
                // With a note, the files may differ from what was recorded.
                self.sight = applied.notes.is_empty().then_some(applied.sight);
            }
        }
        noted
    }

    /// Syncs a result that cannot be recorded yet, so that it survives a power cut.
    fn keep_durably(&self, command: &RunCommand, report: &mut Reporter<'_>) {
        let (RunCommand::Result { .. }, Some(name)) = (command, self.work_name()) else {
            return;
        };
        if let Err(error) = self.files.sync_result(&name) {
            let message = format!("cannot sync the result to disk: {error}");
            report(&Happened::Note(&Diagnostic::warning(
                Code::ResultUnsaved,
                message,
            )));
        }
    }
}

/// The steps that record a command, or why it is refused. `started` says when the executor of the work started,
/// and which program it is.
pub(super) fn steps_for(
    writer: &Writer<'_>,
    command: &RunCommand,
    sight: &Sight,
    started: Option<&(Timestamp, String)>,
) -> Result<Vec<Step>, Reason> {
    let workflow = sight.workflow();
    let state = sight.state().ok_or("the state cannot be read")?;
    let recorder = Recorder {
        own: writer.caller.own_stamp(),
        caller: writer.stamp(),
        refuses: &|state| writer.records().refused_data(workflow, state),
        earlier: &|seq| logged(sight, seq),
        is_there: &|path| is_there(writer.workspace.reader.root(), sight, path),
        started: started.cloned(),
        digest: &|path| digest_of(writer, sight, path),
    };
    let steps = command.steps(workflow, state, &sight.observed.facts, &recorder)?;
    let asked = if matches!(command, RunCommand::Moves { .. }) {
        1 + steps.len()
    } else {
        0
    };
    writer.workspace.reader.costs.evaluated(asked);
    Ok(steps)
}

/// The steps with a number that the log of a task has; `None` if not all of the log was read.
fn logged(sight: &Sight, seq: u64) -> Option<Vec<Arc<HistoryEntry>>> {
    let (log, _) = EventLog::parse(sight.observed.log.whole()?);
    let events = log.events().filter(|event| event.entry.seq == seq);
    Some(events.map(|event| Arc::clone(&event.entry)).collect())
}

/// Whether a file that an executor names exists, relative to the task or to the repository.
fn is_there(root: &Path, sight: &Sight, path: &str) -> bool {
    place_of(root, sight, path).is_some()
}

fn place_of(root: &Path, sight: &Sight, path: &str) -> Option<RepoPath> {
    let below_task = sight.task.place.path(path);
    let mut found = [below_task.ok(), RepoPath::new(path).ok()]
        .into_iter()
        .flatten();
    found.find(|path| path.under(root).is_file())
}

/// The blob id of a file that an executor names. An artifact has been read already; another file is read unless
/// it is larger than an artifact may be.
fn digest_of(writer: &Writer<'_>, sight: &Sight, path: &str) -> Option<Digest> {
    let workspace = writer.workspace;
    let path = place_of(workspace.reader.root(), sight, path)?;
    if let Some(file) = sight.observed.files.iter().find(|file| file.path == path) {
        return Some(file.digest);
    }
    let place = path.under(workspace.reader.root());
    let size = place.metadata().ok()?.len();
    let bytes = if size <= workspace.reader.settings.config.limit_bytes {
        durable::read_regular(&place)?
    } else {
        return None;
    };
    let stored = workspace
        .reader
        .store()
        .and_then(|store| store.filters().clean(&path, &bytes).ok());
    Some(
        sight
            .workflow()
            .digest
            .format()
            .blob(stored.as_deref().unwrap_or(&bytes)),
    )
}
