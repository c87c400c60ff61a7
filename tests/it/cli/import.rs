//! The states of older tools: `orch new` imports them, keeps the file in git, and refuses what it cannot read.

use crate::harness::{Ended, World};

const DIAGNOSING: &str = include_str!("../../../fixtures/imports/tuning-diagnosing.json");
const VERIFIED: &str = include_str!("../../../fixtures/imports/tuning-verified.json");
const FINISHED: &str = include_str!("../../../fixtures/imports/tuning-finished.json");
const LOOP: &str = include_str!("../../../fixtures/imports/loop-pending.json");

/// A repository with a root for each of the two workflows.
fn world() -> World {
    let world = World::ready();
    let roots = "[[root]]\npath = \"tunings/*\"\nworkflow = \"skill-tuning\"\n\
                 [[root]]\npath = \"loops/*\"\nworkflow = \"ccw-loop\"\n";
    world.write("orch.toml", roots);
    world.commit("Roots");
    world
}

fn import(world: &World, task: &str, state: &str) -> Ended {
    world.write(&format!("{task}/state.json"), state);
    world.orch(&["new", task])
}

#[test]
fn a_state_of_an_older_tool_is_imported_and_the_file_stays_in_git() {
    let world = world();
    // The task, its file, the phase it comes to, what is due there, and a part that has no place.
    for (task, state, phase, due, left) in [
        (
            "tunings/a",
            DIAGNOSING,
            "running",
            "run diagnose_memory",
            "/diagnosis/context/issues_found",
        ),
        (
            "tunings/b",
            VERIFIED,
            "running",
            "wait for a person to continue or to stop",
            "/gemini_analysis/result",
        ),
        ("tunings/c", FINISHED, "completed", "", "/completed_at"),
        ("loops/d", LOOP, "running", "", "/loop_id"),
    ] {
        let name = &task[task.len() - 1..];
        import(&world, task, state)
            .succeeds()
            .reports(left)
            .reports("git cat-file blob");
        let recorded = world.json(&format!("{task}/state.json"));
        assert_eq!(recorded["status"], phase, "{task}");
        assert_eq!(
            world.git(&["show", &format!("HEAD~1:{task}/state.json")]),
            state,
            "{task}"
        );
        let blob = world.git(&["rev-parse", &format!("HEAD~1:{task}/state.json")]);
        assert_eq!(
            recorded["history"][0]["evidence"]["state.json"],
            blob.trim(),
            "{task}"
        );
        world.orch(&["status", name]).succeeds().says(due);
    }
    assert_eq!(world.dirty(), "");
    let audit = world.orch(&["audit", "--strict"]).succeeds();
    assert!(
        audit.stdout.contains("4 proven, 4 claimed")
            || audit.stderr.contains("4 proven, 4 claimed"),
        "{audit:?}"
    );
    // The data of each is where the workflow has it.
    let at = |task: &str, pointer: &str| {
        world
            .json(&format!("{task}/state.json"))
            .pointer(pointer)
            .cloned()
            .unwrap_or_default()
            .to_string()
    };
    for (task, pointer, expected) in [
        ("tunings/a", "/iteration_count", "1"),
        ("tunings/a", "/diagnosis/context/issues/0/id", "\"CTX-1\""),
        ("tunings/a", "/diagnosis/memory", "null"),
        (
            "tunings/a",
            "/requirement_analysis/coverage/status",
            "\"satisfied\"",
        ),
        ("tunings/a", "/errors/0/message", "\"no SKILL.md\""),
        ("tunings/b", "/iteration_count", "1"),
        ("tunings/b", "/progress/verified", "true"),
        ("tunings/b", "/applied_fixes/1/issue_ids", "[\"MEM-1\"]"),
        (
            "tunings/b",
            "/applied_fixes/1/verification_result",
            "\"fail\"",
        ),
        ("tunings/b", "/verification/results/0/result", "\"pass\""),
        ("tunings/b", "/gemini_analysis/status", "\"completed\""),
        ("tunings/c", "/ended", "true"),
        ("loops/d", "/current_iteration", "3"),
        ("loops/d", "/title", "\"Upload\""),
        ("loops/d", "/last_action", "\"develop\""),
        (
            "loops/d",
            "/skill_state/develop/tasks/1/status",
            "\"pending\"",
        ),
    ] {
        assert_eq!(at(task, pointer), expected, "{task} {pointer}");
    }
}

