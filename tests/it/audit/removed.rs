//! Records that were removed: what they had used up proves nothing under another record.

use super::{last, standings};
use crate::harness::{World, started};
use crate::setting::slice;

const PLAN: &str = "planning/plan.json";

/// A task `t` whose plan was refused.
pub fn refused() -> World {
    let world = started("plan_review");
    world.plan_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "planning");
    world
}

fn back_to(world: &World, commit: &str) {
    world.git(&["reset", "-q", "--hard", commit.trim()]);
    world.git(&["clean", "-fdq"]);
}

pub fn remove(world: &World, task: &str) {
    world.git(&["rm", "-q", "-r", &format!("tasks/{task}")]);
    let _ = std::fs::remove_dir_all(world.path(&format!("tasks/{task}")));
}

/// Creates or adopts a task, and lets it leave `planning`.
pub fn begin(world: &World, task: &str) {
    world.orch(&["new", task]).succeeds();
    if world.phase(task) == "planning" {
        world.orch(&["next", task]).succeeds();
    }
}

#[test]
fn a_refused_plan_is_not_fresh_under_another_record() {
    let world = refused();
    let start = world.git(&["rev-parse", "HEAD"]);
    let plan = world.read(&format!("tasks/t/{PLAN}"));
    type Begin = fn(&World, &str);
    let forgeries: [(&str, &str, Begin); 3] = [
        (
            "moved, and the rest removed in the same commit",
            "u",
            |world, _| {
                std::fs::create_dir(world.path("tasks/u")).expect("made");
                world.git(&["mv", "tasks/t/planning", "tasks/u/planning"]);
                remove(world, "t");
                world.commit("moved");
            },
        ),
        ("removed before", "u", |world, plan| {
            remove(world, "t");
            world.commit("removed");
            world.write(&format!("tasks/u/{PLAN}"), plan);
        }),
        ("begun again under the same id", "t", |world, plan| {
            remove(world, "t");
            world.commit("removed");
            world.write(&format!("tasks/t/{PLAN}"), plan);
        }),
    ];
    for (what, task, forge) in slice(forgeries, 2) {
        back_to(&world, &start);
        forge(&world, &plan);
        begin(&world, task);
        let change = last(&world, "unverifiable");
        let why = change["why"].as_str().expect("a text");
        assert!(
            why.contains("was used up by the task in tasks/t"),
            "{what}: {change:#}"
        );
        world.orch(&["audit", "--strict", "HEAD~1..HEAD"]).ends(1);
        // The rules yield it, and people do begin again: so it is not forged.
        world.orch(&["audit"]).succeeds();
    }
}

#[test]
fn whoever_renames_a_task_or_begins_another_is_not_doubted() {
    let world = refused();
    let start = world.git(&["rev-parse", "HEAD"]);
    type Honest = fn(&World);
    let histories: [(&str, Honest); 6] = [
        ("a rename", |world| {
            world.orch(&["rename", "t", "u"]).succeeds();
            world.plan("u", 2);
            world.orch(&["next", "u"]).succeeds();
        }),
        ("a move by git, with the record", |world| {
            world.git(&["mv", "tasks/t", "tasks/u"]);
            world.commit("moved");
            world.plan("u", 2);
            world.orch(&["next", "u"]).succeeds();
        }),
        (
            "an archived task, and another with the same plan",
            |world| {
                let plan = world.read(&format!("tasks/t/{PLAN}"));
                world
                    .orch(&["archive", "t", "--force", "given up"])
                    .succeeds();
                world.write(&format!("tasks/u/{PLAN}"), plan);
                begin(world, "u");
            },
        ),
        ("a plan that was copied from a task that stands", |world| {
            world.write(
                &format!("tasks/u/{PLAN}"),
                world.read(&format!("tasks/t/{PLAN}")),
            );
            begin(world, "u");
        }),
        (
            "a removed task, and another with its own plan and the same review",
            |world| {
                remove(world, "t");
                world.commit("removed");
                world.plan("u", 2);
                begin(world, "u");
                world.plan_review("u", false, 1);
                world.orch(&["next", "u"]).succeeds();
            },
        ),
        ("a removal that was reverted", |world| {
            remove(world, "t");
            world.commit("removed");
            world.git(&["revert", "--no-edit", "HEAD"]);
            world.plan("t", 2);
            world.orch(&["next", "t"]).succeeds();
        }),
    ];
    for (what, honest) in histories {
        back_to(&world, &start);
        honest(&world);
        let standings = standings(&world);
        let bad = ["unverifiable", "forged"];
        assert!(
            !standings.iter().any(|one| bad.contains(&one.as_str())),
            "{what}: {standings:?}"
        );
    }
}

