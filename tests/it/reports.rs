//! What reports of test runs come to, in the shipped life of a task.

use crate::harness::World;

/// A task whose code is to be tested.
fn in_test() -> World {
    let world = World::ready();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "test");
    world
}

#[test]
fn a_report_decides_by_what_its_runner_means() {
    let junit = "eval/junit.xml";
    let eval = "eval/eval-report.json";
    for (path, text, phase, says) in [
        (junit, "<testsuite><testcase name='a'/></testsuite>", "accept", "tests-passed"),
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
        (eval, r#"{"overall_pass": true, "suites": [{"status": "passed"}]}"#, "accept", "tests-passed"),
        (
            eval,
            r#"{"results": [{"status": "ok", "code": 0}, {"status": "skipped"}]}"#,
            "accept",
            "tests-passed",
        ),
        (eval, r#"{"results": [{"status": "ok", "code": 101}]}"#, "codegen", "tests-failed"),
        (eval, r#"{"overall_pass": true, "code": 101}"#, "codegen", "tests-failed"),
        (eval, r#"{"overall_pass": true, "suites": [{"code": 2}]}"#, "codegen", "tests-failed"),
        (
            eval,
            r#"{"overall_pass": true, "summary": {"passed": 0, "skipped": 3}}"#,
            "test",
            "nothing to apply",
        ),
        (eval, r#"{"overall_pass": true, "suites": [{"status": "skipped"}]}"#, "test", "nothing to apply"),
        (
            eval,
            r#"{"overall_pass": true, "suites": [{"cases": [{"status": "skipped"}]}]}"#,
            "test",
            "nothing to apply",
        ),
        (eval, r#"{"results": [{"status": "skipped"}]}"#, "test", "nothing to apply"),
    ] {
        let world = in_test();
        world.write(&format!("tasks/t/{path}"), text);
        world.orch(&["next", "t"]).says(says);
        assert_eq!(world.phase("t"), phase, "{text}");
    }
}
