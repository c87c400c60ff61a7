//! Objects that a power failure tore, wherever they are named: no command reads one for ever, takes it for absent, or
//! does a part of its work on it.

use super::{PLAN, planned};
use crate::harness::{Ended, World, copy, program};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

/// Which of the commands below must meet the object, and say so.
enum Told {
    Only(&'static [&'static str]),
    All,
}

/// An object, as git names it, and what must tell of it.
const OBJECTS: [(&str, Told); 10] = [
    (
        ":tasks/t0/planning/plan.json",
        Told::Only(&["check --staged"]),
    ),
    (":notes.txt", Told::Only(&[])),
    ("HEAD", Told::All),
    (
        "HEAD^",
        Told::Only(&["audit", "check --range HEAD~2..HEAD"]),
    ),
    ("HEAD^{tree}", Told::All),
    ("HEAD:tasks", Told::All),
    ("HEAD:tasks/t0", Told::All),
    (
        "HEAD:tasks/t0/transcript.jsonl",
        Told::Only(&["audit", "check --staged", "check --range HEAD~2..HEAD"]),
    ),
    (
        "HEAD:orch.toml",
        Told::Only(&["audit", "check --staged", "check --range HEAD~2..HEAD"]),
    ),
    (
        "HEAD^^{tree}",
        Told::Only(&["audit", "check --range HEAD~2..HEAD"]),
    ),
];

const COMMANDS: [&str; 8] = [
    "status --all",
    "suggest t0",
    "check --staged",
    "check --range HEAD~2..HEAD",
    "audit",
    "next t0",
    "watch --once",
    "run t0 --max-turns 1 -- true",
];

/// Leaves this many bytes of the file of an object.
fn tear(world: &World, id: &str, left: impl Fn(u64) -> u64) {
    let path = world.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("permitted");
    let file = fs::File::options()
        .write(true)
        .open(&path)
        .expect("a loose object");
    let length = file.metadata().expect("there").len();
    file.set_len(left(length)).expect("cut");
}

/// Ends a command that reads for ever, with the code 124.
fn in_time(world: &World, arguments: &str) -> Ended {
    let mut command = world.command("timeout");
    command.args(["60", &program()]).args(arguments.split(' '));
    let ended = world.end(command.output().expect("timeout runs"));
    assert_ne!(ended.code, 124, "`orch {arguments}` hangs");
    ended
}

/// Two tasks, one with a plan that the user has staged, and a file that belongs to none.
fn staged() -> World {
    let world = planned(2);
    world.write("notes.txt", "x y ".repeat(2000) + PLAN);
    world.git(&["add", "-A"]);
    world
}

fn id_of(world: &World, name: &str) -> String {
    world.git(&["rev-parse", name]).trim().to_owned()
}

/// What is wrong with the end of a command that met a torn object, or did not.
fn wrong_with(
    world: &World,
    (name, id, told): (&str, &str, &Told),
    arguments: &str,
) -> Option<&'static str> {
    let head = id_of_branch(world);
    let ended = in_time(world, arguments);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    let must_tell = match told {
        Told::Only(those) => those.contains(&arguments),
        Told::All => true,
    };
    // The lines of `status` have no hints.
    let is_told =
        said.contains(id) && (arguments.starts_with("status") || said.contains("git fsck"));
    let is_of_task = must_tell
        && (name == "HEAD" || name.starts_with("HEAD^{") || name.starts_with("HEAD:tasks"));
    let is_left = [".git/index.lock", ".git/orch/journal", ".git/HEAD.lock"];
    [
        (must_tell && ended.code != 70, "it says nothing of it"),
        (
            ![0, 1, 70].contains(&ended.code),
            "its exit code is another one",
        ),
        (
            ended.code == 70 && !is_told,
            "it names no object, or nothing to do",
        ),
        // Whatever the watch does is done to the other task.
        (
            is_of_task && arguments != "watch --once" && id_of_branch(world) != head,
            "it has moved the branch",
        ),
        (
            is_of_task && world.path("tasks/t0/.orch").exists(),
            "it has begun a run",
        ),
        (
            is_left.iter().any(|left| world.path(left).exists()),
            "it has left a lock",
        ),
    ]
    .into_iter()
    .find_map(|(is_wrong, what)| is_wrong.then_some(what))
}

fn id_of_branch(world: &World) -> String {
    world.read(".git/refs/heads/main")
}

#[test]
fn a_torn_object_is_told_by_name_and_nothing_is_half_done() {
    let template = staged();
    let mut wrong = Vec::new();
    for (name, told) in &OBJECTS {
        let id = id_of(&template, name);
        for (nth, arguments) in COMMANDS.iter().enumerate() {
            let world = copy(&template);
            // A part of a file has its first line, and is what libgit2 waits for.
            tear(
                &world,
                &id,
                |length| if nth % 4 == 3 { 0 } else { length / 2 },
            );
            let found = wrong_with(&world, (name, &id, told), arguments);
            wrong.extend(found.map(|found| format!("{name}, {arguments}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn doctor_names_torn_objects_that_nothing_else_reads() {
    let world = staged();
    world.orch(&["doctor"]).says("no object file is damaged");
    let ids = [":notes.txt", ":tasks/t1/planning/plan.json"].map(|name| id_of(&world, name));
    for id in &ids {
        tear(&world, id, |length| length / 2);
    }
    let ended = in_time(&world, "doctor")
        .ends(70)
        .says("2 objects torn")
        .says("git fsck");
    assert!(ids.iter().all(|id| ended.stdout.contains(id)), "{ended:?}");
    // What is staged once more is whole.
    world.write("notes.txt", "other");
    world.git(&["add", "notes.txt"]);
    world.orch(&["next", "t1"]).succeeds();
    in_time(&world, "check --staged").succeeds();
}

#[test]
fn revisions_and_tags_that_lead_past_a_torn_object_are_told() {
    let world = staged();
    world.git(&["tag", "-a", "v1", "-m", "v1", "HEAD^"]);
    let (tag, before) = (id_of(&world, "v1"), id_of(&world, "HEAD^"));
    for id in [tag, before] {
        let torn = copy(&world);
        tear(&torn, &id, |length| length / 2);
        for arguments in ["check --commit v1", "check --range v1..HEAD"] {
            in_time(&torn, arguments).ends(70).reports(&id);
        }
    }
    // What git resolves, because libgit2 would read a torn one for ever.
    let before = id_of(&world, "HEAD^");
    for left in [0, 2] {
        let torn = copy(&world);
        tear(&torn, &before, |length| length * left / 4);
        for revision in ["HEAD^^{commit}", "HEAD^^{}", "v1^{}", "HEAD^{/nowhere}"] {
            in_time(&torn, &format!("audit {revision}"))
                .ends(70)
                .reports(&before);
        }
        in_time(&torn, "audit nowhere^{commit}").ends(2);
    }
}
