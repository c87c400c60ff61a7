//! What a transition and a turn cost beside time: files opened, syncs, looks, and how often the rules are asked.

use super::run::{EXECUTOR, LOOP};
use super::{PLAN, World};
use orch::apply::{AdvancePlan, Writer};
use orch::drive::{self, Happened, RunOptions, StopFlag};
use orch::survey::{Caller, Counted, Workspace};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How many turns are counted.
const TURNS: u64 = 20;

pub(super) fn costs() {
    println!("costs of one transition, and of one turn of a run");
    in_process();
    traced();
    println!();
}

/// What the workspace itself counts.
fn in_process() {
    let world = World::new();
    for (key, value) in [("user.name", "Bench"), ("user.email", "bench@example.com")] {
        world.run("git", &["config", key, value]);
    }
    world.task("one");
    prepare(&world);
    let path = std::env::var("PATH").unwrap_or_default();
    let caller = Caller::from_environment(|name| (name == "PATH").then(|| path.clone()));
    let workspace = Workspace::open(world.root(), caller.environment.clone()).expect("a repository");
    let writer = Writer::new(&workspace, &caller);
    std::thread::sleep(Duration::from_millis(60));
    let before = workspace.counted();
    let plan = AdvancePlan { may: &|_| true, once: false, own: true, dry_run: false, adopt: &|_| false };
    let task = workspace.task("one").expect("a task");
    writer.advance(&[task], &plan).expect("applied");
    tell("transition", &workspace.counted().since(&before), 1);
    let mut counted: Vec<Counted> = Vec::new();
    let command = ["sh", "executor.sh"].map(str::to_owned).to_vec();
    let turns = u32::try_from(TURNS + 1).expect("few");
    let options = RunOptions { command, max_turns: Some(turns), ..RunOptions::default() };
    let task = workspace.task("many").expect("a task");
    drive::run(&writer, &task, &options, &StopFlag::default(), &mut |happened| {
        if let Happened::Turn { .. } = happened {
            counted.push(workspace.counted());
        }
    })
    .expect("it runs");
    if let (Some(first), Some(last)) = (counted.first(), counted.last()) {
        tell("turn", &last.since(first), TURNS);
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

fn tell(what: &str, cost: &Counted, times: u64) {
    let each = |count: u64| count as f64 / times as f64;
    println!(
        "  {what:11} looks {:.1}, files read {:.1}, evaluations {:.1}, HEAD opened {:.1}, locks {:.1}",
        each(cost.looks),
        each(cost.reads),
        each(cost.evaluations),
        each(cost.heads),
        each(cost.locks)
    );
}

/// What the system counts, of a watch and of a run; nothing where there is no strace.
fn traced() {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        println!("  (no strace here, so opens and syncs are not counted)");
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
    println!("  transition  under orch watch: opens {}, syncs {}", after.0 - before.0, after.1 - before.1);
    prepare(&world);
    let mut counts = Vec::new();
    for turns in ["1", "21"] {
        let mut run =
            strace(&world, &trace, &["run", "many", "--max-turns", turns, "--", "sh", "executor.sh"]);
        let _ = run.wait();
        std::thread::sleep(Duration::from_millis(300));
        counts.push(calls(&trace));
    }
    let each = |one: usize, many: usize| many.saturating_sub(one) as f64 / TURNS as f64;
    let (opens, syncs) = (each(counts[0].0, counts[1].0), each(counts[0].1, counts[1].1));
    println!("  turn        of orch run: opens {opens:.0} (the executor's included), syncs {syncs:.0}");
}

pub(super) fn strace(world: &World, trace: &Path, arguments: &[&str]) -> Child {
    let trace = trace.to_string_lossy();
    // Detached, so that the child is `orch` itself: killed, it ends with its tracer.
    let options = ["-D", "-f", "-qq", "-o", &trace, "-e", "trace=openat,fsync,fdatasync", &world.orch];
    world.command("strace", &[&options[..], arguments].concat()).spawn().expect("strace starts")
}

/// How many files were opened and synced so far.
pub(super) fn calls(trace: &Path) -> (usize, usize) {
    let text = fs::read_to_string(trace).unwrap_or_default();
    let count = |call: &str| text.lines().filter(|line| line.contains(call)).count();
    (count("openat("), count("fsync(") + count("fdatasync("))
}
