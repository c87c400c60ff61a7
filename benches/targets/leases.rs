//! Taking a task beside asking what to do about it, and the free tasks beside the status of the same.

use super::table::{Row, Table, Target};
use super::{ORCH, World, paired};

/// How many tasks there are.
const MANY: usize = 1000;

/// Adds what `orch take TASK` and `orch free` cost.
pub fn leases(table: &mut Table) {
    let world = World::new();
    for number in 0..MANY {
        world.orch(&["new", &format!("t-{number:03}")]);
    }
    world.orch(&["watch", "--once"]);
    let [take, suggest, free, status] = paired([
        Box::new(|| world.time(ORCH, &["take", "t-042", "--json"])),
        Box::new(|| world.time(ORCH, &["suggest", "t-042", "--json"])),
        Box::new(|| world.time(ORCH, &["free", "--json"])),
        Box::new(|| world.time(ORCH, &["status", "--json"])),
    ]);
    let size = format!("{MANY} tasks");
    table.add(
        Row::ms("take TASK", &size, take)
            .beside("suggest TASK", suggest)
            .target(Target::Most(1.2 * suggest)),
    );
    table.add(
        Row::ms("free", &size, free)
            .beside("status", status)
            .target(Target::Most(1.2 * status)),
    );
}
