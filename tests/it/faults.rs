//! Killed processes, several at once, a user at work beside: nothing is lost, nothing runs twice.

mod disk;
mod images;
pub mod inject;
mod orders;
mod power;
mod races;
mod reading;
mod recorded;
mod short;
mod torn;
mod writing;

pub use inject::{choices, told};

use crate::harness::{World, executable};
use crate::setting;
use serde_json::json;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const PLAN: &str =
    r#"{"id": "p", "title": "T", "brief": "B", "status": "final", "scope": {"in_scope": ["a"]}}"#;

/// How many rounds: a slice, or many where `ORCH_SOAK` asks for it.
fn rounds(slice: u64) -> u64 {
    if setting::setting("ORCH_SOAK").is_some() {
        slice * 20
    } else {
        slice
    }
}

/// A repository with `count` tasks, `t0`, `t1` and so on, each of which has a plan.
fn planned(count: u64) -> World {
    let world = World::ready();
    for number in 0..count {
        world.orch(&["new", &format!("t{number}")]).succeeds();
        world.write(&format!("tasks/t{number}/planning/plan.json"), PLAN);
    }
    world
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_state_or_the_new_one() {
    let world = World::ready();
    for round in 0..rounds(24) {
        let task = format!("k{round}");
        world.orch(&["new", &task]).succeeds();
        world.write(&format!("tasks/{task}/planning/plan.json"), PLAN);
        let mut child = world
            .orch_command(&["next", &task])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("orch starts");
        // From long before the commit to long after it.
        thread::sleep(Duration::from_micros(1500 * round));
        let _ = child.kill();
        let _ = child.wait();
        // The next run finishes or begins again; either way the task is where it should be, once.
        let ended = world.orch(&["next", &task, "--expect", "plan_review"]);
        assert_eq!(ended.code, 0, "round {round}: {ended:?}");
        world.orch(&["watch", "--once"]).succeeds();
        assert_eq!(world.phase(&task), "plan_review", "round {round}");
        assert_eq!(world.dirty(), "", "round {round}");
        let subjects = world.git(&["log", "--format=%s"]);
        let moves = subjects
            .lines()
            .filter(|line| line.starts_with(&format!("orch({task}): planning")))
            .count();
        assert_eq!(moves, 1, "round {round}: it ran twice");
        let transcript = world.read(&format!("tasks/{task}/transcript.jsonl"));
        assert_eq!(transcript.lines().count(), 2, "round {round}");
    }
    let fsck = world.git_ended(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!((fsck.code, fsck.stdout.as_str()), (0, ""), "{fsck:?}");
    world.orch(&["check"]).succeeds();
}

/// A repository with an index large enough that writing it takes a while.
fn large() -> World {
    let world = World::ready();
    let blob = world.git(&["rev-parse", "HEAD:orch.toml"]);
    let lines: String = (0..20_000)
        .map(|n| format!("100644 {}\tsrc/{n}.txt\n", blob.trim()))
        .collect();
    world.write("../entries", lines);
    let feed = "git update-index --index-info < ../entries && git update-index --skip-worktree $(git ls-files src)";
    assert!(
        world
            .command("sh")
            .args(["-c", feed])
            .status()
            .expect("sh runs")
            .success()
    );
    world.git(&["commit", "-q", "-m", "Many files"]);
    world
}

#[test]
fn a_kill_while_the_index_is_locked_blocks_nobody_for_long() {
    let world = large();
    let lock = world.path(".git/index.lock");
    let mut left_behind = 0;
    for round in 0..40 {
        let task = format!("k{round}");
        world.orch(&["new", &task]).succeeds();
        world.write(&format!("tasks/{task}/planning/plan.json"), PLAN);
        let mut command = world.orch_command(&["next", &task]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("orch starts");
        while !lock.exists() && child.try_wait().expect("looked at").is_none() {
            std::hint::spin_loop();
        }
        // At the first instruction under the lock, then later and later.
        thread::sleep(Duration::from_micros(250 * round));
        let _ = child.kill();
        let _ = child.wait();
        if lock.exists() {
            left_behind += 1;
            assert_ne!(
                world.git_ended(&["add", "orch.toml"]).code,
                0,
                "git respects it"
            );
        }
        // Any command clears it away, and finishes what was begun.
        world.orch(&["status"]);
        assert!(!lock.exists(), "round {round}");
        world.git(&["add", "orch.toml"]);
        world.orch(&["watch", "--once"]).succeeds();
        assert_eq!(world.phase(&task), "plan_review", "round {round}");
        assert_eq!(world.dirty(), "", "round {round}");
        if left_behind == 8 {
            break;
        }
    }
    assert!(left_behind > 0, "no kill hit the moment");
    let fsck = world.git_ended(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!((fsck.code, fsck.stdout.as_str()), (0, ""), "{fsck:?}");
}

#[test]
fn an_interrupt_leaves_no_lock_behind() {
    let world = large();
    let mut interrupted = 0;
    // On a busy machine, the shell that interrupts may come too late many times.
    for round in 0..60 {
        if round >= 6 && interrupted > 0 {
            break;
        }
        let task = format!("i{round}");
        world.orch(&["new", &task]).succeeds();
        world.write(&format!("tasks/{task}/planning/plan.json"), PLAN);
        let script = "\"$0\" next \"$1\" > /dev/null 2>&1 & \
             while [ ! -e .git/index.lock ] && kill -0 $! 2> /dev/null; do :; done; \
             kill -TERM $! 2> /dev/null; wait $!";
        let mut shell = world.command("sh");
        let ended = shell
            .args(["-c", script, env!("CARGO_BIN_EXE_orch"), &task])
            .status()
            .expect("sh runs");
        assert!(
            [Some(0), Some(130)].contains(&ended.code()),
            "round {round}: {ended:?}"
        );
        interrupted += u32::from(ended.code() == Some(130));
        assert!(!world.path(".git/index.lock").exists(), "round {round}");
        world.orch(&["watch", "--once"]).succeeds();
        assert_eq!(world.phase(&task), "plan_review", "round {round}");
        assert_eq!(world.dirty(), "", "round {round}");
    }
    assert!(interrupted > 0, "no interrupt came in time");
}

#[test]
fn an_add_beside_our_commits_is_never_lost() {
    let count = rounds(12);
    let world = planned(count);
    thread::scope(|scope| {
        let ours = scope.spawn(|| {
            for number in 0..count {
                world.orch(&["next", &format!("t{number}")]).succeeds();
            }
        });
        let mut added = Vec::new();
        let mut number = 0;
        while !ours.is_finished() {
            let path = format!("by-hand/{number}.txt");
            world.write(&path, format!("{number}\n"));
            // While orch holds the lock for a moment, git itself refuses; only what it accepted counts.
            if world.git_ended(&["add", &path]).code == 0 {
                added.push(path);
            }
            number += 1;
        }
        let staged = world.git(&["diff", "--cached", "--name-only"]);
        for path in &added {
            assert!(
                staged.lines().any(|line| line == path),
                "{path} was added and is lost"
            );
        }
        assert!(!added.is_empty());
    });
    assert_eq!(world.git(&["status", "--porcelain", "--", "tasks"]), "");
}

#[test]
fn several_at_once_make_one_line_of_history() {
    let world = World::ready();
    for number in 0..8 {
        world.orch(&["new", &format!("t{number}")]).succeeds();
        world.write(&format!("tasks/t{number}/planning/plan.json"), PLAN);
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..8 {
                    let ended =
                        world.orch(&["next", &format!("t{number}"), "--expect", "plan_review"]);
                    assert!([0, 4].contains(&ended.code), "{ended:?}");
                }
            });
        }
    });
    world.orch(&["watch", "--once"]).succeeds();
    let subjects = world.git(&["log", "--format=%s"]);
    for number in 0..8 {
        let moves = subjects
            .lines()
            .filter(|line| line.starts_with(&format!("orch(t{number}): planning")))
            .count();
        assert_eq!(moves, 1, "t{number} moved {moves} times");
    }
    assert_eq!(world.git(&["rev-list", "--merges", "HEAD"]), "");
    assert_eq!(world.dirty(), "");
}

