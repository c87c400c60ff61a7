//! A task walks from planning to done by files alone, in a real repository; nothing else moves.

use crate::harness::World;
use serde_json::{Value, json};

/// A plan that is final.
pub const PLAN: &str = r#"{
  "id": "p1", "title": "Fix the login", "brief": "Refuse empty passwords.", "status": "final",
  "scope": { "in_scope": ["src/login.rs"] }
}
"#;

const PATCH: &str = "--- a/src/login.rs\n+++ b/src/login.rs\n@@ -1 +1 @@\n-old\n+new\n";

/// Writes a report with the `of` map that orch hands out.
fn report(world: &World, path: &str, mut value: Value) {
    let answer = world.orch_json(&["suggest", "t1"]);
    let expected = answer["suggestions"][0]["expects"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let full = format!("tasks/t1/{path}");
    if let Some(of) = expected
        .iter()
        .find(|one| one["path"] == full.as_str())
        .map(|one| one["of"].clone())
    {
        value["of"] = of;
    }
    world.write(&full, format!("{value:#}\n"));
}

fn plan_accepted(world: &World, minute: u32) {
    let at = format!("2026-01-01T00:{minute:02}:00Z");
    report(
        world,
        "review/plan/verdict.json",
        json!({"ok": true, "issues": [], "finished_at": at}),
    );
}

fn code_accepted(world: &World, minute: u32) {
    let at = format!("2026-01-01T01:{minute:02}:00Z");
    report(
        world,
        "review/code/verdict.json",
        json!({"ok": true, "issues": [], "finished_at": at}),
    );
}

fn tests(world: &World, failures: u32, name: &str) {
    let failure = if failures > 0 {
        "<failure message='no'/>"
    } else {
        ""
    };
    let xml =
        format!("<testsuite name='{name}'><testcase name='a'>{failure}</testcase></testsuite>\n");
    world.write("tasks/t1/eval/junit.xml", xml);
}

/// Applies one move and checks that it leads where it should and leaves nothing behind.
#[track_caller]
fn moves_to(world: &World, phase: &str) {
    moved_by(world, "next", phase);
}

/// The same by another command.
#[track_caller]
fn moved_by(world: &World, command: &str, phase: &str) {
    world.orch(&[command, "t1"]).succeeds();
    assert_eq!(world.phase("t1"), phase);
    assert_eq!(
        world.dirty(),
        "",
        "git status shows something after the move to {phase}"
    );
    let subject = world.git(&["log", "-1", "--format=%s"]);
    assert!(
        subject.trim_end().ends_with(&format!("-> {phase}")),
        "{subject}"
    );
}

fn at_test(world: &World) {
    world
        .orch(&["new", "t1", "--title", "Fix the login"])
        .succeeds();
    world.write("tasks/t1/planning/plan.json", PLAN);
    moves_to(world, "plan_review");
    plan_accepted(world, 1);
    moves_to(world, "codegen");
    world.write("tasks/t1/code/diff.patch", PATCH);
    moves_to(world, "review");
    code_accepted(world, 1);
    moves_to(world, "test");
}

#[test]
fn from_planning_to_done() {
    let world = World::ready();
    at_test(&world);
    tests(&world, 0, "one");
    moves_to(&world, "accept");
    report(
        &world,
        "accept/decision.json",
        json!({"verdict": "accepted", "reasons": ["it works"]}),
    );
    moved_by(&world, "approve", "done");
    world.orch(&["next", "t1"]).ends(3);
    world.orch(&["check"]).succeeds();
    let log = world.orch_json(&["log", "t1"]);
    let entries = log["entries"].as_array().expect("entries");
    assert_eq!(entries.len(), 7);
    assert!(
        entries.iter().all(|entry| entry["commit"].is_string()),
        "{log:#}"
    );
    let fsck = world.git_ended(&["fsck", "--strict"]);
    assert_eq!((fsck.code, fsck.stdout.as_str()), (0, ""), "{fsck:?}");
}

#[test]
fn a_commit_carries_its_own_proof() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.write("tasks/t1/notes.txt", "nobody declared this\n");
    let older = [
        "accept/summary.md",
        "meta.json",
        "planning/brief.md",
        "planning/plan.md",
    ];
    older
        .iter()
        .for_each(|path| world.write(&format!("tasks/t1/{path}"), "{}\n"));
    world.orch(&["next", "t1"]).succeeds();
    let files = world.git(&["show", "--name-only", "--format=", "HEAD"]);
    let mut names: Vec<&str> = files.lines().collect();
    names.sort_unstable();
    let mut expected = ["planning/plan.json", "state.json", "transcript.jsonl"].to_vec();
    expected.extend(older);
    expected.sort_unstable();
    assert_eq!(
        names,
        expected
            .iter()
            .map(|path| format!("tasks/t1/{path}"))
            .collect::<Vec<_>>()
    );
    let blob = world.git(&["hash-object", "tasks/t1/planning/plan.json"]);
    let body = world.git(&["log", "-1", "--format=%B"]);
    assert!(
        body.contains(&format!(
            "Orch-Evidence: planning/plan.json@{}",
            blob.trim()
        )),
        "{body}"
    );
    assert_eq!(world.dirty(), "?? tasks/t1/notes.txt\n");
}

