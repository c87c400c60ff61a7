//! The deadlines of the phase in which a task is: when they end, and which of them are over.
//!
//! What rules see is only what the record says: that a deadline has passed is an event, [`Lapse`]. Whoever records it knows
//! the time; a decision does not.

use super::{Lapse, Lapsed, State};
use crate::workflow::{Deadline, Workflow};
use orch_base::Timestamp;

/// A deadline of the present attempt at a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningDeadline {
    /// Its name in the workflow.
    pub name: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When the attempt began.
    pub entered: Timestamp,
    /// When it passes, or has passed.
    pub ends: Timestamp,
    /// Whether the record says that it has passed.
    pub has_lapsed: bool,
}

impl State {
    /// That a deadline has passed in the present attempt at its phase, as the record says.
    pub(super) fn lapse_of(&self, deadline: &Deadline) -> Option<&Lapsed> {
        let attempt = self.attempt(&deadline.phase).max(1);
        let known = self.actor(&deadline.phase)?.lapsed.get(&deadline.name);
        known.filter(|known| known.attempt == attempt)
    }

    /// How many deadlines have passed in present attempts.
    pub(super) fn lapsed_count(&self) -> usize {
        let actors = self.actors.values();
        actors.map(|actor| actor.lapsed.len()).sum()
    }
}

/// The deadlines of the phase in which a task is, in document order. Empty if its record does not say when it entered
/// the phase.
#[must_use]
pub fn deadlines(workflow: &Workflow, state: &State) -> Vec<RunningDeadline> {
    if workflow.deadlines.is_empty() {
        return Vec::new();
    }
    let state = state.under_own_names(workflow);
    let phase = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name));
    let Some(phase) = phase else {
        return Vec::new();
    };
    let Some(entry) = state.last_entry_into(&phase.id) else {
        return Vec::new();
    };
    let attempt = state.attempt(&phase.id).max(1);
    let running = workflow.deadlines_of(&phase.id).map(|deadline| {
        let entered = entry.at;
        RunningDeadline {
            name: deadline.name.clone(),
            attempt,
            entered,
            ends: deadline.ends(entered),
            has_lapsed: state.lapse_of(deadline).is_some(),
        }
    });
    running.collect()
}

