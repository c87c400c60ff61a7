//! Leases and relations: taking a task beside asking what to do about it, or beside a commit and a push, and the free
//! tasks beside the status of the same.

use super::table::{Row, Table, Target};
use super::{ORCH, World, median, paired};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// How many tasks there are.
const MANY: usize = 1000;
/// How often a take over git is timed.
const RUNS: usize = 11;

/// Adds what `orch take TASK` and `orch free` cost.
pub fn leases(table: &mut Table) {
    local(table);
    over_git(table);
    related(table);
}

/// The id of a task.
fn id(number: usize) -> String {
    format!("t-{number:03}")
}

/// Tasks each of which waits for so many of those before it.
fn with_tasks(waits_for: usize) -> World {
    let world = World::new();
    let issue = |number: usize| {
        let others = (number.saturating_sub(waits_for)..number).map(
            |other| json!({"issue_id": id(number), "depends_on_id": id(other), "type": "blocks"}),
        );
        let others: Vec<Value> = others.collect();
        let issue = json!({
            "id": id(number), "title": "Measure", "status": "open", "issue_type": "task", "dependencies": others,
        });
        format!("{issue}\n")
    };
    let issues: String = (0..MANY).map(issue).collect();
    world.write(".git/issues.jsonl", &issues);
    world.orch(&["new", "--from", ".git/issues.jsonl"]);
    world.orch(&["watch", "--once"]);
    world
}

fn local(table: &mut Table) {
    let world = with_tasks(0);
    let [take, suggest, free, status] = paired([
        Box::new(|| {
            let took = world.time(ORCH, &["take", "t-042", "--json"]);
            world.orch(&["release", "t-042"]);
            took
        }),
        Box::new(|| world.time(ORCH, &["suggest", "t-042", "--json"])),
        Box::new(|| world.time(ORCH, &["free", "--json"])),
        Box::new(|| world.time(ORCH, &["status", "--json"])),
    ]);
    let size = format!("{MANY} tasks");
    let row = Row::ms("take TASK", &size, take).beside("suggest TASK", suggest);
    table.add(row.target(Target::MostTimes(1.2)));
    let row = Row::ms("free", &size, free).beside("status", status);
    table.add(row.target(Target::MostTimes(1.2)));
}

/// A clone of a remote on which leases are.
struct Clone {
    world: World,
    root: PathBuf,
}

impl Clone {
    fn of(world: World) -> Self {
        let settings = std::fs::read_to_string(world.root().join("orch.toml")).expect("settings");
        let settings = settings.replacen("#store = \"local\"", "store = \"git\"", 1);
        world.write("orch.toml", &settings);
        world.run("git", &["commit", "-qam", "Share leases"]);
        world.run(
            "git",
            &["init", "-q", "--bare", "-b", "main", ".git/remote.git"],
        );
        world.run("git", &["remote", "add", "origin", ".git/remote.git"]);
        world.run("git", &["push", "-q", "origin", "main"]);
        world.run("git", &["clone", "-q", ".git/remote.git", ".git/clone"]);
        let root = world.root().join(".git/clone");
        Self { world, root }
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = self.world.command(program, words);
        command.env("ORCH_TRUST_ONCE", "1");
        command
    }

    /// Takes tasks in the first work tree.
    fn hold(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let mut command = self.command(ORCH, &["take", &id(number)]);
            assert!(command.status().expect("starts").success());
        }
    }

    /// Runs a command in the clone and returns how long it took.
    fn time(&self, program: &str, words: &[&str]) -> Duration {
        let mut command = self.command(program, words);
        command.current_dir(&self.root);
        let begun = Instant::now();
        let status = command.status().expect("starts");
        let took = begun.elapsed();
        assert!(status.success(), "{program} {words:?}");
        took
    }

    /// The medians of a take, of a renewal, of a release, and of a commit and a push.
    fn medians(&self) -> [f64; 4] {
        let mut times: [Vec<Duration>; 4] = Default::default();
        let task = id(MANY - 1);
        for run in 0..=RUNS {
            let take = self.time(ORCH, &["take", &task, "--json"]);
            let renewal = self.time(ORCH, &["take", &task, "--json"]);
            let release = self.time(ORCH, &["release", &task]);
            let by_git = self.time("git", &["commit", "-q", "--allow-empty", "-m", "by hand"])
                + self.time("git", &["push", "-q", "origin", "HEAD:by-hand"]);
            if run > 0 {
                for (all, time) in times.iter_mut().zip([take, renewal, release, by_git]) {
                    all.push(time);
                }
            }
        }
        times.map(median)
    }
}

fn over_git(table: &mut Table) {
    let clone = Clone::of(with_tasks(0));
    clone.hold(0..10);
    let [few, ..] = of_leases(table, &clone, 10);
    clone.hold(10..MANY - 1);
    let [many, ..] = of_leases(table, &clone, MANY - 1);
    let size = format!("{} leases", MANY - 1);
    let row = Row::ms("take TASK over git", &size, many).beside("of 10 leases", few);
    table.add(row.target(Target::MostTimes(3.0)));
}

fn of_leases(table: &mut Table, clone: &Clone, held: usize) -> [f64; 4] {
    let medians = clone.medians();
    let [take, renewal, release, by_git] = medians;
    let size = format!("{held} leases");
    let beside = |what: &str, took: f64| {
        Row::ms(what, &size, took)
            .beside("git commit + git push", by_git)
            .target(Target::MostTimes(1.0))
    };
    table.add(beside("take TASK over git", take));
    table.add(beside("  again", renewal));
    table.add(beside("  release", release));
    medians
}

/// Tasks each of which waits for the two before it.
fn related(table: &mut Table) {
    let world = with_tasks(2);
    let plain = with_tasks(0);
    let [free, status, plain_status, one, plain_one] = paired([
        Box::new(|| world.time(ORCH, &["free", "--json"])),
        Box::new(|| world.time(ORCH, &["status", "--json"])),
        Box::new(|| plain.time(ORCH, &["status", "--json"])),
        Box::new(|| world.time(ORCH, &["suggest", "t-500", "--json"])),
        Box::new(|| plain.time(ORCH, &["suggest", "t-500", "--json"])),
    ]);
    let size = format!("{} relations", 2 * MANY - 3);
    let row = Row::ms("free", &size, free).beside("status", status);
    table.add(row.target(Target::MostTimes(1.2)));
    let row = Row::ms("status", &size, status).beside("of none", plain_status);
    table.add(row);
    let row = Row::ms("suggest TASK", &size, one).beside("of none", plain_one);
    table.add(row.target(Target::MostTimes(1.2)));
}
