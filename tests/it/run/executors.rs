//! What executors do to us: each failure is told for what it is, and none changes the state.

use super::{GOOD, LOOP, Loop, processes_in};
use crate::harness::{World, eventually};

/// Each script fails once, in its own way; then the work is done well.
fn fails_once(body: &str, told: &str) -> Loop {
    let script = format!(
        "if [ \"$ORCH_ACTION$ORCH_ATTEMPT\" = improve1 ] && [ ! -e failed ]; then\ntouch failed\n{body}\nfi\n{GOOD}"
    );
    let limits = "[limits]\nturns = 20\nfailures = 2\nerrors = 2\nbackoff = \"1ms\"\n";
    let action = "outputs = [\"report.md\"]\ntimeout = \"500ms\"\nidle_timeout = \"300ms\"\n";
    assert!(LOOP.contains(limits));
    let task = Loop::with(
        &LOOP.replace("outputs = [\"report.md\"]\n", action),
        &script,
    );
    task.world.write(".gitignore", "failed\nleft\n");
    task.world.commit("ignore");
    task.run().succeeds().reports(told);
    assert_eq!(task.state()["status"], "done");
    let improved = task
        .story()
        .iter()
        .filter(|step| *step == "run improve")
        .count();
    assert_eq!(improved, 2, "{:?}", task.story());
    task.is_clean();
    task
}

#[test]
fn failures_are_told_for_what_they_are() {
    let faults = [
        ("exit 7", "exited with code 7"),
        ("kill -9 $$", "killed by signal 9"),
        ("exit 0", "left no result"),
        ("echo 'I did it!'", "left no result"),
        ("echo '{\"stateUpdates\": {\"score\": 99'", "left no result"),
        (
            "echo '{broken' > \"$ORCH_RESULT\"",
            "the result is not JSON",
        ),
        ("echo '{\"ok\": true}'", "is not a result"),
        (
            "echo '{\"status\": \"failed\", \"message\": \"no way\"}'",
            "no way",
        ),
        (
            "echo x > tasks/t/report.md; echo '{\"stateUpdates\": {\"polished\": true}}'",
            "changes /polished",
        ),
        (
            "echo x > tasks/t/report.md; echo '{\"stateUpdates\": {\"status\": \"done\"}}'",
            "changes /status",
        ),
        (
            "echo x > tasks/t/report.md; echo '{\"stateUpdates\": {\"score\": 101}}'",
            "rejects /score",
        ),
        (
            "echo x > tasks/t/report.md; echo '{\"stateUpdates\": {\"score\": null}}'",
            "`score` is missing",
        ),
        (
            "echo '{\"stateUpdates\": {\"score\": 90}}'",
            "report.md is missing, but the action should have written it",
        ),
        (
            "echo x > tasks/t/report.md; echo '{\"outputFiles\": [\"nowhere.md\"]}'",
            "nowhere.md is missing, but the result says that it was written",
        ),
    ];
    // Each try waits twice as long as the one before it, so they are not all in one run.
    for some in faults.chunks(7) {
        fail_one_after_the_other(some);
    }
}

/// One try after the other fails, each in its own way; the next one does the work.
fn fail_one_after_the_other(faults: &[(&str, &str)]) {
    let arms = faults.iter().enumerate();
    let arms: String = arms
        .map(|(at, (body, _))| {
            format!(
                "improve{}) rm -f tasks/t/report.md; {body}; exit 0 ;;\n",
                at + 1
            )
        })
        .collect();
    let script = format!(
        "n=$(($(cat tries 2>/dev/null || echo 0) + 1)); echo $n > tries\ncase $ORCH_ACTION$n in\n{arms}esac\n{GOOD}"
    );
    let limits = "failures = 99\nerrors = 2\nbackoff = \"1ms\"\nturns = 99";
    let workflow = LOOP.replace(
        "turns = 20\nfailures = 2\nerrors = 2\nbackoff = \"1ms\"",
        limits,
    );
    let task = Loop::with(&workflow, &script);
    task.world.write(".gitignore", "tries\n");
    task.world.commit("ignore");
    let ended = task.run().succeeds();
    let told: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("improve failed"))
        .collect();
    assert_eq!(told.len(), faults.len(), "{told:#?}");
    for ((body, expected), told) in faults.iter().zip(told) {
        assert!(told.contains(expected), "{body}: {told}");
    }
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run improve")
            .count(),
        2
    );
    task.is_clean();
}

