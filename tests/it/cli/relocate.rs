//! `orch rename` and `orch archive`: the directory moves with its record, and the audit proves it.

use crate::harness::{World, started};
use std::fs;

/// The standings of all changes that an audit finds, and that none is forged.
fn audited(world: &World) -> Vec<String> {
    let report = world.orch_json(&["audit"]);
    let changes = report["changes"].as_array().expect("changes");
    let standings: Vec<String> = changes
        .iter()
        .map(|change| change["standing"].as_str().expect("a word").to_owned())
        .collect();
    assert!(
        standings.iter().all(|standing| standing != "forged"),
        "{report:#}"
    );
    standings
}

fn ids(world: &World, arguments: &[&str]) -> Vec<String> {
    let status = world.orch_json(arguments);
    let tasks = status["tasks"].as_array().expect("tasks");
    let mut ids: Vec<String> = tasks
        .iter()
        .map(|task| task["task"].as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    ids
}

#[test]
fn a_rename_moves_the_directory_with_its_record_in_one_proven_commit() {
    let world = started("plan_review");
    world.plan("t", 2);
    world.write("tasks/t/notes.txt", "mine");
    world
        .orch(&["rename", "t", "team/u", "--dry-run"])
        .succeeds()
        .says("renamed from t");
    assert!(world.path("tasks/t").exists());
    world
        .orch(&["rename", "t", "team/u"])
        .succeeds()
        .says("plan_review -> plan_review");
    assert!(!world.path("tasks/t").exists());
    // What was not committed moved, and is not committed.
    assert_eq!(
        world.dirty(),
        " M tasks/team/u/planning/plan.json\n?? tasks/team/u/notes.txt\n"
    );
    let changed = world.git(&["show", "--name-status", "--format=", "HEAD"]);
    assert!(
        changed.lines().all(|line| line.starts_with('R')) && changed.contains("plan.json"),
        "{changed}"
    );
    world.git(&["checkout", "-q", "--", "tasks"]);
    world.plan_review("team/u", true, 1);
    world
        .orch(&["next", "team/u"])
        .succeeds()
        .says("plan_review -> codegen");
    assert!(audited(&world).iter().all(|standing| standing == "proven"));
    world.git(&["fsck", "--strict"]);
    // The timeline names the commit of each step, also of those under the former id.
    let steps = world.orch_json(&["log", "team/u"])["entries"].clone();
    let commits: Vec<&str> = steps
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["commit"].as_str().expect("a commit"))
        .collect();
    let made = world.git(&["log", "--reverse", "--format=%H", "-4"]);
    assert_eq!(commits, made.lines().collect::<Vec<_>>());
}

#[test]
fn a_rename_is_refused_where_it_would_lose_or_hide_something() {
    let world = started("planning");
    world.orch(&["new", "other"]).succeeds();
    world
        .orch(&["rename", "t", "other"])
        .ends(2)
        .reports("already exists");
    world
        .orch(&["rename", "t", "other/sub"])
        .ends(2)
        .reports("inside task");
    world
        .orch(&["rename", "t", "Fix it"])
        .ends(2)
        .reports("orch rename t fix-it");
    world
        .orch(&["rename", "t", "archive/t"])
        .ends(2)
        .reports("orch archive");
    world.orch(&["rename", "t", "t"]).ends(2);
    world.orch(&["rename", "missing", "u"]).ends(2);
    world.plan("t", 1);
    world.git(&["add", "tasks/t"]);
    world
        .orch(&["rename", "t", "u"])
        .ends(5)
        .reports("is staged");
    world.git(&["restore", "--staged", "tasks/t"]);
    // The kernel lock of a process that drives the task.
    let driven = fs::File::open(world.path("tasks/t")).expect("a directory");
    driven.lock().expect("locked");
    world
        .orch(&["rename", "t", "u"])
        .ends(4)
        .reports("orch stop t");
    drop(driven);
    world.orch(&["rename", "t", "u"]).succeeds();
    assert_eq!(ids(&world, &["status"]), ["other", "u"]);
}

