//! Executors that break what they work in: what they may not spoil, and how it is told.

use super::{GOOD, LOOP, Loop};
use serde_json::json;

/// A loop whose first try of `improve` does something else, and whose further ones do the work.
fn at_first(workflow: &str, body: &str) -> Loop {
    let script = format!(
        "if [ $ORCH_ACTION = improve ] && mkdir .git/tried 2> /dev/null; then\n{body}\nfi\n{GOOD}"
    );
    Loop::with(workflow, &script)
}

#[test]
fn what_nobody_could_read_again_is_refused() {
    let result = |updates: &str| {
        format!(
            "echo x > tasks/t/report.md; echo '{{\"stateUpdates\": {updates}}}' > \"$ORCH_RESULT\"; exit 0"
        )
    };
    let lists = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let path = |levels: usize| format!("{{\"score{}\": 1}}", ".a".repeat(levels));
    for (updates, told) in [
        (
            format!("{{\"notes\": {}}}", lists(100)),
            "`notes` would nest deeper than 100 levels",
        ),
        (path(100), "nests deeper than 100 levels"),
        (path(30_000), "nests deeper than 100 levels"),
        (
            format!("{{\"notes\": [\"{}\"]}}", "x".repeat(30_000)),
            "but at most 30000 can be read",
        ),
    ] {
        let task = at_first(LOOP, &result(&updates));
        let toml = task.world.read("orch.toml");
        task.world
            .write("orch.toml", format!("limit_bytes = 30000\n{toml}"));
        task.world.commit("a limit");
        task.run().succeeds().reports(told);
        assert_eq!(task.state()["status"], "done", "{told}");
        task.is_clean();
    }
    let task = at_first(LOOP, &result(&format!("{{\"notes\": {}}}", lists(98))));
    task.run().succeeds();
    task.is_clean();
}

#[test]
fn what_git_ignores_may_be_cleaned_away() {
    let said = "echo x > tasks/t/report.md; echo '{\"stateUpdates\": {\"score\": 90}}'; exit 0";
    for cleans in ["git clean -fdxq", "rm -rf tasks/t/.orch", "git stash -aq"] {
        let task = at_first(LOOP, &format!("{cleans}\n{said}"));
        let report = task.run_json();
        assert_eq!(
            (&report["ending"], &report["turns"]),
            (&"completed".into(), &3.into()),
            "{report:#}"
        );
        task.world.orch(&["runs"]).says("completed");
        task.is_clean();
    }
}

#[test]
fn a_task_that_is_gone_ends_its_run() {
    let task = at_first(LOOP, "rm -rf tasks/t; exit 0");
    let report = task.run_json();
    assert_eq!(report["ending"], "error", "{report:#}");
    task.world.git(&["restore", "tasks"]);
    task.run().succeeds();
    task.is_clean();
}

#[test]
fn a_transcript_that_was_cut_is_not_committed() {
    for cuts in [
        "rm tasks/t/transcript.jsonl",
        "sed -i 1d tasks/t/transcript.jsonl",
        ": > tasks/t/transcript.jsonl",
    ] {
        let task = at_first(LOOP, cuts);
        let head = || task.world.git(&["show", "HEAD:tasks/t/transcript.jsonl"]);
        let ended = task.run();
        assert_ne!(ended.code, 0, "{cuts}: {ended:?}");
        let before = head();
        task.world.orch(&["suggest", "t"]).says("orch recover t");
        task.world
            .git(&["restore", "--", "tasks/t/transcript.jsonl"]);
        task.run().succeeds();
        assert!(
            head().starts_with(&before),
            "{cuts}: what was recorded is still there"
        );
        task.is_clean();
    }
}

