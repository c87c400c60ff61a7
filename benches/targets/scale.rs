//! Answers about whole repositories of many tasks, beside git reading the same tree.

use super::grown::Lives;
use super::{ORCH, World, median};
use std::fs;

/// How often each command is timed: these are long.
const ROUNDS: usize = 3;

/// A repository of so many tasks, committed in twenty parts.
fn grown(tasks: usize) -> World {
    let world = World::new();
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

/// Prints a row for each command. `ORCH_BENCH_TASKS` names other numbers of tasks.
pub fn scale() {
    let sizes = std::env::var("ORCH_BENCH_TASKS").unwrap_or_else(|_| "400 1600".to_owned());
    println!("answers about many tasks; first: nothing is known of earlier looks; targets of 10,000 tasks");
    println!(
        "  {:18} {:>7} {:>9} {:>13} {:>7} {:>7}  verdict",
        "what", "tasks", "ours", "git status", "ratio", "target"
    );
    for tasks in sizes.split_whitespace().filter_map(|size| size.parse().ok()) {
        let world = grown(tasks);
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
        let rows: [(&str, &[&str], bool, f64); 7] = [
            ("status, first", &["status", "--json"], true, 1.0),
            ("status", &["status", "--json"], false, 0.5),
            ("suggest, first", &["suggest", "--json"], true, 1.0),
            ("suggest", &["suggest", "--json"], false, 0.5),
            ("check", &["check", "--json"], false, 1.0),
            ("log --all", &["log", "--all", "--json"], false, 1.0),
            ("suggest TASK", &["suggest", "t-000002", "--json"], false, 1.0),
        ];
        for (what, arguments, is_first, target) in rows {
            let ours = time(ORCH, arguments, is_first);
            let ratio = ours / yardstick;
            let verdict = if ratio <= target { "met" } else { "missed" };
            println!("  {what:18} {tasks:7} {ours:9.1} {yardstick:13.1} {ratio:7.2} {target:7.2}  {verdict}");
        }
    }
    println!();
}
