//! The scenes of the demo: each writes what somebody would write, then lets the rules speak.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::super::{init, report};
use crate::base::TaskId;
use crate::cli::Global;
use crate::engine::{Applied, Caller, Engine, Order, Outcome, Plan};
use crate::store::Store;
use crate::view::{Explanations, Style, Suggestion};
use serde_json::{Value, json};
use std::path::Path;

const TASK: &str = "fix-login";

/// A repository in which a story is told.
struct Stage<'a> {
    directory: &'a Path,
    context: Context,
    ui: &'a Ui,
    aside: bool,
    scene: u32,
}

/// Plays every scene in `directory`, which is empty.
pub(super) fn play(directory: &Path, context: &Context, ui: &Ui) -> Result<(), Failure> {
    Store::create(directory).map_err(crate::engine::Error::from)?;
    // Where the answer is one JSON document, the story is told beside it.
    let aside = context.global.json;
    let global = Global { directory: None, json: false, quiet: true, color: context.global.color };
    let caller = Caller { name: Some("Demo".to_owned()), ..context.caller.clone() };
    let context = Context { global, caller, start: directory.to_owned() };
    let mut stage = Stage { directory, context, ui, aside, scene: 0 };
    stage.set_up()?;
    stage.plan()?;
    stage.review()?;
    stage.skip()?;
    stage.code()?;
    stage.test()?;
    stage.edited_plan()?;
    stage.override_review()?;
    stage.accept()?;
    stage.close()
}

