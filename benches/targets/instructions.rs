//! Counts of instructions, which do not depend on how busy the machine is. They are compared with those that
//! `instructions.json` keeps, so that no change makes a command slower unnoticed.
//!
//! Only instructions of `orch` itself count, in all its threads; the system and programs that it starts do not. The
//! counts depend on the compiler and on the kind of processor. `UPDATE=1` keeps those of this run.

use super::grown::{Lives, PERIOD, id};
use super::table::{Row, Table, Target, Unit};
use super::{ORCH, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

/// What is kept of an earlier run.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The kind of machine that the counts are of.
    machine: String,
    /// At most so many times as many instructions as are kept count as the same.
    tolerance: f64,
    /// Millions of instructions.
    millions: BTreeMap<String, f64>,
}

const KEPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/targets/instructions.json"
);
/// How many tasks the repository of `orch status` holds.
const MANY: usize = 5 * PERIOD;

/// Adds a row for each of three main paths. Skips them without valgrind.
pub fn instructions(table: &mut Table) {
    if Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        table.add(Row::skipped("instructions", "needs valgrind"));
        return;
    }
    let text = fs::read_to_string(KEPT).expect("the counts that are kept");
    let mut kept: Kept = serde_json::from_str(&text).expect("counts");
    let is_kept_anew = std::env::var_os("UPDATE").is_some();
    let machine = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let is_comparable = kept.machine == machine;
    if is_kept_anew {
        kept = Kept {
            machine,
            millions: BTreeMap::new(),
            ..kept
        };
    }
    for (what, size, count) in counts() {
        let before = kept.millions.get(what).copied().filter(|_| is_comparable);
        let row = Row::new(what, &size, Unit::Instructions, count);
        table.add(match before {
            Some(before) => row
                .beside("kept", before)
                .target(Target::MostTimes(kept.tolerance)),
            None => row,
        });
        if is_kept_anew {
            kept.millions
                .insert(what.to_owned(), (count * 100.0).round() / 100.0);
        }
    }
    if is_kept_anew {
        let text = serde_json::to_string_pretty(&kept).expect("JSON");
        fs::write(KEPT, format!("{text}\n")).expect("written");
    }
}

/// What is counted, in a repository of which size, and how many millions of instructions it takes.
fn counts() -> [(&'static str, String, f64); 3] {
    let small = World::new();
    small.task("one");
    let large = World::new();
    Lives::played(large.root(), &|arguments| large.orch(arguments)).grow(large.root(), 0, MANY);
    large.run("git", &["add", "-A"]);
    large.run("git", &["commit", "-qm", "tasks"]);
    assert!(large.root().join("tasks").join(id(MANY - 1)).is_dir());
    // What playing the lives has left.
    let _ = fs::remove_dir_all(large.root().join(".git/orch"));
    let (one, many) = ("1 task".to_owned(), format!("{MANY} tasks, first"));
    [
        (
            "suggest TASK --json",
            format!("{one}, first"),
            counted(&small, &["suggest", "one", "--json"]),
        ),
        ("next TASK", one, counted(&small, &["next", "one"])),
        (
            "status --json",
            many,
            counted(&large, &["status", "--json"]),
        ),
    ]
}

/// How many millions of instructions a command takes.
fn counted(world: &World, arguments: &[&str]) -> f64 {
    let aside = tempfile::tempdir().expect("a directory");
    let out = aside.path().join("out");
    let option = format!("--callgrind-out-file={}", out.display());
    let traced = [&["-q", "--tool=callgrind", &option, ORCH], arguments].concat();
    let status = world
        .command("valgrind", &traced)
        .status()
        .expect("valgrind starts");
    // 1 says that a task is in error.
    assert!(
        status.code().is_some_and(|code| code <= 1),
        "{arguments:?}: {status}"
    );
    let text = fs::read_to_string(&out).expect("what callgrind has counted");
    let summary = text
        .lines()
        .find_map(|line| line.strip_prefix("summary: ")?.parse::<f64>().ok());
    summary.expect("a number of instructions") / 1e6
}