#[test]
fn a_broken_state_of_an_older_tool_is_refused_at_its_place_and_untouched() {
    let world = world();
    let head = world.git(&["rev-parse", "HEAD"]);
    let change = |state: &str, from: &str, to: &str| {
        assert!(state.contains(from), "{from}");
        state.replacen(from, to, 1)
    };
    // Numbers of the issue and of the task have other places in the new state; the message names the original.
    let urgent = "\"severity\": \"urgent\",\n      \"priority\"";
    for (task, state, place, message) in [
        (
            "tunings/a",
            change(DIAGNOSING, "\"running\"", "\"bogus\""),
            ":2:13",
            "\"bogus\" is not a phase",
        ),
        (
            "tunings/a",
            change(DIAGNOSING, "\"running\"", "7"),
            ":2:13",
            "7 is not a phase",
        ),
        (
            "tunings/a",
            change(
                DIAGNOSING,
                "\"max_iterations\": 5",
                "\"max_iterations\": \"5\"",
            ),
            ":71:21",
            "\"5\"",
        ),
        (
            "tunings/a",
            change(
                DIAGNOSING,
                "\"iteration_count\": 0",
                "\"iteration_count\": []",
            ),
            ":70:22",
            "compute",
        ),
        (
            "tunings/a",
            change(DIAGNOSING, &urgent.replace("urgent", "high"), urgent),
            ":46:19",
            "urgent",
        ),
        (
            "loops/d",
            change(LOOP, "\"pending\"", "\"maybe\""),
            ":40:21",
            "maybe",
        ),
        (
            "loops/d",
            change(LOOP, "\"running\"", "\"gone\""),
            ":6:13",
            "not a phase of workflow `ccw-loop`",
        ),
    ] {
        let refused = import(&world, task, &state).ends(2);
        assert!(
            refused.stderr.starts_with("error[")
                && refused
                    .stderr
                    .contains(&format!("--> {task}/state.json{place}\n")),
            "{message}: {refused:?}"
        );
        assert!(
            refused.stderr.contains(message) && refused.stderr.contains("hint: "),
            "{message}: {refused:?}"
        );
        assert_eq!(world.read(&format!("{task}/state.json")), state);
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    }
}

#[test]
fn an_imported_state_is_proven_after_a_squash_and_forged_if_it_says_something_else() {
    let world = world();
    let main = world.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    world.git(&["switch", "-q", "-c", "task"]);
    import(&world, "tunings/a", DIAGNOSING).succeeds();
    world.git(&["switch", "-q", main.trim()]);
    world.git(&["merge", "-q", "--squash", "task"]);
    world.commit("Import a tuning");
    let audit = world.orch_json(&["audit"]);
    assert_eq!(audit["counts"]["proven"], 1, "{audit}");
    // The log is rewritten with an event whose data is not what the map yields.
    world.git(&["switch", "-q", "task"]);
    let log = world.read("tunings/a/transcript.jsonl");
    let event = log.replace("\"iteration_count\":1", "\"iteration_count\":4");
    let body = format!(
        "{{{}",
        &event[event.find("\"after\"").expect("an event")..].trim_end()
    );
    let id = orch_base::Digest::of_blob(body.as_bytes());
    world.write(
        "tunings/a/transcript.jsonl",
        format!("{{\"id\":\"{id}\",{}\n", &body[1..]),
    );
    world.remove("tunings/a/state.json");
    world.orch(&["status"]).ends(1).says("error: repair");
    world.orch(&["recover", "a"]).succeeds();
    world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    let audit = world.orch(&["audit"]).ends(1);
    assert!(
        audit
            .stdout
            .contains("/iteration_count should be 1, but is 4"),
        "{audit:?}"
    );
}