impl Stage<'_> {
    fn set_up(&mut self) -> Result<(), Failure> {
        self.title("A repository is set up, and a task is created")?;
        self.write("src/login.rs", "pub fn login() -> bool { false }\n")?;
        init::run(&init::InitArgs::default(), &self.context, &self.ui.muted())?;
        self.engine()?.commit_everything("Start the project, set up orch")?;
        let mut engine = self.engine()?;
        let id =
            TaskId::new(TASK).map_err(|error| Failure::new(ExitCode::Fault, "demo", error.to_string()))?;
        let created = engine.create(&id, None, Some("Login fails on an empty password"))?;
        self.moved(&engine, &created.applied)?;
        self.stands(&engine)
    }

    fn plan(&mut self) -> Result<(), Failure> {
        self.title("A planner writes a draft: it moves nothing")?;
        self.plan_file("draft", "src/login.rs")?;
        self.settle()?;
        self.title("The plan is final")?;
        self.plan_file("final", "src/login.rs")?;
        self.settle()
    }

    fn review(&mut self) -> Result<(), Failure> {
        self.title("The reviewer blocks the plan: back to planning")?;
        self.json(
            "review/plan-review.json",
            &json!({
                "task_id": TASK, "ok": false,
                "issues": [{"id": "R1", "severity": "blocking", "message": "no test is planned"}],
                "finished_at": "2026-01-05T10:00:00Z",
            }),
        )?;
        self.settle()?;
        self.title("The plan gets better, and is reviewed again")?;
        self.plan_file("final", "tests/login.rs")?;
        self.settle()?;
        self.accept_plan("2026-01-05T11:00:00Z")?;
        self.settle()
    }

    fn skip(&mut self) -> Result<(), Failure> {
        self.title("Somebody wants to skip ahead to the tests: refused, with the reason")?;
        let mut engine = self.engine()?;
        let task = engine.task(TASK)?;
        let may = |transition: &crate::decide::Transition| transition.to.as_str() == "test";
        let plan = Plan { may: &may, once: true, own: false, dry_run: false, adopt: &|_| false };
        let outcome = engine.advance(std::slice::from_ref(&task), &plan)?.into_iter().next();
        if let Some(Outcome::Nothing(judged)) = outcome {
            self.say(&format!("$ orch next {TASK} --to test"))?;
            self.say(&format!("  refused: {}", judged.decision.reason))?;
            let subjects = report::subjects(&engine, std::slice::from_ref(&*judged))?;
            self.say(&format!("$ orch explain {TASK}"))?;
            let text = Explanations::new(engine.repository(), &subjects).text(self.ui.paint, self.ui.width);
            for line in text.lines().take(14) {
                self.say(&format!("  {line}"))?;
            }
            self.say("  …")?;
        }
        Ok(())
    }

    fn code(&mut self) -> Result<(), Failure> {
        self.title("The coder writes a patch, and it is reviewed")?;
        self.patch("    !password.is_empty()")?;
        self.settle()?;
        self.accept_code("2026-01-05T12:00:00Z")?;
        self.settle()
    }

    fn test(&mut self) -> Result<(), Failure> {
        self.title("The tests fail: back to the code, and the failing report is used up")?;
        self.write(
            &format!("tasks/{TASK}/eval/junit.xml"),
            "<testsuite name=\"login\" tests=\"2\" failures=\"1\">\n  <testcase name=\"accepts\"/>\n  \
             <testcase name=\"rejects_empty\"><failure message=\"expected false\"/></testcase>\n</testsuite>\n",
        )?;
        self.settle()?;
        self.title("A new patch, a new review, a new run")?;
        self.patch("    !password.trim().is_empty()")?;
        self.settle()?;
        self.accept_code("2026-01-05T13:00:00Z")?;
        self.settle()?;
        self.write(
            &format!("tasks/{TASK}/eval/junit.xml"),
            "<testsuite name=\"login\" tests=\"2\" failures=\"0\">\n  <testcase name=\"accepts\"/>\n  \
             <testcase name=\"rejects_empty\"/>\n</testsuite>\n",
        )?;
        self.settle()
    }

    fn edited_plan(&mut self) -> Result<(), Failure> {
        self.title("Somebody edits the plan after all that: its review is about another plan now")?;
        self.plan_file("final", "src/session.rs")?;
        self.settle()?;
        self.accept_plan("2026-01-05T14:00:00Z")?;
        self.settle()?;
        self.patch("    !password.trim().is_empty() && session::fresh()")?;
        self.settle()
    }

    fn override_review(&mut self) -> Result<(), Failure> {
        self.title("A person overrides the missing code review, with a reason that stays")?;
        let mut engine = self.engine()?;
        let task = engine.task(TASK)?;
        let reason = "the change is one line and was reviewed in pairing";
        self.say(&format!("$ orch next {TASK} --override '{reason}'"))?;
        let order = Order::Override { to: None, reason: reason.to_owned() };
        let applied = engine.order(&task, &order, false)?;
        self.moved(&engine, &applied)?;
        self.stands(&engine)
    }

    fn accept(&mut self) -> Result<(), Failure> {
        self.title("The tests pass, and a person accepts")?;
        self.write(
            &format!("tasks/{TASK}/eval/junit.xml"),
            "<testsuite name=\"login\" tests=\"3\" failures=\"0\">\n  <testcase name=\"accepts\"/>\n  \
             <testcase name=\"rejects_empty\"/>\n  <testcase name=\"session\"/>\n</testsuite>\n",
        )?;
        self.settle()?;
        self.json(
            "accept/decision.json",
            &json!({
                "task_id": TASK, "verdict": "accepted", "reasons": ["the tests cover the report"],
                "decider": {"kind": "human", "name": "Demo"}, "finished_at": "2026-01-05T15:00:00Z",
            }),
        )?;
        self.settle()
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.title("What is left: real commits, each with its own proof")?;
        let engine = self.engine()?;
        let task = engine.task(TASK)?;
        for (entry, commit) in engine.story(&task)? {
            let commit = commit.map(|commit| commit.short()).unwrap_or_default();
            let from = entry.from.as_ref().map_or("new", |phase| phase.as_str());
            self.say(&format!("  {commit}  {from} -> {}  ({})", entry.to, entry.kind.as_str()))?;
        }
        self.say("")?;
        let directory = self.directory.display();
        self.say(&format!("Look around: cd {directory} && git log --stat, orch log, orch status"))
    }

    fn engine(&self) -> Result<Engine, Failure> {
        self.context.engine(self.ui)
    }

    fn title(&mut self, text: &str) -> Result<(), Failure> {
        self.scene += 1;
        let line = format!("{}. {text}", self.scene);
        self.say("")?;
        self.say(&self.ui.paint.paint(Style::Strong, &line))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.aside {
            self.ui.status(text);
            return Ok(());
        }
        Ok(self.ui.answer(&format!("{text}\n"))?)
    }

    /// Applies what the rules decide, as the watch would, and says where the task stands.
    fn settle(&self) -> Result<(), Failure> {
        let mut engine = self.engine()?;
        let task = engine.task(TASK)?;
        let plan =
            Plan { may: &|due| !due.by_human, once: false, own: true, dry_run: false, adopt: &|_| false };
        for outcome in engine.advance(std::slice::from_ref(&task), &plan)? {
            if let Outcome::Applied(applied) = outcome {
                self.moved(&engine, &applied)?;
            }
        }
        self.stands(&engine)
    }

    fn moved(&self, engine: &Engine, applied: &Applied) -> Result<(), Failure> {
        let _ = engine;
        for line in report::transition_lines(applied) {
            for text in line.text(self.ui.paint, self.ui.width.saturating_sub(2)).lines() {
                self.say(&format!("  {text}"))?;
            }
        }
        Ok(())
    }

    fn stands(&self, engine: &Engine) -> Result<(), Failure> {
        let judged = engine.judge(&engine.task(TASK)?)?;
        if let Some(subject) = engine.subject(&judged, None) {
            let next = Suggestion::of(&subject);
            let phase = next.current_phase.clone().unwrap_or_default();
            self.say(&format!("  now in {phase}: {}", next.reason))?;
        }
        Ok(())
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Failure> {
        let target = self.directory.join(path);
        let written = target
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&target, text));
        written.map_err(|error| Failure::new(ExitCode::Fault, "io", format!("{path}: {error}")))?;
        if path.starts_with("tasks/") {
            self.say(&self.ui.paint.paint(Style::Dim, &format!("  writes {path}")))?;
        }
        Ok(())
    }

    /// Writes a report of the task, with the `of` map that `orch` hands out for it.
    fn json(&self, path: &str, value: &Value) -> Result<(), Failure> {
        let mut value = value.clone();
        let engine = self.engine()?;
        let judged = engine.judge(&engine.task(TASK)?)?;
        if let Some(expected) = judged.decision.expects.iter().find(|expected| expected.path == path) {
            let of =
                expected.of.iter().map(|(name, digest)| (name.to_string(), Value::from(digest.to_string())));
            value["of"] = Value::Object(of.collect());
        }
        self.write(&format!("tasks/{TASK}/{path}"), &format!("{value:#}\n"))
    }

    fn plan_file(&self, status: &str, file: &str) -> Result<(), Failure> {
        self.json(
            "planning/plan.json",
            &json!({
                "id": TASK, "title": "Login fails on an empty password", "status": status,
                "brief": "An empty password must be refused with a clear message.",
                "goals": [{"id": "G1", "description": "refuse empty passwords"}],
                "scope": {"in_scope": ["src/login.rs"]},
                "work": {"tasks": [{"id": "W1", "title": "check the password"}]},
                "file_plan": [{"path": "src/login.rs", "intent": "update"}, {"path": file, "intent": "create_or_update"}],
                "acceptance_criteria": [{"id": "A1", "description": "an empty password is refused"}],
                "test_plan": {"strategy": "unit", "cases": ["empty password"]},
            }),
        )
    }

    fn accept_plan(&self, at: &str) -> Result<(), Failure> {
        self.json(
            "review/plan-review.json",
            &json!({"task_id": TASK, "ok": true, "issues": [], "finished_at": at}),
        )
    }

    fn accept_code(&self, at: &str) -> Result<(), Failure> {
        self.json(
            "review/code-review.json",
            &json!({"task_id": TASK, "ok": true, "issues": [], "finished_at": at}),
        )
    }

    fn patch(&self, line: &str) -> Result<(), Failure> {
        self.write(
            &format!("tasks/{TASK}/code/diff.patch"),
            &format!(
                "diff --git a/src/login.rs b/src/login.rs\n--- a/src/login.rs\n+++ b/src/login.rs\n@@ -1 +1,3 @@\n\
                 -pub fn login() -> bool {{ false }}\n+pub fn login(password: &str) -> bool {{\n+{line}\n+}}\n"
            ),
        )
    }
}
