//! Every action with every behaviour: whatever executors do, the task comes to a named end.
//!
//! `ORCH_LOOP_SEED` says which combination comes first, `ORCH_LOOP_COMBINATIONS` how many are tried.

use super::behaviour::{Behaviour, Memory, perform};
use super::simulator::{Machine, Simulation};
use crate::model::Chance;
use crate::setting::number;
use orch_core::decide::{Ending, Mode, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How an action's executor behaves; actions without an entry succeed.
pub type Plan = BTreeMap<String, Behaviour>;

/// How a task came out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// How its last run ended.
    pub ending: &'static str,
    /// The phase that it is in.
    pub phase: String,
}

/// More runs than any task may need, with a person who answers whatever is asked.
const RUNS: u32 = 120;

/// Plays a task to its end: it is run again whenever a budget is used up, and a person answers.
pub fn play(
    machine: &Machine,
    plan: &Plan,
    mode: Mode,
    chance: &mut Chance,
) -> (Outcome, Vec<String>) {
    let mut memory = Memory::default();
    let mut task = machine.task();
    for _ in 0..RUNS {
        let ended = task.run(mode, &mut |job| {
            let behaviour = plan
                .get(job.action.as_str())
                .copied()
                .unwrap_or(Behaviour::Succeeds);
            perform(machine, behaviour, job, &mut memory)
        });
        let goes_on = match ended.ending {
            // An executor that asks would ask again.
            Ending::Waiting if matches!(task.decide().verdict, Verdict::Run(_)) => {
                assert!(
                    ended.reason.contains("` asks: "),
                    "{plan:?}: {}",
                    ended.reason
                );
                false
            }
            Ending::Waiting => {
                is_ended_by_a_command(&task, plan);
                task.ask_person(chance)
            }
            Ending::Exhausted => {
                let is_budget = ended.reason.contains("turns of the run are used")
                    || ended.reason.contains("taken");
                assert!(is_budget, "{plan:?}: {}", ended.reason);
                true
            }
            Ending::Completed | Ending::Failed => {
                let phase = task.decide().phase.expect("a phase");
                let phase = machine.workflow.phase(&phase).expect("known");
                assert!(phase.terminal, "{plan:?}: {} is not the end", phase.id);
                assert_eq!(
                    phase.success,
                    ended.ending == Ending::Completed,
                    "{plan:?}: {}",
                    phase.id
                );
                false
            }
            Ending::Stalled => false,
            Ending::Error | Ending::Paused | Ending::Stopped => {
                panic!(
                    "{plan:?}: {:?}: {}\n{:?}",
                    ended.ending, ended.reason, task.trace
                )
            }
        };
        if !goes_on {
            return (
                Outcome {
                    ending: ended.ending.as_str(),
                    phase: task.phase(),
                },
                task.trace,
            );
        }
    }
    panic!("{plan:?}: no end after {RUNS} runs: {:?}", task.trace);
}

/// A wait names the command that ends it.
fn is_ended_by_a_command(task: &Simulation<'_>, plan: &Plan) {
    let decision = task.decide();
    let is_named = decision
        .options
        .iter()
        .any(|option| option.argv.starts_with(&["orch".to_owned()]));
    let is_wait = matches!(decision.verdict, Verdict::Wait { .. } | Verdict::Choose(_));
    assert!(is_named && is_wait, "{plan:?}: {decision:#?}");
}

/// The plan of a seed: everybody alike, one or two who differ, or many.
fn plan(machine: &Machine, seed: u64, chance: &mut Chance) -> Plan {
    let actions: Vec<String> = machine
        .workflow
        .actions
        .iter()
        .map(|action| action.name.to_string())
        .collect();
    let differing = match seed % 4 {
        0 => {
            let alike = *chance.pick(&Behaviour::ALL);
            return actions.into_iter().map(|action| (action, alike)).collect();
        }
        1 => 1,
        2 => 2,
        _ => 3 + chance.below(actions.len() as u64),
    };
    (0..differing)
        .map(|_| (chance.pick(&actions).clone(), *chance.pick(&Behaviour::ALL)))
        .collect()
}

/// Plays a seeded slice of all plans, each unattended or with a person; the ways in which tasks came out.
pub fn outcomes(machine: &Machine) -> BTreeSet<Outcome> {
    slice(machine, 48)
}

/// The same with so many plans, unless it is said how many.
pub fn slice(machine: &Machine, plans: u64) -> BTreeSet<Outcome> {
    let first = number("ORCH_LOOP_SEED").unwrap_or(1);
    let end = first + number("ORCH_LOOP_COMBINATIONS").unwrap_or(plans);
    let (next, found) = (AtomicU64::new(first), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(seed) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < end)
                {
                    let mut chance = Chance::new(seed);
                    let plan = plan(machine, seed, &mut chance);
                    let mode = *chance.pick(&[Mode::Auto, Mode::Interactive]);
                    let (outcome, _) = play(machine, &plan, mode, &mut chance);
                    found.lock().expect("unharmed").insert(outcome);
                }
            });
        }
    });
    found.into_inner().expect("unharmed")
}