#[test]
fn what_cannot_be_read_is_never_committed_as_deleted() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.orch(&["next", "t1"]).succeeds();
    let head = world.git(&["rev-parse", "HEAD"]);
    // Too large, then a link: each is there, and neither can be proof.
    world.write("tasks/t1/planning/plan.json", " ".repeat(9 << 20));
    world
        .orch(&["next", "t1", "--override", "continue"])
        .ends(5)
        .reports("cannot read tasks/t1/planning/plan.json");
    world.remove("tasks/t1/planning/plan.json");
    world.write("elsewhere.json", PLAN);
    std::os::unix::fs::symlink(
        "../../../elsewhere.json",
        world.path("tasks/t1/planning/plan.json"),
    )
    .expect("a link");
    world
        .orch(&["next", "t1", "--override", "continue"])
        .ends(5)
        .reports("cannot read tasks/t1/planning/plan.json");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    // A transcript that cannot be read is not begun again.
    world.remove("tasks/t1/planning/plan.json");
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.remove("tasks/t1/transcript.jsonl");
    std::fs::create_dir(world.path("tasks/t1/transcript.jsonl")).expect("a directory");
    world
        .orch(&["rollback", "t1", "--to", "planning", "--reason", "x"])
        .reports("cannot read this file, which contains the task's record");
}

