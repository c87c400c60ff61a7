//! Records that change while the settings, or a task above, hide their task.

use super::records::{LOG, STATE, relinked};
use super::{last, skip, standings};
use crate::harness::{World, started};
use serde_json::json;

const ROOT: &str = "path = \"tasks/**\"";

/// Replaces the root of the tasks in `orch.toml`.
fn set_root(world: &World, root: &str) {
    let settings = world.read("orch.toml");
    let changed = settings.replacen(ROOT, root, 1);
    assert_ne!(changed, settings, "the test needs the root");
    world.write("orch.toml", changed);
}

/// Hides task `t` in a commit, and returns the settings that show it.
fn hide(world: &World) -> String {
    let settings = world.read("orch.toml");
    set_root(world, &format!("{ROOT}\nexclude = [\"tasks/t\"]"));
    world.commit("hidden");
    settings
}

/// Stages the settings that show the task again, with everything else.
fn show(world: &World, settings: &str) {
    world.write("orch.toml", settings);
    world.git(&["add", "-A"]);
}

/// Expects that the hook refuses what is staged because of a commit, and commits it anyway. Expects the same of
/// every other check of that commit.
#[track_caller]
fn refused_everywhere(world: &World, forged: &str) {
    let forged = world.git(&["rev-parse", forged]).trim().to_owned();
    let names_it = format!("commit {}", &forged[..7]);
    let hook = world.orch(&["check", "--staged"]).ends(1);
    assert!(format!("{hook:?}").contains(&names_it), "{hook:?}");
    world.commit("shown again");
    for arguments in [
        &["check", "--commit", "HEAD"][..],
        &["check", "--range", "HEAD~1..HEAD"],
        &["check", "--range", "HEAD"],
        &["audit", "HEAD~1..HEAD"],
        &["audit"],
    ] {
        let ended = world.orch(arguments).ends(1);
        assert!(
            format!("{ended:?}").contains("hides the task"),
            "{arguments:?}: {ended:?}"
        );
    }
    let audit = world.orch_json(&["audit"]);
    let changes = audit["changes"].as_array().expect("a list");
    let found: Vec<_> = changes
        .iter()
        .filter(|change| change["standing"] == "forged")
        .collect();
    assert!(
        found.iter().any(|change| change["commit"] == forged),
        "{audit:#}"
    );
}

/// Expects that no check finds anything wrong in what is staged, also once it is committed.
#[track_caller]
fn fine_everywhere(world: &World) {
    world.orch(&["check", "--staged"]).succeeds();
    world.commit("shown again");
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).succeeds();
    world.orch(&["audit"]).succeeds();
    let standings = standings(world);
    assert!(
        standings
            .iter()
            .all(|one| one == "proven" || one == "merged"),
        "{standings:?}"
    );
}

#[test]
fn a_forgery_under_cover_of_the_settings_is_forged_when_the_task_is_shown_again() {
    let others = [
        format!("{ROOT}\nexclude = [\"tasks/t\"]"),
        "path = \"work/**\"".to_owned(),
    ];
    for root in others {
        let world = started("plan_review");
        let settings = world.read("orch.toml");
        set_root(&world, &root);
        world.commit("hidden");
        skip(&world, "done", "accepted");
        world.commit("forged");
        show(&world, &settings);
        refused_everywhere(&world, "HEAD");
    }
}

#[test]
fn a_record_that_appears_out_of_sight_is_judged_when_it_is_shown() {
    let world = started("plan_review");
    let [log, state] = [LOG, STATE].map(|path| world.read(path));
    let world = World::ready();
    let settings = hide(&world);
    world.write(LOG, log);
    world.write(STATE, state);
    world.plan("t", 1);
    skip(&world, "done", "accepted");
    world.commit("forged");
    show(&world, &settings);
    refused_everywhere(&world, "HEAD");
}

