//! One turn: an executor is started, and what it says is taken in or refused.

use super::super::{Error, Judged};
use super::drive::{Drive, NOT_RECORDED};
use super::{Happened, Tell};
use crate::base::{Diagnostic, Period, RepoPath, command};
use crate::decide::{self, ActionResult, ActorKind, By, Stamp, Verdict, Work};
use crate::run::{Ended, Executor, Live, Performed, Wish, WorkState};
use crate::view;
use crate::workflow::{Action, Workflow};
use serde_json::Value;

impl Drive<'_> {
    /// Performs a work and takes in what comes of it.
    pub(super) fn perform(&mut self, judged: &Judged, work: &Work, tell: &mut Tell<'_>) -> Result<(), Error> {
        let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
        let (config, times) = self.engine.executor_for(workflow, work, self.options)?;
        self.run.spent.begin();
        self.acted = true;
        // Whoever cleans up what git ignores, between two turns or in one, takes it for rubbish.
        self.files.create()?;
        let turn = self.run.spent.turns;
        let name = format!("{}-{turn:04}-{}", self.run.id, work.name);
        let log = self.files.log(&name);
        self.run.work = Some(WorkState {
            work: work.clone(),
            started: self.engine.now(),
            group: None,
            group_started: None,
            name: name.clone(),
            rev: judged.decision.rev,
        });
        self.save()?;
        let shown = log.strip_prefix(&self.engine.root).unwrap_or(&log).display().to_string();
        tell(&Happened::Turn { work, turn, turns: self.budget.turns, log: &shown });
        let executor = Executor {
            argv: config.command,
            directory: self.engine.root.clone(),
            environment: self.environment(judged, work, &name)?,
            prompt: self.prompt(judged, work)?,
            times,
            grace: config.grace,
            log,
            result: self.files.result(&name),
        };
        let performed = self.listen(&executor, tell)?;
        self.files.create()?;
        self.notes(&performed, &name, tell);
        self.take_in(judged, work, &name, performed, tell)
    }

    /// Runs an executor, writing down its group as soon as it is known.
    fn listen(&mut self, executor: &Executor, tell: &mut Tell<'_>) -> Result<Performed, Error> {
        let (stop, files, id) = (self.stop.clone(), self.files.clone(), self.run.id.clone());
        let wants_stop =
            || stop.is_set() || files.wish(&id).is_some_and(|control| control.wish == Wish::Stop);
        let mut fault = None;
        let performed = executor.perform(&wants_stop, &mut |live| match live {
            Live::Started { group, at } => {
                if let Some(doing) = &mut self.run.work {
                    (doing.group, doing.group_started) = (Some(group), at);
                }
                fault = self.files.create().map_err(Into::into).and_then(|()| self.note()).err();
            }
            Live::Line(line) => tell(&Happened::Line(line)),
            Live::Tick(time) => {
                let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                tell(&Happened::Tick(Period::from_milliseconds(time)));
            }
        });
        if let Some(fault) = fault {
            return Err(fault);
        }
        performed.map_err(|source| crate::store::Error::io(&executor.log, source).into())
    }

    fn notes(&self, performed: &Performed, name: &str, tell: &mut Tell<'_>) {
        if performed.left_processes {
            let message = "it left processes behind; they were ended";
            tell(&Happened::Note(&Diagnostic::warning("left-processes", message)));
        }
        if let Some(fault) = &performed.log_fault {
            let message = format!("the log {name}.log could not be kept: {fault}");
            tell(&Happened::Note(&Diagnostic::warning("log", message)));
        }
    }

    /// Takes in what a try came to.
    fn take_in(
        &mut self,
        judged: &Judged,
        work: &Work,
        name: &str,
        performed: Performed,
        tell: &mut Tell<'_>,
    ) -> Result<(), Error> {
        let read = match performed.result {
            None => None,
            Some(Ok(value)) => Some((ActionResult::read(&value), Some(value))),
            Some(Err(why)) => Some((Err(why), None)),
        };
        let cost = read.as_ref().and_then(|(read, _)| read.as_ref().ok()).map_or(0.0, |result| result.cost);
        let why = match performed.ended {
            Ended::Well => None,
            Ended::Stopped => {
                // Nobody's failure: it begins anew when the run goes on.
                self.run.spent.charge(cost);
                self.run.work = None;
                return self.note();
            }
            Ended::Code(code) => Some(format!("it ended with code {code}")),
            Ended::Signal(signal) => Some(format!("it was ended by signal {signal}")),
            Ended::TooLong(limit) => Some(format!("it took longer than {limit}")),
            Ended::Silent(limit) => Some(format!("it printed nothing for {limit}")),
            Ended::NotStarted(why) => Some(why),
        };
        if let Some(why) = why {
            return self.fail(work, &why, cost, tell);
        }
        if work.action.is_none() {
            // The word of an agent is no evidence, so that it says nothing is no fault either.
            let result = read.and_then(|(read, _)| read.ok());
            if result.as_ref().is_some_and(|result| result.failed) {
                let said = result.and_then(|result| result.message.or(result.summary));
                let why = said.unwrap_or_else(|| "it says that it failed".to_owned());
                return self.fail(work, &why, cost, tell);
            }
            self.asked_to_stop = result.as_ref().filter(|result| !result.goes_on).map(|_| asked(work));
            let message = result.as_ref().and_then(|result| result.message.as_deref());
            tell(&Happened::Done { work, message });
            self.run.spent.succeed(work, cost);
            self.run.work = None;
            return self.note();
        }
        match read {
            None => self.fail(work, "it left no result", cost, tell),
            Some((Err(why), _)) => self.fail(work, &why, cost, tell),
            Some((Ok(result), value)) => {
                if let Some(value) = &value {
                    // From here on the result counts, whatever becomes of this process.
                    self.files.keep_result(name, value)?;
                }
                self.accept(judged.decision.phase.as_ref(), work, &result, tell)
            }
        }
    }

    /// Records a result, if everything about it is as the workflow allows.
    pub(super) fn accept(
        &mut self,
        phase: Option<&crate::base::PhaseId>,
        work: &Work,
        result: &ActionResult,
        tell: &mut Tell<'_>,
    ) -> Result<(), Error> {
        if result.failed {
            let said = result.message.as_deref().or(result.summary.as_deref());
            return self.fail(work, said.unwrap_or("it says that it failed"), result.cost, tell);
        }
        let (Some(action), Some(rule)) = (&work.action, &work.rule) else { return Ok(()) };
        let reason = reason_of(result, work);
        let by = By { kind: ActorKind::Agent, name: work.name.clone() };
        let refused = self.record(tell, &|engine, judged, stamp| {
            let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else { return Ok(None) };
            if phase.is_some() && judged.decision.phase.as_ref() != phase {
                let now = judged.decision.phase.as_ref().map_or("?", |phase| phase.as_str());
                return Err(format!("the task moved to `{now}` meanwhile"));
            }
            let outputs = workflow.action(action).map(|action| action.outputs.as_slice()).unwrap_or_default();
            if let Some(missing) = outputs.iter().find(|path| !is_there(engine.root(), judged, path)) {
                return Err(format!("it should have written {missing}, which is not there"));
            }
            if let Some(missing) =
                result.output_files.iter().find(|path| !is_there(engine.root(), judged, path))
            {
                return Err(format!("it says that it wrote {missing}, which is not there"));
            }
            let facts = &judged.observed.facts;
            let step = decide::accept(workflow, state, facts, (rule, action), &result.patch, &reason)?;
            Ok(Some((step, Stamp { by: by.clone(), ..stamp })))
        })?;
        match refused {
            // Its result is kept and finished: the next run takes it in.
            Some(why) if why == NOT_RECORDED => Ok(()),
            Some(why) => self.fail(work, &why, result.cost, tell),
            None => {
                if let Some(message) = &result.message {
                    tell(&Happened::Done { work, message: Some(message) });
                }
                self.asked_to_stop = (!result.goes_on).then(|| asked(work));
                self.run.spent.succeed(work, result.cost);
                self.run.work = None;
                self.note()
            }
        }
    }

    /// Counts a failure.
    pub(super) fn fail(
        &mut self,
        work: &Work,
        why: &str,
        cost: f64,
        tell: &mut Tell<'_>,
    ) -> Result<(), Error> {
        self.run.spent.fail(work, cost);
        self.run.work = None;
        self.note()?;
        let judged = self.engine.judge(self.task)?;
        let limits = judged.workflow().map(|workflow| workflow.limits).unwrap_or_default();
        let tries = judged.workflow().map_or(limits.failures, |workflow| {
            let action = work.action.as_ref().and_then(|action| workflow.action(action));
            action.map_or(limits.failures, |action| action.tries(&limits))
        });
        let wait = (work.attempt < tries).then(|| limits.wait_before(work.attempt.saturating_add(1)));
        tell(&Happened::Failed { work, why, wait });
        Ok(())
    }

    /// Records that an action failed too often.
    pub(super) fn give_up(&mut self, work: &Work, tell: &mut Tell<'_>) -> Result<(), Error> {
        let (Some(action), Some(rule)) = (&work.action, &work.rule) else { return Ok(()) };
        let reason = format!("`{action}` failed {} times in a row and was given up", work.attempt - 1);
        let refused = self.record(tell, &|engine, judged, _| {
            let (Some(workflow), Some(state)) = (judged.workflow(), judged.state()) else { return Ok(None) };
            let facts = &judged.observed.facts;
            let step = decide::give_up(workflow, state, facts, (rule, action), &reason)?;
            Ok(Some((step, engine.caller.own_stamp())))
        })?;
        self.acted = true;
        match refused {
            None => self.run.spent.give_up(work),
            // It would be decided again and again, with nothing that could ever change.
            Some(message) if message != NOT_RECORDED && self.is_due(work)? => {
                let message = format!("that `{action}` is given up cannot be recorded: {message}");
                let hint = Some(command(&["orch", "suggest", self.task.id.as_str()]));
                return Err(Error::NotNow { code: "refused", message, hint });
            }
            Some(_) => {}
        }
        self.note()
    }

    /// Whether the rules still ask for a work.
    fn is_due(&self, work: &Work) -> Result<bool, Error> {
        let judged = self.engine.judge(self.task)?;
        let action = match judged.decision.verdict {
            Verdict::Run(action) => Some(action),
            _ => None,
        };
        Ok(action == work.action && judged.decision.rule == work.rule)
    }

    /// What an executor finds in its environment beside what it inherits.
    fn environment(&self, judged: &Judged, work: &Work, name: &str) -> Result<Vec<(String, String)>, Error> {
        let state = judged.task.state_path()?.under(&self.engine.root);
        let result = self.files.result(name);
        Ok([
            ("ORCH_TASK", self.task.id.to_string()),
            ("ORCH_ACTION", work.name.clone()),
            ("ORCH_ATTEMPT", work.attempt.to_string()),
            ("ORCH_STATE", state.display().to_string()),
            ("ORCH_RESULT", result.display().to_string()),
            ("ORCH_ACTOR", format!("agent:{}", work.name)),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .to_vec())
    }

    /// What an executor reads.
    fn prompt(&self, judged: &Judged, work: &Work) -> Result<String, Error> {
        let subject = self.engine.subject(judged, None).ok_or_else(|| judged.loaded.faulty())?;
        let Some(action) = work.action.as_ref().and_then(|name| subject.workflow.action(name)) else {
            return Ok(view::prompt(&subject));
        };
        let shown = shown(subject.workflow, action, judged);
        let state = judged.task.state_path()?;
        Ok(view::action_prompt(&subject, action, &shown, &state, work.attempt))
    }
}

