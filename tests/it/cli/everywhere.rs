//! `orch status --everywhere`, `orch runs` and `orch status --watch`.

use crate::harness::{World, eventually, started};
use crate::outputs::fits;
use crate::run::control::signal;
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::process::Stdio;

/// A task of an overview: where it is, and in which phase.
fn task<'v>(everywhere: &'v Value, id: &str) -> &'v Value {
    let tasks = everywhere["tasks"].as_array().expect("a list");
    let found: Vec<&Value> = tasks.iter().filter(|task| task["task"] == id).collect();
    assert_eq!(found.len(), 1, "{id} is shown once: {everywhere:#}");
    found[0]
}

/// The parts of a task that say where it is.
fn whereabouts(everywhere: &Value, id: &str) -> Value {
    let task = task(everywhere, id);
    json!([
        task["place"],
        task["currentPhase"],
        task["same"],
        task["behind"],
        task["disagreeing"]
    ])
}

fn everywhere(world: &World) -> Value {
    let answer = world.orch_json(&["status", "--everywhere"]);
    fits(&answer);
    answer
}

/// A world with a linked work tree beside it, on the branch `side`.
fn with_work_tree(world: &World) -> String {
    let side = world
        .root()
        .with_file_name("side")
        .to_string_lossy()
        .into_owned();
    world.git(&["worktree", "add", "-q", "-b", "side", &side]);
    side
}

