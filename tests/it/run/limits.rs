//! What bounds a run, and what it never begins with.

use super::{GOOD, LOOP, Loop, limited};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

#[test]
fn rules_that_go_round_in_circles_end_the_run() {
    let there =
        "[[rule]]\nid = \"there\"\nfrom = \"running\"\nto = \"paused\"\nbecause = \"there\"\n\n";
    let back =
        "[[rule]]\nid = \"back\"\nfrom = \"paused\"\nto = \"running\"\nbecause = \"back\"\n\n";
    let rules = format!("{there}{back}[[rule]]\nid = \"given-up\"");
    let task = Loop::new(GOOD);
    task.world.write(
        "system/workflows/loop.md",
        LOOP.replacen("[[rule]]\nid = \"given-up\"", &rules, 1),
    );
    task.world.commit("circles");
    task.run().ends(1).says("round in circles");
}

#[test]
fn the_time_of_a_run_bounds_its_executor() {
    let script = format!("case $ORCH_ACTION in polish) sleep 60 ;; esac\n{GOOD}");
    let task = Loop::with(&limited("time = \"3s\""), &script);
    let ended = task.run().ends(1).says("exhausted");
    assert!(
        !ended.stderr.contains("polish failed"),
        "nobody's failure: {}",
        ended.stderr
    );
    assert_eq!(task.state()["run"]["errors"].as_u64().unwrap_or(0), 0);
    task.is_clean();
}

#[test]
fn a_run_that_goes_on_may_use_no_more_than_it_was_given() {
    let script = GOOD.replace(
        "\\\"summary\\\": \\\"better\\\"}",
        "\\\"continue\\\": false}",
    );
    let task = Loop::new(&script);
    task.world
        .orch(&["run", "t", "--auto", "--max-turns", "3"])
        .ends(3)
        .says("asked to stop here");
    let report = task.run_json();
    assert_eq!(
        (&report["turns"], &report["maxTurns"]),
        (&3.into(), &3.into()),
        "{report:#}"
    );
    assert_eq!(report["ending"], "exhausted", "{report:#}");
}

#[test]
fn a_run_whose_files_were_removed_may_use_no_more_than_it_was_given() {
    let task = Loop::new("cat > /dev/null; rm -rf tasks/t/.orch; kill -9 $PPID; sleep 60\n");
    // The first turn answers a question by its default.
    for round in 1..=2 {
        task.world.orch(&["run", "t", "--auto", "--max-turns", "3"]);
        assert!(
            !task.world.path("tasks/t/.orch/run.json").exists(),
            "round {round}: it was removed"
        );
    }
    let report = task.run_json();
    assert_eq!(
        (&report["turns"], &report["maxTurns"]),
        (&3.into(), &3.into()),
        "{report:#}"
    );
    assert_eq!(report["ending"], "exhausted", "{report:#}");
    // That run is over, and a new one has a budget of its own.
    task.world.orch(&["run", "t", "--auto", "--max-turns", "1"]);
    assert!(!task.world.path("tasks/t/.orch/run.json").exists());
}

/// It is recorded with the first step of the run, after its first turn.
#[test]
fn that_a_run_takes_its_task_is_told_as_nobody_elses_doing() {
    let task = Loop::new(GOOD);
    task.world.orch(&["answer", "t", "rounds=3"]).succeeds();
    for _ in 0..2 {
        let run = task
            .world
            .orch(&["run", "t", "--auto", "--max-turns", "1"])
            .reports("(take)");
        assert!(!run.stderr.contains("decided-meanwhile"), "{}", run.stderr);
    }
}

#[test]
fn a_program_that_cannot_be_started_counts_for_nothing() {
    let task = Loop::new(GOOD);
    task.world.orch(&["answer", "t", "rounds=1"]).succeeds();
    task.world.write("not-executable", "#!/bin/sh\n");
    task.world.commit("a file");
    let head = task.world.git(&["rev-parse", "HEAD"]);
    for program in [
        "no-such-program",
        "./no-such-file",
        "./not-executable",
        "./tasks",
    ] {
        task.world
            .orch(&["run", "t", "--auto", "--", program])
            .ends(2)
            .reports("cannot start `");
    }
    assert_eq!(task.world.git(&["rev-parse", "HEAD"]), head);
    assert!(!task.world.path("tasks/t/.orch").exists());
    // What is seen only when it is started takes its turn back, and counts as nobody's failure.
    task.world.write("script", "#!/no/such/interpreter\n");
    std::fs::set_permissions(
        task.world.path("script"),
        std::fs::Permissions::from_mode(0o755),
    )
    .expect("set");
    task.world
        .orch(&["run", "t", "--auto", "--", "./script"])
        .ends(2)
        .reports("cannot start `");
    assert_eq!(task.world.orch_json(&["runs"])["runs"][0]["turns"], 0);
    assert_eq!(task.run_json()["ending"], "completed");
}

