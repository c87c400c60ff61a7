//! A range that changes the rules is judged by those that it begins with.

use crate::harness::{World, started};

const WORKFLOW: &str = "system/workflows/global-state-machine.md";
const SCHEMA: &str = "system/schemas/plan-review.schema.json";

/// Replaces a part of a file, and commits it.
fn change(world: &World, path: &str, from: &str, to: &str) {
    let text = world.read(path);
    assert!(text.contains(from), "{path}: {text}");
    world.write(path, text.replace(from, to));
    world.commit("Change the rules");
}

#[test]
fn a_step_by_rules_that_the_range_loosened_is_found() {
    type Step = fn(&World);
    let guard = "plan_review.ready && plan_review.ok && ";
    let refused: Step = |world| {
        world.plan_review("t", false, 1);
        world.orch_by_program(&["next", "t"]).succeeds();
    };
    let cases: [(&str, &str, &str, &str, Step, bool); 5] = [
        ("looser rules, by which a refusal counts", WORKFLOW, guard, "plan_review.ready || ", refused, false),
        (
            "looser rules, which decide the same",
            WORKFLOW,
            guard,
            "plan_review.ready && ",
            |world| {
                world.plan_review("t", true, 1);
                world.orch(&["next", "t"]).succeeds();
            },
            true,
        ),
        (
            "other words for the same rules",
            WORKFLOW,
            "# ",
            "# The ",
            |world| {
                world.plan_review("t", true, 1);
                world.orch(&["next", "t"]).succeeds();
            },
            true,
        ),
        (
            "a looser schema",
            SCHEMA,
            "\"reasons\": {\n      \"type\": \"array\",",
            "\"reasons\": {",
            |world| {
                world.write("tasks/t/review/plan-review.json", r#"{"ok": true, "reasons": "It is good."}"#);
                world.orch_by_program(&["next", "t"]).succeeds();
            },
            false,
        ),
        (
            "looser settings about people",
            "orch.toml",
            "[people]\n",
            "[people]\norders = \"anyone\"\n",
            |world| {
                world.orch_by_agent(&["next", "t", "--override", "I may."]).succeeds();
            },
            false,
        ),
    ];
    for (what, path, from, to, step, is_fine) in cases {
        let world = started("plan_review");
        world.git(&["switch", "-q", "-c", "work"]);
        change(&world, path, from, to);
        step(&world);
        for command in [&["audit", "main..work"][..], &["check", "--range", "main..work"]] {
            let ended = world.orch(command);
            assert_eq!(ended.code, i32::from(!is_fine), "{what}: {command:?}: {ended:?}");
            assert_eq!(ended.stdout.contains("that it begins with"), !is_fine, "{what}: {ended:?}");
        }
        // A push begins with what the server has.
        let ends = ["main", "work"].map(|end| world.git(&["rev-parse", end]).trim().to_owned()).join(" ");
        world.write("../push", format!("{ends} refs/heads/main\n"));
        let mut command = world.orch_command(&["check", "--stdin-refs"]);
        command.stdin(std::fs::File::open(world.path("../push")).expect("lines"));
        let pushed = world.end(command.output().expect("orch runs"));
        assert_eq!(pushed.code, i32::from(!is_fine), "{what}: {pushed:?}");
        // The whole history shows that the rules changed before the step.
        world.orch(&["audit"]).succeeds();
        // Once the target has the rules, they judge.
        world.git(&["branch", "-q", "--force", "main", "work~1"]);
        world.orch(&["check", "--range", "main..work"]).succeeds();
    }
}

#[test]
fn a_workflow_that_the_range_brings_loosens_nothing() {
    let world = World::ready();
    world.git(&["switch", "-q", "-c", "work"]);
    crate::workflow_new::make(&world, "made", "issue-triage", "priority").succeeds();
    world.commit("A workflow");
    world.orch(&["new", "t", "--workflow", "made"]).succeeds();
    world.orch(&["check", "--range", "main..work"]).succeeds();
    world.orch(&["audit", "--strict", "main..work"]).succeeds();
}

#[test]
fn a_branch_is_not_judged_by_what_another_branch_changed_since_they_parted() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    change(&world, WORKFLOW, "plan_review.ready && plan_review.ok && ", "false && plan_review.ok && ");
    for range in ["main..work", "main...work"] {
        world.orch(&["audit", range]).succeeds();
        world.orch(&["check", "--range", range]).succeeds();
    }
}

#[test]
fn a_workflow_with_errors_at_the_beginning_is_not_one_that_the_range_brings() {
    let world = started("plan_review");
    let honest = world.read(WORKFLOW);
    change(&world, WORKFLOW, "plan_review.ready && plan_review.ok && ", "plan_review.reddy && ");
    world.git(&["switch", "-q", "-c", "work"]);
    world.write(WORKFLOW, honest);
    world.commit("Repair the rules");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.orch(&["audit", "main..work"]).ends(1).says("those that it begins with do not yield it");
}

#[test]
fn a_change_of_the_rules_in_the_commit_of_its_step_is_found() {
    let world = started("plan_review");
    let base = world.git(&["rev-parse", "HEAD"]);
    change(&world, WORKFLOW, "plan_review.ready && plan_review.ok && ", "plan_review.ready || ");
    world.plan_review("t", false, 1);
    world.orch_by_program(&["next", "t"]).succeeds();
    world.git(&["reset", "-q", "--soft", base.trim()]);
    world.git(&["commit", "-q", "-m", "Both at once"]);
    world.orch(&["audit", "HEAD~1..HEAD"]).ends(1).says("unverifiable");
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).ends(1);
}

#[test]
fn other_words_for_the_same_rules_on_the_other_side_of_a_merge_change_nothing() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    change(&world, WORKFLOW, "because = \"the plan review is ok", "because = \"the review of the plan is ok");
    world.git(&["merge", "-q", "--no-ff", "--no-edit", "work"]);
    for range in ["main^1..main", "main~2..main"] {
        world.orch(&["audit", range]).succeeds();
        world.orch(&["check", "--range", range]).succeeds();
    }
}
