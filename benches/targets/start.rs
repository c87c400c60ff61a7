//! What every command pays: the program itself.

use super::table::{Row, Table, Target, Unit};
use super::{ORCH, World, paired};
use std::fs;

pub fn start(table: &mut Table) {
    let bytes = fs::metadata(ORCH).expect("the program").len();
    let row = Row::new(
        "the program",
        "stripped",
        Unit::Megabytes,
        bytes as f64 / 1e6,
    );
    table.add(row.target(Target::Most(12.0)));
    let world = World::new();
    let [ours, git] = paired([
        Box::new(|| world.time(ORCH, &["--version"])),
        Box::new(|| world.time("git", &["--version"])),
    ]);
    let row = Row::ms("orch --version", "no task", ours).beside("git --version", git);
    table.add(row.target(Target::MostTimes(1.5)));
}