#[test]
fn a_rename_that_was_killed_is_completed_by_the_next_command() {
    let world = started("planning");
    world.orch(&["rename", "t", "u"]).succeeds();
    // As after a kill between the commit and the move.
    fs::rename(world.path("tasks/u"), world.path("tasks/t")).expect("moved");
    let journal = serde_json::json!({
        "reference": "refs/heads/main", "new": world.git(&["rev-parse", "HEAD"]).trim(), "files": [],
        "index": [], "moves": [{"from": "tasks/t", "to": "tasks/u"}],
    });
    world.write(".git/orch/journal.json", journal.to_string());
    assert_eq!(ids(&world, &["status"]), ["u"]);
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_branch_that_has_the_former_name_merges_and_code_named_by_it_counts() {
    let world = started("plan_review");
    world.git(&["branch", "other"]);
    world.orch(&["rename", "t", "u"]).succeeds();
    world.git(&["switch", "-q", "other"]);
    world.plan_review("t", true, 1);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("plan_review -> codegen");
    world.git(&["switch", "-q", "main"]);
    // git follows the record to the new place; a file that the other branch added stays at the old one.
    world.git_ended(&["merge", "-q", "--no-edit", "other"]);
    world.orch(&["resolve"]).succeeds();
    world.git(&["mv", "tasks/t/review", "tasks/u/review"]);
    world.commit("merge");
    assert_eq!(ids(&world, &["status"]), ["u"]);
    world.orch(&["next", "u"]);
    assert_eq!(world.phase_suggested("u"), "codegen");
    audited(&world);
    world.write("src/login.rs", "fn login() {}\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "-m", "Log in", "-m", "Orch-Task: u"]);
    world.orch(&["rename", "u", "v"]).succeeds();
    world
        .orch(&["next", "v"])
        .succeeds()
        .says("codegen -> review");
    audited(&world);
}

#[test]
fn a_squash_of_a_branch_that_made_and_renamed_a_task_is_not_forged() {
    let world = World::ready();
    world.git(&["switch", "-q", "-c", "feature"]);
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.orch(&["rename", "t", "u"]).succeeds();
    world.walk_to_from("u", "codegen", "review");
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "feature"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.commit("the feature");
    assert_eq!(audited(&world), ["folded"]);
    // The copy of a log under another name is not a rename.
    fs::create_dir(world.path("tasks/copy")).expect("made");
    for name in ["state.json", "transcript.jsonl"] {
        fs::copy(
            world.path(&format!("tasks/u/{name}")),
            world.path(&format!("tasks/copy/{name}")),
        )
        .expect("copied");
    }
    world.commit("a copy");
    let report = world.orch_json(&["audit", "--task", "c*"]);
    assert_eq!(report["changes"][0]["standing"], "forged", "{report:#}");
}

#[test]
fn an_archived_task_is_listed_only_on_request_and_stays_as_it_is() {
    let world = started("planning");
    world.orch(&["new", "open"]).succeeds();
    world.orch(&["archive", "t"]).ends(1).reports("--force");
    world
        .orch_by_agent(&["archive", "t", "--force", "in the way"])
        .ends(6);
    world
        .orch(&["archive", "t", "--force", "given up"])
        .succeeds()
        .says("archive/t");
    assert_eq!(
        (
            world.dirty().as_str(),
            world.path("tasks/archive/t/state.json").exists()
        ),
        ("", true)
    );
    assert_eq!(ids(&world, &["status"]), ["open"]);
    assert_eq!(ids(&world, &["status", "--all"]), ["archive/t", "open"]);
    assert_eq!(ids(&world, &["status", "t"]), ["archive/t"]);
    let suggested = world.orch_json(&["suggest"]);
    assert_eq!(suggested["suggestions"].as_array().map(Vec::len), Some(1));
    world.plan("archive/t", 1);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(
        world.json("tasks/archive/t/state.json")["phase"],
        "planning"
    );
    assert!(audited(&world).contains(&"overridden".to_owned()));
    world.git(&["clean", "-fdq"]);
    world.orch(&["archive", "archive/t"]).ends(2);
    world.orch(&["rename", "archive/t", "t"]).succeeds();
    assert_eq!(ids(&world, &["status"]), ["open", "t"]);
}

#[test]
fn a_finished_task_is_archived_in_a_root_of_one_level_too() {
    let world = World::ready();
    let settings = world.read("orch.toml").replace("tasks/**", "tasks/*");
    world.write("orch.toml", settings);
    world.commit("one level");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "done");
    world
        .orch_by_agent(&["archive"])
        .succeeds()
        .says("archive/t");
    assert_eq!(ids(&world, &["status", "--all"]), ["archive/t"]);
    world.orch(&["check"]).succeeds();
    assert!(!audited(&world).contains(&"unverifiable".to_owned()));
}

#[test]
fn the_record_of_another_task_is_never_adopted_and_the_hint_puts_it_right() {
    // What happens to task `k`, the task that has its record then, and the tasks after the hint.
    for (happens, id, tasks) in [
        ("cp -r tasks/k tasks/k2", "k2", ["k", "k2"].as_slice()),
        (
            "mkdir tasks/team; mv tasks/k tasks/team/z; git add -A",
            "team/z",
            &["team/z"],
        ),
        (
            "mkdir tasks/archive; mv tasks/k tasks/archive/z",
            "archive/z",
            &["archive/z"],
        ),
    ] {
        let world = World::ready();
        // The commands of the hint are not typed at a terminal here.
        let settings = "[[root]]\npath = \"tasks/**\"\nworkflow = \"global-state-machine\"\n\n\
                        [people]\norders = \"anyone\"\n";
        world.write("orch.toml", settings);
        world.commit("anyone");
        world.orch(&["new", "k"]).succeeds();
        world.plan("k", 1);
        world.orch(&["next", "k"]).succeeds();
        world.shell(happens);
        let told = "holds the record of task `k`";
        if happens == "cp -r tasks/k tasks/k2" {
            for command in [
                ["next", id].as_slice(),
                &["rollback", id, "--reason", "r"],
                &["recover", id],
            ] {
                world.orch(command).ends(5).reports(told);
            }
            world.orch(&["check"]).ends(1).says(told);
            world.orch(&["status"]).ends(1).says("error: repair");
            let suggested = &world.orch_json(&["suggest", id])["suggestions"][0];
            assert_eq!(suggested["kind"], "error", "{suggested:#}");
            assert_eq!(suggested["options"], serde_json::json!([]), "{suggested:#}");
        }
        let refused = world.orch(&["next", id]).ends(5).reports(told);
        let hint = refused
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("hint: "))
            .expect("a hint");
        world.shell(
            &hint
                .split_once(": ")
                .expect("commands")
                .1
                .replace("WHY", "'it was done'"),
        );
        if tasks.contains(&"k") {
            world.orch(&["new", id]).succeeds();
        }
        assert_eq!(
            ids(&world, &["status", "--all"]),
            tasks,
            "after {happens}: {hint}"
        );
        audited(&world);
        world.orch(&["check"]).succeeds();
    }
}

