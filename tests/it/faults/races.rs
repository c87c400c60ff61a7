//! Several `orch` processes and a user with git on one repository, in an order that chance chooses.

use super::inject::{choices, told};
use crate::harness::{Ended, World, executable};
use crate::serve::client::{Answer, Server};
use crate::setting;
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const TASKS: [&str; 3] = ["t0", "t1", "t2"];

/// A linked work tree, which shares objects and references.
const LINKED: &str = "../linked";

/// The repository, and a server in it.
struct Stage {
    world: World,
    server: Server,
}

impl Deref for Stage {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

/// What an actor does once. The number is different each time.
type Act = fn(&Stage, u64) -> Ended;

/// Who acts beside whom. Each line is one thread, which does one of these at a time.
const ACTORS: [(&str, &[(&str, Act)]); 6] = [
    (
        "orch",
        &[
            ("next", |world, nth| world.orch(&["next", task(nth)])),
            ("watch --once", |world, _| world.orch(&["watch", "--once"])),
            ("override", |world, nth| {
                world.orch(&["next", task(nth), "--override", "It is urgent."])
            }),
            ("rollback", |world, nth| {
                world.orch(&[
                    "rollback",
                    task(nth),
                    "--to",
                    "planning",
                    "--reason",
                    "Again.",
                ])
            }),
        ],
    ),
    (
        "another orch",
        &[
            ("next", |world, nth| world.orch(&["next", task(nth + 1)])),
            ("run", |world, nth| {
                world.orch(&["run", task(nth), "--auto"])
            }),
            ("check", |world, _| world.orch(&["check"])),
            ("check --staged", |world, _| {
                world.orch(&["check", "--staged"])
            }),
            ("suggest", |world, _| world.orch(&["suggest"])),
        ],
    ),
    (
        "a work tree",
        &[
            ("next", |world, nth| {
                world.orch(&["-C", LINKED, "next", task(nth)])
            }),
            ("override", |world, nth| {
                world.orch(&[
                    "-C",
                    LINKED,
                    "next",
                    task(nth),
                    "--override",
                    "It is urgent.",
                ])
            }),
            ("rollback", |world, nth| {
                world.orch(&[
                    "-C",
                    LINKED,
                    "rollback",
                    task(nth),
                    "--to",
                    "planning",
                    "--reason",
                    "Again.",
                ])
            }),
            ("switch", |world, nth| {
                // Its branch is another one from then on, with the same tasks.
                world.git_ended(&["-C", LINKED, "switch", "-q", "-c", &format!("side-{nth}")])
            }),
            ("check", |world, _| world.orch(&["-C", LINKED, "check"])),
        ],
    ),
    (
        "a client of the server",
        &[
            ("next", |stage, nth| {
                answered(&stage.server.post(&order(nth, "next"), &json!({})))
            }),
            ("override", |stage, nth| {
                answered(
                    &stage
                        .server
                        .post(&order(nth, "next"), &json!({"override": "It is urgent."})),
                )
            }),
            ("rollback", |stage, nth| {
                let body = json!({"to": "planning", "reason": "Again."});
                answered(&stage.server.post(&order(nth, "rollback"), &body))
            }),
            ("tasks", |stage, _| answered(&stage.server.get("tasks"))),
            ("findings", |stage, _| {
                answered(&stage.server.get("findings"))
            }),
        ],
    ),
    (
        "git",
        &[
            ("add", |world, nth| {
                world.write(&format!("mine/{nth}.txt"), format!("{nth}\n"));
                world.git_ended(&["add", "mine"])
            }),
            ("commit", |world, nth| {
                world.git_ended(&[
                    "commit",
                    "-q",
                    "--allow-empty",
                    "-m",
                    &format!("mine {nth}"),
                ])
            }),
            ("commit -a, with an editor", |world, nth| {
                world.write("kept.txt", format!("{nth}\n"));
                let mut command = world.command("git");
                command
                    .args(["commit", "-q", "-a"])
                    .env("GIT_EDITOR", world.path("../editor"));
                world.end(command.output().expect("git runs"))
            }),
            ("stash", |world, nth| {
                world.write("kept.txt", format!("{nth}\n"));
                match world.git_ended(&["stash", "push", "-q", "--", "kept.txt"]) {
                    ended if ended.code == 0 => world.git_ended(&["stash", "drop", "-q"]),
                    ended => ended,
                }
            }),
            ("gc", |world, _| {
                world.git_ended(&["gc", "-q", "--prune=now"])
            }),
            ("rebase", |world, _| {
                let ended = world.git_ended(&["rebase", "-q", "--force-rebase", "HEAD~1"]);
                // It stops where the agent has changed a file meanwhile.
                while world.path(".git/rebase-merge").exists() {
                    world.git_ended(&["rebase", "--abort"]);
                }
                ended
            }),
            ("switch", |world, _| {
                let left = world.git_ended(&["switch", "-q", "--detach"]);
                // Everybody else works on `main`, so back at once, or as soon as nobody holds a lock.
                while world.git(&["branch", "--show-current"]).trim() != "main" {
                    world.git_ended(&["switch", "-q", "main"]);
                }
                left
            }),
        ],
    ),
    (
        "an agent",
        &[
            ("plan", |world, nth| {
                wrote(|| world.plan(task(nth), number(nth)))
            }),
            ("plan review", |world, nth| {
                wrote(|| world.plan_review(task(nth), nth % 3 > 0, number(nth)))
            }),
            ("patch", |world, nth| {
                wrote(|| world.patch(task(nth), number(nth)))
            }),
            ("code review", |world, nth| {
                wrote(|| world.code_review(task(nth), nth % 3 > 0, number(nth)))
            }),
        ],
    ),
];

fn task(nth: u64) -> &'static str {
    TASKS[usize::try_from(nth).expect("small") % TASKS.len()]
}