#[test]
fn a_failing_run_is_used_up_and_a_rerun_of_the_same_code_may_pass() {
    let world = World::ready();
    at_test(&world);
    tests(&world, 1, "one");
    moves_to(&world, "codegen");
    // The same report moves nothing any more, and neither does the same patch.
    world.orch(&["next", "t1"]).ends(3);
    // A new run of the same code passes: the task continues without a new patch.
    tests(&world, 0, "two");
    moves_to(&world, "review");
    moves_to(&world, "test");
    moves_to(&world, "accept");
}

#[test]
fn an_edited_plan_goes_back_to_its_review() {
    let world = World::ready();
    at_test(&world);
    world.write(
        "tasks/t1/planning/plan.json",
        PLAN.replace("Refuse", "Reject"),
    );
    moves_to(&world, "plan_review");
    world.orch(&["next", "t1"]).ends(3);
    plan_accepted(&world, 2);
    moves_to(&world, "codegen");
    world.orch(&["next", "t1"]).ends(3).says("stale");
}

#[test]
fn a_skip_is_refused_and_an_override_is_recorded() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.orch(&["next", "t1", "--to", "codegen"]).ends(1);
    assert_eq!(world.phase("t1"), "planning");
    world
        .orch(&["next", "t1", "--override", "  "])
        .ends(1)
        .reports("reason");
    world
        .orch(&["next", "t1", "--override", "trust me", "--to", "nowhere"])
        .ends(2)
        .reports("reachable");
    world
        .orch(&["next", "t1", "--override", "the plan is in my head"])
        .succeeds();
    assert_eq!(world.phase("t1"), "plan_review");
    assert!(
        world
            .git(&["log", "-1", "--format=%B"])
            .contains("Orch-Override: the plan is in my head")
    );
    assert_eq!(
        world.json("tasks/t1/state.json")["waived"]["plan"],
        json!(2)
    );
}

#[test]
fn people_send_back_confirm_and_reopen() {
    let world = World::ready();
    at_test(&world);
    world
        .orch(&[
            "rollback",
            "t1",
            "--to",
            "codegen",
            "--reason",
            "second thoughts",
        ])
        .succeeds()
        .says("git revert");
    assert_eq!(world.phase("t1"), "codegen");
    world.orch(&["next", "t1"]).ends(3);
    world
        .orch(&["confirm", "t1", "patch", "--reason", "it was right"])
        .succeeds();
    moves_to(&world, "review");
    world
        .orch(&["rollback", "t1", "--to", "test", "--reason", "no"])
        .ends(1);
    world.orch(&["reopen", "t1", "--reason", "no"]).ends(1);
}

#[test]
fn what_the_user_staged_stays_as_it_was() {
    let world = World::ready();
    world.write("src/a.rs", "fn a() {}\n");
    world.write("src/b.rs", "fn b() {}\n");
    world.write("src/gone.rs", "x\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "code"]);
    world.orch(&["new", "t1"]).succeeds();
    // Staged and unstaged edits, a new file, an intended one, a removal, a mode.
    world.write("src/a.rs", "fn a() { 1 }\n");
    world.git(&["add", "src/a.rs"]);
    world.write("src/a.rs", "fn a() { 2 }\n");
    world.write("src/new.rs", "fn new() {}\n");
    world.git(&["add", "src/new.rs"]);
    world.write("src/later.rs", "fn later() {}\n");
    world.git(&["add", "-N", "src/later.rs"]);
    world.git(&["rm", "-q", "--cached", "src/gone.rs"]);
    world.git(&["update-index", "--chmod=+x", "src/b.rs"]);
    world.write("tasks/t1/planning/plan.json", PLAN);
    let view = || {
        let others = ["--", ".", ":!tasks/t1"];
        [
            world.git(&[&["diff", "--cached"], &others[..]].concat()),
            world.git(&[&["diff"], &others[..]].concat()),
            world.git(&[&["ls-files", "-s"], &others[..]].concat()),
            world.git(&[&["status", "--porcelain"], &others[..]].concat()),
        ]
    };
    let before = view();
    world.orch(&["next", "t1"]).succeeds();
    assert_eq!(view(), before);
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks"]), "");
}

#[test]
fn another_staged_version_is_told_and_left() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.write(
        "tasks/t1/planning/plan.json",
        PLAN.replace("final", "draft"),
    );
    world.git(&["add", "tasks/t1/planning/plan.json"]);
    let staged = world.git(&["ls-files", "-s", "tasks/t1/planning"]);
    world.write("tasks/t1/planning/plan.json", PLAN);
    world
        .orch(&["next", "t1"])
        .succeeds()
        .reports("staged another version");
    assert_eq!(world.git(&["ls-files", "-s", "tasks/t1/planning"]), staged);
    assert_eq!(
        world.git(&["show", "HEAD:tasks/t1/planning/plan.json"]),
        PLAN
    );
}

