//! The model test of merging: branches of one random history, joined again and again, and brought to an end.
//!
//! Git merges the log by union. Everything else follows from the lines.

use super::history::{Chance, disturb};
use super::{each_history, holds, settle, worker};
use crate::core::world::{File, LIFECYCLE, World, passing};
use orch_base::Digest;
use orch_core::decide::{Conflict, Kind, State, Verdict};
use orch_core::record::{EventLog, FoldCache, FoldError, RecordReading, record_steps, write_state};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The outcome of the merges of many histories.
#[derive(Debug, Default)]
struct Came {
    one_moved: AtomicU32,
    joined: AtomicU32,
    criss_cross: AtomicU32,
    disputed: AtomicU32,
}

#[test]
fn branches_join_in_any_order_and_whoever_works_on_gets_done() {
    let came = Came::default();
    each_history(&|seed| live(seed, &came));
    let all =
        [came.one_moved, came.joined, came.criss_cross, came.disputed].map(AtomicU32::into_inner);
    assert!(
        all.iter().all(|many| *many > 2) && all[1] > 25,
        "the histories are too tame: {all:?}"
    );
}

/// Lets some things happen on a branch.
fn branch(world: &World, chance: &mut Chance, most: u64) -> World {
    let mut world = world.clone();
    for _ in 0..chance.below(most) {
        if chance.below(3) == 0 {
            disturb(&mut world, chance).clear()
        } else {
            work(&mut world, chance)
        }
    }
    world
}

/// Somebody writes what is expected, and the task moves on.
fn work(world: &mut World, chance: &mut Chance) {
    for expected in world.decide().expects {
        world.write(
            &expected.path,
            passing(
                expected.artifact.as_str(),
                chance.below(1 << 40),
                &expected.of,
            ),
        );
    }
    settle(world, 0);
    world.approve();
}

fn live(seed: u64, came: &Came) {
    let mut chance = Chance::new(seed);
    let base = branch(&World::new(Arc::clone(&LIFECYCLE)), &mut chance, 8);
    if base.transcript.is_empty() {
        return;
    }
    let (mut ours, mut theirs) = (branch(&base, &mut chance, 8), branch(&base, &mut chance, 8));
    for round in 0..3 {
        let (a, b) = (
            merged(&ours, &theirs, &mut chance, seed),
            merged(&theirs, &ours, &mut chance, seed),
        );
        assert_eq!(told(&a), told(&b), "seed {seed}: the sides disagree");
        came.count(&ours, &theirs, &a);
        let disputed = matches!(a.reading(), RecordReading::Disputed { .. });
        if disputed || chance.below(2) == 0 {
            return finish(a, &ours, seed);
        }
        // Both sides continue from the same join, so that their next merge has several bases.
        came.criss_cross.fetch_add(
            u32::from(round > 0 && a.log().heads().len() > 1),
            Ordering::Relaxed,
        );
        (ours, theirs) = (branch(&a, &mut chance, 5), branch(&b, &mut chance, 5));
    }
    let last = merged(&ours, &theirs, &mut chance, seed);
    finish(last, &ours, seed);
}