#[test]
fn history_keeps_when_an_action_started_who_performed_it_and_what_it_wrote() {
    // `polish` also writes a file that is not an artifact, and one below the root of the repository.
    let script = GOOD.replace(
        "{\"stateUpdates\": {\"polished\": true}, \"cost\": 0.25}",
        "{\"stateUpdates\": {\"polished\": true}, \"outputFiles\": [\"shine.txt\", \"report.md\", \"executor.sh\"]}",
    );
    assert_ne!(script, GOOD);
    let script = format!("echo bright > tasks/t/shine.txt\n{script}");
    let task = Loop::new(&script);
    task.world.write(".gitignore", "shine.txt\n");
    task.world.commit("ignore");
    task.run().succeeds();
    let log = task.world.orch_json(&["log", "t"]);
    let entries = log["entries"].as_array().expect("entries");
    let of = |action: &str| {
        entries
            .iter()
            .rfind(|entry| entry["action"] == action)
            .expect("the action")
            .clone()
    };
    let blob = |path: &str| task.world.git(&["hash-object", path]).trim().to_owned();
    for (action, files) in [
        ("improve", vec![("report.md", blob("tasks/t/report.md"))]),
        (
            "polish",
            vec![
                ("shine.txt", blob("tasks/t/shine.txt")),
                ("report.md", blob("tasks/t/report.md")),
                ("executor.sh", blob("executor.sh")),
            ],
        ),
    ] {
        let entry = of(action);
        let wrote: Vec<(String, String)> =
            serde_json::from_value::<Vec<serde_json::Value>>(entry["files"].clone())
                .expect("a list")
                .iter()
                .map(|file| {
                    [&file["path"], &file["digest"]]
                        .map(|text| text.as_str().expect("text").to_owned())
                })
                .map(|[path, digest]| (path, digest))
                .collect();
        let expected: Vec<(String, String)> = files
            .into_iter()
            .map(|(path, id)| (path.to_owned(), id))
            .collect();
        assert_eq!(wrote, expected, "{action}");
        assert_eq!(
            (&entry["executor"], entry["started"].is_string()),
            (&"sh".into(), true),
            "{action}"
        );
    }
    // A step that no executor performed has none of it, and the state's history says the same as the log.
    let moved = entries
        .iter()
        .find(|entry| entry["kind"] == "advance")
        .expect("a move");
    assert_eq!(
        (&moved["executor"], &moved["files"]),
        (&serde_json::Value::Null, &serde_json::json!([]))
    );
    let history = task.state()["history"]
        .as_array()
        .expect("a history")
        .clone();
    let polished = history
        .iter()
        .find(|entry| entry["action"] == "polish")
        .expect("the action");
    assert_eq!(polished["performance"]["executor"], "sh");
    assert_eq!(
        polished["performance"]["files"]["shine.txt"],
        blob("tasks/t/shine.txt")
    );
    task.world
        .orch(&["log", "t"])
        .succeeds()
        .says("performed by sh, started 20")
        .says("wrote shine.txt@");
    task.is_clean();
    // What an executor did is only recorded of actions: on another step the audit refuses it.
    let path = "tasks/t/transcript.jsonl";
    let text = task.world.read(path);
    let last = text.lines().last().expect("a line");
    assert!(last.contains("\"kind\":\"end\""), "{last}");
    let body = format!("{{{}", &last[last.find("\"v\"").expect("an event")..]);
    let body = body.replace(
        ",\"generation\":",
        ",\"performance\":{\"executor\":\"rm\"},\"generation\":",
    );
    let id = orch_base::Digest::of_blob(body.as_bytes());
    task.world.write(
        path,
        text.replace(last, &format!("{{\"id\":\"{id}\",{}", &body[1..])),
    );
    task.world.remove("tasks/t/state.json");
    task.world.orch(&["recover", "t"]).succeeds();
    task.world
        .git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    let audit = task.world.orch(&["audit"]).ends(1);
    assert!(
        audit.stdout.contains("performance should be null"),
        "{audit:?}"
    );
}

