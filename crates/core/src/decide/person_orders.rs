//! The orders that a person may give at any time, whatever the rules suggest. Each is what the functions of
//! [`super::order`] accept now, and a run what [`super::duty()`] says about it.

use super::evaluation::{choice, confirming};
use super::{
    Choice, Decision, Facts, PHASE, RunTurn, Runner, State, Transition, Verdict, WHY, duty, order,
};
use crate::workflow::{Owner, Workflow};
use orch_base::{Error, PhaseId};

/// An order that a person may give now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonOrder {
    /// The command. Where it says `PHASE`, one of the phases is meant, and where it says `WHY`, a reason.
    pub choice: Choice,
    /// The phases that it may lead to.
    pub targets: Vec<PhaseId>,
}

/// An order of [`super::order`] to go to a phase.
type Going = fn(&Workflow, &State, &Facts, Option<&str>, &str) -> Result<Transition, Error>;

/// The orders that a person may give now: a run first, orders against the rules after it. None if the task cannot be
/// evaluated.
#[must_use]
pub fn person_orders(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    decision: &Decision,
    runner: Option<&Runner>,
) -> Vec<PersonOrder> {
    let task = facts.task.as_str();
    if matches!(decision.verdict, Verdict::Error { .. }) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let is_over = matches!(duty(workflow, decision, runner).turn, RunTurn::End(_));
    if !is_over && !runner.is_some_and(Runner::is_running) {
        let run = choice("run", ["orch", "run", task], Owner::Human, "start a run");
        found.push(PersonOrder {
            choice: run,
            targets: Vec::new(),
        });
    }
    let phase = decision
        .phase
        .as_ref()
        .and_then(|phase| workflow.phase(phase));
    let produced = phase
        .map(|phase| phase.produces.as_slice())
        .unwrap_or_default();
    for artifact in produced {
        if order::confirm(workflow, state, facts, artifact.as_str(), WHY).is_ok() {
            found.push(PersonOrder {
                choice: confirming(&facts.task, artifact),
                targets: Vec::new(),
            });
        }
    }
    let going: [(&'static str, [&str; 2], &str, Going); 3] = [
        (
            "rollback",
            ["rollback", "--reason"],
            "go back to an earlier phase",
            order::rollback,
        ),
        (
            "reopen",
            ["reopen", "--reason"],
            "leave the terminal phase",
            order::reopen,
        ),
        (
            "override",
            ["next", "--override"],
            "move to another phase against the rules",
            order::override_to,
        ),
    ];
    for (id, [command, why], effect, goes) in going {
        let mut targets = Vec::new();
        for phase in &workflow.phases {
            if goes(workflow, state, facts, Some(phase.id.as_str()), WHY).is_ok() {
                targets.push(phase.id.clone());
            }
        }
        if !targets.is_empty() {
            let argv = ["orch", command, task, "--to", PHASE, why, WHY];
            found.push(PersonOrder {
                choice: choice(id, argv, Owner::Human, effect),
                targets,
            });
        }
    }
    found
}
