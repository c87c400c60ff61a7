//! The commands that record something for a run: each yields steps for the task as it is now, or is refused.

use super::next::in_a_row;
use super::proposal::rests_on_proposal;
use super::{ControlRequest, DefaultAnswer, Ending, FailedAction, Precondition};
use crate::decide::{
    ActionResult, ActorKind, By, FILES_KEPT, Facts, HistoryEntry, Mode, Performance, Recorded,
    Stamp, State, Step, Transition, accept, answer, apply, end, give_up, settle, signalled, start,
};
use crate::workflow::{Signal, Workflow};
use orch_base::{ActionName, ArtifactName, Digest, Reason, RuleId, Timestamp, VerificationName};
use std::sync::Arc;

/// Something that a run records.
#[derive(Debug, Clone, PartialEq)]
pub enum RunCommand {
    /// All transitions that are due, except by a person's word.
    Moves {
        /// The outputs of phases that a person owns that executors wrote in this run.
        proposed: Vec<ArtifactName>,
    },
    /// The response to the order to start.
    Start,
    /// The start of the run, with its way of treating questions.
    Begin(Mode),
    /// The result of an action.
    Result {
        /// The name of the action.
        action: ActionName,
        /// The rule that runs it.
        rule: RuleId,
        /// The state from which it started.
        precondition: Precondition,
        /// The parsed result.
        result: Box<ActionResult>,
    },
    /// That an action failed too often.
    GiveUp(FailedAction),
    /// The answer to a question by its default.
    Answer(DefaultAnswer),
    /// The results of verifications, which have to run before.
    Verify(Vec<VerificationName>),
    /// The response to an order to end.
    Order(ControlRequest),
    /// The end of the run, in words.
    End(String),
}

/// Who records, and the checks that need more than the task's state.
pub struct Recorder<'a> {
    /// The stamp for steps that the rules yield.
    pub own: Stamp,
    /// The stamp for steps that the caller orders.
    pub caller: Stamp,
    /// Why a state may not be written, in words; `None` if it may.
    pub refuses: &'a dyn Fn(&State) -> Option<String>,
    /// The steps that the log has with a number; `None` without a log.
    pub earlier: &'a dyn Fn(u64) -> Option<Vec<Arc<HistoryEntry>>>,
    /// Whether a file that an executor names exists.
    pub is_there: &'a dyn Fn(&str) -> bool,
    /// When the executor of this work started, and its program, if this process started it.
    pub started: Option<(Timestamp, String)>,
    /// The blob id of a file that an executor names, if it can be read.
    pub digest: &'a dyn Fn(&str) -> Option<Digest>,
}

impl RunCommand {
    /// Whether the command can record anything for a task of this workflow.
    #[must_use]
    pub fn may_record(&self, workflow: &Workflow) -> bool {
        match self {
            Self::Start => responds(workflow, Signal::Start),
            Self::Order(request) => request
                .signal()
                .is_some_and(|signal| responds(workflow, signal)),
            Self::Begin(_) => workflow.has_actions(),
            Self::End(ending) => keeps_end(workflow, ending),
            Self::Moves { .. }
            | Self::Result { .. }
            | Self::GiveUp(_)
            | Self::Answer(_)
            | Self::Verify(_) => true,
        }
    }

    /// The steps that record the command for a task as it is now; empty if there is nothing to record.
    /// Returns the reason if the command is refused.
    pub fn steps(
        &self,
        workflow: &Workflow,
        state: &State,
        facts: &Facts,
        recorder: &Recorder<'_>,
    ) -> Result<Vec<Step>, Reason> {
        let steps = if let Self::Moves { proposed } = self {
            moves(workflow, state, facts, recorder, proposed)?
        } else {
            match self.transition(workflow, state, facts, recorder)? {
                None => Vec::new(),
                Some(transition) => {
                    let state = apply(
                        workflow,
                        state,
                        facts,
                        &transition,
                        &self.stamp(workflow, recorder),
                    );
                    vec![Step { transition, state }]
                }
            }
        };
        match steps
            .iter()
            .find_map(|step| (recorder.refuses)(&step.state))
        {
            Some(why) => Err(why.into()),
            None => Ok(steps),
        }
    }