/// The first try reports an error and exits with 0; the costs of all tries count.
#[test]
fn the_json_that_agent_programs_print_is_read() {
    let plain = r#"echo "{\"stateUpdates\": {\"score\": $((score + 50)), \"notes\": [1, 2, 3, 4]}, \"summary\": \"better\"}""#;
    assert!(GOOD.contains(plain));
    let wrapped = r#"cat <<END
{"type": "result", "is_error": false, "total_cost_usd": 1.0, "result": "Done.\\n{\\"stateUpdates\\": {\\"score\\": $((score + 50))}}"}
END
"#;
    let error =
        r#"{"type": "result", "is_error": true, "result": "It broke", "total_cost_usd": 0.5}"#;
    let script = format!(
        "if [ ! -e failed ] && [ $ORCH_ACTION = improve ]; then touch failed; echo '{error}'; exit 0; fi\n{}",
        GOOD.replace(plain, wrapped)
    );
    let task = Loop::new(&script);
    task.world.write(".gitignore", "failed\n");
    task.world.commit("ignore");
    let ended = task
        .world
        .orch(&["run", "t", "--auto", "--json"])
        .succeeds();
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(
        (&report["cost"], &report["ending"]),
        (&2.75.into(), &"completed".into()),
        "{report:#}"
    );
    ended.reports("it reported an error: It broke");
}

#[test]
fn a_claim_in_the_output_moves_nothing() {
    let script = GOOD.replace(
        "{\"stateUpdates\": {\"polished\": true}, \"cost\": 0.25}",
        "{\"summary\": \"polished\"}",
    );
    let task = Loop::new(&script);
    task.run().ends(1).reports("`state.polished` does not hold");
    assert_eq!(task.story().last().map(String::as_str), Some("end"));
    assert_eq!(task.state()["status"], "failed");
    task.is_clean();
}

#[test]
fn what_takes_too_long_is_ended() {
    fails_once(
        "while true; do echo busy; sleep 0.05; done",
        "took longer than 500ms",
    );
    fails_once("sleep 60", "printed nothing for 300ms");
    // One that does not listen is ended all the same, with its children.
    fails_once(
        "trap '' TERM; sleep 60 & sleep 60; sleep 60",
        "printed nothing for 300ms",
    );
}

#[test]
fn after_the_soft_limit_a_result_still_counts() {
    let script = GOOD.replace(
        "  polish)\n",
        "  polish)\n    trap 'echo \"{\\\"stateUpdates\\\": {\\\"polished\\\": true}}\"; exit 0' TERM\n    while true; do sleep 0.02; done ;;\n  never)\n",
    );
    let limits = "timeout = \"10s\"\nsoft_timeout = \"200ms\"\n";
    let task = Loop::with(&LOOP.replace("timeout = \"10s\"\n", limits), &script);
    task.run().succeeds();
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run polish")
            .count(),
        1
    );
    task.is_clean();
}

#[test]
fn no_child_outlives_its_executor() {
    let leaves = "(trap '' TERM HUP; sleep 60) &\nsetsid sleep 61 &\nsleep 0.05\n";
    let task = Loop::new(&format!("{leaves}{GOOD}"));
    task.run().succeeds().reports("left processes behind");
    assert_eq!(processes_in(&task.world.root()), Vec::<String>::new());
    task.is_clean();
}

