//! Nothing passes for right because nobody looked: roots that show no task, documents with errors, ends of shallow clones.

use crate::harness::{Ended, World, started};
use serde_json::Value;

const WORKFLOW: &str = "system/workflows/global-state-machine.md";
const ZEROS: &str = "0000000000000000000000000000000000000000";

/// A world with a recorded task `t`, and a task `u` that has files and no record, both committed.
fn two_tasks() -> World {
    let world = started("plan_review");
    world.plan("u", 1);
    world.commit("Plan u");
    world
}

fn told(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

#[test]
fn what_was_broken_before_does_not_hold_back_work_elsewhere() {
    let world = two_tasks();
    world.write(
        WORKFLOW,
        world
            .read(WORKFLOW)
            .replacen("plan_review.ok", "plan_review.okay", 1),
    );
    world.commit("Break the rules");
    world.write("notes.md", "words\n");
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.plan("u", 2);
    world.git(&["add", "-A"]);
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says("it governs t, u");
}

#[test]
fn records_that_are_excluded_or_removed_or_of_another_program_are_no_tasks() {
    let world = two_tasks();
    let root = "[[root]]\npath = \"work/*\"\nexclude = [\"tasks\"]\n";
    world.write("orch.toml", root);
    world.git(&["add", "-A"]);
    world.orch(&["check"]).succeeds();
    world.orch(&["check", "--staged"]).succeeds();
    world.write("orch.toml", "[[root]]\npath = \"work/*\"\n");
    world.git(&["rm", "-q", "-r", "tasks"]);
    world.write("talks/transcript.jsonl", "{\"role\": \"user\"}\n");
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.commit("Begin again");
    world
        .orch(&["status"])
        .succeeds()
        .says("There are no tasks yet.");
}

#[test]
fn a_root_that_is_a_link_is_named() {
    let world = two_tasks();
    world.git(&["mv", "tasks", "work"]);
    std::os::unix::fs::symlink("work", world.path("tasks")).expect("a link");
    world.git(&["add", "-A"]);
    for command in [&["status"][..], &["check"], &["check", "--staged"]] {
        let ended = world.orch(command);
        assert!(
            ended.code > 0 && told(&ended).contains("tasks is a symbolic link"),
            "{command:?}: {ended:?}"
        );
    }
}

#[test]
fn a_wildcard_may_begin_a_root_and_an_id_may_be_deep() {
    for (root, task) in [
        ("**/tasks/*", "a/b/c/d/e/f/g/h/i/tasks/t"),
        ("*/tasks/*", "a/tasks/t"),
        ("*.d/*", "a.d/t"),
        ("**", "a/t"),
        ("tasks/**", "tasks/a/b/c/d/e/f/g/h/i/j"),
    ] {
        let world = World::ready();
        world.write(
            "orch.toml",
            format!("[[root]]\npath = \"{root}\"\nexclude = [\"system\"]\n"),
        );
        world.write("tasks/README", "words\n");
        world.commit("A root");
        world.orch(&["new", task]).succeeds();
        world.write(&format!("{task}/planning/plan.json"), "{");
        let status = world.orch_json(&["status"]);
        assert_eq!(
            status["tasks"].as_array().map(Vec::len),
            Some(1),
            "{root}: {status:#}"
        );
        world.orch(&["check"]).ends(1).says("json-syntax");
    }
}

#[test]
fn a_commit_in_a_repository_without_a_task_is_fine_once_something_is_set_up() {
    let world = World::new();
    world.orch(&["init"]).succeeds();
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.git(&["commit", "-q", "-m", "Set up orch"]);
    world.write("a", "a\n");
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.commit("a");
    world.orch(&["check", "--range", "HEAD"]).succeeds();
    // A branch for something else, such as pages, in the same repository.
    world.git(&["switch", "-q", "--orphan", "pages"]);
    world.write("index.html", "<p>\n");
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
}

#[test]
fn a_range_without_commits_is_nothing_and_one_from_zeros_is_what_the_branch_adds() {
    let world = two_tasks();
    let deleted = format!("HEAD..{ZEROS}");
    for range in ["HEAD..HEAD", "HEAD..HEAD~1", deleted.as_str()] {
        let ended = world.orch(&["check", "--range", range]).ends(2);
        assert!(told(&ended).contains("range"), "{ended:?}");
        let failure: Value =
            serde_json::from_str(&world.orch(&["check", "--json", "--range", range]).stdout)
                .expect("JSON");
        assert_eq!(failure["error"]["code"], "nothing-to-judge", "{range}");
    }
    let new = format!("{ZEROS}..HEAD");
    world.orch(&["check", "--range", &new]).succeeds();
    let log = "tasks/t/transcript.jsonl";
    world.write(log, world.read(log).replace("plan-ready", "plan-steady"));
    world.commit("By hand");
    world
        .orch(&["check", "--range", &new])
        .ends(1)
        .says("forged");
    // What the default branch of the remote has is not new.
    world.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    world.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    world
        .orch(&["check", "--range", &new])
        .ends(1)
        .says("forged");
    world.write("a", "a\n");
    world.commit("a");
    world.orch(&["check", "--range", &new]).succeeds();
}

#[test]
fn a_commit_at_the_end_of_a_shallow_clone_is_not_fine() {
    let world = two_tasks();
    let log = "tasks/t/transcript.jsonl";
    world.write(log, world.read(log).replace("plan-ready", "plan-steady"));
    world.commit("By hand");
    world
        .orch(&["check", "--commit", "HEAD"])
        .ends(1)
        .says("forged");
    let clone = world.path("../clone");
    let at = clone.to_str().expect("UTF-8");
    world.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        &format!("file://{}", world.root().display()),
        at,
    ]);
    let (zeros, head) = (format!("{ZEROS}..HEAD"), world.git(&["rev-parse", "HEAD"]));
    for what in [
        ["--commit", "HEAD"],
        ["--range", "HEAD"],
        ["--range", &zeros],
    ] {
        let ended = world.orch(&["-C", at, "check", what[0], what[1]]).ends(1);
        assert!(ended.stdout.contains("not-in-clone"), "{ended:?}");
        assert!(ended.stdout.contains("git fetch --unshallow"), "{ended:?}");
    }
    world.write(
        "../push",
        format!("refs/heads/new {} refs/heads/new {ZEROS}\n", head.trim()),
    );
    world.git(&["-C", at, "remote", "rm", "origin"]);
    let mut command = world.orch_command(&["-C", at, "check", "--stdin-refs"]);
    command.stdin(std::fs::File::open(world.path("../push")).expect("lines"));
    world
        .end(command.output().expect("orch runs"))
        .ends(1)
        .says("not-in-clone");
}
