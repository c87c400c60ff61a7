//! Verifications: when they are due, what counts in place of a report, what rules see, and what an approval rests on.

use super::world::{World, compiled};
use orch_base::{Code, Digest, ObjectFormat, TaskId, VerificationName};
use orch_core::decide::{
    Circumstances, Decision, Detail, DetailStep, Do, DueVerification, Facts, Inputs, LastRun,
    LostTests, Recorded, Require, RequireVerified, ResultFile, Standing, State, Verdict,
    VerificationAttempt, VerifiedFact, apply, confirm_lost, detailed, duty, evaluate,
    evaluate_here, join, lost_tests, replay,
};
use orch_core::verification::{
    BaseTests, CommandEnd, FailedTest, FoundBy, NotPassed, RULES, TestCounts, TestNames,
    TestedCode, Verification, VerificationResult, VerifiedBase, VerifiedCode, VerifiedOutcome,
    VerifiedResult, VerifiedRun, read_statement, statement,
};
use orch_core::workflow::Owner;
use std::collections::BTreeMap;
use std::sync::Arc;

const MACHINE: &str = r#"# Machine

```toml orch
[workflow]
title = "Machine"
initial = "make"

[artifact.work]
path = "work.json"

[artifact.report]
path = "report.json"
same_as = "tests"

[phase.make]
produces = ["work"]

[phase.test]
needs = ["work"]
produces = ["report"]
verifies = ["tests"]

[phase.accept]
needs = ["work"]
owner = "human"

[phase.done]
terminal = true

[define]
green = "verified.tests.defined ? verified.tests.fresh && verified.tests.passed : report.ready && report.data.ok"
red = "verified.tests.defined ? verified.tests.fresh && !verified.tests.passed : report.ready && !report.data.ok"

[[rule]]
id = "made"
from = "make"
when = "work.ready"
to = "test"
because = "there is work"

[[rule]]
id = "failed"
from = "test"
when = "red"
to = "make"
because = "a test fails"

[[rule]]
id = "passed"
from = "test"
when = "green"
to = "accept"
because = "the tests pass"

[[rule]]
id = "accepted"
from = "accept"
when = "state.rev > 0"
to = "done"
by = "human"
because = "a person accepts it"
```
"#;

fn name(text: &str) -> VerificationName {
    VerificationName::new(text).expect("a name")
}

fn digest(text: &str) -> Digest {
    Digest::of_blob(text.as_bytes())
}

/// What a run on some code gave.
pub struct Run {
    name: &'static str,
    code: &'static str,
    table: &'static str,
    failed: &'static [&'static str],
    known: &'static [&'static str],
    lost: &'static [&'static str],
    flaky: &'static [&'static str],
    returned: &'static [&'static str],
}

/// One that passed.
pub const GREEN: Run = Run {
    name: "tests",
    code: "c1",
    table: "t1",
    failed: &[],
    known: &[],
    lost: &[],
    flaky: &[],
    returned: &[],
};

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Run {
    /// Its result.
    pub fn result(&self) -> VerificationResult {
        let failed = texts(self.failed);
        let has_failed = !failed.is_empty();
        let exit = i32::from(has_failed);
        let at = VerifiedBase {
            commit: digest("base"),
            code: digest("c0"),
            by: FoundBy::Branch,
        };
        let new = failed
            .iter()
            .filter(|name| !self.known.contains(&name.as_str()));
        let base = BaseTests {
            at,
            not_run: None,
            lost: texts(self.lost),
            new: new.cloned().collect(),
            known: texts(self.known),
        };
        let count = failed.len() as u64;
        let failures = failed.iter().map(|name| FailedTest {
            name: name.clone(),
            message: Some("1 is not 2".to_owned()),
            file: Some("src/lib.rs".to_owned()),
            line: Some(7),
        });
        VerificationResult {
            tested: TestedCode::Commit {
                commit: digest("commit"),
                tree: digest("tree"),
            },
            run: VerifiedRun {
                task: TaskId::new("t-1").expect("an id"),
                name: name(self.name),
                code: VerifiedCode::Commit(digest(self.code)),
                table: digest(self.table),
                rules: RULES,
                outcome: if has_failed {
                    VerifiedOutcome::Failed
                } else {
                    VerifiedOutcome::Passed
                },
                because: if has_failed {
                    vec![NotPassed::Exit, NotPassed::Failures]
                } else {
                    Vec::new()
                },
                commands: vec![CommandEnd {
                    command: texts(&["make", "test"]),
                    exit: Some(exit),
                    signal: None,
                }],
                tries: Vec::new(),
                counts: TestCounts {
                    tests: count + 1 + self.flaky.len() as u64,
                    passed: 1 + self.flaky.len() as u64,
                    failed: count,
                    skipped: 0,
                },
                failures: failures.collect(),
                passed: None,
                reports: Vec::new(),
                log: digest("log"),
                uncommitted: 0,
                leftovers: Vec::new(),
                changed: Vec::new(),
                created: Vec::new(),
                created_more: 0,
                given: None,
                milliseconds: 12,
                base: Some(base),
            },
            tests: TestNames {
                passed: texts(&["a"]),
                failed,
                flaky: texts(self.flaky),
            },
        }
    }
}