fn order(nth: u64, order: &str) -> String {
    format!("tasks/{}/{order}", task(nth + 2))
}

/// How the command ended that a request was.
fn answered(answer: &Answer) -> Ended {
    let code = answer
        .header("orch-exit-code")
        .and_then(|code| code.parse().ok())
        .unwrap_or(-1);
    Ended {
        code,
        stdout: answer.body.clone(),
        stderr: String::new(),
    }
}

fn number(nth: u64) -> u32 {
    u32::try_from(nth).expect("small")
}

fn wrote(write: impl FnOnce()) -> Ended {
    write();
    thread::sleep(Duration::from_millis(400));
    Ended {
        code: 0,
        stdout: String::new(),
        stderr: String::new(),
    }
}

/// How long they all act: some turns each, or this many seconds.
fn seconds() -> Option<u64> {
    setting::number("ORCH_SOAK")
}

#[test]
fn two_of_everything_lose_nothing_and_leave_nothing_behind() {
    let world = World::ready();
    world.write("kept.txt", "mine\n");
    world.write(
        "orch-executor.sh",
        "cat > /dev/null\necho '{\"summary\": \"nothing\"}'\n",
    );
    let config = world
        .read("orch.toml")
        .replace("#command = []", "command = [\"sh\", \"orch-executor.sh\"]");
    world.write(
        "orch.toml",
        config.replace("#[executor.default]", "[executor.default]"),
    );
    world.write(
        "../editor",
        "#!/bin/sh\nsleep 0.2\necho 'mine, edited' > \"$1\"\n",
    );
    executable(&world.path("../editor"));
    world.commit("Files of the user");
    for task in TASKS {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    world.orch(&["hook", "install"]).succeeds();
    world.commit("Plans");
    world.git(&["worktree", "add", "-q", "-b", "side", LINKED]);
    let mut watch = world.orch_spawn(&["watch"]);
    // It watches too.
    let server = Server::start(&world, &[]);
    let world = Stage { world, server };
    let until = seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let counts: Mutex<BTreeMap<(&str, &str), [u64; 2]>> = Mutex::default();
    thread::scope(|scope| {
        for (number, (actor, acts)) in ACTORS.iter().enumerate() {
            let (world, counts) = (&world, &counts);
            scope.spawn(move || {
                let mut below = choices();
                // Each has its own order.
                for _ in 0..number {
                    below(2);
                }
                for nth in 10 * (number as u64 + 1).. {
                    let is_over = until.map_or(nth >= 10 * (number as u64 + 1) + 8, |until| {
                        Instant::now() > until
                    });
                    if is_over {
                        break;
                    }
                    let (name, act) = acts[below(acts.len())];
                    let ended = act(world, nth);
                    assert!(
                        !ended.stderr.contains("panicked"),
                        "{actor}, {name}: {ended:?}"
                    );
                    let mut counts = counts.lock().expect("no panic");
                    counts.entry((actor, name)).or_default()[usize::from(ended.code != 0)] += 1;
                }
            });
        }
    });
    let Stage { world, server } = world;
    assert_eq!(server.stop(), Some(0));
    watch.kill().expect("killed");
    let said = watch.wait_with_output().expect("ended");
    assert!(
        !String::from_utf8_lossy(&said.stderr).contains("panicked"),
        "{said:?}"
    );
    for ((actor, name), [done, refused]) in counts.into_inner().expect("no panic") {
        told(&format!(
            "{actor:<14} {name:<28} {done:>6} done {refused:>6} refused"
        ));
    }
    world.orch(&["status"]).succeeds();
    for left in [
        "index.lock",
        "orch/journal.json",
        "refs/heads/main.lock",
        "HEAD.lock",
        "gc.pid",
    ] {
        assert!(
            !world.path(&format!(".git/{left}")).exists(),
            "{left} is left behind"
        );
    }
    let fsck = world.git_ended(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!((fsck.code, fsck.stdout.as_str()), (0, ""), "{fsck:?}");
    world.orch(&["audit"]).succeeds();
    world.orch(&["-C", LINKED, "status"]).succeeds();
    world.orch(&["-C", LINKED, "audit"]).succeeds();
    assert_eq!(
        world.git(&["-C", LINKED, "status", "--porcelain"]),
        "",
        "in the linked work tree"
    );
    for task in TASKS {
        let record = [
            format!("tasks/{task}/state.json"),
            format!("tasks/{task}/transcript.jsonl"),
        ];
        for path in record {
            assert_eq!(
                world.git(&["status", "--porcelain", "--", &path]),
                "",
                "{path}"
            );
        }
        world.orch(&["log", task]).succeeds();
    }
    world.orch(&["new", "last"]).succeeds();
}
