//! The model test of merging: two branches of one random history, joined, and brought to an end.

use super::history::{Chance, disturb};
use super::{each_history, holds, settle, worker};
use crate::core::world::{File, LIFECYCLE, World, passing};
use orch::decide::{Conflict, Kind, Recorded, State, Verdict, choose, merge};
use orch::record::{rebuild, united_lines, with_line, write_state};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What came of the merges of many histories.
#[derive(Debug, Default)]
struct Came {
    one_moved: AtomicU32,
    joined: AtomicU32,
    finished_twice: AtomicU32,
}

#[test]
fn merges_commute_and_whoever_works_on_gets_done() {
    let came = Came::default();
    each_history(&|seed| {
        live(seed, &came);
    });
    let all = [came.one_moved, came.joined, came.finished_twice].map(AtomicU32::into_inner);
    assert!(all.iter().all(|many| *many > 2) && all[1] > 50, "the histories are too tame: {all:?}");
}

/// A world whose state can be merged: known, and of `orch`.
fn branch(world: &World, chance: &mut Chance, most: u64) -> Option<World> {
    let mut world = world.clone();
    for _ in 0..chance.below(most) {
        if chance.below(3) == 0 { disturb(&mut world, chance).clear() } else { work(&mut world, chance) }
    }
    if !matches!(world.recorded(), Recorded::Known(_)) {
        world.recover();
    }
    match world.recorded() {
        Recorded::Known(state) if !state.foreign => Some(world),
        _ => None,
    }
}

/// Somebody writes what is expected, and the task moves on.
fn work(world: &mut World, chance: &mut Chance) {
    for expected in world.decide().expects {
        world.write(&expected.path, passing(expected.artifact.as_str(), chance.below(1 << 40), &expected.of));
    }
    settle(world, 0);
    world.approve();
}

fn live(seed: u64, came: &Came) {
    let mut chance = Chance::new(seed);
    let Some(base) = branch(&World::new(Arc::clone(&LIFECYCLE)), &mut chance, 8) else { return };
    let (Some(ours), Some(theirs)) = (branch(&base, &mut chance, 8), branch(&base, &mut chance, 8)) else {
        return;
    };
    let known = base.known();
    let (a, b) = (ours.known(), theirs.known());
    laws(&known, &a, &b, seed);
    let merged = match merge(&LIFECYCLE, Some(&known), &a, &b) {
        Ok(merged) => merged,
        Err(conflict) => {
            assert!(matches!(conflict, Conflict::Finished { .. }), "seed {seed}: {conflict}");
            came.finished_twice.fetch_add(1, Ordering::Relaxed);
            let mut world = joined(&base, &ours, &theirs, &mut chance);
            let chosen = choose(&LIFECYCLE, &a, &b, "it is the better one", &world.stamp()).expect("chosen");
            put(&mut world, &chosen, seed);
            assert!(matches!(world.decide().verdict, Verdict::Done { .. }), "seed {seed}");
            return;
        }
    };
    let mut world = joined(&base, &ours, &theirs, &mut chance);
    if a != known && b != known && merged.history.last().is_some_and(|last| last.kind == Kind::Merge) {
        came.joined.fetch_add(1, Ordering::Relaxed);
        follows_from_both(&a, &b, &merged, seed);
    } else {
        came.one_moved.fetch_add(1, Ordering::Relaxed);
    }
    put(&mut world, &merged, seed);
    holds(&world, seed, "merge");
    settle(&mut world, seed);
    worker::finish(&mut world, seed);
}

/// What is true of every merge.
fn laws(base: &State, a: &State, b: &State, seed: u64) {
    let both = |base: Option<&State>| (merge(&LIFECYCLE, base, a, b), merge(&LIFECYCLE, base, b, a));
    for base in [Some(base), None] {
        let (one, other) = both(base);
        match (one, other) {
            (Ok(one), Ok(other)) => assert_eq!(text(&one), text(&other), "seed {seed}"),
            (Err(_), Err(_)) => {}
            (one, other) => panic!("seed {seed}: {one:?}\n{other:?}"),
        }
    }
    assert_eq!(merge(&LIFECYCLE, Some(base), a, a).as_ref(), Ok(a), "seed {seed}");
    assert_eq!(merge(&LIFECYCLE, Some(base), a, base).as_ref(), Ok(a), "seed {seed}: only one moved");
    assert_eq!(merge(&LIFECYCLE, Some(base), base, b).as_ref(), Ok(b), "seed {seed}: only one moved");
    // Whoever merges again what is merged already gets nothing new.
    if let Ok(merged) = merge(&LIFECYCLE, Some(base), a, b) {
        for side in [a, b] {
            assert_eq!(merge(&LIFECYCLE, Some(side), &merged, side).as_ref(), Ok(&merged), "seed {seed}");
        }
    }
}

/// Nothing that was used up is fresh again, nobody is further than before, and both stories are told.
fn follows_from_both(a: &State, b: &State, merged: &State, seed: u64) {
    let used = |state: &State| -> BTreeSet<String> {
        let actors = state.actors.iter();
        actors
            .flat_map(|(phase, actor)| actor.spent.iter().map(move |(name, spent)| (phase, name, spent)))
            .flat_map(|(phase, name, spent)| {
                spent.iter().map(move |digest| format!("{phase}/{name}@{digest}"))
            })
            .collect()
    };
    let all: BTreeSet<String> = used(a).union(&used(b)).cloned().collect();
    assert_eq!(used(merged), all, "seed {seed}");
    assert!(merged.rev > a.rev.max(b.rev) && merged.next_seq > a.next_seq.max(b.next_seq), "seed {seed}");
    assert!([a, b].iter().any(|side| side.phase == merged.phase), "seed {seed}: a phase that nobody is in");
    let last = [a, b].map(|side| side.history.last().expect("moved"));
    let window = merged.history.iter().rev().take(10);
    let told = last.iter().filter(|entry| window.clone().any(|told| told == **entry)).count();
    assert!(told >= 1, "seed {seed}: {merged:#?}");
}

/// The files as git would merge them, conflicts settled by chance, and both transcripts' lines.
fn joined(base: &World, ours: &World, theirs: &World, chance: &mut Chance) -> World {
    let mut world = ours.clone();
    let paths: BTreeSet<&String> =
        ours.files.keys().chain(theirs.files.keys()).chain(base.files.keys()).collect();
    let mut files: BTreeMap<String, File> = BTreeMap::new();
    for path in paths {
        let (was, a, b) = (base.files.get(path), ours.files.get(path), theirs.files.get(path));
        let stands = match (a == was, b == was) {
            (_, true) => a,
            (true, _) => b,
            _ if chance.below(2) == 0 => a,
            _ => b,
        };
        files.extend(stands.map(|file| (path.clone(), file.clone())));
    }
    world.files = files;
    world.transcript = united_lines(&ours.transcript, &theirs.transcript);
    world
}

/// Records a merged state, and proves that its transcript tells the same.
fn put(world: &mut World, state: &State, seed: u64) {
    let phase_key = &LIFECYCLE.phase_key;
    world.state = Some(write_state(state, phase_key, "schema"));
    let lines = with_line(world.transcript.clone().into_bytes(), state, phase_key);
    world.transcript = String::from_utf8(lines).expect("UTF-8");
    let again = rebuild(&world.transcript, phase_key).expect("a step").unwrap_or_else(|faults| {
        panic!("seed {seed}: {faults:?}");
    });
    assert_eq!(text(&again), text(state), "seed {seed}");
}

fn text(state: &State) -> String {
    write_state(state, &LIFECYCLE.phase_key, "schema")
}
