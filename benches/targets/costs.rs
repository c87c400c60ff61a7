//! What a transition and a turn cost beside time: files opened, syncs, looks, and how often the rules are asked.

use super::run::{EXECUTOR, LOOP};
use super::table::{Row, Table, Unit};
use super::{PLAN, World};
use orch_engine::apply::{AdvancePlan, Writer};
use orch_engine::drive::{self, Happened, RunOptions, StopFlag};
use orch_engine::survey::{Caller, Counted, Workspace};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How many turns are counted.
const TURNS: u64 = 20;

pub(super) fn costs(table: &mut Table) {
    in_process(table);
    traced(table);
}

/// What the workspace itself counts.
fn in_process(table: &mut Table) {
    let world = World::new();
    for (key, value) in [("user.name", "Bench"), ("user.email", "bench@example.com")] {
        world.run("git", &["config", key, value]);
    }
    world.task("one");
    prepare(&world);
    let path = std::env::var("PATH").unwrap_or_default();
    let caller = Caller::from_environment(|name| (name == "PATH").then(|| path.clone()));
    let workspace =
        Workspace::open(world.root(), caller.environment.clone()).expect("a repository");
    let writer = Writer::new(&workspace, &caller);
    std::thread::sleep(Duration::from_millis(60));
    let before = workspace.reader().counted();
    let plan = AdvancePlan {
        may: &|_| true,
        lapses: true,
        once: false,
        own: true,
        dry_run: false,
        adopt: &|_| false,
    };
    let task = workspace.finder().task("one").expect("a task");
    writer.advance().tasks(&[task], &plan).expect("applied");
    tell(
        table,
        "transition",
        &workspace.reader().counted().since(&before),
        1,
    );
    let mut counted: Vec<Counted> = Vec::new();
    let command = ["sh", "executor.sh"].map(str::to_owned).to_vec();
    let turns = u32::try_from(TURNS + 1).expect("few");
    let options = RunOptions {
        command,
        max_turns: Some(turns),
        ..RunOptions::default()
    };
    let task = workspace.finder().task("many").expect("a task");
    drive::run(
        &writer,
        &task,
        &options,
        &StopFlag::default(),
        &mut |happened| {
            if let Happened::Turn { .. } = happened {
                counted.push(workspace.reader().counted());
            }
        },
    )
    .expect("it runs");
    if let (Some(first), Some(last)) = (counted.first(), counted.last()) {
        tell(table, "turn", &last.since(first), TURNS);
    }
}

/// A task of which every turn counts one further.
fn prepare(world: &World) {
    world.write("system/workflows/count.md", LOOP);
    world.write("executor.sh", EXECUTOR);
    world.write("count", "0\n");
    world.write(".git/info/exclude", "executor.sh\ncount\n");
    world.orch(&["new", "many", "--workflow", "count"]);
}

fn tell(table: &mut Table, what: &str, cost: &Counted, times: u64) {
    let Counted {
        looks,
        reads,
        evaluations,
        heads,
        locks,
        ..
    } = *cost;
    for (counter, number) in [
        ("looks", looks),
        ("files read", reads),
        ("evaluations", evaluations),
        ("HEAD opened", heads),
        ("locks", locks),
    ] {
        table.add(count(
            &format!("{what}, {counter}"),
            number as f64 / times as f64,
        ));
    }
}

fn count(what: &str, count: f64) -> Row {
    Row::new(what, "1 task", Unit::Count, count)
}

/// What the system counts, of a watch and of a run; nothing where there is no strace.
fn traced(table: &mut Table) {
    if Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        table.add(Row::skipped("opens and syncs", "needs strace"));
        return;
    }
    let world = World::new();
    world.task("one");
    fs::remove_file(world.root().join("tasks/one/planning/planning.ai.json")).expect("removed");
    // Beside the repository: what is written inside would wake the watch.
    let aside = tempfile::tempdir().expect("a directory");
    let trace = aside.path().join("trace");
    let mut watch = strace(&world, &trace, &["watch", "--json"]);
    std::thread::sleep(Duration::from_secs(3));
    let before = calls(&trace);
    world.write("tasks/one/planning/planning.ai.json", PLAN);
    std::thread::sleep(Duration::from_secs(3));
    let after = calls(&trace);
    let _ = watch.kill();
    let _ = watch.wait();
    table.add(count(
        "transition in watch, opens",
        (after.0 - before.0) as f64,
    ));
    table.add(count(
        "transition in watch, syncs",
        (after.1 - before.1) as f64,
    ));
    prepare(&world);
    let mut traced = Vec::new();
    for turns in ["1", "21"] {
        let mut run = strace(
            &world,
            &trace,
            &[
                "run",
                "many",
                "--max-turns",
                turns,
                "--",
                "sh",
                "executor.sh",
            ],
        );
        let _ = run.wait();
        std::thread::sleep(Duration::from_millis(300));
        traced.push(calls(&trace));
    }
    let each = |one: usize, many: usize| many.saturating_sub(one) as f64 / TURNS as f64;
    let (opens, syncs) = (
        each(traced[0].0, traced[1].0),
        each(traced[0].1, traced[1].1),
    );
    // Those of the executor are included.
    table.add(count("turn of run, opens", opens));
    table.add(count("turn of run, syncs", syncs));
}

pub(super) fn strace(world: &World, trace: &Path, arguments: &[&str]) -> Child {
    let trace = trace.to_string_lossy();
    // Detached, so that the child is `orch` itself: killed, it ends with its tracer.
    let options = [
        "-D",
        "-f",
        "-qq",
        "-o",
        &trace,
        "-e",
        "trace=openat,fsync,fdatasync",
        &world.orch,
    ];
    world
        .command("strace", &[&options[..], arguments].concat())
        .spawn()
        .expect("strace starts")
}

/// How many files were opened and synced so far.
pub(super) fn calls(trace: &Path) -> (usize, usize) {
    let text = fs::read_to_string(trace).unwrap_or_default();
    let count = |call: &str| text.lines().filter(|line| line.contains(call)).count();
    (count("openat("), count("fsync(") + count("fdatasync("))
}
