//! Clones of one remote work on its tasks: each step is pushed with the renewal of its lease.

use crate::harness::{Ended, World, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};

/// A note, and a check of it; without the setup of `tests/it/parallel.rs`.
const WORKFLOW: &str = include_str!("../races/pair.md");

/// Says what the remote has when it starts, waits as long as `HOLD` is there, and writes the note or the check.
const EXECUTOR: &str = r#"
cat > /dev/null
name=$ORCH_TASK
git --git-dir "$BARE" log --format=%s "task/$name" > "$BARE.new"
mv "$BARE.new" "$BARE.$name"
while [ -e "$HOLD" ]; do sleep 0.02; done
if [ ! -e tasks/$name/note.md ]; then
    echo "$name" > tasks/$name/note.md
else
    echo "$name $(git rev-parse HEAD)" > tasks/$name/check.md
fi
"#;

const SETTINGS: &str = "[[root]]\npath = \"tasks/*\"\nworkflow = \"pair\"\n[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\n[worktrees]\nmerge = \"merge\"\n";

/// A repository with tasks, the bare one that it was pushed to, and two clones, `../one` and `../two`.
fn world(tasks: &[&str], more: &str) -> World {
    let world = World::new();
    world.write("system/workflows/pair.md", WORKFLOW);
    world.write("system/agents/writer.md", "Write.\n");
    world.write("system/agents/checker.md", "Check.\n");
    world.write("executor.sh", EXECUTOR);
    world.write("orch.toml", format!("{SETTINGS}{more}"));
    world.commit("Set up");
    for task in tasks {
        world.orch(&["new", task]).succeeds();
    }
    world.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    for clone in ["../one", "../two"] {
        world.git(&["clone", "-q", "../bare.git", clone]);
    }
    world
}

fn bare(world: &World, arguments: &[&str]) -> String {
    world.git(&[&["--git-dir", "../bare.git"], arguments].concat())
}

fn orch_in(world: &World, clone: &str, arguments: &[&str]) -> Ended {
    world.orch(&[&["-C", clone], arguments].concat())
}

fn git_in(world: &World, clone: &str, arguments: &[&str]) -> String {
    world.git(&[&["-C", clone], arguments].concat())
}

/// Starts a worker in a clone, which writes to a log beside it.
fn worker(world: &World, clone: &str) -> Child {
    let mut command = world.orch_command(&["-C", clone, "work", "--remote", "origin"]);
    let log = fs::File::create(world.path(&format!("{clone}.log"))).expect("created");
    command.env("BARE", world.base().join("bare.git"));
    command.env("HOLD", world.base().join("hold"));
    command.env_remove("ORCH_NOW");
    let also = log.try_clone().expect("duplicated");
    command.stdin(Stdio::null()).stdout(log).stderr(also);
    command.spawn().expect("orch starts")
}

/// Ends a worker by SIGTERM, and returns what it said in the end.
fn ended(world: &World, mut worker: Child, clone: &str) -> String {
    kill_process(Pid::from_child(&worker), Signal::TERM).expect("it lives");
    assert_eq!(worker.wait().expect("it ends").code(), Some(0));
    world.read(&format!("{clone}.log"))
}

/// A clone has watched the leases of others since the machine was started.
fn watched_long_enough(world: &World, clone: &str) {
    let place = format!("{clone}/.git/orch/lease-remote.json");
    let mut known: Value = serde_json::from_str(&world.read(&place)).expect("JSON");
    for seen in known["seen"].as_object_mut().expect("keys").values_mut() {
        seen["since"]["secs"] = 0.into();
    }
    world.write(&place, known.to_string());
}

