//! Two work trees of one repository: who holds which task, what others are refused, and what the record keeps of it.

use crate::harness::{Ended, World, eventually, started};
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// A world with tasks, and a second work tree, `../side`, of the same commit.
fn two_trees(tasks: &[&str]) -> World {
    let world = World::ready();
    for task in tasks {
        world.orch(&["new", task]).succeeds();
    }
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world
}

fn in_side(world: &World, arguments: &[&str]) -> Ended {
    world.orch(&[&["-C", "../side"], arguments].concat())
}

fn json_in_side(world: &World, arguments: &[&str]) -> Value {
    world.orch_json(&[&["-C", "../side"], arguments].concat())
}

fn kinds(world: &World, task: &str) -> Vec<String> {
    let log = world.read(&format!("tasks/{task}/transcript.jsonl"));
    let events = log.lines().map(|line| {
        let event: Value = serde_json::from_str(line).expect("JSON");
        let generation = event["generation"].as_u64();
        let generation = generation.map_or(String::new(), |number| format!(" {number}"));
        format!("{}{generation}", event["kind"].as_str().unwrap_or_default())
    });
    events.collect()
}

#[test]
fn two_work_trees_take_different_tasks_and_a_held_one_is_left_alone() {
    let world = two_trees(&["a", "b", "c"]);
    world.orch(&["take"]).succeeds().says("a (planning)");
    // Taking writes no event and no commit.
    assert_eq!(kinds(&world, "a"), ["create"]);
    assert_eq!(world.dirty(), "");
    let taken = json_in_side(&world, &["take", "--as", "Eve"]);
    assert_eq!(taken["task"]["task"], "b");
    assert_eq!(taken["lease"]["owner"], "Eve");
    let free = world.orch_json(&["free"]);
    let rows: Vec<&str> = free["tasks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|task| task["task"].as_str())
        .collect();
    assert_eq!((rows, free["held"].as_u64()), (vec!["c"], Some(2)));
    // An agent goes on with what its work tree holds, and is not offered what another holds.
    let ended = in_side(&world, &["suggest", "--for", "agent", "--brief"]).succeeds();
    let listed: Vec<&str> = ended
        .stdout
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| &line[..1])
        .collect();
    assert_eq!(listed, ["b", "c"]);
    world.orch(&["status"]).succeeds().says("held by Eve");
    let held = &world.orch_json(&["suggest", "b"])["suggestions"][0]["held"];
    assert_eq!(
        (&held["owner"], &held["own"], &held["generation"]),
        (&"Eve".into(), &false.into(), &1.into())
    );

    // Steps, orders, the watch and a run of another work tree.
    world.plan("b", 1);
    let refusals: [&[&str]; 5] = [
        &["next", "b"],
        &["next", "b", "--override", "no time", "--to", "codegen"],
        &["take", "b"],
        &["release", "b"],
        &["rename", "b", "d"],
    ];
    for arguments in refusals {
        let ended = world.orch(arguments).ends(5);
        ended
            .reports("Eve holds `b` since")
            .reports("orch take b --break WHY");
    }
    world
        .orch(&["run", "b", "--", "true"])
        .ends(5)
        .reports("Eve holds `b`");
    world.orch(&["watch", "--once"]).says("Eve holds `b`");
    assert_eq!(kinds(&world, "b"), ["create"]);
    // One that is held keeps no other from moving.
    world.plan("c", 1);
    let ended = world.orch(&["next", "*"]).ends(1);
    ended.reports("Eve holds `b`").says("c: planning ->");
    assert_eq!(kinds(&world, "c"), ["create", "advance"]);

    // The holder's first step brings the event along, in one commit.
    let before = world.git(&["rev-list", "--count", "HEAD"]);
    world.walk_to("a", "codegen");
    assert_eq!(
        kinds(&world, "a"),
        ["create", "take 1", "advance 1", "advance 1"]
    );
    let after = world.git(&["rev-list", "--count", "HEAD"]);
    let number = |text: &str| text.trim().parse::<u64>().expect("a number");
    assert!(number(&after) - number(&before) <= 3, "{before} {after}");
    // What nobody holds needs no generation, also after somebody held it.
    world.orch(&["release"]).succeeds().says("a is released");
    world.orch(&["release", "a"]).ends(3);
    world.patch("a", 1);
    world.orch(&["next", "a"]).succeeds();
    world.orch(&["undo", "a"]).ends(5);
    assert_eq!(
        kinds(&world, "a").last().map(String::as_str),
        Some("advance")
    );
    world.orch(&["audit"]).succeeds();
    world.orch(&["check"]).succeeds();
}

