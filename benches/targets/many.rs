//! Many tasks that are ready at once, each of which gets a commit of its own.

use super::table::{Row, Table, Target, Unit};
use super::{ORCH, PLAN, World, places};

/// How many tasks are ready.
const MANY: usize = 1000;

/// Adds how many steps a second one `orch watch --once` commits, on the disk and where nothing is synced to one, beside
/// the same number of commits by git.
pub fn many(table: &mut Table) {
    for ((what, place), target) in places().into_iter().zip([500.0, 1500.0]) {
        let world = World::within(&place, ORCH);
        for number in 0..MANY {
            world.orch(&["new", &format!("m-{number:04}")]);
        }
        for number in 0..MANY {
            world.write(
                &format!("tasks/m-{number:04}/planning/planning.ai.json"),
                PLAN,
            );
        }
        let orch = world.time(&world.orch, &["watch", "--once"]).as_secs_f64();
        let mut git = 0.0;
        for number in 0..MANY {
            let path = format!("tasks/m-{number:04}/by-hand.txt");
            world.write(&path, "x\n");
            git += world.time("git", &["add", "--", &path]).as_secs_f64();
            git += world
                .time("git", &["commit", "-q", "-m", "by hand"])
                .as_secs_f64();
        }
        let (steps, commits) = (MANY as f64 / orch, MANY as f64 / git);
        let size = format!("{MANY} {what}");
        let row = Row::new("watch --once, steps", &size, Unit::PerSecond, steps);
        table.add(
            row.beside("git add + git commit", commits)
                .target(Target::Least(target)),
        );
    }
}
