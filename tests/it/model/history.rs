//! What may happen to a task: edits, deletions, broken states, settles, orders; all by chance.

use super::{order, settle};
use crate::core::world::{File, World, passing};
use orch_core::decide::{Transition, confirm, override_to, reopen, rollback};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A small generator of numbers that are always the same for the same seed (splitmix64).
pub struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    /// The generator of a seed. Seeds lie at another distance than steps, so that no two share a stretch.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            state: seed.wrapping_mul(0xd134_2543_de82_ef95),
        }
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }

    /// One of some things.
    pub fn pick<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        let index = usize::try_from(self.below(things.len() as u64)).expect("small");
        &things[index]
    }
}

/// Lets one thing happen to the task; says what.
pub fn disturb(world: &mut World, chance: &mut Chance) -> String {
    match chance.below(100) {
        0..40 => write(world, chance),
        40..46 => delete(world, chance),
        46..80 => {
            settle(world, chance.seed);
            "settle".to_owned()
        }
        80..92 => ordered(world, chance),
        92..94 => {
            let expects = world.decide().expects;
            for expected in expects {
                let text = passing(
                    expected.artifact.as_str(),
                    chance.below(1 << 40),
                    &expected.of,
                );
                world.write(&expected.path, text);
            }
            "work".to_owned()
        }
        94..96 => break_state(world, chance),
        96 => foreign(world, chance),
        _ => {
            world.recover();
            "recover".to_owned()
        }
    }
}

/// Paths where somebody may put an artifact, the wrong ones included.
pub const PATHS: [(&str, &str); 13] = [
    ("plan", "planning/plan.json"),
    ("plan", "plan.json"),
    ("notes", "planning/notes.md"),
    ("plan_review", "review/plan/verdict.json"),
    ("plan_review", "planning/plan-review.json"),
    ("patch", "code/diff.patch"),
    ("tasks", "code/tasks.md"),
    ("code_review", "review/code/ann.json"),
    ("code_review", "review/code/bob.json"),
    ("test_report", "eval/report.json"),
    ("decision", "accept/decision.json"),
    ("revert_record", "revert/record.json"),
    ("nothing", "elsewhere/stray.json"),
];

fn write(world: &mut World, chance: &mut Chance) -> String {
    let (artifact, path) = *chance.pick(&PATHS);
    // Few different texts, so that old bytes come back.
    let n = chance.below(4);
    let of = match chance.below(3) {
        0 => BTreeMap::new(),
        _ => judged(world, artifact, chance),
    };
    let text = match chance.below(10) {
        0 => String::new(),
        1 => "{\"truncated\":".to_owned(),
        2..6 => refusing(artifact, n, chance),
        _ => passing(artifact, n, &of),
    };
    let refused = chance.below(12) == 0;
    world.files.insert(path.to_owned(), File { text, refused });
    format!("write {path}")
}

/// An `of` map that may be right, or not.
fn judged(
    world: &World,
    artifact: &str,
    chance: &mut Chance,
) -> BTreeMap<orch_base::ArtifactName, orch_base::Digest> {
    let workflow = Arc::clone(&world.workflow);
    let writer = workflow
        .phases
        .iter()
        .find(|phase| phase.produces.iter().any(|one| one.as_str() == artifact));
    let needs = writer
        .map(|phase| phase.needs.as_slice())
        .unwrap_or_default();
    let digest = |need: &orch_base::ArtifactName| match chance.below(5) {
        0 => Some(orch_base::Digest::of_blob(b"another")),
        _ => world.digest(need.as_str()),
    };
    let mut digest = digest;
    needs
        .iter()
        .filter_map(|need| Some((need.clone(), digest(need)?)))
        .collect()
}

/// A text that lets the task not move on, or sends it back.
pub fn refusing(artifact: &str, n: u64, chance: &mut Chance) -> String {
    match artifact {
        "plan" => json!({"n": n, "questions": ["which?"]}).to_string(),
        "plan_review" => json!({"n": n, "ok": chance.below(2) == 0, "blocking": 1}).to_string(),
        "code_review" if chance.below(3) == 0 => {
            json!({"n": n, "ok": true, "plan_flawed": true}).to_string()
        }
        "test_report" => {
            json!({"n": n, "passed": false, "flaky": chance.below(2) == 0}).to_string()
        }
        "decision" => {
            let verdict = chance.pick(&["needs_work", "retest", "replan", "revert", "perhaps"]);
            json!({"n": n, "verdict": verdict}).to_string()
        }
        "tasks" => format!("- [ ] task {n}\n"),
        _ => json!({"n": n, "ok": false}).to_string(),
    }
}

fn delete(world: &mut World, chance: &mut Chance) -> String {
    let paths: Vec<String> = world.files.keys().cloned().collect();
    if paths.is_empty() {
        return "nothing".to_owned();
    }
    let path = chance.pick(&paths);
    world.files.remove(path);
    format!("delete {path}")
}

/// What a person may order, whether it makes sense or not.
fn ordered(world: &mut World, chance: &mut Chance) -> String {
    if world.decide().phase.is_none() {
        return "nobody orders anything on a state that is lost".to_owned();
    }
    let workflow = Arc::clone(&world.workflow);
    let (state, facts) = (world.known(), world.facts());
    let phase = chance.pick(&workflow.phases).id.to_string();
    let to = (chance.below(3) > 0).then_some(phase.as_str());
    let artifact = chance.pick(&workflow.artifacts).name.to_string();
    let (what, order_given) = match chance.below(4) {
        0 => (
            "override",
            override_to(&workflow, &state, &facts, to, "hurry"),
        ),
        1 => ("rollback", rollback(&workflow, &state, &facts, to, "again")),
        2 => ("reopen", reopen(&workflow, &state, &facts, to, "a fault")),
        _ => (
            "confirm",
            confirm(&workflow, &state, &facts, &artifact, "it is right"),
        ),
    };
    match order_given {
        Ok(transition) => {
            carry_out(world, &transition, chance.seed);
            format!("{what} -> {}", transition.to)
        }
        Err(refusal) => {
            assert!(refusal.hint().is_some(), "{refusal}");
            format!("{what} refused: {refusal}")
        }
    }
}

fn carry_out(world: &mut World, transition: &Transition, seed: u64) {
    order(world, transition, seed);
}

fn break_state(world: &mut World, chance: &mut Chance) -> String {
    // A transcript that says nothing could not bring it back.
    if world.transcript.is_empty() {
        return "nothing".to_owned();
    }
    match chance.below(3) {
        0 => world.state = None,
        1 => world.state = Some("<<<<<<< HEAD".to_owned()),
        _ => {
            world.state = world
                .state
                .take()
                .map(|text| text.replace("\"attempt\": 1", "\"attempt\": 9"))
        }
    }
    "break the state".to_owned()
}

/// Another tool's state, at any phase, without any record.
fn foreign(world: &mut World, chance: &mut Chance) -> String {
    if world.state.is_some() || !world.transcript.is_empty() {
        return "nothing".to_owned();
    }
    let names = [
        "planning_done",
        "codegen",
        "test_run",
        "review",
        "accept",
        "revert",
        "plan_review",
        "done",
    ];
    let phase = *chance.pick(&names);
    world.state = Some(json!({"phase": phase, "ticket": "A-1"}).to_string());
    format!("foreign {phase}")
}
