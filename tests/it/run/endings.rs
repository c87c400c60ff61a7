//! Every way in which a run ends, and what it has recorded by then.

use super::{GOOD, LOOP, Loop};
use crate::harness::World;

#[test]
fn a_loop_runs_to_its_end_and_every_step_is_recorded() {
    let task = Loop::new(GOOD);
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"completed".into(), &4.into()),
        "{report:#}"
    );
    assert_eq!(report["cost"], 0.25);
    let story = task.story();
    let expected = [
        "create",
        "take",
        "start",
        "answer",
        "run improve",
        "run improve",
        "run polish",
        "to done",
        "end",
    ];
    assert_eq!(story, expected);
    let state = task.state();
    assert_eq!(
        (&state["score"], &state["rounds"]),
        (&100.into(), &3.into())
    );
    assert_eq!(
        state["notes"],
        serde_json::json!([2, 3, 4]),
        "a window keeps the last"
    );
    assert_eq!(state["run"]["actions"]["improve"]["done"], 2);
    let log = task.world.git(&["log", "--format=%s", "-3"]);
    assert_eq!(
        log,
        "orch(t): done -> done (end)\norch(t): running -> done\norch(t): running -> running (run polish)\n"
    );
    task.is_clean();
    // What is done is done: there is nothing to perform, so nothing is recorded.
    assert_eq!(task.run_json()["turns"], 0);
    assert_eq!(task.story().len(), expected.len());
    task.is_clean();
}

#[test]
fn the_prompt_says_what_to_do_and_how_to_answer() {
    let task = Loop::new(
        "[ $ORCH_ACTION = improve ] || exit 1; cat > prompt.txt; env | grep '^ORCH_' | sort > env.txt; exit 1\n",
    );
    task.world.write(".gitignore", "prompt.txt\nenv.txt\n");
    task.world.commit("ignore");
    task.run();
    let prompt = task.world.read("prompt.txt");
    for part in [
        "# Task t",
        "action `improve`: make it better",
        "Improve it.",
        "`/score`:",
        "tasks/t/state.json",
        "tasks/t/report.md",
        "ORCH_RESULT",
        "`/score`, `/notes` and nothing else",
    ] {
        assert!(prompt.contains(part), "no {part} in\n{prompt}");
    }
    let env = task.world.read("env.txt");
    for name in [
        "ORCH_TASK=t",
        "ORCH_ACTION=improve",
        "ORCH_ATTEMPT=2",
        "ORCH_STATE=",
        "ORCH_RESULT=",
    ] {
        assert!(env.contains(name), "no {name} in\n{env}");
    }
}

#[test]
fn what_keeps_failing_is_given_up_and_the_rules_say_what_then() {
    let task = Loop::new("echo beginning\necho it broke >&2\nexit 3\n");
    let ended = task
        .run()
        .ends(1)
        .reports("exited with code 3")
        .says("failed");
    assert!(ended.stderr.contains("retrying in 1ms"), "{}", ended.stderr);
    // improve is skipped, so polish comes; that is skipped too, and the limit of errors is reached.
    let story = task.story();
    assert_eq!(
        story,
        [
            "create",
            "take",
            "start",
            "answer",
            "skip improve",
            "skip polish",
            "to failed",
            "end"
        ]
    );
    assert_eq!(task.state()["run"]["errors"], 2);
    let errors = task.state()["errors"].clone();
    assert_eq!(errors.as_array().map(Vec::len), Some(2));
    let message = errors[0]["message"].as_str().expect("a message");
    assert!(message.starts_with("`improve` failed "), "{message}");
    assert!(
        message.ends_with(" times in a row and was given up: it exited with code 3: it broke"),
        "{message}"
    );
    assert!(errors[0]["executor"].is_string(), "{errors}");
    assert_eq!(
        (&errors[0]["exit"], &errors[0]["time_limit"]),
        (&3.into(), &serde_json::Value::Null)
    );
    let mut output: Vec<&str> = errors[0]["output"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(|line| line.as_str())
        .collect();
    output.sort_unstable();
    assert_eq!(output, ["beginning", "it broke"]);
    assert_eq!(
        (&errors[0]["recoverable"], &errors[1]["recoverable"]),
        (&true.into(), &false.into())
    );
    // The last error is told by every look at the task.
    for face in ["suggest", "explain"] {
        task.world
            .orch(&[face, "t"])
            .says("`polish` failed")
            .says("it broke; this is not recoverable");
    }
    let told = task.world.orch_json(&["suggest", "t"])["suggestions"][0]["diagnostics"][0].clone();
    assert_eq!(
        (&told["code"], &told["path"], &told["pointer"]),
        (
            &"action-given-up".into(),
            &"tasks/t/state.json".into(),
            &"/errors/1".into()
        ),
        "{told:#}"
    );
    task.world.orch(&["audit"]).succeeds();
    task.is_clean();
    // A person may open it again, and then it is tried again.
    task.world
        .orch(&["reopen", "t", "--reason", "mended"])
        .succeeds();
    assert_eq!(task.state()["run"]["errors"], 0);
    let told = task.world.orch_json(&["suggest", "t"])["suggestions"][0]["diagnostics"].clone();
    assert_eq!(told, serde_json::json!([]));
    task.is_clean();
}

#[test]
fn what_an_executor_asks_is_told_until_the_next_run() {
    let task =
        Loop::new("printf 'ACTION_RESULT:\\n- status: needs_input\\n- message: which?\\n'\n");
    task.run().ends(3).says("`improve` asks: which?");
    assert_eq!(task.story(), ["create", "take", "start", "answer", "end"]);
    for face in ["suggest", "explain"] {
        task.world.orch(&[face, "t"]).says("`improve` asks: which?");
    }
    let told = task.world.orch_json(&["suggest", "t"])["suggestions"][0]["diagnostics"][0].clone();
    assert_eq!(
        (&told["code"], &told["hint"]),
        (&"run-waits".into(), &"orch run t".into()),
        "{told:#}"
    );
    task.world.orch(&["audit"]).succeeds();
    task.is_clean();
}

#[test]
fn no_progress_ends_it() {
    // After the first time the result changes nothing but what the rules themselves count.
    let task = Loop::new("echo x > tasks/t/report.md; echo '{\"summary\": \"done, I think\"}'\n");
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"stalled".into(), &3.into()),
        "{report:#}"
    );
    let suggested = task.world.orch_json(&["suggest", "t"]);
    assert_eq!(
        suggested["suggestions"][0]["kind"], "stalled",
        "{suggested:#}"
    );
    task.world.write("tasks/t/report.md", "something new\n");
    let suggested = task.world.orch_json(&["suggest", "t"]);
    assert_eq!(suggested["suggestions"][0]["kind"], "run", "{suggested:#}");
    task.world.write("tasks/t/report.md", "x\n");
    assert_eq!(
        task.story(),
        [
            "create",
            "take",
            "start",
            "answer",
            "run improve",
            "run improve",
            "end"
        ]
    );
    task.is_clean();
}

