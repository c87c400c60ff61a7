//! A task's life in repositories of git 3's formats, by real git: nothing is different there but the ids.

use crate::harness::{World, skipped, started};
use orch_base::{Digest, ObjectFormat};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A repository of this kind after `orch init`; `None` if this git refuses to create one, and only then.
pub fn ready_with(options: &[&str]) -> Option<World> {
    let world = World::without_git();
    let begun = world.git_ended(&[&["init", "-q", "-b", "main"], options].concat());
    if begun.code != 0 {
        assert!(begun.stderr.contains("unknown"), "{begun:?}");
        skipped(&format!("this git knows no {options:?}"));
        return None;
    }
    world.orch(&["init"]).succeeds();
    world.commit("Set up orch");
    Some(world)
}

const SHA256: &str = "--object-format=sha256";

/// Runs a story in a repository with SHA-256 ids.
fn in_sha256(story: fn(&World)) {
    ready_with(&[SHA256]).iter().for_each(story);
}

/// Runs a story in a repository with a reftable.
fn in_reftable(story: fn(&World)) {
    ready_with(&["--ref-format=reftable"])
        .iter()
        .for_each(story);
}

/// Git finds nothing wrong and nothing left over, and neither does the audit.
fn sound(world: &World) {
    assert_eq!(world.dirty(), "");
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    assert!(!world.path(".git/orch/journal.json").exists());
    world.orch(&["audit"]).succeeds();
}

/// A task goes to its end, is sent back on the way, and loses its log; every reader of its history agrees.
fn a_whole_life(world: &World) {
    world.orch(&["hook", "install", "--pre-commit"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "test");
    world.tests("t", 1, 1);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("test -> codegen");
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("code/diff.patch");
    world.patch("t", 2);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("codegen -> review");
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "why"])
        .succeeds();
    world.plan("t", 2);
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.write("tasks/t/planning/plan.json", "{");
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).ends(1);
    world.plan("t", 2);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "A plan by hand"]);
    world.orch(&["check", "--range", "HEAD"]).succeeds();
    world.remove("tasks/t/transcript.jsonl");
    world.orch(&["suggest", "t"]).ends(1).says("orch recover t");
    world.orch(&["recover", "t"]).succeeds();
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
    world.orch(&["log", "t"]).succeeds().says("rollback");
    world.orch(&["new", "u"]).succeeds();
    world.walk_to("u", "done");
    world.orch(&["check"]).succeeds();
    sound(world);
}

#[test]
fn a_whole_life_in_sha256() {
    in_sha256(a_whole_life);
}

#[test]
fn a_whole_life_in_a_reftable() {
    in_reftable(a_whole_life);
}

/// Every digest that a record and a commit message hold is one of the repository.
fn every_id_is_one_of_the_repository(world: &World) {
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    let message = world.git(&["log", "-1", "--format=%B"]);
    let record = [
        world.read("tasks/t/transcript.jsonl"),
        world.read("tasks/t/state.json"),
        message,
    ]
    .concat();
    let is_word = |letter: char| !letter.is_ascii_alphanumeric();
    let ids: Vec<Digest> = record.split(is_word).filter_map(Digest::parse).collect();
    assert!(ids.len() > 20, "{record}");
    assert!(
        ids.iter().all(|id| id.format() == ObjectFormat::Sha256),
        "{record}"
    );
    let told = world.orch_json(&["suggest", "t"])["suggestions"][0]["inputs"].clone();
    let plan = world.git(&["rev-parse", "HEAD:tasks/t/planning/plan.json"]);
    assert!(told.to_string().contains(plan.trim()), "{told}");
}

#[test]
fn every_id_is_a_sha256() {
    in_sha256(every_id_is_one_of_the_repository);
}