impl Came {
    fn count(&self, ours: &World, theirs: &World, merged: &World) {
        let which = match merged.reading() {
            RecordReading::Disputed { .. } => &self.disputed,
            _ if merged.log().heads().len() > 1 => &self.joined,
            _ if ours.transcript != theirs.transcript => &self.one_moved,
            _ => return,
        };
        which.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a record says, whatever lies in `state.json`.
fn told(world: &World) -> Result<Option<State>, FoldError> {
    let log = world.log();
    log.fold(&LIFECYCLE, &log.heads(), &mut FoldCache::default())
        .map(|state| state.map(std::sync::Arc::unwrap_or_clone))
}

/// A person picks a side where the rules cannot; then the task is brought to its end.
fn finish(mut world: World, ours: &World, seed: u64) {
    if let RecordReading::Disputed { conflict, heads } = world.reading() {
        assert!(
            matches!(conflict, Conflict::Finished { .. }),
            "seed {seed}: {conflict}"
        );
        return pick(&mut world, ours, &heads, seed);
    }
    holds(&world, seed, "merge");
    settle(&mut world, seed);
    worker::finish(&mut world, seed);
}

/// Records that a person picked the side of `ours`.
fn pick(world: &mut World, ours: &World, heads: &[Digest], seed: u64) {
    let (log, cache) = (world.log(), &mut FoldCache::default());
    let own = ours.log().heads();
    let others: Vec<Digest> = heads
        .iter()
        .filter(|head| !own.contains(head))
        .copied()
        .collect();
    let state = log.choose(
        &LIFECYCLE,
        &own,
        &others,
        "it is the better one",
        &world.stamp(),
        cache,
    );
    // A side that is disputed itself has to be settled first.
    let Ok(state) = state else { return };
    let state = state.expect("chosen");
    assert_eq!(state.heads, heads, "seed {seed}");
    let first = log.state_at(&heads[0], cache).expect("whole");
    let recorded = record_steps(&state, &first, [&state]);
    assert_eq!(recorded[0].event.entry.kind, Kind::Merge, "seed {seed}");
    world.transcript.push_str(&recorded[0].event.line());
    assert_eq!(
        told(world),
        Ok(Some(recorded[0].state.clone())),
        "seed {seed}"
    );
    assert!(
        matches!(world.decide().verdict, Verdict::Done { .. }),
        "seed {seed}"
    );
}

/// Both sides as git merges them by union, the lines of the log in any order.
fn merged(ours: &World, theirs: &World, chance: &mut Chance, seed: u64) -> World {
    let mut world = ours.clone();
    world.files = merged_files(ours, theirs);
    let mut lines: Vec<&str> = ours
        .transcript
        .lines()
        .chain(theirs.transcript.lines())
        .collect();
    for at in (1..lines.len()).rev() {
        lines.swap(
            at,
            usize::try_from(chance.below(at as u64 + 1)).expect("small"),
        );
    }
    world.transcript = lines.iter().map(|line| format!("{line}\n")).collect();
    match chance.below(4) {
        0 => world.state = None,
        1 => world.state.clone_from(&theirs.state),
        2 => world.state = Some("<<<<<<< HEAD".to_owned()),
        _ => {}
    }
    joins_both(ours, theirs, &world, seed);
    world
}

/// Nothing that was used up is fresh again, nobody is further than before, and everything is told.
fn joins_both(ours: &World, theirs: &World, merged: &World, seed: u64) {
    let both: BTreeSet<&str> = ours
        .transcript
        .lines()
        .chain(theirs.transcript.lines())
        .collect();
    assert_eq!(merged.log().len(), both.len(), "seed {seed}");
    let (Ok(Some(a)), Ok(Some(b)), Ok(Some(state))) = (told(ours), told(theirs), told(merged))
    else {
        return;
    };
    let used = |state: &State| -> BTreeSet<(String, Digest)> {
        let actors = state.actors.values().flat_map(|actor| &actor.spent);
        actors
            .flat_map(|(name, spent)| spent.iter().map(move |digest| (name.to_string(), *digest)))
            .collect()
    };
    if merged.log().heads().len() > 1 {
        assert_eq!(
            used(&state),
            used(&a).union(&used(&b)).cloned().collect(),
            "seed {seed}"
        );
        assert!(
            [&a, &b].iter().any(|side| side.phase == state.phase),
            "seed {seed}: a phase nobody is in"
        );
    }
    assert_eq!(state.rev, a.rev.max(b.rev), "seed {seed}");
    assert_eq!(
        state.history.last().map(|last| last.seq),
        Some(state.rev),
        "seed {seed}"
    );
    any_order(&merged.log(), &state, seed);
}

/// The order of the heads makes no difference, and a cache neither.
fn any_order(log: &EventLog, state: &State, seed: u64) {
    let mut heads = log.heads();
    let mut cache = FoldCache::default();
    for event in log.in_order() {
        log.state_at(&event.id, &mut cache).expect("whole");
    }
    for head in &heads {
        let anew = log.state_at(head, &mut FoldCache::default());
        assert_eq!(log.state_at(head, &mut cache), anew, "seed {seed}");
    }
    heads.reverse();
    // An event that another follows adds nothing to the heads.
    heads.extend(log.events().next().map(|event| event.id));
    let again = log
        .fold(&LIFECYCLE, &heads, &mut cache)
        .expect("joined")
        .expect("a state");
    let text = |state: &State| {
        write_state(
            state,
            &LIFECYCLE.phase_key,
            "schema",
            orch_core::record::LogExtent::default(),
        )
    };
    assert_eq!(text(&again), text(state), "seed {seed}");
}

/// The files as git would merge them; where both changed one, the one that sorts first stands.
fn merged_files(ours: &World, theirs: &World) -> BTreeMap<String, File> {
    let paths: BTreeSet<&String> = ours.files.keys().chain(theirs.files.keys()).collect();
    let one = |path: &&String| {
        let sides = [ours.files.get(*path), theirs.files.get(*path)];
        sides
            .into_iter()
            .flatten()
            .min_by_key(|file| (&file.text, file.refused))
            .cloned()
    };
    paths
        .iter()
        .filter_map(|path| Some(((*path).clone(), one(path)?)))
        .collect()
}
