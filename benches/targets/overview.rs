//! The overview of all branches, beside git reading the same trees.

use super::table::{Row, Table, Target};
use super::{ORCH, World, paired};

const BRANCHES: usize = 200;
const TASKS: usize = 60;

/// What git does to list the same: every branch, and every file of its tasks.
const LISTED: &str =
    "git for-each-ref --format='%(objectname)' refs/heads | xargs -I{} git ls-tree -r {} tasks";
/// The same in two processes: every branch, and the tree of its tasks.
const READ: &str =
    "git for-each-ref --format='%(objectname):tasks' refs/heads | git cat-file --batch";

/// Branches that share most tasks: each has moved one of them.
pub fn overview(table: &mut Table) {
    let world = World::new();
    for number in 0..TASKS {
        world.orch(&["new", &format!("t-{number:02}")]);
    }
    // One branch for each task that has moved, and the others on the same commits.
    for number in 0..TASKS {
        world.run(
            "git",
            &["switch", "-q", "-c", &format!("b-{number:03}"), "main"],
        );
        let id = format!("t-{number:02}");
        world.write(
            &format!("tasks/{id}/planning/planning.ai.json"),
            super::PLAN,
        );
        world.orch(&["next", &id]);
    }
    for number in TASKS..BRANCHES {
        // An own commit, with a tree of its own outside the tasks.
        world.run(
            "git",
            &[
                "switch",
                "-q",
                "-c",
                &format!("b-{number:03}"),
                &format!("b-{:03}", number % TASKS),
            ],
        );
        world.write("note.txt", &format!("{number}\n"));
        world.run("git", &["add", "-A"]);
        world.run("git", &["commit", "-qm", "a note"]);
    }
    world.run("git", &["switch", "-q", "main"]);
    world.run("git", &["gc", "-q"]);
    let [everywhere, here, listed, read] = paired([
        Box::new(|| world.time(ORCH, &["status", "--everywhere", "--json"])),
        Box::new(|| world.time(ORCH, &["status", "--json"])),
        Box::new(|| world.time("sh", &["-c", LISTED])),
        Box::new(|| world.time("sh", &["-c", READ])),
    ]);
    let size = format!("{BRANCHES} branches");
    let row = || Row::ms("status --everywhere", &size, everywhere);
    table.add(
        row()
            .beside("for-each-ref, ls-tree", listed)
            .target(Target::Most(200.0)),
    );
    table.add(row().beside("for-each-ref, cat-file", read));
    table.add(row().beside("status of one branch", here));
}
