//! The scenes of the demo: each writes what an actor would write, then applies the rules.

use super::super::init;
use super::super::prelude::{Context, Failure, Ui};
use super::stage::{Stage, TASK};
use orch_engine::apply::Order;
use serde_json::json;
use std::path::Path;

const TITLE: &str = "Login accepts an empty password";
const PLAN: &str = "planning/plan.json";
const PLAN_REVIEW: &str = "review/plan/verdict.json";
const PATCH: &str = "code/diff.patch";
const CODE_REVIEW: &str = "review/code/verdict.json";
const TESTS: &str = "eval/junit.xml";

/// Plays every scene in `directory`, which must be empty.
pub(super) fn play(directory: &Path, context: &Context, ui: &Ui) -> Result<(), Failure> {
    let mut stage = Stage::open(directory, context, ui)?;
    set_up(&mut stage)?;
    planning(&mut stage)?;
    plan_review(&mut stage)?;
    skip(&mut stage)?;
    code(&mut stage)?;
    failing_tests(&mut stage)?;
    false_report(&mut stage)?;
    edited_plan(&mut stage)?;
    override_review(&mut stage)?;
    acceptance(&mut stage)?;
    close(&mut stage)
}

fn set_up(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "A developer creates a task",
        "orch reads the progress of a task from its files. The demo plays all the people itself.",
    )?;
    stage.file("src/login.rs", "pub fn login() -> bool { true }\n")?;
    init::run(
        &init::InitArgs::default(),
        &stage.context,
        &stage.ui.muted(),
    )?;
    stage.let_anyone_order()?;
    stage.commit_everything("Start the project, set up orch")?;
    stage.create(TITLE)
}

fn planning(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "A planner saves a draft",
        "A draft moves nothing, however often it is saved.",
    )?;
    plan(stage, "draft", &[])?;
    stage.settle()?;
    stage.scene(
        "The planner marks the plan as final",
        "This satisfies the rule, so the move is committed together with the plan.",
    )?;
    plan(stage, "final", &[])?;
    stage.settle()
}

fn plan_review(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "A reviewer blocks the plan",
        "Back to planning. The rejected plan is used up: it does not count again.",
    )?;
    let issue = json!({"id": "R1", "severity": "blocking", "message": "no test is planned"});
    stage.report(
        "reviewer",
        PLAN_REVIEW,
        json!({"ok": false, "issues": [issue]}),
    )?;
    stage.settle()?;
    stage.scene(
        "The plan gets its test, and a new review",
        "The old verdict does not count for the new plan.",
    )?;
    plan(stage, "final", &["tests/login.rs"])?;
    stage.settle()?;
    stage.report("reviewer", PLAN_REVIEW, json!({"ok": true, "issues": []}))?;
    stage.settle()
}

fn skip(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "Someone tries to skip ahead to the tests",
        "Refused: there is nothing to test yet. `orch explain` shows the rule.",
    )?;
    stage.ask_for("test", "code-ready")
}

fn code(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "A coder writes the patch, a reviewer accepts it",
        "Each phase is entered through the one before it.",
    )?;
    patch(stage, "!password.is_empty()")?;
    stage.settle()?;
    stage.report("reviewer", CODE_REVIEW, json!({"ok": true, "issues": []}))?;
    stage.settle()
}

fn failing_tests(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "The test run fails",
        "Back to codegen. The failing report is used up, so it cannot send the task back again.",
    )?;
    tests(stage, &[("accepts", true), ("rejects_blank", false)])?;
    stage.settle()
}

/// The tests of the project, for a shell.
const CHECK: &str =
    "# A blank password is refused.\ngrep -q 'password.trim().is_empty()' src/login.rs\n";

fn false_report(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "The project lets orch run its tests",
        "From now on reports of others count for nothing in this phase.",
    )?;
    stage.define_tests(CHECK)?;
    stage.scene(
        "An agent claims that all tests pass",
        "orch runs them on exactly the patch that was reviewed, in a clone of its own. The claim is false.",
    )?;
    patch(stage, "!password.is_empty() && password != \"\"")?;
    stage.settle()?;
    stage.report("reviewer", CODE_REVIEW, json!({"ok": true, "issues": []}))?;
    stage.settle()?;
    tests(stage, &[("accepts", true), ("rejects_blank", true)])?;
    stage.settle()?;
    stage.verify()?;
    stage.scene(
        "A better patch, its review, a passing run",
        "New bytes are fresh evidence; nothing has to be deleted or reset.",
    )?;
    patch(stage, "!password.trim().is_empty()")?;
    stage.settle()?;
    stage.report("reviewer", CODE_REVIEW, json!({"ok": true, "issues": []}))?;
    stage.settle()?;
    stage.verify()
}

