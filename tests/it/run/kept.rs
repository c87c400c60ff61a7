//! What is paid for is never lost: whatever comes between a result and its record, the next run takes it in.

use super::control::{begun, begun_by, may_end};
use super::{GOOD, Loop, limited, processes_in};
use crate::harness::eventually;
use std::ffi::OsString;

/// A script whose first `polish` does something else too, before it says what it has done.
fn polish_that(does: &str) -> String {
    let first = format!("  polish)\n    echo polished >> polished\n{does}\n");
    GOOD.replace("  polish)\n", &first)
}

fn with(does: &str, limits: &str) -> Loop {
    let task = Loop::with(&limited(limits), &polish_that(does));
    task.world.write(".gitignore", "polished\nhooks/\n");
    task.world.commit("ignore");
    task
}

/// The next run takes the result in: it is recorded once, and was performed once.
#[track_caller]
fn goes_on(task: &Loop) {
    let report = task.run_json();
    assert_eq!(report["ending"], "completed", "{report:#}");
    assert_eq!(
        report["turns"], 4,
        "an answer, two improvements, one polish: {report:#}"
    );
    assert_eq!(task.world.read("polished").lines().count(), 1);
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run polish")
            .count(),
        1
    );
    assert_eq!(report["cost"], 0.25);
    task.is_clean();
}

#[test]
fn a_detached_head_is_waited_for_no_longer_than_the_run_may_take() {
    let task = with("    git checkout -q --detach\n", "time = \"4s\"");
    task.run()
        .ends(1)
        .reports("cannot record the step yet: ")
        .says("exhausted");
    assert!(!task.story().contains(&"run polish".to_owned()));
    task.world.git(&["checkout", "-q", "main"]);
    // Its time is used up; the result was paid for within it.
    task.run().ends(0).reports("its result is used");
    assert_eq!(task.world.read("polished").lines().count(), 1);
    assert_eq!(task.state()["polished"], true);
    task.is_clean();
}

#[test]
fn a_stop_ends_a_run_that_is_held_and_keeps_the_result() {
    let task = with("    touch .git/index.lock\n", "");
    let mut child = task.world.orch_spawn(&["run", "t", "--auto"]);
    let kept = || {
        task.world
            .path("tasks/t/.orch/logs")
            .read_dir()
            .expect("logs")
            .flatten()
    };
    eventually("polish has ended", || {
        task.world.path("polished").exists() && processes_in(&task.world.root()).len() == 1
    });
    assert!(kept().count() > 0);
    task.world
        .orch(&["stop", "t"])
        .succeeds()
        .says("sent the stop request to process");
    assert_eq!(child.wait().expect("ends").code(), Some(3));
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["state"],
        "stopped"
    );
    assert_eq!(
        task.state()["status"],
        "running",
        "nothing could be recorded"
    );
    task.world.remove(".git/index.lock");
    goes_on(&task);
}

#[test]
fn a_signature_that_fails_ends_the_run_at_once() {
    let task = with(
        "    git config commit.gpgSign true; git config gpg.program false\n",
        "",
    );
    task.run().ends(5).reports("cannot sign the commit");
    assert_eq!(task.world.orch_json(&["runs"])["runs"][0]["state"], "error");
    task.world.git(&["config", "commit.gpgSign", "false"]);
    goes_on(&task);
}

#[test]
fn a_branch_without_the_task_is_no_place_for_its_result() {
    let task = with("", "");
    task.world.git(&["branch", "setup", ":/Set up"]);
    let script = polish_that("    git checkout -q setup\n");
    task.world.write("executor.sh", script);
    task.world.commit("elsewhere");
    let ended = task.run().ends(3).says("task `t` is untracked");
    assert!(!ended.stderr.contains("failed"), "{}", ended.stderr);
    task.world.git(&["checkout", "-q", "-f", "main"]);
    goes_on(&task);
}

#[test]
fn a_branch_on_which_the_task_stands_elsewhere_takes_no_result() {
    let task = with("", "");
    task.world.git(&["branch", "other"]);
    let script = "cat > /dev/null\ngit checkout -q other\necho '{\"stateUpdates\": {\"score\": 90}}' > \"$ORCH_RESULT\"\n\
        mkdir -p tasks/t\necho report > tasks/t/report.md\n";
    task.world.write("executor.sh", script);
    task.world.commit("elsewhere");
    let ended = task.run();
    assert!(
        ended
            .stderr
            .contains("the step from which the work started is not in it"),
        "{}",
        ended.stderr
    );
    task.world.orch(&["audit"]).succeeds();
}

#[test]
fn an_executor_that_cleans_up_neither_ends_the_run_nor_gives_its_budget_back() {
    for cleans in ["git clean -fdxq", "rm -rf tasks/t/.orch", "git stash -aq"] {
        let task = with("", "");
        let script = polish_that(&format!("    {cleans}\n")).replace(" > \"$ORCH_RESULT\"", "");
        task.world.write("executor.sh", script);
        task.world.commit("cleans");
        let report = task.run_json();
        assert_eq!(report["ending"], "completed", "{cleans}: {report:#}");
        assert_eq!(report["turns"], 4, "{cleans}");
        let runs = task.world.orch_json(&["runs"]);
        assert_eq!(
            (&runs["runs"][0]["state"], &runs["runs"][0]["turns"]),
            (&"completed".into(), &4.into())
        );
        assert_eq!(task.world.read("tasks/t/.orch/.gitignore"), "*\n");
    }
}

