//! The shipped lifecycle, driven by a scripted agent: its files decide, not its word.

use super::processes_in;
use crate::harness::World;
use serde_json::{Value, json};

/// Writes what each agent of the lifecycle writes; the first patch fails its test.
const AGENT: &str = r#"
cat > /dev/null
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
task=tasks/$ORCH_TASK
mkdir -p $task/planning $task/review/plan $task/review/code $task/code $task/eval $task/accept
review() { echo "{\"ok\": true, \"issues\": [], \"finished_at\": \"2026-11-21T04:$((n + 10)):00Z\"}"; }
echo "$ORCH_ACTION says it is all done"
case $ORCH_ACTION in
  planner) echo '{"title": "Login", "status": "final", "why": "It fails.", "what": "Mend it."}' > $task/planning/plan.json ;;
  plan-reviewer) review > $task/review/plan/verdict.json ;;
  coder) printf -- '--- a/login.rs\n+++ b/login.rs\n@@ -1 +1 @@\n-old\n+new %s\n' $n > $task/code/diff.patch ;;
  code-reviewer) review > $task/review/code/verdict.json ;;
  tester)
    if [ -e tried ]; then case=""; failures=0; else case='<failure message="no"/>'; failures=1; touch tried; fi
    echo "<testsuite name=\"run $n\" tests=\"1\" failures=\"$failures\"><testcase name=\"a\">$case</testcase></testsuite>" > $task/eval/junit.xml ;;
esac
"#;

/// The report of a run whose command stands at the end.
fn parsed(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_str(&world.orch(arguments).stdout).expect("JSON")
}

fn world(script: &str) -> World {
    let world = World::ready();
    world.write("agent.sh", script);
    world.write(".git/info/exclude", "agent.sh\ncount\ntried\n");
    world.orch(&["new", "t1"]).succeeds();
    world
}

#[test]
fn a_scripted_agent_takes_a_task_from_planning_to_done_with_a_failing_test_on_the_way() {
    let world = world(AGENT);
    let run = |world: &World| parsed(world, &["run", "t1", "--json", "--", "sh", "agent.sh"]);
    let report = run(&world);
    // To accept is for a person.
    assert_eq!(
        (&report["ending"], &report["currentPhase"]),
        (&"waiting".into(), &"accept".into()),
        "{report:#}"
    );
    let moves: Vec<String> = report["transitions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|step| {
            format!(
                "{} {}",
                step["to"].as_str().expect("a phase"),
                step["commit"].is_string()
            )
        })
        .collect();
    let expected = [
        // The run has taken the task.
        "planning",
        "plan_review",
        "codegen",
        "review",
        "test",
        "codegen",
        "review",
        "test",
        "accept",
    ]
    .map(|to| format!("{to} true"));
    assert_eq!(moves, expected);
    world.orch(&["approve", "t1"]).succeeds();
    let report = run(&world);
    assert_eq!(
        (&report["ending"], &report["currentPhase"]),
        (&"completed".into(), &"done".into()),
        "{report:#}"
    );
    let audit = world.orch_json(&["audit"]);
    let standings: Vec<&Value> = audit["changes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|change| &change["standing"])
        .collect();
    assert_eq!(standings.len(), 10);
    assert!(
        // The first step shares its commit with the event that says who holds the task.
        standings
            .iter()
            .all(|standing| ["proven", "folded"].iter().any(|known| *standing == known)),
        "{audit:#}"
    );
    assert_eq!(world.dirty(), "");
    assert_eq!(processes_in(&world.root()), Vec::<String>::new());
}

#[test]
fn an_agent_whose_report_never_counts_has_failed_whatever_it_writes() {
    let judges = r#"code-reviewer) review | sed 's/{/{"of": {"patch": "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"}, /' >"#;
    let world = world(&AGENT.replace("code-reviewer) review >", judges));
    let report = parsed(&world, &["run", "t1", "--json", "--", "sh", "agent.sh"]);
    assert_eq!(
        (&report["ending"], &report["currentPhase"]),
        (&"failed".into(), &"review".into()),
        "{report:#}"
    );
    // The first report at least made a stale one of a missing one.
    assert_eq!(
        report["turns"], 7,
        "three before it, and four tries: {report:#}"
    );
    let reason = report["reason"].as_str().expect("a text");
    assert!(
        reason.contains("3 times in a row; review/code/verdict.json is stale"),
        "{reason}"
    );
}

#[test]
fn an_agent_whose_files_move_the_task_has_not_failed_however_it_ended() {
    let world = world(&format!("{AGENT}exit 1\n"));
    let report = parsed(&world, &["run", "t1", "--json", "--", "sh", "agent.sh"]);
    let place = (&report["ending"], &report["currentPhase"], &report["turns"]);
    assert_eq!(
        place,
        (&"waiting".into(), &"accept".into(), &8.into()),
        "{report:#}"
    );
}

#[test]
fn an_agent_that_only_says_so_gets_nowhere() {
    let world =
        world("cat > /dev/null; echo '{\"status\": \"success\", \"summary\": \"planned\"}'\n");
    let report = parsed(&world, &["run", "t1", "--json", "--", "sh", "agent.sh"]);
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"stalled".into(), &1.into()),
        "{report:#}"
    );
    assert_eq!(world.phase("t1"), "planning");
    assert_eq!(world.dirty(), "");
}

#[test]
fn an_agent_that_keeps_failing_ends_the_run_and_leaves_its_cause() {
    let world = world("echo no credit; exit 1\n");
    let report = parsed(&world, &["run", "t1", "--json", "--", "sh", "agent.sh"]);
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"failed".into(), &3.into()),
        "{report:#}"
    );
    assert_eq!(world.dirty(), "");
    // Every later look says why, also one without the record of the run, until something happens to the task.
    std::fs::remove_dir_all(world.path("tasks/t1/.orch")).expect("removed");
    let findings = || world.orch_json(&["suggest", "t1"])["suggestions"][0]["diagnostics"].clone();
    let told = findings()[0].clone();
    assert_eq!(told["code"], "run-failed", "{told:#}");
    let message = told["message"].as_str().expect("a text");
    assert!(
        message.starts_with("the last run failed: `planner` has failed 3 times in a row"),
        "{message}"
    );
    assert!(
        message.ends_with("it exited with code 1: no credit"),
        "{message}"
    );
    for face in ["suggest", "explain"] {
        world
            .orch(&[face, "t1"])
            .says("it exited with code 1: no credit");
    }
    world
        .orch(&["log", "t1"])
        .says("the run ended as failed")
        .says("no credit");
    world.write("agent.sh", AGENT);
    world.orch(&["run", "t1", "--max-turns", "1", "--", "sh", "agent.sh"]);
    assert_eq!(findings(), json!([]));
}

#[test]
fn without_git_it_runs_as_well() {
    let world = World::without_git();
    world.write("agent.sh", AGENT);
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"global-state-machine\"\n",
    );
    world.orch(&["new", "t1"]).succeeds();
    let report = parsed(&world, &["run", "t1", "--json", "--", "sh", "agent.sh"]);
    assert_eq!(
        (&report["ending"], &report["currentPhase"]),
        (&"waiting".into(), &"accept".into()),
        "{report:#}"
    );
}