#[test]
fn a_forgery_under_cover_of_a_task_above_is_forged_when_the_task_is_shown_again() {
    let world = World::ready();
    world.orch(&["new", "a/t"]).succeeds();
    world.plan("a/t", 1);
    world.orch(&["next", "a/t"]).succeeds();
    world.write("tasks/a/state.json", "{\"phase\": \"planning\"}\n");
    world.commit("a task above");
    let log = world.read("tasks/a/t/transcript.jsonl");
    let by_another = relinked(&log, |_, event| event["actor"]["name"] = json!("Bob"));
    world.write("tasks/a/t/transcript.jsonl", by_another);
    world.remove("tasks/a/t/state.json");
    world.commit("forged");
    world.remove("tasks/a/state.json");
    world.git(&["add", "-A"]);
    refused_everywhere(&world, "HEAD");
}

#[test]
fn a_merge_that_shows_a_task_shows_what_was_forged_on_the_other_side() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    let settings = hide(&world);
    skip(&world, "done", "accepted");
    world.commit("forged");
    world.git(&["switch", "-q", "main"]);
    world.write("notes.md", "more\n");
    world.commit("elsewhere");
    world.git(&["merge", "-q", "--no-ff", "--no-commit", "work"]);
    show(&world, &settings);
    refused_everywhere(&world, "work");
}

#[test]
fn a_record_that_returns_unchanged_is_fine() {
    let world = started("plan_review");
    let settings = hide(&world);
    world.write("notes.md", "more\n");
    world.commit("elsewhere");
    show(&world, &settings);
    fine_everywhere(&world);
    world.orch(&["check", "--range", "HEAD"]).succeeds();
}

#[test]
fn steps_of_a_branch_that_shows_the_task_are_fine() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    world.walk_to_from("t", "plan_review", "review");
    world.git(&["switch", "-q", "main"]);
    let settings = hide(&world);
    world.git(&["merge", "-q", "--no-ff", "-m", "merged", "work"]);
    show(&world, &settings);
    fine_everywhere(&world);
    world.orch(&["check", "--range", "HEAD"]).succeeds();
}

#[test]
fn honest_steps_that_were_committed_out_of_sight_are_proven() {
    // Picked from a branch.
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    world.walk_to_from("t", "plan_review", "review");
    world.git(&["switch", "-q", "main"]);
    let settings = hide(&world);
    world.git(&["cherry-pick", "main..work"]);
    show(&world, &settings);
    fine_everywhere(&world);
    // Recorded before the settings were committed.
    let world = World::ready();
    let settings = hide(&world);
    world.write("orch.toml", &settings);
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "done");
    world.git(&["add", "-A"]);
    fine_everywhere(&world);
    last(&world, "proven");
}

#[test]
fn a_record_forged_out_of_sight_is_no_record_to_go_back_to() {
    let world = started("plan_review");
    let settings = hide(&world);
    skip(&world, "done", "accepted");
    world.commit("forged");
    world.git(&["revert", "--no-edit", "HEAD"]);
    show(&world, &settings);
    fine_everywhere(&world);
    world.git(&["checkout", "-q", "HEAD~2", "--", "tasks"]);
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says("is not what the rules yield");
    world.commit("put back");
    world
        .orch(&["check", "--commit", "HEAD"])
        .ends(1)
        .says("is not what the rules yield");
    last(&world, "forged");
}

#[test]
fn a_shallow_clone_does_not_accuse_what_it_does_not_see() {
    let world = started("plan_review");
    let settings = hide(&world);
    world.write("notes.md", "more\n");
    world.commit("elsewhere");
    world.write("orch.toml", settings);
    world.commit("shown again");
    let clone = world.path("../clone");
    let source = format!("file://{}", world.root().display());
    world.git(&[
        "clone",
        "-q",
        "--depth",
        "2",
        &source,
        clone.to_str().expect("UTF-8"),
    ]);
    let at = clone.to_str().expect("UTF-8");
    world
        .orch(&["-C", at, "audit"])
        .reports("this clone is shallow");
    let range = world
        .orch(&["-C", at, "check", "--range", "HEAD"])
        .ends(1)
        .says("not-in-clone");
    assert!(
        !range.stdout.contains("is not what the rules yield"),
        "{range:?}"
    );
}
