//! Formats of repositories, and clones that hold less than everything.

use super::{Row, works};
use crate::formats::ready_with;
use crate::harness::World;
use std::fs;

pub const ROWS: [Row; 6] = [
    ("SHA-256 object format", sha256),
    ("reftable", reftable),
    ("a format or extension that `orch` does not know", unknown),
    ("shallow clone", shallow),
    ("partial clone", partial),
    (
        "alternates (`git clone --shared`, `--reference`)",
        alternates,
    ),
];

#[test]
fn sha256() {
    if let Some(world) = ready_with(&["--object-format=sha256"]) {
        works(&world, ".");
    }
}

#[test]
fn reftable() {
    if let Some(world) = ready_with(&["--ref-format=reftable"]) {
        works(&world, ".");
    }
}

/// Every command refuses a repository of this kind with these words, and leaves it alone.
#[test]
fn unknown() {
    for (key, value, words) in [
        (
            "extensions.refStorage",
            "stones",
            "the repository uses the ref format `stones`",
        ),
        (
            "extensions.newer",
            "true",
            "the repository uses `extensions.newer`",
        ),
    ] {
        let world = World::without_git();
        world.git(&["init", "-q", "-b", "main"]);
        world.write("tasks/t/planning/plan.json", "{}");
        world.git(&["config", "core.repositoryFormatVersion", "1"]);
        world.git(&["config", key, value]);
        for command in [
            &["new", "t"][..],
            &["status"],
            &["suggest"],
            &["watch", "--once"],
            &["init"],
        ] {
            let ended = world.orch(command).ends(2).reports(words);
            assert!(
                ended.stderr.contains("hint: install a newer orch"),
                "{ended:?}"
            );
        }
        assert!(!world.path(".git/orch").exists());
        assert!(!world.path("orch.toml").exists());
    }
}

#[test]
fn shallow() {
    let world = World::ready();
    world.orch(&["new", "old"]).succeeds();
    world.walk_to("old", "codegen");
    let from = format!("file://{}", world.root().display());
    world.git(&["clone", "-q", "--depth", "1", &from, "../clone"]);
    works(&world, "../clone");
    world
        .orch(&["-C", "../clone", "suggest", "old"])
        .succeeds()
        .says("code/diff.patch");
    world
        .orch(&["-C", "../clone", "log", "old"])
        .succeeds()
        .says("plan-accepted");
    world.patch("../../clone/tasks/old", 1);
    world.orch(&["-C", "../clone", "next", "old"]).succeeds();
    world.git(&[
        "-C",
        "../clone",
        "push",
        "-q",
        "origin",
        "HEAD:refs/heads/theirs",
    ]);
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
    // What lies before the end of history is told as not there.
    world
        .orch(&[
            "-C", "../clone", "rollback", "old", "--to", "planning", "--reason", "why",
        ])
        .succeeds();
}

#[test]
fn partial() {
    let world = World::ready();
    world.orch(&["new", "old"]).succeeds();
    world.walk_to("old", "codegen");
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", world.root().display());
    world.git(&["clone", "-q", "--filter=blob:none", &from, "../clone"]);
    works(&world, "../clone");
    // What is only on the server is not fetched, and the story is told without it.
    let away = world.path("../away");
    fs::rename(world.path(".git"), &away).expect("the server is gone");
    world
        .orch(&["-C", "../clone", "log", "old"])
        .succeeds()
        .says("plan-accepted");
    world
        .orch(&["-C", "../clone", "suggest"])
        .succeeds()
        .says("code/diff.patch");
    world.patch("../../clone/tasks/old", 1);
    world
        .orch(&["-C", "../clone", "next", "old"])
        .succeeds()
        .says("codegen -> review");
    fs::rename(&away, world.path(".git")).expect("the server is back");
    assert_eq!(world.git(&["-C", "../clone", "status", "--porcelain"]), "");
    world.git(&[
        "clone",
        "-q",
        "--filter=blob:none",
        "--sparse",
        &from,
        "../less",
    ]);
    world
        .orch(&["-C", "../less", "status"])
        .ends(2)
        .reports("git sparse-checkout add system/workflows");
    world.git(&["-C", "../less", "sparse-checkout", "add", "system"]);
    works(&world, "../less");
}

#[test]
fn alternates() {
    let world = World::ready();
    world.orch(&["new", "old"]).succeeds();
    world.walk_to("old", "codegen");
    world.git(&["clone", "-q", "--shared", ".", "../shared"]);
    let held = || world.git(&["count-objects", "-v"]);
    let before = held();
    works(&world, "../shared");
    world.patch("../../shared/tasks/old", 1);
    world.orch(&["-C", "../shared", "next", "old"]).succeeds();
    world
        .orch(&["-C", "../shared", "log", "old"])
        .succeeds()
        .says("plan-accepted");
    assert_eq!(held(), before, "nothing is written into the other one");
    assert_eq!(world.git(&["-C", "../shared", "status", "--porcelain"]), "");
}
