//! What a run would do, as far as that follows from the task alone: `orch run --dry-run`.

use super::recording::steps_for;
use super::{RunEnd, RunOptions, budget, continued, first_step, refuse_idle, state_of};
use crate::apply::Writer;
use crate::survey::{Error, Sight, TaskRef};
use orch_core::decide::{Ending, Job, Mode, NextStep, Recorded, RunCommand, Transition, Usage};

/// How many steps are foreseen at most, as a run records at most so many without a turn.
const STEPS: usize = 100;

/// What a run would do until it starts an executor or ends: it begins, takes the transitions that are due, and
/// answers questions by their defaults. Writes nothing and starts no executor. Returns an error if the task
/// cannot be read, or if the run would refuse to begin.
pub fn foresee_run(
    writer: &Writer<'_>,
    task: &TaskRef,
    options: &RunOptions,
) -> Result<RunEnd, Error> {
    let options = &continued(writer, task, options)?;
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    let ahead = look_ahead(writer, &sight, options)?;
    refuse_idle(writer, &sight, &ahead, options)?;
    let budget = budget(sight.workflow(), options);
    Ok(forecast(sight, ahead, budget.turns))
}

/// What comes before the first executor of a run, or before its end.
pub(super) struct RunAhead {
    /// The step that starts the executor, or the end.
    pub due: NextStep,
    /// The steps that are recorded before.
    foreseen: Vec<Transition>,
    /// What the run has used by then.
    usage: Usage,
}

/// Goes through a run of an evaluated task in memory, up to its first executor or its end. Returns an error if the
/// record of its last run cannot be read.
pub(super) fn look_ahead(
    writer: &Writer<'_>,
    sight: &Sight,
    options: &RunOptions,
) -> Result<RunAhead, Error> {
    let budget = budget(sight.workflow(), options);
    let mode = options
        .mode
        .or(state_of(sight)?.run.mode)
        .unwrap_or(Mode::Interactive);
    let last = writer.workspace.reader.run_files(&sight.task).last()?;
    let mut usage = last
        .filter(|last| last.goes_on())
        .map(|last| last.usage)
        .unwrap_or_default();
    let mut ahead = sight.clone();
    let mut foreseen = Vec::new();
    for command in [RunCommand::Start, RunCommand::Begin(mode)] {
        go(writer, &mut ahead, &command, &mut foreseen);
    }
    let mut due = first_step(writer, &ahead, (&usage, &budget, mode), options);
    while foreseen.len() < STEPS {
        let command = match &due {
            NextStep::Apply => RunCommand::Moves {
                proposed: Vec::new(),
            },
            NextStep::Answer(answer) => {
                usage.turns = usage.turns.saturating_add(1);
                usage
                    .seen
                    .push((Job::Question(answer.ask.clone()), answer.fingerprint));
                RunCommand::Answer(answer.clone())
            }
            NextStep::Perform(_)
            | NextStep::Verify(_)
            | NextStep::GiveUp(_)
            | NextStep::End(..) => break,
        };
        if !go(writer, &mut ahead, &command, &mut foreseen) {
            break;
        }
        due = first_step(writer, &ahead, (&usage, &budget, mode), options);
    }
    Ok(RunAhead {
        due,
        foreseen,
        usage,
    })
}

/// Takes the steps of a command in memory. Returns whether there are any.
fn go(
    writer: &Writer<'_>,
    ahead: &mut Sight,
    command: &RunCommand,
    foreseen: &mut Vec<Transition>,
) -> bool {
    let steps = steps_for(writer, command, ahead, None).unwrap_or_default();
    let Some(last) = steps.last() else {
        return false;
    };
    let state = last.state.clone();
    foreseen.extend(steps.iter().map(|step| step.transition.clone()));
    ahead.decision = writer.workspace.reader.settled(ahead, steps).decision;
    ahead.recorded = Recorded::Known(Box::new(state));
    true
}

fn forecast(
    sight: Sight,
    RunAhead {
        due,
        foreseen,
        usage,
    }: RunAhead,
    most: u32,
) -> RunEnd {
    let (ending, reason) = match &due {
        NextStep::End(ending, reason) => (*ending, reason.clone()),
        NextStep::Perform(work) => (Ending::Waiting, format!("`{}` would run", work.name())),
        NextStep::Verify(names) => {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            (
                Ending::Waiting,
                format!("`{}` would be verified", names.join("`, `")),
            )
        }
        NextStep::GiveUp(failed) => (
            Ending::Waiting,
            format!("`{}` would be given up", failed.action),
        ),
        NextStep::Answer(answer) => (
            Ending::Waiting,
            format!("question `{}` would be answered by its default", answer.ask),
        ),
        NextStep::Apply => (
            Ending::Waiting,
            format!("a transition is due: {}", sight.decision.reason),
        ),
    };
    let due = (!matches!(due, NextStep::End(..))).then_some(due);
    let run = String::new();
    let turns = (usage.turns, most);
    let interrupted = false;
    RunEnd {
        ending,
        reason,
        sight,
        run,
        turns,
        cost: usage.cost,
        unpriced: usage.unpriced,
        interrupted,
        keeps_lease: false,
        due,
        foreseen,
        fence: None,
    }
}