#[test]
fn output_is_kept_up_to_a_bound_and_the_result_is_found_behind_it() {
    let script = format!("yes 'a line of output that says nothing' | head -c 20000000\n{GOOD}");
    let task = Loop::new(&script);
    task.world
        .orch(&["run", "t", "--auto", "--quiet"])
        .succeeds();
    let logs = std::fs::read_dir(task.world.path("tasks/t/.orch/logs"))
        .expect("logs")
        .flatten();
    let sizes: Vec<u64> = logs
        .map(|log| log.metadata().expect("a file").len())
        .collect();
    assert!(
        sizes.iter().all(|size| *size < 9 << 20) && sizes.iter().any(|size| *size > 8 << 20),
        "{sizes:?}"
    );
    task.is_clean();
}

#[test]
fn nothing_is_read_by_a_shell() {
    let (task, shell) = (Loop::new(GOOD), Loop::new(GOOD));
    let word = "$(touch tasks/pwned); `touch pwned`";
    shell.world.orch(&[
        "run",
        "t",
        "--auto",
        "--",
        "sh",
        "-c",
        "printf %s \"$1\" > word.txt; exit 1",
        "sh",
        word,
    ]);
    assert_eq!(shell.world.read("word.txt"), word);
    assert!(!shell.world.path("tasks/pwned").exists());
    shell.world.remove("word.txt");
    shell.is_clean();
    task.world
        .orch(&["run", "t", "--auto", "--", "/no/such/program"])
        .reports("cannot start `");
    task.is_clean();
}

#[test]
fn without_an_executor_it_says_where_to_name_one() {
    let task = Loop::new(GOOD);
    task.world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"loop\"\n",
    );
    task.world.commit("no executor");
    let before = task.world.git(&["rev-parse", "HEAD"]);
    task.run()
        .ends(2)
        .reports("no executor is configured")
        .reports("[executor.default]");
    let foreseen = task.world.orch(&["run", "t", "--auto", "--dry-run"]);
    foreseen
        .ends(2)
        .reports("no executor is configured")
        .reports("[executor.default]");
    assert_eq!(task.world.git(&["rev-parse", "HEAD"]), before);
    task.is_clean();
}

#[test]
fn a_loop_that_has_no_executor_records_nothing() {
    let world = World::new();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"ccw-loop\"\n",
    );
    world.commit("set up");
    world.orch(&["new", "t"]).succeeds();
    let before = world.git(&["rev-parse", "HEAD"]);
    for dry in [&[][..], &["--dry-run"]] {
        world
            .orch(&[&["run", "t", "--auto"], dry].concat())
            .ends(2)
            .reports("no executor is configured");
        assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    }
}

#[test]
fn the_watch_and_status_leave_the_files_of_a_run_alone() {
    let task = Loop::new(GOOD);
    task.run().succeeds();
    assert!(task.world.path("tasks/t/.orch/run.json").exists());
    task.world.orch(&["status"]).succeeds();
    task.world.orch(&["check"]).succeeds();
    eventually("nothing runs", || {
        processes_in(&task.world.root()).is_empty()
    });
}

#[test]
fn a_result_that_is_too_large_is_a_failure_and_does_not_stay_on_the_disk() {
    let task =
        Loop::new("cat > /dev/null\nhead -c 2000000 /dev/zero | tr '\\0' x > \"$ORCH_RESULT\"\n");
    let ended = task.run();
    assert_ne!(ended.code, 0, "{ended:?}");
    assert!(
        task.state()["errors"]
            .to_string()
            .contains("the result is larger than"),
        "{ended:?}"
    );
    for entry in std::fs::read_dir(task.world.path("tasks/t/.orch/logs")).expect("logs") {
        let entry = entry.expect("an entry");
        assert!(
            entry.metadata().expect("there").len() < 1_000_000,
            "{entry:?} stays"
        );
    }
}