/// Removes the object at `path` in a commit, as a partial clone leaves it out.
fn leave_out(world: &World, path: &str) {
    let id = world.git(&["rev-parse", path]);
    let (directory, file) = id.trim().split_at(2);
    std::fs::remove_file(world.path(&format!(".git/objects/{directory}/{file}")))
        .expect("a loose object");
}

#[test]
fn a_removed_record_that_this_clone_lacks_leaves_a_restart_unverifiable() {
    for adds_another in [false, true] {
        let world = refused();
        let plan = world.read(&format!("tasks/t/{PLAN}"));
        if adds_another {
            // The log that the same commit adds does not continue the one that it removes.
            world.orch(&["new", "w"]).succeeds();
            world.git(&["reset", "-q", "--soft", "HEAD~1"]);
        }
        remove(&world, "t");
        world.commit("removed");
        let removed = world.git(&["rev-parse", "HEAD~1"]);
        world.write(&format!("tasks/u/{PLAN}"), plan);
        begin(&world, "u");
        leave_out(
            &world,
            &format!("{}:tasks/t/transcript.jsonl", removed.trim()),
        );
        let range = ["audit", "--strict", "HEAD~1..HEAD"];
        world
            .orch(&range)
            .ends(1)
            .says("unverifiable")
            .says("removed from tasks/t is not in this clone");
        world.orch(&range[..1]).says("is not in this clone");
    }
}

#[test]
fn a_renamed_record_that_this_clone_lacks_doubts_no_later_step() {
    let world = refused();
    world.orch(&["rename", "t", "u"]).succeeds();
    world.plan("u", 2);
    world.orch(&["next", "u"]).succeeds();
    leave_out(&world, "HEAD~2:tasks/t/transcript.jsonl");
    world
        .orch(&["audit", "--strict", "HEAD~1..HEAD"])
        .succeeds();
}

#[test]
fn a_record_that_was_removed_below_a_root_of_the_middle_of_a_range_counts() {
    let world = World::ready();
    let root =
        |path: &str| format!("[[root]]\npath = \"{path}\"\nworkflow = \"global-state-machine\"\n");
    let settings = root("later/*");
    world.write("orch.toml", &settings);
    world.commit("base");
    let base = world.git(&["rev-parse", "HEAD"]);
    world.write("orch.toml", root("tasks/*") + &settings);
    world.commit("two roots");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "plan_review");
    world.plan_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    let plan = world.read(&format!("tasks/t/{PLAN}"));
    remove(&world, "t");
    world.write("orch.toml", settings);
    world.commit("one root");
    world.write(&format!("later/u/{PLAN}"), plan);
    world.orch(&["new", "u"]).succeeds();
    let range = format!("{}..HEAD", base.trim());
    world
        .orch(&["audit", "--strict", &range])
        .ends(1)
        .says("was used up by the task in tasks/t");
}

#[test]
fn a_log_that_cannot_be_read_does_not_end_the_audit_of_the_others() {
    let world = refused();
    let plan = world.read(&format!("tasks/t/{PLAN}"));
    world.orch(&["new", "v"]).succeeds();
    remove(&world, "t");
    world.commit("removed");
    world.write(&format!("tasks/u/{PLAN}"), plan);
    begin(&world, "u");
    leave_out(&world, "HEAD:tasks/v/transcript.jsonl");
    let words = "whether a removed record had used up its evidence is unknown";
    world
        .orch(&["audit", "--strict", "HEAD~1..HEAD"])
        .ends(1)
        .says("unverifiable")
        .says(words);
}