/// What has to be recorded at a time: the deadlines that have passed, and of which the record does not say so.
#[must_use]
pub fn lapses(workflow: &Workflow, state: &State, now: Timestamp) -> Vec<Lapse> {
    let mut found = Vec::new();
    for running in deadlines(workflow, state) {
        if running.has_lapsed || now < running.ends {
            continue;
        }
        found.push(Lapse {
            deadline: running.name,
            attempt: running.attempt,
            entered: running.entered,
            at: running.ends,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{
        ActorKind, By, Detail, DetailStep, Facts, Kind, Recorded, Stamp, Transition, apply,
        detailed, evaluate, initial_state, settle,
    };
    use crate::workflow::{Document, System, compile};
    use orch_base::{PhaseId, TaskId};

    const TEXT: &str = "```toml orch
[artifact.verdict]
path = 'verdict.json'
[phase.review]
aliases = ['check']
produces = ['verdict']
[phase.late]
produces = ['verdict']
[phase.done]
terminal = true
[deadline.soon]
phase = 'review'
after = '1h'
[deadline.review]
after = '48h'
[[rule]]
id = 'remind'
from = 'review'
when = 'lapsed.review'
to = 'review'
because = 'nobody came'
[[rule]]
id = 'done'
from = ['review', 'late']
when = 'verdict.ready'
to = 'done'
because = 'it is done'
[[rule]]
id = 'late'
from = 'late'
when = 'lapsed.review'
to = 'done'
because = 'never true: it is a deadline of another phase'
```";

    fn workflow() -> Workflow {
        let document = Document::new("w", "w.md", TEXT);
        let (workflow, found) = compile(&document, &System::empty());
        workflow.unwrap_or_else(|| panic!("{found:#?}"))
    }

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_seconds(hours * 3600)
    }

    fn stamp(hours: i64) -> Stamp {
        let name = "orch".to_owned();
        let kind = ActorKind::Orch;
        Stamp::new(at(hours), By { kind, name })
    }

    fn task() -> TaskId {
        TaskId::new("t").expect("an id")
    }

    /// A task that entered the review at hour 10.
    fn begun(workflow: &Workflow) -> State {
        let review = PhaseId::new("review").expect("a name");
        let created = Transition::new(None, review, Kind::Create, "it begins");
        let facts = Facts::of_no_files(task());
        apply(
            workflow,
            &initial_state(workflow),
            &facts,
            &created,
            &stamp(10),
        )
    }

    /// The state after it was recorded at an hour which deadlines have passed, and their names.
    fn recorded(workflow: &Workflow, state: &State, hours: i64) -> (State, Vec<String>) {
        let mut state = state.clone();
        let mut names = Vec::new();
        for lapse in lapses(workflow, &state, at(hours)) {
            names.push(lapse.deadline.clone());
            let step = DetailStep {
                detail: Detail::Lapse(lapse),
                at: at(hours),
                to: None,
                former: None,
                why: None,
            };
            let lapsed = detailed(workflow, &state, &task(), step).expect("it has passed");
            let facts = Facts::of_no_files(task());
            state = apply(workflow, &state, &facts, &lapsed, &stamp(hours));
        }
        (state, names)
    }

    #[test]
    fn a_deadline_passes_once_in_each_attempt() {
        let workflow = workflow();
        let first = begun(&workflow);
        for (hours, names) in [
            (10, &[][..]),
            (11, &["soon"]),
            (57, &["soon"]),
            (58, &["soon", "review"]),
        ] {
            let (after, lapsed) = recorded(&workflow, &first, hours);
            assert_eq!(lapsed, names, "{hours}");
            assert!(lapses(&workflow, &after, at(hours)).is_empty(), "{hours}");
            let decision = evaluate(
                &workflow,
                &Recorded::Known(after.into()),
                &Facts::of_no_files(task()),
            );
            let told = decision
                .deadlines
                .iter()
                .filter(|deadline| deadline.has_lapsed);
            let told: Vec<&str> = told.map(|deadline| deadline.name.as_str()).collect();
            assert_eq!(told, names, "{hours}");
            let is_due = decision.transition().is_some();
            assert_eq!(is_due, hours == 58, "{decision:#?}");
        }
        // Not before its time, and not of another attempt.
        let early = lapses(&workflow, &first, at(58)).remove(1);
        for (hours, lapse) in [
            (57, early.clone()),
            (
                58,
                Lapse {
                    attempt: 2,
                    ..early.clone()
                },
            ),
            (
                58,
                Lapse {
                    at: at(57),
                    ..early.clone()
                },
            ),
            (
                58,
                Lapse {
                    entered: at(9),
                    ..early
                },
            ),
        ] {
            let step = DetailStep {
                detail: Detail::Lapse(lapse.clone()),
                at: at(hours),
                to: None,
                former: None,
                why: None,
            };
            let refused = detailed(&workflow, &first, &task(), step);
            assert!(refused.is_err(), "{lapse:?}");
        }
    }

    #[test]
    fn a_rule_may_lead_to_the_next_attempt_whose_time_begins_anew() {
        let workflow = workflow();
        let (late, _) = recorded(&workflow, &begun(&workflow), 58);
        let facts = Facts::of_no_files(task());
        let state = Recorded::Known(late.into());
        let settled = settle(&workflow, &state, &facts, &stamp(58), &|_| true);
        let [step] = settled.steps.as_slice() else {
            panic!("{settled:#?}");
        };
        assert_eq!(step.transition.to.as_str(), "review");
        let again = deadlines(&workflow, &step.state);
        let ends: Vec<Timestamp> = again.iter().map(|deadline| deadline.ends).collect();
        assert_eq!(ends, [at(59), at(106)]);
        assert!(again.iter().all(|deadline| !deadline.has_lapsed));
        // Under a former name of the phase too.
        let former = State {
            phase: Some("check".to_owned()),
            ..step.state.clone()
        };
        assert_eq!(lapses(&workflow, &former, at(59)).len(), 1);
    }
}
