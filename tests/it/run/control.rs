//! Orders from other processes at any moment, and what a killed run leaves.

use super::leftovers::left_groups;
use super::{GOOD, Loop, limited, processes_in};
use crate::harness::{World, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::process::Child;

/// A script whose `polish` says that it began, and continues only when it may.
pub fn slow() -> String {
    slow_after("")
}

fn slow_after(does: &str) -> String {
    let waits = format!(
        "  polish)\n    {does}\n    touch began\n    while [ ! -e may-end ]; do sleep 0.02; done\n"
    );
    let script = GOOD.replace("  polish)\n", &waits);
    format!("trap 'exit 143' TERM\n{script}")
}

/// A loop that stands in the middle of `polish`.
pub(super) fn begun() -> (Loop, Child) {
    begun_by("", "")
}

/// The same, where `polish` has done this first, under these limits.
pub(super) fn begun_by(does: &str, limits: &str) -> (Loop, Child) {
    let task = Loop::with(&limited(limits), &slow_after(does));
    task.world.write(".gitignore", "began\nmay-end\n");
    task.world.commit("ignore");
    let child = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("polish has begun", || task.world.path("began").exists());
    (task, child)
}

/// The process group of the executor that works now.
pub fn executor_group(world: &World) -> i64 {
    let logs = world.path("tasks/t/.orch/logs");
    let mut group = None;
    eventually("the executor's process group is recorded", || {
        let mut files = fs::read_dir(&logs)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path());
        let file = files.find(|path| path.to_string_lossy().ends_with(".process.json"));
        let text = file.and_then(|path| fs::read_to_string(path).ok());
        group = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()?["group"].as_i64());
        group.is_some()
    });
    group.expect("found")
}

pub fn may_end(world: &World) {
    world.write("may-end", "");
}

pub fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    #[expect(
        clippy::disallowed_methods,
        reason = "tests send the signals that users send"
    )]
    let sent = std::process::Command::new("kill")
        .args(["-s", name, &pid])
        .status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn a_pause_waits_for_the_action_and_a_resume_goes_on() {
    let (task, child) = begun();
    let runs = task.world.orch_json(&["runs"]);
    assert_eq!(
        (&runs["runs"][0]["state"], &runs["runs"][0]["work"]),
        (&"running".into(), &"polish".into())
    );
    task.world
        .orch(&["run", "t"])
        .ends(4)
        .reports("another process runs task `t`");
    assert_eq!(
        task.world.orch_json(&["suggest", "t"])["suggestions"][0]["owner"],
        "process"
    );
    task.world
        .orch(&["pause", "t"])
        .succeeds()
        .says("sent the pause request to process");
    may_end(&task.world);
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(3);
    // What was going on is recorded, and the rule that answers to a pause was applied.
    let story = task.story();
    assert!(story.contains(&"run polish".to_owned()), "{story:?}");
    assert_eq!(task.state()["status"], "paused");
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["state"],
        "paused"
    );
    task.is_clean();
    task.world
        .orch(&["resume", "t"])
        .succeeds()
        .says("completed");
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run polish")
            .count(),
        1
    );
    task.is_clean();
}

#[test]
fn a_pause_may_be_taken_back() {
    let (task, child) = begun();
    task.world.orch(&["pause", "t"]).succeeds();
    task.world
        .orch(&["resume", "t"])
        .succeeds()
        .says("sent the resume request to process");
    may_end(&task.world);
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(0);
    assert_eq!(task.state()["status"], "done");
    task.is_clean();
}

#[test]
fn a_stop_ends_the_action() {
    let (task, child) = begun();
    task.world.orch(&["stop", "t"]).succeeds();
    // A pause does not soften it.
    task.world.orch(&["pause", "t"]);
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(3);
    assert!(!task.story().contains(&"run polish".to_owned()));
    assert_eq!(task.state()["status"], "failed");
    task.is_clean();
}

#[test]
fn orders_without_a_run_are_carried_out_at_once() {
    let task = Loop::new(GOOD);
    task.world.orch(&["pause", "t"]).succeeds();
    assert_eq!(task.state()["status"], "paused");
    task.world
        .orch(&["pause", "t"])
        .ends(3)
        .says("nothing to pause");
    task.world.orch(&["stop", "t"]).succeeds();
    assert_eq!(task.state()["status"], "failed");
    task.world.orch(&["stop", "t"]).ends(3);
    task.is_clean();
}