/// A task, what its settings define, and the results that lie there.
struct Verified {
    world: World,
    inputs: Inputs,
    code: &'static str,
    files: BTreeMap<VerificationName, String>,
}

impl Verified {
    /// A task in `test`, with the settings of `table` if they define the tests.
    fn in_test(machine: &str, table: Option<&str>, require: Require) -> Self {
        let mut world = World::new(Arc::new(compiled("machine", machine)));
        world.write("work.json", "{}");
        let tables = table.map(|table| (name("tests"), digest(table)));
        let inputs = Inputs::new(
            require,
            &BTreeMap::new(),
            tables.into_iter().collect(),
            ObjectFormat::Sha1,
        );
        let mut task = Self {
            world,
            inputs,
            code: "c1",
            files: BTreeMap::new(),
        };
        task.step();
        task
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts {
            inputs: self.inputs.clone(),
            ..self.world.facts()
        };
        for own in ["tests", "tests@base"] {
            let own = name(own);
            let is_defined = !self.inputs.verify.is_empty();
            let file = match self.files.get(&own) {
                None => ResultFile::Missing,
                Some(text) => match read_statement(text) {
                    Ok(result) => ResultFile::Result {
                        digest: digest(text),
                        result: Arc::new(result),
                    },
                    Err(why) => ResultFile::Unusable {
                        digest: Some(digest(text)),
                        why: why.to_string(),
                    },
                },
            };
            let code = is_defined.then(|| digest(self.code));
            facts.verified.insert(
                own,
                VerifiedFact {
                    code,
                    rules: RULES,
                    file,
                },
            );
        }
        facts
    }

    fn decide(&self) -> Decision {
        evaluate(&self.world.workflow, &self.world.recorded(), &self.facts())
    }

    /// Takes the step that is due.
    fn step(&mut self) -> (Recorded, State) {
        let decision = self.decide();
        let Verdict::Transition(due) = decision.verdict else {
            panic!("nothing is due: {}", decision.reason);
        };
        let before = self.world.recorded();
        let stamp = self.world.stamp();
        let facts = self.facts();
        let after = apply(
            &self.world.workflow,
            &self.world.known(),
            &facts,
            &due,
            &stamp,
        );
        self.world.record(std::slice::from_ref(&after));
        (before, after)
    }

    /// Records what a run gave, with its file.
    fn ran(&mut self, run: &Run) {
        let result = run.result();
        let text = statement(&result);
        assert_eq!(read_statement(&text).as_ref(), Ok(&result));
        let verification = Verification {
            name: name(run.name),
            code: result.run.code,
            table: result.run.table,
            rules: RULES,
            base: None,
            returned: texts(run.returned),
            result: VerifiedResult {
                outcome: result.run.outcome,
                digest: digest(&text),
            },
        };
        let stamp = self.world.stamp();
        let state = self.world.known();
        let step = DetailStep {
            detail: Detail::Verify(verification),
            at: stamp.at,
            to: None,
            former: None,
            why: None,
        };
        let task = TaskId::new("t-1").expect("an id");
        let step = detailed(&self.world.workflow, &state, &task, step).expect("a step");
        let after = apply(&self.world.workflow, &state, &self.facts(), &step, &stamp);
        self.world.record(&[after]);
        self.files.insert(name(run.name), text);
    }
}

