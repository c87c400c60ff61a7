//! Replaying ten thousand transitions.

use super::lives::{Moment, lifecycle, play, told_of};
use super::table::{Row, Table, Target, Unit};
use super::{ORCH, World, median};
use std::fmt::Write;
use std::fs::{self, File};

const TASKS: usize = 500;

/// Every transition of every task as a commit of its own, as a stream for `git fast-import`.
fn stream(moments: &[Moment]) -> String {
    let ids: Vec<String> = (0..TASKS).map(|number| format!("a-{number:03}")).collect();
    let of = |id: &String| moments.iter().map(|moment| told_of(id, moment)).collect();
    let lives: Vec<Vec<Moment>> = ids.iter().map(of).collect();
    let mut stream = String::from("reset refs/heads/main\nfrom refs/heads/main^0\n\n");
    for at in 0..moments.len() {
        for (id, life) in ids.iter().zip(&lives) {
            let seconds = 1_800_000_000 + at;
            let _ = write!(
                stream,
                "commit refs/heads/main\ncommitter Bench <bench@example.com> {seconds} +0000\ndata 5\nmove\n\n"
            );
            let changed = |path: &str, text: &str| {
                at.checked_sub(1)
                    .and_then(|at| life[at].get(path))
                    .is_none_or(|before| before != text)
            };
            for (path, text) in life[at].iter().filter(|(path, text)| changed(path, text)) {
                let length = text.len();
                let _ = write!(
                    stream,
                    "M 100644 inline tasks/{id}/{path}\ndata {length}\n{text}\n"
                );
            }
        }
    }
    stream
}

pub fn audit(table: &mut Table) {
    let world = World::new();
    let moments = play(world.root(), "t", &lifecycle(), &|arguments| {
        world.orch(arguments)
    });
    let place = world.root().join(".git/stream");
    fs::write(&place, stream(&moments)).expect("written");
    let mut import = world.command("git", &["fast-import", "--quiet"]);
    import.stdin(File::open(&place).expect("a stream"));
    assert!(import.status().expect("git starts").success());
    let _ = fs::remove_file(&place);
    let commits = (TASKS * moments.len()) as f64;
    world.orch(&["audit"]);
    let time = |program: &str, arguments: &[&str]| {
        median((0..3).map(|_| world.time(program, arguments)).collect())
    };
    let rate = |program: &str, arguments: &[&str]| commits / time(program, arguments) * 1000.0;
    let size = format!("{commits} steps");
    let row = Row::new(
        "audit, steps",
        &size,
        Unit::PerSecond,
        rate(ORCH, &["audit"]),
    );
    let stat = rate("git", &["log", "--stat"]);
    table.add(
        row.beside("git log --stat", stat)
            .target(Target::Least(5000.0)),
    );
    table.add(Row::new(
        "audit, memory",
        &size,
        Unit::Megabytes,
        world.memory(&["audit"]),
    ));
}
