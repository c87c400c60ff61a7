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
