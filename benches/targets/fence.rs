//! What a fence costs: the start of a turn, and what programs do inside.

use super::table::{Row, Table, Target};
use super::{ORCH, RUNS, World, median};
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Does what follows, says how long that took in nanoseconds, and counts, so that there is always more to do.
const EXECUTOR: &str = r#"
IFS= read -r first
begun=$(date +%s%N)
"$@" > work/said 2>&1 || exit 1
ended=$(date +%s%N)
echo $((ended - begun)) > work/took
read -r n < work/count
n=$((n + 1))
echo "$n" > work/count
echo "{\"stateUpdates\": {\"n\": $n}}"
"#;

const LOOP: &str = r#"# Work

```toml orch
[state.defaults]
n = 0
[limits]
turns = 1000
[artifact.note]
path = "out/note.md"
[action.count]
writes = ["/n"]
[phase.working]
produces = ["note"]
touches = ["work/**"]
[phase.done]
terminal = true
[[rule]]
id = "given-up"
from = "working"
when = "run.errors >= run.max_errors"
to = "done"
because = "it failed"
[[rule]]
id = "count"
from = "working"
run = "count"
because = "there is more to do"
```
"#;

/// A program of some files, so that a build is no single process.
const PACKAGE: &str = "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const PROGRAM: &str = "mod part;\nfn main() { println!(\"{}\", part::sum(&[1, 2, 3])); }\n";
const PART: &str = "pub fn sum(all: &[u64]) -> u64 { all.iter().map(|one| format!(\"{one}\").len() as u64).sum() }\n";
const BUILD: &str = "rm -rf target && cargo build --offline --quiet";
const NODE: &str = r#"{"name": "tiny", "version": "1.0.0", "scripts": {"test": "node test.js"}}"#;
const TEST: &str =
    "const fs = require('node:fs'), dir = fs.mkdtempSync(require('node:os').tmpdir() + '/x');
for (let n = 0; n < 500; n++) fs.writeFileSync(`${dir}/${n}`, 'x');
";

pub fn fence(table: &mut Table) {
    let world = World::new();
    world.write("system/workflows/work.md", LOOP);
    world.write("executor.sh", EXECUTOR);
    for (path, text) in [
        ("count", "0\n"),
        ("Cargo.toml", PACKAGE),
        ("src/main.rs", PROGRAM),
        ("src/part.rs", PART),
        ("package.json", NODE),
        ("test.js", TEST),
    ] {
        world.write(&format!("work/{path}"), text);
    }
    world.run("git", &["add", "-A"]);
    world.run("git", &["commit", "-qm", "Set up"]);
    world.orch(&["new", "t", "--workflow", "work"]);
    let Some(_) = turn(&world, true, "true") else {
        return table.add(Row::skipped("a fence", "the system permits none"));
    };
    let whole = pairs(&world, "true", 3 * RUNS, |took| took.run).expect("it runs");
    let row = Row::ms("run, one turn in a fence", "1 task", whole[0]);
    table.add(
        row.beside("without one", whole[1])
            .target(Target::MostTimes(1.1)),
    );
    for (what, command) in [
        ("cargo build", BUILD),
        ("npm test", "npm test --offline --silent"),
    ] {
        let row = format!("{what} in a fence");
        let command = format!("cd work && {command}");
        match pairs(&world, &command, RUNS, |took| took.command) {
            Some([inside, outside]) => table.add(
                Row::ms(&row, "a small project", inside)
                    .beside("without one", outside)
                    .target(Target::MostTimes(1.02)),
            ),
            None => table.add(Row::skipped(&row, "the program is not installed")),
        }
    }
}

/// How long turns take inside a fence and without one, in pairs: the median without, times the median of what each pair says,
/// and that median. `None` if the command fails.
fn pairs(
    world: &World,
    command: &str,
    rounds: usize,
    part: fn(TurnTime) -> Duration,
) -> Option<[f64; 2]> {
    let (mut ratios, mut outside) = (Vec::new(), Vec::new());
    turn(world, false, command)?;
    for round in 0..rounds {
        // Whichever comes second finds what the first has left in the caches of the system.
        let inside_first = round % 2 == 0;
        let first = part(turn(world, inside_first, command)?);
        let second = part(turn(world, !inside_first, command)?);
        let (with, without) = if inside_first {
            (first, second)
        } else {
            (second, first)
        };
        ratios.push(with.as_secs_f64() / without.as_secs_f64());
        outside.push(without);
    }
    ratios.sort_by(f64::total_cmp);
    let outside = median(outside);
    Some([outside * ratios[ratios.len() / 2], outside])
}

/// How long one turn took.
#[derive(Clone, Copy)]
struct TurnTime {
    /// The whole run.
    run: Duration,
    /// The command in it.
    command: Duration,
}

/// Runs one turn with a command, inside a fence or without. `None` if it was not done.
fn turn(world: &World, fenced: bool, command: &str) -> Option<TurnTime> {
    let took = world.root().join("work/took");
    let _ = fs::remove_file(&took);
    let words = [
        "run",
        "t",
        "--auto",
        "--max-turns",
        "1",
        "--",
        "sh",
        "executor.sh",
        "sh",
        "-c",
        command,
    ];
    let mut run = world.command(ORCH, &words);
    let begun = Instant::now();
    let _ = run
        .env("ORCH_FENCE", if fenced { "required" } else { "off" })
        .stderr(Stdio::null())
        .status()
        .expect("starts");
    let run = begun.elapsed();
    let nanoseconds = fs::read_to_string(took).ok()?.trim().parse().ok()?;
    let command = Duration::from_nanos(nanoseconds);
    Some(TurnTime { run, command })
}
