//! Verifications as a user runs them: on the committed code, recorded, and never green for the wrong reason.

use crate::harness::{Ended, World};
use serde_json::Value;

/// A workflow whose phase `test` is left by what a verification says.
const WORKFLOW: &str = r#"# Verified

```toml orch
[workflow]
initial = "code"

[artifact.patch]
tree = ["**"]

[phase.code]
owner = "agent"
agent = "coder"
produces = ["patch"]

[phase.test]
owner = "process"
verifies = ["tests"]

[phase.done]
terminal = true
success = true

[[rule]]
id = "handed-over"
from = "code"
when = "patch.ready"
to = "test"
because = "the code is there"

[[rule]]
id = "passed"
from = "test"
when = "verified.tests.passed"
to = "done"
because = "the tests passed"

[[rule]]
id = "failed"
from = "test"
when = "verified.tests.present && !verified.tests.passed"
to = "code"
because = "the tests failed"
```
"#;

/// Tests that pass as long as the code has no `bug`, and write a report.
pub const CHECK: &str = r#"mkdir -p out
if grep -q bug src.txt; then outcome='<failure message="a bug">src.txt:1: found</failure>'; failed=1; else failed=0; fi
echo "<testsuite tests='2' failures='$failed'><testcase classname='a' name='one'/><testcase classname='a' name='two'>$outcome</testcase></testsuite>" > out/junit.xml
exit $failed
"#;

impl World {
    /// A repository with a verification, and a task `t` whose code is to be verified.
    pub fn verified(check: &str, table: &str) -> Self {
        let world = Self::ready();
        world.write("system/workflows/v.md", WORKFLOW);
        let settings = world.read("orch.toml");
        let settings = settings.replace("\"global-state-machine\"", "\"v\"");
        let table = format!("[verify.tests]\ncommand = ['sh', 'check.sh']\n{table}\n");
        world.write("orch.toml", format!("{settings}\n{table}"));
        world.write("check.sh", check);
        world.write("src.txt", "fine\n");
        world.write(".gitignore", "out\n");
        world.commit("a project");
        world.orch(&["new", "t"]).succeeds();
        world.write("src.txt", "better\n");
        world.commit("work");
        world.orch(&["next", "t"]).succeeds();
        world
    }

    pub fn verify(&self, arguments: &[&str]) -> Ended {
        self.orch(&[&["verify"][..], arguments].concat())
    }

    /// The result of the last verification, as the file has it.
    fn result(&self) -> Value {
        self.json("tasks/t/eval/verify/tests.json")
    }
}

pub const WITH_REPORT: &str = "report = ['out/*.xml']";

#[test]
fn what_orch_ran_itself_leads_on_and_stands_in_git() {
    let world = World::verified(CHECK, WITH_REPORT);
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("`tests` has not run yet");
    world
        .verify(&["t"])
        .succeeds()
        .says("tests passed: 2 tests");
    assert_eq!(world.dirty(), "");
    let result = world.result();
    assert_eq!(result["predicate"]["result"], "PASSED");
    assert_eq!(
        result["subject"][0]["digest"]["gitCommit"],
        world.git(&["rev-parse", "HEAD~1"]).trim()
    );
    assert_eq!(
        result["subject"][1]["digest"]["gitTree"],
        world.git(&["rev-parse", "HEAD~1^{tree}"]).trim()
    );
    // What stands is not run again.
    world
        .verify(&["t", "tests"])
        .succeeds()
        .says("stands as it is");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    world.orch(&["audit", "--strict"]).succeeds();
    world
        .orch(&["audit", "--rerun"])
        .succeeds()
        .says("rerun of t tests: same");
}

#[test]
fn a_failed_run_sends_the_task_back_and_says_which_test_failed_where() {
    let world = World::verified(CHECK, WITH_REPORT);
    world.write("src.txt", "a bug\n");
    world.commit("a bug");
    let ended = world.verify(&["t"]).ends(1);
    ended
        .says("tests failed: 1 of 2 tests failed")
        .says("a.two, src.txt:1");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "code");
    world.orch(&["suggest", "t"]).says("a.two").says("a bug");
}

