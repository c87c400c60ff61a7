//! The model test: random histories on the lifecycle, then a diligent worker who always gets done.
//!
//! `ORCH_MODEL_HISTORIES` says how many histories are tried, `ORCH_MODEL_SEED` which comes first.

mod branches;
mod history;
mod worker;

use crate::core::world::{LIFECYCLE, World};
use crate::setting::number;
use history::disturb;
pub use history::{Chance, PATHS, refusing};
use orch_core::decide::{
    Facts, HistoryEntry, Recorded, State, Transition, Verdict, derive, evaluate, replay,
};
use orch_core::record::{read_state, write_state};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[test]
fn whatever_happened_a_diligent_worker_gets_done() {
    let rounds = AtomicU32::new(0);
    each_history(&|seed| {
        rounds.fetch_max(live(seed), Ordering::Relaxed);
    });
    assert!(
        rounds.into_inner() > 5,
        "nothing was ever left to do: the histories are too tame"
    );
}

/// Lives every history that is asked for, several at a time.
fn each_history(live: &(dyn Fn(u64) + Sync)) {
    let first = number("ORCH_MODEL_SEED").unwrap_or(1);
    let next = AtomicU64::new(first);
    let end = first + number("ORCH_MODEL_HISTORIES").unwrap_or(48);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(seed) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < end)
                {
                    live(seed);
                }
            });
        }
    });
}

/// One history and its happy end; how many rounds of work that took.
fn live(seed: u64) -> u32 {
    let mut chance = Chance::new(seed);
    let mut world = World::new(Arc::clone(&LIFECYCLE));
    let mut what = String::new();
    for _ in 0..chance.below(40) {
        what = disturb(&mut world, &mut chance);
    }
    holds(&world, seed, &what);
    worker::finish(&mut world, seed)
}

/// What is true of every task at every moment.
fn holds(world: &World, seed: u64, what: &str) {
    let decision = world.decide();
    assert!(
        !matches!(decision.verdict, Verdict::Livelock { .. }),
        "seed {seed}: {what}: {decision:#?}"
    );
    let mut clone = World::new(Arc::clone(&world.workflow));
    clone.files.extend(
        world
            .files
            .iter()
            .rev()
            .map(|(path, file)| (path.clone(), file.clone())),
    );
    clone.state.clone_from(&world.state);
    clone.transcript.clone_from(&world.transcript);
    assert_eq!(
        clone.decide(),
        decision,
        "seed {seed}: {what}: a clone disagrees"
    );
}

/// Settles, and proves each step: it follows from the facts and the state before it.
fn settle(world: &mut World, seed: u64) {
    let facts = world.facts();
    let mut before = world.recorded();
    let settled = world.settle();
    assert!(
        settled.steps.len() < 40,
        "seed {seed}: it takes {} steps to settle",
        settled.steps.len()
    );
    for step in &settled.steps {
        let again = evaluate(&world.workflow, &before, &facts);
        assert_eq!(
            again.transition(),
            Some(&step.transition),
            "seed {seed}: it does not re-derive"
        );
        entered(world, &step.transition, &step.state, seed);
        replays(world, &before, &facts, &step.state, seed);
        before = Recorded::Known(Box::new(step.state.clone()));
    }
    let verdict = &settled.decision.verdict;
    assert!(
        !matches!(verdict, Verdict::Livelock { .. }),
        "seed {seed}: {}",
        settled.decision.reason
    );
    let resting = settled.decision.transition().is_none_or(|due| due.by_human);
    assert!(resting, "seed {seed}: it was not settled");
}

/// Applies what a person ordered, and proves what holds after it.
fn order(world: &mut World, transition: &Transition, seed: u64) {
    let (before, facts) = (world.recorded(), world.facts());
    world.apply(transition);
    entered(world, transition, &world.known(), seed);
    replays(world, &before, &facts, &world.known(), seed);
}

/// The record of a step is what the rules yield, and no other record is.
fn replays(world: &World, before: &Recorded, facts: &Facts, after: &State, seed: u64) {
    let entry = after.history.last().expect("an entry");
    let replayed = replay(&world.workflow, before, facts, entry, Some(after));
    assert_eq!(
        replayed.map(|replayed| replayed.state).as_ref(),
        Ok(after),
        "seed {seed}: {entry:?}"
    );
    for phase in &world.workflow.phases {
        let elsewhere = HistoryEntry {
            to: phase.id.clone(),
            ..HistoryEntry::clone(entry)
        };
        let mut forged = after.clone();
        forged.phase = Some(phase.id.to_string());
        if phase.id != entry.to {
            let refused = replay(&world.workflow, before, facts, entry, Some(&forged));
            assert!(refused.is_err(), "seed {seed}: forged into {}", phase.id);
            forged.history.pop();
            forged.history.push(elsewhere.clone().into());
            let refused = replay(&world.workflow, before, facts, &elsewhere, Some(&forged));
            assert!(refused.is_err(), "seed {seed}: {elsewhere:?}");
        }
    }
    let mut forged = after.clone();
    forged
        .actors
        .values_mut()
        .for_each(|actor| actor.spent.clear());
    if forged != *after {
        assert!(
            replay(&world.workflow, before, facts, entry, Some(&forged)).is_err(),
            "seed {seed}"
        );
    }
}

/// No phase is entered without its needs or a waiver, and the state survives its own file.
fn entered(world: &World, transition: &Transition, after: &State, seed: u64) {
    let phase_key = &world.workflow.phase_key;
    let text = write_state(
        after,
        phase_key,
        "schema",
        orch_core::record::LogExtent::default(),
    );
    let value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        read_state(&value, &text, phase_key).as_ref(),
        Ok(after),
        "seed {seed}: not read back"
    );
    let target = world.workflow.phase(&transition.to).expect("known");
    let derived = derive(&world.workflow, after, &transition.to, &world.facts());
    for need in &target.needs {
        let there = derived.iter().any(|one| one.name == *need && one.holds());
        let from = &transition.from;
        assert!(
            there || after.waived.contains_key(need) || from.as_ref() == Some(&transition.to),
            "seed {seed}: {from:?} -> {} without {need}",
            transition.to
        );
    }
}
