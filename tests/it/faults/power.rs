//! A power failure: the file system may lose what was not synced, and keep a rename without the bytes of the file.

use super::inject::{Effect, Fault, can_inject, hit, traced};
use crate::harness::{World, started};
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

/// What a trace says about files, in order: a sync that has ended, a rename to a path, and an answer on stdout.
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
        let Some((process, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        // `fsync(14</path>) = 0`, or in two parts if another thread comes between.
        if let Some((_, path)) = call.strip_prefix("fsync(").and_then(|rest| rest.split_once('<')) {
            let path = path.split_once('>').expect("a path").0.to_owned();
            match call.contains("<unfinished") {
                true => drop(open.insert(process, path)),
                false => found.push(Event::Synced(path)),
            }
        } else if call.starts_with("<... fsync resumed>") {
            found.extend(open.remove(process).map(Event::Synced));
        } else if call.starts_with("rename(") && call.ends_with("= 0") {
            found.push(Event::Renamed(call.rsplit('"').nth(1).expect("a path").to_owned()));
        } else if call.starts_with("write(1<") {
            found.push(Event::Answered);
        }
    }
    found
}

#[test]
fn everything_that_a_step_needs_is_synced_before_the_branch_moves_and_the_branch_before_the_answer() {
    if !can_inject() {
        return;
    }
    let world = started("planning");
    world.plan("t", 1);
    let root = world.root().canonicalize().expect("a root").to_string_lossy().into_owned();
    let objects = Path::new(&root).join(".git/objects");
    let before = files(&objects);
    let (run, trace) = traced(&world, &["next", "t"], (&["fsync", "rename", "write"], None), |command| {
        command.current_dir(&root).stdin(world.keyboard());
    });
    assert_eq!(run.code, Some(0), "{run:?}");
    let events = events(&trace);
    let position = |wanted: &Event| events.iter().position(|event| event == wanted);
    let branch = format!("{root}/.git/refs/heads/main");
    let moved = position(&Event::Renamed(branch.clone())).unwrap_or_else(|| panic!("{events:?}"));
    let answered = position(&Event::Answered).unwrap_or_else(|| panic!("{trace}"));
    let is_synced =
        |path: &str, until: usize, from: usize| events[from..until].contains(&Event::Synced(path.to_owned()));
    let new: Vec<String> = files(&objects).difference(&before).cloned().collect();
    assert!(new.len() >= 4, "a commit, its trees and its files: {new:?}");
    for object in new {
        let directory = Path::new(&object).parent().expect("a directory").to_string_lossy().into_owned();
        assert!(is_synced(&object, moved, 0), "{object} in {events:?}");
        assert!(is_synced(&directory, moved, 0), "{directory} in {events:?}");
    }
    assert!(is_synced(&format!("{root}/.git/orch/journal.json"), moved, 0), "{events:?}");
    let is_temporary =
        |event: &&Event| matches!(event, Event::Synced(path) if path.contains("/tasks/t/.orch-tmp"));
    assert_eq!(events[..moved].iter().filter(is_temporary).count(), 2, "the state and the log: {events:?}");
    for path in [branch, format!("{root}/.git/refs/heads"), format!("{root}/tasks/t")] {
        assert!(is_synced(&path, answered, moved), "{path} in {events:?}");
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
            let fault = Fault { call: "renameat", effect: Effect::Kill, nth, only: None };
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
        assert!(world.path(".git/orch/journal.json").exists(), "killed too late");
        let moved = world.git(&["rev-parse", "HEAD"]);
        world.write(".git/refs/heads/main", bytes);
        world.orch(&["status"]).succeeds();
        assert_eq!(world.git(&["rev-parse", "HEAD"]), moved);
        assert_eq!((world.phase("t"), world.dirty()), ("plan_review".to_owned(), String::new()));
        world.orch(&["audit"]).succeeds();
    }
}
