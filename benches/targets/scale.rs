//! Answers about whole repositories of many tasks, beside git reading the same tree.

use super::grown::Lives;
use super::storm::storm;
use super::table::{Row, Table, Target, Unit};
use super::{ORCH, World, median};
use std::fs;

/// How often each command is timed: these are long.
const ROUNDS: usize = 3;

/// A repository of so many tasks, committed in twenty parts.
fn grown(tasks: usize) -> World {
    let world = World::new();
    // A collection that git begins on its own would refuse the one at the end.
    world.run("git", &["config", "gc.auto", "0"]);
    let lives = Lives::played(world.root(), &|arguments| world.orch(arguments));
    let part = tasks.div_ceil(20);
    for from in (0..tasks).step_by(part) {
        lives.grow(world.root(), from, part.min(tasks - from));
        world.run("git", &["add", "-A"]);
        world.run("git", &["commit", "-qm", "more tasks"]);
    }
    world.run("git", &["gc", "-q"]);
    world
}

/// Adds a row for each command. `ORCH_BENCH_TASKS` names other numbers of tasks. Nothing is known of earlier looks where a
/// row says `first`. The targets are those for 10,000 tasks.
pub fn scale(table: &mut Table) {
    let sizes = std::env::var("ORCH_BENCH_TASKS").unwrap_or_else(|_| "400 1600".to_owned());
    let mut smallest = None;
    for tasks in sizes
        .split_whitespace()
        .filter_map(|size| size.parse().ok())
    {
        let world = grown(tasks);
        let size = format!("{tasks} tasks");
        let time = |program: &str, arguments: &[&str], is_first: bool| {
            let round = |_| {
                if is_first {
                    // Missing in the first round.
                    let _ = fs::remove_dir_all(world.root().join(".git/orch/looks"));
                }
                world.time(program, arguments)
            };
            median((0..ROUNDS).map(round).collect())
        };
        let yardstick = time("git", &["status"], false);
        let rows: [(&str, &[&str], bool, f64); 6] = [
            ("status, first", &["status", "--json"], true, 1.0),
            ("status", &["status", "--json"], false, 0.5),
            ("suggest, first", &["suggest", "--json"], true, 1.0),
            ("suggest", &["suggest", "--json"], false, 0.5),
            ("check", &["check", "--json"], false, 1.0),
            ("log --all", &["log", "--all", "--json"], false, 1.0),
        ];
        for (what, arguments, is_first, target) in rows {
            let row = Row::ms(what, &size, time(ORCH, arguments, is_first));
            table.add(
                row.beside("git status", yardstick)
                    .target(Target::MostTimes(target)),
            );
        }
        let reading = (0..ROUNDS).map(|_| {
            // The new index knows no stamps, so that git compares the bytes of each file.
            world.run("git", &["read-tree", "HEAD"]);
            world.time("git", &["status"])
        });
        let row = Row::ms("git status, first", &size, median(reading.collect()));
        table.add(row.beside("git status", yardstick));
        let one = time(ORCH, &["suggest", "t-000002", "--json"], false);
        let row = Row::ms("suggest TASK", &size, one);
        let (name, least) = smallest.get_or_insert_with(|| (format!("of {size}"), one));
        table.add(row.beside(name, *least).target(Target::MostTimes(1.5)));
        let _ = fs::remove_dir_all(world.root().join(".git/orch/looks"));
        let memory = |what: &str| {
            Row::new(
                what,
                &size,
                Unit::Megabytes,
                world.memory(&["status", "--json"]),
            )
        };
        table.add(memory("status, first, memory").target(Target::Most(300.0)));
        table.add(memory("status, memory").target(Target::Most(300.0)));
        let begin = world.said("git", &["rev-parse", "HEAD"]);
        // The first commits what is due, the next knows all that is at rest.
        let watch = ["watch", "--once", "--quiet"];
        time(ORCH, &watch, false);
        let ready = Row::ms("watch, ready", &size, time(ORCH, &watch, false));
        table.add(
            ready
                .beside("git status", yardstick)
                .target(Target::Most(2000.0)),
        );
        let resident = Row::new(
            "watch, memory",
            &size,
            Unit::Megabytes,
            world.memory(&watch),
        );
        table.add(resident.target(Target::Most(60.0)));
        storm(table, &world, tasks, begin.trim());
    }
}