#[test]
fn a_lease_that_ended_or_is_broken_is_taken_over_and_the_record_says_so() {
    let world = two_trees(&["a", "b"]);
    in_side(&world, &["take", "a", "--for", "1s", "--as", "Eve"]).succeeds();
    in_side(&world, &["take", "b", "--as", "Eve"]).succeeds();
    sleep(Duration::from_millis(1100));
    world
        .orch(&["take", "a"])
        .succeeds()
        .says("taken over from Eve");
    assert_eq!(kinds(&world, "a"), ["create", "take 2"]);
    in_side(&world, &["release", "a"]).ends(5);

    // Only a person breaks a lease, with a reason.
    world
        .orch_by_agent(&["take", "b", "--break", "it is mine"])
        .ends(6);
    world.orch(&["take", "b", "--break", "WHY"]).ends(1);
    world
        .orch(&["take", "b", "--break", "Eve is ill"])
        .succeeds();
    assert_eq!(kinds(&world, "b"), ["create", "take 2"]);
    world.orch(&["log", "b"]).succeeds().says("Eve is ill");
    world.plan("b", 1);
    world.orch(&["next", "b"]).succeeds();
    world.orch(&["undo", "b"]).ends(5);
    assert_eq!(kinds(&world, "b"), ["create", "take 2", "advance 2"]);
    // A person gives back what another holds by taking it over.
    in_side(&world, &["release", "b", "--break", "Ann left"]).succeeds();
    assert!(world.orch_json(&["suggest", "b"])["suggestions"][0]["held"].is_null());

    // Both branches have taken `b`; their merge has the later one.
    world.git_ended(&["merge", "-q", "--no-edit", "side"]);
    world.orch(&["resolve", "--all"]);
    world.orch(&["audit"]).succeeds();

    // A damaged lease is an error that names its file, and a person ends it.
    world.write(".git/orch/leases/b.json", "{");
    let ended = world.orch(&["next", "b"]).ends(5);
    ended.reports("b.json").reports("orch take b --break WHY");
    let damaged = "b.json is no lease";
    world.orch(&["suggest", "b"]).succeeds().says(damaged);
    world.orch(&["show", "b"]).succeeds().reports(damaged);
    world
        .orch(&["take", "b", "--break", "its file is damaged"])
        .succeeds();
}

#[test]
fn a_run_holds_its_task_while_it_lives() {
    let world = started("planning");
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let lease = || world.orch_json(&["suggest", "t"])["suggestions"][0]["held"].clone();
    let script = "touch ../begun; while [ ! -e ../go ]; do sleep 0.02; done";
    let mut run = world.orch_spawn(&[
        "run",
        "t",
        "--auto",
        "--max-turns",
        "1",
        "--",
        "sh",
        "-c",
        script,
    ]);
    eventually("the run begins", || world.base().join("begun").exists());
    assert!(lease()["run"].is_string(), "{}", lease());
    in_side(&world, &["run", "t", "--", "true"])
        .ends(5)
        .reports("holds `t`");
    std::fs::write(world.base().join("go"), "").expect("written");
    run.wait().expect("it ends");
    assert!(lease().is_null());

    // What was taken by hand stays taken; a killed run leaves its lease, which ends by itself.
    std::fs::remove_file(world.base().join("go")).expect("removed");
    std::fs::remove_file(world.base().join("begun")).expect("removed");
    world.orch(&["take", "t", "--for", "1s"]).succeeds();
    let mut run = world.orch_spawn(&["run", "t", "--auto", "--", "sh", "-c", script]);
    eventually("the run begins", || world.base().join("begun").exists());
    sleep(Duration::from_millis(1500));
    in_side(&world, &["take", "t"]).ends(5);
    run.kill().expect("killed");
    run.wait().expect("it ends");
    std::fs::write(world.base().join("go"), "").expect("written");
    eventually("its lease ends", || {
        in_side(&world, &["take", "t"]).code == 0
    });
    in_side(&world, &["audit"]).succeeds();
}

#[test]
fn clones_of_a_remote_share_its_leases_once_that_is_trusted() {
    let world = World::ready();
    let settings = world.read("orch.toml");
    let settings = settings.replacen("#store = \"local\"", "store = \"git\"\nlength = \"45m\"", 1);
    world.write("orch.toml", settings);
    world.orch(&["new", "a"]).succeeds();
    world.orch(&["new", "b"]).succeeds();
    world.commit("Share leases");
    world.git(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
    world.git(&["remote", "add", "origin", "../remote.git"]);
    world.git(&["push", "-q", "origin", "main"]);
    world.git(&["clone", "-q", "../remote.git", "../side"]);

    let mut untrusted = world.orch_command(&["take", "a"]);
    let untrusted = untrusted.env_remove("ORCH_TRUST_ONCE").output();
    let untrusted = world.end(untrusted.expect("it runs"));
    untrusted.ends(6).reports("leases on the git remote origin");
    world
        .orch(&["trust", "--show"])
        .says("leases  keep leases on the git remote origin");

    let taken = world.orch_json(&["take", "a"]);
    let listed = world.git(&["ls-remote", "origin", "refs/orch/*"]);
    assert!(listed.trim().ends_with("refs/orch/leases/a"), "{listed}");
    let refused = in_side(&world, &["take", "a"]);
    let holder = taken["lease"]["owner"].as_str().expect("a name");
    refused.ends(5).reports(holder).reports("min from now)");
    let other = json_in_side(&world, &["take"]);
    assert_eq!(
        other["task"]["task"], "b",
        "what a clone holds is passed over"
    );

    // Its own step needs no network: the remote is gone, and comes back.
    std::fs::rename(world.path("../remote.git"), world.path("../gone.git")).expect("moved");
    world.plan("a", 1);
    world.orch(&["next", "a"]).succeeds();
    world
        .orch(&["release", "a"])
        .ends(70)
        .reports("leases at origin");
    std::fs::rename(world.path("../gone.git"), world.path("../remote.git")).expect("moved");
    world.orch(&["release", "a"]).succeeds();
    let listed = world.git(&["ls-remote", "origin", "refs/orch/*"]);
    assert!(listed.trim().ends_with("refs/orch/leases/b"), "{listed}");
    in_side(&world, &["take", "a"]).succeeds();
}