/// Two work trees, two commands at once, and one that is killed at any moment.
fn side_by_side(world: &World) {
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world.orch(&["-C", "../side", "new", "s"]).succeeds();
    assert_eq!(world.git(&["-C", "../side", "status", "--porcelain"]), "");
    for task in ["a", "b", "c", "d"] {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    let both = ["a", "b"].map(|task| world.orch_spawn(&["next", task]));
    for child in both {
        let ended = child.wait_with_output().expect("orch ends");
        assert!(ended.status.success(), "{ended:?}");
    }
    for (task, moment) in [("c", 6), ("d", 12)] {
        killed_after(world, task, Duration::from_millis(moment));
        let ended = world.orch(&["next", task, "--expect", "plan_review"]);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    for task in ["a", "b", "c", "d"] {
        assert_eq!(world.phase(task), "plan_review");
        assert_eq!(
            world
                .read(&format!("tasks/{task}/transcript.jsonl"))
                .lines()
                .count(),
            2,
            "{task}"
        );
    }
    sound(world);
}

/// Starts to move a task, and kills the process after this time.
fn killed_after(world: &World, task: &str, moment: Duration) {
    let mut command = world.orch_command(&["next", task]);
    let mut child: Child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("orch starts");
    sleep(moment);
    let _ = child.kill();
    child.wait().expect("it ended");
}

#[test]
fn side_by_side_in_sha256() {
    in_sha256(side_by_side);
}

#[test]
fn side_by_side_in_a_reftable() {
    in_reftable(side_by_side);
}

/// A packed repository with a commit graph, a first commit by `orch`, and an index that only git writes.
fn packed_and_new(world: &World) {
    world.orch(&["new", "t"]).succeeds();
    world.git(&["update-index", "--split-index"]);
    world.git(&["gc", "-q"]);
    world.git(&["commit-graph", "write", "--reachable"]);
    world.git(&["multi-pack-index", "write"]);
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "--orphan", "unborn"]);
    world.git(&["restore", "-s", "main", "--", "orch.toml", "system"]);
    world.orch(&["new", "first"]).succeeds();
    assert_eq!(
        world.git(&["log", "--format=%s"]),
        "orch(first): new -> planning\n"
    );
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn packed_and_new_in_sha256() {
    in_sha256(packed_and_new);
}

/// Two branches move one task, and git merges its log.
fn merged(world: &World) {
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.git(&["switch", "-q", "-c", "side"]);
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "why"])
        .succeeds();
    world.git(&["switch", "-q", "main"]);
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    if world
        .git_ended(&["merge", "-q", "side", "-m", "Merge"])
        .code
        != 0
    {
        world.orch(&["resolve"]).succeeds();
        world.git(&["commit", "-q", "--no-edit"]);
    }
    world.orch(&["suggest", "t"]).succeeds().says("planning");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn merged_in_sha256() {
    in_sha256(merged);
}

#[test]
fn merged_in_a_reftable() {
    in_reftable(merged);
}

#[test]
fn a_record_of_another_object_format_is_named_and_its_files_start_anew() {
    let Some(world) = ready_with(&[SHA256]) else {
        return;
    };
    let old = started("codegen");
    for file in [
        "state.json",
        "transcript.jsonl",
        "planning/plan.json",
        "review/plan/verdict.json",
    ] {
        world.write(
            &format!("tasks/t/{file}"),
            old.read(&format!("tasks/t/{file}")),
        );
    }
    const CODE: &str = "other-object-format";
    world.orch(&["suggest", "t"]).ends(1).says(CODE);
    world.commit("A task from elsewhere");
    world.orch(&["suggest", "t"]).ends(1).says(CODE);
    world.orch(&["check"]).ends(1).says(CODE);
    world
        .orch(&["next", "t"])
        .ends(1)
        .reports("not SHA-256")
        .reports("start a new task");
    let head = world.git(&["rev-parse", "HEAD"]);
    let ordered = world.orch(&["next", "t", "--override", "why", "--to", "done"]);
    assert_ne!(ordered.code, 0);
    ordered.reports("not SHA-256");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.orch(&["status"]).ends(1);
    world.orch(&["new", "u"]).succeeds();
    world.git(&["mv", "tasks/t/planning", "tasks/u/planning"]);
    world.git(&["rm", "-qr", "tasks/t"]);
    world.commit("Start again");
    world
        .orch(&["next", "u"])
        .succeeds()
        .says("planning -> plan_review");
    sound(&world);
}