#[test]
fn a_transcript_keeps_every_byte() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let mut story = std::fs::read(world.path("tasks/t1/transcript.jsonl")).expect("a story");
    story.extend(b"not json \xff and no newline");
    world.write("tasks/t1/transcript.jsonl", &story);
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.orch(&["next", "t1"]).ends(1);
    assert_eq!(
        std::fs::read(world.path("tasks/t1/transcript.jsonl")).expect("a story"),
        story
    );
    world.orch(&["recover", "t1"]).succeeds();
    let kept =
        std::fs::read(world.path("tasks/t1/transcript.jsonl.broken")).expect("what was there");
    assert_eq!(kept, story);
    world.orch(&["next", "t1"]).succeeds();
}

#[test]
fn leftovers_do_not_reach_another_branch() {
    let world = World::ready();
    world.git(&["branch", "other"]);
    world.orch(&["new", "t1"]).succeeds();
    // As if killed right after the branch moved: the journal is there, nothing else is.
    let state = world.git(&["rev-parse", "HEAD:tasks/t1/state.json"]);
    let new = world.git(&["rev-parse", "HEAD"]);
    let journal = journal(&new, &[("tasks/t1/state.json", &state)]);
    world.git(&["switch", "-q", "other"]);
    world.write(".git/orch/journal.json", &journal);
    world.orch(&["status"]).succeeds();
    assert_eq!(world.dirty(), "");
    assert!(!world.path("tasks/t1/state.json").exists());
    // Back on its own branch it is finished by whoever looks.
    world.git(&["switch", "-q", "main"]);
    world.git(&["rm", "-q", "--cached", "tasks/t1/state.json"]);
    world.remove("tasks/t1/state.json");
    world.write(".git/orch/journal.json", &journal);
    world.orch(&["status"]).succeeds().says("t1");
    assert_eq!(world.dirty(), "");
    assert!(!world.path(".git/orch/journal.json").exists());
}

/// What follows the name of a journal that is kept, and what is put in place of the journal.
type JournalWreck = (&'static str, fn(&World, &str));

#[test]
fn a_journal_that_cannot_be_read_is_kept_and_reported_and_replaces_no_other() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let place = ".git/orch/journal.json";
    let wrecks: [JournalWreck; 4] = [
        ("", |world, place| {
            world.write(place, "{\"reference\": \"refs/he")
        }),
        ("-2", |world, place| world.write(place, "other")),
        ("-3", |world, place| {
            world.write(&format!("{place}/inside"), "")
        }),
        ("-4", |world, place| {
            world.shell(&format!("ln -s nowhere {place}"))
        }),
    ];
    for (number, wreck) in wrecks {
        wreck(&world, place);
        let kept = format!("{place}.broken{number}");
        let told = world
            .orch(&["status"])
            .succeeds()
            .reports(&format!("it is kept as [ROOT]/{kept}"));
        assert!(
            told.stderr
                .contains("compare the branch with the files: git status; then: rm "),
            "{told:?}"
        );
        assert!(
            !world.orch(&["status"]).stderr.contains("journal"),
            "it is reported once"
        );
        assert!(world.path(place).symlink_metadata().is_err(), "{kept}");
        assert!(world.path(&kept).symlink_metadata().is_ok(), "{kept}");
        world.orch(&["doctor"]).says(&kept);
    }
    assert_eq!(
        world.read(&format!("{place}.broken")),
        "{\"reference\": \"refs/he"
    );
    assert_eq!(world.read(&format!("{place}.broken-2")), "other");
    // Nothing is lost with an empty one.
    world.write(place, "");
    assert_eq!(world.orch(&["status"]).succeeds().stderr, "");
    world.plan("t1", 1);
    world.orch(&["next", "t1"]).succeeds();
}