#[test]
fn without_commits_the_imported_file_is_kept_beside_the_record() {
    let world = world();
    let settings = format!("{}\n[git]\ncommit = \"off\"\n", world.read("orch.toml"));
    world.write("orch.toml", settings);
    import(&world, "loops/d", LOOP).succeeds();
    assert_eq!(world.read("loops/d/state.json.original"), LOOP);
    assert_eq!(world.json("loops/d/state.json")["status"], "running");
}

#[test]
fn the_watch_imports_what_it_adopts_and_batches_it() {
    let world = world();
    let settings = format!(
        "{}\n[git]\nbatch_seconds = 1\n[watch]\nadopt = true\n",
        world.read("orch.toml")
    );
    world.write("orch.toml", settings);
    world.commit("Adopt");
    world.write("tunings/a/state.json", DIAGNOSING);
    world.write("loops/d/state.json", LOOP);
    world.orch(&["watch", "--once"]).succeeds();
    // One commit keeps both files, and one records both imports.
    assert_eq!(world.git(&["show", "HEAD~1:loops/d/state.json"]), LOOP);
    assert_eq!(
        world.git(&["log", "-1", "--format=%s", "HEAD~1"]).trim(),
        "orch(a, d): keep the state of the older tool"
    );
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn the_task_list_of_another_program_becomes_tasks() {
    let world = World::ready();
    let started = world.git(&["rev-parse", "HEAD"]);
    // A bad entry at the end keeps the first ones out, too.
    let broken = "{\"id\": \"bd-1\", \"title\": \"A\"}\n{\"id\": \"bd-2\"}\n";
    for (text, exit, place) in [
        (broken, 2, "list:2:1"),
        ("", 2, "list"),
        ("{\"tasks\": [", 2, "list:1:12"),
        ("# Notes\n", 2, "list"),
    ] {
        world.write("list", text);
        world
            .orch(&["new", "--from", "list"])
            .ends(exit)
            .reports(place)
            .reports("hint");
    }
    world.write("list", vec![b' '; 20_000_000]);
    world
        .orch(&["new", "--from", "list"])
        .ends(2)
        .reports("too large");
    world.orch(&["new", "--dry-run", "a"]).ends(2);
    world.orch(&["new", "a", "--from", "list"]).ends(2);
    world.write(
        "list",
        r#"{"master": {"tasks": [
            {"id": 1, "title": "Log in", "description": "With a password.", "status": "pending"},
            {"id": 2, "title": "Log out", "status": "done"}]}}"#,
    );
    world
        .orch(&["new", "--from", "list", "--dry-run"])
        .succeeds()
        .says("task-1  Log in")
        .reports("skipped 2: its status is `done`");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), started);
    let made = world.orch_json(&["new", "--from", "list"]);
    assert_eq!(made["kind"], "import");
    assert_eq!(made["tasks"][0]["task"], "task-1");
    assert_eq!(made["skipped"][0]["source"], "2");
    let directory = made["tasks"][0]["directory"].as_str().expect("a path");
    assert_eq!(
        world.read(&format!("{directory}/brief.md")),
        "# Log in\n\nWith a password.\n"
    );
    assert_eq!(
        world.json(&format!("{directory}/state.json"))["title"],
        "Log in"
    );
    let stories = "development_status:\n  epic-1: backlog\n  1-1-log-in: backlog\n";
    let issues = "{\"id\": \"Bd-1\", \"title\": \"A\"}\n{\"id\": \"bd-1\", \"title\": \"B\"}\n";
    for (text, ids) in [
        (stories, ["1-1-log-in"].as_slice()),
        (issues, &["bd-1", "bd-1-2"]),
    ] {
        world.write("list", text);
        let ended = world.orch(&["new", "--from", "list"]).succeeds();
        for id in ids {
            assert!(ended.stdout.contains(id), "{}", ended.stdout);
        }
        let before = world.git(&["rev-parse", "HEAD"]);
        world
            .orch(&["new", "--from", "list"])
            .ends(3)
            .reports(&format!("the task `{}` is there already", ids[0]))
            .reports("there is nothing to import");
        assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    }
}