#[test]
fn limits_hold_and_are_not_success() {
    let grows = r#"
echo x > tasks/t/report.md
echo "{\"stateUpdates\": {\"notes\": [\"$(date +%N)\"]}, \"cost\": 2}"
"#;
    let task = Loop::new(grows);
    let report = task
        .world
        .orch_json(&["run", "t", "--auto", "--max-turns", "3"]);
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"exhausted".into(), &3.into()),
        "{report:#}"
    );
    task.world
        .orch(&["run", "t", "--max-turns", "1"])
        .ends(1)
        .says("exhausted");
    task.is_clean();
    let task = Loop::with(&LOOP.replace("turns = 20", "cost = 5"), grows);
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["cost"]),
        (&"exhausted".into(), &6.0.into()),
        "{report:#}"
    );
    task.is_clean();
}

#[test]
fn an_action_may_end_the_run_and_nothing_is_lost() {
    let script =
        format!("{GOOD}\n").replace("\\\"summary\\\": \\\"better\\\"", "\\\"continue\\\": false");
    let task = Loop::new(&script);
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"paused".into(), &2.into()),
        "{report:#}"
    );
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"paused".into(), &3.into()),
        "{report:#}"
    );
    assert_eq!(task.run_json()["ending"], "completed");
    task.is_clean();
}

#[test]
fn a_dry_run_starts_nobody() {
    let task = Loop::new("touch started\n");
    let before = task.world.read("tasks/t/transcript.jsonl");
    let report = task.world.orch_json(&["run", "t", "--auto", "--dry-run"]);
    assert_eq!(
        (&report["ending"], &report["due"]),
        (&serde_json::Value::Null, &"improve".into())
    );
    let foreseen: Vec<String> = report["transitions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|step| {
            format!(
                "{} {}",
                step["kind"].as_str().expect("text"),
                step["to"].as_str().expect("text")
            )
        })
        .collect();
    task.world
        .orch(&["answer", "t", "rounds=2", "--dry-run"])
        .succeeds();
    assert_eq!(task.world.read("tasks/t/transcript.jsonl"), before);
    task.world.orch(&["answer", "t", "rounds=2"]).succeeds();
    let report = task.world.orch_json(&["run", "t", "--dry-run"]);
    assert_eq!(report["due"], "improve", "{report:#}");
    assert!(!task.world.path("started").exists() && !task.world.path("tasks/t/.orch").exists());
    // The real run records first what the dry run foresaw.
    let real = Loop::new("exit 3\n");
    real.run();
    let log = real.world.orch_json(&["log", "t"])["entries"].clone();
    let recorded: Vec<String> = log.as_array().expect("a list")[1..]
        .iter()
        // A dry run does not take the task.
        .filter(|step| step["kind"] != "take")
        .take(foreseen.len())
        .map(|step| {
            format!(
                "{} {}",
                step["kind"].as_str().expect("text"),
                step["to"].as_str().expect("text")
            )
        })
        .collect();
    assert!(!foreseen.is_empty());
    assert_eq!(recorded, foreseen);
}

/// A loop that waits for somebody to start it is started by a run, so a dry run must say so.
#[test]
fn a_dry_run_starts_a_loop_as_the_run_does() {
    let world = World::ready();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"ccw-loop\"\n",
    );
    world.commit("settings");
    world.orch(&["new", "l"]).succeeds();
    for mode in ["--auto", "--interactive"] {
        let ended = world
            .orch(&["run", "l", mode, "--dry-run", "--", "true"])
            .succeeds();
        ended.says("created -> running").says("`init` would run");
    }
    let suggested = world.orch_json(&["suggest", "l"])["suggestions"][0].clone();
    assert_eq!(suggested["currentPhase"], "created");
}