    fn transition(
        &self,
        workflow: &Workflow,
        state: &State,
        facts: &Facts,
        recorder: &Recorder<'_>,
    ) -> Result<Option<Transition>, Reason> {
        match self {
            // Its steps follow from what the verifications give.
            Self::Moves { .. } | Self::Verify(_) => Ok(None),
            Self::Start => signalled(workflow, state, facts, Signal::Start).transpose(),
            Self::Order(request) => match request.signal() {
                Some(signal) => signalled(workflow, state, facts, signal).transpose(),
                None => Ok(None),
            },
            Self::Begin(mode) if workflow.has_actions() => Ok(start(workflow, state, facts, *mode)),
            Self::End(ending) if keeps_end(workflow, ending) => {
                Ok(end(workflow, state, facts, ending))
            }
            Self::Begin(_) | Self::End(_) => Ok(None),
            Self::Result {
                action,
                rule,
                precondition,
                result,
            } => {
                precondition.check(workflow, state, recorder.earlier)?;
                refuse_missing(workflow, action, result, recorder.is_there)?;
                let reason = reason_of(result, action);
                let patch = &result.patch;
                accept(workflow, state, facts, rule, action, patch, &reason).map(Some)
            }
            Self::GiveUp(FailedAction {
                action,
                rule,
                failures,
                cause,
            }) => {
                let mut reason =
                    format!("`{action}` failed {} and was given up", in_a_row(*failures));
                if let Some(cause) = cause {
                    reason.push_str(&format!(": {}", cause.words()));
                }
                let mut trace = cause
                    .as_ref()
                    .map(|cause| cause.trace.clone())
                    .unwrap_or_default();
                // At the limit the rules for errors decide, and nothing else is tried.
                let has_rest = state.run.errors.saturating_add(1) < workflow.limits.errors;
                trace.recoverable = Some(has_rest && !trace.is_final());
                give_up(workflow, state, facts, rule, action, &reason, trace).map(Some)
            }
            Self::Answer(DefaultAnswer { ask, patch, .. }) => {
                let reason = format!("question `{ask}` was answered by its default");
                answer(workflow, state, facts, patch, &reason).map(Some)
            }
        }
    }

    /// Who performs the step, and when.
    fn stamp(&self, workflow: &Workflow, recorder: &Recorder<'_>) -> Stamp {
        match self {
            Self::Start | Self::Begin(_) | Self::Order(_) => recorder.caller.clone(),
            Self::Moves { .. } | Self::Answer(_) | Self::End(_) | Self::Verify(_) => {
                recorder.own.clone()
            }
            Self::GiveUp(_) => Stamp {
                performance: recorder.performance(&[]),
                ..recorder.own.clone()
            },
            Self::Result { action, result, .. } => {
                let by = By {
                    kind: ActorKind::Agent,
                    name: action.to_string(),
                };
                let outputs = workflow
                    .action(action)
                    .map(|action| action.outputs.as_slice());
                let written: Vec<&String> = outputs
                    .unwrap_or_default()
                    .iter()
                    .chain(&result.output_files)
                    .collect();
                Stamp {
                    performance: recorder.performance(&written),
                    ..Stamp::new(recorder.caller.at, by)
                }
            }
        }
    }
}

impl Recorder<'_> {
    /// How the executor performed the work, given the names of the files that it wrote; `None` if nothing is
    /// known.
    fn performance(&self, written: &[&String]) -> Option<Box<Performance>> {
        let mut files: Vec<(String, String)> = Vec::new();
        for path in written {
            if files.len() < FILES_KEPT && files.iter().all(|(known, _)| known != *path) {
                files.extend(
                    (self.digest)(path).map(|digest| ((*path).clone(), digest.to_string())),
                );
            }
        }
        let (started, executor) = self.started.clone().unzip();
        let performance = Performance {
            started,
            executor,
            files,
        };
        if performance == Performance::default() {
            None
        } else {
            Some(Box::new(performance))
        }
    }
}

/// Whether the end of a run is recorded: in a workflow with actions, and wherever the run failed, so that the cause
/// does not depend on a file that git ignores.
fn keeps_end(workflow: &Workflow, ending: &str) -> bool {
    workflow.has_actions() || matches!(Ending::of_reason(ending), Some((Ending::Failed, _)))
}

/// Whether a rule responds to a signal.
fn responds(workflow: &Workflow, signal: Signal) -> bool {
    workflow.rules.iter().any(|rule| rule.on == Some(signal))
}

/// All transitions that are due. Returns the reason if they form a livelock, in which case none is applied.
fn moves(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    recorder: &Recorder<'_>,
    proposed: &[ArtifactName],
) -> Result<Vec<Step>, Reason> {
    let recorded = Recorded::Known(Box::new(state.clone()));
    let settled = settle(workflow, &recorded, facts, &recorder.own, &|due| {
        !due.by_human && !rests_on_proposal(workflow, due, proposed)
    });
    match &settled.decision.verdict {
        crate::decide::Verdict::Livelock { .. } => Err(settled.decision.reason.into()),
        _ => Ok(settled.steps),
    }
}

/// Rejects a result that names files that do not exist.
fn refuse_missing(
    workflow: &Workflow,
    action: &ActionName,
    result: &ActionResult,
    is_there: &dyn Fn(&str) -> bool,
) -> Result<(), Reason> {
    let outputs = workflow
        .action(action)
        .map(|action| action.outputs.as_slice())
        .unwrap_or_default();
    if let Some(missing) = outputs.iter().find(|path| !is_there(path)) {
        return Err(format!("{missing} is missing, but the action should have written it").into());
    }
    match result.output_files.iter().find(|path| !is_there(path)) {
        Some(missing) => {
            Err(format!("{missing} is missing, but the result says that it was written").into())
        }
        None => Ok(()),
    }
}

/// The reason for the history: the summary of the result, on one line.
fn reason_of(result: &ActionResult, action: &ActionName) -> String {
    let said = result
        .summary
        .as_deref()
        .or(result.message.as_deref())
        .unwrap_or_default();
    let line: String = said
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(300)
        .collect();
    if line.is_empty() {
        format!("`{action}` is done")
    } else {
        line
    }
}
