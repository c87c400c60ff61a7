//! A range that changes the rules is judged by those that it begins with.

use super::loops;
use super::records::{LOG, relinked, tell_lines};
use crate::harness::{World, started};
use serde_json::Value;

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
        (
            "looser rules, by which a refusal counts",
            WORKFLOW,
            guard,
            "plan_review.ready || ",
            refused,
            false,
        ),
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
            "\"x-orch-fill\": \"reason\",\n      \"type\": \"array\",",
            "\"x-orch-fill\": \"reason\",",
            |world| {
                world.write(
                    "tasks/t/review/plan/verdict.json",
                    r#"{"ok": true, "reasons": "It is good."}"#,
                );
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
                world
                    .orch_by_agent(&["next", "t", "--override", "I may."])
                    .succeeds();
            },
            false,
        ),
    ];
    for (what, path, from, to, step, is_fine) in cases {
        let world = started("plan_review");
        world.git(&["switch", "-q", "-c", "work"]);
        change(&world, path, from, to);
        step(&world);
        for command in [
            &["audit", "main..work"][..],
            &["check", "--range", "main..work"],
        ] {
            let ended = world.orch(command);
            assert_eq!(
                ended.code,
                i32::from(!is_fine),
                "{what}: {command:?}: {ended:?}"
            );
            assert_eq!(
                ended.stdout.contains("that it begins with"),
                !is_fine,
                "{what}: {ended:?}"
            );
        }
        // A push begins with what the server has.
        let ends = ["main", "work"]
            .map(|end| world.git(&["rev-parse", end]).trim().to_owned())
            .join(" ");
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

/// Each before anybody has used it.
#[test]
fn what_a_branch_loosens_for_itself_is_named_with_its_lines() {
    const SETTINGS: &str = "orch.toml";
    const PROGRAM: &str = ".claude/settings.json";
    // The file, what is replaced by what, whether that is looser, and what is said.
    let cases = [
        (
            WORKFLOW,
            "by = \"human\"\n",
            "",
            true,
            "no longer asks for a person",
        ),
        (
            WORKFLOW,
            "plan_review.ready && plan_review.ok && ",
            "plan_review.ready || ",
            false,
            "changed",
        ),
        (
            WORKFLOW,
            "needs = [\"plan\"]\n",
            "",
            true,
            "no longer has `plan` under `needs`",
        ),
        (
            SCHEMA,
            "\"x-orch-fill\": \"reason\",\n      \"type\": \"array\",",
            "\"x-orch-fill\": \"reason\",",
            true,
            "accepts more",
        ),
        (
            WORKFLOW,
            "judges = [\"plan\"]\n",
            "",
            true,
            "no longer has `plan` under `judges`",
        ),
        (
            WORKFLOW,
            "not_by = [\"plan\"]\n",
            "",
            true,
            "no longer has `plan` under `not_by`",
        ),
        (
            SETTINGS,
            "[people]\n",
            "[people]\norders = \"anyone\"\n",
            true,
            "`orders` under `[people]`",
        ),
        (
            SETTINGS,
            "[people]\n",
            "[people]\nagents_may = [\"confirm\"]\n",
            true,
            "agents may `confirm`",
        ),
        (
            SETTINGS,
            "[people]\n",
            "[executor.default]\ncommand = [\"sh\"]\n[people]\n",
            true,
            "executor `default`",
        ),
        (
            PROGRAM,
            "{}",
            "{\n  \"hooks\": {}\n}",
            false,
            "an agent program",
        ),
    ];
    for (path, from, to, is_looser, said) in cases {
        let world = started("plan_review");
        world.write(PROGRAM, "{}\n");
        world.commit("What the program runs");
        world.git(&["switch", "-q", "-c", "work"]);
        let text = world.read(path);
        assert!(text.contains(from), "{path}: {from}");
        world.write(path, text.replacen(from, to, 1));
        world.commit("Change the rules");
        let code = if is_looser {
            "loosened"
        } else {
            "rules-changed"
        };
        for command in [
            &["check", "--range", "main..work"][..],
            &["check", "--commit", "work"],
        ] {
            let listed = world.orch_json(command);
            let found = listed["findings"].as_array().expect("a list");
            let is_it = |one: &&Value| one["code"] == code && one["path"] == path;
            let one = found
                .iter()
                .find(is_it)
                .unwrap_or_else(|| panic!("{said}: {listed:#}"));
            assert!(
                one["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(said)),
                "{one:#}"
            );
            assert!(
                one["line"].is_u64() && one["severity"] == "warning",
                "{one:#}"
            );
            world.orch(command).succeeds();
            world.orch(&[command, &["--strict"]].concat()).ends(1);
        }
        world
            .orch(&["audit", "main..work"])
            .succeeds()
            .reports(said);
        assert_eq!(
            world.orch_json(&["audit", "main..work"])["loosened"][0]["code"],
            code,
            "{said}"
        );
        world.orch(&["audit", "--strict", "main..work"]).ends(1);
        // The other way, nothing is looser, as far as that can be told.
        world.git(&["switch", "-q", "-c", "back"]);
        world.write(path, text);
        world.commit("Take it back");
        let back = world.orch(&["check", "--strict", "--range", "work..back"]);
        assert!(!back.stdout.contains("loosened"), "{said}: {back:?}");
        world
            .orch(&["check", "--strict", "--range", "main..back"])
            .succeeds();
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
    change(
        &world,
        WORKFLOW,
        "plan_review.ready && plan_review.ok && ",
        "false && plan_review.ok && ",
    );
    for range in ["main..work", "main...work"] {
        world.orch(&["audit", range]).succeeds();
        world.orch(&["check", "--range", range]).succeeds();
    }
}

#[test]
fn a_workflow_with_errors_at_the_beginning_is_not_one_that_the_range_brings() {
    let world = started("plan_review");
    let honest = world.read(WORKFLOW);
    change(
        &world,
        WORKFLOW,
        "plan_review.ready && plan_review.ok && ",
        "plan_review.reddy && ",
    );
    world.git(&["switch", "-q", "-c", "work"]);
    world.write(WORKFLOW, honest);
    world.commit("Repair the rules");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch(&["audit", "main..work"])
        .ends(1)
        .says("those that it begins with do not yield it");
}

#[test]
fn a_change_of_the_rules_in_the_commit_of_its_step_is_found() {
    let world = started("plan_review");
    let base = world.git(&["rev-parse", "HEAD"]);
    change(
        &world,
        WORKFLOW,
        "plan_review.ready && plan_review.ok && ",
        "plan_review.ready || ",
    );
    world.plan_review("t", false, 1);
    world.orch_by_program(&["next", "t"]).succeeds();
    world.git(&["reset", "-q", "--soft", base.trim()]);
    world.git(&["commit", "-q", "-m", "Both at once"]);
    world
        .orch(&["audit", "HEAD~1..HEAD"])
        .ends(1)
        .says("unverifiable");
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).ends(1);
}

#[test]
fn other_words_for_the_same_rules_on_the_other_side_of_a_merge_change_nothing() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    change(
        &world,
        WORKFLOW,
        "because = \"the plan review is ok",
        "because = \"the review of the plan is ok",
    );
    world.git(&["merge", "-q", "--no-ff", "--no-edit", "work"]);
    for range in ["main^1..main", "main~2..main"] {
        world.orch(&["audit", range]).succeeds();
        world.orch(&["check", "--range", range]).succeeds();
    }
}

/// What a run records in a loop whose rules a range changed, and whether the rules before permit it, too.
#[test]
fn a_result_or_an_answer_by_rules_that_the_range_loosened_is_found() {
    const LOOP: &str = "system/workflows/loop.md";
    const STATE_SCHEMA: &str = "system/schemas/loop-state.schema.json";
    type Case = (
        &'static str,
        &'static [[&'static str; 3]],
        &'static str,
        bool,
    );
    let cases: [Case; 4] = [
        (
            "an action may write more, and does",
            &[
                [
                    LOOP,
                    "writes = [\"/score\", \"/notes\"]",
                    "writes = [\"/score\", \"/notes\", \"/polished\"]",
                ],
                [
                    "executor.sh",
                    r#"\"notes\": [1, 2, 3, 4]"#,
                    r#"\"polished\": true"#,
                ],
            ],
            "score=60",
            false,
        ),
        (
            "the schema permits more, and an answer uses it",
            &[
                [STATE_SCHEMA, "100", "1000"],
                [LOOP, "[60, 70]", "[60, 500]"],
            ],
            "score=500",
            false,
        ),
        (
            "the schema permits more, and nothing uses it",
            &[[STATE_SCHEMA, "100", "1000"]],
            "score=60",
            true,
        ),
        (
            "other words",
            &[[LOOP, "# Loop", "# The loop"]],
            "score=60",
            true,
        ),
    ];
    for (what, changes, answer, is_fine) in cases {
        let world = loops::started();
        world.git(&["switch", "-q", "-c", "work"]);
        for [path, from, to] in changes {
            change(&world, path, from, to);
        }
        world.orch(&["run", "t", "--auto"]).ends(3);
        world.orch(&["answer", "t", answer]).succeeds();
        for command in [
            &["audit", "main..work"][..],
            &["check", "--range", "main..work"],
        ] {
            let ended = world.orch(command);
            assert_eq!(
                ended.code,
                i32::from(!is_fine),
                "{what}: {command:?}: {ended:?}"
            );
            assert_eq!(
                ended.stdout.contains("that it begins with"),
                !is_fine,
                "{what}: {ended:?}"
            );
        }
        world.orch(&["audit"]).succeeds();
    }
}

