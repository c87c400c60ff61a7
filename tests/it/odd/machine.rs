//! What the machine lacks or refuses: git itself, room, the right to write, the right owner.

use super::{Row, sound, works_by};
use crate::harness::{Ended, World, skipped};
use std::fs;

pub const ROWS: [Row; 2] = [("no repository at all", outside_git), ("no `git` program", no_git)];

#[test]
fn outside_git() {
    let world = World::without_git();
    let note = "note[no-repository]: this is no git repository: moves are written, and nothing is committed";
    world.orch(&["status"]).succeeds().says(note);
    works_by(&world, ".", |arguments| world.orch(arguments));
    world.orch(&["status"]).succeeds().says(note).says("plan_review");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t", "--dry-run"]).succeeds().says(note);
    let moved = world.orch_json(&["next", "t"]);
    assert_eq!(moved["diagnostics"][0]["code"], "no-repository");
    assert_eq!(moved["transitions"][0]["commit"], serde_json::Value::Null);
    assert_eq!(world.orch_json(&["status"])["diagnostics"][0]["code"], "no-repository");
    world.orch(&["watch", "--once"]).succeeds().says("nothing is committed");
    // From here on it is one, and what was done is adopted.
    world.git(&["init", "-q", "-b", "main"]);
    world.orch(&["new", "t"]).succeeds();
    let status = world.orch(&["status"]).succeeds();
    assert!(!format!("{status:?}").contains("no-repository"), "{status:?}");
}

#[test]
fn no_git() {
    let world = World::ready();
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    let orch = |arguments: &[&str]| -> Ended {
        let mut command = world.orch_command(arguments);
        command.env("PATH", world.path("../home"));
        world.end(command.output().expect("orch runs"))
    };
    for command in ["suggest", "explain", "status", "check"] {
        orch(&[command]).succeeds();
    }
    // Signing is git's, whatever else may do without it.
    world.git(&["config", "commit.gpgSign", "true"]);
    let refused = orch(&["next", "t"]).ends(70).says("there is no `git` program on the PATH");
    assert!(refused.stderr.contains("hint: install git") && refused.stderr.contains("commit = \"off\""));
    assert!(orch(&["next", "t", "--json"]).stdout.contains("\"code\": \"no-git\""));
    world.git(&["config", "commit.gpgSign", "false"]);
    assert_eq!(world.phase("t"), "planning");
    world.orch(&["next", "t"]).succeeds();
    sound(&world, ".");
}
