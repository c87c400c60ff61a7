//! How long the lock of git's index is held, and whom it refuses.

use super::table::{Row, Table, Target, Unit};
use super::{ORCH, PLAN, RUNS, World, head, median, watch};
use std::fs;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often an agent commits beside somebody else.
const ROUNDS: usize = 200;
/// The longest wait for a commit of the other.
const LONGEST: Duration = Duration::from_secs(5);

pub fn lock(table: &mut Table) {
    held(table);
    refused(table);
}

/// Adds how long `orch next` and `git commit -a` hold the lock.
fn held(table: &mut Table) {
    let world = World::new();
    let mut times: [Vec<Duration>; 2] = Default::default();
    for run in 0..=RUNS {
        let id = format!("h-{run}");
        world.task(&id);
        let orch = time_locked(&world, ORCH, &["next", &id]);
        world.write("by-hand.txt", &format!("{run}\n"));
        world.run("git", &["add", "by-hand.txt"]);
        world.write("by-hand.txt", &format!("{run}, changed\n"));
        let git = time_locked(&world, "git", &["commit", "-qam", "by hand"]);
        if run > 0 {
            times[0].push(orch);
            times[1].push(git);
        }
    }
    let [orch, git] = times.map(median);
    let row = Row::ms("next TASK, index locked", "one task", orch).beside("git commit -a", git);
    table.add(row.target(Target::MostTimes(1.0)));
}

/// For how long the lock was there while a command ran.
fn time_locked(world: &World, program: &str, arguments: &[&str]) -> Duration {
    let lock = world.root().join(".git/index.lock");
    let mut child = world.command(program, arguments).spawn().expect("starts");
    let mut held = Duration::ZERO;
    let mut since = None;
    while child.try_wait().expect("a child").is_none() {
        match (lock.symlink_metadata().is_ok(), since) {
            (true, None) => since = Some(Instant::now()),
            (false, Some(begun)) => {
                held += begun.elapsed();
                since = None;
            }
            _ => {}
        }
        sleep(Duration::from_micros(50));
    }
    held
}

/// Adds how many commands of an agent are refused that commits a file as soon as it has written an artifact, beside a
/// watch, and beside a `git commit -a` instead.
fn refused(table: &mut Table) {
    let size = format!("{ROUNDS} rounds");
    let beside_watch = rounds(true);
    let beside_git = rounds(false);
    let row = Row::new("refused beside a watch", &size, Unit::Count, beside_watch);
    // Beside none, one is nothing to worry about.
    let row = row.beside("git commit -a", beside_git.max(1.0));
    table.add(row.target(Target::MostTimes(2.0)));
}

fn rounds(with_watch: bool) -> f64 {
    let world = World::new();
    let ids: Vec<String> = (0..ROUNDS).map(|number| format!("r-{number}")).collect();
    ids.iter().for_each(|id| world.orch(&["new", id]));
    let mut other = with_watch.then(|| watch(&world));
    sleep(Duration::from_millis(300));
    let mut refused = 0;
    for id in &ids {
        let before = commits(&world);
        let path = format!("tasks/{id}/planning/planning.ai.json");
        let mut second: Option<Child> = None;
        if with_watch {
            world.write(&path, PLAN);
        } else {
            world.write("other.txt", id);
            world.run("git", &["add", "-N", "other.txt"]);
            let command = world.command("git", &["commit", "-qam", "other"]).spawn();
            second = Some(command.expect("starts"));
        }
        world.write("mine.txt", id);
        for arguments in [&["add", "mine.txt"][..], &["commit", "-qm", "mine"]] {
            let ended = world.command("git", arguments).status().expect("starts");
            refused += usize::from(!ended.success());
        }
        if let Some(mut second) = second {
            let _ = second.wait();
        }
        let begun = Instant::now();
        while with_watch && commits(&world) < before + 2 && begun.elapsed() < LONGEST {
            sleep(Duration::from_millis(5));
        }
    }
    if let Some(child) = &mut other {
        let _ = child.kill();
        let _ = child.wait();
    }
    refused as f64
}

/// How often the branch has moved, as its log tells.
fn commits(world: &World) -> usize {
    let log = head(world);
    let log = world.root().join(".git/logs").join(
        log.strip_prefix(world.root().join(".git"))
            .expect("below it"),
    );
    fs::read_to_string(log).unwrap_or_default().lines().count()
}
