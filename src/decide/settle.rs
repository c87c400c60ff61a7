//! Settling: applies transitions until none is due, and guarantees that this ends.

use super::decision::is_order;
use super::{
    Decision, Facts, Recorded, RunRecord, Stamp, State, Transition, Verdict, apply, evaluate, initial_state,
};
use crate::base::PhaseId;
use crate::workflow::Workflow;
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
/// workflow's own data has changed, for example a counter. Each digest is used up at most once, and the
/// number of times that the rules may go back to a phase is limited, so settling ends. If the rules form a
/// circle without such a change, none of its transitions is applied and the decision is a livelock.
#[must_use]
pub fn settle(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    stamp: &Stamp,
    may: &dyn Fn(&Transition) -> bool,
) -> Settled {
    settle_from(evaluate(workflow, recorded, facts), workflow, recorded, facts, stamp, may)
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
    let mut state = match recorded {
        Recorded::Known(state) => state.under_own_names(workflow).into_owned(),
        _ => initial_state(workflow),
    };
    let mut entered: Vec<(PhaseId, Progress)> =
        first.phase.iter().map(|phase| (phase.clone(), Progress::of(&state))).collect();
    let mut steps: Vec<Step> = Vec::new();
    let mut decision = first.clone();
    let moved = facts.after_a_step();
    while let Some(transition) = decision.transition().cloned() {
        if !may(&transition) {
            break;
        }
        let facts = if steps.is_empty() { facts } else { &moved };
        let next = apply(workflow, &state, facts, &transition, stamp);
        let now = Progress::of(&next);
        match entered.iter_mut().find(|(phase, _)| *phase == transition.to) {
            Some((_, before)) if *before == now => return livelock(first, steps, &transition),
            Some((_, before)) => *before = now,
            None => entered.push((transition.to.clone(), now)),
        }
        let now = Recorded::Known(Box::new(next.clone()));
        state.clone_from(&next);
        steps.push(Step { transition, state: next });
        decision = evaluate(workflow, &now, &moved);
    }
    Settled { steps, decision }
}

/// What must change between two entries of a phase.
#[derive(PartialEq)]
struct Progress {
    spent: usize,
    data: Map<String, Value>,
    run: RunRecord,
}

impl Progress {
    fn of(state: &State) -> Self {
        Self { spent: state.spent_count(), data: state.extra.clone(), run: state.run.clone() }
    }
}

fn livelock(first: Decision, steps: Vec<Step>, last: &Transition) -> Settled {
    let mut cycle: Vec<PhaseId> = steps.iter().filter_map(|step| step.transition.from.clone()).collect();
    cycle.extend(last.from.clone());
    cycle.push(last.to.clone());
    let names: Vec<&str> = cycle.iter().map(PhaseId::as_str).collect();
    let reason = format!("the rules go round in circles on the same files: {}", names.join(" -> "));
    // What would apply the transition is refused; what people may order against the rules remains.
    let options = first.options.into_iter().filter(|option| is_order(option.id)).collect();
    let verdict = Verdict::Livelock { cycle };
    Settled { steps: Vec::new(), decision: Decision { verdict, reason, options, ..first } }
}