#[test]
fn a_task_that_is_older_than_its_sha256_repository_is_adopted() {
    for phase in ["planning", "test"] {
        let world = World::without_git();
        if world
            .git_ended(&["init", "-q", "--bare", SHA256, "../probe"])
            .code
            != 0
        {
            return skipped("this git knows no SHA-256");
        }
        world.orch(&["init"]).succeeds();
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", phase);
        world.git(&["init", "-q", "-b", "main", SHA256]);
        world
            .orch(&["new", "t"])
            .succeeds()
            .reports("those of another object format, and are SHA-256 now");
        assert_eq!(world.phase("t"), phase);
        assert!(
            Digest::parse(
                world.json("tasks/t/state.json")["heads"][0]
                    .as_str()
                    .expect("an id")
            )
            .is_some()
        );
        world.commit("all");
        world.walk_to_from("t", phase, "done");
        // Before `git init` there was no code, which a step that rests on it cannot prove.
        let audit = world.orch_json(&["audit"]);
        let changes = audit["changes"].as_array().expect("changes");
        let standings: Vec<&str> = changes
            .iter()
            .filter_map(|change| change["standing"].as_str())
            .collect();
        let first = if phase == "planning" {
            "folded"
        } else {
            "unverifiable"
        };
        assert_eq!(standings[0], first, "{audit:#}");
        assert!(
            standings[1..].iter().all(|standing| *standing == "proven"),
            "{standings:?}"
        );
    }
}

const PLANS: &str = "\
# Plans

```toml orch
[artifact.plan]
path = \"plans/*.json\"

[phase.planning]
produces = [\"plan\"]

[phase.review]

[phase.done]
terminal = true

[[rule]]
id = \"planned\"
from = \"planning\"
when = \"plan.ready\"
to = \"review\"
because = \"there is a plan\"

[[rule]]
id = \"reviewed\"
from = \"review\"
when = \"false\"
to = \"done\"
because = \"it is done\"
```
";

/// A repository that is younger than its task, whose used-up evidence git stores with other line ends.
#[test]
fn used_up_evidence_stays_used_up_in_a_younger_repository_with_conversions() {
    for plans in [1, 2] {
        let world = World::without_git();
        if world
            .git_ended(&["init", "-q", "--bare", SHA256, "../probe"])
            .code
            != 0
        {
            return skipped("this git knows no SHA-256");
        }
        world.orch(&["init"]).succeeds();
        world.write("system/workflows/plans.md", PLANS);
        world.write(
            "orch.toml",
            "[[root]]\npath = \"tasks/*\"\nworkflow = \"plans\"\n",
        );
        world.write("tasks/.gitattributes", "*.json text\n");
        world.orch(&["new", "t"]).succeeds();
        for nth in 0..plans {
            world.write(&format!("tasks/t/plans/{nth}.json"), "{\r\n}\r\n");
        }
        world
            .orch(&["next", "t"])
            .succeeds()
            .says("planning -> review");
        world
            .orch(&["rollback", "t", "--to", "planning", "--reason", "no"])
            .succeeds();
        let log = world.read("tasks/t/transcript.jsonl");
        world.git(&["init", "-q", "-b", "main", SHA256]);
        world
            .orch(&["new", "t"])
            .succeeds()
            .reports("transcript.jsonl.original");
        assert_eq!(
            world.read("tasks/t/transcript.jsonl.original"),
            log,
            "the log as it was is kept"
        );
        world
            .orch(&["next", "t"])
            .ends(3)
            .says("unchanged since attempt 1 was sent back");
        world.write("tasks/t/plans/0.json", "{\"new\": 1}\n");
        world
            .orch(&["next", "t"])
            .succeeds()
            .says("planning -> review");
    }
}
