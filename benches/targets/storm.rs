//! One task asked about again and again while everything around it changes.

use super::grown::id;
use super::table::{Row, Table, Target, Unit};
use super::{ORCH, World, percentiles, watch};
use serde_json::Value;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// No storm is waited for any longer.
const LONGEST: Duration = Duration::from_secs(60);
/// When nothing has been committed for so long, the storm is over.
const CALM: Duration = Duration::from_secs(2);

/// Adds how long `orch suggest TASK` takes, for one task after the other, while a branch switch takes back the newest
/// steps of a repository of so many tasks, a file of each task is written, and a watch records what is due again. `begin`
/// is the commit before those steps.
pub fn storm(table: &mut Table, world: &World, tasks: usize, begin: &str) {
    let ids = tasks_of(world);
    let mut child = watch(world);
    let is_over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        scope.spawn(|| {
            world.run("git", &["reset", "-q", "--hard", begin]);
            for number in 0..tasks {
                let path = world
                    .root()
                    .join("tasks")
                    .join(id(number))
                    .join("notes/log.txt");
                fs::write(path, format!("begun {number}, and touched\n")).expect("written");
            }
            let (begun, mut moved, mut last) = (Instant::now(), Instant::now(), head(world));
            while moved.elapsed() < CALM && begun.elapsed() < LONGEST {
                std::thread::sleep(Duration::from_millis(50));
                let now = head(world);
                if now != last {
                    (moved, last) = (Instant::now(), now);
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut times = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            // Neighbours are of other workflows and in other phases; so many steps lead to each of them.
            let task = &ids[times.len() * 7919 % ids.len()];
            times.push(world.time(ORCH, &["suggest", task, "--json"]));
        }
        times
    });
    let _ = child.kill();
    let _ = child.wait();
    let size = format!("{tasks} tasks");
    let (half, slow) = percentiles(times);
    let row = Row::ms("suggest TASK in a storm, 99 of 100", &size, slow);
    table.add(row.beside("half of them", half).target(Target::Most(30.0)));
    let steps = world.commits(&format!("{begin}..HEAD")) as f64;
    table.add(
        Row::new("steps recorded in it", &size, Unit::Count, steps).target(Target::Least(1.0)),
    );
}

/// The ids of the tasks, of which there are fewer than directories.
fn tasks_of(world: &World) -> Vec<String> {
    let status = world.said(ORCH, &["status", "--all", "--json"]);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let tasks = status["tasks"].as_array().expect("a list");
    tasks
        .iter()
        .map(|task| task["task"].as_str().expect("an id").to_owned())
        .collect()
}

/// The commit that the branch is at.
fn head(world: &World) -> String {
    world.said("git", &["rev-parse", "HEAD"])
}