/// The parts of the state that a prompt shows, each with its pointer.
fn shown(workflow: &Workflow, action: &Action, judged: &Judged) -> Vec<(String, Value)> {
    let Some(state) = judged.state() else { return Vec::new() };
    let mut whole = decide::document(state, &workflow.phase_key);
    if let Value::Object(members) = &mut whole {
        members.extend(decide::data_of(workflow, state));
    }
    let mut pointers: Vec<&String> = workflow.show.iter().chain(&action.show).collect();
    pointers.dedup();
    let found = |pointer: &&String| Some(((*pointer).clone(), whole.pointer(pointer)?.clone()));
    pointers.iter().filter_map(found).collect()
}

/// Whether a file is there that an executor speaks of, below the task or below the repository.
fn is_there(root: &std::path::Path, judged: &Judged, path: &str) -> bool {
    let below_task = judged.task.directory.join(path);
    let found = [below_task.ok(), RepoPath::new(path).ok()];
    found.into_iter().flatten().any(|path| path.under(root).is_file())
}

/// The reason of a record: what the result says of itself, on one line.
fn reason_of(result: &ActionResult, work: &Work) -> String {
    let said = result.summary.as_deref().or(result.message.as_deref()).unwrap_or_default();
    let line: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    if line.is_empty() { format!("`{}` is done", work.name) } else { line }
}

fn asked(work: &Work) -> String {
    format!("`{}` asked to stop here", work.name)
}
