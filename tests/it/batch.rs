//! Steps that share a commit are as provable as those with a commit each.

use crate::harness::{World, taken};
use crate::looks::{caller, open, world};
use orch_base::RepoPath;
use orch_engine::drive::{WatchEffect, WatchEvent, WatchMode, Watching};
use serde_json::Value;

const SETTINGS: &str = "[[root]]\npath = \"tasks/**\"\n[git]\nbatch_seconds = 60\n";

/// A world with the tasks `a` and `b`, in which several steps of both are due.
fn due() -> World {
    let world = World::ready();
    world.write("orch.toml", SETTINGS);
    world.commit("Batch");
    for task in ["a", "b"] {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
        world.plan_review_of(task, true, 1);
    }
    world.patch("a", 1);
    world
}

fn commits(world: &World) -> usize {
    world
        .git(&["rev-list", "--count", "HEAD"])
        .trim()
        .parse()
        .expect("a number")
}

/// The verdicts of the audit about the last commit, by task.
fn last(world: &World) -> Vec<(String, String, usize)> {
    let audit = world.orch_json(&["audit", "--strict"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    let changes = audit["changes"].as_array().cloned().expect("changes");
    let of_head = changes
        .into_iter()
        .filter(|change| change["commit"] == head.trim());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    of_head
        .map(|change| {
            let steps = change["steps"].as_array().map_or(0, Vec::len);
            (text(&change["task"]), text(&change["standing"]), steps)
        })
        .collect()
}

#[test]
fn next_of_several_tasks_is_one_commit() {
    let world = due();
    let before = commits(&world);
    world
        .orch(&["next", "*"])
        .succeeds()
        .says("a: planning -> plan_review")
        .says("b: planning -> plan_review");
    assert_eq!(commits(&world), before + 1);
    assert_eq!(
        last(&world),
        [
            ("a".into(), "proven".into(), 1),
            ("b".into(), "proven".into(), 1)
        ]
    );
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn what_is_due_together_is_one_commit_with_several_events_of_several_tasks() {
    let world = due();
    let before = commits(&world);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(commits(&world), before + 1);
    assert_eq!(
        (world.phase("a"), world.phase("b")),
        ("review".to_owned(), "codegen".to_owned())
    );
    assert_eq!(world.dirty(), "");
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("orch(a, b): planning -> review, codegen\n\n- a: planning ->"),
        "{message}"
    );
    let trailers = world.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Orch-Task,valueonly,separator=%x2C)",
    ]);
    assert_eq!(trailers, "a,a,a,b,b\n");

    // Subjects that stand for the moves of both, or are about anything else.
    for subject in [
        "planning, plan_review -> codegen",
        "2 phases -> codegen",
        "b plan_review -> codegen",
    ] {
        let told = format!("{subject}\n{}", message.split_once('\n').expect("a body").1);
        world.git(&["commit", "-q", "--amend", "-m", &told]);
        assert_eq!(
            last(&world)[0],
            ("a".into(), "folded".into(), 3),
            "{subject}"
        );
    }
    assert_eq!(
        last(&world),
        [
            ("a".into(), "folded".into(), 3),
            ("b".into(), "folded".into(), 2)
        ]
    );
    world.orch(&["audit", "--strict"]).succeeds();
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).succeeds();
    world.orch(&["check", "--commit", "HEAD"]).succeeds();
    // The timeline has every event, with the commit that contains it.
    let head = world.git(&["rev-parse", "HEAD"]);
    for (task, steps) in [("a", 3), ("b", 2)] {
        let log = world.orch_json(&["log", task]);
        let entries = log["entries"].as_array().cloned().expect("entries");
        let here = entries
            .iter()
            .filter(|entry| entry["commit"] == head.trim());
        assert_eq!((entries.len(), here.count()), (steps + 1, steps), "{log:#}");
    }
    world
        .orch(&["explain", "a", "--at", "HEAD~1"])
        .succeeds()
        .says("planning");
    world.orch(&["explain", "a", "--at", "HEAD"]).succeeds();

    // What follows is proven on top of it, and it can be undone as a whole.
    world.git(&["switch", "-q", "-c", "undone"]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.orch(&["audit", "--strict"]).succeeds();
    assert_eq!(world.phase("a"), "planning");
    world.git(&["switch", "-q", "main"]);
    world
        .orch(&["rollback", "a", "--reason", "the wrong way"])
        .succeeds();
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn a_send_back_begins_a_commit_of_its_task_alone() {
    for (settings, number) in [("", 3), (SETTINGS, 2)] {
        let world = World::ready();
        if !settings.is_empty() {
            world.write("orch.toml", settings);
            world.commit("Join tasks");
        }
        for task in ["a", "b"] {
            world.orch(&["new", task]).succeeds();
            world.plan(task, 1);
        }
        world.plan_review_of("a", true, 1);
        world.plan_review_of("b", false, 1);
        world.patch("a", 1);
        let before = commits(&world);
        let told = world.orch(&["watch", "--once"]).succeeds();
        let log = world.git(&["log", "--reverse", "--format=%s", "-3"]);
        let expected = if settings.is_empty() {
            "orch(a): planning -> review\norch(b): planning -> plan_review\norch(b): plan_review -> planning\n"
        } else {
            "orch(b): new -> planning\norch(a, b): planning -> review, plan_review\norch(b): plan_review -> planning\n"
        };
        assert_eq!(log, expected);
        assert_eq!(commits(&world), before + number);
        // Its revert takes back nothing else.
        let head = world.git(&["rev-parse", "HEAD"]);
        assert!(
            told.stdout
                .contains(&format!("undo: git revert {}", head.trim())),
            "{told:?}"
        );
        world.git(&["revert", "--no-edit", "HEAD"]);
        assert_eq!(
            (world.phase("a"), world.phase("b")),
            ("review".to_owned(), "plan_review".to_owned())
        );
        world.orch(&["audit", "--strict"]).succeeds();
    }
}

#[test]
fn the_trailers_of_a_batch_say_what_the_record_says() {
    let world = due();
    world.orch(&["watch", "--once"]).succeeds();
    let honest = world.git(&["log", "-1", "--format=%B"]);
    for (from, to, why) in [
        ("Orch-To: review", "Orch-To: done", "Orch-To says \"done\""),
        (
            "Orch-Kind: advance",
            "Orch-Kind: regress",
            "Orch-Kind says \"regress\"",
        ),
        (
            "Orch-Task: b\nOrch-From: plan_review",
            "Orch-Task: c\nOrch-From: plan_review",
            "a step of `c`",
        ),
        (
            "Orch-Task: b\nOrch-From: plan_review\nOrch-To: codegen",
            "Orch-Task: a\nOrch-From: plan_review\nOrch-To: planning",
            "says",
        ),
    ] {
        assert!(honest.contains(from), "{from} in {honest}");
        world.git(&[
            "commit",
            "-q",
            "--amend",
            "-m",
            &honest.replacen(from, to, 1),
        ]);
        world.orch(&["audit"]).ends(1).says(why);
        world.orch(&["check", "--commit", "HEAD"]).ends(1).says(why);
    }
    // In reverse, each step is still told by itself; sorted, any line may describe any of them.
    let (text, trailers) = honest.trim_end().rsplit_once("\n\n").expect("trailers");
    let mut lines: Vec<&str> = trailers.lines().rev().collect();
    world.git(&[
        "commit",
        "-q",
        "--amend",
        "-m",
        &format!("{text}\n\n{}", lines.join("\n")),
    ]);
    world.orch(&["audit", "--strict"]).succeeds();
    lines.sort_unstable();
    world.git(&[
        "commit",
        "-q",
        "--amend",
        "-m",
        &format!("{text}\n\n{}", lines.join("\n")),
    ]);
    world
        .orch(&["audit", "--strict"])
        .ends(1)
        .says("unverifiable")
        .says("the trailers of several steps are mixed");
    world.git(&["commit", "-q", "--amend", "-m", &honest]);
    world.orch(&["audit", "--strict"]).succeeds();
    // The evidence of one step was exchanged.
    let path = "tasks/a/review/plan/verdict.json";
    world.write(path, world.read(path).replace("true", "false"));
    world.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
    world
        .orch(&["audit", "--strict"])
        .ends(1)
        .says("unverifiable");
}

#[test]
fn committed_code_is_as_provable_in_a_batch() {
    let world = World::ready();
    world.write("orch.toml", SETTINGS);
    world.commit("Batch");
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.plan_review_of("t", true, 1);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    world.commit_code("1", Some("t"));
    world.orch(&["watch", "--once"]).succeeds();
    world.code_review("t", true, 1);
    world.tests("t", 0, 1);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.phase("t"), "accept");
    assert_eq!(last(&world), [("t".into(), "folded".into(), 2)]);
    world.accept("t");
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn the_watch_commits_when_no_more_becomes_due() {
    let world = world();
    world.write("orch.toml", SETTINGS);
    world.commit("Batch");
    world.orch(&["new", "t2"]).succeeds();
    let mut watching = Watching::new(open(&world), caller(), WatchMode::Apply);
    taken(&mut watching, vec![WatchEvent::Start]);
    let before = commits(&world);
    let mut waits = vec![watching.waits()];
    for (task, write) in [
        ("t1", World::plan as fn(&World, &str, u32)),
        ("t2", World::plan),
    ] {
        write(&world, task, 1);
        let path = RepoPath::new(format!("tasks/{task}/planning/plan.json")).expect("a path");
        let effects = taken(&mut watching, vec![WatchEvent::Changed(vec![path.clone()])]);
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, WatchEffect::Stands(_))),
            "it is reported"
        );
        taken(&mut watching, vec![WatchEvent::Changed(vec![path])]);
        waits.push(watching.waits());
        // Looking at everything neither commits nor prolongs the wait.
        taken(&mut watching, vec![WatchEvent::Rescan("the test")]);
        assert_eq!(watching.waits(), *waits.last().expect("a number"));
    }
    assert_eq!(waits, [None, Some(1), Some(2)]);
    assert_eq!(
        (commits(&world), world.phase("t1")),
        (before, "planning".to_owned())
    );
    taken(&mut watching, vec![WatchEvent::Quiet]);
    assert_eq!(watching.waits(), None);
    assert_eq!(commits(&world), before + 1);
    assert_eq!(
        (world.phase("t1"), world.phase("t2")),
        ("plan_review".to_owned(), "plan_review".to_owned())
    );
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn a_batch_of_many_tasks_needs_no_more_open_files_than_one_of_few() {
    let world = World::ready();
    world.write("orch.toml", SETTINGS);
    world.commit("Batch");
    for number in 0..24 {
        world.orch(&["new", &format!("t{number}")]).succeeds();
        world.plan(&format!("t{number}"), 1);
    }
    let before = commits(&world);
    world.shell("ulimit -n 48; orch watch --once");
    assert_eq!(commits(&world), before + 1);
    assert_eq!(last(&world).len(), 24);
    assert_eq!(world.dirty(), "");
}
