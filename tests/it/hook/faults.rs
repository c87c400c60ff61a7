//! What a hook does if `orch` is missing, crashes or takes too long.

use super::{Scene, program};
use crate::harness::{Ended, eventually};
use std::fs;
use std::path::PathBuf;

fn installed(settings: &str) -> Scene {
    let scene = Scene::new();
    scene
        .world
        .write("orch.toml", format!("[hook]\n{settings}\n"));
    scene
        .world
        .git(&["commit", "-q", "-a", "--allow-empty", "-m", "Settings"]);
    scene.world.orch(&["hook", "install"]).succeeds();
    scene
}

/// Asserts that a commit passed or was refused, and that stderr is one line with these words, or empty.
#[track_caller]
fn check(ended: Ended, passes: bool, words: &[&str]) {
    assert_eq!(ended.code, i32::from(!passes), "{ended:?}");
    assert_eq!(
        ended.stderr.lines().count(),
        usize::from(!words.is_empty()),
        "{ended:?}"
    );
    for word in words {
        assert!(ended.stderr.contains(word), "{word}: {ended:?}");
    }
}

#[test]
fn answers_are_passed_on_and_a_crash_always_blocks() {
    for settings in ["", "on_missing = \"block\""] {
        let scene = installed(settings);
        check(scene.commit(), true, &[]);
        for answer in 1..=5 {
            scene.orch_answers(&format!("exit {answer}"));
            check(scene.commit(), false, &[]);
        }
        for fault in ["64", "70", "101", "126", "130"] {
            scene.orch_answers(&format!("exit {fault}"));
            let what = if fault == "70" {
                "orch failed to read or write"
            } else {
                "orch crashed"
            };
            check(
                scene.commit(),
                false,
                &[what, fault, "the commit is rejected"],
            );
        }
        scene.orch_answers("kill -SEGV $$");
        let words = [
            "pre-commit: orch crashed (exit code 139)",
            "is rejected",
            "--no-verify",
        ];
        check(scene.commit(), false, &words);
    }
}

#[test]
fn an_orch_that_takes_too_long_is_ended_and_blocks() {
    let scene = installed("timeout_seconds = 1");
    let noted = scene.beside("process");
    // Not even one that ignores signals can continue.
    scene.orch_answers(&format!(
        "trap '' TERM INT; echo $$ >'{}'; while :; do :; done",
        noted.display()
    ));
    check(
        scene.commit(),
        false,
        &[
            "pre-commit: orch took longer than 1 s",
            "the commit is rejected",
        ],
    );
    let process = fs::read_to_string(noted).expect("noted").trim().to_owned();
    eventually("orch has ended", || {
        fs::read(format!("/proc/{process}/cmdline"))
            .unwrap_or_default()
            .is_empty()
    });
}

#[test]
fn the_timer_of_a_hook_is_not_left_behind() {
    let scene = installed("timeout_seconds = 3571");
    for _ in 0..30 {
        check(scene.commit(), true, &[]);
    }
    let is_timer = |process: &fs::DirEntry| {
        fs::read(process.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x003571\0")
    };
    eventually("no timer sleeps", || {
        !fs::read_dir("/proc")
            .expect("listed")
            .flatten()
            .any(|process| is_timer(&process))
    });
}

/// A `PATH` with nothing but what the hook and git need.
fn bare_path(scene: &Scene) -> String {
    let bare = scene.beside("bare");
    fs::create_dir_all(&bare).expect("a directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for tool in ["sh", "git", "cat", "cmp", "sleep"] {
        let found = std::env::split_paths(&path)
            .map(|directory| directory.join(tool))
            .find(|tool| tool.is_file());
        std::os::unix::fs::symlink(found.expect(tool), bare.join(tool)).expect("linked");
    }
    bare.to_str().expect("UTF-8").to_owned()
}

fn recorded(scene: &Scene, orch: &PathBuf) {
    let mut command = scene.world.command(orch);
    scene
        .world
        .end(
            command
                .args(["hook", "install"])
                .output()
                .expect("orch runs"),
        )
        .succeeds();
}

#[test]
fn an_orch_that_is_missing_is_said_and_nobody_is_locked_out() {
    let scene = installed("on_missing = \"block\"");
    let path = bare_path(&scene);
    let own = scene.beside("own-orch");
    // Another process writes it: a program that this one had open for writing may be busy when it is started.
    let mut copy = scene.world.command("cp");
    copy.arg(env!("CARGO_BIN_EXE_orch")).arg(&own);
    scene.world.end(copy.output().expect("cp runs")).succeeds();
    recorded(&scene, &own);
    let commit = || scene.git_with_path(&path, &["commit", "-q", "--allow-empty", "-m", "x"]);

    // Where it was at the time of the installation it is found without any PATH.
    fs::remove_file(&own).expect("removed");
    program(
        &own,
        &format!("echo recorded >>'{}'", scene.beside("seen").display()),
    );
    check(commit(), true, &[]);
    assert_eq!(scene.seen(), "recorded\n");

    fs::rename(&own, scene.beside("moved")).expect("renamed");
    check(
        commit(),
        false,
        &[
            "pre-commit: orch is missing",
            "own-orch",
            "the commit is rejected",
        ],
    );
    // An orch on the PATH comes first.
    check(scene.commit(), true, &[]);
    assert_eq!(scene.seen(), "orch check --staged\n");

    scene.world.write("orch.toml", "version = 1\n");
    fs::rename(scene.beside("moved"), scene.beside("bin/moved")).expect("renamed");
    scene.world.orch(&["hook", "install"]).succeeds();
    let text = scene.world.read(".git/hooks/pre-commit");
    let elsewhere = text.replace(env!("CARGO_BIN_EXE_orch"), "/nowhere/orch");
    scene.world.write(".git/hooks/pre-commit", &elsewhere);
    check(
        commit(),
        true,
        &[
            "pre-commit: orch is missing",
            "/nowhere/orch",
            "the commit is accepted unchecked",
        ],
    );
}

#[test]
fn a_push_is_called_a_push() {
    let scene = Scene::new();
    scene.world.git(&["init", "-q", "--bare", "../remote.git"]);
    scene
        .world
        .orch(&["hook", "install", "--pre-push"])
        .succeeds();
    scene.orch_answers("exit 70");
    scene
        .git(&["push", "-q", "../remote.git", "main"])
        .ends(1)
        .reports("the push is rejected");
}
