//! Many tasks that are ready at once, each of which gets a commit of its own.

use super::table::{Row, Table, Target, Unit};
use super::{ORCH, PLAN, World};
use std::path::Path;

/// How many tasks are ready.
const MANY: usize = 1000;

/// Adds how many steps a second one `orch watch --once` commits, on the disk and where nothing is synced to one, beside
/// the same number of commits by git.
pub fn many(table: &mut Table) {
    let disk = std::env::temp_dir();
    let memory = Path::new("/dev/shm");
    let places = [("1,000 on a disk", disk.as_path(), 500.0), ("1,000 in memory", memory, 1500.0)];
    for (what, place, target) in places.into_iter().filter(|(_, place, _)| place.is_dir()) {
        let world = World::within(place, ORCH);
        for number in 0..MANY {
            world.orch(&["new", &format!("m-{number:04}")]);
        }
        for number in 0..MANY {
            world.write(&format!("tasks/m-{number:04}/planning/planning.ai.json"), PLAN);
        }
        let orch = world.time(&world.orch, &["watch", "--once"]).as_secs_f64();
        let mut git = 0.0;
        for number in 0..MANY {
            let path = format!("tasks/m-{number:04}/by-hand.txt");
            world.write(&path, "x\n");
            git += world.time("git", &["add", "--", &path]).as_secs_f64();
            git += world.time("git", &["commit", "-q", "-m", "by hand"]).as_secs_f64();
        }
        let (steps, commits) = (MANY as f64 / orch, MANY as f64 / git);
        let row = Row::new("watch --once, steps", what, Unit::PerSecond, steps);
        table.add(row.beside("git add + git commit", commits).target(Target::Least(target)));
    }
}