/// What decides is the committed code, whatever lies in the work tree, in the environment or in an old report.
#[test]
fn nothing_but_the_committed_code_makes_a_run_green() {
    let world = World::verified(CHECK, WITH_REPORT);
    world.write("src.txt", "a bug\n");
    world.commit("a bug");
    world.write("src.txt", "fine\n");
    world.write(
        "out/junit.xml",
        "<testsuite tests='1'><testcase name='x'/></testsuite>",
    );
    let ended = world.verify(&["t"]).ends(1);
    ended.says("only committed code was judged: 1 changed file is not in it");
    for (check, told) in [
        ("exit 0", "a report is expected, and none was written"),
        (
            "mkdir -p out; echo \"<testsuite tests='0'/>\" > out/junit.xml",
            "no test was executed",
        ),
        (
            "mkdir -p out; echo '<testsuite>' > out/junit.xml",
            "a report cannot be read",
        ),
        (
            "mkdir -p out; echo \"<testsuite tests='1'><testcase name='x'/></testsuite>\" > out/junit.xml; echo y > src.txt",
            "the run changed src.txt",
        ),
        (
            "mkdir -p out; echo \"<testsuite tests='1'><testcase name='x'/></testsuite>\" > out/junit.xml; kill -9 $$",
            "signal 9 ended",
        ),
    ] {
        world.write("check.sh", check);
        world.commit(check);
        world.verify(&["t"]).ends(1).says(told);
        let said = world.result()["predicate"]["result"].clone();
        assert_eq!(said, "FAILED", "{check}");
    }
}

#[test]
fn what_could_not_run_is_no_result_and_is_tried_again_only_on_request() {
    let world = World::verified(CHECK, "setup = ['sh', '-c', 'test -e ../../may']");
    world.write("check.sh", "exit 0\n");
    world.commit("no report");
    world.verify(&["t"]).ends(5).says("could not run");
    assert!(!world.lives("tasks/t/eval/verify/tests.json"));
    assert_eq!(world.dirty(), "");
    let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
    assert_eq!(suggestion["owner"], "human", "{suggestion:#}");
    world.orch(&["suggest", "t"]).says("orch verify t --again");
    let told = world.verify(&["t"]).ends(5);
    told.says("orch verify t tests --again");
    world.orch(&["run", "t"]).ends(3);
    world.write(
        "orch.toml",
        world.read("orch.toml").replace("../../may", "."),
    );
    world.commit("it may");
    world
        .verify(&["t"])
        .succeeds()
        .says("only the exit code tells");
}

#[test]
fn nobody_runs_what_nobody_has_trusted() {
    let world = World::verified(CHECK, WITH_REPORT);
    let mut verify = world.orch_command(&["verify", "t"]);
    verify.env("ORCH_TRUST_ONCE", "0");
    world
        .end(verify.output().expect("orch runs"))
        .ends(6)
        .reports("nobody has trusted `sh check.sh` of [verify.tests]");
}

#[test]
fn a_run_verifies_what_is_due_without_a_turn() {
    let world = World::verified(CHECK, WITH_REPORT);
    world
        .orch(&["run", "t"])
        .succeeds()
        .says("completed after 0 turns");
    assert_eq!(world.phase("t"), "done");
}

#[test]
fn a_result_that_orch_has_not_made_counts_for_nothing() {
    let world = World::verified(CHECK, WITH_REPORT);
    world.write("src.txt", "a bug\n");
    world.commit("a bug");
    world.verify(&["t"]).ends(1);
    let forged = world
        .read("tasks/t/eval/verify/tests.json")
        .replace("FAILED", "PASSED");
    world.write("tasks/t/eval/verify/tests.json", forged);
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("another result in eval/verify/tests.json");
}

#[test]
fn head_is_verified_without_a_task_and_nothing_is_recorded() {
    let world = World::verified(CHECK, WITH_REPORT);
    let before = world.git(&["rev-parse", "HEAD"]);
    world.verify(&[]).succeeds().says("tests passed: 2 tests");
    world
        .verify(&["nope"])
        .ends(2)
        .reports("orch.toml in HEAD has no [verify.nope]");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(world.dirty(), "");
}

/// In the shipped lifecycle a report that claims success counts for nothing where orch runs the tests.
#[test]
fn the_shipped_lifecycle_believes_what_orch_ran_and_no_report() {
    let world = World::ready();
    let table = "[verify.tests]\ncommand = ['sh', 'check.sh']\n";
    world.write("orch.toml", format!("{}\n{table}", world.read("orch.toml")));
    world.write("check.sh", "grep -q 'new 2' login.rs\n");
    world.write("login.rs", "old\n");
    world.commit("a project");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "test");
    world.tests("t", 0, 1);
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("`tests` has not run yet");
    world
        .verify(&["t"])
        .ends(1)
        .says("`sh check.sh` ended with exit code 1");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    world.patch("t", 2);
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    world.verify(&["t"]).succeeds().says("tests passed");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "accept");
    world.orch(&["approve", "t"]).succeeds();
    world.orch(&["audit", "--strict"]).succeeds();
    assert_eq!(world.dirty(), "");
    // The patches are put on the code again.
    world
        .orch(&["audit", "--rerun", "--require", "signed"])
        .succeeds()
        .reports("2 rerun");
}