#[test]
fn ctrl_c_ends_it_cleanly_and_it_goes_on_from_there() {
    for name in ["INT", "TERM"] {
        let (task, child) = begun();
        signal(&child, name);
        task.world
            .end(child.wait_with_output().expect("ends"))
            .ends(130);
        assert!(!task.story().contains(&"run polish".to_owned()));
        assert_eq!(task.state()["status"], "running");
        task.is_clean();
        may_end(&task.world);
        let report = task.run_json();
        assert_eq!(report["ending"], "completed", "{report:#}");
        assert_eq!(
            task.story()
                .iter()
                .filter(|step| *step == "run improve")
                .count(),
            2
        );
        task.is_clean();
    }
}

#[test]
fn twice_at_once_ends_now() {
    let task = Loop::new(&slow().replace("trap 'exit 143' TERM", "trap '' TERM INT"));
    task.world.write(".gitignore", "began\nmay-end\n");
    let toml = task.world.read("orch.toml").replace("300ms", "1h");
    task.world.write("orch.toml", toml);
    task.world.commit("ignore");
    let child = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("polish has begun", || task.world.path("began").exists());
    signal(&child, "INT");
    std::thread::sleep(std::time::Duration::from_millis(100));
    signal(&child, "INT");
    let process = child.id();
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(130);
    eventually("the executor is gone", || {
        processes_in(&task.world.root()).is_empty()
    });
    assert_eq!(left_groups(process), [""; 0]);
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["state"],
        "interrupted"
    );
    may_end(&task.world);
    assert_eq!(task.run_json()["ending"], "completed");
    task.is_clean();
}

#[test]
fn a_killed_run_is_interrupted_and_taken_up_where_it_stood() {
    let (task, mut child) = begun();
    let turns = task.world.orch_json(&["runs"])["runs"][0]["turns"].clone();
    child.kill().expect("killed");
    child.wait().expect("ends");
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["state"],
        "interrupted"
    );
    task.world.orch(&["suggest", "t"]).says("orch run t");
    assert!(
        !processes_in(&task.world.root()).is_empty(),
        "its executor is still there"
    );
    may_end(&task.world);
    // The executor finishes its work with nobody there to hear it, and leaves its result.
    eventually("the executor has ended", || {
        processes_in(&task.world.root()).is_empty()
    });
    task.world.remove("began");
    let report = task.run_json();
    assert_eq!(report["ending"], "completed", "{report:#}");
    assert_eq!(
        report["turns"], turns,
        "nothing is performed again, and nothing is given back"
    );
    assert!(!task.world.path("began").exists());
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run polish")
            .count(),
        1
    );
    task.is_clean();
}

#[test]
fn what_a_killed_run_left_running_is_ended_and_counts_as_a_failure() {
    let (task, mut child) = begun();
    child.kill().expect("killed");
    child.wait().expect("ends");
    let script = task
        .world
        .read("executor.sh")
        .replace("while [ ! -e may-end ]; do sleep 0.02; done", "");
    task.world.write("executor.sh", script);
    task.world.commit("mended");
    let ended = task
        .run()
        .succeeds()
        .reports("was still running")
        .reports("its run was killed");
    assert!(ended.stderr.contains("try 2"), "{}", ended.stderr);
    assert_eq!(processes_in(&task.world.root()), Vec::<String>::new());
    task.is_clean();
}

#[test]
fn a_killed_executor_is_a_failed_try() {
    let (task, child) = begun();
    let group = executor_group(&task.world);
    #[expect(
        clippy::disallowed_methods,
        reason = "tests send the signals that users send"
    )]
    let sent = std::process::Command::new("kill")
        .args(["-s", "KILL", &group.to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
    may_end(&task.world);
    let ended = task.world.end(child.wait_with_output().expect("ends"));
    ended
        .succeeds()
        .reports("polish failed: it was killed by signal 9")
        .reports("try 2");
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run polish")
            .count(),
        1
    );
    task.is_clean();
}

