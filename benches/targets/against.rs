//! This build beside an earlier one, in the same run: each makes its own repositories with its own commands.

use super::costs::{calls, strace};
use super::lives::{Scene, lifecycle};
use super::run::{EXECUTOR, LOOP};
use super::table::{Row, Table, Target, Unit};
use super::{ORCH, PLAN, RUNS, World, copied, median};
use std::time::Duration;

const MS: Unit = Unit::Milliseconds;
/// How many turns one run takes.
const TURNS: u32 = 50;
/// How many tasks the audited repository holds.
const LIVES: usize = 100;

/// How much slower than the old build nothing may be: measures differ by less from run to run.
const SAME: f64 = 1.1;

/// Adds a row for everything that must not get slower.
pub(super) fn against(table: &mut Table) {
    let Ok(old) = std::env::var("ORCH_BENCH_OLD") else {
        table.add(Row::skipped(
            "against another build",
            "ORCH_BENCH_OLD names none",
        ));
        return;
    };
    let new = std::env::var("ORCH_BENCH_NEW").unwrap_or_else(|_| ORCH.to_owned());
    let place = tempfile::tempdir().expect("a directory");
    let both = [("old", old), ("new", new)]
        .map(|(name, program)| copied(&program, &place.path().join(name)));
    let both = [both[0].as_str(), both[1].as_str()];
    suggestions(table, both);
    staged(table, both);
    transition(table, both);
    turn(table, both);
    syncs(table, both);
    audited(table, both);
}

fn tell(table: &mut Table, what: &str, size: &str, unit: Unit, [old, new]: [f64; 2]) {
    table.add(
        Row::new(what, size, unit, new)
            .beside("old build", old)
            .target(Target::MostTimes(SAME)),
    );
}

/// The medians of what two worlds take, in turn, so that drift of the machine hits both alike.
fn alternating(
    worlds: &[World; 2],
    rounds: usize,
    mut measure: impl FnMut(&World, usize) -> Duration,
) -> [f64; 2] {
    let mut times: [Vec<Duration>; 2] = Default::default();
    for round in 0..=rounds {
        for (world, times) in worlds.iter().zip(&mut times) {
            let time = measure(world, round);
            if round > 0 {
                times.push(time);
            }
        }
    }
    times.map(median)
}

fn suggestions(table: &mut Table, both: [&str; 2]) {
    let worlds = both.map(|orch| {
        let world = World::of(orch);
        (0..100).for_each(|number| world.task(&format!("t-{number:03}")));
        world.orch(&["watch", "--once"]);
        world
    });
    let time = |arguments: &[&str]| {
        alternating(&worlds, RUNS, |world, _| world.time(&world.orch, arguments))
    };
    tell(
        table,
        "suggest TASK",
        "100 tasks",
        MS,
        time(&["suggest", "t-042", "--json"]),
    );
    tell(
        table,
        "suggest",
        "100 tasks",
        MS,
        time(&["suggest", "--json"]),
    );
    tell(
        table,
        "help exit-codes",
        "100 tasks",
        MS,
        time(&["help", "exit-codes"]),
    );
}

fn staged(table: &mut Table, both: [&str; 2]) {
    let worlds = both.map(|orch| {
        let world = World::of(orch);
        for number in 0..15_000 {
            world.write(&format!("src/{:03}/{number}.txt", number / 250), "x\n");
        }
        world.orch(&["new", "checked"]);
        world.run("git", &["add", "-A"]);
        world.run("git", &["commit", "-qm", "files"]);
        world.write("tasks/checked/planning/planning.ai.json", PLAN);
        world.run("git", &["add", "-A"]);
        world
    });
    let check = |world: &World, _| world.time(&world.orch, &["check", "--staged"]);
    tell(
        table,
        "check --staged",
        "15,000 files",
        MS,
        alternating(&worlds, RUNS, check),
    );
}