/// The journal of a batch that adds these files, given as path and blob, with the commit `new`.
fn journal(new: &str, files: &[(&str, &str)]) -> String {
    let files = files.iter().map(|(path, blob)| (path, blob.trim()));
    let (files, index): (Vec<_>, Vec<_>) = files
        .map(|(path, blob)| {
            let file = json!({"path": path, "before": null, "after": blob});
            (
                file,
                json!({"path": path, "before": null, "after": [blob, 0o100_644]}),
            )
        })
        .unzip();
    json!({"reference": "refs/heads/main", "new": new.trim(), "files": files, "index": index})
        .to_string()
}

#[test]
fn a_kill_between_the_index_and_the_branch_takes_the_index_back() {
    let world = World::ready();
    world.write("mine.txt", "staged by the user\n");
    world.git(&["add", "mine.txt"]);
    let before = world.git(&["ls-files", "-s"]);
    world.orch(&["new", "t1"]).succeeds();
    let new = world.git(&["rev-parse", "HEAD"]);
    let names = ["tasks/t1/state.json", "tasks/t1/transcript.jsonl"];
    let blobs = names.map(|name| world.git(&["rev-parse", &format!("HEAD:{name}")]));
    // As if killed right after the index was written: the branch has not moved, no file is in place.
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    for name in names {
        world.remove(name);
    }
    let files: Vec<(&str, &str)> = names
        .into_iter()
        .zip(blobs.iter().map(String::as_str))
        .collect();
    world.write(".git/orch/journal.json", journal(&new, &files));
    world.write("tasks/t1/.orch-tmp1234", "half of a file");
    world.orch(&["status"]).succeeds();
    assert_eq!(
        world.git(&["ls-files", "-s"]),
        before,
        "what the user staged is staged, and nothing else"
    );
    assert!(!world.path(".git/orch/journal.json").exists());
    assert!(!world.path("tasks/t1/.orch-tmp1234").exists());
    world.orch(&["new", "t1"]).succeeds();
    assert_eq!(world.dirty(), "A  mine.txt\n");
}

/// A `git commit` that reads HEAD before the branch moves and the index after it, or the other way round, must
/// not undo the move. A `git switch -c`, which takes no lock of the index, must not leave the index of one branch to
/// another.
#[test]
fn a_command_of_git_that_begins_while_a_move_is_under_way_undoes_nothing() {
    for command in [
        "git commit -q --allow-empty -m mine",
        "git switch -q -c side",
        "git symbolic-ref HEAD refs/heads/side",
    ] {
        meets_a_move(command);
    }
}

fn meets_a_move(command: &str) {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    world.plan("t1", 1);
    // git runs this hook when the new index is in place, and waits for it: the widest possible window.
    let hook = format!(
        "#!/bin/sh\n[ -e .git/tried ] && exit 0\ntouch .git/tried\n\
         unset GIT_INDEX_FILE GIT_DIR\n\
         {command} 2> .git/said && echo succeeded >> .git/said\n"
    );
    world.write(".git/hooks/post-index-change", hook);
    executable(&world.path(".git/hooks/post-index-change"));
    world
        .orch(&["next", "t1"])
        .succeeds()
        .says("planning -> plan_review");
    let said = world.read(".git/said");
    assert!(said.contains(".lock': File exists"), "{command}: {said}");
    assert!(!said.contains("succeeded"), "{command}: {said}");
    assert_eq!(
        world.git(&["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
    assert!(
        world
            .git(&["log", "-1", "--format=%s"])
            .contains("planning -> plan_review")
    );
    assert_eq!(world.dirty(), "");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn commits_beside_our_moves_undo_nothing() {
    let count = rounds(4);
    let world = planned(count);
    thread::scope(|scope| {
        let ours = scope.spawn(|| {
            for number in 0..count {
                // orch may lose some races, and then keeps the commits out of the next one.
                let task = format!("t{number}");
                world.orch(&["next", &task, "--wait", "60s"]).succeeds();
            }
        });
        let mut made = 0;
        while !ours.is_finished() {
            // git refuses while orch holds a lock; what it accepts must leave the tasks alone.
            made += u32::from(
                world
                    .git_ended(&["commit", "-q", "--allow-empty", "-m", "mine"])
                    .code
                    == 0,
            );
        }
        assert!(made > 0);
    });
    for number in 0..count {
        assert_eq!(world.phase(&format!("t{number}")), "plan_review");
    }
    let touched = world.git(&["log", "--format=", "--name-only", "--grep=^mine$"]);
    assert_eq!(
        touched.trim(),
        "",
        "an empty commit of the user changes nothing"
    );
    assert_eq!(world.dirty(), "");
}