#[test]
fn what_answers_to_an_order_is_recorded_once_what_held_it_is_gone() {
    let task = with("    touch .git/index.lock\n", "");
    let mut child = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("polish has ended", || {
        task.world.path("polished").exists() && processes_in(&task.world.root()).len() == 1
    });
    task.world
        .orch(&["stop", "t"])
        .succeeds()
        .says("sent the stop request to process");
    task.world.remove(".git/index.lock");
    assert_eq!(child.wait().expect("ends").code(), Some(3));
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["state"],
        "stopped"
    );
    assert_eq!(
        task.state()["status"],
        "failed",
        "the rule that answers to a stop was applied"
    );
}

const CLEANS: [&str; 3] = [
    // Both fail if the run writes into the directory at the same moment.
    "git clean -fdxq -e began || git clean -fdxq -e began",
    "rm -rf tasks/t/.orch || rm -rf tasks/t/.orch",
    "rm -rf tasks/t; git checkout -q -- tasks/t; touch tasks/t/report.md",
];

#[test]
fn whoever_cleans_up_can_still_be_seen_and_stopped() {
    for cleans in CLEANS {
        let (task, mut child) = begun_by(cleans, "");
        eventually("it is written down again", || {
            task.world.path("tasks/t/.orch/run.json").exists()
        });
        let runs = task.world.orch_json(&["runs"]);
        assert_eq!(
            (&runs["runs"][0]["state"], &runs["runs"][0]["work"]),
            (&"running".into(), &"polish".into())
        );
        task.world
            .orch(&["run", "t"])
            .ends(4)
            .reports("another process runs task `t`");
        task.world
            .orch(&["stop", "t"])
            .succeeds()
            .says("sent the stop request to process");
        assert_eq!(child.wait().expect("ends").code(), Some(3), "{cleans}");
        task.is_clean();
    }
}

#[test]
fn a_killed_run_of_somebody_who_cleans_up_is_taken_up() {
    for cleans in CLEANS {
        // Only the first time: who removes the directory of results and writes at once finds no directory.
        let once = format!("if [ ! -e began ]; then {cleans}; fi");
        let (task, mut child) = begun_by(&once, "");
        eventually("it is written down again", || {
            task.world.path("tasks/t/.orch/run.json").exists()
        });
        child.kill().expect("killed");
        child.wait().expect("ends");
        may_end(&task.world);
        let report = task.run_json();
        assert_eq!(report["ending"], "completed", "{cleans}: {report:#}");
        assert!(
            report["turns"].as_u64() >= Some(4),
            "nothing is given back: {report:#}"
        );
        task.is_clean();
    }
}

#[test]
fn the_time_of_a_killed_executor_is_not_given_back() {
    let (task, mut child) = begun_by("", "time = \"1h\"");
    let spent = || {
        task.world.json("tasks/t/.orch/run.json")["milliseconds"]
            .as_u64()
            .expect("a number")
    };
    let before = spent();
    eventually("it is written down while it works", || {
        spent() > before + 1_000
    });
    let known = spent();
    child.kill().expect("killed");
    child.wait().expect("ends");
    may_end(&task.world);
    assert_eq!(task.run_json()["ending"], "completed");
    assert!(spent() >= known);
}

#[test]
fn an_order_to_an_interrupted_run_records_first_what_was_finished() {
    for (order, status) in [("pause", "paused"), ("stop", "failed")] {
        let (task, mut child) = begun();
        child.kill().expect("killed");
        child.wait().expect("ends");
        may_end(&task.world);
        eventually("the executor has ended", || {
            processes_in(&task.world.root()).is_empty()
        });
        task.world.orch(&[order, "t"]).succeeds();
        assert!(
            task.story().contains(&"run polish".to_owned()),
            "{:?}",
            task.story()
        );
        assert_eq!(task.state()["status"], status);
        task.is_clean();
    }
}

/// What there is of runs in the git directory.
fn copies(task: &Loop) -> Vec<OsString> {
    let entries = task
        .world
        .path(".git/orch/runs")
        .read_dir()
        .into_iter()
        .flatten()
        .flatten();
    entries.map(|entry| entry.file_name()).collect()
}

#[test]
fn a_run_whose_record_cannot_be_written_has_no_copy_of_it() {
    let task = with("", "");
    // Something in the way of what is written first.
    task.world.write("tasks/t/.orch/.orch-tmp-run.json/x", "");
    task.run().ends(70).reports("run.json");
    assert_eq!(copies(&task), [""; 0]);
    std::fs::remove_dir_all(task.world.path("tasks/t/.orch")).expect("removed");
    goes_on(&task);
}

#[test]
fn what_cannot_be_written_at_the_end_of_a_run_leaves_its_copy() {
    let hides = "    rm -r tasks/t/.orch; touch tasks/t/.orch\n";
    let task = with(hides, "");
    task.run().ends(2).reports("tasks/t/.orch");
    assert_eq!(copies(&task).len(), 1);
}

#[test]
fn the_next_run_removes_what_killed_ones_have_not_written_in_full() {
    let task = with("", "");
    let left = [
        "tasks/t/.orch/.orch-tmp-4000000000-0",
        "tasks/t/.orch/.orch-tmp-1-polish.process.json",
        ".git/orch/runs/.orch-tmp-4000000000-7",
    ];
    left.iter().for_each(|path| task.world.write(path, "{"));
    goes_on(&task);
    for path in left {
        assert!(!task.world.path(path).exists(), "{path}");
    }
}
