//! Exactly the bytes that were judged: invalid ones, deletions, modes, line endings, filters.

use crate::harness::executable;
use crate::harness::{World, started};

fn at(phase: &str) -> World {
    started(phase)
}

fn blob(world: &World, path: &str) -> String {
    world
        .git(&["rev-parse", &format!("HEAD:{path}")])
        .trim()
        .to_owned()
}

fn hashed(world: &World, path: &str) -> String {
    world.git(&["hash-object", path]).trim().to_owned()
}

#[test]
fn what_is_invalid_is_evidence_too_and_so_is_what_is_gone() {
    let world = at("plan_review");
    world.write("tasks/t/eval/eval-report.json", b"\xff\xfe not \0 json");
    world.write("tasks/t/eval/odd name é.xml", "");
    world.write("tasks/t/notes.txt", "no artifact");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    for path in [
        "tasks/t/eval/eval-report.json",
        "tasks/t/eval/odd name é.xml",
    ] {
        assert_eq!(blob(&world, path), hashed(&world, path), "{path}");
    }
    assert_eq!(world.dirty(), "?? tasks/t/notes.txt\n");
    world.remove("tasks/t/eval/eval-report.json");
    world.remove("tasks/t/eval/odd name é.xml");
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let changes = world.git(&["show", "--name-status", "--format=", "-z", "HEAD"]);
    assert!(
        changes.contains("D\0tasks/t/eval/eval-report.json\0"),
        "{changes:?}"
    );
    assert!(
        changes.contains("D\0tasks/t/eval/odd name é.xml\0"),
        "{changes:?}"
    );
    assert_eq!(world.dirty(), "?? tasks/t/notes.txt\n");
}

#[test]
fn an_executable_artifact_stays_executable() {
    let world = at("codegen");
    world.patch("t", 1);
    executable(&world.path("tasks/t/code/diff.patch"));
    world.orch(&["next", "t"]).succeeds();
    assert!(
        world
            .git(&["ls-tree", "HEAD", "tasks/t/code/"])
            .starts_with("100755 blob")
    );
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_changed_mode_alone_leaves_a_clean_status_and_the_verdict() {
    let world = at("review");
    executable(&world.path("tasks/t/code/diff.patch"));
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds().says("review -> test");
    assert_eq!(world.dirty(), "", "its mode belongs to the judged file");
}

#[test]
fn ignored_evidence_is_refused_and_never_committed() {
    let world = at("codegen");
    world.write(".gitignore", "*.patch\n");
    world.commit("Ignore patches");
    let head = world.git(&["rev-parse", "HEAD"]);
    world.patch("t", 1);
    world.orch(&["check", "t"]).ends(1).says("evidence-ignored");
    let message =
        "git ignores tasks/t/code/diff.patch, so the transition cannot commit it as evidence";
    for face in [&["suggest", "t"][..], &["explain", "t"], &["prompt", "t"]] {
        let told = world.orch(face).succeeds().says(message);
        assert!(!told.stdout.contains("orch next"), "{told:?}");
    }
    let suggestion = &world.orch_json(&["suggest", "t"])["suggestions"][0];
    assert_eq!(
        [
            &suggestion["kind"],
            &suggestion["do"],
            &suggestion["owner"],
            &suggestion["suggestedNext"]
        ],
        ["transition", "repair", "human", "review"]
    );
    assert_eq!(suggestion["diagnostics"][0]["code"], "evidence-ignored");
    world.orch(&["status"]).says("repair, then move to review");
    world
        .orch(&["next", "t"])
        .ends(5)
        .reports("git ignores tasks/t/code/diff.patch");
    world.orch(&["next", "t", "--override", "why"]).ends(5);
    world.orch(&["watch", "--once"]).ends(5).says("held back");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.phase("t"), "codegen");
    world.write(".gitignore", "");
    world.orch(&["suggest", "t"]).succeeds().says("orch next t");
    let is_due = |world: &World| world.orch(&["status"]).succeeds().says("waiting for orch");
    is_due(&world);
    // What was kept of that look does not say otherwise.
    world.write(".git/info/exclude", "*.patch\n");
    world.orch(&["status"]).says("repair, then move to review");
    world.write(".git/info/exclude", "");
    is_due(&world);
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn line_endings_are_converted_as_git_converts_them() {
    let world = at("planning");
    world.git(&["config", "core.autocrlf", "true"]);
    let path = "tasks/t/planning/plan.json";
    world.plan("t", 1);
    world.write(path, world.read(path).replace('\n', "\r\n"));
    let expected = hashed(&world, path);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(blob(&world, path), expected);
    assert!(!world.git(&["cat-file", "blob", &expected]).contains('\r'));
    assert!(
        world.read("tasks/t/state.json").contains(&expected),
        "the record names what git stores"
    );
    assert_eq!(world.dirty(), "");
    // The same plan with the other line endings is the same plan.
    world.write(path, world.read(path).replace("\r\n", "\n"));
    world.plan_review("t", true, 1);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("plan_review -> codegen");
    world.orch(&["next", "t"]).ends(3);
    assert_eq!(world.git(&["diff", "--cached"]), "");
}

#[test]
fn a_clone_with_other_line_endings_says_the_same() {
    let world = at("review");
    let original = world.orch_json(&["suggest", "t"]);
    world.git(&["clone", "-q", "-c", "core.autocrlf=true", ".", "../clone"]);
    assert!(
        world
            .read("../clone/tasks/t/planning/plan.json")
            .contains("\r\n"),
        "it was converted"
    );
    let clone = world.orch_json(&["-C", "../clone", "suggest", "t"]);
    assert_eq!(original["suggestions"], clone["suggestions"]);
    assert_eq!(world.git(&["-C", "../clone", "status", "--porcelain"]), "");
    world.write(
        "../clone/tasks/t/review/code/verdict.json",
        "{\"ok\": true, \"issues\": []}\r\n",
    );
    world.orch(&["-C", "../clone", "next", "t"]).succeeds();
    assert_eq!(world.git(&["-C", "../clone", "status", "--porcelain"]), "");
    assert_eq!(world.git(&["-C", "../clone", "fsck", "--strict"]), "");
}

#[test]
fn clean_filters_are_applied_as_git_applies_them() {
    let world = at("codegen");
    world.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    world.write(".gitattributes", "*.patch filter=upper\n");
    world.commit("Filter");
    let path = "tasks/t/code/diff.patch";
    world.patch("t", 1);
    let expected = hashed(&world, path);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(blob(&world, path), expected);
    assert!(
        world
            .git(&["cat-file", "blob", &expected])
            .contains("LOGIN.RS")
    );
    assert!(
        world.read(path).contains("login.rs"),
        "the work tree is left as it is"
    );
    assert_eq!(world.dirty(), "");
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds().says("review -> test");
}

#[test]
fn where_the_file_system_knows_no_modes_the_committed_one_stays() {
    let world = at("codegen");
    world.patch("t", 1);
    world.git(&["config", "core.fileMode", "false"]);
    executable(&world.path("tasks/t/code/diff.patch"));
    world.orch(&["next", "t"]).succeeds();
    assert!(
        world
            .git(&["ls-tree", "HEAD", "tasks/t/code/"])
            .starts_with("100644 blob")
    );
    assert_eq!(world.dirty(), "");
}