#[test]
fn a_result_is_not_recorded_where_its_rule_is_not_due() {
    let task = at_first(LOOP, "git checkout -q ahead");
    let world = &task.world;
    // Another branch, where the score is reached already.
    world.git(&["checkout", "-q", "-b", "ahead"]);
    world.write(".git/tried/x", "");
    world
        .orch(&["run", "t", "--auto", "--max-turns", "3"])
        .ends(1);
    assert_eq!(
        (&task.state()["score"], &task.state()["polished"]),
        (&100.into(), &false.into())
    );
    world.git(&["checkout", "-q", "main"]);
    std::fs::remove_dir_all(world.path(".git/tried")).expect("removed");
    task.run()
        .succeeds()
        .reports("the step from which the work started is not in it");
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
fn a_state_that_its_schema_refuses_ends_the_run_before_anybody_is_started() {
    let task = Loop::new("exit 1\n");
    task.world.orch(&["answer", "t", "rounds=2"]).succeeds();
    let schema = json!({"type": "object", "properties": {"rounds": {"maximum": 1}}});
    task.world
        .write("system/schemas/loop-state.schema.json", schema.to_string());
    task.world.commit("a stricter schema");
    task.run()
        .ends(1)
        .says("t: error after 0 turns")
        .says("rejects /rounds");
    task.world.orch(&["runs"]).says("error");
}

#[test]
fn a_cost_beyond_all_numbers_stays_one() {
    let costs = GOOD
        .replace(r#"\"summary\": \"better\""#, r#"\"cost\": 1e308"#)
        .replace("0.25", "1e308");
    assert_eq!(costs.matches("1e308").count(), 2);
    let task = Loop::new(&costs);
    let report = task.run_json();
    assert_eq!(
        (&report["ending"], &report["cost"]),
        (&"completed".into(), &json!(f64::MAX)),
        "{report:#}"
    );
    task.world.orch(&["runs"]).says("completed");
    task.is_clean();
}

#[test]
fn what_is_computed_on_a_list_is_computed_on_what_is_kept_of_it() {
    let counts = LOOP.replace("\"state.rounds + 1\"", "\"size(state.notes)\"");
    assert_ne!(counts, LOOP);
    let task = Loop::with(&counts, GOOD);
    task.run().succeeds();
    assert_eq!(task.state()["rounds"], 3);
    task.is_clean();
}

#[test]
fn a_task_behind_a_link_is_left_alone() {
    let task = at_first(LOOP, "mv tasks/t elsewhere; ln -s ../elsewhere tasks/t");
    task.run()
        .ends(5)
        .reports("tasks/t is a symbolic link")
        .reports("replace the link with the directory itself");
    task.world.remove("tasks/t");
    std::fs::rename(task.world.path("elsewhere"), task.world.path("tasks/t")).expect("back again");
    task.run().succeeds();
    task.is_clean();
}

#[test]
fn where_an_action_is_due_the_way_on_is_named() {
    let task = Loop::new("echo x > tasks/t/report.md; echo '{\"summary\": \"done\"}'\n");
    let first_option = || {
        let suggested = task.world.orch_json(&["suggest", "t"]);
        suggested["suggestions"][0]["options"][0]["argv"].clone()
    };
    task.world.orch(&["answer", "t", "rounds=1"]).succeeds();
    assert_eq!(first_option(), json!(["orch", "run", "t"]));
    task.world
        .orch(&["run", "t", "--max-turns", "1"])
        .ends(1)
        .says("exhausted");
    assert_eq!(first_option(), json!(["orch", "run", "t"]));
    // What came to nothing is not offered once more.
    task.run().ends(1).says("stalled");
    assert_eq!(first_option()[1], "prompt");
}

#[test]
fn links_that_were_committed_into_the_directory_of_runs_are_not_followed() {
    for (link, ends) in [
        ("", 2),
        ("/logs", 2),
        ("/control.lock", 70),
        ("/.gitignore", 0),
        ("/run.json", 2),
        ("/.orch-tmp-run.json", 0),
    ] {
        let task = Loop::new(GOOD);
        let outside = task.world.path("../outside");
        std::fs::create_dir(&outside).expect("a directory");
        for name in ["file", ".gitignore", "run.json", "control.lock"] {
            std::fs::write(outside.join(name), "keep me\n").expect("written");
        }
        let place = task.world.path(&format!("tasks/t/.orch{link}"));
        let _ = std::fs::remove_dir_all(task.world.path("tasks/t/.orch"));
        std::fs::create_dir_all(place.parent().expect("a parent")).expect("a directory");
        let target = if ["", "/logs"].contains(&link) {
            outside.clone()
        } else {
            outside.join("file")
        };
        std::os::unix::fs::symlink(&target, &place).expect("a link");
        let ended = task.run();
        assert_eq!(ended.code, ends, "{link}: {ended:?}");
        let names: std::collections::BTreeSet<_> = std::fs::read_dir(&outside)
            .expect("listed")
            .map(|entry| entry.expect("read").file_name())
            .collect();
        assert_eq!(names.len(), 4, "{link}: {names:?}");
        for name in names {
            assert_eq!(
                std::fs::read_to_string(outside.join(name)).expect("read"),
                "keep me\n",
                "{link}"
            );
        }
    }
}
