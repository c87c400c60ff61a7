//! `orch rollback`, `reopen` and `confirm`.

use crate::harness::started;

#[test]
fn a_rollback_spends_and_deletes_nothing() {
    let world = started("test");
    let files = world.git(&["ls-files", "tasks/t"]);
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "codegen",
            "--reason",
            "wrong branch",
        ])
        .succeeds()
        .says("test -> codegen");
    assert_eq!(world.git(&["ls-files", "tasks/t"]), files);
    assert_eq!(world.dirty(), "");
    world.orch(&["next", "t"]).ends(3);
    let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
    assert_eq!(suggestion["do"], "renew", "{suggestion:#}");
    assert_eq!(suggestion["expects"][0]["state"], "stale");
    world.patch("t", 2);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("codegen -> review");
    world
        .orch(&["rollback", "t", "--reason", "default"])
        .succeeds()
        .says("review -> codegen");
    world
        .orch(&["rollback", "t", "--to", "accept", "--reason", "forward"])
        .ends(1);
    world.orch(&["rollback", "t", "--to", "planning"]).ends(2);
}

#[test]
fn a_confirmed_artifact_is_fresh_again() {
    let world = started("test");
    world.tests("t", 1, 1);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("test -> codegen");
    world
        .orch(&["confirm", "t", "patch", "--reason", "the tests were wrong"])
        .succeeds();
    assert!(
        world
            .git(&["log", "-1", "--format=%B"])
            .contains("Orch-Kind: confirm")
    );
    assert_eq!(world.dirty(), "");
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("codegen -> review");
    world
        .orch(&["confirm", "t", "patch", "--reason", "again"])
        .ends(1);
    world
        .orch(&["confirm", "t", "decision", "--reason", "absent"])
        .ends(1);
}

#[test]
fn only_a_reopening_leaves_a_terminal_phase() {
    let world = started("done");
    world.orch(&["next", "t"]).ends(3);
    world
        .orch(&["rollback", "t", "--reason", "no"])
        .ends(1)
        .reports("orch reopen");
    world
        .orch(&["next", "t", "--override", "no", "--to", "test"])
        .ends(1);
    world
        .orch(&["resume", "t"])
        .ends(3)
        .says("orch reopen t --reason WHY");
    world
        .orch(&["reopen", "t", "--reason", "it broke again"])
        .succeeds()
        .says("done -> accept");
    world.orch(&["next", "t"]).ends(3);
    world
        .orch(&["reopen", "t", "--reason", "not terminal"])
        .ends(1);
    assert_eq!(world.dirty(), "");
}

#[test]
fn the_first_phase_can_only_be_begun_again_and_each_hint_says_so() {
    let world = started("planning");
    for order in [
        &["reopen", "t"][..],
        &["rollback", "t"],
        &["rollback", "t", "--to", "planning"],
    ] {
        let ended = world
            .orch(&[order, &["--reason", "it broke"]].concat())
            .ends(1);
        ended.reports("hint: orch next t --override WHY --to planning");
    }
    world
        .orch(&["next", "t", "--override", "it broke", "--to", "planning"])
        .succeeds();
    world
        .orch(&["rollback", "t", "--to", "codegen", "--reason", "no"])
        .ends(1)
        .reports("--override WHY --to codegen");
}

#[test]
fn the_placeholder_of_a_hint_is_no_reason() {
    let world = started("codegen");
    for order in [
        &["rollback", "t", "--reason", "WHY"][..],
        &["rollback", "t", "--reason", "WHY", "--dry-run"],
        &["next", "t", "--override", " WHY "],
        &["confirm", "t", "plan", "--reason", "WHY"],
    ] {
        world
            .orch(order)
            .ends(1)
            .reports("`WHY` is a placeholder for a reason");
    }
    world
        .orch(&["archive", "t", "--force", "WHY"])
        .ends(1)
        .reports("is a placeholder for a reason");
    world
        .orch(&["rollback", "t", "--reason", "WHY not?"])
        .succeeds();
}

#[test]
fn an_order_into_an_inconsistent_task_names_the_way_out() {
    let world = started("review");
    world.remove("tasks/t/code/diff.patch");
    let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
    assert_eq!(suggestion["kind"], "inconsistent", "{suggestion:#}");
    assert_eq!(suggestion["suggestedNext"], "codegen");
    world.orch(&["check", "t"]).ends(1);
    let restore = &suggestion["options"][0]["argv"];
    let argv: Vec<&str> = restore
        .as_array()
        .expect("argv")
        .iter()
        .filter_map(serde_json::Value::as_str)
        .collect();
    assert_eq!(argv[..2], ["git", "restore"], "{suggestion:#}");
    world.git(&argv[1..]);
    world.orch(&["check", "t"]).succeeds();
    world.remove("tasks/t/code/diff.patch");
    world
        .orch(&["rollback", "t", "--reason", "the patch is gone"])
        .succeeds()
        .says("review -> codegen");
    assert_eq!(world.dirty(), "", "the deletion is part of the commit");
}
