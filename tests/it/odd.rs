//! Odd repositories: each row of the table in docs/git.md, held by a test against real git.

use crate::harness::{Ended, World, project};
use std::collections::BTreeSet;

mod content;
mod environment;
mod formats;
mod index;
mod machine;
mod places;

/// A row of the table, and the test that holds it.
type Row = (&'static str, fn());

#[test]
fn each_row_of_the_table_has_a_test_and_each_test_a_row() {
    let page = std::fs::read_to_string(project().join("docs/git.md")).expect("readable");
    let table = page
        .split("\n## Odd repositories\n")
        .nth(1)
        .expect("a section");
    let told: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .skip(2)
        .collect();
    let parts: [&[Row]; 6] = [
        &content::ROWS,
        &environment::ROWS,
        &formats::ROWS,
        &index::ROWS,
        &machine::ROWS,
        &places::ROWS,
    ];
    let rows = parts.concat();
    let held: BTreeSet<&str> = rows.iter().map(|(name, _)| *name).collect();
    assert_eq!(told, held);
    let tests: BTreeSet<usize> = rows.iter().map(|(_, test)| *test as usize).collect();
    assert_eq!(tests.len(), rows.len(), "two rows name one test");
}

/// A task is created and moved at a place; git finds nothing wrong and nothing left over.
fn works(world: &World, at: &str) {
    works_by(world, at, |arguments| {
        world.orch(&[&["-C", at], arguments].concat())
    });
    sound(world, at);
}

/// The same, by another way to run `orch`.
fn works_by(world: &World, at: &str, orch: impl Fn(&[&str]) -> Ended) {
    orch(&["new", "t"]).succeeds();
    world.plan(&format!("../{at}/tasks/t"), 1);
    orch(&["suggest", "t"]).succeeds().says("plan_review");
    orch(&["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
}

/// Git finds nothing wrong, nothing left over, and our two commits on top.
fn sound(world: &World, at: &str) {
    assert_eq!(world.git(&["-C", at, "status", "--porcelain"]), "", "{at}");
    assert_eq!(
        world.git(&["-C", at, "fsck", "--strict", "--no-dangling"]),
        "",
        "{at}"
    );
    let subjects = world.git(&["-C", at, "log", "-2", "--format=%s"]);
    assert_eq!(
        subjects, "orch(t): planning -> plan_review\norch(t): new -> planning\n",
        "{at}"
    );
}
