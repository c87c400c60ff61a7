//! `orch next`: applied, refused, expected, dry, overridden.

use crate::harness::{World, started};

/// Everything that a command could have changed.
fn traces(world: &World) -> (String, String, String) {
    (
        world.git(&["rev-parse", "HEAD"]),
        world.dirty(),
        world.read("tasks/t/state.json"),
    )
}

#[test]
fn a_skip_is_refused_and_says_why() {
    let world = started("plan_review");
    let before = traces(&world);
    let refused = world.orch(&["next", "t", "--to", "test"]).ends(1);
    assert!(
        refused
            .stderr
            .contains("the rules do not move the task to `test` now"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("review/plan-review.json"),
        "it says what is missing: {}",
        refused.stderr
    );
    assert!(refused.stderr.contains("--override"), "{}", refused.stderr);
    world
        .orch(&["next", "t", "--to", "codegen"])
        .ends(1)
        .reports("plan-accepted");
    assert_eq!(traces(&world), before);
}

#[test]
fn to_takes_the_move_that_the_rules_decide() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t", "--to", "planning"]).ends(1);
    world.orch(&["next", "t", "--to", "codegen"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
}

#[test]
fn an_unknown_phase_or_task_gets_the_nearest_name() {
    let world = started("planning");
    world
        .orch(&["next", "t", "--to", "tset"])
        .ends(2)
        .reports("did you mean `test`?");
    world
        .orch(&["next", "t", "--expect", "codegn"])
        .ends(2)
        .reports("did you mean `codegen`?");
    world
        .orch(&["next", "t", "--override", "why", "--to", "acept"])
        .reports("did you mean `accept`?")
        .ends(2);
    world
        .orch(&["rollback", "t", "--reason", "r", "--to", "plannin"])
        .ends(2)
        .reports("did you mean `planning`?");
    world.orch(&["new", "fix-login"]).succeeds();
    world
        .orch(&["next", "fix-logon"])
        .ends(2)
        .reports("did you mean `fix-login`?");
    world
        .orch(&["confirm", "t", "pathc", "--reason", "r"])
        .ends(2)
        .reports("did you mean `patch`?");
}

#[test]
fn expect_is_content_with_a_task_that_is_there() {
    let world = started("plan_review");
    world
        .orch(&["next", "t", "--expect", "plan_review"])
        .succeeds()
        .says("already in plan_review");
    world.orch(&["next", "t", "--expect", "codegen"]).ends(1);
    world.plan_review("t", true, 1);
    world
        .orch(&["next", "t", "--expect", "codegen"])
        .succeeds()
        .says("plan_review -> codegen");
    world.orch(&["next", "t", "--expect", "codegen"]).succeeds();
}

#[test]
fn an_alias_of_a_phase_is_as_good_as_its_name() {
    let world = started("review");
    world.code_review("t", true, 1);
    world
        .orch(&["next", "t", "--to", "test_run"])
        .succeeds()
        .says("review -> test");
    world
        .orch(&["next", "t", "--expect", "test_run"])
        .succeeds();
}

#[test]
fn a_dry_run_says_it_and_writes_nothing() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    let before = traces(&world);
    world
        .orch(&["next", "t", "--dry-run"])
        .succeeds()
        .says("plan_review -> codegen");
    assert_eq!(
        world.orch_json(&["next", "t", "--dry-run"])["applied"],
        false
    );
    world
        .orch(&["next", "t", "--override", "why", "--dry-run"])
        .succeeds();
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "why",
            "--dry-run",
        ])
        .succeeds();
    assert_eq!(traces(&world), before);
}