#[test]
fn a_record_that_cannot_be_read_never_gives_a_new_budget() {
    let task = Loop::new(GOOD);
    task.world
        .orch(&["run", "t", "--auto", "--max-turns", "2"])
        .ends(1);
    let path = "tasks/t/.orch/run.json";
    let whole = task.world.read(path);
    for (text, why) in [
        ("", "EOF"),
        ("{}", "not the record of a run"),
        (
            &whole.replace("\"version\": 1", "\"version\": 9"),
            "another version",
        ),
        (
            &whole.replace("\"cost\": 0.0", "\"cost\": null"),
            "expected f64 at line",
        ),
        (&whole.replace("\"cost\": 0.0,", ""), "missing field `cost`"),
    ] {
        task.world.write(path, text);
        for order in ["run", "pause", "resume", "stop"] {
            task.world
                .orch(&[order, "t"])
                .ends(2)
                .reports(path)
                .reports(why)
                .reports("mv ");
        }
        task.world.orch(&["runs"]).succeeds().reports(why);
        task.world.orch(&["suggest", "t"]).succeeds();
    }
    task.world.write(path, whole);
    assert_eq!(task.run_json()["ending"], "completed");
}

#[test]
fn a_control_request_does_not_outlive_its_run() {
    for wish in ["pause", "stop"] {
        let task = Loop::new(GOOD);
        task.world
            .orch(&["run", "t", "--auto", "--max-turns", "2"])
            .ends(1);
        let run = task.world.json("tasks/t/.orch/run.json")["run"].clone();
        let control = format!("{{\"run\": {run}, \"request\": \"{wish}\", \"by\": \"Ann\"}}");
        task.world.write("tasks/t/.orch/control.json", control);
        assert_eq!(task.run_json()["ending"], "completed");
        assert!(!task.world.path("tasks/t/.orch/control.json").exists());
    }
}

/// A script that leaves a control request by this shell line, and works.
fn controlling(line: &str) -> String {
    let path = "control=tasks/t/.orch/control.json";
    let run = r#"run=$(sed -n 's/^  "run": "\(.*\)",$/\1/p' tasks/t/.orch/run.json)"#;
    format!("{path}\n{run}\n{line}\n{GOOD}")
}

#[test]
fn a_control_request_that_is_none_is_told_once_and_has_no_effect() {
    for (line, why) in [
        ("printf '{' > $control", "EOF"),
        (
            r#"echo '{"request": "stop", "by": "Ann"}' > $control"#,
            "missing field `run`",
        ),
        (
            r#"echo '{"run": "1-1", "request": "stop", "by": "Ann"}' > $control"#,
            "for another run",
        ),
        (
            r#"echo "{\"run\": \"$run\", \"request\": \"halt\", \"by\": \"Ann\"}" > $control"#,
            "unknown request",
        ),
        ("mkdir -p $control/in", "not a regular file"),
        ("[ -p $control ] || mkfifo $control", "not a regular file"),
    ] {
        let task = Loop::new(&controlling(line));
        let ended = task.run().succeeds().reports(why);
        let told = ended.stderr.matches("control-unreadable").count();
        assert_eq!(told, 1, "{line}: {ended:?}");
    }
}

#[test]
fn a_control_request_that_names_the_run_is_obeyed_whoever_writes_it() {
    let line = r#"echo "{\"run\": \"$run\", \"request\": \"stop\", \"by\": \"Ann\"}" > $control; sleep 60"#;
    let task = Loop::new(&controlling(line));
    let report = task.run_json();
    assert_eq!(report["ending"], "stopped", "{report:#}");
}

#[test]
fn only_a_run_that_can_go_on_is_resumed() {
    let task = Loop::new(GOOD);
    task.world
        .orch(&["resume", "t"])
        .ends(3)
        .says("nothing to resume");
    assert!(!task.world.path("tasks/t/.orch").exists());
    assert_eq!(task.run_json()["ending"], "completed");
    task.world
        .orch(&["resume", "t"])
        .ends(3)
        .says("nothing to resume");
}

#[test]
fn the_logs_of_the_last_runs_are_kept() {
    let script = GOOD.replace("polish)\n", "polish)\n    exit 1\n");
    let task = Loop::with(&LOOP.replace("failures = 2", "failures = 20"), &script);
    task.world
        .orch(&["run", "t", "--auto", "--max-turns", "3"])
        .ends(1);
    for _ in 0..7 {
        task.world
            .orch(&["run", "t", "--auto", "--max-turns", "1"])
            .ends(1);
    }
    let logs = task
        .world
        .path("tasks/t/.orch/logs")
        .read_dir()
        .expect("logs")
        .flatten();
    let names = logs.map(|entry| entry.file_name().into_string().expect("a name"));
    let runs: BTreeSet<String> = names
        .map(|name| name.split("-0").next().expect("a run").to_owned())
        .collect();
    assert_eq!(runs.len(), 5, "{runs:?}");
}
