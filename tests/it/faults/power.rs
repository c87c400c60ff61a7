//! A power failure: the file system may lose what was not synced, and keep a rename without the bytes of the file.

use super::inject::{Effect, Fault, can_inject, choices, count, hit, is_whole, sum_up, traced};
use crate::harness::{World, copy, started};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// The files below a directory.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => drop(found.insert(path.to_string_lossy().into_owned())),
        }
    }
    found
}

/// What a trace says about files, in order: a sync that has ended, a rename to a path or to a name in an open
/// directory, and an answer on stdout.
#[derive(Debug, PartialEq)]
enum Event {
    Synced(String),
    Renamed(String),
    Answered,
}

fn events(trace: &str) -> Vec<Event> {
    let mut found = Vec::new();
    let mut open: HashMap<&str, String> = HashMap::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        // `fsync(14</path>) = 0`, or in two parts if another thread comes between.
        if let Some((_, path)) = call
            .strip_prefix("fsync(")
            .and_then(|rest| rest.split_once('<'))
        {
            let path = path.split_once('>').expect("a path").0.to_owned();
            match call.contains("<unfinished") {
                true => drop(open.insert(process, path)),
                false => found.push(Event::Synced(path)),
            }
        } else if call.starts_with("<... fsync resumed>") {
            found.extend(open.remove(process).map(Event::Synced));
        } else if (call.starts_with("rename(") || call.starts_with("renameat("))
            && call.ends_with("= 0")
        {
            found.push(Event::Renamed(
                call.rsplit('"').nth(1).expect("a path").to_owned(),
            ));
        } else if call.starts_with("write(1<") {
            found.push(Event::Answered);
        }
    }
    found
}

