//! Verifications as a user runs them: on the committed code, recorded, and never green for the wrong reason.

use crate::cli::complete::offered;
use crate::harness::{Ended, World, project};
use orch_read::Schema;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::thread::{self, sleep};
use std::time::Duration;

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

/// The schema has every member that `orch` writes, and no other.
fn fits_its_schema(result: &Value) {
    let path = project().join("system/schemas/verification.schema.json");
    let text = fs::read_to_string(path).expect("a schema");
    let schema = Schema::compile("verification", &text).expect("valid");
    let problems = schema.validate(result);
    assert!(problems.is_empty(), "{problems:#?}");
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
    fits_its_schema(&result);
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
/// Tests that are named in a file, and all pass.
const NAMED: &str = r#"mkdir -p out
{ echo '<testsuite>'; while read name; do echo "<testcase classname='a' name='$name'/>"; done < src.txt; echo '</testsuite>'; } > out/junit.xml
"#;

#[test]
fn a_test_that_is_lost_is_confirmed_until_it_is_seen_again() {
    let world = World::verified(NAMED, WITH_REPORT);
    let settings = world.read("orch.toml");
    let settings = settings.replacen("[require]\n", "[require]\ntests_kept = true\n", 1);
    world.write("orch.toml", settings);
    world.commit("tests are kept");
    // The base has the test `fine`, and the code has `better` in its place.
    world
        .verify(&["t"])
        .succeeds()
        .says("a.fine: passed at the base, and did not run now");
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("1 test that passed at the base is gone: a.fine")
        .says("orch confirm t --lost a.fine --reason WHY");
    assert_eq!(offered(&world, &["confirm", "t", "--lost", ""]), ["a.fine"]);
    let confirm = |test: &str| world.orch(&["confirm", "t", "--lost", test, "--reason", "renamed"]);
    confirm("b.*")
        .ends(1)
        .reports("no lost test is `b.*`")
        .reports("a.fine");
    confirm("a.*").succeeds();
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    world
        .orch(&["log", "t"])
        .succeeds()
        .says("1 test is gone on purpose: a.fine: renamed");
    world.orch(&["audit"]).succeeds().says("claimed");
    // In another phase, a run that sees the test again takes the confirmation back.
    world
        .orch(&["reopen", "t", "--to", "code", "--reason", "more"])
        .succeeds();
    let confirmed = || world.json("tasks/t/state.json")["run"]["confirmed_lost"].clone();
    assert_eq!(confirmed(), serde_json::json!({"tests": ["a.fine"]}));
    world.write("src.txt", "fine\nbetter\n");
    world.commit("both");
    world.verify(&["t", "tests"]).succeeds();
    assert_eq!(confirmed(), Value::Null);
    world.orch(&["audit"]).succeeds();
}

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

/// Waits until something is so.
fn until(what: &str, is_so: &dyn Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("{what}");
}

#[test]
fn what_a_killed_orch_has_started_ends_by_itself() {
    let world = World::verified("", "");
    let place = world.root().parent().expect("above").to_owned();
    let note = |name: &str| format!("echo $$ > {}/{name}", place.display());
    let inner = format!("setsid sh -c '{}; exec sleep 600' &", note("inner"));
    world.write(
        "check.sh",
        format!("{inner}\n{}\nsleep 600\n", note("outer")),
    );
    world.commit("tests that hang");
    let mut orch = world.orch_spawn(&["verify", "t"]);
    let is_there =
        |name: &str| fs::read_to_string(place.join(name)).is_ok_and(|it| it.ends_with('\n'));
    until("it runs", &|| is_there("inner") && is_there("outer"));
    let lives = |name: &str| world.lives(&format!("../{name}"));
    assert!(lives("inner") && lives("outer"));
    orch.kill().expect("killed");
    orch.wait().expect("waited for");
    until("they end", &|| !lives("inner") && !lives("outer"));
}

#[test]
fn of_two_at_once_the_second_judges_what_is_there_after_its_wait() {
    for is_changed in [false, true] {
        let world = World::verified("", "");
        let place = world.root().parent().expect("above").to_owned();
        let at = |name: &str| place.join(name);
        let script = format!(
            "touch {0}/begun; while [ ! -e {0}/go ]; do sleep 0.05; done; echo x >> {0}/count\n",
            place.display()
        );
        world.write("check.sh", script);
        world.commit("tests that wait");
        let first = world.orch_spawn(&["verify", "t"]);
        until("the first runs", &|| at("begun").exists());
        let mut second = world.orch_spawn(&["verify", "t"]);
        let told = second.stderr.take().expect("a pipe");
        let mut lines = BufReader::new(told).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("another process runs it; waiting")));
        let attempts = fs::read_dir(world.path(".git/orch/verify")).expect("attempts");
        for attempt in attempts.flatten() {
            let text = fs::read_to_string(attempt.path()).expect("an attempt");
            let known: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(known["standing"]["running"]["group"], first.id());
        }
        if is_changed {
            world.write("src.txt", "more\n");
            world.commit("more");
        }
        fs::write(at("go"), "").expect("written");
        let first = first.wait_with_output().expect("ended");
        let rest = thread::spawn(move || lines.count());
        let second = second.wait_with_output().expect("ended");
        rest.join().expect("read");
        let said = String::from_utf8_lossy(&second.stdout).into_owned();
        let runs = fs::read_to_string(at("count")).expect("a count");
        assert!(second.status.success(), "{said}");
        assert_eq!(first.status.success(), !is_changed);
        assert_eq!(said.contains("stands as it is"), !is_changed, "{said}");
        assert_eq!(runs.lines().count(), 1 + usize::from(is_changed));
        let judged = world.result()["subject"][0]["digest"]["gitCommit"].clone();
        assert_eq!(judged, world.git(&["rev-parse", "HEAD~1"]).trim());
    }
}

