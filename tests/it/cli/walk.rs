//! The walk from planning to done, by artifacts written by hand.

use crate::harness::{World, started};

#[test]
fn every_step_is_one_commit_that_holds_its_own_proof_and_nothing_of_the_user() {
    let world = World::ready();
    world.write("src/lib.rs", "pub fn a() {}\n");
    world.write("notes.txt", "mine\n");
    world.git(&["add", "src/lib.rs"]);
    let mine = "A  src/lib.rs\n?? notes.txt\n";
    world.orch(&["new", "t"]).succeeds();
    assert_eq!(world.dirty(), mine);
    type Scene = fn(&World);
    let scenes: [(Scene, &str, &str, &str); 6] = [
        (
            |w| w.plan("t", 1),
            "planning/plan.json",
            "planning",
            "plan_review",
        ),
        (
            |w| w.plan_review("t", true, 1),
            "review/plan/verdict.json",
            "plan_review",
            "codegen",
        ),
        (|w| w.patch("t", 1), "code/diff.patch", "codegen", "review"),
        (
            |w| w.code_review("t", true, 1),
            "review/code/verdict.json",
            "review",
            "test",
        ),
        (|w| w.tests("t", 0, 1), "eval/junit.xml", "test", "accept"),
        (|w| w.accept("t"), "accept/decision.json", "accept", "done"),
    ];
    for (write, artifact, from, to) in scenes {
        assert_eq!(world.phase("t"), from);
        world.orch(&["next", "t"]).ends(3).says("nothing to apply");
        write(&world);
        let command = if from == "accept" { "approve" } else { "next" };
        let moved = world.orch(&[command, "t"]).succeeds();
        assert!(
            moved.stdout.contains(&format!("t: {from} -> {to}")),
            "{}",
            moved.stdout
        );
        assert_eq!(world.phase("t"), to);
        assert_eq!(world.dirty(), mine, "after {from} -> {to}");
        let artifact = format!("tasks/t/{artifact}");
        let files = world.git(&["show", "--name-only", "--format=", "HEAD"]);
        let mut expected = [
            artifact.as_str(),
            "tasks/t/state.json",
            "tasks/t/transcript.jsonl",
        ];
        expected.sort_unstable();
        assert_eq!(files.lines().collect::<Vec<_>>(), expected);
        let message = world.git(&["log", "-1", "--format=%B"]);
        assert!(
            message.starts_with(&format!("orch(t): {from} -> {to}\n\n")),
            "{message}"
        );
        let blob = world.git(&["rev-parse", &format!("HEAD:{artifact}")]);
        for trailer in [
            "Orch-Task: t".to_owned(),
            format!("Orch-From: {from}"),
            format!("Orch-To: {to}"),
            "Orch-Workflow: global-state-machine@".to_owned(),
            format!("@{}", blob.trim()),
        ] {
            assert!(message.contains(&trailer), "no {trailer} in {message}");
        }
    }
    world.orch(&["next", "t"]).ends(3);
    let trailers = world.git(&["log", "-1", "--format=%(trailers:key=Orch-Rule,valueonly)"]);
    assert_eq!(trailers.trim(), "accepted");
    let log = world.orch_json(&["log", "t"]);
    assert_eq!(log["entries"].as_array().map(Vec::len), Some(7), "{log:#}");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}

#[test]
fn a_clone_says_what_the_original_says() {
    let world = started("test");
    world.tests("t", 1, 1);
    world.orch(&["next", "t"]).succeeds();
    let original = world.orch_json(&["suggest", "t"]);
    world.git(&["clone", "-q", ".", "../clone"]);
    let clone = world.orch_json(&["-C", "../clone", "suggest", "t"]);
    assert_eq!(original["suggestions"], clone["suggestions"]);
    world.orch(&["-C", "../clone", "next", "t"]).ends(3);
}

#[test]
fn a_reverted_transition_is_an_undo() {
    let world = started("test");
    world.tests("t", 1, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(world.phase("t"), "test");
    world.orch(&["check", "t"]).succeeds();
    world.orch(&["next", "t"]).ends(3);
    world.tests("t", 0, 2);
    world.orch(&["next", "t"]).succeeds().says("test -> accept");
}
