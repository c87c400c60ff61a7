//! The verifications that a run runs itself, between the turns of executors.

use super::driver::Drive;
use super::verification::{VerifyEnd, VerifyOptions, plan_verifications, verify_wanted};
use super::{Happened, Reporter};
use crate::apply::Writer;
use crate::survey::{Error, TaskRef};
use crate::verify::{VerifyEvent, VerifyPart, VerifyWatch};
use orch_base::{Period, VerificationName};
use orch_core::decide::{RecordOutcome, RunCommand, RunEffect, RunEvent};
use orch_core::verification::NotRun;
use std::cell::RefCell;

impl Drive<'_> {
    /// Runs verifications that are due, and records what they give.
    pub(super) fn verify(
        &mut self,
        names: Vec<VerificationName>,
        report: &mut Reporter<'_>,
    ) -> RunEffect {
        self.sight = None;
        let asked = RunVerifications {
            writer: self.writer,
            task: self.task,
            options: VerifyOptions {
                trust: self.options.trust,
                ..VerifyOptions::default()
            },
            wants_stop: &|| self.requested().is_some(),
        };
        let noted = match asked.each(&names, report) {
            Ok(noted) => noted,
            Err(error) => {
                let command = RunCommand::Verify(names);
                return self.block(RunEffect::Record(command), error, report);
            }
        };
        self.is_held = false;
        let command = RunCommand::Verify(names);
        self.step(RunEvent::Recorded(command, noted), report)
    }
}

/// The verifications of the task of a run.
struct RunVerifications<'r> {
    writer: &'r Writer<'r>,
    task: &'r TaskRef,
    options: VerifyOptions,
    /// Whether the run has to end.
    wants_stop: &'r dyn Fn() -> bool,
}

impl RunVerifications<'_> {
    fn each(
        &self,
        names: &[VerificationName],
        report: &mut Reporter<'_>,
    ) -> Result<RecordOutcome, Error> {
        let plan = plan_verifications(self.writer, Some(self.task), names, false)?;
        let mut noted = RecordOutcome::Nothing;
        let report = RefCell::new(report);
        for wanted in &plan.wanted {
            let name = wanted.name.as_str();
            let hear = |event: VerifyEvent<'_>| tell(name, event, &mut **report.borrow_mut());
            let mut watch = VerifyWatch {
                wants_stop: self.wants_stop,
                hear: &mut { hear },
            };
            match verify_wanted(self.writer, &plan, wanted, &self.options, &mut watch)? {
                VerifyEnd::Ran(_, Some(applied)) => {
                    (report.borrow_mut())(&Happened::Applied(&applied));
                    noted = RecordOutcome::Done;
                }
                VerifyEnd::Ran(_, None) | VerifyEnd::Stands => {}
                // The request that stopped it ends the run.
                VerifyEnd::CouldNotRun(why) if why.reason == NotRun::Stopped => break,
                VerifyEnd::CouldNotRun(why) => {
                    let why = format!("`{name}` could not run: {}", why.message);
                    return Ok(RecordOutcome::Refused(why.into()));
                }
            }
        }
        Ok(noted)
    }
}

/// Tells whoever follows the run what a verification does.
fn tell(name: &str, event: VerifyEvent<'_>, report: &mut Reporter<'_>) {
    match event {
        VerifyEvent::Begins(VerifyPart::Command(_, argv, _)) => {
            report(&Happened::Verifies { name, argv });
        }
        VerifyEvent::Line(line) => report(&Happened::Line(line)),
        VerifyEvent::Tick(time) => {
            let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            report(&Happened::Tick(Period::from_milliseconds(milliseconds)));
        }
        VerifyEvent::Waits | VerifyEvent::Begins(_) => {}
    }
}