#[test]
fn one_job_of_ci_pushes_what_it_records_and_never_forces() {
    let world = World::verified(CHECK, WITH_REPORT);
    let push = || world.verify(&["--push"]);
    push().ends(2).reports("the branch main has no upstream");
    world.git(&["init", "-q", "--bare", "-b", "main", "../server.git"]);
    world.git(&["remote", "add", "origin", "../server.git"]);
    world.git(&["push", "-q", "-u", "origin", "main"]);
    let tip = || world.git(&["-C", "../server.git", "rev-parse", "main"]);
    push()
        .succeeds()
        .says("t: tests passed")
        .says("pushed to main of origin");
    assert_eq!(tip(), world.git(&["rev-parse", "HEAD"]));
    push()
        .succeeds()
        .says("nothing was recorded, so nothing was pushed");
    let hook = world.path("../server.git/hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho not you >&2; exit 1\n").expect("written");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("set");
    let change = |text: &str| {
        world.write("src.txt", text);
        world.commit(text.trim());
    };
    let before = tip();
    change("a bug\n");
    push()
        .ends(1)
        .says("a.two")
        .says("not pushed to main of origin: ")
        .says("not you");
    assert_eq!(tip(), before);
    // Somebody was first.
    fs::remove_file(&hook).expect("removed");
    world.git(&["clone", "-q", "../server.git", "../other"]);
    world.git(&[
        "-C",
        "../other",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "first",
    ]);
    world.git(&["-C", "../other", "push", "-q", "origin", "main"]);
    let before = tip();
    world.orch(&["next", "t"]).succeeds();
    change("fine again\n");
    world.orch(&["next", "t"]).succeeds();
    let overtaken = world.orch_json(&["verify", "t", "--push"]);
    assert_eq!(overtaken["push"]["outcome"], "overtaken");
    assert_eq!(overtaken["push"]["message"], before.trim());
    assert_eq!(overtaken["verifications"][0]["outcome"], "passed");
    assert_eq!(tip(), before);
    // As CI checks out a merge.
    world.git(&["checkout", "-q", "--detach"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    push().succeeds().says("HEAD is detached");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn the_doctor_looks_at_tables_settings_of_the_user_and_checkouts() {
    let world = World::verified("", "");
    world.verify(&["t"]).succeeds();
    let tables = "[verify.web]\nsetup = ['npm-of-nowhere', 'ci']\nsetup_key = ['package-lock.json']\n\
        command = ['sh', '-c', 'npm test']\n\
        [verify.odd]\ncommand = ['true']\nreport = ['src.txt']\n";
    world.write(
        "orch.toml",
        format!("{}\n{tables}", world.read("orch.toml")),
    );
    world.write("../home/.npmrc", "ignore-scripts=true\n");
    world.write("../home/.m2/settings.xml", "<settings/>\n");
    let mut told = world.orch(&["doctor"]).ends(1);
    for what in [
        "verifications  3 tables; 1 checkout with ",
        "`orch verify --clean` removes them",
        "[verify.web] cannot run here: cannot start `npm-of-nowhere`: it is not on the PATH",
        "git tracks nothing that `setup_key` of [verify.web] names: package-lock.json",
        "[verify.odd] cannot run: git tracks src.txt, which `report` names",
        ".npmrc decides what npm does in a verification",
    ] {
        told = told.says(what);
    }
    assert!(!told.stdout.contains("settings.xml"), "{}", told.stdout);
    world
        .verify(&["--clean"])
        .succeeds()
        .reports("removed 1 checkout, ");
}