fn with(verified: RequireVerified, tests_kept: bool) -> Require {
    Require {
        verified,
        tests_kept,
        ..Require::default()
    }
}

/// The verdict in a few words.
fn words(decision: &Decision) -> String {
    match &decision.verdict {
        Verdict::Transition(due) => format!("to {}", due.to),
        Verdict::Wait { what, owner } => format!("{}: {what}", owner.as_str()),
        other => other.name().to_owned(),
    }
}

#[test]
fn a_verification_decides_where_it_is_defined_and_a_report_where_it_is_not() {
    let red = Run {
        failed: &["b"],
        ..GREEN
    };
    let report = |ok: bool| format!(r#"{{"ok": {ok}}}"#);
    for (table, run, report, expected) in [
        (None, None, None, "agent: report.json"),
        (None, None, Some(report(true)), "to accept"),
        (None, None, Some(report(false)), "to make"),
        (Some("t1"), None, None, "process: orch to verify `tests`"),
        (
            Some("t1"),
            None,
            Some(report(true)),
            "process: orch to verify `tests`",
        ),
        (
            Some("t1"),
            None,
            Some(report(false)),
            "process: orch to verify `tests`",
        ),
        (
            Some("t1"),
            None,
            Some("{".to_owned()),
            "process: orch to verify `tests`",
        ),
        (Some("t1"), Some(&GREEN), None, "to accept"),
        (Some("t1"), Some(&GREEN), Some(report(false)), "to accept"),
        (Some("t1"), Some(&red), Some(report(true)), "to make"),
        (
            Some("t2"),
            Some(&GREEN),
            None,
            "process: orch to verify `tests`",
        ),
    ] {
        let mut task = Verified::in_test(MACHINE, table, Require::default());
        if let Some(text) = &report {
            task.world.write("report.json", text.clone());
        }
        if let Some(run) = run {
            task.ran(run);
        }
        let decision = task.decide();
        assert_eq!(
            words(&decision),
            expected,
            "{table:?} {report:?} {}",
            decision.reason
        );
        let is_due = expected.starts_with("process");
        assert_eq!(decision.verifications.len(), usize::from(is_due));
        assert_eq!(
            decision.expects.is_empty(),
            table.is_some() || report.is_some()
        );
        if is_due {
            let duty = duty(&task.world.workflow, &decision, None);
            assert_eq!((duty.r#task, duty.owner), (Do::Run, Owner::Process));
            assert!(
                decision
                    .options
                    .iter()
                    .any(|one| one.argv == ["orch", "verify", "t-1"])
            );
        }
    }
}

#[test]
fn a_result_is_fresh_as_long_as_code_table_and_rules_are_what_it_was_about() {
    type Change = fn(&mut Verified);
    let changes: [(Change, &str); 6] = [
        (|_| {}, ""),
        (
            |task| task.code = "c2",
            "ran on other code than the present",
        ),
        (
            |task| {
                task.inputs.verify.insert(name("tests"), digest("t2"));
            },
            "ran before `[verify.tests]` of orch.toml changed",
        ),
        (
            |task| {
                task.files.clear();
            },
            "has lost its result, eval/verify/tests.json",
        ),
        (
            |task| {
                let other = Run {
                    lost: &["z"],
                    ..GREEN
                };
                task.files.insert(name("tests"), statement(&other.result()));
            },
            "has another result in eval/verify/tests.json than the one that was recorded",
        ),
        (
            |task| {
                task.files.insert(name("tests"), "{}".to_owned());
            },
            "has another result in eval/verify/tests.json than the one that was recorded",
        ),
    ];
    for (change, because) in changes {
        let mut task = Verified::in_test(MACHINE, Some("t1"), Require::default());
        task.ran(&GREEN);
        change(&mut task);
        let decision = task.decide();
        let due: Vec<&str> = decision
            .verifications
            .iter()
            .map(|due| due.because.as_str())
            .collect();
        let expected: &[&str] = if because.is_empty() { &[] } else { &[because] };
        assert_eq!(due, expected);
        let has_finding = decision
            .diagnostics
            .iter()
            .any(|found| found.code == Code::VerificationResult);
        assert_eq!(has_finding, because.starts_with("has"), "{because}");
    }
    let mut forged = Verified::in_test(MACHINE, Some("t1"), Require::default());
    forged
        .files
        .insert(name("tests"), statement(&GREEN.result()));
    let decision = forged.decide();
    assert_eq!(words(&decision), "process: orch to verify `tests`");
    let found = decision
        .diagnostics
        .iter()
        .find(|found| found.code == Code::VerificationResult);
    assert!(found.is_some_and(|found| found.message.contains("orch has recorded no result")));
}

/// A rule that reads no result goes back at once; one that leads on waits, whatever it reads.
#[test]
fn a_move_waits_for_what_it_could_rest_on() {
    for (rule, to, expected) in [
        ("true", "accept", "process: orch to verify `tests`"),
        ("true", "make", "to make"),
        (
            "!verified.tests.passed",
            "make",
            "process: orch to verify `tests`",
        ),
    ] {
        let machine = MACHINE.replace(
            "[[rule]]\nid = \"failed\"",
            &format!("[[rule]]\nid = \"other\"\nfrom = \"test\"\nwhen = \"{rule}\"\nto = \"{to}\"\nbecause = \"so\"\n\n[[rule]]\nid = \"failed\""),
        );
        let task = Verified::in_test(&machine, Some("t1"), Require::default());
        let decision = task.decide();
        assert_eq!(words(&decision), expected, "{rule}");
        let other = decision
            .moves
            .iter()
            .find(|one| one.rule.as_str() == "other")
            .expect("a move");
        assert_eq!(other.allowed, expected.starts_with("to"), "{rule}");
    }
}

#[test]
fn guards_see_safe_values_of_a_verification_that_nobody_knows() {
    for (guard, of_unknown, of_green, of_red) in [
        ("verified.tests.defined", false, true, true),
        ("verified.tests.present", false, true, true),
        ("verified.tests.passed", false, true, false),
        ("verified.tests.fresh", false, true, true),
        ("verified.tests.exit == 1", false, false, true),
        ("verified.tests.tests == 3", false, false, true),
        ("verified.tests.failures == 2", false, false, true),
        (
            "verified.tests.failed.exists(t, t.name == 'b' && t.file == 'src/lib.rs' && t.line == 7)",
            false,
            false,
            true,
        ),
        ("verified.tests.new == ['b']", false, false, true),
        ("verified.tests.known == ['k']", false, false, true),
        ("verified.tests.lost == ['l']", false, false, true),
        ("verified.tests.flaky.size() == 0", true, true, true),
        ("verified.tests.base.present", false, false, false),
        ("verified.tests.base.failed.size() == 0", true, true, true),
        (
            "verified.other.passed || verified.other.defined",
            false,
            false,
            false,
        ),
    ] {
        let machine = MACHINE
            .replace("when = \"state.rev > 0\"", "when = \"true\"")
            .replace(
                "[phase.test]",
                &format!("[phase.test]\nsubstate = \"{guard}\""),
            );
        let red = Run {
            failed: &["b", "k"],
            known: &["k"],
            lost: &["l"],
            ..GREEN
        };
        for (table, run, expected) in [
            (None, None, of_unknown),
            (Some("t1"), Some(&GREEN), of_green),
            (Some("t1"), Some(&red), of_red),
        ] {
            let mut task = Verified::in_test(&machine, table, Require::default());
            if let Some(run) = run {
                task.ran(run);
            }
            assert_eq!(
                task.decide().substate,
                Some(expected.into()),
                "{guard} {table:?}"
            );
        }
    }
}

#[test]
fn what_failed_is_told_to_whoever_is_sent_back() {
    let mut task = Verified::in_test(MACHINE, Some("t1"), Require::default());
    task.ran(&Run {
        failed: &["b"],
        ..GREEN
    });
    let (before, after) = task.step();
    let entry = after.history.last().expect("a step");
    assert!(
        entry
            .evidence
            .iter()
            .any(|(path, _)| path == "eval/verify/tests.json")
    );
    let replayed = replay(
        &task.world.workflow,
        &before,
        &task.facts(),
        entry,
        Some(&after),
    );
    assert_eq!(replayed.map(|found| found.standing), Ok(Standing::Proven));
    let decision = task.decide();
    let back = decision.sent_back.expect("it was sent back");
    let issue = &back.issues[0];
    assert_eq!(issue.path, "eval/verify/tests.json");
    assert_eq!(
        issue.value,
        serde_json::json!({"name": "b", "message": "1 is not 2", "file": "src/lib.rs", "line": 7})
    );
    let read = decision.inputs.iter().flat_map(|input| &input.files);
    assert!(
        read.clone()
            .any(|(path, _)| path == "eval/verify/tests.json")
    );
}

#[test]
fn what_is_required_of_verifications_keeps_a_task_where_it_is() {
    let lost = Run {
        lost: &["l"],
        ..GREEN
    };
    let yes = RequireVerified::Yes;
    let no = RequireVerified::No;
    for (table, require, run, expected) in [
        (
            None,
            with(yes, false),
            None,
            "human: [verify.tests] in orch.toml",
        ),
        (None, with(no, true), None, "to accept"),
        (Some("t1"), with(yes, true), Some(&GREEN), "to accept"),
        (Some("t1"), with(no, false), Some(&lost), "to accept"),
        (
            Some("t1"),
            with(no, true),
            Some(&lost),
            "agent: the tests that are gone",
        ),
    ] {
        let mut task = Verified::in_test(MACHINE, table, require);
        task.world.write("report.json", r#"{"ok": true}"#);
        if let Some(run) = run {
            task.ran(run);
        }
        let decision = task.decide();
        assert_eq!(words(&decision), expected, "{}", decision.reason);
        let is_told = decision
            .remarks
            .iter()
            .any(|text| text.contains("missing or skipped: l"));
        assert_eq!(is_told, run.is_some_and(|run| !run.lost.is_empty()));
        let is_unvouched = decision
            .remarks
            .iter()
            .any(|text| text.contains("nobody but the writer"));
        assert_eq!(is_unvouched, table.is_none());
    }
}

#[test]
fn a_lost_test_holds_until_the_plan_names_it_or_a_person_confirms_it() {
    let machine = MACHINE.replace(
        "title = \"Machine\"",
        "title = \"Machine\"\nnames = \"work.data.names\"",
    );
    let mut task = Verified::in_test(&machine, Some("t1"), with(RequireVerified::No, true));
    task.world.write("work.json", r#"{"names": ["planned"]}"#);
    let red = Run {
        lost: &["a::l", "a::m", "planned"],
        ..GREEN
    };
    task.ran(&red);
    let decision = task.decide();
    assert_eq!(words(&decision), "agent: the tests that are gone");
    let offered = decision.options.iter().find(|one| one.id == "confirm");
    assert_eq!(
        offered.expect("an option").argv,
        [
            "orch", "confirm", "t-1", "--lost", "a::l", "--reason", "WHY"
        ]
    );
    let told = |what: &str, decision: &Decision| {
        let mut remarks = decision.remarks.iter();
        remarks.any(|remark| remark.ends_with(what))
    };
    assert!(told("skipped, as the plan says: planned", &decision));
    assert!(told("skipped: a::l, a::m", &decision));
    let workflow = Arc::clone(&task.world.workflow);
    let lost = |task: &Verified, text: &str| {
        lost_tests(&workflow, &task.world.known(), &task.facts(), text)
    };
    for text in ["planned", "b*", ""] {
        let refused = lost(&task, text).expect_err("refused");
        assert_eq!(refused.code(), Code::NotLost, "{text}");
    }
    let one = LostTests::from([(name("tests"), texts(&["a::m"]))]);
    assert_eq!(lost(&task, "a::m"), Ok(one));
    let both = lost(&task, "a::*").expect("two");

    // The record says which they were, and the rules yield exactly that.
    let before = task.world.recorded();
    let known = task.world.known();
    let facts = task.facts();
    let step = confirm_lost(&workflow, &known, &facts, &both, "renamed").expect("a step");
    let stamp = task.world.stamp();
    let after = apply(&workflow, &known, &facts, &step, &stamp);
    let entry = after.history.last().expect("an entry");
    let said = "2 tests are gone on purpose: a::l, a::m: renamed";
    assert_eq!(entry.reason, said);
    let replayed = replay(&workflow, &before, &facts, entry, Some(&after)).expect("it follows");
    assert_eq!(replayed.standing, Standing::Claimed);
    let mut forged = (**entry).clone();
    forged.lost = LostTests::from([(name("tests"), texts(&["planned"]))]);
    assert!(replay(&workflow, &before, &facts, &forged, None).is_err());
    task.world.record(&[after]);
    let confirmed = |task: &Verified| task.world.known().run.confirmed_lost;
    assert_eq!(confirmed(&task), both);
    let decision = task.decide();
    assert_eq!(words(&decision), "to accept");
    assert!(told("as a person has confirmed: a::l, a::m", &decision));

    // It holds until a run sees the test again, also on another branch.
    task.ran(&red);
    assert_eq!(words(&task.decide()), "to accept");
    let base = task.world.known();
    task.ran(&Run {
        returned: &["a::l"],
        ..GREEN
    });
    let seen = task.world.known();
    let joined = join(&workflow, Some(&base), &base, &seen).expect("joined");
    let left = LostTests::from([(name("tests"), texts(&["a::m"]))]);
    assert_eq!(joined.run.confirmed_lost, left);
    task.ran(&red);
    assert_eq!(words(&task.decide()), "agent: the tests that are gone");
    assert_eq!(confirmed(&task), left);
}

#[test]
fn an_approval_names_what_orch_ran_and_is_held_only_if_the_tip_is_required() {
    for (require, code, expected) in [
        (RequireVerified::No, "c1", "to done"),
        (RequireVerified::No, "c2", "to done"),
        (RequireVerified::Yes, "c2", "to done"),
        (RequireVerified::Tip, "c1", "to done"),
        (
            RequireVerified::Tip,
            "c2",
            "process: orch to verify `tests`",
        ),
    ] {
        let mut task = Verified::in_test(MACHINE, Some("t1"), with(require, false));
        task.ran(&GREEN);
        task.step();
        task.code = code;
        let decision = task.decide();
        assert_eq!(words(&decision), expected, "{require:?} {code}");
        let told = "`tests` ran on other code than the present: orch verify t-1".to_owned();
        assert_eq!(decision.remarks.contains(&told), code == "c2");
        if expected == "to done" {
            let due = decision.transition().expect("it is due");
            let ran: Vec<_> = due.rests_on.iter().filter(|one| one.ran).collect();
            assert_eq!(ran.len(), 1);
            assert_eq!(ran[0].artifact.as_str(), "tests");
            let text = &task.files[&name("tests")];
            assert_eq!(ran[0].digest, digest(text));
        }
    }
}

#[test]
fn one_that_could_not_run_is_left_to_a_person() {
    let task = Verified::in_test(MACHINE, Some("t1"), Require::default());
    for (attempt, owner, task_word, argv) in [
        (
            None,
            Owner::Process,
            Do::Run,
            Some(&["orch", "verify", "t-1"][..]),
        ),
        (
            Some(VerificationAttempt::CouldNotRun("no npm".to_owned())),
            Owner::Human,
            Do::Repair,
            Some(&["orch", "verify", "t-1", "--again"][..]),
        ),
        (
            Some(VerificationAttempt::Running),
            Owner::Process,
            Do::Nothing,
            None,
        ),
    ] {
        let verification = |due: &DueVerification| {
            assert_eq!(due.code, VerifiedCode::Commit(digest("c1")));
            attempt.clone()
        };
        let circumstances = Circumstances {
            untracked: false,
            past: false,
            last_run: &LastRun::Settled,
            remembered: &|_, _| None,
            is_file: &|_| false,
            verification: &verification,
            done_on_base: &|_| None,
            head: &|| None,
            ignored: &Vec::new,
        };
        let workflow = &task.world.workflow;
        let found = evaluate_here(
            workflow,
            &task.world.recorded(),
            &task.facts(),
            &circumstances,
        );
        let duty = duty(workflow, &found.decision, found.runner.as_ref());
        assert_eq!((duty.owner, duty.task), (owner, task_word), "{attempt:?}");
        let offered = found.decision.options.iter().find(|one| one.id == "verify");
        assert_eq!(
            offered.map(|one| one.argv.iter().map(String::as_str).collect::<Vec<_>>()),
            argv.map(<[&str]>::to_vec)
        );
        let has_finding = found
            .decision
            .diagnostics
            .iter()
            .any(|one| one.code == Code::VerificationNotRun);
        assert_eq!(has_finding, owner == Owner::Human);
    }
}
