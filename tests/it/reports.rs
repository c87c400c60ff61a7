//! What reports of test runs come to, in the shipped life of a task.

use crate::harness::{World, started, taken};
use crate::looks::{caller, open};
use orch_base::RepoPath;
use orch_engine::drive::{WatchEffect, WatchEvent, WatchMode, Watching};

/// A task whose code is to be tested.
fn in_test() -> World {
    started("test")
}

#[test]
fn a_report_decides_by_what_its_runner_means() {
    let junit = "eval/junit.xml";
    let eval = "eval/eval-report.json";
    for (path, text, phase, says) in [
        (
            junit,
            "<testsuite><testcase name='a'/></testsuite>",
            "accept",
            "tests-passed",
        ),
        (
            junit,
            "<testsuite tests='2' failures='1'><testcase name='a'><flakyFailure/></testcase></testsuite>",
            "accept",
            "tests-passed",
        ),
        (
            junit,
            "<testsuite><testcase name='a'/><testcase name='b' status='notrun'>\
             <skipped message='Unable to find executable'/></testcase></testsuite>",
            "codegen",
            "tests-failed",
        ),
        (
            junit,
            "<testsuite tests='0'><testcase name='a' time='0'/></testsuite>",
            "test",
            "eval/junit.xml does not count: no test ran: of 1 listed, none counts",
        ),
        (
            junit,
            "<testsuite><testcase name='a'><skipped/></testcase></testsuite>",
            "test",
            "eval/junit.xml does not count: no test ran: 1 skipped, none executed",
        ),
        (
            "eval/unit/junit.xml",
            "<testsuite><testcase name='a'/></testsuite>",
            "test",
            "`eval/unit/junit.xml` does not count: `junit` is read from `eval/*.xml`",
        ),
        (junit, "<testsuite/> 1 failed", "test", "eval/junit.xml"),
        (
            eval,
            r#"{"overall_pass": true, "suites": [{"status": "passed"}]}"#,
            "accept",
            "tests-passed",
        ),
        (
            eval,
            r#"{"results": [{"status": "ok", "code": 0}, {"status": "skipped"}]}"#,
            "accept",
            "tests-passed",
        ),
        (
            eval,
            r#"{"results": [{"status": "ok", "code": 101}]}"#,
            "codegen",
            "tests-failed",
        ),
        (
            eval,
            r#"{"overall_pass": true, "code": 101}"#,
            "codegen",
            "tests-failed",
        ),
        (
            eval,
            r#"{"overall_pass": true, "suites": [{"code": 2}]}"#,
            "codegen",
            "tests-failed",
        ),
        (
            eval,
            r#"{"overall_pass": true, "summary": {"passed": 0, "skipped": 3}}"#,
            "test",
            "nothing to apply",
        ),
        (
            eval,
            r#"{"overall_pass": true, "suites": [{"status": "skipped"}]}"#,
            "test",
            "nothing to apply",
        ),
        (
            eval,
            r#"{"overall_pass": true, "suites": [{"cases": [{"status": "skipped"}]}]}"#,
            "test",
            "nothing to apply",
        ),
        (
            eval,
            r#"{"results": [{"status": "skipped"}]}"#,
            "test",
            "nothing to apply",
        ),
    ] {
        let world = in_test();
        world.write(&format!("tasks/t/{path}"), text);
        world.orch(&["next", "t"]).says(says);
        assert_eq!(world.phase("t"), phase, "{text}");
    }
}

/// A watch over a world, whose clock is the test.
fn watched(world: &World) -> Watching {
    let mut watching = Watching::new(open(world), caller(), WatchMode::Apply).with_quiet();
    taken(&mut watching, vec![WatchEvent::Start]);
    watching
}

/// Writes a file of the task and tells the watch. Returns why it holds the task back, if it says so.
fn written(world: &World, watching: &mut Watching, path: &str, text: &str) -> Option<String> {
    let path = format!("tasks/t/{path}");
    world.write(&path, text);
    let changed = WatchEvent::Changed(vec![RepoPath::new(&path).expect("a path")]);
    let effects = taken(watching, vec![changed]);
    effects.into_iter().find_map(|effect| match effect {
        WatchEffect::Held { message, .. } => Some(message),
        _ => None,
    })
}

