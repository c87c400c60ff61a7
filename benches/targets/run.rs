//! One turn of a run beyond the executor's own time: decide, write down, start, read, record, commit.

use super::table::{Row, Table, Target};
use super::{RUNS, World, median};
use std::fs;
use std::time::Instant;

/// How many turns one run takes.
const TURNS: u32 = 50;

/// Counts, and says so; nothing but the shell itself is started.
pub(super) const EXECUTOR: &str = r#"
IFS= read -r first
read -r n < count
n=$((n + 1))
echo "$n" > count
echo "{\"stateUpdates\": {\"n\": $n}}"
"#;

pub(super) const LOOP: &str = r#"# Count

```toml orch
[state.defaults]
n = 0
[limits]
turns = 1000
[action.count]
writes = ["/n"]
[phase.counting]
[phase.done]
terminal = true
[[rule]]
id = "given-up"
from = "counting"
when = "run.errors >= run.max_errors"
to = "done"
because = "it failed"
[[rule]]
id = "count"
from = "counting"
run = "count"
because = "there is more to count"
```
"#;

pub(super) fn run(table: &mut Table) {
    let world = World::new();
    world.write("system/workflows/count.md", LOOP);
    world.write("executor.sh", EXECUTOR);
    world.write("count", "0\n");
    world.write(".git/info/exclude", "executor.sh\ncount\n");
    let own = || {
        let begun = Instant::now();
        let mut command = world.command("sh", &["executor.sh"]);
        let _ = command
            .env("ORCH_ACTION", "count")
            .status()
            .expect("starts");
        begun.elapsed()
    };
    let (mut turns, mut alone, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=RUNS / 4 {
        let task = format!("t{round}");
        world.orch(&["new", &task, "--workflow", "count"]);
        let run = |turns: &str| {
            world.time(
                super::ORCH,
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
        if round > 0 {
            turns.push(many.saturating_sub(one) / TURNS);
            alone.extend((0..8).map(|_| own()));
            commits.extend(
                (0..8).map(|_| world.time("git", &["commit", "-q", "--allow-empty", "-m", "x"])),
            );
        }
    }
    // Nothing but what was performed has counted, and all of it was recorded.
    let rounds = u32::try_from(RUNS / 4).expect("few");
    let counted = fs::read_to_string(world.root().join("count")).expect("counted");
    assert_eq!(
        counted.trim().parse::<u32>().ok(),
        Some((TURNS + 2) * (rounds + 1) + 8 * rounds)
    );
    let (turn, alone, commit) = (median(turns), median(alone), median(commits));
    let own = Row::ms("run, a turn of its own", "1 task", turn - alone);
    table.add(
        own.beside("git commit, empty", commit)
            .target(Target::Most(6.0)),
    );
    table.add(Row::ms("run, a whole turn", "1 task", turn).beside("its executor alone", alone));
}