#[test]
fn a_committed_copy_of_a_task_is_told_and_begins_anew() {
    let world = started("plan_review");
    world.shell("cp -r tasks/t tasks/u; git add -A; git commit -qm copied");
    let told = "holds the record of task `t`";
    world.orch(&["check"]).ends(1).says(told);
    world.orch(&["status"]).ends(1).says("error: repair");
    let refused = world.orch(&["next", "u"]).ends(5).reports(told);
    let hint = refused
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: "))
        .expect("a hint");
    // It commits nothing but the removal of the copy.
    world.shell("echo work >staged; git add staged");
    world.shell(hint.split_once(": ").expect("commands").1);
    assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "staged\n");
    world.orch(&["new", "u"]).succeeds();
    world.orch(&["check"]).succeeds();
    // A task that somebody moved and committed is no copy, whatever takes its place.
    world.shell("git mv tasks/t tasks/v; git commit -qm moved");
    world.orch(&["new", "t"]).succeeds();
    world.orch(&["check"]).succeeds();
}

#[test]
fn a_file_with_the_record_of_another_task_goes_back_with_that_record() {
    let world = World::ready();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"docs/adr/*.md\"\nworkflow = \"backlog\"\n",
    );
    world.write(
        "docs/adr/a.md",
        "---\nid: a\ntitle: A\nstatus: To Do\n---\n",
    );
    world.commit("a");
    world.orch(&["new", "a"]).succeeds();
    world.shell("mv docs/adr/a.md docs/adr/b.md; mv docs/adr/.tasks/a docs/adr/.tasks/b");
    let refused = world
        .orch(&["new", "b"])
        .ends(5)
        .reports("holds the record of task `a`");
    let hint = refused
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: "))
        .expect("a hint");
    world.shell(hint.split_once(": ").expect("commands").1);
    assert_eq!(ids(&world, &["status", "--all"]), ["b"]);
    audited(&world);
}

#[test]
fn evidence_that_was_removed_before_a_rename_is_restored_to_the_new_place() {
    let world = started("codegen");
    let plan = world.read("tasks/t/planning/plan.json");
    world.remove("tasks/t/planning/plan.json");
    world.commit("Without the plan");
    world.orch(&["rename", "t", "a/u"]).succeeds();
    for directory in [".", "tasks", "tasks/a/u", "tasks/a/u/code"] {
        world.shell(&format!("mkdir -p {directory}"));
        let mut command = world.orch_command(&["suggest", "a/u"]);
        let said = world.end(
            command
                .current_dir(world.path(directory))
                .output()
                .expect("orch runs"),
        );
        let is_way = |line: &&str| line.contains("--work-tree");
        let way = said
            .stdout
            .lines()
            .find(is_way)
            .unwrap_or_else(|| panic!("{said:?}"));
        let way = &way[way.find("git ").expect("a command")..];
        let way = way.split(['#', ';']).next().expect("a part").trim();
        world.shell(&format!("cd {directory}\n{way}"));
        assert_eq!(world.read("tasks/a/u/planning/plan.json"), plan, "{way}");
        assert!(!world.path("tasks/t").exists(), "{way}");
        world.orch(&["check", "a/u"]).succeeds();
        world.remove("tasks/a/u/planning/plan.json");
    }
}
