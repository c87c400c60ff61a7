//! Honest histories in which a file was edited after the step that judged it, and then rewritten.

use super::{last_change, standings};
use crate::harness::{World, started};

/// What somebody does to the file of the last step, and what is done with the commits.
const ARTIFACTS: [(&str, &str); 5] = [
    ("plan_review", "planning/plan.json"),
    ("codegen", "review/plan/verdict.json"),
    ("review", "code/diff.patch"),
    ("test", "review/code/verdict.json"),
    ("done", "accept/decision.json"),
];

/// A task whose last step led to a phase, and the commit before that step.
fn stepped(phase: &str) -> World {
    let world = started(phase);
    world.git(&["branch", "before", "HEAD~1"]);
    world
}

fn edit(world: &World, file: &str) {
    let path = format!("tasks/t/{file}");
    world.write(&path, format!("{}\n\n", world.read(&path)));
}

#[test]
fn an_edit_after_a_step_that_a_rewrite_joins_with_it_is_never_forged() {
    for (phase, file) in ARTIFACTS {
        let world = stepped(phase);
        edit(&world, file);
        world.git(&["commit", "-q", "-a", "-m", "By hand"]);
        world.git(&["branch", "edited"]);
        let is_unverifiable = |how: &str| {
            let change = last_change(&world);
            assert_eq!(
                change["standing"], "unverifiable",
                "{phase}, {how}: {change:#}"
            );
            world.orch(&["audit"]).succeeds();
            world.orch(&["audit", "--strict"]).ends(1);
            world.orch(&["check", "--commit", "HEAD"]).succeeds();
        };
        world.git(&["reset", "-q", "--hard", "before"]);
        world.git(&["merge", "-q", "--squash", "edited"]);
        world.git(&["commit", "-q", "-m", "Squashed"]);
        is_unverifiable("squash");
        world.git(&["reset", "-q", "--hard", "edited~1"]);
        edit(&world, file);
        world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        is_unverifiable("amend");
        // The branch has the bytes, so it proves the step.
        world
            .orch(&["audit", "--strict", "--also", "edited"])
            .succeeds();
        for from in ["edited", "main"] {
            world.git(&["switch", "-q", "--orphan", &format!("import-{from}")]);
            world.git(&["checkout", from, "--", "."]);
            world.git(&["commit", "-q", "-m", "Import"]);
            assert!(
                !standings(&world).contains(&"forged".to_owned()),
                "{phase}: import"
            );
            world.orch(&["check", "--commit", "HEAD"]).succeeds();
        }
    }
}

#[test]
fn an_edit_that_says_something_else_explains_nothing() {
    for (phase, file) in ARTIFACTS {
        let world = stepped(phase);
        world.remove(&format!("tasks/t/{file}"));
        world.git(&[
            "commit",
            "-q",
            "-a",
            "--amend",
            "-m",
            "As if there had been one",
        ]);
        let change = last_change(&world);
        assert_eq!(change["standing"], "forged", "{phase}: {change:#}");
    }
    let world = stepped("codegen");
    world.plan_review("t", false, 2);
    world.git(&["commit", "-q", "-a", "--amend", "-m", "It was refused"]);
    assert_eq!(last_change(&world)["standing"], "forged");
}

#[test]
fn a_reopen_that_is_reverted_after_an_edit_is_not_forged() {
    let world = started("done");
    world
        .orch(&["reopen", "t", "--to", "accept", "--reason", "look again"])
        .succeeds();
    edit(&world, "review/code/verdict.json");
    world.git(&["commit", "-q", "-a", "-m", "By hand"]);
    world.git(&["revert", "--no-edit", "HEAD~1"]);
    assert_eq!(last_change(&world)["standing"], "unverifiable");
    world.orch(&["check", "--range", "HEAD~3..HEAD"]).succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.orch(&["audit"]).succeeds();
    assert!(!standings(&world).contains(&"forged".to_owned()));
}