#[test]
fn a_run_waits_while_the_repository_does_not_allow_a_record() {
    let (task, mut child) = begun();
    task.world
        .write(".git/MERGE_HEAD", task.world.git(&["rev-parse", "HEAD"]));
    may_end(&task.world);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().expect("asked").is_none());
    task.world.remove(".git/MERGE_HEAD");
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(0);
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run polish")
            .count(),
        1
    );
    task.is_clean();
}

#[test]
fn a_terminal_that_goes_away_ends_it_cleanly_unless_that_is_to_be_ignored() {
    let (task, child) = begun();
    signal(&child, "HUP");
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(130);
    task.is_clean();

    // A shell repeats the signal of the system while the executor ends, and `timeout` sends its own twice.
    for (first, second) in [
        (Signal::HUP, Signal::HUP),
        (Signal::TERM, Signal::TERM),
        (Signal::TERM, Signal::HUP),
        (Signal::INT, Signal::HUP),
    ] {
        let task = Loop::with(
            &limited(""),
            &format!(
                "trap 'touch ends; sleep 0.3; exit 143' TERM\n{}",
                slow_after("")
            ),
        );
        task.world.write(".gitignore", "began\nends\n");
        task.world.commit("ignore");
        let child = task.world.orch_spawn(&["run", "t", "--auto"]);
        eventually("polish has begun", || task.world.path("began").exists());
        for signal in [first, second] {
            kill_process(Pid::from_child(&child), signal).expect("sent");
        }
        task.world
            .end(child.wait_with_output().expect("ends"))
            .ends(130);
        assert_eq!(
            task.world.orch_json(&["runs"])["runs"][0]["state"],
            "paused",
            "{first:?}, {second:?}"
        );
        task.is_clean();
    }

    let task = Loop::new(&slow());
    task.world.write(".gitignore", "began\nmay-end\n");
    task.world.commit("ignore");
    let mut shell = task.world.command("sh");
    shell
        .env_remove("ORCH_NOW")
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    shell.args([env!("CARGO_BIN_EXE_orch"), "run", "t", "--auto"]);
    let child = shell.spawn().expect("it starts");
    eventually("polish has begun", || task.world.path("began").exists());
    signal(&child, "HUP");
    may_end(&task.world);
    task.world
        .end(child.wait_with_output().expect("ends"))
        .ends(0);
    assert_eq!(task.state()["status"], "done");
    task.is_clean();
}

/// A loop without a configured executor, whose command was given to `orch run` and stands in `polish`.
fn begun_by_command() -> (Loop, Child) {
    let task = Loop::with(&limited(""), &slow());
    task.world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"loop\"\n",
    );
    task.world.write(".gitignore", "began\nmay-end\n");
    task.world.commit("no executor");
    let child = task
        .world
        .orch_spawn(&["run", "t", "--auto", "--", "sh", "executor.sh"]);
    eventually("polish has begun", || task.world.path("began").exists());
    (task, child)
}

#[test]
fn a_resumed_run_keeps_the_command_that_it_was_started_with() {
    for again in [&["resume", "t"][..], &["run", "t"]] {
        let (task, child) = begun_by_command();
        task.world.orch(&["pause", "t"]).succeeds();
        may_end(&task.world);
        task.world
            .end(child.wait_with_output().expect("ends"))
            .ends(3);
        assert_eq!(
            task.world.orch_json(&["runs"])["runs"][0]["state"],
            "paused"
        );
        task.world.orch(again).succeeds().says("completed");
        assert_eq!(task.state()["status"], "done", "{again:?}");
        task.is_clean();
    }
}

#[test]
fn a_killed_run_keeps_the_command_and_a_new_run_does_not() {
    let (task, mut child) = begun_by_command();
    signal(&child, "KILL");
    child.wait().expect("killed");
    may_end(&task.world);
    // Sending a request to a run that no process drives does not forget the command either.
    task.world.orch(&["pause", "t"]);
    task.world
        .orch(&["resume", "t"])
        .succeeds()
        .says("completed");
    assert_eq!(task.state()["status"], "done");
    let command = || task.world.json("tasks/t/.orch/run.json")["command"].clone();
    assert_eq!(command(), serde_json::json!(["sh", "executor.sh"]));
    task.world
        .orch(&["reopen", "t", "--reason", "once more"])
        .succeeds();
    task.world.orch(&["run", "t", "--auto"]).succeeds();
    assert_eq!(command(), serde_json::json!([]));
}