#[test]
fn every_task_is_shown_once_where_its_record_is_furthest() {
    let world = started("planning");
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    let first = everywhere(&world);
    assert_eq!(
        whereabouts(&first, "t"),
        json!(["main", "planning", 2, 0, []])
    );
    let kinds: Vec<_> = first["places"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|place| &place["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["work-tree", "remote"],
        "one place for main, and origin/HEAD is no place of its own"
    );

    world.git(&["switch", "-q", "-c", "feature"]);
    world.walk_to("t", "codegen");
    world.orch(&["new", "only-here"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    let moved = everywhere(&world);
    assert_eq!(
        whereabouts(&moved, "t"),
        json!(["feature", "codegen", 1, 2, []])
    );
    assert_eq!(
        whereabouts(&moved, "only-here"),
        json!(["feature", "planning", 1, 0, []])
    );
    assert!(
        !world.path("tasks/only-here").exists(),
        "nothing is checked out"
    );

    // Another branch goes another way: neither record contains the other.
    world.git(&["switch", "-q", "-c", "another", "feature~2"]);
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "no"])
        .succeeds();
    world.git(&["switch", "-q", "main"]);
    let split = everywhere(&world);
    assert_eq!(
        task(&split, "t")["disagreeing"].as_array().map(Vec::len),
        Some(1),
        "{split:#}"
    );
    world
        .orch(&["status", "--everywhere"])
        .succeeds()
        .says("  other steps in: ");
    assert_eq!(world.dirty(), "");
}

#[test]
fn of_the_same_record_the_version_counts_that_lacks_the_fewest_files() {
    let world = started("planning");
    world.git(&["switch", "-q", "-c", "written"]);
    world.plan("t", 1);
    world.commit("Write the plan by hand");
    world.git(&["switch", "-q", "main"]);
    let all = everywhere(&world);
    assert_eq!(
        whereabouts(&all, "t"),
        json!(["written", "planning", 2, 0, []])
    );
    assert_eq!(task(&all, "t")["suggestedNext"], "plan_review");
}

#[test]
fn a_work_tree_stands_for_its_branch_with_what_is_not_committed() {
    let world = started("planning");
    let side = with_work_tree(&world);
    let plan = world.path("../side/tasks/t/planning");
    std::fs::create_dir_all(&plan).expect("directories");
    world.plan("t", 1);
    std::fs::rename(
        world.path("tasks/t/planning/plan.json"),
        plan.join("plan.json"),
    )
    .expect("moved");
    let all = everywhere(&world);
    assert_eq!(
        whereabouts(&all, "t"),
        json!(["side", "planning", 2, 0, []])
    );
    assert_eq!(all["places"][1]["workTree"], "../side");
    assert_eq!(
        task(&all, "t")["suggestedNext"],
        "plan_review",
        "the plan is only in its files"
    );
    // From there it is the same, seen from the other side.
    let there = world.orch_json(&["-C", &side, "status", "--everywhere"]);
    assert_eq!(whereabouts(&there, "t")[0], "side");
    assert_eq!(there["places"][1]["workTree"], "../repo");
}

#[test]
fn an_archived_task_is_not_open_on_branches_that_do_not_know_it_yet() {
    let world = started("done");
    world.git(&["branch", "old", "HEAD~3"]);
    world.orch(&["archive", "t"]).succeeds();
    assert_eq!(everywhere(&world)["tasks"], json!([]));
    let all = world.orch_json(&["status", "--everywhere", "--all"]);
    assert_eq!(
        whereabouts(&all, "archive/t"),
        json!(["main", "done", 1, 0, []])
    );
}

#[test]
fn a_branch_that_cannot_be_read_is_a_finding_and_the_others_are_shown() {
    let world = started("planning");
    world.git(&["switch", "-q", "-c", "other"]);
    world.write(
        "orch.toml",
        "version = 1\n[[root]]\npath = \"tasks/**\"\nworkflow = \"nowhere\"\n",
    );
    world.orch(&["status"]).ends(2);
    world.write("tasks/t/transcript.jsonl", "{}\n");
    world.commit("Break it");
    world.git(&["switch", "-q", "main"]);
    let all = everywhere(&world);
    assert_eq!(
        whereabouts(&all, "t"),
        json!(["main", "planning", 1, 0, ["other"]])
    );
}

#[test]
fn filters_and_patterns_choose_among_the_tasks_of_all_branches() {
    let world = World::ready();
    world.orch(&["new", "a-1"]).succeeds();
    world.git(&["switch", "-q", "-c", "feature"]);
    world.orch(&["new", "a-2"]).succeeds();
    world.walk_to("a-2", "codegen");
    world.git(&["switch", "-q", "main"]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let answer = world.orch_json(&[&["status", "--everywhere"], arguments].concat());
        let tasks = answer["tasks"].as_array().expect("a list").iter();
        tasks
            .map(|task| task["task"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(&["--phase", "codegen"]), ["a-2"]);
    assert_eq!(ids(&["a-2"]), ["a-2"]);
    assert_eq!(ids(&["a-*"]).len(), 2);
    world
        .orch(&["status", "--everywhere", "b-*"])
        .ends(2)
        .reports("has a task `b-*`");
    world
        .orch(&["status", "--everywhere", "--at", "HEAD"])
        .ends(2);
}

#[test]
fn runs_of_other_work_trees_are_listed() {
    let world = started("planning");
    let side = with_work_tree(&world);
    world.orch(&["-C", &side, "run", "t", "--", "true"]);
    let runs = world.orch_json(&["runs"]);
    fits(&runs);
    assert_eq!(runs["runs"][0]["workTree"], "../side", "{runs:#}");
    world.orch(&["runs"]).says("in ../side");
    assert_eq!(
        world.orch_json(&["-C", &side, "runs"])["runs"][0]["workTree"],
        "."
    );
    // A request about such a run is made there.
    let executor = [
        "-C",
        &side,
        "run",
        "t",
        "--",
        "sh",
        "-c",
        "touch began; exec sleep 100",
    ];
    let mut run = world
        .orch_command(&executor)
        .stdout(Stdio::null())
        .spawn()
        .expect("orch starts");
    eventually("the executor works", || {
        world.path("../side/began").exists()
    });
    let there = format!("the run of `t` is in another work tree: orch -C {side} stop t");
    world.orch(&["stop", "t"]).ends(3).says(&there);
    world.orch(&["-C", &side, "stop", "t"]).succeeds();
    run.wait().expect("ends");
    world
        .orch(&["stop", "t"])
        .ends(3)
        .says("`t` has no active or interrupted run");
}

#[test]
fn a_live_status_follows_the_files_and_gives_the_terminal_back() {
    let world = started("planning");
    world
        .orch(&["status", "--watch"])
        .ends(2)
        .reports("error: `--watch` shows the status on a terminal");
    let mut terminal = Terminal::start(world.orch_command(&["status", "--watch"]));
    terminal.shows("write planning/plan.json");
    terminal.shows("Ctrl-C ends");
    world.plan("t", 1);
    terminal.shows("move to plan_review");
    signal(&terminal.child, "INT");
    assert_eq!(terminal.ends(), Some(0));
    let shown = terminal.shown();
    assert!(
        shown.starts_with("\u{1b}[?1049h"),
        "it takes the screen: {shown:?}"
    );
    assert!(
        shown.ends_with("\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"),
        "and gives it back: {shown:?}"
    );
    let longest = shown
        .split("\u{1b}[H")
        .map(|screen| screen.lines().count())
        .max();
    assert_eq!(longest, Some(24), "it fills 24 lines and no more");
}

/// On 40 columns and 6 rows, each row is written whole, and the last lines say what is left out and how it ends.
#[test]
fn a_live_status_fits_a_small_terminal() {
    let world = World::ready();
    for number in 0..8 {
        world.orch(&["new", &format!("task-{number}")]).succeeds();
    }
    let mut terminal = Terminal::start_on(world.orch_command(&["status", "--watch"]), (40, 6));
    terminal.shows("Ctrl-C ends");
    signal(&terminal.child, "INT");
    assert_eq!(terminal.ends(), Some(0));
    let shown = terminal.shown();
    let screen = shown
        .split("\u{1b}[H")
        .nth(1)
        .and_then(|screen| screen.split("\u{1b}[J").next())
        .expect("a screen");
    let rows: Vec<&str> = screen
        .lines()
        .map(|row| row.trim_start_matches("\u{1b}[K"))
        .collect();
    assert_eq!(rows.len(), 6, "{rows:#?}");
    assert!(
        rows[4].contains("more: orch status") && rows[5].contains("Ctrl-C ends"),
        "{rows:#?}"
    );
    // Clearing behind a full row would take its last character.
    assert!(
        !rows.iter().any(|row| row.contains("\u{1b}[K")),
        "{rows:#?}"
    );
}

#[test]
fn places_of_one_name_are_told_apart() {
    let world = started("planning");
    world.git(&["update-ref", "refs/heads/origin/main", "HEAD"]);
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.git(&["switch", "-q", "--detach"]);
    let side = world
        .root()
        .with_file_name("side")
        .to_string_lossy()
        .into_owned();
    world.git(&["worktree", "add", "-q", "--detach", &side]);
    let all = everywhere(&world);
    let names = all["places"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|place| place["place"].as_str());
    let names: Vec<&str> = names.map(|name| name.expect("a name")).collect();
    let head = &world.git(&["rev-parse", "HEAD"])[..10];
    let expected = [format!("{head} (.)"), format!("{head} (../side)")];
    assert_eq!(names[..2], expected.each_ref().map(String::as_str));
    assert_eq!(
        names[2..],
        ["main", "heads/origin/main", "remotes/origin/main"]
    );
}

/// The messages of an overview about what cannot be read.
fn problems(everywhere: &Value) -> String {
    let all = everywhere["diagnostics"].as_array().expect("a list").iter();
    all.map(|finding| finding["message"].as_str().expect("a message"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Replaces the bytes of a loose object, which git protects.
fn damage(world: &World, revision: &str) {
    let id = world.git(&["rev-parse", revision]);
    let path = world.path(&format!(".git/objects/{}/{}", &id[..2], id[2..].trim()));
    std::fs::remove_file(&path).expect("a loose object");
    std::fs::write(&path, "damaged").expect("written");
}

#[test]
fn a_log_that_cannot_be_read_is_a_problem_and_neither_missing_nor_behind() {
    let world = started("planning");
    world.git(&["branch", "old"]);
    world.git(&["switch", "-q", "-c", "new"]);
    world.walk_to("t", "codegen");
    world.git(&["switch", "-q", "-c", "newer"]);
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    damage(&world, "newer:tasks/t/transcript.jsonl");
    let all = everywhere(&world);
    assert_eq!(
        whereabouts(&all, "t"),
        json!(["new", "codegen", 1, 2, []]),
        "{all:#}"
    );
    assert!(problems(&all).contains("t in newer: "), "{all:#}");

    world.git(&["branch", "-q", "-D", "newer"]);
    world.remove("tasks/t/transcript.jsonl");
    std::fs::create_dir(world.path("tasks/t/transcript.jsonl")).expect("a directory");
    let all = everywhere(&world);
    assert_eq!(
        whereabouts(&all, "t"),
        json!(["new", "codegen", 1, 1, []]),
        "{all:#}"
    );
    assert!(
        problems(&all).contains("t in main: tasks/t/transcript.jsonl cannot be read"),
        "{all:#}"
    );
}

#[test]
fn a_damaged_work_tree_or_branch_is_a_problem_of_its_own() {
    let world = started("planning");
    with_work_tree(&world);
    let damaged = |path: &str, problem: &str| {
        let all = everywhere(&world);
        assert_eq!(task(&all, "t")["currentPhase"], "planning", "{path}");
        assert!(problems(&all).contains(problem), "{path}: {all:#}");
        world.orch(&["runs"]).succeeds();
    };
    let head = world.read(".git/worktrees/side/HEAD");
    world.write(".git/worktrees/side/HEAD", "nonsense");
    damaged("HEAD", "../side: ");
    world.write(".git/worktrees/side/HEAD", head);

    world.write(".git/refs/heads/gone", "1".repeat(40) + "\n");
    damaged("gone", "refs/heads/gone: ");
    world.remove(".git/refs/heads/gone");
    std::fs::remove_dir_all(world.path("../side")).expect("removed");
    assert_eq!(
        problems(&everywhere(&world)),
        "",
        "a work tree that no longer exists is no problem"
    );
}

#[test]
fn a_branch_with_other_settings_is_evaluated_even_if_its_task_is_the_same() {
    let world = started("planning");
    world.git(&["switch", "-q", "-c", "other"]);
    world.write(
        "system/workflows/global-state-machine.md",
        "# Broken\n\n```toml orch\n[phase\n```\n",
    );
    world.commit("Other settings");
    world.git(&["switch", "-q", "main"]);
    let all = everywhere(&world);
    assert_eq!(
        whereabouts(&all, "t"),
        json!(["main", "planning", 2, 0, []])
    );
    assert!(problems(&all).contains("t in other: "), "{all:#}");
}
