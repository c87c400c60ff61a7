//! Settling: applies transitions until none is due, and guarantees that this ends.

use super::decision::is_order;
use super::evaluate::yielded;
use super::{
    Decision, Facts, Recorded, RunRecord, Stamp, State, Transition, Verdict, apply, evaluate,
    initial_state,
};
use crate::workflow::Workflow;
use orch_base::PhaseId;
use serde_json::{Map, Value};

/// The state in which a task comes to rest, and the steps that lead there.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The transitions in order, each with the state after it.
    pub steps: Vec<Step>,
    /// The final decision.
    pub decision: Decision,
}

/// One applied transition.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The applied transition.
    pub transition: Transition,
    /// The state after it.
    pub state: State,
}

/// Applies transitions as long as one is due and `may` allows it. `may` also decides about rules that require
/// a person (`by_human`).
///
/// A phase may be entered again only if some digest has been used up since it was last entered, or the
/// workflow's own data has changed, for example a counter, or a deadline had passed, which the entry takes back. Each
/// digest is used up at most once, no deadline passes meanwhile, and the number of times that the rules may go back to a
/// phase is limited, so settling ends. If the rules form a
/// circle without such a change, none of its transitions is applied and the decision is a livelock.
#[must_use]
pub fn settle(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    stamp: &Stamp,
    may: &dyn Fn(&Transition) -> bool,
) -> Settled {
    settle_from(
        evaluate(workflow, recorded, facts),
        workflow,
        recorded,
        facts,
        stamp,
        may,
    )
}

/// The same, starting from a decision that was already made for the task.
#[must_use]
pub fn settle_from(
    first: Decision,
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    stamp: &Stamp,
    may: &dyn Fn(&Transition) -> bool,
) -> Settled {
    match steps_from(&first, workflow, recorded, facts, stamp, may) {
        Ok(steps) => {
            let decision = match steps.last() {
                None => first,
                Some(step) => {
                    let state = Recorded::Known(Box::new(step.state.clone()));
                    evaluate(workflow, &state, &facts.after_a_step())
                }
            };
            Settled { steps, decision }
        }
        Err(cycle) => Settled {
            steps: Vec::new(),
            decision: livelock(first, cycle),
        },
    }
}

/// The livelock that a due transition begins; `None` if it leads somewhere.
pub(super) fn endless(
    first: &Decision,
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
) -> Option<Decision> {
    let cycle = steps_from(
        first,
        workflow,
        recorded,
        facts,
        &Stamp::of_no_record(),
        &|due| !due.by_human,
    );
    cycle.err().map(|cycle| livelock(first.clone(), cycle))
}

/// The steps from a decision on, or the phases through which the rules go round.
fn steps_from(
    first: &Decision,
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    stamp: &Stamp,
    may: &dyn Fn(&Transition) -> bool,
) -> Result<Vec<Step>, Vec<PhaseId>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut due = first.transition().filter(|due| may(due)).cloned();
    if due.is_none() {
        return Ok(steps);
    }
    let mut state = match recorded {
        Recorded::Known(state) => state.under_own_names(workflow).into_owned(),
        _ => initial_state(workflow),
    };
    let mut entered: Vec<(PhaseId, Progress)> = first
        .phase
        .iter()
        .map(|phase| (phase.clone(), Progress::of(&state)))
        .collect();
    let moved = facts.after_a_step();
    while let Some(transition) = due {
        let facts = if steps.is_empty() { facts } else { &moved };
        state = apply(workflow, &state, facts, &transition, stamp);
        let now = Progress::of(&state);
        match entered
            .iter_mut()
            .find(|(phase, _)| *phase == transition.to)
        {
            Some((_, before)) if *before == now => return Err(cycle(&steps, &transition)),
            Some((_, before)) => *before = now,
            None => entered.push((transition.to.clone(), now)),
        }
        let next = yielded(workflow, &Recorded::Known(Box::new(state.clone())), &moved);
        due = next
            .filter(|(due, is_held)| !is_held && may(due))
            .map(|(due, _)| due);
        steps.push(Step {
            transition,
            state: state.clone(),
        });
    }
    Ok(steps)
}

/// What must change between two entries of a phase.
#[derive(PartialEq)]
struct Progress {
    spent: usize,
    lapsed: usize,
    data: Map<String, Value>,
    run: RunRecord,
}

impl Progress {
    fn of(state: &State) -> Self {
        Self {
            spent: state.spent_count(),
            lapsed: state.lapsed_count(),
            data: state.extra.clone(),
            run: state.run.clone(),
        }
    }
}

fn cycle(steps: &[Step], last: &Transition) -> Vec<PhaseId> {
    let mut cycle: Vec<PhaseId> = steps
        .iter()
        .filter_map(|step| step.transition.from.clone())
        .collect();
    cycle.extend(last.from.clone());
    cycle.push(last.to.clone());
    cycle
}

fn livelock(first: Decision, cycle: Vec<PhaseId>) -> Decision {
    let names: Vec<&str> = cycle.iter().map(PhaseId::as_str).collect();
    let reason = format!(
        "the rules go round in circles on the same files: {}",
        names.join(" -> ")
    );
    // What would apply the transition is refused; what people may order against the rules remains.
    let options = first
        .options
        .into_iter()
        .filter(|option| is_order(option.id))
        .collect();
    Decision {
        verdict: Verdict::Livelock { cycle },
        reason,
        options,
        ..first
    }
}
