//! The diligent worker: does what `expects` and `options` ask, and nothing else, until it is done.

use super::{order, settle};
use crate::core::world::{World, passing};
use orch_core::decide::{Choice, Verdict, override_to, rollback};
use orch_core::workflow::Owner;
use std::sync::Arc;

/// The most rounds that any task may take.
const ROUNDS: u32 = 40;

/// Works until the task is done; how many rounds that took.
pub fn finish(world: &mut World, seed: u64) -> u32 {
    let mut story = Vec::new();
    for round in 0..ROUNDS {
        settle(world, seed);
        let decision = world.decide();
        story.push(format!(
            "{:?}#{}: {}",
            decision.phase, decision.attempt, decision.reason
        ));
        let stuck = || format!("seed {seed} is stuck:\n{}\n{decision:#?}", story.join("\n"));
        match &decision.verdict {
            Verdict::Done { .. } => return round,
            Verdict::Transition(transition) => {
                assert!(transition.by_human, "{}", stuck());
                assert!(
                    decision
                        .options
                        .iter()
                        .any(|option| option.id == "approve" && option.by == Owner::Human),
                    "{}",
                    stuck()
                );
                world.approve();
            }
            Verdict::Handover { .. } => {
                let option = decision
                    .options
                    .first()
                    .unwrap_or_else(|| panic!("{}", stuck()));
                choose(world, option, seed);
            }
            Verdict::Error { .. } => {
                assert!(
                    decision.options.iter().any(|option| option.id == "recover"),
                    "{}",
                    stuck()
                );
                assert!(world.recover(), "{}", stuck());
            }
            Verdict::Wait { .. } | Verdict::Inconsistent { .. } => {
                assert!(!decision.expects.is_empty(), "{}", stuck());
                for (n, expected) in decision.expects.iter().enumerate() {
                    let n = 1_000_000 + u64::from(round) * 100 + n as u64;
                    let text = passing(expected.artifact.as_str(), n, &expected.of);
                    world.write(&expected.path, text);
                }
            }
            Verdict::Run(_) | Verdict::Choose(_) | Verdict::Livelock { .. } => {
                panic!("{}", stuck())
            }
        }
    }
    panic!("seed {seed} spins:\n{}", story.join("\n"));
}

/// Types the command of an option.
fn choose(world: &mut World, option: &Choice, seed: u64) {
    let workflow = Arc::clone(&world.workflow);
    let to = option
        .argv
        .iter()
        .skip_while(|word| *word != "--to")
        .nth(1)
        .map(String::as_str);
    let (state, facts) = (world.known(), world.facts());
    let transition = match option.id {
        "rollback" => rollback(&workflow, &state, &facts, to, "once more"),
        _ => override_to(&workflow, &state, &facts, to, "once more"),
    };
    order(
        world,
        &transition.unwrap_or_else(|refusal| panic!("seed {seed}: {option:?}: {refusal}")),
        seed,
    );
}