#[test]
fn an_override_waives_what_it_jumps_over_and_keeps_its_reason() {
    let world = started("plan_review");
    world
        .orch(&[
            "next",
            "t",
            "--override",
            "reviewed in pairing",
            "--to",
            "test",
        ])
        .succeeds();
    let state = world.json("tasks/t/state.json");
    assert_eq!(state["phase"], "test");
    for waived in ["plan_review", "patch", "code_review"] {
        assert!(state["waived"][waived].is_u64(), "{waived}: {state:#}");
    }
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Orch-Override: reviewed in pairing"),
        "{message}"
    );
    assert!(message.contains("Orch-Kind: override"), "{message}");
    assert!(
        world
            .read("tasks/t/transcript.jsonl")
            .contains("reviewed in pairing")
    );
    world.tests("t", 0, 1);
    world.orch(&["next", "t"]).succeeds().says("test -> accept");
}

#[test]
fn an_override_without_a_reason_is_refused() {
    let world = started("plan_review");
    let before = traces(&world);
    for reason in ["", "  ", "\n"] {
        let ended = world.orch(&["next", "t", "--override", reason]);
        assert!(matches!(ended.code, 1 | 2), "{ended:?}");
    }
    world.orch(&["next", "t", "--override"]).ends(2);
    assert_eq!(traces(&world), before);
}

#[test]
fn without_a_name_the_directory_the_branch_or_the_only_open_task_is_meant() {
    let world = started("planning");
    world.plan("t", 1);
    world
        .orch(&["next"])
        .succeeds()
        .says("t: planning -> plan_review");
    world.orch(&["new", "u"]).succeeds();
    world.orch(&["next"]).ends(2);
    world.orch(&["-C", "tasks/u", "next"]).ends(3);
    world.git(&["switch", "-q", "-c", "feature/u"]);
    world.plan("u", 1);
    world
        .orch(&["next"])
        .succeeds()
        .says("u: planning -> plan_review");
}

#[test]
fn a_draft_moves_nothing_however_often_it_is_saved() {
    let world = started("planning");
    for nth in 0..3 {
        world.write(
            "tasks/t/planning/plan.json",
            format!("{{\"status\": \"draft\", \"title\": \"{nth}\"}}\n"),
        );
        world.orch(&["next", "t"]).ends(3);
    }
    assert_eq!(world.phase("t"), "planning");
}

#[test]
fn two_dozen_moves_at_once_all_succeed() {
    let world = World::ready();
    let tasks: Vec<String> = (0..24).map(|number| format!("t{number}")).collect();
    for task in &tasks {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    let moves: Vec<_> = tasks
        .iter()
        .map(|task| world.orch_spawn(&["next", task]))
        .collect();
    for started in moves {
        world
            .end(started.wait_with_output().expect("ended"))
            .succeeds();
    }
    for task in &tasks {
        assert_eq!(world.phase(task), "plan_review", "{task}");
    }
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_step_by_a_workflow_that_is_not_committed_is_warned_about() {
    let world = World::ready();
    let path = "system/workflows/small.md";
    world.write(path, include_str!("../audit/small.md"));
    let missing =
        "system/workflows/small.md is not committed as it is, so an audit cannot verify this step";
    let hint = "git add system/workflows/small.md && git commit -- system/workflows/small.md";
    world
        .orch(&["new", "early", "--workflow", "small"])
        .succeeds()
        .reports(missing)
        .reports(hint);
    world.orch(&["audit", "--strict"]).ends(1);
    world.git(&["add", path]);
    world.git(&["commit", "-q", "-m", "the workflow"]);
    let later = world.orch_json(&["new", "later", "--workflow", "small"]);
    assert_eq!(later["diagnostics"], serde_json::json!([]));
    // An audit reads the same document.
    let document = world.read(path);
    world.write(path, document.replace('\n', "\r\n"));
    let crlf = world.orch_json(&["new", "crlf", "--workflow", "small"]);
    assert_eq!(crlf["diagnostics"], serde_json::json!([]));
    world.write(path, format!("{document}\nMore.\n"));
    let edited = world.orch_json(&["new", "last", "--workflow", "small"]);
    assert_eq!(edited["diagnostics"][0]["code"], "unverifiable");
}