#[test]
fn the_repository_may_say_not_now() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.write("tasks/t1/planning/plan.json", PLAN);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["checkout", "-q", "--detach"]);
    world.orch(&["next", "t1"]).ends(5).reports("detached");
    world.git(&["checkout", "-q", "main"]);
    world.write(".git/MERGE_HEAD", &head);
    world.orch(&["next", "t1"]).ends(5).reports("merge");
    world.remove(".git/MERGE_HEAD");
    world.write(".git/index.lock", "");
    world.orch(&["next", "t1"]).ends(4).reports("index.lock");
    world.remove(".git/index.lock");
    world.write(".git/info/exclude", "plan.json\n");
    world.orch(&["next", "t1"]).ends(5).reports("ignores");
    world
        .orch(&["check", "t1"])
        .ends(1)
        .says("evidence-ignored");
    world.write(".git/info/exclude", "");
    world.write("orch.toml", "[git]\nprotected = [\"main\"]\n");
    world.orch(&["next", "t1"]).ends(5).reports("protected");
    world.write("orch.toml", "[git]\nprotcted = []\n");
    world.orch(&["next", "t1"]).ends(2).reports("protected");
    world.remove("orch.toml");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    moves_to_with(&world);
}

fn moves_to_with(world: &World) {
    world.orch(&["next", "t1"]).succeeds();
    assert_eq!(world.phase("t1"), "plan_review");
}

#[test]
fn a_lost_log_is_an_error_and_comes_back() {
    let world = World::ready();
    at_test(&world);
    let whole = (
        world.read("tasks/t1/state.json"),
        world.read("tasks/t1/transcript.jsonl"),
    );
    world.remove("tasks/t1/state.json");
    world.orch(&["suggest", "t1"]).says("state-folded");
    world.orch(&["recover", "t1"]).succeeds();
    world.remove("tasks/t1/state.json");
    world.remove("tasks/t1/transcript.jsonl");
    world.orch(&["next", "t1"]).ends(5);
    world.orch(&["recover", "t1"]).succeeds();
    assert_eq!(
        (
            world.read("tasks/t1/state.json"),
            world.read("tasks/t1/transcript.jsonl")
        ),
        whole
    );
}

#[test]
fn a_branch_without_the_task_records_nothing_for_it() {
    let world = World::ready();
    world.git(&["branch", "other"]);
    world.orch(&["new", "t1"]).succeeds();
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.git(&["checkout", "-q", "other"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.orch(&["next", "t1"]).ends(1).reports("orch new t1");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert!(!world.path("tasks/t1/state.json").exists());
    let answer = world.orch_json(&["suggest", "t1"]);
    assert_eq!(
        answer["suggestions"][0]["diagnostics"][0]["code"],
        "untracked"
    );
}

#[test]
fn outside_git_everything_works_but_committing() {
    let world = World::without_git();
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t1"]).succeeds();
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.orch(&["next", "t1"]).succeeds();
    assert_eq!(world.phase("t1"), "plan_review");
    assert_eq!(world.read("tasks/t1/transcript.jsonl").lines().count(), 2);
    world.orch(&["log", "t1"]).succeeds().says("plan_review");
    assert_eq!(
        world.orch_json(&["explain", "t1"])["explanations"][0]["committed"],
        Value::Null
    );
}

#[test]
fn init_changes_nothing_the_second_time() {
    let world = World::ready();
    world.orch(&["init"]).succeeds().says("already set up");
    assert_eq!(world.dirty(), "");
}