/// The protected tests are put in the place of the task's own again, and give the same tree.
#[test]
fn protected_tests_are_run_again_on_the_recorded_tree() {
    let table = "report = ['out/*.xml']\nprotect = ['check.sh']";
    let world = World::verified(CHECK, table);
    let easy = "mkdir -p out; echo \"<testsuite tests='1'><testcase classname='a' name='one'/></testsuite>\" > out/junit.xml";
    world.write("check.sh", easy);
    world.commit("tests that are easier");
    world.verify(&["t"]).succeeds();
    world
        .orch(&["audit", "--rerun"])
        .succeeds()
        .says("rerun of t tests: same")
        .says("rerun of t tests@base: same");
}

/// A rebase puts the steps on other code: that is in doubt, and no forgery.
#[test]
fn honest_work_that_was_rebased_is_not_called_forged() {
    let world = World::verified(CHECK, WITH_REPORT);
    world.git(&["switch", "-q", "-c", "work"]);
    world.write("src.txt", "best\n");
    world.commit("more work");
    world.verify(&["t"]).succeeds();
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    world.git(&["switch", "-q", "main"]);
    world.write("other.txt", "of others\n");
    world.commit("others");
    world.git(&["switch", "-q", "work"]);
    world.git(&["rebase", "-q", "main"]);
    world.orch(&["audit"]).succeeds().says("unverifiable");
    // Others change the table too.
    world.git(&["switch", "-q", "main"]);
    world.write(
        "orch.toml",
        format!("{}retries = 1\n", world.read("orch.toml")),
    );
    world.commit("another table");
    world.git(&["switch", "-q", "work"]);
    world.git(&["rebase", "-q", "main"]);
    world
        .orch(&["audit"])
        .succeeds()
        .says("which the commit that it judged has");
    // Nobody else has the commits from before.
    world.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.git(&["gc", "-q", "--prune=now"]);
    world
        .orch(&["audit"])
        .succeeds()
        .says("which an earlier commit has");
}

/// Whoever moves a task by a result of other code, without a rebase, is caught.
#[test]
fn a_result_of_other_code_leads_nowhere() {
    let world = World::verified(CHECK, WITH_REPORT);
    world.verify(&["t"]).succeeds();
    world.write("src.txt", "a bug\n");
    world.commit("a bug");
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("ran on other code than the present");
}

/// Neither a value that is passed on, nor a digest from which it could be guessed, is recorded.
#[test]
fn a_secret_in_a_report_leaves_no_trace() {
    let check = "mkdir -p out; echo \"<testsuite tests='1' failures='1'><testcase name='a'><failure message='$SECRET'/></testcase></testsuite>\" > out/j.xml; exit 1";
    let world = World::verified(check, "report = ['out/*.xml']\nenv = ['SECRET']");
    let mut verify = world.orch_command(&["verify", "t"]);
    verify.env("SECRET", "hunter2secret");
    world.end(verify.output().expect("orch runs")).ends(1);
    let text = world.read("tasks/t/eval/verify/tests.json");
    assert!(text.contains("[SECRET]") && !text.contains("hunter2"));
    let report = "<testsuite tests='1' failures='1'><testcase name='a'><failure message='hunter2secret'/></testcase></testsuite>\n";
    world.write("plain", report);
    let digest = world.git(&["hash-object", "plain"]);
    assert!(!text.contains(digest.trim()));
}

/// Temporary files lie below the directory that the user has chosen for them.
#[test]
fn the_directory_for_temporary_files_is_that_of_the_caller() {
    let check = "case $TMPDIR in \"$CHOSEN\"/*) ;; *) echo $TMPDIR; exit 1 ;; esac";
    let world = World::verified(check, "env = ['CHOSEN']");
    let chosen = world.base().canonicalize().expect("a path").join("chosen");
    std::fs::create_dir(&chosen).expect("made");
    let mut verify = world.orch_command(&["verify", "t"]);
    verify.env("TMPDIR", &chosen).env("CHOSEN", &chosen);
    world.end(verify.output().expect("orch runs")).succeeds();
}
