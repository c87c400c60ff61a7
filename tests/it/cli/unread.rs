//! Tasks that cannot be evaluated: each face lists them first, and says so by its exit code.

use crate::harness::World;
use serde_json::Value;
use std::fs;

/// What makes it impossible to evaluate a task: its name, how it comes about, the exit code of the commands that
/// list tasks, and the tasks that are concerned, in order.
type Cause = (&'static str, fn(&World), i32, &'static [&'static str]);

const CAUSES: [Cause; 3] = [
    (
        "the recorded workflow is gone",
        |world| world.remove("system/workflows/mine.md"),
        1,
        &["t"],
    ),
    (
        "HEAD names a missing tree",
        |world| lose(world, "HEAD^{tree}"),
        1,
        &["a", "t"],
    ),
    (
        "HEAD names a missing commit",
        |world| lose(world, "HEAD"),
        70,
        &["a", "t"],
    ),
];

/// A task `t` of a workflow of the repository, and an older task `a` of one that ships.
fn world() -> World {
    let world = World::ready();
    world.orch(&["new", "a"]).succeeds();
    let shipped = world
        .orch(&["workflow", "show", "global-state-machine"])
        .succeeds()
        .stdout;
    world.write("system/workflows/mine.md", shipped);
    world.orch(&["new", "t", "--workflow", "mine"]).succeeds();
    world
}

/// Removes an object of git.
fn lose(world: &World, name: &str) {
    let id = world.git(&["rev-parse", name]);
    let (directory, file) = id.trim().split_at(2);
    fs::remove_file(world.path(&format!(".git/objects/{directory}/{file}")))
        .expect("a loose object");
}

#[test]
fn a_timeline_that_cannot_be_explained_hides_no_other() {
    let world = world();
    world.write("tasks/t/transcript.jsonl", "");
    world.remove("system/workflows/mine.md");
    let told = world
        .orch(&["log", "--all", "--json"])
        .ends(1)
        .reports("task `t`: ");
    let answer: Value = serde_json::from_str(&told.stdout).expect("one document");
    assert!(
        answer["entries"]
            .as_array()
            .is_some_and(|steps| steps.iter().all(|step| step["task"] == "a"))
    );
    assert_eq!(answer["diagnostics"][0]["code"], "unjudged");
    // Of one task, the reason is the answer.
    world
        .orch(&["log", "t"])
        .ends(2)
        .reports("there is no workflow `mine`");
}

#[test]
fn every_face_lists_them_first_and_says_so_by_its_exit_code() {
    for (cause, break_it, exit, concerned) in CAUSES {
        for is_known in [false, true] {
            let world = world();
            if is_known {
                // What was kept of an earlier look hides nothing.
                world.orch(&["status"]).succeeds();
            }
            break_it(&world);
            for (command, list) in [
                (&["status"][..], "tasks"),
                (&["suggest"][..], "suggestions"),
                (&["suggest", "--limit", "2"][..], "suggestions"),
                (&["suggest", "--for", "human"][..], "suggestions"),
            ] {
                let told = format!("{cause}: {command:?}");
                let ended = world.orch(&[command, &["--json"]].concat());
                assert_eq!(ended.code, exit, "{told}: {ended:?}");
                let answer: serde_json::Value =
                    serde_json::from_str(&ended.stdout).expect("one document");
                let rows = answer[list].as_array().expect("a list");
                let errors: Vec<&str> = rows
                    .iter()
                    .take_while(|row| {
                        row["kind"] == "error" && row["do"] == "repair" && row["owner"] == "human"
                    })
                    .filter_map(|row| row["task"].as_str())
                    .collect();
                assert_eq!(errors, concerned, "{told}: {answer}");
                assert_eq!(
                    rows.iter().filter(|row| row["kind"] == "error").count(),
                    errors.len(),
                    "{told}"
                );
                world.orch(command).ends(exit).says("error: repair");
            }
            world.orch(&["check"]).ends(exit);
            if !cfg!(feature = "board") {
                continue;
            }
            let board = world.orch(&["board", "--html", "-"]).ends(exit);
            for task in concerned {
                assert!(
                    board.stdout.contains(&format!("data-task=\"{task}\"")),
                    "{cause}: {task}"
                );
            }
        }
    }
}

#[test]
fn a_finding_about_a_task_stands_once() {
    let world = world();
    world.remove("system/workflows/mine.md");
    for (command, at) in [
        (&["suggest"][..], "/suggestions/0/diagnostics"),
        (&["suggest", "--for", "agent"][..], "/diagnostics"),
        (&["status"][..], "/diagnostics"),
    ] {
        let answer = world.orch_json(command);
        let codes: Vec<&str> = answer
            .pointer(at)
            .and_then(|found| found.as_array())
            .expect("findings")
            .iter()
            .filter_map(|found| found["code"].as_str())
            .collect();
        assert_eq!(codes, ["unjudged"], "{command:?}: {answer}");
    }
    assert_eq!(
        world.orch_json(&["suggest"])["diagnostics"],
        serde_json::json!([])
    );
}

#[test]
fn a_directory_that_is_missing_in_the_history_keeps_no_other_task_from_the_list() {
    let world = world();
    lose(&world, "HEAD:tasks/t");
    for (command, list) in [
        (&["status"][..], "tasks"),
        (&["suggest"][..], "suggestions"),
    ] {
        let ended = world.orch(&[command, &["--json"]].concat()).ends(1);
        let answer: serde_json::Value = serde_json::from_str(&ended.stdout).expect("one document");
        let told: Vec<(&str, bool)> = answer[list]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| (row["task"].as_str().expect("an id"), row["kind"] == "error"))
            .collect();
        assert_eq!(told, [("t", true), ("a", false)], "{answer}");
    }
    if cfg!(feature = "board") {
        world
            .orch(&["board", "--html", "-"])
            .ends(1)
            .says("data-task=\"a\"");
    }
}

#[test]
fn an_answer_about_a_task_in_error_exits_with_1_and_is_printed_all_the_same() {
    let world = World::ready();
    for task in ["t", "u"] {
        world.orch(&["new", task]).succeeds();
    }
    let log = world.read("tasks/t/transcript.jsonl");
    world.write("tasks/t/transcript.jsonl", log.clone() + "{\n");
    world.remove("tasks/t/state.json");
    for command in [
        &["status", "--all"][..],
        &["suggest", "t"],
        &["check", "t"],
        &["explain", "t"],
        &["explain", "u", "t"],
        &["prompt", "t"],
        &["watch", "--once", "--dry-run"],
        &["watch", "--once"],
    ] {
        let named = if command[0] == "watch" {
            "t: (no phase): error: repair"
        } else {
            "transcript.jsonl"
        };
        world.orch(command).ends(1).says(named);
    }
    let explained = world.orch(&["explain", "t", "--json"]).ends(1);
    assert_eq!(
        serde_json::from_str::<Value>(&explained.stdout).expect("JSON")["kind"],
        "explanations"
    );
    for command in [["explain", "u"], ["prompt", "u"]] {
        world.orch(&command).succeeds();
    }
    world.write("tasks/t/transcript.jsonl", log);
    for command in [
        &["explain", "t"][..],
        &["prompt", "t"],
        &["watch", "--once"],
    ] {
        world.orch(command).succeeds();
    }
}