fn transition(table: &mut Table, both: [&str; 2]) {
    let worlds = both.map(World::of);
    let next = |world: &World, round: usize| {
        let task = format!("r-{round}");
        world.task(&task);
        world.time(&world.orch, &["next", &task])
    };
    tell(
        table,
        "next TASK",
        "1 task",
        MS,
        alternating(&worlds, RUNS, next),
    );
}

/// A repository in which every turn of a run counts one further.
fn counting(orch: &str) -> World {
    let world = World::of(orch);
    world.write("system/workflows/count.md", LOOP);
    world.write("executor.sh", EXECUTOR);
    world.write("count", "0\n");
    world.write(".git/info/exclude", "executor.sh\ncount\n");
    world
}

fn turn(table: &mut Table, both: [&str; 2]) {
    let worlds = both.map(counting);
    let turns = |world: &World, round: usize| {
        let task = format!("t-{round}");
        world.orch(&["new", &task, "--workflow", "count"]);
        let run = |turns: &str| {
            world.time(
                &world.orch,
                &[
                    "run",
                    &task,
                    "--max-turns",
                    turns,
                    "--",
                    "sh",
                    "executor.sh",
                ],
            )
        };
        // The start of the process, and of the run, is that of a run of one turn.
        let (one, many) = (run("1"), run(&(TURNS + 1).to_string()));
        many.saturating_sub(one) / TURNS
    };
    tell(
        table,
        "run, a turn",
        "1 task",
        MS,
        alternating(&worlds, RUNS / 4, turns),
    );
}

fn syncs(table: &mut Table, both: [&str; 2]) {
    let aside = tempfile::tempdir().expect("a directory");
    let trace = aside.path().join("trace");
    let counted = |world: &World, arguments: &[&str]| {
        let _ = strace(world, &trace, arguments).wait();
        // The tracer is detached, and may still write.
        std::thread::sleep(Duration::from_millis(300));
        let (opens, syncs) = calls(&trace);
        [opens as f64, syncs as f64]
    };
    let transition = both.map(|orch| {
        let world = World::of(orch);
        world.task("one");
        counted(&world, &["next", "one"])
    });
    let turn = both.map(|orch| {
        let world = counting(orch);
        world.orch(&["new", "many", "--workflow", "count"]);
        let run = |turns| {
            counted(
                &world,
                &[
                    "run",
                    "many",
                    "--max-turns",
                    turns,
                    "--",
                    "sh",
                    "executor.sh",
                ],
            )
        };
        let (one, many) = (run("1"), run("21"));
        [(many[0] - one[0]) / 20.0, (many[1] - one[1]) / 20.0]
    });
    for (at, what) in ["opens", "syncs"].into_iter().enumerate() {
        tell(
            table,
            &format!("next TASK, {what}"),
            "1 task",
            Unit::Count,
            transition.map(|counted| counted[at]),
        );
        tell(
            table,
            &format!("run, a turn, {what}"),
            "1 task",
            Unit::Count,
            turn.map(|counted| counted[at]),
        );
    }
}

fn audited(table: &mut Table, both: [&str; 2]) {
    let worlds = both.map(|orch| {
        let world = World::of(orch);
        let ids: Vec<String> = (0..LIVES).map(|number| format!("a-{number:03}")).collect();
        ids.iter().for_each(|id| world.orch(&["new", id]));
        for scene in lifecycle() {
            if let Scene::File(path, text) = scene {
                ids.iter()
                    .for_each(|id| world.write(&format!("tasks/{id}/{path}"), &text));
                world.orch(&["watch", "--once"]);
            }
        }
        world
    });
    let commits = worlds.each_ref().map(|world| world.commits("HEAD") as f64);
    tell(
        table,
        "audit, commits",
        &format!("{LIVES} tasks"),
        Unit::Count,
        commits,
    );
    let audit = |world: &World, _| world.time(&world.orch, &["audit"]);
    tell(
        table,
        "audit",
        &format!("{LIVES} tasks"),
        MS,
        alternating(&worlds, 5, audit),
    );
}