fn complete() -> Vec<WatchEvent> {
    vec![WatchEvent::Complete(vec![
        RepoPath::new("tasks/t").expect("a path"),
    ])]
}

const PASSED: &str = "<testsuite><testcase name='a'/></testsuite>";
const FAILED: &str = "<testsuite><testcase name='b'><failure/></testcase></testsuite>";

#[test]
fn a_watch_decides_once_all_reports_of_a_run_are_there() {
    let world = in_test();
    let mut watching = watched(&world);
    let held = written(&world, &mut watching, "eval/TEST-A.xml", PASSED);
    assert_eq!(
        held.as_deref(),
        Some("eval/*.xml: waiting until no report has changed for 3s")
    );
    assert_eq!(world.phase("t"), "test");
    assert_eq!(
        written(&world, &mut watching, "eval/TEST-B.xml", FAILED),
        None,
        "it is told once"
    );
    assert_eq!(world.phase("t"), "test");
    taken(&mut watching, complete());
    assert_eq!(world.phase("t"), "codegen");
}

#[test]
fn a_report_that_comes_after_the_quiet_time_is_waited_for_again() {
    let world = in_test();
    let mut watching = watched(&world);
    written(&world, &mut watching, "eval/TEST-A.xml", PASSED);
    // The clock has fired, and the watch has not yet heard of the second file.
    world.write("tasks/t/eval/TEST-B.xml", FAILED);
    taken(&mut watching, complete());
    assert_eq!(world.phase("t"), "test");
    taken(&mut watching, complete());
    assert_eq!(world.phase("t"), "codegen");
}

#[test]
fn only_the_watch_waits_for_quiet() {
    let world = in_test();
    let mut watching = watched(&world);
    assert!(written(&world, &mut watching, "eval/TEST-A.xml", PASSED).is_some());
    world
        .orch(&["prompt", "t"])
        .succeeds()
        .says("waits until none of them has changed for 3s");
    let told = world.orch_json(&["suggest", "t"]);
    assert_eq!(told["suggestions"][0]["kind"], "transition", "{told:#}");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "accept");
}

#[test]
fn nothing_is_complete_until_the_file_is_there_that_marks_the_end() {
    let world = World::ready();
    let workflow = world
        .orch(&["workflow", "show", "global-state-machine"])
        .succeeds()
        .stdout;
    let marked = workflow.replacen(
        "format = \"junit\"",
        "format = \"junit\"\ncomplete = \"eval/done\"",
        1,
    );
    world.write("system/workflows/global-state-machine.md", &marked);
    world
        .orch(&["workflow", "check", "global-state-machine"])
        .succeeds();
    world.commit("mark the end");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "test");
    let mark = "Once every file of `tasks/t/eval/*.xml` is written, create `tasks/t/eval/done`";
    world.orch(&["prompt", "t"]).succeeds().says(mark);
    let mut watching = watched(&world);
    let held = written(&world, &mut watching, "eval/TEST-A.xml", PASSED);
    assert_eq!(held.as_deref(), Some("eval/*.xml: waiting for eval/done"));
    // Who tests is told so also when the reports are there.
    world.orch(&["prompt", "t"]).succeeds().says(mark);
    taken(&mut watching, complete());
    assert_eq!(world.phase("t"), "test", "no time brings the file");
    world
        .orch(&["run", "t", "--", "true"])
        .says("waiting for eval/done");
    assert_eq!(world.phase("t"), "test");
    written(&world, &mut watching, "eval/done", "done\n");
    assert_eq!(world.phase("t"), "accept");

    let refused = [
        ("eval/*", "neither a quiet time nor a path"),
        ("quiet soon", "neither a quiet time"),
    ];
    for (value, told) in refused {
        let text = marked.replacen("\"eval/done\"", &format!("\"{value}\""), 1);
        world.write("system/workflows/global-state-machine.md", text);
        world
            .orch(&["workflow", "check", "global-state-machine"])
            .ends(1)
            .says(told);
    }
}