#[test]
fn everything_that_a_step_needs_is_synced_before_the_branch_moves_and_the_branch_before_the_answer()
{
    if !can_inject() {
        return;
    }
    let world = started("planning");
    world.plan("t", 1);
    let root = world
        .root()
        .canonicalize()
        .expect("a root")
        .to_string_lossy()
        .into_owned();
    let objects = Path::new(&root).join(".git/objects");
    let before = files(&objects);
    let (run, trace) = traced(
        &world,
        &["next", "t"],
        (&["fsync", "rename", "write"], None),
        |command| {
            command.current_dir(&root).stdin(world.keyboard());
        },
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    let events = events(&trace);
    let position = |wanted: &Event| events.iter().position(|event| event == wanted);
    let branch = format!("{root}/.git/refs/heads/main");
    let moved = position(&Event::Renamed(branch.clone())).unwrap_or_else(|| panic!("{events:?}"));
    let answered = position(&Event::Answered).unwrap_or_else(|| panic!("{trace}"));
    let is_synced = |path: &str, until: usize, from: usize| {
        events[from..until].contains(&Event::Synced(path.to_owned()))
    };
    let new: Vec<String> = files(&objects).difference(&before).cloned().collect();
    assert!(new.len() >= 4, "a commit, its trees and its files: {new:?}");
    for object in new {
        let directory = Path::new(&object)
            .parent()
            .expect("a directory")
            .to_string_lossy()
            .into_owned();
        assert!(is_synced(&object, moved, 0), "{object} in {events:?}");
        assert!(is_synced(&directory, moved, 0), "{directory} in {events:?}");
    }
    assert!(
        is_synced(&format!("{root}/.git/orch/journal.json"), moved, 0),
        "{events:?}"
    );
    let is_temporary = |event: &&Event| matches!(event, Event::Synced(path) if path.contains("/tasks/t/.orch-tmp"));
    assert_eq!(
        events[..moved].iter().filter(is_temporary).count(),
        2,
        "the state and the log: {events:?}"
    );
    for path in [
        branch,
        format!("{root}/.git/refs/heads"),
        format!("{root}/tasks/t"),
    ] {
        assert!(is_synced(&path, answered, moved), "{path} in {events:?}");
    }
}

/// How many tasks move at once: enough for a pack.
pub const MANY: usize = 12;
pub const WATCH: &[&str] = &["watch", "--once"];
const CHANGES: [&str; 7] = [
    "fsync", "rename", "renameat", "linkat", "unlink", "unlinkat", "write",
];

/// A repository in which many tasks have a step due.
pub fn many_due() -> World {
    let world = started("planning");
    for number in 0..MANY {
        world.orch(&["new", &format!("m-{number}")]).succeeds();
        world.plan(&format!("m-{number}"), 1);
    }
    world
}

fn commits(world: &World) -> usize {
    world
        .git(&["rev-list", "--count", "HEAD"])
        .trim()
        .parse()
        .expect("a number")
}

#[test]
fn the_pack_of_a_batch_is_synced_before_it_has_its_name_and_its_name_before_the_branch_moves() {
    if !can_inject() {
        return;
    }
    let world = many_due();
    let root = world
        .root()
        .canonicalize()
        .expect("a root")
        .to_string_lossy()
        .into_owned();
    let objects = Path::new(&root).join(".git/objects");
    let before = files(&objects);
    let (run, trace) = traced(
        &world,
        WATCH,
        (&["fsync", "rename", "renameat", "write"], None),
        |_| {},
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    let events = events(&trace);
    let at = |wanted: Event| {
        events
            .iter()
            .position(|event| *event == wanted)
            .unwrap_or_else(|| panic!("{wanted:?} in {events:?}"))
    };
    let new: Vec<String> = files(&objects).difference(&before).cloned().collect();
    let names: BTreeSet<&str> = new
        .iter()
        .filter_map(|path| path.rsplit_once('.'))
        .map(|(_, end)| end)
        .collect();
    assert_eq!(
        (new.len(), names),
        (2, BTreeSet::from(["idx", "pack"])),
        "{new:?}"
    );
    let place = format!("{root}/.git/objects/pack");
    let moved = at(Event::Renamed(format!("{root}/.git/refs/heads/main")));
    let named = at(Event::Synced(place.clone()));
    for (temporary, end) in [("tmp_pack_orch", "pack"), ("tmp_idx_orch", "idx")] {
        let path = new.iter().find(|path| path.ends_with(end)).expect("a file");
        let renamed = at(Event::Renamed(
            path.rsplit('/').next().expect("a name").to_owned(),
        ));
        let is_synced = |event: &Event| matches!(event, Event::Synced(path) if path.starts_with(&format!("{place}/{temporary}")));
        assert!(
            events
                .iter()
                .position(is_synced)
                .is_some_and(|synced| synced < renamed),
            "{events:?}"
        );
        assert!(renamed < named && named < moved, "{events:?}");
    }
    let is_temporary =
        |event: &&Event| matches!(event, Event::Synced(path) if path.contains("/.orch-tmp"));
    assert_eq!(
        events[..moved].iter().filter(is_temporary).count(),
        2 * MANY,
        "{events:?}"
    );
    assert!(
        at(Event::Synced(format!("{root}/.git/orch/journal.json"))) < moved,
        "{events:?}"
    );
    world.git(&["fsck", "--strict"]);
}

/// Some points, or each of them with `make faults`.
#[test]
fn a_batch_that_is_killed_is_recorded_whole_or_not_at_all_and_the_next_command_completes_it() {
    if !can_inject() {
        return;
    }
    let template = many_due();
    let before = commits(&template);
    let (_, trace) = traced(&copy(&template), WATCH, (&CHANGES, None), |_| {});
    let each = CHANGES
        .into_iter()
        .flat_map(|call| (1..=count(&trace, call)).map(move |nth| (call, nth)));
    let points: Vec<(&'static str, usize)> = each.collect();
    let mut below = choices();
    let chosen = if is_whole() {
        points
    } else {
        (0..4).map(|_| points[below(points.len())]).collect()
    };
    let tried = chosen.len();
    for (call, nth) in chosen {
        let world = copy(&template);
        let fault = Fault {
            call,
            effect: Effect::Kill,
            nth,
            only: None,
        };
        traced(&world, WATCH, (&[], Some(fault)), |_| {});
        assert!(
            [before, before + MANY].contains(&commits(&world)),
            "{fault:?}"
        );
        world.orch(&["status"]).succeeds();
        world.orch(WATCH).succeeds();
        assert_eq!(
            (commits(&world), world.dirty()),
            (before + MANY, String::new()),
            "{fault:?}"
        );
        world.git(&["fsck", "--strict"]);
        world.orch(&["audit"]).succeeds();
    }
    sum_up("a batch is killed", [tried, tried, 0]);
}

/// The names in the directory of packs.
fn packs(world: &World) -> BTreeSet<String> {
    let names = fs::read_dir(world.path(".git/objects/pack"))
        .into_iter()
        .flatten();
    names
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn a_batch_that_fails_leaves_no_pack() {
    if !can_inject() {
        return;
    }
    let template = many_due();
    let (_, trace) = traced(&copy(&template), WATCH, (&CHANGES, None), |_| {});
    // What the first thread does; the others only sync.
    let main = trace
        .split_whitespace()
        .next()
        .expect("a process")
        .to_owned();
    let nth = |call: &str, of: &str| {
        let calls = trace
            .lines()
            .filter(|line| line.starts_with(&main) && line.contains(&format!(" {call}(")));
        calls
            .into_iter()
            .position(|line| line.contains(of))
            .map(|place| place + 1)
    };
    let points = [
        ("write", "tmp_pack_orch"),
        ("write", "tmp_idx_orch"),
        ("fsync", "tmp_pack_orch"),
        ("renameat", "tmp_pack_orch"),
        ("renameat", "tmp_idx_orch"),
        ("write", "orch/journal.json"),
        ("write", ".orch-tmp"),
    ];
    let before = packs(&template);
    for (call, of) in points {
        let nth = nth(call, of).unwrap_or_else(|| panic!("no {call} of {of} in {trace}"));
        for effect in [Effect::Error("ENOSPC"), Effect::Kill] {
            let fault = Fault {
                call,
                effect,
                nth,
                only: None,
            };
            let tried = || {
                let world = copy(&template);
                let (run, trace) = traced(&world, WATCH, (&[], Some(fault)), |_| {});
                (world, run, trace)
            };
            // On a busy machine, threads share the work in another way, so that another call is the n-th.
            let is_meant = |line: &str| effect == Effect::Kill || line.contains(of);
            let (world, run, _) = std::iter::repeat_with(tried)
                .take(20)
                .find(|(_, _, trace)| hit(trace, fault).is_some_and(is_meant))
                .unwrap_or_else(|| panic!("no fault hits {of}"));
            if effect == Effect::Kill {
                // The next step removes what has no name yet.
                world.orch(&["new", "next"]).succeeds();
                let left = packs(&world);
                assert!(
                    !left.iter().any(|name| name.starts_with("tmp_")),
                    "{fault:?}: {left:?}"
                );
            } else {
                // Of the first attempt nothing is left; a second one may have succeeded.
                let steps = world.git(&["log", "--format=%H"]);
                for name in packs(&world).difference(&before) {
                    let Some(index) = name.strip_suffix(".idx") else {
                        assert!(name.ends_with(".pack"), "{fault:?}: {name}");
                        continue;
                    };
                    let index = format!(".git/objects/pack/{index}.idx");
                    let held = world.git(&["verify-pack", "-v", &index]);
                    assert!(
                        steps.lines().any(|step| held.contains(step)),
                        "{fault:?}: {run:?}"
                    );
                }
            }
            world.orch(WATCH).succeeds();
            assert_eq!(world.dirty(), "", "{fault:?}: {run:?}");
            world.git(&["fsck", "--strict"]);
            world.orch(&["audit"]).succeeds();
        }
    }
}

#[test]
fn a_branch_without_its_bytes_is_written_again() {
    if !can_inject() {
        return;
    }
    for bytes in [&b""[..], &[0; 41]] {
        let world = started("planning");
        world.plan("t", 1);
        let before = world.git(&["rev-parse", "HEAD"]);
        let order = |nth| {
            let fault = Fault {
                call: "renameat",
                effect: Effect::Kill,
                nth,
                only: None,
            };
            let (_, trace) = traced(&world, &["next", "t"], (&[], Some(fault)), |command| {
                command.stdin(world.keyboard());
            });
            hit(&trace, fault).is_some()
        };
        // Killed after the branch moved, at the next rename, which is that of the state.
        let is_moved = |world: &World| world.git(&["rev-parse", "HEAD"]) != before;
        let mut nth = 1;
        while order(nth) && !is_moved(&world) {
            nth += 1;
        }
        assert!(is_moved(&world));
        assert!(
            world.path(".git/orch/journal.json").exists(),
            "killed too late"
        );
        let moved = world.git(&["rev-parse", "HEAD"]);
        world.write(".git/refs/heads/main", bytes);
        world.orch(&["status"]).succeeds();
        assert_eq!(world.git(&["rev-parse", "HEAD"]), moved);
        assert_eq!(
            (world.phase("t"), world.dirty()),
            ("plan_review".to_owned(), String::new())
        );
        world.orch(&["audit"]).succeeds();
    }
}