fn edited_plan(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "Someone edits the plan after all that",
        "Its review judged another plan and is now stale, and so is everything after it.",
    )?;
    plan(stage, "final", &["tests/login.rs", "src/session.rs"])?;
    stage.settle()?;
    stage.report("reviewer", PLAN_REVIEW, json!({"ok": true, "issues": []}))?;
    stage.settle()?;
    patch(stage, "!password.trim().is_empty() && session::fresh()")?;
    stage.settle()
}

fn override_review(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "A person waives the code review",
        "A person can override the rules. The reason stays in the history.",
    )?;
    let reason = "one line, reviewed while pairing".to_owned();
    let typed = format!("orch next {TASK} --override '{reason}'");
    stage.order(&typed, &Order::Override { to: None, reason })
}

fn acceptance(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "The tests pass, and a person accepts",
        "Only a person can accept. The command writes the decision and takes the move.",
    )?;
    stage.verify()?;
    stage.order(
        &format!("orch approve {TASK}"),
        &Order::Approve {
            to: None,
            objections: Vec::new(),
            although: None,
        },
    )
}

fn close(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.scene(
        "The result",
        "Each move is one commit. The audit re-derives each move from its commit alone.",
    )?;
    stage.audit()?;
    stage.say("")?;
    stage.say("Look around:")?;
    stage.say(&format!("  cd {}", stage.directory.display()))?;
    for (command, what) in [
        (
            "git show --stat".to_owned(),
            "the last move: reason, evidence, files",
        ),
        (format!("orch log {TASK}"), "every move with its evidence"),
        (
            format!("orch reopen {TASK} --to test --reason why"),
            "the only way out of done",
        ),
        (
            format!("orch explain {TASK}"),
            "after that: every rule and the values it saw",
        ),
    ] {
        stage.command(&command, what)?;
    }
    stage.say("Next: run `orch init` in your own repository. If orch is not on your PATH: `make install`.")
}

fn plan(stage: &Stage<'_>, status: &str, more: &[&str]) -> Result<(), Failure> {
    let files = ["src/login.rs"].iter().chain(more);
    let files: Vec<_> = files
        .map(|path| json!({"path": path, "intent": "create_or_update"}))
        .collect();
    let plan = json!({
        "id": TASK, "title": TITLE, "status": status,
        "brief": "An empty password must be refused.",
        "goals": [{"id": "G1", "description": "refuse empty passwords"}],
        "scope": {"in_scope": ["src/login.rs"]},
        "work": {"tasks": [{"id": "W1", "title": "check the password"}]},
        "file_plan": files,
        "acceptance_criteria": [{"id": "A1", "description": "an empty password is refused"}],
        "test_plan": {"strategy": "unit", "cases": ["empty password"]},
    });
    stage.artifact("planner", PLAN, &format!("{plan:#}\n"))
}

fn patch(stage: &Stage<'_>, condition: &str) -> Result<(), Failure> {
    let text = format!(
        "diff --git a/src/login.rs b/src/login.rs\n--- a/src/login.rs\n+++ b/src/login.rs\n@@ -1 +1,3 @@\n\
         -pub fn login() -> bool {{ true }}\n+pub fn login(password: &str) -> bool {{\n+    {condition}\n+}}\n"
    );
    stage.artifact("coder", PATCH, &text)
}

fn tests(stage: &Stage<'_>, cases: &[(&str, bool)]) -> Result<(), Failure> {
    let failures = cases.iter().filter(|(_, passed)| !passed).count();
    let mut text = format!(
        "<testsuite name=\"login\" tests=\"{}\" failures=\"{failures}\">\n",
        cases.len()
    );
    for (name, passed) in cases {
        let outcome = if *passed {
            "/>"
        } else {
            "><failure message=\"expected false\"/></testcase>"
        };
        text.push_str(&format!("  <testcase name=\"{name}\"{outcome}\n"));
    }
    text.push_str("</testsuite>\n");
    stage.artifact("test runner", TESTS, &text)
}