/// `orch` lets no task change its workflow; who writes the record by hand can.
#[test]
fn a_step_by_a_lax_copy_of_the_workflow_is_found() {
    const OWN: &str = "system/workflows/own.md";
    let world = World::new();
    world.orch(&["init"]).succeeds();
    world.write(OWN, world.read(WORKFLOW));
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"own\"\n",
    );
    world.commit("A workflow of our own");
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "-c", "work"]);
    let strict = world.read(OWN);
    let lax = strict.replace(
        "plan_review.ready && plan_review.ok && ",
        "plan_review.ready || ",
    );
    assert_ne!(lax, strict);
    world.write("system/workflows/lax.md", &lax);
    world.commit("A lax copy");
    // As if the copy had always governed the task.
    world.write(OWN, &lax);
    world.plan_review("t", false, 1);
    world
        .orch_by_program(&["next", "t"])
        .succeeds()
        .says("plan_review -> codegen");
    world.write(OWN, strict);
    let last = world.read(LOG).lines().count() - 1;
    let lines = relinked(&world.read(LOG), |number, event| {
        if number == last {
            let named = event["workflow"]
                .as_str()
                .expect("a workflow")
                .replace("own@", "lax@");
            event["workflow"] = Value::from(named);
            event["changes"] = event["changes"]
                .as_array()
                .expect("a list")
                .iter()
                .map(renamed)
                .collect();
        }
    });
    tell_lines(&world, &lines);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--amend", "-m", "By hand"]);
    for command in [
        &["audit", "main..work"][..],
        &["check", "--range", "main..work"],
    ] {
        world
            .orch(command)
            .ends(1)
            .says("the task has workflow `own`, but the step names `lax`");
    }
    // Nor does a task begin a second time to get another workflow.
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.git(&["rm", "-q", "-r", "tasks/t"]);
    world.commit("Forget it");
    world.orch(&["new", "t", "--workflow", "lax"]).succeeds();
    for command in [
        &["audit", "main..work"][..],
        &["check", "--range", "main..work"],
    ] {
        world
            .orch(command)
            .ends(1)
            .says("replaces the workflow `own` of the task");
    }
    // Nor does another task take its place.
    world.git(&["reset", "-q", "--hard", "HEAD~2"]);
    world
        .orch(&["new", "other", "--workflow", "lax"])
        .succeeds();
    world.git(&["rm", "-q", "-r", "tasks/t"]);
    world.git(&["mv", "tasks/other", "tasks/t"]);
    world.commit("Tidy up");
    for command in [
        &["audit", "main..work"][..],
        &["check", "--range", "main..work"],
    ] {
        world
            .orch(command)
            .ends(1)
            .says("replaces the workflow `own` of the task");
    }
}

/// A change of the state, with the name of the lax copy.
fn renamed(change: &Value) -> Value {
    serde_json::from_str(&change.to_string().replace("\"own\"", "\"lax\"")).expect("JSON")
}