#[test]
fn steps_are_pushed_under_their_lease_and_who_lost_it_pushes_nothing() {
    let world = world(&["a", "b"], "[leases]\nstore = \"git\"\n");
    let hold = world.base().join("hold");
    fs::write(&hold, "").expect("written");
    let one = worker(&world, "../one");
    let began = world.base().join("bare.git.a");
    eventually("an executor works", || began.exists());
    // The branch was pushed before, with the event that says who holds the task.
    assert!(
        world
            .read("../bare.git.a")
            .contains("orch(a): write -> write (take)")
    );

    // The other clone sees who holds it, and keeps that without asking again.
    let free = world.orch_json(&["-C", "../two", "free"]);
    assert_eq!(
        (&free["held"], &free["tasks"][0]["task"]),
        (&1.into(), &"b".into())
    );
    orch_in(&world, "../two", &["suggest", "a"]).says("s ago");

    // A person takes it over there.
    git_in(&world, "../two", &["fetch", "-q"]);
    git_in(&world, "../two", &["switch", "-q", "task/a"]);
    orch_in(
        &world,
        "../two",
        &[
            "take",
            "a",
            "--break",
            "One is slow",
            "--as",
            "Eve",
            "--for",
            "10s",
        ],
    )
    .succeeds();
    git_in(&world, "../two", &["push", "-q", "origin", "task/a"]);
    let taken = bare(&world, &["rev-parse", "task/a"]);
    fs::remove_file(&hold).expect("removed");
    eventually("the first worker knows", || {
        world.read("../one.log").contains("a: held")
    });
    assert_eq!(bare(&world, &["rev-parse", "task/a"]), taken);
    let said = ended(&world, one, "../one");
    assert!(said.contains("Eve holds `a`"), "{said}");
    assert!(
        said.contains("1 commit could not be pushed to origin"),
        "{said}"
    );

    // She never comes back. The first clone goes on from what she has left, and not from what it was refused to push.
    watched_long_enough(&world, "../one");
    // Another task is done on its branch. It is joined although there was no room for it when it was found.
    git_in(&world, "../two", &["switch", "-q", "main"]);
    orch_in(&world, "../two", &["new", "c"]).succeeds();
    git_in(&world, "../two", &["push", "-q", "origin", "main"]);
    git_in(&world, "../two", &["switch", "-q", "-c", "task/c"]);
    for file in ["note", "check"] {
        world.write(&format!("../two/tasks/c/{file}.md"), "By hand.\n");
        orch_in(&world, "../two", &["next", "c"]).succeeds();
    }
    git_in(&world, "../two", &["push", "-q", "origin", "task/c"]);
    git_in(&world, "../two", &["switch", "-q", "main"]);
    let done = |task: &str| {
        let file = format!("main:tasks/{task}/check.md");
        world
            .git_ended(&["--git-dir", "../bare.git", "cat-file", "-e", &file])
            .code
            == 0
    };
    let one = worker(&world, "../one");
    eventually("all is done", || ["a", "b", "c"].into_iter().all(done));
    let gone = || bare(&world, &["for-each-ref", "--format=%(refname)"]) == "refs/heads/main\n";
    eventually("nothing is left on the remote", gone);
    let said = ended(&world, one, "../one");
    assert!(said.contains("merged"), "{said}");
    // What it had not pushed is put aside.
    let aside = git_in(&world, "../one", &["for-each-ref", "refs/orch/aside"]);
    assert_eq!(aside.lines().count(), 1, "{aside}");
    git_in(&world, "../two", &["pull", "-q"]);
    orch_in(&world, "../two", &["audit"]).succeeds();
    bare(&world, &["fsck", "--strict"]);
}

#[test]
fn clones_that_share_no_leases_or_no_trust_are_refused() {
    let world = world(&["a"], "");
    let refused = orch_in(&world, "../one", &["work", "--remote", "origin"]).ends(2);
    refused
        .reports("share no leases")
        .reports("store = \"git\"");
    world.write(
        "../one/orch.toml",
        format!("{SETTINGS}[leases]\nstore = \"git\"\n"),
    );
    let mut command = world.orch_command(&["-C", "../one", "work", "--remote", "origin"]);
    command.env_remove("ORCH_TRUST_ONCE");
    world
        .end(command.output().expect("orch runs"))
        .ends(6)
        .reports("nobody has trusted");
    git_in(
        &world,
        "../one",
        &["remote", "set-url", "origin", "../nowhere"],
    );
    orch_in(&world, "../one", &["work", "--remote", "origin"]).ends(70);
    assert!(!world.base().join("one.orch").exists());
}
